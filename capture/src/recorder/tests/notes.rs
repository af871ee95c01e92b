//! Tests of notes that no single datagram shows: a recording has the same notes as its run.

use std::io::Cursor;

use teetap_inspect::{
    DecodedEvent, Style, Verbosity,
    jsonl::{self, Lines},
};
use teetap_wire::{Flags, Header, Token, packet, write_chunk};

use super::*;

/// Returns a datagram of 0.7 with these vital messages: number, resend flag, first byte of the text.
fn vital(ack: u16, flags: Flags, messages: &[(u16, bool, u8)]) -> Vec<u8> {
    let mut payload = Vec::new();
    for (seq, resent, text) in messages {
        // The id of sv_motd.
        let data = [2, *text, 0];
        write_chunk(Proto::V7, Some(Seq::new(*seq)), *resent, &data, &mut payload).unwrap();
    }
    let header = Header {
        flags,
        ack: Seq::new(ack),
        num_chunks: u8::try_from(messages.len()).unwrap(),
        token: Some(Token(*b"tokn")),
    };
    let mut out = Vec::new();
    packet::write(Proto::V7, &header, &payload, None, &mut out);
    out
}

/// A datagram: milliseconds, direction, ack, resend flag, messages, and the core's action on its only message.
type Row<'a> = (u64, Dir, u16, bool, &'a [(u16, bool, u8)], Option<Action>);

const ROWS: [Row<'static>; 9] = [
    (10, Dir::S2c, 0, false, &[(1, false, b'a')], None),
    (20, Dir::S2c, 0, false, &[(3, false, b'c')], None),
    (30, Dir::C2s, 1, true, &[], None),
    (40, Dir::S2c, 0, false, &[(2, true, b'b'), (3, true, b'c')], None),
    (50, Dir::C2s, 3, false, &[(1, false, b'x')], None),
    (60, Dir::S2c, 1, false, &[(3, true, b'c')], None),
    (70, Dir::S2c, 1, false, &[(3, false, b'd')], None),
    // From here on the core numbers messages for the server.
    (80, Dir::C2s, 3, false, &[(2, false, b'y')], Some(Action::Drop)),
    (90, Dir::C2s, 3, false, &[(4, false, b'z')], Some(Action::Gap)),
];

/// Returns a session with many faults: lost, repeated, changed and skipped messages, and an ack that does not advance.
fn session() -> Vec<Event> {
    let state = |state| {
        EventKind::Session(SessionChange {
            state,
            proto: Proto::V7,
            client: "127.0.0.1:4444".parse().unwrap(),
            server: None,
            upstream: None,
            by: None,
            reason: None,
        })
    };
    let mut events = vec![event(0, state(State::Opening)), event(0, state(State::Online))];
    let mut ordinals = [0; 2];
    let mut push = |(ms, dir, ack, requests, messages, action): Row<'_>| {
        let flags = if requests { Flags::RESEND } else { Flags::empty() };
        let bytes = vital(ack, flags, messages);
        // The core acks the message that it dropped.
        let shown = if dir == Dir::S2c && ms >= 1000 {
            ack + 1
        } else {
            ack
        };
        let mut one = datagram(dir, &bytes, &[&vital(shown, flags, messages)]);
        ordinals[dir as usize] += 1;
        one.ordinal = ordinals[dir as usize];
        one.placed = action
            .map(|action| Placed::new(None, action))
            .into_iter()
            .collect();
        events.push(event(ms * 1000, EventKind::Datagram(one)));
    };
    ROWS.into_iter().for_each(&mut push);
    for second in 1..9u64 {
        let number = u16::try_from(3 + second).unwrap();
        push((1000 * second, Dir::S2c, 1, false, &[(number, false, b'e')], None));
        push((1000 * second + 10, Dir::C2s, 3, false, &[], None));
    }
    events
}

/// Returns the notes with their values, and their times.
fn notes(decoded: &DecodedEvent) -> Vec<(u64, Code, String)> {
    let Some(reading) = &decoded.reading else {
        return Vec::new();
    };
    let of_messages = reading.messages.iter().flat_map(|message| &message.notes);
    let all = reading.notes.iter().chain(of_messages);
    all.map(|note| {
        let detail = reading.detail(note).map(ToString::to_string);
        (decoded.event.at.0, note.code, detail.unwrap_or_default())
    })
    .collect()
}

fn decoded(events: impl Iterator<Item = Event>) -> Vec<(u64, Code, String)> {
    let mut decoder = Decoder::new(Registry::builtin());
    events.flat_map(|event| notes(&decoder.decode(event))).collect()
}

#[test]
fn a_recording_has_the_notes_of_its_run() {
    let live = decoded(session().into_iter());
    let codes: Vec<Code> = live.iter().map(|(_, code, _)| *code).collect();
    for code in [
        Code::SeqAhead,
        Code::ResendRequest,
        Code::SeqAgain,
        Code::ResendChanged,
        Code::SeqGap,
        Code::AckStuck,
    ] {
        assert!(codes.contains(&code), "{code:?}: {codes:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.pcapng");
    record(&path, 64, &session());
    let (items, error) = play(&path);
    assert!(error.is_none(), "{error:?}");
    let events = |items: Vec<Item>| {
        items.into_iter().filter_map(|item| match item {
            Item::Event(event) => Some(event),
            _ => None,
        })
    };
    assert_eq!(decoded(events(items)), live);

    // JSON lines have the notes of datagrams, too.
    let style = Style {
        json: true,
        verbosity: Verbosity::Bytes,
        ..Style::default()
    };
    let mut decoder = Decoder::new(Registry::builtin());
    let mut lines = Vec::new();
    for event in session() {
        jsonl::event(&decoder.decode(event), style, &mut lines);
    }
    let mut reader = Lines::new(Cursor::new(lines));
    let mut items = Vec::new();
    while let Some(item) = reader.read().unwrap() {
        items.push(item);
    }
    assert_eq!(decoded(events(items)), live);
}
