//! The newest snapshot of each session, shared by the decoder and its views.
//!
//! Law: memory is bounded by the number of sessions. Queued events and the events of a history do not contain the items
//! of snapshots; views find the items of the newest snapshot here. Items are shared with the context of the session,
//! not copied.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use teetap_proxy::session::SessionId;
use teetap_wire::{
    def::Decoded,
    snap::{Change, Completed, Item, Retained},
};

/// Maximum number of sessions whose snapshot is kept. The session whose snapshot is oldest is forgotten first.
const SESSIONS: usize = 64;

/// The newest snapshot of each session; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Snapshots(Arc<Mutex<Stored>>);

#[derive(Debug, Default)]
struct Stored {
    turn: u64,
    /// The newest snapshot of each session, with the turn in which it was stored.
    sessions: BTreeMap<u32, (u64, Retained<'static>)>,
}

impl Snapshots {
    /// Returns the newest snapshot of a session; `None` if there is none. Copies no items.
    #[must_use]
    pub fn get(&self, session: SessionId) -> Option<Retained<'static>> {
        let stored = self.stored();
        stored
            .sessions
            .get(&session.0)
            .map(|(_, snapshot)| snapshot.clone())
    }

    pub(crate) fn put(&self, session: u32, snapshot: Retained<'static>) {
        let mut stored = self.stored();
        stored.turn += 1;
        let turn = stored.turn;
        stored.sessions.insert(session, (turn, snapshot));
        if stored.sessions.len() > SESSIONS {
            let oldest = stored.sessions.iter().min_by_key(|(_, (turn, _))| *turn);
            if let Some(oldest) = oldest.map(|(id, _)| *id) {
                stored.sessions.remove(&oldest);
            }
        }
    }

    fn stored(&self) -> MutexGuard<'_, Stored> {
        // The map is consistent after each change, so it stays usable if a thread panicked while it held the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A visible thing in the game, whose position is given along with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thing {
    /// A tee, by its client id.
    Tee(u16),
    /// The end of a tee's hook, with the position of the tee.
    Hook(i64, i64),
    /// A shot.
    Projectile,
    /// The beam of a laser, with the position of its other end.
    Laser(i64, i64),
    /// Health, armor or a weapon.
    Pickup,
    /// A flag of capture the flag.
    Flag,
}

/// Returns the visible things in a snapshot with their positions; a tile is 32 units wide.
#[must_use]
pub fn places(completed: &Completed<'_>) -> Vec<(Thing, i64, i64)> {
    let mut buffer = Decoded::new();
    let mut places = Vec::new();
    for item in completed.items().filter(|item| item.change != Change::Deleted) {
        add(&item, &mut buffer, &mut places);
    }
    places
}

fn add(item: &Item<'_>, buffer: &mut Decoded, places: &mut Vec<(Thing, i64, i64)>) -> Option<()> {
    let name = item.name()?;
    let def = item.read(buffer)?;
    let int = |field: &str| buffer.find(&def.path(field).ok()?)?.int();
    // DDNet names the end of a laser differently, and gives the positions of its projectiles in hundredths.
    let unit = if name == "ddnet_projectile" { 100 } else { 1 };
    let place = |field: &str| int(field).or_else(|| int(&format!("to_{field}")));
    let (x, y) = (place("x")? / unit, place("y")? / unit);
    let thing = match name {
        "character" => {
            // A negative state: the hook flies back, or there is none.
            if int("hook_state")? > 0 {
                places.push((Thing::Hook(x, y), int("hook_x")?, int("hook_y")?));
            }
            Thing::Tee(item.key.id)
        }
        "projectile" | "ddnet_projectile" => Thing::Projectile,
        "laser" | "ddnet_laser" => Thing::Laser(int("from_x")?, int("from_y")?),
        "pickup" | "ddnet_pickup" => Thing::Pickup,
        "flag" => Thing::Flag,
        _ => return None,
    };
    places.push((thing, x, y));
    Some(())
}

#[cfg(test)]
mod tests {
    use std::{fs::File, io::BufReader};

    use teetap_capture::{Item, Playback};
    use teetap_wire::{
        def::{Registry, Secrets},
        snap::Fate,
    };

    use super::*;
    use crate::{Decoder, snapshot::item_rows};

    #[test]
    fn the_newest_snapshot_is_shared_and_has_items_although_events_have_none() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/captures/rich-tw07.pcap");
        let mut playback = Playback::pcap(BufReader::new(File::open(path).unwrap())).unwrap();
        let mut decoder = Decoder::new(Registry::builtin());
        let snapshots = Snapshots::default();
        decoder.ignore_items();
        decoder.share_snapshots(snapshots.clone());
        let mut ticks = Vec::new();
        let (mut tees, mut pickups) = (0, 0);
        while let Some(item) = playback.read().unwrap() {
            let Item::Event(event) = item else { continue };
            let decoded = decoder.decode(event);
            let messages = decoded.reading.iter().flat_map(|reading| &reading.messages);
            for completed in messages.filter_map(|message| message.completed.view()) {
                assert_eq!(completed.items().count(), 0);
                let shared = snapshots.get(decoded.event.session.unwrap()).unwrap();
                let shared = shared.view();
                assert_eq!(shared.tick, completed.tick);
                ticks.push(shared.tick);
                if shared.fate == Fate::Kept {
                    let things = places(&shared);
                    tees += things
                        .iter()
                        .filter(|(thing, ..)| matches!(thing, Thing::Tee(_)))
                        .count();
                    pickups += things
                        .iter()
                        .filter(|(thing, ..)| *thing == Thing::Pickup)
                        .count();
                }
                let rows = item_rows(&shared, 0, usize::MAX, Secrets::Hide);
                assert_eq!(rows.len(), shared.items().count());
            }
        }
        assert!(
            ticks.len() > 100 && tees > 100 && pickups > 100,
            "{tees} {pickups}"
        );
    }
}
