//! Classifies the traffic between two addresses: which one is the client. Sees every datagram first.
//!
//! A handshake identifies the sides immediately; without one, [`Evidence`] is collected. A client that restarts on its
//! port starts a new flow: at its CONNECT if the old flow was closed, otherwise only when the server replies to the
//! CONNECT, because a late or spoofed copy must not end a session.

use std::time::Duration;

use teetap_wire::{Control, First, Packet, Proto, Scratch, Side, Token, detect, is_connless};

use super::{acks::Acks, evidence::Evidence};
use teetap_proxy::session::{SessionId, State, Time};

/// Silence after which a pair of addresses is forgotten.
pub const IDLE: Duration = Duration::from_secs(120);

/// Number of datagrams after which a flow is classified even if the evidence is ambiguous.
const LONG_ENOUGH: u32 = 48;

/// Verdict on two addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Not decided yet.
    Open,
    /// Peers of this protocol.
    Peers(Peers),
    /// Another protocol.
    Foreign,
}

/// A client and a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Peers {
    pub(super) proto: Proto,
    pub(super) low_is_client: bool,
    /// How the peers were identified.
    pub(super) found: Found,
}

/// Certainty of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A handshake showed it.
    Handshake,
    /// The datagrams fit the protocol, and messages that only one side sends identify the sides.
    Looks,
    /// The datagrams fit the protocol; the sides are only likely.
    Likely,
}

/// The traffic between two addresses, until a restart.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) verdict: Verdict,
    /// Time of the last datagram on the observer's clock.
    pub(super) last: Time,
    /// Time of the last datagram in the recording; `None` before the first one.
    pub(super) last_recorded: Option<Time>,
    /// True if a long silence preceded the current datagram.
    pub(super) was_quiet: bool,
    /// Number of datagrams that wait for the verdict.
    pub(super) waiting: usize,
    /// True once no datagram can be added.
    pub(super) is_over: bool,
    /// Bytes sent by the lower and by the higher address.
    pub(super) bytes: [u64; 2],
    /// State of the session in the emitted events.
    pub(super) emitted: Emitted,
    evidence: Evidence,
    seen: u32,
    /// True once the server has replied to CONNECT.
    answered: bool,
    /// True once the client has sent messages.
    talked: bool,
    closed: bool,
    /// Protocol of a CONNECT that may be a restart.
    candidate: Option<Proto>,
}

/// State of the session in the emitted events.
#[derive(Debug, Default)]
pub(super) struct Emitted {
    pub(super) session: Option<SessionId>,
    pub(super) state: Option<State>,
    /// Number of datagrams of the client and of the server.
    pub(super) ordinals: [u64; 2],
    /// Token of each direction, and the last different one.
    pub(super) tokens: [(Option<Token>, Option<Token>); 2],
    pub(super) acks: Acks,
    /// True from the handshake until the server is known to have a slot. DDNet's server creates it only on ACCEPT.
    pub(super) awaits_accept: bool,
    pub(super) is_foreign: bool,
}

