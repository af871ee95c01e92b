//! Recognizes messages whose ints or texts have another encoding than that of the games.
//!
//! Law: another encoding is reported only if the whole message fits: read that way and written as the games write it,
//! every byte belongs to a field, and no field has a note. In LEB128 each int ends at the same byte as in the encoding of
//! the games, so that any bytes fit; only an input is recognized, whose tick is soon after the tick that it acks.

use std::fmt::{self, Write};

use teetap_wire::{
    Code, Note,
    def::{Decoded, Def, Field, Repeat, Type},
    varint,
};

use crate::Values;

/// Minimum number of bytes of the fields of a message.
const ENOUGH: usize = 6;

/// Maximum number of ticks from the snapshot that an input acks to the tick of the input.
const AHEAD: i32 = 100;

/// Name of the message with ticks.
const INPUT: &str = "input";

/// Maximum number of elements of a list.
const ELEMENTS: u16 = 256;

/// The encodings of a message that differ from those of the games.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherEncoding {
    ints: Ints,
    texts: Texts,
    /// The only field with the encoding of `ints`; `None` for all fields.
    only: Option<&'static str>,
}

/// An encoding of ints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ints {
    /// The encoding of the games: the sign in bit 6 of the first byte, 6 bits of data in it.
    Packed,
    /// 7 bits of data in each byte.
    Leb128,
    /// Four bytes, least significant first.
    Little,
    /// Four bytes, most significant first.
    Big,
}

/// An encoding of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Texts {
    /// The encoding of the games: a NUL after the text.
    Ended,
    /// The length of the text before it, in the encoding of the ints.
    Counted,
    /// The length of the text before it, in one byte.
    ByteCounted,
}

impl OtherEncoding {
    /// Returns the encoding of a message with these fields; `None` if none fits. `notes` are the notes on the message in
    /// the encoding of the games.
    pub(crate) fn find(def: &'static Def, body: &[u8], notes: &[Note], for_ddnet: bool) -> Option<Self> {
        // The ticks of an input prove its encoding.
        let has_ticks = &*def.name == INPUT;
        let may_differ =
            |note: &Note| is_about_encoding(note.code) || has_ticks && note.code == Code::OverlongInt;
        if body.len() < ENOUGH || !notes.iter().any(may_differ) {
            return None;
        }
        let others = [
            (Ints::Packed, Texts::Counted),
            (Ints::Little, Texts::Ended),
            (Ints::Big, Texts::Ended),
            (Ints::Little, Texts::Counted),
            (Ints::Big, Texts::Counted),
            (Ints::Little, Texts::ByteCounted),
            (Ints::Big, Texts::ByteCounted),
            (Ints::Leb128, Texts::Ended),
        ];
        let all = others.into_iter().map(|(ints, texts)| Self {
            ints,
            texts,
            only: None,
        });
        let texts = Texts::Ended;
        let names = def.fields.iter().filter(|field| field.repeat == Repeat::One);
        let single = names.flat_map(|field| {
            let only = Some(&*field.name);
            [Ints::Little, Ints::Big].map(|ints| Self { ints, texts, only })
        });
        let mut forms = all.chain(single);
        let (form, size) = forms.find_map(|form| Some((form, form.fits(def, body, for_ddnet)?)))?;
        // Most ints fit in both orders: the values of the right one are smaller.
        let big = Self {
            ints: Ints::Big,
            ..form
        };
        let is_big =
            form.ints == Ints::Little && big.fits(def, body, for_ddnet).is_some_and(|other| other < size);
        Some(if is_big { big } else { form })
    }

    /// Returns the sum of the sizes of all ints if the message fits.
    fn fits(self, def: &Def, body: &[u8], for_ddnet: bool) -> Option<u64> {
        if self.ints == Ints::Leb128 && !is_input(def, body) {
            return None;
        }
        let mut reader = Transcoder {
            def,
            form: self,
            rest: body,
            out: Vec::with_capacity(body.len()),
            count: 0,
            size: 0,
        };
        if reader.members(None).is_none() || !reader.rest.is_empty() || reader.count == 0 {
            return None;
        }
        let mut decoded = Decoded::new();
        decoded.set_for_ddnet(for_ddnet);
        decoded.read(def, &reader.out, 0);
        decoded.notes().is_empty().then_some(reader.size)
    }

    /// Writes the received and the expected encoding.
    pub(crate) fn write(self, f: &mut Values) -> fmt::Result {
        if let Some(name) = self.only {
            write!(f, "{name}: ")?;
        }
        let ints = match self.ints {
            Ints::Packed => None,
            Ints::Leb128 => Some("LEB128 ints"),
            Ints::Little => Some("ints of four bytes, least significant first"),
            Ints::Big => Some("ints of four bytes, most significant first"),
        };
        let texts = match self.texts {
            Texts::Ended => None,
            Texts::Counted | Texts::ByteCounted => Some("texts with their length before them"),
        };
        let parts = [
            (
                ints,
                "packed ints (sign in bit 6 and 6 bits of the value in the first byte)",
            ),
            (texts, "a NUL after each text"),
        ];
        let list = |parts: &mut dyn Iterator<Item = &'static str>| parts.collect::<Vec<_>>().join(" and ");
        f.add_got(list(&mut parts.iter().filter_map(|(got, _)| *got)))?;
        let expected = parts.iter().filter(|(got, _)| got.is_some());
        f.add_expected(list(&mut expected.map(|(_, expected)| *expected)))?;
        f.write_str(": read that way, the whole message fits")
    }
}

