//! Classifies the traffic between two addresses: which one is the client. Sees every datagram first.
//!
//! A handshake identifies the sides immediately; without one, [`Evidence`] is collected. A client that restarts on its
//! port starts a new flow: at its CONNECT if the old flow was closed, otherwise only when the server replies to the
//! CONNECT, because a late or spoofed copy must not end a session.
//!
//! Soon after a handshake, even a CONNECT with a reply is no restart: a client repeats CONNECT until it has received the
//! reply, and a server replies to each copy, or repeats its reply until it has received a message (`Update` and `Feed`
//! in network_conn.cpp of Teeworlds 0.6.5, `OnConnCtrlMsg` in network_server.cpp of DDNet). A network with jitter
//! delivers these copies after the first messages of the client.

use std::time::Duration;

use teetap_inspect::track::recorded::RecordedSession;
use teetap_wire::{Control, First, Packet, PerDir, Proto, Scratch, Side, Token, detect, is_connless};

use super::evidence::Evidence;
use teetap_proxy::session::{SessionId, State, Time};

/// Silence after which a pair of addresses is forgotten.
pub(crate) const IDLE: Duration = Duration::from_secs(120);

/// Number of datagrams after which a flow is classified even if the evidence is ambiguous.
const LONG_ENOUGH: u32 = 48;

/// Time after the client's first message in which a CONNECT may be a delayed copy: several times the delay of a network
/// in which a join succeeds.
const COPIES: Duration = Duration::from_secs(2);

/// Number of acked messages of the server after which a CONNECT is no delayed copy, because the join has had many round
/// trips.
const JOINED: u16 = 16;

/// Classification of the traffic between two addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Not decided yet.
    Open,
    /// A client and a server of the game.
    Peers(Peers),
    /// Another protocol.
    Foreign,
}

/// Which address is the client, and the protocol of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Peers {
    pub(super) proto: Proto,
    pub(super) low_is_client: bool,
    /// How the peers were identified.
    pub(super) found: Certainty,
}

/// How certain a verdict is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certainty {
    /// A handshake identified the protocol and the sides.
    Handshake,
    /// The datagrams fit the protocol, and messages that only one side sends identify the sides.
    Looks,
    /// The datagrams fit the protocol, but the sides are guessed.
    Likely,
}

/// The traffic between two addresses until a new session begins.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) verdict: Verdict,
    /// Time of the last datagram on the observer's clock.
    pub(super) last: Time,
    /// Time of the last datagram in the recording; `None` before the first one.
    pub(super) last_recorded: Option<Time>,
    /// True if a silence of [`IDLE`] or more preceded the current datagram.
    pub(super) was_quiet: bool,
    /// Number of datagrams that wait for the verdict.
    pub(super) waiting: usize,
    /// True once the flow is closed, so that no more datagrams are added.
    pub(super) is_over: bool,
    /// Bytes sent by the lower and by the higher address.
    pub(super) bytes: [u64; 2],
    /// State of the session according to the emitted events.
    pub(super) emitted: Emitted,
    evidence: Evidence,
    seen: u32,
    /// True once the server has replied to CONNECT.
    answered: bool,
    /// Time of the client's first message; `None` before it.
    talked: Option<Time>,
    /// The highest ack of the client.
    acked: u16,
    /// The token in the client's first CONNECT or token request; `None` if it has none.
    own: Option<Token>,
    closed: bool,
    /// Protocol of a CONNECT that may begin a new session.
    candidate: Option<Proto>,
}

/// State of the session according to the emitted events.
#[derive(Debug, Default)]
pub(super) struct Emitted {
    pub(super) session: Option<SessionId>,
    pub(super) state: Option<State>,
    /// Number of datagrams sent by the client, and number sent by the server.
    pub(super) ordinals: PerDir<u64>,
    /// Judges the tokens and acks.
    pub(super) tracker: RecordedSession,
    pub(super) is_foreign: bool,
}

/// A handshake packet that identifies its sender as client or server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HandshakeKind {
    /// The client requests a session or a token.
    Requests(Proto),
    /// The server replies to a token request of 0.7.
    GivesToken,
    /// The server accepts the session.
    Accepts(Proto),
    /// The client of 0.6 confirms that it received the server's reply.
    Acknowledges(Proto),
}

impl Flow {
    pub(super) fn new(now: Time) -> Self {
        Self {
            verdict: Verdict::Open,
            last: now,
            last_recorded: None,
            was_quiet: false,
            waiting: 0,
            is_over: false,
            bytes: [0; 2],
            emitted: Emitted::default(),
            evidence: Evidence::default(),
            seen: 0,
            answered: false,
            talked: None,
            acked: 0,
            own: None,
            closed: false,
            candidate: None,
        }
    }

