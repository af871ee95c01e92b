//! The admission of clients: TOKEN requests, first CONNECTs, repeated ones, and CONNECTs of a client that restarted.
//!
//! One late, duplicated or spoofed CONNECT must never kill a good session, and a real restart must play again. So a
//! CONNECT on a living session is either a repeat, which is answered again, or it opens a candidate beside the
//! session, which takes its place only when it shows the token it was given.

use std::{collections::VecDeque, net::SocketAddr, time::Duration};

use teetap_wire::{Code, Dir, First, Flags, Header, Proto, Seq, Side, Token, control, detect, write};

use super::{
    Hub, Link, MAX_HALF_OPEN, MAX_HALF_OPEN_PER_IP, Notice, SessionId, What,
    sessions::{Owner, Slot},
    strangers::Kind,
};
use crate::session::{ClientAddr, Datagram, Origin, link::Opened, outbox::Destination, tokens::Purpose};

/// How many clients' own tokens are remembered after their TOKEN requests.
const MAX_ASKED: usize = 256;
/// And of one address: DDNet's client names a fresh token with every request, and any answer may be the one it uses.
const MAX_ASKED_PER_ADDRESS: usize = 4;
/// A tokenless session is given up for a CONNECT only after its client has been silent for so long.
const TOKENLESS_SILENCE: Duration = Duration::from_secs(2);

/// The tokens that 0.7 clients named in their last TOKEN requests. Only DDNet's 0.7 client needs the memory: it repeats
/// its CONNECT with `TKEN` where its token should be, and names another token in every server browser request than in
/// the TOKEN request before it. Bounded, oldest first out.
#[derive(Debug, Default)]
pub(super) struct NamedTokens(VecDeque<(SocketAddr, Token)>);

impl NamedTokens {
    fn remember(&mut self, client: SocketAddr, token: Token) {
        self.0.retain(|requested| *requested != (client, token));
        let mut of_client = self.0.iter().enumerate().filter(|(_, (addr, _))| *addr == client);
        let oldest = of_client.next().map(|(index, _)| index);
        if let Some(oldest) = oldest.filter(|_| of_client.count() + 1 >= MAX_ASKED_PER_ADDRESS) {
            self.0.remove(oldest);
        } else if self.0.len() >= MAX_ASKED {
            self.0.pop_front();
        }
        self.0.push_back((client, token));
    }

    /// Returns the tokens that an address named, newest first.
    fn of(&self, client: SocketAddr) -> impl Iterator<Item = Token> {
        let of_client = self.0.iter().rev().filter(move |(addr, _)| *addr == client);
        of_client.map(|(_, token)| *token)
    }
}

/// A CONNECT, as far as admission needs it.
#[derive(Clone, Copy, Debug)]
struct Connect {
    proto: Proto,
    /// The token that the client names.
    client_token: Option<Token>,
    /// The proxy's token that it shows; 0.7 only.
    shown: Option<Token>,
}

impl Hub {
    /// Returns true if a datagram has the form of a CONNECT or TOKEN request, where in a session of this kind its
    /// bytes cannot mean anything else: 0.6 never sets the bit that marks control packets of 0.7, but in 0.7
    /// compressed data begins
    /// like a CONNECT of 0.6.
    pub(super) fn is_request_to(&self, id: SessionId, bytes: &[u8]) -> bool {
        match bytes.first().map(|flags| flags & 0xfc) {
            Some(0x04) => matches!(bytes.get(7), Some(1 | 5)),
            Some(0x10) if bytes.get(3) == Some(&1) => self
                .sessions
                .links
                .get(&id)
                .is_none_or(|link| link.proto() != Proto::V7),
            _ => false,
        }
    }

    /// Handles a datagram that may start a session. Returns false if it cannot.
    pub(super) fn admit(
        &mut self,
        addr: ClientAddr,
        slot: Slot,
        bytes: &[u8],
        current: Option<SessionId>,
    ) -> bool {
        let connect = match detect(bytes) {
            First::TokenRequest {
                token,
                header_token,
                padded,
            } => {
                return self.on_token_request(addr, token, header_token, padded, bytes, current);
            }
            First::Connect7 { header_token, token } => Connect {
                proto: Proto::V7,
                client_token: Some(token),
                shown: Some(header_token),
            },
            // Compressed data of 0.7 that its session refused, with a token that begins with 01.
            First::Connect { .. } if self.is_seven(current) && bytes.get(2) != Some(&0) => return false,
            First::Connect { proto, token } => {
                // DDNet's CONNECT has the place of a token, with nothing in it.
                let client_token = token.filter(|token| *token != Token::NONE);
                Connect {
                    proto,
                    client_token,
                    shown: None,
                }
            }
            First::Close | First::MidSession | First::Noise | First::Connless(_) => {
                if current.is_none() {
                    self.unknown_sender(addr, bytes);
                }
                return false;
            }
        };
        if self.env.config.proto.is_some_and(|only| only != connect.proto) {
            self.stats.refused += 1;
            self.notice_stranger(Kind::ProtocolRefused, None, || Notice::ProtocolRefused {
                client: addr.addr,
                proto: connect.proto,
            });
            return true;
        }
        for id in [slot.candidate, current].into_iter().flatten() {
            if self.is_repeat(id, connect) {
                self.with_link(id, |link, _, env| link.on_repeated_connect(bytes, env));
                return true;
            }
        }
        self.on_new_connect(addr, slot, connect, bytes)
    }

