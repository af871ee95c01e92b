//! The message that its sender may have meant by one with a wrong id: without the bit of the class, with that of the other class, or with
//! the id of another version.
//!
//! Law: a guess is a message of a join or an input that is complete under the other id, down to the last byte and without a note. Other
//! messages are too much alike.

use std::fmt;

use teetap_wire::{
    Dir, Proto,
    def::{Class, Decoded, Def, Id, Registry},
    varint,
};

/// The messages that are looked for.
const NAMES: [&str; 8] = [
    "info",
    "ready",
    "cl_start_info",
    "enter_game",
    "input",
    "map_change",
    "con_ready",
    "sv_ready_to_enter",
];

/// A message under another id.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meant {
    def: &'static Def,
    /// The id that it has to have, as it is on the wire.
    id: i32,
    mistake: Mistake,
}

/// The mistake in an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    /// The lowest bit is that of the other class.
    OtherClass,
    /// The number stands without the bit of the class.
    NotShifted,
    /// The number is that of this protocol.
    OfProto(Proto),
}

/// Returns the message that the data of a chunk is under another id; `None` if it is like none.
pub(crate) fn meant(proto: Proto, dir: Dir, data: &[u8]) -> Option<Meant> {
    let int = varint::decode(data)?;
    let (id, rest) = (int.value, data.get(int.len..)?);
    let number = id.checked_shl(1)?;
    let is_seven = proto == Proto::V7;
    let other = if is_seven { Proto::V6 } else { Proto::V7 };
    let candidates = [
        (id ^ 1, proto, Mistake::OtherClass),
        (number | 1, proto, Mistake::NotShifted),
        (number, proto, Mistake::NotShifted),
        (id, other, Mistake::OfProto(other)),
    ];
    candidates.into_iter().find_map(|(candidate, read_as, mistake)| {
        // The fields are those of this version, whatever the number is.
        let name = &*named(read_as, dir, candidate)?.name;
        let (def, id) = ids(proto, dir).find(|(def, _)| *def.name == *name)?;
        is_complete(def, rest).then_some(Meant { def, id, mistake })
    })
}

/// Returns the definition of one of the messages by its id.
fn named(proto: Proto, dir: Dir, id: i32) -> Option<&'static Def> {
    ids(proto, dir).find_map(|(def, known)| (known == id).then_some(def))
}

/// Returns the messages of a direction with their ids.
fn ids(proto: Proto, dir: Dir) -> impl Iterator<Item = (&'static Def, i32)> {
    let defs = NAMES
        .iter()
        .flat_map(move |name| Registry::builtin().named(proto, None, name));
    defs.filter(move |def| def.way.allows(dir))
        .filter_map(|def| match def.id {
            Id::Number(number) => Some((def, number << 1 | i32::from(def.class == Class::System))),
            Id::Uuid { .. } | Id::Tag(_) => None,
        })
}

/// Returns true if these bytes are all fields of a message, and nothing is odd.
fn is_complete(def: &Def, rest: &[u8]) -> bool {
    let mut decoded = Decoded::new();
    decoded.read(def, rest, 0);
    decoded.notes().is_empty()
}

impl fmt::Display for Meant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { def, id, mistake } = self;
        let name = &def.name;
        match mistake {
            Mistake::OtherClass => {
                let class = if def.class == Class::System {
                    "engine"
                } else {
                    "game"
                };
                write!(
                    f,
                    "with the class bit of the {class} it is a complete {name}, id {id}"
                )
            }
            Mistake::NotShifted => {
                write!(
                    f,
                    "with a class bit behind the number it is a complete {name}, id {id}"
                )
            }
            Mistake::OfProto(proto) => {
                write!(f, "in {proto} it is the id of {name}, here {id}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a message with this id in place of its own.
    fn with_id(proto: Proto, dir: Dir, id: i32, rest: &[u8]) -> Option<String> {
        let mut data = Vec::new();
        varint::encode(id, &mut data);
        data.extend_from_slice(rest);
        Some(meant(proto, dir, &data)?.to_string())
    }

    #[test]
    fn a_message_of_a_join_with_a_wrong_id_is_recognised() {
        use Dir::{C2s, S2c};
        let info = b"0.7 802f1be60a05665f\0\0\x85\x1c";
        for (proto, dir, id, rest, expected) in [
            (
                Proto::V7,
                C2s,
                36,
                &b""[..],
                "with the class bit of the engine it is a complete ready, id 37",
            ),
            (
                Proto::V7,
                C2s,
                18,
                b"",
                "with a class bit behind the number it is a complete ready, id 37",
            ),
            (Proto::V7, C2s, 29, b"", "in 0.6 it is the id of ready, here 37"),
            (Proto::V6, C2s, 37, b"", "in 0.7 it is the id of ready, here 29"),
            (
                Proto::Ddnet,
                C2s,
                30,
                b"",
                "with the class bit of the engine it is a complete enter_game, id 31",
            ),
            (
                Proto::V7,
                C2s,
                2,
                info,
                "with the class bit of the engine it is a complete info, id 3",
            ),
            (
                Proto::V7,
                C2s,
                1,
                info,
                "with a class bit behind the number it is a complete info, id 3",
            ),
            (
                Proto::V65,
                S2c,
                8,
                b"",
                "with the class bit of the engine it is a complete con_ready, id 9",
            ),
            (
                Proto::V65,
                S2c,
                4,
                b"",
                "with a class bit behind the number it is a complete con_ready, id 9",
            ),
        ] {
            assert_eq!(
                with_id(proto, dir, id, rest).as_deref(),
                Some(expected),
                "{proto} {id}"
            );
        }
    }

    #[test]
    fn others_are_not() {
        for (id, rest) in [
            (36, &b"\x01"[..]),
            (37, b""),
            (2, b"0.7 802f"),
            (2, b"0.7 802f1be60a05665f\0\0\x85\x1c\x01"),
        ] {
            assert_eq!(with_id(Proto::V7, Dir::C2s, id, rest), None, "{id}");
        }
        // The other side does not send it.
        assert_eq!(with_id(Proto::V7, Dir::S2c, 36, b""), None);
    }
}
