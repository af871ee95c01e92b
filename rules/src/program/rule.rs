//! A checked rule: its actions, its conditions, and the messages that it can match.

use std::time::Duration;

use teetap_wire::def::{Class, Def, Registry};
use teetap_wire::{Dir, Proto, Side};

use super::expect::Expected;
use super::faults::{By, Decision, Drawn};
use super::greeting::Greeting;
use super::hit::Hit;
use super::limits::Limits;
use super::window::Window;
use crate::check::Deed;
use crate::filter::Filter;
use crate::span::Span;
use crate::syntax::Action;
use crate::verdict::Form;

/// A checked rule.
pub(super) struct Rule {
    /// The name, or else the text, followed by its occurrence if it is not the first with that text.
    pub(super) identity: Box<str>,
    /// The name; `None` if the text identifies it.
    pub(super) name: Option<Box<str>>,
    /// The text without the name, in a canonical form.
    pub(super) text: Box<str>,
    /// The hash of the identity.
    pub(super) hash: u64,
    /// The place in the text.
    pub(super) span: Span,
    /// The actions as written.
    pub(super) actions: Vec<Action>,
    pub(super) deeds: Vec<Deed>,
    /// The deeds that also run on retransmissions.
    pub(super) on_copies: Vec<Deed>,
    /// True if a retransmission of a message on which it acted is treated in another way than one of other messages.
    pub(super) repeats_act: bool,
    /// The deeds that also run on later parts of a snapshot about which the rule has decided.
    pub(super) on_parts: Vec<Deed>,
    /// True if it changes items of snapshots: it acts on messages that complete one.
    pub(super) sets_items: bool,
    pub(super) when: Filter,
    pub(super) window: Window,
    /// The condition that releases what it holds.
    pub(super) release: Option<Filter>,
    /// The messages that it expects, one for each `expect`.
    pub(super) expects: Box<[Expected]>,
    /// True if it changes no message and no number.
    pub(super) is_passive: bool,
    /// True if one of its actions is a fault or a change of the traffic.
    pub(super) is_fault: bool,
    /// The time between two actions of a rule without a condition.
    pub(super) timer: Option<Duration>,
    pub(super) limits: Limits,
    /// True if its counts are those of all sessions together.
    pub(super) is_global: bool,
    /// The protocols and directions in which it can match.
    pub(super) reach: Vec<(Proto, Dir)>,
    /// The same for chunks.
    pub(super) chunks: Vec<(Proto, Dir)>,
    /// The same for control messages, if its actions can act on them.
    pub(super) control: Vec<(Proto, Dir)>,
    /// The action of the rule on CONNECT and its answer.
    pub(super) greeting: Greeting,
    /// The same as `control` for messages outside a connection.
    pub(super) connless: Vec<(Proto, Dir)>,
    /// True if its condition says which leg a control message belongs to.
    pub(super) names_leg: bool,
}

impl Rule {
    /// Returns true if it can match a chunk of this direction.
    pub(super) fn reaches(&self, proto: Proto, dir: Dir) -> bool {
        self.chunks.contains(&(proto, dir))
    }

    /// Returns true if it can match a message of this form. Without `leg` in its condition it matches control messages
    /// on the leg to the client.
    pub(super) fn takes(&self, proto: Proto, dir: Dir, form: Form) -> bool {
        match form {
            Form::Chunk => self.reaches(proto, dir),
            Form::Control(leg) => {
                (self.names_leg || leg == Side::Client) && self.control.contains(&(proto, dir))
            }
            Form::Connless => self.connless.contains(&(proto, dir)),
        }
    }

    /// Returns true if it can match a message of this direction in any protocol.
    pub(super) fn reaches_dir(&self, dir: Dir) -> bool {
        self.reach.iter().any(|(_, of)| *of == dir)
    }

    /// Returns the decision of a hit: on the message of this name and number.
    pub(super) fn decision(
        &self,
        hit: Hit,
        dir: Option<Dir>,
        (message, ordinal): (&str, u64),
        drawn: Drawn,
    ) -> Decision {
        let actions: Vec<String> = self.actions.iter().map(ToString::to_string).collect();
        Decision {
            at: hit.at,
            session: hit.session,
            dir,
            by: By::Rule {
                rule: self.identity.clone(),
                message: message.into(),
                ordinal,
                actions: actions.join(", ").into(),
                drawn,
            },
        }
    }

    /// Returns true if it makes random decisions.
    pub(super) fn draws(&self) -> bool {
        self.limits.chance.is_some() || self.actions.iter().any(Action::draws)
    }

    /// Returns the number of copies of a control message that it suppresses; `None` if it suppresses none.
    pub(super) fn lost_copies(&self, form: Form) -> Option<u32> {
        if !matches!(form, Form::Control(_)) {
            return None;
        }
        self.actions.iter().find_map(|action| match action {
            Action::Lose { times } => Some(*times),
            _ => None,
        })
    }

    /// Returns true if its decision about a part of a snapshot is that about the parts that follow.
    pub(super) const fn covers_parts(&self) -> bool {
        !self.is_passive || self.limits.chance.is_some()
    }

    /// Returns all its conditions.
    pub(super) fn filters(&self) -> impl Iterator<Item = &Filter> {
        std::iter::once(&self.when).chain(self.others())
    }

    /// Returns its conditions on other messages than those that it acts on.
    pub(super) fn others(&self) -> impl Iterator<Item = &Filter> {
        let expects = self.expects.iter().map(|expected| &expected.filter);
        self.window.filters().chain(&self.release).chain(expects)
    }

    /// Returns true if a message may match one of its conditions, or may change what they remember. Messages outside of
    /// chunks are few, and concern every rule.
    pub(super) fn concerns(&self, proto: Proto, dir: Dir, class: Class, def: Option<&Def>) -> bool {
        matches!(class, Class::Control | Class::Connless)
            || self
                .filters()
                .any(|filter| filter.concerns(proto, dir, class, def))
    }

    /// Returns true if it can act on a control message, or one matches another of its conditions or is remembered.
    pub(super) fn sees_control(&self, registry: &Registry) -> bool {
        !self.control.is_empty()
            || self.when.keeps(registry, Class::Control)
            || self.others().any(|other| other.sees(registry, Class::Control))
    }

    /// Returns true if messages of this direction change what it remembers.
    pub(super) fn listens(&self, registry: &Registry, proto: Proto, dir: Dir) -> bool {
        self.filters()
            .any(|filter| filter.remembers_in(registry, proto, dir))
            || self
                .others()
                .any(|other| other.usual_reach(registry).dir(proto, dir))
    }
}
