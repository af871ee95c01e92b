//! Tests of rows: their text, and that hostile bytes have no effect.

use std::time::Duration;

use proptest::prelude::*;
use teetap_proxy::session::{Action, Event, OpensNothing, Placed, SessionId, State, Time, Transit};
use teetap_wire::{Dir, Proto, Seq, Side, control, def::Registry};

use super::*;
use crate::{
    Decoder, Verbosity,
    testing::{chunks, connless, packet, session},
};

fn one_chunk(ack: u16, seq: u16, data: &[u8]) -> Vec<u8> {
    chunks(ack, false, &[(Some(seq), data)])
}

fn event(received: &[u8], sent: &[&[u8]], change: impl FnOnce(&mut Datagram)) -> Event {
    let received: &'static [u8] = received.to_vec().leak();
    let mut datagram = Datagram::new(Dir::S2c, Proto::V7, Origin::Peer, received, sent.iter().copied());
    datagram.ordinal = 31;
    change(&mut datagram);
    Event {
        at: Time(12_418_999),
        session: Some(SessionId(2)),
        what: EventKind::Datagram(datagram),
    }
}

fn rows(event: &Event, verbosity: Verbosity) -> Vec<Row> {
    let style = Style {
        verbosity,
        ..Style::default()
    };
    super::rows(&Decoder::new(Registry::builtin()).decode(event.clone()), style)
}

fn texts(event: &Event, verbosity: Verbosity) -> Vec<String> {
    rows(event, verbosity).into_iter().map(Row::into_text).collect()
}

/// The 0.7 `sv_motd`.
const MOTD: &[u8] = b"\x02welcome, and have fun\0";

#[test]
fn a_message_is_one_line_with_columns() {
    let came = one_chunk(12, 217, MOTD);
    let left = one_chunk(11, 218, MOTD);
    let same = event(&came, &[&came], |_| {});
    assert_eq!(
        texts(&same, Verbosity::Messages),
        ["  12.418 #2  s→c V  217 sv_motd            23 bytes \"welcome, and have fun\""]
    );
    let moved = event(&came, &[&left], |datagram| {
        datagram.placed = [Placed::new(Some(Seq::new(218)), Action::Pass)].into();
    });
    assert_eq!(
        texts(&moved, Verbosity::Bytes),
        [
            "  12.418 #2  s→c datagram 31: 33 bytes, seq 217→218, ack 12→11, 1 chunk".to_owned(),
            format!("  12.418 #2      in {}", hex(&came)),
            format!("  12.418 #2      out {}", hex(&left)),
            "  12.418 #2  s→c V 217→218 sv_motd         23 bytes \"welcome, and have fun\"".to_owned(),
            "  12.418 #2      message: \"welcome, and have fun\"".to_owned(),
            format!("  12.418 #2      bytes {}", hex(MOTD)),
        ]
    );
    assert_eq!(
        texts(&same, Verbosity::Bytes)[1],
        format!("  12.418 #2      in=out {}", hex(&came))
    );
}

#[test]
fn a_message_ahead_of_a_gap_names_the_number_that_was_expected() {
    let mut decoder = Decoder::new(Registry::builtin());
    let mut line = |seq, action| {
        let came = one_chunk(12, seq, MOTD);
        let event = event(&came, &[], |datagram| {
            datagram.placed = [Placed::new(None, action)].into();
        });
        let rows = super::rows(&decoder.decode(event), Style::default());
        rows[0].text().to_owned()
    };
    assert!(!line(1023, Action::Gap).contains("expected"));
    assert!(!line(1023, Action::Pass).contains("expected"));
    let gap = line(1, Action::Gap);
    assert!(gap.contains("23 bytes gap: expected number 0 \"welcome"), "{gap}");
    line(0, Action::Drop);
    assert!(line(2, Action::Gap).contains("expected number 1 "));
}

#[test]
fn a_whole_message_has_a_row_for_each_field_and_its_bytes() {
    // The 0.7 `sv_chat`.
    let came = one_chunk(12, 217, b"\x06\x01\x02\x40hi\0");
    let same = event(&came, &[&came], |_| {});
    let texts = texts(&same, Verbosity::Bytes);
    assert_eq!(
        texts[3..],
        [
            "  12.418 #2      mode: 1 (all)",
            "  12.418 #2      client_id: 2",
            "  12.418 #2      target_id: -1",
            "  12.418 #2      message: \"hi\"",
            "  12.418 #2      bytes 06010240686900",
        ]
    );
}

