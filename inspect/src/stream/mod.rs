//! The numbers, acks and pace of the datagrams of sessions, and the notes that no datagram shows by itself.
//!
//! ```text
//! Streams::begin   a datagram: its token and ack, the silence before it, a resend request
//! Streams::chunk   each of its chunks in order: its number, and the copies before it
//! ```
//!
//! Law: a pure function of the events, so that a run and its recording have the same notes. A datagram is looked at as its sender
//! sent it, beside what was sent to that peer, and a chunk counts for the receiver of that leg as the table in
//! [`teetap_wire::receiver`] says. What the network does
//! (losses, copies, reordering) is information; a warning or an error is something that no correct peer does, however bad the
//! network. Bounded: 128 messages and 16 datagrams in each direction of a session, [`SESSIONS`] sessions, the last 32 that are
//! over, and 256 addresses outside of sessions.
//!
//! | file | contents |
//! |---|---|
//! | `numbers.rs` | the order of vital messages: next, again, ahead, never |
//! | `copies.rs` | copies of messages and of datagrams |
//! | `leg.rs` | the datagrams as they were sent to each peer |
//! | `acks.rs` | acks, resend requests and what they bring |
//! | `inflate.rs` | peers that miss what is compressed |
//! | `own.rs` | the messages of a peer until they are acked |
//! | `needless.rs` | resend requests without a cause |
//! | `silence.rs` | peers from which nothing comes |
//! | `shown.rs` | messages that a peer has answered without an ack |
//! | `surplus.rs` | answers that are much larger than what they answer |
//! | `pace.rs` | silences and late answers |
//! | `past.rs` | sessions that are over |
//! | `look.rs` | a datagram |
//! | `chunk.rs` | a chunk |
//! | `detail.rs` | the values behind notes |
//! | `words.rs` | numbers, counts and times in words |

mod acks;
mod chunk;
mod copies;
mod detail;
mod inflate;
mod leg;
mod look;
mod needless;
mod numbers;
mod own;
mod pace;
mod past;
mod shown;
mod silence;
mod surplus;
#[cfg(test)]
mod tests;
mod words;

use std::net::IpAddr;

use teetap_proxy::session::{Connless, Datagram, SessionChange, SessionId, State, Time};
use teetap_rules::context::{SESSIONS, Table};
use teetap_wire::{Code, Dir, Note, Packet, Seq, Token, def::Registry};

use crate::stated::Stated;

pub(crate) use chunk::{Counted, Piece};
pub use detail::{Consequence, Detail, Fact, Part};
pub use inflate::Deaf;
pub use own::{Repeated, Unrepeated};

use acks::Acks;
use copies::Copies;
use inflate::Inflation;
use leg::Heard;
use numbers::Numbers;
use own::Own;
use pace::Pace;
use past::Past;
use shown::Shown;
use silence::Silence;
use surplus::{Browsers, Unproven};

/// The streams of all sessions.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    sessions: Table<Stream>,
    past: Past,
    browsers: Browsers,
    /// No peer is silent for long enough before this time; `None` if none can be.
    next_silence: Option<Time>,
    /// True if some datagrams are not read: there are no notes then.
    is_partial: bool,
}

/// The two directions of a session.
#[derive(Debug, Default)]
struct Stream {
    client: Option<IpAddr>,
    /// The directions, with the acks of the numbers in each.
    ways: [Way; 2],
    /// The version of a client of DDNet.
    client_version: Option<i32>,
    /// The map that the client has to load and has not loaded yet: a hash of the message, and its number.
    map: Option<(u64, Seq)>,
    /// The token of the server in its reply to a request for one.
    server_token: Option<Token>,
    /// True if the current datagram is one that its receiver drops, or that went no further.
    is_void: bool,
    /// True if some receivers drop the current datagram, or a part of it.
    is_doubtful: bool,
    /// The address of the client, until it is proven.
    unproven: Unproven,
    /// The times that the network delivered the current datagram before.
    deliveries: usize,
    /// True if both peers carry messages.
    is_online: bool,
    /// True if the session is closed.
    is_over: bool,
    /// True if an ACCEPT of DDNet's came among its messages: the server may begin its numbers anew, with other messages.
    may_renumber: bool,
    /// True from the start of a session until its server is known to have a slot, which DDNet's makes for ACCEPT only. It drops messages
    /// that overtake ACCEPT (DDNet 16.4 and 20.1, network_server.cpp, `Recv` and `OnPreConnMsg`).
    awaits_accept: bool,
}

/// One direction.
#[derive(Debug, Default)]
struct Way {
    /// The token of its datagrams.
    token: Option<Token>,
    numbers: Numbers,
    copies: Copies,
    /// The signs of a bad network in the datagrams of its sender.
    network: Network,
    /// The datagrams as they were sent to its receiver.
    heard: Heard,
    /// The acks of its receiver.
    acks: Acks,
    /// The compressed messages that its receiver has not acked.
    inflation: Inflation,
    /// The vital messages of its sender until they are acked.
    own: Own,
    /// The silence of its sender.
    silence: Silence,
    /// The pace of its sender.
    pace: Pace,
    /// The messages that its sender has to answer.
    shown: Shown,
}

/// The signs of a network that loses, doubles or keeps back datagrams.
#[derive(Clone, Copy, Debug, Default)]
struct Network {
    /// True if a datagram was lost, came twice or was overtaken.
    is_rough: bool,
    /// True if a message was sent again: it or its ack may have been lost.
    has_repeats: bool,
}

