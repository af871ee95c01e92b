//! Tracks sequence numbers, acks and timing of the datagrams of each session, and adds the notes that depend on more
//! than one datagram.
//!
//! ```text
//! Streams::begin   for a datagram: token, ack, resend request, and the silence before it
//! Streams::chunk   for each of its chunks in order: sequence number, and earlier copies
//! ```
//!
//! Law: the notes depend only on the events, so that a run and its recording have the same notes. A datagram is
//! analysed as its sender sent it, and again as the proxy sent it to the other peer. The table in
//! [`teetap_wire::receiver`] decides whether the receiver accepts a chunk. Effects of the network (losses, duplicates,
//! reordering) are infos; warnings and errors are reserved for behaviour that no correct peer shows, however bad the
//! network.
//!
//! Memory is bounded: 128 messages and 16 datagrams in each direction of a session, [`SESSIONS`] sessions, the last 32
//! closed sessions, and 256 addresses outside of sessions.
//!
//! | file | contents |
//! |---|---|
//! | `numbers.rs` | the order of vital messages: next, retransmitted, ahead, skipped |
//! | `copies.rs` | copies of messages and of datagrams |
//! | `leg.rs` | the datagrams as the proxy sent them to each peer |
//! | `acks.rs` | acks and resend requests, and when they are missing or excessive |
//! | `ack_pattern.rs` | what wrong acks count |
//! | `inflate.rs` | peers that cannot inflate compressed datagrams |
//! | `echo.rs` | until when a peer has proved to receive datagrams |
//! | `own.rs` | vital messages that a peer has to retransmit until they are acked |
//! | `needless.rs` | resend requests without a cause |
//! | `silence.rs` | peers that have stopped sending |
//! | `shown.rs` | messages to which a peer has replied without an ack |
//! | `surplus.rs` | replies that are much larger than their requests |
//! | `unanswered.rs` | logins, pings and snapshots that a peer never answers |
//! | `at_end.rs` | silent peers and unacked messages at the end of a session |
//! | `pace.rs` | silences and late replies |
//! | `past.rs` | closed sessions |
//! | `content/` | the acks and ticks of inputs and snapshots |
//! | `map/` | the transfer of maps |
//! | `turn.rs`, `out_of_turn.rs` | messages of a join that are out of turn |
//! | `browser.rs` | the tokens of server browsers |
//! | `handshake.rs` | the tokens and sizes of handshake packets |
//! | `recorded/` | tokens and acks in captures of other programs, which the session core did not check |
//! | `expected.rs` | the values that a datagram should have had |
//! | `look/` | the analysis of a datagram |
//! | `chunk.rs` | the analysis of a chunk |
//! | `detail.rs` | the received and expected values of notes |
//! | `reconnects.rs` | map changes without an answer, and requests for a session in a session |
//! | `uncounted.rs` | chunks that are not vital, and that their sender counts |
//! | `words.rs` | numbers, counts and times in words |

mod ack_pattern;
mod acks;
mod at_end;
mod browser;
mod chunk;
mod content;
mod copies;
mod detail;
mod echo;
mod expected;
mod handshake;
mod inflate;
mod leg;
mod look;
mod map;
mod needless;
mod numbers;
mod out_of_turn;
mod own;
mod pace;
mod past;
mod reconnects;
pub mod recorded;
mod shown;
mod silence;
mod surplus;
#[cfg(test)]
mod tests;
mod turn;
mod unanswered;
mod uncounted;
mod words;

use std::net::{IpAddr, SocketAddr};

use teetap_proxy::session::{Connless, Datagram, SessionChange, SessionId, State, Time};
use teetap_rules::context::{SESSIONS, Table};
use teetap_wire::{Code, Dir, Note, Notes, Packet, PerDir, Seq, Token};

use crate::{Values, stated::Stated};

pub(crate) use at_end::OpenAtEnd;
pub(crate) use chunk::{ChunkOrder, DecidedChunk};
pub use content::ContentFact;
pub use detail::{Consequence, Detail, Fact, ForeignPart};
pub use expected::Expected;
pub use handshake::HandshakeMistake;
pub use inflate::NotInflating;
pub(crate) use map::REFUSED;
pub use map::{DetailsDiffer, MapFact};
pub use out_of_turn::OutOfTurn;
pub use own::{Repeated, Unrepeated};
pub(crate) use unanswered::Unanswered;
pub use uncounted::CountedInVain;

