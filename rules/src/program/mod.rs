//! Programs: all rules of a run as one value.
//!
//! A [`Program`] is a compiled text. It is set once for all sessions and never changes. For each session it creates a
//! [`Decide`], which contains the memory of its rules about that session. The text is kept, so that an input log can
//! contain the program and a replay can compile it again.
//!
//! | module | part |
//! |---|---|
//! | `act` | carries out actions, which build a verdict |
//! | `action_error` | the reason why an action changes nothing |
//! | `checker` | checks the rules of one text |
//! | `compile` | compiles text to rules and link lines |
//! | `expect` | messages that must be received in time |
//! | `dispatch` | finds the rules and windows that a message visits |
//! | `faults` | decisions as values, and programs that repeat the decisions of another run |
//! | `gate` | the modifiers between condition and actions |
//! | `greeting` | rules that can change CONNECT or its reply |
//! | `interest` | the messages and facts that a program needs |
//! | `items` | actions that change snapshot items |
//! | `lets` | named expressions |
//! | `logic` | a program as seen by the session core |
//! | `parts` | snapshots of several messages, about which a rule decides once |
//! | `profile` | profiles of link lines, defined by a text or built in |
//! | `progress` | the memory of one rule: counts and windows |
//! | `shared` | state that all sessions share: counts, hits, effects of link lines |
//! | `repeat` | decisions about retransmissions |
//! | `rule` | a checked rule: its actions, conditions and limits |
//! | `sense` | actions that contradict each other, or can do nothing |
//! | `touched` | messages on which a rule acted |
//! | `warnings` | warnings about rules that hide others or hold too much |
//! | `visit` | a message that visits rules |
//! | `window` | the time between two messages in which a rule or link line acts |
//! | `write` | the actions that write fields and messages |
//! | `state` | the memory of rules about one session, and their decisions |

mod act;
mod action_error;
mod checker;
mod compile;
mod composed;
mod decide;
mod dispatch;
mod expect;
mod faults;
mod gate;
mod greeting;
mod hit;
mod interest;
mod items;
mod lets;
mod limits;
mod logic;
mod parts;
mod profile;
mod progress;
mod repeat;
mod rule;
mod sense;
mod shared;
mod state;
mod survey;
mod touched;
mod visit;
mod warnings;
mod window;
mod write;

use std::{fmt, sync::Arc};

use teetap_wire::def::Registry;
use teetap_wire::{Dir, Proto};

use crate::diagnostic::{Diagnostic, finish};
use crate::dice::hash;
use crate::impair::{Channel, Links};
use crate::opening::Opening;
use crate::span::Span;
use crate::verdict::RuleId;
use faults::Faults;

pub use decide::Decide;
pub use faults::{By, Decision, Drawn, GameEntry, RepeatError};
pub use hit::Hit;
pub use interest::Interest;
pub use profile::{profile, profiles};
pub use shared::{Failure, Hits, LineReport, Report, RuleReport, Shared, Test};

/// A compiled text, cheap to clone.
#[derive(Clone)]
pub struct Program {
    source: Arc<str>,
    logic: Arc<dyn Logic>,
    interest: Interest,
    /// Decisions that replace its own.
    faults: Option<Arc<Faults>>,
}

/// The decisions of a program.
///
/// Law: pure. The same logic makes the same decisions about the same messages, independent of the clock and of other
/// sessions.
pub trait Logic: Send + Sync {
    /// Returns the messages and facts that the decisions depend on. [`Program::new`] calls it once.
    fn interest(&self) -> Interest;

    /// Returns the first enabled rule that can change a CONNECT or its reply to the client, but cannot decide about
    /// them without the session that they open.
    fn needs_session(&self, _requested: Proto, _answered: Proto, _shared: &Shared) -> Option<RuleId> {
        self.interest().controls.then_some(RuleId(0))
    }

    /// Creates the state of a session. `before` is the state of the same session under another program, whose memory
    /// may be kept.
    fn open(self: Arc<Self>, session: Opening, before: Option<Box<dyn Decide>>) -> Box<dyn Decide>;

    /// Returns the seed that the text sets. The caller uses it for [`Opening::seed`] unless another one is wanted.
    fn seed(&self) -> Option<u64> {
        None
    }

    /// Creates the state that all sessions share. `before` is the state under the previous program; rules and link
    /// lines that are in both programs keep theirs.
    fn share(&self, _before: Shared) -> Shared {
        Shared::default()
    }

