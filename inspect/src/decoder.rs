//! Messages read through the definitions, for watchers.
//!
//! Law: every byte a peer sent is read off the data thread, once for all watchers, and never fails: oddities are
//! notes. Each message is looked up once and decoded at most once, whether a filter, the context of its session or the
//! reading needs its fields first. Messages that no watcher shows get no fields.

use std::{borrow::Cow, fmt, sync::Arc};

use teetap_proxy::session::{self, Event, SessionChange, SessionId, State, Time};
use teetap_rules::{
    Filter, RuleId,
    context::{Contexts, MessageView, Names, Needs, PacketView},
    eval::{Identity, Lazy, SessionState},
};
use teetap_wire::{
    Code, Control, Dir, Note, Notes, Proto, Scratch,
    connless::Connless,
    def::{Class, Decoded, Def, Gist, Record, Registry},
    identify, printable,
    snap::Retained,
};

use crate::{
    Ending, EndingBy, Snapshots, Subscribers,
    course::Courses,
    judge,
    place::{Chunk, Place},
    previous::Previous,
    reading::{Layer, Message, Reading},
    select::Select,
    snapshot,
    stream::Streams,
    subscribers::Selected,
};

/// The datagrams of a direction in which peers say what they are: in the first ones, after losses too.
const INTRODUCTIONS: u64 = 64;

/// Reads messages and asks the filters about them, with the context of their sessions.
pub struct Decoder {
    registry: &'static Registry,
    contexts: Contexts,
    select: Select,
    /// A buffer for each message.
    buffer: Decoded,
    /// A buffer for messages without a definition of their own.
    unknown: Decoded,
    /// Everything is decoded, whatever the filter shows.
    everything: bool,
    /// Sessions are shown, with their names.
    sessions: bool,
    /// Gists are shown, with the names of players.
    gists: bool,
    /// Items of snapshots are shown.
    items: bool,
    /// Items of snapshots are measured.
    measures: bool,
    /// The place of the newest snapshots.
    shared: Option<Snapshots>,
    /// The snapshots that the next ones are compared with; `None` where changes since them are not shown.
    previous: Option<Previous>,
    scratch: Option<Box<Scratch>>,
    reading: Option<Reading>,
    /// The names of the rules that are set.
    rules: Vec<Arc<str>>,
    /// Rules end the run.
    ends_by_rules: bool,
    /// The cause of the end of the run.
    ending: Option<Arc<Ending>>,
    streams: Streams,
    subscribers: Option<Subscribers>,
    /// The number of changes of subscriptions that are known.
    changes: u64,
    /// Snapshots are ignored while there is no subscriber.
    blind: bool,
    /// The joins of sessions.
    pub(crate) courses: Courses,
    /// The collector of findings; `None` where not all events are decoded whole.
    judge: Option<judge::Live>,
}

impl Decoder {
    /// Creates a decoder that shows everything, read through these definitions.
    #[must_use]
    pub fn new(registry: &'static Registry) -> Self {
        Self {
            registry,
            contexts: Contexts::new(registry),
            select: Select::default(),
            buffer: Decoded::new(),
            unknown: Decoded::new(),
            everything: false,
            sessions: true,
            gists: true,
            items: true,
            measures: false,
            shared: None,
            previous: None,
            scratch: None,
            reading: None,
            rules: Vec::new(),
            ends_by_rules: false,
            ending: None,
            streams: Streams::default(),
            subscribers: None,
            changes: 0,
            blind: false,
            courses: Courses::default(),
            judge: None,
        }
    }

    /// Collects the findings of a run in which all events are decoded whole.
    pub fn collect_findings(&mut self, judge: judge::Live) {
        self.judge = Some(judge);
    }

    /// Returns the collector of findings.
    pub(crate) const fn judge(&self) -> Option<&judge::Live> {
        self.judge.as_ref()
    }

    /// Evaluates the filters of subscribers, too.
    pub fn serve(&mut self, subscribers: Subscribers) {
        self.subscribers = Some(subscribers);
    }

