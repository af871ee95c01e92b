//! One join while it lasts.

mod acked;
mod download;
mod losses;
mod steps;

use std::{collections::BTreeMap, time::Duration};

use teetap_proxy::session::{Datagram, Notice, Origin, SessionId, Time};
use teetap_wire::{
    Dir, Proto, Seq, Side,
    receiver::{JoinKind, JoinStep, Stage},
};

use super::{
    Delayed, Ended, FOR_ACK, Join, JoinOutcome, PATIENCE, PassedStep,
    fate::{self, Fate, Why},
};
use crate::{
    Reading,
    reading::{Layer, Message},
};

use acked::Acked;
use download::Download;
use losses::Losses;

/// Steps that are kept of a join. A server may change its map again and again.
const STEPS: usize = 64;

/// The name of the step for a download of the map, in which messages of both sides alternate.
const DOWNLOAD: &str = "map_data";

/// The name of the message that requests a part of the map.
const REQUEST: &str = "request_map_data";

/// The names of the message that opens a session, of its answer, and of the one that opens a slot of DDNet's.
const CONNECT: &str = "connect";
const ACCEPT: &str = "accept";
const CONNECT_ACCEPT: &str = "connect_accept";

/// The name of the message without which no server lets a client into the game.
const ENTER_GAME: &str = "enter_game";

/// The time after which a receiver that does not ack a message has not got it. Longer than a round trip.
const UNHEARD: Duration = Duration::from_millis(500);

/// Messages that only servers of DDNet send.
const OF_DDNET: [&str; 3] = ["capabilities", "map_details", "rcon_type"];

