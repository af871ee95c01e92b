//! The handshakes of both legs, each with its own tokens, until the session is online.
//!
//! The server receives the same kind of CONNECT that the client sent, and the client receives the answer in
//! the protocol that the server chose. So the client reads the server's own reason if it is refused, and the
//! proxy never accepts a client that the server refuses. A session is online once a datagram of the server
//! shows that it has let the client in, whatever the client sends.

use std::time::Duration;

use teetap_wire::{
    Control, Dir, Flags, Header, Notes, Packet, PerDir, PerSide, Proto, Scratch, Seq, Side, Token, control,
};

use super::{
    Env, Link, Opened, Standing,
    carry::is_connect,
    names::{Name, Names},
    phase::{LoneAccept, Online, Opening, Phase, REQUEST_EVERY},
    ruled::ControlVerdict,
    rules::SessionRules,
    socket::Socket,
    traits::ServerTraits,
};
use crate::session::{
    Notice, State, datagram::readable, handshake::Handshake, lanes::Lanes, leg::Leg,
    redirect::PendingRedirect, splice::Splice, timers::Alarm,
};

/// Silence after which an unresponsive server is reported; repeated at each doubling.
const FIRST_NOTICE: Duration = Duration::from_secs(2);

impl Link {
    /// Opens a session, including its server leg, for a client's first CONNECT.
    pub(crate) fn open(opened: Opened, datagram: &[u8], env: &mut Env) -> Self {
        let mut client = Leg::new(opened.requested, opened.at);
        // Before the server has answered, a refusal contains the token that the client named. Only a 0.7 client
        // has received a token from the proxy.
        client.token_out = opened.client_token;
        client.token_in = (opened.requested == Proto::V7).then_some(opened.token);
        let mut link = Self::with(opened, client, None, env);
        let requested = link.opened.requested;
        if link.opened.is_candidate || !is_connect(requested, datagram, &mut Scratch::new()) {
            link.first = readable(datagram).into();
        }
        link.connect_received(datagram, env);
        link
    }