pub use ack_pattern::AckMistake;

use ack_pattern::{AckPattern, Amounts};
use acks::Acks;
use browser::BrowserTokens;
use content::Contents;
use copies::Copies;
use echo::Echo;
use handshake::TokenExchanges;
use inflate::Inflation;
use leg::SentToReceiver;
use map::Maps;
use numbers::Numbers;
use own::SentMessages;
use pace::Pace;
use past::Past;
use reconnects::{MapAnswer, Reconnects};
use shown::OwedReplies;
use silence::{Silence, sent_by};
use surplus::{Browsers, Unproven};
use turn::JoinTurns;
use unanswered::Requests;

/// The streams of all sessions.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    sessions: Table<Stream>,
    past: Past,
    browsers: Browsers,
    exchanges: TokenExchanges,
    /// The client of the last session that neither peer has closed.
    left: Option<SocketAddr>,
    browser_tokens: BrowserTokens,
    /// Earliest time at which a silent peer may have to be reported; `None` if no peer is silent.
    next_silence: Option<Time>,
    /// True while some datagrams are not read. No notes are added then.
    is_partial: bool,
}

/// The state of a session.
#[derive(Debug, Default)]
struct Stream {
    client: Option<IpAddr>,
    /// The two directions, client to server first.
    ways: PerDir<DirectionState>,
    /// The version number stated by a DDNet client.
    client_version: Option<i32>,
    /// Hash and sequence number of the last `map_change`, until the client has loaded that map.
    map: Option<(u64, Seq)>,
    /// Time of the last ACCEPT of a DDNet client; `None` after a CONNECT.
    accepted: Option<Time>,
    /// True if the current datagram is another ACCEPT without a CONNECT before it.
    accepts_again: bool,
    /// True if a DDNet client may have joined again in the session: the server then sends the map again.
    may_rejoin: bool,
    /// Time of the first datagram; `None` if the start of the session is unknown.
    began: Option<Time>,
    /// The token in the client's first CONNECT with one; `None` if there is none.
    connect: Option<Token>,
    /// The token that the server gave to the client before CONNECT; `None` if it is not recorded, or if the proxy has
    /// given another one.
    given: Option<Token>,
    /// The token in the server's reply to a token request.
    server_token: Option<Token>,
    /// True if the receiver drops the current datagram, or if the datagram is on one leg only.
    is_void: bool,
    /// True if some receivers drop the current datagram or a part of it.
    is_doubtful: bool,
    /// Whether the client has proven its address, and the bytes sent to it before.
    unproven: Unproven,
    /// Number of recent datagrams with the same bytes as the current datagram.
    deliveries: usize,
    /// True once the session is online, so that both peers send messages.
    is_online: bool,
    /// True if the session is closed.
    is_over: bool,
    /// True if a DDNet client sent ACCEPT during the session, so that the server may restart its sequence numbers and
    /// use them for other messages.
    may_renumber: bool,
    /// The acks and ticks of inputs and snapshots.
    contents: Contents,
    /// The transfer of maps.
    maps: Maps,
    /// Whether the client answers a map change in the game.
    map_answer: MapAnswer,
    /// The client's requests for a session in this session.
    reconnects: Reconnects,
    /// True until the server is known to have a slot for the client. A DDNet server creates the slot for ACCEPT, and
    /// drops messages that it receives before ACCEPT (DDNet 16.4 and 20.1, network_server.cpp, `Recv` and
    /// `OnPreConnMsg`).
    awaits_accept: bool,
    /// How far the client has joined; `None` if that is not known for certain.
    turns: Option<JoinTurns>,
    /// What the peers owe each other above the layer of acks.
    requests: Requests,
}

