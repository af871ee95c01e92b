//! Decisions as values, which are recorded in one run and repeated in another.
//!
//! Law: a program with faults acts only on the messages and datagrams of its faults, whatever its conditions and draws
//! would decide. Rules without faults, such as those that only log, are not affected.

use std::collections::BTreeMap;
use std::sync::Arc;

use teetap_wire::Dir;

use super::Program;
use crate::dice::hash;
use crate::impair::{Impact, LineFaults, PassedDatagram};
use crate::syntax::{Statement, parse_statements};
use crate::verdict::RuleId;

/// Message name in decisions that a timer makes.
pub(super) const TIMER: &str = "timer";

/// A decision of a rule or a link line that is a fault or a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Microseconds since the start of the run.
    pub at: u64,
    /// Number of the session.
    pub session: u32,
    /// Direction; `None` for a rule that acts at certain times.
    pub dir: Option<Dir>,
    /// The rule or link line that decided, and the message or datagram that it decided about.
    pub by: By,
}

/// A client that asks to enter the game, the last step of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GameEntry {
    /// Microseconds since the start of the run.
    pub at: u64,
    /// Number of the session.
    pub session: u32,
    /// Microseconds since the opening of the session.
    pub after: u64,
}

/// The rule or link line that made a decision, and the message or datagram that the decision is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    /// A rule.
    Rule {
        /// Name of the rule, or its text.
        rule: Box<str>,
        /// Name of the message, or its class if it has no definition.
        message: Box<str>,
        /// Number of the message among the messages with this name, in this direction of the session, that the rule can
        /// match.
        ordinal: u64,
        /// Actions as text.
        actions: Box<str>,
        /// Values that were drawn.
        drawn: Drawn,
    },
    /// A link line.
    Link {
        /// Text of the line.
        line: Box<str>,
        /// Number of the datagram in this direction of the session.
        datagram: u64,
        /// True if the datagram is outside a connection. Such datagrams are numbered separately.
        connless: bool,
        /// Effect of the line.
        impact: Impact,
    },
}

/// Values that the actions of a rule drew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawn {
    /// Each delay in microseconds.
    pub delays: Vec<u64>,
    /// Bytes that each `corrupt` changed: offset and flipped bits.
    pub corrupted: Vec<Vec<(u32, u8)>>,
}

/// The message that a decision is about: session, direction, hash of the message name, ordinal.
type DecisionKey = (u32, Option<u8>, u64, u64);

/// Decisions that replace the program's own.
#[derive(Debug)]
pub(super) struct Faults {
    rules: Vec<BTreeMap<DecisionKey, Drawn>>,
    lines: Vec<Arc<LineFaults>>,
    list: Arc<[Decision]>,
}

impl Faults {
    /// Returns the values for a rule that acts on a message; `None` if the rule does not act on it.
    pub(super) fn of_rule(
        &self,
        RuleId(rule): RuleId,
        session: u32,
        dir: Option<Dir>,
        (name, ordinal): (u64, u64),
    ) -> Option<&Drawn> {
        let faults = self.rules.get(usize::from(rule))?;
        faults.get(&(session, dir.map(|dir| dir as u8), name, ordinal))
    }

    /// Returns the effects of each line.
    pub(super) fn lines(&self) -> &[Arc<LineFaults>] {
        &self.lines
    }

    fn new(decisions: &[Decision], rules: &[RuleIdentity], lines: &[&str]) -> Result<Self, RepeatError> {
        let mut of_rules = vec![BTreeMap::new(); rules.len()];
        let mut of_lines: Vec<LineFaults> = lines.iter().map(|_| LineFaults::default()).collect();
        for decision in decisions {
            let dir = decision.dir.map(|dir| dir as u8);
            match &decision.by {
                By::Rule {
                    rule,
                    message,
                    ordinal,
                    drawn,
                    ..
                } => {
                    let at = rules.iter().position(|known| known == rule);
                    let at = at.or_else(|| {
                        let rule = reprinted(rule)?;
                        rules.iter().position(|known| **known == *rule)
                    });
                    let faults = at.and_then(|at| of_rules.get_mut(at));
                    let faults = faults.ok_or_else(|| RepeatError::NoRule(rule.clone()))?;
                    let place = (decision.session, dir, hash(message), *ordinal);
                    faults.insert(place, drawn.clone());
                }
                By::Link {
                    line,
                    datagram,
                    connless,
                    impact,
                } => {
                    let at = lines.iter().position(|known| *known == &**line);
                    let faults = at.and_then(|at| of_lines.get_mut(at));
                    let faults = faults.ok_or_else(|| RepeatError::NoLinkLine(line.clone()))?;
                    let dir = decision.dir.ok_or(RepeatError::NoDirection)?;
                    let passed = PassedDatagram {
                        dir,
                        datagram: *datagram,
                        connless: *connless,
                    };
                    faults.insert((decision.session, passed), impact.clone());
                }
            }
        }
        Ok(Self {
            rules: of_rules,
            lines: of_lines.into_iter().map(Arc::new).collect(),
            list: decisions.into(),
        })
    }
}

/// Returns the text of a rule in the current format, since older programs printed modifiers in another order. Keeps the
/// number of its occurrence.
fn reprinted(identity: &str) -> Option<String> {
    let is_mark = |mark: &str| mark.bytes().all(|byte| byte.is_ascii_digit());
    let (text, mark) = match identity.rsplit_once(" #") {
        Some((text, mark)) if is_mark(mark) => (text, Some(mark)),
        _ => (identity, None),
    };
    let statements = parse_statements(text).ok()?;
    let [Statement::Rule(rule)] = &*statements else {
        return None;
    };
    Some(match mark {
        Some(mark) => format!("{rule} #{mark}"),
        None => rule.to_string(),
    })
}

/// Name of a rule, or its text.
type RuleIdentity = Box<str>;

/// A decision of another run that a program cannot repeat.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RepeatError {
    /// The program has no rule with this name.
    #[error("no rule is called `{0}`")]
    NoRule(Box<str>),
    /// The program has no such link line.
    #[error("no link line is `{0}`")]
    NoLinkLine(Box<str>),
    /// A decision of a link line has no direction.
    #[error("a link line acts in a direction")]
    NoDirection,
}

impl Program {
    /// Returns the same program with the decisions of another run, which replace its own.
    ///
    /// # Errors
    /// A decision belongs to a rule or link line that the program does not have.
    pub fn repeating(&self, decisions: &[Decision]) -> Result<Self, RepeatError> {
        let links = self.logic.links();
        let lines: Vec<&str> = links.into_iter().flat_map(|links| links.identities()).collect();
        Ok(Self {
            faults: Some(Arc::new(Faults::new(decisions, &self.names(), &lines)?)),
            ..self.clone()
        })
    }

    /// Returns the decisions that replace the program's own; `None` if it makes its own.
    #[must_use]
    pub fn faults(&self) -> Option<&[Decision]> {
        self.faults.as_ref().map(|faults| &*faults.list)
    }
}
