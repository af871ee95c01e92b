//! Tracks the progress of one join until it ends.

mod acked;
mod awaited;
mod causes;
mod delivery;
mod download;
mod losses;
mod stalls;
mod steps;

use std::time::Duration;

use teetap_proxy::session::{Datagram, Notice, Origin, SessionId, Time};
use teetap_wire::{
    Code, Dir, Proto, Seq, Side,
    receiver::{JoinKind, JoinStep, Release, Stage},
};

use super::{
    Ended, FOR_ACK, Join, JoinOutcome, PATIENCE, PassedStep, REQUEST,
    fate::{self, Fate, LossReason},
};
use crate::{
    Reading,
    reading::{Layer, Message},
};

use causes::Causes;
use delivery::Delivery;
use download::Download;
use stalls::Stalls;

/// Maximum number of recorded steps per join. Needed because a server may change its map any number of times.
const STEPS: usize = 64;

/// Name of the message with a part of the map. Also the name of the step that stands for the whole download.
const DOWNLOAD: &str = "map_data";

/// Names of the packets that open a session: the token request of 0.7 and its reply, the client's request, the client's
/// confirmation, and the server's reply.
const TOKEN: &str = "token";
const CONNECT: &str = "connect";
const ACCEPT: &str = "accept";
const CONNECT_ACCEPT: &str = "connect_accept";

/// Name of the message with which a client enters the game.
const ENTER_GAME: &str = "enter_game";

/// Names of messages that only DDNet servers send.
const OF_DDNET: [&str; 3] = ["capabilities", "map_details", "rcon_type"];

/// The state of a join that has not ended.
#[derive(Debug)]
pub(super) struct JoinProgress {
    session: SessionId,
    begin: Time,
    kind: JoinKind,
    steps: Vec<JoinStep>,
    /// Index of the next step. If the step is optional, a later step may follow instead.
    next: usize,
    /// The client's stage in the server's state machine.
    stage: Stage,
    is_online: bool,
    has_entered: bool,
    /// True once an ENTER_GAME was sent to the server by the client or the proxy. Reset by a map change.
    has_asked: bool,
    /// True during a challenge, until the next `map_change`. Messages about the map of the challenge are not steps.
    is_false: bool,
    passed: Vec<PassedStep>,
    stalls: Stalls,
    delivery: Delivery,
    causes: Causes,
    map: Map,
}

/// The map that the client downloads during a join.
#[derive(Debug, Default)]
struct Map {
    /// Start of the current download; `None` if no download is running.
    begin: Option<Time>,
    /// The last ack of the client during a download.
    acked: Option<Seq>,
    /// The download that the last `map_change` announced.
    download: Option<Download>,
    /// Sequence number of the last `map_change`.
    seq: Option<Seq>,
    /// The mistake of the server because of which the client cannot load the last announced map; `None` if there is
    /// none.
    fault: Option<MapFault>,
}

/// A mistake of the server because of which a client cannot load the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MapFault {
    /// `map_change` has a value outside its range, such as a size of 0.
    OutOfRange,
    /// A part of the map does not fit the announced map.
    Part,
    /// The parts of the map are not the announced map.
    Differs,
}

impl MapFault {
    const fn text(self) -> &'static str {
        match self {
            Self::OutOfRange => "map_change has a value that clients refuse",
            Self::Part => "a part of the map does not fit the announced map",
            Self::Differs => "the server has sent another map than it has announced",
        }
    }

    const fn code(self) -> Code {
        match self {
            Self::OutOfRange => Code::OutOfRange,
            Self::Part => Code::MapPartWrong,
            Self::Differs => Code::MapDiffers,
        }
    }
}

impl JoinProgress {
    /// Starts a join. `is_again` is true if the server may still have a slot for the client: a server of DDNet then keeps
    /// the client in the game (`ClientRejoinCallback` in server.cpp).
    pub(super) fn new(session: SessionId, at: Time, proto: Proto, is_again: bool) -> Self {
        let kind = JoinKind::from_proto(proto, false);
        Self {
            session,
            begin: at,
            kind,
            steps: kind.steps().collect(),
            next: 0,
            stage: kind.first_stage(),
            is_online: false,
            has_entered: false,
            has_asked: is_again,
            is_false: false,
            passed: Vec::new(),
            stalls: Stalls::begin(at),
            delivery: Delivery::default(),
            causes: Causes::default(),
            map: Map::default(),
        }
    }

