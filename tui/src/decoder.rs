//! Messages read through the definitions, for whoever shows them.
//!
//! Law: every byte a peer sent is read off the data thread, by the watcher that shows it, and never fails: what cannot be
//! read is a note. Secrets are dots unless asked for. A filter is asked first: text is made only of what is shown.

use std::fmt;

use teetap_proxy::{
    session::{self, SessionId, State, Time},
    snapshots::{Heard, Snapshots},
};
use teetap_rules::{Filter, eval::Identity};
use teetap_wire::{
    Code, Dir, MessageId, Note, Notes, Proto, Seq,
    connless::Connless,
    def::{Class, Decoded, Def, Registry, Secrets, Source},
    identify, printable,
    snap::{Completed, Store},
};

use crate::{
    gist,
    matcher::{Around, Asked, Matcher},
    players::{Players, Roster},
    snapshot,
};

/// Reads messages; a buffer to use again and again.
pub struct Decoder {
    registry: &'static Registry,
    snapshots: Snapshots,
    roster: Roster,
    judge: Judge,
    teller: Teller,
    /// For messages that are followed, shown or not.
    buffer: Decoded,
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
            roster: Roster::new(),
            judge: Judge::default(),
            teller: Teller {
                secrets,
                form,
                items: false,
                decoded: Decoded::new(),
                item: Decoded::new(),
            },
            buffer: Decoded::new(),
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
    }

    /// Looks out for a message that matches, shown or not.
    pub fn look_out_for(&mut self, filter: Filter) {
        self.judge.until = Some(Matcher::new(filter));
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
    pub(crate) fn is_choosy(&self) -> bool {
        self.judge.filter.is_some()
    }

    /// A session has changed its state, which filters may ask for.
    pub fn on_session(&mut self, at: Time, session: SessionId, state: State) {
        let Judge { filter, until, .. } = &mut self.judge;
        for matcher in [filter, until].into_iter().flatten() {
            matcher.on_session(at, session, state);
        }
        self.snapshots.on_session(session, state);
        if state == State::Closed {
            self.roster.forget(session);
        }
    }

    /// What the player of a session is called, as far as that is known. No control characters.
    #[must_use]
    pub fn player(&self, session: SessionId) -> Option<String> {
        self.roster.own_name(Some(session)).map(printable)
    }

    /// Events were missed.
    pub fn gap(&mut self) {
        self.snapshots.gap();
        self.roster.gap();
    }

    /// Somebody who missed nothing knows these snapshots.
    pub fn on_snapshots(&mut self, snapshots: &Snapshots) {
        self.snapshots.clone_from(snapshots);
    }

    /// A chunk.
    pub(crate) fn chunk(&mut self, place: Place<'_>, chunk: Chunk<'_>) -> Content {
        let Chunk {
            seq,
            seq_out,
            resend,
            heard,
            data,
        } = chunk;
        let found = self.registry.message(place.proto, place.dir, data);
        let id = identify(data).map(|(id, _)| id);
        // An unknown UUID has the definition of its envelope, which is not its own.
        let found = found.filter(|found| !found.unknown);
        let def = found.map(|found| found.def);
        let body = found.map_or(0, |found| found.body);
        let store =
            def.and_then(|def| follow(&mut self.snapshots, &mut self.buffer, &place, &chunk, def, body));
        let completed = store.and_then(Store::completed);
        let found = store.map(|store| *store.notes()).unwrap_or_default();
        let shown = self.judge.decide(&Asked {
            at: place.at,
            session: place.session,
            proto: place.proto,
            dir: place.dir,
            class: id.map_or(Class::System, |id| id.layer.into()),
            id: id.map_or(Identity::Other, identity),
            def,
            body,
            data,
            vital: seq.is_some(),
            resend,
            seq,
            seq_out,
            roster: &self.roster,
            around: place.around,
            snapshot: completed.as_ref(),
            found: &found,
        });
        let told = def.filter(|def| heard && Roster::is_told_by(place.dir, def));
        let mut content = Content::hidden(def);
        if shown || told.is_some() {
            let decoded = &mut self.teller.decoded;
            let def = decoded.message(self.registry, place.proto, place.dir, data);
            if let Some(def) = def {
                decoded.check_vital(def, seq.is_some());
            }
            if shown {
                content = self.teller.content(def, data, self.roster.of(place.session));
                content.notes.extend(found.iter());
            }
        }
        // Only now: a message about a player that left tells of one that was there.
        if let Some(def) = told {
            self.roster
                .on_message(place.session, place.dir, def, &self.teller.decoded, data);
        }
        if let Some(completed) = &completed {
            self.roster.on_snapshot(place.session, completed);
            if shown {
                self.teller.add_snapshot(completed, &mut content);
            }
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
            roster: &self.roster,
            around: place.around,
            snapshot: None,
            found: &Notes::new(),
        });
        if !shown {
            return Content::hidden(def);
        }
        let def = self
            .teller
            .decoded
            .control(self.registry, place.proto, place.dir, payload);
        self.teller.content(def, payload, self.roster.of(place.session))
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
            roster: &self.roster,
            around: Around {
                size: Some(connless.bytes.len()),
                ..Around::default()
            },
            snapshot: None,
            found: &Notes::new(),
        });
        if !shown {
            return Content::hidden(def);
        }
        let def = self.teller.decoded.connless(self.registry, proto, data);
        self.teller.content(def, data, None)
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
    fn content(&self, def: Option<&'static Def>, data: &[u8], players: Option<&Players>) -> Content {
        let source = Source::Bytes(data);
        let mut fields = String::new();
        if let Some(def) = def {
            match self.form {
                Form::Gist => fields = gist::line(&self.decoded, def, source, self.secrets, players),
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
}

impl Content {
    fn hidden(def: Option<&'static Def>) -> Self {
        Self {
            name: def.map(|def| &*def.name),
            ..Self::default()
        }
    }
}

/// Hands a message to the snapshots of its session, if it means something to them.
fn follow<'s>(
    snapshots: &'s mut Snapshots,
    decoded: &mut Decoded,
    place: &Place<'_>,
    chunk: &Chunk<'_>,
    def: &Def,
    body: usize,
) -> Option<&'s Store<'static>> {
    let Place {
        session, proto, dir, ..
    } = *place;
    let session = session.filter(|_| chunk.heard)?;
    if !snapshots.follows(proto, dir, def) {
        return None;
    }
    decoded.read(def, chunk.data, body);
    let heard = Heard {
        proto,
        dir,
        seq: chunk.seq,
        resend: chunk.resend,
        def,
        decoded,
        data: chunk.data,
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
