//! The core reports every datagram that it refuses, and forwards none of them.

use teetap_kit::{
    codec::{Chunk, Datagram, Packing, Variant, control, open},
    hostile::{self, LARGEST},
    huffman::Ending,
    rules::compiled,
};
use teetap_proxy::session::Input;
use teetap_wire::{Code, Side};

use crate::stage::{PAIRS, Phase, Stage};

const SIDES: [Side; 2] = [Side::Client, Side::Server];

fn online(test: impl Fn(&mut Stage, Side, &str)) {
    for pair in PAIRS {
        for phase in [Phase::Online, Phase::Renumbered] {
            for from in SIDES {
                let mut stage = Stage::at(pair, phase);
                test(&mut stage, from, &format!("{pair:?} {phase:?} {from}"));
                stage.recover(phase);
            }
        }
    }
}

#[test]
fn wrong_tokens_are_named() {
    online(|stage, from, case| {
        for bytes in hostile::wrong_tokens(stage.shown(from)) {
            stage.refuses(from, &bytes, Code::WrongToken, format_args!("{case}"));
        }
    });
}

#[test]
fn missing_tokens_are_named() {
    online(|stage, from, case| {
        let shown = stage.shown(from);
        let bytes = match shown.format {
            Variant::V65 => control::control(Variant::V6, shown.ack, None, control::KEEPALIVE, &[]),
            Variant::Ddnet => vec![0x10, 0, 0, 0],
            _ => return,
        };
        stage.refuses(from, &bytes, Code::MissingToken, format_args!("{case}"));
    });
}

#[test]
fn what_is_cut_off_is_named() {
    online(|stage, from, case| {
        for len in 0..3 {
            stage.refuses(
                from,
                &[0x00, 1, 1][..len],
                Code::TooShort,
                format_args!("{case} {len}"),
            );
        }
    });
}

#[test]
fn bombs_are_named() {
    online(|stage, from, case| {
        for bytes in hostile::bombs(stage.shown(from)) {
            let report = stage.report(from, &bytes);
            let refused = report.codes == [Code::BadHuffman] && report.sent == 0;
            // Bombs that inflate to no more than a payload are ordinary packets, or contain no token.
            let read = teetap_kit::codec::open(stage.shown(from).format, &bytes).is_ok();
            assert!(
                refused || read || report.sent == 0,
                "{case}: {report:?} {:02x?}\n{}",
                bytes,
                stage.transcript()
            );
            assert!(report.events > 0, "{case}: silently");
        }
        let shown = stage.shown(from);
        let mut bomb = hostile::bombs(shown);
        assert_eq!(
            stage.report(from, &bomb.remove(2)).codes,
            [Code::BadHuffman],
            "{case}"
        );
    });
}

/// The end of a 0.7 payload is not parsed unless a number or a rule depends on it: a damaged end is
/// forwarded, as it would be without a proxy. All other damage is refused. In a renumbered session the rules
/// of this test need all messages.
#[test]
fn an_end_that_no_number_depends_on_is_left_to_its_receiver() {
    online(|stage, from, case| {
        let shown = stage.shown(from);
        let is_untouched = case.contains("Online") && shown.format.is_seven();
        for (vital, message, crosses) in [
            (None, 7, is_untouched),
            (Some(shown.next), 7, false),
            // The id of messages with a UUID.
            (None, 0, false),
        ] {
            let mut data = vec![0x55; 300];
            data[0] = message << 1;
            let chunks = vec![Chunk::new(vital, data)];
            let whole = Datagram::of_chunks(shown.format, shown.ack, shown.token, chunks)
                .pack(Packing::Always(Ending::Padded));
            let cut = &whole[..whole.len() - 20];
            let report = stage.report(from, cut);
            let expected = match crosses {
                true => (vec![], 1),
                false => (vec![Code::BadHuffman], 0),
            };
            assert_eq!(
                (report.codes, report.sent),
                expected,
                "{case} {vital:?} {message}"
            );
        }
    });
}