/// A datagram of a session.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) at: Time,
    pub(crate) session: SessionId,
    pub(crate) datagram: &'a Datagram,
    pub(crate) packet: &'a Packet<'a>,
    /// True if its receiver has shown that it is of DDNet.
    pub(crate) to_ddnet: bool,
    /// The version that the server states.
    pub(crate) stated: &'a Stated,
    pub(crate) registry: &'static Registry,
}

/// The notes of a datagram, and the values behind them.
#[derive(Debug)]
pub(crate) struct Found<'a> {
    pub(crate) notes: &'a mut Vec<Note>,
    pub(crate) details: &'a mut Vec<Detail>,
}

impl Found<'_> {
    fn add(&mut self, note: Note, fact: Fact) {
        self.add_with(note, fact, None);
    }

    fn add_with(&mut self, note: Note, fact: Fact, consequence: Option<Consequence>) {
        let is_same = |known: &Note| known.code == note.code && known.at == note.at;
        if !self.notes.iter().any(is_same) {
            self.notes.push(note);
        }
        self.details.push(Detail {
            code: note.code,
            at: note.at,
            fact,
            consequence,
        });
    }

    fn has(&self, code: Code) -> bool {
        self.notes.iter().any(|note| note.code == code)
    }
}

impl Streams {
    /// Makes notes only if all datagrams are read. Sessions that were not read so far begin anew.
    pub(crate) fn set_partial(&mut self, is_partial: bool) {
        if std::mem::replace(&mut self.is_partial, is_partial) && !is_partial {
            self.gap();
        }
    }

    /// A session has changed its state.
    pub(crate) fn on_session(&mut self, session: SessionId, change: &SessionChange) {
        let client = Some(change.client.ip());
        match change.state {
            State::Opening => {
                self.forget(session);
                let way = || Way {
                    numbers: Numbers::from_the_start(),
                    heard: Heard::from_the_start(),
                    own: Own::from_the_start(),
                    ..Way::default()
                };
                *self.of(session) = Stream {
                    client,
                    ways: [way(), way()],
                    awaits_accept: true,
                    ..Stream::default()
                };
            }
            State::Closed => {
                // In recordings datagrams come after it.
                self.forget(session);
                self.of(session).is_over = true;
            }
            State::Online | State::Closing => {
                let stream = self.of(session);
                stream.client = client;
                stream.is_online = change.state == State::Online;
            }
        }
    }

    /// Takes a datagram outside a connection. Returns the values behind a note if it makes an answer much larger than its request.
    pub(crate) fn connless(&mut self, at: Time, connless: &Connless) -> Option<Detail> {
        let bytes = connless.bytes.len().saturating_add(connless.cut);
        let much = self.browsers.take(at, connless.client, connless.dir, bytes)?;
        (!self.is_partial).then(|| Detail {
            code: Code::Amplified,
            at: 0,
            fact: Fact::amplified(much, "requests outside a connection"),
            consequence: None,
        })
    }

    /// Messages of all sessions were missed.
    pub(crate) fn gap(&mut self) {
        self.sessions.values_mut().for_each(Stream::gap);
    }

    /// Messages of one session were missed.
    pub(crate) fn gap_in(&mut self, session: SessionId) {
        if let Some(stream) = self.sessions.get_mut(session.0) {
            stream.gap();
        }
    }

    /// The peers of a session have begun their numbers anew.
    pub(crate) fn renumber(&mut self, session: SessionId) {
        if let Some(stream) = self.sessions.get_mut(session.0) {
            stream.renumber();
            stream.may_renumber = false;
        }
    }

    /// Forgets all: another run begins.
    pub(crate) fn restart(&mut self) {
        self.sessions.clear();
        self.past.clear();
        self.browsers.clear();
    }

    /// Keeps what later sessions may be compared with.
    fn forget(&mut self, session: SessionId) {
        if let Some(stream) = self.sessions.remove(session.0) {
            self.past.add(session, stream);
        }
    }

    fn of(&mut self, session: SessionId) -> &mut Stream {
        if self.sessions.len() >= SESSIONS && !self.sessions.contains(session.0) {
            let over = self.sessions.iter().find(|(_, stream)| stream.is_over);
            let oldest = over.or_else(|| self.sessions.iter().next());
            if let Some(oldest) = oldest.map(|(id, _)| SessionId(id)) {
                self.forget(oldest);
            }
        }
        self.sessions.get_or_insert_with(session.0, Stream::default)
    }
}

impl Stream {
    fn gap(&mut self) {
        self.awaits_accept = false;
        for way in &mut self.ways {
            *way = Way {
                token: way.token,
                ..Way::default()
            };
        }
    }

    /// Forgets its numbers, if there are any: the same ones may stand for other messages.
    fn renumber(&mut self) {
        let has_numbers = |way: &Way| way.numbers.last().is_some_and(|last| last != Seq::ZERO);
        if self.ways.iter().any(has_numbers) {
            self.gap();
            self.may_renumber = true;
        }
    }

    /// Returns the directions: that of a datagram, and that of its answers.
    const fn both(&mut self, dir: Dir) -> (&mut Way, &mut Way) {
        let [c2s, s2c] = &mut self.ways;
        match dir {
            Dir::C2s => (c2s, s2c),
            Dir::S2c => (s2c, c2s),
        }
    }
}
