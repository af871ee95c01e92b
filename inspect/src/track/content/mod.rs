//! Checks the acks and ticks of inputs and snapshots, over a series of messages.
//!
//! Law: a peer is accused only of what neither the network nor the proxy can cause. Lost, duplicated and reordered
//! messages never complete a series, and a session is no longer checked once the proxy has changed or inserted a
//! message of these kinds. The order in which the two directions pass the proxy is certain: an ack of a snapshot passes
//! after the snapshot.
//!
//! Memory is bounded by the constants of the files.
//!
//! | file | contents |
//! |---|---|
//! | `message.rs` | the messages that are checked |
//! | `client.rs` | the acks and ticks of inputs |
//! | `old.rs` | acks of old snapshots, or of none |
//! | `server.rs` | the ticks and bases of snapshots |
//! | `parts.rs` | parts of snapshots that are never sent |
//! | `fact.rs` | the received and expected values |

mod client;
mod fact;
mod message;
mod old;
mod parts;
mod server;

use teetap_proxy::session::{Action, Origin, SessionId, Time};
use teetap_wire::{Code, Dir, PerDir, def::Found};

use super::{
    DecidedChunk, Fact, NoteSink, Seen, Streams, chunk::of_chunk, reconnects::MapAnswer, uncounted::Uncounted,
};
pub use fact::ContentFact;

use client::Inputs;
use message::{Message, Snap};
use old::OldAcks;
use parts::MissingParts;
use server::{SentSnapshots, UnusedAcks};

/// Maximum size in bytes of a datagram that every network delivers, below the usual limits of tunnels.
const SMALL: usize = 1000;

/// The acks and ticks of one session.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// True once the proxy has changed or inserted a message, so that a peer may react to the proxy.
    is_changed: bool,
    sent: SentSnapshots,
    unused: UnusedAcks,
    parts: MissingParts,
    inputs: Inputs,
    old: OldAcks,
    /// The chunks of each direction that are not vital.
    pub(super) uncounted: PerDir<Uncounted>,
    /// The last snapshot that reached the client, with the size of its datagram.
    last: Option<(Snap, usize)>,
}

impl Contents {
    /// Starts anew, because messages may be missing, or because the ticks start anew.
    pub(super) fn restart(&mut self) {
        *self = Self {
            is_changed: self.is_changed,
            uncounted: std::mem::take(&mut self.uncounted),
            ..Self::default()
        };
    }
}

impl Streams {
    /// Records a received message, before its fields are read. `is_first` is false for a retransmission of a vital
    /// message.
    pub(crate) fn content(
        &mut self,
        seen: &Seen<'_>,
        piece: &DecidedChunk<'_>,
        is_first: Option<bool>,
        found: &mut NoteSink<'_>,
    ) {
        let notes = !self.is_partial;
        let Some(stream) = self.sessions.get_mut(seen.session.0) else {
            return;
        };
        if stream.is_over {
            return;
        }
        stream.note_request(seen, piece);
        if stream.is_void {
            return;
        }
        match notes {
            true => stream.note_map_transfer(seen, piece, is_first, found),
            false => stream.maps.forget(),
        }
        let is_whole = stream.ways.iter().all(|way| way.numbers.is_whole());
        let is_rough = stream
            .ways
            .iter()
            .any(|way| way.network.is_rough || way.heard.network.is_rough);
        let message = Message::parse(piece.known, seen.datagram.dir, piece.chunk.data);
        if notes && matches!(message, Some(Message::Input { .. })) {
            stream.note_map_answer(seen, piece, found);
        }
        if matches!(message, Some(Message::Snap(_))) {
            stream.map_answer.snapshot();
        }
        let contents = &mut stream.contents;
        let dir = seen.datagram.dir;
        let is_passed = piece.action == Some(Action::Pass) && seen.datagram.link.is_empty();
        if dir == Dir::S2c {
            contents.last = None;
            if let Some(seq) = piece.seq_out.filter(|_| is_passed) {
                contents.old.on_vital(seq, seen.at);
            }
        } else {
            contents.old.on_ack(seen.packet.header.ack);
        }
        if let Some(known) = piece.known.filter(|_| piece.chunk.header.vital.is_none()) {
            contents.uncounted[dir].sent(&known.def.name);
        }
        let Some(message) = message else { return };
        contents.is_changed |= seen.datagram.origin != Origin::Peer
            || matches!(piece.action, Some(Action::Edit | Action::Corrupt));
        let fact = match message {
            Message::Restart => {
                if is_first == Some(true) {
                    contents.restart();
                }
                None
            }
            Message::Input { ack, tick } => contents.input((ack, tick), is_passed, is_rough),
            Message::Snap(snap) => {
                let len = seen.datagram.received().map_or(0, <[u8]>::len);
                contents.last = Some((snap, len)).filter(|_| is_passed);
                contents.snap(&snap, is_whole)
            }
        };
        if let Some((code, fact)) = fact.filter(|_| notes && !contents.is_changed) {
            found.add(of_chunk(piece, code), Fact::Content(fact));
        }
    }

    /// Records that the client can read the snapshot that the last message completed.
    pub(crate) fn readable(&mut self, session: SessionId, at: Time) {
        if let Some(stream) = self.sessions.get_mut(session.0)
            && let Some((snap, _)) = stream.contents.last.take_if(|(_, len)| *len <= SMALL)
        {
            stream.contents.old.on_readable(&snap, at);
        }
    }

    /// Records a message that the proxy inserted.
    pub(crate) fn content_made(&mut self, session: SessionId, dir: Dir, known: Option<Found<'static>>) {
        if let Some(stream) = self.sessions.get_mut(session.0) {
            stream.contents.is_changed |= Message::is_checked(known, dir);
            stream.requests.forget();
            stream.maps.on_made(known, dir);
        }
    }

    /// Forgets the contents of all sessions, and the ticks that prove that a peer receives datagrams.
    #[cfg(test)]
    pub(crate) fn forget_contents(&mut self) {
        self.sessions.values_mut().for_each(|stream| {
            stream.contents = Contents::default();
            stream.map_answer = MapAnswer::default();
            stream.maps.forget();
            stream.requests.forget();
            stream.ways.iter_mut().for_each(|way| {
                way.acks.forget_ticks();
                way.echo = super::Echo::default();
            });
        });
    }

    /// Records that messages of a session were not decoded.
    pub(crate) fn content_missed(&mut self, session: SessionId) {
        if let Some(stream) = self.sessions.get_mut(session.0) {
            stream.contents.restart();
            stream.contents.uncounted = PerDir::default();
            stream.map_answer = MapAnswer::default();
            stream.maps.forget();
            stream.requests.forget();
        }
    }
}

impl Contents {
    fn input(
        &mut self,
        (ack, tick): (i32, i32),
        is_passed: bool,
        is_rough: bool,
    ) -> Option<(Code, ContentFact)> {
        if is_passed {
            self.unused.on_ack(ack, self.sent.has(ack));
        }
        let newest = self.sent.newest()?;
        let is_sent = self.sent.has(ack);
        let inputs = self.inputs.record((ack, tick), newest);
        inputs.or_else(|| self.old.on_input(ack, is_sent, is_rough))
    }

    fn snap(&mut self, snap: &Snap, is_whole: bool) -> Option<(Code, ContentFact)> {
        let back = self.sent.record(snap.tick).filter(|_| is_whole);
        let unused = self.unused.on_snapshot(snap);
        let missing = self.parts.record(snap);
        back.or(unused).or(missing)
    }
}
