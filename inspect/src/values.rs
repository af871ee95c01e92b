//! The received value of a note and the value that its receiver expects, within one sentence.
//!
//! ```text
//! target: got 7, expected 0 to 3; the receiver drops the message
//!             ^ got       ^^^^^^ expected
//! ```
//!
//! Law: both values are parts of the sentence, so they hide the same secrets and have the same characters escaped.

use std::{
    fmt::{self, Write},
    ops::Range,
};

/// A sentence with the received and the expected value. Other text is added with [`Write`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values {
    text: String,
    got: Option<Range<usize>>,
    expected: Option<Range<usize>>,
}

impl Values {
    /// Returns `got {got}, expected {expected}`, without the second part if `expected` is `None`.
    pub(crate) fn new(got: impl fmt::Display, expected: Option<impl fmt::Display>) -> Self {
        let mut values = Self::default();
        // Writing to a string cannot fail.
        let _infallible = values.add_got(got);
        if let Some(expected) = expected {
            let _infallible = values.add_expected(expected);
        }
        values
    }

    /// Adds text, which belongs to neither value.
    #[must_use]
    pub(crate) fn and(mut self, text: impl fmt::Display) -> Self {
        let _infallible = write!(self, "{text}");
        self
    }

    /// Adds the received value after the word `got`.
    pub(crate) fn add_got(&mut self, got: impl fmt::Display) -> fmt::Result {
        self.write_str("got ")?;
        self.add_as_got(got)
    }

    /// Adds the received value without the word `got`.
    pub(crate) fn add_as_got(&mut self, got: impl fmt::Display) -> fmt::Result {
        let range = self.add(got)?;
        self.got.get_or_insert(range);
        Ok(())
    }

    /// Adds the expected value after the word `expected`.
    pub(crate) fn add_expected(&mut self, expected: impl fmt::Display) -> fmt::Result {
        let lead = if self.text.is_empty() { "" } else { ", " };
        write!(self, "{lead}expected ")?;
        let range = self.add(expected)?;
        self.expected.get_or_insert(range);
        Ok(())
    }

    fn add(&mut self, value: impl fmt::Display) -> Result<Range<usize>, fmt::Error> {
        let start = self.text.len();
        write!(self, "{value}")?;
        Ok(start..self.text.len())
    }

    /// Returns the sentence.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the received value; `None` if the sentence has none.
    #[must_use]
    pub fn got(&self) -> Option<&str> {
        self.text.get(self.got.clone()?)
    }

    /// Returns the expected value; `None` if the sentence has none.
    #[must_use]
    pub fn expected(&self) -> Option<&str> {
        self.text.get(self.expected.clone()?)
    }
}

impl From<String> for Values {
    /// Creates a sentence without values.
    fn from(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }
}

impl Write for Values {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.text.push_str(text);
        Ok(())
    }
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(values: &Values) -> (&str, Option<&str>, Option<&str>) {
        (values.as_str(), values.got(), values.expected())
    }

    #[test]
    fn values_are_parts_of_the_sentence() {
        let values = Values::new("7", Some("0 to 3")).and("; dropped");
        assert_eq!(
            parts(&values),
            ("got 7, expected 0 to 3; dropped", Some("7"), Some("0 to 3"))
        );
        let values = Values::new("7", None::<&str>);
        assert_eq!(parts(&values), ("got 7", Some("7"), None));
        let mut values = Values::default();
        values.add_expected("5").unwrap();
        assert_eq!(parts(&values), ("expected 5", None, Some("5")));
        let values = Values::from("got 7".to_owned());
        assert_eq!(parts(&values), ("got 7", None, None));
    }

    #[test]
    fn a_value_that_looks_like_a_sentence_is_one_value() {
        let hostile = "7, expected got 8; got 9";
        let values = Values::new(hostile, Some("0 to 3"));
        assert_eq!(
            parts(&values),
            (
                "got 7, expected got 8; got 9, expected 0 to 3",
                Some(hostile),
                Some("0 to 3")
            )
        );
    }
}
