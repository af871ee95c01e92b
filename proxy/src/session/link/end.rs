//! The end of a session: by a CLOSE of a peer, silence, a message in custody that is never acked, or a
//! command.

use std::time::Duration;

use teetap_rules::{Decide, Effect, End, Failure, Hit, RuleId};
use teetap_wire::{Dir, Flags, Header, Packet, Proto, Rewrite, Side, control, rewrite};

use super::{
    Env, Link,
    phase::{BOTH_SILENT, Closing, Ending, LEFT, Phase, SERVER_SILENT},
};
use crate::session::{Notice, Origin, State, Time, splice::Splice};
use crate::words::Word;

/// Time for which late datagrams of an ended session are expected.
const LINGER: Duration = Duration::from_secs(2);
/// Maximum additional time for which an ended session waits for datagrams in its links.
const LATEST: Duration = Duration::from_secs(10);
/// Maximum bytes of a reason that are sent. Receivers keep only 127 bytes, or 255 in DDNet, and accept a
/// datagram of this size.
const MAX_REASON: usize = 1024;
/// Age up to which 0.6.4 and 0.7 servers ban the address of a connection that ends (`CNetServer::Update`).
const EARLY: Duration = Duration::from_secs(1);

impl Link {
    pub(super) fn online_timeout(&mut self, env: &mut Env) {
        let has_left = self.client_silence(env.now) >= LEFT;
        if let Some(online) = self.online()
            && has_left
            && let Some(reason) = online.left.take()
        {
            return self.begin_closing(Ending::Peer(Side::Client), Some(&reason), env);
        }
        if env.now.since(self.last_sign()) >= BOTH_SILENT {
            return self.forget(b"Timeout", env);
        }
        let limit = env.config.patience.unwrap_or(self.not_acked_limit());
        if self.custody_age(env.now) >= limit {
            let reason = format!("Too weak connection (not acked for {} seconds)", limit.as_secs());
            return self.end_by_proxy(reason.as_bytes(), env);
        }
        let silent = env.now.since(self.legs.server.last_received);
        if silent >= SERVER_SILENT
            && let Some(online) = self.online()
            && !std::mem::replace(&mut online.is_silence_reported, true)
        {
            self.notice(Notice::UpstreamSilent { time: silent }, env);
        }
        self.repeat_lone_accept(env);
        self.run_rules(env);
        if self.is_closing() {
            return;
        }
        for dir in [Dir::C2s, Dir::S2c] {
            self.send_due(dir, Origin::Rule, env);
            self.resend_oldest(dir, env);
            self.request_resend(dir, env);
        }
    }

    /// Sends the messages that the program makes at this time.
    fn run_rules(&mut self, env: &mut Env) {
        let due = |rules: &&mut Box<dyn Decide>| rules.deadline().is_some_and(|at| at <= env.now.0);
        let made = match self.rules.program.as_mut().filter(due) {
            Some(rules) => rules.on_time(env.now.0, &mut env.shared),
            None => return,
        };
        for made in made {
            let _noticed = self.inject(&made, Origin::Rule, env);
        }
        self.carry_out_effects(env);
    }

    /// Collects the effects of rules and begins stalls, so that a stall also applies to the message that
    /// caused it.
    pub(super) fn begin_stalls(&mut self, env: &mut Env) {
        let Some(rules) = &mut self.rules.program else {
            return;
        };
        let before = env.work.effects.len();
        env.work.effects.extend(rules.effects());
        for effect in env.work.effects.get(before..).unwrap_or_default() {
            let Effect::Stall { dir, for_ } = effect else {
                continue;
            };
            for of in [Dir::C2s, Dir::S2c] {
                if dir.is_none_or(|dir| dir == of) {
                    self.stall(of, *for_, env.now);
                }
            }
        }
    }

