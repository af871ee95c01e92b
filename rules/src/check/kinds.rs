//! The variables of rules, and the kinds of their values.

use super::words::Names;
use crate::eval::{Cond, Number, Text};
use crate::syntax::Quantity;

/// Variables that the rules of a text set, by index.
#[derive(Debug, Clone, Default)]
pub(crate) struct Variables(pub(super) Vec<(Box<str>, Option<VarKind>)>);

/// Kind of a variable's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VarKind {
    Number(Quantity),
    Truth,
    /// A number with named values.
    Named(Names),
    Text,
}

/// A value that is assigned to a variable.
#[derive(Debug, Clone)]
pub(crate) enum VarValue {
    Number(Number),
    Text(Text),
    /// A text that is the same for every message.
    Fixed(Box<[u8]>),
    Truth(Cond),
}

impl VarKind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Number(quantity) => quantity.name(),
            Self::Truth => "true or false",
            Self::Named(_) => "a name",
            Self::Text => "text",
        }
    }
}

impl Variables {
    /// Returns the number of variables.
    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns, for each variable, the index of the variable with the same name and kind in `other`.
    pub(crate) fn in_other<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = Option<u16>> + 'a {
        let same = |one: &(Box<str>, Option<VarKind>)| other.0.iter().position(|known| known == one);
        self.0
            .iter()
            .map(move |one| same(one).and_then(|at| u16::try_from(at).ok()))
    }

    pub(super) fn index(&self, name: &str) -> Option<u16> {
        let at = self.0.iter().position(|(known, _)| **known == *name)?;
        u16::try_from(at).ok()
    }

    pub(super) fn kind(&self, at: u16) -> Option<VarKind> {
        self.0.get(usize::from(at))?.1
    }
}