    /// Opens a session for the first packet of a client whose CONNECT was answered while there was no
    /// session. Queues the client's datagrams until the server has answered the proxy.
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
            socket: Socket::new(opened.shared),
            legs: PerSide {
                client,
                server: Leg::new(opened.requested, now),
            },
            dirs: PerDir::from_fn(|_| Splice::new()),
            names: Names::new(named),
            first: Box::default(),
            lanes: Lanes::default(),
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
            traits: ServerTraits::default(),
            rules: SessionRules::default(),
            redirect: PendingRedirect::default(),
            alarm: Alarm::default(),
        };
        link.rules.open(&link.opened, true, env);
        link.open_links(env);
        if opened.shared.is_none() {
            env.out.open(opened.upstream, opened.server.port());
        }
        link.report_state(State::Opening, None, None, env);
        link
    }

    /// Handles a CONNECT of the client. Forwards each copy that the rules allow.
    fn connect_received(&mut self, datagram: &[u8], env: &mut Env) {
        let came = self.rule_request(datagram, env);
        self.report_one_leg(Side::Client, datagram, &Notes::default(), env);
        match came {
            ControlVerdict::Not => {}
            ControlVerdict::AsItIs => self.connect(datagram, env),
            ControlVerdict::Times(bytes, times) => (0..times).for_each(|_| self.connect(&bytes, env)),
        }
    }

    /// Forwards a CONNECT that the rules allow.
    pub(super) fn connect(&mut self, datagram: &[u8], env: &mut Env) {
        self.begin();
        self.note_rejoin(env.now);
        if env.config.heals && matches!(self.phase, Phase::Answered(_)) {
            // The server's only answer may have been lost.
            return self.answer_client(env);
        }
        self.pass_connect(datagram, env);
    }

    /// Handles a repeated CONNECT. The server decides whether to answer it.
    pub(crate) fn on_repeated_connect(&mut self, datagram: &[u8], env: &mut Env) {
        if self.is_closing() {
            return self.report_one_leg(Side::Client, datagram, &Notes::default(), env);
        }
        if self.is_half_open() {
            self.legs.client.last_received = env.now;
        }
        self.connect_received(datagram, env);
    }

    /// Makes this candidate the current session, because its client restarted.
    pub(crate) fn promote(&mut self, env: &mut Env) {
        self.opened.is_candidate = false;
        self.report_state(State::Opening, None, None, env);
        self.notice(Notice::Restart, env);
    }

    /// Makes this candidate the current session in place of a session whose client has not proved itself.
    pub(crate) fn take_over(&mut self, env: &mut Env) {
        self.opened.is_candidate = false;
        self.report_state(State::Opening, None, None, env);
    }

    /// Sends CONNECTACCEPT (ACCEPT in 0.7) to the client.
    pub(super) fn answer_client(&mut self, env: &mut Env) {
        let mut payload = Vec::new();
        // In 0.6.5, the header of this one packet contains the client's own token. The other protocols send the
        // same token as in every packet.
        let token = match self.legs.client.proto {
            Proto::V65 => self.opened.client_token,
            Proto::V6 | Proto::Ddnet | Proto::V7 => self.legs.client.token_out,
        };
        control::connect_accept(self.legs.client.proto, self.opened.token, &mut payload);
        let header = Header {
            flags: Flags::CONTROL,
            ack: Seq::ZERO,
            num_chunks: 0,
            token,
        };
        self.send_control(Side::Client, &header, &payload, env);
    }

    /// Enters the online phase, on the first packet of the client that can be forwarded.
    pub(super) fn go_online(&mut self, env: &mut Env) {
        let (connect_took, began) = match &self.phase {
            Phase::Answered(answered) => (answered.connect_took, answered.began),
            _ => (Duration::ZERO, None),
        };
        self.legs.server.last_received = env.now;
        let is_lone = self.legs.server.proto == Proto::Ddnet && env.config.heals;
        let accept = is_lone.then(|| LoneAccept::new(env.now, connect_took));
        self.phase = Phase::Online(Online::new(accept, began));
        if is_lone {
            self.send_accept(env);
        }
    }

    /// Records a valid datagram of the client, other than a CONNECT.
    pub(super) fn client_received(&mut self, env: &mut Env) {
        if matches!(self.phase, Phase::Opening(_) | Phase::Answered(_)) {
            self.go_online(env);
        }
        if let Some(online) = self.online() {
            online.left = None;
            online.is_rejoining = false;
        }
        let shown = match self.legs.client.token_in {
            Some(_) => Standing::Proved,
            None => Standing::Responded,
        };
        self.opened.standing = self.opened.standing.max(shown);
    }

    /// Returns true for DDNet's ACCEPT, which is forwarded unchanged. Its header is not checked: a server
    /// accepts it with any ack (DDNet 16.4, network_server.cpp, `OnConnCtrlMsg`).
    pub(super) fn is_lone_accept(&self, packet: &Packet<'_>, env: &Env) -> bool {
        let is_accept = matches!(packet.control(), Some(Control::Accept));
        is_accept && packet.proto == Proto::Ddnet && !env.config.heals
    }

    /// Forwards an ACCEPT of DDNet.
    pub(super) fn lone_accept_received(&mut self, datagram: &[u8], packet: &Packet<'_>, env: &mut Env) {
        self.legs.client.on_valid(packet, env.now);
        self.client_received(env);
        self.report_one_leg(Side::Client, datagram, &packet.notes, env);
        self.note_accept();
        self.pass_accept(datagram, packet, env);
    }

    /// Records that the server has let the client in, if its datagram shows that. Answers to CONNECT and
    /// TOKEN requests do not, because a server sends them without a slot for the client. A data packet of a
    /// server without tokens may be a challenge until the server acks a message of the client.
    pub(super) fn note_server_accepted(&mut self, control: Option<Control<'_>>, env: &mut Env) {
        let is_tokenless = self.legs.server.proto == Proto::V6;
        let shows = match control {
            Some(Control::ConnectAccept { .. } | Control::Token { .. } | Control::Close { .. }) => false,
            Some(Control::KeepAlive) => true,
            _ => !is_tokenless || self.dirs.c2s.has_been_acked(),
        };
        let Some(online) = self.online().filter(|_| shows) else {
            return;
        };
        if !std::mem::replace(&mut online.server_accepted, true) {
            self.report_state(State::Online, None, None, env);
        }
    }

    /// Sends DDNet's ACCEPT to the server on behalf of the client. The server creates a slot for the client
    /// when it receives the ACCEPT. A later copy would reset the server's sequence numbers, so the ACCEPT is
    /// repeated only while the server has sent nothing at all.
    fn send_accept(&mut self, env: &mut Env) {
        let header = Header {
            flags: Flags::CONTROL,
            ack: Seq::ZERO,
            num_chunks: 0,
            token: self.legs.server.token_out,
        };
        let mut payload = Vec::new();
        control::accept(&mut payload);
        // A duplicate would reset the server's numbers.
        self.send_control_as(Side::Server, &header, &payload, true, env);
    }

    pub(super) fn repeat_lone_accept(&mut self, env: &mut Env) {
        let accept = self.online().and_then(|online| online.accept.as_mut());
        if accept.is_some_and(|accept| accept.is_due(env.now)) {
            self.notice(Notice::AcceptRepeated, env);
            self.send_accept(env);
        }
    }

    /// Handles a handshake packet in a live session. Such a packet concerns one leg only and is not relayed.
    /// Returns false if the packet has to be relayed.
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
                if matches!(self.phase, Phase::Online(_)) && self.dirs.c2s.is_shifted() {
                    // If rules drop everything that the client sends, the server may send nothing else. The
                    // client still needs acks for its messages.
                    self.show_ack(Dir::S2c, env);
                }
                return true;
            }
            Some(Control::ConnectAccept { .. } | Control::Connect { .. }) => {}
            Some(Control::Token { token, .. }) => {
                // Like a peer of 0.7, the proxy sends this token from now on, or no token if it is cut off.
                self.leg(from).token_out = Some(token.unwrap_or(Token::NONE));
                self.notice(Notice::NewToken { side: from }, env);
            }
            _ => return false,
        }
        self.report_one_leg(from, datagram, &packet.notes, env);
        true
    }
}
