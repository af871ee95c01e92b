//! The checks of each release and side, in the order of its code.

use super::Release;
use super::case::Check;
use super::rows::{chunk, control, framing, session, slot};
use crate::Side;

/// The rows of one receiver.
#[derive(Debug, Clone, Copy)]
pub(super) struct Table {
    /// About the datagram, up to the payload.
    pub(super) datagram: &'static [Check],
    /// About a control message.
    pub(super) control: &'static [Check],
    /// About each chunk and the bytes after the chunks. The first row that matches is applied.
    pub(super) chunk: &'static [Check],
}

/// Returns the rows of a release.
pub(super) const fn table_of(release: Release, side: Side) -> Table {
    match (release, side) {
        (Release::Teeworlds064, Side::Server) => SERVER_064,
        (Release::Teeworlds064, Side::Client) => CLIENT_064,
        (Release::Teeworlds065, Side::Server) => SERVER_065,
        (Release::Teeworlds065, Side::Client) => CLIENT_065,
        (Release::Teeworlds075, Side::Server) => SERVER_075,
        (Release::Teeworlds075, Side::Client) => CLIENT_075,
        (Release::Ddnet16, Side::Server) => SERVER_16,
        (Release::Ddnet16, Side::Client) => CLIENT_16,
        (Release::Ddnet20, Side::Server) => SERVER_20,
        (Release::Ddnet20, Side::Client) => CLIENT_20,
    }
}

/// The unpacker is the same in all releases, except that 0.7.5 checks that the connection is online.
const CHUNK: &[Check] = &[
    chunk::PAST_END,
    chunk::TRAILING,
    chunk::NOT_VITAL,
    chunk::NEXT,
    chunk::REPEAT,
    chunk::GAP,
];

const CHUNK_075: &[Check] = &[
    chunk::NOT_ONLINE,
    chunk::PAST_END,
    chunk::TRAILING,
    chunk::NOT_VITAL,
    chunk::NEXT,
    chunk::REPEAT,
    chunk::GAP,
];

const SERVER_CONTROL: &[Check] = &[control::CLOSE, control::OTHER];

const SERVER_064: Table = Table {
    datagram: &[
        framing::SHORT,
        framing::SHORT_CONNLESS,
        framing::INFLATE,
        framing::BANNED,
        framing::CONNLESS,
        framing::LEFTOVER,
        session::KNOWN_CONNECT,
        slot::PER_ADDRESS,
        slot::FULL,
        slot::CONNECT_ACK,
        slot::OPENS,
        slot::CONNECT_ANSWER,
        slot::NO_SLOT,
        session::ACK_WINDOW,
        session::TAKES_ACK,
        session::RESEND,
        session::FIRST_DATA,
    ],
    control: SERVER_CONTROL,
    chunk: CHUNK,
};

const CLIENT_064: Table = Table {
    datagram: &[
        framing::SHORT,
        framing::SHORT_CONNLESS,
        framing::INFLATE,
        framing::CONNLESS,
        framing::NO_CONNECTION,
        session::ACK_WINDOW,
        session::TAKES_ACK,
        session::RESEND,
        framing::LEFTOVER,
    ],
    control: &[
        control::CLOSE,
        control::ACCEPT_ANSWER,
        control::ACCEPT,
        control::OTHER,
    ],
    chunk: CHUNK,
};

const SERVER_065: Table = Table {
    datagram: &[
        framing::SHORT,
        framing::SHORT_CONNLESS,
        framing::SHORT_TOKEN,
        framing::INFLATE,
        framing::BANNED,
        framing::CONNLESS,
        framing::LEFTOVER,
        session::KNOWN_CONNECT,
        slot::CONNECT_065_ANSWER,
        slot::CONNECT_065_SHORT,
        slot::PER_ADDRESS,
        slot::FULL,
        slot::OPENS,
        slot::NO_SLOT,
        session::TOKEN_MISSING,
        session::TOKEN_WRONG,
        session::ACK_WINDOW,
        session::TAKES_ACK,
        session::RESEND,
    ],
    control: SERVER_CONTROL,
    chunk: CHUNK,
};

const CLIENT_065: Table = Table {
    datagram: &[
        framing::SHORT,
        framing::SHORT_CONNLESS,
        framing::SHORT_TOKEN,
        framing::INFLATE,
        framing::CONNLESS,
        framing::NO_CONNECTION,
        session::TOKEN_MISSING,
        session::TOKEN_WRONG,
        session::ACK_WINDOW,
        session::TAKES_ACK,
        session::RESEND,
        framing::LEFTOVER,
    ],
    control: &[
        control::CLOSE,
        control::ACCEPT_SHORT,
        control::ACCEPT,
        control::OTHER,
    ],
    chunk: CHUNK,
};

const SERVER_075: Table = Table {
    datagram: &[
        framing::SHORT_SEVEN,
        framing::SHORT_CONNLESS,
        framing::CONNLESS_VERSION,
        framing::OVERSIZED,
        framing::INFLATE,
        framing::BANNED,
        slot::REQUEST_ANSWER,
        slot::REQUEST_SHORT,
        slot::UNVERIFIED,
        slot::UNVERIFIED_WRONG,
        slot::CONNLESS_SLOTLESS,
        slot::LEFTOVER_SLOTLESS,
        slot::FULL,
        slot::PER_ADDRESS,
        slot::CONNECT_ACK,
        slot::OPENS,
        slot::CONNECT_ANSWER,
        slot::CACHED_TOKEN,
        slot::NO_SLOT,
        session::ACK_WINDOW,
        session::TAKES_ACK,
        session::TOKEN_075,
        session::RESEND,
        session::CONNLESS_IN_SESSION,
        framing::LEFTOVER,
        session::FIRST_DATA,
    ],
    control: &[control::CLOSE, control::REKEY, control::OTHER],
    chunk: CHUNK_075,
};

