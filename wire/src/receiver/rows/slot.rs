//! Datagrams of an address without a slot: handshakes and admission.

use super::session::is_tken_connect;
use super::{Check, SERVER, last, step};
use crate::Token;
use crate::receiver::case::Case;
use crate::receiver::{Admission, Answer, Refusal, Release, Verdict};

const TOKENS: &str = "network_token.cpp CNetTokenManager::ProcessMessage";
const TRY: &str = "network_server.cpp CNetServer::TryAcceptClient";
const DDNET_TOKEN: &str = "network_server.cpp CNetServer::OnTokenCtrlMsg";
const SIXUP: &str = "network_server.cpp CNetServer::OnSixupCtrlMsg";
const BEFORE: &str = "network_server.cpp CNetServer::OnPreConnMsg";

/// Minimum payload lengths in bytes of a 0.6.5 CONNECT and of a 0.7 token request that are answered.
const CONNECT_065: usize = 513;
const REQUEST: usize = 512;

/// Returns true if the datagram would get a slot from a server that accepts clients.
fn wants_slot(case: &Case<'_>) -> bool {
    let shown = case.reading.token;
    match case.release {
        _ if case.leg.has_slot() => false,
        Release::Teeworlds064 => case.is_control(1),
        Release::Teeworlds065 => !case.is_control(1) && shown.is_some() && shown == case.leg.token_in,
        Release::Teeworlds075 => case.is_control(1),
        Release::Ddnet16 | Release::Ddnet20 if case.reading.seven => {
            is_seven(case, 1) && shown == case.leg.token_in
        }
        Release::Ddnet16 | Release::Ddnet20 => is_ddnet_accept(case) || is_tokenless_connect(case),
    }
}

/// Returns true for a control message of 0.7 without a slot that is long enough for its token.
fn is_seven(case: &Case<'_>, id: u8) -> bool {
    let is_new = !case.leg.has_slot();
    is_new && case.reading.seven && case.is_control(id) && case.reading.payload().len() >= 5
}

fn is_ddnet_connect(case: &Case<'_>) -> bool {
    is_six(case, 1) && is_tken_connect(case.reading.payload())
}

/// Returns true for a control message of 0.6 from an address without a slot.
fn is_six(case: &Case<'_>, id: u8) -> bool {
    !case.leg.has_slot() && !case.reading.seven && case.is_control(id)
}

fn is_ddnet_accept(case: &Case<'_>) -> bool {
    let token = case.reading.token_in_payload(1);
    is_six(case, 3) && token.is_some() && token == case.leg.token_in
}

fn is_tokenless_connect(case: &Case<'_>) -> bool {
    is_six(case, 1) && !is_ddnet_connect(case) && !case.leg.challenges
}

