//! Classifies first datagrams that open no session, and identifies the mistake in them.
//!
//! Law: a mistake is identified only if the bytes allow no other explanation: without the mistake, they would be a
//! handshake of the game. All other datagrams have the kind [`OpensNothing::Other`], and only their bytes are shown.
//!
//! Sources of the formats: `network_conn.cpp` and `network_token.cpp` of Teeworlds 0.6.5 and 0.7.5, and
//! `network_conn.cpp` of DDNet.

mod data;
mod nearest;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::{First, Token, detect};

/// Maximum bytes of a datagram shown in a sentence.
const SHOWN: usize = 16;

/// The group of a kind of datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NoSessionGroup {
    /// A malformed handshake: no server answers it.
    Malformed,
    /// A well-formed datagram at the wrong time.
    Early,
    /// A datagram of a session that does not exist.
    Past,
    /// Anything else.
    Rest,
}

macro_rules! strangers {
    ($($(#[$doc:meta])* $variant:ident $word:literal $part:ident $text:literal)*) => {
        /// The kind of a datagram from an address without a session that does not open a session. One table defines the
        /// name and the sentence of each kind.
        #[derive(
            Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, strum::EnumString, strum::VariantArray,
        )]
        pub enum OpensNothing {
            $($(#[$doc])* #[strum(serialize = $word)] $variant,)*
        }

        impl OpensNothing {
            /// All kinds.
            pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

            const fn row(self) -> (&'static str, NoSessionGroup, &'static str) {
                match self {
                    $(Self::$variant => ($word, NoSessionGroup::$part, $text),)*
                }
            }
        }
    };
}

strangers! {
    /// A datagram that resembles no handshake.
    #[default]
    Other "other" Rest ""
    /// A datagram shorter than any header.
    TooShort "too_short" Rest
        "a header has 3 bytes, in 0.7 and with the token flag of 0.6.5 it has 7"
    /// A TOKEN request of 0.7 that is too short to be answered by a server.
    ShortTokenRequest "short_token_request" Malformed
        "a TOKEN request of 0.7, but servers answer only requests of 519 bytes or more"
    /// A TOKEN request of 0.7, although `--proto` refuses it.
    RefusedTokenRequest "refused_token_request" Rest
        "a TOKEN request of 0.7, which --proto refuses"
    /// A TOKEN request or a CONNECT of 0.7 with a token that was not given to its sender.
    ForeignToken "foreign_token" Early
        "a handshake of 0.7 with a token that was not given to this address, or too long ago"
    /// A TOKEN request or a CONNECT of 0.7 with the token of the server in reverse.
    ReversedToken "reversed_token" Early
        "a handshake of 0.7 with the token of the server in reverse: a token is four bytes that are written as they were read"
    /// A message of the server browser of 0.7 with a token that was not given to its sender.
    BrowserToken "browser_token" Early
        "a message of the server browser with a token that was not given to this address, or too long ago: request one first"
    /// A TOKEN request of 0.7 with a token of zeros in the header.
    ZeroToken "zero_token" Malformed
        "a TOKEN request with the token 00000000 in its header: until the server has given a token, it is ff ff ff ff"
    /// A TOKEN request or a CONNECT of 0.7 with the sender's own token in the header.
    OwnToken "own_token" Malformed
        "its header has the client's own token: the header has the token of the receiver, ff ff ff ff until that has given one"
    /// A CONNECT of 0.7 without a token of the server in the header.
    ConnectBeforeToken "connect_before_token" Malformed
        "a CONNECT of 0.7 without the token of the server: a TOKEN request comes first, and the header has the token of its answer"
    /// A CONNECT of 0.7 without the token for the server's answers.
    NoResponseToken "no_response_token" Malformed
        "a CONNECT of 0.7 without the client's own token after the id"
    /// A handshake of 0.7 with the control flag of 0.6.
    FlagOfSix "control_flag_of_06" Malformed
        "byte 0 is 10, the control flag of 0.6: in 0.7 it is 04"
    /// A handshake of 0.6 with the control flag of 0.7.
    FlagOfSeven "control_flag_of_07" Malformed
        "byte 0 is 04, the control flag of 0.7: in 0.6 and DDNet it is 10"
    /// A handshake with the control flag in the lowest bits.
    FlagNotShifted "flags_not_shifted" Malformed
        "byte 0 is 01: the flags are not shifted to their place, so that the control flag is 04 in 0.7, 10 in 0.6 and DDNet"
    /// A handshake of 0.6 with other flags.
    FlagsOfSix "wrong_flags_06" Malformed
        "the rest is a CONNECT of 0.6, so byte 0 has to be 10, the control flag"
    /// A handshake of 0.7 with other flags.
    FlagsOfSeven "wrong_flags_07" Malformed
        "the rest is a handshake of 0.7, so byte 0 has to be 04, the control flag"
    /// A CONNECT of 0.6.5 with the token flag.
    TokenFlag "token_flag" Malformed
        "a CONNECT with the token flag, 08: in 0.6.5 all packets but CONNECT have it, in DDNet none"
    /// A handshake of 0.7 in a header of 0.6.
    HeaderOfSix "header_of_06" Malformed
        "a TOKEN request of 0.7 in a header of 0.6: it begins with 04 00 00 ff ff ff ff 05"
    /// A handshake of 0.7 without the token field of the header.
    NoTokenField "no_token_field" Malformed
        "the id is at byte 3, but a header of 0.7 has a token there: 04 00 00 ff ff ff ff before the id of a TOKEN request"
    /// A TOKEN request of 0.7 whose token field is at another place.
    FieldMoved "token_field_moved" Malformed
        "ff ff ff ff 05 has to be at byte 3: flags and ack have two bytes, the number of chunks has one"
    /// A handshake of DDNet whose magic is at another place.
    MagicMoved "magic_moved" Malformed
        "TKEN has to be at byte 4: flags and ack have two bytes, the number of chunks and the id of CONNECT one each"
    /// A control message whose id is encoded like the id of a message.
    PackedId "packed_id" Malformed
        "the id of a control message is a plain byte, without the class bit of messages: CONNECT is 01, TOKEN is 05"
    /// A control message whose id has four bytes.
    WideId "wide_id" Malformed
        "the id of a control message is one byte, not an int of four"
    /// A handshake with an id that is neither CONNECT nor TOKEN.
    WrongId "wrong_id" Malformed
        "the rest is a handshake with another id: CONNECT is 01, TOKEN of 0.7 is 05"
    /// A CONNECT or a TOKEN request that is compressed.
    Compressed "compressed_handshake" Malformed
        "a compressed handshake, which DDNet drops: control packets are sent as they are"
    /// A CONNECT or a TOKEN request that is plain, but has the compression flag.
    NotCompressed "not_compressed" Malformed
        "the compression flag is set, but the bytes are a plain handshake: control packets are never compressed"
    /// A compressed CONNECT or TOKEN request without the compression flag.
    CompressionUnmarked "compression_unmarked" Malformed
        "a compressed handshake without the compression flag: control packets are sent as they are"
    /// A message that only servers send.
    OfServer "of_server" Early
        "the answer of a server to CONNECT: a client begins with CONNECT, id 01, in 0.7 with a TOKEN request, id 05"
    /// ACCEPT of 0.6 without CONNECT before it.
    AcceptFirst "accept_first" Early
        "an ACCEPT, but this address has sent no CONNECT, or its answer was long ago"
    /// Messages before any handshake.
    DataFirst "data_first" Early
        "messages from number 1 on, but the session is not open: a client begins with CONNECT, in 0.7 with a TOKEN request"
    /// A datagram in the middle of a session.
    Running "running" Past
        "a datagram of a running session: this address has none (one from before the proxy started, or that is over?)"
    /// A CLOSE.
    Close "close" Past
        "a CLOSE: there is no session to close"
}

impl OpensNothing {
    /// Returns the kind of a datagram that opened no session.
    #[must_use]
    pub fn classify(datagram: &[u8]) -> Self {
        match detect(datagram) {
            First::TokenRequest {
                header_token, token, ..
            } if header_token != Token::NONE => match header_token {
                Token([0, 0, 0, 0]) => Self::ZeroToken,
                own if own == token => Self::OwnToken,
                _ => Self::ForeignToken,
            },
            First::TokenRequest { padded: false, .. } => Self::ShortTokenRequest,
            First::TokenRequest { .. } => Self::RefusedTokenRequest,
            First::Connect7 { header_token, token } => match header_token {
                Token::NONE | Token([0, 0, 0, 0]) => Self::ConnectBeforeToken,
                _ if token == Token::NONE => Self::NoResponseToken,
                own if own == token => Self::OwnToken,
                _ => Self::ForeignToken,
            },
            First::Close => Self::Close,
            First::Noise => Self::TooShort,
            First::Connect { .. } | First::Connless(_) => Self::Other,
            First::MidSession => nearest::handshake(datagram)
                .or_else(|| data::session(datagram))
                .unwrap_or_default(),
        }
    }

    /// Returns the name, which is stable for scripts.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// Returns true for a datagram that no correct client ever sends.
    #[must_use]
    pub fn is_malformed(self) -> bool {
        self.row().1 == NoSessionGroup::Malformed
    }

    /// Returns true for a datagram that a client sends only by mistake.
    #[must_use]
    pub fn is_mistake(self) -> bool {
        self.is_malformed() || self.row().1 == NoSessionGroup::Early
    }

    /// Returns the reading of the bytes as a sentence without a full stop; empty if there is none.
    #[must_use]
    pub const fn text(self) -> &'static str {
        self.row().2
    }

    /// Returns the first bytes of `datagram`, at most 16, and without the contents of messages, which may be passwords.
    #[must_use]
    pub fn start(self, datagram: &[u8]) -> &[u8] {
        let end = match self {
            Self::Running | Self::DataFirst => data::head(datagram).min(SHOWN),
            _ => SHOWN,
        };
        datagram.get(..end).unwrap_or(datagram)
    }
}

impl fmt::Display for OpensNothing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
