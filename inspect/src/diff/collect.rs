//! Collects one side of a comparison from the items of a recording.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use teetap_proxy::session::{Datagram, Event, EventKind, Origin, SessionId, State, Time};
use teetap_wire::{
    Dir, PerDir,
    def::{Frequency, Registry},
    snap::Fate,
};

use super::{
    entry::{ComparedMessage, fields},
    lineage::{Lineage, Lineages, OfDatagram},
    options::{NoSide, Options},
    order::Order,
    side::{Input, Side, TimedSnapshot},
    view::View,
};
use crate::{Decoder, Layer, Message, Reading, recording::Item};

/// Maximum number of sessions kept until one of them is online.
const CANDIDATES: usize = 64;

/// Maximum number of events kept for a session that is not online. The session is chosen if it has more.
const WAITING: usize = 4096;

/// Maximum number of sessions named if the wanted session does not exist.
const NAMED: usize = 8;

/// The token exchange of 0.7, which precedes the session, or is sent on the server leg within it.
const TOKEN: &str = "token";

/// The last message of a join.
const ENTER_GAME: &str = "enter_game";

/// The name under which messages of snapshots are counted.
pub(super) const SNAPSHOTS: &str = "snap";

/// Names of the messages counted as [`SNAPSHOTS`].
const SNAPSHOT_FORMS: &[&str] = &["snap", "snap_single", "snap_empty", "snap_small"];

/// Collects one side of a comparison.
pub struct Collector {
    decoder: Decoder,
    options: Options,
    /// The events of sessions that are not online yet.
    candidates: BTreeMap<u32, Vec<Event>>,
    /// The numbers of the first sessions seen.
    met: BTreeSet<u32>,
    met_more: bool,
    /// The side, once its session is chosen.
    side: Option<Side>,
    /// Time of the first datagram.
    began: Option<Time>,
    orders: PerDir<Order<Vital>>,
    /// The last control message of each direction, to recognize its retransmissions.
    last_control: PerDir<Option<ComparedMessage>>,
    /// The origin of each message; empty unless a leg is compared.
    lineages: Lineages,
    /// True if the recording is of a run of teetap.
    is_of_run: bool,
    /// True once the client has entered the game.
    has_entered: bool,
    /// True if further items are ignored.
    is_done: bool,
}

/// Returns the origin of a message with this index in a datagram.
type LineageOf<'f> = dyn Fn(&mut Lineages, usize, &Message) -> Lineage + 'f;

/// The kept part of a vital message, until it is in order.
enum Vital {
    Message(ComparedMessage),
    /// A message that is only counted or not compared.
    Counted,
}

impl Collector {
    /// Creates a collector for a recording.
    #[must_use]
    pub fn new(options: Options, registry: &'static Registry) -> Self {
        let mut decoder = Decoder::new(registry);
        // Repeats are recognized by the sequence numbers of all messages.
        decoder.decode_everything();
        if let Some(filter) = &options.filter {
            decoder.show_only(filter.clone());
        }
        if let Some(until) = &options.until {
            decoder.wait_for(until.clone());
        }
        Self {
            decoder,
            options,
            candidates: BTreeMap::new(),
            met: BTreeSet::new(),
            met_more: false,
            side: None,
            began: None,
            orders: PerDir::default(),
            last_control: PerDir::default(),
            lineages: Lineages::default(),
            is_of_run: false,
            has_entered: false,
            is_done: false,
        }
    }