    /// Returns the link lines; `None` if there are none.
    fn links(&self) -> Option<&Links> {
        None
    }

    /// Returns the span of a link line in the source: of the line, or of the use of its profile.
    fn place_of_line(&self, _line: u16) -> Span {
        Span::default()
    }

    /// Returns the rules in order, without hits.
    fn rules(&self) -> Vec<RuleReport> {
        Vec::new()
    }

    /// Returns the name of a rule, or its text if it has no name.
    fn rule(&self, id: RuleId) -> Option<&str>;
}

impl Program {
    /// Creates a program with a given meaning. Only a program from [`Self::compile`] can be replayed.
    pub fn new(source: impl Into<Arc<str>>, logic: impl Logic + 'static) -> Self {
        Self {
            source: source.into(),
            interest: logic.interest(),
            logic: Arc::new(logic),
            faults: None,
        }
    }

    /// Compiles rules. Also returns warnings and notes in the order of the text.
    ///
    /// # Errors
    /// Returns all errors in the order of the text.
    pub fn compile(
        source: &str,
        registry: &'static Registry,
    ) -> Result<(Self, Vec<Diagnostic>), Vec<Diagnostic>> {
        let (rules, mut diagnostics) = compile::compile(source, registry)?;
        diagnostics.extend(warnings::warnings(&rules.rules, registry));
        finish(&mut diagnostics);
        Ok((Self::new(source, rules), diagnostics))
    }

    /// Returns the text.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns the messages and facts that the program needs.
    #[must_use]
    pub const fn interest(&self) -> Interest {
        self.interest
    }

    /// Returns the rule that needs a session for a CONNECT, see [`Logic::needs_session`].
    #[must_use]
    pub fn needs_session(&self, requested: Proto, answered: Proto, shared: &Shared) -> Option<RuleId> {
        self.logic.needs_session(requested, answered, shared)
    }

    /// Creates the state of a session, see [`Logic::open`].
    #[must_use]
    pub fn open(&self, session: Opening, before: Option<Box<dyn Decide>>) -> Box<dyn Decide> {
        Arc::clone(&self.logic).open(session, before)
    }

    /// Returns the seed of the program, see [`Logic::seed`].
    #[must_use]
    pub fn seed(&self) -> Option<u64> {
        self.logic.seed()
    }

    /// Creates the state that all sessions share, see [`Logic::share`].
    #[must_use]
    pub fn share(&self, before: Shared) -> Shared {
        let mut before = before;
        let kept = before.take_decisions();
        let mut shared = self.logic.share(before);
        shared.keep(kept, self.faults.clone());
        shared
    }

    /// Returns true if a link line in this direction acts on datagrams outside a connection.
    #[must_use]
    pub fn links_browse(&self, dir: Dir) -> bool {
        self.logic.links().is_some_and(|links| links.browses(dir))
    }

    /// Creates the state of the link in one direction of a session; `None` without link lines for it. `before` is the
    /// state under another program.
    #[must_use]
    pub fn open_link(&self, session: &Opening, dir: Dir, before: Option<Channel>) -> Option<Channel> {
        let faults = self.faults.as_ref().map(|faults| faults.lines());
        self.logic.links()?.repeat(session, dir, before, faults)
    }

    /// Returns the name of each rule in order, see [`Logic::rule`].
    #[must_use]
    pub fn names(&self) -> Vec<Box<str>> {
        (0..)
            .map_while(|id| self.rule(RuleId(id)).map(Box::from))
            .collect()
    }

    /// Returns the rule with this name; if there is none, the first one with this text.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<RuleId> {
        let mut rules = (0..).map(RuleId).map_while(|id| Some((id, self.rule(id)?)));
        rules.find(|(_, known)| *known == name).map(|(id, _)| id)
    }

    /// Returns the index of the first link line with this text.
    #[must_use]
    pub fn find_line(&self, text: &str) -> Option<u16> {
        let mut lines = (0..).zip(self.logic.links()?.identities());
        lines.find(|(_, known)| *known == text).map(|(line, _)| line)
    }

    /// Returns the key under which a rule holds messages, see [`Fate::Hold`](crate::Fate::Hold).
    #[must_use]
    pub fn hold_key(&self, id: RuleId) -> Option<u64> {
        self.rule(id).map(hash)
    }

    /// Returns the name of a rule, see [`Logic::rule`].
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
