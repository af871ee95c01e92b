//! The datagram as a release reads it.

use crate::connless::CONNLESS;
use crate::huffman;
use crate::{MAX_DATAGRAM, Proto, Token};

use super::{Leg, Release};

/// The largest payload buffer of all releases.
pub(super) const ROOM: usize = 1397;

/// The bit by which DDNet recognises a datagram without a slot as 0.7.
const SEVEN: u8 = 0x04;
const BASE: usize = 3;

/// A datagram in the framing of the release. Fields whose bytes are missing are 0 or `None`, since the rows about the
/// size are checked first.
#[derive(Debug)]
pub(super) struct Reading<'a> {
    pub(super) bytes: &'a [u8],
    /// True if the datagram is read as 0.7.
    pub(super) seven: bool,
    pub(super) connless: bool,
    pub(super) control: bool,
    pub(super) resend: bool,
    pub(super) compressed: bool,
    /// True if flags are set that DDNet 20 does not allow in datagrams of a connection.
    pub(super) unknown: bool,
    /// The token of the header.
    pub(super) token: Option<Token>,
    pub(super) ack: u16,
    pub(super) count: u8,
    /// The length of the header.
    pub(super) header: usize,
    /// The clear payload; `None` if it cannot be inflated.
    pub(super) clear: Option<&'a [u8]>,
}

impl<'a> Reading<'a> {
    pub(super) fn new(release: Release, leg: &Leg, datagram: &'a [u8], room: &'a mut [u8]) -> Self {
        let bytes = datagram.get(..MAX_DATAGRAM).unwrap_or(datagram);
        let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
        let first = byte(0);
        if first & CONNLESS != 0 {
            return Self::connless(release, bytes, first);
        }
        let seven = reads_seven(release, leg, first);
        let bit = |six: u8, seven_bit: u8| first & (if seven { seven_bit } else { six }) != 0;
        let has_token = seven || release == Release::Teeworlds065 && first & 0x08 != 0;
        let header = if has_token { BASE + Token::LEN } else { BASE };
        let ack_high = if release == Release::Teeworlds064 {
            first & 0x0f
        } else {
            first & 0x03
        };
        let rest = bytes.get(header..).unwrap_or_default();
        let compressed = bit(0x80, 0x10);
        let clear = if compressed {
            inflate(rest, room.get_mut(..release.room()).unwrap_or_default())
        } else {
            Some(rest)
        };
        Self {
            bytes,
            seven,
            connless: false,
            control: bit(0x10, 0x04),
            resend: bit(0x40, 0x08),
            compressed,
            unknown: !seven && first & 0x08 != 0,
            token: has_token.then(|| token_at(bytes, BASE)).flatten(),
            ack: u16::from_be_bytes([ack_high, byte(1)]),
            count: byte(2),
            header,
            clear,
        }
    }

    fn connless(release: Release, bytes: &'a [u8], first: u8) -> Self {
        let seven = release == Release::Teeworlds075 || release.is_ddnet() && first & 0x03 == 1;
        let header = if seven { 9 } else { 6 };
        Self {
            bytes,
            seven,
            connless: true,
            control: false,
            resend: false,
            compressed: false,
            unknown: false,
            token: seven.then(|| token_at(bytes, 1)).flatten(),
            ack: 0,
            count: 0,
            header,
            clear: Some(bytes.get(header..).unwrap_or_default()),
        }
    }

    /// Returns the clear payload, empty if it cannot be inflated.
    pub(super) fn payload(&self) -> &'a [u8] {
        self.clear.unwrap_or_default()
    }

    /// Returns the four bytes at an offset of the clear payload.
    pub(super) fn token_in_payload(&self, at: usize) -> Option<Token> {
        token_at(self.payload(), at)
    }
}

/// Returns true if the release parses the datagram in the framing of 0.7. DDNet decides by the client's slot, or else
/// by a bit that no packet of 0.6 has; other releases support only one framing.
fn reads_seven(release: Release, leg: &Leg, first: u8) -> bool {
    match release {
        Release::Teeworlds064 | Release::Teeworlds065 => false,
        Release::Teeworlds075 => true,
        Release::Ddnet16 | Release::Ddnet20 => first & SEVEN != 0 || leg.proto == Proto::V7 && leg.has_slot(),
    }
}

/// Inflates into the buffer of the release.
pub(super) fn inflate<'a>(input: &[u8], room: &'a mut [u8]) -> Option<&'a [u8]> {
    let len = huffman::decompress(input, room).ok()?.len;
    room.get(..len)
}

fn token_at(bytes: &[u8], at: usize) -> Option<Token> {
    bytes.get(at..)?.first_chunk().copied().map(Token)
}
