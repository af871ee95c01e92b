//! Checks of the values that rules write to fields and to the messages that they create.

use regex::bytes::Regex;
use teetap_wire::Dir;
use teetap_wire::def::{Datum, Def, Dialect, Field, Path as Place, Registry};

use super::checker::Checker;
use super::compare::fixed;
use super::kinds::{VarValue, Variables};
use super::literal::{self, has_bytes, kind};
use super::value::Operand;
use crate::diagnostic::{Code, Diagnostic};
use crate::eval::{DefKey, Program, TextPart, TextTest, Value};
use crate::span::Span;
use crate::syntax::{self, Expr, Kind, Quantity};

/// An action whose names and values are resolved.
#[derive(Debug, Clone)]
pub(crate) enum ResolvedAction {
    /// An action without names.
    Plain(syntax::Action),
    /// `set`
    Set(Box<[Assign]>),
    /// `replace`
    Replace(Box<Replace>),
    /// `inject` and `reply`
    Make(Box<Template>),
    /// `log`; `None` logs the name of the message.
    Log(Option<Box<[TextPart]>>),
    /// `mark`; `None` uses the name of the rule.
    Mark(Option<std::sync::Arc<str>>),
    /// `var`: the index of the variable, and its name.
    Var(u16, Box<str>, Box<VarValue>),
    /// `fail`
    Fail(Box<[TextPart]>),
    /// `expect`: the index among the expectations of the rule.
    Expect(usize),
    /// `exit`
    Exit(u8),
}

impl ResolvedAction {
    /// Returns true if the action runs on every copy of a message, because it changes neither a message nor a session.
    pub(crate) const fn runs_on_copies(&self) -> bool {
        match self {
            Self::Log(_)
            | Self::Mark(_)
            | Self::Var(..)
            | Self::Fail(_)
            | Self::Expect(_)
            | Self::Exit(_) => true,
            Self::Plain(_) | Self::Set(_) | Self::Replace(_) | Self::Make(_) => false,
        }
    }

    /// Returns true if no later rule is tried after the action, see [`Action::ends`](syntax::Action::ends).
    pub(crate) const fn ends(&self) -> bool {
        match self {
            Self::Plain(action) => action.ends(),
            _ => false,
        }
    }

    /// Returns true if the action changes items of a snapshot.
    pub(crate) fn sets_items(&self) -> bool {
        let is_item = |assign: &Assign| assign.target != Target::Message;
        matches!(self, Self::Set(assigns) if assigns.iter().any(is_item))
    }

    /// Returns true if the action also applies to later parts of the same snapshot, without another decision.
    pub(crate) const fn covers_parts(&self) -> bool {
        match self {
            Self::Set(_) | Self::Replace(_) | Self::Mark(_) => true,
            Self::Plain(action) => !matches!(
                action,
                syntax::Action::Corrupt { .. } | syntax::Action::Close { .. } | syntax::Action::Stall(_)
            ),
            Self::Make(_)
            | Self::Log(_)
            | Self::Var(..)
            | Self::Fail(_)
            | Self::Expect(_)
            | Self::Exit(_) => false,
        }
    }

    /// Returns true if the action can be carried out without a message.
    pub(crate) fn needs_no_message(&self) -> bool {
        match self {
            Self::Plain(action) => {
                matches!(action, syntax::Action::Close { .. } | syntax::Action::Stall(_))
            }
            Self::Make(template) => {
                let fields = template.forms.iter().flat_map(|form| &form.fields);
                let mut values = fields.map(|(_, value)| value);
                template.dir.is_some() && values.all(|value| matches!(value, Value::Fixed(_)))
            }
            Self::Log(Some(parts)) | Self::Fail(parts) => {
                parts.iter().all(|part| matches!(part, TextPart::Text(_)))
            }
            Self::Expect(_) | Self::Exit(_) => true,
            Self::Set(_) | Self::Replace(_) | Self::Log(None) | Self::Mark(_) | Self::Var(..) => false,
        }
    }
}

/// `set path = value`
#[derive(Debug, Clone)]
pub(crate) struct Assign {
    /// The field as written.
    pub(crate) what: Box<str>,
    pub(crate) target: Target,
    /// Position and value of the field in each message or item that has it.
    pub(crate) places: Box<[(DefKey, Place, Value)]>,
}

/// Owner of a field that an action changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    Message,
    /// The snapshot item with this id, or each item of its type.
    Item(Option<u16>),
}

