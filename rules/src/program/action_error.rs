//! The reason why an action changes nothing.

use teetap_wire::def::{EditError, EncodeError};

/// The reason why an action changes nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum ActionError {
    /// A value is unknown.
    #[error("the value for `{0}` is missing")]
    MissingValue(Box<str>),
    /// The value contains a secret of a message, and the field that it is for is not secret.
    #[error(
        "the value contains a secret, which would be readable; only secret fields and the texts of `log` and `fail` hide it"
    )]
    Secret,
    /// `replace` would write a field that fits no datagram.
    #[error("the new `{what}` is longer than {max} bytes")]
    TooLong { what: Box<str>, max: usize },
    /// The items of the snapshot are unknown.
    #[error("the base of the snapshot is unknown; run resync to request a complete snapshot")]
    UnknownBase,
    /// The message cannot have this value.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// A new message cannot have these values.
    #[error(transparent)]
    Encode(#[from] EncodeError),
}

impl ActionError {
    /// Returns the error for a field or variable whose value is unknown.
    pub(super) fn missing(what: impl Into<Box<str>>) -> Self {
        Self::MissingValue(what.into())
    }
}
