//! Tests of readings: received and sent messages, and how they are paired.

use teetap_proxy::session::{Action, Datagram, Origin, Placed, Time};
use teetap_rules::Filter;
use teetap_wire::{Code, Dir, Notes, Proto, Seq, Side, def::Registry};

use super::*;
use crate::Decoder;

fn datagram(ack: u16, chunks: &[(Option<u16>, &[u8])]) -> Vec<u8> {
    crate::testing::chunks(ack, false, chunks)
}

fn event(received: &[u8], sent: &[&[u8]]) -> Datagram {
    let received: &'static [u8] = received.to_vec().leak();
    Datagram::new(Dir::C2s, Proto::V7, Origin::Peer, received, sent.iter().copied())
}

/// The 0.7 `ready` and `cl_kill`, and messages without a definition.
const READY: &[u8] = b"\x25";
const KILL: &[u8] = b"\x38";
const SYS_31: &[u8] = b"\x3f";
const GAME_40: &[u8] = b"\x90\x01";

fn read(datagram: &Datagram) -> Reading {
    let mut decoder = Decoder::new(Registry::builtin());
    Reading::of_datagram(Time::ZERO, None, datagram, &mut decoder).unwrap()
}

#[test]
fn a_datagram_that_passed_keeps_its_numbers() {
    let came = datagram(12, &[(Some(217), SYS_31), (None, KILL)]);
    let left = datagram(11, &[(Some(217), SYS_31), (None, KILL)]);
    let reading = read(&event(&came, &[&left]));
    assert_eq!(
        (reading.header.ack, reading.header.ack_out),
        (Some(Seq::new(12)), Some(Seq::new(11)))
    );
    let [system, game] = reading.messages.as_slice() else {
        panic!("{reading:?}")
    };
    assert_eq!(
        (system.layer, system.id, &*reading.label(system), system.name),
        (Layer::System, Some(31), "sys.31", None)
    );
    assert_eq!(
        (system.transport.seq, system.transport.seq_out),
        (Some(Seq::new(217)), Some(Seq::new(217)))
    );
    assert_eq!(
        (game.layer, game.id, game.transport.vital, game.transport.seq_out),
        (Layer::Game, Some(28), false, None)
    );
    assert_eq!(system.handling.done, MessageOutcome::Placed(Action::Pass));
    let codes = |message: &Message| message.notes.iter().map(|note| note.code).collect::<Vec<_>>();
    assert_eq!(
        (codes(system), codes(game)),
        (vec![Code::UnknownMessage], vec![Code::NotVital])
    );
}

#[test]
fn added_messages_are_distinguished_from_received_ones() {
    let came = datagram(1, &[(Some(5), READY), (Some(6), KILL), (None, SYS_31)]);
    let left = datagram(
        1,
        &[
            (Some(8), READY),
            (Some(9), GAME_40),
            (None, SYS_31),
            (None, b"\x35"),
        ],
    );
    let mut event = event(&came, &[&left]);
    let placed = |seq_out: Option<u16>, action| Placed::new(seq_out.map(Seq::new), action);
    event.placed = [
        placed(Some(8), Action::Pass),
        placed(None, Action::Drop),
        placed(None, Action::Pass),
    ]
    .into();
    let reading = read(&event);
    let shown: Vec<_> = reading
        .messages
        .iter()
        .map(|m| {
            (
                reading.label(m),
                m.transport.seq,
                m.transport.seq_out,
                m.handling.done.word(),
                m.handling.origin,
            )
        })
        .collect();
    let seq = |number| Some(Seq::new(number));
    let drop = Some("drop".to_owned());
    assert_eq!(
        shown,
        [
            ("ready".into(), seq(5), seq(8), None, Origin::Peer),
            ("cl_kill".into(), seq(6), None, drop, Origin::Peer),
            ("sys.31".into(), None, None, None, Origin::Peer),
            ("game.40".into(), None, seq(9), None, Origin::Rule),
            ("ping".into(), None, None, None, Origin::Rule),
        ]
    );
}

#[test]
fn a_refused_datagram_is_discarded_and_a_handshake_ends_at_the_proxy() {
    let came = datagram(1, &[(Some(5), READY)]);
    let refused = read(&event(&came, &[]));
    assert_eq!(
        (
            refused.messages[0].handling.done,
            refused.messages[0].transport.seq_out
        ),
        (MessageOutcome::Discarded, None)
    );
    let mut own = event(&came, &[]);
    own.leg = Some(Side::Client);
    assert_eq!(read(&own).messages[0].handling.done, MessageOutcome::Ended);
}

