//! The messages of a map transfer.

use teetap_wire::{
    Dir, Proto,
    def::{Class, Def, Found},
};

use crate::ints::ints;

/// A message of a map transfer with the fields that are checked.
#[derive(Clone, Copy, Debug)]
pub(super) enum Message<'a> {
    /// `map_details`, which DDNet servers send before `map_change`.
    Details(Announced<'a>),
    /// `map_change`.
    Change(Announced<'a>),
    /// `map_data`.
    Part(Part<'a>),
    /// `request_map_data`, with the number of the part in 0.6.
    Request(Option<i64>),
    /// `ready`: the client has loaded the map.
    Ready,
    /// A message that ends too early. Its receiver ignores it.
    Unreadable,
}

/// The description of a map.
#[derive(Clone, Copy, Debug)]
pub(super) struct Announced<'a> {
    pub(super) name: &'a [u8],
    pub(super) crc: u32,
    /// Size of the map in bytes.
    pub(super) size: i64,
    /// Number of parts for each request, and size of each part except the last in bytes; `None` in 0.6.
    pub(super) batch: Option<Batch>,
    /// `None` if the server sends no digest.
    pub(super) sha256: Option<[u8; 32]>,
}

/// The answer of a server of 0.7 to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Batch {
    /// Number of parts for each request.
    pub(super) parts: i64,
    /// Size of each part except the last, in bytes.
    pub(super) part_len: i64,
}

/// A part of a map.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part<'a> {
    /// The fields before the data; `None` in 0.7.
    pub(super) head: Option<PartHead>,
    pub(super) data: &'a [u8],
}

/// The fields of a part in 0.6.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartHead {
    pub(super) is_last: bool,
    /// The crc32 of the whole map.
    pub(super) crc: u32,
    /// Number of the part, from 0.
    pub(super) number: i64,
}

impl<'a> Message<'a> {
    /// Parses the message in a chunk; `None` if it is not part of a map transfer.
    pub(super) fn parse(
        known: Option<Found<'static>>,
        (proto, dir): (Proto, Dir),
        data: &'a [u8],
    ) -> Option<Self> {
        let found = known.filter(|_| Self::is_checked(known, dir))?;
        let fields = data.get(found.body..).unwrap_or_default();
        let is_seven = proto == Proto::V7;
        let parsed = match &*found.def.name {
            "map_details" => details(fields).map(Self::Details),
            "map_change" => change(is_seven, fields).map(Self::Change),
            "map_data" if is_seven => Some(Self::Part(Part {
                head: None,
                data: fields,
            })),
            "map_data" => part(fields).map(Self::Part),
            "request_map_data" if is_seven => Some(Self::Request(None)),
            // Servers read a missing number as 0.
            "request_map_data" => Some(Self::Request(Some(
                ints(fields).map_or(0, |([number], _)| number),
            ))),
            _ => Some(Self::Ready),
        };
        Some(parsed.unwrap_or(Self::Unreadable))
    }

    /// Returns true if a message is part of a map transfer.
    pub(super) fn is_checked(known: Option<Found<'static>>, dir: Dir) -> bool {
        let is_checked = |def: &Def| {
            def.class == Class::System
                && match dir {
                    Dir::C2s => matches!(&*def.name, "request_map_data" | "ready"),
                    Dir::S2c => matches!(&*def.name, "map_details" | "map_change" | "map_data"),
                }
        };
        known.is_some_and(|found| is_checked(found.def))
    }
}

/// Splits off a text at the start.
fn text(fields: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = fields.iter().position(|byte| *byte == 0)?;
    Some((fields.get(..end)?, fields.get(end + 1..)?))
}

/// Returns the bits of a checksum, which messages contain as a signed int.
fn bits(crc: i64) -> u32 {
    i32::try_from(crc).unwrap_or_default().cast_unsigned()
}

fn details(fields: &[u8]) -> Option<Announced<'_>> {
    let (name, rest) = text(fields)?;
    let (sha256, rest) = rest.split_first_chunk()?;
    let ([crc, size], _) = ints(rest)?;
    Some(Announced {
        name,
        crc: bits(crc),
        size,
        batch: None,
        sha256: Some(*sha256),
    })
}

fn change(is_seven: bool, fields: &[u8]) -> Option<Announced<'_>> {
    let (name, rest) = text(fields)?;
    let ([crc, size], rest) = ints(rest)?;
    let (batch, sha256) = match is_seven {
        true => {
            let ([parts, part_len], rest) = ints(rest)?;
            (Some(Batch { parts, part_len }), rest.first_chunk().copied())
        }
        false => (None, None),
    };
    Some(Announced {
        name,
        crc: bits(crc),
        size,
        batch,
        sha256,
    })
}

fn part(fields: &[u8]) -> Option<Part<'_>> {
    let ([last, crc, number, size], data) = ints(fields)?;
    let data = match usize::try_from(size) {
        Ok(size) => data.get(..size)?,
        Err(_) => &[],
    };
    let head = PartHead {
        is_last: last != 0,
        crc: bits(crc),
        number,
    };
    Some(Part {
        head: Some(head),
        data,
    })
}
