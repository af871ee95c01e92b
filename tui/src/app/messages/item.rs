//! Items of the list: rows, and folded rows of one type.

use teetap_proxy::session::Time;

/// The shortest time for which a rate is given, in seconds.
const SHORTEST: f64 = 0.2;

/// An item of the list.
#[derive(Clone, Debug)]
pub enum Item {
    /// The row of this number.
    Row(u64),
    /// Rows of one type, folded.
    Fold(Fold),
}

/// Messages of one type between two other rows, folded into one line.
#[derive(Clone, Debug)]
pub struct Fold {
    /// The type.
    pub group: &'static str,
    /// The number of the first row.
    pub first: u64,
    /// The number of the last row.
    pub last: u64,
    /// The number of messages.
    pub count: u64,
    /// The time of the first one.
    pub from: Time,
    /// The time of the last one.
    pub to: Time,
}

impl Fold {
    /// Returns the messages in a second; `None` for less than two, or where the time is too short to be of use.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        let time = self.to.since(self.from).as_secs_f64();
        (self.count > 1 && time >= SHORTEST).then(|| (self.count - 1) as f64 / time)
    }
}

impl Item {
    /// Returns the number of the first row, by which items are ordered.
    #[must_use]
    pub const fn number(&self) -> u64 {
        match self {
            Self::Row(number) => *number,
            Self::Fold(fold) => fold.first,
        }
    }

    /// Returns the number of the last row.
    #[must_use]
    pub const fn last(&self) -> u64 {
        match self {
            Self::Row(number) => *number,
            Self::Fold(fold) => fold.last,
        }
    }
}
