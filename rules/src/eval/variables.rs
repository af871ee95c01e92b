//! Variables that rules set in a session.
//!
//! Law: a variable is unset until a rule sets it, and the length of its text is limited.

use super::memory::MAX_KEPT;

/// Values of the variables by index, each with true if it is a secret; `None` until it is set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Variables(Vec<Option<(Given, bool)>>);

/// Value of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Given {
    /// A number in the base unit of its quantity; 1 or 0 for true or false.
    Number(i64),
    Text(Box<[u8]>),
}

impl Variables {
    /// Creates variables with these values.
    pub(crate) const fn new(values: Vec<Option<(Given, bool)>>) -> Self {
        Self(values)
    }

    pub(crate) fn get(&self, at: u16) -> Option<&Given> {
        self.with_secrecy(at).map(|(given, _)| given)
    }

    /// Returns the value of a variable, with true if it is a secret.
    pub(crate) fn with_secrecy(&self, at: u16) -> Option<&(Given, bool)> {
        self.0.get(usize::from(at))?.as_ref()
    }

    /// Sets a variable. Truncates a text to [`MAX_KEPT`] bytes.
    pub(crate) fn set(&mut self, at: u16, mut given: Given, is_secret: bool) {
        if let Given::Text(text) = &mut given
            && text.len() > MAX_KEPT
        {
            *text = text.iter().take(MAX_KEPT).copied().collect();
        }
        if let Some(place) = self.0.get_mut(usize::from(at)) {
            *place = Some((given, is_secret));
        }
    }
}
