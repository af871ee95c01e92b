//! Tests of players, learned from messages and snapshots, and of their bounds.

#![expect(clippy::disallowed_methods, reason = "tests choose the built-in definitions")]

use teetap_wire::{
    Proto,
    def::{Datum, Registry},
    snap::{ItemKey, Sizes, Snapshot, Store},
};

use super::*;

fn def(name: &str) -> &'static Def {
    Registry::builtin().named(Proto::V7, None, name).next().unwrap()
}

/// Learns from a 0.7 message.
fn tell(players: &mut Players, dir: Dir, name: &str, values: &Datum) {
    let (def, mut data, mut decoded) = (def(name), Vec::new(), Decoded::new());
    def.encode(values, &mut data).unwrap();
    decoded
        .message(Registry::builtin(), Proto::V7, dir, &data)
        .unwrap();
    players.learn(dir, def, &decoded, &data);
}

fn info(players: &mut Players, id: i64, local: bool, name: &str) {
    let values = [
        ("client_id", id.into()),
        ("local", i64::from(local).into()),
        ("name", name.into()),
    ];
    tell(players, Dir::S2c, "sv_client_info", &Datum::group(values));
}

fn call_oneself(players: &mut Players, name: &str) {
    let values = Datum::group([("name", name.into())]);
    tell(players, Dir::C2s, "cl_start_info", &values);
}

fn names(players: &Players, ids: &[i64]) -> Vec<Option<String>> {
    let text = |name: &[u8]| String::from_utf8(name.to_vec()).unwrap();
    ids.iter().map(|id| players.name(*id).map(text)).collect()
}

fn some(name: &str) -> Option<String> {
    Some(name.to_owned())
}

#[test]
fn players_come_go_and_are_others_after_a_map_change() {
    let mut players = Players::default();
    assert_eq!(players.own_name(), None);
    call_oneself(&mut players, "me");
    assert_eq!(players.own_name(), Some(&b"me"[..]));
    info(&mut players, 3, true, "(1)me");
    info(&mut players, 0, false, "you");
    info(&mut players, 63, false, "bot");
    assert_eq!(
        names(&players, &[0, 3, 63, -1]),
        [some("you"), some("(1)me"), some("bot"), None]
    );
    let gone = Datum::group([("client_id", 3.into())]);
    tell(&mut players, Dir::S2c, "sv_client_drop", &gone);
    // The name that the client sent is still known.
    assert_eq!(names(&players, &[0, 3]), [some("you"), some("me")]);
    let map = Datum::group([("name", "ctf1".into()), ("size", 1.into())]);
    tell(&mut players, Dir::S2c, "map_change", &map);
    assert_eq!(names(&players, &[0, 3, 63]), [None, None, None]);
    assert_eq!(players.own_name(), Some(&b"me"[..]));
}

#[test]
fn a_session_without_its_beginning_has_the_name_that_the_server_says() {
    let mut players = Players::default();
    info(&mut players, 0, false, "you");
    assert_eq!(players.own_name(), None);
    info(&mut players, 3, true, "me");
    assert_eq!(players.own_name(), Some(&b"me"[..]));
}

#[test]
fn there_are_never_too_many_and_names_are_never_too_long() {
    let mut players = Players::default();
    for id in -5..500 {
        info(&mut players, id, false, &"x".repeat(200));
    }
    assert_eq!(players.known.len(), 128);
    assert_eq!(players.name(127).map(<[u8]>::len), Some(64));
}

/// Returns a snapshot with this name for player 5.
fn named(name: Option<&str>) -> Snapshot {
    let registry = Registry::builtin();
    let def = registry.named(Proto::Ddnet, None, "client_info").next().unwrap();
    let (mut snapshot, mut ints) = (Snapshot::new(), Vec::new());
    if let Some(name) = name {
        def.encode_object(&Datum::group([("name", name.into())]), &mut ints)
            .unwrap();
        snapshot.insert(ItemKey { kind: 11, id: 5 }, &ints).unwrap();
    }
    snapshot
}

