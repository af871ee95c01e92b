//! Encodes values into bytes.
//!
//! Law: given values are encoded even if receivers will reject them, because a debugging proxy needs invalid messages.
//! A missing value is replaced with the default in the definition, or else with the legal value nearest to 0, or else
//! with an empty value. A count or length is set to the actual count or length of its field.

mod leaf;
mod writer;

use leaf::{default_text, wrong};
use writer::{Result, Sink, Writer};

use super::datum::{Datum, EncodeError};
use super::model::{Class, Def, Field, Id, Len, Repeat, Type};
use super::suggest::suggest;
use crate::varint;

/// The maximum number of default elements or bytes; no message has room for more.
const MAX_DEFAULT: i64 = 1400;

type Given = [(std::sync::Arc<str>, Datum)];

impl Def {
    /// Appends the message, including its id. Control messages begin with an id of one byte, connless messages with
    /// `ffffffff`.
    ///
    /// # Errors
    /// Returns an error if the wire form cannot hold a value; `out` is then unchanged.
    pub fn encode(&self, values: &Datum, out: &mut Vec<u8>) -> Result {
        if self.class == Class::Object {
            return Err(EncodeError::WrongClass(self.name.clone()));
        }
        let start = out.len();
        self.write_id(out);
        let result = self.encode_fields(values, out);
        if result.is_err() {
            out.truncate(start);
        }
        result
    }

    /// Appends the fields of the message, without its id.
    ///
    /// # Errors
    /// As [`Def::encode`]; `out` may then hold a part.
    pub fn encode_fields(&self, values: &Datum, out: &mut Vec<u8>) -> Result {
        self.write(values, Sink::Bytes(out))
    }

    /// Appends the ints of an object.
    ///
    /// # Errors
    /// As [`Def::encode`]; `out` may then hold a part.
    pub fn encode_object(&self, values: &Datum, out: &mut Vec<i32>) -> Result {
        if self.class != Class::Object {
            return Err(EncodeError::WrongClass(self.name.clone()));
        }
        self.write(values, Sink::Ints(out))
    }

    /// Appends one element of a field in the encoding of messages. `number` is the field that contains its size, and
    /// the value of that field.
    pub(super) fn encode_element(
        &self,
        at: u16,
        field: &Field,
        value: &Datum,
        number: Option<(u16, i64)>,
        out: &mut Vec<u8>,
    ) -> Result {
        let mut writer = Writer::new(self, Sink::Bytes(out));
        writer.numbers.extend(number);
        writer.one(at, field, Some(value))
    }

    /// Appends a field with all its elements.
    pub(super) fn encode_field(
        &self,
        at: u16,
        field: &Field,
        value: Option<&Datum>,
        out: &mut Vec<u8>,
    ) -> Result {
        Writer::new(self, Sink::Bytes(out)).field(at, field, value)
    }

    /// Appends one element of a field in the encoding of objects.
    pub(super) fn encode_ints(&self, at: u16, field: &Field, value: &Datum, out: &mut Vec<i32>) -> Result {
        Writer::new(self, Sink::Ints(out)).one(at, field, Some(value))
    }

    fn write(&self, values: &Datum, sink: Sink<'_>) -> Result {
        let Datum::Group(given) = values else {
            return Err(EncodeError::WrongKind {
                field: self.name.clone(),
                wanted: "fields",
                found: values.kind(),
            });
        };
        Writer::new(self, sink).members(None, &self.name, given)
    }

    fn write_id(&self, out: &mut Vec<u8>) {
        let system = i32::from(self.class == Class::System);
        match (&self.id, self.class) {
            (Id::Number(id), Class::Control) => out.extend(u8::try_from(*id)),
            (Id::Number(id), _) => varint::encode(id.wrapping_shl(1) | system, out),
            (Id::Uuid { uuid, .. }, _) => {
                varint::encode(system, out);
                out.extend(uuid);
            }
            (Id::Tag(tag), _) => {
                out.extend([0xff; 4]);
                out.extend(tag);
            }
        }
    }
}

impl Writer<'_, '_> {
    fn members(&mut self, parent: Option<u16>, name: &std::sync::Arc<str>, given: &Given) -> Result {
        let def = self.def;
        let value = |field: &Field| {
            given
                .iter()
                .find(|(name, _)| **name == *field.name)
                .map(|(_, value)| value)
        };
        for (name_given, _) in given {
            if !def.parts(parent).any(|(_, field)| field.name == *name_given) {
                let meant = suggest(name_given, def.parts(parent).map(|(_, field)| &*field.name));
                return Err(EncodeError::UnknownField {
                    message: name.clone(),
                    field: name_given.clone(),
                    meant: meant.map(Into::into),
                });
            }
        }
        for (at, field) in def.parts(parent) {
            let mut after = def.parts(parent).filter(|(later, _)| *later > at);
            // An optional field without a value and a default is omitted if all fields after it are omitted, too.
            let tail = |(_, field): (u16, &Field)| match value(field) {
                None => field.optional && field.default.is_none(),
                given => given == Some(&Datum::Absent),
            };
            match value(field) {
                Some(Datum::Absent) if field.optional => self.ended = true,
                Some(Datum::Absent) => return Err(EncodeError::Required(field.name.clone())),
                None if field.optional && self.ended => {}
                None if field.optional && field.default.is_none() && after.all(tail) => self.ended = true,
                _ if self.ended => return Err(EncodeError::Required(field.name.clone())),
                None => match self.counted(at, given) {
                    Some(count) => self.field(at, field, Some(&Datum::Int(count)))?,
                    None => self.field(at, field, None)?,
                },
                given => self.field(at, field, given)?,
            }
        }
        Ok(())
    }

