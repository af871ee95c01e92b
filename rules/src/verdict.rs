//! The contract between rules and the session core.
//!
//! The rules decide about a message once, at its first copy. A retransmission repeats that decision (see [`Fate`] for
//! its meaning on a reliable channel). Verdicts contain no sequence numbers, since these are assigned when messages
//! are sent.

use std::sync::Arc;
use std::time::Duration;

use teetap_wire::{Chunk, Dir, Flags, MessageId, Note, Packet, Proto, Seq, Side, identify, snap::ItemEdit};

/// A message that passes through the proxy, as seen by rules.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// Number of the session, from 1.
    pub session: u32,
    /// Direction of the message.
    pub dir: Dir,
    /// Protocol of the session.
    pub proto: Proto,
    /// Kind of packet that contains the message.
    pub form: PacketKind,
    /// True if the message is reliable: sequenced, acked and resent.
    pub vital: bool,
    /// Sequence number from the sender; `None` if the message is not vital.
    pub seq: Option<Seq>,
    /// True if the header marks a retransmission. The first copy received has the mark if an earlier copy was lost.
    pub resend: bool,
    /// Id of a chunk, if the first bytes contain one.
    pub id: Option<MessageId>,
    /// Bytes of the message: id and fields, without the chunk header.
    pub data: &'a [u8],
    /// Datagram that contains the message.
    pub packet: PacketFacts<'a>,
    /// Microseconds since the start of the run.
    pub at: u64,
}

impl<'a> Message<'a> {
    /// Returns a message that is the only chunk of a datagram; `seq` is `None` if it is not vital.
    #[must_use]
    pub fn alone(
        (session, dir, proto): (u32, Dir, Proto),
        seq: Option<Seq>,
        data: &'a [u8],
        at: u64,
    ) -> Self {
        let packet = PacketFacts {
            chunks: 1,
            ..PacketFacts::without_chunks(data.len(), Seq::ZERO)
        };
        Self {
            vital: seq.is_some(),
            seq,
            id: identify(data).map(|(id, _)| id),
            ..Self::unnumbered((session, dir, proto), PacketKind::Chunk, data, packet, at)
        }
    }

    /// Creates the message of a chunk in this session, direction and protocol.
    #[must_use]
    pub fn of_chunk(
        (session, dir, proto): (u32, Dir, Proto),
        chunk: &Chunk<'a>,
        packet: PacketFacts<'a>,
        at: u64,
    ) -> Self {
        Self {
            vital: chunk.header.vital.is_some(),
            seq: chunk.header.vital,
            resend: chunk.header.resend,
            id: identify(chunk.data).map(|(id, _)| id),
            ..Self::unnumbered((session, dir, proto), PacketKind::Chunk, chunk.data, packet, at)
        }
    }

    /// Creates a message without a sequence number and without an id.
    #[must_use]
    pub const fn unnumbered(
        (session, dir, proto): (u32, Dir, Proto),
        form: PacketKind,
        data: &'a [u8],
        packet: PacketFacts<'a>,
        at: u64,
    ) -> Self {
        Self {
            session,
            dir,
            proto,
            form,
            vital: false,
            seq: None,
            resend: false,
            id: None,
            data,
            packet,
            at,
        }
    }
}

/// Kind of packet that contains a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PacketKind {
    /// A packet of chunks.
    #[default]
    Chunk,
    /// A control packet on this leg.
    Control(Side),
    /// A datagram outside a connection.
    Connless,
}

/// Facts about the datagram that contains a message.
#[derive(Clone, Copy, Debug)]
pub struct PacketFacts<'a> {
    /// Length in bytes.
    pub size: usize,
    /// Ack in the header.
    pub ack: Seq,
    /// Number of chunks in the header.
    pub chunks: u8,
    /// Flags in the header.
    pub flags: Flags,
    /// Oddities of the datagram; oddities of its chunks only if a rule needs them.
    pub notes: &'a [Note],
}

impl<'a> PacketFacts<'a> {
    /// Returns the facts about a datagram of `size` bytes; `notes` are the notes that rules can see.
    #[must_use]
    pub fn new(packet: &Packet<'_>, size: usize, notes: &'a [Note]) -> Self {
        Self {
            size,
            ack: packet.header.ack,
            chunks: packet.header.num_chunks,
            flags: packet.header.flags,
            notes,
        }
    }