/// A session of DDNet with snapshots of one player.
struct Followed {
    store: Store<'static>,
    players: Arc<Players>,
    kinds: Option<Kinds>,
}

impl Followed {
    /// Checks that exactly the snapshot's players are known after it.
    fn snapshot(&mut self, data: &[u8], expected: Option<&str>) {
        let mut decoded = Decoded::new();
        let def = decoded.message(Registry::builtin(), Proto::Ddnet, Dir::S2c, data);
        let snapshot = self
            .store
            .on_message(Dir::S2c, def.unwrap(), &decoded, data)
            .unwrap();
        assert_eq!(snapshot.fate, Fate::Kept);
        Players::learn_snapshot(&mut self.players, &snapshot, &mut self.kinds);
        let known: Vec<_> = self.players.iter().collect();
        let expected: Vec<_> = expected.map(|name| (5, name.as_bytes())).into_iter().collect();
        assert_eq!(known, expected);
    }
}

#[test]
fn a_difference_to_an_old_snapshot_says_what_came_back() {
    let registry = Registry::builtin();
    let sizes = Sizes::new(registry, Proto::Ddnet);
    let def = registry.named(Proto::Ddnet, None, "snap_single").next().unwrap();
    let mut followed = Followed {
        store: Store::new(registry, Proto::Ddnet),
        players: Arc::default(),
        kinds: None,
    };
    let base = named(Some("a"));
    let states = [Some("a"), Some("b"), Some("a"), None, Some("a"), Some("c"), None];
    for (tick, name) in (10..).zip(states) {
        let (snapshot, mut bytes, mut data) = (named(name), Vec::new(), Vec::new());
        // Later snapshots are deltas to the first one.
        let (old, delta) = if tick == 10 {
            (&Snapshot::new(), 11)
        } else {
            (&base, tick - 10)
        };
        snapshot.delta(old, &sizes, &mut bytes).unwrap();
        let values = [
            ("tick", tick.into()),
            ("delta_tick", delta.into()),
            ("crc", i64::from(snapshot.crc()).into()),
            ("data", Datum::Bytes(bytes)),
        ];
        def.encode(&Datum::group(values), &mut data).unwrap();
        if tick == 14 {
            // Events were missed in which a player left.
            let (name, tick) = (b"gone"[..].into(), 13);
            let players = Arc::make_mut(&mut followed.players);
            players.known.insert(9, Player { name, tick });
            Players::gap(&mut followed.players);
        }
        followed.snapshot(&data, name);
    }
}

#[test]
fn a_snapshot_without_news_copies_nothing() {
    let registry = Registry::builtin();
    let sizes = Sizes::new(registry, Proto::Ddnet);
    let def = registry.named(Proto::Ddnet, None, "snap_single").next().unwrap();
    let (mut store, mut players, mut kinds) = (
        Store::new(registry, Proto::Ddnet),
        Arc::<Players>::default(),
        None,
    );
    let base = named(Some("a"));
    let mut take = |tick: i64, base: Option<&Snapshot>, name| {
        let (snapshot, mut bytes, mut data) = (named(Some(name)), Vec::new(), Vec::new());
        let nothing = Snapshot::new();
        snapshot
            .delta(base.unwrap_or(&nothing), &sizes, &mut bytes)
            .unwrap();
        let values = [
            ("tick", tick.into()),
            ("delta_tick", base.map_or(tick + 1, |_| tick - 10).into()),
            ("crc", i64::from(snapshot.crc()).into()),
            ("data", Datum::Bytes(bytes)),
        ];
        def.encode(&Datum::group(values), &mut data).unwrap();
        let mut decoded = Decoded::new();
        decoded.message(registry, Proto::Ddnet, Dir::S2c, &data).unwrap();
        let completed = store.on_message(Dir::S2c, def, &decoded, &data).unwrap();
        let before = Arc::clone(&players);
        Players::learn_snapshot(&mut players, &completed, &mut kinds);
        Arc::ptr_eq(&before, &players)
    };
    let same = [
        take(10, None, "a"),
        take(11, Some(&base), "a"),
        take(12, Some(&base), "b"),
    ];
    assert_eq!(same, [false, true, false]);
}
