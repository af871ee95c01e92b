//! The received and expected values of notes about map transfers.

use std::fmt::{self, Write};

use teetap_wire::{Code, counted};

use crate::Values;

/// The values behind a note about a map transfer. Parts are counted from 0, as in the messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MapFact {
    /// A part has the checksum of another map.
    OtherMap {
        /// The checksum in the part.
        got: u32,
        /// The checksum in `map_change`.
        expected: u32,
    },
    /// A part that the client has neither requested nor can use next.
    OtherPart {
        /// Number of the part.
        got: i64,
        /// Number of the next part.
        expected: i64,
    },
    /// A part that the client has already, in place of the part that it has requested.
    PartAgain {
        /// Number of the part.
        got: i64,
        /// Number of the requested part.
        expected: i64,
    },
    /// A requested part has no data.
    Empty {
        /// Number of the part.
        part: i64,
    },
    /// A part of 0.7 has another size than announced.
    Size {
        /// Number of the part.
        part: i64,
        /// Size of the part in bytes.
        got: usize,
        /// Expected size in bytes.
        expected: i64,
        /// Size of the map in bytes, as in `map_change`.
        map: i64,
    },
    /// A part is marked as the last although the map is not complete.
    EarlyLast {
        /// Number of the part.
        part: i64,
        /// Size of all parts so far in bytes.
        got: i64,
        /// Size of the map in bytes, as in `map_change`.
        expected: i64,
    },
    /// The part that completes the map is not marked as the last.
    NotLast {
        /// Number of the part.
        part: i64,
        /// Size of the map in bytes, as in `map_change`.
        map: i64,
    },
    /// The parts have more bytes than announced.
    TooLong {
        /// Size of all parts so far in bytes.
        got: i64,
        /// Size of the map in bytes, as in `map_change`.
        expected: i64,
    },
    /// The crc32 of all parts is not the announced one.
    Crc {
        /// The crc32 of the parts.
        got: u32,
        /// The announced crc32.
        expected: u32,
        /// Size of the map in bytes.
        map: i64,
        /// True if the SHA-256 digest is the announced one.
        has_digest: bool,
    },
    /// The SHA-256 digest of all parts is not the announced one.
    Sha256 {
        /// The digest of the parts.
        got: [u8; 32],
        /// The announced digest.
        expected: [u8; 32],
    },
    /// `map_details` and `map_change` differ.
    Details(DetailsDiffer),
    /// A request for a part that the map does not have.
    NoSuchPart {
        /// The requested number.
        got: i64,
        /// Number of parts.
        parts: i64,
    },
    /// A request skips a part.
    Skipped {
        /// The requested number.
        got: i64,
        /// Number of the next part.
        expected: i64,
    },
    /// A part is requested repeatedly although the client has acked it.
    AskedAgain {
        /// The requested number.
        got: i64,
        /// Number of requests after the ack.
        times: u16,
        /// Number of the next part.
        expected: i64,
    },
    /// A request of 0.7 before the parts of the previous request.
    AskedEarly {
        /// Number of the request, from 1.
        request: i64,
        /// Number of parts that the client has acked.
        got: i64,
        /// Number of parts after which the client requests more.
        expected: i64,
    },
    /// A request of 0.7 after all parts were requested.
    AskedBeyond {
        /// Number of the request, from 1.
        request: i64,
        /// Number of parts.
        parts: i64,
    },
    /// A `ready` although the client has not received all parts that it has requested.
    Ready {
        /// Number of the first part that the client lacks.
        missing: i64,
        /// Number of parts.
        parts: i64,
    },
}

/// How `map_details` and `map_change` differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DetailsDiffer {
    /// The names differ.
    Name,
    /// The checksums differ: in `map_details`, in `map_change`.
    Crc(u32, u32),
    /// The sizes in bytes differ: in `map_details`, in `map_change`.
    Size(i64, i64),
}

impl MapFact {
    /// Returns the code of the note.
    pub(super) const fn code(&self) -> Code {
        match self {
            Self::OtherMap { .. }
            | Self::OtherPart { .. }
            | Self::PartAgain { .. }
            | Self::Empty { .. }
            | Self::Size { .. }
            | Self::EarlyLast { .. }
            | Self::NotLast { .. }
            | Self::TooLong { .. } => Code::MapPartWrong,
            Self::Crc { .. } | Self::Sha256 { .. } => Code::MapDiffers,
            Self::Details(_) => Code::MapDetailsDiffer,
            Self::NoSuchPart { .. }
            | Self::Skipped { .. }
            | Self::AskedAgain { .. }
            | Self::AskedEarly { .. }
            | Self::AskedBeyond { .. } => Code::MapRequestWrong,
            Self::Ready { .. } => Code::MapReadyEarly,
        }
    }