    /// Returns the facts about a datagram of `size` bytes without chunks.
    #[must_use]
    pub const fn without_chunks(size: usize, ack: Seq) -> Self {
        Self {
            size,
            ack,
            chunks: 0,
            flags: Flags::empty(),
            notes: &[],
        }
    }
}

/// Number of a rule in its program, from 0. [`Program::rule`](crate::Program::rule) returns its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(transparent)
)]
pub struct RuleId(pub u16);

/// Decision about one message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Fate of the message itself.
    pub fate: Fate,
    /// New bytes; `None` if they stay the same.
    pub edit: Option<Vec<u8>>,
    /// True if bits of the new bytes are flipped.
    pub is_corrupted: bool,
    /// New ints of items in the snapshot that the message completes. The caller writes them, since the bytes of a
    /// snapshot depend on the snapshots that the client has received before.
    pub items: Vec<ItemEdit>,
    /// Messages sent before it.
    pub before: Vec<Made>,
    /// Messages sent after it.
    pub after: Vec<Made>,
    /// Copies of the message, each sent as a separate message this long after the original.
    pub copies: Vec<Duration>,
    /// Groups in which the message overtakes a waiting message when it is sent, see [`Fate::Reorder`].
    pub overtakes: Vec<u32>,
    /// The snapshot part in this message, if other messages are to overtake the part; `None` for other messages.
    pub part: Option<SnapshotPart>,
    /// Rules that took part in the decision.
    pub rules: Vec<RuleId>,
    /// Rule that decided the fate; `None` for a pass, or if it is unknown.
    pub by: Option<RuleId>,
    /// First rule that made copies; `None` if there are no copies, or if it is unknown.
    pub copied_by: Option<RuleId>,
    /// Marks of the message.
    pub marks: Vec<Arc<str>>,
}

/// An effect of rules other than the fate of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A rule could not carry out an action.
    Failed {
        /// Number of the rule.
        rule: RuleId,
        /// Reason of the failure.
        why: Box<str>,
    },
    /// A rule reports a text.
    Log {
        /// Number of the rule.
        rule: RuleId,
        /// Text without control characters, with dots for secrets.
        text: Box<str>,
        /// Text with its secrets; `None` if it contains none.
        whole: Option<Box<str>>,
    },
    /// Messages held under a key are released, in both directions.
    Release {
        /// Key of [`Fate::Hold`].
        key: u64,
    },
    /// Sending is suspended for a time, including keepalives; datagrams wait until it ends.
    Stall {
        /// Direction; `None` for both.
        dir: Option<Dir>,
        /// Duration of the stall.
        for_: Duration,
    },
    /// The session is closed.
    Close {
        /// Side that is sent a CLOSE with the reason; `None` for both.
        side: Option<Side>,
        /// Reason of the CLOSE.
        reason: Box<str>,
    },
    /// The run must end.
    End {
        /// Number of the rule.
        rule: RuleId,
        /// Result of the run.
        end: End,
        /// Direction and name of the message on which the rule acted; `None` for a rule without a condition.
        message: Option<(Dir, Box<str>)>,
    },
}

/// Result of a run that a rule ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// A failure, with the text of `fail`.
    Fail(Box<str>),
    /// A failure, with the sentence about a message that was expected and not received.
    Unmet(Box<str>),
    /// An exit code: 0, or 10 to 99.
    Exit(u8),
}

impl Verdict {
    /// Verdict that passes a message unchanged.
    pub const PASS: Self = Self {
        fate: Fate::Pass,
        edit: None,
        is_corrupted: false,
        items: Vec::new(),
        before: Vec::new(),
        after: Vec::new(),
        copies: Vec::new(),
        overtakes: Vec::new(),
        part: None,
        rules: Vec::new(),
        by: None,
        copied_by: None,
        marks: Vec::new(),
    };