    /// Answers 0.7's TOKEN request without state, never with more bytes than it has itself.
    fn on_token_request(
        &mut self,
        addr: ClientAddr,
        token: Token,
        header_token: Token,
        padded: bool,
        bytes: &[u8],
        current: Option<SessionId>,
    ) -> bool {
        if header_token != Token::NONE {
            // With the proxy's token it re-keys a living session, which its own packet path does.
            if current.is_none() {
                self.unknown_sender(addr, bytes);
            }
            return false;
        }
        if !padded || self.env.config.proto.is_some_and(|only| only != Proto::V7) {
            self.unknown_sender(addr, bytes);
            return true;
        }
        let six = self.sessions.at(addr.addr).find(|id| self.plays_six(*id));
        if let Some(id) = six {
            self.refuse(id, bytes, Code::UnknownFlags);
            return true;
        }
        self.named.remember(addr.addr, token);
        let ours = self.tokens.token(addr.addr, Purpose::Named(token));
        let mut payload = Vec::new();
        control::token_reply(ours, &mut payload);
        let header = Header {
            flags: Flags::CONTROL,
            ack: Seq::ZERO,
            num_chunks: 0,
            token: Some(token),
        };
        let mark = self.env.out.mark();
        for _ in 0..self.rule_token_request(token, bytes.len()) {
            self.transmit(Destination::Client(addr), |out| {
                write(Proto::V7, &header, &payload, None, out)
            });
        }
        if self.env.out.is_watched_closely() {
            let requested = Datagram::new(Dir::C2s, Proto::V7, Origin::Peer, bytes, std::iter::empty());
            let answer = Datagram::new(
                Dir::S2c,
                Proto::V7,
                Origin::Proxy,
                &[],
                self.env.out.sent_since(mark),
            );
            for mut event in [requested, answer] {
                event.leg = Some(Side::Client);
                event.ends.client = Some(addr.addr);
                self.env.out.event(self.env.now, None, What::Datagram(event));
            }
        }
        true
    }

    /// Returns true if a client of 0.6 is certainly at that address: it was active lately. A request of 0.7
    /// in its name is forged, and the answer would crash DDNet 16.4.
    fn plays_six(&self, id: SessionId) -> bool {
        self.sessions.links.get(&id).is_some_and(|link| {
            let talks = link.is_online() && link.client_silence(self.env.now) < TOKENLESS_SILENCE;
            talks && link.proto() != Proto::V7
        })
    }

    fn is_seven(&self, id: Option<SessionId>) -> bool {
        let link = id.and_then(|id| self.sessions.links.get(&id));
        link.is_some_and(|link| link.proto() == Proto::V7)
    }

    /// Returns true for a repeated CONNECT: the same client token, or any before the client's first data.
    fn is_repeat(&self, id: SessionId, connect: Connect) -> bool {
        let Some(link) = self.sessions.links.get(&id) else {
            return false;
        };
        if link.requested() != connect.proto {
            return false;
        }
        match connect.proto {
            Proto::V7 => connect.shown == Some(link.token()),
            Proto::V65 => connect.client_token == link.client_token(),
            Proto::V6 | Proto::Ddnet => link.is_half_open(),
        }
    }

    fn on_new_connect(&mut self, addr: ClientAddr, slot: Slot, connect: Connect, bytes: &[u8]) -> bool {
        let Some(client_token) = self.verified_token(addr, connect) else {
            self.unknown_sender(addr, bytes);
            return true;
        };
        let current = slot.current.and_then(|id| self.sessions.links.get(&id));
        let mut beside = false;
        if let (Some(link), Some(id)) = (current, slot.current) {
            if link.is_closing() {
                self.with_link(id, |link, _, env| link.leave(env));
            } else if link.proto() == Proto::V6 && connect.proto != Proto::V7 {
                // Without tokens only the old session's silence distinguishes a restart from a late copy.
                if link.is_half_open() || link.client_silence(self.env.now) < TOKENLESS_SILENCE {
                    self.with_link(id, |link, _, env| link.on_repeated_connect(bytes, env));
                    return true;
                }
                self.with_link(id, |link, _, env| link.leave(env));
            } else {
                beside = true;
            }
        }
        if let (true, Some(old)) = (beside, slot.candidate) {
            self.with_link(old, |link, _, env| link.leave(env));
        }
        self.open(addr, connect, client_token, beside, bytes);
        true
    }

