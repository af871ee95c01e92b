//! The snapshots of all sessions, followed message by message.
//!
//! Law: a watcher that missed nothing knows every snapshot from a session's beginning on; one that missed something says
//! so instead of showing what may be wrong, until a base is sure again. Whatever peers send, all sessions together hold
//! [`LIMIT`] bytes of snapshots, in [`SESSIONS`] stores; the session that was silent longest is forgotten first.

use std::collections::BTreeMap;

use teetap_wire::{
    Dir, Packet, Proto, Scratch, Seq,
    def::{Decoded, Def, Registry},
    snap::Store,
};

use crate::session::{Action, Datagram, Event, SessionId, State, What};

/// Bytes of snapshots of all sessions, and of the buffers to read them. A quiet server's session takes 50 KiB, a crowded one's 500 KiB.
pub const LIMIT: usize = 128 << 20;

/// Sessions that are followed at once.
pub const SESSIONS: usize = 4096;

/// The stores of all sessions.
#[derive(Clone, Debug)]
pub struct Snapshots {
    registry: &'static Registry,
    /// What a session begins with: one of each variant.
    fresh: Box<[Store<'static>]>,
    sessions: BTreeMap<SessionId, Session>,
    limit: usize,
    held: usize,
    /// Counts what was followed, so that the silent ones are known.
    turn: u64,
}

#[derive(Clone, Debug, Default)]
struct Session {
    /// `None` until there is something to follow.
    store: Option<Store<'static>>,
    /// Seen from its beginning.
    begun: bool,
    /// Number of the last vital message that was followed, of each direction.
    last: [Option<Seq>; 2],
    /// Its bytes in [`Snapshots::held`].
    held: usize,
    turn: u64,
}

/// A message as it was seen.
#[derive(Clone, Copy, Debug)]
pub struct Heard<'a> {
    /// Of the session.
    pub proto: Proto,
    /// Where it was going.
    pub dir: Dir,
    /// Number that its sender gave it, if it is vital.
    pub seq: Option<Seq>,
    /// Marked as sent again.
    pub resend: bool,
    /// How it is defined.
    pub def: &'a Def,
    /// What was read of it.
    pub decoded: &'a Decoded,
    /// Its bytes.
    pub data: &'a [u8],
}

/// Buffers to use again, of [`Snapshots::follow`].
#[derive(Debug, Default)]
pub struct Buffers {
    scratch: Scratch,
    decoded: Decoded,
}

impl Snapshots {
    /// With these definitions.
    #[must_use]
    pub fn new(registry: &'static Registry) -> Self {
        Self {
            registry,
            fresh: Proto::ALL.map(|proto| Store::new(registry, proto)).into(),
            sessions: BTreeMap::new(),
            limit: LIMIT,
            held: 0,
            turn: 0,
        }
    }

    /// For somebody who does not see all datagrams, and so could not know: it follows nothing.
    #[must_use]
    pub fn none(registry: &'static Registry) -> Self {
        Self {
            fresh: Box::default(),
            ..Self::new(registry)
        }
    }

    /// Whether it follows anything.
    #[must_use]
    pub fn is_following(&self) -> bool {
        !self.fresh.is_empty()
    }

    /// With another limit than [`LIMIT`].
    #[must_use]
    pub fn with_limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// A session has changed its state.
    pub fn on_session(&mut self, id: SessionId, state: State) {
        match state {
            State::Opening if self.is_following() => {
                self.forget(id);
                self.session(id).begun = true;
            }
            State::Closed => self.forget(id),
            State::Opening | State::Online | State::Closing => {}
        }
    }

    /// Messages of all sessions were missed.
    pub fn gap(&mut self) {
        for session in self.sessions.values_mut() {
            session.begun = false;
            session.last = [None; 2];
            if let Some(store) = &mut session.store {
                store.gap();
            }
        }
    }

    /// Whether messages of a definition mean something, so that they are to be read and handed in.
    #[must_use]
    pub fn follows(&self, proto: Proto, dir: Dir, def: &Def) -> bool {
        self.fresh_of(proto).is_some_and(|store| store.follows(dir, def))
    }

    /// Whether the receiver hears a message that the core did this with, now or later: what is ahead of a gap, and what is
    /// refused, is said again.
    #[must_use]
    pub const fn counts(action: Action) -> bool {
        !matches!(
            action,
            Action::Repeat | Action::Known | Action::Gap | Action::Refuse
        )
    }

