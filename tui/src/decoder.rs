//! Messages read through the definitions, for whoever shows them.
//!
//! Law: every byte a peer sent is read off the data thread, by the watcher that shows it, and never fails: what cannot be
//! read is a note. Secrets are dots unless asked for. A filter is asked first: text is made only of what is shown.

use std::fmt;

use teetap_proxy::session::{self, SessionId, State, Time};
use teetap_rules::{Filter, eval::Identity};
use teetap_wire::{
    Code, Dir, MessageId, Note, Proto, Seq,
    connless::Connless,
    def::{Class, Decoded, Def, Registry, Secrets, Source},
    identify, printable,
};

use crate::{
    gist,
    matcher::{Around, Asked, Matcher},
    players::Roster,
};

/// Reads messages; a buffer to use again and again.
pub struct Decoder {
    registry: &'static Registry,
    secrets: Secrets,
    form: Form,
    decoded: Decoded,
    roster: Roster,
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
            secrets,
            form,
            decoded: Decoded::new(),
            roster: Roster::default(),
            filter: None,
            until: None,
            reached: false,
            matches: 0,
        }
    }

    /// Shows only messages that match from now on.
    pub fn show_only(&mut self, filter: Filter) {
        self.filter = Some(Matcher::new(filter));
    }

    /// Looks out for a message that matches, shown or not.
    pub fn look_out_for(&mut self, filter: Filter) {
        self.until = Some(Matcher::new(filter));
    }

    /// Whether a message that was looked out for has come.
    #[must_use]
    pub fn has_seen_it(&self) -> bool {
        self.reached
    }

    /// How many messages were to be shown.
    #[must_use]
    pub fn matches(&self) -> u64 {
        self.matches
    }

    /// Whether only some messages are shown.
    pub(crate) fn is_choosy(&self) -> bool {
        self.filter.is_some()
    }

    /// A session has changed its state, which filters may ask for.
    pub fn on_session(&mut self, at: Time, session: SessionId, state: State) {
        for matcher in [&mut self.filter, &mut self.until].into_iter().flatten() {
            matcher.on_session(at, session, state);
        }
        if state == State::Closed {
            self.roster.forget(session);
        }
    }

    /// What the player of a session is called, as far as that is known. No control characters.
    #[must_use]
    pub fn player(&self, session: SessionId) -> Option<String> {
        self.roster.own_name(Some(session)).map(|name| printable(&name))
    }

    /// A chunk.
    pub(crate) fn chunk(&mut self, place: Place<'_>, chunk: Chunk<'_>) -> Content {
        let Chunk {
            seq,
            seq_out,
            resend,
            data,
        } = chunk;
        let found = self.registry.message(place.proto, place.dir, data);
        let id = identify(data).map(|(id, _)| id);
        // An unknown UUID has the definition of its envelope, which is not its own.
        let def = found.filter(|found| !found.unknown).map(|found| found.def);
        let player = self.roster.own_name(place.session);
        let shown = self.decide(&Asked {
            at: place.at,
            session: place.session,
            proto: place.proto,
            dir: place.dir,
            class: id.map_or(Class::System, |id| id.layer.into()),
            id: id.map_or(Identity::Other, identity),
            def,
            body: found.map_or(0, |found| found.body),
            data,
            vital: seq.is_some(),
            resend,
            seq,
            seq_out,
            player: player.as_deref(),
            around: place.around,
        });
        let told = def.filter(|def| Roster::is_told_by(place.dir, def));
        if !shown && told.is_none() {
            return Content::hidden(def);
        }
        let read = self.decoded.message(self.registry, place.proto, place.dir, data);
        if let Some(def) = read {
            self.decoded.check_vital(def, seq.is_some());
        }
        let content = match shown {
            true => self.content(read, data, place.session),
            false => Content::hidden(def),
        };
        // Only now: a message about a player that left tells of one that was there.
        if let Some(def) = told {
            self.roster
                .on_message(place.session, place.dir, def, &self.decoded, data);
        }
        content
    }

    /// The clear payload of a control packet.
    pub(crate) fn control(&mut self, place: Place<'_>, payload: &[u8]) -> Content {
        let id = payload.first().copied();
        let player = self.roster.own_name(place.session);
        let def = id.and_then(|id| self.registry.control(place.proto, place.dir, id));
        let shown = self.decide(&Asked {
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
            player: player.as_deref(),
            around: place.around,
        });
        if !shown {
            return Content::hidden(def);
        }
        let def = self
            .decoded
            .control(self.registry, place.proto, place.dir, payload);
        self.content(def, payload, place.session)
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
        let shown = self.decide(&Asked {
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
            player: None,
            around: Around {
                size: Some(connless.bytes.len()),
                ..Around::default()
            },
        });
        if !shown {
            return Content::hidden(def);
        }
        let def = self.decoded.connless(self.registry, proto, data);
        self.content(def, data, None)
    }

    /// Asks the filters; whether the message is to be shown.
    fn decide(&mut self, asked: &Asked<'_>) -> bool {
        if let Some(until) = &mut self.until {
            self.reached |= until.matches(asked);
        }
        let shown = self.filter.as_mut().is_none_or(|filter| filter.matches(asked));
        self.matches += u64::from(shown);
        shown
    }

    fn content(&self, def: Option<&'static Def>, data: &[u8], session: Option<SessionId>) -> Content {
        let source = Source::Bytes(data);
        let mut fields = String::new();
        if let Some(def) = def {
            match self.form {
                Form::Gist => {
                    let players = self.roster.of(session);
                    fields = gist::line(&self.decoded, def, source, self.secrets, players);
                }
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
        }
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

fn identity(id: MessageId) -> Identity {
    id.uuid.map_or(Identity::Number(id.id), Identity::Uuid)
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder")
            .field("secrets", &self.secrets)
            .field("form", &self.form)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "decoder_tests.rs"]
mod tests;