    /// Adds the received and the expected value, and what the receiver does.
    pub(in crate::track) fn write(&self, f: &mut Values) -> fmt::Result {
        match self {
            Self::OtherMap { got, expected } => {
                f.add_got(format_args!("a part of the map with the crc {got:08x}"))?;
                f.add_expected(format_args!("{expected:08x} as in map_change"))?;
                f.write_str("; the client ignores the part")
            }
            Self::OtherPart { got, expected } => {
                f.add_got(format_args!("part {got}"))?;
                f.add_expected(format_args!("part {expected}"))?;
                write!(
                    f,
                    ": part {got} was not requested; the client ignores it and waits"
                )
            }
            Self::PartAgain { got, expected } => {
                f.add_got(format_args!("part {got} again"))?;
                f.add_expected(format_args!("part {expected}"))?;
                f.write_str(" as requested; the client ignores the other part and waits")
            }
            Self::Empty { part } => {
                f.add_got(format_args!("part {part} without data"))?;
                f.add_expected("its data")?;
                f.write_str("; the client ignores the part")
            }
            Self::Size {
                part,
                got,
                expected,
                map,
            } => {
                f.add_got(format_args!("{got} bytes in part {part}"))?;
                f.add_expected(format_args!("{expected}"))?;
                let is_short = i64::try_from(*got).is_ok_and(|got| got < *expected);
                let then = match is_short {
                    true => "ignores the part",
                    false => "reads only the first bytes of the part",
                };
                write!(f, " for a map of {map} bytes; the client {then}")
            }
            Self::EarlyLast { part, got, expected } => {
                f.add_got(format_args!("part {part} as the last after {got} bytes"))?;
                f.add_expected(format_args!("{expected} bytes as in map_change"))?;
                f.write_str("; the client loads an incomplete map")
            }
            Self::NotLast { part, map } => {
                f.add_got(format_args!("part {part} not marked as the last"))?;
                f.add_expected(format_args!("the mark: the map has {map} bytes and is complete"))?;
                write!(f, "; the client requests part {}, which does not exist", part + 1)
            }
            Self::TooLong { got, expected } => {
                f.add_got(format_args!("{got} bytes so far"))?;
                f.add_expected(format_args!("{expected} as in map_change"))?;
                f.write_str("; the client loads all of them")
            }
            Self::Crc {
                got,
                expected,
                map,
                has_digest,
            } => {
                f.add_got(format_args!("crc32 {got:08x} of all {map} bytes"))?;
                f.add_expected(format_args!("{expected:08x} as in map_change"))?;
                match has_digest {
                    true => f.write_str(": clients of DDNet compare only the digest, which is right"),
                    false => Ok(()),
                }
            }
            Self::Sha256 { got, expected } => {
                f.add_got(format_args!("sha256 {}", Hex(got)))?;
                f.add_expected(format_args!("{} as announced", Hex(expected)))
            }
            Self::Details(differ) => differ.write(f),
            _ => self.write_of_client(f),
        }
    }

    /// Adds the values of the mistakes of a client.
    fn write_of_client(&self, f: &mut Values) -> fmt::Result {
        match self {
            Self::NoSuchPart { got, parts } => {
                f.add_got(format_args!("a request for part {got}"))?;
                f.add_expected(format_args!("0 to {}", parts - 1))?;
                f.write_str("; servers of the games ignore the request")
            }
            Self::Skipped { got, expected } => {
                f.add_got(format_args!("a request for part {got}"))?;
                f.add_expected(format_args!("part {expected}"))?;
                write!(f, ": the client has not requested part {expected}")
            }
            Self::AskedAgain { got, times, expected } => {
                f.add_got(format_args!("{times} more requests for part {got}"))?;
                f.add_expected(format_args!("part {expected}"))?;
                write!(f, ": the client has acked part {got}")
            }
            Self::AskedEarly {
                request,
                got,
                expected,
            } => {
                f.add_got(format_args!("request {request} after {}", counted(*got, "part")))?;
                f.add_expected(format_args!("it after {expected}"))?;
                f.write_str("; the server sends the next parts before the client has the last")
            }
            Self::AskedBeyond { request, parts } => {
                f.add_got(format_args!("request {request}"))?;
                f.add_expected("none")?;
                write!(f, ": all {parts} parts were requested")
            }
            Self::Ready { missing, parts } => {
                f.add_got(format_args!("it without part {missing} of {parts}"))?;
                f.add_expected("it after all parts")
            }
            _ => Ok(()),
        }
    }
}

impl DetailsDiffer {
    fn write(self, f: &mut Values) -> fmt::Result {
        match self {
            Self::Name => {
                f.add_got("another name")?;
                f.add_expected("the name in map_details")
            }
            Self::Crc(details, change) => {
                f.add_got(format_args!("crc {change:08x}"))?;
                f.add_expected(format_args!("{details:08x} as in map_details"))
            }
            Self::Size(details, change) => {
                f.add_got(format_args!("{change} bytes"))?;
                f.add_expected(format_args!("{details} as in map_details"))
            }
        }
    }
}

/// Displays bytes as hexadecimal digits.
struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
