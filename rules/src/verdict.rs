//! The contract between rules and the session core.
//!
//! A message is decided once, at its first copy: a sender's retransmission repeats the decision that was taken
//! (see [`Fate`] for what each one means on a reliable channel). Numbers are given at emission, so nothing here
//! speaks of sequence numbers.

use std::any::Any;
use std::time::Duration;

use teetap_wire::{Dir, MessageId, Notes, Proto, Seq};

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
    /// The number that its sender gave it; reliable messages only.
    pub seq: Option<Seq>,
    /// The header's mark of a retransmission. A first copy has it where the one before it was lost.
    pub resend: bool,
    /// Its id, when the first bytes give one.
    pub id: Option<MessageId>,
    /// The message: id and fields, without the chunk header.
    pub data: &'a [u8],
    /// The datagram that it came in.
    pub packet: PacketFacts<'a>,
    /// Microseconds since the start of the run.
    pub at: u64,
}

/// The datagram around a message.
#[derive(Clone, Copy, Debug)]
pub struct PacketFacts<'a> {
    /// Its bytes.
    pub size: usize,
    /// The ack in its header.
    pub ack: Seq,
    /// The number of chunks in its header.
    pub chunks: u8,
    /// Whether its payload is compressed.
    pub compressed: bool,
    /// Its oddities.
    pub notes: &'a Notes,
}

/// Decides what happens to the messages of one session. Made by [`Program::open`](crate::Program::open), dropped when
/// the session ends or another program is set.
pub trait Decide: Any + Send {
    /// The decision on the first copy of one message.
    fn decide(&mut self, message: &Message<'_>) -> Verdict;

    /// When [`Self::on_time`] is to be called, in microseconds since the start of the run. `None`: never. Asked after
    /// every message and every call of `on_time`.
    fn deadline(&self) -> Option<u64> {
        None
    }

    /// The deadline has come, while the session is online. Returns the messages to be sent.
    fn on_time(&mut self, _at: u64) -> Vec<Made> {
        Vec::new()
    }
}

/// The number of a rule in its program, from 0. [`Program::rule`](crate::Program::rule) has its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(pub u16);

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
    /// The rules that this is the work of.
    pub rules: Vec<RuleId>,
}

impl Verdict {
    /// Pass, untouched.
    pub const PASS: Self = Self {
        fate: Fate::Pass,
        edit: None,
        before: Vec::new(),
        after: Vec::new(),
        copies: Vec::new(),
        rules: Vec::new(),
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
