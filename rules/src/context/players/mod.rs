//! The players of a session: their names by client id, and which of them is the client itself.
//!
//! The client sends its own name. The names of others are in messages in 0.7, in snapshots in 0.6 and DDNet. When the
//! map changes, all ids are reassigned.
//!
//! Law: the numbers of ids and bytes are bounded. [`Players::name`] prefers the server's name for an id, and
//! [`Players::own_name`] the name that the client sent. Each uses the other name if its own is missing.

use std::{collections::BTreeMap, ops::RangeInclusive, sync::Arc};

use teetap_wire::{
    Dir,
    def::{Class, Decoded, Def, Source},
    snap::{Change, Completed, Fate},
};

/// Possible client ids; DDNet has 128 since 19.0.
const IDS: RangeInclusive<i64> = 0..=127;
/// Maximum bytes kept of a player's name; the games keep 15.
const NAME: usize = 64;

/// The players of one session.
#[derive(Clone, Debug, Default)]
pub struct Players {
    known: BTreeMap<i64, Player>,
    own_id: Option<i64>,
    /// Name that the client sent.
    own_name: Option<Box<[u8]>>,
    /// True if messages were missed, so that the next snapshot with players contains all of them.
    stale: bool,
}

/// A player, and the tick of the snapshot that named it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Player {
    name: Box<[u8]>,
    tick: i32,
}

/// The types of `client_info` and `player_info` in the snapshots of a session.
pub(super) type Kinds = [Option<u16>; 2];

/// The players that changed.
#[derive(Debug, Default)]
struct PlayerUpdate {
    /// True if all players that are not listed are gone.
    is_all: bool,
    /// Changed players; `None` for a player who left.
    players: Vec<(i64, Option<Player>)>,
    own_id: Option<i64>,
}

/// Kind of a message that contains a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Topic {
    OwnName,
    Player,
    Left,
    MapChange,
}

impl Players {
    /// Returns the name of the session's own player; `None` until it is known.
    #[must_use]
    pub fn own_name(&self) -> Option<&[u8]> {
        let by_id = || self.known.get(&self.own_id?);
        let given = || by_id().map(|player| &*player.name);
        self.own_name.as_deref().or_else(given)
    }

    /// Returns the client id of the session's own player; `None` until it is known.
    #[must_use]
    pub const fn own_id(&self) -> Option<i64> {
        self.own_id
    }

    /// Returns the name of the player with this client id; `None` if it is unknown.
    #[must_use]
    pub fn name(&self, id: i64) -> Option<&[u8]> {
        let known = self.known.get(&id).map(|player| &*player.name);
        let own = || self.own_name.as_deref().filter(|_| self.own_id == Some(id));
        known.or_else(own)
    }

    /// Returns the client ids and names given by the server, sorted by id.
    pub fn iter(&self) -> impl Iterator<Item = (i64, &[u8])> {
        self.known.iter().map(|(id, player)| (*id, &*player.name))
    }

    /// Returns true if a message may contain names.
    #[must_use]
    pub(crate) fn learns_from(dir: Dir, def: &Def) -> bool {
        Topic::of_message(dir, def).is_some()
    }

    /// Learns from a message; `decoded` was read from `data`.
    pub(super) fn learn(&mut self, dir: Dir, def: &Def, decoded: &Decoded, data: &[u8]) {
        let message = Message { def, decoded, data };
        match Topic::of_message(dir, def) {
            Some(Topic::OwnName) => {
                if let Some(name) = message.name() {
                    self.own_name = Some(name);
                }
            }
            Some(Topic::Player) => {
                let (Some(id), Some(name)) = (message.id("client_id"), message.name()) else {
                    return;
                };
                if message.int("local") == Some(1) {
                    self.own_id = Some(id);
                }
                self.known.insert(id, Player { name, tick: 0 });
            }
            Some(Topic::Left) => {
                if let Some(id) = message.id("client_id") {
                    self.known.remove(&id);
                }
            }
            Some(Topic::MapChange) => {
                self.known.clear();
                self.own_id = None;
            }
            None => {}
        }
    }

