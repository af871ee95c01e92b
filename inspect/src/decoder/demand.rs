//! What the watchers need: the messages that they show or wait for, and the session state that their filters use.
//!
//! Law: a message that no watcher needs is skipped before its fields are parsed.

use teetap_rules::{
    Filter,
    context::{MessageView, Names, Needs},
};
use teetap_wire::{Dir, Proto};

use super::Decoder;
use crate::{Reading, Subscribers, reading::INTRODUCTIONS, subscribers::Selected};

/// Needs of the watchers in addition to their filters.
pub(super) struct Demand {
    /// True if every message is decoded, even if the filters do not match it.
    pub(super) everything: bool,
    /// True if session lines are shown, with player names.
    sessions: bool,
    /// True if gists are shown, with player names.
    pub(super) gists: bool,
    /// True if player names are tracked.
    names: bool,
    /// True if snapshots are ignored as long as there is no subscriber.
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
    /// Adds subscribers, whose filters are evaluated as well.
    pub fn serve(&mut self, subscribers: Subscribers) {
        self.demand.subscribers = Some(subscribers);
    }

    /// Updates the needs if a subscription was added, changed or removed. With a subscriber, all events are needed.
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

    /// Returns the subscriptions that receive an event. `slots` is the bitmask of subscriptions that select one of its
    /// messages; subscriptions without a filter are added.
    pub(crate) fn selected_by(&self, slots: u64) -> Selected {
        Selected {
            slots: slots | self.select.insatiable(),
            changes: self.demand.changes,
        }
    }

    /// Disables the tracking of snapshots and joins, for a watcher that does not receive all events. Snapshots are then
    /// decoded like other messages.
    pub fn ignore_snapshots(&mut self) {
        self.demand.blind = true;
        self.joins.ignore();
        self.contexts.ignore_snapshots();
        self.streams.set_partial(true);
    }

    /// Disables session lines, for a watcher that shows only messages.
    pub fn ignore_sessions(&mut self) {
        self.demand.sessions = false;
        self.choose_needs();
    }

    /// Disables gists, for a watcher that shows no player names with messages.
    pub fn ignore_gists(&mut self) {
        self.demand.gists = false;
        self.choose_needs();
    }

    /// Disables the tracking of player names, for a watcher without gists, sessions and filters.
    pub fn ignore_names(&mut self) {
        self.demand.names = false;
        self.choose_needs();
    }

    /// Decodes every message, with player names, for a watcher that ignores the filter, such as a recorder.
    pub fn decode_everything(&mut self) {
        self.demand.everything = true;
        self.demand.gists = true;
        self.demand.names = true;
        self.choose_needs();
    }

    /// Sets the filter for shown messages.
    pub fn show_only(&mut self, filter: Filter) {
        self.select.show_only(filter);
        self.choose_needs();
    }

    /// Ends the run when a message matches, even if the message is not shown.
    pub fn wait_for(&mut self, filter: Filter) {
        self.select.wait_for(filter);
        self.choose_needs();
    }

    /// Fails the run when a message matches, even if the message is not shown.
    pub fn fail_on(&mut self, filter: Filter) {
        self.select.fail_on(filter);
        self.choose_needs();
    }

    /// Marks events with a message that matches one of these filters, for a flight recorder.
    pub fn save_on(&mut self, filters: Vec<Filter>) {
        self.select.save_on(filters);
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

    /// Returns the number of messages that passed the filter.
    #[must_use]
    pub const fn matches(&self) -> u64 {
        self.select.matches
    }

    /// Returns true if there is a filter.
    #[must_use]
    pub(super) const fn is_choosy(&self) -> bool {
        self.select.is_choosy()
    }

    /// Returns true if no message of a datagram with this protocol, direction and ordinal can be shown or change the
    /// decoder's state.
    pub(crate) fn skips(&self, proto: Proto, dir: Dir, ordinal: u64) -> bool {
        // The first messages may identify their sender as DDNet, or state its version.
        let may_introduce = ordinal <= INTRODUCTIONS;
        !may_introduce && !self.needs_all() && self.select.is_beyond(proto, dir)
    }

    /// Returns true if datagrams may be skipped when no filter can match their messages.
    pub(super) fn may_skim(&self) -> bool {
        !self.needs_all() && self.is_choosy() && self.select.insatiable() == 0
    }

    /// Returns true if a message can be skipped: regardless of its fields, no watcher shows it, and it does not change
    /// the decoder's state.
    pub(super) fn passes_over(&self, view: &MessageView<'_>) -> bool {
        !self.needs_all() && !view.shows_ddnet() && self.select.is_out_of_reach(view)
    }

    /// Returns true if every message is needed, either by a watcher or to track the state of sessions.
    fn needs_all(&self) -> bool {
        let needs = self.contexts.needs();
        self.demand.everything || needs.follows_any() || needs.names > Names::None
    }

    /// Returns the reading if any watcher displays part of it. Otherwise recycles its buffers and returns `None`.
    pub(crate) fn keep_shown(&mut self, reading: Reading) -> Option<Reading> {
        let all = self.demand.everything || !self.is_choosy() || self.select.insatiable() != 0;
        let is_shown = reading.shown || reading.messages.iter().any(|message| message.visibility.shown);
        if all || is_shown || reading.subscribers() != 0 {
            return Some(reading);
        }
        self.recycle(reading);
        None
    }
}
