//! One client-server pair: two legs, two directions, one phase.
//!
//! `join` and `opening` bring both legs online, `carry` translates the handshake, `arm` starts the renumbering, `relay`
//! forwards datagrams from one leg to the other, `made` sends the proxy's own messages, and `end` closes the session. `skim`
//! parses every datagram, and `transmit` sends every datagram. `relay` defines the order of the steps for one datagram. State
//! that is used in one phase only is part of that phase (`phase`).

mod arm;
mod carry;
mod directions;
mod end;
mod env;
mod join;
mod legs;
mod made;
mod names;
mod opening;
mod phase;
mod rejoin;
mod relay;
mod report;
mod ruled;
mod rules;
mod skim;
mod socket;
mod traits;
mod transmit;

use std::{net::SocketAddr, time::Duration};

use teetap_wire::{Code, Dir, Packet, Proto, Scratch, Side, Token};

use self::directions::Directions;
use self::legs::Legs;
use self::names::Names;
use self::phase::{BOTH_SILENT, CLIENT_LATE, Closing, Ending, LEFT, Online, Phase, SERVER_SILENT};
use self::ruled::ControlVerdict;
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
    tokens::Tokens,
};

pub(crate) use self::env::{Buffers, Env};
pub(crate) use self::ruled::connless;
pub(crate) use self::traits::TokenlessAnswers;

/// The client of a session, and the tokens with which the session starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened {
    pub(crate) id: SessionId,
    pub(crate) client: ClientAddr,
    /// The server behind the listen socket that received the client's first datagram.
    pub(crate) server: SocketAddr,
    /// The port of that listen socket; `None` for the first listen socket.
    pub(crate) listen_port: Option<u16>,
    pub(crate) upstream: UpstreamId,
    /// The protocol of the client's request.
    pub(crate) requested: Proto,
    /// The token in the client's request (0.6.5 and 0.7).
    pub(crate) client_token: Option<Token>,
    /// The proxy's token on the client leg.
    pub(crate) token: Token,
    /// The proxy's token on the server leg.
    pub(crate) own: Token,
    /// Source of further tokens.
    pub(crate) tokens: Tokens,
    pub(crate) at: Time,
    /// True while the session is a candidate: it connects beside the client's current session and is not reported yet.
    pub(crate) is_candidate: bool,
    /// Local address of the upstream socket, if the session shares the socket with another session of the client. The server
    /// then sees one address for both sessions, as it would without the proxy.
    pub(crate) shared: Option<SocketAddr>,
    pub(crate) standing: Standing,
}

/// The trust in a client before it is online. The limit on half-open sessions applies to each standing separately. If sockets
/// run out, the least trusted session is ended first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Standing {
    /// The address may be forged.
    Unproved,
    /// The client has sent a packet after the handshake, without a token.
    Responded,
    /// The client has sent a packet with a token of the proxy.
    Proved,
}

/// The state of one session.
pub(crate) struct Link {
    opened: Opened,
    socket: Socket,
    legs: Legs,
    dirs: Directions,
    names: Names,
    /// The datagram that opened the session. Empty unless the session is a candidate, or the proxy cannot parse the datagram
    /// as a CONNECT although the server may.
    first: Box<[u8]>,
    lanes: Lanes,
    phase: Phase,
    traits: ServerTraits,
    rules: SessionRules,
    /// A redirect of the server that waits for its listen socket.
    waiting: PendingRedirect,
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
            Phase::Online(online) if online.is_let_in => State::Online,
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
    pub(crate) fn is_as_good_as(&mut self, requested: Proto, connect: &[u8], env: &mut Env) {
        self.traits.answers_without_tokens(requested);
        if self.is_answered() && self.traits.is_tokenless() {
            self.connect(connect, env);
        }
    }

    /// Removes and returns the CONNECT that opened a candidate; `None` if the session is not a candidate.
    pub(crate) fn take_connect(&mut self) -> Option<Box<[u8]>> {
        self.opened.is_candidate.then(|| std::mem::take(&mut self.first))
    }

