//! Decodes bytes into records.
//!
//! Law: decoding continues as far as possible. Every byte belongs to the id, to a record, or to the range of a note. No
//! memory is allocated once the buffer has grown to the size of typical messages.

mod leaf;

use super::model::{Def, Field, Repeat, Type};
use super::record::{Decoded, Record, Source, Value};
use super::registry::Registry;
use crate::note::{Code, Note, Notes};
use crate::{Dir, Proto};

/// The maximum number of records of a message. 64 KiB of the shortest fields would be more than a person can look at.
const MAX_RECORDS: usize = 1 << 15;

impl Decoded {
    /// Reads the data of a chunk. `None`, with a note, if the message is unknown. An unknown UUID is read as its
    /// envelope.
    pub fn message<'r>(
        &mut self,
        registry: &'r Registry,
        proto: Proto,
        dir: Dir,
        data: &[u8],
    ) -> Option<&'r Def> {
        let Some(found) = registry.message(proto, dir, data) else {
            self.unknown(data);
            return None;
        };
        self.read(found.def, data, found.body);
        if found.unknown {
            self.note(Code::UnknownMessage, found.body, 16);
        }
        if !found.def.way.allows(dir) {
            self.note(Code::WrongDirection, 0, found.body);
        }
        Some(found.def)
    }

    /// Reads the clear payload of a control packet, without DDNet's token after it.
    pub fn control<'r>(
        &mut self,
        registry: &'r Registry,
        proto: Proto,
        dir: Dir,
        data: &[u8],
    ) -> Option<&'r Def> {
        let def = data.first().and_then(|id| registry.control(proto, dir, *id));
        let Some(def) = def else {
            self.unknown(data);
            return None;
        };
        self.read(def, data, 1);
        if !def.way.allows(dir) {
            self.note(Code::WrongDirection, 0, 1);
        }
        Some(def)
    }

    /// Reads the message of a connless datagram, starting at its `ffffffff`.
    pub fn connless<'r>(&mut self, registry: &'r Registry, proto: Proto, data: &[u8]) -> Option<&'r Def> {
        let Some(def) = registry.connless(proto, data) else {
            self.unknown(data);
            return None;
        };
        self.read(def, data, 8);
        Some(def)
    }

    /// Decodes a message whose fields start at the offset `body`, after the id.
    pub fn read(&mut self, def: &Def, data: &[u8], body: usize) {
        self.start(def, Source::Bytes(data), body.min(data.len()));
    }

    /// Reads the ints of a snapshot item: absolute values, or differences, for which the notes have no meaning.
    pub fn object(&mut self, def: &Def, ints: &[i32]) {
        self.start(def, Source::Ints(ints), 0);
    }

    /// Adds a note if the message is vital although the reference sends it non-vital, or vice versa.
    pub fn check_vital(&mut self, def: &Def, vital: bool) {
        if let Some(code) = def.odd_vitality(vital) {
            self.note(code, 0, 0);
        }
    }

    fn start(&mut self, def: &Def, source: Source<'_>, body: usize) {
        self.clear();
        self.body = body;
        let mut reader = Reader {
            def,
            source,
            pos: body,
            ints_left: None,
            depth: 0,
            out: self,
        };
        let whole = u16::try_from(def.fields.len()).unwrap_or(u16::MAX);
        let stopped = reader.members(0, whole).is_err();
        let (pos, len) = (reader.pos, source.len());
        self.known_end = pos;
        if pos < len && !stopped {
            let code = match source {
                Source::Bytes(_) => Code::SurplusBytes,
                Source::Ints(_) => Code::ObjectLong,
            };
            self.note(code, pos, len - pos);
        }
    }

    fn unknown(&mut self, data: &[u8]) {
        self.clear();
        self.note(Code::UnknownMessage, 0, data.len());
    }

    fn clear(&mut self) {
        self.records.clear();
        self.notes = Notes::new();
        self.body = 0;
        self.known_end = 0;
    }

    fn note(&mut self, code: Code, at: usize, len: usize) {
        self.notes.push(Note { code, at, len });
    }
}

/// The end of a message that is too short.
struct Stop;

struct Reader<'a, 'o> {
    def: &'a Def,
    source: Source<'a>,
    pos: usize,
    /// The number of ints left in an object in a message.
    ints_left: Option<usize>,
    depth: u8,
    out: &'o mut Decoded,
}

