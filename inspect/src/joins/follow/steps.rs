//! How the messages of both sides advance a join.

use teetap_proxy::session::Time;
use teetap_wire::{
    Side,
    receiver::{self, JoinKind, MessageVerdict, SNAPSHOTS, Stage},
};

use super::{DOWNLOAD, ENTER_GAME, JoinProgress, OF_DDNET, REQUEST};
use crate::{
    joins::fate::LossReason,
    reading::{Layer, Message},
};

impl JoinProgress {
    pub(super) fn client_sent(&mut self, at: Time, name: &'static str, message: &Message) {
        if message.layer == Layer::Control {
            if let Some(index) = self.find(name, Side::Client, true) {
                self.pass(at, index, message);
            }
            return;
        }
        // During a challenge the server has no slot for the client yet, so the client cannot enter the game.
        self.has_asked |= name == ENTER_GAME && !self.is_false;
        if name == REQUEST {
            return self.part(at, name, Side::Client, message);
        }
        if self.is_false {
            // During a challenge the server ignores all messages except the input that proves the client's address.
            if let Some(index) = self.find(name, Side::Client, false).filter(|_| name == "input") {
                self.pass(at, index, message);
            }
            return;
        }
        let Some(index) = self.find(name, Side::Client, false) else {
            return;
        };
        match self.judge(name, message.transport.vital) {
            Ok(stage) => {
                self.stage = stage;
                self.pass(at, index, message);
            }
            Err(why) => self.missed(name, why),
        }
    }

    /// Returns the stage of the client after one of its messages, or the reason why the server ignores the message.
    fn judge(&self, name: &'static str, vital: bool) -> Result<Stage, LossReason> {
        let release = self.kind.server();
        let Some(row) = receiver::message(release, Side::Server, name) else {
            return Ok(self.stage);
        };
        // The first required message that the client has skipped.
        let mut due = self.steps.iter().skip(self.next);
        let missing = due.find(|step| step.from == Side::Client && step.is_needed && step.name != name);
        let has_no_slot = missing.is_some_and(|step| step.is_control);
        let before = row.after.filter(|before| self.has_left_out(before));
        match row.judge(self.stage, vital) {
            MessageVerdict::Acts(stage) if before.is_none() && !has_no_slot => Ok(stage),
            MessageVerdict::Acts(_) => {
                let before = before.or(missing.map(|step| step.name));
                Err(LossReason::Verdict(
                    MessageVerdict::TooEarly,
                    before.unwrap_or_default(),
                ))
            }
            verdict => Err(LossReason::Verdict(verdict, missing.map_or("", |step| step.name))),
        }
    }

    /// Returns true if a step with this name is still to be passed.
    fn has_left_out(&self, name: &str) -> bool {
        let due = self.steps.get(self.next..).unwrap_or_default();
        due.iter().any(|step| step.name == name)
    }

    pub(super) fn server_sent(&mut self, at: Time, name: &'static str, message: &Message) {
        if OF_DDNET.contains(&name) && self.kind == JoinKind::Seven {
            self.become_kind(JoinKind::DdnetSeven);
        }
        if SNAPSHOTS.contains(&name) {
            return self.snapshot(at, name, message);
        }
        if name == DOWNLOAD && !self.is_false {
            return self.part(at, name, Side::Server, message);
        }
        let is_control = message.layer == Layer::Control;
        // A client need not wait for the first map change before it sends its steps.
        let is_later = || self.passed.iter().any(|step| step.name == "map_change");
        if name == "map_change"
            && !message.transport.resend
            && self.stage >= Stage::Connecting
            && !self.is_false
            && is_later()
        {
            // The map has changed: the client starts to load the new map.
            self.map.begin = None;
            self.has_asked = false;
            let place = self.steps.iter().position(|step| step.name == name);
            self.next = place.unwrap_or(self.next).min(self.next);
        }
        let Some(index) = self.find(name, Side::Server, is_control) else {
            return;
        };
        match name {
            // A challenge ends with the first `map_change` after the client has proved its address.
            _ if self.is_false && (name != "map_change" || !self.is_proved()) => return,
            "map_change" => (self.stage, self.is_false) = (Stage::Connecting, false),
            // DDNet servers answer even a `ready` that has no effect, and then still wait for a valid `ready`.
            "con_ready" if self.kind.server().is_ddnet() && !self.is_ready() => return,
            "con_ready" => self.stage = self.stage.max(Stage::Ready),
            _ => {}
        }
        // The server advances the client's stage although the game's client ignores the message; other clients may read
        // it.
        let row = receiver::message(self.kind.server(), Side::Client, name).filter(|_| !is_control);
        let verdict = row.map(|row| row.judge(self.stage, message.transport.vital));
        if let Some(verdict @ MessageVerdict::NeedsVital) = verdict {
            return self.missed(name, LossReason::Verdict(verdict, ""));
        }
        self.pass(at, index, message);
    }

