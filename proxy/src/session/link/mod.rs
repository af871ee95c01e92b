//! One client-server pair: two legs, two directions, one phase.
//!
//! [`Link`] is the state of a session, grouped by the rules that it obeys: `opened`, `socket`, `legs`, `dirs`, `names`, `traits`,
//! `rules`. State that is used in one phase only is part of that phase (`phase`).
//!
//! The other files are the steps. `receive` passes each datagram to the code for its phase, after `skim` has parsed it. `join`
//! and `opening` bring both legs online, `carry` translates the handshake, `arm` starts the renumbering, `relay` forwards
//! datagrams from one leg to the other with their `chunks`, `made` sends the proxy's own messages, `timeout` handles deadlines, and `end` closes
//! the session. `transmit` sends every datagram. `relay` defines the order of the steps for one datagram.

mod arm;
mod carry;
mod chunks;
mod end;
mod env;
mod join;
mod made;
mod names;
mod opened;
mod opening;
mod phase;
mod receive;
mod rejoin;
mod relay;
mod report;
mod ruled;
mod rules;
mod skim;
mod socket;
mod timeout;
mod traits;
mod transmit;

use std::{net::SocketAddr, time::Duration};

use teetap_wire::{Code, Dir, PerDir, PerSide, Proto, Side, Token};

use self::names::Names;
use self::phase::{CLIENT_LATE, Ending, Online, Phase, SERVER_SILENT};
use self::rules::SessionRules;
use self::socket::Socket;
use self::traits::ServerTraits;
use super::{
    ClientAddr, Notice, SessionId, State, Time, UpstreamId,
    lanes::Lanes,
    leg::{EndedLeg, Leg},
    redirect::PendingRedirect,
    splice::Splice,
    timers::Alarm,
};

pub(crate) use self::env::{Buffers, Env};
pub(crate) use self::opened::{Opened, Standing};
pub(crate) use self::ruled::connless;
pub(crate) use self::traits::TokenlessAnswers;

/// The state of one session.
pub(crate) struct Link {
    opened: Opened,
    socket: Socket,
    legs: PerSide<Leg>,
    dirs: PerDir<Splice>,
    names: Names,
    /// The datagram that opened the session. Empty unless the session is a candidate, or the proxy cannot parse the datagram
    /// as a CONNECT although the server may.
    first: Box<[u8]>,
    lanes: Lanes,
    phase: Phase,
    traits: ServerTraits,
    rules: SessionRules,
    /// A redirect of the server that waits for its listen socket.
    redirect: PendingRedirect,
    /// Next time at which the hub handles timeouts of the session.
    pub(crate) alarm: Alarm,
}

/// Whether a session accepted a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    Yes,
    /// The datagram is invalid or belongs to another session, for this reason.
    No(Code),
}

impl Link {
    pub(crate) fn id(&self) -> SessionId {
        self.opened.id
    }

    pub(crate) fn upstream(&self) -> UpstreamId {
        self.opened.upstream
    }

    pub(crate) fn client_addr(&self) -> ClientAddr {
        self.opened.client
    }

    pub(crate) fn requested(&self) -> Proto {
        self.opened.requested
    }

    pub(crate) fn client_token(&self) -> Option<Token> {
        self.opened.client_token
    }

    pub(crate) fn token(&self) -> Token {
        self.opened.token
    }

    /// Returns the proxy's token on the server leg. Only 0.7 uses it.
    pub(crate) fn own(&self) -> Token {
        self.legs.server.token_in.unwrap_or(self.opened.own)
    }

    pub(crate) fn opened_at(&self) -> Time {
        self.opened.at
    }

    pub(crate) fn proto(&self) -> Proto {
        self.legs.client.proto
    }

    /// Returns true if the session connects beside the client's current session, which it may replace.
    pub(crate) fn is_candidate(&self) -> bool {
        self.opened.is_candidate
    }

    pub(crate) fn state(&self) -> State {
        match &self.phase {
            Phase::Online(online) if online.server_accepted => State::Online,
            Phase::Opening(_) | Phase::Answered(_) | Phase::Online(_) => State::Opening,
            Phase::Closing(_) => State::Closing,
            Phase::Closed(_) => State::Closed,
        }
    }

    /// Returns true while no datagram of the server has shown that it accepted the client.
    pub(crate) fn is_half_open(&self) -> bool {
        self.state() == State::Opening
    }

    /// Returns true if the client was answered and has not sent a packet since.
    pub(crate) fn is_answered(&self) -> bool {
        matches!(self.phase, Phase::Answered(_))
    }

    /// Returns true while another session of the client has the same upstream socket.
    pub(crate) fn shares_socket(&self) -> bool {
        self.socket.is_shared
    }

    pub(crate) fn set_shares_socket(&mut self, shares: bool) {
        self.socket.is_shared = shares;
    }

    /// Returns the local address of the upstream socket; `None` until the socket is open.
    pub(crate) fn local(&self) -> Option<SocketAddr> {
        self.socket.local()
    }

    /// Returns the protocol in which the server has answered; `None` before the answer.
    pub(crate) fn answer(&self) -> Option<Proto> {
        self.traits.answer
    }

    /// Returns true if the upstream socket is open.
    pub(crate) fn has_socket(&self) -> bool {
        self.socket.is_open()
    }

    pub(crate) fn standing(&self) -> Standing {
        self.opened.standing
    }

