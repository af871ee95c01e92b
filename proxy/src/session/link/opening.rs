//! The opening of a session: the proxy's handshake with the server, and the client's datagrams meanwhile.

use std::time::Duration;

use teetap_wire::{Code, Control, Note, Notes, Packet, Proto, Scratch, Side, Token};

use super::{
    Admission, Env, Link,
    names::Name,
    phase::{Answered, Ending, Opening, Phase, REQUEST_EVERY},
    receive::fitting,
    ruled::ControlVerdict,
};
use crate::session::{
    Notice,
    handshake::{Accepted, HandshakeStep},
};

/// Upper bound for the measured answer time of a server. No playable connection is slower; a server that took
/// longer was not running.
const SLOWEST: Duration = Duration::from_secs(3);

impl Link {
    /// Records a CONNECT that the rules allow: the client is connecting.
    pub(super) fn begin(&mut self) {
        match &mut self.phase {
            Phase::Opening(opening) => (opening.left, opening.has_begun) = (None, true),
            Phase::Answered(answered) => answered.left = None,
            _ => {}
        }
    }

    pub(crate) fn on_upstream_open(
        &mut self,
        local: std::net::SocketAddr,
        scratch: &mut Scratch,
        env: &mut Env,
    ) {
        self.socket.opened(local);
        self.send_request(env);
        if !self.must_wait()
            && let Phase::Opening(opening) = &mut self.phase
        {
            let early = std::mem::take(&mut opening.early);
            self.handle_early(early, scratch, env);
        }
    }

    /// Reports that the upstream socket could not be opened: the network may be down, or descriptors used up.
    /// The next request to the server tries again.
    pub(crate) fn on_upstream_failed(&mut self, error: &str, env: &mut Env) {
        self.socket.failed();
        if let Phase::Opening(opening) = &mut self.phase {
            opening.has_no_socket = true;
            // These datagrams were not sent; the client repeats them.
            opening.early.retain(|_| opening.was_answered);
        }
        self.report_network(Notice::UpstreamFailed { error: error.into() }, env);
    }

    /// Opens the socket to the server if there is none, and sends the proxy's own request if it has one.
    pub(crate) fn send_request(&mut self, env: &mut Env) {
        let Phase::Opening(opening) = &mut self.phase else {
            return;
        };
        if !opening.has_begun {
            // The rules have dropped all packets of the client so far.
            return;
        }
        opening.next_request = env.now + REQUEST_EVERY;
        if std::mem::take(&mut opening.has_no_socket) {
            env.out.open(self.opened.upstream, self.opened.server.port());
        }
        if !self.socket.is_open() {
            // The request is sent when the socket is open.
            return;
        }
        let Phase::Opening(opening) = &self.phase else {
            return;
        };
        let Some(handshake) = opening.handshake.as_ref().filter(|_| opening.asks_itself()) else {
            return;
        };
        let mut request = Vec::new();
        handshake.request(&mut request);
        self.send_datagram(Side::Server, &request, false, env);
    }

    pub(super) fn opening_timeout(&mut self, env: &mut Env) {
        let silence = self.client_silence(env.now);
        let silent = env.now.since(self.opened.at);
        let Phase::Opening(opening) = &mut self.phase else {
            return;
        };
        if silence >= opening.patience() {
            return match opening.left.take() {
                Some(reason) => self.begin_closing(Ending::Peer(Side::Client), Some(&reason), env),
                None => self.forget(b"the client gave up", env),
            };
        }
        if !opening.has_begun {
            return;
        }
        if opening.next_notice <= env.now {
            opening.next_notice = env.now + silent;
            self.notice(Notice::UpstreamSilent { time: silent }, env);
        }
        if matches!(&self.phase, Phase::Opening(opening) if opening.asks_itself() && opening.next_request <= env.now)
        {
            self.send_request(env);
        }
    }

    /// Handles a datagram that the client sends before the server has answered. The datagram is forwarded as
    /// soon as possible: immediately without tokens, and in 0.7 once the server's token is known. A client of
    /// 0.6 that uses tokens does not know any yet, so its datagrams are forwarded unchanged.
    pub(super) fn client_while_opening(
        &mut self,
        datagram: &[u8],
        packet: &Packet<'_>,
        env: &mut Env,
    ) -> Admission {
        if let Err(code) = self.legs.client.check(packet).and_then(|()| fitting(packet)) {
            return Admission::No(code);
        }
        let is_close = matches!(packet.control(), Some(Control::Close { .. }));
        let Phase::Opening(opening) = &self.phase else {
            return Admission::Yes;
        };
        if opening.was_answered || is_close && self.must_wait() {
            return self.answered_while_opening(datagram, packet, env);
        }
        self.legs.client.last_received = env.now;
        if self.must_wait() {
            self.wait(datagram);
        } else if matches!(self.opened.requested, Proto::V6 | Proto::V7) {
            self.relay_ruled(Side::Client, datagram, packet, env);
        } else {
            return self.raw_while_opening(datagram, packet, env);
        }
        Admission::Yes
    }

