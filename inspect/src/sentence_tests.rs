//! Tests of the sentences about notes.

use teetap_proxy::session::{Event, Notice, Origin, SessionId, Time};
use teetap_wire::{Dir, Flags, Proto, Side, def::Registry};

use super::*;
use crate::{
    Decoder, Verbosity,
    testing::{chunks, packet, session},
};

/// A terminal that shows a run.
struct Shown {
    decoder: Decoder,
    sentences: Sentences,
    verbosity: Verbosity,
}

impl Shown {
    fn new() -> Self {
        Self {
            decoder: Decoder::new(Registry::builtin()),
            sentences: Sentences::default(),
            verbosity: Verbosity::Messages,
        }
    }

    /// Returns the sentences under the lines of an event.
    fn event(&mut self, session: u32, what: EventKind) -> Vec<String> {
        let event = Event {
            at: Time(660_000),
            session: Some(SessionId(session)),
            what,
        };
        let decoded = self.decoder.decode(event);
        let style = Style {
            verbosity: self.verbosity,
            ..Style::default()
        };
        self.sentences.begin(&decoded);
        let lines = EventLines::from_event(&decoded, style);
        let rows = lines
            .list
            .iter()
            .flat_map(|line| self.sentences.under(&lines, line, style));
        let rows = rows.map(|row| {
            let start = format!("   0.660 #{session:<2}     ");
            row.text().strip_prefix(&start).unwrap().to_owned()
        });
        rows.collect()
    }

    fn datagram(
        &mut self,
        session: u32,
        dir: Dir,
        bytes: &[u8],
        change: impl FnOnce(&mut Datagram),
    ) -> Vec<String> {
        let bytes: &'static [u8] = bytes.to_vec().leak();
        let mut datagram = Datagram::new(dir, Proto::V7, Origin::Peer, bytes, [bytes].into_iter());
        change(&mut datagram);
        self.event(session, EventKind::Datagram(datagram))
    }

    fn chunk(&mut self, session: u32, dir: Dir, data: &[u8]) -> Vec<String> {
        // Forgets all sequence numbers, so that the number of the message causes no note.
        self.decoder.gap();
        self.datagram(session, dir, &chunks(1, false, &[(Some(1), data)]), |_| {})
    }
}

fn note(code: Code, at: usize, len: usize) -> impl FnOnce(&mut Datagram) {
    move |datagram| datagram.notes.push(Note { code, at, len })
}

/// The 0.7 `sv_emoticon` of a client id that cannot exist.
const EMOTICON: &[u8] = b"\x14\x80\x02\x02";

#[test]
fn a_magic_that_is_almost_right_is_named_with_the_right_one() {
    for (proto, bytes, expected) in [
        (
            Proto::V6,
            &b"\x10\0\0\x01TKEM\xff\xff\xff\xff"[..],
            &[
                "! unexpected-bytes: bytes that differ from the fixed value of this field: the receiver assumes another version; got \"TKEM\", expected \"TKEN\"",
            ][..],
        ),
        (
            Proto::Ddnet,
            b"\x10\0\0\x02TKXN\x01\x02\x03\x04",
            &[
                "! unexpected-bytes: bytes that differ from the fixed value of this field: the receiver assumes another version; got \"TKXN\", expected \"TKEN\"",
            ],
        ),
        (Proto::V6, b"\x10\0\0\x01", &[]),
    ] {
        let dir = if bytes[3] == 1 { Dir::C2s } else { Dir::S2c };
        let mut datagram = Datagram::new(dir, proto, Origin::Peer, bytes, std::iter::empty());
        datagram.leg = Some(Side::Client);
        let shown = Shown::new().event(1, EventKind::Datagram(datagram));
        assert_eq!(shown, expected, "{proto}");
    }
    let filter = teetap_rules::Filter::parse("lint.unexpected_bytes", Registry::builtin());
    let mut shown = Shown::new();
    shown.decoder.show_only(filter.unwrap().0);
    let bytes = b"\x10\0\0\x01TKEM\xff\xff\xff\xff";
    let datagram = Datagram::new(Dir::C2s, Proto::V6, Origin::Peer, bytes, std::iter::empty());
    assert_eq!(shown.event(1, EventKind::Datagram(datagram)).len(), 1);
}

