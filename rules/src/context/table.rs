//! A map by session number.
//!
//! Law: a map ordered by session number. Each datagram belongs to a session, so recently used sessions are found
//! without a search.

use std::{collections::BTreeMap, fmt};

/// Number of sessions that are found without a search; a power of two.
const RECENT: usize = 256;

/// Marks an entry without a value.
const NOWHERE: u32 = u32::MAX;

/// A map by session number.
#[derive(Clone)]
pub struct Table<T> {
    /// Index in `values` of each session.
    places: BTreeMap<u32, u32>,
    values: Vec<Option<T>>,
    free: Vec<u32>,
    /// Recently used sessions with their index, by the low bits of their number.
    recent: Box<[(u32, u32)]>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self {
            places: BTreeMap::new(),
            values: Vec::new(),
            free: Vec::new(),
            recent: vec![(0, NOWHERE); RECENT].into(),
        }
    }
}

impl<T> Table<T> {
    /// Returns the number of sessions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns true if there is no session.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns the value of a session.
    #[must_use]
    pub fn get(&self, id: u32) -> Option<&T> {
        let place = match self.recent.get(low(id)) {
            Some((known, place)) if *known == id && *place != NOWHERE => *place,
            _ => *self.places.get(&id)?,
        };
        self.values.get(place as usize)?.as_ref()
    }

    /// Returns true if a session has a value.
    #[must_use]
    pub fn contains(&self, id: u32) -> bool {
        self.get(id).is_some()
    }

    /// Returns a mutable reference to the value of a session.
    pub fn get_mut(&mut self, id: u32) -> Option<&mut T> {
        let recent = self.recent.get_mut(low(id))?;
        if recent.0 != id || recent.1 == NOWHERE {
            *recent = (id, *self.places.get(&id)?);
        }
        self.values.get_mut(recent.1 as usize)?.as_mut()
    }

    /// Sets the value of a session.
    pub fn insert(&mut self, id: u32, value: T) {
        *self.slot(id) = Some(value);
    }

    /// Returns a mutable reference to the value of a session, which is inserted if it is missing.
    pub fn get_or_insert_with(&mut self, id: u32, value: impl FnOnce() -> T) -> &mut T {
        self.slot(id).get_or_insert_with(value)
    }

    /// Returns the slot of a session, which is empty for a new session.
    fn slot(&mut self, id: u32) -> &mut Option<T> {
        let known = self.recent.get(low(id)).filter(|(known, _)| *known == id);
        let place = match known.filter(|(_, place)| *place != NOWHERE) {
            Some((_, place)) => *place,
            None => self.place(id),
        };
        let place = place as usize;
        if place >= self.values.len() {
            self.values.resize_with(place + 1, || None);
        }
        #[expect(clippy::indexing_slicing, reason = "there is a slot for each place")]
        &mut self.values[place]
    }

    /// Returns the index of a session, which may be new, and adds it to the recent ones.
    fn place(&mut self, id: u32) -> u32 {
        let (free, new) = (&mut self.free, self.values.len());
        let place = self.places.entry(id).or_insert_with(|| {
            let new = || u32::try_from(new).unwrap_or(NOWHERE);
            free.pop().unwrap_or_else(new)
        });
        if let Some(recent) = self.recent.get_mut(low(id)) {
            *recent = (id, *place);
        }
        *place
    }

    /// Removes the value of a session.
    pub fn remove(&mut self, id: u32) -> Option<T> {
        let place = self.places.remove(&id)?;
        self.free.push(place);
        if let Some(recent) = self.recent.get_mut(low(id)).filter(|recent| recent.0 == id) {
            recent.1 = NOWHERE;
        }
        self.values.get_mut(place as usize)?.take()
    }

    /// Removes all sessions.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns the sessions in ascending order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u32, &T)> {
        let place = |(id, place): (&u32, &u32)| {
            let value = self.values.get(*place as usize)?.as_ref()?;
            Some((*id, value))
        };
        self.places.iter().filter_map(place)
    }

    /// Returns mutable references to all values, in no particular order.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.values.iter_mut().flatten()
    }
}

impl<T: fmt::Debug> fmt::Debug for Table<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// Returns the index of a session in the recent ones.
const fn low(id: u32) -> usize {
    id as usize % RECENT
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Compares a table with a map after any sequence of insertions, removals and look-ups.
        #[test]
        fn it_is_a_map(steps in prop::collection::vec((0_u8..6, 0_u32..8, any::<u8>()), 0..200)) {
            let (mut table, mut map) = (Table::default(), BTreeMap::new());
            for (step, id, value) in steps {
                // Some numbers share their low bits.
                let id = id % 3 + id / 3 * 256;
                match step {
                    0 => {
                        table.insert(id, value);
                        map.insert(id, value);
                    }
                    1 => {
                        let known = *map.entry(id).or_insert(value);
                        prop_assert_eq!(*table.get_or_insert_with(id, || value), known);
                    }
                    2 => prop_assert_eq!(table.remove(id), map.remove(&id)),
                    3 => prop_assert_eq!(table.get_mut(id), map.get_mut(&id)),
                    4 => prop_assert_eq!(table.get(id), map.get(&id)),
                    _ if value == 0 => {
                        table.clear();
                        map.clear();
                    }
                    _ => {}
                }
                prop_assert_eq!(table.contains(id), map.contains_key(&id));
                prop_assert_eq!(table.len(), map.len());
                prop_assert_eq!(table.is_empty(), map.is_empty());
                prop_assert!(table.iter().eq(map.iter().map(|(id, value)| (*id, value))));
                prop_assert_eq!(table.values_mut().count(), map.len());
            }
        }
    }
}