    /// Handles a control message of the client that rules have delayed. It was reported when it was received.
    pub(super) fn late_while_opening(&mut self, datagram: &[u8], env: &mut Env) {
        if self.must_wait() {
            return self.wait(datagram);
        }
        let mut scratch = Scratch::new();
        match Packet::parse(self.legs.client.proto, datagram, &mut scratch) {
            Ok(packet) if matches!(self.opened.requested, Proto::V6 | Proto::V7) => {
                self.relay(Side::Client, datagram, &packet, env);
            }
            _ => self.pass_raw(datagram, env),
        }
    }

    /// Forwards, unchanged, a datagram that the client sent before it could know a token. Servers with tokens
    /// ignore it.
    fn raw_while_opening(&mut self, datagram: &[u8], packet: &Packet<'_>, env: &mut Env) -> Admission {
        for proto in [Proto::V6, Proto::V65] {
            let mut scratch = Scratch::new();
            if let Ok(packet) = Packet::parse(proto, datagram, &mut scratch)
                && let Err(code) = fitting(&packet)
            {
                return Admission::No(code);
            }
        }
        let came = self.rule_control(Side::Client, datagram, packet, env);
        self.report_one_leg(Side::Client, datagram, &packet.notes, env);
        match came {
            ControlVerdict::Not => return Admission::Yes,
            ControlVerdict::AsItIs => self.pass_raw(datagram, env),
            ControlVerdict::Times(bytes, times) => (0..times).for_each(|_| self.pass_raw(&bytes, env)),
        }
        if let (Some(Control::Close { reason }), Phase::Opening(opening)) =
            (packet.control(), &mut self.phase)
        {
            opening.left = Some(reason.unwrap_or_default().into());
        }
        Admission::Yes
    }

    /// Handles a datagram of a client that was answered before the session opened, or whose CONNECT the rules
    /// have dropped.
    fn answered_while_opening(&mut self, datagram: &[u8], packet: &Packet<'_>, env: &mut Env) -> Admission {
        let reason = match packet.control() {
            Some(Control::Close { reason }) => Some(reason.unwrap_or_default()),
            _ => None,
        };
        if reason.is_none() {
            self.legs.client.last_received = env.now;
            self.wait(datagram);
            return Admission::Yes;
        }
        let came = self.rule_control(Side::Client, datagram, packet, env);
        self.report_one_leg(Side::Client, datagram, &packet.notes, env);
        let Some(reason) = reason.filter(|_| !matches!(came, ControlVerdict::Not)) else {
            return Admission::Yes;
        };
        if self.legs.client.token_in.is_some() {
            self.close_server_while_opening(reason, env);
            self.begin_closing(Ending::Peer(Side::Client), Some(reason), env);
        } else if self.opened.requested == Proto::V6 {
            self.may_leave_while_opening(reason, env);
        }
        Admission::Yes
    }

    /// Records a CLOSE of a client that has not received the answer with its token yet.
    pub(super) fn may_have_left(&mut self, packet: &Packet<'_>) {
        let knows_none = packet.header.token.is_none_or(|token| token == Token::NONE);
        if let (Some(Control::Close { reason }), Phase::Answered(answered)) =
            (packet.control(), &mut self.phase)
            && knows_none
        {
            answered.left = Some(reason.unwrap_or_default().into());
        }
    }

    /// Handles the CLOSE of a client without tokens. The CLOSE may be forged, so it is forwarded and the
    /// server decides what to do. The session ends unless another CONNECT shows that the client is still
    /// connecting.
    fn may_leave_while_opening(&mut self, reason: &[u8], env: &mut Env) {
        self.close_server_while_opening(reason, env);
        self.legs.client.last_received = env.now;
        if let Phase::Opening(opening) = &mut self.phase {
            opening.has_begun = false;
            opening.left = Some(reason.into());
        }
    }