/// The state of one direction.
#[derive(Debug, Default)]
struct DirectionState {
    /// The token of the datagrams in this direction.
    token: Option<Token>,
    /// The token that the sender gave to the receiver in a handshake packet.
    gave: Option<Token>,
    numbers: Numbers,
    copies: Copies,
    /// Evidence of losses, copies or reordering before the datagrams were received here.
    network: Network,
    /// The datagrams as the proxy sent them to the receiver.
    heard: SentToReceiver,
    /// What the sender has sent.
    sent: Amounts,
    /// The acks of the sender, compared with what the receiver has sent.
    pattern: AckPattern,
    /// The acks of the receiver.
    acks: Acks,
    /// Whether the receiver can inflate compressed datagrams.
    inflation: Inflation,
    /// The vital messages that the sender has to retransmit until they are acked.
    own: SentMessages,
    /// The current silence of the sender.
    silence: Silence,
    /// Pauses and reply times of the sender.
    pace: Pace,
    /// The messages to which the sender has to reply.
    shown: OwedReplies,
    /// What the receiver has proved to receive.
    echo: Echo,
}

/// Evidence that the network loses, duplicates or delays datagrams.
#[derive(Clone, Copy, Debug, Default)]
struct Network {
    /// True if a datagram was lost, duplicated or reordered.
    is_rough: bool,
    /// True if a message was retransmitted, so that a copy or its ack may have been lost.
    has_repeats: bool,
}

/// A datagram of a session with its context.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) at: Time,
    pub(crate) session: SessionId,
    pub(crate) datagram: &'a Datagram,
    pub(crate) packet: &'a Packet<'a>,
    /// The ack for which the receiver drops the datagram; `None` if the ack is valid.
    pub(crate) refused_ack: Option<RefusedAck>,
    /// True if the receiver is known to be DDNet.
    pub(crate) to_ddnet: bool,
    /// The version stated by the server.
    pub(crate) stated: &'a Stated,
}

/// An ack outside the window of its receiver, as the session core or the observer of a capture reports it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RefusedAck {
    /// [`Code::AckAhead`] or [`Code::AckBehind`].
    pub(crate) note: Note,
    /// Index of the note among the notes of the datagram.
    pub(crate) index: usize,
}

impl RefusedAck {
    /// Returns the refused ack among the notes of a datagram.
    pub(crate) fn find(notes: &Notes) -> Option<Self> {
        let mut notes = notes.iter().enumerate();
        let (index, note) = notes.find(|(_, note)| Self::is_reported_by(note))?;
        Some(Self { note, index })
    }

    /// Adds the note under `code`, at its place among the notes of the datagram.
    pub(crate) fn add_as(self, code: Code, notes: &mut Vec<Note>) -> Note {
        let note = Note { code, ..self.note };
        notes.insert(self.index.min(notes.len()), note);
        note
    }

    /// Returns true if a note reports a refused ack, so that [`Streams::begin`] adds the note.
    pub(crate) const fn is_reported_by(note: &Note) -> bool {
        matches!(note.code, Code::AckAhead | Code::AckBehind)
    }
}

/// Collects the notes of a datagram with their values.
#[derive(Debug)]
pub(crate) struct NoteSink<'a> {
    pub(crate) notes: &'a mut Vec<Note>,
    pub(crate) details: &'a mut Vec<Detail>,
}

