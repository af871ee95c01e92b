//! A checked rule: its actions, its conditions, and the messages that it can match.

use std::time::Duration;

use teetap_wire::def::{Class, Def, Registry};
use teetap_wire::{Dir, Proto, Side};

use super::expect::Expected;
use super::faults::{By, Decision, Drawn};
use super::greeting::HandshakeEffect;
use super::hit::Hit;
use super::limits::Limits;
use super::window::Window;
use crate::check::ResolvedAction;
use crate::filter::Filter;
use crate::proto_dirs::ProtoDirs;
use crate::span::Span;
use crate::syntax::Action;
use crate::verdict::PacketKind;

/// Names and text of a rule.
pub(super) struct Label {
    /// Name of the rule. For a rule without a name, its text, followed by the number of the occurrence if it is not the
    /// first.
    pub(super) identity: Box<str>,
    /// Name of the rule; `None` if the text identifies it.
    pub(super) name: Option<Box<str>>,
    /// Text without the name, in its canonical form.
    pub(super) text: Box<str>,
    /// Hash of the identity.
    pub(super) hash: u64,
    /// Span in the text.
    pub(super) span: Span,
}

/// Actions of a rule, and the messages on which they run.
pub(super) struct RuleActions {
    /// Actions as written.
    pub(super) written: Vec<Action>,
    pub(super) resolved: Vec<ResolvedAction>,
    /// Actions that also run on retransmissions.
    pub(super) on_copies: Vec<ResolvedAction>,
    /// Actions that also run on later parts of a snapshot that the rule has decided about.
    pub(super) on_parts: Vec<ResolvedAction>,
    /// True if retransmissions of a message on which the rule acted are handled differently from others.
    pub(super) repeats_act: bool,
    /// True if the actions change snapshot items, so that they run on messages that complete a snapshot.
    pub(super) sets_items: bool,
    /// True if the actions change no message and no sequence number.
    pub(super) is_passive: bool,
    /// True if an action is a fault or a change of the traffic.
    pub(super) is_fault: bool,
}

impl RuleActions {
    /// Returns the actions as `written`, and `resolved` with the condition of the rule.
    pub(super) fn new(written: Vec<Action>, resolved: Vec<ResolvedAction>) -> Self {
        let chosen = |wanted: fn(&ResolvedAction) -> bool| {
            let found = resolved.iter().filter(|action| wanted(action));
            found.cloned().collect()
        };
        let is_passive = written.iter().all(Action::is_passive);
        let acts_on_copies = |action: &ResolvedAction| action.runs_on_copies() || action.ends();
        Self {
            on_copies: chosen(ResolvedAction::runs_on_copies),
            on_parts: chosen(ResolvedAction::covers_parts),
            repeats_act: !is_passive && resolved.iter().any(acts_on_copies),
            sets_items: resolved.iter().any(ResolvedAction::sets_items),
            is_passive,
            is_fault: written.iter().any(Action::is_fault),
            written,
            resolved,
        }
    }

    /// Returns true if `wanted` returns true for an action.
    pub(super) fn any(&self, wanted: impl Fn(&Action) -> bool) -> bool {
        self.written.iter().any(wanted)
    }

    /// Returns the number of copies of a control message that the actions suppress; `None` if they suppress none.
    pub(super) fn lost_copies(&self, form: PacketKind) -> Option<u32> {
        if !matches!(form, PacketKind::Control(_)) {
            return None;
        }
        self.written.iter().find_map(|action| match action {
            Action::Lose { times } => Some(*times),
            _ => None,
        })
    }
}

/// Protocols and directions in which a rule can match messages, by their form.
pub(super) struct RuleReach {
    /// Directions of messages of any form.
    pub(super) any: ProtoDirs,
    /// Directions of chunks.
    pub(super) chunks: ProtoDirs,
    /// Directions of control messages, if the actions of the rule can act on them.
    pub(super) control: ProtoDirs,
    /// Directions of messages outside a connection, if the actions of the rule can act on them.
    pub(super) connless: ProtoDirs,
    /// True if the condition names the leg of control messages.
    pub(super) names_leg: bool,
}

