//! A filter and the messages it remembers.
//!
//! Law: memory is kept per session, from its first message to its end, for a bounded number of sessions.

use std::{cell::Cell, collections::BTreeMap};

use teetap_proxy::session::{SessionId, State};
use teetap_rules::{
    Filter, Memory,
    context::{Context, MessageView, SESSIONS, Stores},
    eval::Lazy,
};
use teetap_wire::{
    Dir, Proto,
    def::{Decoded, Def, Gist, Registry},
};

/// A filter with its memory.
pub(crate) struct Matcher {
    filter: Filter,
    /// True if it needs messages that cannot match.
    follows: bool,
    sessions: BTreeMap<u32, Memory>,
    /// The memory of messages that belong to no session.
    loose: Memory,
    /// A buffer for snapshot items.
    item: Cell<Decoded>,
}

impl Matcher {
    /// A filter that remembers nothing yet.
    pub(crate) fn new(filter: Filter) -> Self {
        Self {
            loose: filter.memory(),
            sessions: BTreeMap::new(),
            item: Cell::default(),
            follows: filter.remembers() || filter.needs_history(),
            filter,
        }
    }

    /// A session has changed its state.
    pub(crate) fn on_session(&mut self, session: SessionId, state: State) {
        if matches!(state, State::Opening | State::Closed) {
            self.sessions.remove(&session.0);
        }
    }

    /// Another run begins, with sessions of its own.
    pub(crate) fn restart(&mut self) {
        self.sessions.clear();
        self.loose = self.filter.memory();
    }

    /// Returns true if items of snapshots, or their oddities, matter to it.
    pub(crate) fn asks_about(&self, stores: &Stores, registry: &Registry) -> bool {
        // Clients only send acks.
        let is_snapshot = |proto, dir, def: &Def| dir == Dir::S2c && stores.follows(proto, dir, def);
        self.filter.needs_snapshots() || self.filter.may_match(registry, is_snapshot)
    }

    /// Returns true if a message that names players can match.
    pub(crate) fn may_show_players(&self, registry: &Registry) -> bool {
        let names = |_, _, def: &Def| def.gist.as_ref().is_some_and(Gist::names_players);
        self.filter.may_match(registry, names)
    }

    /// Returns true if the names of players matter to it.
    pub(crate) fn needs_players(&self) -> bool {
        self.filter.needs_players()
    }

    /// Returns true if notes matter to it.
    pub(crate) fn reads_notes(&self) -> bool {
        self.filter.needs_notes()
    }

    /// Returns true if nothing of this direction can match, nor change what it remembers.
    pub(crate) fn is_beyond(&self, proto: Proto, dir: Dir) -> bool {
        let reach = self.filter.reach();
        // Some notes of one direction take the other.
        !self.follows && !self.reads_notes() && !reach.dir(proto, dir) && !reach.datagrams(proto, dir)
    }

    /// Returns true if a message cannot match, nor change what it remembers.
    pub(crate) fn is_out_of_reach(&self, view: &MessageView<'_>) -> bool {
        let reach = self.filter.reach();
        !self.follows && !reach.message(view.proto, view.dir, &view.subject())
    }

    /// Returns true if a message matches. It was observed in its context just before.
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
