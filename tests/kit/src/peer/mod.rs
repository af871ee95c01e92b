//! A scripted end of a session in virtual time, with the exact rules of the reference programs.
//!
//! Law: does to every datagram what the program that it stands for would do: tokens, ack window, sequence numbers,
//! resends, keepalives, limits. It never repairs a mistake of the other side; it drops and counts, as they do. Where a
//! reference loses data by a bug of its own that no proxy can matter to (more than 255 chunks in a packet), it does not.
//!
//! A peer sends nothing by itself: datagrams pile up in [`Peer::outgoing`] and time comes from the caller, in
//! microseconds. Call [`Peer::update`] every 10 ms, or at [`Peer::next_update`]. A client starts with
//! [`Peer::connect`]; a server's ends live in a [`Server`], one for each client address.
//!
//! Sources: `network_conn.cpp`, `network_server.cpp`, `network_client.cpp` and `network_token.cpp` of Teeworlds 0.6.4,
//! 0.6.5, 0.7.5 and of DDNet 16.4 and 20.1.

use std::collections::VecDeque;

pub use self::server::{Policy, Refusal, Server, ServerCounters};

use crate::codec::{NO_TOKEN, Packing, Token, Variant};
use crate::link::{Random, SECOND};

pub mod game;
mod handshake;
mod join;
mod receive;
mod send;
mod server;
#[cfg(test)]
mod tests;
mod update;

/// Sequence numbers are taken modulo this.
pub const SEQUENCES: u16 = 1024;

/// The end of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Opened the session.
    Client,
    /// A server's slot.
    Server,
}

/// The state of the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Not started.
    Idle,
    /// A 0.7 client waits for the server's token.
    WantToken,
    /// A client waits for the answer to CONNECT.
    Connecting,
    /// A server's slot waits for the client's first data packet.
    Pending,
    /// In session.
    Online,
    /// Ended by CLOSE.
    Closed {
        /// The reason as text, cut at 127 bytes.
        reason: String,
        /// True if the other side closed.
        by_peer: bool,
    },
    /// Given up after a limit; the reason in the reference's words.
    Dead(String),
}

/// The deviations from the reference that a peer can be configured for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Give up after the reference's limits of silence, of unacked age and of handshakes.
    pub limits: bool,
    /// Silence and age limit in microseconds; `None` = 10 s, DDNet 100 s (`conn_timeout`).
    pub patience: Option<u64>,
    /// The packing of data packets. Reference senders compress when that is shorter.
    pub packing: Packing,
    /// DDNet since 19.4 drops malformed packets: unknown flags, control with chunks or compression or without message,
    /// data without chunks and without RESEND. No meaning for the others.
    pub strict: bool,
    /// Answers to RESEND requests in any second; `None` = all, DDNet 20 answers 10 and keeps one waiting.
    pub resends_per_second: Option<u32>,
    /// A vital message that a client sends and flushes when it comes online, as all real clients do.
    pub hello: Option<Vec<u8>>,
    /// A client of 0.6 answers the messages of a join and sends inputs, which lets it in where a server without tokens
    /// asks for a proof of its address.
    pub joins: bool,
    /// A mistake of its author; `None` = it has none.
    pub flaw: Option<Flaw>,
}

/// A mistake in the numbers of a peer, which shows only on a bad network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Acks the highest number seen in place of the last one in order, and requests nothing.
    AcksSeen,
    /// Sends no vital message again.
    SendsOnce,
    /// Ignores acks: sends each vital message again for ever.
    IgnoresAcks,
    /// Drops compressed datagrams.
    NoInflate,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            limits: true,
            patience: None,
            packing: Packing::Clear,
            strict: true,
            resends_per_second: None,
            hello: None,
            joins: false,
            flaw: None,
        }
    }
}

impl Options {
    /// A client whose first message is this.
    pub fn saying(hello: &[u8]) -> Self {
        let hello = Some(hello.to_vec());
        Self {
            hello,
            ..Self::default()
        }
    }