impl RuleReach {
    /// Returns true if the rule can match a message of this form. Without `leg` in its condition, it matches control
    /// messages on the client leg.
    pub(super) fn includes(&self, proto: Proto, dir: Dir, form: PacketKind) -> bool {
        match form {
            PacketKind::Chunk => self.chunks.contains(proto, dir),
            PacketKind::Control(leg) => {
                (self.names_leg || leg == Side::Client) && self.control.contains(proto, dir)
            }
            PacketKind::Connless => self.connless.contains(proto, dir),
        }
    }
}

/// A checked rule.
pub(super) struct Rule {
    pub(super) label: Label,
    pub(super) actions: RuleActions,
    pub(super) when: Filter,
    pub(super) window: Window,
    /// Condition that releases held messages.
    pub(super) release: Option<Filter>,
    /// Expected messages, one for each `expect`.
    pub(super) expects: Box<[Expected]>,
    /// True for a rule without a condition and an interval: it expects messages from the start of a session.
    pub(super) starts: bool,
    /// Interval of a rule without a condition.
    pub(super) timer: Option<Duration>,
    pub(super) limits: Limits,
    /// True if all sessions share its counts.
    pub(super) is_global: bool,
    pub(super) reach: RuleReach,
    /// Effect of the rule on CONNECT and its reply.
    pub(super) greeting: HandshakeEffect,
}

impl Rule {
    /// Returns the decision for a hit on the message with this name and number.
    pub(super) fn decision(
        &self,
        hit: Hit,
        dir: Option<Dir>,
        (message, ordinal): (&str, u64),
        drawn: Drawn,
    ) -> Decision {
        let actions: Vec<String> = self.actions.written.iter().map(ToString::to_string).collect();
        Decision {
            at: hit.at,
            session: hit.session,
            dir,
            by: By::Rule {
                rule: self.label.identity.clone(),
                message: message.into(),
                ordinal,
                actions: actions.join(", ").into(),
                drawn,
            },
        }
    }

    /// Returns true if the rule makes random decisions.
    pub(super) fn draws(&self) -> bool {
        self.limits.chance.is_some() || self.actions.any(Action::draws)
    }

    /// Returns true if the decision about a part of a snapshot applies to later parts.
    pub(super) const fn covers_parts(&self) -> bool {
        !self.actions.is_passive || self.limits.chance.is_some()
    }

    /// Returns all its conditions.
    pub(super) fn filters(&self) -> impl Iterator<Item = &Filter> {
        std::iter::once(&self.when).chain(self.others())
    }

    /// Returns its conditions about messages other than the messages that it acts on.
    pub(super) fn others(&self) -> impl Iterator<Item = &Filter> {
        let expects = self.expects.iter().map(|expected| &expected.filter);
        self.window.filters().chain(&self.release).chain(expects)
    }

    /// Returns true if a message may match one of its conditions, or may change their memory. Always returns true for
    /// messages outside of chunks, which are rare.
    pub(super) fn concerns(&self, proto: Proto, dir: Dir, class: Class, def: Option<&Def>) -> bool {
        matches!(class, Class::Control | Class::Connless)
            || self
                .filters()
                .any(|filter| filter.concerns(proto, dir, class, def))
    }

    /// Returns true if the rule can act on a control message, or a control message can match another condition or
    /// change the memory.
    pub(super) fn sees_control(&self, registry: &Registry) -> bool {
        !self.reach.control.is_empty()
            || self.when.keeps(registry, Class::Control)
            || self.others().any(|other| other.sees(registry, Class::Control))
    }

    /// Returns true if messages in this direction change the memory of the rule.
    pub(super) fn listens(&self, registry: &Registry, proto: Proto, dir: Dir) -> bool {
        self.filters()
            .any(|filter| filter.remembers_in(registry, proto, dir))
            || self
                .others()
                .any(|other| other.usual_reach(registry).dir(proto, dir))
    }
}
