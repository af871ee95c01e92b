//! The messages that watchers show and wait for, and the knowledge that they need.
//!
//! Law: a message that no watcher needs is passed over before its fields are read.

use teetap_rules::{
    Filter,
    context::{MessageView, Names, Needs},
};
use teetap_wire::{Dir, Proto};

use super::Decoder;
use crate::{Reading, Snapshots, Subscribers, previous::Previous, subscribers::Selected};

/// The datagrams of a direction in which peers say what they are: in the first ones, after losses too.
const INTRODUCTIONS: u64 = 64;

impl Decoder {
    /// Evaluates the filters of subscribers, too.
    pub fn serve(&mut self, subscribers: Subscribers) {
        self.subscribers = Some(subscribers);
    }

    /// Takes over changes of the subscriptions. A subscriber receives all events, other watchers maybe not.
    pub(crate) fn look_for_subscribers(&mut self) {
        let Some(subscribers) = &self.subscribers else {
            return;
        };
        if subscribers.changes() == self.changes {
            return;
        }
        let (filters, changes) = subscribers.filters();
        self.changes = changes;
        let had = self.select.has_subscribers();
        self.select.subscribe(filters);
        match (had, self.select.has_subscribers()) {
            (false, true) if self.blind => self.contexts.follow_snapshots(),
            (true, false) if self.blind => self.contexts.ignore_snapshots(),
            _ => {}
        }
        self.choose_needs();
    }

    /// Returns the subscriptions that an event is for, of which these want a message.
    pub(crate) fn selected_by(&self, slots: u64) -> Selected {
        Selected {
            slots: slots | self.select.insatiable(),
            changes: self.changes,
        }
    }

    /// Ignores snapshots and joins, for a watcher that does not receive all events: they are messages as any other.
    pub fn ignore_snapshots(&mut self) {
        self.blind = true;
        self.courses.ignore();
        self.contexts.ignore_snapshots();
        self.streams.set_partial(true);
    }

    /// Ignores sessions: only messages are shown.
    pub fn ignore_sessions(&mut self) {
        self.sessions = false;
        self.choose_needs();
    }

    /// Ignores gists: no names of players are shown with messages.
    pub fn ignore_gists(&mut self) {
        self.gists = false;
        self.choose_needs();
    }

    /// Ignores the items of snapshots: only their counts are shown. Events that wait for a watcher do not keep them then.
    pub fn ignore_items(&mut self) {
        self.items = false;
    }

    /// Shares the newest snapshot of each session, with its items.
    pub fn share_snapshots(&mut self, snapshots: Snapshots) {
        self.shared = Some(snapshots);
    }

    /// Compares each snapshot with the one before it, too.
    pub fn follow_changes(&mut self) {
        self.previous = Some(Previous::default());
    }

    /// Measures the items of snapshots, by their types.
    pub fn measure_items(&mut self) {
        self.measures = true;
    }

    /// Decodes everything, with all names: a watcher without the filter, such as a recorder, shows it.
    pub fn decode_everything(&mut self) {
        self.everything = true;
        self.gists = true;
        self.choose_needs();
    }

    /// Shows only messages that match from now on.
    pub fn show_only(&mut self, filter: Filter) {
        self.select.show_only(filter);
        self.choose_needs();
    }

    /// Waits for a message that matches, shown or not.
    pub fn wait_for(&mut self, filter: Filter) {
        self.select.wait_for(filter);
        self.choose_needs();
    }

    /// Takes a message that matches, shown or not, for a failure.
    pub fn fail_on(&mut self, filter: Filter) {
        self.select.fail_on(filter);
        self.choose_needs();
    }

    fn choose_needs(&mut self) {
        let stores = self.contexts.stores();
        let needs = if self.everything {
            Needs::ALL
        } else {
            self.select
                .needs(self.gists, self.sessions, stores, self.registry)
        };
        self.contexts.set_needs(needs);
        let reads_all = self.everything || self.select.reads_all();
        let is_blind = self.blind && !self.select.has_subscribers();
        self.streams.set_partial(is_blind || !reads_all);
    }

    /// Messages that passed the filter.
    #[must_use]
    pub const fn matches(&self) -> u64 {
        self.select.matches
    }

    /// Returns true if there is a filter.
    #[must_use]
    pub const fn is_choosy(&self) -> bool {
        self.select.is_choosy()
    }

    /// Returns true if no message of a datagram in this direction can be shown or change what is known.
    pub(crate) fn skips(&self, proto: Proto, dir: Dir, ordinal: u64) -> bool {
        // What peers say about themselves; in sessions of DDNet it changes nothing.
        let may_introduce = ordinal <= INTRODUCTIONS && proto != Proto::Ddnet;
        !may_introduce && !self.needs_all() && self.select.is_beyond(proto, dir)
    }

    /// Returns true if a message cannot be shown or change what is known, whatever its fields are.
    pub(super) fn passes_over(&self, view: &MessageView<'_>) -> bool {
        !self.needs_all() && !view.shows_ddnet() && self.select.is_out_of_reach(view)
    }

    /// Returns true if messages that no filter shows are needed too: decoded, or for the contexts.
    fn needs_all(&self) -> bool {
        let needs = self.contexts.needs();
        self.everything || needs.follows_any() || needs.names > Names::None
    }

    /// Returns the reading if a watcher shows anything of it: all, a message or the datagram that passes the filter, or,
    /// without a filter, the datagram.
    pub(crate) fn keep_shown(&mut self, reading: Reading) -> Option<Reading> {
        let all = self.everything || !self.is_choosy() || self.select.insatiable() != 0;
        let is_shown = reading.shown || reading.messages.iter().any(|message| message.shown);
        if all || is_shown || reading.subscribers() != 0 {
            return Some(reading);
        }
        self.recycle(reading);
        None
    }
}
