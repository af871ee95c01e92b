//! A filter, asked about every message of every session.
//!
//! Law: what a filter remembers is kept per session, from its first event to its end, and for a bounded number of them.

use std::{cell::Cell, collections::BTreeMap, ops::ControlFlow};

use teetap_proxy::{
    session::{SessionId, State, Time},
    snapshots::Snapshots,
};
use teetap_rules::{
    Facts, Fields, Filter, Memory, Subject,
    eval::{Flag, Identity, Lazy, PacketFact, SessionFact, SessionState, SnapFact},
};
use teetap_wire::{
    Code, Dir, Note, Notes, Proto, Seq, Severity,
    def::{Class, Decoded, Def, Gist, Id, Registry, Source},
    snap::{Change, Completed},
};

use crate::players::Roster;

/// Sessions that are remembered; when there are more, the oldest is forgotten.
const SESSIONS: usize = 4096;

/// A filter with its memory.
#[derive(Debug)]
pub(crate) struct Matcher {
    filter: Filter,
    /// It has to be told of messages that cannot match.
    follows: bool,
    sessions: BTreeMap<SessionId, Box<Known>>,
    /// Of messages that belong to no session.
    loose: Known,
    /// Used again for each message.
    buffer: Decoded,
    /// And for each snapshot item.
    item: Decoded,
}

/// What is known of a session.
#[derive(Debug)]
struct Known {
    memory: Memory,
    since: Time,
    state: SessionState,
    trip: Trip,
}

/// How long it takes the client to ack: measured on one vital message after the other, each until it is acked.
#[derive(Debug, Default)]
struct Trip {
    under_way: Option<(Seq, Time)>,
    /// Microseconds.
    last: Option<u64>,
}

/// The datagram around a message.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Around<'a> {
    pub(crate) size: Option<usize>,
    pub(crate) ack: Option<Seq>,
    pub(crate) chunks: Option<u8>,
    pub(crate) compressed: bool,
    pub(crate) notes: &'a [Note],
}

/// A message that the filter is asked about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) at: Time,
    pub(crate) session: Option<SessionId>,
    pub(crate) proto: Proto,
    pub(crate) dir: Dir,
    pub(crate) class: Class,
    pub(crate) id: Identity,
    pub(crate) def: Option<&'a Def>,
    /// Bytes of id before the fields.
    pub(crate) body: usize,
    pub(crate) data: &'a [u8],
    pub(crate) vital: bool,
    pub(crate) resend: bool,
    pub(crate) seq: Option<Seq>,
    /// The number under which it left.
    pub(crate) seq_out: Option<Seq>,
    /// Who plays.
    pub(crate) roster: &'a Roster,
    pub(crate) around: Around<'a>,
    /// The snapshot that it completes.
    pub(crate) snapshot: Option<&'a Completed<'a>>,
    /// What is odd about it in its session.
    pub(crate) found: &'a Notes,
}

impl Asked<'_> {
    /// Whether its end was not recorded. Chunks are there whole, or not at all.
    pub(crate) fn is_cut(&self) -> bool {
        let is_chunk = matches!(self.class, Class::System | Class::Game);
        let mut notes = self.around.notes.iter();
        !is_chunk && notes.any(|note| note.code == Code::CutByCapture)
    }
}

impl Matcher {
    /// With nothing remembered yet.
    pub(crate) fn new(filter: Filter) -> Self {
        Self {
            loose: Known::new(&filter, Time::ZERO),
            sessions: BTreeMap::new(),
            buffer: Decoded::new(),
            item: Decoded::new(),
            follows: filter.remembers() || filter.asks_for_history(),
            filter,
        }
    }

    /// A session has changed its state.
    pub(crate) fn on_session(&mut self, at: Time, session: SessionId, state: State) {
        if state == State::Opening {
            self.sessions.remove(&session);
        }
        let (_, known) = self.known(at, Some(session));
        known.state = match state {
            State::Opening => SessionState::Opening,
            State::Online => SessionState::Online,
            State::Closing => SessionState::Closing,
            State::Closed => SessionState::Closed,
        };
        if state == State::Closed {
            self.sessions.remove(&session);
        }
    }

    /// Another run begins, whose sessions are others.
    pub(crate) fn restart(&mut self) {
        self.sessions.clear();
        self.loose = Known::new(&self.filter, Time::ZERO);
    }

    /// Whether it matters to it what is in snapshots, or what is odd about them.
    pub(crate) fn asks_about(&self, snapshots: &Snapshots, registry: &Registry) -> bool {
        // Clients only say what they have.
        let is_snapshot = |proto, dir, def: &Def| dir == Dir::S2c && snapshots.follows(proto, dir, def);
        self.filter.asks_for_snapshots() || self.may_match(registry, is_snapshot)
    }