/// The same for DDNet, whose token follows the damaged end. The token is read from the last bits, and a
/// datagram with a wrong token is refused, whatever precedes the token.
#[test]
fn a_token_behind_an_end_that_is_not_read_counts() {
    for from in SIDES {
        let mut stage = Stage::at((Variant::Ddnet, Variant::Ddnet), Phase::Online);
        let shown = stage.shown(from);
        let pack = |token| {
            let mut data = vec![0; 300];
            data.iter_mut().step_by(7).for_each(|byte| *byte = 0x55);
            data[0] = 7 << 1;
            let chunks = vec![Chunk::new(None, data)];
            Datagram::of_chunks(shown.format, shown.ack, token, chunks).pack(Packing::Always(Ending::Padded))
        };
        let whole = pack(shown.token);
        let is_readable =
            |bytes: &[u8]| open(shown.format, bytes).is_ok_and(|opened| opened.head.token == shown.token);
        assert!(is_readable(&whole));
        let mut unreadable = 0;
        for at in whole.len() / 2..whole.len() - 12 {
            let mut bytes = whole.clone();
            // The end-of-stream code.
            bytes[at..at + 2].copy_from_slice(&[0x8a, 0x1b]);
            let report = stage.report(from, &bytes);
            assert_eq!((report.codes, report.sent), (vec![], 1), "{from} {at}");
            unreadable += usize::from(!is_readable(&bytes));
        }
        assert!(unreadable > 0, "{from}");
        for token in hostile::other_tokens(shown.token) {
            let report = stage.report(from, &pack(Some(token)));
            assert_eq!(
                (report.codes, report.sent),
                (vec![Code::WrongToken], 0),
                "{from} {token:?}"
            );
        }
        stage.recover(Phase::Online);
    }
}

/// The same with rules: only the messages to which the rules apply are read completely.
#[test]
fn rules_read_only_their_own_messages_whole() {
    const CHAT: u8 = 3;
    for rule in [
        "drop when sv_chat.message == \"other\"",
        "log when s2c and sv_chat",
    ] {
        let mut stage = Stage::at((Variant::V7, Variant::V7), Phase::Online);
        stage.world.input(Input::Program(Some(compiled(rule).unwrap())));
        stage.assert_talks();
        let shown = stage.shown(Side::Server);
        for (message, crosses) in [(CHAT, false), (CHAT + 1, true)] {
            let mut data = vec![0x55; 300];
            data[0] = message << 1;
            let chunks = vec![Chunk::new(None, data)];
            let whole = Datagram::of_chunks(shown.format, shown.ack, shown.token, chunks)
                .pack(Packing::Always(Ending::Padded));
            let report = stage.report(Side::Server, &whole[..whole.len() - 20]);
            assert_eq!(report.sent, usize::from(crosses), "{rule} {message}: {report:?}");
        }
        stage.recover(Phase::Online);
    }
}

/// A datagram longer than 1400 bytes is cut, since no receiver would read the rest, and no event keeps the
/// rest.
#[test]
fn what_is_too_long_is_named_and_cut() {
    online(|stage, from, case| {
        let shown = stage.shown(from);
        let chunk = Chunk::new(None, b"short");
        let mut bytes = Datagram::of_chunks(shown.format, shown.ack, shown.token, vec![chunk]).build();
        bytes.resize(LARGEST, 0x55);
        let report = stage.report(from, &bytes);
        // The last bytes of the payload would be DDNet's token; 0.6.4 and 0.6.5 would write past the end of a
        // buffer.
        let refusal = match shown.format {
            Variant::Ddnet => Some(Code::WrongToken),
            Variant::V6 | Variant::V65 => Some(Code::PayloadOversized),
            Variant::V7 | Variant::D7 => None,
        };
        match refusal {
            Some(code) => assert_eq!((&report.codes[..], report.sent), (&[code][..], 0), "{case}"),
            None => assert!(
                report.codes.contains(&Code::Oversized) && report.sent == 1,
                "{case} {report:?}"
            ),
        }
        for event in &stage.world.events {
            if let teetap_proxy::session::EventKind::Datagram(datagram) = &event.what {
                assert_eq!(datagram.received().map(<[u8]>::len), Some(1400), "{case}");
            }
        }
    });
}

