//! The players of recorded sessions: after each snapshot, exactly the players in it are known.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{collections::BTreeMap, fs::File, io::BufReader, path::Path};

use teetap_capture::{Item, Playback};
use teetap_inspect::{Decoder, Style, rows};
use teetap_proxy::session::{Event, EventKind};
use teetap_rules::{
    context::{Contexts, MessageView, PacketView},
    eval::{Identity, Lazy},
};
use teetap_wire::{
    Packet, Proto, Scratch,
    def::{Class, Decoded, Registry, Source},
    snap::{Fate, Snapshot},
};

/// Returns the events of a recording.
fn events(file: &str) -> Vec<Event> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../tests/captures/{file}.pcap"));
    let mut playback = Playback::pcap(BufReader::new(File::open(path).unwrap())).unwrap();
    let mut events = Vec::new();
    while let Some(item) = playback.read().unwrap() {
        if let Item::Event(event) = item {
            events.push(event);
        }
    }
    events
}

/// Returns the player names in a snapshot, by client id.
fn named(snapshot: &Snapshot, proto: Proto) -> BTreeMap<i64, Vec<u8>> {
    let registry = Registry::builtin();
    let info = registry.named(proto, None, "client_info").next();
    let mut decoded = Decoded::new();
    let items = snapshot.items().filter_map(|(key, ints)| {
        let def = info.filter(|def| registry.object(proto, key.kind.into()) == Some(*def))?;
        decoded.object(def, ints);
        let record = decoded.find(&def.path("name").ok()?)?;
        Some((i64::from(key.id), def.bytes(record, Source::Ints(ints)).to_vec()))
    });
    items.collect()
}

/// Observations of a session: number of snapshots, own ids, and all player names.
#[derive(Default)]
struct Seen {
    snapshots: usize,
    ids: Vec<Option<i64>>,
    names: Vec<String>,
}

impl Seen {
    fn message(&mut self, contexts: &mut Contexts, view: &MessageView<'_>) {
        let fields = Lazy::new(view.def, view.data, view.body, Decoded::new());
        contexts.observe(view, &fields);
        contexts.learn(view, &fields);
        let context = contexts.of_session(view.session);
        let Some(snapshot) = context.completed().filter(|done| done.fate == Fate::Kept) else {
            return;
        };
        self.snapshots += 1;
        let players = &context.known().players;
        let known = players.iter().map(|(id, name)| (id, name.to_vec()));
        assert_eq!(
            known.collect::<BTreeMap<_, _>>(),
            named(snapshot.snapshot(), view.proto)
        );
        if !self.ids.contains(&players.own_id()) {
            self.ids.push(players.own_id());
        }
        for (_, name) in players.iter() {
            let name = String::from_utf8(name.to_vec()).unwrap();
            if !self.names.contains(&name) {
                self.names.push(name);
            }
        }
    }
}

/// Plays the sessions of a recording.
fn follow(file: &str) -> Vec<(usize, Vec<Option<i64>>, Vec<String>)> {
    let registry = Registry::builtin();
    let (mut contexts, mut scratch) = (Contexts::new(registry), Scratch::new());
    let mut sessions: BTreeMap<u32, Seen> = BTreeMap::new();
    for event in events(file) {
        let id = event.session.map(|session| session.0);
        let datagram = match (event.what, id) {
            (EventKind::Datagram(datagram), Some(_)) => datagram,
            (EventKind::Session(change), Some(id)) => {
                contexts.on_session(event.at.0, id, change.state.into(), change.client);
                continue;
            }
            _ => continue,
        };
        let seen = sessions.entry(id.unwrap()).or_default();
        let packet = Packet::parse(datagram.proto, datagram.received().unwrap(), &mut scratch).unwrap();
        for chunk in packet.chunks() {
            let found = registry.message(datagram.proto, datagram.dir, chunk.data);
            let view = MessageView {
                at: event.at.0,
                session: id,
                proto: datagram.proto,
                dir: datagram.dir,
                class: Some(Class::System),
                id: Identity::Other,
                def: found.map(|found| found.def),
                body: found.map_or(0, |found| found.body),
                data: chunk.data,
                seq: chunk.header.vital,
                seq_out: None,
                resend: chunk.header.resend,
                delivered: true,
                first: false,
                again: false,
                leg: None,
                client: None,
                packet: PacketView::default(),
                done: None,
            };
            seen.message(&mut contexts, &view);
        }
    }
    let sessions = sessions.into_values();
    sessions
        .map(|seen| (seen.snapshots, seen.ids, seen.names))
        .collect()
}

#[test]
fn lines_of_a_recorded_session_have_names() {
    let mut decoder = Decoder::new(Registry::builtin());
    let mut lines = Vec::new();
    for event in events("rich-dd16") {
        lines.extend(rows(&decoder.decode(event), Style::default()));
    }
    for expected in [
        r#" bytes 0 "alice": hello all"#,
        r#" bytes server: 'bob' entered and joined the game"#,
        r#" bytes 1 "bob": zzz"#,
    ] {
        assert!(
            lines.iter().any(|row| row.text().ends_with(expected)),
            "{expected}"
        );
    }
}

#[test]
fn snapshots_of_recorded_sessions_name_the_players() {
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
        // To a client with few ids, DDNet sends a player without a name, which represents all others.
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
