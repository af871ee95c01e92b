//! A bot that plays: handshake, join, inputs, snapshots, chat, pings, and a quit with a reason.
//!
//! Law: no socket and no clock. The bot decides nothing; what it saw is in its report. It starts to talk when it sees
//! another player, so that every line can be received, and stops a quarter of its time before it quits.

use std::collections::VecDeque;
use std::time::Duration;

use teetap_wire::def::Datum;
use teetap_wire::snap::{Fate, Store};
use teetap_wire::{Control, Dir, Packet, Proto, Scratch, Seq, Token, control};

use super::persona::Persona;
use super::report::BotReport;
use teetap_peer::endpoint::{Endpoint, Message, Received, control_datagram};
use teetap_peer::message::{Opened, Packed, registry, version};
use teetap_peer::world;

/// The time between two tries to connect.
const RETRY: Duration = Duration::from_millis(500);
/// The longest wait for the handshake, and for another player.
const PATIENCE: Duration = Duration::from_secs(15);
/// The time between two lines of chat.
const TALK: Duration = Duration::from_millis(400);
/// The time between two pings.
const PING: Duration = Duration::from_secs(1);

#[derive(Debug)]
enum Phase {
    /// 0.7: waits for the server's token. DDNet: for CONNECTACCEPT.
    Requesting,
    /// 0.7: has the server's token, waits for ACCEPT.
    Connecting(Token),
    Online(Box<Endpoint>),
    Over,
}

/// The bot.
#[derive(Debug)]
pub(super) struct Bot {
    persona: Persona,
    /// The bot's own token, 0.7 only.
    own: Token,
    /// The time to play once it has met another player.
    duration: Duration,
    phase: Phase,
    out: VecDeque<Vec<u8>>,
    retry_at: Duration,
    started: Option<Duration>,
    met: Option<Duration>,
    input_at: Duration,
    talk_at: Duration,
    ping_at: Duration,
    pinged: Option<Duration>,
    snaps: Store<'static>,
    acked: i32,
    acked_at: Duration,
    /// Tick that the last input was meant for.
    intended: i32,
    report: BotReport,
}

impl Bot {
    /// A bot that has sent nothing yet.
    pub(super) fn new(persona: Persona, own: Token, duration: Duration) -> Self {
        let report = BotReport::new(persona.proto, persona.name);
        Self {
            persona,
            own,
            duration,
            phase: Phase::Requesting,
            out: VecDeque::new(),
            retry_at: Duration::ZERO,
            started: None,
            met: None,
            input_at: Duration::ZERO,
            talk_at: Duration::ZERO,
            ping_at: Duration::ZERO,
            pinged: None,
            snaps: Store::new(registry(), persona.proto),
            acked: -1,
            acked_at: Duration::ZERO,
            intended: 0,
            report,
        }
    }

    /// Returns true if it has nothing left but its last datagrams to send.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }

    /// Returns what it saw so far.
    pub(super) fn report(&self) -> &BotReport {
        &self.report
    }

    /// Returns the next datagram to send.
    pub(super) fn take(&mut self) -> Option<Vec<u8>> {
        if let Phase::Online(endpoint) = &mut self.phase {
            self.out.extend(std::iter::from_fn(|| endpoint.take()));
        }
        self.out.pop_front()
    }

    /// Handles a datagram of the server.
    pub(super) fn handle(&mut self, now: Duration, datagram: &[u8]) {
        let Phase::Online(endpoint) = &mut self.phase else {
            return self.shake_hands(now, datagram);
        };
        let received = endpoint.feed(now, datagram);
        self.report.counters = endpoint.counters();
        match received {
            Received::Dropped | Received::Control => {}
            Received::Closed(reason) => self.end(&format!("closed by the server: {reason}")),
            Received::Messages(messages) => {
                for message in messages {
                    self.message(now, &message);
                }
            }
        }
    }

    /// Runs timers and plays.
    pub(super) fn tick(&mut self, now: Duration) {
        let started = *self.started.get_or_insert(now);
        let late = now.saturating_sub(started) > PATIENCE;
        match &mut self.phase {
            Phase::Over => {}
            Phase::Requesting | Phase::Connecting(_) if late => self.end("no answer from the server"),
            Phase::Requesting | Phase::Connecting(_) => {
                if now >= self.retry_at {
                    self.retry_at = now + RETRY;
                    self.request();
                }
            }
            Phase::Online(endpoint) => {
                let alive = endpoint.tick(now);
                self.report.counters = endpoint.counters();
                match alive {
                    Err(reason) => self.end(reason),
                    Ok(()) if late && self.met.is_none() => self.quit(now, "no other player came", false),
                    Ok(()) => self.play(now),
                }
            }
        }
    }

