//! The template of a gist.

use std::sync::Arc;

use super::path::Path;

/// The template of a message.
#[derive(Debug, Clone)]
pub struct Gist {
    pub(in crate::def) lines: Vec<Arc<str>>,
    /// The compiled lines.
    pub(in crate::def) sections: Vec<Section>,
}

impl Gist {
    /// Returns the lines as written.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(|line| &**line)
    }
}

impl PartialEq for Gist {
    fn eq(&self, other: &Self) -> bool {
        self.lines == other.lines
    }
}

/// A part of a template with the condition under which it is shown.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::def) struct Section {
    pub(in crate::def) when: When,
    pub(in crate::def) parts: Vec<GistPart>,
}

#[derive(Debug, Clone, PartialEq)]
pub(in crate::def) enum When {
    /// Always, outside brackets.
    Always,
    /// Only if its fields are present and not empty.
    Present,
    /// Only if the test of the field holds.
    If(Path, Test),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::def) enum Test {
    Set,
    NotSet,
    Number(Compare, i64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::def) enum Compare {
    Equal,
    NotEqual,
    Less,
    More,
    /// One of these bits is set.
    Bits,
}

impl Compare {
    pub(in crate::def) const SIGNS: [(&'static str, Self); 5] = [
        ("!=", Self::NotEqual),
        ("=", Self::Equal),
        ("<", Self::Less),
        (">", Self::More),
        ("&", Self::Bits),
    ];
}

#[derive(Debug, Clone, PartialEq)]
pub(in crate::def) enum GistPart {
    Text(Box<str>),
    Value(Path, ValueFormat),
}

/// The form in which a value is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::def) enum ValueFormat {
    Usual,
    /// A client id, with the name of the player if it is known.
    Player,
    /// Text without quotes, at the end of the line.
    Raw,
    /// The elements of a list that are not 0, by their value: "2: 0, 3; 5: 1".
    Teams,
    /// The number of elements of a list.
    Count,
    /// The number of bytes of raw data.
    Size,
    /// A number without its label.
    Number,
    Hex,
    /// Hundredths of a second as a time; the signed form always shows the sign.
    Centis,
    SignedCentis,
    /// Milliseconds as a time; the signed form always shows the sign.
    Millis,
    SignedMillis,
}

impl ValueFormat {
    pub(in crate::def) const NAMES: [(&'static str, Self); 11] = [
        ("player", Self::Player),
        ("raw", Self::Raw),
        ("teams", Self::Teams),
        ("count", Self::Count),
        ("size", Self::Size),
        ("number", Self::Number),
        ("hex", Self::Hex),
        ("cs", Self::Centis),
        ("+cs", Self::SignedCentis),
        ("ms", Self::Millis),
        ("+ms", Self::SignedMillis),
    ];
}
