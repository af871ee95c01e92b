//! The filters: what is shown, what is waited for, and what has to be followed for that.

use teetap_proxy::session::{SessionId, State};
use teetap_rules::{
    Filter,
    context::{Context, MessageView, Names, Needs, Stores},
    eval::Lazy,
};
use teetap_wire::{Dir, Proto, def::Registry};

use crate::{matcher::Matcher, teller::Form};

/// The filters.
#[derive(Default)]
pub(crate) struct Judge {
    filter: Option<Matcher>,
    until: Option<Matcher>,
    /// What was waited for has come.
    pub(crate) reached: bool,
    /// How many messages were to be shown.
    pub(crate) matches: u64,
}

impl Judge {
    pub(crate) fn show_only(&mut self, filter: Filter) {
        self.filter = Some(Matcher::new(filter));
    }

    pub(crate) fn look_out_for(&mut self, filter: Filter) {
        self.until = Some(Matcher::new(filter));
    }

    /// Whether what is waited for has not come.
    pub(crate) fn waits(&self) -> bool {
        self.until.is_some() && !self.reached
    }

    /// Whether only some messages are shown.
    pub(crate) fn is_choosy(&self) -> bool {
        self.filter.is_some()
    }

    /// For what is shown in this form, with sessions or without.
    pub(crate) fn needs(&self, form: Form, sessions: bool, stores: &Stores, registry: &Registry) -> Needs {
        let Some(filter) = &self.filter else {
            return Needs::ALL;
        };
        let asks = |matcher: &Matcher| matcher.asks_about(stores, registry);
        let names = match form {
            _ if self.all().any(Matcher::asks_for_players) => Names::All,
            Form::Gist if filter.may_show_players(registry) => Names::All,
            Form::Json if sessions => Names::Own,
            Form::Gist | Form::Json => Names::None,
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

    /// Another run begins, whose sessions are others.
    pub(crate) fn restart(&mut self) {
        for matcher in [&mut self.filter, &mut self.until].into_iter().flatten() {
            matcher.restart();
        }
    }

    /// Asks the filters; whether the message is to be shown.
    pub(crate) fn decide(&mut self, view: &MessageView<'_>, fields: &Lazy<'_>, context: &Context) -> bool {
        if let Some(until) = &mut self.until {
            self.reached |= until.matches(view, fields, context);
        }
        let filter = self.filter.as_mut();
        let shown = filter.is_none_or(|filter| filter.matches(view, fields, context));
        self.matches += u64::from(shown);
        shown
    }

    /// Whether a message cannot be shown, nor be waited for, whatever is in it and whatever was before.
    pub(crate) fn is_out_of_reach(&self, view: &MessageView<'_>) -> bool {
        self.is_choosy() && self.all().all(|matcher| matcher.is_out_of_reach(view))
    }

    /// As [`Self::is_out_of_reach`], of all messages of a direction.
    pub(crate) fn is_beyond(&self, proto: Proto, dir: Dir) -> bool {
        self.is_choosy() && self.all().all(|matcher| matcher.is_beyond(proto, dir))
    }

    fn all(&self) -> impl Iterator<Item = &Matcher> {
        [&self.filter, &self.until].into_iter().flatten()
    }
}
