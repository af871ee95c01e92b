//! The filters: the messages that are shown, those that are waited for, and the knowledge that both need.

use teetap_proxy::session::{SessionId, State};
use teetap_rules::{
    Filter,
    context::{Context, MessageView, Names, Needs, Stores},
    eval::Lazy,
};
use teetap_wire::{Dir, Proto, def::Registry};

use crate::matcher::Matcher;

/// The filters.
#[derive(Default)]
pub(crate) struct Select {
    filter: Option<Matcher>,
    until: Option<Matcher>,
    /// The message that was waited for has come.
    pub(crate) reached: bool,
    /// Messages that passed the filter.
    pub(crate) matches: u64,
}

impl Select {
    pub(crate) fn show_only(&mut self, filter: Filter) {
        self.filter = Some(Matcher::new(filter));
    }

    pub(crate) fn wait_for(&mut self, filter: Filter) {
        self.until = Some(Matcher::new(filter));
    }

    /// Returns true if a message is waited for and has not come.
    pub(crate) const fn waits(&self) -> bool {
        self.until.is_some() && !self.reached
    }

    /// Returns true if there is a filter.
    pub(crate) const fn is_choosy(&self) -> bool {
        self.filter.is_some()
    }

    /// Returns the knowledge that is needed where gists, with the names of players, are shown, or sessions with their names.
    pub(crate) fn needs(&self, gists: bool, sessions: bool, stores: &Stores, registry: &Registry) -> Needs {
        let Some(filter) = &self.filter else {
            return Needs::ALL;
        };
        let asks = |matcher: &Matcher| matcher.asks_about(stores, registry);
        let all = self.all().any(Matcher::needs_players) || gists && filter.may_show_players(registry);
        let names = match all {
            true => Names::All,
            false if sessions && !gists => Names::Own,
            false => Names::None,
        };
        Needs {
            snapshots: self.all().any(asks),
            names,
        }
    }

    /// A session has changed its state.
    pub(crate) fn on_session(&mut self, session: SessionId, state: State) {
        for matcher in [&mut self.filter, &mut self.until].into_iter().flatten() {
            matcher.on_session(session, state);
        }
    }

    /// Another run begins, with sessions of its own.
    pub(crate) fn restart(&mut self) {
        for matcher in [&mut self.filter, &mut self.until].into_iter().flatten() {
            matcher.restart();
        }
    }

    /// Asks the filters about a message; returns true if it is shown.
    pub(crate) fn decide(&mut self, view: &MessageView<'_>, fields: &Lazy<'_>, context: &Context) -> bool {
        if let Some(until) = &mut self.until {
            self.reached |= until.matches(view, fields, context);
        }
        let filter = self.filter.as_mut();
        let shown = filter.is_none_or(|filter| filter.matches(view, fields, context));
        self.matches += u64::from(shown);
        shown
    }

    /// Returns true if a message cannot be shown or waited for, whatever its fields are.
    pub(crate) fn is_out_of_reach(&self, view: &MessageView<'_>) -> bool {
        self.is_choosy() && self.all().all(|matcher| matcher.is_out_of_reach(view))
    }

    /// Returns true if no message of this direction can be shown or waited for, whatever is in it.
    pub(crate) fn is_beyond(&self, proto: Proto, dir: Dir) -> bool {
        self.is_choosy() && self.all().all(|matcher| matcher.is_beyond(proto, dir))
    }

    fn all(&self) -> impl Iterator<Item = &Matcher> {
        [&self.filter, &self.until].into_iter().flatten()
    }
}
