//! Programs: everything that is to happen to the messages of a run, as one value.
//!
//! A [`Program`] is a text and what it means. It is set once for all sessions and never changes; what its rules
//! remember of a session is a [`Decide`] that it makes for each. The text is kept, so that a log of inputs can hold the
//! program and a replay can compile it again.
//!
//! | module | part |
//! |---|---|
//! | `compile` | text to rules |
//! | `state` | what rules remember of one session, and what they decide |
//! | `facts` | what a rule's condition can ask on the data thread |

mod compile;
mod facts;
mod state;

use std::{fmt, sync::Arc};

use teetap_wire::def::Registry;
use teetap_wire::{Dir, Proto};

use crate::diagnostic::Diagnostic;
use crate::verdict::{Decide, RuleId};

/// A text and what it means. Cheap to clone.
#[derive(Clone)]
pub struct Program {
    source: Arc<str>,
    logic: Arc<dyn Logic>,
}

/// A session whose messages will be decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The seed of the run: every random decision derives from it.
    pub seed: u64,
    /// The number of the session, from 1.
    pub session: u32,
    /// When the session opened, in microseconds since the start of the run.
    pub at: u64,
}

/// The meaning of a program.
///
/// Law: pure. The same logic makes the same decisions about the same messages, whatever the clock and the other
/// sessions do.
pub trait Logic: Send + Sync {
    /// Returns true if a decision in this direction can be anything but to pass, or depends on having seen its
    /// messages. A direction in which nothing acts keeps the numbers of its sender.
    fn acts(&self, proto: Proto, dir: Dir) -> bool;

    /// Makes the state of a session. `before` is the state that another program had of the same session: what its rules
    /// remember may be carried over.
    fn open(self: Arc<Self>, session: Opening, before: Option<Box<dyn Decide>>) -> Box<dyn Decide>;

    /// The name of a rule: its own, else its text.
    fn rule(&self, id: RuleId) -> Option<&str>;
}

impl Program {
    /// A program whose meaning is given. Only that which [`Self::compile`] makes of its text can be replayed.
    pub fn new(source: impl Into<Arc<str>>, logic: impl Logic + 'static) -> Self {
        Self {
            source: source.into(),
            logic: Arc::new(logic),
        }
    }

    /// Compiles rules. Returns warnings and notes beside the program, in the order of the text.
    ///
    /// # Errors
    /// Everything that is wrong with the text, in its order.
    pub fn compile(
        source: &str,
        registry: &'static Registry,
    ) -> Result<(Self, Vec<Diagnostic>), Vec<Diagnostic>> {
        let (rules, diagnostics) = compile::compile(source, registry)?;
        Ok((Self::new(source, rules), diagnostics))
    }

    /// Its text.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// See [`Logic::acts`].
    #[must_use]
    pub fn acts(&self, proto: Proto, dir: Dir) -> bool {
        self.logic.acts(proto, dir)
    }

    /// See [`Logic::open`].
    #[must_use]
    pub fn open(&self, session: Opening, before: Option<Box<dyn Decide>>) -> Box<dyn Decide> {
        Arc::clone(&self.logic).open(session, before)
    }

    /// See [`Logic::rule`].
    #[must_use]
    pub fn rule(&self, id: RuleId) -> Option<&str> {
        self.logic.rule(id)
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Program").field(&self.source).finish()
    }
}
