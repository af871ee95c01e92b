//! The contexts of all sessions, for watchers.

use std::{collections::VecDeque, net::SocketAddr};

use teetap_wire::{def::Registry, snap::Diagnosis};

use super::{Context, MessageView, Needs, Stores, Table};
use crate::eval::{Lazy, SessionState};

/// Maximum bytes of snapshots of all sessions, including their buffers. A session needs 50 KiB on a quiet server and
/// 500 KiB on a crowded server.
pub const LIMIT: usize = 128 << 20;

/// Maximum number of sessions.
pub const SESSIONS: usize = 4096;

/// Maximum number of closed sessions in recordings, which may contain datagrams after CLOSE.
const CLOSED: usize = 256;

/// Contexts of all sessions, and of messages outside sessions.
///
/// Whatever peers send, there are at most [`SESSIONS`] sessions, with [`LIMIT`] bytes of snapshots together. The
/// session that has been silent longest is forgotten first.
#[derive(Clone, Debug)]
pub struct Contexts {
    stores: Stores,
    registry: &'static Registry,
    needs: Needs,
    sessions: Table<SessionContext>,
    /// Closed sessions, the oldest first.
    closed: VecDeque<u32>,
    /// Context of messages outside sessions.
    loose: Context,
    limit: usize,
    held: usize,
    /// Number of observations so far, which orders sessions by their last observation.
    turn: u64,
}

#[derive(Clone, Debug)]
struct SessionContext {
    context: Context,
    /// Bytes of the session's snapshots, included in [`Contexts::held`].
    held: usize,
    turn: u64,
}

impl Contexts {
    /// Creates contexts without sessions that need everything and read snapshots through these definitions.
    #[must_use]
    pub fn new(registry: &'static Registry) -> Self {
        Self {
            stores: Stores::new(registry),
            registry,
            needs: Needs::ALL,
            sessions: Table::default(),
            closed: VecDeque::new(),
            loose: Context::new(0),
            limit: LIMIT,
            held: 0,
            turn: 0,
        }
    }

    /// Sets a limit that replaces [`LIMIT`].
    #[must_use]
    pub const fn with_limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// Ignores snapshots from now on, for a watcher that does not see all datagrams and could not follow them.
    pub fn ignore_snapshots(&mut self) {
        self.stores = Stores::none();
        let ids: Vec<u32> = self.sessions.iter().map(|(id, _)| id).collect();
        ids.into_iter().for_each(|id| self.forget_snapshots(id));
    }

    /// Follows snapshots again after [`Self::ignore_snapshots`], starting in the middle of their sequence.
    pub fn follow_snapshots(&mut self) {
        self.stores = Stores::new(self.registry);
        self.gap();
    }

    /// Returns the empty stores of snapshots.
    #[must_use]
    pub const fn stores(&self) -> &Stores {
        &self.stores
    }

    /// Returns the parts that are kept up to date.
    #[must_use]
    pub const fn needs(&self) -> Needs {
        self.needs
    }

    /// Changes the parts that are kept up to date.
    pub fn set_needs(&mut self, needs: Needs) {
        if needs.follows_any() && !self.needs.follows_any() {
            self.gap();
        }
        self.needs = needs;
    }

    /// Handles a change of a session's state at this time in microseconds. A session that opens replaces the previous
    /// session with its number. A session that was closing is forgotten when it closes. Other closed sessions are kept,
    /// since a recording may contain further datagrams.
    pub fn on_session(&mut self, at: u64, id: u32, state: SessionState, client: SocketAddr) {
        match state {
            SessionState::Opening => {
                self.forget(id);
                self.entry(at, id).context = Context::opening(at);
            }
            SessionState::Closed => return self.close(id),
            SessionState::Online | SessionState::Closing => self.entry(at, id).context.set_state(state),
        }
        self.entry(at, id).context.set_client(Some(client));
    }

    /// Starts another run with sessions of its own.
    pub fn restart(&mut self) {
        self.sessions.clear();
        self.closed.clear();
        self.loose = Context::new(0);
        self.held = 0;
    }

    /// Records that messages of all sessions were missed.
    pub fn gap(&mut self) {
        let sessions = self.sessions.values_mut();
        sessions.for_each(|entry| entry.context.gap());
    }

