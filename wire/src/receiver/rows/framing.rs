//! Checks of sizes, flags and compression that a release makes before it looks up the connection.

use super::{Check, FEED, SERVER, UNPACK, last};
use crate::Token;
use crate::receiver::reading::inflate;
use crate::receiver::{Admission, Leg, Phase, Refusal, Verdict};

const VALID: &str = "network.cpp CNetBase::IsValidConnectionOrientedPacket";

pub(in crate::receiver) const SHORT: Check =
    last("short", Verdict::Drops, UNPACK, "less than 3 bytes", |case| {
        case.reading.bytes.len() < 3
    });

pub(in crate::receiver) const SHORT_SEVEN: Check = last(
    "short-seven",
    Verdict::Drops,
    UNPACK,
    "less than the 7 bytes of a header of 0.7",
    |case| case.reading.seven && case.reading.bytes.len() < 7,
);

pub(in crate::receiver) const SHORT_TOKEN: Check = last(
    "short-token",
    Verdict::Drops,
    UNPACK,
    "the token flag, but less than 7 bytes",
    |case| !case.reading.connless && case.reading.bytes.len() < case.reading.header,
);

pub(in crate::receiver) const SHORT_CONNLESS: Check = last(
    "short-connless",
    Verdict::Drops,
    UNPACK,
    "outside a connection, but shorter than such a header: 6 bytes, 9 in 0.7",
    |case| case.reading.connless && case.reading.bytes.len() < case.reading.header,
);

pub(in crate::receiver) const CONNLESS_VERSION: Check = last(
    "connless-version",
    Verdict::Drops,
    UNPACK,
    "outside a connection, with another version than 1",
    |case| case.reading.connless && case.reading.bytes.first().is_some_and(|first| first & 3 != 1),
);

pub(in crate::receiver) const OVERSIZED: Check = last(
    "oversized",
    Verdict::Drops,
    UNPACK,
    "more than 1391 bytes after the header",
    |case| !case.reading.connless && case.reading.bytes.len() > 7 + case.release.room(),
);

pub(in crate::receiver) const INFLATE: Check = last(
    "inflate",
    Verdict::Drops,
    UNPACK,
    "the payload cannot be inflated, or not into the buffer of the release",
    |case| case.reading.clear.is_none(),
);

/// DDNet 16.4 reads a datagram of a 0.7 connection as 0.6 first.
pub(in crate::receiver) const FIRST_READING: Check = last(
    "first-reading",
    Verdict::Drops,
    SERVER,
    "0.7 with a flag that makes it unreadable as 0.6: bit 0x80, which is compression there",
    |case| {
        let Some((&first, _)) = case.reading.bytes.split_first() else {
            return false;
        };
        let is_read_as_six = case.reading.seven && !case.reading.connless && first & 0x04 == 0;
        let rest = case.reading.bytes.get(3..).unwrap_or_default();
        is_read_as_six && first & 0x80 != 0 && (first & 0x10 != 0 || inflate(rest, &mut [0; 1394]).is_none())
    },
);

pub(in crate::receiver) const CRASH: Check = last(
    "crash",
    Verdict::Crashes,
    UNPACK,
    "bit 0x04, or outside a connection with version 1: it copies a token to a null pointer",
    |case| {
        let first = case.reading.bytes.first().copied().unwrap_or(0);
        if case.reading.connless {
            first & 3 == 1 && case.reading.bytes.len() >= 9
        } else {
            first & 0x04 != 0 && case.reading.bytes.len() >= 7
        }
    },
);

pub(in crate::receiver) const UNKNOWN_FLAGS: Check = last(
    "unknown-flags",
    Verdict::Drops,
    VALID,
    "0.6 with the token flag 0x08",
    |case| !case.reading.connless && case.reading.unknown,
);

pub(in crate::receiver) const CONTROL_COUNT: Check = last(
    "control-count",
    Verdict::Drops,
    VALID,
    "a control packet that announces chunks",
    |case| case.reading.control && case.reading.count != 0,
);

pub(in crate::receiver) const CONTROL_EMPTY: Check = last(
    "control-empty",
    Verdict::Drops,
    VALID,
    "a control packet without payload",
    |case| {
        let is_empty = case.reading.bytes.len() == case.reading.header;
        case.reading.control && is_empty
    },
);

/// The same check at its place in DDNet 16.4.
pub(in crate::receiver) const CONTROL_EMPTY_16: Check = Check {
    source: SERVER,
    ..CONTROL_EMPTY
};

pub(in crate::receiver) const CONTROL_COMPRESSED: Check = last(
    "control-compressed",
    Verdict::Drops,
    UNPACK,
    "a compressed control packet",
    |case| case.reading.control && case.reading.compressed,
);

pub(in crate::receiver) const DATA_EMPTY: Check = last(
    "data-empty",
    Verdict::Drops,
    VALID,
    "neither control nor chunks nor a resend request",
    |case| {
        let reading = &case.reading;
        !reading.connless && !reading.control && !reading.resend && reading.count == 0
    },
);

pub(in crate::receiver) const COMPRESSED_STRANGER: Check = last(
    "compressed-stranger",
    Verdict::Drops,
    SERVER,
    "compressed, from an address without a slot, and no challenge is possible (or too many in a second)",
    |case| case.reading.compressed && !case.leg.has_slot() && !case.leg.challenges,
);

pub(in crate::receiver) const COMPRESSED_TOKEN: Check = last(
    "compressed-token",
    Verdict::Drops,
    SERVER,
    "0.7, compressed, with another token than that of the slot",
    |case| {
        let leg = &case.leg;
        let has_slot = leg.has_slot() && leg.proto == crate::Proto::V7;
        case.reading.compressed && has_slot && case.reading.token != leg.token_in
    },
);

pub(in crate::receiver) const BANNED: Check = last(
    "banned",
    Verdict::Refuses(Refusal::Banned),
    SERVER,
    "the address is banned",
    |case| case.leg.admission == Admission::Banned,
);

pub(in crate::receiver) const LEFTOVER: Check = last(
    "leftover",
    Verdict::ReadsLeftover,
    FEED,
    "a control packet without payload, when the payload before it is not known",
    |case| case.reading.control && case.control_id().is_none(),
);

pub(in crate::receiver) const CONNLESS: Check = last(
    "connless",
    Verdict::HandsOver,
    SERVER,
    "outside a connection",
    |case| case.reading.connless,
);

/// The server compares with the token of the address; the token for broadcasts is accepted too.
pub(in crate::receiver) const CONNLESS_TOKEN: Check = last(
    "connless-token",
    Verdict::Drops,
    SERVER,
    "outside a connection in 0.7, without the token of the server",
    |case| case.reading.connless && case.reading.seven && !shows_token(&case.leg, case.reading.token),
);

fn shows_token(leg: &Leg, token: Option<Token>) -> bool {
    token.is_some() && token == leg.token_in
}

pub(in crate::receiver) const NO_CONNECTION: Check = last(
    "no-connection",
    Verdict::Drops,
    super::CLIENT,
    "the client has no connection with the address",
    |case| matches!(case.leg.phase, Phase::NoSlot | Phase::Ended),
);