impl NoteSink<'_> {
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
    /// Sets whether some datagrams are not read. No notes are added while this is true. When it becomes false, the
    /// sequence state starts anew.
    pub(crate) fn set_partial(&mut self, is_partial: bool) {
        if std::mem::replace(&mut self.is_partial, is_partial) && !is_partial {
            self.gap();
        }
    }

    /// Records a state change of a session.
    pub(crate) fn on_session(&mut self, session: SessionId, change: &SessionChange) {
        let client = Some(change.client.ip());
        match change.state {
            State::Opening => {
                self.forget(session);
                // The server may still have a slot for the client, and then keeps it in the game.
                let may_rejoin = self.left.take() == Some(change.client);
                let way = || DirectionState {
                    numbers: Numbers::from_the_start(),
                    heard: SentToReceiver::from_the_start(),
                    own: SentMessages::from_the_start(),
                    ..DirectionState::default()
                };
                *self.stream_mut(session) = Stream {
                    client,
                    ways: PerDir::from_fn(|_| way()),
                    awaits_accept: true,
                    turns: (!may_rejoin).then(JoinTurns::default),
                    may_rejoin,
                    ..Stream::default()
                };
            }
            State::Closed => {
                // A recording may contain datagrams of the session after its CLOSE.
                self.forget(session);
                self.stream_mut(session).is_over = true;
                self.left = change.by.is_none().then_some(change.client);
            }
            State::Online | State::Closing => {
                let stream = self.stream_mut(session);
                stream.client = client;
                stream.is_online = change.state == State::Online;
            }
        }
    }

    /// Records a datagram outside a connection. Returns a note with its values if the datagram completes a reply that
    /// is much larger than its request.
    pub(crate) fn connless(&mut self, at: Time, connless: &Connless) -> Option<Detail> {
        let bytes = connless.bytes.len().saturating_add(connless.cut);
        let much = self.browsers.record(at, connless.client, connless.dir, bytes)?;
        (!self.is_partial).then(|| Detail {
            code: Code::Amplified,
            at: 0,
            fact: Fact::amplified(much, "requests outside a connection"),
            consequence: None,
        })
    }

    /// Records the token in the server info of a server or in a request for it. Returns a note with its values if the
    /// info answers none of the client's requests.
    pub(crate) fn info_token(&mut self, connless: &Connless, token: i64) -> Option<Detail> {
        if connless.dir == Dir::C2s {
            self.browser_tokens.asked(connless.client, token);
            return None;
        }
        let expected = self.browser_tokens.expected(connless.client, token)?;
        (!self.is_partial).then_some(Detail {
            code: Code::WrongToken,
            at: 0,
            fact: Fact::InfoToken { got: token, expected },
            consequence: None,
        })
    }

    /// Returns how the map of a session differs from the standard map of its name; `None` if it does not.
    pub(crate) fn other_map(&self, session: SessionId) -> Option<Values> {
        self.sessions.get(session.0)?.maps.other_file.clone()
    }

    /// Records that datagrams of any session may have been lost before they were read.
    pub(crate) fn gap(&mut self) {
        self.sessions.values_mut().for_each(Stream::gap);
    }

    /// Records that datagrams of one session were lost before they were read.
    pub(crate) fn gap_in(&mut self, session: SessionId) {
        if let Some(stream) = self.sessions.get_mut(session.0) {
            stream.gap();
        }
    }

    /// Records that the peers of a session have restarted their sequence numbers.
    pub(crate) fn renumber(&mut self, session: SessionId) {
        if let Some(stream) = self.sessions.get_mut(session.0) {
            stream.renumber();
            stream.may_renumber = false;
        }
    }

    /// Forgets all sessions, because the next run of the recording begins.
    pub(crate) fn restart(&mut self) {
        self.sessions.clear();
        self.past.clear();
        self.browsers.clear();
        self.exchanges = TokenExchanges::default();
        self.browser_tokens.clear();
    }

    /// Removes a session, but keeps the part of its state that is needed to recognize its packets in later sessions.
    fn forget(&mut self, session: SessionId) {
        if let Some(stream) = self.sessions.remove(session.0) {
            self.past.add(session, stream);
        }
    }

    fn stream_mut(&mut self, session: SessionId) -> &mut Stream {
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
        self.contents.restart();
        self.maps.forget();
        self.requests.forget();
        self.turns = None;
        for way in self.ways.iter_mut() {
            *way = DirectionState {
                token: way.token,
                ..DirectionState::default()
            };
        }
    }

    /// Forgets the sequence numbers if any were used, because they may be reused for other messages.
    fn renumber(&mut self) {
        let has_numbers = |way: &DirectionState| way.numbers.last().is_some_and(|last| last != Seq::ZERO);
        if self.ways.iter().any(has_numbers) {
            self.gap();
            self.may_renumber = true;
        }
    }

    /// Returns the state of the direction `dir`, then the state of the opposite direction.
    fn both(&mut self, dir: Dir) -> (&mut DirectionState, &mut DirectionState) {
        self.ways.with_reverse_mut(dir)
    }
}
