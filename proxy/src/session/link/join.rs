//! How a session comes online: both handshakes, each with tokens of its own.
//!
//! The client's CONNECT goes to the server in the client's kind; the server's answer goes to the client, in the kind that
//! the server chose. So a refusal reaches the client in the server's own words, and a client that the server would not let
//! in is not let in. A session is online once the server has shown that it has let the client in, whatever the client sends.

use std::time::Duration;

use teetap_rules::impair::LineSet;
use teetap_wire::{Control, Dir, Flags, Header, Notes, Packet, Proto, Scratch, Seq, Side, Token, control};

use super::{
    Env, Link, Opened, Standing, Tried,
    carry::{Name, is_connect},
    phase::{LoneAccept, Online, Opening, Phase, REQUEST_EVERY},
    rejoin::Asked,
    ruled::{Came, Later},
};
use crate::session::{
    Notice, State, datagram::readable, handshake::Handshake, leg::Leg, redirect::Waiting,
    snapshots::Snapshots, splice::Splice, timers::Alarm,
};

/// A silent server is reported after this long, and again each time it doubles.
const FIRST_NOTICE: Duration = Duration::from_secs(2);

impl Link {
    /// A client's first CONNECT: opens the server leg.
    pub(crate) fn open(opened: Opened, datagram: &[u8], env: &mut Env) -> Self {
        let mut client = Leg::new(opened.requested, opened.at);
        // Before the server has answered, a refusal shows the token that the client named; only a 0.7 client has
        // got one from us.
        client.token_out = opened.client_token;
        client.token_in = (opened.requested == Proto::V7).then_some(opened.token);
        let mut link = Self::with(opened, client, None, env);
        let requested = link.opened.requested;
        if link.opened.is_candidate || !is_connect(requested, datagram, &mut Scratch::new()) {
            link.first = readable(datagram).into();
        }
        link.connect_came(datagram, env);
        link
    }

    /// The first packet of a client whose CONNECT was answered before there was a session. What it sends waits until the
    /// server has answered too.
    pub(crate) fn open_answered(opened: Opened, datagram: &[u8], env: &mut Env) -> Self {
        let mut client = Leg::new(opened.requested, opened.at);
        let shared = (opened.requested != Proto::V6).then_some(opened.token);
        (client.token_in, client.token_out) = (shared, shared);
        let early = vec![readable(datagram).into()];
        let mut link = Self::with(opened, client, Some(early), env);
        link.begin();
        link
    }

    fn with(opened: Opened, client: Leg, early: Option<Vec<Box<[u8]>>>, env: &mut Env) -> Self {
        let now = opened.at;
        let handshake = Handshake::new(opened.requested, opened.own);
        let named = opened.client_token.map(|client| Name::new(client, opened.own));
        let mut link = Self {
            opened,
            local: opened.shared,
            client,
            server: Leg::new(opened.requested, now),
            c2s: Splice::new(),
            s2c: Splice::new(),
            names: named.into_iter().collect(),
            first: Box::default(),
            shares_socket: opened.shared.is_some(),
            former: None,
            asked: Asked::default(),
            lanes: Default::default(),
            open_lines: LineSet::ALL,
            phase: Phase::Opening(Opening {
                handshake: Some(handshake),
                next_request: now + REQUEST_EVERY,
                has_no_socket: false,
                next_notice: now + FIRST_NOTICE,
                has_begun: false,
                left: None,
                was_answered: early.is_some(),
                early: early.unwrap_or_default(),
            }),
            answer: None,
            tried: Tried::default(),
            may_take_over: false,
            is_forgotten: false,
            is_ddnet: false,
            rules: None,
            snapshots: Snapshots::default(),
            unreachable_reported: None,
            later: Later::default(),
            waiting: Waiting::default(),
            alarm: Alarm::default(),
        };
        link.rules = env.open_rules(&link.opened, true, None);
        link.open_links(env);
        if opened.shared.is_none() {
            env.out.open(opened.upstream, opened.server.port());
        }
        link.report_state(State::Opening, None, None, env);
        link
    }

