//! Reports about events made by hand.

use teetap_proxy::session::{Datagram, Event, EventKind, Origin, SessionId, State, Time};
use teetap_wire::{
    Dir, Flags, Header, Proto, Seq, Token, Trailing, decompress,
    def::{Registry, Secrets},
    packet,
};

use super::*;
use crate::{
    recording::{Run, Tally},
    report::page::{MAX, Page},
    testing,
};

fn event(at: u64, session: u32, what: EventKind) -> Item {
    Item::Event(Event {
        at: Time(at * 1000),
        session: Some(SessionId(session)),
        what,
    })
}

fn datagram(at: u64, ordinal: u64, dir: Dir, bytes: &[u8]) -> Item {
    let mut datagram = Datagram::new(dir, Proto::V7, Origin::Peer, bytes, [bytes].into_iter());
    datagram.ordinal = ordinal;
    event(at, 1, EventKind::Datagram(datagram))
}

/// Returns a packet with one chat message, compressed.
fn chat(seq: u16, text: &[u8]) -> Vec<u8> {
    let mut payload = Vec::new();
    let mut data = vec![0x30, 1, 0x40];
    data.extend_from_slice(text);
    data.push(0);
    teetap_wire::write_chunk(Proto::V7, Some(Seq::new(seq)), false, &data, &mut payload).unwrap();
    let header = Header {
        flags: Flags::empty(),
        ack: Seq::new(0),
        num_chunks: 1,
        token: Some(Token(*b"tokn")),
    };
    let mut out = Vec::new();
    packet::write(Proto::V7, &header, &payload, Some(Trailing::Always), &mut out);
    out
}

fn collected(items: Vec<Item>, only: Option<u32>) -> Collected {
    let mut collector = Collector::new(Registry::builtin(), Secrets::Hide, only.map(SessionId));
    items.into_iter().for_each(|item| collector.record(item));
    collector.finish()
}

fn session(at: u64, id: u32, state: State) -> Item {
    event(at, id, EventKind::Session(testing::session(state, Proto::V7)))
}

#[test]
fn every_bit_of_a_datagram_is_attributed() {
    // Zeros have the shortest codes.
    let (packed, odd) = (chat(1, &[0; 40]), vec![0x10, 1, 2]);
    let mut clear = [0; 1400];
    let inflated = decompress(&packed[7..], &mut clear).unwrap();
    let items = vec![
        session(0, 1, State::Opening),
        session(1, 1, State::Online),
        datagram(10, 1, Dir::C2s, &packed),
        datagram(11, 2, Dir::C2s, &odd),
    ];
    let seen = collected(items, None);
    let bits = &seen.bits;
    assert_eq!(
        (bits.datagrams, bits.bytes),
        (2, (packed.len() + odd.len()) as u64)
    );
    assert_eq!(bits.framing.headers, 7 * 8);
    assert_eq!(bits.framing.unreadable, 8 * odd.len() as u64);
    let [(Dir::C2s, name, sum)] = bits.messages()[..] else {
        panic!("{:?}", bits.messages())
    };
    assert_eq!(
        (name, sum.count, sum.bytes),
        ("cl_say", 1, inflated.len as u64 - 3)
    );
    assert_eq!(sum.bits + bits.framing.chunks + 15, inflated.bits as u64);
    assert_eq!(bits.framing.sum() + sum.bits, 8 * bits.bytes);
}

#[test]
fn a_report_of_one_session_has_no_others() {
    let items = || {
        vec![
            session(0, 1, State::Opening),
            session(0, 2, State::Opening),
            session(1, 1, State::Online),
            datagram(10, 1, Dir::C2s, &chat(1, b"x")),
        ]
    };
    assert_eq!(collected(items(), None).sessions.len(), 2);
    assert_eq!(collected(items(), Some(2)).bits.datagrams, 0);
    assert_eq!(collected(items(), Some(1)).bits.datagrams, 1);
    assert!(!collected(items(), Some(3)).has_sessions());
}

/// A page whose texts are all hostile stays below its limit and keeps its tables.
#[test]
fn a_page_has_only_its_own_markup() {
    let hostile = "a|b`</details>@user #1 ![x](http://x)\u{202e}\n| x |";
    let mut items = vec![session(0, 1, State::Opening), session(1, 1, State::Online)];
    for number in 1..400 {
        let text = format!("{hostile}{number}");
        items.push(datagram(10 + number, number, Dir::C2s, &chat(5, text.as_bytes())));
    }
    let seen = collected(items, None);
    let run = Run {
        version: hostile.to_owned(),
        wall: 0,
        seed: 7,
        target: "host".to_owned(),
        server: "127.0.0.1:8303".parse().unwrap(),
        listen: "127.0.0.1:8304".parse().unwrap(),
    };
    let page = Page {
        file: hostile,
        version: "1",
        run: Some(&run),
        tally: Tally::default(),
        damage: Some(hostile),
        numbers: &seen,
        texts: None,
        is_scrubbed: false,
        only: None,
        ladder: None,
        explanations: &[],
        repeat: hostile,
    };
    let text = page.text();
    assert!(text.chars().count() <= MAX);
    assert!(!text.contains('\u{202e}'));
    let mut is_fenced = false;
    let lines = text.lines().filter(|line| {
        is_fenced ^= line.starts_with("```");
        !is_fenced
    });
    for line in lines.filter(|line| line.starts_with('|')) {
        let head = line.matches('|').count();
        assert!([3, 5, 6, 7, 11].contains(&head), "{line}");
    }
}
