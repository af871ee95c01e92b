//! A view of a completed snapshot.
//!
//! Law: values are computed on demand. The values and differences of an item are read from the snapshot and its base
//! when they are requested.

use std::fmt;
use std::sync::Arc;

use super::delta::Counts;
use super::ids::Reused;
use super::pairs::{Pair, pairs, pairs_of};
use super::snapshot::{ItemKey, NOTHING, Snapshot};
use crate::def::{Class, Decoded, Def, Id, Record, Registry};
use crate::note::Notes;
use crate::{Proto, counted};

/// The outcome of a snapshot at the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fate {
    /// Accepted by clients; may be a base.
    Kept,
    /// A snapshot that is older than the newest snapshot. Clients ignore it, but it can be decoded.
    Late,
    /// A copy of an earlier snapshot, which DDNet ignores.
    Again,
    /// A snapshot with an unknown base: its differences have no meaning, and it has no items.
    NoBase,
    /// A snapshot that clients discard as invalid. Contains the items that could be decoded.
    Broken,
    /// A snapshot whose sum differs from the sum in the message, so that clients discard it. The difference may also be
    /// caused by an earlier snapshot that was decoded wrongly.
    BadCrc,
}

/// The sum of all ints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crc {
    /// The sum stated in the message.
    pub stated: i32,
    /// The actual sum.
    pub actual: i32,
}

/// A snapshot with all its parts.
#[derive(Debug, Clone, Copy)]
pub struct Completed<'s> {
    /// The tick.
    pub tick: i32,
    /// The tick of its base. `None` if it has no base.
    pub base: Option<i32>,
    /// The number of parts it was sent in.
    pub parts: u8,
    /// The sum of its ints; `None` in `snap_empty`, which omits it, and without a base.
    pub crc: Option<Crc>,
    /// The outcome at the client.
    pub fate: Fate,
    /// The numbers of items. If the base is unknown, `changed` and `deleted` count the entries of the message.
    pub counts: Counts,
    /// The oddities of the message that completed it. Ranges count in the message.
    pub notes: &'s Notes,
    /// The oddities of its data. Ranges count in the joined data.
    pub data_notes: &'s Notes,
    /// The offset of the data in the message, if it was sent in one part.
    pub data_at: Option<usize>,
    /// The tick of the snapshot with which this snapshot is compared, if that is not its base.
    pub since: Option<i32>,
    /// The first item whose id another item had shortly before; `None` if there is none.
    pub reused: Option<Reused>,
    pub(super) snapshot: &'s Arc<Snapshot>,
    /// `None` if the snapshot before is empty.
    pub(super) before: Option<&'s Arc<Snapshot>>,
    pub(super) registry: &'s Registry,
    pub(super) proto: Proto,
}

/// A [`Completed`] snapshot that can be kept. It shares its items with the store as long as the store keeps them.
#[derive(Debug, Clone)]
pub struct Retained<'r> {
    tick: i32,
    base: Option<i32>,
    parts: u8,
    crc: Option<Crc>,
    fate: Fate,
    counts: Counts,
    notes: Notes,
    data_notes: Notes,
    data_at: Option<usize>,
    since: Option<i32>,
    reused: Option<Reused>,
    snapshot: Arc<Snapshot>,
    before: Option<Arc<Snapshot>>,
    registry: &'r Registry,
    proto: Proto,
}

impl<'r> Retained<'r> {
    pub(super) fn new(completed: &Completed<'_>, registry: &'r Registry) -> Self {
        Self {
            tick: completed.tick,
            base: completed.base,
            parts: completed.parts,
            crc: completed.crc,
            fate: completed.fate,
            counts: completed.counts,
            notes: *completed.notes,
            data_notes: *completed.data_notes,
            data_at: completed.data_at,
            since: completed.since,
            reused: completed.reused,
            snapshot: Arc::clone(completed.snapshot),
            before: completed.before.map(Arc::clone),
            registry,
            proto: completed.proto,
        }
    }

