//! Completes every snapshot of the recorded real sessions, and recomputes its delta.

use std::collections::BTreeMap;

use teetap_wire::Dir;
use teetap_wire::def::{Decoded, Registry};
use teetap_wire::snap::{Completed, Counts, Delta, Fate, Sizes, Snapshot, Store};

use crate::each_message;

/// For each session, the number of snapshots, of their items, and of items that differ from the previous snapshot.
const SESSIONS: [(&str, usize, usize, usize); 13] = [
    ("dd-session ddnet s2c", 233, 5828, 311),
    ("dd16-to-tw06 0.6 s2c", 106, 1842, 64),
    ("ddh20-to-dd20 ddnet s2c", 159, 5092, 249),
    ("loss-tw07 0.7 s2c", 53, 923, 114),
    ("map-dd ddnet s2c", 19, 301, 67),
    ("map-tw07 0.7 s2c", 16, 208, 39),
    ("npm-to-dd16 ddnet s2c", 92, 2302, 151),
    ("rich-dd16 ddnet s2c", 1740, 52613, 2860),
    ("rich-tw07 0.7 s2c", 1769, 33522, 1016),
    ("sixup-session 0.7 s2c", 205, 5126, 293),
    ("tw06-session 0.6.5 s2c", 207, 3694, 80),
    ("tw06c-to-dd20-antispoof 0.6 s2c", 81, 2578, 118),
    ("tw07-session 0.7 s2c", 253, 4334, 95),
];

/// All oddities of the snapshots: the count, the kind, and the reason.
const ODD: [(usize, &str, &str); 13] = [
    (
        4,
        "loss-tw07 0.7 s2c: snap-again",
        "the network doubled datagrams",
    ),
    (
        2,
        "loss-tw07 0.7 s2c: snap-late",
        "the network changed their order",
    ),
    (
        1,
        "npm-to-dd16 ddnet s2c: an item of type 32765 is unknown",
        LATER,
    ),
    (
        1,
        "npm-to-dd16 ddnet s2c: an item of type 32766 is unknown",
        LATER,
    ),
    (
        1,
        "npm-to-dd16 ddnet s2c: an item of type 32767 is unknown",
        LATER,
    ),
    (3, "npm-to-dd16 ddnet s2c: snap-undeclared", LATER),
    (1, "rich-dd16 ddnet s2c: an item of type 32764 is unknown", LATER),
    (1, "rich-dd16 ddnet s2c: snap-undeclared", LATER),
    (
        1,
        "sixup-session 0.7 s2c: an item of type 32765 is unknown",
        LATER,
    ),
    (
        1,
        "sixup-session 0.7 s2c: an item of type 32766 is unknown",
        LATER,
    ),
    (
        1,
        "sixup-session 0.7 s2c: an item of type 32767 is unknown",
        LATER,
    ),
    (3, "sixup-session 0.7 s2c: snap-undeclared", LATER),
    (
        2,
        "tw06c-to-dd20-antispoof 0.6 s2c: snap-again",
        "DDNet's handshake against spoofed addresses sends the same tick three times",
    ),
];

const LATER: &str = "DDNet 16.4 says which UUID a type has in the snapshot after the one that has it first";

/// A session: its store, and the agreed sizes of its items.
struct Session {
    store: Store<'static>,
    sizes: Sizes,
}

#[derive(Default)]
struct Seen {
    /// The numbers of snapshots, items and differences.
    sessions: BTreeMap<String, (usize, usize, usize)>,
    odd: BTreeMap<String, usize>,
    decoded: Decoded,
}

impl Seen {
    fn note(&mut self, stream: &str, what: &str) {
        *self.odd.entry(format!("{stream}: {what}")).or_insert(0) += 1;
    }

    fn look(&mut self, stream: &str, done: &Completed<'_>) {
        for note in done.notes.iter().chain(done.data_notes.iter()) {
            self.note(stream, note.code.name());
        }
        // Two empty snapshots of the handshake against spoofed addresses have no sum.
        assert_ne!(done.crc_ok(), Some(false), "{stream}: {done}");
        let fine = [Fate::Kept, Fate::Late, Fate::Again].contains(&done.fate);
        assert!(fine, "{stream}: {done}");
        let Counts {
            items,
            new,
            changed,
            deleted,
        } = done.counts;
        let seen = self.sessions.entry(stream.to_owned()).or_default();
        seen.0 += 1;
        seen.1 += items;
        seen.2 += new + changed + deleted;
        let mut odd = Vec::new();
        for item in done.items() {
            match item.read(&mut self.decoded) {
                None => odd.push(format!("an item of type {} is unknown", item.key.kind)),
                Some(def) => {
                    let notes = self.decoded.notes().iter();
                    odd.extend(notes.map(|note| format!("{}[{}] {}", def.name, note.at, note.code.name())));
                }
            }
        }
        odd.iter().for_each(|odd| self.note(stream, odd));
    }
}

/// Checks that a recomputed delta has the same ints as the received delta, in any order, and results in the same
/// snapshot.
fn again(sizes: &Sizes, done: &Completed<'_>, came: usize) {
    let mut data = Vec::new();
    let counts = done.snapshot().delta(done.before(), sizes, &mut data).unwrap();
    assert_eq!((counts, data.len()), (done.counts, came), "{done}");
    let (mut delta, mut made, mut counts) = (Delta::new(), Snapshot::new(), Counts::default());
    delta.read(sizes, &data).unwrap();
    delta.apply(done.before(), &mut made, &mut counts).unwrap();
    assert_eq!((&made, counts), (done.snapshot(), done.counts), "{done}");
}

#[test]
fn snapshots() {
    let registry = Registry::builtin();
    let mut sessions: BTreeMap<(String, u16), Session> = BTreeMap::new();
    let (mut seen, mut messages) = (Seen::default(), 0);
    each_message(|label, proto, def, decoded, data| {
        let session = sessions.entry(label.client.clone()).or_insert_with(|| Session {
            store: Store::new(registry, proto),
            sizes: Sizes::new(registry, proto),
        });
        let sent = label.dir == Dir::S2c && def.name.starts_with("snap");
        messages += usize::from(sent);
        let done = session.store.on_message(label.dir, def, decoded, data);
        assert_eq!(done.is_some(), sent, "{label}: {}", def.name);
        if let Some(done) = done {
            let size = decoded.records().last().filter(|_| done.crc.is_some());
            again(&session.sizes, &done, size.map_or(0, |data| data.len as usize));
            seen.look(&label.stream, &done);
        }
    });
    for session in sessions.values() {
        assert!(session.store.whole() && session.store.held() < 64 * 1024);
    }
    let expected = SESSIONS.map(|(session, snapshots, items, differences)| {
        (session.to_owned(), (snapshots, items, differences))
    });
    assert_eq!(seen.sessions, expected.into());
    let expected = ODD
        .iter()
        .map(|&(count, what, _)| (what.to_owned(), count))
        .collect();
    assert_eq!((seen.odd, messages), (expected, 4933));
}