    /// Handles a CONNECT of the client, and sends it on as often as the rules let it through.
    fn connect_came(&mut self, datagram: &[u8], env: &mut Env) {
        let came = self.request_came(datagram, env);
        self.report_one_leg(Side::Client, datagram, &Notes::default(), env);
        match came {
            Came::Not => {}
            Came::AsItIs => self.connect(datagram, env),
            Came::Times(bytes, times) => (0..times).for_each(|_| self.connect(&bytes, env)),
        }
    }

    /// Sends a CONNECT on that the rules have let through.
    pub(super) fn connect(&mut self, datagram: &[u8], env: &mut Env) {
        self.begin();
        self.note_rejoin(env.now);
        if env.config.heals && matches!(self.phase, Phase::Answered(_)) {
            // The server's only answer may have been lost.
            return self.answer_client(env);
        }
        self.pass_connect(datagram, env);
    }

    /// Handles one more CONNECT. The server knows whether to answer it.
    pub(crate) fn on_repeated_connect(&mut self, datagram: &[u8], env: &mut Env) {
        if self.is_closing() {
            return self.report_one_leg(Side::Client, datagram, &Notes::default(), env);
        }
        if self.is_half_open() {
            self.client.last_received = env.now;
        }
        self.connect_came(datagram, env);
    }

    /// The candidate takes the place of the session beside which it waited.
    pub(crate) fn promote(&mut self, env: &mut Env) {
        self.opened.is_candidate = false;
        self.report_state(State::Opening, None, None, env);
        self.notice(Notice::Restart, env);
    }

    /// The candidate takes the place of a session whose client has not come.
    pub(crate) fn take_over(&mut self, env: &mut Env) {
        self.opened.is_candidate = false;
        self.report_state(State::Opening, None, None, env);
    }

    /// CONNECTACCEPT (ACCEPT in 0.7) to the client.
    pub(super) fn answer_client(&mut self, env: &mut Env) {
        let mut payload = Vec::new();
        // 0.6.5 shows the client's own token in this one header, all others what they always show.
        let token = match self.client.proto {
            Proto::V65 => self.opened.client_token,
            Proto::V6 | Proto::Ddnet | Proto::V7 => self.client.token_out,
        };
        control::connect_accept(self.client.proto, self.opened.token, &mut payload);
        let header = Header {
            flags: Flags::CONTROL,
            ack: Seq::ZERO,
            num_chunks: 0,
            token,
        };
        self.send_control(Side::Client, &header, &payload, env);
    }

    /// The client's first packet that can be sent on.
    pub(super) fn go_online(&mut self, env: &mut Env) {
        let (connect_took, began) = match &self.phase {
            Phase::Answered(answered) => (answered.connect_took, answered.began),
            _ => (Duration::ZERO, None),
        };
        self.server.last_received = env.now;
        let is_lone = self.server.proto == Proto::Ddnet && env.config.heals;
        let accept = is_lone.then(|| LoneAccept::new(env.now, connect_took));
        self.phase = Phase::Online(Online::new(accept, began));
        if is_lone {
            self.send_accept(env);
        }
    }

    /// Notes a valid datagram of the client's, other than a CONNECT.
    pub(super) fn client_came(&mut self, env: &mut Env) {
        if matches!(self.phase, Phase::Opening(_) | Phase::Answered(_)) {
            self.go_online(env);
        }
        if let Some(online) = self.online() {
            online.left = None;
            online.is_rejoining = false;
        }
        let shown = match self.client.token_in {
            Some(_) => Standing::Proved,
            None => Standing::Came,
        };
        self.opened.standing = self.opened.standing.max(shown);
    }