/// A join while it lasts.
#[derive(Debug)]
pub(super) struct Follow {
    session: SessionId,
    begin: Time,
    kind: JoinKind,
    steps: Vec<JoinStep>,
    /// The index of the step that is awaited; optional ones may be left out.
    next: usize,
    /// The stage of the client, as the server sees it.
    stage: Stage,
    is_online: bool,
    has_entered: bool,
    /// True once ENTER_GAME has gone to the server, of the client or of a rule; another map begins anew.
    has_asked: bool,
    /// The highest number that the client sent to the server.
    sent: Seq,
    /// True if the server has acked numbers that were not seen: datagrams of the client are missing here.
    has_unseen: bool,
    /// True from a challenge to the map change after it: messages for the false map do not count.
    is_false: bool,
    /// The time of the last progress.
    progress: Time,
    /// The stall since then was reported.
    is_reported: bool,
    stalls: u32,
    /// The stalls after a message that was lost on the way.
    lost_stalls: u32,
    last: Option<Last>,
    /// The acks of each side.
    acks: [Acked; 2],
    passed: Vec<PassedStep>,
    /// The steps that rules hold, with the names of the rules and the time at which they came.
    held: BTreeMap<(&'static str, Side), (String, Time)>,
    /// The delay of the datagram that is read, by link lines.
    link_delay: Option<Duration>,
    /// The time at which a download began, while it lasts.
    download: Option<Time>,
    /// The last ack of the client during a download.
    acked: Option<Seq>,
    /// The map of the last map change, and the number of that.
    map: Option<Download>,
    map_seq: Option<Seq>,
    /// The last message of the client that did not count.
    misstep: Option<(&'static str, Why)>,
    /// The datagrams that link lines lost, with the first of them.
    lost: Option<Losses>,
    cause: Option<String>,
    /// The ack of the last CONNECT, where it is not 0.
    connect_ack: Option<Seq>,
}

/// The last message of a join.
#[derive(Clone, Copy, Debug)]
struct Last {
    name: &'static str,
    from: Side,
    /// The number as its receiver sees it; `None` if it is not vital.
    seq: Option<Seq>,
    /// The time of the first ack of it.
    acked: Option<Time>,
    /// The time at which it was sent.
    at: Time,
    /// True if its receiver sent datagrams later that do not ack it.
    is_unheard: bool,
}

impl Follow {
    pub(super) fn new(session: SessionId, at: Time, proto: Proto) -> Self {
        let kind = JoinKind::of(proto, false);
        Self {
            session,
            begin: at,
            kind,
            steps: kind.steps().collect(),
            next: 0,
            stage: kind.first_stage(),
            is_online: false,
            has_entered: false,
            has_asked: false,
            sent: Seq::ZERO,
            has_unseen: false,
            is_false: false,
            progress: at,
            is_reported: false,
            stalls: 0,
            lost_stalls: 0,
            last: None,
            acks: [Acked::default(); 2],
            passed: Vec::new(),
            held: BTreeMap::new(),
            link_delay: None,
            download: None,
            acked: None,
            map: None,
            map_seq: None,
            misstep: None,
            lost: None,
            cause: None,
            connect_ack: None,
        }
    }

    /// Returns the time of the last progress.
    pub(super) const fn progress(&self) -> Time {
        self.progress
    }

    /// Returns true once the client is in the game.
    pub(super) const fn has_entered(&self) -> bool {
        self.has_entered
    }

    /// Returns the time at which the join stands still unless something comes; `None` if that was reported, or nothing is awaited. The
    /// ack of the last message is waited for a little longer.
    pub(super) fn due(&self) -> Option<Time> {
        if self.is_reported || self.awaited().is_none() {
            return None;
        }
        let due = self.progress + PATIENCE;
        let last = self.last.filter(|last| last.seq.is_some());
        Some(match last.map(|last| last.acked) {
            None => due,
            Some(Some(acked)) => due.max(acked),
            Some(None) => due + FOR_ACK,
        })
    }

    /// Reports that the login stands still.
    pub(super) fn stalled(&mut self, at: Time) -> Option<Notice> {
        let (waits_for, from) = self.awaited()?;
        self.is_reported = true;
        self.stalls = self.stalls.saturating_add(1);
        let (after, acked) = self.after();
        let kept = self.is_kept(at, waits_for);
        let why = self.misstep_of(waits_for).map(|why| format!("{waits_for} {why}"));
        let why = why
            .or_else(|| self.cause_of(at, waits_for))
            .or_else(|| self.parts(waits_for));
        self.lost_stalls = self
            .lost_stalls
            .saturating_add(u32::from(self.is_unheard() && acked == Some(false)));
        Some(Notice::LoginStalled {
            after: after.map(Into::into),
            acked,
            from,
            waits_for: waits_for.into(),
            why: why.map(Into::into),
            kept,
        })
    }

    /// The server has accepted the client, in this protocol.
    pub(super) fn online(&mut self, proto: Proto) {
        self.is_online = true;
        if self.kind != JoinKind::Challenge {
            self.become_kind(JoinKind::of(proto, self.kind == JoinKind::DdnetSeven));
        }
    }

    /// Continues as another kind of join, at the same place.
    fn become_kind(&mut self, kind: JoinKind) {
        if kind == self.kind {
            return;
        }
        self.kind = kind;
        self.steps = kind.steps().collect();
        if self.stage <= Stage::Auth {
            self.stage = kind.first_stage();
        }
        let last = self.last.map(|last| (last.name, last.from));
        let place = self
            .steps
            .iter()
            .position(|step| Some((step.name, step.from)) == last);
        self.next = place.map_or(self.next.min(self.steps.len()), |place| place + 1);
    }

    /// Takes a notice of the session, which may explain why nothing comes.
    pub(super) fn notice(&mut self, notice: &Notice) {
        if let Notice::OtherProtocol {
            client_speaks,
            server_speaks,
            ..
        } = notice
        {
            self.cause = Some(format!(
                "the client speaks {client_speaks}, and the server only {server_speaks}"
            ));
        } else if matches!(notice, Notice::LoginStalled { .. }) {
            // Of a recording; one that was made here is known.
            self.stalls = self.stalls.saturating_add(u32::from(!self.is_reported));
            self.is_reported = true;
        } else if matches!(
            notice,
            Notice::UpstreamUnreachable { .. } | Notice::UpstreamFailed { .. }
        ) {
            self.cause = Some(notice.to_string());
        }
    }

    /// Takes a datagram.
    pub(super) fn datagram(&mut self, at: Time, datagram: &Datagram, reading: &Reading) {
        let (dir, leg) = (datagram.dir, datagram.leg);
        self.link_delay = fate::delay(datagram);
        let sender = dir.sender();
        if fate::lost(datagram).is_some() {
            let first = Losses::begin(dir, datagram.ordinal, at);
            let lost = self.lost.get_or_insert(first);
            lost.count = lost.count.saturating_add(1);
        }
        // What the proxy says in place of a side is not of the join. A message that a rule held is.
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
        if reading.size.is_some() && reading.error.is_none() && reading.token_ok() {
            self.ack(at, sender, reading.ack);
        }
        if reading
            .messages
            .iter()
            .any(|message| message.name == Some(CONNECT))
        {
            self.connect_ack = reading.ack.filter(|ack| *ack != Seq::ZERO);
        }
        // The numbers of both sides begin with one of these.
        let begins = |message: &Message| message.name.is_some_and(|name| [CONNECT, ACCEPT].contains(&name));
        if dir == Dir::C2s && is_control && reading.messages.iter().any(begins) {
            self.acks = [Acked::default(); 2];
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
            match fate::of(message, datagram, reading) {
                Fate::Arrives if dir == Dir::C2s => {
                    self.sent = message
                        .seq_out
                        .or(message.seq)
                        .filter(|seq| message.vital && !seq.is_behind(self.sent))
                        .unwrap_or(self.sent);
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

    fn ack(&mut self, at: Time, sender: Side, ack: Option<Seq>) {
        let Some(ack) = ack else { return };
        let Some(acked) = self.acks.get_mut(sender as usize) else {
            return;
        };
        acked.advance(ack);
        self.has_unseen |= sender == Side::Server && !ack.is_behind(self.sent);
        if let Some(last) = &mut self.last
            && last.from != sender
            && let Some(seq) = last.seq
        {
            if acked.has(seq) {
                last.acked.get_or_insert(at);
            } else {
                last.is_unheard |= at.since(last.at) >= UNHEARD;
            }
        }
        // Each part of the map that arrives is progress.
        if self.download.is_some() && sender == Side::Client && self.acked.replace(ack) != Some(ack) {
            self.progress_at(at);
        }
    }

    /// Remembers why a message did not count. That of the awaited one is kept when others follow.
    fn missed(&mut self, name: &'static str, why: Why) {
        let awaited = self.awaited().map(|(awaited, _)| awaited);
        let is_kept = self
            .misstep
            .as_ref()
            .is_some_and(|(known, _)| Some(*known) == awaited);
        if !is_kept || Some(name) == awaited {
            self.misstep = Some((name, why));
        }
    }

    /// A message does not reach its receiver, or has no effect on it.
    fn lost(&mut self, at: Time, sender: Side, name: &'static str, why: Why) {
        let mut steps = self.steps.iter();
        let is_step = steps.any(|step| step.name == name && step.from == sender);
        let is_part = self.is_of_download(name);
        if let Some(map) = self.map.as_mut().filter(|_| is_part) {
            map.want();
        }
        if is_step || is_part {
            match &why {
                Why::Held(rules) => {
                    self.held
                        .entry((name, sender))
                        .or_insert_with(|| (rules.clone(), at));
                }
                _ => _ = self.held.remove(&(name, sender)),
            }
            self.missed(name, why);
        }
    }

    fn add(&mut self, name: &'static str, from: Side, at: Time, took: Duration) {
        let held = self.held.remove(&(name, from));
        let held = held.map(|(rules, since)| Delayed {
            rules: Some(rules),
            time: at.since(since),
        });
        let link = self.link_delay.filter(|_| name != DOWNLOAD);
        let link = link.map(|time| Delayed { rules: None, time });
        let delayed = held.into_iter().chain(link).max_by_key(|delayed| delayed.time);
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

    /// A message of the join has come.
    fn came(&mut self, at: Time, name: &'static str, from: Side, message: &Message) {
        let seq = message.seq_out.or(message.seq).filter(|_| message.vital);
        self.last = Some(Last {
            name,
            from,
            seq,
            acked: None,
            at,
            is_unheard: false,
        });
        self.progress_at(at);
    }

    const fn progress_at(&mut self, at: Time) {
        self.progress = at;
        self.is_reported = false;
    }

    fn awaited_step(&self) -> Option<&JoinStep> {
        let mut due = self.steps.iter().skip(self.next);
        due.find(|step| step.is_needed)
    }

    /// Returns the next message that is needed, if it is one of this side.
    pub(super) fn awaits(&self, from: Side) -> Option<&'static str> {
        let step = self.awaited_step().filter(|step| step.from == from);
        step.map(|step| step.name)
    }

    /// Returns the message that is awaited, and its sender.
    fn awaited(&self) -> Option<(&'static str, Side)> {
        if let Some(step) = self.skipped() {
            return Some((step.name, step.from));
        }
        if let Some(last) = &self.last
            && last.name == REQUEST
            && self.map.is_none()
        {
            return Some((DOWNLOAD, Side::Server));
        }
        let of_map = self.map.as_ref().filter(|_| self.awaits_ready());
        of_map
            .and_then(Download::awaits)
            .or_else(|| self.awaited_step().map(|step| (step.name, step.from)))
    }

    /// Returns true if the server has accepted CONNECT. Its session may open later, and a recording may begin with it.
    fn is_accepted(&self) -> bool {
        self.is_online || self.passed.iter().any(|passed| passed.name == CONNECT_ACCEPT)
    }

    /// Returns the answer of the server to CONNECT, if that did not come and the client went on without it.
    fn skipped(&self) -> Option<&JoinStep> {
        let mut steps = self.steps.iter().take(self.next).filter(|_| !self.is_accepted());
        steps.find(|step| step.name == CONNECT_ACCEPT)
    }

    /// Returns the last message, and whether it was acked.
    fn after(&self) -> (Option<&'static str>, Option<bool>) {
        if self.skipped().is_some() {
            let has_come = self.passed.iter().any(|passed| passed.name == CONNECT);
            return (has_come.then_some(CONNECT), None);
        }
        let Some(last) = &self.last else {
            return (None, None);
        };
        (Some(last.name), last.seq.map(|_| last.acked.is_some()))
    }

    /// Returns the reason why a message did not count that came.
    fn misstep_of(&self, name: &str) -> Option<String> {
        let (of, why) = self.misstep.as_ref()?;
        (*of == name).then(|| why.to_string())
    }

    /// Returns true if a rule or a link line kept a message back.
    fn is_kept(&self, at: Time, name: &str) -> bool {
        let misstep = self.misstep.as_ref();
        match misstep.filter(|(of, _)| *of == name) {
            Some((_, why)) => why.is_of_proxy(),
            None => {
                self.cause.is_none() && !self.is_anew() && (self.lost.is_some() || self.late(at).is_some())
            }
        }
    }

    /// Returns true if the next step is the one after the download of the map.
    fn awaits_ready(&self) -> bool {
        self.awaited_step().is_some_and(|step| step.name == "ready")
    }

    /// Returns true for a message of the download that the join waits for.
    fn is_of_download(&self, name: &str) -> bool {
        [DOWNLOAD, REQUEST].contains(&name) && self.awaits_ready()
    }

    fn is_anew(&self) -> bool {
        self.map.as_ref().is_some_and(Download::is_anew)
    }

    /// Follows the download of the map. Returns false for a message of it that has no effect.
    fn counts(&mut self, name: &'static str, message: &Message, reading: &Reading) -> bool {
        let data = reading.data(message);
        if name == "map_change" && self.map_seq != message.seq {
            self.map_seq = message.seq;
            self.map = Download::of(matches!(self.kind, JoinKind::Seven | JoinKind::DdnetSeven), data);
        }
        if !self.is_of_download(name) {
            return true;
        }
        let Some(map) = &mut self.map else {
            return true;
        };
        let counted = match name {
            _ if map.is_repeat(name, message.seq) => Ok(()),
            REQUEST => map.requested(data),
            _ => map.came(data),
        };
        match counted {
            Ok(()) => {
                self.misstep = self.misstep.take().filter(|(of, _)| *of != name);
                true
            }
            Err(flaw) => {
                self.missed(name, Why::Map(flaw));
                false
            }
        }
    }

    /// Returns another reason why a message does not come.
    fn cause_of(&self, at: Time, name: &str) -> Option<String> {
        let anew = "the client has begun the download anew, with part 0";
        let anew = (self.is_anew() && [DOWNLOAD, REQUEST].contains(&name)).then(|| anew.to_owned());
        let lost = self.lost.filter(|_| self.misstep_of(name).is_none());
        let lost = lost.map(|lost| lost.to_string());
        self.cause
            .clone()
            .or(anew)
            .or(lost)
            .or_else(|| self.late(at))
            .or_else(|| self.ack_of_connect(name))
    }

    /// Returns the delay of the last step by link lines, if that is most of the time since then.
    fn late(&self, at: Time) -> Option<String> {
        let step = self.passed.last()?;
        let delayed = step.delayed.as_ref().filter(|delayed| delayed.rules.is_none())?;
        (delayed.time * 2 >= at.since(step.at)).then(|| format!("{} was {delayed}", step.name))
    }

    /// Returns the reason why a server did not answer a CONNECT that acks something.
    fn ack_of_connect(&self, name: &str) -> Option<String> {
        let ack = self.connect_ack.filter(|_| name == CONNECT_ACCEPT)?;
        Some(format!(
            "the ack of connect is {ack}: Teeworlds 0.6.4 and 0.7.5 drop one that is not 0"
        ))
    }

    /// Returns true if the last message was lost on the way, as far as the acks of its receiver show it.
    fn is_unheard(&self) -> bool {
        self.last.is_some_and(|last| last.is_unheard)
    }

    /// Returns how much of the map the client has, if a message of its download is awaited.
    fn parts(&self, name: &str) -> Option<String> {
        let map = self.map.as_ref().filter(|_| self.is_of_download(name))?;
        let (come, all) = map.progress();
        let parts = if all == 1 { "part" } else { "parts" };
        Some(format!("the client has {come} of {all} {parts} of the map"))
    }

    /// Returns true if the join does not stand still at this time.
    fn is_in_time(&self, at: Time) -> bool {
        !self.is_reported && at.since(self.progress) < PATIENCE
    }

    /// Returns the join, which is over.
    pub(super) fn end(self, at: Time, ended: Ended) -> Join {
        let awaited = self.awaited();
        let (after, acked) = self.after();
        let misstep = awaited.and_then(|(name, _)| self.misstep_of(name));
        let note = self
            .misstep
            .as_ref()
            .filter(|(of, _)| awaited.is_some_and(|(name, _)| name == *of));
        let note = note.and_then(|(_, why)| why.note());
        let kept = awaited.is_some_and(|(name, _)| self.is_kept(at, name));
        let cause = awaited.map_or_else(|| self.cause.clone(), |(name, _)| self.cause_of(at, name));
        let parts = awaited.and_then(|(name, _)| self.parts(name));
        let has_reason = misstep.is_some() || cause.is_some();
        let outcome = match (self.has_entered, self.is_accepted()) {
            (true, _) => JoinOutcome::Entered,
            _ if ended.is_by_teetap() && !has_reason && self.is_in_time(at) => JoinOutcome::Interrupted,
            (false, true) => JoinOutcome::NeverEntered,
            (false, false) => JoinOutcome::NeverOnline,
        };
        let is_of_client =
            awaited.is_some_and(|(name, _)| cause.is_some() && cause == self.ack_of_connect(name));
        Join {
            session: self.session,
            kind: self.kind,
            begin: self.begin,
            end: at,
            outcome,
            stalls: self.stalls,
            is_by_loss: self.stalls > 0 && self.lost_stalls == self.stalls,
            ended,
            after,
            acked,
            awaited,
            misstep,
            kept,
            note,
            cause,
            parts,
            is_of_client,
            steps: self.passed,
        }
    }
}