impl<'a> Reader<'a, '_> {
    fn left(&self) -> usize {
        match self.ints_left {
            Some(0) => 0,
            _ => self.source.len() - self.pos,
        }
    }

    fn note(&mut self, code: Code, at: usize, len: usize) {
        self.out.note(code, at, len);
    }

    fn members(&mut self, mut at: u16, end: u16) -> Result<(), Stop> {
        while let Some(field) = self.def.field(at).filter(|_| at < end) {
            match (field.repeat, &field.ty) {
                // The types that most messages consist of.
                (Repeat::One, Type::Int | Type::Tick | Type::Tune | Type::Bool) => {
                    self.int(at, field, None)?
                }
                (Repeat::One, _) => self.one(at, field, None)?,
                _ => self.list(at, field)?,
            }
            at = field.place.end;
        }
        Ok(())
    }

    fn list(&mut self, at: u16, field: &'a Field) -> Result<(), Stop> {
        if field.optional && self.left() == 0 {
            return Ok(());
        }
        let count = match field.repeat {
            Repeat::One => Some(1),
            Repeat::Fixed(count) => Some(i64::from(count)),
            Repeat::Field(counter) => Some(self.number(counter).unwrap_or(0)),
            // A value without a label does not determine the list.
            Repeat::Params(counter) => self.params(counter).map(i64::from),
            Repeat::Rest => None,
        };
        let open = self.open(at, None)?;
        let mut elements = 0u16;
        let mut result = Ok(());
        while count.is_none_or(|count| i64::from(elements) < count) && elements < u16::MAX - 1 {
            if self.left() == 0 && (count.is_none() || field.optional) {
                break;
            }
            let before = self.pos;
            result = self.one(at, field, Some(elements));
            // Elements without length would never end.
            if result.is_err() || self.pos == before {
                break;
            }
            elements += 1;
        }
        if field.bounds.count_max.is_some_and(|max| elements > max) {
            let first = self.out.records.get(open).map_or(0, |record| record.at as usize);
            self.note(Code::OutOfRange, first, self.pos - first);
        }
        self.close(open, Value::List(elements.into()));
        result
    }

    fn one(&mut self, at: u16, field: &'a Field, index: Option<u16>) -> Result<(), Stop> {
        match &field.ty {
            Type::Int | Type::Tick | Type::Tune | Type::Bool => self.int(at, field, index),
            Type::Enum(set) | Type::Flags(set) => {
                self.int(at, field, index)?;
                self.check_label(at, set);
                Ok(())
            }
            Type::Text(_) | Type::Decimal => self.text(at, field, index),
            Type::Raw(len, expect) => self.raw(at, field, index, *len, expect.as_deref()),
            Type::Uuid => match self.source {
                Source::Bytes(_) => self.fixed(at, field, index, 16),
                Source::Ints(_) => self.fixed(at, field, index, 4),
            },
            Type::Sha256 => self.fixed(at, field, index, 32),
            Type::Addr => self.fixed(at, field, index, 18),
            Type::AddrLegacy => self.fixed(at, field, index, 6),
            Type::U8 => self.big_endian(at, field, index, 1),
            Type::Be16 => self.big_endian(at, field, index, 2),
            Type::Be32 => self.big_endian(at, field, index, 4),
            Type::Packed(ints) => self.packed(at, field, index, *ints),
            Type::Group { bytes: None, .. } => {
                let open = self.open(at, index)?;
                let result = self.members(at + 1, field.place.end);
                self.close(open, Value::Group);
                result
            }
            Type::Group {
                bytes: Some(counter), ..
            } => self.embedded(at, field, index, *counter),
        }
    }

    /// Reads an object in a message, whose size another field states.
    fn embedded(&mut self, at: u16, field: &'a Field, index: Option<u16>, counter: u16) -> Result<(), Stop> {
        let bytes = self.number(counter).unwrap_or(0);
        let ints = usize::try_from(bytes / 4).unwrap_or(0);
        let open = self.open(at, index)?;
        let start = self.pos;
        self.ints_left = Some(ints);
        let short = self.members(at + 1, field.place.end).is_err();
        let lost = short && self.ints_left != Some(0);
        let surplus = self.pos;
        while self.ints_left.is_some_and(|left| left > 0) && !short && self.next_int().is_some() {}
        if self.pos > surplus {
            self.note(Code::ObjectLong, surplus, self.pos - surplus);
        }
        let missing = !lost && self.ints_left.is_some_and(|left| left > 0);
        self.ints_left = None;
        self.close(open, Value::Group);
        if field.bounds.count_max.is_some_and(|max| ints > usize::from(max)) || bytes < 0 || bytes % 4 != 0 {
            self.note(Code::OutOfRange, start, self.pos - start);
        }
        if missing {
            self.note(Code::MissingField, self.pos, self.source.len() - self.pos);
        }
        if lost || missing { Err(Stop) } else { Ok(()) }
    }

    /// Handles a missing field: it is legal if the field is optional and no bytes are left, else reading stops.
    fn lack(&mut self, field: &Field) -> Result<(), Stop> {
        let left = self.left();
        if field.optional && left == 0 {
            return Ok(());
        }
        let code = match (self.source, self.ints_left) {
            (Source::Ints(_), _) | (_, Some(0)) => Code::ObjectShort,
            _ => Code::MissingField,
        };
        self.note(code, self.pos, left);
        Err(Stop)
    }

    /// Returns the last value of an earlier field.
    fn number(&self, field: u16) -> Option<i64> {
        self.out
            .records
            .iter()
            .rev()
            .find(|record| record.field == field)
            .and_then(Record::int)
    }

    fn params(&self, field: u16) -> Option<u16> {
        let value = self.number(field)?;
        let label = self.def.field(field)?.set()?.label(value)?;
        Some(label.params.unwrap_or(0))
    }

    #[inline(always)]
    fn push(&mut self, field: u16, index: Option<u16>, at: usize, value: Value) -> Result<(), Stop> {
        if self.out.records.len() >= MAX_RECORDS {
            self.note(Code::TooManyFields, at, self.source.len() - at);
            self.pos = at;
            return Err(Stop);
        }
        let short = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        let end = short(self.out.records.len() + 1);
        self.out.records.push(Record {
            field,
            index,
            depth: self.depth,
            at: short(at),
            len: short(self.pos.saturating_sub(at)),
            end,
            value,
        });
        Ok(())
    }

    fn open(&mut self, field: u16, index: Option<u16>) -> Result<usize, Stop> {
        let place = self.out.records.len();
        self.push(field, index, self.pos, Value::Group)?;
        self.depth = self.depth.saturating_add(1);
        Ok(place)
    }

    fn close(&mut self, place: usize, value: Value) {
        self.depth = self.depth.saturating_sub(1);
        let end = u32::try_from(self.out.records.len()).unwrap_or(u32::MAX);
        let pos = u32::try_from(self.pos).unwrap_or(u32::MAX);
        if let Some(record) = self.out.records.get_mut(place) {
            record.value = value;
            record.end = end;
            record.len = pos.saturating_sub(record.at);
        }
    }
}