/// Reads fields in one encoding, and writes them in the encoding of the games.
struct Transcoder<'a> {
    def: &'a Def,
    form: OtherEncoding,
    rest: &'a [u8],
    out: Vec<u8>,
    /// Number of values whose encoding differs.
    count: u32,
    /// Sum of the absolute values of all ints.
    size: u64,
}

impl<'a> Transcoder<'a> {
    /// Reads the parts of a group, or all fields. Returns `None` if they do not fit.
    fn members(&mut self, parent: Option<u16>) -> Option<()> {
        let def = self.def;
        for (at, field) in def.parts(parent) {
            if self.rest.is_empty() && field.optional {
                return Some(());
            }
            let count = match field.repeat {
                Repeat::One => 1,
                Repeat::Fixed(count) if count <= ELEMENTS => count,
                Repeat::Fixed(_) | Repeat::Field(_) | Repeat::Params(_) | Repeat::Rest => return None,
            };
            for _ in 0..count {
                self.one(at, field)?;
            }
        }
        Some(())
    }

    fn one(&mut self, at: u16, field: &Field) -> Option<()> {
        match &field.ty {
            Type::Int | Type::Bool | Type::Tick | Type::Tune | Type::Enum(_) | Type::Flags(_) => {
                let is_other = self.form.only.is_none_or(|only| *field.name == *only);
                let value = self.int(if is_other { self.form.ints } else { Ints::Packed })?;
                self.size = self.size.saturating_add(value.unsigned_abs().into());
                varint::encode(value, &mut self.out);
                Some(())
            }
            Type::Text(_) => {
                let text = self.text()?;
                if text.contains(&0) {
                    return None;
                }
                self.out.extend_from_slice(text);
                self.out.push(0);
                Some(())
            }
            Type::Group { .. } => self.members(Some(at)),
            Type::Uuid => {
                let bytes = self.take(16)?;
                self.out.extend_from_slice(bytes);
                Some(())
            }
            _ => None,
        }
    }

    fn int(&mut self, form: Ints) -> Option<i32> {
        self.count += u32::from(form != Ints::Packed);
        match form {
            Ints::Packed => {
                let int = varint::decode(self.rest)?;
                self.take(int.len)?;
                Some(int.value)
            }
            Ints::Leb128 => {
                let (value, len) = leb128(self.rest)?;
                self.take(len)?;
                Some(value)
            }
            Ints::Little => Some(i32::from_le_bytes(self.four()?)),
            Ints::Big => Some(i32::from_be_bytes(self.four()?)),
        }
    }

    /// Reads an int of four bytes. A number as text, such as `276`, has four bytes with its NUL, too.
    fn four(&mut self) -> Option<[u8; 4]> {
        let bytes: [u8; 4] = *self.take(4)?.first_chunk()?;
        let is_text = matches!(bytes, [digits @ .., 0] if digits.iter().all(u8::is_ascii_digit));
        (!is_text).then_some(bytes)
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        self.count += u32::from(self.form.texts != Texts::Ended);
        let len = match self.form.texts {
            Texts::Ended => {
                let end = self.rest.iter().position(|byte| *byte == 0)?;
                let text = self.take(end)?;
                self.take(1)?;
                return Some(text);
            }
            Texts::Counted => usize::try_from(self.int(self.form.ints)?).ok()?,
            Texts::ByteCounted => usize::from(*self.take(1)?.first()?),
        };
        self.take(len)
    }

    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(taken)
    }
}

/// Returns true for an input whose tick is soon after the tick that it acks in LEB128, but not in the encoding of the
/// games.
fn is_input(def: &Def, body: &[u8]) -> bool {
    let ticks = |read: fn(&[u8]) -> Option<(i32, usize)>| {
        let (ack, len) = read(body)?;
        let (tick, _) = read(body.get(len..)?)?;
        tick.checked_sub(ack)
    };
    let packed = ticks(|bytes| varint::decode(bytes).map(|int| (int.value, int.len)));
    let is_near = |ahead: Option<i32>| ahead.is_some_and(|ahead| (0..=AHEAD).contains(&ahead));
    &*def.name == INPUT && is_near(ticks(leb128)) && !is_near(packed)
}

/// Reads an int in LEB128, with its length; negative ints as the 32 or 64 bits of their two's complement.
fn leb128(bytes: &[u8]) -> Option<(i32, usize)> {
    let mut value = 0u64;
    for (index, byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f).checked_shl(u32::try_from(7 * index).ok()?)?;
        if byte & 0x80 == 0 {
            let low = u32::try_from(value & u64::from(u32::MAX)).ok()?;
            return Some((low.cast_signed(), index + 1));
        }
    }
    None
}