#[test]
fn a_second_message_and_a_uuid_of_text_are_recognized() {
    let mut shown = Shown::new();
    shown.verbosity = Verbosity::Datagrams;
    // Two messages in one chunk: `sv_motd` with the 0.7 `sv_broadcast`.
    let both = b"\x02hello\0\x04and a broadcast\0";
    assert_eq!(
        shown.chunk(1, Dir::S2c, both),
        [
            "· surplus-bytes: bytes after the last known field: receivers ignore them; got a second message, sv_broadcast, \
             expected a chunk for each message"
        ]
    );
    // Short messages of a client, `cl_say` with the 0.7 `cl_emoticon`; and a byte that is none.
    for (surplus, expected) in [
        (
            &b"\x3c\x02"[..],
            "; got a second message, cl_emoticon, expected a chunk for each message",
        ),
        (b"\x01\x02", ""),
    ] {
        let both = [b"\x30\x01\x40hello\0", surplus].concat();
        let text =
            format!("· surplus-bytes: bytes after the last known field: receivers ignore them{expected}");
        shown.sentences.restart();
        assert_eq!(shown.chunk(1, Dir::C2s, &both), [text]);
    }
    shown.sentences.restart();
    for (uuid, expected) in [
        (
            &b"what-is@ddnet.tw"[..],
            "got text in place of the UUID, expected its 16 bytes",
        ),
        (
            b"what-is@ddnet.t\x01",
            "got sys.ex.77686174-2d69-7340-6464-6e65742e7401, expected a known UUID",
        ),
    ] {
        let data = [b"\x01", uuid].concat();
        let text =
            format!("! unknown-message: no definition has this id: most receivers ignore it; {expected}");
        assert_eq!(shown.chunk(2, Dir::S2c, &data), [text]);
        shown.sentences.restart();
    }
}

/// Chunks whose sizes include their headers, in a datagram of two messages.
#[test]
fn sizes_with_the_chunk_header_are_recognized() {
    let mut bytes = chunks(1, false, &[(Some(1), b"\x02hello\0"), (None, b"\x02you\0")]);
    let first = bytes.len() - 7 - 10;
    bytes[first + 1] += 3;
    bytes[first + 11] += 2;
    let shown = Shown::new().datagram(1, Dir::S2c, &bytes, |_| {});
    assert_eq!(
        shown[0],
        "✗ chunk-size-with-header: chunk sizes that include the chunk header: the receiver reads each chunk too far; \
         got a size of 10 bytes in the first chunk, expected 7"
    );
}

#[test]
fn a_code_has_one_sentence_in_each_session() {
    let mut shown = Shown::new();
    let expected = [
        "! out-of-range: a value outside its range: receivers may drop it; client_id: got 128, expected 0 to 63; the receiver drops the message",
    ];
    assert_eq!(shown.chunk(1, Dir::S2c, EMOTICON), expected);
    assert_eq!(shown.chunk(1, Dir::S2c, EMOTICON), [""; 0]);
    assert_eq!(shown.chunk(2, Dir::S2c, EMOTICON), expected);
    // A session that opens is a new session.
    shown.event(1, EventKind::Session(session(State::Opening, Proto::V7)));
    assert_eq!(shown.chunk(1, Dir::S2c, EMOTICON), expected);
    shown.sentences.restart();
    assert_eq!(shown.chunk(2, Dir::S2c, EMOTICON), expected);
    assert_eq!(shown.event(2, EventKind::Notice(Notice::Candidate)), [""; 0]);
}

#[test]
fn the_mark_is_that_of_the_severity_and_harmless_notes_need_v() {
    let mut shown = Shown::new();
    assert_eq!(
        shown.chunk(1, Dir::C2s, b"\x36no end"),
        [
            "✗ unterminated-text: text without a NUL: the receiver drops the message; got 6e6f20656e64, expected a NUL at the end",
            "✗ missing-field: the message ends before this field: most receivers drop it; got 7 bytes, expected clan after them"
        ]
    );
    let surplus = b"\x10\x01";
    assert_eq!(shown.chunk(1, Dir::S2c, surplus), [""; 0]);
    shown.verbosity = Verbosity::Datagrams;
    assert_eq!(
        shown.chunk(1, Dir::S2c, surplus),
        ["· surplus-bytes: bytes after the last known field: receivers ignore them; got 01"]
    );
}