    /// Carries out the effects of rules other than the fate of a message. Returns true if the session is
    /// closing.
    pub(super) fn carry_out_effects(&mut self, env: &mut Env) -> bool {
        // Called for each datagram; without rules there is nothing to do.
        if self.rules.program.is_none() && env.work.failed.is_empty() && env.work.effects.is_empty() {
            return self.is_closing();
        }
        for (rule, why) in std::mem::take(&mut env.work.failed) {
            let rule = rule_name(rule, env);
            self.notice(Notice::RuleFailed { rule, why }, env);
        }
        self.begin_stalls(env);
        for effect in std::mem::take(&mut env.work.effects) {
            match effect {
                Effect::Stall { .. } => {}
                Effect::Failed { rule, why } => {
                    let rule = rule_name(rule, env);
                    self.notice(Notice::RuleFailed { rule, why }, env);
                }
                Effect::Log { rule, text, whole } => {
                    let rule = rule_name(rule, env);
                    let logged = text;
                    self.notice(Notice::RuleLog { rule, logged, whole }, env);
                }
                Effect::Release { key } => {
                    for dir in [Dir::C2s, Dir::S2c] {
                        self.splice(dir).release_key(key);
                    }
                }
                Effect::Close { side, reason } => self.close_on_request(side, reason.as_bytes(), env),
                Effect::End { rule, end, message } => self.notice_end(rule, end, message, env),
            }
        }
        self.is_closing()
    }

    /// Reports that a rule ends the run. The core does not end the run itself; its user has to.
    fn notice_end(&self, rule: RuleId, end: End, message: Option<(Dir, Box<str>)>, env: &mut Env) {
        if let End::Fail(why) | End::Unmet(why) = &end {
            let failure = Failure {
                hit: Hit {
                    at: env.now.0,
                    session: self.id().0,
                },
                why: why.clone(),
                message: message.clone(),
            };
            env.shared.fail(rule, failure);
        }
        let rule = rule_name(rule, env);
        let expected = matches!(end, End::Unmet(_));
        let (dir, message) = message.unzip();
        let dir = dir.map(Word);
        let notice = match end {
            End::Fail(why) | End::Unmet(why) => Notice::AssertionFailed {
                rule,
                expected,
                why,
                dir,
                message,
            },
            End::Exit(exit) => Notice::ExitRequested {
                rule,
                exit,
                dir,
                message,
            },
        };
        self.notice(notice, env);
    }

    /// Returns the time for which a peer of this kind lets a message stay unacked before it closes the
    /// session. The proxy applies the same limit to the messages in its custody.
    fn not_acked_limit(&self) -> Duration {
        match self.legs.server.proto {
            Proto::Ddnet => Duration::from_secs(100),
            Proto::V6 | Proto::V65 | Proto::V7 => Duration::from_secs(10),
        }
    }

    /// Closes one leg or both on behalf of the proxy, or at the end of the run.
    pub(crate) fn close(&mut self, side: Option<Side>, reason: &[u8], env: &mut Env) {
        if self.is_closing() {
            return;
        }
        for leg in [Side::Client, Side::Server] {
            if side.is_none_or(|side| side == leg) {
                self.close_leg(leg, reason, env);
            }
        }
        self.begin_closing(Ending::Proxy, Some(reason), env);
    }

    /// Closes the session for a user or a rule. Sends the reason to `side` and a CLOSE without a reason to
    /// the other peer, so that neither peer waits for the other.
    pub(crate) fn close_on_request(&mut self, side: Option<Side>, reason: &[u8], env: &mut Env) {
        if self.is_closing() {
            return;
        }
        for leg in [Side::Client, Side::Server] {
            let is_told = side.is_none_or(|side| side == leg);
            self.close_leg(leg, if is_told { reason } else { b"" }, env);
        }
        self.begin_closing(Ending::Proxy, Some(reason), env);
    }

    /// Ends the session on behalf of the proxy: both peers get a CLOSE.
    pub(super) fn end_by_proxy(&mut self, reason: &[u8], env: &mut Env) {
        self.close(None, reason, env);
    }

    /// Ends a session in which both peers are silent. Neither peer gets a CLOSE, as without the proxy: the
    /// server drops the client after its own timeout, or keeps the player in the game until the client
    /// returns (DDNet's timeout protection).
    pub(super) fn forget(&mut self, reason: &[u8], env: &mut Env) {
        self.begin_closing(Ending::Silence, Some(reason), env);
    }

    /// Ends a session that makes room for another one, or that a restarted client has abandoned. Only the
    /// server gets a CLOSE.
    pub(crate) fn leave(&mut self, env: &mut Env) {
        if !self.is_closing() {
            self.close(Some(Side::Server), b"", env);
        }
        self.finish(env);
    }

