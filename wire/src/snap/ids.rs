//! Detects servers that reuse the id of a projectile or pickup too early for another item.
//!
//! A server of the game reuses a freed id for another item only after 5 s (server.cpp, `CSnapIDPool::FreeID`, in all
//! releases), because a client treats two items with the same key in two snapshots as the same item.
//!
//! Law: a server that follows this rule has no finding. The same item may disappear from the view of a player and
//! reappear. A pause changes the start of a projectile, a DDNet teleporter changes its position, and DDNet's own
//! bullets, which have the type of the shotgun, bounce. Therefore an item counts as another item only if its type
//! differs, or if a projectile of another weapon has another direction and was shot after the old projectile was last
//! seen. Since a lagging server sends ticks faster than real time, an id may be reused one second earlier. Memory is
//! bounded, and late snapshots are ignored.

use super::FIRST_EXTENDED;
use super::snapshot::{ItemKey, Snapshot};
use crate::Proto;
use crate::def::{Class, Id, Registry};

/// Number of ticks within which the reuse of an id is certainly too early.
const EARLY: i32 = 200;
/// Number of ticks for which servers of the game do not reuse a freed id.
const POOL: i32 = 250;
/// Maximum number of disappeared items remembered per type.
const MOST_GONE: usize = 256;
/// Maximum number of types that are followed.
const MOST_TYPES: usize = 16;
/// Number of items of a type for which buffers are allocated from the beginning.
const USUAL: usize = 64;
/// The type of a projectile of the shotgun.
const SHOTGUN: i32 = 2;
/// Number of ints of a pickup in 0.7. In 0.6 a pickup also has its weapon.
const SEVEN: usize = 3;
/// The type of a pickup that is armor.
const ARMOR: i32 = 1;
/// The first type of a pickup that is a shield of DDNet (0.6).
const FIRST_SHIELD: i32 = 4;

/// An item with an id that another item had shortly before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reused {
    /// The key of both items.
    pub key: ItemKey,
    /// The tick of the last snapshot with the old item.
    pub seen: i32,
    /// The number of ticks from then to the first tick that may have the new item.
    pub after: i32,
}

/// The items of a session whose ids the server allocates from its pool.
#[derive(Debug, Clone)]
pub(super) struct Ids {
    /// The types with a fixed number, followed by the types that snapshots declared.
    groups: Vec<Group>,
    /// The number of types with a fixed number.
    fixed: usize,
    declared: Block,
    /// The tick of the last snapshot; `None` before the first one.
    last: Option<i32>,
}

/// The kinds of items that are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Thing {
    Projectile,
    Pickup,
}

/// The items of one type.
#[derive(Debug, Clone)]
struct Group {
    kind: u16,
    thing: Thing,
    /// The items of the last snapshot.
    block: Block,
    forms: Vec<ItemTraits>,
    /// The forms of the previous snapshot.
    before: Vec<ItemTraits>,
    gone: Vec<RemovedItem>,
}

/// The ids and ints of the items of one type in the last snapshot.
#[derive(Debug, Clone, Default)]
struct Block {
    ids: Vec<u16>,
    ints: Vec<i32>,
    /// The ids of the previous snapshot.
    before: Vec<u16>,
}

/// The traits of an item that do not change while it exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct ItemTraits {
    kind: [i32; 2],
    /// The direction of a projectile, and the tick of its shot; both change only together with its place.
    way: [i32; 2],
    start: i32,
}

/// An item that disappeared from the snapshots.
#[derive(Debug, Clone, Copy)]
struct RemovedItem {
    id: u16,
    form: ItemTraits,
    /// The tick of the last snapshot with the item.
    seen: i32,
}

impl Ids {
    pub(super) fn new(registry: &Registry, proto: Proto) -> Self {
        let mut groups = Vec::new();
        for (name, thing) in [("projectile", Thing::Projectile), ("pickup", Thing::Pickup)] {
            let mut defs = registry.named(proto, Some(Class::Object), name);
            let number = defs.find_map(|def| match def.id {
                Id::Number(number) => u16::try_from(number).ok(),
                _ => None,
            });
            groups.extend(number.map(|kind| Group::new(kind, thing)));
        }
        Self {
            fixed: groups.len(),
            groups,
            declared: Block::default(),
            last: None,
        }
    }

    /// Forgets all items: the map has changed, or messages were missed.
    pub(super) fn forget(&mut self) {
        self.groups.truncate(self.fixed);
        self.groups.iter_mut().for_each(Group::clear);
        self.declared = Block::default();
        self.last = None;
    }

    /// Returns the number of bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        let groups: usize = self.groups.iter().map(Group::memory).sum();
        groups + self.declared.memory()
    }

    /// Follows the snapshot of the next tick, and reports items with ids that other items had shortly before.
    pub(super) fn follow(
        &mut self,
        tick: i32,
        snapshot: &Snapshot,
        (registry, proto): (&Registry, Proto),
        mut reused: impl FnMut(Reused),
    ) {
        let last = self.last.replace(tick).unwrap_or(tick);
        if self.declared.replace(snapshot, 0) {
            self.declare(snapshot, registry, proto);
        }
        for group in &mut self.groups {
            group.follow((last, tick), snapshot, &mut reused);
        }
    }

    /// Records the types that a snapshot declares. A snapshot need not declare types without items.
    fn declare(&mut self, snapshot: &Snapshot, registry: &Registry, proto: Proto) {
        for kind in self.declared.ids.iter().filter(|id| **id >= FIRST_EXTENDED) {
            let def = snapshot.def(registry, proto, *kind);
            let thing = match def.map(|def| &*def.name) {
                Some("ddrace_projectile" | "ddnet_projectile") => Some(Thing::Projectile),
                Some("ddnet_pickup") => Some(Thing::Pickup),
                _ => None,
            };
            let place = self.groups.iter().position(|group| group.kind == *kind);
            let known = place.and_then(|place| self.groups.get(place));
            if known.map(|group| group.thing) == thing {
                continue;
            }
            if let Some(place) = place {
                self.groups.remove(place);
            }
            if let Some(thing) = thing
                && self.groups.len() < MOST_TYPES
            {
                self.groups.push(Group::new(*kind, thing));
            }
        }
    }
}

