//! Connless traffic: a client's server browser sends its requests to the proxy as if the proxy were the
//! server.
//!
//! Each requesting address has its own upstream socket (a relay), so that the proxy can tell whose request
//! the server answers, and sessions are not disturbed. The number of relays is bounded, and idle relays are
//! closed. 0.7 requires a token exchange first. The proxy performs it on both legs and replaces both tokens
//! of the header.

use std::{collections::BTreeMap, time::Duration};

use teetap_wire::{
    Connless as Wire, Control, Dir, Flags, Header, Packet, Proto, Seq, Token, control, is_connless, write,
    write_v7,
};

use super::{Hub, Notice, OpensNothing, sessions::Owner, strangers::Kind};
use crate::session::{
    ClientAddr, Connless, Ends, EventKind, ListenerId, SessionId, Time, UpstreamId,
    datagram::readable,
    outbox::Destination,
    timers::{Alarm, Timer},
    tokens::Purpose,
};

/// Maximum number of relays. A further relay replaces the least recently used one.
const MAX_RELAYS: usize = 64;
/// Time after which an idle relay is closed.
const IDLE: Duration = Duration::from_secs(10);
/// Time within which the server is expected to answer the request of a relay.
const ANSWERED: Duration = Duration::from_secs(1);
/// Maximum requests per relay that wait for the server's token; the oldest is discarded.
const MAX_WAITING: usize = 4;
/// Interval of requests for the server's token while browser requests wait.
const ASK_EVERY: Duration = Duration::from_millis(500);
/// Time without a token from the server after which waiting requests are discarded, as in the game's own
/// client.
const ASK_FOR: Duration = Duration::from_secs(5);
/// Age up to which a server's token is used: 0.7 servers renew their token seed every 16 s and accept the
/// previous one.
const TOKEN_AGE: Duration = Duration::from_secs(14);

/// All relays, by client address.
#[derive(Debug, Default)]
pub(super) struct Browser(BTreeMap<ClientAddr, Relay>);

/// The socket and state for one requesting address.
#[derive(Debug)]
struct Relay {
    upstream: UpstreamId,
    last_used: Time,
    seven: Option<Seven>,
    alarm: Alarm,
}

/// The 0.7 tokens of a relay, and its requests that wait for the server's token.
#[derive(Debug)]
struct Seven {
    /// The token that the client named last.
    client: Token,
    /// The proxy's token that the client sent with `client`.
    ours: Token,
    /// The proxy's token towards the server.
    own: Token,
    /// The server's token and the time at which it was received.
    server: Option<(Token, Time)>,
    waiting: Vec<Box<[u8]>>,
    waiting_since: Time,
    next_ask: Time,
}

impl Hub {
    /// Handles a connless datagram from a client's address.
    pub(super) fn browse(&mut self, addr: ClientAddr, bytes: &[u8]) {
        let bytes = readable(bytes);
        let mark = self.env.out.mark();
        let forwarded = match Wire::parse(bytes) {
            Some(Wire::V7 {
                token,
                response_token,
                data,
            }) => self.browse_seven(addr, token, response_token, data),
            Some(Wire::Plain { .. } | Wire::Extended { .. }) => {
                let upstream = self.relay_for(addr);
                self.transmit_connless(addr, Destination::Server(upstream), false, |out| {
                    out.extend_from_slice(bytes);
                });
                true
            }
            None => false,
        };
        if !forwarded {
            self.counters.stats.refused += 1;
        }
        self.report_connless(Dir::C2s, addr, bytes, forwarded, mark);
        if let Some(Wire::V7 { .. }) = Wire::parse(bytes).filter(|_| !forwarded) {
            self.notice_stranger(Kind::UnknownSender, None, || {
                Notice::unknown_sender(addr.addr, bytes, OpensNothing::BrowserToken)
            });
        }
    }