    /// Drops the items, which may be 64 KiB, and keeps the counts.
    #[must_use]
    pub fn without_items(self) -> Self {
        Self {
            snapshot: Arc::default(),
            before: None,
            ..self
        }
    }

    /// Returns the snapshot with its changes relative to `other` instead of its base.
    #[must_use]
    pub fn compared_with(&self, other: &Self) -> Self {
        let mut compared = Self {
            since: Some(other.tick).filter(|tick| self.base != Some(*tick)),
            before: Some(Arc::clone(&other.snapshot)),
            ..self.clone()
        };
        compared.counts = compared.view().count();
        compared
    }

    /// Returns the tick.
    #[must_use]
    pub const fn tick(&self) -> i32 {
        self.tick
    }

    /// Returns the outcome at the client.
    #[must_use]
    pub const fn fate(&self) -> Fate {
        self.fate
    }

    /// Returns the memory used by the items, in bytes. Excludes the base.
    #[must_use]
    pub fn held(&self) -> usize {
        self.snapshot.held()
    }

    /// Returns the snapshot.
    #[must_use]
    pub fn view(&self) -> Completed<'_> {
        Completed {
            tick: self.tick,
            base: self.base,
            parts: self.parts,
            crc: self.crc,
            fate: self.fate,
            counts: self.counts,
            notes: &self.notes,
            data_notes: &self.data_notes,
            data_at: self.data_at,
            since: self.since,
            reused: self.reused,
            snapshot: &self.snapshot,
            before: self.before.as_ref(),
            registry: self.registry,
            proto: self.proto,
        }
    }
}

/// An item of a completed snapshot, or an item that the snapshot deleted.
#[derive(Debug, Clone, Copy)]
pub struct Item<'s> {
    /// The type and id.
    pub key: ItemKey,
    /// The definition. `None` if no definition has the type, or if no descriptor gives its UUID.
    pub def: Option<&'s Def>,
    /// The ints; of a deleted item, its last ints.
    pub ints: &'s [i32],
    /// The difference to the base.
    pub change: Change<'s>,
}

/// The difference of an item to the base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'s> {
    /// The base has the same item.
    Same,
    /// The base does not have the item.
    New,
    /// The base has the item with other ints, which are contained; their number is the same.
    Changed(&'s [i32]),
    /// The base has the item, but the snapshot does not.
    Deleted,
}

impl Crc {
    /// Returns true if both sums are the same.
    #[must_use]
    pub const fn ok(self) -> bool {
        self.stated == self.actual
    }
}

impl<'s> Completed<'s> {
    /// Returns the snapshot.
    #[must_use]
    pub fn snapshot(&self) -> &'s Snapshot {
        self.snapshot
    }

    /// Returns the snapshot it is based on; empty if it has no base, or the base is unknown.
    #[must_use]
    pub fn before(&self) -> &'s Snapshot {
        self.before.map_or(&NOTHING, |before| before)
    }

    /// Returns true if the stated sum is right. `None` if the sum was not sent or cannot be computed.
    #[must_use]
    pub fn crc_ok(&self) -> Option<bool> {
        self.crc.map(Crc::ok)
    }

    /// Counts the items by their changes.
    fn count(&self) -> Counts {
        let mut counts = Counts {
            items: self.counts.items,
            ..Counts::default()
        };
        for item in self.items() {
            match item.change {
                Change::Same => {}
                Change::New => counts.new += 1,
                Change::Changed(_) => counts.changed += 1,
                Change::Deleted => counts.deleted += 1,
            }
        }
        counts
    }

    /// Returns all items in the order of their keys, including deleted items.
    pub fn items(&self) -> impl Iterator<Item = Item<'s>> + use<'s> {
        let this = *self;
        pairs(self.before(), self.snapshot).map(move |pair| this.item(&pair))
    }

    /// Returns the items of a type, including deleted items.
    pub fn items_of(&self, kind: u16) -> impl Iterator<Item = Item<'s>> + use<'s> {
        let this = *self;
        pairs_of(self.before(), self.snapshot, kind).map(move |pair| this.item(&pair))
    }

    /// Returns the type of the objects with this name, if it is a fixed number.
    #[must_use]
    pub fn kind(&self, name: &str) -> Option<u16> {
        let mut defs = self.registry.named(self.proto, Some(Class::Object), name);
        defs.find_map(|def| match def.id {
            Id::Number(number) => u16::try_from(number).ok(),
            _ => None,
        })
    }

    fn item(&self, pair: &Pair<'s>) -> Item<'s> {
        let (snapshot, before) = (self.snapshot(), self.before());
        let (ints, change, place) = match (pair.before, pair.after) {
            (Some(old), Some(new)) if old == new => (new, Change::Same, snapshot),
            // A delta cannot change a size.
            (Some(old), Some(new)) if old.len() == new.len() => (new, Change::Changed(old), snapshot),
            (_, Some(new)) => (new, Change::New, snapshot),
            (old, None) => (old.unwrap_or_default(), Change::Deleted, before),
        };
        Item {
            key: pair.key,
            def: place.def(self.registry, self.proto, pair.key.kind),
            ints,
            change,
        }
    }
}

