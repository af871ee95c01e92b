//! A scripted end of a session in virtual time that follows the exact rules of the reference programs.
//!
//! Law: handles every datagram exactly like the program that it models: tokens, ack window, sequence numbers,
//! resends, keepalives, limits. It never repairs a mistake of the other side; it drops and counts, as the programs
//! do. The one exception is a bug by which a reference loses data and which no proxy can affect (more than 255 chunks
//! in a packet).
//!
//! A peer sends nothing by itself: datagrams are collected in [`Peer::outgoing`], and the caller supplies the time in
//! microseconds. Call [`Peer::update`] every 10 ms. A client starts with [`Peer::connect`]; a server's ends belong to a
//! [`Server`], one for each client address.
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

/// Number of sequence numbers: they are counted modulo this value.
pub const SEQUENCES: u16 = 1024;

/// The role of a peer in its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The end that opens the session.
    Client,
    /// The server's end, in a slot.
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
    /// The session is established.
    Online,
    /// Ended by CLOSE.
    Closed {
        /// The reason as text, truncated to 127 bytes.
        reason: String,
        /// True if the other side closed the session.
        by_peer: bool,
    },
    /// Given up because a limit was exceeded; the reason is in the reference's words.
    Dead(String),
}

/// The deviations from the reference that a peer can be configured for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Gives up at the reference's limits for silence, for the age of unacked chunks and for handshakes.
    pub limits: bool,
    /// Limit for silence and for the age of unacked chunks in microseconds. `None` means 10 s, or 100 s for DDNet
    /// (`conn_timeout`).
    pub patience: Option<u64>,
    /// The packing of data packets. Reference senders compress if the result is shorter.
    pub packing: Packing,
    /// DDNet since 19.4 drops malformed packets: unknown flags, control with chunks or compression or without
    /// message, data without chunks and without RESEND. No effect on other variants.
    pub strict: bool,
    /// Maximum answers to RESEND requests in one second. `None` answers all; DDNet 20 answers 10 and keeps one
    /// pending.
    pub resends_per_second: Option<u32>,
    /// A vital message that a client sends and flushes when it goes online, as all real clients do.
    pub hello: Option<Vec<u8>>,
    /// A client of 0.6 answers the messages of a join and sends inputs. A server without tokens that requires a proof
    /// of the address then lets it in.
    pub joins: bool,
    /// A mistake in the peer's implementation; `None` if it has none.
    pub flaw: Option<Flaw>,
}

/// A mistake in the numbers of a peer, which shows only on a bad network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Acks the highest number seen instead of the last one in order, and requests no resend.
    AcksSeen,
    /// Retransmits no vital message.
    SendsOnce,
    /// Ignores acks: retransmits each vital message forever.
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
    /// Options for a client whose first message is `hello`.
    pub fn saying(hello: &[u8]) -> Self {
        let hello = Some(hello.to_vec());
        Self {
            hello,
            ..Self::default()
        }
    }

    /// Options for a peer that never gives up.
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
    /// Datagrams dropped because of an ack above every number sent. Always a mistake of the other side (or of a proxy
    /// between).
    pub ahead: u64,
    /// Datagrams dropped because of an ack below the newest one seen; reordering causes this.
    pub behind: u64,
    /// Datagrams dropped because the token is missing or wrong.
    pub wrong_token: u64,
    /// Datagrams dropped because they are not of the variant, or because DDNet's strict rules refuse them.
    pub malformed: u64,
    /// Connless datagrams dropped on the game socket.
    pub connless: u64,
    /// Datagrams dropped because they arrived before the start or after the end of the session.
    pub stray: u64,
    /// RESEND flags received in accepted datagrams.
    pub resend_requests: u64,
    /// RESEND flags sent.
    pub resends_requested: u64,
    /// Chunks retransmitted.
    pub resent_chunks: u64,
    /// Vital chunks received more than once.
    pub duplicates: u64,
    /// Vital chunks received ahead of a missing number and dropped.
    pub gaps: u64,
    /// Chunks that a header announced but its packet did not contain.
    pub missing_chunks: u64,
    /// Packets with bytes after the last chunk.
    pub trailing: u64,
    /// Keepalives received.
    pub keepalives: u64,
    /// Vital chunks that DDNet sent without saving them because its buffer was full.
    pub unsaved: u64,
    /// Changes of the other side's token during the session (0.7).
    pub rekeyed: u64,
    /// Number of times that a repeated ACCEPT made DDNet's server restart its numbering.
    pub rejoined: u64,
}

/// A received message; vital messages are delivered in order.
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
    /// The reason if the whole datagram was dropped.
    pub dropped: Option<Drop>,
    /// True if the datagram brought the session online.
    pub online: bool,
    /// True if the datagram closed the session.
    pub closed: bool,
    /// Number of messages appended to [`Peer::delivered`].
    pub delivered: usize,
}

/// One end of a session.
#[derive(Clone, Debug)]
pub struct Peer {
    /// The behaviour of the peer; may be changed at any time.
    pub options: Options,
    /// The counters so far.
    pub counters: Counters,
    /// The messages received.
    pub delivered: Vec<Delivered>,
    /// Datagrams to send to the other side, oldest first; the caller removes them.
    pub outgoing: Vec<Vec<u8>>,
    role: Role,
    variant: Variant,
    /// Layout on the wire: the variant's, or [`Variant::V6`] after a fallback to no token.
    format: Variant,
    state: State,
    /// Token expected in received datagrams.
    own_token: Token,
    /// Token written into sent datagrams.
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
    /// True if the next vital chunk determines the other side's numbering.
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
    /// Creates a client that has not started.
    pub fn client(variant: Variant, options: Options, seed: u64) -> Self {
        Self::new(Role::Client, variant, options, seed)
    }

    /// Creates an end that is online immediately, without a handshake. Both counters start at `start` (0..1024), and
    /// nothing is unacked. The first token is expected in received datagrams, the second is written into sent ones.
    pub fn online(role: Role, variant: Variant, tokens: (Token, Token), start: u16, now: u64) -> Self {
        let mut peer = Self::new(role, variant, Options::default(), 0);
        peer.state = State::Online;
        (peer.own_token, peer.peer_token) = tokens;
        (peer.sequence, peer.ack, peer.peer_ack) = (start, start, start);
        (peer.last_send, peer.last_receive) = (now, now);
        peer
    }

    /// Returns the state of the session.
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

    /// Returns the role of this end.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Returns the program that this peer models.
    pub fn variant(&self) -> Variant {
        self.variant
    }

    /// Returns the layout on the wire: [`Variant::V6`] after a fallback to no token, else the variant.
    pub fn format(&self) -> Variant {
        self.format
    }

    /// Returns the token expected in received datagrams, and the token written into sent ones.
    pub fn tokens(&self) -> (Token, Token) {
        (self.own_token, self.peer_token)
    }

    /// Returns the last vital sequence number sent, the last one received in order, and the last ack accepted.
    pub fn numbers(&self) -> (u16, u16, u16) {
        (self.sequence, self.ack, self.peer_ack)
    }

    /// Returns true if the client of this slot proved its address by a challenge, and no vital chunk was received
    /// since.
    pub(crate) fn was_challenged(&self) -> bool {
        self.ack_is_unknown
    }

    /// Returns the number of vital chunks sent but not acked.
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

    /// Returns the limit for silence and for the age of unacked chunks in microseconds.
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
