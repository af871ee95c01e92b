//! Rules on control messages. A rule acts on messages that are received or sent on the client leg, unless it
//! names the server leg.
//!
//! Law: if a rule drops a control message, the session continues as if the message had never been received,
//! or never been sent. The lone ACCEPT to a DDNet server is sent once. Rules are not evaluated on the
//! keepalives that replace datagrams without remaining messages.

use std::collections::VecDeque;
use std::time::Duration;

use teetap_rules::{Fate, Message, PacketFacts, PacketKind, Verdict};
use teetap_wire::{Control, Dir, Flags, Header, Packet, Proto, Scratch, Seq, Side, write};

use super::{Env, Link, phase::Phase};
use crate::session::{Action, Origin, Placed, Time};

/// The id of DDNet's ACCEPT.
const LONE_ACCEPT: u8 = 3;
/// Maximum number of delayed control messages; further ones are handled without a delay.
const MAX_LATER: usize = 64;

/// The decision of the rules about a received control message: what to do with it now.
pub(super) enum ControlVerdict {
    /// Handle it as it is.
    AsItIs,
    /// Do not handle it now: it was dropped or delayed.
    Not,
    /// Handle these bytes, this number of times.
    Times(Vec<u8>, usize),
}

/// Control messages that rules delay.
#[derive(Debug, Default)]
pub(super) struct DelayQueue(VecDeque<(Time, DelayedControl)>);

#[derive(Debug)]
enum DelayedControl {
    /// A datagram that was received on this leg.
    Received(Side, Box<[u8]>),
    /// A control message to send to this side.
    Goes {
        to: Side,
        header: Header,
        payload: Box<[u8]>,
        once: bool,
    },
    /// A handshake datagram to send to this side; the last field is `once`.
    GoesAsItIs(Side, Box<[u8]>, bool),
}

/// A control message that is about to be sent.
#[derive(Clone, Copy)]
struct OutgoingControl<'a> {
    header: Header,
    payload: &'a [u8],
    /// The whole datagram, if it is sent unchanged.
    raw: Option<&'a [u8]>,
    once: bool,
}

impl OutgoingControl<'_> {
    fn waits(&self, to: Side) -> DelayedControl {
        match self.raw {
            Some(bytes) => DelayedControl::GoesAsItIs(to, bytes.into(), self.once),
            None => DelayedControl::Goes {
                to,
                header: self.header,
                payload: self.payload.into(),
                once: self.once,
            },
        }
    }
}

impl DelayQueue {
    pub(super) fn deadline(&self) -> Option<Time> {
        self.0.iter().map(|(at, _)| *at).min()
    }

    fn has_room(&self) -> bool {
        self.0.len() < MAX_LATER
    }

    fn add(&mut self, at: Time, waiting: DelayedControl) {
        self.0.push_back((at, waiting));
    }

    /// Removes and returns the earliest control message that is due; `None` if none is due.
    fn pop(&mut self, now: Time) -> Option<DelayedControl> {
        let due = self.0.iter().enumerate().filter(|(_, (at, _))| *at <= now);
        let (index, _) = due.min_by_key(|(index, (at, _))| (*at, *index))?;
        self.0.remove(index).map(|(_, waiting)| waiting)
    }
}

impl Link {
    /// Returns the decision of the rules about a control message; `None` if no rule acts on it.
    fn rule_on(
        &mut self,
        leg: Side,
        dir: Dir,
        payload: &[u8],
        header: &Header,
        env: &mut Env,
    ) -> Option<Verdict> {
        if !env.interest().controls || payload.is_empty() || self.opened.is_candidate {
            return None;
        }
        let place = (self.id().0, dir, self.leg(leg).proto);
        let packet = PacketFacts::without_chunks(payload.len(), header.ack);
        let message = Message::unnumbered(place, PacketKind::Control(leg), payload, packet, env.now.0);
        let mut verdict = self.rules.program.as_mut()?.decide(&message, &mut env.shared);
        self.carry_out_effects(env);
        let is_accept = payload.first() == Some(&LONE_ACCEPT) && self.leg(leg).proto == Proto::Ddnet;
        if !self.may_renumber() || is_accept {
            // In a join without tokens, or for DDNet's ACCEPT, rules make no duplicates.
            verdict.copies.clear();
        }
        if verdict.rules.is_empty() && verdict == Verdict::PASS {
            return None;
        }
        let action = match verdict.fate {
            Fate::Drop => Action::Drop,
            Fate::Lose { .. } => Action::Lose,
            Fate::Delay { .. } => Action::Hold,
            _ if verdict.is_corrupted => Action::Corrupt,
            _ if verdict.edit.is_some() => Action::Edit,
            _ => Action::Pass,
        };
        let delay = match verdict.fate {
            Fate::Delay { for_, .. } => Some(for_),
            _ => None,
        };
        env.work.original = None;
        env.work.control = Some(Placed {
            delay,
            rules: verdict.rules.as_slice().into(),
            ..Placed::new(None, action)
        });
        Some(verdict)
    }