impl Group {
    fn new(kind: u16, thing: Thing) -> Self {
        Self {
            kind,
            thing,
            block: Block::default(),
            forms: Vec::new(),
            before: Vec::new(),
            gone: Vec::new(),
        }
    }

    fn clear(&mut self) {
        *self = Self::new(self.kind, self.thing);
    }

    const fn memory(&self) -> usize {
        self.block.memory()
            + (self.forms.capacity() + self.before.capacity()) * size_of::<ItemTraits>()
            + self.gone.capacity() * size_of::<RemovedItem>()
    }

    /// Records the items of one type in a snapshot, and reports reused ids. `last` is the tick of the previous
    /// snapshot.
    fn follow(&mut self, (last, tick): (i32, i32), snapshot: &Snapshot, reused: &mut impl FnMut(Reused)) {
        if !self.block.replace(snapshot, self.kind) {
            return;
        }
        std::mem::swap(&mut self.forms, &mut self.before);
        self.forms.clear();
        self.forms.reserve(USUAL);
        let items = snapshot.items_of(self.kind);
        self.forms
            .extend(items.map(|(_, ints)| ItemTraits::of(self.thing, ints)));
        self.gone.retain(|gone| tick.saturating_sub(gone.seen) < POOL);
        for (id, form) in self.block.ids.iter().zip(&self.forms) {
            let old = match self.block.before.binary_search(id) {
                Ok(place) => self.before.get(place).map(|form| (*form, last)),
                Err(_) => {
                    let place = self.gone.iter().position(|gone| gone.id == *id);
                    let gone = place.map(|place| self.gone.remove(place));
                    gone.map(|gone| (gone.form, gone.seen))
                }
            };
            let Some((old, seen)) = old else { continue };
            let after = form.born(self.thing, seen, tick).saturating_sub(seen);
            if after < EARLY && form.is_other(self.thing, &old, seen) {
                let key = ItemKey {
                    kind: self.kind,
                    id: *id,
                };
                reused(Reused { key, seen, after });
            }
        }
        if self.gone.is_empty() {
            self.gone.reserve(USUAL);
        }
        let before = self.block.before.iter().zip(&self.before);
        for (id, form) in before.filter(|(id, _)| self.block.ids.binary_search(id).is_err()) {
            if self.gone.len() >= MOST_GONE {
                self.gone.remove(0);
            }
            self.gone.push(RemovedItem {
                id: *id,
                form: *form,
                seen: last,
            });
        }
    }
}

impl Block {
    /// Replaces the block with the items of a type. Returns false if nothing changed.
    fn replace(&mut self, snapshot: &Snapshot, kind: u16) -> bool {
        let (ids, ints) = snapshot.block(kind);
        if self.ints == ints && ids.clone().eq(self.ids.iter().copied()) {
            return false;
        }
        std::mem::swap(&mut self.ids, &mut self.before);
        self.ids.clear();
        self.ids.reserve(USUAL);
        self.ids.extend(ids);
        self.ints.clear();
        self.ints.reserve(4 * USUAL);
        self.ints.extend_from_slice(ints);
        true
    }

    const fn memory(&self) -> usize {
        (self.ids.capacity() + self.before.capacity()) * size_of::<u16>()
            + self.ints.capacity() * size_of::<i32>()
    }
}

impl ItemTraits {
    fn of(thing: Thing, ints: &[i32]) -> Self {
        let int = |at: usize| ints.get(at).copied().unwrap_or_default();
        match thing {
            Thing::Projectile => Self {
                kind: [int(4), 0],
                way: [int(2), int(3)],
                start: int(5),
            },
            Thing::Pickup => {
                // DDNet servers send the shields of weapons as armor until they know the version of the client.
                let is_shield = ints.len() > SEVEN && int(2) >= FIRST_SHIELD;
                Self {
                    kind: [if is_shield { ARMOR } else { int(2) }, int(3)],
                    ..Self::default()
                }
            }
        }
    }

    /// Returns true if this cannot be the item that was last seen as `old` at tick `seen`.
    fn is_other(&self, thing: Thing, old: &Self, seen: i32) -> bool {
        if self.kind != old.kind {
            return true;
        }
        let [weapon, _] = self.kind;
        thing == Thing::Projectile && weapon != SHOTGUN && self.way != old.way && self.start > seen
    }

    /// Returns the tick at which the item was created, or the first tick at which it was seen.
    const fn born(&self, thing: Thing, seen: i32, tick: i32) -> i32 {
        match thing {
            Thing::Projectile if self.start > seen && self.start < tick => self.start,
            Thing::Projectile | Thing::Pickup => tick,
        }
    }
}
