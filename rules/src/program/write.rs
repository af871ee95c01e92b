//! The actions that write: `set`, `replace`, `inject` and `reply`.
//!
//! Law: only the bytes of the fields that an action names change. An action that fails leaves the message as it is, and
//! a notice has the cause.

use teetap_wire::Dir;
use teetap_wire::def::{Datum, Decoded, Dialect};

use super::act::Act;
use crate::check::{Assign, Form, Replace, Template};
use crate::eval::{Facts, Key};
use crate::verdict::Made;

/// The maximum length of a message that `replace` writes, in bytes: no datagram has more.
const MAX_EDIT: usize = 1400;

/// The reason why an action fails.
type Why = String;

impl<F: Facts> Act<'_, F> {
    /// Changes fields, all or none.
    pub(super) fn set(&mut self, assigns: &[Assign]) -> Result<(), Why> {
        let Some(key) = self.key() else { return Ok(()) };
        let mut edit = self.current();
        let mut decoded = Decoded::new();
        for assign in assigns {
            // A field of another message.
            let Some((_, place, value)) = assign.places.iter().find(|(of, ..)| *of == key) else {
                continue;
            };
            let value = self.when.value(value, self.facts, &key, self.memory);
            let value = value.ok_or_else(|| format!("the value for `{}` is missing", assign.what))?;
            self.write(place, &value, &mut decoded, &mut edit)?;
        }
        self.put(edit);
        Ok(())
    }

    /// Replaces what matches in a text.
    pub(super) fn replace(&mut self, replace: &Replace) -> Result<(), Why> {
        let Some(key) = self.key() else { return Ok(()) };
        let Some((_, place)) = replace.places.iter().find(|(of, _)| *of == key) else {
            return Ok(());
        };
        let mut edit = self.current();
        let mut decoded = Decoded::new();
        let Some(def) = self.facts.subject().def else {
            return Ok(());
        };
        decoded.read(def, &edit, self.body);
        let Some(record) = decoded.find(place) else {
            return Ok(());
        };
        let old = def
            .bytes(record, teetap_wire::def::Source::Bytes(&edit))
            .into_owned();
        let mut new = Vec::new();
        let mut end = 0;
        for captures in replace.regex.captures_iter(&old) {
            let Some(whole) = captures.get(0) else { continue };
            new.extend_from_slice(old.get(end..whole.start()).unwrap_or_default());
            captures.expand(&replace.with, &mut new);
            end = whole.end();
            if new.len() > MAX_EDIT {
                return Err(format!(
                    "the new `{}` is longer than {MAX_EDIT} bytes",
                    replace.what
                ));
            }
        }
        new.extend_from_slice(old.get(end..).unwrap_or_default());
        if new != old {
            self.write(place, &Datum::Bytes(new), &mut decoded, &mut edit)?;
            self.put(edit);
        }
        Ok(())
    }

    /// Writes a field of the message in `edit`.
    fn write(
        &self,
        place: &teetap_wire::def::Path,
        value: &Datum,
        decoded: &mut Decoded,
        edit: &mut Vec<u8>,
    ) -> Result<(), Why> {
        let Some(def) = self.facts.subject().def else {
            return Ok(());
        };
        decoded.read(def, edit, self.body);
        let mut out = Vec::with_capacity(edit.len());
        decoded
            .splice(def, edit, place, value, &mut out)
            .map_err(|error| error.to_string())?;
        *edit = out;
        Ok(())
    }

    /// Makes a message.
    pub(super) fn make(&mut self, template: &Template) -> Result<(), Why> {
        let dialect = Dialect::from(self.message.proto);
        let dir = template.dir.unwrap_or_else(|| self.message.dir.reverse());
        let form = template
            .forms
            .iter()
            .find(|form| form.dialect == dialect && form.def.way.allows(dir));
        let Some(form) = form else { return Ok(()) };
        let made = self.form(form, dir, &template.what)?;
        if template.before {
            self.verdict.before.push(made);
        } else {
            self.verdict.after.push(made);
        }
        Ok(())
    }

    fn form(&self, form: &Form, dir: Dir, what: &str) -> Result<Made, Why> {
        let key = self.key();
        let mut fields = Vec::with_capacity(form.fields.len());
        for (name, value) in &form.fields {
            let value = match (value, &key) {
                (crate::eval::Value::Fixed(datum), _) => Some(datum.clone()),
                (value, Some(key)) => self.when.value(value, self.facts, key, self.memory),
                (_, None) => None,
            };
            let value = value.ok_or_else(|| format!("the value for `{what}.{name}` is missing"))?;
            fields.push((name.clone(), value));
        }
        let mut data = Vec::new();
        form.def
            .encode(&Datum::Group(fields), &mut data)
            .map_err(|error| error.to_string())?;
        let vital = form.vital;
        Ok(Made { dir, vital, data })
    }

    /// Returns the definition of the message as a key.
    fn key(&self) -> Option<Key> {
        let def = self.facts.subject().def?;
        Some(Key::new(self.message.proto.into(), def))
    }

    /// Returns the bytes of the message, with the changes so far.
    fn current(&self) -> Vec<u8> {
        let edit = self.verdict.edit.as_deref();
        edit.unwrap_or(self.message.data).to_vec()
    }

    /// Sets the bytes of the message.
    fn put(&mut self, edit: Vec<u8>) {
        let is_same = edit == self.message.data;
        self.verdict.edit = (!is_same).then_some(edit);
    }
}
