//! Tests of who is known: by messages, by snapshots of recorded sessions, and within bounds.

use std::{fs::File, io::BufReader, path::Path};

use teetap_capture::{Item, Playback};
use teetap_proxy::session::What;
use teetap_wire::{
    Packet, Proto, Scratch,
    def::{Datum, Registry, Secrets},
    snap::{Key, Sizes, Snapshot, Store},
};

use super::*;
use crate::{Decoder, Form, Verbosity, rows};

fn def(name: &str) -> &'static Def {
    Registry::builtin().named(Proto::V7, None, name).next().unwrap()
}

/// Tells of a 0.7 message.
fn tell(roster: &mut Roster, session: u32, dir: Dir, name: &str, values: &Datum) {
    let (def, mut data, mut decoded) = (def(name), Vec::new(), Decoded::new());
    def.encode(values, &mut data).unwrap();
    decoded
        .message(Registry::builtin(), Proto::V7, dir, &data)
        .unwrap();
    roster.on_message(Some(SessionId(session)), dir, def, &decoded, &data);
}

fn info(roster: &mut Roster, id: i64, local: bool, name: &str) {
    let values = [
        ("client_id", id.into()),
        ("local", i64::from(local).into()),
        ("name", name.into()),
    ];
    tell(roster, 1, Dir::S2c, "sv_client_info", &Datum::group(values));
}

fn call_oneself(roster: &mut Roster, session: u32, name: &str) {
    let values = Datum::group([("name", name.into())]);
    tell(roster, session, Dir::C2s, "cl_start_info", &values);
}

fn names(roster: &Roster, ids: &[i64]) -> Vec<Option<String>> {
    let players = roster.of(Some(SessionId(1))).unwrap();
    let text = |name: &[u8]| String::from_utf8(name.to_vec()).unwrap();
    ids.iter().map(|id| players.name(*id).map(text)).collect()
}

fn some(name: &str) -> Option<String> {
    Some(name.to_owned())
}

#[test]
fn players_come_go_and_are_others_after_a_map_change() {
    let mut roster = Roster::new();
    assert!(roster.of(Some(SessionId(1))).is_none() && roster.of(None).is_none());
    call_oneself(&mut roster, 1, "me");
    assert_eq!(roster.own_name(Some(SessionId(1))), Some(&b"me"[..]));
    info(&mut roster, 3, true, "(1)me");
    info(&mut roster, 0, false, "you");
    info(&mut roster, 63, false, "bot");
    assert_eq!(
        names(&roster, &[0, 3, 63, -1]),
        [some("you"), some("(1)me"), some("bot"), None]
    );
    let gone = Datum::group([("client_id", 3.into())]);
    tell(&mut roster, 1, Dir::S2c, "sv_client_drop", &gone);
    // What the client calls itself is still known.
    assert_eq!(names(&roster, &[0, 3]), [some("you"), some("me")]);
    let map = Datum::group([("name", "ctf1".into()), ("size", 1.into())]);
    tell(&mut roster, 1, Dir::S2c, "map_change", &map);
    assert_eq!(names(&roster, &[0, 3, 63]), [None, None, None]);
    assert_eq!(roster.own_name(Some(SessionId(1))), Some(&b"me"[..]));
    roster.forget(SessionId(1));
    assert_eq!(roster.own_name(Some(SessionId(1))), None);
}

#[test]
fn a_session_without_its_beginning_has_the_name_that_the_server_says() {
    let mut roster = Roster::new();
    info(&mut roster, 0, false, "you");
    assert_eq!(roster.own_name(Some(SessionId(1))), None);
    info(&mut roster, 3, true, "me");
    assert_eq!(roster.own_name(Some(SessionId(1))), Some(&b"me"[..]));
}

#[test]
fn there_are_never_too_many_and_names_are_never_too_long() {
    let mut roster = Roster::new();
    for id in -5..500 {
        info(&mut roster, id, false, &"x".repeat(200));
    }
    let players = roster.of(Some(SessionId(1))).unwrap();
    assert_eq!(players.known.len(), 128);
    assert_eq!(players.name(127).map(<[u8]>::len), Some(64));
    for session in 0..5_000 {
        call_oneself(&mut roster, session, "me");
    }
    assert_eq!(roster.sessions.len(), SESSIONS);
    assert!(roster.own_name(Some(SessionId(4_999))).is_some());
}

/// The names that a snapshot has.
fn told(snapshot: &Snapshot, proto: Proto) -> BTreeMap<i64, Vec<u8>> {
    let registry = Registry::builtin();
    let info = registry.named(proto, None, "client_info").next();
    let mut decoded = Decoded::new();
    let items = snapshot.items().filter_map(|(key, ints)| {
        let def = info.filter(|def| registry.object(proto, key.kind.into()) == Some(*def))?;
        decoded.object(def, ints);
        let name = name(def, &decoded, Source::Ints(ints))?;
        Some((i64::from(key.id), name.to_vec()))
    });
    items.collect()
}

/// A followed session: its snapshots, its own ids, and all names.
#[derive(Default)]
struct Followed {
    store: Option<Store<'static>>,
    players: Players,
    snapshots: usize,
    ids: Vec<Option<i64>>,
    names: Vec<String>,
}

