//! The filters: the messages that are shown, those that end the run, and the knowledge that both need.

use teetap_proxy::session::{SessionId, State};
use teetap_rules::{
    Filter,
    context::{Context, MessageView, Names, Needs, Stores},
    eval::Lazy,
};
use teetap_wire::{Dir, Proto, def::Registry};

use crate::{EndingBy, matcher::Matcher};

/// The filters.
#[derive(Default)]
pub(crate) struct Select {
    filter: Option<Matcher>,
    until: Option<Matcher>,
    fail_on: Option<Matcher>,
    /// The expression that has matched first.
    pub(crate) ended: Option<EndingBy>,
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

    pub(crate) fn fail_on(&mut self, filter: Filter) {
        self.fail_on = Some(Matcher::new(filter));
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
        for matcher in self.all_mut() {
            matcher.on_session(session, state);
        }
    }

    /// Another run begins, with sessions of its own.
    pub(crate) fn restart(&mut self) {
        for matcher in self.all_mut() {
            matcher.restart();
        }
    }

    /// Asks the filters about a message; returns true if it is shown.
    pub(crate) fn decide(&mut self, view: &MessageView<'_>, fields: &Lazy<'_>, context: &Context) -> bool {
        // A message that must not come counts first.
        let enders = [
            (EndingBy::FailOn, &mut self.fail_on),
            (EndingBy::Until, &mut self.until),
        ];
        for (by, matcher) in enders {
            let matches = matcher
                .as_mut()
                .is_some_and(|matcher| matcher.matches(view, fields, context));
            if matches && self.ended.is_none() {
                self.ended = Some(by);
            }
        }
        let filter = self.filter.as_mut();
        let shown = filter.is_none_or(|filter| filter.matches(view, fields, context));
        self.matches += u64::from(shown);
        shown
    }

    /// Returns true if a message can neither be shown nor end the run, whatever its fields are.
    pub(crate) fn is_out_of_reach(&self, view: &MessageView<'_>) -> bool {
        self.is_choosy() && self.all().all(|matcher| matcher.is_out_of_reach(view))
    }

    /// Returns true if no message of this direction can be shown or end the run, whatever is in it.
    pub(crate) fn is_beyond(&self, proto: Proto, dir: Dir) -> bool {
        self.is_choosy() && self.all().all(|matcher| matcher.is_beyond(proto, dir))
    }

    fn all(&self) -> impl Iterator<Item = &Matcher> {
        [&self.filter, &self.until, &self.fail_on].into_iter().flatten()
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut Matcher> {
        [&mut self.filter, &mut self.until, &mut self.fail_on]
            .into_iter()
            .flatten()
    }
}