    /// Takes over changes of the subscriptions. A subscriber receives all events, other watchers maybe not.
    pub(crate) fn look_for_subscribers(&mut self) {
        let Some(subscribers) = &self.subscribers else {
            return;
        };
        if subscribers.changes() == self.changes {
            return;
        }
        let (filters, changes) = subscribers.filters();
        self.changes = changes;
        let had = self.select.has_subscribers();
        self.select.subscribe(filters);
        match (had, self.select.has_subscribers()) {
            (false, true) if self.blind => self.contexts.follow_snapshots(),
            (true, false) if self.blind => self.contexts.ignore_snapshots(),
            _ => {}
        }
        self.choose_needs();
    }

    /// Returns the subscriptions that an event is for, of which these want a message.
    pub(crate) fn selected_by(&self, slots: u64) -> Selected {
        Selected {
            slots: slots | self.select.insatiable(),
            changes: self.changes,
        }
    }

    /// Ignores snapshots and joins, for a watcher that does not receive all events: they are messages as any other.
    pub fn ignore_snapshots(&mut self) {
        self.blind = true;
        self.courses.ignore();
        self.contexts.ignore_snapshots();
        self.streams.set_partial(true);
    }

    /// Ignores sessions: only messages are shown.
    pub fn ignore_sessions(&mut self) {
        self.sessions = false;
        self.choose_needs();
    }

    /// Ignores gists: no names of players are shown with messages.
    pub fn ignore_gists(&mut self) {
        self.gists = false;
        self.choose_needs();
    }

    /// Ignores the items of snapshots: only their counts are shown. Events that wait for a watcher do not keep them then.
    pub fn ignore_items(&mut self) {
        self.items = false;
    }

    /// Shares the newest snapshot of each session, with its items.
    pub fn share_snapshots(&mut self, snapshots: Snapshots) {
        self.shared = Some(snapshots);
    }

    /// Compares each snapshot with the one before it, too.
    pub fn follow_changes(&mut self) {
        self.previous = Some(Previous::default());
    }

    /// Measures the items of snapshots, by their types.
    pub fn measure_items(&mut self) {
        self.measures = true;
    }

    /// Decodes everything, with all names: a watcher without the filter, such as a recorder, shows it.
    pub fn decode_everything(&mut self) {
        self.everything = true;
        self.gists = true;
        self.choose_needs();
    }

    /// Shows only messages that match from now on.
    pub fn show_only(&mut self, filter: Filter) {
        self.select.show_only(filter);
        self.choose_needs();
    }

    /// Waits for a message that matches, shown or not.
    pub fn wait_for(&mut self, filter: Filter) {
        self.select.wait_for(filter);
        self.choose_needs();
    }

    /// Takes a message that matches, shown or not, for a failure.
    pub fn fail_on(&mut self, filter: Filter) {
        self.select.fail_on(filter);
        self.choose_needs();
    }

    /// Lets rules end the run. Without it, as in recordings, their notices are as any other.
    pub fn end_by_rules(&mut self) {
        self.ends_by_rules = true;
    }

    /// Takes a notice of a rule that ends the run. It counts more than a message that was waited for.
    pub(crate) fn on_notice(&mut self, event: &Event) {
        let may_end = match &self.ending {
            None => true,
            Some(ending) => ending.by == EndingBy::Until,
        };
        if self.ends_by_rules
            && may_end
            && let Some(ending) = Ending::of_rule(event)
        {
            self.ending = Some(Arc::new(ending));
        }
    }

    fn choose_needs(&mut self) {
        let stores = self.contexts.stores();
        let needs = if self.everything {
            Needs::ALL
        } else {
            self.select
                .needs(self.gists, self.sessions, stores, self.registry)
        };
        self.contexts.set_needs(needs);
        let reads_all = self.everything || self.select.reads_all();
        let is_blind = self.blind && !self.select.has_subscribers();
        self.streams.set_partial(is_blind || !reads_all);
    }