impl Followed {
    /// After each snapshot exactly those are known that are in it.
    fn chunk(&mut self, proto: Proto, dir: Dir, data: &[u8]) {
        let mut decoded = Decoded::new();
        let Some(def) = decoded.message(Registry::builtin(), proto, dir, data) else {
            return;
        };
        let store = self
            .store
            .get_or_insert_with(|| Store::new(Registry::builtin(), proto));
        let Some(snapshot) = store.on_message(dir, def, &decoded, data) else {
            return;
        };
        self.players.on_snapshot(&snapshot);
        if snapshot.fate != Fate::Kept {
            return;
        }
        self.snapshots += 1;
        let known = self.players.known.iter();
        let known = known.map(|(id, known)| (*id, known.name.to_vec()));
        assert_eq!(
            known.collect::<BTreeMap<_, _>>(),
            told(snapshot.snapshot(), proto)
        );
        if !self.ids.contains(&self.players.own_id) {
            self.ids.push(self.players.own_id);
        }
        for known in self.players.known.values() {
            let name = String::from_utf8(known.name.to_vec()).unwrap();
            if !self.names.contains(&name) {
                self.names.push(name);
            }
        }
    }
}

/// A snapshot with this name of player 5.
fn named(name: Option<&str>) -> Snapshot {
    let registry = Registry::builtin();
    let def = registry.named(Proto::Ddnet, None, "client_info").next().unwrap();
    let (mut snapshot, mut ints) = (Snapshot::new(), Vec::new());
    if let Some(name) = name {
        def.encode_object(&Datum::group([("name", name.into())]), &mut ints)
            .unwrap();
        snapshot.insert(Key { kind: 11, id: 5 }, &ints).unwrap();
    }
    snapshot
}

#[test]
fn a_difference_to_an_old_snapshot_says_what_came_back() {
    let registry = Registry::builtin();
    let sizes = Sizes::new(registry, Proto::Ddnet);
    let def = registry.named(Proto::Ddnet, None, "snap_single").next().unwrap();
    let (mut followed, base) = (Followed::default(), named(Some("a")));
    let states = [Some("a"), Some("b"), Some("a"), None, Some("a"), Some("c"), None];
    for (tick, name) in (10..).zip(states) {
        let (snapshot, mut bytes, mut data) = (named(name), Vec::new(), Vec::new());
        // All but the first are told as differences to it.
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
            // Events were missed in which one left.
            let (name, tick) = (b"gone"[..].into(), 13);
            followed.players.known.insert(9, Known { name, tick });
            followed.players.stale = true;
        }
        followed.chunk(Proto::Ddnet, Dir::S2c, &data);
    }
    assert_eq!((followed.snapshots, followed.names.len()), (7, 3));
}

/// Follows the sessions of a recording.
fn follow(file: &str) -> Vec<(usize, Vec<Option<i64>>, Vec<String>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../tests/captures/{file}.pcap"));
    let mut playback = Playback::pcap(BufReader::new(File::open(path).unwrap())).unwrap();
    let mut scratch = Scratch::new();
    let mut sessions: BTreeMap<SessionId, Followed> = BTreeMap::new();
    while let Some(item) = playback.read().unwrap() {
        let Item::Event(event) = item else { continue };
        let What::Datagram(datagram) = event.what else {
            continue;
        };
        let followed = sessions.entry(event.session.unwrap()).or_default();
        let packet = Packet::parse(datagram.proto, datagram.received().unwrap(), &mut scratch).unwrap();
        for chunk in packet.chunks() {
            followed.chunk(datagram.proto, datagram.dir, chunk.data);
        }
    }
    let sessions = sessions.into_values();
    sessions
        .map(|followed| (followed.snapshots, followed.ids, followed.names))
        .collect()
}

#[test]
fn lines_of_a_recorded_session_have_names() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/captures/rich-dd16.pcap");
    let mut playback = Playback::pcap(BufReader::new(File::open(path).unwrap())).unwrap();
    let mut decoder = Decoder::new(Registry::builtin(), Secrets::Hide, Form::Gist);
    let mut lines = Vec::new();
    while let Some(item) = playback.read().unwrap() {
        if let Item::Event(event) = item {
            lines.extend(rows(&event, Verbosity::Messages, &mut decoder));
        }
    }
    for expected in [
        r#" bytes 0 "alice": hello all"#,
        r#" bytes server: 'bob' entered and joined the game"#,
        r#" bytes 1 "bob": zzz"#,
    ] {
        assert!(lines.iter().any(|row| row.text.ends_with(expected)), "{expected}");
    }
}

#[test]
fn snapshots_of_recorded_sessions_tell_who_is_there() {
    for (file, expected) in [
        ("tw06-session", &[(207, &[Some(0)][..], &["rig06"][..])][..]),
        ("npm-to-dd16", &[(92, &[Some(0)], &["npmbot"])]),
        (
            "rich-dd16",
            &[
                (874, &[Some(0)], &["alice", "bob", "bobby", "[D] bobby"]),
                (826, &[Some(1)], &["alice", "bob", "bobby", "[D] bobby"]),
                (40, &[Some(2)], &["alice", "bobby", "[D] bobby"]),
            ],
        ),
        // DDNet tells a client of few ids of a player without a name, which stands for all others.
        (
            "tw06c-to-dd20-antispoof",
            &[(79, &[None, Some(0)], &["rig06", " "])],
        ),
    ] {
        let got = follow(file);
        let expected: Vec<_> = expected
            .iter()
            .map(|(snapshots, ids, names)| {
                (
                    *snapshots,
                    ids.to_vec(),
                    names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>(),
                )
            })
            .collect();
        assert_eq!(got, expected, "{file}");
    }
}