/// A datagram of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hello {
    /// The client requests a session, or a token first.
    Requests(Proto),
    /// The server gives a token of 0.7.
    GivesToken,
    /// The server accepts.
    Accepts(Proto),
    /// The client of 0.6 acknowledges the acceptance.
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
            talked: false,
            closed: false,
            candidate: None,
        }
    }

    /// Inspects a datagram. `whole` are its bytes, with zeros where the recording truncates them. Returns true, without
    /// inspecting it, if the datagram begins a flow of its own.
    pub(super) fn look(&mut self, from_low: bool, whole: &[u8], is_cut: bool, scratch: &mut Scratch) -> bool {
        if is_connless(whole) {
            return false;
        }
        if let Some(hello) = hello(whole) {
            return self.greet(hello, from_low);
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
            Verdict::Peers(peers) => self.follow(peers, from_low, whole, scratch),
            Verdict::Foreign => {}
        }
        false
    }

    /// Decides by the evidence. `likely` returns true if the lower address is probably the client, for flows in which
    /// no message shows it.
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
                Found::Looks
            } else {
                Found::Likely
            },
        });
    }

    /// Returns true after a long silence, in time of the recording.
    pub(super) fn is_silent(&self, now: Time) -> bool {
        self.last_recorded.is_some_and(|last| now.since(last) >= IDLE)
    }

    /// Returns true if the evidence shows nothing yet.
    fn is_blank(&self) -> bool {
        self.verdict == Verdict::Open && self.evidence.best().is_none()
    }

    fn greet(&mut self, hello: Hello, from_low: bool) -> bool {
        let peers = |proto, low_is_client| {
            Verdict::Peers(Peers {
                proto,
                low_is_client,
                found: Found::Handshake,
            })
        };
        match (hello, self.verdict) {
            (Hello::Requests(_), _) if self.closed || self.was_quiet => return true,
            (Hello::Requests(proto), Verdict::Open | Verdict::Foreign) => {
                if !self.is_blank() {
                    return true;
                }
                self.verdict = peers(proto, from_low);
            }
            (Hello::Requests(proto), Verdict::Peers(known)) if known.low_is_client == from_low => {
                if self.talked {
                    self.candidate = Some(proto);
                } else if !self.answered {
                    self.verdict = peers(proto, from_low);
                }
            }
            (Hello::Accepts(proto), Verdict::Peers(known)) if known.low_is_client != from_low => {
                if self.candidate.take().is_some() {
                    return true;
                }
                if !self.answered && !self.talked {
                    self.verdict = peers(proto, !from_low);
                    self.answered = true;
                }
            }
            (Hello::Accepts(proto), Verdict::Open) => {
                self.verdict = peers(proto, !from_low);
                self.answered = true;
            }
            (Hello::GivesToken, Verdict::Open) => self.verdict = peers(Proto::V7, !from_low),
            (Hello::Acknowledges(proto), Verdict::Open) => self.verdict = peers(proto, from_low),
            // The server's reply is missing, but this datagram shows its protocol.
            (Hello::Acknowledges(proto), Verdict::Peers(known))
                if known.low_is_client == from_low && !self.answered && !self.talked =>
            {
                self.verdict = peers(proto, from_low);
                self.answered = true;
            }
            _ => {}
        }
        false
    }

    /// Tracks what distinguishes a later CONNECT from a repeated one, and collects evidence if the server's reply is
    /// missing.
    fn follow(&mut self, peers: Peers, from_low: bool, datagram: &[u8], scratch: &mut Scratch) {
        if !self.answered && peers.found == Found::Handshake {
            self.evidence.add(from_low, datagram, scratch);
            if let Some(best) = self.evidence.best().filter(|best| best.is_clear) {
                self.answered = true;
                self.verdict = Verdict::Peers(Peers {
                    proto: best.proto,
                    ..peers
                });
            }
        }
        // Most datagrams contain messages, and inflating them would be most of the work.
        let control = peers.proto.layout().control;
        if datagram.first().is_none_or(|first| first & control == 0) {
            self.talked |= peers.low_is_client == from_low;
            return;
        }
        let packet = Packet::parse(peers.proto, datagram, scratch);
        self.closed |= packet.is_ok_and(|packet| matches!(packet.control(), Some(Control::Close { .. })));
    }
}

impl Peers {
    /// Returns the side of the sender.
    pub(super) fn sender(self, from_low: bool) -> Side {
        if self.low_is_client == from_low {
            Side::Client
        } else {
            Side::Server
        }
    }
}

/// Detects a datagram of a recorded session, which may not be its first. With an ack or chunks it is no CONNECT of 0.6:
/// compressed datagrams of 0.7 have the same flags, and a token at the position of the id.
pub(super) fn kind_of(datagram: &[u8]) -> First<'_> {
    match detect(datagram) {
        First::Connect { .. } if !datagram.starts_with(&[0x10, 0, 0]) => First::MidSession,
        first => first,
    }
}

/// Returns the handshake that a datagram unmistakably is.
fn hello(datagram: &[u8]) -> Option<Hello> {
    match kind_of(datagram) {
        First::Connect { proto, .. } => return Some(Hello::Requests(proto)),
        First::Connect7 { .. } => return Some(Hello::Requests(Proto::V7)),
        First::TokenRequest { header_token, .. } if header_token == Token::NONE => {
            return Some(Hello::Requests(Proto::V7));
        }
        First::TokenRequest { .. } => return Some(Hello::GivesToken),
        _ => {}
    }
    match *datagram {
        [0x10, 0, 0, 2] => Some(Hello::Accepts(Proto::V6)),
        [0x10, 0, 0, 2, b'T', b'K', b'E', b'N', _, _, _, _] => Some(Hello::Accepts(Proto::Ddnet)),
        [0x18, 0, 0, _, _, _, _, 2, _, _, _, _] => Some(Hello::Accepts(Proto::V65)),
        [0x04, 0, 0, _, _, _, _, 2] | [0x04, 0, 0, _, _, _, _, 2, _, _, _, _] => {
            Some(Hello::Accepts(Proto::V7))
        }
        [0x10, 0, 0, 3] => Some(Hello::Acknowledges(Proto::V6)),
        [0x10, 0, 0, 3, _, _, _, _] => Some(Hello::Acknowledges(Proto::Ddnet)),
        _ => None,
    }
}
