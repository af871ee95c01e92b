//! The messages that a store needs, looked up in the definitions of a dialect.
//!
//! Law: definitions are looked up by name only once. Afterwards, messages and fields are identified by number. A
//! message whose definition lacks a required field is ignored.

use crate::def::{Class, Decoded, Def, Id, Record, Registry};
use crate::{Dir, Proto};

/// The messages and fields that carry snapshots and acks.
#[derive(Debug, Clone)]
pub(super) struct Forms {
    part: Option<FieldNumbers>,
    single: Option<FieldNumbers>,
    empty: Option<FieldNumbers>,
    /// The number of `input`, of its ack field and of the field of its tick.
    input: Option<(i32, u16, u16)>,
    /// The number of `input_timing` and of the field of its time.
    timing: Option<(i32, u16)>,
    map_change: Option<i32>,
    enter_game: Option<i32>,
}

/// The numbers of fields.
#[derive(Debug, Clone, Copy)]
struct FieldNumbers {
    message: i32,
    tick: u16,
    delta_tick: u16,
    parts: Option<(u16, u16)>,
    data: Option<(u16, u16, u16)>,
}

/// A message as a store understands it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Meaning<'a> {
    /// A part of a snapshot, or all of it.
    Snap(Head, &'a [u8]),
    /// The client acks the snapshot of this tick; a negative tick acks none.
    Ack(Ack),
    /// The time in milliseconds that was left until the tick of an input when the server received the input.
    Timing(i32),
    /// The server changes the map and forgets all snapshots.
    MapChange,
    /// The client has changed the map and has forgotten all snapshots, too.
    EnterGame,
}

/// The first fields of an input, each with its place in the message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ack {
    /// The tick that is acked.
    pub(super) tick: (i32, (usize, usize)),
    /// The tick of the input.
    pub(super) intended: Option<(i32, (usize, usize))>,
}

/// The header fields of a snapshot message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub(super) tick: i32,
    /// The tick of the base; negative for none.
    pub(super) base: i32,
    pub(super) parts: i32,
    pub(super) part: i32,
    /// Absent in `snap_empty`.
    pub(super) crc: Option<i32>,
    /// The size that the message announces.
    pub(super) size: i32,
    pub(super) places: Places,
}

/// The range of each value in the message: offset and length in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places {
    pub(super) tick: (usize, usize),
    pub(super) base: (usize, usize),
    pub(super) parts: (usize, usize),
    pub(super) crc: (usize, usize),
    pub(super) data: (usize, usize),
}

impl Forms {
    pub(super) fn new(registry: &Registry, proto: Proto) -> Self {
        let named = |name: &str| registry.named(proto, Some(Class::System), name).next();
        let number = |name: &str| named(name).and_then(number);
        Self {
            part: named("snap").and_then(|def| FieldNumbers::new(def, true, true)),
            single: named("snap_single").and_then(|def| FieldNumbers::new(def, false, true)),
            empty: named("snap_empty").and_then(|def| FieldNumbers::new(def, false, false)),
            input: named("input").and_then(|def| {
                let (ack, tick) = (field(def, "ack_snapshot")?, field(def, "intended_tick")?);
                Some((self::number(def)?, ack, tick))
            }),
            timing: named("input_timing")
                .and_then(|def| Some((self::number(def)?, field(def, "time_left")?))),
            map_change: number("map_change"),
            enter_game: number("enter_game"),
        }
    }

    /// Returns true if messages of a definition may have a meaning here.
    pub(super) fn follow(&self, dir: Dir, def: &Def) -> bool {
        let number = number(def).filter(|_| def.class == Class::System);
        number.is_some()
            && match dir {
                Dir::C2s => number == self.input.map(|(number, ..)| number) || number == self.enter_game,
                Dir::S2c => {
                    let forms = [&self.single, &self.part, &self.empty];
                    number == self.map_change
                        || number == self.timing.map(|(number, _)| number)
                        || forms
                            .into_iter()
                            .flatten()
                            .any(|form| Some(form.message) == number)
                }
            }
    }

