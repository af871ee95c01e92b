//! Tests of values.

use memchr::memmem::Finder;
use regex::bytes::Regex;

use crate::syntax::Compare;

/// Test of a field, which depends on its definition.
#[derive(Debug, Clone)]
pub(crate) enum Test {
    /// The value cannot be compared, so that the result is unknown.
    Never,
    /// Test of a number.
    Int(IntTest),
    /// Test of text or bytes.
    Text(TextTest),
}

/// A condition on a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum IntTest {
    /// A comparison with a number.
    Op(Compare, i64),
    /// All these bits are set.
    Bits(i64),
    /// The number is in one of the ranges, ends included.
    In(Box<[(i64, i64)]>),
}

/// A condition on text or bytes.
#[derive(Debug, Clone)]
pub(crate) enum TextTest {
    /// The text is equal to this one; with `false`, it is different.
    Equal(Box<[u8]>, bool),
    /// The text contains this one.
    Contains(Box<Finder<'static>>),
    /// Some part of the text matches.
    Matches(Box<Regex>),
    /// The text is one of these.
    In(Box<[Box<[u8]>]>),
}

impl IntTest {
    pub(super) fn holds(&self, value: i64) -> bool {
        match self {
            Self::Op(op, other) => compare(*op, value, *other),
            Self::Bits(bits) => value & bits == *bits,
            Self::In(ranges) => ranges.iter().any(|(from, to)| (*from..=*to).contains(&value)),
        }
    }
}

impl TextTest {
    /// Creates the test `contains text`.
    pub(crate) fn contains(text: &[u8]) -> Self {
        Self::Contains(Box::new(Finder::new(text).into_owned()))
    }

    pub(super) fn holds(&self, text: &[u8]) -> bool {
        match self {
            Self::Equal(other, wanted) => (**other == *text) == *wanted,
            Self::Contains(finder) => finder.find(text).is_some(),
            Self::Matches(regex) => regex.is_match(text),
            Self::In(texts) => texts.iter().any(|other| **other == *text),
        }
    }
}

/// Compares numbers. Text operators never hold.
pub(super) const fn compare(op: Compare, left: i64, right: i64) -> bool {
    match op {
        Compare::Equal => left == right,
        Compare::Unequal => left != right,
        Compare::Less => left < right,
        Compare::LessEqual => left <= right,
        Compare::Greater => left > right,
        Compare::GreaterEqual => left >= right,
        Compare::Contains | Compare::Matches => false,
    }
}