const fn refusal(
    name: &'static str,
    refusal: Refusal,
    source: &'static str,
    text: &'static str,
    trips: fn(&Case<'_>) -> bool,
) -> Check {
    last(name, Verdict::Refuses(refusal), source, text, trips)
}

pub(in crate::receiver) const FULL: Check = refusal(
    "full",
    Refusal::Full,
    SERVER,
    "a new client, but no slot is free",
    |case| case.leg.admission == Admission::Full && wants_slot(case),
);
pub(in crate::receiver) const PER_ADDRESS: Check = refusal(
    "per-address",
    Refusal::PerAddress,
    SERVER,
    "a new client, but too many have its address",
    |case| case.leg.admission == Admission::PerAddress && wants_slot(case),
);
pub(in crate::receiver) const FULL_DDNET: Check = Check { source: TRY, ..FULL };
pub(in crate::receiver) const PER_ADDRESS_DDNET: Check = Check {
    source: TRY,
    ..PER_ADDRESS
};
pub(in crate::receiver) const TOO_FAST: Check = refusal(
    "too-fast",
    Refusal::TooFast,
    TRY,
    "a new client, but too many connections were made from its address",
    |case| case.leg.admission == Admission::TooFast && wants_slot(case),
);
pub(in crate::receiver) const NO_SEVEN: Check = refusal(
    "no-seven",
    Refusal::NoSeven,
    TRY,
    "a new client of 0.7, and sv_sixup is off or the map has no form for 0.7",
    |case| case.leg.admission == Admission::NoSeven && case.reading.seven && wants_slot(case),
);

/// The server still counts the client (0.7.5), and prepares a player (both).
pub(in crate::receiver) const CONNECT_ACK: Check = last(
    "connect-ack",
    Verdict::Drops,
    super::FEED,
    "CONNECT with an ack other than 0",
    |case| wants_slot(case) && case.reading.ack != 0,
);

pub(in crate::receiver) const OPENS: Check = step("open", Verdict::Opens, SERVER, "a new client", wants_slot);

pub(in crate::receiver) const OPENS_DDNET: Check =
    last("open", Verdict::Opens, TRY, "a new client", wants_slot);

pub(in crate::receiver) const CONNECT_ANSWER: Check = last(
    "connect",
    Verdict::Answers(Answer::ConnectAccept),
    super::FEED,
    "CONNECT of a new client",
    |case| case.acted && case.is_control(1),
);

pub(in crate::receiver) const CONNECT_065_ANSWER: Check = last(
    "connect",
    Verdict::Answers(Answer::ConnectAccept),
    SERVER,
    "CONNECT of 513 bytes or more, without a slot. The server remembers nothing",
    |case| is_six(case, 1) && case.reading.payload().len() >= CONNECT_065,
);

pub(in crate::receiver) const CONNECT_065_SHORT: Check = last(
    "connect-short",
    Verdict::Answers(Answer::Challenge),
    SERVER,
    "a shorter CONNECT, and old clients are allowed and no password is set (5 in 20 seconds, then 1 of 20)",
    |case| is_six(case, 1) && case.leg.challenges,
);

pub(in crate::receiver) const REQUEST_ANSWER: Check = last(
    "token-request",
    Verdict::Answers(Answer::Token),
    TOKENS,
    "TOKEN of 512 bytes or more, with no token in the header",
    |case| is_unverified(case) && case.is_control(5) && case.reading.payload().len() >= REQUEST,
);

pub(in crate::receiver) const REQUEST_SHORT: Check = last(
    "token-request-short",
    Verdict::Drops,
    TOKENS,
    "TOKEN of less than 512 bytes, with no token in the header",
    |case| is_unverified(case) && case.is_control(5),
);

fn is_unverified(case: &Case<'_>) -> bool {
    !case.leg.has_slot() && case.reading.token == Some(Token::NONE)
}

pub(in crate::receiver) const UNVERIFIED: Check = last(
    "no-token",
    Verdict::Drops,
    TOKENS,
    "no token in the header, without a slot",
    is_unverified,
);

pub(in crate::receiver) const UNVERIFIED_WRONG: Check = last(
    "foreign-token",
    Verdict::Drops,
    TOKENS,
    "another token than the server gives to the address, without a slot",
    |case| !case.leg.has_slot() && case.reading.token != case.leg.token_in,
);

pub(in crate::receiver) const CACHED_TOKEN: Check = last(
    "token-reply",
    Verdict::Ignores,
    SERVER,
    "TOKEN with the token of the server, without a slot",
    |case| !case.leg.has_slot() && case.is_control(5),
);

pub(in crate::receiver) const DDNET_CONNECT: Check = last(
    "connect-tken",
    Verdict::Answers(Answer::ConnectAccept),
    DDNET_TOKEN,
    "CONNECT with TKEN and four more bytes, without a slot. The server remembers nothing",
    is_ddnet_connect,
);

pub(in crate::receiver) const SEVEN_SHORT: Check = last(
    "seven-short",
    Verdict::Drops,
    SIXUP,
    "0.7, without a slot, with a payload of less than 5 bytes",
    |case| !case.leg.has_slot() && case.reading.seven && case.reading.payload().len() < 5,
);

pub(in crate::receiver) const SEVEN_REQUEST: Check = last(
    "token-request",
    Verdict::Answers(Answer::Token),
    SIXUP,
    "TOKEN of 512 bytes or more, without a slot, whatever its header token",
    |case| is_seven(case, 5) && case.reading.payload().len() >= REQUEST,
);

/// The answer is sent before the token is checked.
pub(in crate::receiver) const SEVEN_CONNECT: Check = step(
    "connect-seven",
    Verdict::Answers(Answer::ConnectAccept),
    SIXUP,
    "CONNECT of 0.7, without a slot, with the token of the server",
    |case| is_seven(case, 1),
);

pub(in crate::receiver) const SEVEN_FOREIGN: Check = last(
    "connect-seven-foreign",
    Verdict::Answers(Answer::ConnectAccept),
    SIXUP,
    "the same with another token. The server answers but accepts no client",
    |case| is_seven(case, 1) && case.reading.token != case.leg.token_in,
);

/// Outside a connection, with the token of the receiver.
pub(in crate::receiver) const CONNLESS_SLOTLESS: Check = last(
    "connless-slotless",
    Verdict::HandsOver,
    SERVER,
    "outside a connection, without a slot",
    |case| !case.leg.has_slot() && case.reading.connless,
);

pub(in crate::receiver) const LEFTOVER_SLOTLESS: Check = last(
    "leftover-slotless",
    Verdict::ReadsLeftover,
    TOKENS,
    "a control packet without payload, without a slot, when the payload before it is not known",
    |case| !case.leg.has_slot() && case.reading.control && case.control_id().is_none(),
);

pub(in crate::receiver) const SIX_CONNECT: Check = step(
    "connect-plain",
    Verdict::Answers(Answer::ConnectAccept),
    BEFORE,
    "CONNECT without TKEN, without a slot, and no challenge is wanted",
    is_tokenless_connect,
);

pub(in crate::receiver) const SIX_CHALLENGE: Check = last(
    "connect-challenge",
    Verdict::Answers(Answer::Challenge),
    BEFORE,
    "CONNECT without TKEN, without a slot, with sv_vanilla_antispoof and no password",
    |case| is_six(case, 1) && !is_ddnet_connect(case) && case.leg.challenges,
);

pub(in crate::receiver) const NO_SLOT: Check = last(
    "no-slot",
    Verdict::Drops,
    SERVER,
    "anything else without a slot",
    |case| !case.leg.has_slot(),
);