    /// Returns the meaning of a message. `None` for other messages, and for a message that ends too early for the
    /// receiver.
    pub(super) fn meaning<'a>(
        &self,
        dir: Dir,
        def: &Def,
        decoded: &Decoded,
        data: &'a [u8],
    ) -> Option<Meaning<'a>> {
        let number = Some(number(def).filter(|_| def.class == Class::System)?);
        if dir == Dir::C2s {
            if let Some((_, ack, tick)) = self.input.filter(|(input, ..)| Some(*input) == number) {
                let value = |field| record(decoded, field).map(|record| (int(record), place(record)));
                return Some(Meaning::Ack(Ack {
                    tick: value(ack)?,
                    intended: value(tick),
                }));
            }
            return (number == self.enter_game).then_some(Meaning::EnterGame);
        }
        if number == self.map_change {
            return Some(Meaning::MapChange);
        }
        if let Some((_, left)) = self.timing.filter(|(timing, _)| Some(*timing) == number) {
            return Some(Meaning::Timing(int(record(decoded, left)?)));
        }
        let forms = [&self.single, &self.part, &self.empty];
        let form = forms
            .into_iter()
            .flatten()
            .find(|form| Some(form.message) == number)?;
        form.meaning(decoded, data)
    }
}

impl FieldNumbers {
    fn new(def: &Def, parts: bool, data: bool) -> Option<Self> {
        let field = |name| field(def, name);
        let parts = match parts {
            true => Some((field("num_parts")?, field("part")?)),
            false => None,
        };
        let data = match data {
            true => Some((field("crc")?, field("part_size")?, field("data")?)),
            false => None,
        };
        Some(Self {
            message: number(def)?,
            tick: field("tick")?,
            delta_tick: field("delta_tick")?,
            parts,
            data,
        })
    }

    fn meaning<'a>(&self, decoded: &Decoded, data: &'a [u8]) -> Option<Meaning<'a>> {
        let tick = record(decoded, self.tick)?;
        let base = record(decoded, self.delta_tick)?;
        let mut head = Head {
            tick: int(tick),
            base: int(tick).wrapping_sub(int(base)),
            parts: 1,
            part: 0,
            crc: None,
            size: 0,
            places: Places {
                tick: place(tick),
                base: place(base),
                parts: (0, 0),
                crc: (0, 0),
                data: (data.len(), 0),
            },
        };
        if let Some((parts, part)) = self.parts {
            let (parts, part) = (record(decoded, parts)?, record(decoded, part)?);
            (head.parts, head.part) = (int(parts), int(part));
            let (start, last) = (place(parts).0, place(part));
            head.places.parts = (start, last.0 + last.1 - start);
        }
        let mut payload: &[u8] = &[];
        if let Some((crc, size, bytes)) = self.data {
            let (crc, size, bytes) = (
                record(decoded, crc)?,
                record(decoded, size)?,
                record(decoded, bytes)?,
            );
            (head.crc, head.size) = (Some(int(crc)), int(size));
            (head.places.crc, head.places.data) = (place(crc), place(bytes));
            let (start, len) = place(bytes);
            payload = data.get(start..start + len)?;
        }
        Some(Meaning::Snap(head, payload))
    }
}

fn number(def: &Def) -> Option<i32> {
    match def.id {
        Id::Number(number) => Some(number),
        _ => None,
    }
}

fn field(def: &Def, name: &str) -> Option<u16> {
    let mut parts = def.parts(None);
    parts.find(|(_, field)| &*field.name == name).map(|(at, _)| at)
}

fn record(decoded: &Decoded, field: u16) -> Option<&Record> {
    decoded.records().iter().find(|record| record.field == field)
}

/// Returns the value of a packed int; all ints here have 32 bits.
fn int(record: &Record) -> i32 {
    let value = record.int().unwrap_or(0);
    i32::try_from(value).unwrap_or(0)
}

fn place(record: &Record) -> (usize, usize) {
    (record.at as usize, record.len as usize)
}