#[test]
fn a_close_shows_its_reason_and_a_handshake_its_leg() {
    let mut payload = Vec::new();
    control::close(b"kicked \x1b[2J\x9b\n", &mut payload);
    let close = event(&packet(Flags::CONTROL, 3, 0, &payload), &[], |datagram| {
        datagram.leg = Some(Side::Server)
    });
    assert_eq!(
        texts(&close, Verbosity::Messages),
        [
            "  12.418 #2  s→p -      close              15 bytes \"kicked \u{fffd}[2J\u{fffd}\\n\" !invalid-utf8"
        ]
    );
}

#[test]
fn discarded_messages_and_notes_are_marked() {
    let came = one_chunk(12, 217, b"\x02x\0");
    let refused = event(&came, &[], |datagram| {
        datagram.notes.push(Note {
            code: teetap_wire::Code::WrongToken,
            at: 3,
            len: 4,
        });
    });
    let rows = rows(&refused, Verbosity::Messages);
    assert_eq!(
        rows[0].text(),
        "  12.418 #2  s→c V  217 sv_motd             3 bytes discard \"x\" !wrong-token"
    );
    assert_eq!(rows[0].kind, Kind::Warning);
    let empty = event(&packet(Flags::empty(), 1, 0, b""), &[], |_| {});
    assert_eq!(
        texts(&empty, Verbosity::Messages),
        ["  12.418 #2  s→c datagram 31: 7 bytes, not forwarded, ack 1, 0 chunks !empty-without-resend"]
    );
}

/// Returns the lines that a filter shows.
fn filtered(event: &Event, filter: &str, verbosity: Verbosity) -> Vec<String> {
    let registry = Registry::builtin();
    let mut decoder = Decoder::new(registry);
    decoder.show_only(teetap_rules::Filter::parse(filter, registry).unwrap().0);
    let style = Style {
        verbosity,
        ..Style::default()
    };
    let rows = super::rows(&decoder.decode(event.clone()), style);
    rows.into_iter().map(Row::into_text).collect()
}

#[test]
fn filters_see_datagrams_without_a_message() {
    let empty = packet(Flags::empty(), 1, 0, b"");
    let truncated = packet(Flags::RESEND, 1, 1, b"\x40\x30\x01x");
    let mut garbage = packet(Flags::empty(), 5, 1, &[0xff; 9]);
    garbage[0] |= Proto::V7.layout().compression;
    for (bytes, yes, no) in [
        (&empty, "lint.empty_without_resend", "malformed"),
        (
            &truncated,
            "lint.chunk_truncated and pkt.resend",
            "lint.bad_huffman",
        ),
        (
            &garbage,
            "lint.bad_huffman and compressed and pkt.ack == 5",
            "not s2c",
        ),
        (
            &garbage,
            "malformed and pkt.size == 16 and pkt.chunks == 1",
            "sys or game",
        ),
        (&garbage, "not input", "lint.wrong_token"),
    ] {
        let event = event(bytes, &[], |datagram| {
            if let Some(Err(error)) = datagram.packet(&mut teetap_wire::Scratch::default()) {
                let (code, at, len) = (error.code(), 0, bytes.len());
                datagram.notes.push(Note { code, at, len });
            }
        });
        for verbosity in [Verbosity::Messages, Verbosity::Datagrams] {
            let all = texts(&event, verbosity);
            assert_eq!(filtered(&event, yes, verbosity), all, "{yes}");
            assert_eq!(filtered(&event, "lint", verbosity), all);
        }
        assert_eq!(filtered(&event, no, Verbosity::Bytes), [""; 0], "{no}");
    }
}

