//! A filter with the earlier messages to which it refers.
//!
//! Law: messages are remembered per session, from its first message to its end, for a bounded number of sessions.

use std::{cell::Cell, collections::BTreeMap};

use teetap_proxy::session::{SessionId, State};
use teetap_rules::{
    Filter, Memory,
    context::{Context, MessageView, SESSIONS, Stores},
    eval::Lazy,
};
use teetap_wire::{
    Dir, Proto,
    def::{Decoded, Def, Registry},
};

/// A filter with its memory.
pub(crate) struct Matcher {
    filter: Filter,
    /// True if the filter has to follow messages that cannot match.
    follows: bool,
    sessions: BTreeMap<u32, Memory>,
    /// The memory for messages outside of sessions.
    loose: Memory,
    /// Reusable buffer for snapshot items.
    item: Cell<Decoded>,
}

impl Matcher {
    /// Creates a matcher with empty memory.
    pub(crate) fn new(filter: Filter) -> Self {
        Self {
            loose: filter.memory(),
            sessions: BTreeMap::new(),
            item: Cell::default(),
            follows: filter.remembers() || filter.needs_history(),
            filter,
        }
    }

    /// Forgets the memory of a session that opens or closes.
    pub(crate) fn on_session(&mut self, session: SessionId, state: State) {
        if matches!(state, State::Opening | State::Closed) {
            self.sessions.remove(&session.0);
        }
    }

    /// Forgets all memory, because another run begins.
    pub(crate) fn restart(&mut self) {
        self.sessions.clear();
        self.loose = self.filter.memory();
    }

    /// Returns true if the filter depends on snapshot items or on notes about them.
    pub(crate) fn asks_about(&self, stores: &Stores, registry: &Registry) -> bool {
        // Clients send only acks of snapshots.
        let is_snapshot = |proto, dir, def: &Def| dir == Dir::S2c && stores.follows(proto, dir, def);
        self.filter.needs_snapshots() || self.filter.may_match(registry, is_snapshot)
    }

    /// Returns true if a message that names players can match.
    pub(crate) fn may_show_players(&self, registry: &Registry) -> bool {
        self.filter
            .may_match(registry, |_, _, def: &Def| def.names_players())
    }

    /// Returns true if the filter depends on player names.
    pub(crate) fn needs_players(&self) -> bool {
        self.filter.needs_players()
    }

    /// Returns true if the filter depends on notes.
    pub(crate) fn reads_notes(&self) -> bool {
        self.filter.needs_notes()
    }

    /// Returns true if no message in this direction can match or change the filter's memory.
    pub(crate) fn is_beyond(&self, proto: Proto, dir: Dir) -> bool {
        let reach = self.filter.reach();
        // A filter that tests notes needs both directions, since some notes depend on the opposite direction.
        !self.follows && !self.reads_notes() && !reach.dir(proto, dir) && !reach.datagrams(proto, dir)
    }

    /// Returns true if a message can neither match nor change the filter's memory.
    pub(crate) fn is_out_of_reach(&self, view: &MessageView<'_>) -> bool {
        let reach = self.filter.reach();
        !self.follows && !reach.message(view.proto, view.dir, &view.subject())
    }

    /// Returns true if a message matches. The message has just been observed in its context.
    pub(crate) fn matches(&mut self, view: &MessageView<'_>, fields: &Lazy<'_>, context: &Context) -> bool {
        if self.is_out_of_reach(view) {
            return false;
        }
        let Self {
            filter,
            sessions,
            loose,
            item,
            ..
        } = self;
        let memory = match view.session {
            Some(id) => {
                if sessions.len() >= SESSIONS && !sessions.contains_key(&id) {
                    sessions.pop_first();
                }
                sessions.entry(id).or_insert_with(|| filter.memory())
            }
            None => loose,
        };
        filter.matches(&context.facts(view, fields, item), memory) == Some(true)
    }
}

#[cfg(test)]
#[path = "matcher_tests.rs"]
mod tests;