    fn request(&mut self) {
        let mut payload = Vec::new();
        let token = match (self.persona.proto, &self.phase) {
            (Proto::V7, Phase::Connecting(server)) => {
                control::connect(Proto::V7, self.own, &mut payload);
                *server
            }
            (Proto::V7, _) => {
                control::token_request(self.own, &mut payload);
                Token::NONE
            }
            (proto, _) => {
                control::connect(proto, Token::NONE, &mut payload);
                Token::NONE
            }
        };
        self.out
            .push_back(control_datagram(self.persona.proto, token, Seq::ZERO, &payload));
    }

    fn shake_hands(&mut self, now: Duration, datagram: &[u8]) {
        let mut scratch = Scratch::default();
        let Ok(packet) = Packet::parse(self.persona.proto, datagram, &mut scratch) else {
            return;
        };
        let header = packet.header.token;
        if self.persona.proto == Proto::V7 && header != Some(self.own) {
            return;
        }
        match (self.persona.proto, &self.phase, packet.control()) {
            (
                Proto::V7,
                Phase::Requesting,
                Some(Control::Token {
                    token: Some(server), ..
                }),
            ) => {
                self.phase = Phase::Connecting(server);
                self.retry_at = now + RETRY;
                self.request();
            }
            (Proto::V7, Phase::Connecting(server), Some(Control::ConnectAccept { .. })) => {
                let endpoint = Endpoint::new(Proto::V7, self.own, *server, now);
                self.go_online(now, endpoint);
            }
            (Proto::Ddnet, Phase::Requesting, Some(Control::ConnectAccept { tken: true, .. })) => {
                let Some(server) = header else { return };
                let mut endpoint = Endpoint::new(Proto::Ddnet, server, server, now);
                let mut accept = Vec::new();
                control::accept(&mut accept);
                // Once and never again: in a session it would reset the server's counters.
                endpoint.control(now, &accept);
                self.go_online(now, endpoint);
            }
            (_, Phase::Requesting | Phase::Connecting(_), Some(Control::Close { reason })) => {
                let reason = reason.map(teetap_wire::printable).unwrap_or_default();
                self.end(&format!("refused by the server: {reason}"));
            }
            _ => {}
        }
    }

    fn go_online(&mut self, now: Duration, endpoint: Endpoint) {
        self.report.token = Some(endpoint.token());
        self.phase = Phase::Online(Box::new(endpoint));
        let proto = self.persona.proto;
        if proto == Proto::Ddnet {
            let fields = [
                ("connection_id", Datum::Bytes([self.own.0; 4].concat())),
                ("ddnet_version", 16_040.into()),
                ("ddnet_version_string", "DDNet 16.4, demo".into()),
            ];
            self.send(now, &Packed::new(proto, "client_version", fields));
        }
        let info = [("version", version(proto).into()), ("password", "".into())];
        let release = (proto == Proto::V7).then_some(("client_version", 0x0705.into()));
        self.send(now, &Packed::new(proto, "info", info.into_iter().chain(release)));
    }

    fn message(&mut self, now: Duration, message: &Message) {
        let proto = self.persona.proto;
        let Some(opened) = Opened::new(proto, Dir::S2c, message.vital, &message.data) else {
            return;
        };
        match &*opened.def.name {
            "map_change" if opened.text("name").as_deref() == Some("dm1") => {
                self.send(now, &Packed::new(proto, "ready", []));
            }
            "map_change" => self.quit(now, "unknown map", false),
            "con_ready" => {
                let looks = world::looks(proto, self.persona.name);
                self.send(now, &Packed::new(proto, "cl_start_info", looks));
            }
            "sv_ready_to_enter" => self.send(now, &Packed::new(proto, "enter_game", [])),
            "snap_single" | "snap_empty" => self.snapshot(now, &opened),
            "input_timing" => self.report.timings += 1,
            "ping_reply" => {
                if let Some(sent) = self.pinged.take() {
                    self.report.pongs += 1;
                    self.report.slowest_pong = self.report.slowest_pong.max(now.saturating_sub(sent));
                }
            }
            // Client -1 is the server.
            "sv_chat" if opened.int("client_id").is_some_and(|client| client >= 0) => {
                self.report.chat_received.extend(opened.text("message"));
            }
            _ => {}
        }
    }

