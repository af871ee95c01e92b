//! Windows: the time between two messages in which a rule or a link line acts.
//!
//! Law: the first message that matches `after` opens a window. The first message that matches `until` ends it
//! permanently, even before it has opened. Neither message is in the window.

use teetap_wire::def::{Class, Def, Registry};
use teetap_wire::{Dir, Proto, Side};

use crate::eval::{Facts, Memory};
use crate::filter::Filter;
use crate::verdict::PacketKind;

/// Conditions of a window.
#[derive(Default)]
pub(super) struct Window {
    /// Condition that opens the window; `None` if it is open from the beginning of the session.
    pub(super) after: Option<Filter>,
    /// Condition that ends the window.
    pub(super) until: Option<Filter>,
}

/// The window of a link line.
pub(super) struct LineWindow {
    /// Index of the line in its program.
    pub(super) line: u16,
    /// Identity of the line.
    pub(super) identity: Box<str>,
    pub(super) window: Window,
}

/// State of a window in one session.
#[derive(Debug, Default)]
pub(super) struct Latches {
    after: Latch,
    until: Latch,
}

/// Whether an expression has held for a message.
#[derive(Debug, Default)]
struct Latch {
    held: bool,
    memory: Memory,
}

impl Window {
    /// Returns true if the window is open during the whole session.
    pub(super) const fn is_always(&self) -> bool {
        self.after.is_none() && self.until.is_none()
    }

    /// Returns the conditions of the window.
    pub(super) fn filters(&self) -> impl Iterator<Item = &Filter> {
        [&self.after, &self.until].into_iter().flatten()
    }
}

impl LineWindow {
    /// Returns the conditions of the window.
    pub(super) fn filters(&self) -> impl Iterator<Item = &Filter> {
        self.window.filters()
    }

    /// Returns true if a message may match one of the conditions, or may change their memory.
    pub(super) fn concerns(&self, proto: Proto, dir: Dir, class: Class, def: Option<&Def>) -> bool {
        self.filters()
            .any(|filter| filter.concerns(proto, dir, class, def))
    }

    /// Returns true if chunks in this direction can open or end the window.
    pub(super) fn listens(&self, registry: &Registry, proto: Proto, dir: Dir) -> bool {
        self.filters().any(|filter| {
            let reach = filter.usual_reach(registry);
            let mut chunks = [Class::System, Class::Game].into_iter();
            filter.remembers_in(registry, proto, dir) || chunks.any(|class| reach.class(proto, dir, class))
        })
    }

    /// Returns true if messages of this class can open or end the window.
    pub(super) fn sees(&self, registry: &Registry, class: Class) -> bool {
        self.filters().any(|filter| filter.sees(registry, class))
    }

    /// Observes a message. A message on the server leg counts only if a condition names its leg, since the client leg
    /// has the same message.
    pub(super) fn observe(&self, latches: &mut Latches, form: PacketKind, facts: &impl Facts) {
        if form != PacketKind::Control(Side::Server) || self.filters().any(Filter::needs_leg) {
            latches.observe(&self.window, facts);
        }
    }
}

impl Latches {
    pub(super) fn new(window: &Window) -> Self {
        Self {
            after: Latch::new(window.after.as_ref()),
            until: Latch::new(window.until.as_ref()),
        }
    }

    /// Returns the state to keep when a window changes from `from` to `to`. Conditions that differ are reset.
    pub(super) fn carried(self, from: &Window, to: &Window) -> Self {
        Self {
            after: self.after.carried(from.after.as_ref(), to.after.as_ref()),
            until: self.until.carried(from.until.as_ref(), to.until.as_ref()),
        }
    }

    /// Observes a message. Returns true if it is in the window.
    pub(super) fn observe(&mut self, window: &Window, facts: &impl Facts) -> bool {
        let has_ended = window
            .until
            .as_ref()
            .is_some_and(|until| self.until.observe(until, facts));
        let has_begun = self.after.held || window.after.is_none();
        if let Some(after) = &window.after {
            self.after.observe(after, facts);
        }
        has_begun && !has_ended
    }

    /// Returns true if the window is open after the last message.
    pub(super) const fn is_open(&self, window: &Window) -> bool {
        (self.after.held || window.after.is_none()) && !self.until.held
    }
}

impl Latch {
    fn new(expr: Option<&Filter>) -> Self {
        Self {
            held: false,
            memory: expr.map(Filter::memory).unwrap_or_default(),
        }
    }

    fn carried(self, from: Option<&Filter>, to: Option<&Filter>) -> Self {
        let is_same = match (from, to) {
            (Some(from), Some(to)) => from.remembers_like(to),
            (from, to) => from.is_none() && to.is_none(),
        };
        if is_same { self } else { Self::new(to) }
    }

    /// Observes a message. Returns true if the expression has held for this or an earlier message.
    fn observe(&mut self, expr: &Filter, facts: &impl Facts) -> bool {
        if !self.held {
            self.held = expr.matches(facts, &mut self.memory) == Some(true);
        }
        self.held
    }
}
