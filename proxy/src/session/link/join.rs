//! How a session comes online: both handshakes, each with tokens of its own.
//!
//! The client's CONNECT opens the server leg in the client's kind; only when the server has answered is the client
//! answered, in the kind that the server chose. So a refusal reaches the client in the server's own words.

use std::time::Duration;

use teetap_rules::impair::LineSet;
use teetap_wire::{Control, Dir, Flags, Header, Notes, Packet, Proto, Seq, Side, Token, control};

use super::{
    Env, Link, Opened, Tried,
    phase::{LoneAccept, Online, Opening, Phase, REQUEST_EVERY},
    ruled::Later,
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
        link.begin(env);
        link
    }

    fn with(opened: Opened, client: Leg, early: Option<Vec<Box<[u8]>>>, env: &mut Env) -> Self {
        let now = opened.at;
        let handshake = Handshake::new(opened.requested, opened.own);
        let mut link = Self {
            opened,
            local: None,
            client,
            server: Leg::new(opened.requested, now),
            c2s: Splice::new(),
            s2c: Splice::new(),
            lanes: Default::default(),
            open_lines: LineSet::ALL,
            phase: Phase::Opening(Opening {
                handshake: Some(handshake),
                next_request: now + REQUEST_EVERY,
                has_no_socket: false,
                next_notice: now + FIRST_NOTICE,
                has_begun: false,
                left: None,
                early,
            }),
            answer: None,
            tried: Tried::default(),
            may_take_over: false,
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
        env.out.open(opened.upstream, opened.server.port());
        link.report_state(State::Opening, None, None, env);
        link
    }

    /// A CONNECT of the client. Returns true if the rules let it come; the first of these opens the server leg.
    fn connect_came(&mut self, datagram: &[u8], env: &mut Env) -> bool {
        let came = self.request_came(datagram, env);
        self.report_one_leg(Side::Client, datagram, &Notes::default(), env);
        if came {
            self.begin(env);
        }
        came
    }

    /// A CONNECT once more: answered as before, so that a lost answer is healed.
    pub(crate) fn on_repeated_connect(&mut self, datagram: &[u8], env: &mut Env) {
        if !self.is_closing() && self.is_half_open() {
            self.client.last_received = env.now;
        }
        if self.is_closing() {
            return self.report_one_leg(Side::Client, datagram, &Notes::default(), env);
        }
        if !self.connect_came(datagram, env) {
            return;
        }
        // Online, the client has shown that it got the answer. One more, with its ack of 0, could only harm: a 0.7
        // client whose numbers have wrapped takes it for an ack, and a restarted tokenless client for the old session.
        if matches!(self.phase, Phase::Answered(_)) {
            self.answer_client(env);
        }
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

    /// The client's first packet in a session that the server has accepted.
    pub(super) fn go_online(&mut self, connect_took: Duration, env: &mut Env) {
        self.server.last_received = env.now;
        let is_lone = self.server.proto == Proto::Ddnet;
        let accept = (is_lone && env.config.heals).then(|| LoneAccept::new(env.now, connect_took));
        self.phase = Phase::Online(Online::new(accept));
        if is_lone {
            self.send_accept(env);
        }
        self.report_state(State::Online, None, None, env);
    }

    /// DDNet's ACCEPT makes the server's slot. In a living session it would reset the server's numbers, so it is
    /// sent once, and again only while nothing at all has come back.
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

    /// Returns true if the client's lone ACCEPT was lost and is not to be repaired: without it a DDNet server has no
    /// slot and ignores whatever else comes.
    pub(super) fn lacks_accept(&self, control: Option<Control<'_>>, env: &Env) -> bool {
        let is_waiting = matches!(self.phase, Phase::Answered(_)) && self.server.proto == Proto::Ddnet;
        let may_pass = matches!(control, Some(Control::Accept | Control::Close { .. }));
        is_waiting && !env.config.heals && !may_pass
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
            Some(Control::ConnectAccept { .. } | Control::Connect { .. }) => {}
            Some(Control::Token { token, .. }) => {
                // What a 0.7 peer does with it: the token is the one to show from now on, none when it is cut off.
                self.leg(from).token_out = Some(token.unwrap_or(Token::NONE));
                self.notice(Notice::NewToken { side: from }, env);
            }
            _ => return false,
        }
        self.report_one_leg(from, datagram, &packet.notes, env);
        if from == Side::Server && self.is_online() && self.c2s.is_shifted() {
            // It may send nothing else, because rules drop all that the client sends; the client gets its acks all the same.
            self.show_ack(Dir::S2c, env);
        }
        true
    }
}
