//! Causes of wrong sums, and their texts.

use crate::Proto;
use crate::def::{Decoded, Def, Registry};
use crate::snap::snapshot::{ItemKey, Snapshot};

/// A possible cause of a wrong snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Items of a type have another size than both sides agreed on. `sent` is `None` if each item states its size.
    Size {
        /// The type.
        kind: u16,
        /// The number of ints that both sides agreed on.
        agreed: u16,
        /// The number of ints that were sent.
        sent: Option<u16>,
    },
    /// Items of a type were sent without a size, although none is agreed.
    NoSize {
        /// The type.
        kind: u16,
        /// The number of ints that were sent.
        sent: u16,
    },
    /// The data has another form.
    Form(FormFault),
    /// The message has the tick of its base in place of the difference to it.
    TickAsDifference {
        /// The tick of the base.
        base: i32,
        /// The difference that the message should have.
        difference: i32,
    },
    /// The difference is relative to the snapshot of this tick.
    OtherBase {
        /// The tick.
        tick: i32,
        /// The tick that the message names.
        named: i32,
    },
    /// The values are not a difference, or the sum counts only the ints in the message.
    OnlyMessage {
        /// The tick that the message names as the base.
        named: i32,
    },
    /// The sum was computed wrongly or from other data.
    Sum(SumFault),
    /// All items of a type were counted twice, or not at all.
    Type {
        /// The type.
        kind: u16,
        /// The number of items.
        items: u16,
        /// True if they were counted twice.
        twice: bool,
    },
    /// All new items were not counted.
    New {
        /// The number of items.
        items: u16,
    },
    /// All deleted items were still counted.
    Deleted {
        /// The number of items.
        items: u16,
    },
    /// One item.
    Item {
        /// The item.
        key: ItemKey,
        /// The fault.
        fault: ItemFault,
    },
    /// One value of an item.
    Field {
        /// The item.
        key: ItemKey,
        /// The index of the int.
        at: u16,
        /// The value as clients read it.
        value: i32,
        /// The fault.
        fault: FieldFault,
    },
}

/// How the form of the data is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormFault {
    /// Each item states its size, also if both sides agreed on it.
    AllSizes,
    /// The third int of the header is missing.
    NoThird,
    /// The id of each item precedes its type.
    IdFirst,
}

/// How a sum was computed wrongly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SumFault {
    /// The sum is the sum of the snapshot of another tick.
    OfTick(i32),
    /// The sum is 0.
    Zero,
    /// The keys of the items were counted, too: types and ids, added or as one int.
    Keys,
    /// The sum was truncated to this many bits.
    Cut(u8),
    /// The sum has the other sign.
    Sign,
    /// The sum is over bytes.
    Bytes,
}

/// A fault of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemFault {
    /// The message has the item twice; both copies were counted.
    SentTwice,
    /// Counted twice.
    Twice,
    /// Not counted.
    NotCounted,
    /// The sender no longer has the item, but its deletion is missing.
    NotDeleted,
    /// Deleted, but still counted.
    StillCounted,
    /// Counted, but not sent; the item existed at this tick.
    NotSent(i32),
    /// Deleted, although it did not exist, and subtracted from the sum.
    RemovedNotThere,
    /// Deleted and sent again in one message, with values instead of differences.
    DeletedAndSent,
    /// Sent with values instead of differences.
    Absolute,
    /// Counted with its values at this tick.
    Older(i32),
    /// Sent as a difference to its values at this tick.
    OtherBase(i32),
}

/// A fault of one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldFault {
    /// Counted with the other sign.
    Sign,
    /// The difference has the other sign.
    DifferenceSign,
    /// Counted as an int of this many bits.
    Cut(u8),
    /// Counted with its bytes in the other order.
    Swapped,
    /// Counted twice.
    Twice,
    /// Not counted.
    NotCounted,
    /// Sent as a value instead of a difference.
    Absolute,
    /// Counted with the value of the base: the change is missing.
    Older,
    /// Outside its range; the counted value, given here, is within it.
    OutOfRange(i32),
    /// Far from its value in the base; the counted value, given here, is close to it.
    Jump(i32),
}

