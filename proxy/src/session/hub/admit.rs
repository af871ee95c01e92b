//! The admission of clients: TOKEN requests, first and repeated CONNECTs, and CONNECTs of clients that restarted.
//!
//! One late, duplicated or spoofed CONNECT must never end a good session, and a real restart must work. So a
//! CONNECT on a live session is either a repetition, which is answered again, or it opens a candidate beside
//! the session. The candidate replaces the session only when the client sends the token that the candidate
//! was given.

use std::time::Duration;

use teetap_wire::{Code, First, Flags, Header, Proto, Seq, Token, control, detect, write};

use super::{
    Env, Hub, Link, Notice, SessionId,
    crowd::Cost,
    sessions::{Owner, Slot},
    strangers::Kind,
};
use crate::session::{
    ClientAddr, EventKind,
    link::{Opened, Standing},
    outbox::Destination,
    tokens::Purpose,
};

/// Maximum time for which a client that was answered without a session repeats its CONNECT.
const ANSWERED: Duration = Duration::from_secs(5);
/// Maximum age of a token that a Teeworlds server accepts. It accepts the tokens of its last two seeds, each of
/// which lasts 16 s (0.7.5, network_token.cpp, `CheckToken`).
const TOKEN_LIFE: Duration = Duration::from_secs(32);
/// Maximum size in bytes of a packet that servers of Teeworlds 0.7 read; they drop a longer one (0.7.5,
/// network.cpp, `UnpackPacket`).
const MAX_SEVEN: usize = 1398;
/// Size in bytes of the header of 0.7.
const HEADER: usize = 7;
/// Size in bytes of DDNet's longest answer to a TOKEN request, without the header.
const DDNET_REPLY: usize = 513;
/// Time for which a candidate that waits for the server's answer is not replaced by another CONNECT.
const UNDECIDED: Duration = Duration::from_secs(1);

/// The parts of a CONNECT that admission needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Connect {
    pub(super) proto: Proto,
    /// The token that the client names.
    pub(super) client_token: Option<Token>,
    /// The proxy's token that the client sends; 0.7 only.
    shown: Option<Token>,
}

/// A granted request for a session.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) proto: Proto,
    /// The token that the client named.
    pub(super) client_token: Option<Token>,
    /// The proxy's token that the client already sends.
    pub(super) token: Option<Token>,
    pub(super) standing: Standing,
    /// True if the new session waits beside a live one.
    pub(super) beside: bool,
    /// The session whose socket the new session shares.
    pub(super) shares: Option<SessionId>,
}

/// The relation of a new CONNECT to the session of its address.
#[derive(Clone, Copy, Debug)]
enum Relation {
    /// The address has no session.
    New,
    /// The new session replaces the session with this id.
    Instead(SessionId),
    /// The new session waits beside the session of the address.
    Beside,
    /// The CONNECT is a copy of the CONNECT that opened the session with this id, or looks like one.
    Copy(SessionId),
}

