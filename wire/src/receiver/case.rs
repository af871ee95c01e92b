//! The checks of a release, and the datagram to which they are applied.

use crate::{Chunk, Proto, Seq, Side, Token};

use super::reading::Reading;
use super::{Leg, Phase, Receiver, Release, Verdict};

/// One check of a release: its condition, and the action of the release.
#[derive(Debug)]
pub struct Check {
    /// The kebab-case name.
    pub name: &'static str,
    /// The condition of the row.
    pub text: &'static str,
    /// The file and function that the row was read from, in `src/engine/shared/`.
    pub source: &'static str,
    /// The action of the receiver.
    pub verdict: Verdict,
    /// True if the receiver stops handling the datagram.
    pub stops: bool,
    pub(super) trips: fn(&Case<'_>) -> bool,
}

/// The chunk that a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkPlace {
    /// The number of the chunk in the datagram, from 0.
    pub index: u8,
    /// The offset of its header in the clear payload.
    pub at: usize,
    /// The sequence number; `None` if it is not vital.
    pub seq: Option<Seq>,
    /// The sequence number that the receiver expected.
    pub expected: Seq,
}

/// A row of the table that applies to a datagram.
#[derive(Debug, Clone, Copy)]
pub struct Finding {
    /// The row.
    pub row: &'static Check,
    /// The action of the receiver.
    pub verdict: Verdict,
    /// The chunk that the finding is about; `None` if it is about the datagram.
    pub chunk: Option<ChunkPlace>,
}

/// The end of the chunks of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The header announces a chunk that the payload does not contain.
    Broken,
    /// Bytes follow the last announced chunk.
    Trailing,
}

/// The input of a row: the datagram, and the leg after the previous rows.
#[derive(Debug)]
pub(super) struct Case<'a> {
    pub(super) release: Release,
    pub(super) side: Side,
    pub(super) leg: Leg,
    pub(super) reading: Reading<'a>,
    /// True if a row of the same list has already applied.
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

    /// Returns true if the last four bytes of the clear payload must be the token.
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

    /// Returns the protocol of the connection's chunk headers.
    pub(super) const fn chunk_proto(&self) -> Proto {
        match self.release {
            Release::Teeworlds075 => Proto::V7,
            Release::Ddnet16 | Release::Ddnet20 => self.leg.proto,
            Release::Teeworlds064 | Release::Teeworlds065 => Proto::V6,
        }
    }

    /// Returns true if the vital chunk `seq` is the next one in order.
    pub(super) fn is_next(&self, seq: Seq) -> bool {
        self.leg.ack_unknown || seq == self.leg.ack.next()
    }

    pub(super) fn finding(&self, row: &'static Check) -> Finding {
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

    /// Applies the effect of a verdict to the leg.
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
