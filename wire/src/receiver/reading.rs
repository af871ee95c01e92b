//! The datagram as a release reads it, and the case that the rows look at.

use crate::connless::CONNLESS;
use crate::huffman;
use crate::{Chunk, MAX_DATAGRAM, Proto, Seq, Side, Token};

use super::{ChunkPlace, Finding, Leg, Phase, Receiver, Release, Row, Verdict};

/// The largest payload buffer of all releases.
pub(super) const ROOM: usize = 1397;

/// The bit by which DDNet takes a datagram without a slot for one of 0.7.
const SEVEN: u8 = 0x04;
const BASE: usize = 3;

/// A datagram in the framing that the release reads it in. Fields whose bytes are missing are 0 or `None`: the rows about the size
/// come first.
#[derive(Debug)]
pub(super) struct Reading<'a> {
    pub(super) bytes: &'a [u8],
    /// True if it is read as 0.7.
    pub(super) seven: bool,
    pub(super) connless: bool,
    pub(super) control: bool,
    pub(super) resend: bool,
    pub(super) compressed: bool,
    /// True if flags are set that DDNet 20 knows but no datagram of a connection may have.
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

/// DDNet goes by the slot, or by a bit that no packet of 0.6 has; the others know one framing only.
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

/// The end of the chunks of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// A chunk is announced that the payload does not hold.
    Broken,
    /// Bytes follow the last announced chunk.
    Trailing,
}

/// The input of a row: the datagram, and the leg as the rows before have left it.
#[derive(Debug)]
pub(super) struct Case<'a> {
    pub(super) release: Release,
    pub(super) side: Side,
    pub(super) leg: Leg,
    pub(super) reading: Reading<'a>,
    /// True if a row of the same list has applied.
    pub(super) acted: bool,
    pub(super) chunk: Option<Chunk<'a>>,
    pub(super) index: u8,
    pub(super) end: Option<End>,
}

impl<'a> Case<'a> {
    pub(super) const fn new(receiver: Receiver, leg: Leg, reading: Reading<'a>) -> Self {
        Self {
            release: receiver.release,
            side: receiver.side,
            leg,
            reading,
            acted: false,
            chunk: None,
            index: 0,
            end: None,
        }
    }

    /// Returns the id of the control message, as the release finds it: DDNet reads it before it removes the token.
    pub(super) fn control_id(&self) -> Option<u8> {
        self.reading.payload().first().copied().or(self.leg.leftover)
    }

    /// Returns true for a control packet with this id.
    pub(super) fn is_control(&self, id: u8) -> bool {
        self.reading.control && self.control_id() == Some(id)
    }

    /// Returns true if the last four bytes of the clear payload have to be the token.
    pub(super) fn wants_tail(&self) -> bool {
        self.release.is_ddnet()
            && self.leg.proto != Proto::V7
            && self.leg.has_slot()
            && self.leg.token_in.is_some()
    }

    /// Returns the clear payload without a token at its end.
    pub(super) fn payload(&self) -> &'a [u8] {
        let clear = self.reading.payload();
        if !self.wants_tail() {
            return clear;
        }
        clear
            .split_last_chunk::<{ Token::LEN }>()
            .map_or(clear, |(front, _)| front)
    }

    /// Returns the token at the end of the clear payload.
    pub(super) fn tail(&self) -> Option<Token> {
        self.reading.payload().last_chunk().copied().map(Token)
    }

    /// Returns the protocol whose chunk headers the connection has.
    pub(super) const fn chunk_proto(&self) -> Proto {
        match self.release {
            Release::Teeworlds075 => Proto::V7,
            Release::Ddnet16 | Release::Ddnet20 => self.leg.proto,
            Release::Teeworlds064 | Release::Teeworlds065 => Proto::V6,
        }
    }

    /// Returns true if this vital chunk is the next one.
    pub(super) fn is_next(&self, seq: Seq) -> bool {
        self.leg.ack_unknown || seq == self.leg.ack.next()
    }

    pub(super) fn finding(&self, row: &'static Row) -> Finding {
        let chunk = self.chunk.map(|chunk| ChunkPlace {
            index: self.index,
            at: chunk.at,
            seq: chunk.header.vital,
            expected: self.leg.ack.next(),
        });
        Finding {
            row,
            verdict: row.verdict,
            chunk,
        }
    }

    /// Changes the leg as the verdict does.
    pub(super) fn apply(&mut self, verdict: Verdict) {
        let leg = &mut self.leg;
        match verdict {
            Verdict::TakesAck => leg.peer_ack = self.reading.ack,
            Verdict::Opens => self.open(),
            Verdict::GoesOnline => self.go_online(),
            Verdict::Restarts => *leg = leg.renumbered(),
            Verdict::TakesToken => {
                let token = self.reading.token_in_payload(1);
                leg.token_out = Some(token.unwrap_or(Token::NONE));
                if leg.phase == Phase::WantsToken {
                    leg.phase = Phase::Connecting;
                }
            }
            Verdict::Ends => leg.phase = Phase::Ended,
            Verdict::Accepts => {
                if let Some(seq) = self.chunk.and_then(|chunk| chunk.header.vital) {
                    leg.ack = seq;
                    leg.ack_unknown = false;
                }
            }
            _ => {}
        }
    }

    fn open(&mut self) {
        let reading = &self.reading;
        let mut leg = self.leg.renumbered();
        leg.phase = match self.release {
            Release::Teeworlds064 | Release::Teeworlds075 => Phase::Pending,
            _ => Phase::Online,
        };
        leg.proto = match self.release {
            Release::Teeworlds064 => Proto::V6,
            Release::Teeworlds065 => Proto::V65,
            _ if reading.seven => Proto::V7,
            _ if self.is_control(1) => Proto::V6,
            _ => Proto::Ddnet,
        };
        leg.token_out = match leg.proto {
            Proto::V6 => None,
            Proto::V7 => reading.token_in_payload(1),
            _ => leg.token_in,
        };
        if leg.proto == Proto::V6 {
            leg.token_in = None;
        }
        self.leg = leg;
    }

    fn go_online(&mut self) {
        self.leg.phase = Phase::Online;
        if self.side == Side::Server || self.leg.proto == Proto::V7 {
            return;
        }
        let token = match self.release {
            Release::Teeworlds065 => self.reading.token.and(self.reading.token_in_payload(1)),
            _ if self.reading.token_in_payload(1) == Some(Token::TKEN) => self.reading.token_in_payload(5),
            _ => None,
        };
        self.leg.token_in = token;
        self.leg.token_out = token;
    }
}
