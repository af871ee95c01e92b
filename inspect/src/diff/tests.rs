//! Compares recorded sessions with copies that have one change.

use std::{fs::File, io::BufReader};

use teetap_capture::{Item as Captured, Playback};
use teetap_proxy::session::{Datagram, Event, EventKind, Time};
use teetap_rules::Filter;
use teetap_wire::{Dir, Flags, Packet, Proto, Scratch, Seq, def::Registry, packet, write_chunk};

use super::*;
use crate::recording::Item;

const CAPTURES: [&str; 13] = [
    "dd-session",
    "dd16-to-tw06",
    "ddh20-to-dd20",
    "loss-tw07",
    "map-dd",
    "map-tw07",
    "npm-to-dd16",
    "rich-dd16",
    "rich-tw07",
    "sixup-session",
    "tw06-session",
    "tw06c-to-dd20-antispoof",
    "tw07-session",
];

fn items(name: &str) -> Vec<Item> {
    let path = format!("{}/../tests/captures/{name}.pcap", env!("CARGO_MANIFEST_DIR"));
    let mut playback = Playback::pcap(BufReader::new(File::open(path).unwrap())).unwrap();
    let items = std::iter::from_fn(|| playback.read().unwrap());
    // For the capture crate, this test crate is a different crate with its own `Item` type.
    items
        .filter_map(|item| match item {
            Captured::Start { wall, .. } => Some(Item::Start { wall, run: None }),
            Captured::Event(event) => Some(Item::Event(event)),
            Captured::Gap { at, lost } => Some(Item::Gap { at, lost }),
            Captured::Log { .. } => None,
        })
        .collect()
}

fn collected(items: Vec<Item>, options: Options) -> Result<Side, NoSide> {
    let mut collector = Collector::new(options, Registry::builtin());
    for item in items {
        collector.item(item);
    }
    collector.finish()
}

fn side(items: Vec<Item>) -> Side {
    collected(items, Options::default()).unwrap()
}

fn compared(a: &Side, b: &Side) -> Comparison {
    compare(a, b, &DiffSettings::default())
}

/// A chunk: its sequence number if it is vital, and its data.
type Chunk = (Option<Seq>, Vec<u8>);

/// Applies `change` to the chunks of datagrams in one direction, until it returns true.
fn changed(items: &mut [Item], dir: Dir, mut change: impl FnMut(&mut Vec<Chunk>) -> bool) {
    for item in items {
        let Item::Event(Event {
            what: EventKind::Datagram(datagram),
            ..
        }) = item
        else {
            continue;
        };
        if datagram.dir != dir {
            continue;
        }
        let mut scratch = Scratch::new();
        let Some(Ok(parsed)) = datagram.packet(&mut scratch) else {
            continue;
        };
        if parsed.control().is_some() || parsed.header.flags.contains(Flags::CONTROL) {
            continue;
        }
        let mut chunks = chunks(&parsed);
        let before = chunks.clone();
        let is_done = change(&mut chunks);
        if chunks != before {
            let rewritten = rewritten(datagram, &parsed, &chunks);
            *datagram = rewritten;
        }
        if is_done {
            return;
        }
    }
    panic!("nothing was changed");
}

fn chunks(packet: &Packet<'_>) -> Vec<Chunk> {
    let chunks = packet.chunks();
    chunks
        .map(|chunk| (chunk.header.vital, chunk.data.to_vec()))
        .collect()
}

fn rewritten(datagram: &Datagram, parsed: &Packet<'_>, chunks: &[Chunk]) -> Datagram {
    let mut payload = Vec::new();
    for (seq, data) in chunks {
        write_chunk(datagram.proto, *seq, false, data, &mut payload).unwrap();
    }
    let mut header = parsed.header;
    header.flags = Flags::empty();
    header.num_chunks = u8::try_from(chunks.len()).unwrap();
    let mut bytes = Vec::new();
    packet::write(datagram.proto, &header, &payload, None, &mut bytes);
    let mut new = Datagram::passed(datagram.dir, datagram.proto, &bytes, None);
    (new.ordinal, new.ends) = (datagram.ordinal, datagram.ends);
    new
}

/// Returns true if the message has this name.
fn is(data: &[u8], dir: Dir, name: &str) -> bool {
    let found = Registry::builtin().known_message(Proto::V7, dir, data);
    found.is_some_and(|found| *found.def.name == *name)
}

/// Returns a 0.7 session in which the first letter of the player's name is changed.
fn renamed() -> Vec<Item> {
    let mut items = items("tw07-session");
    changed(&mut items, Dir::C2s, |chunks| {
        let chunk = chunks
            .iter_mut()
            .find(|(_, data)| is(data, Dir::C2s, "cl_start_info"));
        chunk.is_some_and(|(_, data)| {
            data[1] = b'X';
            true
        })
    });
    items
}

fn only_difference(a: &Side, b: &Side) -> Difference {
    let comparison = compared(a, b);
    let list: Vec<_> = comparison.differences().cloned().collect();
    let [only] = <[Difference; 1]>::try_from(list).unwrap();
    only
}