    /// The client's own token, when the connect proves that its address is real where the protocol can.
    /// `None` = the proof is wrong; `Some(None)` = the protocol names no token.
    fn verified_token(&self, addr: ClientAddr, connect: Connect) -> Option<Option<Token>> {
        let (Some(shown), Some(named)) = (connect.shown, connect.client_token) else {
            return Some(connect.client_token);
        };
        let is_answer = |named: &Token| self.tokens.token(addr.addr, Purpose::Named(*named)) == shown;
        if named == Token::TKEN {
            return self.named.of(addr.addr).find(is_answer).map(Some);
        }
        // A server's token does not depend on the client's: it accepts a CONNECT that names another one than the TOKEN
        // request did, and uses that one (Teeworlds 0.7.5, network_conn.cpp and network_token.cpp).
        self.has_given(addr, shown, named).then_some(Some(named))
    }

    /// Returns true if this address was given the token: for the token that it names now or for one it named before.
    pub(super) fn has_given(&self, addr: ClientAddr, shown: Token, named: Token) -> bool {
        let mut requested = std::iter::once(named).chain(self.named.of(addr.addr));
        requested.any(|named| self.tokens.token(addr.addr, Purpose::Named(named)) == shown)
    }

    fn open(
        &mut self,
        addr: ClientAddr,
        connect: Connect,
        client_token: Option<Token>,
        beside: bool,
        bytes: &[u8],
    ) {
        self.make_room(addr);
        let id = self.sessions.next_id();
        let upstream = self.sessions.next_upstream(Owner::Session(id));
        let purpose = client_token.map_or(Purpose::Session(id.0), Purpose::Named);
        let opened = Opened {
            id,
            client: addr,
            server: self.env.listeners.server(addr.listener),
            listen_port: self.env.listeners.port(addr.listener),
            upstream,
            requested: connect.proto,
            client_token,
            // The client goes on showing the token that it was given.
            token: connect
                .shown
                .unwrap_or_else(|| self.tokens.token(addr.addr, purpose)),
            own: self.tokens.token(addr.addr, Purpose::Upstream(upstream.0)),
            at: self.env.now,
            is_candidate: beside,
        };
        let link = Link::open(opened, bytes, &mut self.env);
        let slot = self.sessions.slots.entry(addr).or_default();
        if beside {
            slot.candidate = Some(id);
            let current = slot.current;
            self.notice_stranger(Kind::Candidate, current, || Notice::Candidate);
        } else {
            slot.current = Some(id);
            self.stats.opened += 1;
        }
        self.sessions.links.insert(id, link);
        self.with_link(id, |_, _, _| ());
    }

    /// Sessions that are not online are bounded, those included that linger after a refusal or a CLOSE: otherwise a
    /// flood of refused clients would have a socket each. Those that linger give way first, then the oldest.
    fn make_room(&mut self, addr: ClientAddr) {
        while let Some(id) = self.one_too_many(addr) {
            if self.sessions.links.get(&id).is_some_and(Link::is_half_open) {
                self.notice_stranger(Kind::HalfOpenLimit, Some(id), || Notice::HalfOpenLimit);
            }
            self.with_link(id, |link, _, env| link.leave(env));
        }
    }

    /// Returns the session that has to go before one more can be opened for that address.
    fn one_too_many(&self, addr: ClientAddr) -> Option<SessionId> {
        let first = |links: &mut dyn Iterator<Item = &Link>, most: usize| {
            let (mut count, mut first) = (0, None);
            for link in links.filter(|link| !link.is_online()) {
                count += 1;
                let turn = (link.is_half_open(), link.opened_at(), link.id());
                first = Some(first.map_or(turn, |first| turn.min(first)));
            }
            first.filter(|_| count >= most).map(|(_, _, id)| id)
        };
        let ip = addr.addr.ip();
        let mut of_ip = self
            .sessions
            .links
            .values()
            .filter(|link| link.client_addr().addr.ip() == ip);
        let of_ip = first(&mut of_ip, MAX_HALF_OPEN_PER_IP).filter(|_| !ip.is_loopback());
        of_ip.or_else(|| first(&mut self.sessions.links.values(), MAX_HALF_OPEN))
    }
}
