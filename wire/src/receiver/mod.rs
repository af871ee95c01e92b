//! The checks that each release of the game makes on a datagram, a control message and a chunk.
//!
//! Law: all checks are in one table. For client and server of each release, the table lists the checks ([`Check`]) in the
//! order of the release's code; each row names the function from which it was derived. [`Receiver::judge`] evaluates
//! the checks in order and reports the rows that apply. The result depends only on the release, the known state of the
//! leg ([`Leg`]) and the datagram; no memory is allocated.
//!
//! | file | contents |
//! |---|---|
//! | `release.rs` | the releases, and the identification of a peer's release |
//! | `leg.rs` | the state of a leg that the checks need, the checks of ack and token |
//! | `verdict.rs` | the possible actions of a receiver on a datagram |
//! | `reading.rs` | the datagram as the release reads it |
//! | `rows/` | the checks, by topic |
//! | `table.rs` | the checks of each release and side, in order |
//! | `message.rs` | which messages each release accepts, and when |
//! | `range.rs` | which messages each release drops for an int outside its range |
//! | `join.rs` | the order of a join: which side waits for which message |
//!
//! Out of scope: the contents of messages, floods and timeouts.

mod case;
mod join;
mod leg;
mod message;
mod range;
mod reading;
mod release;
mod rows;
mod table;
#[cfg(test)]
mod tests;
mod verdict;

pub use case::{Check, ChunkPlace, Finding};
pub use join::{JoinKind, JoinStep, Rejection, SNAPSHOTS};
pub use leg::{Admission, Leg, Phase, in_window, token_fits};
pub use message::{MessageRow, MessageVerdict, Stage, message, messages};
pub use range::checks_ranges;
pub use release::{Identified, Release, Signs, identify};
pub use verdict::{Answer, Refusal, Verdict};

use crate::{Chunks, Side};
use case::{Case, End};
use reading::{ROOM, Reading};
use table::Table;

/// One release of the game as client or as server.
#[derive(Debug, Clone, Copy)]
pub struct Receiver {
    /// The release.
    pub release: Release,
    /// The side on which it receives.
    pub side: Side,
    without: Option<&'static str>,
}

impl Receiver {
    /// Returns the receiver of this release on this side.
    #[must_use]
    pub const fn new(release: Release, side: Side) -> Self {
        Self {
            release,
            side,
            without: None,
        }
    }

    /// Returns the same receiver without the rows of this name. Tests use it to show that a row is needed.
    #[must_use]
    pub const fn without(self, name: &'static str) -> Self {
        Self {
            without: Some(name),
            ..self
        }
    }

    /// Returns all rows in the order of the release: first for datagrams, then for control messages, then for chunks.
    pub fn rows(self) -> impl Iterator<Item = &'static Check> {
        let Table {
            datagram,
            control,
            chunk,
        } = table::table_of(self.release, self.side);
        let all = datagram.iter().chain(control).chain(chunk);
        all.filter(move |row| Some(row.name) != self.without)
    }

    /// Passes the receiver's reactions to a datagram to `each`, in order, and returns the resulting state of the leg.
    ///
    /// There is at least one finding for any datagram and leg. The effect of messages on the stage of a join is not
    /// included; see [`message()`].
    #[must_use]
    pub fn judge(self, leg: &Leg, datagram: &[u8], mut each: impl FnMut(Finding)) -> Leg {
        let mut room = [0; ROOM];
        let reading = Reading::new(self.release, leg, datagram, &mut room);
        let mut case = Case::new(self, *leg, reading);
        let table = table::table_of(self.release, self.side);
        if self.walk(table.datagram, &mut case, &mut each) {
            return case.leg;
        }
        if case.reading.control && self.walk(table.control, &mut case, &mut each) {
            return case.leg;
        }
        self.chunks(table.chunk, &mut case, &mut each);
        case.leg
    }

    /// Walks the rows about a datagram or a control message. Returns true if a row stops the handling of the
    /// datagram.
    fn walk(self, rows: &'static [Check], case: &mut Case<'_>, each: &mut impl FnMut(Finding)) -> bool {
        case.acted = false;
        for row in rows {
            if Some(row.name) == self.without || !(row.trips)(case) {
                continue;
            }
            each(case.finding(row));
            case.apply(row.verdict);
            case.acted = true;
            if row.stops {
                return true;
            }
        }
        false
    }

    /// Applies the first row that matches to each chunk, and then to the bytes after the chunks.
    fn chunks(self, rows: &'static [Check], case: &mut Case<'_>, each: &mut impl FnMut(Finding)) {
        let payload = case.payload();
        let mut chunks = Chunks::new(case.chunk_proto(), payload, case.reading.count);
        loop {
            case.chunk = chunks.next();
            case.end = match case.chunk {
                Some(_) => None,
                None if chunks.missing() > 0 => Some(End::Broken),
                None if !chunks.rest().is_empty() && !case.reading.control => Some(End::Trailing),
                None => return,
            };
            let fits = |row: &&'static Check| Some(row.name) != self.without && (row.trips)(case);
            if let Some(row) = rows.iter().find(fits) {
                each(case.finding(row));
                case.apply(row.verdict);
                if row.stops {
                    return;
                }
            }
            if case.end.is_some() {
                return;
            }
            case.index = case.index.saturating_add(1);
        }
    }
}
