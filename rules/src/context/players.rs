//! Who plays in a session: the names of the players by their client ids, and which of them is the client itself.
//!
//! The client tells its own name. 0.7 tells those of others in messages, 0.6 and DDNet in their snapshots. When the map
//! changes all ids are given anew.
//!
//! Law: kept per session, from its first event to its end, for a bounded number of sessions, ids and bytes. The name for
//! an id is what the server calls it, the name of a session what its client calls itself; each stands in for the other.

use std::{collections::BTreeMap, ops::RangeInclusive};

use teetap_proxy::session::SessionId;
use teetap_wire::{
    Dir,
    def::{Class, Decoded, Def, Source},
    snap::{Change, Completed, Fate},
};

/// Sessions that are remembered; when there are more, the oldest is forgotten.
const SESSIONS: usize = 4096;
/// Client ids there can be; DDNet has 128 since 19.0.
const IDS: RangeInclusive<i64> = 0..=127;
/// Bytes of a player's name that are kept; the games keep 15.
const NAME: usize = 64;

/// The players of all sessions.
#[derive(Debug)]
pub(crate) struct Roster {
    sessions: BTreeMap<SessionId, Players>,
}

/// The players of one session.
#[derive(Debug, Default)]
pub(crate) struct Players {
    known: BTreeMap<i64, Known>,
    own_id: Option<i64>,
    /// As the client calls itself.
    own_name: Option<Box<[u8]>>,
    /// The types of client_info and player_info in its snapshots, once one has come.
    kinds: Option<[Option<u16>; 2]>,
    /// Messages were missed: the next snapshot that tells of players tells of all there are.
    stale: bool,
}

/// A player, and the tick at which a snapshot told of it.
#[derive(Debug)]
struct Known {
    name: Box<[u8]>,
    tick: i32,
}

/// What a message may say about players.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    OwnName,
    Player,
    Left,
    MapChange,
}

impl Roster {
    /// With nobody in it.
    pub(crate) const fn new() -> Self {
        let sessions = BTreeMap::new();
        Self { sessions }
    }

    /// Those of a session.
    pub(crate) fn of(&self, session: Option<SessionId>) -> Option<&Players> {
        self.sessions.get(&session?)
    }

    /// The name of a session's own player.
    pub(crate) fn own_name(&self, session: Option<SessionId>) -> Option<&[u8]> {
        let players = self.of(session)?;
        let own = || players.known.get(&players.own_id?);
        let told = || own().map(|known| &*known.name);
        players.own_name.as_deref().or_else(told)
    }

    /// Whether a message may say anything about players.
    pub(crate) fn is_told_by(dir: Dir, def: &Def) -> bool {
        Word::of(dir, def).is_some()
    }

    /// Learns from a message; `decoded` is what was read of it.
    pub(crate) fn on_message(
        &mut self,
        session: Option<SessionId>,
        dir: Dir,
        def: &Def,
        decoded: &Decoded,
        data: &[u8],
    ) {
        if let (Some(session), Some(word)) = (session, Word::of(dir, def)) {
            self.at(session).hear(word, &Message { def, decoded, data });
        }
    }

    /// Learns from a snapshot.
    pub(crate) fn on_snapshot(&mut self, session: Option<SessionId>, snapshot: &Completed<'_>) {
        if let Some(session) = session {
            self.at(session).on_snapshot(snapshot);
        }
    }

    /// Messages were missed.
    pub(crate) fn gap(&mut self) {
        self.sessions
            .values_mut()
            .for_each(|players| players.stale = true);
    }

    /// A session is over.
    pub(crate) fn forget(&mut self, session: SessionId) {
        self.sessions.remove(&session);
    }

    fn at(&mut self, session: SessionId) -> &mut Players {
        if !self.sessions.contains_key(&session) && self.sessions.len() >= SESSIONS {
            self.sessions.pop_first();
        }
        self.sessions.entry(session).or_default()
    }
}

impl Players {
    /// The name of the player with this id.
    pub(crate) fn name(&self, id: i64) -> Option<&[u8]> {
        let known = self.known.get(&id).map(|known| &*known.name);
        let own = || self.own_name.as_deref().filter(|_| self.own_id == Some(id));
        known.or_else(own)
    }

    fn hear(&mut self, word: Word, message: &Message<'_>) {
        match word {
            Word::OwnName => {
                if let Some(name) = message.name() {
                    self.own_name = Some(name);
                }
            }
            Word::Player => {
                let (Some(id), Some(name)) = (message.id("client_id"), message.name()) else {
                    return;
                };
                if message.int("local") == Some(1) {
                    self.own_id = Some(id);
                }
                self.known.insert(id, Known { name, tick: 0 });
            }
            Word::Left => {
                if let Some(id) = message.id("client_id") {
                    self.known.remove(&id);
                }
            }
            Word::MapChange => {
                self.known.clear();
                self.own_id = None;
            }
        }
    }

    /// Learns from a snapshot of 0.6 or DDNet, if clients take it.
    pub(crate) fn on_snapshot(&mut self, snapshot: &Completed<'_>) {
        if snapshot.fate != Fate::Kept {
            return;
        }
        let kinds = || ["client_info", "player_info"].map(|name| snapshot.kind(name));
        let [client_info, player_info] = *self.kinds.get_or_insert_with(kinds);
        let mut decoded = Decoded::new();
        for item in client_info.into_iter().flat_map(|kind| snapshot.items_of(kind)) {
            let id = i64::from(item.key.id);
            let (Some(def), true) = (item.def, IDS.contains(&id)) else {
                continue;
            };
            if std::mem::take(&mut self.stale) {
                self.known.clear();
            }
            if item.change == Change::Deleted {
                self.known.remove(&id);
            } else if self.is_news(id, item.change, snapshot.base) {
                decoded.object(def, item.ints);
                let tick = snapshot.tick;
                if let Some(name) = name(def, &decoded, Source::Ints(item.ints)) {
                    self.known.insert(id, Known { name, tick });
                }
            }
        }
        // The own id stays until the map changes.
        let player_info = player_info.filter(|_| self.own_id.is_none());
        for item in player_info.into_iter().flat_map(|kind| snapshot.items_of(kind)) {
            let Some(def) = item.def.filter(|_| item.change != Change::Deleted) else {
                continue;
            };
            decoded.object(def, item.ints);
            if int(def, &decoded, "local") == Some(1) {
                self.own_id = int(def, &decoded, "client_id").filter(|id| IDS.contains(id));
            }
        }
    }

    /// Whether an item says anything that is not known. What is as in the base may be not as in a snapshot after that.
    fn is_news(&self, id: i64, change: Change<'_>, base: Option<i32>) -> bool {
        let known = self.known.get(&id);
        change != Change::Same || known.is_none_or(|known| base.is_none_or(|base| known.tick > base))
    }
}

impl Word {
    fn of(dir: Dir, def: &Def) -> Option<Self> {
        match (dir, def.class, &*def.name) {
            (Dir::C2s, Class::Game, "cl_start_info" | "cl_change_info") => Some(Self::OwnName),
            (Dir::S2c, Class::Game, "sv_client_info") => Some(Self::Player),
            (Dir::S2c, Class::Game, "sv_client_drop") => Some(Self::Left),
            (Dir::S2c, Class::System, "map_change") => Some(Self::MapChange),
            _ => None,
        }
    }
}

/// A message that was read.
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
#[path = "players_tests.rs"]
mod tests;
