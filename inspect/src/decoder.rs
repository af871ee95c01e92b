//! Messages read through the definitions, for whoever shows them.
//!
//! Law: every byte a peer sent is read off the data thread, by the watcher that shows it, and never fails: what cannot be
//! read is a note. Secrets are dots unless asked for. A filter is asked first: text is made only of what is shown.

use std::{collections::VecDeque, fmt};

use teetap_proxy::session::{self, SessionId, State, Time};
use teetap_rules::{
    Filter,
    context::{Contexts, MessageView, Names, Needs, PacketView, Players},
    eval::{Identity, Lazy},
};
use teetap_wire::{
    Code, Dir, MessageId, Note, Proto, Scratch, Seq,
    connless::Connless,
    def::{Class, Decoded, Def, Registry, Secrets},
    identify, printable,
};

use crate::{
    judge::Judge,
    teller::{Content, Form, Teller},
};

/// Reads messages; a buffer to use again and again.
pub struct Decoder {
    registry: &'static Registry,
    contexts: Contexts,
    judge: Judge,
    teller: Teller,
    /// Used again for each message.
    buffer: Decoded,
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
    pub(crate) around: PacketView<'a>,
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
            contexts: Contexts::new(registry),
            judge: Judge::default(),
            teller: Teller::new(secrets, form),
            buffer: Decoded::new(),
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
        self.contexts.ignore_snapshots();
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
        let (form, stores) = (self.teller.form, self.contexts.stores());
        let needs = self.judge.needs(form, self.sessions, stores, self.registry);
        self.contexts.set_needs(needs);
    }

    const fn needs(&self) -> Needs {
        self.contexts.needs()
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
        self.judge.on_session(session, state);
        self.contexts.on_session(at.0, session.0, state.into());
    }

    /// Another run begins, whose sessions are others.
    pub fn restart(&mut self) {
        self.judge.restart();
        self.contexts.restart();
    }

    /// What the player of a session is called, as far as that is known. No control characters.
    #[must_use]
    pub fn player(&self, session: SessionId) -> Option<String> {
        let players = &self.contexts.get(session.0)?.known().players;
        players.own_name().map(printable)
    }

    /// Events were missed.
    pub fn gap(&mut self) {
        self.contexts.gap();
    }

    /// Somebody who missed nothing knows these snapshots.
    pub fn on_snapshots(&mut self, contexts: &Contexts) {
        if self.needs().follows_any() {
            self.contexts.adopt_snapshots(contexts);
        }
    }

    /// Whether no message of this direction is to be shown, nor has to be looked at.
    pub(crate) fn is_beyond(&self, proto: Proto, dir: Dir) -> bool {
        let needed = self.needs().follows_any() || self.needs().names > Names::None;
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
        self.is_choosy() && !self.needs().follows_any()
    }

    /// Whether a chunk has to be read, before [`Self::chunk`] is given the same chunks in the same order.
    pub(crate) fn foresee(&mut self, place: Place<'_>, chunk: Chunk<'_>) -> bool {
        let (_, view) = view(self.registry, place, chunk);
        let fields = self.lazy(&view);
        self.contexts.observe(&view, &fields);
        let context = self.contexts.of(view.session);
        let shown = self.judge.decide(&view, &fields, context);
        self.ahead.push_back(shown);
        self.buffer = fields.into_buffer();
        shown || chunk.heard && view.def.is_some_and(|def| self.tells_names(place.dir, def))
    }

    /// Whether a chunk cannot be shown, whatever is in it and whatever was before.
    pub(crate) fn is_out_of_reach(&self, place: Place<'_>, chunk: Chunk<'_>) -> bool {
        self.judge.is_out_of_reach(&view(self.registry, place, chunk).1)
    }

    /// Instead of [`Self::chunk`] for one that is out of reach: what can be learned from it.
    pub(crate) fn learn(&mut self, place: Place<'_>, chunk: Chunk<'_>) {
        let (_, view) = view(self.registry, place, chunk);
        let fields = self.lazy(&view);
        self.contexts.observe(&view, &fields);
        self.contexts.learn(&view, &fields);
        self.buffer = fields.into_buffer();
    }

    fn lazy<'a>(&mut self, view: &MessageView<'a>) -> Lazy<'a> {
        Lazy::new(view.def, view.data, view.body, std::mem::take(&mut self.buffer))
    }

    /// None of the chunks that were foreseen will be given.
    pub(crate) fn forget_foreseen(&mut self) {
        self.ahead.clear();
    }

    /// A chunk.
    pub(crate) fn chunk(&mut self, place: Place<'_>, chunk: Chunk<'_>) -> Content {
        let (def, view) = view(self.registry, place, chunk);
        let fields = self.lazy(&view);
        let foreseen = self.ahead.pop_front();
        if foreseen.is_none() {
            self.contexts.observe(&view, &fields);
        }
        let context = self.contexts.of(view.session);
        let shown = foreseen.unwrap_or_else(|| self.judge.decide(&view, &fields, context));
        let mut content = Content::hidden(def);
        if shown {
            let decoded = &mut self.teller.decoded;
            let def = decoded.message(self.registry, place.proto, place.dir, chunk.data);
            if let Some(def) = def {
                decoded.check_vital(def, chunk.seq.is_some());
            }
            content = self.teller.content(def, chunk.data, &context.known().players);
            content.notes.extend(context.notes().iter());
            if let Some(completed) = context.completed() {
                self.teller.add_snapshot(&completed, &mut content);
            }
        }
        self.contexts.learn(&view, &fields);
        self.buffer = fields.into_buffer();
        content
    }

    /// Whether a message says what players are called, to somebody who wants to know.
    fn tells_names(&self, dir: Dir, def: &Def) -> bool {
        self.needs().names > Names::None && Players::learns_from(dir, def)
    }

    /// The clear payload of a control packet.
    pub(crate) fn control(&mut self, place: Place<'_>, payload: &[u8]) -> Content {
        let id = payload.first().copied();
        let def = id.and_then(|id| self.registry.control(place.proto, place.dir, id));
        let view = MessageView {
            at: place.at.0,
            session: place.session.map(|session| session.0),
            proto: place.proto,
            dir: place.dir,
            class: Class::Control,
            id: id.map_or(Identity::Other, |id| Identity::Number(id.into())),
            def,
            body: 1,
            data: payload,
            seq: None,
            seq_out: None,
            resend: false,
            delivered: false,
            packet: place.around,
        };
        if !self.decide(&view) {
            return Content::hidden(def);
        }
        let decoded = &mut self.teller.decoded;
        let def = decoded.control(self.registry, place.proto, place.dir, payload);
        let players = &self.contexts.of(view.session).known().players;
        let content = self.teller.content(def, payload, players);
        if view.is_cut() {
            content.of_a_cut()
        } else {
            content
        }
    }

    /// Observes a message that is not a chunk, and asks the filters.
    fn decide(&mut self, view: &MessageView<'_>) -> bool {
        let fields = self.lazy(view);
        self.contexts.observe(view, &fields);
        let context = self.contexts.of(view.session);
        let shown = self.judge.decide(view, &fields, context);
        self.buffer = fields.into_buffer();
        shown
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
        let view = MessageView {
            at: at.0,
            session: None,
            proto,
            dir: connless.dir,
            class: Class::Connless,
            id: Identity::Other,
            def,
            body: 8,
            data,
            seq: None,
            seq_out: None,
            resend: false,
            delivered: false,
            packet: PacketView {
                size: Some(connless.bytes.len()),
                notes,
                ..PacketView::default()
            },
        };
        let shown = self.decide(&view);
        if !shown {
            return Content::hidden(def);
        }
        let def = self.teller.decoded.connless(self.registry, proto, data);
        let nobody = &self.contexts.of(None).known().players;
        let content = self.teller.content(def, data, nobody);
        if notes.is_empty() {
            return content;
        }
        let mut content = content.of_a_cut();
        content.notes.extend(notes);
        content
    }
}

/// The view of a chunk.
fn view<'a>(
    registry: &'static Registry,
    place: Place<'a>,
    chunk: Chunk<'a>,
) -> (Option<&'static Def>, MessageView<'a>) {
    let found = registry.message(place.proto, place.dir, chunk.data);
    let id = identify(chunk.data).map(|(id, _)| id);
    // An unknown UUID has the definition of its envelope, which is not its own.
    let found = found.filter(|found| !found.unknown);
    let def = found.map(|found| found.def);
    let view = MessageView {
        at: place.at.0,
        session: place.session.map(|session| session.0),
        proto: place.proto,
        dir: place.dir,
        class: id.map_or(Class::System, |id| id.layer.into()),
        id: id.map_or(Identity::Other, identity),
        def,
        body: found.map_or(0, |found| found.body),
        data: chunk.data,
        seq: chunk.seq,
        seq_out: chunk.seq_out,
        resend: chunk.resend,
        delivered: chunk.heard,
        packet: place.around,
    };
    (def, view)
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