const CLIENT_075: Table = Table {
    datagram: &[
        framing::SHORT_SEVEN,
        framing::SHORT_CONNLESS,
        framing::CONNLESS_VERSION,
        framing::OVERSIZED,
        framing::INFLATE,
        slot::REQUEST_ANSWER,
        slot::UNVERIFIED,
        slot::UNVERIFIED_WRONG,
        slot::CONNLESS_SLOTLESS,
        framing::NO_CONNECTION,
        session::ACK_WINDOW,
        session::TAKES_ACK,
        session::TOKEN_075,
        session::RESEND,
        session::CONNLESS_AT_CLIENT,
        framing::LEFTOVER,
    ],
    control: &[
        control::CLOSE,
        control::REKEY_ANSWER,
        control::REKEY,
        control::ACCEPT,
        control::OTHER,
    ],
    chunk: CHUNK_075,
};

const SERVER_16: Table = Table {
    datagram: &[
        framing::BANNED,
        framing::SHORT,
        framing::SHORT_CONNLESS,
        framing::SHORT_SEVEN,
        framing::FIRST_READING,
        framing::CONTROL_COMPRESSED,
        framing::INFLATE,
        framing::CONNLESS_TOKEN,
        framing::CONNLESS,
        framing::CONTROL_EMPTY_16,
        slot::SEVEN_SHORT,
        slot::SEVEN_REQUEST,
        slot::SEVEN_FOREIGN,
        slot::SEVEN_CONNECT,
        slot::DDNET_CONNECT,
        slot::SIX_CHALLENGE,
        slot::SIX_CONNECT,
        slot::NO_SEVEN,
        slot::TOO_FAST,
        slot::PER_ADDRESS_DDNET,
        slot::FULL_DDNET,
        slot::OPENS_DDNET,
        slot::NO_SLOT,
        session::RECONNECT,
        session::REJOIN,
        session::TAIL_SHORT,
        session::TAIL_WRONG,
        session::SEVEN_WRONG,
        session::ACK_WINDOW,
        session::TAKES_ACK,
        session::RESEND,
    ],
    control: SERVER_CONTROL,
    chunk: CHUNK,
};

const CLIENT_16: Table = Table {
    datagram: &[
        framing::SHORT,
        framing::CRASH,
        framing::SHORT_CONNLESS,
        framing::SHORT_SEVEN,
        framing::CONTROL_COMPRESSED,
        framing::INFLATE,
        framing::CONNLESS,
        framing::NO_CONNECTION,
        session::TAIL_SHORT,
        session::TAIL_WRONG,
        session::ACK_WINDOW,
        session::TAKES_ACK,
        session::RESEND,
        framing::LEFTOVER,
    ],
    control: &[
        control::CLOSE,
        control::ACCEPT_ANSWER,
        control::ACCEPT,
        control::OTHER,
    ],
    chunk: CHUNK,
};

const SERVER_20: Table = Table {
    datagram: &[
        framing::BANNED,
        framing::SHORT,
        framing::SHORT_CONNLESS,
        framing::SHORT_SEVEN,
        framing::UNKNOWN_FLAGS,
        framing::CONTROL_COUNT,
        framing::CONTROL_EMPTY,
        framing::CONTROL_COMPRESSED,
        framing::DATA_EMPTY,
        framing::COMPRESSED_STRANGER,
        framing::COMPRESSED_TOKEN,
        framing::INFLATE,
        framing::CONNLESS_TOKEN,
        framing::CONNLESS,
        slot::SEVEN_SHORT,
        slot::SEVEN_REQUEST,
        slot::SEVEN_FOREIGN,
        slot::SEVEN_CONNECT,
        slot::DDNET_CONNECT,
        slot::SIX_CHALLENGE,
        slot::SIX_CONNECT,
        slot::NO_SEVEN,
        slot::TOO_FAST,
        slot::PER_ADDRESS_DDNET,
        slot::FULL_DDNET,
        slot::OPENS_DDNET,
        slot::NO_SLOT,
        session::RECONNECT,
        session::REJOIN,
        session::TAIL_SHORT,
        session::TAIL_WRONG,
        session::SEVEN_WRONG,
        session::ACK_WINDOW,
        session::TAKES_ACK,
        session::RESEND,
    ],
    control: SERVER_CONTROL,
    chunk: CHUNK,
};

const CLIENT_20: Table = Table {
    datagram: &[
        framing::SHORT,
        framing::SHORT_CONNLESS,
        framing::SHORT_SEVEN,
        framing::UNKNOWN_FLAGS,
        framing::CONTROL_COUNT,
        framing::CONTROL_EMPTY,
        framing::CONTROL_COMPRESSED,
        framing::DATA_EMPTY,
        framing::INFLATE,
        framing::CONNLESS,
        framing::NO_CONNECTION,
        session::TAIL_SHORT,
        session::TAIL_WRONG,
        session::SEVEN_WRONG,
        session::ACK_WINDOW,
        session::TAKES_ACK,
        session::RESEND,
    ],
    control: &[
        control::CLOSE,
        control::REKEY_ANSWER,
        control::DDNET_TOKEN,
        control::ACCEPT_ANSWER,
        control::ACCEPT,
        control::OTHER,
    ],
    chunk: CHUNK,
};