    /// Returns the cause of the end of the run, once there is one.
    #[must_use]
    pub const fn ending(&self) -> Option<&Arc<Ending>> {
        self.ending.as_ref()
    }

    /// Messages that passed the filter.
    #[must_use]
    pub const fn matches(&self) -> u64 {
        self.select.matches
    }

    /// Returns true if there is a filter.
    #[must_use]
    pub const fn is_choosy(&self) -> bool {
        self.select.is_choosy()
    }

    /// A session has changed its state.
    pub fn on_session(&mut self, at: Time, session: SessionId, change: &SessionChange) {
        let state = change.state;
        let context = self.contexts.get(session.0);
        let was_online = context.is_some_and(|context| context.known().state == SessionState::Online);
        // In recordings datagrams come after CLOSE.
        if state != State::Closed || !was_online {
            self.select.on_session(session, state);
        }
        self.streams.on_session(session, change);
        if matches!(state, State::Opening | State::Closed)
            && let Some(previous) = &mut self.previous
        {
            previous.forget(session.0);
        }
        self.contexts
            .on_session(at.0, session.0, state.into(), change.client);
    }

    /// Sets the names to which the numbers of rules refer.
    pub(crate) fn set_rules(&mut self, names: &[Box<str>]) {
        self.rules = names.iter().map(|name| Arc::from(&**name)).collect();
    }

    /// Returns the names of rules, as far as they are known.
    pub(crate) fn rule_names(&self, ids: &[RuleId]) -> Vec<Arc<str>> {
        let name = |RuleId(id): &RuleId| self.rules.get(usize::from(*id)).cloned();
        ids.iter().filter_map(name).collect()
    }

    /// Another run begins, with sessions of its own.
    pub fn restart(&mut self) {
        self.select.restart();
        self.streams.restart();
        self.previous = self.previous.take().map(|_| Previous::default());
        self.contexts.restart();
        self.courses.restart();
        self.rules.clear();
    }

    /// The contexts of all sessions.
    #[must_use]
    pub const fn contexts(&self) -> &Contexts {
        &self.contexts
    }

    /// Returns the name of a session's own player without control characters; `None` until it is known.
    #[must_use]
    pub fn player(&self, session: SessionId) -> Option<String> {
        let players = &self.contexts.get(session.0)?.known().players;
        players.own_name().map(printable)
    }

    /// Returns the time at which a session began, as filters count it.
    pub(crate) fn began(&self, session: Option<SessionId>) -> Option<Time> {
        let context = self.contexts.get(session?.0)?;
        Some(Time(context.known().since))
    }

    /// Events were missed.
    pub fn gap(&mut self) {
        self.contexts.gap();
        self.courses.gap();
        self.streams.gap();
    }

    /// Messages of one session were missed.
    pub(crate) fn gap_in(&mut self, session: Option<SessionId>) {
        self.courses.gap_in(session);
        if let Some(session) = session {
            self.contexts.gap_in(session.0);
            self.streams.gap_in(session);
        }
    }

    /// Returns true if no message of a datagram in this direction can be shown or change what is known.
    pub(crate) fn skips(&self, proto: Proto, dir: Dir, ordinal: u64) -> bool {
        // What peers say about themselves; in sessions of DDNet it changes nothing.
        let may_introduce = ordinal <= INTRODUCTIONS && proto != Proto::Ddnet;
        !may_introduce && !self.needs_all() && self.select.is_beyond(proto, dir)
    }

    /// Returns true if a message cannot be shown or change what is known, whatever its fields are.
    fn passes_over(&self, view: &MessageView<'_>) -> bool {
        !self.needs_all() && !view.shows_ddnet() && self.select.is_out_of_reach(view)
    }

    /// Returns true if messages that no filter shows are needed too: decoded, or for the contexts.
    fn needs_all(&self) -> bool {
        let needs = self.contexts.needs();
        self.everything || needs.follows_any() || needs.names > Names::None
    }

    /// Returns the numbers, acks and pace of all sessions.
    pub(crate) const fn streams(&mut self) -> &mut Streams {
        &mut self.streams
    }

