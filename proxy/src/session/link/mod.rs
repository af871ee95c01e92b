//! One client-server pair: two legs, two directions, one phase.
//!
//! `join` and `opening` bring both legs online, `carry` translates their handshake, `arm` begins to renumber, `relay` carries datagrams across, `made` sends
//! messages of the proxy itself, `end` closes. Every datagram is read by `skim` and leaves through `transmit`. The order of
//! steps for a datagram is in `relay`. A `phase` owns the state that exists in that phase only.

mod arm;
mod carry;
mod end;
mod env;
mod join;
mod made;
mod opening;
mod phase;
mod rejoin;
mod relay;
mod report;
mod ruled;
mod skim;
mod transmit;

use std::{net::SocketAddr, time::Duration};

use teetap_rules::{Decide, impair::LineSet};
use teetap_wire::{Code, Dir, Packet, Proto, Scratch, Side, Token};

use self::carry::Name;
use self::phase::{BOTH_SILENT, CLIENT_LATE, Closing, LEFT, Online, Phase, SERVER_SILENT};
use self::rejoin::Asked;
use self::ruled::{ControlVerdict, Later};
use super::{
    ClientAddr, Notice, SessionId, State, Time, UpstreamId,
    lane::Lane,
    leg::{EndedLeg, Leg},
    redirect::Waiting,
    snapshots::Snapshots,
    splice::Splice,
    timers::Alarm,
    tokens::Tokens,
};

pub(crate) use self::env::{Browsing, Env, Work};
pub(crate) use self::ruled::connless;

/// The client of a session and the tokens it starts with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened {
    pub(crate) id: SessionId,
    pub(crate) client: ClientAddr,
    /// The server behind the listen socket that it came by.
    pub(crate) server: SocketAddr,
    /// The port of that listen socket, where it is not the first.
    pub(crate) listen_port: Option<u16>,
    pub(crate) upstream: UpstreamId,
    /// The protocol of the client's request.
    pub(crate) requested: Proto,
    /// The token that the client named, in 0.6.5 and 0.7.
    pub(crate) client_token: Option<Token>,
    /// Our token on the client leg.
    pub(crate) token: Token,
    /// Our token on the server leg.
    pub(crate) own: Token,
    /// The maker of further tokens.
    pub(crate) tokens: Tokens,
    pub(crate) at: Time,
    /// True while it waits beside a living session, unannounced.
    pub(crate) is_candidate: bool,
    /// The local address of the upstream socket, if it is the one of another session of the client: the server sees one
    /// address, as it does of the client.
    pub(crate) shared: Option<SocketAddr>,
    pub(crate) standing: Standing,
}

/// The trust in a client before it is online. A limit on half-open sessions never ends one of another standing; a lack of
/// sockets ends the least trusted first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Standing {
    /// The address may be forged.
    Unproved,
    /// A first packet has come, but no token.
    Came,
    /// The client has shown a token of the proxy.
    Proved,
}

/// The kinds of CONNECT that ask for tokens and that the server has answered without tokens, for this client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tried {
    v65: bool,
    ddnet: bool,
}

impl Tried {
    fn add(&mut self, proto: Proto) {
        self.v65 |= proto == Proto::V65;
        self.ddnet |= proto == Proto::Ddnet;
    }

    pub(crate) fn contains(self, proto: Proto) -> bool {
        match proto {
            Proto::V65 => self.v65,
            Proto::Ddnet => self.ddnet,
            Proto::V6 | Proto::V7 => false,
        }
    }
}

/// A session.
pub(crate) struct Link {
    opened: Opened,
    /// Our own address towards the server, once the socket is open.
    local: Option<SocketAddr>,
    client: Leg,
    server: Leg,
    c2s: Splice,
    s2c: Splice,
    /// The tokens that the client has named, the first one of its CONNECT.
    names: Vec<Name>,
    /// The CONNECT that opened it, if it waits beside another session, or if only its server reads the datagram as one.
    first: Box<[u8]>,
    /// True while another session of the client has the same upstream socket.
    shares_socket: bool,
    /// Token in the server's datagrams of the session that this one replaced on the same socket, and the time until which some of
    /// them may still arrive.
    former: Option<(Token, Time)>,
    /// TOKEN requests in the session that were sent on: the counterparts of the tokens that they name.
    asked: Asked,
    /// The links towards the client and towards the server.
    lanes: [Lane; 2],
    /// The link lines whose windows were open when the datagram at hand came.
    open_lines: LineSet,
    phase: Phase,
    /// The protocol in which the server has answered.
    answer: Option<Proto>,
    /// Other kinds of CONNECT that the server has answered without tokens.
    tried: Tried,
    /// True if it may take the place of the session beside which it waits without showing a token.
    may_take_over: bool,
    /// True if neither peer was told of the end.
    is_forgotten: bool,
    /// True once the server has sent a message that only DDNet has.
    is_ddnet: bool,
    /// The state that the program keeps for this session.
    rules: Option<Box<dyn Decide>>,
    /// The snapshots that rules change.
    snapshots: Snapshots,
    /// When it was last reported that the network fails.
    unreachable_reported: Option<Time>,
    /// Control messages that rules delay.
    later: Later,
    /// A datagram of the server's that waits for a listen socket.
    waiting: Waiting,
    /// When the hub looks at it without a datagram.
    pub(crate) alarm: Alarm,
}

