//! Values that rules write: into fields, and into messages of their own.

use regex::bytes::Regex;
use teetap_wire::Dir;
use teetap_wire::def::{Class, Datum, Def, Dialect, Field, Path as Place, Registry, Type, Vitality};

use super::checker::Checker;
use super::compare::fixed;
use super::literal::{self, has_bytes, kind};
use super::name::Named;
use super::value::Operand;
use super::versions;
use crate::diagnostic::{Code, Diagnostic};
use crate::eval::{Key, Program, TextTest, Value};
use crate::span::Span;
use crate::syntax::{self, Expr, Kind, Quantity};

/// An action whose names and values are resolved.
#[derive(Debug, Clone)]
pub(crate) enum Deed {
    /// An action without names.
    Plain(syntax::Action),
    /// `set`
    Set(Box<[Assign]>),
    /// `replace`
    Replace(Box<Replace>),
    /// `inject` and `reply`
    Make(Box<Template>),
}

/// `set path = value`
#[derive(Debug, Clone)]
pub(crate) struct Assign {
    /// The field, as written.
    pub(crate) what: Box<str>,
    /// The place and the value for each message that has the field.
    pub(crate) places: Box<[(Key, Place, Value)]>,
}

/// `replace path /regex/ with "text"`
#[derive(Debug, Clone)]
pub(crate) struct Replace {
    /// The field, as written.
    pub(crate) what: Box<str>,
    pub(crate) places: Box<[(Key, Place)]>,
    pub(crate) regex: Regex,
    pub(crate) with: Box<[u8]>,
}

/// A message that a rule makes.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    /// The name, as written.
    pub(crate) what: Box<str>,
    /// The direction; `None` for an answer.
    pub(crate) dir: Option<Dir>,
    /// True if it goes ahead of the message that matches.
    pub(crate) before: bool,
    /// The message in each dialect that has it with all the fields.
    pub(crate) forms: Box<[Form]>,
}

/// The form of a message in one dialect.
#[derive(Debug, Clone)]
pub(crate) struct Form {
    pub(crate) dialect: Dialect,
    pub(crate) def: &'static Def,
    pub(crate) vital: bool,
    pub(crate) fields: Box<[(std::sync::Arc<str>, Value)]>,
}