    /// Inspects a datagram. `whole` contains its bytes, with zeros in place of bytes that the recording truncated, which
    /// `is_cut` marks. Returns true, without inspecting the datagram, if it begins a new flow.
    pub(super) fn look(
        &mut self,
        at: Time,
        from_low: bool,
        (whole, is_cut): (&[u8], bool),
        scratch: &mut Scratch,
    ) -> bool {
        if is_connless(whole) {
            return false;
        }
        if let Some(hello) = hello(whole) {
            return self.greet(at, hello, from_low, own_token(whole));
        }
        if is_cut {
            return false;
        }
        self.seen += 1;
        match self.verdict {
            Verdict::Open => {
                self.evidence.add(from_low, whole, scratch);
                let clear = self.evidence.best().is_some_and(|best| best.is_clear);
                if clear || self.seen >= LONG_ENOUGH {
                    self.decide(|| None);
                }
            }
            Verdict::Peers(peers) => self.follow(at, peers, from_low, whole, scratch),
            Verdict::Foreign => {}
        }
        false
    }

    /// Classifies the flow by its evidence. If no message identifies the sides, `likely` guesses whether the lower
    /// address is the client.
    pub(super) fn decide(&mut self, likely: impl FnOnce() -> Option<bool>) {
        if self.verdict != Verdict::Open {
            return;
        }
        let Some(best) = self.evidence.best() else {
            self.verdict = Verdict::Foreign;
            return;
        };
        let [low, high] = self.bytes;
        self.verdict = Verdict::Peers(Peers {
            proto: best.proto,
            low_is_client: best
                .low_is_client
                .or_else(likely)
                // Servers send more bytes than clients.
                .unwrap_or(low < high),
            found: if best.low_is_client.is_some() {
                Certainty::Looks
            } else {
                Certainty::Likely
            },
        });
    }

    /// Returns true if the flow has been silent for [`IDLE`] or longer, in time of the recording.
    pub(super) fn is_silent(&self, now: Time) -> bool {
        self.last_recorded.is_some_and(|last| now.since(last) >= IDLE)
    }

    /// Returns true if the flow is not classified and the evidence favours no variant.
    fn is_blank(&self) -> bool {
        self.verdict == Verdict::Open && self.evidence.best().is_none()
    }

    /// Returns true if a CONNECT with this token may be a delayed copy of one that began the session.
    fn may_be_copy(&self, at: Time, own: Option<Token>) -> bool {
        let is_early = self.talked.is_some_and(|talked| at.since(talked) < COPIES);
        // DDNet clients repeat CONNECT to a 0.7 server without their token.
        let is_same = self.own == own || own == Some(Token::TKEN);
        is_early && self.acked < JOINED && is_same
    }

    fn greet(&mut self, at: Time, hello: HandshakeKind, from_low: bool, own: Option<Token>) -> bool {
        let peers = |proto, low_is_client| {
            Verdict::Peers(Peers {
                proto,
                low_is_client,
                found: Certainty::Handshake,
            })
        };
        match (hello, self.verdict) {
            (HandshakeKind::Requests(_), _) if self.closed || self.was_quiet => return true,
            (HandshakeKind::Requests(proto), Verdict::Open | Verdict::Foreign) => {
                if !self.is_blank() {
                    return true;
                }
                self.verdict = peers(proto, from_low);
                self.own = own;
            }
            (HandshakeKind::Requests(proto), Verdict::Peers(known)) if known.low_is_client == from_low => {
                if self.may_be_copy(at, own) {
                    return false;
                }
                if self.talked.is_some() {
                    self.candidate = Some(proto);
                } else if !self.answered {
                    self.verdict = peers(proto, from_low);
                    self.own = own;
                }
            }
            (HandshakeKind::Accepts(proto), Verdict::Peers(known)) if known.low_is_client != from_low => {
                if self.candidate.take().is_some() {
                    return true;
                }
                if !self.answered && self.talked.is_none() {
                    self.verdict = peers(proto, !from_low);
                    self.answered = true;
                }
            }
            (HandshakeKind::Accepts(proto), Verdict::Open) => {
                self.verdict = peers(proto, !from_low);
                self.answered = true;
            }
            (HandshakeKind::GivesToken, Verdict::Open) => self.verdict = peers(Proto::V7, !from_low),
            (HandshakeKind::Acknowledges(proto), Verdict::Open) => self.verdict = peers(proto, from_low),
            // The recording lacks the server's reply, but the client's confirmation shows its protocol.
            (HandshakeKind::Acknowledges(proto), Verdict::Peers(known))
                if known.low_is_client == from_low && !self.answered && self.talked.is_none() =>
            {
                self.verdict = peers(proto, from_low);
                self.answered = true;
            }
            _ => {}
        }
        false
    }