#[test]
fn a_wrong_token_is_named_with_the_right_one() {
    let mut shown = Shown::new();
    let good = chunks(1, false, &[(Some(1), b"\x02a\0")]);
    let mut bad = good.clone();
    bad[3..7].copy_from_slice(b"evil");
    let wrong = |datagram: &mut Datagram| {
        note(Code::WrongToken, 3, 4)(datagram);
        datagram.leg = Some(Side::Server);
    };
    let text =
        "✗ wrong-token: the token does not belong to this leg: the receiver drops the datagram; got 6576696c";
    assert_eq!(shown.datagram(1, Dir::S2c, &bad, wrong), [text]);
    // The correct token is known after a correct datagram in the same direction.
    shown.datagram(2, Dir::C2s, &good, |_| {});
    assert_eq!(shown.datagram(2, Dir::S2c, &bad, wrong), [text]);
    shown.datagram(3, Dir::S2c, &good, |_| {});
    shown.datagram(3, Dir::S2c, &bad, wrong);
    shown.event(3, EventKind::Session(session(State::Opening, Proto::V7)));
    shown.datagram(3, Dir::S2c, &good, |_| {});
    assert_eq!(
        shown.datagram(3, Dir::S2c, &bad, wrong),
        [format!("{text}, expected 746f6b6e")]
    );
}

#[test]
fn a_wrong_ack_is_named_with_its_bound() {
    let mut shown = Shown::new();
    let with_ack = |ack| chunks(ack, false, &[(None, b"\x38")]);
    shown.event(1, EventKind::Session(session(State::Opening, Proto::V7)));
    shown.datagram(1, Dir::S2c, &chunks(0, false, &[(Some(1), b"\x02a\0")]), |_| {});
    shown.datagram(1, Dir::C2s, &with_ack(1), |_| {});
    let ahead = shown.datagram(1, Dir::C2s, &with_ack(9), note(Code::AckAhead, 0, 2));
    assert_eq!(
        ahead[0],
        "✗ ack-ahead: acks a chunk that was never sent: the receiver drops the datagram; got 9, expected at most 1"
    );
    let behind = shown.datagram(1, Dir::C2s, &with_ack(0), note(Code::AckBehind, 0, 2));
    assert_eq!(
        behind[0],
        "✗ ack-behind: acks fewer chunks than before: the receiver drops the datagram; got 0, expected at least 1"
    );
}

#[test]
fn a_datagram_without_messages_has_its_sentence_too() {
    let mut shown = Shown::new();
    let empty = packet(Flags::empty(), 1, 0, b"");
    assert_eq!(
        shown.datagram(1, Dir::C2s, &empty, |_| {}),
        [
            "! empty-without-resend: announces no chunks and requests no resend: DDNet since 19.4 drops it; got 0 chunks, expected 1 or more, or the resend flag"
        ]
    );
}

#[test]
fn sentences_show_no_secrets() {
    let mut shown = Shown::new();
    // The 0.7 `info` message whose password is not terminated.
    let shown = shown.chunk(1, Dir::C2s, b"\x030.7\0hunter2");
    assert!(!shown.is_empty());
    for text in shown {
        assert!(
            !text.contains("hunter2") && !text.contains("68756e746572"),
            "{text}"
        );
    }
}

#[test]
fn the_number_of_sessions_is_bounded() {
    let mut shown = Shown::new();
    for id in (1..u32::MAX).take(SESSIONS + 50) {
        shown.chunk(id, Dir::S2c, EMOTICON);
    }
    assert!(shown.sentences.0.len() <= SESSIONS);
}

/// Data that is shorter than its stated length.
#[test]
fn a_stated_length_is_compared_with_the_bytes_that_follow_it() {
    let rows = Shown::new().chunk(1, Dir::S2c, b"\x11\xa4\x32\x02\x05\x04abc");
    let expected = "missing-field: the message ends before this field: most receivers drop it; \
                    got part_size 4 before 3 bytes of data, expected part_size 3, or more bytes of data";
    assert!(rows.iter().any(|row| row.contains(expected)), "{rows:#?}");
}