    /// Returns the time of the last progress.
    pub(super) const fn progress(&self) -> Time {
        self.stalls.progress
    }

    /// Returns true once the client is in the game.
    pub(super) const fn has_entered(&self) -> bool {
        self.has_entered
    }

    /// Returns the time at which the join stalls unless it progresses; `None` if the stall was already reported, or if
    /// no message is awaited. The timeout is longer while the last message is not acked.
    pub(super) fn due(&self) -> Option<Time> {
        if self.stalls.is_reported || self.awaited().is_none() {
            return None;
        }
        let due = self.stalls.progress + PATIENCE;
        let last = self.delivery.last.filter(|last| last.seq.is_some());
        Some(match last.map(|last| last.acked) {
            None => due,
            Some(Some(acked)) => due.max(acked),
            Some(None) => due + FOR_ACK,
        })
    }

    /// Records a stall and returns the notice about it; `None` if no message is awaited.
    pub(super) fn stalled(&mut self, at: Time) -> Option<Notice> {
        let (waits_for, from) = self.awaited()?;
        let (after, acked) = self.after();
        self.stalls
            .report(self.delivery.is_unheard() && acked == Some(false));
        let kept = self.is_kept(at, waits_for);
        let misstep = self.causes.misstep_of(waits_for);
        let in_vain = misstep.is_some();
        let why = misstep.map(|misstep| format!("{waits_for} {misstep}"));
        let why = why
            .or_else(|| self.cause_of(at, waits_for))
            .or_else(|| self.parts(waits_for));
        Some(Notice::LoginStalled {
            after: after.map(Into::into),
            acked,
            from,
            waits_for: waits_for.into(),
            why: why.map(Into::into),
            in_vain,
            kept,
        })
    }

    /// Records that the server has accepted the client in the protocol `proto`.
    pub(super) fn online(&mut self, proto: Proto) {
        self.is_online = true;
        if self.kind != JoinKind::Challenge {
            self.become_kind(JoinKind::from_proto(proto, self.kind == JoinKind::DdnetSeven));
        }
    }

    /// Changes the kind of the join, and keeps its position in the list of steps.
    fn become_kind(&mut self, kind: JoinKind) {
        if kind == self.kind {
            return;
        }
        self.kind = kind;
        self.steps = kind.steps().collect();
        if self.stage <= Stage::Auth {
            self.stage = kind.first_stage();
        }
        let last = self.delivery.last.map(|last| (last.name, last.from));
        let place = self
            .steps
            .iter()
            .position(|step| Some((step.name, step.from)) == last);
        self.next = place.map_or(self.next.min(self.steps.len()), |place| place + 1);
    }

    /// Records a notice of the session, which may name the cause of a stall.
    pub(super) fn notice(&mut self, notice: &Notice) {
        if matches!(notice, Notice::LoginStalled { .. }) {
            self.stalls.on_report();
        } else {
            self.causes.notice(notice);
        }
    }

