//! Reading values without parts.

use super::{Reader, Stop};
use crate::def::model::{Field, Len, Set, Type};
use crate::def::record::{Record, Source, Value, packed_text};
use crate::def::text;
use crate::note::Code;
use crate::varint;

impl Reader<'_, '_> {
    #[inline(always)]
    pub(super) fn int(&mut self, at: u16, field: &Field, index: Option<u16>) -> Result<(), Stop> {
        let start = self.pos;
        let Some(value) = self.next_int() else {
            return self.lack(field);
        };
        if value < field.bounds.min || value > field.bounds.max {
            self.note(Code::OutOfRange, start, self.pos - start);
        }
        self.push(at, index, start, Value::Int(value))
    }

    #[inline(always)]
    pub(super) fn next_int(&mut self) -> Option<i64> {
        // Fast path for ints of one byte (six bits and a sign), which are the most frequent.
        if let (Source::Bytes(bytes), None | Some(1..)) = (self.source, self.ints_left)
            && let Some(&byte @ ..0x80) = bytes.get(self.pos)
        {
            self.pos += 1;
            self.ints_left = self.ints_left.map(|left| left - 1);
            let value = i64::from(byte & 0x3f);
            return Some(if byte & 0x40 == 0 { value } else { !value });
        }
        self.next_long_int()
    }

    fn next_long_int(&mut self) -> Option<i64> {
        if self.left() == 0 {
            return None;
        }
        let value = match self.source {
            Source::Ints(ints) => {
                let value = *ints.get(self.pos)?;
                self.pos += 1;
                value
            }
            Source::Bytes(bytes) => {
                let int = varint::decode(bytes.get(self.pos..)?)?;
                if int.overlong {
                    self.note(Code::OverlongInt, self.pos, int.len);
                }
                if int.padding {
                    self.note(Code::IntPadding, self.pos, int.len);
                }
                self.pos += int.len;
                int.value
            }
        };
        if let Some(left) = &mut self.ints_left {
            *left -= 1;
        }
        Some(i64::from(value))
    }

    /// Notes a value between the labels that has no label itself. Values beyond all labels are ids or out of range. A
    /// missing field has no record, and the last record then has another set.
    pub(super) fn check_label(&mut self, field: u16, set: &Set) {
        let Some(&Record {
            field: last,
            at,
            len,
            value: Value::Int(value),
            ..
        }) = self.out.records.last()
        else {
            return;
        };
        if last != field {
            return;
        }
        let code = if set.flags {
            let bits = value & i64::from(u32::MAX) & !i64::from(set.mask);
            (bits != 0).then_some(Code::UnknownBits)
        } else {
            let between = || {
                let mut values = set.labels.iter().map(|label| label.value);
                values.clone().any(|label| label < value) && values.any(|label| label > value)
            };
            (set.label(value).is_none() && between()).then_some(Code::UnknownValue)
        };
        if let Some(code) = code {
            self.note(code, at as usize, len as usize);
        }
    }

    pub(super) fn text(&mut self, at: u16, field: &Field, index: Option<u16>) -> Result<(), Stop> {
        let start = self.pos;
        let rest = match self.source {
            Source::Bytes(bytes) => bytes.get(start..).unwrap_or_default(),
            Source::Ints(_) => &[],
        };
        if rest.is_empty() {
            return self.lack(field);
        }
        let end = rest.iter().position(|byte| *byte == 0);
        let text = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        self.pos += end.map_or(rest.len(), |end| end + 1);
        if end.is_none() {
            self.note(Code::UnterminatedText, start, text.len());
        }
        let mut value = Value::Text(u32::try_from(text.len()).unwrap_or(u32::MAX));
        if field.ty == Type::Decimal {
            match decimal(text) {
                Some((number, plain)) => {
                    value = Value::Int(number);
                    if !plain {
                        self.note(Code::BadDecimal, start, text.len());
                    } else if number < field.bounds.min || number > field.bounds.max {
                        self.note(Code::OutOfRange, start, text.len());
                    }
                }
                None => self.note(Code::BadDecimal, start, text.len()),
            }
        } else {
            let limit = field.limit_for(self.out.for_ddnet);
            text::check(field, text, limit, |code| self.out.note(code, start, text.len()));
        }
        self.push(at, index, start, value)
    }

    pub(super) fn raw(
        &mut self,
        at: u16,
        field: &Field,
        index: Option<u16>,
        len: Len,
        expect: Option<&str>,
    ) -> Result<(), Stop> {
        let start = self.pos;
        let wanted = match len {
            Len::Fixed(len) => i64::from(len),
            // A negative length is reported separately.
            Len::Field(counter) => self.number(counter).unwrap_or(0).max(0),
            Len::Rest => i64::MAX,
        };
        let left = self.left();
        if left == 0 && (field.optional || wanted > 0 && len != Len::Rest) {
            return self.lack(field);
        }
        let taken = usize::try_from(wanted).map_or(left, |wanted| wanted.min(left));
        self.pos += taken;
        self.push(at, index, start, Value::Bytes)?;
        if let (Some(expect), Source::Bytes(bytes)) = (expect, self.source)
            && bytes.get(start..self.pos) != Some(expect.as_bytes())
        {
            self.note(Code::UnexpectedBytes, start, taken);
        }
        if len != Len::Rest && wanted != taken as i64 {
            self.note(Code::MissingField, self.pos, 0);
            return Err(Stop);
        }
        Ok(())
    }

    pub(super) fn fixed(
        &mut self,
        at: u16,
        field: &Field,
        index: Option<u16>,
        len: usize,
    ) -> Result<(), Stop> {
        let start = self.pos;
        if self.left() < len {
            return self.lack(field);
        }
        self.pos += len;
        self.push(at, index, start, Value::Bytes)
    }

    pub(super) fn big_endian(
        &mut self,
        at: u16,
        field: &Field,
        index: Option<u16>,
        len: usize,
    ) -> Result<(), Stop> {
        let start = self.pos;
        let Source::Bytes(bytes) = self.source else {
            return Err(Stop);
        };
        let Some(bytes) = bytes.get(start..start + len) else {
            return self.lack(field);
        };
        let value = bytes.iter().fold(0, |value, byte| value << 8 | i64::from(*byte));
        self.pos += len;
        if value < field.bounds.min || value > field.bounds.max {
            self.note(Code::OutOfRange, start, len);
        }
        self.push(at, index, start, Value::Int(value))
    }

    pub(super) fn packed(
        &mut self,
        at: u16,
        field: &Field,
        index: Option<u16>,
        ints: u16,
    ) -> Result<(), Stop> {
        let start = self.pos;
        let mut text = [0i32; 64];
        for slot in text.iter_mut().take(ints.into()) {
            match self.next_int() {
                Some(value) => *slot = i32::try_from(value).unwrap_or(0),
                None => {
                    self.pos = start;
                    return self.lack(field);
                }
            }
        }
        let most = 4 * usize::from(ints) - 1;
        let text = packed_text(text.into_iter().take(ints.into())).take(most);
        let len = text.take_while(|byte| *byte != 0).count();
        self.push(at, index, start, Value::Text(u32::try_from(len).unwrap_or(0)))
    }
}

/// Parses a decimal number. The second value is true if it is in the form that senders write.
fn decimal(text: &[u8]) -> Option<(i64, bool)> {
    let text = std::str::from_utf8(text).ok()?;
    let number = text.parse::<i64>().ok()?;
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = !text.starts_with('+') && (digits == "0" && text == "0" || !digits.starts_with('0'));
    Some((number, plain))
}