#[test]
fn a_session_is_like_itself() {
    for name in CAPTURES {
        let (a, b) = (side(items(name)), side(items(name)));
        let comparison = compared(&a, &b);
        let differences: Vec<_> = comparison.differences().collect();
        assert!(comparison.is_same(), "{name}: {differences:?}");
        assert!(comparison.totals.alike >= 8, "{name}: {:?}", comparison.totals);
        assert_eq!(comparison.same_game, Some(true), "{name}");
        assert!(
            comparison.totals.ticks_alike > 2,
            "{name}: {:?}",
            comparison.totals
        );
        assert_eq!((a.left, a.lost), (Omitted::default(), 0), "{name}");
    }
}

#[test]
fn nothing_that_is_sent_again_comes_twice() {
    let (mut twice, mut resent) = (items("tw07-session"), 0);
    // Retransmits every vital message of the server in a separate datagram after the first copy.
    let mut at = 0;
    while at < twice.len() {
        let copy = match &twice[at] {
            Item::Event(Event {
                at,
                session,
                what: EventKind::Datagram(datagram),
            }) if datagram.dir == Dir::S2c => {
                let mut scratch = Scratch::new();
                match datagram.packet(&mut scratch) {
                    Some(Ok(parsed)) if parsed.control().is_none() => {
                        let vital: Vec<Chunk> = chunks(&parsed)
                            .into_iter()
                            .filter(|(seq, _)| seq.is_some())
                            .collect();
                        (!vital.is_empty()).then(|| Event {
                            at: *at,
                            session: *session,
                            what: EventKind::Datagram(rewritten(datagram, &parsed, &vital)),
                        })
                    }
                    _ => None,
                }
            }
            _ => None,
        };
        at += 1;
        if let Some(copy) = copy {
            twice.insert(at, Item::Event(copy));
            (at, resent) = (at + 1, resent + 1);
        }
    }
    assert!(resent > 5);
    let comparison = compared(&side(items("tw07-session")), &side(twice));
    assert!(
        comparison.is_same(),
        "{:?}",
        comparison.differences().collect::<Vec<_>>()
    );
}

#[test]
fn one_field_that_differs_is_found() {
    let whole = side(items("tw07-session"));
    let edited = side(renamed());
    let difference = only_difference(&whole, &edited);
    assert_eq!(
        (&*difference.name, difference.how),
        ("cl_start_info", How::Changed)
    );
    let [field] = &*difference.fields else {
        panic!("{difference:?}");
    };
    assert_eq!(&*field.path, "name");
    assert!(
        field.values[1].as_deref().unwrap().starts_with("\"X"),
        "{field:?}"
    );
    for word in ["name", "cl_start_info", "cl_start_info.name"] {
        let mut ignore = Ignore::default();
        ignore.add(word, Registry::builtin()).unwrap();
        let with = |name: Vec<Item>| {
            let ignore = ignore.clone();
            collected(
                name,
                Options {
                    ignore,
                    ..Options::default()
                },
            )
        };
        let (a, b) = (with(items("tw07-session")).unwrap(), with(renamed()).unwrap());
        assert!(compared(&a, &b).is_same(), "{word}");
    }
}

#[test]
fn a_message_that_is_not_vital_is_a_difference() {
    let mut edited = items("tw07-session");
    changed(&mut edited, Dir::C2s, |chunks| {
        let chunk = chunks.iter_mut().find(|(_, data)| is(data, Dir::C2s, "info"));
        chunk.is_some_and(|(seq, _)| seq.take().is_some())
    });
    let difference = only_difference(&side(items("tw07-session")), &side(edited));
    assert_eq!(
        (&*difference.name, &*difference.fields[0].path),
        ("info", "(vital)")
    );
}

#[test]
fn a_message_more_or_less_is_a_difference_and_no_others_shift() {
    let whole = side(items("rich-tw07"));
    let mut shorter = items("rich-tw07");
    // A different message still has its number.
    changed(&mut shorter, Dir::S2c, |chunks| {
        let chunk = chunks.iter_mut().find(|(_, data)| is(data, Dir::S2c, "sv_chat"));
        chunk.is_some_and(|(_, data)| {
            *data = b"\x91\x01".to_vec();
            true
        })
    });
    let shorter = side(shorter);
    let comparison = compared(&whole, &shorter);
    let totals = comparison.totals;
    assert_eq!(
        (totals.only_a, totals.only_b, totals.changed),
        (1, 1, 0),
        "{totals:?}"
    );
    let back = compared(&shorter, &whole).totals;
    assert_eq!((back.only_a, back.only_b, back.changed), (1, 1, 0), "{back:?}");
}

#[test]
fn another_order_is_one_difference() {
    let mut swapped = items("tw07-session");
    changed(&mut swapped, Dir::S2c, |chunks| {
        let vital: Vec<usize> = (0..chunks.len()).filter(|at| chunks[*at].0.is_some()).collect();
        let [first, second, ..] = *vital else { return false };
        if chunks[first].1 == chunks[second].1 {
            return false;
        }
        let (one, other) = (chunks[first].1.clone(), chunks[second].1.clone());
        (chunks[first].1, chunks[second].1) = (other, one);
        true
    });
    let difference = only_difference(&side(items("tw07-session")), &side(swapped));
    assert_eq!(difference.how, How::Moved);
    assert!(difference.at.iter().all(Option::is_some) && difference.fields.is_empty());
}