    /// Forwards a 0.7 request. Returns false unless it contains a token that the proxy gave to this address.
    fn browse_seven(&mut self, addr: ClientAddr, token: Token, response_token: Token, data: &[u8]) -> bool {
        if !self.has_given(addr, token, response_token) {
            return false;
        }
        let upstream = self.relay_for(addr);
        let now = self.env.now;
        let own = self.tokens.own.token(addr.addr, Purpose::Upstream(upstream.0));
        let Some(relay) = self.browser.0.get_mut(&addr) else {
            return false;
        };
        let seven = relay.seven.get_or_insert_with(|| Seven {
            client: response_token,
            ours: token,
            own,
            server: None,
            waiting: Vec::new(),
            waiting_since: now,
            next_ask: now,
        });
        (seven.client, seven.ours) = (response_token, token);
        match seven.server {
            Some((server, at)) if now.since(at) < TOKEN_AGE => {
                self.transmit_connless(addr, Destination::Server(upstream), true, |out| {
                    write_v7(server, own, data, out);
                });
            }
            _ => {
                if seven.waiting.is_empty() {
                    seven.waiting_since = now;
                    seven.next_ask = now;
                }
                if seven.waiting.len() >= MAX_WAITING {
                    seven.waiting.remove(0);
                }
                seven.waiting.push(data.into());
                self.relay_timeout(addr);
            }
        }
        true
    }

    /// Handles a datagram of the server on a relay.
    pub(super) fn browse_back(&mut self, addr: ClientAddr, bytes: &[u8]) {
        let bytes = readable(bytes);
        let mark = self.env.out.mark();
        let Some(relay) = self.browser.0.get_mut(&addr) else {
            return;
        };
        relay.last_used = self.env.now;
        let upstream = relay.upstream;
        let forwarded = match (Wire::parse(bytes), &mut relay.seven) {
            (Some(Wire::V7 { token, data, .. }), Some(seven)) if token == seven.own => {
                let (client, ours) = (seven.client, seven.ours);
                self.transmit_connless(addr, Destination::Client(addr), true, |out| {
                    write_v7(client, ours, data, out);
                });
                true
            }
            (Some(Wire::Plain { .. } | Wire::Extended { .. }), _) if !looks_seven(bytes) => {
                self.transmit_connless(addr, Destination::Client(addr), false, |out| {
                    out.extend_from_slice(bytes);
                });
                true
            }
            (None, Some(seven)) => {
                let Some(server) = token_reply(bytes, seven.own, &mut self.scratch) else {
                    return;
                };
                seven.server = Some((server, self.env.now));
                self.admission.families.answered(addr.listener, Proto::V7);
                let own = seven.own;
                for data in std::mem::take(&mut seven.waiting) {
                    self.transmit_connless(addr, Destination::Server(upstream), true, |out| {
                        write_v7(server, own, &data, out);
                    });
                }
                self.answer_unanswered();
                return;
            }
            _ => false,
        };
        self.report_connless(Dir::S2c, addr, bytes, forwarded, mark);
    }

    /// Forwards a connless datagram that the server sent to the socket of a session to the client of that
    /// session.
    pub(super) fn connless_from_game(&mut self, id: SessionId, bytes: &[u8]) {
        let Some(link) = self.sessions.links.get(&id) else {
            return;
        };
        let bytes = readable(bytes);
        let mark = self.env.out.mark();
        let mut datagram = Vec::new();
        match Wire::parse(bytes) {
            Some(Wire::V7 { token, data, .. }) if link.proto() == Proto::V7 && token == link.own() => {
                let (client, ours) = (link.client_token().unwrap_or(Token::NONE), link.token());
                write_v7(client, ours, data, &mut datagram);
            }
            // A 0.7 datagram crashes a client of DDNet 16.4 that is connected in 0.6, and a 0.6 datagram confuses a
            // client of DDNet 20 that is connected in 0.7.
            Some(Wire::Plain { .. } | Wire::Extended { .. })
                if link.proto() != Proto::V7 && !looks_seven(bytes) =>
            {
                datagram.extend_from_slice(bytes);
            }
            _ => {}
        }
        let forwarded = !datagram.is_empty();
        if forwarded {
            self.with_link(id, |link, _, env| {
                link.transmit_connless(env, |out| out.extend_from_slice(&datagram));
            });
        }
        self.report_to_session(id, bytes, forwarded, mark);
    }