    /// Returns the kinds of CONNECT that the server is known to answer without tokens.
    pub(crate) fn tried(&self) -> TokenlessAnswers {
        self.traits.tokenless_answers(self.opened.requested)
    }

    /// Records that the server answers CONNECTs of the kind `requested` without tokens as well. If this session was answered
    /// without tokens, forwards `connect` through it; the server decides whether to answer.
    pub(crate) fn answers_without_tokens(&mut self, requested: Proto, connect: &[u8], env: &mut Env) {
        self.traits.answers_without_tokens(requested);
        if self.is_answered() && self.traits.is_tokenless() {
            self.connect(connect, env);
        }
    }

    /// Removes and returns the CONNECT that opened a candidate; `None` if the session is not a candidate.
    pub(crate) fn take_connect(&mut self) -> Option<Box<[u8]>> {
        self.opened.is_candidate.then(|| std::mem::take(&mut self.first))
    }

    /// Returns the client leg of a session that the proxy has ended; `None` if the client has no token to send. Also `None` if a
    /// peer has ended the session, because the server would not answer late datagrams either.
    pub(crate) fn ended_leg(&self) -> Option<EndedLeg> {
        self.traits.answer?;
        let ending = match self.phase {
            Phase::Closed(Ending::Peer(_)) => return None,
            Phase::Closed(ending) => Some(ending),
            _ => None,
        };
        Some(EndedLeg {
            proto: self.legs.client.proto,
            shows: self.legs.client.token_in?,
            expects: self.legs.client.token_out,
            ack: self.dirs.c2s.shown(),
            is_closed: ending != Some(Ending::Silence),
            may_still_arrive: self.opened.standing == Standing::Unproved,
        })
    }

    /// Returns true once a datagram of the server has shown that it accepted the client, until the session ends.
    pub(crate) fn is_online(&self) -> bool {
        self.state() == State::Online
    }

    pub(crate) fn is_closing(&self) -> bool {
        matches!(self.phase, Phase::Closing(_) | Phase::Closed(_))
    }

    pub(crate) fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Closed(_))
    }

    /// Returns true if the server has not accepted the client yet and the client has been silent for [`CLIENT_LATE`], so that
    /// its session may be ended in favor of others.
    pub(crate) fn is_late(&self, now: Time) -> bool {
        self.is_half_open() && self.client_silence(now) >= CLIENT_LATE
    }

    /// Returns the time since the last valid datagram of the client.
    pub(crate) fn client_silence(&self, now: Time) -> Duration {
        now.since(self.legs.client.last_received)
    }

    /// Returns true if the client has been silent for longer than the timeout of its server: 100 s for DDNet, otherwise 10 s.
    /// If the server is silent too and does not even send keepalives, 2 s are enough.
    pub(crate) fn is_given_up(&self, now: Time) -> bool {
        const DDNET: Duration = Duration::from_secs(100);
        const TEEWORLDS: Duration = Duration::from_secs(10);
        const SILENT: Duration = Duration::from_secs(2);
        let is_ddnet = self.traits.is_ddnet || self.legs.server.proto == Proto::Ddnet;
        let limit = if is_ddnet { DDNET } else { TEEWORLDS };
        let has_crashed = now.since(self.legs.server.last_received) >= SERVER_SILENT;
        self.client_silence(now) >= if has_crashed { SILENT } else { limit }
    }

    /// Reports that the network has no route to the server. The session continues.
    pub(crate) fn on_unreachable(&mut self, error: &str, env: &mut Env) {
        self.report_network(Notice::UpstreamUnreachable { error: error.into() }, env);
    }

    /// Emits a notice about the network, at most once every five seconds.
    fn report_network(&mut self, notice: Notice, env: &mut Env) {
        if !self.is_closing() && self.socket.may_report(env.now) {
            self.notice(notice, env);
        }
    }

    /// Removes and returns the datagram that waits for a listen socket. The hub calls this once the socket is open or could not
    /// be opened, and handles the datagram again.
    pub(crate) fn take_waiting(&mut self) -> Option<Box<[u8]>> {
        self.redirect.take()
    }

    fn online(&mut self) -> Option<&mut Online> {
        match &mut self.phase {
            Phase::Online(online) => Some(online),
            _ => None,
        }
    }

    /// Returns the leg of `side`, the direction towards it, and the direction from it.
    fn parts(&mut self, side: Side) -> (&mut Leg, &mut Splice, &mut Splice) {
        match side {
            Side::Client => (&mut self.legs.client, &mut self.dirs.s2c, &mut self.dirs.c2s),
            Side::Server => (&mut self.legs.server, &mut self.dirs.c2s, &mut self.dirs.s2c),
        }
    }

    /// Returns the age of the oldest message of both directions that is in custody; zero if there is none.
    fn custody_age(&self, now: Time) -> Duration {
        let ages = self.dirs.iter().map(|splice| splice.custody_age(now));
        ages.max().unwrap_or_default()
    }

    /// Returns the time at which the last valid datagram of either peer was received.
    fn last_sign(&self) -> Time {
        self.legs.client.last_received.max(self.legs.server.last_received)
    }

    fn leg(&mut self, side: Side) -> &mut Leg {
        &mut self.legs[side]
    }

    fn splice(&mut self, dir: Dir) -> &mut Splice {
        &mut self.dirs[dir]
    }
}
