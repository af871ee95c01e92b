//! Messages read through the definitions, for whoever shows them.
//!
//! Law: every byte a peer sent is read off the data thread, by the watcher that shows it, and never fails: what cannot be
//! read is a note. Secrets are dots unless asked for. A filter is asked first: text is made only of what is shown.

use std::{collections::VecDeque, fmt};

use teetap_proxy::{
    session::{self, SessionId, State, Time},
    snapshots::{Heard, Snapshots},
};
use teetap_rules::{Filter, eval::Identity};
use teetap_wire::{
    Code, Dir, MessageId, Note, Notes, Proto, Scratch, Seq,
    connless::Connless,
    def::{Class, Decoded, Def, Record, Registry, Secrets, Source, Value},
    identify,
    snap::{Completed, Store},
};

use crate::{
    matcher::{Around, Asked, Matcher},
    snapshot,
};

/// Characters of a gist.
const GIST: usize = 160;
/// Characters of one value in it.
const VALUE: usize = 64;

/// Notes of a message that no session has found anything odd about.
static NOTHING: Notes = Notes::new();

/// Reads messages; a buffer to use again and again.
pub struct Decoder {
    registry: &'static Registry,
    snapshots: Snapshots,
    judge: Judge,
    teller: Teller,
    /// For messages that are followed, shown or not.
    buffer: Decoded,
    /// Snapshots matter to what is shown.
    follows: bool,
    /// Answers to what is asked next: it was asked before, to see whether anything has to be decoded.
    ahead: VecDeque<bool>,
    scratch: Option<Box<Scratch>>,
}

/// Makes text and JSON.
struct Teller {
    secrets: Secrets,
    form: Form,
    items: bool,
    decoded: Decoded,
    /// For snapshot items.
    item: Decoded,
}

/// The filters.
#[derive(Default)]
struct Judge {
    filter: Option<Matcher>,
    until: Option<Matcher>,
    reached: bool,
    matches: u64,
}

/// Where a message was seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) at: Time,
    pub(crate) session: Option<SessionId>,
    pub(crate) proto: Proto,
    pub(crate) dir: Dir,
    pub(crate) around: Around<'a>,
}

/// A chunk, as far as its header says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk<'a> {
    pub(crate) seq: Option<Seq>,
    /// The number under which it left.
    pub(crate) seq_out: Option<Seq>,
    pub(crate) resend: bool,
    /// Its receiver hears it, now or later.
    pub(crate) heard: bool,
    pub(crate) data: &'a [u8],
}

/// What is made of the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One line for people.
    Gist,
    /// A JSON object.
    Json,
}

/// What a message says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// Its name; `None` when its id, or UUID, is not known.
    pub name: Option<&'static str>,
    /// Its fields in the form that was asked for; empty when its id is not known.
    pub fields: String,
    /// The snapshot that it completes, as a JSON object; empty when it completes none or JSON was not asked for.
    pub snap: String,
    /// A line for each of its items that changed, where the form is a gist and items were asked for.
    pub items: Vec<String>,
    /// What is odd about it. Ranges are of its data.
    pub notes: Vec<Note>,
    /// No filter is against it.
    pub shown: bool,
}

impl Decoder {
    /// With these definitions.
    #[must_use]
    pub fn new(registry: &'static Registry, secrets: Secrets, form: Form) -> Self {
        Self {
            registry,
            snapshots: Snapshots::new(registry),
            judge: Judge::default(),
            teller: Teller {
                secrets,
                form,
                items: false,
                decoded: Decoded::new(),
                item: Decoded::new(),
            },
            buffer: Decoded::new(),
            follows: true,
            ahead: VecDeque::new(),
            scratch: None,
        }
    }

    /// Tells of snapshots what is in them, too.
    #[must_use]
    pub fn with_items(mut self, items: bool) -> Self {
        self.teller.items = items;
        self
    }

    /// For somebody who is not told everything: snapshots are messages as any other.
    pub fn ignore_snapshots(&mut self) {
        self.snapshots = Snapshots::none(self.registry);
    }

