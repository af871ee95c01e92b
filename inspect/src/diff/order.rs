//! Orders vital messages by sequence number, and drops retransmissions.
//!
//! Law: the output does not depend on losses, retransmissions and reordering in the network. A message that is never
//! sent delays only a bounded number of later messages.

use std::collections::VecDeque;

use teetap_wire::Seq;

/// Maximum number of messages that wait for a missing message.
const WAITING: usize = 64;

/// A direction whose first message has at most this number is assumed to start with number 1.
const EARLY: u16 = 8;

/// The vital messages of a direction.
#[derive(Debug)]
pub(super) struct Order<T> {
    /// The last released number; `None` before the first message.
    last: Option<Seq>,
    /// Messages ahead of a missing message, sorted by number.
    waiting: VecDeque<(Seq, T)>,
}

impl<T> Default for Order<T> {
    fn default() -> Self {
        Self {
            last: None,
            waiting: VecDeque::new(),
        }
    }
}

impl<T> Order<T> {
    /// Adds a message, and appends to `out` the messages that are in order now.
    pub(super) fn push(&mut self, seq: Seq, message: T, out: &mut Vec<T>) {
        let last = *self.last.get_or_insert_with(|| match seq.get() {
            // The messages before it were lost, and will be retransmitted.
            1..=EARLY => Seq::ZERO,
            _ => seq.prev(),
        });
        if seq.is_behind(last) {
            return;
        }
        let place = self.waiting.iter().position(|(other, _)| seq.is_behind(*other));
        match place {
            Some(place) if self.waiting.get(place).is_some_and(|(other, _)| *other == seq) => return,
            Some(place) => self.waiting.insert(place, (seq, message)),
            None => self.waiting.push_back((seq, message)),
        }
        if self.waiting.len() > WAITING {
            self.jump();
        }
        self.release(out);
    }

    /// Releases all waiting messages, because the missing messages will not be sent.
    pub(super) fn flush(&mut self, out: &mut Vec<T>) {
        while !self.waiting.is_empty() {
            self.jump();
            self.release(out);
        }
    }

    /// Starts over for a new connection, after releasing all waiting messages.
    pub(super) fn restart(&mut self, out: &mut Vec<T>) {
        self.flush(out);
        self.last = None;
    }

    /// Skips the missing messages before the first waiting message.
    fn jump(&mut self) {
        if let Some((seq, _)) = self.waiting.front() {
            self.last = Some(seq.prev());
        }
    }

    fn release(&mut self, out: &mut Vec<T>) {
        while let Some((seq, _)) = self.waiting.front() {
            if self.last.is_none_or(|last| last.next() != *seq) {
                break;
            }
            self.last = Some(*seq);
            out.extend(self.waiting.pop_front().map(|(_, message)| message));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ordered(numbers: &[u16]) -> Vec<u16> {
        let mut order = Order::default();
        let mut out = Vec::new();
        for number in numbers {
            order.push(Seq::new(*number), *number, &mut out);
        }
        order.flush(&mut out);
        out
    }

    #[test]
    fn what_is_sent_again_comes_once_and_in_its_place() {
        assert_eq!(ordered(&[1, 2, 4, 5, 3, 4, 5, 6]), [1, 2, 3, 4, 5, 6]);
        assert_eq!(ordered(&[2, 1, 2, 3]), [1, 2, 3]);
        // A recording that starts within a session, and sequence numbers that wrap.
        assert_eq!(ordered(&[700, 701, 701]), [700, 701]);
        assert_eq!(ordered(&[1022, 0, 1023, 0, 1]), [1022, 1023, 0, 1]);
    }

    #[test]
    fn what_never_came_holds_up_nothing_for_long() {
        assert_eq!(ordered(&[1, 3, 4]), [1, 3, 4]);
        let mut order = Order::default();
        let mut out = Vec::new();
        for number in (1..200).filter(|number| *number != 50) {
            order.push(Seq::new(number), number, &mut out);
        }
        assert_eq!(out.len(), 198, "{out:?}");
        assert!(order.waiting.is_empty());
    }

    proptest! {
        #[test]
        fn any_repeats_leave_every_message_once_in_order(
            repeats in prop::collection::vec((1u16..40, 0usize..200), 0..60),
        ) {
            let mut sent: Vec<u16> = (1..40).collect();
            for (number, later) in repeats {
                let from = sent.iter().position(|sent| *sent == number).unwrap();
                let place = (from + later).min(sent.len());
                sent.insert(place, number);
            }
            prop_assert_eq!(ordered(&sent), (1..40).collect::<Vec<u16>>());
        }
    }
}
