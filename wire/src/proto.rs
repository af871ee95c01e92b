//! The variants of the protocol, and the table of all differences in their framing.
//!
//! Law: every difference in the framing is a field of [`Layout`]. Code that parses or writes packets, chunks and
//! control messages uses these fields and never checks the variant itself.
//!
//! Out of scope: the messages inside chunks, which also differ between variants.

/// A variant of the connection protocol, as spoken on one leg.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, strum::Display, strum::EnumString)]
#[strum(parse_err_fn = unknown, parse_err_ty = ParseProtoError)]
pub enum Proto {
    /// 0.6.0 to 0.6.4, and every later 0.6 peer that fell back to it: no token anywhere.
    #[strum(serialize = "0.6")]
    V6,
    /// 0.6.5: a token in the packet header, announced by a flag.
    #[strum(serialize = "0.6.5")]
    V65,
    /// DDNet's 0.6: the token is the last four bytes of the payload, negotiated with the word `TKEN`.
    #[strum(serialize = "ddnet")]
    Ddnet,
    /// 0.7, and DDNet speaking 0.7: always a token in the packet header.
    #[strum(serialize = "0.7")]
    V7,
}

/// The position of the token in a packet of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenPlace {
    /// No token.
    Nowhere,
    /// Header bytes 3 to 6, if this bit of byte 0 is set.
    HeaderWhenFlag(u8),
    /// Header bytes 3 to 6, always.
    Header,
    /// The last four bytes of the clear payload, hence inside the compression.
    PayloadTail,
}

/// The form of CONNECT in a variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConnectForm {
    /// The offset of the client's own token in the control payload (the id is byte 0); `None` if it has none.
    pub token_at: Option<usize>,
    /// Minimum length in bytes of a control payload in which a server reads the client's token (0.6.5: 513; a shorter
    /// CONNECT starts the legacy handshake).
    pub token_from_len: usize,
    /// The length of the control payload in bytes as clients send it, padded with zeros, without a payload-tail
    /// token.
    pub len: usize,
}

/// All differences in framing between the variants. Bit masks apply to byte 0 of a datagram.
///
/// Sources: Teeworlds 0.6.4 network.cpp, 0.6.5 network.h, 0.7.5 network.h, DDNet 20 network.h.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Layout {
    /// The bit that marks a payload of one control message.
    pub control: u8,
    /// The bit with which a sender asks its peer to resend all unacked chunks.
    pub resend: u8,
    /// The bit that marks a Huffman compressed payload.
    pub compression: u8,
    /// The bits that no sender of this variant sets. 0.6.4 would read `0x0c` as ack bits 11 and 10.
    pub unused: u8,
    /// The position of the token.
    pub token: TokenPlace,
    /// The length in bytes of the header before an optional token: 3, or 7 if the token is always present.
    pub header_len: usize,
    /// The number of bits of the chunk size in the second byte of a chunk header, 4 or 6. The bits above belong to
    /// the sequence number.
    pub chunk_split: u32,
    /// The largest chunk that a sender may make, in bytes of data (0.6: limited by the field; 0.7: by the payload).
    pub max_chunk: usize,
    /// The largest clear payload that the reference receiver of the variant accepts, in bytes, with a payload-tail
    /// token.
    pub max_payload: usize,
    /// The number of clear bytes at which the most tolerant receiver of the variant stops inflating.
    pub max_inflated: usize,
    /// The control ids that exist.
    pub control_ids: &'static [u8],
    /// The form of CONNECT.
    pub connect: ConnectForm,
    /// The offset of the server's token in the payload of CONNECTACCEPT, if it may carry one.
    pub accept_token_at: Option<usize>,
    /// True if the accepting side of the variant writes a token into CONNECTACCEPT (0.7 servers proper do not).
    pub accept_writes_token: bool,
    /// True if CONNECT and CONNECTACCEPT carry the word `TKEN` after the id.
    pub tken: bool,
}

const V6: Layout = Layout {
    control: 0x10,
    resend: 0x40,
    compression: 0x80,
    unused: 0x0c,
    token: TokenPlace::Nowhere,
    header_len: 3,
    chunk_split: 4,
    max_chunk: 1023,
    max_payload: 1394,
    max_inflated: 1397,
    control_ids: &[0, 1, 2, 3, 4],
    connect: ConnectForm {
        token_at: None,
        token_from_len: 0,
        len: 1,
    },
    accept_token_at: None,
    accept_writes_token: false,
    tken: false,
};

const V65: Layout = Layout {
    unused: 0x04,
    token: TokenPlace::HeaderWhenFlag(0x08),
    max_payload: 1390,
    max_inflated: 1390,
    connect: ConnectForm {
        token_at: Some(5),
        token_from_len: 513,
        len: 513,
    },
    accept_token_at: Some(1),
    accept_writes_token: true,
    ..V6
};