    /// Returns the client leg of a session that the proxy has ended; `None` if the client has no token to show. Also `None` if a
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

    /// Handles a client's datagram other than a CONNECT or TOKEN request.
    pub(crate) fn on_client(&mut self, datagram: &[u8], scratch: &mut Scratch, env: &mut Env) -> Admission {
        let packet = match self.read(Side::Client, datagram, scratch, env) {
            Ok(packet) => packet,
            Err(error) => return Admission::No(error.code()),
        };
        match self.phase {
            Phase::Opening(_) => self.client_while_opening(datagram, &packet, env),
            Phase::Answered(_) | Phase::Online(_) => {
                match self.legs.client.check(&packet).and_then(|()| fitting(&packet)) {
                    Ok(()) => {
                        self.relay_ruled(Side::Client, datagram, &packet, env);
                        Admission::Yes
                    }
                    Err(code) => {
                        self.may_have_left(&packet);
                        Admission::No(code)
                    }
                }
            }
            Phase::Closing(_) | Phase::Closed(_) => {
                match self.legs.client.check(&packet).and_then(|()| fitting(&packet)) {
                    Ok(()) => {
                        self.came_after_end(Side::Client, datagram, &packet, env);
                        Admission::Yes
                    }
                    Err(code) => Admission::No(code),
                }
            }
        }
    }

    /// Returns true if a client's datagram shows the token of this session.
    pub(crate) fn is_shown_own_token(&self, datagram: &[u8], scratch: &mut Scratch) -> bool {
        self.legs.client.token_in.is_some()
            && Packet::parse(self.legs.client.proto, datagram, scratch)
                .is_ok_and(|packet| self.legs.client.check(&packet).is_ok())
    }

    /// Handles a datagram of the server. `may_take_over` is true if this candidate may replace the current session although
    /// its client has not shown a token.
    pub(crate) fn on_server(
        &mut self,
        datagram: &[u8],
        may_take_over: bool,
        scratch: &mut Scratch,
        env: &mut Env,
    ) {
        self.adopt_name(datagram, scratch);
        let is_opening = matches!(self.phase, Phase::Opening(_));
        if is_opening && !self.server_while_opening(datagram, may_take_over, scratch, env) {
            return;
        }
        if !self.is_closing() && self.answers_again(datagram, scratch, env) {
            return;
        }
        let refused = match self.read(Side::Server, datagram, scratch, env) {
            Ok(packet) => match self
                .legs
                .server
                .check(&packet)
                .and_then(|()| survivable(datagram, &packet))
            {
                Ok(()) if self.is_closing() => {
                    return self.came_after_end(Side::Server, datagram, &packet, env);
                }
                Ok(()) => return self.relay_ruled(Side::Server, datagram, &packet, env),
                Err(_) if self.socket.is_former(packet.header.token, env.now) => {
                    return self.report_one_leg(Side::Server, datagram, &packet.notes, env);
                }
                Err(code) => code,
            },
            Err(error) => error.code(),
        };
        self.report_refused(Side::Server, datagram, refused, env);
    }

    /// Relays a datagram after the rules on control messages have dropped, edited, repeated or delayed it.
    fn relay_ruled(&mut self, from: Side, datagram: &[u8], packet: &Packet<'_>, env: &mut Env) {
        match self.control_came(from, datagram, packet, env) {
            ControlVerdict::AsItIs => self.relay(from, datagram, packet, env),
            ControlVerdict::Not => self.report_one_leg(from, datagram, &packet.notes, env),
            ControlVerdict::Times(bytes, times) => {
                let mut scratch = Scratch::new();
                for _ in 0..times {
                    if self.is_closing() {
                        break;
                    }
                    if let Ok(packet) = Packet::parse(packet.proto, &bytes, &mut scratch) {
                        self.relay(from, &bytes, &packet, env);
                    }
                }
            }
        }
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
        self.waiting.take()
    }