/// Returns true for notes that suggest that the fields of a message are encoded differently. A long form of an int does
/// not: receivers read its value.
const fn is_about_encoding(code: Code) -> bool {
    matches!(
        code,
        Code::MissingField
            | Code::UnterminatedText
            | Code::OutOfRange
            | Code::InvalidUtf8
            | Code::IntPadding
            | Code::SurplusBytes
            | Code::ObjectShort
    )
}

#[cfg(test)]
mod tests {
    use teetap_wire::{Proto, def::Registry};

    use super::*;

    /// Returns the sentence about a message with these fields, written with the encodings `ints` and `texts`.
    fn said(proto: Proto, name: &str, body: &[u8]) -> Option<String> {
        let def = Registry::builtin().named(proto, None, name).next().unwrap();
        let mut decoded = Decoded::new();
        decoded.read(def, body, 0);
        let notes: Vec<Note> = decoded.notes().iter().collect();
        let other = OtherEncoding::find(def, body, &notes, false)?;
        let mut values = Values::default();
        other.write(&mut values).unwrap();
        Some(values.got().unwrap().to_owned())
    }

    /// Returns a start info of 0.6 with the name `nameless tee`.
    fn start_info(int: impl Fn(i32) -> Vec<u8>, text: impl Fn(&str) -> Vec<u8>) -> Vec<u8> {
        [
            text("nameless tee"),
            text("clan"),
            int(-1),
            text("default"),
            int(0),
            int(65408),
            int(-7),
        ]
        .concat()
    }

    fn packed(value: i32) -> Vec<u8> {
        let mut out = Vec::new();
        varint::encode(value, &mut out);
        out
    }

    fn ended(text: &str) -> Vec<u8> {
        [text.as_bytes(), &[0]].concat()
    }

    #[test]
    fn other_encodings_of_ints_and_texts_are_recognized() {
        let counted = |text: &str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
        let little = |value: i32| value.to_le_bytes().to_vec();
        let big = |value: i32| value.to_be_bytes().to_vec();
        let say = |body: &[u8]| said(Proto::V6, "cl_start_info", body);
        assert_eq!(say(&start_info(packed, ended)), None);
        let fixed = "ints of four bytes, least significant first";
        assert_eq!(say(&start_info(little, ended)).as_deref(), Some(fixed));
        let fixed = "ints of four bytes, most significant first";
        assert_eq!(say(&start_info(big, ended)).as_deref(), Some(fixed));
        let texts = "texts with their length before them";
        assert_eq!(say(&start_info(packed, counted)).as_deref(), Some(texts));
        // One int of four bytes among packed ones.
        let mut one = start_info(packed, ended);
        let at = "nameless tee\0clan\0".len();
        one.splice(at..at + 1, little(-1));
        let fixed = "ints of four bytes, least significant first";
        assert_eq!(say(&one).as_deref(), Some(fixed));
        // A byte is missing at the end: nothing fits.
        let mut cut = start_info(little, ended);
        cut.pop();
        assert_eq!(say(&cut), None);
    }

    #[test]
    fn a_number_as_text_is_no_int_of_four_bytes() {
        let mut body = start_info(packed, ended);
        let at = "nameless tee\0clan\0".len();
        body.splice(at..at + 1, *b"276\0");
        assert_eq!(said(Proto::V6, "cl_start_info", &body), None);
    }

    /// Receivers read the same values, and another encoding may fit by chance.
    #[test]
    fn longer_forms_of_ints_are_no_other_encoding() {
        let long = |value: i32| {
            let mut bytes = packed(value);
            *bytes.last_mut().unwrap() |= 0x80;
            bytes.push(0);
            bytes
        };
        assert_eq!(said(Proto::V6, "cl_start_info", &start_info(long, ended)), None);
    }

    #[test]
    fn an_input_in_leb128_is_recognized_by_its_ticks() {
        let leb = |value: u32| -> Vec<u8> {
            let [low, high] = [value & 0x7f, value >> 7].map(|bits| u8::try_from(bits).unwrap());
            if high == 0 {
                vec![low]
            } else {
                vec![low | 0x80, high]
            }
        };
        let input = |int: &dyn Fn(u32) -> Vec<u8>, ack: u32, tick: u32| {
            let ints = [ack, tick, 40, 0, 200, 300, 1, 0, 0, 0, 0, 0, 0];
            ints.into_iter().flat_map(int).collect::<Vec<u8>>()
        };
        // Bit 6 of the first byte of the ack is the sign in the encoding of the games.
        let body = input(&leb, 1090, 1093);
        assert_eq!(said(Proto::V6, "input", &body).as_deref(), Some("LEB128 ints"));
        let packed = |value: u32| packed(value.cast_signed());
        assert_eq!(said(Proto::V6, "input", &input(&packed, 1090, 1093)), None);
        // A wrong ack in the encoding of the games.
        let mut wrong = input(&packed, 1090, 1093);
        wrong[0] |= 0x40;
        assert_eq!(said(Proto::V6, "input", &wrong), None);
    }
}