    /// Whether a message that names players can match.
    pub(crate) fn may_show_players(&self, registry: &Registry) -> bool {
        let names = |_, _, def: &Def| def.gist.as_ref().is_some_and(Gist::names_players);
        self.may_match(registry, names)
    }

    /// Whether it asks what players are called.
    pub(crate) fn asks_for_players(&self) -> bool {
        self.filter.asks_for_players()
    }

    fn may_match(&self, registry: &Registry, wanted: impl Fn(Proto, Dir, &Def) -> bool) -> bool {
        let each = Proto::ALL
            .into_iter()
            .flat_map(|proto| [(proto, Dir::C2s), (proto, Dir::S2c)]);
        each.into_iter().any(|(proto, dir)| {
            registry.defs(proto.into()).any(|def| {
                let subject = Subject {
                    class: def.class,
                    id: Identity::Other,
                    def: Some(def),
                };
                wanted(proto, dir, def) && self.filter.reach().message(proto, dir, &subject)
            })
        })
    }

    /// Whether no message of this direction can match, nor anything be learned from one.
    pub(crate) fn is_beyond(&self, proto: Proto, dir: Dir) -> bool {
        !self.follows && !self.filter.reach().dir(proto, dir)
    }

    /// Whether a message cannot match, nor anything be learned from it.
    pub(crate) fn is_out_of_reach(&self, asked: &Asked<'_>) -> bool {
        let Asked { class, id, def, .. } = *asked;
        let subject = Subject { class, id, def };
        !self.follows && !self.filter.reach().message(asked.proto, asked.dir, &subject)
    }

    /// Whether a message is one that is looked for.
    pub(crate) fn matches(&mut self, asked: &Asked<'_>) -> bool {
        if self.is_out_of_reach(asked) {
            return false;
        }
        let buffer = std::mem::take(&mut self.buffer);
        let item = std::mem::take(&mut self.item);
        let (filter, known) = self.known(asked.at, asked.session);
        known.trip.take(asked);
        // Taken out, so that what is known can be asked while the memory changes.
        let mut memory = std::mem::take(&mut known.memory);
        let message = Message {
            asked,
            known: &*known,
            lazy: Lazy::new(asked.def, asked.data, asked.body, buffer),
            item: Cell::new(item),
        };
        let matches = filter.matches(&message, &mut memory) == Some(true);
        let item = message.item.into_inner();
        let buffer = message.lazy.into_buffer();
        known.memory = memory;
        (self.buffer, self.item) = (buffer, item);
        matches
    }

    /// What is known of a session, and what to ask about it.
    fn known(&mut self, at: Time, session: Option<SessionId>) -> (&Filter, &mut Known) {
        let filter = &self.filter;
        let Some(id) = session else {
            return (filter, &mut self.loose);
        };
        if self.sessions.len() >= SESSIONS && !self.sessions.contains_key(&id) {
            self.sessions.pop_first();
        }
        let new = || Box::new(Known::new(filter, at));
        (filter, self.sessions.entry(id).or_insert_with(new))
    }
}

impl Known {
    fn new(filter: &Filter, since: Time) -> Self {
        Self {
            memory: filter.memory(),
            since,
            state: SessionState::Opening,
            trip: Trip::default(),
        }
    }
}

impl Trip {
    /// A message has passed, on its way to the client or from it.
    fn take(&mut self, asked: &Asked<'_>) {
        match (asked.dir, self.under_way) {
            (Dir::S2c, None) if !asked.resend => {
                self.under_way = asked.seq_out.map(|seq| (seq, asked.at));
            }
            // Sent again: its ack may be of either copy.
            (Dir::S2c, Some((seq, _))) if asked.resend && asked.seq_out == Some(seq) => self.under_way = None,
            (Dir::C2s, Some((seq, sent))) if asked.around.ack.is_some_and(|ack| seq.is_behind(ack)) => {
                self.last = Some(asked.at.0.saturating_sub(sent.0));
                self.under_way = None;
            }
            _ => {}
        }
    }
}

/// What the filter sees.
struct Message<'a> {
    asked: &'a Asked<'a>,
    known: &'a Known,
    lazy: Lazy<'a>,
    /// For snapshot items.
    item: Cell<Decoded>,
}

