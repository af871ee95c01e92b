//! Decides which events and messages a viewer shows.

use crate::{DecodedEvent, Message, style::Viewer};

impl Viewer {
    /// Returns true if an event with messages is shown.
    #[must_use]
    pub(crate) const fn sees(self, decoded: &DecodedEvent) -> bool {
        match self {
            Self::Run => decoded.selected,
            Self::Everything => true,
            Self::Subscriber(slot) => decoded.subscribers.has(slot),
        }
    }

    /// Returns true if the message is shown because of a filter that uses notes.
    #[must_use]
    pub(crate) const fn reads_notes(self, message: &Message) -> bool {
        match self {
            Self::Run | Self::Subscriber(_) => message.visibility.reads_notes,
            Self::Everything => false,
        }
    }

    /// Returns true if a message of a shown event is shown.
    #[must_use]
    pub(crate) const fn shows(self, message: &Message) -> bool {
        match self {
            Self::Run => message.visibility.shown,
            Self::Everything => true,
            Self::Subscriber(slot) => slot.is_in(message.visibility.subscribers),
        }
    }
}
