//! A complete snapshot.
//!
//! Law: items are sorted by key, and their ints are contiguous in one buffer. Therefore two snapshots can be compared
//! in one pass, and a snapshot is copied with two memory copies. A snapshot never exceeds the game's limits.

use std::fmt;

use super::{FIRST_EXTENDED, MAX_ITEMS, MAX_SIZE, MAX_TYPE};
use crate::Proto;
use crate::def::{Def, Registry};

/// The first type whose size both sides cannot have agreed on (0.7 and DDNet: MAX_NETOBJSIZES).
const AGREED: usize = 64;

/// The identity of an item in a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemKey {
    /// The type, 0 to 0x7fff. Can be higher in a key that a peer deletes.
    pub kind: u16,
    /// The number of the item, unique among items of the same type.
    pub id: u16,
}

/// The snapshot without items, used in place of a missing base.
pub(super) static NOTHING: Snapshot = Snapshot::new();

/// The items of a tick.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    slots: Vec<Slot>,
    ints: Vec<i32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slot {
    key: ItemKey,
    /// The index of its first int.
    at: u32,
}

/// The sizes of items that both sides agreed on beforehand, so that a delta omits them.
#[derive(Clone, PartialEq, Eq)]
pub struct Sizes([Option<u16>; AGREED]);

/// The reason why an item cannot be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InsertError {
    /// The snapshot already has 1024 items or 64 KiB.
    #[error("the snapshot is full")]
    Full,
    /// The snapshot already contains this key.
    #[error("item {0} exists already")]
    Taken(ItemKey),
    /// The type is above 0x7fff, which no peer accepts.
    #[error("an item cannot have the type {0}")]
    BadType(u16),
}

impl ItemKey {
    /// Returns the key as one int, as on the wire.
    #[must_use]
    pub const fn from_int(int: i32) -> Self {
        let [a, b, c, d] = int.to_be_bytes();
        Self {
            kind: u16::from_be_bytes([a, b]),
            id: u16::from_be_bytes([c, d]),
        }
    }

    /// Reads a key from one int, as on the wire.
    #[must_use]
    pub const fn to_int(self) -> i32 {
        let [a, b] = self.kind.to_be_bytes();
        let [c, d] = self.id.to_be_bytes();
        i32::from_be_bytes([a, b, c, d])
    }
}

impl Sizes {
    /// Returns the item sizes that both sides of a variant know, which are therefore not sent.
    #[must_use]
    pub fn new(registry: &Registry, proto: Proto) -> Self {
        let mut sizes = [None; AGREED];
        for (number, slot) in (0..).zip(&mut sizes) {
            let size = registry.object(proto, number).and_then(|def| def.size);
            *slot = size.and_then(|size| size.agreed);
        }
        Self(sizes)
    }

    /// Returns the number of ints of an item of this type. `None` if a delta has to state it.
    #[must_use]
    pub fn of_kind(&self, kind: u16) -> Option<u16> {
        self.0.get(usize::from(kind)).copied().flatten()
    }

    /// Returns sizes with which each item states its size.
    pub(super) const fn none() -> Self {
        Self([None; AGREED])
    }

    /// Returns a copy with another size for the type `kind`.
    pub(super) fn with(&self, kind: u16, size: Option<u16>) -> Self {
        let mut sizes = self.clone();
        if let Some(slot) = sizes.0.get_mut(usize::from(kind)) {
            *slot = size;
        }
        sizes
    }
}

