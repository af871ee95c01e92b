//! All sessions on the listen socket of one server, and on the listen sockets that its redirects requested.

mod admit;
mod browser;
mod browsing;
mod candidates;
mod commands;
mod crowd;
mod ended;
mod families;
mod forms;
mod list;
mod listening;
mod named;
mod outside;
mod sessions;
mod stateless;
mod stats;
mod strangers;
mod unproven;

use teetap_rules::{Decision, GameEntry, Report};
use teetap_wire::{Code, First, Scratch, Side, Token, detect, is_connless};

use self::{
    browser::Browser,
    crowd::Crowd,
    ended::Ended,
    families::Families,
    named::NamedTokens,
    outside::DelayedConnless,
    sessions::{Owner, Sessions},
    stateless::Stateless,
    strangers::{Kind, Strangers},
};
use super::{
    Answer, ClientAddr, Command, Config, EventKind, Input, ListenerId, Notice, OpensNothing, Output, Route,
    SessionId, Time, UpstreamId,
    lanes::Lanes,
    link::{Admission, Buffers, Env, Link},
    outbox::{Destination, Outbox},
    redirect::Listeners,
    timers::{Timer, Timers},
    tokens::{Purpose, Tokens},
};

pub use self::list::Listed;
pub use self::stats::{Stats, Traffic};

/// The session core. The module documentation of [`super`] describes how to drive it.
pub struct Hub {
    env: Env,
    scratch: Scratch,
    sessions: Sessions,
    browser: Browser,
    late: DelayedConnless,
    tokens: ClientTokens,
    admission: Admitting,
    ended: Ended,
    timers: Timers,
    counters: Counters,
    /// Sessions in which the window of a link line has begun or ended while this input was handled.
    unsettled: Vec<SessionId>,
}

/// The tokens on the client legs.
struct ClientTokens {
    own: Tokens,
    named: NamedTokens,
}

/// The state on which the answers to clients without a session depend.
#[derive(Default)]
struct Admitting {
    crowd: Crowd,
    stateless: Stateless,
    families: Families,
}

/// Counters of the traffic and of the notices about strangers.
#[derive(Default)]
struct Counters {
    stats: Stats,
    strangers: Strangers,
}

impl Hub {
    /// Returns a hub without sessions.
    #[must_use]
    pub fn new(config: Config, route: Route) -> Self {
        Self {
            tokens: ClientTokens {
                own: Tokens::new(config.secret),
                named: NamedTokens::default(),
            },
            env: Env {
                now: Time::ZERO,
                out: Outbox::new(config.events),
                config,
                work: Buffers::default(),
                program: None,
                shared: teetap_rules::Shared::default(),
                outside: None,
                browsing: Lanes::default(),
                listeners: Listeners::new(route),
            },
            scratch: Scratch::default(),
            sessions: Sessions::default(),
            browser: Browser::default(),
            late: DelayedConnless::default(),
            admission: Admitting::default(),
            ended: Ended::default(),
            timers: Timers::default(),
            counters: Counters::default(),
            unsettled: Vec::new(),
        }
    }

    /// Changes the events to emit from now on. The datagrams that are sent do not depend on them.
    pub fn watch(&mut self, events: super::Events) {
        self.env.out.watch(events);
    }

    /// Handles an input. Time never moves backwards: if `now` is earlier than the time of the previous input,
    /// that time is used instead.
    pub fn handle(&mut self, now: Time, input: Input<'_>) {
        self.env.now = self.env.now.max(now);
        self.env.out.reset();
        match input {
            Input::FromClient {
                listener,
                addr,
                bytes,
            } => {
                self.counters.stats.traffic.c2s.count(bytes.len());
                self.on_client(ClientAddr { addr, listener }, bytes);
            }
            Input::FromServer { upstream, bytes } => {
                self.counters.stats.traffic.s2c.count(bytes.len());
                self.on_server(upstream, bytes);
            }
            Input::UpstreamOpened { upstream, local } => {
                if let Some(id) = self.sessions.of_upstream(upstream) {
                    self.with_link(id, |link, scratch, env| {
                        link.on_upstream_open(local, scratch, env)
                    });
                }
            }
            Input::UpstreamFailed {
                upstream,
                error,
                exhausted,
            } => self.on_upstream_failed(upstream, error, exhausted),
            Input::ListenerOpened { listener, local } => self.on_listener_opened(listener, local),
            Input::ListenerFailed { listener, error } => self.on_listener_failed(listener, error),
            Input::Unreachable { upstream, error } => self.on_unreachable(upstream, error),
            Input::Probed(speaks) => self.on_probed(speaks),
            Input::Timeout => {}
            Input::Program(program) => {
                self.env.set_program(program);
                self.each_link(Link::on_program);
            }
            Input::Command { id, command } => {
                let held = match command {
                    Command::List { session } => Some(self.held(session)),
                    _ => None,
                };
                let result = self.on_command(&command);
                let answer = Answer {
                    id,
                    result: result.map_err(Into::into),
                    held: held.filter(|_| result.is_ok()),
                };
                self.env
                    .out
                    .event(self.env.now, command.session(), EventKind::Answer(answer));
            }
            Input::Shutdown { reason } => self.each_link(|link, env| {
                // The peers get their CLOSE regardless of links and rules.
                link.close_links();
                link.end_rules(env);
                link.close(None, reason, env);
                link.finish(env);
            }),
        }
        self.run_timers();
        for id in self.unsettled.drain(..) {
            if let Some(link) = self.sessions.links.get_mut(&id) {
                link.settle_windows();
            }
        }
        self.env.settle_browsing();
    }