    /// Returns true for DDNet's ACCEPT, which goes to the server as it is. Its header is not looked at: a server takes it
    /// whatever its ack is (DDNet 16.4, network_server.cpp, `OnConnCtrlMsg`).
    pub(super) fn is_lone_accept(&self, packet: &Packet<'_>, env: &Env) -> bool {
        let is_accept = matches!(packet.control(), Some(Control::Accept));
        is_accept && packet.proto == Proto::Ddnet && !env.config.heals
    }

    /// Handles an ACCEPT of DDNet's: sends it on.
    pub(super) fn accept_came(&mut self, datagram: &[u8], packet: &Packet<'_>, env: &mut Env) {
        self.client.on_valid(packet, env.now);
        self.client_came(env);
        self.report_one_leg(Side::Client, datagram, &packet.notes, env);
        self.note_accept();
        self.pass_accept(datagram, packet, env);
    }

    /// Notes that the server has let the client in, if its datagram shows that. It answers CONNECT and requests for tokens
    /// without a slot; of a server without tokens only an ack of the client shows that it is not a challenge.
    pub(super) fn note_let_in(&mut self, control: Option<Control<'_>>, env: &mut Env) {
        let is_tokenless = self.server.proto == Proto::V6;
        let shows = match control {
            Some(Control::ConnectAccept { .. } | Control::Token { .. } | Control::Close { .. }) => false,
            Some(Control::KeepAlive) => true,
            _ => !is_tokenless || self.c2s.has_been_acked(),
        };
        let Some(online) = self.online().filter(|_| shows) else {
            return;
        };
        if !std::mem::replace(&mut online.is_let_in, true) {
            self.report_state(State::Online, None, None, env);
        }
    }

    /// Sends DDNet's ACCEPT in the client's place, if that is requested. It makes the server's slot. In a living session it
    /// would reset the server's numbers, so it is sent once, and again only while nothing at all has come back.
    fn send_accept(&mut self, env: &mut Env) {
        let header = Header {
            flags: Flags::CONTROL,
            ack: Seq::ZERO,
            num_chunks: 0,
            token: self.server.token_out,
        };
        let mut payload = Vec::new();
        control::accept(&mut payload);
        // A second one would reset the server's numbers.
        self.send_control_as(Side::Server, &header, &payload, true, env);
    }

    pub(super) fn repeat_lone_accept(&mut self, env: &mut Env) {
        let accept = self.online().and_then(|online| online.accept.as_mut());
        if accept.is_some_and(|accept| accept.is_due(env.now)) {
            self.notice(Notice::AcceptRepeated, env);
            self.send_accept(env);
        }
    }

    /// Handshake packets in a living session belong to one leg. True when this was one.
    pub(super) fn keep_on_leg(
        &mut self,
        from: Side,
        datagram: &[u8],
        packet: &Packet<'_>,
        env: &mut Env,
    ) -> bool {
        let proto = packet.proto;
        match packet.control() {
            Some(Control::Accept) if proto == Proto::Ddnet => {}
            Some(Control::ConnectAccept { .. }) if from == Side::Server => {
                self.report_one_leg(from, datagram, &packet.notes, env);
                if self.is_new_slot() {
                    self.restart(env);
                }
                self.pass_answer(datagram, env);
                if matches!(self.phase, Phase::Online(_)) && self.c2s.is_shifted() {
                    // It may send nothing else, because rules drop all that the client sends; the client gets its acks all
                    // the same.
                    self.show_ack(Dir::S2c, env);
                }
                return true;
            }
            Some(Control::ConnectAccept { .. } | Control::Connect { .. }) => {}
            Some(Control::Token { token, .. }) => {
                // What a 0.7 peer does with it: the token is the one to show from now on, none when it is cut off.
                self.leg(from).token_out = Some(token.unwrap_or(Token::NONE));
                self.notice(Notice::NewToken { side: from }, env);
            }
            _ => return false,
        }
        self.report_one_leg(from, datagram, &packet.notes, env);
        true
    }
}