    /// Returns the time at which this session has to be handled without a datagram.
    pub(crate) fn deadline(&self) -> Option<Time> {
        let late = [
            self.lanes.deadline(),
            self.phase_deadline(),
            self.rules.delayed.deadline(),
        ];
        late.into_iter().flatten().min()
    }

    fn phase_deadline(&self) -> Option<Time> {
        let heard = self.legs.client.last_received;
        match &self.phase {
            // There is nothing to repeat until a CONNECT has passed the rules.
            Phase::Opening(opening) if !opening.has_begun => Some(heard + opening.patience()),
            Phase::Opening(opening) => {
                let request = opening.asks_itself().then_some(opening.next_request);
                let patience = heard + opening.patience();
                request.into_iter().chain([opening.next_notice, patience]).min()
            }
            Phase::Answered(answered) => Some(self.legs.last_sign() + answered.patience()),
            Phase::Online(online) => {
                let accept = online.accept.as_ref().map(|accept| accept.repeat_at());
                let silent =
                    (!online.is_silence_reported).then(|| self.legs.server.last_received + SERVER_SILENT);
                [
                    self.dirs.deadline(),
                    accept,
                    self.rules.deadline(),
                    silent,
                    Some(match online.left {
                        Some(_) => heard + LEFT,
                        None => self.legs.last_sign() + BOTH_SILENT,
                    }),
                ]
                .into_iter()
                .flatten()
                .min()
            }
            Phase::Closing(closing) => Some(closing.until),
            Phase::Closed(_) => None,
        }
    }

    /// Handles every deadline that has passed.
    pub(crate) fn on_timeout(&mut self, env: &mut Env) {
        self.send_late(env.now, env);
        self.handle_later(env);
        let silence = env.now.since(self.legs.last_sign());
        match &mut self.phase {
            Phase::Opening(_) => self.opening_timeout(env),
            Phase::Answered(answered) if silence >= answered.patience() => match answered.left.take() {
                Some(reason) => self.begin_closing(Ending::Peer(Side::Client), Some(&reason), env),
                None => self.forget(b"the client sent no packet after the handshake", env),
            },
            Phase::Online(_) => self.online_timeout(env),
            Phase::Closing(Closing { until, .. }) if *until <= env.now => self.finish(env),
            Phase::Answered(_) | Phase::Closing(_) | Phase::Closed(_) => {}
        }
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

    fn leg(&mut self, side: Side) -> &mut Leg {
        self.legs.leg(side)
    }

    fn splice(&mut self, dir: Dir) -> &mut Splice {
        self.dirs.splice(dir)
    }
}

/// Refuses a datagram with a valid token that could crash its receiver. 0.6.4 and 0.6.5 copy an uncompressed payload past
/// the end of their buffer, because they do not check its size (Teeworlds 0.6.5 network.cpp, `UnpackPacket`). No sender of
/// these versions sends a payload of that size.
fn fitting(packet: &Packet<'_>) -> Result<(), Code> {
    let unchecked = matches!(packet.proto, Proto::V6 | Proto::V65);
    if unchecked && packet.notes.contains(Code::PayloadOversized) {
        return Err(Code::PayloadOversized);
    }
    Ok(())
}

/// Bit of the first byte that marks control packets of 0.7.
const SEVEN: u8 = 0x04;

/// Refuses a datagram that could crash a client of 0.6. DDNet 16.4 parses a packet with the mark of 0.7 as a packet of 0.7
/// and writes its tokens through a null pointer (network_client.cpp, `Recv`). No server of 0.6 sets that bit.
fn survivable(datagram: &[u8], packet: &Packet<'_>) -> Result<(), Code> {
    let marked = datagram.first().is_some_and(|first| first & SEVEN != 0);
    if marked && packet.proto != Proto::V7 {
        return Err(Code::UnknownFlags);
    }
    fitting(packet)
}
