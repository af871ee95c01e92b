//! Actions that write: `set`, `replace`, `inject` and `reply`.
//!
//! Law: an action changes only the bytes of the fields that it names. If it fails, the message is unchanged and a
//! notice reports the cause.

use teetap_wire::def::{Datum, Decoded, Dialect, Record, Source};
use teetap_wire::{Dir, Proto};

use super::act::ActionRun;
use super::action_error::ActionError;
use super::composed::{Text, hides, plain, shown};
use crate::check::{Assign, DialectForm, Replace, ResolvedAction, Target, Template, VarValue};
use crate::eval::{self, DefKey, Facts, Given, Number, Reported, TextPart, Value};
use crate::syntax::Action;
use crate::verdict::{Effect, End, Made, RuleId};

/// Maximum length of a message that `replace` writes, in bytes: no datagram contains more.
const MAX_EDIT: usize = 1400;

impl<F: Facts> ActionRun<'_, F> {
    /// Changes fields, all or none. Returns true if the bytes of the message differ now.
    pub(super) fn set(&mut self, assigns: &[Assign]) -> Result<bool, ActionError> {
        let Some(key) = self.key() else {
            return Ok(false);
        };
        let mut edit = self.current();
        let mut decoded = Decoded::new();
        for assign in assigns.iter().filter(|assign| assign.target == Target::Message) {
            // The field belongs to another message.
            let Some((_, place, value)) = assign.places.iter().find(|(of, ..)| *of == key) else {
                continue;
            };
            let mut copied = Vec::new();
            let value = self.datum(value, &key, &mut copied)?;
            let value = value.ok_or_else(|| ActionError::missing(&*assign.what))?;
            self.write(place, &value, &mut decoded, &mut edit)?;
            if let (false, Some(def)) = (copied.is_empty(), self.facts.subject().def) {
                decoded.read(def, &edit, self.body);
                let record = decoded.find(place);
                hides(def, (decoded.view(), record), &edit, &copied)?;
            }
        }
        Ok(self.put(edit))
    }

    /// Replaces the matches in a text. Returns true if the bytes of the message differ now.
    pub(super) fn replace(&mut self, replace: &Replace) -> Result<bool, ActionError> {
        let Some(key) = self.key() else {
            return Ok(false);
        };
        let Some((_, place)) = replace.places.iter().find(|(of, _)| *of == key) else {
            return Ok(false);
        };
        let mut edit = self.current();
        let mut decoded = Decoded::new();
        let Some(def) = self.facts.subject().def else {
            return Ok(false);
        };
        decoded.read(def, &edit, self.body);
        let Some(record) = decoded.find(place) else {
            return Ok(false);
        };
        let old = def.bytes(record, Source::Bytes(&edit)).into_owned();
        let mut new = Vec::new();
        let mut end = 0;
        for captures in replace.regex.captures_iter(&old) {
            let Some(whole) = captures.get(0) else { continue };
            new.extend_from_slice(old.get(end..whole.start()).unwrap_or_default());
            captures.expand(&replace.with, &mut new);
            end = whole.end();
            if new.len() > MAX_EDIT {
                return Err(ActionError::TooLong {
                    what: (&*replace.what).into(),
                    max: MAX_EDIT,
                });
            }
        }
        new.extend_from_slice(old.get(end..).unwrap_or_default());
        if new == old {
            return Ok(false);
        }
        self.write(place, &Datum::Bytes(new), &mut decoded, &mut edit)?;
        Ok(self.put(edit))
    }

    /// Writes a field of the message in `edit`.
    fn write(
        &self,
        place: &teetap_wire::def::Path,
        value: &Datum,
        decoded: &mut Decoded,
        edit: &mut Vec<u8>,
    ) -> Result<(), ActionError> {
        let Some(def) = self.facts.subject().def else {
            return Ok(());
        };
        decoded.read(def, edit, self.body);
        let mut out = Vec::with_capacity(edit.len());
        decoded.splice(def, edit, place, value, &mut out)?;
        *edit = out;
        Ok(())
    }

    /// Creates a message. Returns false if the protocol of the session does not have it.
    pub(super) fn make(&mut self, template: &Template) -> Result<bool, ActionError> {
        let dialect = Dialect::from(self.message.proto);
        let dir = template.dir.unwrap_or_else(|| self.message.dir.reverse());
        let form = template
            .forms
            .iter()
            .find(|form| form.dialect == dialect && form.def.way.allows(dir));
        let Some(form) = form else { return Ok(false) };
        let made = self.form(form, dir, &template.what)?;
        if template.before {
            self.verdict.before.push(made);
        } else {
            self.verdict.after.push(made);
        }
        Ok(true)
    }

    fn form(&self, form: &DialectForm, dir: Dir, what: &str) -> Result<Made, ActionError> {
        let key = self.key();
        let mut fields = Vec::with_capacity(form.fields.len());
        let mut copied = Vec::new();
        for (name, value) in &form.fields {
            let value = match (value, &key) {
                (Value::Fixed(datum), _) => Some(datum.clone()),
                (value, Some(key)) => {
                    let mut of_field = Vec::new();
                    let value = self.datum(value, key, &mut of_field)?;
                    copied.extend(of_field.into_iter().map(|secret| (name, secret)));
                    value
                }
                (_, None) => None,
            };
            let value = value.ok_or_else(|| ActionError::missing(format!("{what}.{name}")))?;
            fields.push((name.clone(), value));
        }
        let (mut data, fields) = (Vec::new(), Datum::Group(fields));
        form.def.encode(&fields, &mut data)?;
        if !copied.is_empty() {
            let (mut body, mut decoded) = (Vec::new(), Decoded::new());
            form.def.encode_fields(&fields, &mut body)?;
            decoded.read(form.def, &body, 0);
            for (name, secret) in copied {
                let is_here = |record: &&Record| {
                    let field = form.def.field(record.field);
                    record.depth == 0 && field.is_some_and(|field| *field.name == **name)
                };
                let record = decoded.records().iter().find(is_here);
                hides(form.def, (decoded.view(), record), &body, &[secret])?;
            }
        }
        let vital = form.vital;
        Ok(Made {
            dir,
            vital,
            data,
            rule: Some(self.id),
        })
    }

    /// Returns a value for a field; `None` if a part of it is missing. Appends the secrets in the value to `copied`.
    fn datum(
        &self,
        value: &Value,
        key: &DefKey,
        copied: &mut Vec<Box<[u8]>>,
    ) -> Result<Option<Datum>, ActionError> {
        let datum = || self.rule.when.value(value, self.facts, key, self.memory);
        match value {
            Value::Template(parts) => {
                let mut text = Text::default();
                parts.iter().for_each(|part| self.add_part(part, &mut text));
                copied.extend(text.secrets);
                Ok((!text.lacks_value).then(|| Datum::Bytes(text.whole.into_bytes())))
            }
            Value::Text(text) => {
                if let Some((bytes, Some(secret))) = self.reported(*text) {
                    copied.extend(bytes.get(secret).map(Into::into));
                }
                Ok(datum())
            }
            // Computed numbers may reveal a secret in other digits.
            Value::Number(number) if self.is_secret(number) => Err(ActionError::Secret),
            Value::Number(_) | Value::Fixed(_) => Ok(datum()),
        }
    }

    /// Sets a variable.
    pub(super) fn var(&mut self, at: u16, name: &str, value: &VarValue) -> Result<(), ActionError> {
        let key = self.key();
        let (facts, key, memory) = (self.facts, key.as_ref(), self.memory);
        let mut is_secret = false;
        let given = match value {
            VarValue::Number(number) => {
                is_secret = self.is_secret(number);
                let number = self.rule.when.number(number, facts, key, memory);
                number.map(Given::Number)
            }
            VarValue::Truth(cond) => {
                let truth = self.rule.when.truth(cond, facts, key, memory);
                truth.map(|truth| Given::Number(truth.into()))
            }
            VarValue::Text(text) => {
                let reported = self.reported(*text);
                is_secret = reported.as_ref().is_some_and(|(_, secret)| secret.is_some());
                reported.map(|(text, _)| Given::Text(text.into()))
            }
            VarValue::Fixed(text) => Some(Given::Text(text.clone())),
        };
        let given = given.ok_or_else(|| ActionError::missing(format!("${name}")))?;
        self.variables.borrow_mut().set(at, given, is_secret);
        Ok(())
    }

    /// Returns the text that a rule reports, with dots for secrets, and the text with its secrets if it has any.
    /// Without `parts`, the text is the name of the message.
    pub(super) fn text(&self, parts: Option<&[TextPart]>) -> (Box<str>, Option<Box<str>>) {
        let Some(parts) = parts else {
            let def = self.facts.subject().def;
            return (def.map_or("unknown", |def| &def.name).into(), None);
        };
        let mut text = Text::default();
        parts.iter().for_each(|part| self.add_part(part, &mut text));
        let has_secrets = text.whole != text.shown;
        (plain(&text.shown), has_secrets.then(|| plain(&text.whole)))
    }

    fn add_part(&self, part: &TextPart, text: &mut Text) {
        let key = self.key();
        let number = |number: &Number| {
            let value = self
                .rule
                .when
                .number(number, self.facts, key.as_ref(), self.memory);
            (value, self.is_secret(number))
        };
        match part {
            TextPart::Text(fixed) => text.push(fixed, false),
            TextPart::Number(value, quantity) => {
                let (value, is_secret) = number(value);
                text.lacks_value |= value.is_none();
                text.push(&shown(value, *quantity), is_secret);
            }
            TextPart::Named(value, names) => {
                let (value, is_secret) = number(value);
                let name = names.iter().find(|(_, of)| Some(*of) == value);
                text.lacks_value |= name.is_none();
                text.push(name.map_or("?", |(name, _)| name), is_secret);
            }
            TextPart::Flags(value, names) => {
                let (value, is_secret) = number(value);
                text.lacks_value |= value.is_none();
                let bits = value.unwrap_or_default();
                let set = names.iter().filter(|(_, of)| bits & of != 0);
                let set: Vec<_> = set.map(|(name, _)| *name).collect();
                let flags = if set.is_empty() { "none" } else { &set.join("+") };
                text.push(flags, is_secret);
            }
            TextPart::Value(value) => match self.reported(*value) {
                Some((bytes, secret)) => {
                    let secret = secret.unwrap_or(bytes.len()..bytes.len());
                    let part = |range| String::from_utf8_lossy(bytes.get(range).unwrap_or_default());
                    text.before(&part(0..secret.start), !secret.is_empty());
                    text.push(&part(secret.start..secret.end), !secret.is_empty());
                    text.push(&part(secret.end..bytes.len()), false);
                }
                None => {
                    text.lacks_value = true;
                    text.push("?", false);
                }
            },
        }
    }

    /// Returns a text of the message with its secret range.
    fn reported(&self, text: eval::Text) -> Option<Reported> {
        let (key, variables) = (self.key(), self.variables.borrow());
        let known = (key.as_ref(), self.memory);
        self.rule.when.reported(text, self.facts, known, &variables)
    }

    /// Returns true if a number of the message is secret.
    fn is_secret(&self, number: &Number) -> bool {
        let (key, variables) = (self.key(), self.variables.borrow());
        let known = (key.as_ref(), self.memory);
        self.rule.when.is_secret(number, self.facts, known, &variables)
    }

    /// Returns the definition of the message as a key.
    pub(super) fn key(&self) -> Option<DefKey> {
        let def = self.facts.subject().def?;
        Some(DefKey::new(self.message.proto.into(), def))
    }

    /// Returns the bytes of the message, with the changes so far.
    fn current(&self) -> Vec<u8> {
        let edit = self.verdict.edit.as_deref();
        edit.unwrap_or(self.message.data).to_vec()
    }

    /// Sets the bytes of the message. Returns true if they differ from the previous bytes.
    fn put(&mut self, edit: Vec<u8>) -> bool {
        let is_new = edit != self.verdict.edit.as_deref().unwrap_or(self.message.data);
        let is_same = edit == self.message.data;
        self.verdict.edit = (!is_same).then_some(edit);
        is_new
    }
}

