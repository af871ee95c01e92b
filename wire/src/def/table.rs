//! The definitions of one dialect, indexed by id and by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::model::{Class, Def, Id, Set};
use crate::Dir;

/// The number of ids that are looked up by index.
const SMALL: usize = 128;
const NONE: u16 = u16::MAX;

/// The definitions of one dialect.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) defs: Vec<Def>,
    /// The definitions by class and number; [`NONE`] if there is no definition.
    small: [[u16; SMALL]; Class::ALL.len()],
    large: BTreeMap<(Class, i32), u16>,
    uuids: BTreeMap<([u8; 16], Class), u16>,
    tags: BTreeMap<[u8; 4], u16>,
    /// The definitions by folded name, sorted.
    names: Vec<(String, u16)>,
    pub(super) sets: BTreeMap<Arc<str>, Arc<Set>>,
}

impl Table {
    pub(super) fn new(defs: Vec<Def>, sets: BTreeMap<Arc<str>, Arc<Set>>) -> Self {
        let mut table = Self {
            defs: Vec::new(),
            small: [[NONE; SMALL]; Class::ALL.len()],
            large: BTreeMap::new(),
            uuids: BTreeMap::new(),
            tags: BTreeMap::new(),
            names: names(&defs),
            sets,
        };
        let mut twins = Vec::new();
        for (at, def) in (0u16..NONE).zip(&defs) {
            let first = table.add_id(def, at);
            twins.extend(first.map(|first| (first, at)));
        }
        table.defs = defs;
        // Of two definitions that differ in direction, the first leads to the other.
        for (first, twin) in twins {
            if let Some(def) = table.defs.get_mut(usize::from(first)) {
                def.twin = Some(twin);
            }
        }
        table
    }

    /// Adds a definition to the index of ids. Returns the first definition with the same id, if there is one, instead.
    fn add_id(&mut self, def: &Def, at: u16) -> Option<u16> {
        let first = match &def.id {
            Id::Number(number) => {
                let class = self.small.get_mut(def.class as usize);
                let small = usize::try_from(*number).ok();
                match class.zip(small).and_then(|(class, number)| class.get_mut(number)) {
                    Some(slot) if *slot == NONE => {
                        *slot = at;
                        at
                    }
                    Some(slot) => *slot,
                    None => *self.large.entry((def.class, *number)).or_insert(at),
                }
            }
            Id::Uuid { uuid, .. } => *self.uuids.entry((*uuid, def.class)).or_insert(at),
            Id::Tag(tag) => *self.tags.entry(*tag).or_insert(at),
        };
        Some(first).filter(|first| *first != at)
    }

    /// Returns the index of the definition of a number.
    pub(super) fn number(&self, class: Class, number: i32) -> Option<u16> {
        let small = usize::try_from(number)
            .ok()
            .and_then(|number| self.small.get(class as usize)?.get(number));
        match small {
            Some(at) => Some(*at).filter(|at| *at != NONE),
            None => self.large.get(&(class, number)).copied(),
        }
    }

    /// Returns the index of the definition of a UUID.
    pub(super) fn uuid(&self, class: Class, uuid: &[u8; 16]) -> Option<u16> {
        self.uuids.get(&(*uuid, class)).copied()
    }

    /// Returns the definition of a connless message.
    pub(super) fn tag(&self, tag: [u8; 4]) -> Option<&Def> {
        self.def(*self.tags.get(&tag)?)
    }

    /// Returns the definitions called `name`, a plain message first. See [`Registry::named`](super::Registry::named).
    pub(super) fn named<'t>(&'t self, name: &str) -> impl Iterator<Item = &'t Def> + use<'t> {
        let name = fold(name);
        let start = self.names.partition_point(|(known, _)| *known < name);
        let names = self.names.get(start..).unwrap_or_default().iter();
        let found = names.take_while(move |(known, _)| *known == name);
        found.filter_map(|(_, at)| self.def(*at))
    }

    pub(super) fn def(&self, at: u16) -> Option<&Def> {
        self.defs.get(usize::from(at))
    }

    /// Returns the definition at an index, or the definition with the same id for the other direction if only that
    /// allows `dir`.
    pub(super) fn towards(&self, at: u16, dir: Dir) -> Option<&Def> {
        let def = self.def(at)?;
        let twin = def.twin.and_then(|twin| self.def(twin));
        Some(
            twin.filter(|twin| !def.way.allows(dir) && twin.way.allows(dir))
                .unwrap_or(def),
        )
    }
}

/// Returns the folded names of definitions with their indexes, sorted.
fn names(defs: &[Def]) -> Vec<(String, u16)> {
    let mut names = Vec::with_capacity(defs.len());
    for (at, def) in (0u16..NONE).zip(defs) {
        let own = std::iter::once(&def.name).chain(&def.aliases);
        names.extend(own.map(|name| (fold(name), at)));
    }
    let is_extended = |at: u16| {
        let def = defs.get(usize::from(at));
        def.is_some_and(|def| matches!(def.id, Id::Uuid { .. }))
    };
    names.sort_unstable_by(|(one, a), (two, b)| (one, is_extended(*a), a).cmp(&(two, is_extended(*b), b)));
    names.dedup();
    names
}

/// Normalizes a name: lower case, without the prefixes of the games' sources, and without `_`.
fn fold(name: &str) -> String {
    const PREFIXES: [&str; 9] = [
        "netmsgtype_",
        "netmsg_",
        "cnetmsg_",
        "netobjtype_",
        "cnetobj_",
        "neteventtype_",
        "cnetevent_",
        "net_ctrlmsg_",
        "cnetmsgtype_",
    ];
    let lower = if name.is_ascii() {
        name.to_ascii_lowercase()
    } else {
        name.to_lowercase()
    };
    let mut prefixes = PREFIXES.iter();
    let bare = prefixes.find_map(|prefix| lower.strip_prefix(prefix));
    let mut folded = bare.unwrap_or(&lower).to_owned();
    folded.retain(|c| c != '_');
    folded
}