    /// Applies the fate of the message to its copies. A message that is dropped, or lost and never resent, has no
    /// copies. Copies of a delayed message are sent after the message.
    pub(crate) fn settle(&mut self, message: &Message<'_>) {
        match self.fate {
            Fate::Drop => self.copies.clear(),
            Fate::Lose { .. } if !message.vital => self.copies.clear(),
            Fate::Delay { for_, order } => {
                // Copies of a vital message that is sent in order wait behind it in any case.
                let waits = |copy: &Duration| message.vital && order == Order::Kept && copy.is_zero();
                self.copies
                    .iter_mut()
                    .filter(|copy| !waits(copy))
                    .for_each(|copy| *copy += for_);
            }
            Fate::Pass
            | Fate::Lose { .. }
            | Fate::Hold { .. }
            | Fate::Pause { .. }
            | Fate::Reorder { .. } => {}
        }
        self.copied_by = self.copied_by.filter(|_| !self.copies.is_empty());
    }

    /// Creates a verdict with only a fate.
    #[must_use]
    pub fn from_fate(fate: Fate) -> Self {
        Self { fate, ..Self::PASS }
    }
}

/// Fate of a message. "Acked" means acked to its sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    /// Forwarded immediately; the sender repairs a loss.
    #[default]
    Pass,
    /// Never sent to the receiver; acked as soon as all earlier messages are resolved.
    Drop,
    /// The first `times` transmissions are suppressed, and the sequence number is kept. A message that is not vital is
    /// dropped.
    Lose {
        /// Number of suppressed transmissions.
        times: u32,
    },
    /// Forwarded `for_` later. The proxy has custody until then, and repairs a loss afterwards.
    Delay {
        /// Duration of the delay.
        for_: Duration,
        /// Order relative to later vital messages.
        order: Order,
    },
    /// Held until released by its key, at most for `max`; custody as for a delay.
    Hold {
        /// Key that a release names.
        key: u64,
        /// Maximum time until it is released.
        max: Duration,
        /// Order relative to later vital messages.
        order: Order,
    },
    /// Held until a command releases or drops it, at most for `max`; custody as for a delay.
    Pause {
        /// Maximum time until it is released.
        max: Duration,
        /// Order relative to later vital messages.
        order: Order,
    },
    /// Held until `after` more messages of the same `group` were sent, at most for 1 s. Counts messages with the same
    /// fate, and messages whose verdict names the group in [`Verdict::overtakes`].
    Reorder {
        /// Group of messages, such as the messages that one rule reorders.
        group: u32,
        /// Number of messages that overtake it; 1 swaps two neighbours.
        after: u32,
    },
}

impl Fate {
    /// Returns the rank of a fate. If several actions have a fate, the highest rank wins.
    const fn rank(self) -> u8 {
        match self {
            Self::Pass => 0,
            Self::Delay { .. } => 1,
            Self::Reorder { .. } => 2,
            Self::Hold { .. } => 3,
            Self::Pause { .. } => 4,
            Self::Lose { .. } => 5,
            Self::Drop => 6,
        }
    }

    /// Adds the fate of another action, in any order. Delays add up, and of two losses the longer one applies;
    /// otherwise the first fate with the highest rank applies. Returns true if this changes the fate.
    pub(crate) fn add(&mut self, other: Self) -> bool {
        let before = *self;
        *self = match (before, other) {
            (
                Self::Delay { for_, order },
                Self::Delay {
                    for_: more,
                    order: asked,
                },
            ) => Self::Delay {
                for_: for_ + more,
                order: if order == Order::Free { order } else { asked },
            },
            (Self::Lose { times }, Self::Lose { times: more }) => Self::Lose {
                times: times.max(more),
            },
            _ if other.rank() > before.rank() => other,
            _ => before,
        };
        *self != before
    }
}

/// Part of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotPart {
    /// Tick of the snapshot.
    pub tick: i32,
    /// True if the rules decided its fate with an earlier part of the same snapshot.
    pub follows: bool,
}

/// Order of later vital messages in the direction relative to a waiting one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Later messages wait, too.
    Kept,
    /// Later messages overtake the waiting one.
    Free,
}

/// A message composed by a rule or a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// Direction of the message.
    pub dir: Dir,
    /// True if it is reliable, which receivers check for some messages.
    pub vital: bool,
    /// Bytes of the id and the fields, without a chunk header.
    pub data: Vec<u8>,
    /// The rule that composed it; `None` for a message of a person.
    pub rule: Option<RuleId>,
}
