//! Checks of messages that rules create.

use std::sync::Arc;

use teetap_wire::def::{Class, Datum, Def, Dialect, EncodeError, Field, Registry, Type, Vitality};
use teetap_wire::{Dir, Proto};

use super::checker::Checker;
use super::name::Named;
use super::resolved_action::{DialectForm, Template};
use super::versions;
use crate::diagnostic::{Code, Diagnostic};
use crate::eval::Value;
use crate::span::Span;
use crate::synonym;
use crate::syntax::{self, Expr};
use crate::verdict::Made;

/// Checks a message that a person writes. The result is valid only if no diagnostic is an error.
pub(crate) fn check_made(
    made: &syntax::Made,
    registry: &'static Registry,
) -> (Option<Template>, Vec<Diagnostic>) {
    let mut checker = Checker::new(registry);
    let template = checker.template(made);
    let forms = template.iter().flat_map(|template| &template.forms);
    let mut values = forms.flat_map(|form| &form.fields);
    if let Some((name, _)) = values.find(|(_, value)| !matches!(value, Value::Fixed(_))) {
        let what = format!("the value of `{name}` needs a message that it is computed from");
        let given = made.fields.iter().find(|(of, _)| *of.text == **name);
        let span = given.map_or(made.span, |(_, value)| value.span);
        checker.report(Diagnostic::new(Code::NotHere, span, what));
    }
    (template, checker.diagnostics)
}

impl Template {
    /// Encodes the message if all values are fixed. Returns `None` if the protocol does not have it.
    pub(crate) fn made(&self, proto: Proto, dir: Dir) -> Option<Result<Made, EncodeError>> {
        let dialect = Dialect::from(proto);
        let mut forms = self.forms.iter();
        let form = forms.find(|form| form.dialect == dialect && form.def.way.allows(dir))?;
        let fields = form.fixed().collect();
        let mut data = Vec::new();
        let encoded = form.def.encode(&Datum::Group(fields), &mut data);
        let vital = form.vital;
        Some(encoded.map(|()| Made {
            dir,
            vital,
            data,
            rule: None,
        }))
    }
}

impl DialectForm {
    /// Returns the fields whose values are fixed.
    pub(crate) fn fixed(&self) -> impl Iterator<Item = (Arc<str>, Datum)> {
        self.fields.iter().filter_map(|(name, value)| match value {
            Value::Fixed(datum) => Some((Arc::clone(name), datum.clone())),
            _ => None,
        })
    }
}

impl Checker<'static> {
    pub(super) fn template(&mut self, made: &syntax::Made) -> Option<Template> {
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
                let other = match dir {
                    Dir::C2s => Dir::S2c,
                    Dir::S2c => Dir::C2s,
                };
                let help = format!("write `inject {other} {}`", made.name);
                self.report(Diagnostic::new(Code::NotHere, made.span, what).help(help));
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
    ) -> Option<Box<[DialectForm]>> {
        let mut forms: Vec<Option<DialectForm>> = defs
            .iter()
            .map(|(dialect, def)| {
                Some(DialectForm {
                    dialect: *dialect,
                    def,
                    vital: !made.nonvital && !matches!(def.vitality, Vitality::NonVital | Vitality::Either),
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

    /// Adds a field to each form. Removes forms whose message cannot have it. Returns false after an error.
    fn given(
        &mut self,
        named: &Named<'static>,
        defs: &[(Dialect, &'static Def)],
        name: &syntax::Name,
        expr: &Expr,
        forms: &mut [Option<DialectForm>],
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
                    .meant(teetap_wire::def::suggest(&name.text, names.iter().copied()))
                    .or_help(synonym::field(&name.text, &names).map(|field| format!("write `{field}`")))
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

    /// Encodes a form if all its values are fixed, so that an error is reported before the run starts.
    fn try_form(&mut self, form: &DialectForm, span: Span) -> Option<()> {
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