impl Hub {
    /// Returns true if a datagram has the form of a CONNECT or TOKEN request, and no other datagram of the session's
    /// protocol has that form. 0.6 never sets the bit that marks control packets of 0.7, but compressed data of 0.7
    /// begins like a CONNECT of 0.6.
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
        let plain = self.readable_form(addr, bytes, current);
        let connect = match detect(plain.as_deref().unwrap_or(bytes)) {
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
            // Compressed data of 0.7 that its session refused, with a token whose first byte is 01.
            First::Connect { .. } if self.is_seven(current) && bytes.get(2) != Some(&0) => return false,
            First::Connect { proto, token } => {
                // DDNet's CONNECT has an empty field for a token.
                let client_token = token.filter(|token| *token != Token::NONE);
                Connect {
                    proto,
                    client_token,
                    shown: None,
                }
            }
            First::Close | First::MidSession | First::Noise | First::Connless(_) => {
                if self.admit_late(addr, slot, bytes) || self.admit_first_packet(addr, slot, bytes) {
                    return true;
                }
                if current.is_none() && !self.answer_ended(addr, bytes) {
                    self.unknown_sender(addr, bytes);
                }
                return false;
            }
        };
        if self.env.config.proto.is_some_and(|only| only != connect.proto) {
            self.counters.stats.refused += 1;
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

    /// Answers a TOKEN request of 0.7 without state. The answer is never larger than the request.
    fn on_token_request(
        &mut self,
        addr: ClientAddr,
        token: Token,
        header_token: Token,
        padded: bool,
        bytes: &[u8],
        current: Option<SessionId>,
    ) -> bool {
        // DDNet does not check the token here (16.4, network_server.cpp, `OnSixupCtrlMsg`).
        let is_ddnet = self.admission.families.are_both(addr.listener);
        if header_token != Token::NONE && (current.is_some() || !is_ddnet) {
            // A request with the proxy's token changes the token of a live session, which the session handles
            // itself.
            if current.is_none() && !self.answer_ended(addr, bytes) {
                self.unknown_sender(addr, bytes);
            }
            return false;
        }
        let is_long = bytes.len() > MAX_SEVEN && !is_ddnet;
        if !padded || is_long || self.env.config.proto.is_some_and(|only| only != Proto::V7) {
            self.unknown_sender(addr, bytes);
            return true;
        }
        if let Some(id) = current.filter(|id| self.keeps_tokens(*id)) {
            self.with_link(id, |link, _, env| link.pass_token_request(token, bytes, env));
            return true;
        }
        if current.is_some_and(|id| self.queue_after_connect(id, bytes)) {
            return true;
        }
        let six = self.sessions.at(addr.addr).find(|id| self.speaks_v6(*id));
        if let Some(id) = six {
            self.refuse(id, bytes, Code::UnknownFlags);
            return true;
        }
        if self.is_in_vain(addr, token, bytes) {
            return true;
        }
        let mark = self.env.out.mark();
        self.give_token(addr, token, bytes.len());
        self.report_exchange(addr, Proto::V7, bytes, mark);
        true
    }

    /// Sends the answer to a TOKEN request of `size` bytes, once for each copy that the rules allow.
    pub(super) fn give_token(&mut self, addr: ClientAddr, token: Token, size: usize) {
        self.tokens.named.remember(addr.addr, token, self.env.now);
        let ours = self.tokens.own.token(addr.addr, Purpose::Named(token));
        let mut payload = Vec::new();
        control::token_reply(ours, &mut payload);
        if token == Token::NONE && self.admission.families.are_both(addr.listener) {
            // DDNet answers like this to a request that names no token (16.4, network_server.cpp,
            // `SendTokenSixup`).
            payload.resize(DDNET_REPLY.min(size.saturating_sub(HEADER)), 0);
        }
        let header = Header {
            flags: Flags::CONTROL,
            ack: Seq::ZERO,
            num_chunks: 0,
            token: Some(token),
        };
        for _ in 0..self.rule_token_request(token, size) {
            self.transmit(Destination::Client(addr), |out| {
                write(Proto::V7, &header, &payload, None, out)
            });
        }
    }

    /// Returns true if a client of 0.6 may still play at the address of this session, because its server would not
    /// have dropped it yet. A 0.7 request from that address is then considered forged, since the answer would crash
    /// DDNet 16.4.
    fn speaks_v6(&self, id: SessionId) -> bool {
        self.sessions.links.get(&id).is_some_and(|link| {
            let may_play = link.is_online() && !link.is_given_up(self.env.now);
            may_play && link.proto() != Proto::V7
        })
    }

    /// Returns true if the server may have a slot for the client of a session. While the server has one, it answers
    /// no TOKEN request of the client.
    fn keeps_tokens(&self, id: SessionId) -> bool {
        self.sessions.links.get(&id).is_some_and(Link::keeps_tokens)
    }

    fn is_seven(&self, id: Option<SessionId>) -> bool {
        let link = id.and_then(|id| self.sessions.links.get(&id));
        link.is_some_and(|link| link.proto() == Proto::V7)
    }

    /// Returns true for a repeated CONNECT: it names the same client token, or the client has not sent data
    /// yet.
    fn is_repeat(&self, id: SessionId, connect: Connect) -> bool {
        let Some(link) = self.sessions.links.get(&id) else {
            return false;
        };
        if link.requested() != connect.proto || link.is_closing() {
            return false;
        }
        match connect.proto {
            Proto::V7 => connect.shown == Some(link.token()) && !link.has_renewed_token(),
            // The session was opened after its client was answered without one, so the token that the client
            // named is unknown.
            Proto::V65 if link.client_token().is_none() => self.env.now.since(link.opened_at()) < ANSWERED,
            Proto::V65 => connect.client_token == link.client_token(),
            Proto::V6 | Proto::Ddnet => link.is_half_open(),
        }
    }

    fn on_new_connect(&mut self, addr: ClientAddr, slot: Slot, connect: Connect, bytes: &[u8]) -> bool {
        let Some(client_token) = self.verified_token(addr, connect) else {
            self.on_unproven_connect(addr, slot, connect, bytes);
            return true;
        };
        let relation = self.relation(slot, connect);
        let named_otherwise = connect.shown.is_some_and(|shown| {
            let named = client_token.map(Purpose::Named);
            named.is_some_and(|named| self.tokens.own.token(addr.addr, named) != shown)
        });
        let cost = match relation {
            Relation::Copy(id) => {
                self.with_link(id, |link, _, env| link.on_repeated_connect(bytes, env));
                return true;
            }
            _ if connect.shown.is_some() => Cost::Proved,
            Relation::New => Cost::Unproved((addr.listener, connect.proto)),
            Relation::Instead(_) | Relation::Beside => Cost::Beside,
        };
        let stays = self.candidate_stays(addr, slot, connect);
        if stays || !self.make_room(addr, cost) {
            self.answer_without_session(addr, connect, bytes);
            return true;
        }
        if let Some(old) = slot.candidate {
            self.with_link(old, |link, _, env| link.leave(env));
        }
        let request = Request {
            proto: connect.proto,
            client_token,
            token: connect.shown,
            standing: cost.standing(),
            beside: matches!(relation, Relation::Beside),
            shares: slot.current.filter(|id| self.is_shareable(*id)),
        };
        self.open(addr, request, |opened, env| Link::open(opened, bytes, env));
        if let Relation::Instead(id) = relation {
            self.with_link(id, |link, _, env| link.leave(env));
        }
        if named_otherwise {
            let slot = self.sessions.slot(addr);
            let notice = EventKind::Notice(Notice::OtherName);
            self.env
                .out
                .event(self.env.now, slot.candidate.or(slot.current), notice);
        }
        true
    }

    /// Returns true if a new session of the client can share the socket of this session: the server has let the
    /// client in on that socket, and identifies the client by the address of the socket.
    fn is_shareable(&self, id: SessionId) -> bool {
        let link = self.sessions.links.get(&id);
        link.is_some_and(|link| link.local().is_some() && (link.is_online() || link.is_closing()))
    }

    /// Returns true if this CONNECT must not replace the candidate. Otherwise any host could send CONNECTs
    /// with the client's address and end each candidate before the server answers it.
    fn candidate_stays(&self, addr: ClientAddr, slot: Slot, connect: Connect) -> bool {
        let candidate = slot.candidate.and_then(|id| self.sessions.links.get(&id));
        let is_undecided = |link: &Link| {
            link.answer().is_none() && link.is_half_open() && self.env.now.since(link.opened_at()) < UNDECIDED
        };
        if connect.shown.is_some() {
            // The address is proven, since the CONNECT contains a token of the proxy.
            return false;
        }
        // A candidate whose client has sent a token of the proxy is not replaced for a CONNECT that may be
        // forged.
        let is_proved = |link: &Link| link.standing() == Standing::Proved && link.is_half_open();
        candidate.is_some_and(|link| {
            is_proved(link) || is_undecided(link) || self.stateless_answer(addr, connect).is_some()
        })
    }

    /// Returns the relation of a CONNECT that is not a repetition to the session of its address.
    fn relation(&self, slot: Slot, connect: Connect) -> Relation {
        let current = slot
            .current
            .and_then(|id| Some((id, self.sessions.links.get(&id)?)));
        let Some((id, link)) = current else {
            return Relation::New;
        };
        if link.is_closing() {
            return Relation::Instead(id);
        }
        if link.proto() != Proto::V6 || connect.proto == Proto::V7 {
            return Relation::Beside;
        }
        if link.is_half_open() {
            // The CONNECT that led to a session without tokens may be forged, to make the client play without
            // them. A CONNECT that may lead to tokens is preferred.
            return match connect.proto == Proto::V6 || link.tried().contains(connect.proto) {
                true => Relation::Copy(id),
                false => Relation::Beside,
            };
        }
        // Without tokens only the server knows whether the client is still connected.
        Relation::Copy(id)
    }

    /// Returns the token that the client names, if the CONNECT proves its address as far as the protocol
    /// allows. `None` if the proof is wrong; `Some(None)` if the protocol names no token.
    fn verified_token(&self, addr: ClientAddr, connect: Connect) -> Option<Option<Token>> {
        let (Some(shown), Some(named)) = (connect.shown, connect.client_token) else {
            return Some(connect.client_token);
        };
        let is_answer = |named: &Token| self.tokens.own.token(addr.addr, Purpose::Named(*named)) == shown;
        if named == Token::TKEN && self.env.config.heals {
            return self
                .tokens
                .named
                .tokens_named_by(addr.addr)
                .find(is_answer)
                .map(Some);
        }
        // A server's token does not depend on the client's. The server accepts a CONNECT that names another
        // token than the TOKEN request did, and uses that token (Teeworlds 0.7.5, network_conn.cpp and
        // network_token.cpp).
        self.has_given(addr, shown, named).then_some(Some(named))
    }

    /// Returns true if the proxy gave the token `shown` to this address, in answer to a request that named `named`
    /// or an earlier token, and if the client's server would still accept a token of that age.
    pub(super) fn has_given(&self, addr: ClientAddr, shown: Token, named: Token) -> bool {
        let mut requested = std::iter::once(named).chain(self.tokens.named.tokens_named_by(addr.addr));
        let named = requested.find(|named| self.tokens.own.token(addr.addr, Purpose::Named(*named)) == shown);
        let is_over =
            |at| self.env.now.since(at) > TOKEN_LIFE && !self.admission.families.keep_tokens(addr.listener);
        named.is_some_and(|named| {
            !self
                .tokens
                .named
                .requested_at(addr.addr, named)
                .is_some_and(is_over)
        })
    }

    /// Opens a session.
    pub(super) fn open(
        &mut self,
        addr: ClientAddr,
        request: Request,
        link: impl FnOnce(Opened, &mut Env) -> Link,
    ) {
        let Request {
            proto,
            client_token,
            token,
            standing,
            beside,
            shares,
        } = request;
        let id = self.sessions.next_id();
        let shared = shares.and_then(|id| self.sessions.links.get_mut(&id));
        let shared = shared.and_then(|link| {
            link.set_shares_socket(true);
            Some((link.upstream(), link.local()?))
        });
        let (upstream, own) = match shared {
            Some((upstream, _)) => (upstream, Purpose::Name(id.0, Token::NONE)),
            None => {
                let upstream = self.sessions.next_upstream(Owner::Session(id));
                (upstream, Purpose::Upstream(upstream.0))
            }
        };
        let purpose = client_token.map_or(Purpose::Session(id.0), Purpose::Named);
        let opened = Opened {
            id,
            client: addr,
            server: self.env.listeners.server(addr.listener),
            listen_port: self.env.listeners.port(addr.listener),
            upstream,
            requested: proto,
            client_token,
            // The client continues to send the token that it was given.
            token: token.unwrap_or_else(|| self.tokens.own.token(addr.addr, purpose)),
            own: self.tokens.own.token(addr.addr, own),
            tokens: self.tokens.own,
            at: self.env.now,
            is_candidate: beside,
            shared: shared.map(|(_, local)| local),
            standing,
        };
        let link = link(opened, &mut self.env);
        let slot = self.sessions.slots.entry(addr).or_default();
        if beside {
            slot.candidate = Some(id);
            let current = slot.current;
            self.notice_stranger(Kind::Candidate, current, || Notice::Candidate);
        } else {
            slot.current = Some(id);
            self.counters.stats.opened += 1;
        }
        self.sessions.links.insert(id, link);
        if !beside {
            self.report_family(id);
        }
        self.with_link(id, |_, _, _| ());
    }
}
