//! A filter: one expression, ready to be asked about messages.

use std::fmt;

use teetap_wire::def::Registry;

use crate::diagnostic::{Code, Diagnostic, Severity, sort};
use crate::eval::{Facts, Key, Memory, Program, Reach};
use crate::syntax::{Expr, parse};

/// An expression that has been checked.
///
/// It can be shared: what changes from message to message is in the [`Memory`], one for each session.
#[derive(Debug, Clone)]
pub struct Filter {
    expr: Expr,
    program: Program,
    reach: Reach,
}

impl Filter {
    /// Reads and checks an expression. What comes with the filter are warnings and notes, in the order of the text.
    ///
    /// # Errors
    /// Everything that is wrong, in the order of the text.
    pub fn parse(text: &str, registry: &Registry) -> Result<(Self, Vec<Diagnostic>), Vec<Diagnostic>> {
        Self::check(parse(text).map_err(|error| vec![error])?, registry)
    }

    /// Checks an expression that has been read; as [`Self::parse`] does.
    ///
    /// # Errors
    /// Everything that is wrong with it, in the order of the text.
    pub fn check(expr: Expr, registry: &Registry) -> Result<(Self, Vec<Diagnostic>), Vec<Diagnostic>> {
        let (program, mut diagnostics) = crate::check::check(&expr, registry);
        let wrong = |diagnostic: &Diagnostic| diagnostic.severity() == Severity::Error;
        if diagnostics.iter().any(wrong) {
            diagnostics.retain(wrong);
            sort(&mut diagnostics);
            return Err(diagnostics);
        }
        let reach = Reach::new(&program, registry, true);
        if !reach.anything() {
            diagnostics.push(Diagnostic::new(
                Code::NeverMatches,
                expr.span,
                "no message can match this",
            ));
        } else if !Reach::new(&program, registry, false).anything() {
            let what = "only messages sent in the wrong direction can match this";
            diagnostics.push(Diagnostic::new(Code::NeverMatches, expr.span, what));
        }
        sort(&mut diagnostics);
        let filter = Self { expr, program, reach };
        Ok((filter, diagnostics))
    }

    /// The tree.
    #[must_use]
    pub const fn expr(&self) -> &Expr {
        &self.expr
    }

    /// Whether it asks about what is in snapshots (`snap.tick`, `snap.character[3].x`), which needs a caller that follows
    /// them: [`Facts::snap`] and [`Facts::items`].
    #[must_use]
    pub fn needs_snapshots(&self) -> bool {
        self.expr.mentions(&|path| path.begins("snap", |_| true))
    }

    /// Whether it asks what players are called (`sess.name`), which other messages tell: [`Facts::player`].
    #[must_use]
    pub fn needs_players(&self) -> bool {
        let is_name = |name: &str| name.eq_ignore_ascii_case("name");
        self.expr.mentions(&|path| path.begins("sess", is_name))
    }

    /// Returns the messages that can match and go the way that the games send them; those that go the wrong way where
    /// no others can match.
    pub(crate) fn usual_reach(&self, registry: &Registry) -> Reach {
        let usual = Reach::new(&self.program, registry, false);
        if usual.anything() {
            usual
        } else {
            self.reach.clone()
        }
    }

    /// Which messages can match at all.
    #[must_use]
    pub const fn reach(&self) -> &Reach {
        &self.reach
    }

    /// Whether it remembers messages that do not match themselves, and so has to be asked about every message.
    #[must_use]
    pub const fn remembers(&self) -> bool {
        !self.program.forgets()
    }

    /// Whether it asks about what only somebody knows who has seen all messages of a session: since when it is there, its
    /// player, its round trips.
    #[must_use]
    pub fn needs_history(&self) -> bool {
        self.program.needs_history()
    }

    /// What it remembers of a session that begins.
    #[must_use]
    pub fn memory(&self) -> Memory {
        self.program.memory()
    }

    /// Remembers a message without a decision about it.
    pub(crate) fn remember(&self, facts: &impl Facts, memory: &mut Memory) {
        if self.remembers() {
            let key = facts.subject().def.map(|def| Key::new(facts.proto().into(), def));
            self.program.count(facts, key.as_ref(), memory);
            self.program.keep(facts, key.as_ref(), memory);
        }
    }

    /// Whether a message matches. `None` is unknown, and no match. `memory` is that of the message's session.
    ///
    /// `count`, `seen` and `since` include this message; `last` is about the one before it.
    pub fn matches(&self, facts: &impl Facts, memory: &mut Memory) -> Option<bool> {
        let (proto, subject) = (facts.proto(), facts.subject());
        let key = subject.def.map(|def| Key::new(proto.into(), def));
        let reached = self.reach.holds(proto, facts.dir(), subject.class, key.as_ref());
        if self.program.forgets() && !reached {
            return Some(false);
        }
        self.program.count(facts, key.as_ref(), memory);
        let result = if reached {
            self.program.decide(facts, key.as_ref(), memory)
        } else {
            Some(false)
        };
        if result == Some(true) {
            memory.hit();
        }
        self.program.keep(facts, key.as_ref(), memory);
        result
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expr.fmt(f)
    }
}
