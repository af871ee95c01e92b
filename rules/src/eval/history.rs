//! Detection of expressions that need the history of a session.

use super::program::{Cond, Number, Program, Text};

impl Program {
    /// Returns true if the expression reads the age of the session, its player, or the time until an ack.
    pub(crate) fn needs_history(&self) -> bool {
        self.root.needs_history()
    }
}

impl Cond {
    fn needs_history(&self) -> bool {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().any(Self::needs_history),
            Self::Not(inner) | Self::Each { inner, .. } => inner.needs_history(),
            Self::Number(number, _) => number.needs_history(),
            Self::Text(text, _) => text.is_player(),
            Self::Compare(_, sides) => sides.0.needs_history() || sides.1.needs_history(),
            Self::CompareText(_, left, right) => left.is_player() || right.is_player(),
            Self::Unknown
            | Self::Dir(_)
            | Self::Is(_)
            | Self::Flag(_)
            | Self::Lint(_)
            | Self::Mark(_)
            | Self::Search(_)
            | Self::Field(..)
            | Self::Has(_)
            | Self::Seen(_) => false,
        }
    }
}

impl Number {
    fn needs_history(&self) -> bool {
        match self {
            Self::Time => true,
            Self::Session(fact) => fact.needs_history(),
            Self::TextLength(text) => text.is_player(),
            Self::Negate(inner) => inner.needs_history(),
            Self::Arith(_, sides) => sides.0.needs_history() || sides.1.needs_history(),
            Self::Fixed(_)
            | Self::Field(_)
            | Self::Length(_)
            | Self::Packet(_)
            | Self::State
            | Self::Proto
            | Self::Leg
            | Self::Done(_)
            | Self::Snap(_)
            | Self::Ordinal
            | Self::Count(_)
            | Self::Since(_)
            | Self::Variable(_) => false,
        }
    }
}

impl Text {
    const fn is_player(self) -> bool {
        matches!(self, Self::Player)
    }
}