    /// A peer that never gives up.
    pub fn endless() -> Self {
        let limits = false;
        Self {
            limits,
            ..Self::default()
        }
    }
}

/// The counters of a peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams received, accepted or not.
    pub received: u64,
    /// Dropped: ack above what was ever sent. Always a mistake of the other side (or of what is between).
    pub ahead: u64,
    /// Dropped: ack below the newest one seen; reordering does that.
    pub behind: u64,
    /// Dropped: token missing or wrong.
    pub wrong_token: u64,
    /// Dropped: no datagram of the variant, or refused by DDNet's strict rules.
    pub malformed: u64,
    /// Dropped: connless on the game socket.
    pub connless: u64,
    /// Dropped: came before the start or after the end of the session.
    pub stray: u64,
    /// RESEND flags received in accepted datagrams.
    pub resend_requests: u64,
    /// RESEND flags sent.
    pub resends_requested: u64,
    /// Chunks sent again.
    pub resent_chunks: u64,
    /// Vital chunks received again.
    pub duplicates: u64,
    /// Vital chunks received too early and dropped.
    pub gaps: u64,
    /// Chunks that a header announced and its packet did not hold.
    pub missing_chunks: u64,
    /// Packets with bytes behind the last chunk.
    pub trailing: u64,
    /// Keepalives received.
    pub keepalives: u64,
    /// Vital chunks that DDNet sent without saving them, its buffer being full.
    pub unsaved: u64,
    /// Changes of the other side's token inside the session (0.7).
    pub rekeyed: u64,
    /// Times that a repeated ACCEPT made DDNet's server start the numbers afresh.
    pub rejoined: u64,
}

/// A message that arrived, in order if vital.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// True if its chunk was vital.
    pub vital: bool,
    /// The message.
    pub data: Vec<u8>,
}

/// The reason why a datagram was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drop {
    /// See [`Counters::ahead`].
    Ahead,
    /// See [`Counters::behind`].
    Behind,
    /// See [`Counters::wrong_token`].
    WrongToken,
    /// See [`Counters::malformed`].
    Malformed,
    /// See [`Counters::connless`].
    Connless,
    /// See [`Counters::stray`].
    Stray,
}

/// The effects of one datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// Set when the datagram was dropped whole.
    pub dropped: Option<Drop>,
    /// The session came online with it.
    pub online: bool,
    /// The session was closed by it.
    pub closed: bool,
    /// Messages added to the end of [`Peer::delivered`].
    pub delivered: usize,
}

/// One end of a session.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Behaviour; may be changed at any time.
    pub options: Options,
    /// The counters so far.
    pub counters: Counters,
    /// The messages that arrived.
    pub delivered: Vec<Delivered>,
    /// Datagrams to be sent to the other side, oldest first; the caller takes them out.
    pub outgoing: Vec<Vec<u8>>,
    role: Role,
    variant: Variant,
    /// Layout on the wire: the variant's, or [`Variant::V6`] after a fallback to no token.
    format: Variant,
    state: State,
    /// Expected in what arrives.
    own_token: Token,
    /// Written into what is sent.
    peer_token: Token,
    sequence: u16,
    ack: u16,
    peer_ack: u16,
    unacked: VecDeque<Unacked>,
    unacked_bytes: usize,
    construct: Construct,
    last_send: u64,
    last_receive: u64,
    resend_waits: bool,
    resend_second: (u64, u32),
    /// The next vital chunk says where the other side's numbers stand.
    ack_is_unknown: bool,
    join: join::Join,
    random: Random,
}

/// A vital chunk that the other side has not acked.
#[derive(Clone, Debug)]
struct Unacked {
    seq: u16,
    data: Vec<u8>,
    first_sent: u64,
    last_sent: u64,
}

