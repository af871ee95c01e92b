//! How a session comes online: both handshakes, each with tokens of its own.
//!
//! The client's CONNECT opens the server leg in the client's kind; only when the server has answered is the client
//! answered, in the kind that the server chose. So a refusal reaches the client in the server's own words.

use std::time::Duration;

use teetap_rules::impair::LineSet;
use teetap_wire::{
    Code, Control, Dir, Flags, Header, Note, Notes, Packet, Proto, Scratch, Seq, Side, Token, control,
};

use super::{
    Env, Link, Opened, Taken, Tried, fitting,
    phase::{Answered, LoneAccept, Online, Opening, Phase, REQUEST_EVERY},
    ruled::{Came, Later},
};
use crate::session::{
    Notice, State,
    datagram::readable,
    handshake::{Accepted, Handshake, Step},
    leg::Leg,
    redirect::Waiting,
    snapshots::Snapshots,
    splice::Splice,
    timers::Alarm,
};

/// A silent server is reported after this long, and again each time it doubles.
const FIRST_NOTICE: Duration = Duration::from_secs(2);
/// No line on which one plays is slower; a server that took longer to answer was not there.
const SLOWEST: Duration = Duration::from_secs(3);
/// Datagrams of a client that wait for the server's answer; its resends make up for more.
const MAX_EARLY: usize = 16;

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

    /// Sends the first request to the server.
    pub(super) fn begin(&mut self, env: &mut Env) {
        let Phase::Opening(opening) = &mut self.phase else {
            return;
        };
        opening.left = None;
        if !std::mem::replace(&mut opening.has_begun, true) {
            self.send_request(env);
        }
    }

    pub(crate) fn on_upstream_open(&mut self, local: std::net::SocketAddr) {
        self.local = Some(local);
    }

    /// Reports that there is no upstream socket: the network may be down, or descriptors used up. The next request to the
    /// server tries again.
    pub(crate) fn on_upstream_failed(&mut self, error: &str, env: &mut Env) {
        self.local = None;
        if let Phase::Opening(opening) = &mut self.phase {
            opening.has_no_socket = true;
        }
        self.report_network(Notice::UpstreamFailed { error: error.into() }, env);
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

    pub(crate) fn send_request(&mut self, env: &mut Env) {
        let Phase::Opening(opening) = &mut self.phase else {
            return;
        };
        if !opening.has_begun {
            // The first packet of the client has not come through the rules.
            return;
        }
        opening.next_request = env.now + REQUEST_EVERY;
        if std::mem::take(&mut opening.has_no_socket) {
            env.out.open(self.opened.upstream, self.opened.server.port());
        }
        let Phase::Opening(Opening {
            handshake: Some(handshake),
            ..
        }) = &self.phase
        else {
            return;
        };
        let mut request = Vec::new();
        handshake.request(&mut request);
        let mut scratch = Scratch::new();
        let Ok(packet) = Packet::parse(self.server.proto, &request, &mut scratch) else {
            return;
        };
        self.send_control(Side::Server, &packet.header, packet.payload, env);
    }

    pub(super) fn opening_timeout(&mut self, env: &mut Env) {
        let silence = self.client_silence(env.now);
        let silent = env.now.since(self.opened.at);
        let Phase::Opening(opening) = &mut self.phase else {
            return;
        };
        if silence >= opening.patience() {
            return match opening.left.take() {
                Some(reason) => self.begin_closing(Some(Side::Client), Some(&reason), env),
                // The address may belong to another client by now: only the server gets a CLOSE.
                None => self.close(Some(Side::Server), b"the client gave up", env),
            };
        }
        if !opening.has_begun {
            return;
        }
        if opening.next_notice <= env.now {
            opening.next_notice = env.now + silent;
            self.notice(Notice::UpstreamSilent { time: silent }, env);
        }
        if matches!(&self.phase, Phase::Opening(opening) if opening.next_request <= env.now) {
            self.send_request(env);
        }
    }

    /// Before the server has let the proxy in, a client can only leave, unless it was answered before. Without a token of
    /// the proxy's only a client of 0.6.4 can leave: servers with tokens ignore a CLOSE that shows none, and any host can
    /// forge one.
    pub(super) fn client_while_opening(
        &mut self,
        datagram: &[u8],
        packet: &Packet<'_>,
        env: &mut Env,
    ) -> Taken {
        if let Err(code) = self.client.check(packet).and_then(|()| fitting(packet)) {
            return Taken::No(code);
        }
        let reason = match packet.control() {
            Some(Control::Close { reason }) => Some(reason.unwrap_or_default()),
            _ => None,
        };
        if let (None, Phase::Opening(opening)) = (reason, &mut self.phase)
            && let Some(early) = &mut opening.early
        {
            self.client.last_received = env.now;
            if early.len() < MAX_EARLY {
                early.push(readable(datagram).into());
            }
            return Taken::Yes;
        }
        let came = self.control_came(Side::Client, datagram, packet, env);
        self.report_one_leg(Side::Client, datagram, &packet.notes, env);
        let Some(reason) = reason.filter(|_| !matches!(came, Came::Not)) else {
            return Taken::Yes;
        };
        if self.client.token_in.is_some() {
            self.close_server_while_opening(reason, env);
            self.begin_closing(Some(Side::Client), Some(reason), env);
        } else if self.opened.requested == Proto::V6 {
            self.may_leave_while_opening(reason, env);
        }
        Taken::Yes
    }

    /// The CLOSE of a client without tokens, which may be forged: the server gets it, and does what it does with one. The
    /// session ends unless another CONNECT shows that the client is still there.
    fn may_leave_while_opening(&mut self, reason: &[u8], env: &mut Env) {
        self.close_server_while_opening(reason, env);
        self.client.last_received = env.now;
        if let Phase::Opening(opening) = &mut self.phase {
            opening.has_begun = false;
            opening.left = Some(reason.into());
        }
    }

    /// Sends CLOSE to a server that may have a slot already.
    pub(super) fn close_server_while_opening(&mut self, reason: &[u8], env: &mut Env) {
        let Phase::Opening(Opening {
            handshake: Some(handshake),
            has_begun: true,
            ..
        }) = &self.phase
        else {
            return;
        };
        let Some((proto, token)) = handshake.slot() else {
            return;
        };
        (self.server.proto, self.server.token_out) = (proto, token);
        self.send_close(Side::Server, reason, env);
    }

    /// A datagram of the server's before it has let us in. True when it is traffic that has to be relayed.
    pub(super) fn server_while_opening(
        &mut self,
        datagram: &[u8],
        scratch: &mut Scratch,
        env: &mut Env,
    ) -> bool {
        let came = match Packet::parse(self.server.proto, datagram, scratch) {
            Ok(packet) => self.control_came(Side::Server, datagram, &packet, env),
            Err(_) => Came::AsItIs,
        };
        match came {
            Came::AsItIs => self.server_opens(datagram, scratch, env),
            Came::Not => {
                self.report_one_leg(Side::Server, datagram, &Notes::default(), env);
                false
            }
            Came::Times(bytes, times) => (0..times).any(|_| self.server_opens(&bytes, scratch, env)),
        }
    }

    /// The same for one that the rules let come.
    pub(super) fn server_opens(&mut self, datagram: &[u8], scratch: &mut Scratch, env: &mut Env) -> bool {
        let Phase::Opening(opening) = &mut self.phase else {
            return true;
        };
        let Some(handshake) = opening.handshake.take() else {
            return false;
        };
        match handshake.handle(datagram, scratch) {
            Step::Stay(handshake) => {
                opening.handshake = Some(handshake);
                let notes = self.why_ignored(datagram, scratch);
                self.report_one_leg(Side::Server, datagram, &notes, env);
                false
            }
            Step::Next(handshake) => {
                opening.handshake = Some(handshake);
                self.report_one_leg(Side::Server, datagram, &Notes::default(), env);
                self.send_request(env);
                false
            }
            Step::Accepted(accepted) => {
                let is_traffic = accepted.is_traffic;
                let early = opening.early.take();
                self.answer = Some(accepted.proto);
                if early.is_some() && accepted.proto != self.client.proto {
                    return self.answers_otherwise(&accepted, datagram, env);
                }
                self.on_accepted(&accepted, env);
                if !is_traffic {
                    self.report_one_leg(Side::Server, datagram, &Notes::default(), env);
                }
                if self.opened.is_candidate && accepted.proto == Proto::V6 && !self.may_take_over {
                    // A candidate without a token could never prove itself.
                    self.leave(env);
                    return false;
                }
                match early {
                    Some(early) => self.client_came_early(&early, scratch, env),
                    None => self.answer_client(env),
                }
                is_traffic && !self.is_closing()
            }
            Step::Refused(reason) => {
                self.report_one_leg(Side::Server, datagram, &Notes::default(), env);
                self.send_close(Side::Client, &reason, env);
                self.begin_closing(Some(Side::Server), Some(&reason), env);
                false
            }
        }
    }

    /// Handles what a client sent that was answered before the server.
    fn client_came_early(&mut self, early: &[Box<[u8]>], scratch: &mut Scratch, env: &mut Env) {
        for datagram in early {
            if let Taken::No(code) = self.on_client(datagram, scratch, env) {
                self.report_refused(Side::Client, datagram, code, env);
            }
        }
    }

    /// Ends the session: the client was answered in the protocol that other clients got, but the server answers this one
    /// in another.
    fn answers_otherwise(&mut self, accepted: &Accepted, datagram: &[u8], env: &mut Env) -> bool {
        const REASON: &[u8] = b"The server has changed, please connect again";
        self.report_one_leg(Side::Server, datagram, &Notes::default(), env);
        (self.server.proto, self.server.token_out) = (accepted.proto, accepted.token_out);
        self.send_close(Side::Server, REASON, env);
        self.send_close(Side::Client, REASON, env);
        self.begin_closing(None, Some(REASON), env);
        false
    }

    /// Returns the notes of a datagram that did nothing for the handshake. A 0.6 server may show another token than the
    /// one in the request: its variant is not known yet.
    fn why_ignored(&self, datagram: &[u8], scratch: &mut Scratch) -> Notes {
        let proto = self.server.proto;
        let mut notes = Notes::default();
        let code = match Packet::parse(proto, datagram, scratch) {
            Err(error) => error.code(),
            Ok(packet) if proto == Proto::V7 && packet.header.token != Some(self.opened.own) => {
                Code::WrongToken
            }
            Ok(packet) => return packet.notes,
        };
        notes.push(Note {
            code,
            at: 0,
            len: datagram.len(),
        });
        notes
    }

    fn on_accepted(&mut self, accepted: &Accepted, env: &Env) {
        // From the first CONNECT on: on a slow line the answer to that one comes after others have been sent.
        let connect_took = env.now.since(self.opened.at).min(SLOWEST);
        self.phase = Phase::Answered(Answered {
            connect_took,
            is_legacy_reported: false,
        });
        self.server.proto = accepted.proto;
        self.server.token_in = accepted.token_in;
        self.server.token_out = accepted.token_out;
        self.server.last_received = env.now;
        self.client.proto = accepted.proto;
        // 0.7: each side shows the other's token. Older kinds share one, and tokenless ones have none.
        let shared = accepted.token_out.map(|_| self.opened.token);
        self.client.token_in = shared;
        self.client.token_out = if accepted.proto == Proto::V7 {
            self.opened.client_token
        } else {
            shared
        };
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

    /// The legacy and anti-spoof joins hide a token in game messages and start their numbers late: nothing is
    /// touched before a tokenless server has acked the client.
    pub(super) fn may_renumber(&self) -> bool {
        self.server.proto != Proto::V6 || self.c2s.has_been_acked()
    }

    pub(super) fn label_legacy_join(&mut self, env: &mut Env) {
        let is_tokenless = self.server.proto == Proto::V6;
        let Phase::Answered(answered) = &mut self.phase else {
            return;
        };
        if is_tokenless && !std::mem::replace(&mut answered.is_legacy_reported, true) {
            self.notice(Notice::LegacyJoin, env);
        }
    }

    /// Another program was set, or none. What the rules of the old one remember may be carried over.
    pub(crate) fn on_program(&mut self, env: &mut Env) {
        let is_new = matches!(self.phase, Phase::Opening(_));
        self.rules = env.open_rules(&self.opened, is_new, self.rules.take());
        self.open_links(env);
        if self.is_online() {
            self.arm_for_rules(env);
        }
    }

    /// Arms the directions in which rules act.
    pub(crate) fn arm_for_rules(&mut self, env: &mut Env) {
        let mut is_pending = false;
        for dir in [Dir::C2s, Dir::S2c] {
            if !env.acts(self.server.proto, dir) {
                continue;
            }
            if self.may_renumber() {
                self.arm(dir, env);
            } else {
                is_pending = true;
            }
        }
        if let Some(online) = self.online() {
            online.arm_pending = is_pending;
        }
    }

    pub(super) fn arm(&mut self, dir: Dir, env: &mut Env) {
        if self.splice(dir).arm() {
            self.notice(Notice::Renumbered { dir }, env);
        }
    }
}