    /// Returns the definitions.
    pub(crate) const fn registry(&self) -> &'static Registry {
        self.registry
    }

    /// Returns true if the receiver of this direction has shown that it is of DDNet.
    pub(crate) fn is_to_ddnet(&self, session: Option<SessionId>, dir: Dir) -> bool {
        let session = session.map(|session| session.0);
        self.contexts.of(session).is_to_ddnet(dir)
    }

    /// Lends a buffer to inflate into, until [`Self::give_back`].
    pub(crate) fn lend_scratch(&mut self) -> Box<Scratch> {
        self.scratch.take().unwrap_or_default()
    }

    pub(crate) fn give_back(&mut self, scratch: Box<Scratch>) {
        self.scratch = Some(scratch);
    }

    /// Lends an empty reading with buffers of one that was recycled.
    pub(crate) fn lend_reading(&mut self) -> Reading {
        self.reading.take().unwrap_or_default()
    }

    /// Takes the buffers of a reading that is not needed any more.
    pub fn recycle(&mut self, mut reading: Reading) {
        reading.clear();
        self.reading = Some(reading);
    }

    /// Returns the reading if a watcher shows anything of it: all, a message or the datagram that passes the filter, or,
    /// without a filter, the datagram.
    pub(crate) fn keep_shown(&mut self, reading: Reading) -> Option<Reading> {
        let all = self.everything || !self.is_choosy() || self.select.insatiable() != 0;
        let is_shown = reading.shown || reading.messages.iter().any(|message| message.shown);
        if all || is_shown || reading.subscribers() != 0 {
            return Some(reading);
        }
        self.recycle(reading);
        None
    }

    /// Reads a chunk; `records` gets its fields if they are decoded.
    pub(crate) fn chunk(&mut self, place: Place<'_>, chunk: Chunk<'_>, records: &mut Vec<Record>) -> Message {
        let found = self.registry.known_message(place.proto, place.dir, chunk.data);
        let id = identify(chunk.data).map(|(id, _)| id);
        let (layer, identity) = match id {
            Some(id) => (
                id.layer.into(),
                id.uuid.map_or(Identity::Number(id.id), Identity::Uuid),
            ),
            None => (Layer::Unreadable, Identity::Other),
        };
        let def = found.map(|found| found.def);
        let message = Message {
            id: id.map(|id| id.id),
            uuid: id.and_then(|id| id.uuid),
            vital: chunk.seq.is_some(),
            resend: chunk.resend,
            seq_out: chunk.seq_out,
            ..Message::new(layer, def)
        };
        let view = MessageView {
            class: Some(id.map_or(Class::System, |id| id.layer.into())),
            id: identity,
            body: found.map_or(0, |found| found.body),
            seq: chunk.seq,
            seq_out: chunk.seq_out,
            resend: chunk.resend,
            delivered: chunk.delivered,
            first: chunk.first == Some(true),
            again: chunk.first == Some(false),
            ..place.view(Class::System, def, chunk.data)
        };
        self.read(message, &view, records)
    }

    /// Reads the clear payload of a control packet; `records` gets its fields if they are decoded.
    pub(crate) fn control(
        &mut self,
        place: Place<'_>,
        control: Control<'_>,
        payload: &[u8],
        records: &mut Vec<Record>,
    ) -> Message {
        let name = match control.name() {
            Cow::Borrowed(name) => Some(name),
            Cow::Owned(_) => None,
        };
        let id = payload.first().copied();
        let def = id.and_then(|id| self.registry.control(place.proto, place.dir, id));
        let view = MessageView {
            id: id.map_or(Identity::Other, |id| Identity::Number(id.into())),
            body: 1,
            leg: place.leg,
            ..place.view(Class::Control, def, payload)
        };
        Message {
            name,
            ..self.read(Message::new(Layer::Control, def), &view, records)
        }
    }

    /// Reads a datagram outside a connection; `records` gets its fields if they are decoded.
    pub(crate) fn connless(
        &mut self,
        at: Time,
        connless: &session::Connless,
        parsed: Option<Connless<'_>>,
        records: &mut Vec<Record>,
    ) -> Message {
        let proto = match parsed {
            Some(Connless::V7 { .. }) => Proto::V7,
            Some(Connless::Plain { .. } | Connless::Extended { .. }) | None => Proto::Ddnet,
        };
        let cut = [Note {
            code: Code::CutByCapture,
            at: connless.bytes.len(),
            len: connless.cut,
        }];
        let notes = if connless.cut > 0 { &cut[..] } else { &[] };
        let packet = PacketView {
            size: Some(connless.bytes.len()),
            notes,
            frame: connless.ends.frame,
            ..PacketView::default()
        };
        let place = Place {
            at,
            session: None,
            proto,
            dir: connless.dir,
            leg: None,
            packet,
        };
        let client = Some(connless.client);
        let Some(parsed) = parsed else {
            // Its bytes are shown, and nothing is read from them.
            let view = MessageView {
                client,
                ..place.view(Class::Connless, None, &connless.bytes)
            };
            let (shown, subscribers) = self.select(&view, "connless.raw");
            let unknown = Note {
                code: Code::UnknownMessage,
                at: 0,
                len: connless.bytes.len(),
            };
            return Message {
                shown,
                subscribers,
                decoded: true,
                notes: if notes.is_empty() {
                    vec![unknown]
                } else {
                    notes.to_vec()
                },
                ..Message::new(Layer::Connless, None)
            };
        };
        let data = parsed.data();
        let def = self.registry.connless(proto, data);
        let view = MessageView {
            body: 8,
            client,
            ..place.view(Class::Connless, def, data)
        };
        let mut message = self.read(Message::new(Layer::Connless, def), &view, records);
        if message.decoded {
            message.notes.extend(notes);
        }
        message
    }

    /// Asks the filters about a datagram without a readable message. Returns true if it is shown, and the subscribers that
    /// want it, a bit for each.
    pub(crate) fn whole(&mut self, place: Place<'_>) -> (bool, u64) {
        self.select(&place.whole(), "datagram")
    }

    /// Asks the filters about something without fields, by the name it has where it ends the run.
    fn select(&mut self, view: &MessageView<'_>, label: &'static str) -> (bool, u64) {
        if self.select.is_out_of_reach(view) {
            return (false, self.select.insatiable());
        }
        let fields = Lazy::new(None, view.data, 0, std::mem::take(&mut self.buffer));
        self.contexts.observe(view, &fields);
        let context = self.contexts.of(view.session);
        let shown = self.select.decide(view, &fields, context);
        if let (Some(by), None) = (&self.select.ended, &self.ending) {
            self.ending = Some(Arc::new(ending(by.clone(), label.into(), view)));
        }
        let subscribers = self.select.subscribed(view, &fields, context);
        self.buffer = fields.into_buffer();
        (shown, subscribers)
    }

    /// Asks the filters about a message, and decodes it if a watcher shows it. `message` has its definition.
    fn read(&mut self, mut message: Message, view: &MessageView<'_>, records: &mut Vec<Record>) -> Message {
        if self.passes_over(view) {
            return message;
        }
        let buffer = std::mem::take(&mut self.buffer);
        let fields = self.contexts.of(view.session).fields(view, buffer);
        self.contexts.observe(view, &fields);
        let context = self.contexts.of(view.session);
        message.shown = self.select.decide(view, &fields, context);
        if let (Some(by), None) = (&self.select.ended, &self.ending) {
            self.ending = Some(Arc::new(ending(by.clone(), message.label(view.data), view)));
        }
        message.subscribers = self.select.subscribed(view, &fields, context);
        message.reads_notes = self.select.reads_notes(message.subscribers);
        message.decoded = message.shown || message.subscribers != 0 || self.everything;
        if message.decoded {
            let start = records.len();
            let notes = match fields.fields() {
                Some(fields) => {
                    message.for_ddnet = fields.decoded.is_for_ddnet();
                    records.extend_from_slice(fields.decoded.records());
                    with_direction(*fields.decoded.notes(), fields.def, view)
                }
                None => {
                    message.def = read_unknown(&mut self.unknown, self.registry, view);
                    records.extend_from_slice(self.unknown.records());
                    *self.unknown.notes()
                }
            };
            message.records = start..records.len();
            add_notes(&mut message, notes, view);
            message.notes.extend(context.notes().iter());
            if self.gists && message.def.is_some_and(names_players) {
                message.players = Some(Arc::clone(&context.known().players));
            }
            if let Some(snapshot) = context.retained() {
                let items = self.items;
                if let (Some(shared), Some(session)) = (&self.shared, view.session) {
                    shared.put(session, snapshot.clone());
                }
                if let (Some(previous), Some(session)) = (&mut self.previous, view.session)
                    && let Some(since) = previous.compare(session, &snapshot)
                {
                    message.since = Some(Box::new(if items { since } else { since.without_items() }));
                }
                if self.measures {
                    message.items = snapshot::measure(&snapshot.view(), self.registry, view.proto);
                }
                add_snapshot(
                    &mut message,
                    if items { snapshot } else { snapshot.without_items() },
                );
            }
            if message.shown || message.subscribers != 0 {
                message.diagnosis = self.contexts.diagnose(view).map(Box::new);
            }
        }
        self.contexts.learn(view, &fields);
        self.buffer = fields.into_buffer();
        message
    }
}