/// The first message that is shown has the notes of its datagram; if the filter uses notes, every message has them.
#[test]
fn messages_that_match_by_a_note_of_their_datagram_show_it() {
    let mut payload = Vec::new();
    for (seq, text) in [(1, b"\x02a\0"), (2, b"\x02b\0"), (3, b"\x02c\0")] {
        teetap_wire::write_chunk(Proto::V7, Some(Seq::new(seq)), false, text, &mut payload).unwrap();
    }
    payload.extend(b"..");
    let event = event(&packet(Flags::empty(), 1, 3, &payload), &[], |_| {});
    let marked = |filter, verbosity| {
        let lines = filtered(&event, filter, verbosity);
        let marked = lines.iter().filter(|line| line.contains("!trailing-bytes"));
        (lines.len(), marked.count())
    };
    assert_eq!(marked("s2c", Verbosity::Messages), (3, 1));
    assert_eq!(marked("lint", Verbosity::Messages), (3, 3));
    assert_eq!(
        marked(r#"lint.trailing_bytes and not "b""#, Verbosity::Messages),
        (2, 2)
    );
    // The line of the datagram has the notes.
    assert_eq!(marked("lint", Verbosity::Datagrams), (4, 1));
}

#[test]
fn harmless_notes_are_shown_with_the_datagrams_and_on_request() {
    // `sv_ready_to_enter` has no fields.
    let event = event(&one_chunk(1, 2, b"\x10\x01"), &[], |_| {});
    let has_mark = |lines: &[String]| lines.iter().any(|line| line.contains("!surplus-bytes"));
    assert!(!has_mark(&texts(&event, Verbosity::Messages)));
    assert!(has_mark(&texts(&event, Verbosity::Datagrams)));
    assert!(!has_mark(&filtered(&event, "s2c", Verbosity::Messages)));
    assert!(has_mark(&filtered(
        &event,
        "lint.surplus_bytes",
        Verbosity::Messages
    )));
    assert!(has_mark(&filtered(
        &event,
        "s2c and not malformed",
        Verbosity::Messages
    )));
}

#[test]
fn an_oversized_payload_is_a_note_of_the_datagram() {
    let mut payload = Vec::new();
    for seq in [1, 2] {
        let mut motd = vec![b'x'; 690];
        (motd[0], motd[689]) = (2, 0);
        teetap_wire::write_chunk(Proto::V7, Some(Seq::new(seq)), false, &motd, &mut payload).unwrap();
    }
    payload.resize(1393, 0);
    let event = event(&packet(Flags::empty(), 1, 2, &payload), &[], |_| {});
    let marked = |lines: Vec<String>| {
        lines
            .iter()
            .filter(|line| line.contains("!payload-oversized"))
            .count()
    };
    assert_eq!(marked(texts(&event, Verbosity::Messages)), 1);
    assert_eq!(
        marked(filtered(&event, "lint.payload_oversized", Verbosity::Messages)),
        2
    );
    let datagrams = texts(&event, Verbosity::Datagrams);
    assert!(datagrams[0].contains("!payload-oversized") && marked(datagrams) == 1);
}

#[test]
fn filters_see_browser_messages_and_their_client() {
    let raw = |bytes| Event {
        at: Time(1_000),
        session: None,
        what: EventKind::Connless(connless(Dir::C2s, bytes, None)),
    };
    for filter in [
        "connless",
        r#"sess.client == "127.0.0.1:4""#,
        "unknown",
        "lint.unknown_message",
    ] {
        let shown = filtered(&raw(b"\xff\xff"), filter, Verbosity::Messages);
        assert_eq!(
            shown,
            [
                "   0.001 -   c→s -      connless.raw        2 bytes client 127.0.0.1:4 discard !unknown-message"
            ],
            "{filter}"
        );
    }
    for filter in ["s2c", "sess.client contains \"[\"", "pkt.resend", "request_info"] {
        assert_eq!(
            filtered(&raw(b"\xff\xff"), filter, Verbosity::Messages),
            [""; 0],
            "{filter}"
        );
    }
}

#[test]
fn sessions_notices_connless_and_gaps() {
    let at = |what| Event {
        at: Time(1_000),
        session: Some(SessionId(12)),
        what,
    };
    let closed = SessionChange {
        by: Some(Side::Server),
        reason: Some(b"This server is full"[..].into()),
        ..session(State::Closed, Proto::Ddnet)
    };
    assert_eq!(
        texts(&at(EventKind::Session(closed)), Verbosity::Messages),
        ["   0.001 #12 session closed: ddnet, client 127.0.0.1:4, by the server: \"This server is full\""]
    );
    let redirected = SessionChange {
        server: Some("127.0.0.1:7".parse().unwrap()),
        upstream: Some("127.0.0.1:5".parse().unwrap()),
        ..session(State::Online, Proto::Ddnet)
    };
    assert_eq!(
        texts(&at(EventKind::Session(redirected)), Verbosity::Messages),
        [
            "   0.001 #12 session online: ddnet, client 127.0.0.1:4, from 127.0.0.1:5 to the server, redirected to 127.0.0.1:7"
        ]
    );
    let notice = Notice::Redirected { port: 7, listen: 9 };
    assert_eq!(
        texts(&at(EventKind::Notice(notice)), Verbosity::Messages),
        ["   0.001 #12 note: redirect to port 7: the client receives port 9, where the proxy listens for it"]
    );
    let notice = rows(
        &at(EventKind::Notice(Notice::UpstreamSilent {
            time: Duration::from_secs(5),
        })),
        Verbosity::Messages,
    );
    assert_eq!(
        notice[0].text(),
        "   0.001 #12 warning: the server has not answered for 5 s"
    );
    assert_eq!(notice[0].kind, Kind::Warning);
    let request = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xffgie3\x01";
    let request = Event {
        session: None,
        ..at(EventKind::Connless(connless(Dir::C2s, request, None)))
    };
    assert_eq!(
        texts(&request, Verbosity::Messages),
        ["   0.001 -   c→s -      request_info       15 bytes client 127.0.0.1:4 discard token=1"]
    );
    assert!(gap(7).text().contains("7 events missed"));
}

#[test]
fn the_link_of_a_browser_message_is_shown() {
    let bytes = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xffgie3\x01";
    let event = Event {
        at: Time(1_000),
        session: None,
        what: EventKind::Connless(Connless {
            link: [Transit {
                delay: Duration::from_millis(120),
                ..Transit::default()
            }]
            .into(),
            ..connless(Dir::C2s, bytes, Some(bytes))
        }),
    };
    assert_eq!(
        texts(&event, Verbosity::Messages),
        [
            "   0.001 -   c→s -      request_info       15 bytes client 127.0.0.1:4 token=1, link: delayed 120.0 ms"
        ]
    );
}

/// A rule or the translation of a token changes the bytes of a message outside a connection.
#[test]
fn the_bytes_of_a_browser_message_are_shown_as_received_and_as_sent() {
    let bytes = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xffgie3\x01";
    let [mut other, mut longer] = [bytes.to_vec(), bytes.to_vec()];
    other[14] = 2;
    longer.push(0);
    let line = |word: &str, bytes: &[u8]| format!("   0.001 -       {word} {}", hex(bytes));
    for (sent, expected) in [
        (None, vec![line("in", bytes)]),
        (Some(&bytes[..]), vec![line("in=out", bytes)]),
        (Some(&other[..]), vec![line("in", bytes), line("out", &other)]),
        (Some(&longer[..]), vec![line("in", bytes), line("out", &longer)]),
        (
            Some(&bytes[..14]),
            vec![line("in", bytes), line("out", &bytes[..14])],
        ),
    ] {
        let event = Event {
            at: Time(1_000),
            session: None,
            what: EventKind::Connless(connless(Dir::C2s, bytes, sent)),
        };
        let mut texts = texts(&event, Verbosity::Bytes);
        texts.retain(|line| line.contains(" in ") || line.contains(" in=out ") || line.contains(" out "));
        assert_eq!(texts, expected);
    }
}

#[test]
fn a_browser_answer_cut_by_the_capture_has_no_other_notes() {
    let bytes = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xffinf37\x000.6\0na";
    let answer = |cut| Event {
        at: Time(1_000),
        session: None,
        what: EventKind::Connless(Connless {
            cut,
            forwarded: true,
            ..connless(Dir::S2c, bytes, None)
        }),
    };
    let text = |cut| texts(&answer(cut), Verbosity::Messages).join("");
    assert!(text(30).ends_with(" !cut-by-capture"), "{}", text(30));
    assert!(!text(30).contains("missing-field") && !text(30).contains("unterminated"));
    assert!(
        text(0).contains("!unterminated-text !missing-field"),
        "{}",
        text(0)
    );
}

/// The line has the first bytes and `-vv` shows all of them. A CONNECT without a session has no message to show.
#[test]
fn a_datagram_that_opens_nothing_is_shown_with_its_bytes() {
    let bytes = b"\x04\0\0\x01TKEN\xff\xff\xff\xff";
    let what = OpensNothing::classify(bytes);
    let notice = Notice::unknown_sender("127.0.0.1:5000".parse().unwrap(), bytes, what);
    let event = Event {
        at: Time(1_000_000),
        session: None,
        what: EventKind::Notice(notice),
    };
    let line = "   1.000 -   note: 127.0.0.1:5000 sent 12 bytes that open no session: byte 0 is 04, the control flag of 0.7: in 0.6 \
                and DDNet it is 10; they are 04 00 00 01 54 4b 45 4e ff ff ff ff";
    assert_eq!(texts(&event, Verbosity::Datagrams), [line]);
    assert_eq!(
        texts(&event, Verbosity::Bytes),
        [line, "   1.000 -       in 04000001544b454effffffff"]
    );
}

proptest! {
    #[test]
    fn no_bytes_make_a_control_character_or_a_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..1500),
        sent in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..1500)),
        proto in prop::sample::select(Proto::ALL.to_vec()),
        control in any::<bool>(),
    ) {
        let mut bytes = bytes;
        if control && bytes.len() > 8 {
            // A CLOSE, whose reason is text of a peer.
            bytes[0] = proto.layout().control;
            let at = proto.layout().header_len;
            bytes[at] = 4;
        }
        let sent: Vec<&[u8]> = sent.iter().map(Vec::as_slice).collect();
        let event = event(&bytes, &sent, |datagram| datagram.proto = proto);
        for row in rows(&event, Verbosity::Bytes) {
            prop_assert!(!row.text().chars().any(char::is_control), "{:?}", row.text());
        }
        let connless = Connless { forwarded: true, ..connless(Dir::S2c, &bytes, None) };
        for row in rows(&Event { what: EventKind::Connless(connless), ..event }, Verbosity::Messages) {
            prop_assert!(!row.text().chars().any(char::is_control), "{:?}", row.text());
        }
    }
}