    /// Reports a connless datagram that the server sent to the client of a session. The event has the
    /// datagram that was sent since `mark`.
    pub(super) fn report_to_session(&mut self, id: SessionId, bytes: &[u8], forwarded: bool, mark: usize) {
        let Some(link) = self.sessions.links.get(&id) else {
            return;
        };
        let (addr, ends) = (link.client_addr(), link.ends());
        if self.env.out.is_watched_closely() || self.env.out.is_watched() && !forwarded {
            let event = Connless {
                dir: Dir::S2c,
                client: addr.addr,
                bytes: self.late.original.as_deref().unwrap_or(bytes).into(),
                cut: 0,
                forwarded,
                sent: self.env.out.sent_since(mark).next().map(Into::into),
                link: self.env.out.transits_since(mark),
                ends,
                placed: self.late.placed.take(),
                made: self.late.made.take(),
            };
            self.env
                .out
                .event(self.env.now, Some(id), EventKind::Connless(event));
        }
    }

    /// Handles the alarm of a relay.
    pub(super) fn on_relay_alarm(&mut self, addr: ClientAddr) {
        if let Some(relay) = self.browser.0.get_mut(&addr) {
            relay.alarm.clear();
        }
        self.relay_timeout(addr);
    }

    /// Closes an idle relay, or repeats the request for the server's token if it is due.
    fn relay_timeout(&mut self, addr: ClientAddr) {
        let now = self.env.now;
        let Some(relay) = self.browser.0.get_mut(&addr) else {
            return;
        };
        if now.since(relay.last_used) >= IDLE {
            self.close_relay(addr);
            return;
        }
        let upstream = relay.upstream;
        let mut deadline = relay.last_used + IDLE;
        let mut request = None;
        if let Some(seven) = relay.seven.as_mut().filter(|seven| !seven.waiting.is_empty()) {
            if now.since(seven.waiting_since) >= ASK_FOR {
                seven.waiting.clear();
            } else {
                if seven.next_ask <= now {
                    seven.next_ask = now + ASK_EVERY;
                    request = Some(seven.own);
                }
                deadline = deadline.min(seven.next_ask);
            }
        }
        self.timers.set(Timer::Relay(addr), &mut relay.alarm, deadline);
        if let Some(own) = request {
            self.request_token(upstream, own);
        }
    }

    /// Requests the server's token on the relay of a client whose own requests are not answered.
    pub(super) fn ask_for_token(&mut self, addr: ClientAddr, client: Token) {
        let upstream = self.relay_for(addr);
        let own = self.tokens.own.token(addr.addr, Purpose::Upstream(upstream.0));
        let ours = self.tokens.own.token(addr.addr, Purpose::Named(client));
        let now = self.env.now;
        if let Some(relay) = self.browser.0.get_mut(&addr) {
            relay.seven.get_or_insert_with(|| Seven {
                client,
                ours,
                own,
                server: None,
                waiting: Vec::new(),
                waiting_since: now,
                next_ask: now,
            });
            self.request_token(upstream, own);
        }
    }

    /// Requests the server's token.
    fn request_token(&mut self, upstream: UpstreamId, own: Token) {
        let mut payload = Vec::new();
        control::token_request(own, &mut payload);
        let header = Header {
            flags: Flags::CONTROL,
            ack: Seq::ZERO,
            num_chunks: 0,
            token: Some(Token::NONE),
        };
        self.transmit(Destination::Server(upstream), |out| {
            write(Proto::V7, &header, &payload, None, out);
        });
    }