impl Message<'_> {
    /// What is odd about the way in which a message came.
    fn of_framing(&self, def: &Def) -> impl Iterator<Item = Code> + use<> {
        let Asked {
            class, dir, vital, ..
        } = *self.asked;
        let is_chunk = matches!(class, Class::System | Class::Game);
        let wrong_way = class != Class::Connless && !def.way.allows(dir);
        let vitality = def.odd_vitality(vital).filter(|_| is_chunk);
        wrong_way
            .then_some(Code::WrongDirection)
            .into_iter()
            .chain(vitality)
    }

    /// All notes: of the datagram, and of the message.
    fn any_note(&self, wanted: impl Fn(Code) -> bool) -> bool {
        let of_message = || {
            let fields = self.lazy.fields()?;
            let is_cut = self.asked.is_cut();
            let mut notes = fields.decoded.notes().iter();
            Some(notes.any(|note| !(is_cut && note.code.comes_of_a_cut()) && wanted(note.code)))
        };
        let Asked {
            around,
            found,
            snapshot,
            ..
        } = self.asked;
        let wanted_too = |code| wanted(code);
        let of_snapshot = snapshot.is_some_and(|snapshot| {
            let mut notes = snapshot.data_notes.iter();
            notes.any(|note| wanted(note.code))
        });
        around.notes.iter().any(|note| wanted(note.code))
            || found.iter().any(|note| wanted(note.code))
            || of_snapshot
            || self.asked.def.is_none() && wanted(Code::UnknownMessage)
            || self
                .asked
                .def
                .is_some_and(|def| self.of_framing(def).any(wanted_too))
            || of_message().unwrap_or(false)
    }
}

impl Facts for Message<'_> {
    fn proto(&self) -> Proto {
        self.asked.proto
    }

    fn dir(&self) -> Dir {
        self.asked.dir
    }

    fn subject(&self) -> Subject<'_> {
        Subject {
            class: self.asked.class,
            id: self.asked.id,
            def: self.asked.def,
        }
    }

    fn data(&self) -> &[u8] {
        self.asked.data
    }

    fn fields(&self) -> Option<Fields<'_>> {
        self.lazy.fields()
    }

    fn flag(&self, flag: Flag) -> bool {
        match flag {
            Flag::Vital => self.asked.vital,
            Flag::Resend => self.asked.resend,
            Flag::Compressed => self.asked.around.compressed,
            Flag::Unknown => self.asked.def.is_none(),
            Flag::Malformed => self.any_note(|code| code.severity() == Severity::Error),
        }
    }

    fn lint(&self, code: Option<Code>) -> bool {
        self.any_note(|found| match code {
            Some(code) => found == code,
            None => found.severity() >= Severity::Warning,
        })
    }

    fn packet(&self, fact: PacketFact) -> Option<i64> {
        let Around {
            size, ack, chunks, ..
        } = self.asked.around;
        match fact {
            PacketFact::Size => size.and_then(|size| size.try_into().ok()),
            PacketFact::Ack => ack.map(|ack| ack.get().into()),
            PacketFact::Chunks => chunks.map(i64::from),
            PacketFact::Seq => self.asked.seq.map(|seq| seq.get().into()),
        }
    }

    fn session(&self, fact: SessionFact) -> Option<i64> {
        match fact {
            SessionFact::Id => self.asked.session.map(|id| id.0.into()),
            SessionFact::Rtt => self.known.trip.last.and_then(|trip| trip.try_into().ok()),
        }
    }

    fn state(&self) -> SessionState {
        self.known.state
    }

    fn player(&self) -> Option<&[u8]> {
        self.asked.roster.own_name(self.asked.session)
    }

    fn time(&self) -> u64 {
        self.asked.at.0.saturating_sub(self.known.since.0)
    }

    fn repeated(&self) -> bool {
        self.asked.vital && self.asked.resend
    }

    fn snap(&self, fact: SnapFact) -> Option<i64> {
        let snapshot = self.asked.snapshot?;
        match fact {
            SnapFact::Tick => Some(snapshot.tick.into()),
            SnapFact::CrcOk => snapshot.crc_ok().map(i64::from),
            SnapFact::Parts => Some(snapshot.parts.into()),
        }
    }

    fn items(&self, object: &Id, id: Option<u16>, each: &mut dyn FnMut(u16, &Fields<'_>) -> ControlFlow<()>) {
        let Some(snapshot) = self.asked.snapshot else {
            return;
        };
        let mut decoded = self.item.take();
        for item in snapshot.items() {
            let wanted = item.change != Change::Deleted && id.is_none_or(|id| id == item.key.id);
            let Some(def) = item.def.filter(|def| wanted && def.id == *object) else {
                continue;
            };
            decoded.object(def, item.ints);
            let fields = Fields {
                def,
                decoded: &decoded,
                source: Source::Ints(item.ints),
            };
            if each(item.key.id, &fields).is_break() {
                break;
            }
        }
        self.item.set(decoded);
    }
}

#[cfg(test)]
#[path = "matcher_tests.rs"]
mod tests;