/// Returns a text without values: the check allows no others in a rule without a condition.
fn fixed(parts: &[TextPart]) -> Box<str> {
    let texts = parts.iter().map(|part| match part {
        TextPart::Text(text) => &**text,
        _ => "",
    });
    plain(&texts.collect::<String>())
}

/// Carries out the actions of a rule without a condition, which create messages and effects.
pub(super) fn timed(
    rule: RuleId,
    resolved: &[ResolvedAction],
    proto: Option<Proto>,
    (made, effects): (&mut Vec<Made>, &mut Vec<Effect>),
) {
    for resolved_action in resolved {
        match resolved_action {
            ResolvedAction::Make(template) => {
                // The check allows only fixed values without a message.
                let place = proto.zip(template.dir);
                match place.and_then(|(proto, dir)| template.made(proto, dir)) {
                    Some(Ok(one)) => made.push(one),
                    Some(Err(error)) => effects.push(Effect::Failed {
                        rule,
                        why: error.to_string().into(),
                    }),
                    None => {}
                }
            }
            ResolvedAction::Log(Some(parts)) => {
                let text = fixed(parts);
                let whole = None;
                effects.push(Effect::Log { rule, text, whole });
            }
            ResolvedAction::Plain(Action::Close { side, reason }) => {
                let (side, reason) = (*side, reason.as_str().into());
                effects.push(Effect::Close { side, reason });
            }
            ResolvedAction::Plain(Action::Stall(time)) => effects.push(Effect::Stall {
                dir: None,
                for_: *time,
            }),
            ResolvedAction::Fail(why) => effects.push(end(rule, End::Fail(fixed(why)))),
            ResolvedAction::Exit(code) => effects.push(end(rule, End::Exit(*code))),
            // The caller starts expectations. The check allows no other actions without a message.
            ResolvedAction::Expect(_)
            | ResolvedAction::Plain(_)
            | ResolvedAction::Set(_)
            | ResolvedAction::Replace(_)
            | ResolvedAction::Log(None)
            | ResolvedAction::Mark(_)
            | ResolvedAction::Var(..) => {}
        }
    }
}

/// Returns the effect of a rule without a condition that ends the run.
const fn end(rule: RuleId, end: End) -> Effect {
    let message = None;
    Effect::End { rule, end, message }
}
