//! Changes one field of an encoded message.
//!
//! Law: all other bytes stay unchanged, even if they are encoded oddly or follow the last known field. The only
//! exception is a field with the length or count of the edited field: it is updated, because the message would
//! otherwise have a different meaning.

use super::datum::{Datum, EncodeError};
use super::model::{Def, Field, Len, Path, Repeat, Type};
use super::record::{Decoded, Record, Value};

/// The reason why a field cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The value does not fit the field.
    #[error(transparent)]
    Value(#[from] EncodeError),
    /// The message ends before the field, or the list has fewer elements.
    #[error("the message has no such field")]
    Missing,
}

impl Decoded {
    /// Replaces `out` with a copy of `data` in which the field at `path` is changed. `self` must be decoded from
    /// `data`. A missing optional field is added, along with default values for missing fields before it.
    ///
    /// # Errors
    /// Returns an error if the value does not fit, or the place does not exist.
    pub fn splice(
        &self,
        def: &Def,
        data: &[u8],
        path: &Path,
        value: &Datum,
        out: &mut Vec<u8>,
    ) -> Result<(), EditError> {
        out.clear();
        let Some(record) = self.find(path) else {
            return self.append(def, data, path, value, out);
        };
        let field = def.field(record.field).ok_or(EditError::Missing)?;
        let mut new = Vec::new();
        let count = match (record.value, value) {
            (Value::List(_), _) => {
                self.encode_list(def, record, value, &mut new)?;
                match value {
                    Datum::List(list) => list.len(),
                    _ => 0,
                }
            }
            _ => {
                let numbers = self.size_of(field);
                def.encode_element(record.field, field, value, numbers, &mut new)?;
                new.len()
            }
        };
        let counter = match (&field.ty, field.repeat, record.value) {
            (_, Repeat::Field(counter), Value::List(_)) => Some(counter),
            (Type::Raw(Len::Field(counter), _), ..) => Some(*counter),
            _ => None,
        };
        // The field with the count always precedes the counted elements.
        let mut pos = 0;
        if let Some(counter) = counter.and_then(|counter| self.before(record, counter)) {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            if counter.int() != Some(count) {
                let field = def.field(counter.field).ok_or(EditError::Missing)?;
                keep(data, pos, counter.at, out);
                def.encode_element(counter.field, field, &Datum::Int(count), None, out)?;
                pos = counter.at + counter.len;
            }
        }
        keep(data, pos, record.at, out);
        out.extend(new);
        keep(data, record.at + record.len, u32::MAX, out);
        Ok(())
    }

    /// Changes the field at `path` in the ints of an object. `self` must be decoded from the same ints.
    ///
    /// # Errors
    /// Returns an error if the value does not fit, or the place does not exist.
    pub fn splice_object(
        &self,
        def: &Def,
        ints: &mut [i32],
        path: &Path,
        value: &Datum,
    ) -> Result<(), EditError> {
        let record = self.find(path).ok_or(EditError::Missing)?;
        let field = def.field(record.field).ok_or(EditError::Missing)?;
        let mut new = Vec::new();
        match (record.value, value) {
            (Value::List(_), Datum::List(list)) => {
                for value in list {
                    def.encode_ints(record.field, field, value, &mut new)?;
                }
            }
            _ => def.encode_ints(record.field, field, value, &mut new)?,
        }
        let old = ints
            .get_mut(record.at as usize..)
            .and_then(|ints| ints.get_mut(..record.len as usize));
        let old = old.ok_or(EditError::Missing)?;
        if old.len() != new.len() {
            let error = EncodeError::WrongLength {
                field: field.name.clone(),
                wanted: old.len(),
                found: new.len(),
            };
            return Err(error.into());
        }
        old.copy_from_slice(&new);
        Ok(())
    }

    fn encode_list(
        &self,
        def: &Def,
        record: &Record,
        value: &Datum,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let field = def
            .field(record.field)
            .ok_or_else(|| EncodeError::Required(def.name.clone()))?;
        def.encode_field(record.field, field, Some(value), out)
    }

    /// Returns the field that states the size of an object in a message, and its value.
    fn size_of(&self, field: &Field) -> Option<(u16, i64)> {
        let Type::Group {
            bytes: Some(counter), ..
        } = field.ty
        else {
            return None;
        };
        let record = self.records.iter().find(|record| record.field == counter)?;
        Some((counter, record.int()?))
    }

    /// Returns the last record of `field` before `record`.
    fn before(&self, record: &Record, field: u16) -> Option<&Record> {
        let before = self.records.get(..self.view().place(record))?;
        before.iter().rev().find(|other| other.field == field)
    }

    /// Adds a missing field of the message itself.
    fn append(
        &self,
        def: &Def,
        data: &[u8],
        path: &Path,
        value: &Datum,
        out: &mut Vec<u8>,
    ) -> Result<(), EditError> {
        let [step] = &*path.steps else {
            return Err(EditError::Missing);
        };
        let target = def.field(step.field).ok_or(EditError::Missing)?;
        let known = def
            .parts(None)
            .all(|(at, field)| field.optional || self.parts(None).any(|record| record.field == at));
        // A field cannot be added before unknown bytes, which would then be part of it.
        if step.index.is_some() || !target.optional || !known || self.known_end < data.len() {
            return Err(EditError::Missing);
        }
        out.extend_from_slice(data);
        for (at, field) in def.parts(None).filter(|(at, _)| *at <= step.field) {
            if self.parts(None).any(|record| record.field == at) {
                continue;
            }
            let value = (at == step.field).then_some(value);
            def.encode_field(at, field, value, out)?;
        }
        Ok(())
    }
}

fn keep(data: &[u8], from: u32, to: u32, out: &mut Vec<u8>) {
    let to = (to as usize).min(data.len());
    out.extend_from_slice(data.get(from as usize..to).unwrap_or_default());
}
