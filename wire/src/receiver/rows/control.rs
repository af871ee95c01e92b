//! Control messages of a known connection.

use super::{Check, FEED, last, step};
use crate::receiver::{Answer, Phase, Release, Verdict};

pub(in crate::receiver) const CLOSE: Check = last(
    "close",
    Verdict::Ends,
    FEED,
    "CLOSE. A server ignores its reason",
    |case| case.is_control(4),
);

pub(in crate::receiver) const REKEY: Check = step(
    "token",
    Verdict::TakesToken,
    FEED,
    "TOKEN. Less than 5 bytes make the token ffffffff",
    |case| case.is_control(5),
);

pub(in crate::receiver) const REKEY_ANSWER: Check = step(
    "token-answer",
    Verdict::Answers(Answer::Connect),
    FEED,
    "TOKEN while it waits for one",
    |case| case.is_control(5) && case.leg.phase == Phase::WantsToken,
);

/// DDNet accepts the token in a reply only while it waits for a token.
pub(in crate::receiver) const DDNET_TOKEN: Check = step(
    "token",
    Verdict::TakesToken,
    FEED,
    "TOKEN while it waits for one",
    |case| case.is_control(5) && case.leg.phase == Phase::WantsToken,
);

const fn is_waiting(phase: Phase) -> bool {
    matches!(phase, Phase::Connecting)
}

pub(in crate::receiver) const ACCEPT_SHORT: Check = step(
    "accept-short",
    Verdict::Ignores,
    FEED,
    "CONNECTACCEPT with the token flag and less than 5 bytes",
    |case| case.is_control(2) && case.reading.token.is_some() && case.reading.payload().len() < 5,
);

pub(in crate::receiver) const ACCEPT_ANSWER: Check = step(
    "accept-answer",
    Verdict::Answers(Answer::Accept),
    FEED,
    "CONNECTACCEPT while it waits for one, in 0.6",
    |case| {
        let is_six = case.leg.proto != crate::Proto::V7;
        is_six && case.is_control(2) && is_waiting(case.leg.phase)
    },
);

pub(in crate::receiver) const ACCEPT: Check = step(
    "accept",
    Verdict::GoesOnline,
    FEED,
    "CONNECTACCEPT while it waits for one",
    |case| {
        let is_short = case.release == Release::Teeworlds065 && case.acted;
        case.is_control(2) && is_waiting(case.leg.phase) && !is_short
    },
);

pub(in crate::receiver) const OTHER: Check = step(
    "control-other",
    Verdict::Ignores,
    FEED,
    "any other control message",
    |case| !case.acted,
);