    /// Evaluates the rules on a datagram that was received on one leg. Only control messages are decided
    /// here.
    pub(super) fn rule_control(
        &mut self,
        from: Side,
        datagram: &[u8],
        packet: &Packet<'_>,
        env: &mut Env,
    ) -> ControlVerdict {
        if packet.control().is_none() {
            return ControlVerdict::AsItIs;
        }
        let dir = Dir::from_sender(from);
        let Some(verdict) = self.rule_on(from, dir, packet.payload, &packet.header, env) else {
            return ControlVerdict::AsItIs;
        };
        let mut bytes = datagram.to_vec();
        if let Some(edit) = &verdict.edit {
            env.work.original = Some(datagram.into());
            bytes.clear();
            write(packet.proto, &packet.header, edit, None, &mut bytes);
        }
        let mut later = |after: Duration| {
            let has_room = self.rules.delayed.has_room();
            if has_room {
                self.rules.delayed.add(
                    env.now + after,
                    DelayedControl::Received(from, bytes.as_slice().into()),
                );
            }
            has_room
        };
        let mut times = 1;
        for after in &verdict.copies {
            if after.is_zero() {
                times += 1;
            } else {
                later(*after);
            }
        }
        match verdict.fate {
            Fate::Drop | Fate::Lose { .. } => ControlVerdict::Not,
            Fate::Delay { for_, .. } if later(for_) => ControlVerdict::Not,
            _ if verdict.edit.is_none() && times == 1 => ControlVerdict::AsItIs,
            _ => ControlVerdict::Times(bytes, times),
        }
    }

    /// Evaluates the rules on a message outside the connection to the client.
    pub(crate) fn rule_connless(&mut self, data: &[u8], size: usize, env: &mut Env) -> Verdict {
        let message = connless(
            self.id().0,
            Dir::S2c,
            self.legs.client.proto,
            (data, size),
            env.now,
        );
        let Some(rules) = self.rules.program.as_mut() else {
            return Verdict::PASS;
        };
        let verdict = rules.decide(&message, &mut env.shared);
        self.carry_out_effects(env);
        verdict
    }

    /// Evaluates the rules on a CONNECT of the client.
    pub(super) fn rule_request(&mut self, datagram: &[u8], env: &mut Env) -> ControlVerdict {
        let mut scratch = Scratch::new();
        match Packet::parse(self.opened.requested, datagram, &mut scratch) {
            Ok(packet) => self.rule_control(Side::Client, datagram, &packet, env),
            Err(_) => ControlVerdict::AsItIs,
        }
    }

    /// Sends a handshake datagram unless rules decide otherwise. If `once` is true, the datagram is neither
    /// duplicated nor reordered.
    pub(super) fn send_datagram(&mut self, to: Side, bytes: &[u8], once: bool, env: &mut Env) {
        let mark = env.out.mark();
        let proto = self.leg(to).proto;
        let mut scratch = Scratch::new();
        let is_ruled = match Packet::parse(proto, bytes, &mut scratch) {
            Ok(packet) if packet.control().is_some() => {
                let sends = OutgoingControl {
                    header: packet.header,
                    payload: packet.payload,
                    raw: Some(bytes),
                    once,
                };
                self.send_ruled(to, sends, env)
            }
            _ => false,
        };
        if !is_ruled {
            self.put_raw(to, bytes, once, env);
        }
        if env.out.sent_since(mark).next().is_some() {
            self.report_made(to, Origin::Proxy, mark, env);
        }
        env.work.control = None;
    }

    /// Sends a control message unless rules decide otherwise.
    pub(super) fn send_control(&mut self, to: Side, header: &Header, payload: &[u8], env: &mut Env) {
        self.send_control_as(to, header, payload, false, env);
    }

    /// Sends a control message unless rules decide otherwise. If `once` is true, the message is neither
    /// duplicated nor reordered.
    pub(super) fn send_control_as(
        &mut self,
        to: Side,
        header: &Header,
        payload: &[u8],
        once: bool,
        env: &mut Env,
    ) {
        let mark = env.out.mark();
        let sends = OutgoingControl {
            header: *header,
            payload,
            raw: None,
            once,
        };
        if !self.send_ruled(to, sends, env) {
            self.put(to, header, payload, once, env);
        }
        if env.out.sent_since(mark).next().is_some() {
            self.report_made(to, Origin::Proxy, mark, env);
        }
        env.work.control = None;
    }

    /// Forwards a peer's control message as the rules decide. Returns false, and sends nothing, if no rule
    /// acts on the message.
    pub(super) fn forward_control(
        &mut self,
        to: Side,
        packet: &Packet<'_>,
        ack: Seq,
        resend: bool,
        env: &mut Env,
    ) -> bool {
        if !env.interest().controls {
            return false;
        }
        let received = env.work.control.take();
        let header = Header {
            flags: if resend {
                Flags::CONTROL | Flags::RESEND
            } else {
                Flags::CONTROL
            },
            ack,
            num_chunks: 0,
            token: self.leg(to).token_out,
        };
        let sends = OutgoingControl {
            header,
            payload: packet.payload,
            raw: None,
            once: false,
        };
        let is_ruled = self.send_ruled(to, sends, env);
        env.work.control = env.work.control.take().or(received);
        is_ruled
    }

