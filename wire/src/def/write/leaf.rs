//! Writing values without parts.

use super::writer::{Result, Sink, Writer};
use crate::def::datum::{Datum, EncodeError};
use crate::def::model::{Default, Field, Set, Type};
use crate::varint;

impl Writer<'_, '_> {
    pub(super) fn int(&mut self, at: u16, field: &Field, value: Option<&Datum>, set: Option<&Set>) -> Result {
        let value = self.value(at, field, value, set)?;
        self.put_int(field, value)
    }

    /// Returns the number to write and keeps it for fields that refer to it.
    pub(super) fn value(
        &mut self,
        at: u16,
        field: &Field,
        value: Option<&Datum>,
        set: Option<&Set>,
    ) -> Result<i64> {
        let value = match (value, set) {
            (Some(Datum::Int(value)), _) => *value,
            (Some(Datum::Bytes(label)), Some(set)) => labelled(field, set, label)?,
            (Some(other), _) => return Err(wrong(field, "a number", other)),
            (None, _) => match field.default {
                Some(Default::Int(value)) => value,
                _ => 0.clamp(field.bounds.min, field.bounds.max),
            },
        };
        self.numbers.push((at, value));
        Ok(value)
    }

    pub(super) fn put_int(&mut self, field: &Field, value: i64) -> Result {
        if let Some(left) = &mut self.ints_left {
            if *left <= 0 {
                return Ok(());
            }
            *left -= 1;
        }
        // Flags may be given with their highest bit set.
        let unsigned = u32::try_from(value)
            .ok()
            .filter(|_| matches!(field.ty, Type::Flags(_)));
        let int = i32::try_from(value).ok().or(unsigned.map(u32::cast_signed));
        let int = int.ok_or_else(|| EncodeError::TooLarge {
            field: field.name.clone(),
            value,
        })?;
        match &mut self.sink {
            Sink::Bytes(out) => varint::encode(int, out),
            Sink::Ints(out) => out.push(int),
        }
        Ok(())
    }

    pub(super) fn big_endian(&mut self, at: u16, field: &Field, value: Option<&Datum>, len: usize) -> Result {
        let value = self.value(at, field, value, None)?;
        let bytes = value.to_be_bytes();
        let (rest, low) = bytes.split_at(bytes.len() - len);
        if rest.iter().any(|byte| *byte != 0) {
            return Err(EncodeError::TooLarge {
                field: field.name.clone(),
                value,
            });
        }
        self.put(field, low)
    }

    pub(super) fn bytes(
        &mut self,
        field: &Field,
        value: Option<&Datum>,
        wanted: Option<usize>,
        default: Vec<u8>,
    ) -> Result {
        let bytes = match value {
            Some(Datum::Bytes(bytes)) => bytes,
            Some(other) => return Err(wrong(field, "bytes", other)),
            None => &default,
        };
        match wanted {
            Some(wanted) if wanted != bytes.len() => Err(EncodeError::WrongLength {
                field: field.name.clone(),
                wanted,
                found: bytes.len(),
            }),
            _ => self.put(field, bytes),
        }
    }

    pub(super) fn put(&mut self, field: &Field, bytes: &[u8]) -> Result {
        match &mut self.sink {
            Sink::Bytes(out) => out.extend_from_slice(bytes),
            Sink::Ints(out) => {
                let words = bytes
                    .chunks_exact(4)
                    .filter_map(|word| word.first_chunk().copied());
                out.extend(words.map(i32::from_be_bytes));
                if !bytes.len().is_multiple_of(4) {
                    return Err(EncodeError::WrongClass(field.name.clone()));
                }
            }
        }
        Ok(())
    }

    pub(super) fn terminated(&mut self, field: &Field, text: &[u8]) -> Result {
        if text.contains(&0) {
            return Err(EncodeError::Nul(field.name.clone()));
        }
        match &mut self.sink {
            Sink::Bytes(out) => {
                out.extend_from_slice(text);
                out.push(0);
                Ok(())
            }
            Sink::Ints(_) => Err(EncodeError::WrongClass(field.name.clone())),
        }
    }

    pub(super) fn packed(&mut self, field: &Field, text: &[u8], ints: u16) -> Result {
        let most = 4 * usize::from(ints) - 1;
        if text.len() > most {
            return Err(EncodeError::WrongLength {
                field: field.name.clone(),
                wanted: most,
                found: text.len(),
            });
        }
        if text.contains(&0) {
            return Err(EncodeError::Nul(field.name.clone()));
        }
        let mut bytes = text.to_vec();
        bytes.resize(most, 0);
        bytes.iter_mut().for_each(|byte| *byte = byte.wrapping_add(128));
        // The reference clears the last byte after adding.
        bytes.push(0);
        for word in bytes.chunks_exact(4) {
            let word = word.first_chunk().map_or(0, |word| i32::from_be_bytes(*word));
            self.put_int(field, word.into())?;
        }
        Ok(())
    }
}

pub(super) fn default_text(field: &Field) -> &str {
    match &field.default {
        Some(Default::Text(text)) => text,
        _ => "",
    }
}

pub(super) fn wrong(field: &Field, wanted: &'static str, found: &Datum) -> EncodeError {
    let kind = if wanted == "a list" { wanted } else { field.kind() };
    EncodeError::WrongKind {
        field: field.name.clone(),
        wanted: kind,
        found: found.kind(),
    }
}

fn labelled(field: &Field, set: &Set, text: &[u8]) -> Result<i64> {
    let text = String::from_utf8_lossy(text);
    let unknown = |label: &str| EncodeError::UnknownLabel {
        field: field.name.clone(),
        label: label.to_owned(),
    };
    if !set.flags {
        return set.value(&text).ok_or_else(|| unknown(&text));
    }
    let labels = text.split('|').map(str::trim).filter(|label| !label.is_empty());
    labels
        .map(|label| set.value(label).ok_or_else(|| unknown(label)))
        .try_fold(0, |sum, bit| Ok(sum | bit?))
}