    /// Shows only messages that match from now on.
    pub fn show_only(&mut self, filter: Filter) {
        self.judge.filter = Some(Matcher::new(filter));
        self.choose_what_to_follow();
    }

    /// Looks out for a message that matches, shown or not.
    pub fn look_out_for(&mut self, filter: Filter) {
        self.judge.until = Some(Matcher::new(filter));
        self.choose_what_to_follow();
    }

    /// Following snapshots is most of the work: it is left where no message that has to do with one can be shown.
    fn choose_what_to_follow(&mut self) {
        let Judge { filter, until, .. } = &self.judge;
        let asks = |matcher: &Matcher| matcher.asks_about(&self.snapshots, self.registry);
        let follows = filter.as_ref().is_none_or(asks) || until.as_ref().is_some_and(asks);
        if follows && !self.follows {
            self.snapshots.gap();
        }
        self.follows = follows;
    }

    /// Whether a message that was looked out for has come.
    #[must_use]
    pub fn has_seen_it(&self) -> bool {
        self.judge.reached
    }

    /// How many messages were to be shown.
    #[must_use]
    pub fn matches(&self) -> u64 {
        self.judge.matches
    }

    /// Whether only some messages are shown.
    #[must_use]
    pub fn is_choosy(&self) -> bool {
        self.judge.filter.is_some()
    }

    /// A session has changed its state, which filters may ask for.
    pub fn on_session(&mut self, at: Time, session: SessionId, state: State) {
        let Judge { filter, until, .. } = &mut self.judge;
        for matcher in [filter, until].into_iter().flatten() {
            matcher.on_session(at, session, state);
        }
        if self.follows {
            self.snapshots.on_session(session, state);
        }
    }

    /// Events were missed.
    pub fn gap(&mut self) {
        self.snapshots.gap();
    }

    /// Somebody who missed nothing knows these snapshots.
    pub fn on_snapshots(&mut self, snapshots: &Snapshots) {
        if self.follows {
            self.snapshots.clone_from(snapshots);
        }
    }

    /// Whether no message of this direction is to be shown, nor has to be looked at.
    pub(crate) fn is_beyond(&self, proto: Proto, dir: Dir) -> bool {
        let Judge { filter, until, .. } = &self.judge;
        let is_beyond = |matcher: &Matcher| matcher.is_beyond(proto, dir);
        !self.follows && filter.as_ref().is_some_and(is_beyond) && until.as_ref().is_none_or(is_beyond)
    }

    /// A buffer to inflate into, lent until [`Self::give_back`].
    pub(crate) fn lend_scratch(&mut self) -> Box<Scratch> {
        self.scratch.take().unwrap_or_default()
    }

    pub(crate) fn give_back(&mut self, scratch: Box<Scratch>) {
        self.scratch = Some(scratch);
    }

    /// Whether messages can be foreseen: not where they change what is known of snapshots.
    pub(crate) fn foresees(&self) -> bool {
        self.is_choosy() && !self.follows
    }

    /// Whether a chunk is to be shown, before [`Self::chunk`] is given the same chunks in the same order.
    pub(crate) fn foresee(&mut self, place: Place<'_>, chunk: Chunk<'_>) -> bool {
        let (_, asked) = asked(self.registry, place, chunk);
        let shown = self.judge.decide(&asked);
        self.ahead.push_back(shown);
        shown
    }

    /// None of the chunks that were foreseen will be given.
    pub(crate) fn forget_foreseen(&mut self) {
        self.ahead.clear();
    }

