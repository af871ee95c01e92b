//! Every message in the recordings of real sessions has a definition, is decoded to its last byte, and encoded again.

use std::collections::BTreeMap;

use teetap_wire::def::{Decoded, Def, Registry, Source};
use teetap_wire::note::Code;
use teetap_wire::{Connless, Flags, Proto, is_connless};

use crate::{each_packet, recordings};

/// All oddities in the recordings: the count, the kind, and the reason.
const ODD: [(usize, &str, &str); 4] = [
    (
        8,
        "rich-tw07 0.7 c2s enter_game: surplus-bytes",
        "a DDNet client that downloads a map of 0.7 asks with the id and the int of 0.6",
    ),
    (
        1,
        "sixup-session 0.7 s2c rcon_cmd_add: text-too-long",
        "DDNet's texts are longer than clients of 0.7 keep",
    ),
    (
        6,
        "sixup-session 0.7 s2c sv_vote_option_list_add: surplus-bytes",
        "DDNet sends 15 texts whatever their number is",
    ),
    (
        12,
        "tw06c-to-dd20-antispoof 0.6 s2c rcon_cmd_add: text-too-long",
        "DDNet's texts are longer than clients of 0.6 keep",
    ),
];

/// Checks one decoded message: every byte must belong to a record or note. Counts oddities in `odd`.
fn check(at: &str, def: &Def, decoded: &Decoded, data: &[u8], odd: &mut BTreeMap<String, usize>) {
    let mut seen = vec![false; data.len()];
    seen[..decoded.body()].fill(true);
    for record in decoded.records() {
        let (start, len) = (record.at as usize, record.len as usize);
        seen[start..start + len].fill(true);
    }
    assert!(!decoded.notes().overflowed(), "{at} {}", def.name);
    for note in decoded.notes().iter() {
        seen[note.at..note.at + note.len].fill(true);
        *odd.entry(format!("{at} {}: {}", def.name, note.code.name()))
            .or_insert(0) += 1;
    }
    assert!(seen.iter().all(|seen| *seen), "{at} {}: {data:02x?}", def.name);
    let kept = decoded.notes().iter().all(|note| note.code != Code::OverlongInt);
    if kept {
        let mut again = Vec::new();
        def.encode(&decoded.datum(def, Source::Bytes(data)), &mut again)
            .unwrap();
        assert_eq!(again, data[..decoded.known_end()], "{at} {}", def.name);
    }
}

#[test]
fn chunks() {
    let registry = Registry::builtin();
    let (mut decoded, mut odd, mut count) = (Decoded::new(), BTreeMap::new(), 0);
    each_packet(|label, _, packet| {
        for chunk in packet.chunks() {
            let Some(def) = decoded.message(registry, packet.proto, label.dir, chunk.data) else {
                panic!("{label}: unknown {:02x?}", chunk.data);
            };
            decoded.check_vital(def, chunk.header.vital.is_some());
            check(&label.stream, def, &decoded, chunk.data, &mut odd);
            count += 1;
        }
    });
    assert_eq!(count, 13383, "messages in all captures");
    let expected = ODD
        .iter()
        .map(|&(count, what, _)| (what.to_owned(), count))
        .collect();
    assert_eq!(odd, expected);
}

#[test]
fn control_packets() {
    let registry = Registry::builtin();
    let (mut decoded, mut odd, mut count) = (Decoded::new(), BTreeMap::new(), 0);
    each_packet(|label, _, packet| {
        if !packet.header.flags.contains(Flags::CONTROL) {
            return;
        }
        let def = decoded
            .control(registry, packet.proto, label.dir, packet.payload)
            .unwrap();
        check(&label.stream, def, &decoded, packet.payload, &mut odd);
        count += 1;
    });
    assert_eq!((odd, count), (BTreeMap::new(), 105));
}

#[test]
fn connless() {
    let registry = Registry::builtin();
    let (mut decoded, mut odd, mut count) = (Decoded::new(), BTreeMap::new(), 0);
    for (recording, datagrams) in recordings() {
        for datagram in datagrams.iter().filter(|datagram| is_connless(&datagram.bytes)) {
            let connless = Connless::parse(&datagram.bytes).unwrap();
            let proto = match connless {
                Connless::V7 { .. } => Proto::V7,
                _ => Proto::Ddnet,
            };
            let data = connless.data();
            let def = decoded.connless(registry, proto, data).unwrap();
            check(&recording, def, &decoded, data, &mut odd);
            count += 1;
        }
    }
    assert_eq!((odd, count), (BTreeMap::new(), 59));
}
