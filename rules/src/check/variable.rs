//! Checks of rule variables: their kinds, and the values that rules assign.
//!
//! Law: all rules assign values of the same kind to a variable.

use teetap_wire::def::{Registry, Type, suggest};

use super::checker::Checker;
use super::kinds::{VarKind, VarValue, Variables};
use super::literal::word;
use super::value::Operand;
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::eval::{Cond, IntTest, Number, Text};
use crate::syntax::{self, Compare, Expr, Kind, Name};

impl Variables {
    /// Collects the variables of rules, which consist of conditions and actions. The kind of a variable is the kind of
    /// the first value whose kind is known.
    pub(crate) fn from_rules<'e>(
        rules: impl Iterator<Item = (Option<&'e Expr>, &'e [syntax::Action])>,
        registry: &'static Registry,
    ) -> Self {
        let mut given = Vec::new();
        let mut variables = Self::default();
        for (when, actions) in rules {
            for action in actions {
                let syntax::Action::Var { name, value } = action else {
                    continue;
                };
                if variables.index(&name.text).is_none() {
                    variables.0.push((name.text.as_str().into(), None));
                }
                given.push((when, name, value));
            }
        }
        // Repeats until a round finds no new kind.
        let mut is_new = true;
        while is_new {
            is_new = false;
            for (when, name, value) in &given {
                let Some(at) = variables.index(&name.text) else {
                    continue;
                };
                if variables.kind(at).is_some() {
                    continue;
                }
                let kind = kind_of(*when, value, registry, &variables);
                if let (Some(kind), Some((_, place))) = (kind, variables.0.get_mut(usize::from(at))) {
                    *place = Some(kind);
                    is_new = true;
                }
            }
        }
        variables
    }
}

/// Returns the kind of a value; `None` if it has an error, or a variable of unknown kind.
fn kind_of(
    when: Option<&Expr>,
    value: &Expr,
    registry: &'static Registry,
    variables: &Variables,
) -> Option<VarKind> {
    let mut checker = Checker::new(registry);
    checker.is_rule = true;
    checker.variables.clone_from(variables);
    checker.narrow_to(when);
    let (_, kind) = checker.var_value(value)?;
    let is_error = |diagnostic: &Diagnostic| diagnostic.severity() == Severity::Error;
    (!checker.diagnostics.iter().any(is_error)).then_some(kind)
}

impl<'r> Checker<'r> {
    /// Checks a variable.
    pub(super) fn variable(&mut self, name: &Name) -> Operand {
        let Some(at) = self.variables.index(&name.text) else {
            let names = self.variables.0.iter().map(|(name, _)| &**name);
            let meant = suggest(&name.text, names).map(|meant| format!("${meant}"));
            let what = format!("the variable `${}` is never set", name.text);
            let diagnostic = Diagnostic::new(Code::UnknownVariable, name.span, what);
            return self.failed(match meant {
                Some(meant) => diagnostic.meant(Some(&meant)),
                None => diagnostic.note("variables are set by rules"),
            });
        };
        let number = Number::Variable(at);
        match self.variables.kind(at) {
            Some(VarKind::Number(quantity)) => Operand::Number(number, quantity),
            Some(VarKind::Truth) => Operand::Truth(number),
            Some(VarKind::Named(names)) => Operand::Named(number, names),
            Some(VarKind::Text) => Operand::Text(Text::Variable(at), format!("${}", name.text)),
            // The assigned value has an error, which is reported at the assignment.
            None => Operand::Failed,
        }
    }

    /// Checks the value that a rule assigns to a variable. Returns the index of the variable and the value.
    pub(super) fn var(&mut self, name: &Name, value: &Expr) -> Option<(u16, VarValue)> {
        let at = self.variables.index(&name.text)?;
        let wanted = self.variables.kind(at);
        let before = self.diagnostics.len();
        let found = self.var_value(value);
        let Some(wanted) = wanted else {
            let is_error = |diagnostic: &Diagnostic| diagnostic.severity() == Severity::Error;
            if !self.diagnostics.iter().skip(before).any(is_error) {
                let what = format!("`${}` is only computed from itself", name.text);
                self.report(Diagnostic::new(Code::UnknownVariable, value.span, what));
            }
            return None;
        };
        let (given, kind) = found?;
        if kind != wanted {
            let what = format!(
                "`${}` is {} elsewhere, not {}",
                name.text,
                wanted.name(),
                kind.name()
            );
            self.report(Diagnostic::new(Code::Mismatch, value.span, what));
            return None;
        }
        Some((at, given))
    }

    /// Checks a value for a variable. Returns it with its kind; `None` if it has an error, or refers to a variable
    /// without a kind.
    fn var_value(&mut self, value: &Expr) -> Option<(VarValue, VarKind)> {
        match &value.kind {
            Kind::Text(text) => return Some((VarValue::Fixed(text.as_bytes().into()), VarKind::Text)),
            Kind::Any(_) | Kind::All(_) | Kind::Not(_) | Kind::Compare(..) | Kind::In(..) => {
                return Some((VarValue::Truth(self.cond(value)), VarKind::Truth));
            }
            _ => {}
        }
        match word(value) {
            Some("true") => return Some(fixed_truth(1)),
            Some("false") => return Some(fixed_truth(0)),
            _ => {}
        }
        if self.is_condition(value) {
            return Some((VarValue::Truth(self.cond(value)), VarKind::Truth));
        }
        let operand = self.operand(value);
        match operand {
            Operand::Failed => return None,
            Operand::Truth(number) => return Some((VarValue::Number(number), VarKind::Truth)),
            Operand::Named(number, names) => return Some((VarValue::Number(number), VarKind::Named(names))),
            _ => {}
        }
        if let Some((number, quantity)) = self.as_number(&operand) {
            let kind = if self.is_bool(&operand) {
                VarKind::Truth
            } else {
                VarKind::Number(quantity)
            };
            return Some((VarValue::Number(number), kind));
        }
        if let Some(text) = self.as_text(&operand) {
            return Some((VarValue::Text(text), VarKind::Text));
        }
        let what = format!("`{value}` is not one value");
        self.report(Diagnostic::new(Code::NotValue, value.span, what));
        None
    }

    /// Returns true if a word or a call is a condition rather than a value.
    fn is_condition(&self, value: &Expr) -> bool {
        let is_error = |diagnostic: &Diagnostic| diagnostic.severity() == Severity::Error;
        let errors = |check: &dyn Fn(&mut Checker<'r>)| {
            let mut checker = Checker::new(self.registry);
            checker.is_rule = self.is_rule;
            checker.variables.clone_from(&self.variables);
            checker.scope.clone_from(&self.scope);
            check(&mut checker);
            checker.diagnostics.into_iter().find(is_error)
        };
        let as_value = errors(&|checker| {
            checker.operand(value);
        });
        as_value.is_some_and(|error| error.code == Code::NotValue)
            && errors(&|checker| {
                checker.cond(value);
            })
            .is_none()
    }

    /// Returns true for a boolean field.
    fn is_bool(&self, operand: &Operand) -> bool {
        let Operand::Field(at, _) = operand else {
            return false;
        };
        let kinds = self.kinds.get(usize::from(*at));
        kinds.is_some_and(|kinds| kinds.iter().flatten().all(|field| field.ty == Type::Bool))
    }
}

fn fixed_truth(value: i64) -> (VarValue, VarKind) {
    let cond = Cond::Number(Number::Fixed(value), IntTest::Op(Compare::Unequal, 0));
    (VarValue::Truth(cond), VarKind::Truth)
}