    fn snapshot(&mut self, now: Duration, message: &Opened<'_>) {
        let Opened { def, decoded, data } = message;
        let Some(snap) = self.snaps.on_message(Dir::S2c, def, decoded, data) else {
            self.report.damaged += 1;
            return;
        };
        match snap.fate {
            Fate::Kept => {}
            Fate::Late | Fate::Again => return,
            Fate::NoBase => {
                self.report.baseless += 1;
                self.acked = -1;
                return;
            }
            Fate::Broken | Fate::BadCrc => {
                self.report.damaged += 1;
                return;
            }
        }
        let players = snap
            .kind("player_info")
            .map(|kind| snap.snapshot().items_of(kind));
        if self.met.is_none() && players.is_some_and(|players| players.count() > 1) {
            self.met = Some(now);
            self.talk_at = now;
        }
        self.acked = snap.tick;
        self.acked_at = now;
        self.report.snapshots += 1;
        self.report.joined = self.report.snapshots >= 2;
    }

    fn play(&mut self, now: Duration) {
        if !self.report.joined {
            return;
        }
        if now >= self.input_at {
            self.input(now);
        }
        if now >= self.ping_at {
            self.ping_at = now + PING;
            self.report.pings += 1;
            self.pinged = Some(now);
            self.send(now, &Packed::new(self.persona.proto, "ping", []));
        }
        let Some(met) = self.met else { return };
        let played = now.saturating_sub(met);
        if played >= self.duration {
            self.quit(now, self.persona.farewell, true);
        } else if now >= self.talk_at && played < self.duration * 3 / 4 {
            self.talk_at = now + TALK;
            let text = format!(
                "line {} of {}",
                self.report.chat_sent.len() + 1,
                self.persona.name
            );
            let line = [("message", text.as_str().into())];
            let to_all = [("mode", 1.into()), ("target", (-1).into())];
            let to_all = to_all.into_iter().filter(|_| self.persona.proto == Proto::V7);
            let packed = Packed::new(self.persona.proto, "cl_say", line.into_iter().chain(to_all));
            self.send(now, &packed);
            self.report.chat_sent.push(text);
        }
    }

    fn input(&mut self, now: Duration) {
        self.input_at = now + self.persona.input_every;
        self.report.inputs += 1;
        // A few ticks ahead of the server, as the clients' prediction is.
        let since = i32::try_from(now.saturating_sub(self.acked_at).as_millis() / 20).unwrap_or(0);
        self.intended = self
            .intended
            .saturating_add(1)
            .max(self.acked.saturating_add(3).saturating_add(since));
        let direction = if now.as_secs().is_multiple_of(2) { 1 } else { -1 };
        let mut input = vec![
            ("direction", direction.into()),
            ("target_x", (200 * direction).into()),
            ("target_y", (-40).into()),
        ];
        // 0.6 has a flag for a player who plays, 0.7 has none and adds its ping correction.
        let correction = match self.persona.proto {
            Proto::V7 => Some(("ping_correction", 0.into())),
            _ => {
                input.push(("player_flags", 1.into()));
                None
            }
        };
        let fields = [
            ("ack_snapshot", self.acked.into()),
            ("intended_tick", self.intended.into()),
            ("input", Datum::group(input)),
        ];
        let fields = fields.into_iter().chain(correction);
        self.send(now, &Packed::new(self.persona.proto, "input", fields));
    }

    fn send(&mut self, now: Duration, packed: &Packed) {
        let Phase::Online(endpoint) = &mut self.phase else {
            return;
        };
        if endpoint
            .send(now, packed.vital, &packed.data, packed.flush)
            .is_err()
        {
            self.quit(now, "too weak connection (out of buffer)", false);
        }
    }

    fn quit(&mut self, now: Duration, reason: &str, finished: bool) {
        if let Phase::Online(endpoint) = &mut self.phase {
            endpoint.close(now, reason);
        }
        self.report.finished = finished;
        self.end(reason);
    }

    fn end(&mut self, reason: &str) {
        if let Phase::Online(endpoint) = &mut self.phase {
            self.out.extend(std::iter::from_fn(|| endpoint.take()));
            self.report.counters = endpoint.counters();
        }
        self.report.ended = reason.to_owned();
        self.phase = Phase::Over;
    }
}