impl Cause {
    /// Returns true if `other` is the same fault in a snapshot of another tick.
    pub(in crate::snap) fn is_like(self, other: Self) -> bool {
        self.untimed() == other.untimed()
    }

    fn untimed(self) -> Self {
        match self {
            Self::OtherBase { .. } => Self::OtherBase { tick: 0, named: 0 },
            Self::OnlyMessage { .. } => Self::OnlyMessage { named: 0 },
            Self::TickAsDifference { .. } => Self::TickAsDifference {
                base: 0,
                difference: 0,
            },
            Self::Sum(SumFault::OfTick(_)) => Self::Sum(SumFault::OfTick(0)),
            Self::Type { kind, twice, .. } => Self::Type {
                kind,
                items: 0,
                twice,
            },
            Self::New { .. } => Self::New { items: 0 },
            Self::Deleted { .. } => Self::Deleted { items: 0 },
            Self::Item { key, fault } => Self::Item {
                key,
                fault: match fault {
                    ItemFault::NotSent(_) => ItemFault::NotSent(0),
                    ItemFault::Older(_) => ItemFault::Older(0),
                    ItemFault::OtherBase(_) => ItemFault::OtherBase(0),
                    // The difference is if it has changed.
                    ItemFault::NotDeleted => ItemFault::NotCounted,
                    fault => fault,
                },
            },
            Self::Field { key, at, fault, .. } => Self::Field {
                key,
                at,
                value: 0,
                fault: match fault {
                    FieldFault::OutOfRange(_) => FieldFault::OutOfRange(0),
                    FieldFault::Jump(_) => FieldFault::Jump(0),
                    fault => fault,
                },
            },
            cause => cause,
        }
    }
}

/// The names of items and fields.
pub(super) struct Names<'s> {
    pub(super) registry: &'s Registry,
    pub(super) proto: Proto,
    pub(super) result: &'s Snapshot,
    pub(super) base: &'s Snapshot,
}

