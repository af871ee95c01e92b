//! Sends the datagrams of a session, immediately or after their delay in the link. Every datagram of a
//! session is sent here.

use std::time::Duration;

use teetap_wire::{Dir, Proto, Side};

use super::{Env, Link};
use crate::session::{
    Time,
    lane::{Lane, Outgoing},
    outbox::Destination,
};

impl Link {
    /// Sends the datagram that `write` appends to an empty buffer.
    pub(super) fn transmit(&mut self, to: Side, env: &mut Env, write: impl FnOnce(&mut Vec<u8>)) {
        self.send(to, false, env, write);
    }

    /// Sends a datagram that the link neither duplicates nor reorders.
    pub(super) fn transmit_once(&mut self, to: Side, env: &mut Env, write: impl FnOnce(&mut Vec<u8>)) {
        self.send(to, true, env, write);
    }

    /// Sends a connless datagram to the client.
    pub(crate) fn transmit_connless(&mut self, env: &mut Env, write: impl FnOnce(&mut Vec<u8>)) {
        let (to, now) = (Side::Client, env.now);
        if self.lane(to).is_open_connless(now) {
            env.out.send(self.destination(to), write);
            return;
        }
        self.pass(to, (false, true), env, write);
    }

    fn send(&mut self, to: Side, once: bool, env: &mut Env, write: impl FnOnce(&mut Vec<u8>)) {
        let (destination, now) = (self.destination(to), env.now);
        if self.lane(to).is_open(now) {
            env.out.send(destination, write);
            return;
        }
        self.pass(to, (once, false), env, write);
    }

    /// Sends a datagram, which the lane has already counted, through the link.
    fn pass(
        &mut self,
        to: Side,
        (once, connless): (bool, bool),
        env: &mut Env,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let (destination, now) = (self.destination(to), env.now);
        let (session, seven) = (self.id(), self.leg(to).proto == Proto::V7);
        let lines = env.shared.acting(self.lanes.acting(self.rules.open_lines()));
        let lane = self.lane(to);
        let dir = Dir::from_sender(to.other());
        env.pass(session, (lane, dir), write, |bytes| Outgoing {
            to: destination,
            bytes,
            seven,
            once,
            connless,
            lines,
        });
        self.send_late_to(to, now, env);
    }

    /// Sends the queued datagrams whose departure time is not later than `until`.
    pub(super) fn send_late(&mut self, until: Time, env: &mut Env) {
        for to in [Side::Client, Side::Server] {
            self.send_late_to(to, until, env);
        }
    }

    fn send_late_to(&mut self, to: Side, until: Time, env: &mut Env) {
        while let Some((destination, bytes)) = self.lane(to).pop(until) {
            env.out.send_late(destination, &bytes);
        }
    }

    /// Opens the links again for the current program. Queued datagrams stay queued.
    pub(super) fn open_links(&mut self, env: &Env) {
        let (id, at) = (self.id(), self.opened.at);
        for to in [Side::Client, Side::Server] {
            let lane = self.lane(to);
            lane.channel = env.open_link(id, at, Dir::from_sender(to.other()), lane.channel.take());
        }
        self.settle_windows();
    }

    /// Returns true if a message has begun or ended the window of a link line since [`Self::settle_windows`].
    pub(crate) fn has_unsettled_windows(&self) -> bool {
        self.lanes.is_unsettled(|| self.rules.open_lines())
    }

    /// Updates the link lines that act, since their windows may have begun or ended. Called between two
    /// datagrams, so that a window does not include the datagram with the message that begins it.
    pub(crate) fn settle_windows(&mut self) {
        self.lanes.settle(self.rules.open_lines());
    }

    /// Ends all rules: expected messages will not be received any more.
    pub(crate) fn end_rules(&mut self, env: &mut Env) {
        self.rules.on_end();
        self.carry_out_effects(env);
        self.rules.program = None;
    }

    /// Ends all impairment. Queued datagrams stay queued.
    pub(crate) fn close_links(&mut self) {
        self.lanes.close();
    }

    /// Stalls a direction: no datagram departs for a time.
    pub(super) fn stall(&mut self, dir: Dir, for_: Duration, now: Time) {
        self.lane(dir.receiver()).stall(now + for_);
    }

    /// Returns the departure time of the last datagram in the links; `None` if the links are empty.
    pub(super) fn links_end(&self) -> Option<Time> {
        self.lanes.end()
    }

    fn lane(&mut self, to: Side) -> &mut Lane {
        self.lanes.lane(Dir::from_sender(to.other()))
    }

    fn destination(&self, to: Side) -> Destination {
        match to {
            Side::Client => Destination::Client(self.opened.client),
            Side::Server => Destination::Server(self.opened.upstream),
        }
    }
}
