//! The messages that watchers show and wait for, and the knowledge that they need.
//!
//! Law: a message that no watcher needs is passed over before its fields are read.

use teetap_rules::{
    Filter,
    context::{MessageView, Names, Needs},
};
use teetap_wire::{Dir, Proto};

use super::Decoder;
use crate::{Reading, Subscribers, subscribers::Selected};

/// The datagrams of a direction in which peers say what they are: in the first ones, after losses too.
const INTRODUCTIONS: u64 = 64;

/// The watchers, but for their filters.
pub(super) struct Demand {
    /// Everything is decoded, whatever the filter shows.
    pub(super) everything: bool,
    /// Sessions are shown, with their names.
    sessions: bool,
    /// Gists are shown, with the names of players.
    pub(super) gists: bool,
    /// Names of players are known.
    names: bool,
    /// Snapshots are ignored while there is no subscriber.
    blind: bool,
    subscribers: Option<Subscribers>,
    /// The number of changes of subscriptions that are known.
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
    /// Evaluates the filters of subscribers, too.
    pub fn serve(&mut self, subscribers: Subscribers) {
        self.demand.subscribers = Some(subscribers);
    }

    /// Takes over changes of the subscriptions. A subscriber receives all events, other watchers maybe not.
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

    /// Returns the subscriptions that an event is for, of which these want a message.
    pub(crate) fn selected_by(&self, slots: u64) -> Selected {
        Selected {
            slots: slots | self.select.insatiable(),
            changes: self.demand.changes,
        }
    }

    /// Ignores snapshots and joins, for a watcher that does not receive all events: they are messages as any other.
    pub fn ignore_snapshots(&mut self) {
        self.demand.blind = true;
        self.courses.ignore();
        self.contexts.ignore_snapshots();
        self.streams.set_partial(true);
    }

    /// Ignores sessions: only messages are shown.
    pub fn ignore_sessions(&mut self) {
        self.demand.sessions = false;
        self.choose_needs();
    }

    /// Ignores gists: no names of players are shown with messages.
    pub fn ignore_gists(&mut self) {
        self.demand.gists = false;
        self.choose_needs();
    }

    /// Ignores the names of players, for one that shows neither gists nor sessions and has no filter.
    pub fn ignore_names(&mut self) {
        self.demand.names = false;
        self.choose_needs();
    }

    /// Decodes everything, with all names: a watcher without the filter, such as a recorder, shows it.
    pub fn decode_everything(&mut self) {
        self.demand.everything = true;
        self.demand.gists = true;
        self.demand.names = true;
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

    /// Returns true if there may be messages that can be passed over, whose datagram nothing else shows.
    pub(super) fn may_skim(&self) -> bool {
        !self.needs_all() && self.is_choosy() && self.select.insatiable() == 0
    }

    /// Returns true if a message cannot be shown or change what is known, whatever its fields are.
    pub(super) fn passes_over(&self, view: &MessageView<'_>) -> bool {
        !self.needs_all() && !view.shows_ddnet() && self.select.is_out_of_reach(view)
    }

    /// Returns true if messages that no filter shows are needed too: decoded, or for the contexts.
    fn needs_all(&self) -> bool {
        let needs = self.contexts.needs();
        self.demand.everything || needs.follows_any() || needs.names > Names::None
    }

    /// Returns the reading if a watcher shows anything of it: all, a message or the datagram that passes the filter, or,
    /// without a filter, the datagram.
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
