//! Demand of the watchers: the messages they show or wait for, and the knowledge needed to decide.
//!
//! Law: a message that no watcher needs is skipped before its fields are parsed.

use teetap_rules::{
    Filter,
    context::{MessageView, Names, Needs},
};
use teetap_wire::{Dir, Proto};

use super::Decoder;
use crate::{Reading, Subscribers, subscribers::Selected};

/// Number of datagrams per direction in which peers may identify themselves, losses included.
const INTRODUCTIONS: u64 = 64;

/// What the watchers need, apart from their filters.
pub(super) struct Demand {
    /// True if everything is decoded, whatever the filter shows.
    pub(super) everything: bool,
    /// True if session lines are shown, with player names.
    sessions: bool,
    /// True if gists are shown, with player names.
    pub(super) gists: bool,
    /// True if player names are tracked.
    names: bool,
    /// True if snapshots are ignored while there is no subscriber.
    blind: bool,
    subscribers: Option<Subscribers>,
    /// Change counter of the subscriptions at the last update.
    changes: u64,
}

impl Default for Demand {
    fn default() -> Self {
        Self {
            everything: false,
            sessions: true,
            gists: true,
            names: true,
            blind: false,
            subscribers: None,
            changes: 0,
        }
    }
}

impl Decoder {
    /// Evaluates the filters of these subscribers, too.
    pub fn serve(&mut self, subscribers: Subscribers) {
        self.demand.subscribers = Some(subscribers);
    }

    /// Applies changes of the subscriptions. Subscribers receive all events; other watchers may not.
    pub(crate) fn look_for_subscribers(&mut self) {
        let Some(subscribers) = &self.demand.subscribers else {
            return;
        };
        if subscribers.changes() == self.demand.changes {
            return;
        }
        let (filters, changes) = subscribers.filters();
        self.demand.changes = changes;
        let had = self.select.has_subscribers();
        self.select.subscribe(filters);
        match (had, self.select.has_subscribers()) {
            (false, true) if self.demand.blind => self.contexts.follow_snapshots(),
            (true, false) if self.demand.blind => self.contexts.ignore_snapshots(),
            _ => {}
        }
        self.choose_needs();
    }

    /// Returns the subscriptions that receive an event: those in `slots`, which want one of its messages, and those
    /// that want everything.
    pub(crate) fn selected_by(&self, slots: u64) -> Selected {
        Selected {
            slots: slots | self.select.insatiable(),
            changes: self.demand.changes,
        }
    }

    /// Ignores snapshots and joins, for a watcher that does not receive all events. Snapshots are then messages like
    /// any other.
    pub fn ignore_snapshots(&mut self) {
        self.demand.blind = true;
        self.joins.ignore();
        self.contexts.ignore_snapshots();
        self.streams.set_partial(true);
    }

    /// Ignores sessions, for a watcher that shows only messages.
    pub fn ignore_sessions(&mut self) {
        self.demand.sessions = false;
        self.choose_needs();
    }

    /// Ignores gists, for a watcher that shows no player names with messages.
    pub fn ignore_gists(&mut self) {
        self.demand.gists = false;
        self.choose_needs();
    }

    /// Ignores player names, for a watcher that shows neither gists nor sessions and has no filter.
    pub fn ignore_names(&mut self) {
        self.demand.names = false;
        self.choose_needs();
    }

    /// Decodes everything, with all names, for a watcher without the filter, such as a recorder.
    pub fn decode_everything(&mut self) {
        self.demand.everything = true;
        self.demand.gists = true;
        self.demand.names = true;
        self.choose_needs();
    }

    /// From now on shows only messages that match.
    pub fn show_only(&mut self, filter: Filter) {
        self.select.show_only(filter);
        self.choose_needs();
    }

    /// Waits for a message that matches, whether it is shown or not.
    pub fn wait_for(&mut self, filter: Filter) {
        self.select.wait_for(filter);
        self.choose_needs();
    }

    /// Fails the run on a message that matches, whether it is shown or not.
    pub fn fail_on(&mut self, filter: Filter) {
        self.select.fail_on(filter);
        self.choose_needs();
    }

    fn choose_needs(&mut self) {
        let stores = self.contexts.stores();
        let mut needs = if self.demand.everything {
            Needs::ALL
        } else {
            let Demand { gists, sessions, .. } = self.demand;
            self.select.needs(gists, sessions, stores, self.registry)
        };
        if !self.demand.names {
            needs.names = Names::None;
        }
        self.contexts.set_needs(needs);
        let reads_all = self.demand.everything || self.select.reads_all();
        let is_blind = self.demand.blind && !self.select.has_subscribers();
        self.streams.set_partial(is_blind || !reads_all);
    }

    /// Number of messages that passed the filter.
    #[must_use]
    pub const fn matches(&self) -> u64 {
        self.select.matches
    }

    /// Returns true if there is a filter.
    #[must_use]
    pub const fn is_choosy(&self) -> bool {
        self.select.is_choosy()
    }

    /// Returns true if no message of this datagram can be shown or change the decoder's state.
    pub(crate) fn skips(&self, proto: Proto, dir: Dir, ordinal: u64) -> bool {
        // The first messages of a peer may identify it. In DDNet sessions that changes nothing.
        let may_introduce = ordinal <= INTRODUCTIONS && proto != Proto::Ddnet;
        !may_introduce && !self.needs_all() && self.select.is_beyond(proto, dir)
    }

    /// Returns true if some messages may be skipped and nothing else shows their datagrams.
    pub(super) fn may_skim(&self) -> bool {
        !self.needs_all() && self.is_choosy() && self.select.insatiable() == 0
    }

    /// Returns true if a message cannot be shown or change the decoder's state, whatever its fields are.
    pub(super) fn passes_over(&self, view: &MessageView<'_>) -> bool {
        !self.needs_all() && !view.shows_ddnet() && self.select.is_out_of_reach(view)
    }

    /// Returns true if messages that no filter shows are still needed, to be decoded or for the contexts.
    fn needs_all(&self) -> bool {
        let needs = self.contexts.needs();
        self.demand.everything || needs.follows_any() || needs.names > Names::None
    }

    /// Returns the reading if any watcher displays part of it. Otherwise recycles its buffers and returns `None`.
    pub(crate) fn keep_shown(&mut self, reading: Reading) -> Option<Reading> {
        let all = self.demand.everything || !self.is_choosy() || self.select.insatiable() != 0;
        let is_shown = reading.shown || reading.messages.iter().any(|message| message.shown);
        if all || is_shown || reading.subscribers() != 0 {
            return Some(reading);
        }
        self.recycle(reading);
        None
    }
}
