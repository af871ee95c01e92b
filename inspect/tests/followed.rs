//! A filter passes the same messages if its watcher tracks all session state or only the state that the filter needs.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;

use teetap_capture::{Item, Playback};
use teetap_inspect::{
    Decoder, Message, Reading,
    reading::{Handling, Header, Sizes, Transport},
};
use teetap_proxy::session::{Datagram, Event, EventKind};
use teetap_rules::Filter;
use teetap_wire::{
    Code,
    def::{Registry, Secrets},
};

const FILTERS: [&str; 16] = [
    "rcon_cmd",
    r#"sv_chat.message contains "e""#,
    "c2s and not input",
    "s2c and not any_snap",
    "vital and resend",
    "any_snap or sv_chat",
    "snap.tick > 100 and snap.parts == 1",
    "lint",
    "count(input) > 20 and c2s",
    "since(enter_game) > 3s and vital and c2s",
    r#"sess.name contains "a" and c2s"#,
    "sess.rtt > 1ms and c2s and vital",
    "t > 4s and sys and not any_snap",
    "sess.state == online and input_timing",
    "keepalive or close",
    "compressed and pkt.ack > 5 and sv_chat",
];

/// Returns all events of the recordings in the tests, and of copies with changed bytes.
fn recordings() -> Vec<Vec<Event>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/captures");
    let mut recordings = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let mut bytes = fs::read(entry.unwrap().path()).unwrap();
        recordings.push(events(&bytes));
        // Change payloads mostly, because a damaged header would end the file.
        let mut at = 24;
        while let Some(len) = bytes.get(at + 8..at + 12) {
            let len = u32::from_le_bytes(len.try_into().unwrap()) as usize;
            if at % 5 == 0
                && let Some(byte) = bytes.get_mut(at + 16 + 42 + at % len.saturating_sub(42).max(1))
            {
                *byte ^= 0x15;
            }
            at += 16 + len;
        }
        recordings.push(events(&bytes));
    }
    recordings
}

fn events(bytes: &[u8]) -> Vec<Event> {
    let mut playback = Playback::pcap(bytes).unwrap();
    let mut events = Vec::new();
    while let Ok(Some(item)) = playback.read() {
        if let Item::Event(event) = item {
            events.push(event);
        }
    }
    events
}

fn decoder(filter: &str) -> Decoder {
    let mut decoder = Decoder::new(Registry::builtin());
    decoder.show_only(parse(filter));
    decoder
}

fn parse(text: &str) -> Filter {
    Filter::parse(text, Registry::builtin()).unwrap().0
}

#[test]
fn nothing_is_missed_by_following_less() {
    let recordings = recordings();
    let (mut shown, mut hidden) = (0, 0);
    for filter in FILTERS {
        for events in &recordings {
            // A watcher that waits for items has to follow snapshots.
            let mut slow = decoder(filter);
            slow.wait_for(parse("snap.tick > 0"));
            let mut fast = decoder(filter);
            for event in events {
                let (at, session) = (event.at, event.session);
                match &event.what {
                    EventKind::Session(change) => {
                        for decoder in [&mut slow, &mut fast] {
                            decoder.on_session(at, session.unwrap(), change);
                        }
                    }
                    EventKind::Datagram(datagram) => {
                        let whole = Reading::of_datagram(at, session, &again(datagram), &mut slow);
                        let reading = Reading::of_datagram(at, session, datagram, &mut fast);
                        assert_eq!(described(whole.as_ref()), described(reading.as_ref()), "{filter}");
                        match reading {
                            Some(reading) => {
                                shown += reading
                                    .messages
                                    .iter()
                                    .filter(|message| message.visibility.shown)
                                    .count();
                                fast.recycle(reading);
                            }
                            None => hidden += 1,
                        }
                    }
                    EventKind::Connless(_) | EventKind::Notice(_) | EventKind::Answer(_) => {}
                }
            }
            assert_eq!(slow.matches(), fast.matches(), "{filter}");
        }
    }
    assert!(shown > 10_000 && hidden > 10_000, "{shown} {hidden}");
}

/// Describes everything that is shown of a reading.
fn described(reading: Option<&Reading>) -> Option<String> {
    let reading = reading?;
    let Reading {
        sizes: Sizes { received, .. },
        header: Header {
            flags, ack, ack_out, ..
        },
        notes,
        ..
    } = reading;
    let shown = reading.messages.iter().filter(|message| message.visibility.shown);
    let messages: Vec<String> = shown.map(|message| of_message(reading, message)).collect();
    Some(format!(
        "{received:?} {flags:?} {ack:?} {ack_out:?} {notes:?} {messages:#?}"
    ))
}

fn of_message(reading: &Reading, message: &Message) -> String {
    let Message {
        layer,
        transport,
        handling,
        notes,
        ..
    } = message;
    let Transport {
        vital,
        resend,
        seq,
        seq_out,
        ..
    } = transport;
    let Handling { done, origin, .. } = handling;
    // Notes about acks of snapshots exist only if snapshots are tracked.
    let notes: Vec<_> = notes
        .iter()
        .filter(|note| note.code != Code::SnapEmptyUnacked)
        .collect();
    format!(
        "{} {layer:?} {vital} {resend} {seq:?} {seq_out:?} {done:?} {origin:?} {:?} {:?} {notes:?} {:?} {:?}",
        reading.label(message),
        message.ranges.range(),
        message.id,
        reading.json(message, Secrets::Show),
        reading.data(message),
    )
}

/// Returns the datagram with a copy of the bytes sent, and without its inflated payload.
fn again(datagram: &Datagram) -> Datagram {
    let received = datagram.received().unwrap_or_default();
    let mut again = Datagram::new(
        datagram.dir,
        datagram.proto,
        datagram.origin,
        received,
        datagram.sent(),
    );
    (again.leg, again.ordinal, again.notes) = (datagram.leg, datagram.ordinal, datagram.notes);
    again
}