    /// Sends a control message as the rules decide. Returns false, and sends nothing, if no rule acts on the
    /// message.
    fn send_ruled(&mut self, to: Side, sends: OutgoingControl<'_>, env: &mut Env) -> bool {
        let dir = Dir::from_sender(to.other());
        let Some(verdict) = self.rule_on(to, dir, sends.payload, &sends.header, env) else {
            return false;
        };
        let sends = match verdict.edit.as_deref() {
            Some(payload) => OutgoingControl {
                payload,
                raw: None,
                ..sends
            },
            None => sends,
        };
        match verdict.fate {
            Fate::Drop | Fate::Lose { .. } => {}
            Fate::Delay { for_, .. } if self.rules.delayed.has_room() => {
                self.rules.delayed.add(env.now + for_, sends.waits(to));
            }
            _ => self.put_one(to, sends, env),
        }
        for after in verdict.copies.iter().filter(|_| !sends.once) {
            if after.is_zero() {
                self.put_one(to, sends, env);
            } else if self.rules.delayed.has_room() {
                self.rules.delayed.add(env.now + *after, sends.waits(to));
            }
        }
        true
    }

    fn put_one(&mut self, to: Side, sends: OutgoingControl<'_>, env: &mut Env) {
        match sends.raw {
            Some(bytes) => self.put_raw(to, bytes, sends.once, env),
            None => self.put(to, &sends.header, sends.payload, sends.once, env),
        }
    }

    fn put_raw(&mut self, to: Side, bytes: &[u8], once: bool, env: &mut Env) {
        let write = |out: &mut Vec<u8>| out.extend_from_slice(bytes);
        if once {
            self.transmit_once(to, env, write);
        } else {
            self.transmit(to, env, write);
        }
    }

    fn put(&mut self, to: Side, header: &Header, payload: &[u8], once: bool, env: &mut Env) {
        let proto = self.leg(to).proto;
        let write = |out: &mut Vec<u8>| {
            write(proto, header, payload, None, out);
        };
        if once {
            self.transmit_once(to, env, write);
        } else {
            self.transmit(to, env, write);
        }
    }

    /// Handles the delayed control messages that are due.
    pub(super) fn handle_later(&mut self, env: &mut Env) {
        while let Some(waiting) = self.rules.delayed.pop(env.now) {
            if matches!(self.phase, Phase::Closed(_)) {
                return;
            }
            match waiting {
                DelayedControl::Received(from, datagram) => self.handle_delayed(from, &datagram, env),
                DelayedControl::GoesAsItIs(to, bytes, once) => {
                    let mark = env.out.mark();
                    self.put_raw(to, &bytes, once, env);
                    self.report_made(to, Origin::Rule, mark, env);
                }
                DelayedControl::Goes {
                    to,
                    mut header,
                    payload,
                    once,
                } => {
                    // The ack is updated to the departure time. Handshake packets have ack 0 and keep it.
                    if header.ack != Seq::ZERO {
                        header.ack = self.parts(to).2.shown();
                    }
                    let mark = env.out.mark();
                    self.put(to, &header, &payload, once, env);
                    self.report_made(to, Origin::Rule, mark, env);
                }
            }
        }
    }

    fn handle_delayed(&mut self, from: Side, datagram: &[u8], env: &mut Env) {
        let mut scratch = Scratch::new();
        let proto = self.leg(from).proto;
        let requested = self.opened.requested;
        let is_request = from == Side::Client
            && !self.is_closing()
            && Packet::parse(requested, datagram, &mut scratch)
                .is_ok_and(|packet| matches!(packet.control(), Some(Control::Connect { .. })));
        if is_request {
            return self.connect(datagram, env);
        }
        if matches!(self.phase, Phase::Opening(_)) {
            if from == Side::Client {
                return self.late_while_opening(datagram, env);
            }
            // Rules delay no messages of a candidate, so nothing is taken over.
            let is_traffic = self.server_opens(datagram, false, &mut scratch, env);
            if !is_traffic {
                return;
            }
        }
        if self.is_closing() {
            return;
        }
        if let Ok(packet) = Packet::parse(proto, datagram, &mut scratch)
            && self.leg(from).check(&packet).is_ok()
        {
            self.relay(from, datagram, &packet, env);
        }
    }
}

/// Returns a connless message in the form in which rules are evaluated on it. `size` is the size of its
/// datagram in bytes.
pub(crate) fn connless(
    session: u32,
    dir: Dir,
    proto: Proto,
    (data, size): (&[u8], usize),
    now: Time,
) -> Message<'_> {
    let packet = PacketFacts::without_chunks(size, Seq::ZERO);
    Message::unnumbered((session, dir, proto), PacketKind::Connless, data, packet, now.0)
}