impl<'s> Item<'s> {
    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> Option<&'s str> {
        self.def.map(|def| &*def.name)
    }

    /// Reads the values, all of them absolute, into a buffer. Notes report oddities, in ranges of ints.
    pub fn read(&self, decoded: &mut Decoded) -> Option<&'s Def> {
        let def = self.def?;
        decoded.object(def, self.ints);
        Some(def)
    }

    /// Reads the values that it had in the base, if they differ.
    pub fn read_before(&self, decoded: &mut Decoded) -> Option<&'s Def> {
        let Change::Changed(before) = self.change else {
            return None;
        };
        let def = self.def?;
        decoded.object(def, before);
        Some(def)
    }

    /// Returns the ints of a field in the base; `None` if they are the same. `record` must be from [`Item::read`].
    #[must_use]
    pub fn before(&self, record: &Record) -> Option<&'s [i32]> {
        let Change::Changed(before) = self.change else {
            return None;
        };
        let (start, end) = (record.at as usize, record.at as usize + record.len as usize);
        let old = before.get(start..end)?;
        (self.ints.get(start..end)? != old).then_some(old)
    }

    /// Returns the ints that differ: the index, the old and the new value.
    pub fn differences(&self) -> impl Iterator<Item = (usize, i32, i32)> + use<'s> {
        let before = match self.change {
            Change::Changed(before) => before,
            _ => &[],
        };
        let both = before.iter().zip(self.ints).enumerate();
        both.filter_map(|(at, (before, after))| (before != after).then_some((at, *before, *after)))
    }
}

impl fmt::Display for Completed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tick {}", self.tick)?;
        match self.base {
            Some(base) => write!(f, " base {base}")?,
            None => f.write_str(" complete")?,
        }
        let Counts {
            items,
            new,
            changed,
            deleted,
        } = self.counts;
        if self.fate != Fate::NoBase {
            write!(f, ", {}", counted(items, "item"))?;
        }
        for (count, what) in [(new, "new"), (changed, "changed"), (deleted, "deleted")] {
            if count > 0 && (what != "new" || self.base.is_some() || self.since.is_some()) {
                write!(f, ", {count} {what}")?;
            }
        }
        match self.since {
            Some(since) if (new, changed, deleted) == (0, 0, 0) => write!(f, ", the same as {since}")?,
            Some(since) => write!(f, " since {since}")?,
            None => {}
        }
        if self.parts > 1 {
            write!(f, ", {} parts", self.parts)?;
        }
        match self.crc_ok() {
            Some(true) => f.write_str(", crc ok")?,
            Some(false) => f.write_str(", crc wrong")?,
            None => {}
        }
        f.write_str(match self.fate {
            Fate::Kept | Fate::BadCrc => "",
            Fate::Late => ", late",
            Fate::Again => ", again",
            Fate::NoBase => ", base not known",
            Fate::Broken => ", broken",
        })
    }
}
