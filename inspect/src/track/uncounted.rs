//! Recognizes senders that count chunks that are not vital: the numbers that they skip are those of such chunks.
//!
//! Law: a message is named only if it was sent exactly as often as numbers are missing, and never before a number in
//! order.
//!
//! Memory is bounded: [`MOST`] names per direction.

use teetap_wire::{Dir, Seq};

use super::Stream;

/// Maximum number of names kept.
const MOST: usize = 16;

/// Minimum number of chunks of a message that fits.
const LEAST: u16 = 2;

/// The chunks of one direction that are not vital.
#[derive(Debug, Default)]
pub(super) struct Uncounted {
    /// The messages since the last number in order, each with the number of its chunks.
    since: Vec<(&'static str, u16)>,
    /// The messages that a number in order has followed, so that the sender does not count them.
    known: Vec<&'static str>,
}

/// A message that is not vital, and that its sender has probably counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedInVain {
    /// Name of the message.
    pub name: &'static str,
    /// Number of its chunks since the last number in order.
    pub chunks: u16,
}

impl Uncounted {
    /// Records a chunk that is not vital.
    pub(super) fn sent(&mut self, name: &'static str) {
        if self.known.contains(&name) {
            return;
        }
        let has_room = self.since.len() < MOST;
        match self.since.iter_mut().find(|(known, _)| *known == name) {
            Some((_, chunks)) => *chunks = chunks.saturating_add(1),
            None if has_room => self.since.push((name, 1)),
            None => {}
        }
    }

    /// Records the next number in order.
    pub(super) fn in_order(&mut self) {
        let room = MOST.saturating_sub(self.known.len());
        self.known
            .extend(self.since.drain(..).map(|(name, _)| name).take(room));
    }

    /// Returns the message that was probably counted if `missing` numbers are missing after the last number in order;
    /// `None` if no message, or more than one, fits.
    pub(super) fn fitting(&self, missing: u16) -> Option<CountedInVain> {
        // A single chunk may fit by chance.
        let is_odd = |chunks: u16| chunks >= LEAST && chunks == missing;
        let mut fitting = self.since.iter().filter(|(_, chunks)| is_odd(*chunks));
        let (name, chunks) = *fitting.next()?;
        let is_only = fitting.next().is_none();
        is_only.then_some(CountedInVain { name, chunks })
    }
}

impl Stream {
    /// Records a vital chunk. `is_ahead` is true if a number before it is missing, `is_next` if it is the next in order.
    pub(super) fn look_at_uncounted(&mut self, dir: Dir, seq: Seq, (is_ahead, is_next): (bool, bool)) {
        let uncounted = &mut self.contents.uncounted[dir];
        if is_next {
            uncounted.in_order();
        } else if is_ahead {
            self.ways[dir]
                .numbers
                .explain(seq, |missing| uncounted.fitting(missing));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_message_that_fits_the_missing_numbers_is_named() {
        let mut sent = Uncounted::default();
        sent.sent("input");
        sent.in_order();
        for name in ["input", "input", "ping", "cl_a", "cl_a"] {
            sent.sent(name);
        }
        let named = |missing| sent.fitting(missing).map(|found| (found.name, found.chunks));
        assert_eq!(named(1), None);
        assert_eq!(named(2), Some(("cl_a", 2)));
        assert_eq!(named(3), None);
        sent.sent("cl_b");
        sent.sent("cl_b");
        assert_eq!(sent.fitting(2), None);
    }
}