    /// Sends a CLOSE to a server that may already have a slot.
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
        (self.legs.server.proto, self.legs.server.token_out) = (proto, token);
        self.send_close(Side::Server, reason, env);
    }

    /// Handles a datagram of a server that has not let the client in yet. Returns true if the datagram is
    /// traffic that the caller has to relay.
    pub(super) fn server_while_opening(
        &mut self,
        datagram: &[u8],
        may_take_over: bool,
        scratch: &mut Scratch,
        env: &mut Env,
    ) -> bool {
        let came = match Packet::parse(self.legs.server.form(datagram), datagram, scratch) {
            Ok(packet) => self.rule_control(Side::Server, datagram, &packet, env),
            Err(_) => ControlVerdict::AsItIs,
        };
        match came {
            ControlVerdict::AsItIs => self.server_opens(datagram, may_take_over, scratch, env),
            ControlVerdict::Not => {
                self.report_one_leg(Side::Server, datagram, &Notes::default(), env);
                false
            }
            ControlVerdict::Times(bytes, times) => {
                (0..times).any(|_| self.server_opens(&bytes, may_take_over, scratch, env))
            }
        }
    }

    /// Handles a datagram of a server that has not let the client in yet, after the rules have allowed it.
    /// Returns true if the datagram is traffic that the caller has to relay.
    pub(super) fn server_opens(
        &mut self,
        datagram: &[u8],
        may_take_over: bool,
        scratch: &mut Scratch,
        env: &mut Env,
    ) -> bool {
        let chosen = self.chosen_by(datagram, scratch);
        let Phase::Opening(opening) = &mut self.phase else {
            return true;
        };
        let Some(mut handshake) = opening.handshake.take() else {
            return false;
        };
        if let Some(name) = chosen {
            handshake.expect(name.own);
        }
        match handshake.handle(datagram, scratch) {
            HandshakeStep::Stay(handshake) => {
                opening.handshake = Some(handshake);
                let notes = self.why_ignored(datagram, scratch);
                self.report_one_leg(Side::Server, datagram, &notes, env);
                self.pass_foreign_answer(datagram, scratch, env);
                false
            }
            HandshakeStep::Next(handshake) => {
                // The server's token is known, so the datagrams that waited for it can be forwarded.
                (self.legs.server.token_in, self.legs.server.token_out) =
                    (Some(self.opened.own), handshake.server_token());
                opening.handshake = Some(handshake);
                let early = std::mem::take(&mut opening.early);
                self.report_one_leg(Side::Server, datagram, &Notes::default(), env);
                self.handle_early(early, scratch, env);
                false
            }
            HandshakeStep::Accepted(accepted) => {
                let is_traffic = accepted.is_traffic;
                let early = std::mem::take(&mut opening.early);
                let was_answered = opening.was_answered;
                self.traits.answer = Some(accepted.proto);
                if was_answered && accepted.proto != self.legs.client.proto {
                    return self.answers_otherwise(&accepted, datagram, env);
                }
                self.on_accepted(&accepted, chosen, env);
                if !is_traffic {
                    self.report_one_leg(Side::Server, datagram, &Notes::default(), env);
                }
                if self.opened.is_candidate && accepted.proto == Proto::V6 && !may_take_over {
                    // A candidate without a token can never prove itself.
                    self.leave(env);
                    return false;
                }
                if was_answered {
                    self.handle_early(early, scratch, env);
                } else if !is_traffic {
                    self.pass_answer(datagram, env);
                } else if env.config.heals {
                    // The server's only answer was lost.
                    self.answer_client(env);
                }
                is_traffic && !self.is_closing()
            }
            HandshakeStep::Refused(reason) => {
                self.report_one_leg(Side::Server, datagram, &Notes::default(), env);
                self.pass_refusal(datagram, scratch, env);
                self.begin_closing(Ending::Peer(Side::Server), Some(&reason), env);
                false
            }
        }
    }

    /// Ends the session of a client that the proxy answered without the server, because the server has now
    /// answered in another protocol than the proxy did.
    fn answers_otherwise(&mut self, accepted: &Accepted, datagram: &[u8], env: &mut Env) -> bool {
        const REASON: &[u8] = b"The server has changed, please connect again";
        self.report_one_leg(Side::Server, datagram, &Notes::default(), env);
        (self.legs.server.proto, self.legs.server.token_out) = (accepted.proto, accepted.token_out);
        self.send_close(Side::Server, REASON, env);
        self.send_close(Side::Client, REASON, env);
        self.begin_closing(Ending::Proxy, Some(REASON), env);
        false
    }

    /// Returns the notes on a datagram that had no effect on the handshake. A token other than the requested
    /// one is noted in 0.7 only, because the variant of a 0.6 server is not known yet.
    fn why_ignored(&self, datagram: &[u8], scratch: &mut Scratch) -> Notes {
        let proto = self.legs.server.proto;
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

    fn on_accepted(&mut self, accepted: &Accepted, chosen: Option<Name>, env: &Env) {
        // Measured from the first CONNECT: on a slow connection its answer arrives after further CONNECTs
        // were sent.
        let connect_took = env.now.since(self.opened.at).min(SLOWEST);
        let left = match &mut self.phase {
            Phase::Opening(opening) => opening.left.take(),
            _ => None,
        };
        self.phase = Phase::Answered(Answered {
            connect_took,
            began: None,
            left,
        });
        self.legs.server.proto = accepted.proto;
        self.legs.server.token_in = accepted.token_in;
        self.legs.server.token_out = accepted.token_out;
        self.legs.server.last_received = env.now;
        self.legs.client.proto = accepted.proto;
        // In 0.7 each side sends the other's token. In older protocols both sides send the same token, or
        // none.
        let shared = accepted.token_out.map(|_| self.opened.token);
        self.legs.client.token_in = shared;
        self.legs.client.token_out = if accepted.proto == Proto::V7 {
            chosen.map(|name| name.client).or(self.opened.client_token)
        } else {
            shared
        };
    }
}