    /// Returns true unless the server ignored the last `ready` of the client because it was too early or not vital.
    fn is_ready(&self) -> bool {
        let has_no_effect =
            |(name, why): &(&str, LossReason)| *name == "ready" && matches!(why, LossReason::Verdict(..));
        self.stage >= Stage::Connecting && !self.causes.misstep.as_ref().is_some_and(has_no_effect)
    }

    /// Returns true once the client has sent the input that acks the secret tick of the challenge.
    fn is_proved(&self) -> bool {
        self.passed.iter().any(|step| step.name == "input")
    }

    fn snapshot(&mut self, at: Time, name: &'static str, message: &Message) {
        let is_challenge = name == "snap_empty"
            && match self.kind {
                JoinKind::Challenge => self.is_false || !self.has_asked,
                // A server without support for DDNet's tokens also challenges DDNet clients.
                JoinKind::Plain | JoinKind::Ddnet => !self.has_asked && !self.delivery.has_unseen,
                JoinKind::Token | JoinKind::Seven | JoinKind::DdnetSeven => false,
            };
        if is_challenge {
            if self.kind != JoinKind::Challenge {
                self.become_kind(JoinKind::Challenge);
                self.is_false = true;
                self.map.begin = None;
                let place = self.steps.iter().position(|step| step.name == name);
                self.next = place.unwrap_or(self.next);
                self.passed
                    .retain(|step| step.name.starts_with("connect") || step.name == "accept");
            }
            if let Some(index) = self.find(name, Side::Server, false) {
                self.pass(at, index, message);
            }
            return;
        }
        let is_in_game = (self.has_asked || self.delivery.has_unseen) && !self.is_false;
        if let Some(index) = self.find("snap", Side::Server, false).filter(|_| is_in_game) {
            self.pass(at, index, message);
            self.has_entered = true;
        }
    }

    /// Records a part of the map, or a request for a part, as progress of the download.
    fn part(&mut self, at: Time, name: &'static str, from: Side, message: &Message) {
        if message.transport.resend || !self.awaits_ready() {
            return;
        }
        if name == DOWNLOAD {
            let begin = *self.map.begin.get_or_insert(self.stalls.progress);
            let took = at.since(begin);
            match self.passed.last_mut().filter(|step| step.name == DOWNLOAD) {
                Some(step) => {
                    (step.at, step.took) = (at, took);
                    step.count = step.count.saturating_add(1);
                }
                None => self.add(DOWNLOAD, Side::Server, at, took),
            }
        } else {
            self.map.begin.get_or_insert(self.stalls.progress);
        }
        self.came(at, name, from, message);
    }

    /// Returns the index of the first step with this name and sender that has not been passed yet.
    fn find(&self, name: &str, from: Side, is_control: bool) -> Option<usize> {
        let due = self.steps.iter().enumerate().skip(self.next);
        let mut found =
            due.filter(|(_, step)| step.name == name && step.from == from && step.is_control == is_control);
        found.next().map(|(index, _)| index)
    }

    /// Marks the step at `index` as passed, and records its message.
    fn pass(&mut self, at: Time, index: usize, message: &Message) {
        let Some(step) = self.steps.get(index).copied() else {
            return;
        };
        let took = at.since(self.stalls.progress);
        self.next = index + 1;
        self.map.begin = None;
        self.causes.counted(step.name);
        self.add(step.name, step.from, at, took);
        self.came(at, step.name, step.from, message);
    }
}
