//! The chunks of a datagram that has passed all checks before.

use super::{Check, FETCH, last, step};
use crate::receiver::case::End;
use crate::receiver::{Phase, Verdict};

pub(in crate::receiver) const NOT_ONLINE: Check = last(
    "not-online",
    Verdict::IgnoresRest,
    FETCH,
    "the connection is not online",
    |case| case.leg.phase != Phase::Online,
);

pub(in crate::receiver) const PAST_END: Check = last(
    "past-end",
    Verdict::IgnoresRest,
    FETCH,
    "a chunk that does not fit into the payload",
    |case| case.end == Some(End::Broken),
);

pub(in crate::receiver) const TRAILING: Check = last(
    "trailing",
    Verdict::IgnoresRest,
    FETCH,
    "bytes after the last announced chunk",
    |case| case.end == Some(End::Trailing),
);

pub(in crate::receiver) const NOT_VITAL: Check = step(
    "not-vital",
    Verdict::Accepts,
    FETCH,
    "a chunk that is not vital",
    |case| case.chunk.is_some_and(|chunk| chunk.header.vital.is_none()),
);

pub(in crate::receiver) const NEXT: Check = step(
    "next",
    Verdict::Accepts,
    FETCH,
    "the vital chunk after the last one in order; the first one of all after a challenge",
    |case| {
        let seq = case.chunk.and_then(|chunk| chunk.header.vital);
        seq.is_some_and(|seq| case.is_next(seq))
    },
);

pub(in crate::receiver) const REPEAT: Check = step(
    "repeat",
    Verdict::DropsRepeat,
    FETCH,
    "a vital chunk with one of the 513 numbers up to the last one in order",
    |case| {
        let seq = case.chunk.and_then(|chunk| chunk.header.vital);
        seq.is_some_and(|seq| seq.is_behind(case.leg.ack))
    },
);

pub(in crate::receiver) const GAP: Check = step(
    "gap",
    Verdict::AsksResend,
    FETCH,
    "any other vital chunk",
    |case| case.chunk.is_some_and(|chunk| chunk.header.vital.is_some()),
);
