//! The contract between rules and the session core.
//!
//! A message is decided once, at its first copy. A retransmission by its sender repeats that decision (see [`Fate`]
//! for its meaning on a reliable channel). Sequence numbers are assigned when messages are sent, so they do not
//! appear here.

use std::sync::Arc;
use std::time::Duration;

use teetap_wire::{Chunk, Dir, Flags, MessageId, Note, Packet, Proto, Seq, Side, identify, snap::ItemEdit};

/// A message on its way through the proxy, as rules see it.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// The number of the session, from 1.
    pub session: u32,
    /// The direction of travel.
    pub dir: Dir,
    /// The protocol of the session's legs.
    pub proto: Proto,
    /// The kind of packet that contains it.
    pub form: Form,
    /// True if the message is reliable: sequenced, acked and resent.
    pub vital: bool,
    /// The number from its sender; `None` if the message is not vital.
    pub seq: Option<Seq>,
    /// True if the header marks a retransmission. A first copy has the mark if the one before it was lost.
    pub resend: bool,
    /// The id of a chunk, if the first bytes contain one.
    pub id: Option<MessageId>,
    /// The message: id and fields, without the chunk header.
    pub data: &'a [u8],
    /// The datagram that it came in.
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
            ..Self::unnumbered((session, dir, proto), Form::Chunk, data, packet, at)
        }
    }

    /// Creates the message of a chunk, of this session, direction and protocol.
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
            ..Self::unnumbered((session, dir, proto), Form::Chunk, chunk.data, packet, at)
        }
    }

    /// Creates a message without a number and without an id.
    #[must_use]
    pub const fn unnumbered(
        (session, dir, proto): (u32, Dir, Proto),
        form: Form,
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

/// The kind of packet that contains a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// A packet of chunks.
    #[default]
    Chunk,
    /// A control packet on this leg.
    Control(Side),
    /// A datagram outside a connection.
    Connless,
}

/// The datagram that contains a message.
#[derive(Clone, Copy, Debug)]
pub struct PacketFacts<'a> {
    /// The length in bytes.
    pub size: usize,
    /// The ack in the header.
    pub ack: Seq,
    /// The number of chunks in the header.
    pub chunks: u8,
    /// The flags in the header.
    pub flags: Flags,
    /// The oddities of the datagram; those of its chunks only if a rule needs them.
    pub notes: &'a [Note],
}

impl<'a> PacketFacts<'a> {
    /// Returns the facts of a datagram with this many bytes; `notes` are those that rules see.
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

    /// Returns the facts of a datagram of this size without chunks.
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

/// The number of a rule in its program, from 0. [`Program::rule`](crate::Program::rule) returns its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(transparent)
)]
pub struct RuleId(pub u16);

/// The decision about one message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The fate of the message itself.
    pub fate: Fate,
    /// The new bytes; `None` if they stay the same.
    pub edit: Option<Vec<u8>>,
    /// The new ints of items of the snapshot that the message completes. The bytes of a snapshot depend on what the
    /// client got before, so that the caller writes them.
    pub items: Vec<ItemEdit>,
    /// The messages sent before it.
    pub before: Vec<Made>,
    /// The messages sent after it.
    pub after: Vec<Made>,
    /// Copies of the message, each sent this long after the original as a message of its own.
    pub copies: Vec<Duration>,
    /// The groups in which it overtakes a waiting message, if it is sent: see [`Fate::Reorder`].
    pub overtakes: Vec<u32>,
    /// The snapshot that the message is a part of, if it is to be overtaken; `None` for a message of its own.
    pub part: Option<Part>,
    /// The rules that took part in the decision.
    pub rules: Vec<RuleId>,
    /// The rule that decided the fate; `None` for a pass, or if the rules do not say.
    pub by: Option<RuleId>,
    /// The marks of the message.
    pub marks: Vec<Arc<str>>,
}

