//! A completed snapshot, for whoever looks at it.
//!
//! Law: nothing is made that is not asked for: values and differences are read off the two snapshots when an item is
//! looked at.

use std::fmt;
use std::sync::Arc;

use super::delta::Counts;
use super::pairs::{Pair, pairs, pairs_of};
use super::snapshot::{Key, Snapshot};
use super::store::NOTHING;
use crate::Proto;
use crate::def::{Class, Decoded, Def, Id, Record, Registry};
use crate::note::Notes;

/// What became of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fate {
    /// Clients take it, and it may be a base.
    Kept,
    /// Older than the newest one: clients ignore it. It can be read all the same.
    Late,
    /// It was there already: DDNet ignores it.
    Again,
    /// Its base is not known, so its differences say nothing. It has no items.
    NoBase,
    /// Clients discard it. The items are what could be read.
    Broken,
    /// The ints have another sum than the message says, so clients discard it; or an earlier one was read wrongly.
    BadCrc,
}

/// The sum of all ints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crc {
    /// As the message has it.
    pub stated: i32,
    /// As it is.
    pub actual: i32,
}

/// A snapshot all of whose parts are there.
#[derive(Debug, Clone, Copy)]
pub struct Completed<'s> {
    /// Its tick.
    pub tick: i32,
    /// The tick of the snapshot that it is told as a difference to. `None`: to nothing.
    pub base: Option<i32>,
    /// The parts it came in.
    pub parts: u8,
    /// `None` in `snap_empty`, which does not tell it, and without a base.
    pub crc: Option<Crc>,
    /// What became of it.
    pub fate: Fate,
    /// Its items. Without a base: `changed` and `deleted` are those that the message tells.
    pub counts: Counts,
    /// What is odd about the message that completed it. Ranges count in the message.
    pub notes: &'s Notes,
    /// What is odd about its data. Ranges count in the joined data.
    pub data_notes: &'s Notes,
    /// Where in the message the data begins, if it came in one part.
    pub data_at: Option<usize>,
    pub(super) snapshot: &'s Arc<Snapshot>,
    /// `None`: nothing.
    pub(super) before: Option<&'s Arc<Snapshot>>,
    pub(super) registry: &'s Registry,
    pub(super) proto: Proto,
}

/// A [`Completed`] snapshot that is kept. It shares its items with the store while that has them.
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
            snapshot: Arc::clone(completed.snapshot),
            before: completed.before.map(Arc::clone),
            registry,
            proto: completed.proto,
        }
    }

    /// The snapshot.
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
            snapshot: &self.snapshot,
            before: self.before.as_ref(),
            registry: self.registry,
            proto: self.proto,
        }
    }
}

/// An item of a completed snapshot, or one that is gone.
#[derive(Debug, Clone, Copy)]
pub struct Item<'s> {
    /// Its type and id.
    pub key: Key,
    /// What it is. `None`: no definition has the type, or no descriptor tells its UUID.
    pub def: Option<&'s Def>,
    /// Its ints; of a deleted item those that it had.
    pub ints: &'s [i32],
    /// What is new.
    pub change: Change<'s>,
}

/// What is new about an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'s> {
    /// Nothing.
    Same,
    /// The base does not have it.
    New,
    /// The base has it with these ints, as many.
    Changed(&'s [i32]),
    /// The base has it, the snapshot not.
    Deleted,
}

impl Crc {
    /// Whether both are the same.
    #[must_use]
    pub const fn ok(self) -> bool {
        self.stated == self.actual
    }
}

impl<'s> Completed<'s> {
    /// The items.
    #[must_use]
    pub fn snapshot(&self) -> &'s Snapshot {
        self.snapshot
    }

    /// The items of the base; empty if it has none, or none is known.
    #[must_use]
    pub fn before(&self) -> &'s Snapshot {
        self.before.map_or(&NOTHING, |before| before)
    }

    /// Whether the sum is right. `None`: it is not told, or cannot be had.
    #[must_use]
    pub fn crc_ok(&self) -> Option<bool> {
        self.crc.map(Crc::ok)
    }

    /// All items, also the deleted ones, in the order of their keys.
    pub fn items(&self) -> impl Iterator<Item = Item<'s>> + use<'s> {
        let this = *self;
        pairs(self.before(), self.snapshot).map(move |pair| this.item(&pair))
    }

    /// Those of a type.
    pub fn items_of(&self, kind: u16) -> impl Iterator<Item = Item<'s>> + use<'s> {
        let this = *self;
        pairs_of(self.before(), self.snapshot, kind).map(move |pair| this.item(&pair))
    }

    /// The type of the objects with this name, if that is a number of its own.
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
            // No delta says that a size changes.
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
    /// Its name.
    #[must_use]
    pub fn name(&self) -> Option<&'s str> {
        self.def.map(|def| &*def.name)
    }

    /// Reads its values, all of them absolute, into a buffer; notes tell what is odd about them, in ranges of ints.
    pub fn read(&self, decoded: &mut Decoded) -> Option<&'s Def> {
        let def = self.def?;
        decoded.object(def, self.ints);
        Some(def)
    }

    /// Reads the values that it had in the base, if they were others.
    pub fn read_before(&self, decoded: &mut Decoded) -> Option<&'s Def> {
        let Change::Changed(before) = self.change else {
            return None;
        };
        let def = self.def?;
        decoded.object(def, before);
        Some(def)
    }

    /// The ints of a field in the base, if they were others. `record` is one that [`Item::read`] made.
    #[must_use]
    pub fn before(&self, record: &Record) -> Option<&'s [i32]> {
        let Change::Changed(before) = self.change else {
            return None;
        };
        let (start, end) = (record.at as usize, record.at as usize + record.len as usize);
        let old = before.get(start..end)?;
        (self.ints.get(start..end)? != old).then_some(old)
    }

    /// The ints that differ: their place, what they were and what they are.
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
            write!(f, ", {items} item{}", if items == 1 { "" } else { "s" })?;
        }
        for (count, what) in [(new, "new"), (changed, "changed"), (deleted, "deleted")] {
            if count > 0 && (what != "new" || self.base.is_some()) {
                write!(f, ", {count} {what}")?;
            }
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