impl Names<'_> {
    /// Describes a cause in words.
    pub(super) fn text(&self, cause: Cause) -> String {
        match cause {
            Cause::Size { kind, agreed, sent } => {
                let name = self.kind(kind);
                match sent {
                    Some(sent) => {
                        format!("{name} is sent with {sent} ints, but both sides agreed on {agreed}")
                    }
                    None => format!("{name} is sent with its size, but both sides agreed on {agreed} ints"),
                }
            }
            Cause::NoSize { kind, sent } => {
                let name = self.kind(kind);
                format!("{name} is sent without its size of {sent} ints, which is not agreed")
            }
            Cause::Form(fault) => match fault {
                FormFault::AllSizes => {
                    "each item is sent with its size, also the types whose size both sides agreed on"
                        .to_owned()
                }
                FormFault::NoThird => {
                    "the third int, 0, is missing: it follows the numbers of deleted and changed items"
                        .to_owned()
                }
                FormFault::IdFirst => "the id of each item is sent before its type".to_owned(),
            },
            Cause::TickAsDifference { base, difference } => {
                format!("delta_tick is the tick of the base, {base}, not the difference to it, {difference}")
            }
            Cause::OtherBase { tick, named } => {
                format!("the difference is to tick {tick}, not to tick {named} that the message names")
            }
            Cause::OnlyMessage { named } => format!(
                "the values are not differences to tick {named}, or the sum counts only the ints in the message"
            ),
            Cause::Sum(fault) => match fault {
                SumFault::OfTick(tick) => format!("the sum is that of tick {tick}"),
                SumFault::Zero => "the sum was not computed".to_owned(),
                SumFault::Keys => "types and ids of the items were counted, too".to_owned(),
                SumFault::Cut(bits) => format!("the sum was cut to {bits} bits"),
                SumFault::Sign => "the sum has the wrong sign".to_owned(),
                SumFault::Bytes => "the sum is over bytes, not over ints".to_owned(),
            },
            Cause::Type { kind, items, twice } => {
                let name = self.kind(kind);
                match twice {
                    true => format!("all {items} items of {name} were counted twice"),
                    false => format!("all {items} items of {name} were not counted"),
                }
            }
            Cause::New { items } => format!("the {items} new items were not counted"),
            Cause::Deleted { items } => format!("the {items} deleted items were still counted"),
            Cause::Item { key, fault } => self.item(key, fault),
            Cause::Field {
                key,
                at,
                value,
                fault,
            } => self.field(key, at, value, fault),
        }
    }

    fn item(&self, key: ItemKey, fault: ItemFault) -> String {
        let name = self.key(key);
        match fault {
            ItemFault::SentTwice => {
                format!("{name} is in the message twice and was counted twice; clients keep the last one")
            }
            ItemFault::Twice => format!("{name} was counted twice"),
            ItemFault::NotCounted => format!("{name} was not counted"),
            ItemFault::NotDeleted => {
                format!("the sender does not count {name} any more, but did not delete it")
            }
            ItemFault::StillCounted => format!("{name} is deleted, but was still counted"),
            ItemFault::NotSent(tick) => {
                format!("{name}, which was there at tick {tick}, was counted, but not sent")
            }
            ItemFault::RemovedNotThere => {
                format!("{name} is deleted, but was not there, and was subtracted from the sum")
            }
            ItemFault::DeletedAndSent => {
                format!("{name} is deleted and sent again: clients take its values for differences")
            }
            ItemFault::Absolute => format!("{name} was sent with its values, not with differences"),
            ItemFault::Older(tick) => format!("{name} was counted with its values at tick {tick}"),
            ItemFault::OtherBase(tick) => format!("{name} was sent as the difference to tick {tick}"),
        }
    }

    fn field(&self, key: ItemKey, at: u16, value: i32, fault: FieldFault) -> String {
        let name = format!("{}.{}", self.key(key), self.value(key, at));
        match fault {
            FieldFault::Sign => format!(
                "{name} was counted with the wrong sign, {value} as {}",
                value.wrapping_neg()
            ),
            FieldFault::DifferenceSign => format!("the difference of {name} has the wrong sign"),
            FieldFault::Cut(bits) => format!("{name} was counted as an int of {bits} bits, not as {value}"),
            FieldFault::Swapped => {
                format!("{name} was counted with its bytes in the wrong order, not as {value}")
            }
            FieldFault::Twice => format!("{name} was counted twice"),
            FieldFault::NotCounted => format!("{name} was not counted"),
            FieldFault::Absolute => format!("{name} was sent as a value, not as a difference"),
            FieldFault::Older => format!("the change of {name} was not counted"),
            FieldFault::OutOfRange(counted) => {
                format!("{name} was counted as {counted}, but sent as {value}, which is out of its range")
            }
            FieldFault::Jump(counted) => {
                format!("{name} was counted as {counted}, but sent as {value}, far from where it was")
            }
        }
    }

    fn def(&self, kind: u16) -> Option<&Def> {
        let of = |snapshot: &Snapshot| snapshot.def(self.registry, self.proto, kind);
        of(self.result).or_else(|| of(self.base))
    }

    fn kind(&self, kind: u16) -> String {
        match self.def(kind) {
            Some(def) => def.name.to_string(),
            None => format!("type {kind}"),
        }
    }

    fn key(&self, key: ItemKey) -> String {
        format!("{}[{}]", self.kind(key.kind), key.id)
    }

    /// Returns the name of a value; `int N` if it has none.
    fn value(&self, key: ItemKey, at: u16) -> String {
        let name = || {
            let def = self.def(key.kind)?;
            let mut decoded = Decoded::new();
            decoded.object(def, self.result.get(key)?);
            let at = u32::from(at);
            let covers = |start: u32, len: u32| start <= at && at - start < len;
            let mut records = decoded.records().iter();
            // The innermost record is the last.
            let record = records.rfind(|record| covers(record.at, record.len))?;
            Some(def.field(record.field)?.name.to_string())
        };
        name().unwrap_or_else(|| format!("int {at}"))
    }
}