    /// Returns the socket of the relay for an address. Opens a relay if there is none.
    fn relay_for(&mut self, addr: ClientAddr) -> UpstreamId {
        let now = self.env.now;
        if let Some(relay) = self.browser.0.get_mut(&addr) {
            relay.last_used = now;
            return relay.upstream;
        }
        if self.browser.0.len() >= MAX_RELAYS {
            let idlest = self
                .browser
                .0
                .iter()
                .min_by_key(|(_, relay)| relay.last_used)
                .map(|(addr, relay)| (*addr, now.since(relay.last_used) < ANSWERED));
            if let Some((idlest, may_wait)) = idlest {
                self.close_relay(idlest);
                let client = idlest.addr;
                if may_wait {
                    self.notice_stranger(Kind::RelayLimit, None, || Notice::RelayLimit { client });
                }
            }
        }
        let upstream = self.sessions.next_upstream(Owner::Relay(addr));
        self.env
            .out
            .open(upstream, self.env.listeners.server(addr.listener).port());
        let mut relay = Relay {
            upstream,
            last_used: now,
            seven: None,
            alarm: Alarm::default(),
        };
        self.timers.set(Timer::Relay(addr), &mut relay.alarm, now + IDLE);
        self.browser.0.insert(addr, relay);
        upstream
    }

    /// Keeps a relay open for as long as if it had been used at `until`, when a datagram departs.
    pub(super) fn keep_relay(&mut self, addr: ClientAddr, until: Time) {
        if let Some(relay) = self.browser.0.get_mut(&addr) {
            relay.last_used = relay.last_used.max(until);
        }
    }

    pub(super) fn close_relay(&mut self, addr: ClientAddr) {
        if let Some(mut relay) = self.browser.0.remove(&addr) {
            self.sessions.owners.remove(&relay.upstream);
            self.env.out.close(relay.upstream);
            self.timers.clear(Timer::Relay(addr), &mut relay.alarm);
        }
    }

    /// Reports a connless datagram of a relay. The event has the datagram that was sent since `mark`.
    pub(super) fn report_connless(
        &mut self,
        dir: Dir,
        client: ClientAddr,
        bytes: &[u8],
        forwarded: bool,
        mark: usize,
    ) {
        if self.env.out.is_watched_closely() || self.env.out.is_watched() && !forwarded {
            let event = Connless {
                dir,
                client: client.addr,
                bytes: self.late.original.as_deref().unwrap_or(bytes).into(),
                cut: 0,
                forwarded,
                sent: self
                    .env
                    .out
                    .sent_since(mark)
                    .find(|sent| is_connless(sent))
                    .map(Into::into),
                link: self.env.out.transits_since(mark),
                ends: Ends {
                    client: Some(client.addr),
                    upstream: self.browser.0.get(&client).map(|relay| relay.upstream),
                    local: None,
                    listen_port: self.env.listeners.port(client.listener),
                    server_port: (client.listener != ListenerId::FIRST)
                        .then(|| self.env.listeners.server(client.listener).port()),
                    frame: None,
                },
                placed: self.late.placed.take(),
                made: self.late.made.take(),
            };
            self.env.out.event(self.env.now, None, EventKind::Connless(event));
        }
    }
}

/// Returns true if the version bits mark a connless datagram of 0.7, even if its tokens are cut off. DDNet
/// 16.4's client crashes on such a datagram.
fn looks_seven(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|first| first & 0x03 == 0x01)
}

/// Returns the server's token from its answer to the proxy's request.
fn token_reply(bytes: &[u8], own: Token, scratch: &mut teetap_wire::Scratch) -> Option<Token> {
    let packet = Packet::parse(Proto::V7, bytes, scratch).ok()?;
    match packet.control()? {
        Control::Token { token, .. } if packet.header.token == Some(own) => token,
        _ => None,
    }
}