#[test]
fn each_note_stands_once_on_its_message() {
    let mut came = datagram(1, &[(None, READY), (None, READY)]);
    // The header announces a third chunk, which is missing.
    came[2] = 3;
    let mut event = event(&came, &[]);
    event.notes.push(Note {
        code: Code::WrongToken,
        at: 3,
        len: 4,
    });
    event.notes.push(Note {
        code: Code::ChunkCountTooHigh,
        at: 2,
        len: 1,
    });
    let reading = read(&event);
    let codes: Vec<Code> = reading.notes.iter().map(|note| note.code).collect();
    assert_eq!(codes, [Code::WrongToken, Code::ChunkCountTooHigh]);
    assert!(!reading.token_ok());
}

#[test]
fn bytes_that_are_not_a_packet_are_an_error() {
    for len in 0..7 {
        let reading = read(&event(&vec![0xd4; len.max(1)], &[]));
        assert!(reading.error.is_some() && reading.messages.is_empty(), "{len}");
    }
}

/// Filters see the notes on all chunks together, before their first decision.
#[test]
fn notes_of_a_datagram_count_for_its_messages() {
    let mut bytes = datagram(12, &[(Some(217), READY)]);
    bytes.extend([0xff; 3]);
    let came = event(&bytes, &[&bytes]);
    let mut decoder = Decoder::new(Registry::builtin());
    decoder.show_only(
        Filter::parse("lint.trailing-bytes", Registry::builtin())
            .unwrap()
            .0,
    );
    let reading = Reading::of_datagram(Time::ZERO, None, &came, &mut decoder).unwrap();
    assert!(reading.notes.iter().any(|note| note.code == Code::TrailingBytes));
    let sound = datagram(12, &[(Some(217), READY)]);
    let sound = event(&sound, &[&sound]);
    assert!(Reading::of_datagram(Time::ZERO, None, &sound, &mut decoder).is_none());
}

/// Returns a recorded DDNet datagram of which only these first bytes were recorded.
fn cut(bytes: &[u8]) -> Datagram {
    let bytes: &'static [u8] = bytes.to_vec().leak();
    let mut event = Datagram::new(Dir::S2c, Proto::Ddnet, Origin::Peer, bytes, [bytes].into_iter());
    event.notes.push(Note {
        code: Code::CutByCapture,
        at: bytes.len(),
        len: 40,
    });
    event
}

#[test]
fn a_cut_recording_adds_no_notes_to_a_datagram() {
    // A whole `con_ready` with a cut message after it; a compressed payload; a cut CLOSE reason and a cut handshake.
    let chunks = b"\0\x02\x03\x40\x01\x06\x09\x42\x00\x07\x06\x01\x02\x03\x04";
    let datagrams: [(&[u8], bool, usize); 4] = [
        (chunks, true, 1),
        (b"\x80\x02\x03\x10\x11", false, 0),
        (b"\x10\0\0\x04good bye", true, 1),
        (b"\x10\0\0\x02TKEN", true, 1),
    ];
    for (bytes, is_readable, count) in datagrams {
        let reading = read(&cut(bytes));
        let codes: Vec<Code> = reading.notes.iter().map(|note| note.code).collect();
        assert_eq!(codes, [Code::CutByCapture], "{reading:?}");
        let messages = &reading.messages;
        assert!(
            messages.iter().all(|message| message.notes.is_empty()),
            "{reading:?}"
        );
        assert_eq!(
            (messages.len(), reading.error),
            (count, (!is_readable).then_some(Unreadable::Cut))
        );
        let mut decoder = Decoder::new(Registry::builtin());
        decoder.show_only(Filter::parse("malformed", Registry::builtin()).unwrap().0);
        assert!(Reading::of_datagram(Time::ZERO, None, &cut(bytes), &mut decoder).is_none());
        // Without the cut, the same bytes have notes.
        let mut whole = cut(bytes);
        whole.notes = Notes::default();
        let odd = read(&whole);
        assert!(
            odd.error != reading.error
                || !odd.notes.is_empty()
                || odd.messages.iter().any(|message| !message.notes.is_empty()),
            "{odd:?}"
        );
    }
}