    /// Follows a message of a session, and gives its store: [`Store::completed`] is the snapshot that the message
    /// completes, [`Store::notes`] is what is odd about it. `None`: it is a repeat, which receivers do not hear.
    pub fn hear(&mut self, id: SessionId, heard: &Heard<'_>) -> Option<&Store<'static>> {
        let known = self.store(id).is_some_and(|store| store.proto() == heard.proto);
        let fresh = if known {
            None
        } else {
            Some(self.fresh_of(heard.proto)?.clone())
        };
        let session = self.session(id);
        if heard.is_again(&mut session.last) {
            return None;
        }
        if let Some(mut store) = fresh {
            if !session.begun {
                store.gap();
            }
            session.store = Some(store);
        }
        let store = session.store.as_mut()?;
        store.on_message(heard.dir, heard.def, heard.decoded, heard.data);
        let after = store.memory();
        let before = std::mem::replace(&mut session.held, after);
        self.held = self.held + after - before;
        while self.held > self.limit && self.forget_a_silent_one(Some(id)) {}
        self.store(id)
    }

    /// Follows what an event tells, for those who show nothing of it.
    pub fn follow(&mut self, event: &Event, buffers: &mut Buffers) {
        let Some(session) = event.session else { return };
        match &event.what {
            What::Session(change) => self.on_session(session, change.state),
            What::Datagram(datagram) => self.follow_datagram(session, datagram, buffers),
            What::Connless(_) | What::Notice(_) => {}
        }
    }

    /// The store of a session in which there was something to follow.
    #[must_use]
    pub fn store(&self, session: SessionId) -> Option<&Store<'static>> {
        self.sessions.get(&session)?.store.as_ref()
    }

    /// Bytes of all sessions, buffers included.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held
    }

    fn follow_datagram(&mut self, id: SessionId, datagram: &Datagram, buffers: &mut Buffers) {
        let Buffers { scratch, decoded } = buffers;
        // What is on one leg only is never said to the peers of a game, nor is what was not sent on as a whole.
        let passed =
            datagram.leg.is_none() && (!datagram.placed.is_empty() || datagram.sent().next().is_some());
        let Some(received) = datagram.received().filter(|_| passed) else {
            return;
        };
        let Ok(packet) = Packet::parse(datagram.proto, received, scratch) else {
            return;
        };
        for (index, chunk) in packet.chunks().enumerate() {
            let placed = datagram.placed.get(index);
            if placed.is_some_and(|placed| !Self::counts(placed.action)) {
                continue;
            }
            let found = self.registry.message(datagram.proto, datagram.dir, chunk.data);
            let Some(found) = found.filter(|found| !found.unknown) else {
                continue;
            };
            if !self.follows(datagram.proto, datagram.dir, found.def) {
                continue;
            }
            decoded.read(found.def, chunk.data, found.body);
            let heard = Heard {
                proto: datagram.proto,
                dir: datagram.dir,
                seq: chunk.header.vital,
                resend: chunk.header.resend,
                def: found.def,
                decoded,
                data: chunk.data,
            };
            self.hear(id, &heard);
        }
    }

    fn fresh_of(&self, proto: Proto) -> Option<&Store<'static>> {
        self.fresh.iter().find(|store| store.proto() == proto)
    }

    fn session(&mut self, id: SessionId) -> &mut Session {
        if !self.sessions.contains_key(&id) && self.sessions.len() >= SESSIONS {
            self.forget_a_silent_one(None);
        }
        self.turn += 1;
        let session = self.sessions.entry(id).or_default();
        session.turn = self.turn;
        session
    }

    /// Whether there was one apart from `but`.
    fn forget_a_silent_one(&mut self, but: Option<SessionId>) -> bool {
        let others = self.sessions.iter().filter(|(id, _)| Some(**id) != but);
        let silent = others.min_by_key(|(_, session)| session.turn).map(|(id, _)| *id);
        silent.inspect(|id| self.forget(*id)).is_some()
    }

    fn forget(&mut self, id: SessionId) {
        if let Some(session) = self.sessions.remove(&id) {
            self.held -= session.held;
        }
    }
}

impl Heard<'_> {
    /// Whether it is a vital message that was followed before, after which it is the last one.
    fn is_again(&self, last: &mut [Option<Seq>; 2]) -> bool {
        let (Some(seq), Some(last)) = (self.seq, last.get_mut(self.dir as usize)) else {
            return false;
        };
        // Not by the order of numbers: between two of these messages there may be any number of others.
        let before = last.replace(seq);
        self.resend && before == Some(seq)
    }
}