    /// Returns the value that the field `counter` must have to match the lengths of the given values.
    fn counted(&self, counter: u16, given: &Given) -> Option<i64> {
        let parent = self.def.field(counter)?.place.parent;
        self.def.parts(parent).find_map(|(_, field)| {
            let value = given
                .iter()
                .find(|(name, _)| **name == *field.name)
                .map(|(_, value)| value);
            let len = match (value?, &field.ty) {
                (Datum::List(list), _) if field.repeat == Repeat::Field(counter) => list.len(),
                (Datum::Bytes(bytes), Type::Raw(Len::Field(at), _)) if *at == counter => bytes.len(),
                _ => return None,
            };
            i64::try_from(len).ok()
        })
    }

    fn field(&mut self, at: u16, field: &Field, value: Option<&Datum>) -> Result {
        let wanted = match field.repeat {
            Repeat::One => return self.one(at, field, value),
            Repeat::Fixed(count) => i64::from(count),
            Repeat::Field(counter) => self.number(counter),
            Repeat::Params(counter) => {
                let set = self.def.field(counter).and_then(Field::set);
                let label = set.and_then(|set| set.label(self.number(counter)));
                label.and_then(|label| label.params).map_or(0, i64::from)
            }
            Repeat::Rest => 0,
        };
        match value {
            None => {
                for _ in 0..wanted.min(MAX_DEFAULT) {
                    self.one(at, field, None)?;
                }
                Ok(())
            }
            Some(Datum::List(list)) => {
                let fixed = matches!(field.repeat, Repeat::Fixed(_));
                let partial = field.optional && (list.len() as i64) < wanted;
                if fixed && list.len() as i64 != wanted && !partial {
                    return Err(EncodeError::WrongLength {
                        field: field.name.clone(),
                        wanted: usize::try_from(wanted).unwrap_or(0),
                        found: list.len(),
                    });
                }
                self.ended |= fixed && partial;
                list.iter().try_for_each(|value| self.one(at, field, Some(value)))
            }
            Some(other) => Err(wrong(field, "a list", other)),
        }
    }

    fn one(&mut self, at: u16, field: &Field, value: Option<&Datum>) -> Result {
        match &field.ty {
            Type::Int | Type::Bool | Type::Tick | Type::Tune => self.int(at, field, value, None),
            Type::Enum(set) | Type::Flags(set) => self.int(at, field, value, Some(set)),
            Type::U8 => self.big_endian(at, field, value, 1),
            Type::Be16 => self.big_endian(at, field, value, 2),
            Type::Be32 => self.big_endian(at, field, value, 4),
            Type::Decimal => {
                // Text that was not a number on the wire is written unchanged.
                if let Some(Datum::Bytes(text)) = value {
                    return self.terminated(field, text);
                }
                let number = self.value(at, field, value, None)?;
                self.terminated(field, number.to_string().as_bytes())
            }
            Type::Text(_) => match value {
                Some(Datum::Bytes(text)) => self.terminated(field, text),
                Some(other) => Err(wrong(field, "text", other)),
                None => self.terminated(field, default_text(field).as_bytes()),
            },
            Type::Packed(ints) => match value {
                Some(Datum::Bytes(text)) => self.packed(field, text, *ints),
                Some(other) => Err(wrong(field, "text", other)),
                None => self.packed(field, default_text(field).as_bytes(), *ints),
            },
            Type::Raw(len, expect) => self.raw(field, value, *len, expect.as_deref()),
            Type::Uuid => self.bytes(field, value, Some(16), vec![0; 16]),
            Type::Sha256 => self.bytes(field, value, Some(32), vec![0; 32]),
            Type::Addr => self.bytes(field, value, Some(18), vec![0; 18]),
            Type::AddrLegacy => self.bytes(field, value, Some(6), vec![0; 6]),
            Type::Group { name, bytes } => {
                let given = match value {
                    Some(Datum::Group(given)) => given.as_slice(),
                    Some(other) => return Err(wrong(field, "fields", other)),
                    None => &[],
                };
                self.ints_left = bytes.map(|counter| self.number(counter) / 4);
                self.members(Some(at), name, given)?;
                // The announced size may exceed the fields, and the room of any message.
                for _ in 0..MAX_DEFAULT {
                    if self.ended || self.ints_left.is_none_or(|left| left <= 0) {
                        break;
                    }
                    self.put_int(field, 0)?;
                }
                self.ints_left = None;
                Ok(())
            }
        }
    }

    fn raw(&mut self, field: &Field, value: Option<&Datum>, len: Len, expect: Option<&str>) -> Result {
        let (wanted, usual) = match len {
            Len::Fixed(len) => (Some(len.into()), len.into()),
            Len::Field(counter) => (None, self.number(counter).clamp(0, MAX_DEFAULT)),
            Len::Rest => (None, 0),
        };
        let zeros = || vec![0; usize::try_from(usual).unwrap_or(0)];
        self.bytes(
            field,
            value,
            wanted,
            expect.map_or_else(zeros, |expect| expect.as_bytes().to_vec()),
        )
    }

    fn number(&self, field: u16) -> i64 {
        self.numbers
            .iter()
            .rev()
            .find(|(at, _)| *at == field)
            .map_or(0, |(_, value)| *value)
    }
}
