//! Which findings are reported, and the ignore file that lists known findings.

use std::fmt;

use teetap_wire::def::meant_clause;
use teetap_wire::{Side, printable};

use super::{finding::Finding, finding_code::Topic, peers::Culprit};

/// Selects the findings to report.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Kinds to report; empty for all kinds.
    pub only: Vec<Topic>,
    /// Kinds to ignore.
    pub ignored: Vec<Ignored>,
}

/// A kind of finding to ignore, optionally for one side only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ignored {
    /// The kind of finding.
    pub topic: Topic,
    /// The side whose findings are ignored; `None` for both sides and the proxy.
    pub by: Option<Side>,
}

/// The reason why a line of an ignore file is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IgnoreError {
    /// No kind of finding has this name.
    #[error(transparent)]
    Code(#[from] UnknownTopic),
    /// The word after the code is not a side.
    #[error("expected client, server or a comment after #, not '{}'", printable(.0.as_bytes()))]
    Side(String),
    /// A word follows the side.
    #[error("unexpected '{}': a comment begins with #", printable(.0.as_bytes()))]
    Extra(String),
}

/// No kind of finding has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownTopic {
    /// The name.
    pub name: String,
    /// A similar name, if there is one.
    pub meant: Option<&'static str>,
}

impl fmt::Display for UnknownTopic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = printable(self.name.as_bytes());
        match self.meant {
            Some(_) => write!(f, "unknown code '{name}'{}", meant_clause(self.meant)),
            None => write!(f, "unknown code '{name}'; the page of `teetap judge` lists them"),
        }
    }
}

impl std::error::Error for UnknownTopic {}

impl Wanted {
    /// Returns true if the finding is selected and not ignored.
    #[must_use]
    pub fn includes(&self, finding: &Finding) -> bool {
        let is_wanted = self.only.is_empty() || self.only.contains(&finding.topic);
        is_wanted && !self.ignored.iter().any(|one| one.covers(finding))
    }
}

impl Ignored {
    fn covers(self, finding: &Finding) -> bool {
        let is_by = self.by.is_none_or(|side| Culprit::from(side) == finding.by);
        self.topic == finding.topic && is_by
    }

    /// Parses an ignore file. Each line has a code, optionally followed by `client` or `server` to ignore only the
    /// findings of that side. `#` starts a comment.
    ///
    /// # Errors
    /// Returns each invalid line with its number, from 1.
    pub fn read(text: &str) -> Result<Vec<Self>, Vec<(usize, IgnoreError)>> {
        let (mut ignored, mut errors) = (Vec::new(), Vec::new());
        for (at, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            match Self::line(line) {
                Ok(one) => ignored.extend(one),
                Err(error) => errors.push((at + 1, error)),
            }
        }
        if errors.is_empty() {
            Ok(ignored)
        } else {
            Err(errors)
        }
    }

    fn line(line: &str) -> Result<Option<Self>, IgnoreError> {
        let mut words = line.split_whitespace();
        let Some(code) = words.next() else {
            return Ok(None);
        };
        let topic = named(code)?;
        let by = match words.next() {
            None => None,
            Some("client") => Some(Side::Client),
            Some("server") => Some(Side::Server),
            Some(word) => return Err(IgnoreError::Side(word.to_owned())),
        };
        match words.next() {
            None => Ok(Some(Self { topic, by })),
            Some(word) => Err(IgnoreError::Extra(word.to_owned())),
        }
    }
}

/// Returns the topic with this name.
///
/// # Errors
/// Returns the name with a similar name, if there is one.
pub fn named(code: &str) -> Result<Topic, UnknownTopic> {
    Topic::named(code).map_err(|meant| UnknownTopic {
        name: code.to_owned(),
        meant,
    })
}

#[cfg(test)]
mod tests {
    use teetap_wire::Code;

    use super::*;

    #[test]
    fn an_ignore_file_has_codes_sides_and_comments() {
        let text = "# known\nwrong-token\n\n  ack_ahead client  # old bot\nlint.snap_late server\n";
        let one = |code, by| Ignored {
            topic: Topic::Note(code),
            by,
        };
        assert_eq!(
            Ignored::read(text).unwrap(),
            [
                one(Code::WrongToken, None),
                one(Code::AckAhead, Some(Side::Client)),
                one(Code::SnapLate, Some(Side::Server)),
            ]
        );
    }

    #[test]
    fn every_wrong_line_is_an_error_with_its_number_and_a_suggestion() {
        let errors =
            Ignored::read("wrong-tokens\nack-ahead peer\nack-ahead client too\nqqqqqqqqqqqq\n").unwrap_err();
        let expected = [
            (1, "unknown code 'wrong-tokens'; did you mean 'wrong-token'?"),
            (2, "expected client, server or a comment after #, not 'peer'"),
            (3, "unexpected 'too': a comment begins with #"),
            (
                4,
                "unknown code 'qqqqqqqqqqqq'; the page of `teetap judge` lists them",
            ),
        ];
        let errors: Vec<_> = errors
            .iter()
            .map(|(line, error)| (*line, error.to_string()))
            .collect();
        let expected = expected.map(|(line, text)| (line, text.to_owned()));
        assert_eq!(errors, expected);
    }
}