const DDNET: Layout = Layout {
    token: TokenPlace::PayloadTail,
    max_payload: 1397,
    connect: ConnectForm {
        token_at: None,
        token_from_len: 0,
        len: 5,
    },
    tken: true,
    ..V6
};

const V7: Layout = Layout {
    control: 0x04,
    resend: 0x08,
    compression: 0x10,
    unused: 0xc0,
    token: TokenPlace::Header,
    header_len: 7,
    chunk_split: 6,
    max_chunk: 1388,
    max_payload: 1391,
    max_inflated: 1397,
    control_ids: &[0, 1, 2, 4, 5],
    connect: ConnectForm {
        token_at: Some(1),
        token_from_len: 5,
        len: 513,
    },
    accept_token_at: Some(1),
    accept_writes_token: false,
    tken: false,
};

impl Proto {
    /// All variants, oldest first.
    pub const ALL: [Self; 4] = [Self::V6, Self::V65, Self::Ddnet, Self::V7];

    /// Returns the framing data of this variant.
    #[must_use]
    pub const fn layout(self) -> &'static Layout {
        match self {
            Self::V6 => &V6,
            Self::V65 => &V65,
            Self::Ddnet => &DDNET,
            Self::V7 => &V7,
        }
    }
}

/// The error for a text that is not the name of a [`Proto`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected one of 0.6, 0.6.5, ddnet, 0.7")]
pub struct ParseProtoError;

const fn unknown(_: &str) -> ParseProtoError {
    ParseProtoError
}

/// One of the two ends of a session.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    strum::Display,
    strum::EnumString,
    strum::VariantArray,
)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
#[strum(serialize_all = "snake_case")]
pub enum Side {
    /// The end that requested the connection.
    Client,
    /// The end that runs the game.
    Server,
}

impl Side {
    /// Returns the opposite end.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// A direction of travel.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    strum::Display,
    strum::EnumString,
    strum::VariantArray,
)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
#[strum(serialize_all = "snake_case")]
pub enum Dir {
    /// From the client to the server.
    C2s,
    /// From the server to the client.
    S2c,
}

impl Dir {
    /// Returns the opposite direction.
    #[must_use]
    pub const fn reverse(self) -> Self {
        match self {
            Self::C2s => Self::S2c,
            Self::S2c => Self::C2s,
        }
    }

    /// Returns the direction in which `side` sends.
    #[must_use]
    pub const fn from_sender(side: Side) -> Self {
        match side {
            Side::Client => Self::C2s,
            Side::Server => Self::S2c,
        }
    }

    /// Returns the side that sends in this direction.
    #[must_use]
    pub const fn sender(self) -> Side {
        match self {
            Self::C2s => Side::Client,
            Self::S2c => Side::Server,
        }
    }

    /// Returns the side that receives in this direction.
    #[must_use]
    pub const fn receiver(self) -> Side {
        self.sender().other()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back() {
        for proto in Proto::ALL {
            assert_eq!(proto.to_string().parse(), Ok(proto));
        }
        assert_eq!("0.5".parse::<Proto>(), Err(ParseProtoError));
        assert_eq!(
            Proto::ALL.map(|p| p.to_string()),
            ["0.6", "0.6.5", "ddnet", "0.7"]
        );
    }

    #[test]
    fn no_flag_bit_has_two_meanings_within_a_variant() {
        for proto in Proto::ALL {
            let layout = proto.layout();
            let flag = match layout.token {
                TokenPlace::HeaderWhenFlag(bit) => bit,
                _ => 0,
            };
            let bits = [
                layout.control,
                layout.resend,
                layout.compression,
                layout.unused,
                flag,
                0x20,
                0x03,
            ];
            assert_eq!(bits.iter().fold(0, |all, bit| all ^ bit), 0xff, "{proto}");
            assert_eq!(bits.iter().map(|bit| bit.count_ones()).sum::<u32>(), 8, "{proto}");
        }
    }

    #[test]
    fn directions_and_sides_agree() {
        for side in [Side::Client, Side::Server] {
            let dir = Dir::from_sender(side);
            assert_eq!(dir.sender(), side);
            assert_eq!(dir.receiver(), side.other());
            assert_eq!(dir.reverse().sender(), side.other());
            assert_eq!(dir.reverse().reverse(), dir);
        }
        assert_eq!(
            (Dir::C2s.to_string(), Dir::S2c.to_string()),
            ("c2s".to_owned(), "s2c".to_owned())
        );
        assert_eq!(
            Side::Client.to_string() + "/" + &Side::Server.to_string(),
            "client/server"
        );
    }
}