impl Snapshot {
    /// Creates a snapshot without items.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            slots: Vec::new(),
            ints: Vec::new(),
        }
    }

    /// Returns the number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns true if there are no items.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Returns the size in bytes as clients count it, at most [`MAX_SIZE`].
    #[must_use]
    pub(super) fn size(&self) -> usize {
        8 + 8 * self.slots.len() + 4 * self.ints.len()
    }

    /// Returns the wrapping sum of all ints, which messages call crc.
    #[must_use]
    pub fn crc(&self) -> i32 {
        self.ints.iter().fold(0i32, |sum, int| sum.wrapping_add(*int))
    }

    /// Returns the items in the order of their keys.
    pub fn items(&self) -> impl Iterator<Item = (ItemKey, &[i32])> + Clone {
        let ends = self.slots.iter().skip(1).map(|slot| slot.at as usize);
        let ends = ends.chain(std::iter::once(self.ints.len()));
        self.slots.iter().zip(ends).map(|(slot, end)| {
            let ints = self.ints.get(slot.at as usize..end);
            (slot.key, ints.unwrap_or_default())
        })
    }

    /// Returns the items of one type in the order of their ids.
    pub fn items_of(&self, kind: u16) -> impl Iterator<Item = (ItemKey, &[i32])> + Clone + use<'_> {
        let start = self.slots.partition_point(|slot| slot.key.kind < kind);
        let slots = self.slots.get(start..).unwrap_or_default();
        let slots = (start..).zip(slots.iter().take_while(move |slot| slot.key.kind == kind));
        slots.map(|(place, slot)| {
            let range = self.range(place);
            let ints = range.and_then(|(start, end)| self.ints.get(start..end));
            (slot.key, ints.unwrap_or_default())
        })
    }

    /// Returns the ids of the items of one type, in ascending order, and the ints of all these items.
    pub(super) fn block(&self, kind: u16) -> (impl Iterator<Item = u16> + Clone + use<'_>, &[i32]) {
        let start = self.slots.partition_point(|slot| slot.key.kind < kind);
        let slots = self.slots.get(start..).unwrap_or_default();
        let len = slots.partition_point(|slot| slot.key.kind == kind);
        let place = |slot: Option<&Slot>| slot.map_or(self.ints.len(), |slot| slot.at as usize);
        let ints = self.ints.get(place(slots.first())..place(slots.get(len)));
        let ids = slots.iter().take(len).map(|slot| slot.key.id);
        (ids, ints.unwrap_or_default())
    }

    /// Returns the ints of an item.
    #[must_use]
    pub fn get(&self, key: ItemKey) -> Option<&[i32]> {
        let (start, end) = self.range(self.place(key).ok()?)?;
        self.ints.get(start..end)
    }

    /// Returns the ints of an item for changes.
    #[must_use]
    pub fn get_mut(&mut self, key: ItemKey) -> Option<&mut [i32]> {
        let (start, end) = self.range(self.place(key).ok()?)?;
        self.ints.get_mut(start..end)
    }

    /// Adds an item.
    ///
    /// # Errors
    /// Returns an [`InsertError`] if the snapshot is full, already contains the key, or the type is invalid.
    pub fn insert(&mut self, key: ItemKey, ints: &[i32]) -> Result<(), InsertError> {
        if key.kind > MAX_TYPE {
            return Err(InsertError::BadType(key.kind));
        }
        let place = match self.place(key) {
            Ok(_) => return Err(InsertError::Taken(key)),
            Err(place) => place,
        };
        if !self.has_room(ints.len()) {
            return Err(InsertError::Full);
        }
        let at = self
            .slots
            .get(place)
            .map_or(self.ints.len(), |slot| slot.at as usize);
        self.ints.splice(at..at, ints.iter().copied());
        self.slots.insert(place, Slot { key, at: short(at) });
        let moved = self.slots.iter_mut().skip(place + 1);
        moved.for_each(|slot| slot.at += short(ints.len()));
        Ok(())
    }

    /// Removes an item. Returns true if it existed.
    pub fn remove(&mut self, key: ItemKey) -> bool {
        let Ok(place) = self.place(key) else { return false };
        let Some((start, end)) = self.range(place) else {
            return false;
        };
        self.ints.drain(start..end);
        self.slots.remove(place);
        let moved = self.slots.iter_mut().skip(place);
        moved.for_each(|slot| slot.at -= short(end - start));
        true
    }

    /// Removes all items and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.slots.clear();
        self.ints.clear();
    }

    /// Returns the UUID of a type, from its descriptor item.
    #[must_use]
    pub(crate) fn uuid(&self, kind: u16) -> Option<[u8; 16]> {
        let ints = self
            .get(ItemKey { kind: 0, id: kind })
            .filter(|_| kind >= FIRST_EXTENDED)?;
        let mut uuid = [0; 16];
        let (words, _) = uuid.as_chunks_mut::<4>();
        let ints = ints.first_chunk::<4>()?;
        words
            .iter_mut()
            .zip(ints)
            .for_each(|(word, int)| *word = int.to_be_bytes());
        Some(uuid)
    }

    /// Returns the definition of the items of a type, found through a descriptor item if the type needs one.
    #[must_use]
    pub fn def<'r>(&self, registry: &'r Registry, proto: Proto, kind: u16) -> Option<&'r Def> {
        if kind >= FIRST_EXTENDED {
            return registry.object_uuid(proto, &self.uuid(kind)?);
        }
        registry.object(proto, kind.into())
    }

    /// Releases memory that only a much larger snapshot needed.
    pub(super) fn shrink(&mut self) {
        if self.held() > 2 * self.size() + 1024 {
            self.slots.shrink_to_fit();
            self.ints.shrink_to_fit();
        }
    }

    /// Returns the number of bytes of memory held.
    pub(super) fn held(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>() + self.ints.capacity() * size_of::<i32>()
    }

    /// Returns true if an item of `ints` ints fits.
    pub(super) fn has_room(&self, ints: usize) -> bool {
        self.slots.len() < MAX_ITEMS && self.size() + 8 + 4 * ints <= MAX_SIZE
    }

    /// Appends an item after all others. Returns false and changes nothing if there is no room.
    pub(super) fn push(&mut self, key: ItemKey, ints: &[i32]) -> bool {
        let room = self.has_room(ints.len());
        if room {
            let at = short(self.ints.len());
            self.slots.push(Slot { key, at });
            self.ints.extend_from_slice(ints);
        }
        room
    }

    /// Appends the items of `other` from `start` up to `end`, whose keys are above all keys of this snapshot. Returns
    /// false and changes nothing if not all of them fit.
    pub(super) fn push_run(&mut self, other: &Self, start: usize, end: usize) -> bool {
        let slots = other.slots.get(start..end).unwrap_or_default();
        let Some(first) = slots.first() else {
            return true;
        };
        let from = first.at as usize;
        let to = other
            .slots
            .get(end)
            .map_or(other.ints.len(), |slot| slot.at as usize);
        let ints = other.ints.get(from..to).unwrap_or_default();
        let size = self.size() + 8 * slots.len() + 4 * ints.len();
        if self.slots.len() + slots.len() > MAX_ITEMS || size > MAX_SIZE {
            return false;
        }
        let shift = short(self.ints.len()).wrapping_sub(first.at);
        self.slots.extend(slots.iter().map(|slot| Slot {
            key: slot.key,
            at: slot.at.wrapping_add(shift),
        }));
        self.ints.extend_from_slice(ints);
        true
    }

    /// Reserves memory for the items of `base` and `items` more with `ints` ints.
    pub(super) fn reserve_like(&mut self, base: &Self, items: usize, ints: usize) {
        self.slots.reserve(base.slots.len() + items);
        self.ints.reserve(base.ints.len() + ints);
    }

    /// Returns the first place, from `start` on, whose key is not below `key`.
    pub(super) fn place_from(&self, start: usize, key: ItemKey) -> usize {
        let slots = self.slots.get(start..).unwrap_or_default();
        start + slots.partition_point(|slot| slot.key < key)
    }

    /// Returns the item at a place in the order of the keys.
    pub(super) fn item(&self, place: usize) -> Option<(ItemKey, &[i32])> {
        let (start, end) = self.range(place)?;
        Some((self.slots.get(place)?.key, self.ints.get(start..end)?))
    }

    /// Appends the sum of `base` and `ints`, which have the same length, as in [`Snapshot::push`]. Returns true if it
    /// differs from `base`, `None` if there is no room.
    pub(super) fn push_sum(&mut self, key: ItemKey, base: &[i32], ints: &[i32]) -> Option<bool> {
        if !self.has_room(ints.len()) {
            return None;
        }
        let at = short(self.ints.len());
        self.slots.push(Slot { key, at });
        let sums = base.iter().zip(ints).map(|(base, int)| base.wrapping_add(*int));
        self.ints.extend(sums);
        Some(ints.iter().fold(0, |any, int| any | int) != 0)
    }

    fn range(&self, place: usize) -> Option<(usize, usize)> {
        let start = self.slots.get(place)?.at as usize;
        let next = self.slots.get(place + 1);
        Some((start, next.map_or(self.ints.len(), |slot| slot.at as usize)))
    }

    fn place(&self, key: ItemKey) -> Result<usize, usize> {
        self.slots.binary_search_by_key(&key, |slot| slot.key)
    }
}

/// Narrows a place or length, which are below [`MAX_SIZE`] here.
fn short(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

impl fmt::Display for ItemKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind, self.id)
    }
}

impl fmt::Debug for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stated = self.0.iter().enumerate();
        f.debug_map()
            .entries(stated.filter_map(|(kind, size)| Some((kind, (*size)?))))
            .finish()
    }
}