    /// A chunk.
    pub(crate) fn chunk(&mut self, place: Place<'_>, chunk: Chunk<'_>) -> Content {
        let (def, mut asked) = asked(self.registry, place, chunk);
        let store = def
            .filter(|_| self.follows)
            .and_then(|def| follow(&mut self.snapshots, &mut self.buffer, &asked, chunk.heard, def));
        let completed = store.and_then(Store::completed);
        let found = store.map(|store| *store.notes()).unwrap_or_default();
        asked.snapshot = completed.as_ref();
        asked.found = &found;
        let foreseen = self.ahead.pop_front();
        if !foreseen.unwrap_or_else(|| self.judge.decide(&asked)) {
            return Content::hidden(def);
        }
        let (decoded, data) = (&mut self.teller.decoded, chunk.data);
        let def = decoded.message(self.registry, place.proto, place.dir, data);
        if let Some(def) = def {
            decoded.check_vital(def, chunk.seq.is_some());
        }
        let mut content = self.teller.content(def, data);
        content.notes.extend(found.iter());
        if let Some(completed) = &completed {
            self.teller.add_snapshot(completed, &mut content);
        }
        content
    }

    /// The clear payload of a control packet.
    pub(crate) fn control(&mut self, place: Place<'_>, payload: &[u8]) -> Content {
        let id = payload.first().copied();
        let def = id.and_then(|id| self.registry.control(place.proto, place.dir, id));
        let shown = self.judge.decide(&Asked {
            at: place.at,
            session: place.session,
            proto: place.proto,
            dir: place.dir,
            class: Class::Control,
            id: id.map_or(Identity::Other, |id| Identity::Number(id.into())),
            def,
            body: 1,
            data: payload,
            vital: false,
            resend: false,
            seq: None,
            seq_out: None,
            around: place.around,
            snapshot: None,
            found: &NOTHING,
        });
        if !shown {
            return Content::hidden(def);
        }
        let def = self
            .teller
            .decoded
            .control(self.registry, place.proto, place.dir, payload);
        self.teller.content(def, payload)
    }

    /// A datagram outside a connection.
    pub fn connless(&mut self, at: Time, connless: &session::Connless) -> Content {
        let Some(message) = Connless::parse(&connless.bytes) else {
            return Content {
                shown: !self.is_choosy(),
                ..Content::default()
            };
        };
        let proto = match message {
            Connless::V7 { .. } => Proto::V7,
            Connless::Plain { .. } | Connless::Extended { .. } => Proto::Ddnet,
        };
        let data = message.data();
        let def = self.registry.connless(proto, data);
        let shown = self.judge.decide(&Asked {
            at,
            session: None,
            proto,
            dir: connless.dir,
            class: Class::Connless,
            id: Identity::Other,
            def,
            body: 8,
            data,
            vital: false,
            resend: false,
            seq: None,
            seq_out: None,
            around: Around {
                size: Some(connless.bytes.len()),
                ..Around::default()
            },
            snapshot: None,
            found: &NOTHING,
        });
        if !shown {
            return Content::hidden(def);
        }
        let def = self.teller.decoded.connless(self.registry, proto, data);
        self.teller.content(def, data)
    }
}

impl Judge {
    /// Asks the filters; whether the message is to be shown.
    fn decide(&mut self, asked: &Asked<'_>) -> bool {
        if let Some(until) = &mut self.until {
            self.reached |= until.matches(asked);
        }
        let shown = self.filter.as_mut().is_none_or(|filter| filter.matches(asked));
        self.matches += u64::from(shown);
        shown
    }
}

impl Teller {
    fn content(&self, def: Option<&'static Def>, data: &[u8]) -> Content {
        let source = Source::Bytes(data);
        let mut fields = String::new();
        if let Some(def) = def {
            match self.form {
                Form::Gist => self.gist(def, source, &mut fields),
                Form::Json => self.decoded.json(def, source, self.secrets, &mut fields),
            }
        }
        let notes: Vec<Note> = self.decoded.notes().iter().collect();
        // What has an unknown UUID is read as the envelope it is, which is not its name.
        let unknown = notes.iter().any(|note| note.code == Code::UnknownMessage);
        Content {
            name: def.filter(|_| !unknown).map(|def| &*def.name),
            fields,
            notes,
            shown: true,
            ..Content::default()
        }
    }