/// The packet under construction.
#[derive(Clone, Debug, Default)]
struct Construct {
    payload: Vec<u8>,
    num_chunks: u8,
    resend: bool,
}

impl Peer {
    /// A client that has not started.
    pub fn client(variant: Variant, options: Options, seed: u64) -> Self {
        Self::new(Role::Client, variant, options, seed)
    }

    /// An end that is in session at once, without any handshake. Both counters stand at `start` (0..1024), and nothing
    /// is unacked. The own token is expected in what arrives, the peer's is written.
    pub fn online(role: Role, variant: Variant, tokens: (Token, Token), start: u16, now: u64) -> Self {
        let mut peer = Self::new(role, variant, Options::default(), 0);
        peer.state = State::Online;
        (peer.own_token, peer.peer_token) = tokens;
        (peer.sequence, peer.ack, peer.peer_ack) = (start, start, start);
        (peer.last_send, peer.last_receive) = (now, now);
        peer
    }

    /// The state of the session.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Returns true if messages can be sent and received.
    pub fn is_online(&self) -> bool {
        self.state == State::Online
    }

    /// Returns true if the session has ended.
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Closed { .. } | State::Dead(_))
    }

    /// Which end this is.
    pub fn role(&self) -> Role {
        self.role
    }

    /// The program that this stands for.
    pub fn variant(&self) -> Variant {
        self.variant
    }

    /// The layout on the wire: [`Variant::V6`] after a fallback to no token, else the variant.
    pub fn format(&self) -> Variant {
        self.format
    }

    /// Token expected in what arrives, and token written into what is sent.
    pub fn tokens(&self) -> (Token, Token) {
        (self.own_token, self.peer_token)
    }

    /// Last vital sequence number sent, last one received in order, last ack accepted.
    pub fn numbers(&self) -> (u16, u16, u16) {
        (self.sequence, self.ack, self.peer_ack)
    }

    /// Returns true if this end's client proved its address by a challenge, and no vital chunk has come since.
    pub fn was_challenged(&self) -> bool {
        self.ack_is_unknown
    }

    /// Number of vital chunks sent and not acked.
    pub fn unacked(&self) -> usize {
        self.unacked.len()
    }

    fn new(role: Role, variant: Variant, options: Options, seed: u64) -> Self {
        Self {
            options,
            counters: Counters::default(),
            delivered: Vec::new(),
            outgoing: Vec::new(),
            role,
            variant,
            format: variant,
            state: State::Idle,
            own_token: NO_TOKEN,
            peer_token: NO_TOKEN,
            sequence: 0,
            ack: 0,
            peer_ack: 0,
            unacked: VecDeque::new(),
            unacked_bytes: 0,
            construct: Construct::default(),
            last_send: 0,
            last_receive: 0,
            resend_waits: false,
            resend_second: (0, 0),
            ack_is_unknown: false,
            join: join::Join::default(),
            random: Random::new(seed),
        }
    }

    /// The limit of silence and of unacked age.
    fn patience(&self) -> u64 {
        let usual = if self.variant.is_ddnet() {
            100 * SECOND
        } else {
            10 * SECOND
        };
        self.options.patience.unwrap_or(usual)
    }
}

/// Returns true if `seq` is `ack` or one of the 512 numbers before it.
fn in_backroom(seq: u16, ack: u16) -> bool {
    let bottom = i32::from(ack) - i32::from(SEQUENCES) / 2;
    let (seq, ack) = (i32::from(seq), i32::from(ack));
    if bottom < 0 {
        seq <= ack || seq >= bottom + i32::from(SEQUENCES)
    } else {
        bottom <= seq && seq <= ack
    }
}

/// Returns true if an ack lies in the cyclic interval from the newest ack seen to the last number sent.
fn in_window(ack: u16, oldest: u16, newest: u16) -> bool {
    if newest >= oldest {
        oldest <= ack && ack <= newest
    } else {
        ack >= oldest || ack <= newest
    }
}