/// The result of handing a datagram to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    Yes,
    /// The datagram belongs to another session, or is void, for this reason.
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

    /// The proxy's token on the server leg, in variants where it has one (0.7).
    pub(crate) fn own(&self) -> Token {
        self.server.token_in.unwrap_or(self.opened.own)
    }

    pub(crate) fn opened_at(&self) -> Time {
        self.opened.at
    }

    pub(crate) fn proto(&self) -> Proto {
        self.client.proto
    }

    /// Returns true if it may replace another session of its client.
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

    /// Returns true until the server has shown that it has let the client in.
    pub(crate) fn is_half_open(&self) -> bool {
        self.state() == State::Opening
    }

    /// Returns true if the client was answered and has not come.
    pub(crate) fn is_answered(&self) -> bool {
        matches!(self.phase, Phase::Answered(_))
    }

    /// Returns true while another session of the client has the same socket.
    pub(crate) fn shares_socket(&self) -> bool {
        self.shares_socket
    }

    pub(crate) fn set_shares_socket(&mut self, shares: bool) {
        self.shares_socket = shares;
    }

    /// Returns its own address towards the server, once the socket is open.
    pub(crate) fn local(&self) -> Option<SocketAddr> {
        self.local
    }

    /// Returns the protocol in which the server has answered; `None` before that.
    pub(crate) fn answer(&self) -> Option<Proto> {
        self.answer
    }

    /// Returns true if its upstream socket is open.
    pub(crate) fn has_socket(&self) -> bool {
        self.local.is_some()
    }

    pub(crate) fn standing(&self) -> Standing {
        self.opened.standing
    }

    /// Returns the kinds of CONNECT that lead to a session without tokens, as far as they were tried.
    pub(crate) fn tried(&self) -> Tried {
        let mut tried = self.tried;
        if self.answer == Some(Proto::V6) {
            tried.add(self.opened.requested);
        }
        tried
    }

    /// Notes that another kind of CONNECT leads to no tokens either. If this session has none, it sends that CONNECT on: the
    /// server knows whether to answer it.
    pub(crate) fn is_as_good_as(&mut self, requested: Proto, connect: &[u8], env: &mut Env) {
        self.tried.add(requested);
        if self.is_answered() && self.answer == Some(Proto::V6) {
            self.connect(connect, env);
        }
    }

    /// Takes out the CONNECT that opened the session, if it waits beside another one.
    pub(crate) fn take_connect(&mut self) -> Option<Box<[u8]>> {
        self.opened.is_candidate.then(|| std::mem::take(&mut self.first))
    }

    /// Returns the client leg of a session that the proxy has ended, if its client can show a token that it was given. Where a
    /// peer has ended it, the server has nothing more to say either.
    pub(crate) fn ended_leg(&self) -> Option<EndedLeg> {
        self.answer?;
        if matches!(self.phase, Phase::Closed(Some(_))) {
            return None;
        }
        Some(EndedLeg {
            proto: self.client.proto,
            shows: self.client.token_in?,
            expects: self.client.token_out,
            ack: self.c2s.shown(),
            is_closed: !self.is_forgotten,
            may_come: self.opened.standing == Standing::Unproved,
        })
    }

    /// Returns true once the server has shown that it has let the client in.
    pub(crate) fn is_online(&self) -> bool {
        self.state() == State::Online
    }

    pub(crate) fn is_closing(&self) -> bool {
        matches!(self.phase, Phase::Closing(_) | Phase::Closed(_))
    }

    pub(crate) fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Closed(_))
    }

    /// Returns the time of the last valid datagram of either peer.
    fn last_sign(&self) -> Time {
        self.client.last_received.max(self.server.last_received)
    }

    /// Returns true if the client is not in the session and has been silent for so long that its session gives way to others.
    pub(crate) fn is_late(&self, now: Time) -> bool {
        self.is_half_open() && self.client_silence(now) >= CLIENT_LATE
    }

    /// Returns how long the client has sent nothing valid.
    pub(crate) fn client_silence(&self, now: Time) -> Duration {
        now.since(self.client.last_received)
    }

    /// Returns true if the client has been silent for so long that its server has given it up, or for a while if the
    /// server no longer sends anything either, keepalives included.
    pub(crate) fn is_given_up(&self, now: Time) -> bool {
        const DDNET: Duration = Duration::from_secs(100);
        const TEEWORLDS: Duration = Duration::from_secs(10);
        const SILENT: Duration = Duration::from_secs(2);
        let is_ddnet = self.is_ddnet || self.server.proto == Proto::Ddnet;
        let limit = if is_ddnet { DDNET } else { TEEWORLDS };
        let has_crashed = now.since(self.server.last_received) >= SERVER_SILENT;
        self.client_silence(now) >= if has_crashed { SILENT } else { limit }
    }

    /// Handles a client's datagram other than a CONNECT or TOKEN request.
    pub(crate) fn on_client(&mut self, datagram: &[u8], scratch: &mut Scratch, env: &mut Env) -> Taken {
        let packet = match self.read(Side::Client, datagram, scratch, env) {
            Ok(packet) => packet,
            Err(error) => return Taken::No(error.code()),
        };
        match self.phase {
            Phase::Opening(_) => self.client_while_opening(datagram, &packet, env),
            Phase::Answered(_) | Phase::Online(_) => {
                match self.client.check(&packet).and_then(|()| fitting(&packet)) {
                    Ok(()) => {
                        self.relay_ruled(Side::Client, datagram, &packet, env);
                        Taken::Yes
                    }
                    Err(code) => {
                        self.may_have_left(&packet);
                        Taken::No(code)
                    }
                }
            }
            Phase::Closing(_) | Phase::Closed(_) => {
                match self.client.check(&packet).and_then(|()| fitting(&packet)) {
                    Ok(()) => {
                        self.came_after_end(Side::Client, datagram, &packet, env);
                        Taken::Yes
                    }
                    Err(code) => Taken::No(code),
                }
            }
        }
    }

    /// Returns true if a datagram shows this session's own token on the client leg.
    pub(crate) fn is_shown_own_token(&self, datagram: &[u8], scratch: &mut Scratch) -> bool {
        self.client.token_in.is_some()
            && Packet::parse(self.client.proto, datagram, scratch)
                .is_ok_and(|packet| self.client.check(&packet).is_ok())
    }

    /// Handles a server's datagram.
    pub(crate) fn on_server(
        &mut self,
        datagram: &[u8],
        may_take_over: bool,
        scratch: &mut Scratch,
        env: &mut Env,
    ) {
        self.may_take_over = may_take_over;
        self.adopt_name(datagram, scratch);
        let is_opening = matches!(self.phase, Phase::Opening(_));
        if is_opening && !self.server_while_opening(datagram, scratch, env) {
            return;
        }
        if !self.is_closing() && self.answers_again(datagram, scratch, env) {
            return;
        }
        let refused = match self.read(Side::Server, datagram, scratch, env) {
            Ok(packet) => match self
                .server
                .check(&packet)
                .and_then(|()| survivable(datagram, &packet))
            {
                Ok(()) if self.is_closing() => {
                    return self.came_after_end(Side::Server, datagram, &packet, env);
                }
                Ok(()) => return self.relay_ruled(Side::Server, datagram, &packet, env),
                Err(_) if self.is_of_former(&packet, env.now) => {
                    return self.report_one_leg(Side::Server, datagram, &packet.notes, env);
                }
                Err(code) => code,
            },
            Err(error) => error.code(),
        };
        self.report_refused(Side::Server, datagram, refused, env);
    }

    /// Relays a datagram as often as the rules on control messages say.
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

    /// Reports that the network has no route to the server. The session goes on.
    pub(crate) fn on_unreachable(&mut self, error: &str, env: &mut Env) {
        self.report_network(Notice::UpstreamUnreachable { error: error.into() }, env);
    }

    /// Emits a notice about the network, the first and then at most every five seconds.
    fn report_network(&mut self, notice: Notice, env: &mut Env) {
        const REPORT_EVERY: Duration = Duration::from_secs(5);
        if self.is_closing()
            || self
                .unreachable_reported
                .is_some_and(|last| env.now.since(last) < REPORT_EVERY)
        {
            return;
        }
        self.unreachable_reported = Some(env.now);
        self.notice(notice, env);
    }

    /// A listen socket is open or will never be: the datagram that waited for it, to be handled again.
    pub(crate) fn take_waiting(&mut self) -> Option<Box<[u8]>> {
        self.waiting.take()
    }

    /// Returns the time at which this session has to be handled without a datagram.
    pub(crate) fn deadline(&self) -> Option<Time> {
        let lanes = self.lanes.iter().filter_map(Lane::deadline);
        let later = self.later.deadline();
        lanes.chain(self.phase_deadline()).chain(later).min()
    }

    fn phase_deadline(&self) -> Option<Time> {
        let heard = self.client.last_received;
        match &self.phase {
            // Without a CONNECT that the rules let come there is nothing to repeat.
            Phase::Opening(opening) if !opening.has_begun => Some(heard + opening.patience()),
            Phase::Opening(opening) => {
                let request = opening.asks_itself().then_some(opening.next_request);
                let patience = heard + opening.patience();
                request.into_iter().chain([opening.next_notice, patience]).min()
            }
            Phase::Answered(answered) => Some(self.last_sign() + answered.patience()),
            Phase::Online(online) => {
                let accept = online.accept.as_ref().map(|accept| accept.repeat_at());
                let silent = (!online.is_silence_reported).then(|| self.server.last_received + SERVER_SILENT);
                [
                    self.c2s.deadline(),
                    self.s2c.deadline(),
                    accept,
                    self.rules.as_ref().and_then(|rules| rules.deadline()).map(Time),
                    silent,
                    Some(match online.left {
                        Some(_) => heard + LEFT,
                        None => self.last_sign() + BOTH_SILENT,
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

    /// Handles a timeout.
    pub(crate) fn on_timeout(&mut self, env: &mut Env) {
        self.send_late(env.now, env);
        self.handle_later(env);
        let silence = env.now.since(self.last_sign());
        match &mut self.phase {
            Phase::Opening(_) => self.opening_timeout(env),
            Phase::Answered(answered) if silence >= answered.patience() => match answered.left.take() {
                Some(reason) => self.begin_closing(Some(Side::Client), Some(&reason), env),
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

    /// The leg towards `side`, the direction that ends there, and the one that starts there.
    fn parts(&mut self, side: Side) -> (&mut Leg, &mut Splice, &mut Splice) {
        match side {
            Side::Client => (&mut self.client, &mut self.s2c, &mut self.c2s),
            Side::Server => (&mut self.server, &mut self.c2s, &mut self.s2c),
        }
    }

    fn leg(&mut self, side: Side) -> &mut Leg {
        self.parts(side).0
    }

    fn splice(&mut self, dir: Dir) -> &mut Splice {
        match dir {
            Dir::C2s => &mut self.c2s,
            Dir::S2c => &mut self.s2c,
        }
    }
}

/// Refuses a datagram that could crash a peer although its token is right, because the peer does not check it.
/// 0.6.4 and 0.6.5 copy an uncompressed payload past the end of their buffer (Teeworlds 0.6.5 network.cpp,
/// `UnpackPacket`); no sender of these versions makes one so large.
fn fitting(packet: &Packet<'_>) -> Result<(), Code> {
    let unchecked = matches!(packet.proto, Proto::V6 | Proto::V65);
    if unchecked && packet.notes.contains(Code::PayloadOversized) {
        return Err(Code::PayloadOversized);
    }
    Ok(())
}

/// The bit of the first byte that marks control packets of 0.7.
const SEVEN: u8 = 0x04;

/// Refuses a datagram that could crash a client of 0.6: DDNet 16.4 takes a packet with the mark of 0.7 for one, and
/// reads its tokens into nothing (network_client.cpp, `Recv`). No server of 0.6 sets that bit.
fn survivable(datagram: &[u8], packet: &Packet<'_>) -> Result<(), Code> {
    let marked = datagram.first().is_some_and(|first| first & SEVEN != 0);
    if marked && packet.proto != Proto::V7 {
        return Err(Code::UnknownFlags);
    }
    fitting(packet)
}