    /// Returns the next output; `None` if there is none left.
    pub fn poll(&mut self) -> Option<Output<'_>> {
        self.env.out.poll()
    }

    /// Returns the time by which [`Input::Timeout`] has to be handled; `None` if no timer is set.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.timers.first()
    }

    /// Returns the traffic so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.counters.stats
    }

    /// Records the decisions of rules and link lines from now on, for [`Self::decisions`].
    pub fn record_decisions(&mut self) {
        self.env.shared.record();
    }

    /// Removes and returns the decisions since the last call; none unless they are recorded.
    pub fn decisions(&mut self) -> Vec<Decision> {
        self.env.shared.decisions()
    }

    /// Removes and returns the entries into the game since the last call. There are none unless a program is
    /// set and decisions are recorded.
    pub fn entries(&mut self) -> Vec<GameEntry> {
        self.env.shared.entries()
    }

    /// Returns the rules and link lines with their effects so far.
    #[must_use]
    pub fn report(&self) -> Report {
        let program = self.env.program.as_ref();
        program
            .map(|program| program.report(&self.env.shared))
            .unwrap_or_default()
    }

    /// Returns the number of sessions, including sessions that are opening or closing.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.sessions.links.len()
    }

    /// Returns the current session of a client. A bare address means a client of the first listen socket.
    #[must_use]
    pub fn session_of(&self, client: impl Into<ClientAddr>) -> Option<SessionId> {
        self.sessions.slot(client.into()).current
    }

    fn on_client(&mut self, addr: ClientAddr, bytes: &[u8]) {
        if is_connless(bytes) {
            self.browse_ruled(addr, bytes);
            return;
        }
        let slot = self.sessions.slot(addr);
        let Some(current) = slot.current else {
            self.admit(addr, slot, bytes, None);
            return;
        };
        let plain = self.readable_form(addr, bytes, Some(current));
        let request = plain.as_deref().unwrap_or(bytes);
        if self.is_request_to(current, request) && self.admit(addr, slot, bytes, Some(current)) {
            return;
        }
        if let Some(candidate) = slot.candidate
            && self
                .sessions
                .links
                .get(&candidate)
                .is_some_and(|link| link.is_shown_own_token(bytes, &mut self.scratch))
        {
            self.promote(addr, current, candidate);
            if let Err(code) = self.client_datagram(candidate, bytes) {
                self.refuse(candidate, bytes, code);
            }
            return;
        }
        if let Err(code) = self.client_datagram(current, bytes)
            && !self.admit(addr, slot, bytes, Some(current))
        {
            self.refuse(current, bytes, code);
        }
    }

    fn refuse(&mut self, id: SessionId, bytes: &[u8], code: Code) {
        self.counters.stats.refused += 1;
        self.with_link(id, |link, _, env| {
            link.report_refused(Side::Client, bytes, code, env)
        });
    }

    fn client_datagram(&mut self, id: SessionId, bytes: &[u8]) -> Result<(), Code> {
        match self.with_link(id, |link, scratch, env| link.on_client(bytes, scratch, env)) {
            Some(Admission::No(code)) => Err(code),
            _ => Ok(()),
        }
    }

    fn on_server(&mut self, upstream: UpstreamId, bytes: &[u8]) {
        match self.sessions.owners.get(&upstream).copied() {
            Some(Owner::Session(id)) if is_connless(bytes) => self.connless_ruled(id, bytes),
            Some(Owner::Session(id)) => self.session_datagram(id, bytes),
            Some(Owner::Relay(addr)) => self.browse_back_ruled(addr, bytes),
            None => self.counters.stats.refused += 1,
        }
    }

    fn on_upstream_failed(&mut self, upstream: UpstreamId, error: &str, exhausted: bool) {
        let owner = self.sessions.owners.get(&upstream).copied();
        let session = match owner {
            Some(Owner::Session(id)) => Some(id),
            Some(Owner::Relay(_)) | None => None,
        };
        let has_room = exhausted && owner.is_some() && self.free_socket(session);
        match owner {
            Some(Owner::Session(id)) => {
                self.with_link(id, |link, _, env| {
                    link.on_upstream_failed(error, env);
                    if has_room {
                        link.send_request(env);
                    }
                });
            }
            Some(Owner::Relay(addr)) => {
                // The next request of the browser opens a new relay.
                self.close_relay(addr);
                let notice = Notice::UpstreamFailed { error: error.into() };
                self.env.out.event(self.env.now, None, EventKind::Notice(notice));
            }
            None => {}
        }
    }

    fn on_unreachable(&mut self, upstream: UpstreamId, error: &str) {
        match self.sessions.owners.get(&upstream).copied() {
            Some(Owner::Session(id)) => {
                self.with_link(id, |link, _, env| link.on_unreachable(error, env));
            }
            Some(Owner::Relay(_)) => {
                self.env.out.event(
                    self.env.now,
                    None,
                    EventKind::Notice(Notice::UpstreamUnreachable { error: error.into() }),
                );
            }
            None => {}
        }
    }

    /// Runs `act` on a session and then updates the hub: counters, timers, and removal if the session is
    /// closed.
    fn with_link<T>(
        &mut self,
        id: SessionId,
        act: impl FnOnce(&mut Link, &mut Scratch, &mut Env) -> T,
    ) -> Option<T> {
        let link = self.sessions.links.get_mut(&id)?;
        let was_online = link.is_online();
        let result = act(link, &mut self.scratch, &mut self.env);
        self.counters.stats.sessions += u64::from(link.is_online() && !was_online);
        if link.has_unsettled_windows() {
            self.unsettled.push(id);
        }
        if link.is_closed() {
            self.remove(id);
        } else if let Some(at) = link.deadline() {
            self.timers.set(Timer::Session(id), &mut link.alarm, at);
        }
        Some(result)
    }

    fn each_link(&mut self, mut act: impl FnMut(&mut Link, &mut Env)) {
        let ids: Vec<SessionId> = self.sessions.links.keys().copied().collect();
        for id in ids {
            self.with_link(id, |link, _, env| act(link, env));
        }
    }

    fn remove(&mut self, id: SessionId) {
        let Some((mut link, promoted)) = self.sessions.remove(id) else {
            return;
        };
        if link.shares_socket() && self.sessions.of_upstream(link.upstream()).is_none() {
            self.env.out.close(link.upstream());
        }
        self.timers.clear(Timer::Session(id), &mut link.alarm);
        self.ended.remember(&link);
        if let Some(next) = promoted {
            self.announce(next, Link::promote);
        }
    }

    fn run_timers(&mut self) {
        while let Some(timer) = self.timers.pop_due(self.env.now) {
            match timer {
                Timer::Session(id) => {
                    self.with_link(id, |link, _, env| {
                        link.alarm.clear();
                        link.on_timeout(env);
                    });
                    if let Some(link) = self.sessions.links.get_mut(&id) {
                        self.timers.postpone(timer, &mut link.alarm, self.env.now);
                    }
                }
                Timer::Relay(addr) => self.on_relay_alarm(addr),
                Timer::Late => self.on_late(),
                Timer::Browsing => self.on_browsing(),
                Timer::Strangers => self.on_strangers(),
            }
        }
    }

    /// Sends the datagram that `write` appends to an empty buffer, for datagrams that belong to no session:
    /// token requests of browser relays, and answers that keep no state.
    fn transmit(&mut self, to: Destination, write: impl FnOnce(&mut Vec<u8>)) {
        self.env.out.send(to, write);
    }

    fn unknown_sender(&mut self, addr: ClientAddr, bytes: &[u8]) {
        self.counters.stats.refused += 1;
        let what = match OpensNothing::classify(bytes) {
            OpensNothing::ForeignToken if self.is_token_reversed(addr, bytes) => OpensNothing::ReversedToken,
            what => what,
        };
        self.notice_stranger(Kind::UnknownSender, None, || {
            Notice::unknown_sender(addr.addr, bytes, what)
        });
    }

    /// Returns true for a CONNECT of 0.7 whose header contains the sender's token with its bytes in reverse
    /// order.
    fn is_token_reversed(&self, addr: ClientAddr, bytes: &[u8]) -> bool {
        let First::Connect7 { header_token, token } = detect(bytes) else {
            return false;
        };
        let Token([a, b, c, d]) = self.tokens.own.token(addr.addr, Purpose::Named(token));
        header_token == Token([d, c, b, a])
    }
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub")
            .field("now", &self.env.now)
            .field("sessions", &self.sessions.links.len())
            .finish_non_exhaustive()
    }
}