    /// Ends the session without a CLOSE, because another session of its client takes over the socket, and the
    /// server already knows that session.
    pub(crate) fn hand_over(&mut self, env: &mut Env) {
        if !self.is_closing() {
            self.begin_closing(Ending::Proxy, None, env);
        }
        self.finish(env);
    }

    fn close_leg(&mut self, leg: Side, reason: &[u8], env: &mut Env) {
        if leg == Side::Server && self.opened.is_candidate && self.socket.is_shared {
            // The server has accepted only the other session on this socket.
            return;
        }
        match (leg, &self.phase) {
            (Side::Server, Phase::Opening(_)) => self.close_server_while_opening(reason, env),
            // DDNet's server has no slot before the client's first packet, but other servers do.
            _ => self.send_close(leg, reason, env),
        }
    }

    /// Sends a CLOSE with the leg's token and an ack inside the peer's window. A client that was not answered
    /// yet accepts ack 0. A DDNet client has no token by then, and accepts a CLOSE without one, like the
    /// CLOSE that its server would send.
    pub(super) fn send_close(&mut self, to: Side, reason: &[u8], env: &mut Env) {
        let (leg, _, back) = self.parts(to);
        let header = Header {
            flags: Flags::CONTROL,
            ack: back.shown(),
            num_chunks: 0,
            token: leg.token_out,
        };
        let mut payload = Vec::new();
        control::close(reason.get(..MAX_REASON).unwrap_or(reason), &mut payload);
        self.send_control(to, &header, &payload, env);
    }

    pub(super) fn note_early_close(&mut self, from: Side, env: &mut Env) {
        let bans = matches!(self.legs.server.proto, Proto::V6 | Proto::V7);
        if from == Side::Client && bans && env.now.since(self.opened.at) < EARLY {
            self.notice(Notice::EarlyClose, env);
        }
    }

    pub(super) fn begin_closing(&mut self, ending: Ending, reason: Option<&[u8]>, env: &mut Env) {
        let lingers = env.now + LINGER;
        let last = self.links_end().map_or(lingers, |end| end.min(lingers + LATEST));
        let until = lingers.max(last);
        self.phase = Phase::Closing(Closing { until, ending });
        self.rules.on_end();
        self.carry_out_effects(env);
        self.report_state(State::Closing, ending.peer(), reason, env);
    }

    /// Handles a datagram that is received after the end. The other peer decides what to do with it, as
    /// without the proxy: a server of 0.6.5 gives a client that continues a new slot (0.6.5,
    /// network_server.cpp, `Recv`). If the proxy has ended the session, or has translated its numbers, the
    /// datagram is not forwarded.
    pub(super) fn received_after_end(
        &mut self,
        from: Side,
        datagram: &[u8],
        packet: &Packet<'_>,
        env: &mut Env,
    ) {
        let is_identity = self.dirs.iter().all(Splice::is_identity);
        let has_tokens = self.legs.server.token_out.is_some() || self.legs.server.proto == Proto::V6;
        let to = from.other();
        let with = Rewrite {
            token: self.leg(to).token_out,
            ack: packet.header.ack,
            resend: packet.header.flags.contains(Flags::RESEND),
            usual: self.leg(from).trailing,
        };
        match &mut self.phase {
            Phase::Closing(closing) if closing.ending.peer().is_some() && is_identity && has_tokens => {
                if from == Side::Client {
                    closing.until = closing.until.max(env.now + LINGER);
                }
            }
            _ => return self.report_one_leg(from, datagram, &packet.notes, env),
        }
        let mark = env.out.mark();
        self.transmit(to, env, |out| {
            rewrite(packet, datagram, with, out);
        });
        self.report_untouched(from, datagram, packet, mark, env);
    }

    pub(crate) fn finish(&mut self, env: &mut Env) {
        let ending = match &self.phase {
            Phase::Closing(closing) => closing.ending,
            _ => Ending::Proxy,
        };
        self.phase = Phase::Closed(ending);
        // Datagrams that are still in the links are sent now, because there is no socket later.
        self.send_late(Time(u64::MAX), env);
        if !self.socket.is_shared {
            env.out.close(self.upstream());
        }
        self.report_state(State::Closed, None, None, env);
    }
}

/// Returns the name of a rule, or its text.
fn rule_name(rule: RuleId, env: &Env) -> Box<str> {
    let name = env.program.as_ref().and_then(|program| program.rule(rule));
    name.unwrap_or_default().into()
}