/// The mark of 0.7 never reaches a client of 0.6, whatever its server sends: DDNet 16.4's client would crash.
#[test]
fn the_mark_of_0_7_is_kept_from_clients_of_0_6() {
    online(|stage, from, case| {
        let shown = stage.shown(from);
        if shown.format.is_seven() || from == Side::Client {
            return;
        }
        let chunk = Chunk::new(Some(shown.next), b"marked");
        let data = Datagram::of_chunks(shown.format, shown.ack, shown.token, vec![chunk]).build();
        let alive = control::control(shown.format, shown.ack, shown.token, control::KEEPALIVE, &[]);
        for mut bytes in [data, alive] {
            bytes[0] |= 0x04;
            stage.refuses(from, &bytes, Code::UnknownFlags, format_args!("{case}"));
        }
    });
}

/// Acks outside the window are noted. In identity mode they are forwarded, and the peer refuses them as it
/// would without the proxy; in a renumbered direction the proxy refuses them.
#[test]
fn wrong_acks_are_named() {
    for pair in PAIRS {
        for (phase, passes) in [(Phase::Online, 1), (Phase::Renumbered, 0)] {
            for from in SIDES {
                let mut stage = Stage::at(pair, phase);
                let shown = stage.shown(from);
                for (distance, code) in [(7, Code::AckAhead), (1020, Code::AckBehind)] {
                    let ack = (shown.ack + distance) % 1024;
                    let bytes = control::control(shown.format, ack, shown.token, control::KEEPALIVE, &[]);
                    let report = stage.report(from, &bytes);
                    assert_eq!(
                        (&report.codes[..], report.sent),
                        (&[code][..], passes),
                        "{pair:?} {phase:?} {from}"
                    );
                    let close = control::close(shown.format, ack, shown.token, "bad ack");
                    stage.refuses(from, &close, code, format_args!("{pair:?} {phase:?} {from}"));
                }
                stage.recover(phase);
            }
        }
    }
}

/// Releases before DDNet 19.4 accept the chunks of a control packet and ack them: such an ack is right.
#[test]
fn the_ack_of_a_chunk_in_a_control_packet_is_right() {
    for pair in PAIRS {
        for from in SIDES {
            let mut stage = Stage::at(pair, Phase::Online);
            let shown = stage.shown(from);
            let chunk = Chunk::new(Some(shown.next), b"taken");
            let mut bytes = Datagram::of_chunks(shown.format, shown.ack, shown.token, vec![chunk]).build();
            let control = control::control(shown.format, shown.ack, shown.token, control::KEEPALIVE, &[]);
            bytes[0] = control[0];
            stage.report(from, &bytes);
            let back = stage.shown(from.other());
            let ack = control::control(back.format, shown.next, back.token, control::KEEPALIVE, &[]);
            let report = stage.report(from.other(), &ack);
            let expected: (&[Code], usize) = (&[], 1);
            assert_eq!((&report.codes[..], report.sent), expected, "{pair:?} {from}");
        }
    }
}

/// A TOKEN request in the name of a client of 0.6 that plays is refused, since the answer would have the mark
/// of 0.7.
#[test]
fn a_token_request_in_the_name_of_a_playing_client_of_0_6() {
    for pair in PAIRS.into_iter().filter(|pair| !pair.0.is_seven()) {
        let mut stage = Stage::at(pair, Phase::Online);
        stage.refuses(
            Side::Client,
            &control::token_request([1, 2, 3, 4]),
            Code::UnknownFlags,
            format_args!("{pair:?}"),
        );
        stage.recover(Phase::Online);
    }
}

/// While a session opens, every refused datagram of a server is reported with its oddity.
#[test]
fn garbage_instead_of_an_answer_is_named() {
    for pair in PAIRS
        .into_iter()
        .filter(|pair| pair.0.is_seven() || pair.0 == Variant::Ddnet)
    {
        let mut stage = Stage::at(pair, Phase::Opening);
        for (bytes, code) in [
            (&[0x10][..], Code::TooShort),
            (&[], Code::TooShort),
            (&[0x90, 0, 0, 1, 2, 3, 4, 0xff], Code::BadHuffman),
        ] {
            stage.refuses(Side::Server, bytes, code, format_args!("{pair:?} {bytes:02x?}"));
        }
        stage.recover(Phase::Opening);
    }
}