    /// Records a datagram.
    pub(super) fn datagram(&mut self, at: Time, datagram: &Datagram, reading: &Reading) {
        let (dir, leg) = (datagram.dir, datagram.leg);
        self.causes.link(at, datagram);
        let sender = dir.sender();
        // Packets that the proxy sends on behalf of a peer are not part of the join, but messages that a rule releases
        // are.
        let is_control = reading
            .messages
            .iter()
            .all(|message| message.layer == Layer::Control);
        let is_own = is_control || datagram.origin == Origin::Proxy;
        if leg.is_some_and(|leg| leg != sender) && is_own {
            self.has_asked |= dir == Dir::C2s
                && reading
                    .messages
                    .iter()
                    .any(|message| message.name == Some(ENTER_GAME));
            return;
        }
        if reading.sizes.received.is_some() && reading.error.is_none() && reading.token_ok() {
            self.ack(at, sender, reading.header.ack);
        }
        if reading
            .messages
            .iter()
            .any(|message| message.name == Some(CONNECT))
        {
            self.causes.connect(reading.header.ack);
        }
        if self.next == 0 && self.passed.is_empty() {
            self.skip_tokens(reading);
        }
        // Both sides restart their sequence numbers after a CONNECT or ACCEPT.
        let begins = |message: &Message| message.name.is_some_and(|name| [CONNECT, ACCEPT].contains(&name));
        if dir == Dir::C2s && is_control && reading.messages.iter().any(begins) {
            self.delivery.restart();
        }
        for message in &reading.messages {
            if self.has_entered {
                return;
            }
            if let Some((meant, why)) = fate::meant(message, reading) {
                self.lost(at, sender, meant, why);
                continue;
            }
            let Some(name) = message.name else { continue };
            if let Some(second) = fate::second(message, datagram, reading) {
                self.lost(at, sender, second, LossReason::Second(name));
            }
            if self.needs_password(datagram.proto) && fate::lacks_password(message, reading) {
                self.lost(at, sender, name, LossReason::NoPassword);
                continue;
            }
            let fate = fate::delivery_of(message, datagram, reading);
            let is_of_join = self.is_of_download(name) || self.is_step(name, sender);
            if fate == Fate::Arrives && is_of_join {
                self.causes.arrived(name, fate::changed_by(message));
            }
            if fate == Fate::Arrives && self.is_repeat(name, sender, message) {
                self.stalls.on_resend();
            }
            match fate {
                Fate::Arrives if dir == Dir::C2s => {
                    self.delivery.client_sent(message);
                    if self.counts(name, message, reading) {
                        self.client_sent(at, name, message);
                    }
                }
                Fate::Arrives => {
                    if self.counts(name, message, reading) {
                        self.server_sent(at, name, message);
                    }
                }
                Fate::Lost(why) => self.lost(at, sender, name, why),
                Fate::Nothing => {}
            }
        }
    }

    /// Skips the token request and its reply if the session begins with another packet: they precede the session in a
    /// capture.
    fn skip_tokens(&mut self, reading: &Reading) {
        let is_token = |message: &Message| message.name == Some(TOKEN);
        if !reading.messages.iter().any(is_token) {
            let first = self.steps.iter().position(|step| step.name != TOKEN);
            self.next = first.unwrap_or_default();
        }
    }

    /// Returns true if the server ignores an `info` without a password (DDNet 20.1, `OnNetMsgInfo` in server.cpp).
    fn needs_password(&self, proto: Proto) -> bool {
        proto == Proto::Ddnet && self.kind.server() == Release::Ddnet20
    }

    fn ack(&mut self, at: Time, sender: Side, ack: Option<Seq>) {
        let Some(ack) = ack else { return };
        self.delivery.on_ack(at, sender, ack);
        // A new ack of the client during the download shows that a part of the map was delivered.
        if self.map.begin.is_some() && sender == Side::Client && self.map.acked.replace(ack) != Some(ack) {
            self.stalls.progress_at(at);
        }
    }

    /// Records why a message had no effect.
    fn missed(&mut self, name: &'static str, why: LossReason) {
        let awaited = self.awaited().map(|(awaited, _)| awaited);
        self.causes.missed(awaited, name, why);
    }

    /// Returns true if `name` is a message of the join that `sender` sends.
    fn is_step(&self, name: &str, sender: Side) -> bool {
        let mut steps = self.steps.iter();
        steps.any(|step| step.name == name && step.from == sender)
    }

    /// Returns true if the message was sent before: a retransmitted chunk, or another copy of a packet that opens the
    /// session.
    fn is_repeat(&self, name: &str, sender: Side, message: &Message) -> bool {
        let is_control = message.layer == Layer::Control;
        let mut passed = self.passed.iter();
        message.transport.resend || is_control && passed.any(|step| step.name == name && step.from == sender)
    }

    /// Records a message that was not delivered or that its receiver drops.
    fn lost(&mut self, at: Time, sender: Side, name: &'static str, why: LossReason) {
        let is_step = self.is_step(name, sender);
        let is_part = self.is_of_download(name);
        if let Some(map) = self.map.download.as_mut().filter(|_| is_part) {
            map.want();
        }
        if is_step || is_part {
            self.causes.held(at, name, sender, &why);
            self.missed(name, why);
        }
    }

    /// Appends a passed step, unless [`STEPS`] steps are recorded.
    fn add(&mut self, name: &'static str, from: Side, at: Time, took: Duration) {
        let delayed = self.causes.delay(at, name, from);
        if self.passed.len() < STEPS {
            self.passed.push(PassedStep {
                name,
                from,
                at,
                took,
                count: 1,
                delayed,
            });
        }
    }

