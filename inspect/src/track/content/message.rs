//! The messages whose contents are checked.

use teetap_wire::{
    Dir,
    def::{Class, Def, Found},
};

use crate::ints::ints;

/// A message with the fields that are checked.
#[derive(Clone, Copy, Debug)]
pub(super) enum Message {
    /// The ticks start anew: the server changes the map, or the client enters the game of a map.
    Restart,
    /// An input, with the tick of the snapshot that it acks (-1 for none) and its own tick.
    Input { ack: i32, tick: i32 },
    /// A part of a snapshot, or all of it.
    Snap(Snap),
}

/// The header of a snapshot message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Snap {
    pub(super) tick: i32,
    /// The tick of the snapshot to which it is a difference; negative for a complete snapshot.
    pub(super) base: i32,
    pub(super) parts: i32,
    /// Number of the part, from 0.
    pub(super) part: i32,
    /// True for `snap_empty`.
    pub(super) is_empty: bool,
}

impl Message {
    /// Returns the message in a chunk; `None` if it is not checked, or if it is too short.
    pub(super) fn parse(known: Option<Found<'static>>, dir: Dir, data: &[u8]) -> Option<Self> {
        let found = known.filter(|_| Self::is_checked(known, dir))?;
        let fields = data.get(found.body..)?;
        let int = |value: i64| i32::try_from(value).unwrap_or_default();
        let snap = |[tick, delta]: [i64; 2], [parts, part]: [i64; 2], is_empty| {
            Self::Snap(Snap {
                tick: int(tick),
                base: int(tick).wrapping_sub(int(delta)),
                parts: int(parts),
                part: int(part),
                is_empty,
            })
        };
        Some(match &*found.def.name {
            "input" => {
                let ([ack, tick], _) = ints(fields)?;
                Self::Input {
                    ack: int(ack),
                    tick: int(tick),
                }
            }
            "snap" => {
                let ([tick, delta, parts, part], _) = ints(fields)?;
                snap([tick, delta], [parts, part], false)
            }
            "snap_single" => snap(ints(fields)?.0, [1, 0], false),
            "snap_empty" => snap(ints(fields)?.0, [1, 0], true),
            _ => Self::Restart,
        })
    }

    /// Returns true if the contents of a message are checked.
    pub(super) fn is_checked(known: Option<Found<'static>>, dir: Dir) -> bool {
        let is_checked = |def: &Def| {
            def.class == Class::System
                && match dir {
                    Dir::C2s => matches!(&*def.name, "input" | "enter_game"),
                    Dir::S2c => matches!(&*def.name, "snap" | "snap_single" | "snap_empty" | "map_change"),
                }
        };
        known.is_some_and(|found| is_checked(found.def))
    }
}