    /// Records that messages of one session were missed.
    pub fn gap_in(&mut self, id: u32) {
        if let Some(entry) = self.sessions.get_mut(id) {
            entry.context.gap();
        }
    }

    /// Observes a message before any decision about it.
    pub fn observe(&mut self, view: &MessageView<'_>, fields: &Lazy<'_>) {
        let needs = self.needs;
        let Some(id) = view.session else {
            self.loose.observe(view, fields, needs, &self.stores);
            return;
        };
        self.turn += 1;
        self.entry(view.at, id);
        let Some(entry) = self.sessions.get_mut(id) else {
            return;
        };
        entry.context.observe(view, fields, needs, &self.stores);
        let after = entry.context.track.memory();
        let before = std::mem::replace(&mut entry.held, after);
        self.held = self.held + after - before;
        while self.held > self.limit && self.forget_silent_snapshots(id) {}
    }

    /// Returns the reasons why the snapshot that the last observed message (`view`) completes is wrong.
    pub fn diagnose(&mut self, view: &MessageView<'_>) -> Option<Diagnosis> {
        let entry = self.sessions.get_mut(view.session?)?;
        entry.context.diagnose(view)
    }

    /// Learns the names of players from the last observed message.
    pub fn learn(&mut self, view: &MessageView<'_>, fields: &Lazy<'_>) {
        let needs = self.needs;
        if let Some(entry) = view.session.and_then(|id| self.sessions.get_mut(id)) {
            entry.context.learn(view, fields, needs);
        }
    }

    /// Returns the context of a session, or of messages outside sessions; empty for a session without events.
    #[must_use]
    pub fn of_session(&self, session: Option<u32>) -> &Context {
        let entry = session.and_then(|id| self.sessions.get(id));
        entry.map_or(&self.loose, |entry| &entry.context)
    }

    /// Returns the context of a session; `None` if the session had no event.
    #[must_use]
    pub fn get(&self, session: u32) -> Option<&Context> {
        self.sessions.get(session).map(|entry| &entry.context)
    }

    /// Returns the number of known sessions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sessions.len()
    }

    /// Returns true if no session is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    /// Returns the bytes of snapshots of all sessions, including buffers.
    #[must_use]
    pub const fn held(&self) -> usize {
        self.held
    }

    fn entry(&mut self, at: u64, id: u32) -> &mut SessionContext {
        if self.sessions.len() >= SESSIONS && !self.sessions.contains(id) {
            let silent = self.sessions.iter().min_by_key(|(_, entry)| entry.turn);
            if let Some(silent) = silent.map(|(id, _)| id) {
                self.forget(silent);
            }
        }
        let turn = self.turn;
        let entry = self.sessions.get_or_insert_with(id, || SessionContext {
            context: Context::new(at),
            held: 0,
            turn,
        });
        entry.turn = turn;
        entry
    }

    /// Forgets the snapshots of the session that has been silent longest, except `but`. Returns false if there are
    /// none.
    fn forget_silent_snapshots(&mut self, but: u32) -> bool {
        let others = self
            .sessions
            .iter()
            .filter(|(id, entry)| *id != but && entry.held > 0);
        let silent = others.min_by_key(|(_, entry)| entry.turn).map(|(id, _)| id);
        silent.inspect(|id| self.forget_snapshots(*id)).is_some()
    }

    fn forget_snapshots(&mut self, id: u32) {
        if let Some(entry) = self.sessions.get_mut(id) {
            self.held -= std::mem::take(&mut entry.held);
            entry.context.track.forget();
        }
    }

    fn close(&mut self, id: u32) {
        let entry = self.sessions.get_mut(id);
        let Some(entry) = entry.filter(|entry| entry.context.known.state == SessionState::Online) else {
            return self.forget(id);
        };
        entry.context.set_state(SessionState::Closed);
        self.closed.push_back(id);
        if self.closed.len() > CLOSED
            && let Some(oldest) = self.closed.front().copied()
        {
            self.forget(oldest);
        }
    }

    fn forget(&mut self, id: u32) {
        if let Some(entry) = self.sessions.remove(id) {
            self.held -= entry.held;
            self.closed.retain(|closed| *closed != id);
        }
    }
}