    /// Returns true if the rest of the recording does not matter.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.is_done
    }

    /// Records the next item of the recording.
    pub fn item(&mut self, item: Item) {
        match item {
            // Another run has other sessions.
            Item::Start { .. } if self.side.is_some() => self.is_done = true,
            Item::Start { run, .. } => {
                self.is_of_run |= run.is_some();
                self.candidates.clear();
                self.decoder.restart();
            }
            Item::Event(event) => self.event(event),
            Item::Gap { lost, .. } => {
                self.decoder.gap();
                if let Some(side) = &mut self.side {
                    side.lost += lost;
                }
            }
            Item::Log { text, .. } => self.decoder.log(&text),
        }
    }

    fn event(&mut self, event: Event) {
        if let (None, EventKind::Notice(_)) = (event.session, &event.what) {
            // The names of the rules.
            drop(self.decoder.decode(event));
            return;
        }
        let Some(SessionId(id)) = event.session.filter(|_| !self.is_done) else {
            return;
        };
        if let Some(side) = &self.side {
            if side.session.0 == id {
                self.collect_event(event);
            }
            return;
        }
        self.meet(id);
        if self.options.session.is_some_and(|wanted| wanted != id) {
            return;
        }
        let is_online = matches!(&event.what, EventKind::Session(change) if change.state == State::Online);
        let waiting = self.candidates.entry(id).or_default();
        waiting.push(event);
        let is_wanted = self.options.session == Some(id);
        if is_online || is_wanted || waiting.len() > WAITING {
            self.choose(id);
        } else if self.candidates.len() > CANDIDATES {
            // Evicts the session with the fewest events, as the least informative.
            let least = self.candidates.iter().min_by_key(|(_, events)| events.len());
            if let Some(least) = least.map(|(id, _)| *id) {
                self.candidates.remove(&least);
            }
        }
    }

    /// Records the number of a session.
    fn meet(&mut self, id: u32) {
        if self.met.len() < NAMED {
            self.met.insert(id);
        } else {
            self.met_more |= !self.met.contains(&id);
        }
    }

    /// Selects a session: replays its buffered events, then follows it.
    fn choose(&mut self, id: u32) {
        let events = self.candidates.remove(&id).unwrap_or_default();
        self.candidates.clear();
        self.side = Some(Side::new(SessionId(id)));
        for event in events {
            self.collect_event(event);
        }
    }

    /// Returns the collected side at the end of the recording.
    ///
    /// # Errors
    /// Fails if the recording has no such session or leg.
    pub fn finish(mut self) -> Result<Side, NoSide> {
        if self.side.is_none() {
            // No session came online, so the session with the most events is chosen as the most informative.
            let most = self.candidates.iter().max_by_key(|(_, events)| events.len());
            if let Some(most) = most.map(|(id, _)| *id) {
                self.choose(most);
            }
        }
        self.flush(Order::flush);
        let has_end = self.options.until.is_some();
        let is_reached = self.decoder.ending().is_some();
        let Some(mut side) = self.side else {
            return Err(match self.options.session {
                Some(_) if !self.met.is_empty() => {
                    NoSide::NotThere(self.met.into_iter().collect(), self.met_more)
                }
                _ => NoSide::Empty,
            });
        };
        if self.options.view != View::Peers && !self.is_of_run {
            return Err(NoSide::OneLeg);
        }
        side.player = self.decoder.player(side.session).or(side.player);
        side.reached = has_end.then_some(is_reached);
        Ok(side)
    }

    /// Records an event of the chosen session.
    fn collect_event(&mut self, event: Event) {
        if self.is_done {
            return;
        }
        match &event.what {
            EventKind::Session(change) => {
                if let Some(side) = &mut self.side {
                    side.client = Some(change.client);
                    let player = self.decoder.player(side.session);
                    side.player = player.or(side.player.take());
                }
                let _nothing_to_read = self.decoder.decode(event);
            }
            EventKind::Datagram(datagram) => {
                let found = self.lineage(datagram);
                for (part, shown) in self.options.view.shown(datagram) {
                    let shown = Event {
                        at: event.at,
                        session: event.session,
                        what: EventKind::Datagram(shown),
                    };
                    self.datagram(
                        shown,
                        &|lineages: &mut Lineages, index, message: &Message| match &found {
                            Some(found) => lineages.of(datagram, found, (part, index), message),
                            None => Lineage::default(),
                        },
                    );
                }
            }
            _ => drop(self.decoder.decode(event)),
        }
    }

    /// Follows the messages of a datagram to the other leg; returns `None` if no leg is compared.
    fn lineage(&mut self, datagram: &Datagram) -> Option<OfDatagram> {
        if self.options.view == View::Peers {
            return None;
        }
        let Self {
            lineages, decoder, ..
        } = self;
        Some(lineages.datagram(datagram, |ids| decoder.rule_names(ids).into()))
    }

    /// Records a datagram. `lineage` returns the origin of its message with this index.
    fn datagram(&mut self, event: Event, lineage: &LineageOf<'_>) {
        if self.is_done {
            return;
        }
        let began = *self.began.get_or_insert(event.at);
        let at = Time(event.at.0.saturating_sub(began.0));
        let decoded = self.decoder.decode(event);
        let (EventKind::Datagram(datagram), Some(reading)) = (&decoded.event.what, decoded.reading) else {
            return;
        };
        let end = self.decoder.ending().and_then(|ending| ending.message.clone());
        let is_end = self.decoder.ending().is_some();
        if let Some(side) = &mut self.side {
            side.proto = Some(datagram.proto);
            side.lasted = side.lasted.max(at);
            let len = datagram.received().map_or(0, <[u8]>::len);
            if self.options.filter.is_none() {
                side.statistics.datagram(datagram.dir, at, len);
                side.statistics.reading(datagram.dir, &reading);
            }
        }
        for (index, message) in reading
            .messages
            .iter()
            .enumerate()
            .filter(|(_, message)| message.handling.origin == Origin::Peer)
        {
            let lineage = lineage(&mut self.lineages, index, message);
            self.message((at, lineage), datagram, &reading, message);
            let is_last =
                |(dir, label): &(Dir, String)| *dir == datagram.dir && *label == reading.label(message);
            if is_end && end.as_ref().is_some_and(is_last) {
                break;
            }
        }
        self.is_done |= is_end;
        self.decoder.recycle(reading);
    }

    fn message(&mut self, place: (Time, Lineage), datagram: &Datagram, reading: &Reading, message: &Message) {
        let dir = datagram.dir;
        match message.name.filter(|_| message.layer == Layer::Control) {
            // Sequence numbers restart.
            Some("connect") if dir == Dir::C2s => {
                self.flush(Order::restart);
                self.lineages.restart();
            }
            // Queued messages will not be retransmitted.
            Some("close") => self.flush(Order::flush),
            _ => {}
        }
        self.measure(place.0, reading, message);
        let entry = self.entry(place, datagram, reading, message);
        // The end of the join counts even if it is not compared.
        self.has_entered |= entry.is_none() && dir == Dir::C2s && message.name == Some(ENTER_GAME);
        if message.layer == Layer::Control {
            if message.name != Some(TOKEN) {
                self.control(dir, entry);
            }
            return;
        }
        let kept = entry.map_or(Vital::Counted, Vital::Message);
        let mut out = Vec::new();
        match message.transport.seq {
            Some(seq) => self.orders[dir].push(seq, kept, &mut out),
            None => out.push(kept),
        }
        self.keep(dir, out);
    }

    /// Adds a message to the statistics of the game, except inputs.
    fn measure(&mut self, at: Time, reading: &Reading, message: &Message) {
        let Some(side) = &mut self.side else { return };
        let name = reading.label(message);
        let ignore = &self.options.ignore;
        let is_compared = message.visibility.shown && !ignore.message(&name);
        let int = |field| reading.int(message, field);
        if SNAPSHOT_FORMS.contains(&&*name) {
            if let (Some(tick), Some(delta)) = (int("tick"), int("delta_tick")) {
                let is_compared = is_compared && !ignore.message(SNAPSHOTS);
                side.statistics.snapshot(at, tick, delta, is_compared);
            }
        } else if let Some(left) = int("time_left").filter(|_| name == "input_timing" && is_compared) {
            side.statistics.timing(left);
        }
    }

    /// Releases the vital messages that wait for a missing earlier message.
    fn flush(&mut self, flush: fn(&mut Order<Vital>, &mut Vec<Vital>)) {
        for dir in [Dir::C2s, Dir::S2c] {
            let mut out = Vec::new();
            flush(&mut self.orders[dir], &mut out);
            self.keep(dir, out);
        }
    }

    /// Keeps a control message unless it equals the previous control message.
    fn control(&mut self, dir: Dir, entry: Option<ComparedMessage>) {
        let Some(entry) = entry else { return };
        let last = &mut self.last_control[dir];
        let is_again = last
            .as_ref()
            .is_some_and(|last| last.name == entry.name && last.fields == entry.fields);
        *last = Some(entry.clone());
        if !is_again {
            self.keep(dir, vec![Vital::Message(entry)]);
        }
    }

    /// Returns the entry to keep for a message; `None` if the message is only counted or not compared.
    fn entry(
        &mut self,
        (at, lineage): (Time, Lineage),
        datagram: &Datagram,
        reading: &Reading,
        message: &Message,
    ) -> Option<ComparedMessage> {
        let name = reading.label(message);
        let is_snapshot = SNAPSHOT_FORMS.contains(&&*name);
        let counted = if is_snapshot { SNAPSHOTS } else { &*name };
        let ignore = &self.options.ignore;
        if !message.visibility.shown || ignore.message(&name) || ignore.message(counted) {
            return None;
        }
        let (dir, frame) = (datagram.dir, datagram.ends.frame);
        let side = self.side.as_mut()?;
        let is_counted = message.def.is_some_and(|def| def.frequency > Frequency::Event);
        if is_snapshot || is_counted {
            if !(self.options.join_only && self.has_entered) {
                side.count(dir, counted, message.transport.vital, (at, frame));
            }
            if let Some(snapshot) = message
                .completed
                .snapshot
                .as_deref()
                .filter(|shot| shot.fate() == Fate::Kept)
            {
                let snapshot = snapshot.clone();
                side.push_snapshot(TimedSnapshot {
                    at,
                    frame,
                    snapshot,
                    rules: lineage.rules.clone(),
                });
            }
            if let Some(tick) = reading.int(message, "intended_tick").filter(|_| name == "input") {
                let fields = fields(reading, message, ignore, self.options.secrets);
                let ack = reading.int(message, "ack_snapshot");
                side.statistics.input(at, tick, ack, &fields);
                side.push_input(Input {
                    tick,
                    at,
                    frame,
                    fields,
                    rules: lineage.rules,
                });
            }
            return None;
        }
        Some(ComparedMessage {
            at,
            frame,
            layer: message.layer,
            vital: message.transport.vital,
            fields: fields(reading, message, ignore, self.options.secrets),
            name: name.into(),
            lineage,
        })
    }

    fn keep(&mut self, dir: Dir, messages: Vec<Vital>) {
        let Some(side) = &mut self.side else { return };
        for message in messages {
            let Vital::Message(entry) = message else { continue };
            let is_left_out = self.options.join_only && self.has_entered;
            self.has_entered |= &*entry.name == ENTER_GAME;
            if !is_left_out {
                side.push(dir, entry);
            }
        }
    }
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collector")
            .field("side", &self.side)
            .finish_non_exhaustive()
    }
}
