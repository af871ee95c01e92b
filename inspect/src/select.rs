//! The filters of a run (shown messages, messages that end the run, subscribers), and the session state that they need.

use teetap_proxy::session::{SessionId, State};
use teetap_rules::{
    Filter,
    context::{Context, MessageView, Names, Needs, Stores},
    eval::Lazy,
};
use teetap_wire::{Dir, Proto, def::Registry};

use crate::{EndingBy, matcher::Matcher, subscribers::Slot};

/// The filters of a run and of its subscribers.
#[derive(Default)]
pub(crate) struct Select {
    filter: Option<Matcher>,
    until: Option<Matcher>,
    fail_on: Option<Matcher>,
    /// Filters that let a flight recorder write a file.
    save_on: Vec<Matcher>,
    /// Number of messages that matched one of them.
    pub(crate) saves: u64,
    /// The filter that first ended the run.
    pub(crate) ended: Option<EndingBy>,
    /// Number of messages that passed the filter.
    pub(crate) matches: u64,
    subscribers: Vec<Subscriber>,
}

/// A watcher with its own filter.
struct Subscriber {
    slot: Slot,
    /// The filter; `None` if the subscriber wants all messages.
    wanted: Option<Matcher>,
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

    pub(crate) fn save_on(&mut self, filters: Vec<Filter>) {
        self.save_on = filters.into_iter().map(Matcher::new).collect();
    }

    /// Sets the filters of the subscribers. Filters that were set before keep their memory.
    pub(crate) fn subscribe(&mut self, filters: Vec<(Slot, Option<Filter>)>) {
        let mut before = std::mem::take(&mut self.subscribers);
        self.subscribers = filters
            .into_iter()
            .map(|(slot, filter)| {
                let same = before.iter().position(|one| one.slot == slot);
                same.map(|at| before.swap_remove(at))
                    .unwrap_or_else(|| Subscriber {
                        slot,
                        wanted: filter.map(Matcher::new),
                    })
            })
            .collect();
    }

    /// Returns true if there is a subscriber.
    pub(crate) const fn has_subscribers(&self) -> bool {
        !self.subscribers.is_empty()
    }

    /// Returns the bitmask of the subscribers that want all messages.
    pub(crate) fn insatiable(&self) -> u64 {
        let all = self.subscribers.iter().filter(|one| one.wanted.is_none());
        all.fold(0, |slots, one| slots | one.slot.bit())
    }

    /// Returns the bitmask of the subscribers that want this message.
    pub(crate) fn subscribed(&mut self, view: &MessageView<'_>, fields: &Lazy<'_>, context: &Context) -> u64 {
        let mut slots = 0;
        for one in &mut self.subscribers {
            let wanted = one.wanted.as_mut();
            if wanted.is_none_or(|wanted| wanted.matches(view, fields, context)) {
                slots |= one.slot.bit();
            }
        }
        slots
    }

    /// Returns true if the run or a subscriber shows all messages.
    fn shows_all(&self) -> bool {
        !self.is_choosy() || self.insatiable() != 0
    }

    /// Returns true if everything has to be read: all messages are shown, or a filter uses notes, some of which depend
    /// on several datagrams.
    pub(crate) fn reads_all(&self) -> bool {
        self.shows_all() || self.all().any(Matcher::reads_notes)
    }

    /// Returns true if there is a filter.
    pub(crate) const fn is_choosy(&self) -> bool {
        self.filter.is_some()
    }

    /// Returns the session state that the filters need. `gists` and `sessions` are true if gists or session lines are
    /// shown, which contain player names.
    pub(crate) fn needs(&self, gists: bool, sessions: bool, stores: &Stores, registry: &Registry) -> Needs {
        let Some(filter) = self.filter.as_ref().filter(|_| !self.shows_all()) else {
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

    /// Records a state change of a session.
    pub(crate) fn on_session(&mut self, session: SessionId, state: State) {
        for matcher in self.all_mut() {
            matcher.on_session(session, state);
        }
    }

    /// Resets the memory of all filters, because another run begins.
    pub(crate) fn restart(&mut self) {
        for matcher in self.all_mut() {
            matcher.restart();
        }
    }

    /// Evaluates the filters on a message. Returns true if it is shown.
    pub(crate) fn decide(&mut self, view: &MessageView<'_>, fields: &Lazy<'_>, context: &Context) -> bool {
        // `--fail-on` takes precedence if a message matches both filters.
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
        let mut saves = false;
        for matcher in &mut self.save_on {
            // Filters with a memory are evaluated on every message.
            saves |= matcher.matches(view, fields, context);
        }
        self.saves += u64::from(saves);
        let filter = self.filter.as_mut();
        let shown = filter.is_none_or(|filter| filter.matches(view, fields, context));
        self.matches += u64::from(shown);
        shown
    }

    /// Returns true if the filter of the run, or of one of these subscribers, uses notes.
    pub(crate) fn reads_notes(&self, slots: u64) -> bool {
        let subscribers = self.subscribers.iter().filter(|one| slots & one.slot.bit() != 0);
        let wanted = subscribers.filter_map(|one| one.wanted.as_ref());
        self.filter.iter().chain(wanted).any(Matcher::reads_notes)
    }

    /// Returns true if a message can neither be shown nor end the run, regardless of its fields.
    pub(crate) fn is_out_of_reach(&self, view: &MessageView<'_>) -> bool {
        !self.shows_all() && self.all().all(|matcher| matcher.is_out_of_reach(view))
    }

    /// Returns true if no message of this protocol and direction can be shown or end the run.
    pub(crate) fn is_beyond(&self, proto: Proto, dir: Dir) -> bool {
        !self.shows_all() && self.all().all(|matcher| matcher.is_beyond(proto, dir))
    }

    fn all(&self) -> impl Iterator<Item = &Matcher> {
        let own = [&self.filter, &self.until, &self.fail_on].into_iter();
        own.chain(self.subscribers.iter().map(|one| &one.wanted))
            .flatten()
            .chain(&self.save_on)
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut Matcher> {
        let own = [&mut self.filter, &mut self.until, &mut self.fail_on].into_iter();
        own.chain(self.subscribers.iter_mut().map(|one| &mut one.wanted))
            .flatten()
            .chain(&mut self.save_on)
    }
}