    /// Records whether the client has sent messages and whether the session was closed, so that a retransmitted CONNECT
    /// can be distinguished from a new session. Collects evidence if the recording lacks the server's reply.
    fn follow(&mut self, at: Time, peers: Peers, from_low: bool, datagram: &[u8], scratch: &mut Scratch) {
        if !self.answered && peers.found == Certainty::Handshake {
            self.evidence.add(from_low, datagram, scratch);
            if let Some(best) = self.evidence.best().filter(|best| best.is_clear) {
                self.answered = true;
                self.verdict = Verdict::Peers(Peers {
                    proto: best.proto,
                    ..peers
                });
            }
        }
        // Only control packets are parsed, since inflating every datagram would be most of the work.
        let control = peers.proto.layout().control;
        if datagram.first().is_none_or(|first| first & control == 0) {
            if peers.low_is_client == from_low {
                self.talked.get_or_insert(at);
                self.acked = self.acked.max(ack_of(datagram));
            }
            return;
        }
        let packet = Packet::parse(peers.proto, datagram, scratch);
        self.closed |= packet.is_ok_and(|packet| matches!(packet.control(), Some(Control::Close { .. })));
    }
}

impl Peers {
    /// Returns the side of the sender. `from_low` is true if the lower address is the sender.
    pub(super) fn sender(self, from_low: bool) -> Side {
        if self.low_is_client == from_low {
            Side::Client
        } else {
            Side::Server
        }
    }
}

/// Detects the kind of a datagram at any position in a session. A datagram with an ack or chunks is not a CONNECT of
/// 0.6: compressed datagrams of 0.7 have the same flags, and a token at the position of the id.
pub(super) fn kind_of(datagram: &[u8]) -> First<'_> {
    match detect(datagram) {
        First::Connect { .. } if !datagram.starts_with(&[0x10, 0, 0]) => First::MidSession,
        first => first,
    }
}

/// Returns the client's own token in a CONNECT or a token request; `None` for other datagrams.
fn own_token(datagram: &[u8]) -> Option<Token> {
    match detect(datagram) {
        First::Connect { token, .. } => token,
        First::Connect7 { token, .. } | First::TokenRequest { token, .. } => Some(token),
        _ => None,
    }
}

/// Returns the ack in the header of a datagram.
fn ack_of(datagram: &[u8]) -> u16 {
    match *datagram {
        [first, second, ..] => u16::from_be_bytes([first & 3, second]),
        _ => 0,
    }
}

/// Returns the kind of handshake packet; `None` if the datagram is not unmistakably a handshake packet.
fn hello(datagram: &[u8]) -> Option<HandshakeKind> {
    match kind_of(datagram) {
        First::Connect { proto, .. } => return Some(HandshakeKind::Requests(proto)),
        First::Connect7 { .. } => return Some(HandshakeKind::Requests(Proto::V7)),
        First::TokenRequest { header_token, .. } if header_token == Token::NONE => {
            return Some(HandshakeKind::Requests(Proto::V7));
        }
        First::TokenRequest { .. } => return Some(HandshakeKind::GivesToken),
        _ => {}
    }
    match *datagram {
        [0x10, 0, 0, 2] => Some(HandshakeKind::Accepts(Proto::V6)),
        [0x10, 0, 0, 2, b'T', b'K', b'E', b'N', _, _, _, _] => Some(HandshakeKind::Accepts(Proto::Ddnet)),
        [0x18, 0, 0, _, _, _, _, 2, _, _, _, _] => Some(HandshakeKind::Accepts(Proto::V65)),
        [0x04, 0, 0, _, _, _, _, 2] | [0x04, 0, 0, _, _, _, _, 2, _, _, _, _] => {
            Some(HandshakeKind::Accepts(Proto::V7))
        }
        [0x10, 0, 0, 3] => Some(HandshakeKind::Acknowledges(Proto::V6)),
        [0x10, 0, 0, 3, _, _, _, _] => Some(HandshakeKind::Acknowledges(Proto::Ddnet)),
        _ => None,
    }
}
