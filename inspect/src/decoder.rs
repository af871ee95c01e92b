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
    def::{Class, Decoded, Def, Registry, Secrets},
    identify, printable,
    snap::Store,
};

use crate::{
    judge::{Judge, Names, Needs},
    matcher::{Around, Asked},
    players::Roster,
    teller::{Content, Form, Teller},
};

/// Notes of a message that no session has found anything odd about.
static NOTHING: Notes = Notes::new();

/// Reads messages; a buffer to use again and again.
pub struct Decoder {
    registry: &'static Registry,
    snapshots: Snapshots,
    roster: Roster,
    judge: Judge,
    teller: Teller,
    /// For messages that are followed, shown or not.
    buffer: Decoded,
    needs: Needs,
    /// Sessions are shown, with their names.
    sessions: bool,
    /// Answers to what is asked next: it was asked before, to see whether anything has to be decoded.
    ahead: VecDeque<bool>,
    scratch: Option<Box<Scratch>>,
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

impl Decoder {
    /// With these definitions.
    #[must_use]
    pub fn new(registry: &'static Registry, secrets: Secrets, form: Form) -> Self {
        Self {
            registry,
            snapshots: Snapshots::new(registry),
            roster: Roster::new(),
            judge: Judge::default(),
            teller: Teller::new(secrets, form),
            buffer: Decoded::new(),
            needs: Needs::ALL,
            sessions: true,
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

    /// Shows messages only.
    pub fn ignore_sessions(&mut self) {
        self.sessions = false;
        self.choose_what_to_follow();
    }

    /// Shows only messages that match from now on.
    pub fn show_only(&mut self, filter: Filter) {
        self.judge.show_only(filter);
        self.choose_what_to_follow();
    }

    /// Looks out for a message that matches, shown or not.
    pub fn look_out_for(&mut self, filter: Filter) {
        self.judge.look_out_for(filter);
        self.choose_what_to_follow();
    }

    fn choose_what_to_follow(&mut self) {
        let (form, snapshots) = (self.teller.form, &self.snapshots);
        let needs = self.judge.needs(form, self.sessions, snapshots, self.registry);
        if needs.follows_any() && !self.needs.follows_any() {
            self.snapshots.gap();
        }
        self.needs = needs;
    }

    /// Whether a message that was looked out for has come.
    #[must_use]
    pub fn has_seen_it(&self) -> bool {
        self.judge.reached
    }

    /// Whether a message that is looked out for has not come.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.judge.waits()
    }

    /// How many messages were to be shown.
    #[must_use]
    pub fn matches(&self) -> u64 {
        self.judge.matches
    }

    /// Whether only some messages are shown.
    #[must_use]
    pub fn is_choosy(&self) -> bool {
        self.judge.is_choosy()
    }

    /// A session has changed its state, which filters may ask for.
    pub fn on_session(&mut self, at: Time, session: SessionId, state: State) {
        self.judge.on_session(at, session, state);
        if self.needs.follows_any() {
            self.snapshots.on_session(session, state);
        }
        // One that opens is another one than a session of that number in a run before.
        if matches!(state, State::Opening | State::Closed) {
            self.roster.forget(session);
        }
    }

    /// Another run begins, whose sessions are others.
    pub fn restart(&mut self) {
        self.judge.restart();
        self.roster = Roster::new();
        if self.snapshots.is_following() {
            self.snapshots = Snapshots::new(self.registry);
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
        if self.needs.follows_any() {
            self.snapshots.clone_from(snapshots);
        }
    }

    /// Whether no message of this direction is to be shown, nor has to be looked at.
    pub(crate) fn is_beyond(&self, proto: Proto, dir: Dir) -> bool {
        let needed = self.needs.follows_any() || self.needs.names > Names::None;
        !needed && self.judge.is_beyond(proto, dir)
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
        self.is_choosy() && !self.needs.follows_any()
    }

    /// Whether a chunk has to be read, before [`Self::chunk`] is given the same chunks in the same order.
    pub(crate) fn foresee(&mut self, place: Place<'_>, chunk: Chunk<'_>) -> bool {
        let (def, asked) = asked(self.registry, &self.roster, place, chunk);
        let shown = self.judge.decide(&asked);
        self.ahead.push_back(shown);
        shown || chunk.heard && def.is_some_and(|def| self.tells_names(place.dir, def))
    }

    /// Whether a chunk cannot be shown, whatever is in it and whatever was before.
    pub(crate) fn is_out_of_reach(&self, place: Place<'_>, chunk: Chunk<'_>) -> bool {
        let (_, asked) = asked(self.registry, &self.roster, place, chunk);
        self.judge.is_out_of_reach(&asked)
    }

    /// Instead of [`Self::chunk`] for one that is out of reach: what can be learned from it.
    pub(crate) fn learn(&mut self, place: Place<'_>, chunk: Chunk<'_>) {
        let (def, asked) = asked(self.registry, &self.roster, place, chunk);
        let Some(def) = def.filter(|_| chunk.heard) else {
            return;
        };
        let body = asked.body;
        let store = Some(def).filter(|_| self.needs.follows(place.proto));
        let store =
            store.and_then(|def| follow(&mut self.snapshots, &mut self.buffer, &asked, chunk.heard, def));
        if let Some(completed) = store.and_then(Store::completed)
            && self.needs.names == Names::All
        {
            self.roster.on_snapshot(place.session, &completed);
        }
        if self.tells_names(place.dir, def) {
            self.buffer.read(def, chunk.data, body);
            self.roster
                .on_message(place.session, place.dir, def, &self.buffer, chunk.data);
        }
    }

    /// None of the chunks that were foreseen will be given.
    pub(crate) fn forget_foreseen(&mut self) {
        self.ahead.clear();
    }

    /// A chunk.
    pub(crate) fn chunk(&mut self, place: Place<'_>, chunk: Chunk<'_>) -> Content {
        let (def, mut asked) = asked(self.registry, &self.roster, place, chunk);
        let told = def.filter(|def| chunk.heard && self.tells_names(place.dir, def));
        let store = def
            .filter(|_| self.needs.follows(place.proto))
            .and_then(|def| follow(&mut self.snapshots, &mut self.buffer, &asked, chunk.heard, def));
        let completed = store.and_then(Store::completed);
        let found = store.map(|store| *store.notes()).unwrap_or_default();
        asked.snapshot = completed.as_ref();
        asked.found = &found;
        let foreseen = self.ahead.pop_front();
        let shown = foreseen.unwrap_or_else(|| self.judge.decide(&asked));
        let mut content = Content::hidden(def);
        if shown || told.is_some() {
            let decoded = &mut self.teller.decoded;
            let def = decoded.message(self.registry, place.proto, place.dir, chunk.data);
            if let Some(def) = def {
                decoded.check_vital(def, chunk.seq.is_some());
            }
            if shown {
                content = self
                    .teller
                    .content(def, chunk.data, self.roster.of(place.session));
                content.notes.extend(found.iter());
            }
        }
        // Only now: a message about a player that left tells of one that was there.
        if let Some(def) = told {
            let decoded = &self.teller.decoded;
            self.roster
                .on_message(place.session, place.dir, def, decoded, chunk.data);
        }
        if let Some(completed) = &completed {
            if self.needs.names == Names::All {
                self.roster.on_snapshot(place.session, completed);
            }
            if shown {
                self.teller.add_snapshot(completed, &mut content);
            }
        }
        content
    }

    /// Whether a message says what players are called, to somebody who wants to know.
    fn tells_names(&self, dir: Dir, def: &Def) -> bool {
        self.needs.names > Names::None && Roster::is_told_by(dir, def)
    }

    /// The clear payload of a control packet.
    pub(crate) fn control(&mut self, place: Place<'_>, payload: &[u8]) -> Content {
        let id = payload.first().copied();
        let def = id.and_then(|id| self.registry.control(place.proto, place.dir, id));
        let asked = Asked {
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
            found: &NOTHING,
        };
        let is_cut = asked.is_cut();
        if !self.judge.decide(&asked) {
            return Content::hidden(def);
        }
        let decoded = &mut self.teller.decoded;
        let def = decoded.control(self.registry, place.proto, place.dir, payload);
        let content = self.teller.content(def, payload, self.roster.of(place.session));
        if is_cut { content.of_a_cut() } else { content }
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
        let cut = [Note {
            code: Code::CutByCapture,
            at: connless.bytes.len(),
            len: connless.cut,
        }];
        let notes = if connless.cut > 0 { &cut[..] } else { &[] };
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
                notes,
                ..Around::default()
            },
            snapshot: None,
            found: &NOTHING,
        });
        if !shown {
            return Content::hidden(def);
        }
        let def = self.teller.decoded.connless(self.registry, proto, data);
        let content = self.teller.content(def, data, None);
        if notes.is_empty() {
            return content;
        }
        let mut content = content.of_a_cut();
        content.notes.extend(notes);
        content
    }
}

/// The definition of a chunk's message, and what a filter is asked about it.
fn asked<'a>(
    registry: &'static Registry,
    roster: &'a Roster,
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
        roster,
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