#[test]
fn the_end_is_a_message_that_matches_and_a_filter_leaves_others_out() {
    let expression = |text: &str| Some(Filter::parse(text, Registry::builtin()).unwrap().0);
    let until = || Options {
        until: expression("c2s and enter_game"),
        ..Options::default()
    };
    let (seven, sixup) = (
        collected(items("tw07-session"), until()).unwrap(),
        collected(items("sixup-session"), until()).unwrap(),
    );
    assert_eq!((seven.reached, sixup.reached), (Some(true), Some(true)));
    let names = |side: &Side| {
        let messages = side.ways[Dir::C2s].messages.iter();
        messages.map(|entry| entry.name.to_string()).collect::<Vec<_>>()
    };
    let expected = ["connect", "info", "ready", "cl_start_info", "enter_game"];
    assert_eq!(names(&seven), expected);
    // Both sides have the same client, so that its part of the join is the same.
    let comparison = compared(&seven, &sixup);
    let of_client = comparison
        .differences()
        .filter(|difference| difference.dir == Dir::C2s);
    assert_eq!(
        of_client.count(),
        0,
        "{:?}",
        comparison.differences().collect::<Vec<_>>()
    );
    let never = collected(
        items("tw07-session"),
        Options {
            until: expression("sv_vote_set and s2c and c2s"),
            filter: expression("cl_say"),
            ..Options::default()
        },
    )
    .unwrap();
    assert_eq!(never.reached, Some(false));
    assert!(names(&never).iter().all(|name| name == "cl_say") && !names(&never).is_empty());
    assert!(never.snapshots.list.is_empty() && never.ways[Dir::S2c].messages.is_empty());
}

#[test]
fn sessions_are_found_by_their_numbers() {
    let wanted = |session| Options {
        session: Some(session),
        ..Options::default()
    };
    let first = side(items("rich-tw07"));
    let second = collected(items("rich-tw07"), wanted(2)).unwrap();
    assert_eq!((first.session.0, second.session.0), (1, 2));
    assert!(!compared(&first, &second).is_same());
    let none = collected(items("rich-tw07"), wanted(99)).unwrap_err();
    assert!(
        matches!(&none, NoSide::NotThere(others, _) if others.contains(&2)),
        "{none}"
    );
    assert_eq!(side_error("info-requests"), NoSide::Empty);
    let leg = Options {
        view: View::Leg(teetap_wire::Side::Client),
        ..Options::default()
    };
    assert_eq!(collected(items("tw07-session"), leg).unwrap_err(), NoSide::OneLeg);
}

fn side_error(name: &str) -> NoSide {
    collected(items(name), Options::default()).unwrap_err()
}

#[test]
fn snapshots_of_another_game_are_not_compared() {
    let (a, b) = (side(items("tw07-session")), side(items("rich-tw07")));
    let comparison = compared(&a, &b);
    assert_eq!(comparison.same_game, Some(false));
    assert!(comparison.ticks.is_empty());
}

#[test]
fn an_input_that_differs_is_found_by_its_tick() {
    let mut edited = items("tw07-session");
    let mut seen = 0;
    changed(&mut edited, Dir::C2s, |chunks| {
        let chunk = chunks.iter_mut().find(|(_, data)| is(data, Dir::C2s, "input"));
        let Some((_, data)) = chunk else { return false };
        seen += 1;
        if seen < 20 {
            return false;
        }
        let found = Registry::builtin()
            .known_message(Proto::V7, Dir::C2s, data)
            .unwrap();
        let mut decoded = teetap_wire::def::Decoded::new();
        decoded.message(Registry::builtin(), Proto::V7, Dir::C2s, data);
        let record = *decoded
            .find(&found.def.path("input.wanted_weapon").unwrap())
            .unwrap();
        assert_eq!(record.len, 1);
        data[record.at as usize] ^= 1;
        true
    });
    let difference = only_difference(&side(items("tw07-session")), &side(edited));
    assert_eq!((&*difference.name, difference.how), ("input", How::Changed));
    assert_eq!(&*difference.fields[0].path, "input.wanted_weapon");
    assert!(difference.tick.is_some());
}

/// Gaps before the session are not gaps of the session.
#[test]
fn events_that_a_side_lacks_are_counted() {
    let all = items("tw07-session");
    let middle = all.len() / 2;
    for (gaps, lost) in [
        (vec![], 0),
        (vec![(1, 9)], 0),
        (vec![(middle, 3)], 3),
        (vec![(1, 9), (middle, 3), (middle + 20, 40)], 43),
    ] {
        let mut items = items("tw07-session");
        for (at, lost) in gaps.iter().rev() {
            items.insert(
                *at,
                Item::Gap {
                    at: Time::ZERO,
                    lost: *lost,
                },
            );
        }
        assert_eq!(side(items).lost, lost, "{gaps:?}");
    }
}