/// A field that an action changes: the message, the place in it, and the definition.
type Written = (Key, Place, &'static Field);

/// Checks the condition of a rule and its actions, which share what they remember. The result is valid only if no
/// diagnostic is an error.
pub(crate) fn check_rule(
    when: &Expr,
    actions: &[syntax::Action],
    registry: &'static Registry,
) -> (Program, Vec<Deed>, Vec<Diagnostic>) {
    let mut checker = Checker::new(registry);
    checker.check_root(when);
    let parts = match &when.kind {
        Kind::All(parts) => &**parts,
        _ => std::slice::from_ref(when),
    };
    checker.narrow(parts);
    let deeds = actions.iter().filter_map(|action| checker.deed(action)).collect();
    (checker.program, deeds, checker.diagnostics)
}

impl Checker<'static> {
    /// Checks an action. `None` if it has an error.
    fn deed(&mut self, action: &syntax::Action) -> Option<Deed> {
        Some(match action {
            syntax::Action::Set(assigns) => {
                let assigns: Vec<_> = assigns.iter().map(|assign| self.assign(assign)).collect();
                Deed::Set(assigns.into_iter().collect::<Option<_>>()?)
            }
            syntax::Action::Replace(replace) => Deed::Replace(Box::new(self.replace(replace)?)),
            syntax::Action::Make(made) => Deed::Make(Box::new(self.template(made)?)),
            plain => Deed::Plain(plain.clone()),
        })
    }

    /// Checks the field that an action changes. Returns its name, and its places with their definitions.
    fn written(&mut self, target: &Expr) -> Option<(String, Vec<Written>)> {
        let Kind::Path(path) = &target.kind else {
            let what = format!("`{target}` is not a field");
            self.report(Diagnostic::new(Code::NotHere, target.span, what));
            return None;
        };
        let head = path.segments.first().map_or("", |segment| &*segment.name.text);
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
        let at = usize::from(at);
        let entries = &self.program.fields.get(at)?.entries;
        let kinds = self.kinds.get(at)?;
        let places = entries
            .iter()
            .zip(kinds)
            .filter_map(|(entry, field)| Some((entry.key, entry.path.clone()?, (*field)?)));
        Some((what, places.collect()))
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
        let values = self.values(&fields, &what, &assign.value)?;
        let places = places.into_iter().zip(values);
        Some(Assign {
            places: places
                .filter_map(|((key, place, _), value)| Some((key, place, value?)))
                .collect(),
            what: what.into(),
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

    /// Checks a value for one field, which differs from dialect to dialect. `None` for those that cannot have it;
    /// if none can, the first error is reported.
    fn values(&mut self, fields: &[&Field], what: &str, expr: &Expr) -> Option<Vec<Option<Value>>> {
        if !fixed(expr) {
            return self.computed(fields, what, expr);
        }
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

    /// Checks a value that is known only when the rule acts.
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

    fn template(&mut self, made: &syntax::Made) -> Option<Template> {
        let named = self.message(&made.name)?;
        if named.used < made.name.segments.len() {
            let what = format!("`{}` is a field, not a message", made.name);
            self.report(Diagnostic::new(Code::NotHere, made.span, what));
            return None;
        }
        let mut defs = named.defs.clone();
        defs.retain(|(_, def)| matches!(def.class, Class::System | Class::Game));
        if defs.is_empty() {
            let what = format!("`{}` is not a message of a session", named.label);
            self.report(
                Diagnostic::new(Code::NotHere, made.span, what)
                    .note("rules make system and game messages, whose definition is known"),
            );
            return None;
        }
        if let Some(dir) = made.dir {
            defs.retain(|(_, def)| def.way.allows(dir));
            if defs.is_empty() {
                let what = format!("`{}` is never sent {dir}", named.label);
                self.report(Diagnostic::new(Code::NotHere, made.span, what));
                return None;
            }
        }
        let forms = self.forms(made, &named, &defs)?;
        Some(Template {
            what: named.label.into(),
            dir: made.dir,
            before: made.before,
            forms,
        })
    }

    fn forms(
        &mut self,
        made: &syntax::Made,
        named: &Named<'static>,
        defs: &[(Dialect, &'static Def)],
    ) -> Option<Box<[Form]>> {
        let mut forms: Vec<Option<Form>> = defs
            .iter()
            .map(|(dialect, def)| {
                Some(Form {
                    dialect: *dialect,
                    def,
                    vital: !made.nonvital && def.vitality != Vitality::NonVital,
                    fields: Box::default(),
                })
            })
            .collect();
        let mut is_right = true;
        for (name, expr) in &made.fields {
            is_right &= self.given(named, defs, name, expr, &mut forms);
        }
        if !is_right {
            return None;
        }
        let has: Vec<_> = forms
            .iter()
            .flatten()
            .map(|form| (form.dialect, form.def))
            .collect();
        self.note_versions(&named.label, &has, made.span);
        for form in forms.iter().flatten() {
            self.try_form(form, made.span)?;
        }
        Some(forms.into_iter().flatten().collect())
    }

    /// Adds a field to each form. Those whose message cannot have it are removed. Returns false after an error.
    fn given(
        &mut self,
        named: &Named<'static>,
        defs: &[(Dialect, &'static Def)],
        name: &syntax::Name,
        expr: &Expr,
        forms: &mut [Option<Form>],
    ) -> bool {
        let field = |def: &'static Def| def.parts(None).find(|(_, field)| *field.name == *name.text);
        let fields: Vec<_> = defs
            .iter()
            .map(|(_, def)| field(def).map(|(_, field)| field))
            .collect();
        let known: Vec<&Field> = fields.iter().flatten().copied().collect();
        if known.is_empty() {
            let names: Vec<_> = defs
                .iter()
                .flat_map(|(_, def)| def.parts(None).map(|(_, field)| &*field.name))
                .collect();
            let text = format!("message `{}` has no field `{}`", named.label, name.text);
            self.report(
                Diagnostic::new(Code::UnknownField, name.span, text)
                    .meant(teetap_wire::def::suggest(&name.text, names))
                    .note(versions::fields(defs)),
            );
            return false;
        }
        if let Some(list) = known
            .iter()
            .find(|field| field.is_list() || matches!(field.ty, Type::Group { .. }))
        {
            let text = format!("`{}` is not one value; leave it out for its default", list.name);
            self.report(Diagnostic::new(Code::WholeList, name.span, text));
            return false;
        }
        let what = format!("{}.{}", named.label, name.text);
        let Some(values) = self.values(&known, &what, expr) else {
            return false;
        };
        let mut values = values.into_iter();
        for (form, field) in forms.iter_mut().zip(&fields) {
            let value = field.and_then(|_| values.next().flatten());
            *form = form.take().zip(value).map(|(mut form, value)| {
                let mut given = form.fields.into_vec();
                given.push((name.text.as_str().into(), value));
                form.fields = given.into();
                form
            });
        }
        true
    }

    /// Encodes a form whose values are all known, so that an error is reported before the start.
    fn try_form(&mut self, form: &Form, span: Span) -> Option<()> {
        let fixed = form.fields.iter().map(|(name, value)| match value {
            Value::Fixed(datum) => Some((&**name, datum.clone())),
            _ => None,
        });
        let Some(fields) = fixed.collect::<Option<Vec<_>>>() else {
            return Some(());
        };
        match form.def.encode(&Datum::group(fields), &mut Vec::new()) {
            Ok(()) => Some(()),
            Err(error) => {
                self.report(Diagnostic::new(Code::Impossible, span, error.to_string()));
                None
            }
        }
    }
}

/// Returns true for a number that fields can have: without a unit, or a size.
const fn plain(quantity: Quantity) -> bool {
    matches!(quantity, Quantity::Plain | Quantity::Size)
}
