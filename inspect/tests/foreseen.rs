//! Filters that are asked before anything is made of a datagram let the same messages through as those that are asked while it
//! is read, snapshots and all.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;

use teetap_capture::{Item, Playback};
use teetap_inspect::{Decoder, Form, Reading};
use teetap_proxy::session::{Datagram, Event, What};
use teetap_rules::Filter;
use teetap_wire::def::{Registry, Secrets};

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

/// All events of the recordings of the tests, and of the same with bytes changed.
fn recordings() -> Vec<Vec<Event>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/captures");
    let mut recordings = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let mut bytes = fs::read(entry.unwrap().path()).unwrap();
        recordings.push(events(&bytes));
        // In payloads, mostly: a damaged header of the file would end it.
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
    let mut decoder = Decoder::new(Registry::builtin(), Secrets::Hide, Form::Gist);
    decoder.show_only(parse(filter));
    decoder
}

fn parse(text: &str) -> Filter {
    Filter::parse(text, Registry::builtin()).unwrap().0
}

#[test]
fn what_is_foreseen_comes() {
    let recordings = recordings();
    let (mut shown, mut hidden) = (0, 0);
    for filter in FILTERS {
        for events in &recordings {
            // Whoever looks out for what is in snapshots follows them.
            let mut slow = decoder(filter);
            slow.look_out_for(parse("snap.tick > 0"));
            let mut fast = decoder(filter);
            for event in events {
                let (at, session) = (event.at, event.session);
                match &event.what {
                    What::Session(change) => {
                        for decoder in [&mut slow, &mut fast] {
                            decoder.on_session(at, session.unwrap(), change.state);
                        }
                    }
                    What::Datagram(datagram) => {
                        let mut whole = Reading::new(at, session, &again(datagram), &mut slow);
                        whole.messages.retain(|message| message.shown);
                        let mut foreseen = Reading::shown(at, session, datagram, &mut fast);
                        if let Some(reading) = &mut foreseen {
                            reading.messages.retain(|message| message.shown);
                            assert_eq!(whole.messages, reading.messages, "{filter}");
                            assert_eq!((whole.ack_out, &whole.notes), (reading.ack_out, &reading.notes));
                            shown += reading.messages.len();
                        } else {
                            assert_eq!(whole.messages, [], "{filter}");
                            hidden += 1;
                        }
                    }
                    What::Connless(_) | What::Notice(_) => {}
                }
            }
            assert_eq!(slow.matches(), fast.matches(), "{filter}");
        }
    }
    assert!(shown > 10_000 && hidden > 10_000, "{shown} {hidden}");
}

/// The same, as one that tells nothing of what it inflates to and keeps what left.
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