    /// Records a message that advances the join.
    fn came(&mut self, at: Time, name: &'static str, from: Side, message: &Message) {
        self.delivery.on_message(at, name, from, message);
        self.stalls.progress_at(at);
    }

    /// Records a message of the map download. Returns false if the message has no effect, and true for all other
    /// messages.
    fn counts(&mut self, name: &'static str, message: &Message, reading: &Reading) -> bool {
        let data = reading.data(message);
        if name == "map_change" && self.map.seq != message.transport.seq {
            self.map.seq = message.transport.seq;
            let has_bad_value = message.notes.iter().any(|note| note.code == Code::OutOfRange);
            self.map.fault = has_bad_value.then_some(MapFault::OutOfRange);
            self.map.download =
                Download::from_map_change(matches!(self.kind, JoinKind::Seven | JoinKind::DdnetSeven), data);
        }
        let faults = [MapFault::Part, MapFault::Differs];
        let is_noted = |fault: &MapFault| message.notes.iter().any(|note| note.code == fault.code());
        let fault = faults.into_iter().find(is_noted);
        self.map.fault = fault.or(self.map.fault);
        if !self.is_of_download(name) {
            return true;
        }
        let Some(map) = &mut self.map.download else {
            return true;
        };
        let counted = match name {
            _ if map.is_repeat(name, message.transport.seq) => Ok(()),
            REQUEST => map.requested(data),
            _ => map.came(data),
        };
        match counted {
            Ok(()) => {
                // The right part may follow a wrong one, which the client has ignored.
                let is_mended = fault.is_none() && name == DOWNLOAD;
                self.map.fault = self
                    .map
                    .fault
                    .filter(|fault| !is_mended || *fault != MapFault::Part);
                self.causes.counted(name);
                true
            }
            Err(flaw) => {
                self.missed(name, LossReason::Map(flaw));
                false
            }
        }
    }

    /// Returns true if the join ended before it stalled, because the run ended, or the recording ended during a running
    /// download.
    fn is_interrupted(&self, ended: &Ended, is_download: bool, at: Time) -> bool {
        let is_end = ended.is_by_teetap() || is_download && *ended == Ended::Open;
        is_end && self.stalls.is_in_time(at)
    }

    /// Ends the join and returns its result.
    pub(super) fn end(self, at: Time, ended: Ended) -> Join {
        let awaited = self.awaited();
        let (after, acked) = self.after();
        let why = awaited.and_then(|(name, _)| self.causes.misstep_of(name));
        let (misstep, note) = (why.map(LossReason::to_string), why.and_then(LossReason::note));
        let kept = awaited.is_some_and(|(name, _)| self.is_kept(at, name));
        let cause = awaited.map_or_else(|| self.causes.known.clone(), |(name, _)| self.cause_of(at, name));
        let parts = awaited.and_then(|(name, _)| self.parts(name));
        let has_reason = misstep.is_some() || cause.is_some();
        let outcome = match (self.has_entered, self.is_accepted()) {
            (true, _) => JoinOutcome::Entered,
            _ if !has_reason && self.is_interrupted(&ended, parts.is_some(), at) => JoinOutcome::Interrupted,
            (false, true) => JoinOutcome::NeverEntered,
            (false, false) => JoinOutcome::NeverOnline,
        };
        let fault = self
            .map
            .fault
            .filter(|fault| cause.as_deref() == Some(fault.text()));
        let is_of_client =
            awaited.is_some_and(|(name, _)| cause.is_some() && cause == self.causes.ack_of_connect(name));
        let blamed = match fault {
            Some(_) => Some(Side::Server),
            None => is_of_client.then_some(Side::Client),
        };
        let note = note.or(fault.map(MapFault::code));
        Join {
            session: self.session,
            kind: self.kind,
            begin: self.begin,
            end: at,
            outcome,
            stalls: self.stalls.count,
            is_by_loss: self.stalls.count > 0 && self.stalls.lost == self.stalls.count,
            is_resent: self.stalls.count > 0 && self.stalls.resent == self.stalls.count,
            ended,
            after,
            acked,
            awaited,
            misstep,
            kept,
            note,
            cause,
            parts,
            blamed,
            steps: self.passed,
        }
    }
}