fn ending(by: EndingBy, label: Cow<'_, str>, view: &MessageView<'_>) -> Ending {
    Ending {
        by,
        at: Time(view.at),
        session: view.session.map(SessionId),
        message: Some((view.dir, label.into_owned())),
    }
}

/// Returns the notes of a decoded message, with those if it goes the wrong way or has almost the right magic.
fn with_direction(mut notes: Notes, def: &Def, view: &MessageView<'_>) -> Notes {
    if view.class != Some(Class::Connless) && !def.way.allows(view.dir) {
        let (code, len) = (Code::WrongDirection, view.body);
        notes.push(Note { code, at: 0, len });
    }
    if let Some(note) = view.odd_magic() {
        notes.push(note);
    }
    notes
}

/// Adds the notes of a decoded message, and of the chunk around it.
fn add_notes(message: &mut Message, mut notes: Notes, view: &MessageView<'_>) {
    let vitality = message.def.and_then(|def| def.odd_vitality(view.seq.is_some()));
    if let Some(code) = vitality.filter(|_| view.is_chunk()) {
        notes.push(Note { code, at: 0, len: 0 });
    }
    let is_cut = view.is_cut();
    let notes = notes.iter();
    message
        .notes
        .extend(notes.filter(|note| !(is_cut && note.code.may_come_from_cut())));
}

fn add_snapshot(message: &mut Message, snapshot: Retained<'static>) {
    let completed = snapshot.view();
    // The data of one that came in parts has no range in this message.
    let at = completed.data_at;
    let notes = completed.data_notes.iter().map(|note| Note {
        at: at.map_or(0, |at| at + note.at),
        len: at.map_or(0, |_| note.len),
        ..note
    });
    message.notes.extend(notes);
    message.snapshot = Some(Box::new(snapshot));
}

/// Reads a message without a definition of its own; an unknown UUID is read as its envelope.
fn read_unknown(
    buffer: &mut Decoded,
    registry: &'static Registry,
    view: &MessageView<'_>,
) -> Option<&'static Def> {
    match view.class? {
        Class::Control => buffer.control(registry, view.proto, view.dir, view.data),
        Class::Connless => buffer.connless(registry, view.proto, view.data),
        Class::System | Class::Game | Class::Object => {
            buffer.message(registry, view.proto, view.dir, view.data)
        }
    }
}

fn names_players(def: &Def) -> bool {
    def.gist.as_ref().is_some_and(Gist::names_players)
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder")
            .field("matches", &self.matches())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "decoder_tests.rs"]
mod tests;
