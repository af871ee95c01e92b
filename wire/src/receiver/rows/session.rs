//! Token, ack and flags of a datagram of a known connection.

use super::{CLIENT, Check, FEED, SERVER, last, step};
use crate::receiver::{Answer, Phase, Verdict, in_window};
use crate::{Proto, Token};

const ON_CONTROL: &str = "network_server.cpp CNetServer::OnConnCtrlMsg";

pub(in crate::receiver) const KNOWN_CONNECT: Check = last(
    "connect-again",
    Verdict::Drops,
    SERVER,
    "CONNECT of a client that has a slot",
    |case| case.is_control(1) && case.leg.has_slot(),
);

/// Read before the token is checked.
pub(in crate::receiver) const RECONNECT: Check = step(
    "reconnect",
    Verdict::Answers(Answer::ConnectAccept),
    ON_CONTROL,
    "CONNECT with TKEN of a client that has a slot, whatever its token and ack",
    |case| case.leg.has_slot() && case.is_control(1) && is_tken_connect(case.reading.payload()),
);

/// Read before the token is checked, since the token is in the message.
pub(in crate::receiver) const REJOIN: Check = last(
    "rejoin",
    Verdict::Restarts,
    ON_CONTROL,
    "control message 3 of 5 bytes with the token of the server, of a client that has a slot",
    |case| {
        let clear = case.reading.payload();
        let token = case.reading.token_in_payload(1);
        case.leg.has_slot() && case.is_control(3) && clear.len() == 5 && token == case.leg.token_in
    },
);

/// Returns true for a CONNECT with `TKEN` and four more bytes.
pub(super) fn is_tken_connect(clear: &[u8]) -> bool {
    clear.len() >= 9 && clear.get(1..5) == Some(&Token::TKEN.0)
}

pub(in crate::receiver) const TOKEN_MISSING: Check = last(
    "token-missing",
    Verdict::Drops,
    FEED,
    "the token flag is missing. CONNECTACCEPT is excepted, at the server too",
    |case| {
        let is_accept = case.reading.control && case.reading.payload().first() == Some(&2);
        case.leg.token_in.is_some() && case.reading.header == 3 && !is_accept
    },
);

pub(in crate::receiver) const TOKEN_WRONG: Check = last(
    "token-wrong",
    Verdict::Drops,
    FEED,
    "the token is not that of the connection",
    |case| {
        let shown = case.reading.token;
        case.leg.token_in.is_some() && shown.is_some() && shown != case.leg.token_in
    },
);

pub(in crate::receiver) const TAIL_SHORT: Check = last(
    "tail-short",
    Verdict::Drops,
    FEED,
    "a payload shorter than the token at its end",
    |case| case.wants_tail() && case.tail().is_none(),
);

pub(in crate::receiver) const TAIL_WRONG: Check = last(
    "tail-wrong",
    Verdict::Drops,
    FEED,
    "the last four bytes of the clear payload are not the token of the connection",
    |case| case.wants_tail() && case.tail() != case.leg.token_in,
);

pub(in crate::receiver) const SEVEN_WRONG: Check = last(
    "token-wrong",
    Verdict::Drops,
    FEED,
    "the token of the header is not that of the connection",
    |case| case.leg.proto == Proto::V7 && case.reading.token != case.leg.token_in,
);

/// 0.7.5 also refuses the token that means "none", even if it is the expected token.
pub(in crate::receiver) const TOKEN_075: Check = last(
    "token-wrong",
    Verdict::Drops,
    FEED,
    "the token of the header is not that of the connection. The ack was already accepted",
    |case| case.reading.token == Some(Token::NONE) || case.reading.token != case.leg.token_in,
);

pub(in crate::receiver) const ACK_WINDOW: Check = last(
    "ack-window",
    Verdict::Drops,
    FEED,
    "the ack is not between the last accepted ack and the last vital chunk sent. Outside a connection (0.7.5) it counts as 0",
    |case| !in_window(case.reading.ack, case.leg.peer_ack, case.leg.sequence),
);

pub(in crate::receiver) const TAKES_ACK: Check = step(
    "ack",
    Verdict::TakesAck,
    FEED,
    "any other datagram of the connection",
    |_| true,
);

pub(in crate::receiver) const RESEND: Check = step(
    "resend",
    Verdict::Resends,
    FEED,
    "the resend flag. DDNet 20 answers 10 in a second",
    |case| case.reading.resend,
);

/// 0.7.5 hands a connless datagram from a client's address to the browser only with the right token and a valid ack.
pub(in crate::receiver) const CONNLESS_IN_SESSION: Check = last(
    "connless",
    Verdict::HandsOver,
    SERVER,
    "outside a connection",
    |case| case.reading.connless,
);

pub(in crate::receiver) const CONNLESS_AT_CLIENT: Check = last(
    "connless-in-session",
    Verdict::Drops,
    CLIENT,
    "outside a connection, from the server that it plays on",
    |case| case.reading.connless,
);

pub(in crate::receiver) const FIRST_DATA: Check = step(
    "first-data",
    Verdict::GoesOnline,
    FEED,
    "the first datagram with data after CONNECT",
    |case| !case.reading.control && case.leg.phase == Phase::Pending,
);