/// An effect of rules beside what becomes of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A rule could not do an action.
    Failed {
        /// The rule.
        rule: RuleId,
        /// The reason.
        why: Box<str>,
    },
    /// A rule reports a text.
    Log {
        /// The rule.
        rule: RuleId,
        /// The text, without control characters, and with dots for secrets.
        text: Box<str>,
        /// The text with its secrets; `None` if it has none.
        whole: Option<Box<str>>,
    },
    /// The messages that are held under a key are released, in both directions.
    Release {
        /// The key of [`Fate::Hold`].
        key: u64,
    },
    /// Nothing flows for a time, keepalives included; what is sent meanwhile waits.
    Stall {
        /// The direction; `None` for both.
        dir: Option<Dir>,
        /// The time.
        for_: Duration,
    },
    /// The session is closed.
    Close {
        /// The side that gets a CLOSE; `None` for both.
        side: Option<Side>,
        /// The reason.
        reason: Box<str>,
    },
    /// The run is to end.
    End {
        /// The rule.
        rule: RuleId,
        /// The result of the run.
        end: End,
        /// The direction and the name of the message that the rule acted on; `None` for a rule without a condition.
        message: Option<(Dir, Box<str>)>,
    },
}

/// The result of a run that a rule ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// A failure: the text of `fail`.
    Fail(Box<str>),
    /// A failure: the sentence about a message that was expected and did not come.
    Unmet(Box<str>),
    /// An exit code: 0, or 10 to 99.
    Exit(u8),
}

impl Verdict {
    /// The verdict that passes a message unchanged.
    pub const PASS: Self = Self {
        fate: Fate::Pass,
        edit: None,
        items: Vec::new(),
        before: Vec::new(),
        after: Vec::new(),
        copies: Vec::new(),
        overtakes: Vec::new(),
        part: None,
        rules: Vec::new(),
        by: None,
        marks: Vec::new(),
    };

    /// Lets copies share the fate of the message: there are none of one that is dropped, or lost and never sent again, and
    /// those of a delayed one are sent after it.
    pub(crate) fn settle(&mut self, message: &Message<'_>) {
        match self.fate {
            Fate::Drop => self.copies.clear(),
            Fate::Lose { .. } if !message.vital => self.copies.clear(),
            Fate::Delay { for_, order } => {
                // Behind a vital message that keeps its place in the order, its copies wait by themselves.
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
    }

    /// Creates a verdict that consists of a fate only.
    #[must_use]
    pub fn of(fate: Fate) -> Self {
        Self { fate, ..Self::PASS }
    }
}

/// The fate of a message. "Acked" means acked to its sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    /// Forwarded at once; the sender repairs a loss.
    #[default]
    Pass,
    /// Never sent to the receiver; acked as soon as all earlier ones are resolved.
    Drop,
    /// The first `times` transmissions are suppressed, and the number is kept. A message that is not vital is
    /// dropped.
    Lose {
        /// The number of suppressed transmissions.
        times: u32,
    },
    /// Forwarded `for_` later. Meanwhile the proxy has custody, and it repairs a loss afterwards.
    Delay {
        /// The delay.
        for_: Duration,
        /// The order relative to later vital messages.
        order: Order,
    },
    /// Held until released by its key, at most for `max`; custody as for a delay.
    Hold {
        /// The key that a release names.
        key: u64,
        /// The maximum time until it is released.
        max: Duration,
        /// The order relative to later vital messages.
        order: Order,
    },
    /// Held until a command releases or drops it, at most for `max`; custody as for a delay.
    Pause {
        /// The maximum time until it is released.
        max: Duration,
        /// The order relative to later vital messages.
        order: Order,
    },
    /// Held until `after` more messages of the same `group` were sent, at most for 1 s. Messages with the same fate count,
    /// and messages whose verdict names the group in [`Verdict::overtakes`].
    Reorder {
        /// The group of messages, such as those of one rule.
        group: u32,
        /// The number of messages that overtake it; 1 swaps two neighbours.
        after: u32,
    },
}

impl Fate {
    /// Returns the rank of a fate among those that several actions ask for: the highest one counts.
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

    /// Adds the fate that another action asks for, in whatever order they come. Delays add up, and of two losses the
    /// longer one counts; otherwise the first one of the highest rank. Returns true if this changes the fate.
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

/// A part of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The tick of the snapshot.
    pub tick: i32,
    /// True if the fate was that of an earlier part, with which this one goes.
    pub follows: bool,
}

/// The order of later vital messages of the direction relative to a waiting one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Later messages wait, too.
    Kept,
    /// Later messages overtake it.
    Free,
}

/// A message composed by a rule or a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// The direction.
    pub dir: Dir,
    /// True if it is reliable, which receivers check (transport reference 6.6).
    pub vital: bool,
    /// The id and the fields, without a chunk header.
    pub data: Vec<u8>,
}
