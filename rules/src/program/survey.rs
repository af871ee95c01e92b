//! Finds the messages that the rules and windows of link lines of a program need.

use teetap_wire::def::{Class, Def, Registry};
use teetap_wire::{Dir, Proto};

use super::interest::Interest;
use super::rule::Rule;
use super::window::LineWindow;
use crate::context::{Names, Needs, Players, Stores};
use crate::filter::Filter;
use crate::proto_dirs::ProtoDirs;

/// Parts of a program that need messages.
pub(super) struct Survey<'a> {
    pub(super) rules: &'a [Rule],
    pub(super) windows: &'a [LineWindow],
    pub(super) stores: &'a Stores,
    pub(super) registry: &'static Registry,
}

impl Survey<'_> {
    fn filters(&self) -> impl Iterator<Item = &Filter> {
        let of_lines = self.windows.iter().flat_map(LineWindow::filters);
        self.rules.iter().flat_map(Rule::filters).chain(of_lines)
    }

    /// Returns true if `needs` returns true for a condition.
    fn any(&self, needs: fn(&Filter) -> bool) -> bool {
        self.filters().any(needs)
    }

    /// Returns true if a condition of a link line's window may match messages of this class.
    fn sees(&self, class: Class) -> bool {
        self.windows
            .iter()
            .any(|window| window.sees(self.registry, class))
    }

    /// Returns true if a rule expects messages.
    pub(super) fn expects(&self) -> bool {
        self.rules.iter().any(|rule| !rule.expects.is_empty())
    }

    /// Returns the messages and facts that the program needs, given the `needs` of its conditions.
    pub(super) fn interest(&self, needs: Needs) -> Interest {
        let any_rule = |has: &dyn Fn(&Rule) -> bool| self.rules.iter().any(has);
        Interest {
            acts: self.acts(),
            observes: self.observes(needs),
            repeats: self.repeats(),
            snapshots: self.snapshots(),
            controls: any_rule(&|rule| rule.sees_control(self.registry)) || self.sees(Class::Control),
            decides_alone: !self.expects() && any_rule(&|rule| rule.greeting.is_alone()),
            browses: any_rule(&|rule| !rule.reach.connless.is_empty()) || self.sees(Class::Connless),
            measures: self.any(Filter::needs_trips),
            inspects: self.any(Filter::needs_notes),
        }
    }

    /// Returns the parts of a session's context that conditions need.
    pub(super) fn needs(&self) -> Needs {
        let is_snapshot = |proto, dir, def: &Def| dir == Dir::S2c && self.stores.follows(proto, dir, def);
        // Oddities of a snapshot can only be found if all snapshots are decoded.
        let reads_snapshots = |when: &Filter| {
            when.needs_snapshots() || when.needs_notes() && when.may_match(self.registry, is_snapshot)
        };
        Needs {
            snapshots: self.filters().any(reads_snapshots)
                || self.rules.iter().any(|rule| rule.actions.sets_items),
            names: if self.any(Filter::needs_players) {
                Names::All
            } else {
                Names::None
            },
        }
    }

    /// Returns the protocols and directions in which a rule that changes something can match.
    fn acts(&self) -> ProtoDirs {
        ProtoDirs::from_fn(|proto, dir| {
            let mut active = self.rules.iter().filter(|rule| !rule.actions.is_passive);
            active.any(|rule| rule.reach.chunks.contains(proto, dir))
        })
    }

    /// Returns the protocols and directions in which a rule changes items of snapshots.
    fn snapshots(&self) -> ProtoDirs {
        ProtoDirs::from_fn(|proto, dir| {
            let mut changing = self.rules.iter().filter(|rule| rule.actions.sets_items);
            dir == Dir::S2c && changing.any(|rule| rule.reach.chunks.contains(proto, dir))
        })
    }

    /// Returns the protocols and directions in which a rule handles further copies.
    fn repeats(&self) -> ProtoDirs {
        ProtoDirs::from_fn(|proto, dir| {
            let mut looking = self
                .rules
                .iter()
                .filter(|rule| !rule.actions.on_copies.is_empty());
            looking.any(|rule| {
                let mut expects = rule.expects.iter();
                rule.reach.chunks.contains(proto, dir)
                    || expects.any(|expected| expected.filter.usual_reach(self.registry).dir(proto, dir))
            })
        })
    }

    /// Returns the protocols and directions in which a rule can match, or in which messages change the memory of
    /// rules or the context.
    fn observes(&self, needs: Needs) -> ProtoDirs {
        let learns = |proto: Proto, dir, def: &Def| {
            needs.names != Names::None && Players::learns_from(dir, def)
                || needs.follows(proto) && self.stores.follows(proto, dir, def)
        };
        let has_timers = self.rules.iter().any(|rule| rule.timer.is_some());
        let registry = self.registry;
        ProtoDirs::from_fn(|proto, dir| {
            self.rules.iter().any(|rule| rule.reach.chunks.contains(proto, dir))
                // Timers start when the game begins.
                || has_timers && dir == Dir::C2s
                || registry.defs(proto.into()).any(|def| learns(proto, dir, def))
                || self.rules.iter().any(|rule| rule.listens(registry, proto, dir))
                || self.windows.iter().any(|window| window.listens(registry, proto, dir))
        })
    }
}
