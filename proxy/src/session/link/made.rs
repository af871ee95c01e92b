//! Datagrams that the proxy creates: injected and released messages, retransmissions of messages in its
//! custody, requests.

use teetap_rules::Made;
use teetap_wire::{Dir, Flags, Header, Seq, Side, Trailing, control, write};

use super::{Env, Link, phase::Phase};
use crate::session::{Held, HeldId, HeldMessage, MadeHow, Notice, Origin, compose::fits};

const NOT_ONLINE: &str = "the session is not online";
const NOT_HELD: &str = "the message is not held";
const TOO_LARGE: &str = "the message is too large for a chunk";

impl Link {
    /// Sends a message of a user, or a message that a rule made for the other direction.
    ///
    /// # Errors
    /// Returns the reason why the message is not sent.
    pub(crate) fn inject(&mut self, made: &Made, origin: Origin, env: &mut Env) -> Result<(), &'static str> {
        let why = if self.online().is_none() {
            Some(NOT_ONLINE)
        } else if !self.may_arm(made.dir) {
            Some("the join without tokens is not complete")
        } else if !fits(self.legs.server.proto, made.data.len()) {
            Some(TOO_LARGE)
        } else if made.vital && !self.splice(made.dir).has_room(made.data.len()) {
            Some("the hold queue is full")
        } else {
            None
        };
        if let Some(why) = why {
            self.notice(Notice::InjectRefused { why: why.into() }, env);
            return Err(why);
        }
        if made.vital {
            self.arm(made.dir, env);
        }
        let proto = self.legs.server.proto;
        let rule = env.rule_name(made.rule);
        env.work.composer.clear();
        self.splice(made.dir).inject(
            made,
            (MadeHow::Inject, rule),
            proto,
            env.now,
            &mut env.work.composer,
        );
        self.send_composed(made.dir, origin, env);
        Ok(())
    }

    /// Requests a complete snapshot from the server, starting with the client's next input.
    pub(crate) fn resync(&mut self, env: &mut Env) -> Result<(), &'static str> {
        let Some(online) = self.online() else {
            self.notice(
                Notice::ResyncRefused {
                    why: NOT_ONLINE.into(),
                },
                env,
            );
            return Err(NOT_ONLINE);
        };
        online.resync.start();
        self.notice(Notice::Resync, env);
        Ok(())
    }

    /// Drops a held message. Messages that waited for it are sent.
    ///
    /// # Errors
    /// Returns the reason why the message is not dropped.
    pub(crate) fn drop_held(&mut self, dir: Dir, id: HeldId, env: &mut Env) -> Result<(), &'static str> {
        self.must_be_online()?;
        if !self.splice(dir).drop_one(id) {
            return Err(NOT_HELD);
        }
        self.send_due(dir, Origin::User, env);
        Ok(())
    }

    /// Replaces the bytes of a held message.
    ///
    /// # Errors
    /// Returns the reason why the bytes are not replaced.
    pub(crate) fn edit_held(&mut self, dir: Dir, id: HeldId, data: &[u8]) -> Result<(), &'static str> {
        self.must_be_online()?;
        if data.is_empty() {
            return Err("the message is empty");
        }
        if !fits(self.legs.server.proto, data.len()) {
            return Err(TOO_LARGE);
        }
        self.splice(dir).edit(id, data)
    }

    /// Appends the held messages to `list`.
    pub(crate) fn list_held(&self, list: &mut Vec<HeldMessage>) {
        if self.must_be_online().is_err() {
            return;
        }
        for (dir, splice) in [(Dir::C2s, &self.dirs.c2s), (Dir::S2c, &self.dirs.s2c)] {
            splice.list(list, |held| HeldMessage {
                session: self.id(),
                dir,
                proto: self.legs.server.proto,
                held,
                vital: false,
                rule: None,
                until: None,
                edited: false,
                data: Box::default(),
            });
        }
    }

    fn must_be_online(&self) -> Result<(), &'static str> {
        matches!(self.phase, Phase::Online(_))
            .then_some(())
            .ok_or(NOT_ONLINE)
    }

    /// Releases held messages.
    pub(crate) fn release(&mut self, held: Held, env: &mut Env) -> Result<(), &'static str> {
        self.must_be_online()?;
        let mut found = false;
        for dir in [Dir::C2s, Dir::S2c] {
            let is_held = match held {
                Held::Key(key) => self.splice(dir).release_key(key),
                Held::One(of, id) => of == dir && self.splice(dir).release_one(id),
            };
            if is_held {
                self.send_due(dir, Origin::User, env);
            }
            found |= is_held;
        }
        found.then_some(()).ok_or(NOT_HELD)
    }

    /// Sends the messages that rules made for the opposite direction.
    pub(super) fn send_crossing(&mut self, env: &mut Env) {
        if env.work.crossing.is_empty() {
            return;
        }
        for made in std::mem::take(&mut env.work.crossing) {
            let _noticed = self.inject(&made, Origin::Rule, env);
        }
    }

    /// Sends all messages of a direction that are due and for which the window has room.
    pub(super) fn send_due(&mut self, dir: Dir, origin: Origin, env: &mut Env) {
        if self.splice(dir).is_identity() {
            return;
        }
        let proto = self.legs.server.proto;
        env.work.composer.clear();
        self.splice(dir).release(proto, env.now, &mut env.work.composer);
        self.send_composed(dir, origin, env);
        self.report_waits(dir, env);
    }

    /// Retransmits messages in custody if the resend timer of the oldest one is due.
    pub(super) fn resend_oldest(&mut self, dir: Dir, env: &mut Env) {
        let proto = self.legs.server.proto;
        env.work.composer.clear();
        self.splice(dir)
            .resend_oldest(proto, env.now, &mut env.work.composer);
        self.send_composed(dir, Origin::Proxy, env);
    }

    /// Answers a resend request of `side` with the messages in custody.
    pub(super) fn answer_resend_request(&mut self, side: Side, env: &mut Env) {
        let dir = Dir::from_sender(side.other());
        let proto = self.legs.server.proto;
        env.work.composer.clear();
        self.splice(dir)
            .resend_all(proto, env.now, &mut env.work.composer);
        self.send_composed(dir, Origin::Proxy, env);
    }

    /// Requests missing messages from the sender of `dir`, in a datagram of its own because no other datagram
    /// has carried the request.
    pub(super) fn request_resend(&mut self, dir: Dir, env: &mut Env) {
        if self.splice(dir).resend_request_is_due(env.now) {
            env.work.composer.clear();
            self.send_with_request(dir.reverse(), Origin::Proxy, env);
        }
    }

    /// Sends the composed messages of a direction, if there are any.
    fn send_composed(&mut self, dir: Dir, origin: Origin, env: &mut Env) {
        if !env.work.composer.is_empty() {
            self.send_with_request(dir, origin, env);
        }
    }

    /// Sends a keepalive with the current ack, or a resend request if messages are missing.
    pub(super) fn show_ack(&mut self, dir: Dir, env: &mut Env) {
        env.work.composer.clear();
        self.send_with_request(dir, Origin::Proxy, env);
    }

    /// Sends the composed messages with the current ack and, if messages are missing, a resend request.
    fn send_with_request(&mut self, dir: Dir, origin: Origin, env: &mut Env) {
        let to = dir.receiver();
        let (_, _, back) = self.parts(to);
        // The ack and the request are about messages that `to` has sent.
        let ack = back.shown();
        let resend = back.take_resend_request();
        let mark = env.out.mark();
        self.seal(to, ack, resend, None, env);
        self.report_made(to, origin, mark, env);
    }

    /// Sends the composed messages in one datagram or more, the resend request in the first. Without messages it
    /// sends a keepalive that carries the ack, or an empty data packet for a resend request, since not every peer
    /// reads the request in a control packet.
    pub(super) fn seal(
        &mut self,
        to: Side,
        ack: Seq,
        mut resend: bool,
        compress: Option<Trailing>,
        env: &mut Env,
    ) {
        let leg = self.leg(to);
        let (proto, token) = (leg.proto, leg.token_out);
        let composer = std::mem::take(&mut env.work.composer);
        let mut send = |flags, payload: &[u8], num_chunks| {
            let header = Header {
                flags,
                ack,
                num_chunks,
                token,
            };
            self.transmit(to, env, |out| {
                write(proto, &header, payload, compress, out);
            });
        };
        if composer.is_empty() {
            let mut payload = Vec::new();
            if !resend {
                control::keepalive(&mut payload);
            }
            send(if resend { Flags::RESEND } else { Flags::CONTROL }, &payload, 0);
        }
        for (payload, num_chunks) in composer.payloads() {
            let asks = std::mem::take(&mut resend);
            send(
                if asks { Flags::RESEND } else { Flags::empty() },
                payload,
                num_chunks,
            );
        }
        env.work.composer = composer;
    }
}