/// `replace path /regex/ with "text"`
#[derive(Debug, Clone)]
pub(crate) struct Replace {
    /// The field as written.
    pub(crate) what: Box<str>,
    pub(crate) places: Box<[(DefKey, Place)]>,
    pub(crate) regex: Regex,
    pub(crate) with: Box<[u8]>,
}

/// A message that a rule creates.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    /// The name as written.
    pub(crate) what: Box<str>,
    /// The direction; `None` for a reply.
    pub(crate) dir: Option<Dir>,
    /// True to send it ahead of the message that matches.
    pub(crate) before: bool,
    /// The form of the message in each dialect in which it has all the fields.
    pub(crate) forms: Box<[DialectForm]>,
}

/// The form of a message in one dialect.
#[derive(Debug, Clone)]
pub(crate) struct DialectForm {
    pub(crate) dialect: Dialect,
    pub(crate) def: &'static Def,
    pub(crate) vital: bool,
    pub(crate) fields: Box<[(std::sync::Arc<str>, Value)]>,
}

/// A field that an action changes: the message, the path in it, and its definition.
pub(super) type Written = (DefKey, Place, &'static Field);

/// Checks the condition of a rule and its actions, which share their memory. The result is valid only if no diagnostic
/// is an error.
pub(crate) fn check_rule(
    when: Option<&Expr>,
    actions: &[syntax::Action],
    registry: &'static Registry,
    variables: &Variables,
) -> (Program, Vec<ResolvedAction>, Vec<Diagnostic>) {
    let mut checker = Checker::new(registry);
    checker.is_rule = true;
    checker.variables.clone_from(variables);
    if let Some(when) = when {
        checker.check_root(when);
    }
    checker.narrow_to(when);
    let mut expects = 0;
    let resolved = actions
        .iter()
        .filter_map(|action| checker.resolved_action(action, &mut expects))
        .collect();
    (checker.program, resolved, checker.diagnostics)
}

impl Checker<'static> {
    /// Checks an action. Returns `None` if it has an error. `expects` is the number of preceding expectations.
    fn resolved_action(&mut self, action: &syntax::Action, expects: &mut usize) -> Option<ResolvedAction> {
        Some(match action {
            syntax::Action::Set(assigns) => {
                let assigns: Vec<_> = assigns.iter().map(|assign| self.assign(assign)).collect();
                ResolvedAction::Set(assigns.into_iter().collect::<Option<_>>()?)
            }
            syntax::Action::Replace(replace) => ResolvedAction::Replace(Box::new(self.replace(replace)?)),
            syntax::Action::Make(made) => ResolvedAction::Make(Box::new(self.template(made)?)),
            syntax::Action::Log(template) => ResolvedAction::Log(match template {
                Some(template) => Some(self.log(template)?),
                None => None,
            }),
            syntax::Action::Mark(id) => ResolvedAction::Mark(id.as_ref().map(|id| id.text.as_str().into())),
            syntax::Action::Var { name, value } => {
                let (at, value) = self.var(name, value)?;
                ResolvedAction::Var(at, name.text.as_str().into(), Box::new(value))
            }
            syntax::Action::Fail(why) => ResolvedAction::Fail(self.log(why)?),
            syntax::Action::Expect { .. } => {
                *expects += 1;
                ResolvedAction::Expect(*expects - 1)
            }
            syntax::Action::Exit(code) => ResolvedAction::Exit(*code),
            plain => ResolvedAction::Plain(plain.clone()),
        })
    }

    /// Narrows the scope to the messages to which the condition of the rule refers.
    pub(super) fn narrow_to(&mut self, when: Option<&Expr>) {
        let Some(when) = when else { return };
        let parts = match &when.kind {
            Kind::All(parts) => &**parts,
            _ => std::slice::from_ref(when),
        };
        self.narrow(parts);
    }

    /// Checks the field that an action changes. Returns its name, and its paths with their definitions.
    fn written(&mut self, target: &Expr) -> Option<(String, Vec<Written>)> {
        let Kind::Path(path) = &target.kind else {
            let what = format!("`{target}` is not a field");
            self.report(Diagnostic::new(Code::NotHere, target.span, what));
            return None;
        };
        let head = path.segments.first().map_or("", |segment| &*segment.name.text);
        if self.is_item(path) {
            return self.written_item(path);
        }
        if !path.dot && matches!(head, "pkt" | "sess" | "snap") && path.segments.len() > 1 {
            let what = format!("`{target}` cannot be changed");
            self.report(Diagnostic::new(Code::NotHere, target.span, what).help("set a field of a message"));
            return None;
        }
        let (at, what) = match self.operand(target) {
            Operand::Field(at, what) => (at, what),
            Operand::Failed => return None,
            _ => {
                let what = format!("`{target}` is not a field");
                self.report(Diagnostic::new(Code::NotHere, target.span, what));
                return None;
            }
        };
        Some((what, self.places(at)))
    }

    /// Returns the paths of a field, with their definitions.
    pub(super) fn places(&self, at: u16) -> Vec<Written> {
        let at = usize::from(at);
        let entries = self.program.fields.get(at).map(|field| &*field.entries);
        let kinds = self.kinds.get(at).map(|kinds| &**kinds);
        let both = entries.unwrap_or_default().iter().zip(kinds.unwrap_or_default());
        both.filter_map(|(entry, field)| Some((entry.key, entry.path.clone()?, (*field)?)))
            .collect()
    }

    fn log(&mut self, template: &syntax::Template) -> Option<Box<[TextPart]>> {
        let parts: Vec<_> = template
            .0
            .iter()
            .map(|part| match part {
                syntax::TemplatePart::Text(text) => Some(TextPart::Text(text.as_str().into())),
                syntax::TemplatePart::Value(expr) => match &expr.kind {
                    Kind::Text(text) => self.literal(text, expr.span),
                    _ => self.logged(expr),
                },
            })
            .collect();
        parts.into_iter().collect()
    }

    /// Checks a text in braces: the text that a name stands for.
    fn literal(&mut self, text: &str, span: Span) -> Option<TextPart> {
        if text.contains('{') {
            let what = format!("{text:?} has values in braces, and is itself in braces");
            let help = "write the text and its values in place of the name";
            self.report(Diagnostic::new(Code::NotValue, span, what).help(help));
            return None;
        }
        Some(TextPart::Text(text.into()))
    }

    fn logged(&mut self, expr: &Expr) -> Option<TextPart> {
        let operand = self.operand(expr);
        if let Operand::Named(number, names) = operand {
            return Some(TextPart::Named(number, names));
        }
        if let Operand::Flags(number, names) = operand {
            return Some(TextPart::Flags(number, names));
        }
        if let Some((number, quantity)) = self.as_number(&operand) {
            return Some(TextPart::Number(number, quantity));
        }
        if let Some(text) = self.as_text(&operand) {
            return Some(TextPart::Value(text));
        }
        if !matches!(operand, Operand::Failed) {
            let what = format!("`{expr}` is not one value");
            self.report(Diagnostic::new(Code::NotValue, expr.span, what));
        }
        None
    }

    fn assign(&mut self, assign: &syntax::Assign) -> Option<Assign> {
        let written = self.written(&assign.target);
        let Some((what, places)) = written else {
            // Errors of the value are reported at the same time.
            if !fixed(&assign.value) {
                self.operand(&assign.value);
            }
            return None;
        };
        let fields: Vec<_> = places.iter().map(|(.., field)| *field).collect();
        let target = self.target_of(&assign.target);
        if target != Target::Message {
            self.changing = places.iter().map(|(key, ..)| *key).collect();
        }
        let values = self.values(&fields, &what, &assign.value);
        self.changing.clear();
        let values = values?;
        let places = places.into_iter().zip(values);
        Some(Assign {
            places: places
                .filter_map(|((key, place, _), value)| Some((key, place, value?)))
                .collect(),
            what: what.into(),
            target,
        })
    }

    fn replace(&mut self, replace: &syntax::Replace) -> Option<Replace> {
        let written = self.written(&replace.target);
        let regex = self.regex(&replace.pattern, replace.span);
        let (what, places) = written?;
        let texts: Vec<_> = places.into_iter().filter(|(.., field)| field.is_text()).collect();
        if texts.is_empty() {
            let what = format!("`{what}` is not text");
            self.report(Diagnostic::new(Code::Mismatch, replace.target.span, what));
            return None;
        }
        let TextTest::Matches(regex) = regex? else {
            return None;
        };
        Some(Replace {
            what: what.into(),
            places: texts.into_iter().map(|(key, place, _)| (key, place)).collect(),
            regex: *regex,
            with: replace.with.as_bytes().into(),
        })
    }

    /// Checks a value against the definitions of one field, one per dialect. Returns `None` for definitions that cannot
    /// have the value. Reports the first error if no definition can.
    pub(super) fn values(
        &mut self,
        fields: &[&Field],
        what: &str,
        expr: &Expr,
    ) -> Option<Vec<Option<Value>>> {
        if !fixed(expr) {
            return self.computed(fields, what, expr);
        }
        let unescaped;
        let expr = match &expr.kind {
            Kind::Text(text) if self.is_rule && text.contains(['{', '}']) => {
                let parts = self.in_braces(text, expr.span)?;
                match &*parts {
                    [] => expr,
                    [TextPart::Text(text)] => {
                        unescaped = Expr::new(Kind::Text(text.to_string()), expr.span);
                        &unescaped
                    }
                    _ => return self.composed(fields, what, (expr.span, parts)),
                }
            }
            _ => expr,
        };
        let mut is_usual = false;
        let results: Vec<_> = fields
            .iter()
            .map(|field| {
                if !field.is_number() {
                    is_usual = true;
                    return literal::bytes(field, what, expr)
                        .map(|bytes| Value::Fixed(Datum::Bytes(bytes.into())));
                }
                let fit = literal::fit(field, what, expr)?;
                is_usual |= fit.usual;
                Ok(Value::Fixed(Datum::Int(fit.value)))
            })
            .collect();
        if results.iter().all(Result::is_err) {
            self.diagnostics.extend(results.into_iter().find_map(Result::err));
            return None;
        }
        if !is_usual {
            let text = format!("the games never send such a `{what}`");
            self.report(Diagnostic::new(Code::OutOfRange, expr.span, text));
        }
        Some(results.into_iter().map(Result::ok).collect())
    }

    /// Checks the values in braces of a text, which stands at `span`.
    fn in_braces(&mut self, text: &str, span: Span) -> Option<Box<[TextPart]>> {
        // Without escapes, a place in the text is a place in the source.
        let place = |found: Span| syntax::place_in_text(span, text, found);
        let template = match syntax::parse_template(text) {
            Ok(template) => template,
            Err(diagnostic) => {
                let span = place(diagnostic.span);
                self.report(Diagnostic { span, ..diagnostic });
                return None;
            }
        };
        let before = self.diagnostics.len();
        let parts = self.log(&template);
        let new = self.diagnostics.get_mut(before..).unwrap_or_default();
        new.iter_mut()
            .for_each(|diagnostic| diagnostic.span = place(diagnostic.span));
        parts
    }

    /// Checks a text with values in braces, which is composed when the rule acts.
    fn composed(
        &mut self,
        fields: &[&Field],
        what: &str,
        (span, parts): (Span, Box<[TextPart]>),
    ) -> Option<Vec<Option<Value>>> {
        let value = |field: &&Field| field.is_text().then(|| Value::Template(parts.clone()));
        let values: Vec<_> = fields.iter().map(value).collect();
        if values.iter().all(Option::is_none) {
            let is = fields
                .first()
                .map_or_else(|| "missing".to_owned(), |field| kind(field));
            let text = format!("`{what}` is {is}, not text with values in braces");
            let help = "a value stands without quotes, as in `= sess.id`";
            self.report(Diagnostic::new(Code::Mismatch, span, text).help(help));
            return None;
        }
        Some(values)
    }

    /// Checks a value that is computed when the rule acts.
    fn computed(&mut self, fields: &[&Field], what: &str, expr: &Expr) -> Option<Vec<Option<Value>>> {
        let operand = self.operand(expr);
        if matches!(operand, Operand::Failed) {
            return None;
        }
        let number = self.as_number(&operand);
        let text = self.as_text(&operand);
        let value = |field: &&Field| match (&number, &text) {
            (Some((number, quantity)), _) if field.is_number() && plain(*quantity) => {
                Some(Value::Number(number.clone()))
            }
            (_, Some(text)) if has_bytes(field) => Some(Value::Text(*text)),
            _ => None,
        };
        let values: Vec<_> = fields.iter().map(value).collect();
        if values.iter().all(Option::is_none) {
            let is = fields
                .first()
                .map_or_else(|| "missing".to_owned(), |field| kind(field));
            let found = match number {
                Some((_, quantity)) => quantity.name(),
                None => "something else",
            };
            let text = format!("`{what}` is {is}, not {found}");
            self.report(Diagnostic::new(Code::Mismatch, expr.span, text));
            return None;
        }
        Some(values)
    }
}

/// Returns true for a number that fields can have: without a unit, or a size.
const fn plain(quantity: Quantity) -> bool {
    matches!(quantity, Quantity::Plain | Quantity::Size)
}
