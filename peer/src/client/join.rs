//! The client's join: the answer to each message of the server, unless the script has an action for it.

use std::time::Duration;

use teetap_wire::def::Datum;
use teetap_wire::{Dir, Proto, control};

use super::{Client, ClientEvent, Phase};
use crate::map::{Download, Progress};
use crate::message::{Delivered, Message, Reading, text, version};
use crate::script::{Behavior, Step};
use crate::world;

impl Client {
    /// Sends the messages of a step, unless the script has an action for it.
    pub(super) fn perform(&mut self, now: Duration, step: Step) {
        let sends = match self.stops.turn(&self.config.script, step) {
            Behavior::Usual => return self.carry_out(now, step),
            Behavior::Nothing(is_new) => {
                if is_new {
                    self.events.push_back(ClientEvent::Stopped(step));
                }
                return;
            }
            Behavior::Send(messages) => messages.to_vec(),
        };
        for message in &sends {
            self.send_own(now, message);
        }
    }

    fn carry_out(&mut self, now: Duration, step: Step) {
        if let Phase::Handshake(handshake) = &mut self.phase {
            let datagram = handshake.datagram(step);
            return self.out.push_back(datagram);
        }
        let proto = self.proto();
        match step {
            Step::Accept => {
                let mut payload = Vec::new();
                control::accept(&mut payload);
                if let Phase::Online(connection) = &mut self.phase {
                    // ACCEPT is sent only once, because a second ACCEPT would reset the server's counters.
                    connection.control(now, &payload);
                }
            }
            Step::Info => self.introduce(now, proto),
            Step::RequestMapData => {
                if let Some(request) = self.download.as_ref().map(Download::request) {
                    self.send_own(now, &request);
                }
            }
            Step::Ready => self.send_own(now, &Message::known(proto, "ready", [])),
            Step::StartInfo => {
                let looks = world::looks(proto, &self.config.name, &self.config.clan);
                self.send_own(now, &Message::known(proto, "cl_start_info", looks));
            }
            Step::EnterGame => {
                self.send_own(now, &Message::known(proto, "enter_game", []));
                self.game.reset();
                self.has_entered = true;
            }
            Step::Input => {
                let input = self.game.input(now, self.input);
                self.send_own(now, &input);
            }
            _ => {}
        }
    }

    fn introduce(&mut self, now: Duration, proto: Proto) {
        if self.config.variant.is_ddnet() && matches!(proto, Proto::Ddnet | Proto::V7) {
            let (number, release) = &self.config.release;
            let fields = [
                ("connection_id", Datum::Bytes([self.config.token.0; 4].concat())),
                ("ddnet_version", (*number).into()),
                ("ddnet_version_string", text(release)),
            ];
            let client_version = Message::known(proto, "client_version", fields);
            self.send_own(now, &client_version);
        }
        let info = [
            ("version", version(proto).into()),
            ("password", text(&self.config.password)),
        ];
        let release = (proto == Proto::V7).then_some(("client_version", 0x0705.into()));
        self.send_own(
            now,
            &Message::known(proto, "info", info.into_iter().chain(release)),
        );
    }

    /// Sends a message of the client itself. Errors are ignored: after one, either the connection has ended, or the
    /// message was too large, which is only possible for a message of the script.
    fn send_own(&mut self, now: Duration, message: &Message) {
        let _ended_or_too_large = self.send(now, message);
    }

    pub(super) fn message(&mut self, now: Duration, message: Delivered) {
        self.events.push_back(ClientEvent::Message(message.clone()));
        if let Some(reading) = message.read(self.proto(), Dir::S2c) {
            self.react(now, &reading);
        }
    }

    fn react(&mut self, now: Duration, message: &Reading<'_>) {
        match message.name() {
            "map_change" => self.change_map(now, message),
            "map_data" => self.map_data(now, message),
            "con_ready" => self.perform(now, Step::StartInfo),
            "sv_ready_to_enter" => self.perform(now, Step::EnterGame),
            "ping" => self.send_own(now, &Message::known(self.proto(), "ping_reply", [])),
            "snap" | "snap_single" | "snap_empty" => {
                let Some((tick, fate)) = self.game.snapshot(now, message) else {
                    return;
                };
                self.events.push_back(ClientEvent::Snapshot { tick, fate });
                if self.has_entered && !self.has_joined && self.game.is_running() {
                    self.has_joined = true;
                    self.events.push_back(ClientEvent::Joined);
                }
            }
            _ => {}
        }
    }

    fn change_map(&mut self, now: Duration, change: &Reading<'_>) {
        self.game.reset();
        self.download = None;
        (self.has_entered, self.has_joined) = (false, false);
        if change
            .text("name")
            .is_some_and(|name| self.config.maps.contains(&name))
        {
            return self.perform(now, Step::Ready);
        }
        self.download = Download::new(self.proto(), change);
        if self.download.is_some() {
            self.perform(now, Step::RequestMapData);
        } else {
            self.give_up(now, "invalid map size");
        }
    }

    fn map_data(&mut self, now: Duration, part: &Reading<'_>) {
        match self.download.as_mut().map(|download| download.add(part)) {
            None | Some(Progress::Waits) => {}
            Some(Progress::Requests) => self.perform(now, Step::RequestMapData),
            Some(Progress::Complete) => {
                let downloaded = self.download.take().map(Download::finish);
                self.events.extend(downloaded.map(ClientEvent::Map));
                self.perform(now, Step::Ready);
            }
        }
    }
}
