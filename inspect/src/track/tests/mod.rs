//! Tests of notes about sequence numbers, acks and pace: scripted streams of each protocol.

mod captures;
mod foreign;
mod handshake;
mod leg;
mod order;
mod pace;
mod reconnects;
mod script;
mod silence;
mod surplus;
mod unacked;

use teetap_proxy::session::{Action, Placed};
use teetap_rules::Filter;
use teetap_wire::{Code, Dir, Property, Proto, Seq, Severity, def::Registry};

use script::{KILL, READY, Script};

/// Codes of the notes that this module adds.
const OF_STREAMS: &[Code] = &[
    Code::BadHandshake,
    Code::OtherEncoding,
    Code::AckGap,
    Code::AckStuck,
    Code::NotInflated,
    Code::Overtaken,
    Code::SeqAhead,
    Code::SeqAgain,
    Code::SeqBehind,
    Code::SeqGap,
    Code::ResendRequest,
    Code::ResendUnmarked,
    Code::ResendChanged,
    Code::ResendStorm,
    Code::ResendNeedless,
    Code::ResendMissing,
    Code::ResendAcked,
    Code::Amplified,
    Code::OtherSession,
    Code::MapAgain,
    Code::MapPartWrong,
    Code::MapDiffers,
    Code::MapDetailsDiffer,
    Code::MapRequestWrong,
    Code::MapReadyEarly,
    Code::TokenReversed,
    Code::OutOfTurn,
    Code::WrongVersion,
    Code::RconUnauthed,
    Code::LateReply,
    Code::KeepaliveLate,
    Code::WrongId,
    Code::FieldsOfOtherVersion,
    Code::FieldsMisplaced,
    Code::ChunkOfOtherVersion,
    Code::ChunkSizeWithHeader,
    Code::ChunkHeaderLength,
    Code::ChunkCountTooLow,
    Code::CompressionUnmarked,
    Code::InputAhead,
    Code::InputStuck,
    Code::SnapAckAhead,
    Code::SnapAckOld,
    Code::SnapAckIgnored,
    Code::SnapTickBack,
    Code::SnapPartNever,
];

/// Rules cannot see these notes, so a rule that names such a code is refused.
#[test]
fn the_codes_of_streams_are_known_as_such() {
    for code in Code::ALL {
        assert_eq!(
            code.has(Property::NeedsStream),
            OF_STREAMS.contains(code),
            "{}",
            code.name()
        );
    }
}

/// Returns the codes with severity warning or error.
fn bad(codes: &[(Code, String)]) -> Vec<Code> {
    let codes = codes.iter().map(|(code, _)| *code);
    codes
        .filter(|code| code.severity() >= Severity::Warning)
        .collect()
}

/// A session without losses around the wrap of the numbers, acked by both sides, has no notes.
#[test]
fn a_clean_session_has_no_notes() {
    for proto in Proto::ALL {
        let mut script = Script::new(proto);
        for number in 1..2100u16 {
            script.at += 20_000;
            let ack = number - 1;
            let server = script.vital(Dir::S2c, ack, number);
            script.at += 20_000;
            let client = script.vital(Dir::C2s, number, number);
            assert_eq!((server, client), (vec![], vec![]), "{proto} {number}");
        }
    }
}

/// A copy counts if all earlier copies were lost, and does not count if the message was received before.
#[test]
fn a_message_counts_once_however_often_it_comes() {
    for proto in Proto::ALL {
        for (text, matches) in [
            ("count(cl_kill) == 3", [6, 7].as_slice()),
            ("cl_kill and n <= 2", &[2, 3]),
            ("cl_kill and n <= 9", &[2, 3, 6]),
        ] {
            let mut script = Script::new(proto);
            let (filter, _) = Filter::parse(text, Registry::builtin()).unwrap();
            script.decoder.show_only(filter);
            let kill = script.kill();
            let mut shown = Vec::new();
            // Message 1 is lost, and 2 and 3 are ahead of it. All three are retransmitted, and then 1 and 2 again.
            for (seq, resent) in [
                (2, false),
                (3, false),
                (1, true),
                (2, true),
                (1, true),
                (2, true),
                (3, true),
                (3, true),
            ] {
                script.at += 10_000;
                let chunks = [(Some(seq), resent, kill)];
                shown.push(script.shows(Dir::C2s, 0, &chunks));
            }
            let shown: Vec<usize> = (0..shown.len()).filter(|index| shown[*index]).collect();
            assert_eq!(shown, matches, "{proto} {text}");
        }
    }
}

/// A filter without notes skips datagrams that cannot match, so their sequence numbers get no notes.
#[test]
fn a_filter_without_notes_reads_no_more_than_before() {
    for (filter, notes) in [
        ("c2s and cl_kill", false),
        ("c2s and cl_kill and lint.seq_again", true),
        ("c2s and lint", true),
    ] {
        let mut script = Script::new(Proto::V7);
        script
            .decoder
            .show_only(Filter::parse(filter, Registry::builtin()).unwrap().0);
        assert_eq!(script.decoder.skips(Proto::V7, Dir::S2c, 100), !notes, "{filter}");
        let kill = script.kill();
        script.send(Dir::C2s, 0, &[(Some(1), false, kill)]);
        script.at += 1_000_000;
        let again = script.send(Dir::C2s, 0, &[(Some(1), true, kill)]);
        let expected = if filter.contains("seq_again") {
            vec![Code::SeqAgain]
        } else {
            vec![]
        };
        let codes: Vec<Code> = again.iter().map(|(code, _)| *code).collect();
        assert_eq!(codes, expected, "{filter}");
    }
    // A watcher that does not receive all datagrams cannot judge the order.
    let mut script = Script::new(Proto::V7);
    script.decoder.ignore_snapshots();
    script.vital(Dir::C2s, 0, 1);
    assert_eq!(script.vital(Dir::C2s, 0, 7), []);
}

/// In a live run the proxy may drop messages, so that sequence numbers differ between the legs.
#[test]
fn numbers_that_the_proxy_changes_are_judged_as_their_sender_gave_them() {
    let mut script = Script::new(Proto::V7);
    let placed = |out: Option<u16>, action| Placed::new(out.map(Seq::new), action);
    let send = |script: &mut Script, seq, resent, placed: Placed| {
        script.at += 10_000;
        script.send_placed(Dir::C2s, 0, &[(Some(seq), resent, READY)], vec![placed])
    };
    // A rule drops the first message, so the second is the first one for the server.
    assert_eq!(send(&mut script, 1, false, placed(None, Action::Drop)), []);
    assert_eq!(send(&mut script, 2, false, placed(Some(1), Action::Pass)), []);
    let ahead = send(&mut script, 4, false, placed(None, Action::Gap));
    assert_eq!(ahead[0].0, Code::SeqAhead);
    assert!(ahead[0].1.starts_with("got 4, expected 3; "), "{ahead:?}");
    let again = send(&mut script, 2, true, placed(None, Action::Known));
    assert_eq!(again[0].0, Code::SeqAgain);
    // The server acks 1, the only number that it received. This does not show a gap of the client.
    script.at += 10_000;
    assert_eq!(script.send(Dir::S2c, 1, &[(Some(1), false, KILL)]), []);
    assert_eq!(send(&mut script, 3, true, placed(Some(2), Action::Pass)), []);
    // A message refused for lack of room is retransmitted.
    assert_eq!(send(&mut script, 4, true, placed(None, Action::Refuse)), []);
    assert_eq!(send(&mut script, 4, true, placed(Some(3), Action::Pass)), []);
}