    /// Learns from a snapshot of 0.6 or DDNet if clients accept it. Copies nothing if no player has changed, as in most
    /// snapshots.
    pub(super) fn learn_snapshot(this: &mut Arc<Self>, snapshot: &Completed<'_>, kinds: &mut Option<Kinds>) {
        if snapshot.fate != Fate::Kept {
            return;
        }
        let look_up = || ["client_info", "player_info"].map(|name| snapshot.kind(name));
        let news = this.news(snapshot, *kinds.get_or_insert_with(look_up));
        if news.is_all || !news.players.is_empty() || news.own_id.is_some() {
            Arc::make_mut(this).update(news);
        }
    }

    /// Records that messages were missed.
    pub(super) fn gap(this: &mut Arc<Self>) {
        if !this.stale {
            Arc::make_mut(this).stale = true;
        }
    }

    fn news(&self, snapshot: &Completed<'_>, [client_info, player_info]: Kinds) -> PlayerUpdate {
        let mut decoded = Decoded::new();
        let mut news = PlayerUpdate::default();
        for item in client_info.into_iter().flat_map(|kind| snapshot.items_of(kind)) {
            let id = i64::from(item.key.id);
            let (Some(def), true) = (item.def, IDS.contains(&id)) else {
                continue;
            };
            news.is_all |= self.stale;
            if item.change == Change::Deleted {
                if self.known.contains_key(&id) {
                    news.players.push((id, None));
                }
            } else if self.stale || self.is_news(id, item.change, snapshot.base) {
                decoded.object(def, item.ints);
                let tick = snapshot.tick;
                if let Some(name) = name(def, &decoded, Source::Ints(item.ints)) {
                    news.players.push((id, Some(Player { name, tick })));
                }
            }
        }
        // The client's own id does not change until the map changes.
        let player_info = player_info.filter(|_| self.own_id.is_none());
        for item in player_info.into_iter().flat_map(|kind| snapshot.items_of(kind)) {
            let Some(def) = item.def.filter(|_| item.change != Change::Deleted) else {
                continue;
            };
            decoded.object(def, item.ints);
            if int(def, &decoded, "local") == Some(1) {
                news.own_id = int(def, &decoded, "client_id").filter(|id| IDS.contains(id));
            }
        }
        news
    }

    fn update(&mut self, news: PlayerUpdate) {
        if news.is_all {
            self.stale = false;
            self.known.clear();
        }
        for (id, player) in news.players {
            match player {
                Some(player) => drop(self.known.insert(id, player)),
                None => drop(self.known.remove(&id)),
            }
        }
        self.own_id = self.own_id.or(news.own_id);
    }

    /// Returns true if an item may have changed. An item that equals its base may still differ from a later snapshot.
    fn is_news(&self, id: i64, change: Change<'_>, base: Option<i32>) -> bool {
        let known = self.known.get(&id);
        change != Change::Same || known.is_none_or(|known| base.is_none_or(|base| known.tick > base))
    }
}

impl Topic {
    fn of_message(dir: Dir, def: &Def) -> Option<Self> {
        match (dir, def.class, &*def.name) {
            (Dir::C2s, Class::Game, "cl_start_info" | "cl_change_info") => Some(Self::OwnName),
            (Dir::S2c, Class::Game, "sv_client_info") => Some(Self::Player),
            (Dir::S2c, Class::Game, "sv_client_drop") => Some(Self::Left),
            (Dir::S2c, Class::System, "map_change") => Some(Self::MapChange),
            _ => None,
        }
    }
}

/// A decoded message.
struct Message<'a> {
    def: &'a Def,
    decoded: &'a Decoded,
    data: &'a [u8],
}

impl Message<'_> {
    fn name(&self) -> Option<Box<[u8]>> {
        name(self.def, self.decoded, Source::Bytes(self.data))
    }

    fn int(&self, field: &str) -> Option<i64> {
        int(self.def, self.decoded, field)
    }

    fn id(&self, field: &str) -> Option<i64> {
        self.int(field).filter(|id| IDS.contains(id))
    }
}

fn int(def: &Def, decoded: &Decoded, field: &str) -> Option<i64> {
    decoded.find(&def.path(field).ok()?)?.int()
}

fn name(def: &Def, decoded: &Decoded, source: Source<'_>) -> Option<Box<[u8]>> {
    let record = decoded.find(&def.path("name").ok()?)?;
    let name = def.bytes(record, source);
    Some(name.get(..NAME).unwrap_or(&name).into())
}

#[cfg(test)]
mod tests;
