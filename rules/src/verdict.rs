//! The contract between rules and the session core.
//!
//! A message is decided once, at its first copy: a sender's retransmission repeats the decision that was taken
//! (see [`Fate`] for what each one means on a reliable channel). Numbers are given at emission, so nothing here
//! speaks of sequence numbers.

use std::time::Duration;

use teetap_wire::{Dir, MessageId, Proto};

/// One message on its way through the proxy, as a rule sees it.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// Number of the session, from 1.
    pub session: u32,
    /// Where it is going.
    pub dir: Dir,
    /// Protocol of the session's legs.
    pub proto: Proto,
    /// Reliable (sequenced, acked, resent) or not.
    pub vital: bool,
    /// Its id, when the first bytes give one.
    pub id: Option<MessageId>,
    /// The message: id and fields, without the chunk header.
    pub data: &'a [u8],
    /// Microseconds since the start of the run.
    pub at: u64,
}

/// Decides what happens to messages.
pub trait Decide: Send {
    /// Whether a decision in `dir` can ever be anything but [`Verdict::PASS`]. A direction in which nothing acts
    /// stays in identity mode: its numbers are never touched.
    fn acts(&self, dir: Dir) -> bool;

    /// The decision on the first copy of one message.
    fn decide(&mut self, message: &Message<'_>) -> Verdict;
}

/// What happens to one message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// What becomes of the message itself.
    pub fate: Fate,
    /// Its new bytes, when they change.
    pub edit: Option<Vec<u8>>,
    /// Messages sent ahead of it.
    pub before: Vec<Made>,
    /// Messages sent behind it.
    pub after: Vec<Made>,
    /// One more legal message with the same bytes per entry, each this long after the original.
    pub copies: Vec<Duration>,
}

impl Verdict {
    /// Pass, untouched.
    pub const PASS: Self = Self {
        fate: Fate::Pass,
        edit: None,
        before: Vec::new(),
        after: Vec::new(),
        copies: Vec::new(),
    };

    /// A verdict of nothing but a fate.
    #[must_use]
    pub fn of(fate: Fate) -> Self {
        Self { fate, ..Self::PASS }
    }
}

/// What becomes of a message. "Acked" means: what its sender is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    /// Goes on at once; its sender repairs a loss.
    #[default]
    Pass,
    /// Never existed for the receiver; acked as soon as every earlier one is resolved.
    Drop,
    /// The first `times` copies are not sent, whoever causes them; the number is kept. Not vital: dropped.
    Lose {
        /// How many transmissions are suppressed.
        times: u32,
    },
    /// Goes on `for_` later; the proxy has custody meanwhile and repairs its loss afterwards.
    Delay {
        /// How long it waits.
        for_: Duration,
        /// Whether later ones wait behind it.
        order: Order,
    },
    /// Waits until released by its key, at most `max`; custody as for a delay.
    Hold {
        /// What a release names.
        key: u64,
        /// When it is released at the latest.
        max: Duration,
        /// Whether later ones wait behind it.
        order: Order,
    },
    /// Waits until `after` more messages with the same `group` have gone ahead, at most 1 s.
    Reorder {
        /// Messages that belong together: those of one rule.
        group: u32,
        /// How many overtake it; 1 swaps two neighbours.
        after: u32,
    },
}

/// Whether later vital messages of the direction wait behind a waiting one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// They queue behind it.
    Kept,
    /// They overtake it.
    Free,
}

/// A message made by a rule or a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// Where it goes.
    pub dir: Dir,
    /// Reliable or not: receivers check it (transport reference 6.6).
    pub vital: bool,
    /// Id and fields, without a chunk header.
    pub data: Vec<u8>,
}