    /// What a snapshot says is of more use than the numbers of its message.
    fn add_snapshot(&mut self, completed: &Completed<'_>, content: &mut Content) {
        let Self {
            secrets, items, item, ..
        } = self;
        match self.form {
            Form::Gist => {
                content.fields = completed.to_string();
                if *items {
                    content.items = snapshot::lines(completed, *secrets, item);
                }
            }
            Form::Json => content.snap = snapshot::json(completed, *items, *secrets, item),
        }
        // Of one that came in parts there is no range in this message.
        let at = completed.data_at;
        content.notes.extend(completed.data_notes.iter().map(|note| Note {
            at: at.map_or(0, |at| at + note.at),
            len: at.map_or(0, |_| note.len),
            ..note
        }));
    }

    /// `field=value` for what has a value of its own, as far as a line goes. Of a list the number of its elements.
    fn gist(&self, def: &Def, source: Source<'_>, out: &mut String) {
        let mut left = GIST;
        let mut skip_to = 0;
        for (number, record) in self.decoded.records().iter().enumerate() {
            if number < skip_to || record.value == Value::Group {
                continue;
            }
            if matches!(record.value, Value::List(_)) {
                skip_to = record.end as usize;
            }
            let Some(part) = self.part(def, record, source) else {
                continue;
            };
            let len = part.chars().count() + 1;
            if len > left {
                out.push_str(" …");
                return;
            }
            left -= len;
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(&part);
        }
    }

    fn part(&self, def: &Def, record: &Record, source: Source<'_>) -> Option<String> {
        if record.value == Value::Bytes && def.bytes(record, source).iter().all(|byte| *byte == 0) {
            // Padding.
            return None;
        }
        let name = &def.field(record.field)?.name;
        let value = self.decoded.value_text(def, record, source, self.secrets);
        let mut part = format!("{name}=");
        if value.chars().count() <= VALUE {
            part.push_str(&value);
        } else {
            part.extend(value.chars().take(VALUE - 1));
            part.push('…');
        }
        Some(part)
    }
}

impl Content {
    fn hidden(def: Option<&'static Def>) -> Self {
        Self {
            name: def.map(|def| &*def.name),
            ..Self::default()
        }
    }
}

/// The definition of a chunk's message, and what a filter is asked about it.
fn asked<'a>(
    registry: &'static Registry,
    place: Place<'a>,
    chunk: Chunk<'a>,
) -> (Option<&'static Def>, Asked<'a>) {
    let found = registry.message(place.proto, place.dir, chunk.data);
    let id = identify(chunk.data).map(|(id, _)| id);
    // An unknown UUID has the definition of its envelope, which is not its own.
    let found = found.filter(|found| !found.unknown);
    let def = found.map(|found| found.def);
    let asked = Asked {
        at: place.at,
        session: place.session,
        proto: place.proto,
        dir: place.dir,
        class: id.map_or(Class::System, |id| id.layer.into()),
        id: id.map_or(Identity::Other, identity),
        def,
        body: found.map_or(0, |found| found.body),
        data: chunk.data,
        vital: chunk.seq.is_some(),
        resend: chunk.resend,
        seq: chunk.seq,
        seq_out: chunk.seq_out,
        around: place.around,
        snapshot: None,
        found: &NOTHING,
    };
    (def, asked)
}

/// Hands a message to the snapshots of its session, if it means something to them.
fn follow<'s>(
    snapshots: &'s mut Snapshots,
    decoded: &mut Decoded,
    asked: &Asked<'_>,
    heard: bool,
    def: &Def,
) -> Option<&'s Store<'static>> {
    let session = asked.session.filter(|_| heard)?;
    if !snapshots.follows(asked.proto, asked.dir, def) {
        return None;
    }
    decoded.read(def, asked.data, asked.body);
    let heard = Heard {
        proto: asked.proto,
        dir: asked.dir,
        seq: asked.seq,
        resend: asked.resend,
        def,
        decoded,
        data: asked.data,
    };
    snapshots.hear(session, &heard)
}

fn identity(id: MessageId) -> Identity {
    id.uuid.map_or(Identity::Number(id.id), Identity::Uuid)
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder")
            .field("secrets", &self.teller.secrets)
            .field("form", &self.teller.form)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "decoder_tests.rs"]
mod tests;
