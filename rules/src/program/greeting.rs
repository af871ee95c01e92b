//! Rules that can change CONNECT or its reply.
//!
//! Law: while there is no room for a session, the proxy answers a CONNECT without one. A rule about this CONNECT must
//! then decide as in a new session, only from the message and a draw. A rule that needs more prevents such answers.

use teetap_wire::def::{Class, Def, Id, Registry};
use teetap_wire::{Dir, Proto};

use super::limits::Limits;
use super::window::Window;
use crate::filter::Filter;
use crate::proto_dirs::ProtoDirs;
use crate::syntax::{Action, Path};

/// Ids of CONNECT and its reply in 0.6.
const IDS: [(Dir, i32); 2] = [(Dir::C2s, 1), (Dir::S2c, 2)];

/// Effect of a rule on CONNECT and its reply.
#[derive(Debug, Default)]
pub(super) struct HandshakeEffect {
    /// Protocols and directions in which the rule can change them.
    places: ProtoDirs,
    /// True if the rule decides without the memory of a session, and only drops or passes.
    pub(super) is_simple: bool,
}

impl HandshakeEffect {
    /// Returns the effect of a rule on CONNECT and its reply, given the control messages that it matches.
    pub(super) fn new(
        (actions, when): (&[Action], &Filter),
        (limits, window): (&Limits, &Window),
        control: ProtoDirs,
        registry: &Registry,
    ) -> Self {
        if !actions.iter().any(Action::is_fault) {
            return Self::default();
        }
        let may_change = |proto, dir| {
            let is_greeting = |def: &Def| {
                let mut ids = IDS.into_iter();
                def.class == Class::Control && ids.any(|(of, id)| of == dir && def.id == Id::Number(id))
            };
            when.may_match(registry, |at, towards, def| {
                (at, towards) == (proto, dir) && is_greeting(def)
            })
        };
        let drops = |action: &Action| {
            matches!(
                action,
                Action::Drop | Action::Pass | Action::Log(_) | Action::Mark(_)
            )
        };
        let chance = Limits {
            chance: None,
            ..*limits
        };
        // All other values that a condition can read may depend on the session.
        let is_of_message = |path: &Path| {
            let is_message = |name: &str| {
                let mut protos = Proto::ALL.into_iter();
                protos.any(|proto| registry.named(proto, None, name).next().is_some())
            };
            let is_place = ["c2s", "s2c", "control", "leg"]
                .iter()
                .any(|name| path.starts(name));
            let mut segments = path.segments.iter();
            !path.dot
                && path.segments.len() == 1
                && (is_place || segments.any(|segment| is_message(&segment.name.text)))
        };
        Self {
            places: ProtoDirs::from_fn(|proto, dir| control.contains(proto, dir) && may_change(proto, dir)),
            is_simple: actions.iter().all(drops)
                && chance.is_unlimited()
                && window.is_always()
                && !when.remembers()
                && !when.needs_history()
                && !when.expr().mentions(&|path| !is_of_message(path)),
        }
    }

    /// Returns true if the rule can change a CONNECT of one protocol, or its reply in another.
    pub(super) fn may_change(&self, requested: Proto, answered: Proto) -> bool {
        self.places.contains(requested, Dir::C2s) || self.places.contains(answered, Dir::S2c)
    }

    /// Returns true if the rule needs a session for each CONNECT, so that a flood can keep clients out.
    pub(super) const fn needs_session(&self) -> bool {
        !self.is_simple && !self.places.is_empty()
    }

    /// Returns true if the rule decides about CONNECT or its reply without a session.
    pub(super) const fn is_alone(&self) -> bool {
        self.is_simple && !self.places.is_empty()
    }
}
