//! Sequences of several datagrams, releases and messages.

use super::*;
use crate::receiver::{Answer, MessageVerdict, Signs, Stage, Verdict, identify, message, messages};

fn verdicts(receiver: Receiver, leg: &mut Leg, datagram: &[u8]) -> Vec<Verdict> {
    let (found, after) = judge(receiver, leg, datagram);
    *leg = after;
    found.iter().map(|finding| finding.verdict).collect()
}

#[test]
fn a_join_of_0_7_5() {
    let server = Receiver::new(Release::Teeworlds075, Side::Server);
    let mut leg = fresh(Release::Teeworlds075);
    let mut step = |parts: Parts<'_>| {
        let datagram = write(Proto::V7, Parts { ack: 0, ..parts });
        verdicts(server, &mut leg, &datagram)
    };
    let request = [&[5], &OTHER.0[..], &[0; 508]].concat();
    let asks = Parts {
        token: Token::NONE,
        ..control(&request)
    };
    assert_eq!(step(asks), [Verdict::Answers(Answer::Token)]);
    let connect = control(&[1, 9, 9, 9, 9]);
    assert_eq!(
        step(connect),
        [Verdict::Opens, Verdict::Answers(Answer::ConnectAccept)]
    );
    assert_eq!(step(connect), [Verdict::TakesAck, Verdict::Ignores]);
    let info = Parts {
        payload: &[0x40, 1, 1, 3],
        ..DATA
    };
    assert_eq!(
        step(info),
        [Verdict::TakesAck, Verdict::GoesOnline, Verdict::Accepts]
    );
    assert_eq!(step(info), [Verdict::TakesAck, Verdict::DropsRepeat]);
    assert_eq!(
        step(control(&[5, 7, 7, 7, 7])),
        [Verdict::TakesAck, Verdict::TakesToken]
    );
    assert_eq!(step(control(&[4])), [Verdict::TakesAck, Verdict::Ends]);
    assert_eq!(step(info), [Verdict::Drops]);
    assert_eq!((leg.token_out, leg.ack), (Some(Token([7; 4])), Seq::new(1)));
}

#[test]
fn joins_of_0_6() {
    let mut leg = fresh(Release::Ddnet16);
    let server = Receiver::new(Release::Ddnet16, Side::Server);
    let mut step = |datagram: &[u8]| verdicts(server, &mut leg, datagram);
    let accept = Verdict::Answers(Answer::ConnectAccept);
    assert_eq!(step(b"\x10\0\0\x01TKEN\xff\xff\xff\xff"), [accept]);
    assert_eq!(step(b"\x10\0\0\x03\x01\x02\x03\x04"), [Verdict::Opens]);
    let info = b"\0\0\x01\x40\x01\x01\x03\x01\x02\x03\x04";
    assert_eq!(step(info), [Verdict::TakesAck, Verdict::Accepts]);
    // ACCEPT once more: the numbering restarts, and the same chunk is new.
    assert_eq!(step(b"\x10\0\0\x03\x01\x02\x03\x04"), [Verdict::Restarts]);
    assert_eq!(step(info), [Verdict::TakesAck, Verdict::Accepts]);

    let mut leg = fresh(Release::Teeworlds065);
    let server = Receiver::new(Release::Teeworlds065, Side::Server);
    let data = packet(Release::Teeworlds065, Parts { ack: 0, ..DATA });
    let expected = [Verdict::Opens, Verdict::TakesAck, Verdict::Accepts];
    assert_eq!(verdicts(server, &mut leg, &data), expected);

    let mut leg = Leg::new(Proto::Ddnet, Phase::Connecting, None);
    let client = Receiver::new(Release::Ddnet20, Side::Client);
    let answer = b"\x10\0\0\x02TKEN\x01\x02\x03\x04";
    let expected = [
        Verdict::TakesAck,
        Verdict::Answers(Answer::Accept),
        Verdict::GoesOnline,
    ];
    assert_eq!(verdicts(client, &mut leg, answer), expected);
    assert_eq!((leg.token_in, leg.phase), (Some(TOKEN), Phase::Online));
}

#[test]
fn a_bad_token_moves_the_ack_of_0_7_5_only() {
    let moved = |release, leg: Leg| {
        let wrong = Parts {
            token: OTHER,
            ack: 7,
            ..DATA
        };
        let datagram = write(leg.proto, wrong);
        judge(Receiver::new(release, Side::Server), &leg, &datagram)
            .1
            .peer_ack
    };
    assert_eq!(moved(Release::Teeworlds075, online_with(Proto::V7)), 7);
    assert_eq!(moved(Release::Ddnet16, online_with(Proto::V7)), 5);
    assert_eq!(moved(Release::Ddnet16, online_with(Proto::Ddnet)), 5);
    assert_eq!(moved(Release::Teeworlds065, online_with(Proto::V65)), 5);
}

#[test]
fn chunks_are_judged_one_by_one_with_what_was_expected() {
    let leg = online(Release::Teeworlds064);
    let payload = b"\x40\x00\x0b\x40\x00\x0b\x40\x00\x0e\x00\x00";
    let datagram = packet(
        Release::Teeworlds064,
        Parts {
            count: 5,
            payload,
            ..DATA
        },
    );
    let (found, after) = judge(
        Receiver::new(Release::Teeworlds064, Side::Server),
        &leg,
        &datagram,
    );
    let got: Vec<_> = found
        .iter()
        .filter_map(|finding| {
            let place = finding.chunk?;
            Some((finding.verdict, place.seq.map(Seq::get), place.expected.get()))
        })
        .collect();
    let expected = [
        (Verdict::Accepts, Some(11), 11),
        (Verdict::DropsRepeat, Some(11), 12),
        (Verdict::AsksResend, Some(14), 12),
        (Verdict::Accepts, None, 12),
    ];
    assert_eq!(got, expected);
    assert_eq!(found.last().map(|finding| finding.row.name), Some("past-end"));
    assert_eq!(after.ack, Seq::new(11));
    let unknown = Leg {
        ack_unknown: true,
        ..leg
    };
    let (_, after) = judge(
        Receiver::new(Release::Teeworlds065, Side::Server),
        &Leg {
            token_in: None,
            ..unknown
        },
        b"\0\x06\x01\x40\x00\x4d",
    );
    assert_eq!((after.ack, after.ack_unknown), (Seq::new(77), false));
}

#[test]
fn a_release_is_named_or_assumed() {
    use Release::{Ddnet16, Ddnet20, Teeworlds064, Teeworlds065, Teeworlds075};
    let cases = [
        (Proto::Ddnet, Some(16_040), None, false, Ddnet16, false),
        (Proto::Ddnet, Some(18_040), None, false, Ddnet16, true),
        (Proto::Ddnet, Some(19_040), None, false, Ddnet20, true),
        (Proto::Ddnet, Some(20_010), None, false, Ddnet20, false),
        (Proto::Ddnet, None, Some("0.6.4, 16.4"), false, Ddnet16, false),
        (Proto::Ddnet, None, Some("0.6, 20.1"), false, Ddnet20, false),
        (Proto::Ddnet, None, Some("0.6, nonsense"), false, Ddnet20, true),
        (Proto::Ddnet, None, None, false, Ddnet20, true),
        (Proto::V7, None, Some("0.7.5"), false, Teeworlds075, false),
        (Proto::V7, None, None, false, Teeworlds075, true),
        (Proto::V7, None, None, true, Ddnet20, true),
        (Proto::V7, None, Some("0.7.5"), true, Ddnet20, true),
        (Proto::V65, None, None, false, Teeworlds065, false),
        (Proto::V6, None, None, false, Teeworlds064, true),
        (Proto::V6, None, Some("0.6.5"), false, Teeworlds065, false),
    ];
    for (proto, client_version, version, is_ddnet, release, assumed) in cases {
        let signs = Signs {
            proto,
            client_version,
            version,
            is_ddnet,
        };
        let found = identify(&signs);
        assert_eq!((found.release, found.assumed), (release, assumed), "{signs:?}");
    }
}

#[test]
fn messages_are_taken_in_the_order_of_a_join() {
    let judge =
        |release, name, stage, vital| message(release, Side::Server, name).map(|row| row.judge(stage, vital));
    let acts = |verdict| matches!(verdict, MessageVerdict::Acts(_));
    for &release in Release::ALL {
        let mut stage = Stage::Auth;
        for name in ["info", "ready", "enter_game"] {
            let early = judge(release, "enter_game", stage, true);
            assert_eq!(
                early == Some(MessageVerdict::TooEarly),
                name != "enter_game",
                "{release}"
            );
            let Some(MessageVerdict::Acts(next)) = judge(release, name, stage, true) else {
                panic!("{release} does not take {name} at {stage:?}");
            };
            assert_eq!(judge(release, name, stage, false).map(acts), Some(false));
            stage = next;
        }
        assert_eq!(stage, Stage::Ingame);
        assert_eq!(judge(release, "info", stage, true), Some(MessageVerdict::TooLate));
        assert_eq!(
            judge(release, "game", Stage::Connecting, true),
            Some(MessageVerdict::TooEarly)
        );
        assert_eq!(
            judge(release, "game", stage, false),
            Some(MessageVerdict::NeedsVital)
        );
    }
    let again = |release, vital| judge(release, "ready", Stage::Ingame, vital);
    assert_eq!(again(Release::Teeworlds075, true), Some(MessageVerdict::TooLate));
    assert_eq!(again(Release::Ddnet16, false), Some(MessageVerdict::AnswersOnly));
    assert_eq!(again(Release::Ddnet20, true), Some(MessageVerdict::AnswersOnly));
    assert_eq!(again(Release::Ddnet20, false), Some(MessageVerdict::NeedsVital));
    let input = |release, stage, vital| judge(release, "input", stage, vital);
    assert_eq!(
        input(Release::Ddnet20, Stage::Ingame, true),
        Some(MessageVerdict::NeedsNotVital)
    );
    assert_eq!(
        input(Release::Ddnet20, Stage::Ready, false),
        Some(MessageVerdict::TooEarly)
    );
    assert_eq!(
        input(Release::Teeworlds064, Stage::Auth, true),
        Some(MessageVerdict::Acts(Stage::Auth))
    );
    assert_eq!(
        judge(Release::Teeworlds075, "client_version", Stage::Auth, true),
        None
    );
}

#[test]
fn messages_have_names_of_definitions() {
    let registry = crate::def::Registry::builtin();
    let dialects: Vec<_> = crate::def::Dialect::ALL
        .into_iter()
        .flat_map(|dialect| registry.defs(dialect))
        .collect();
    for row in messages() {
        let named = |name: &str| name == "game" || dialects.iter().any(|def| *def.name == *name);
        assert!(named(row.name), "{}", row.name);
        for other in [row.answer, row.after].into_iter().flatten() {
            assert!(named(other), "{other}");
        }
    }
}

/// 0.6.4 reads four bits of the first byte as part of the ack, all others two.
#[test]
fn the_ack_of_0_6_4_has_two_more_bits() {
    let header = |bits: u8| [bits, 6, 1, 0, 1, 0x2d];
    for (bits, is_taken) in [(0x00, true), (0x04, false), (0x08, false), (0x0c, false)] {
        let server = Receiver::new(Release::Teeworlds064, Side::Server);
        let mut leg = online(Release::Teeworlds064);
        let takes = verdicts(server, &mut leg, &header(bits)).contains(&Verdict::TakesAck);
        assert_eq!(takes, is_taken, "{bits:#04x}");
        // In 0.7 the bit 0x08 is the resend flag.
        let mut seven = online_with(Proto::V7);
        let mut datagram = header(bits & 0x08).to_vec();
        datagram.splice(3..3, TOKEN.0);
        let server = Receiver::new(Release::Teeworlds075, Side::Server);
        assert!(verdicts(server, &mut seven, &datagram).contains(&Verdict::TakesAck));
    }
}

/// The bit 0x08 is the resend flag in 0.7, and a flag that no packet of 0.6 may have.
#[test]
fn ddnet_takes_resend_requests_of_0_7() {
    for side in [Side::Client, Side::Server] {
        let receiver = Receiver::new(Release::Ddnet20, side);
        for (proto, is_dropped) in [(Proto::V7, false), (Proto::Ddnet, true)] {
            let mut datagram = write(proto, DATA);
            datagram[0] |= 0x08;
            let found = verdicts(receiver, &mut online_with(proto), &datagram);
            assert_eq!(found == [Verdict::Drops], is_dropped, "{side} {proto}: {found:?}");
        }
    }
}

/// Without a slot, DDNet identifies the protocol by the flags, even if the address used another protocol before.
#[test]
fn ddnet_forgets_the_protocol_with_the_slot() {
    for release in [Release::Ddnet16, Release::Ddnet20] {
        let server = Receiver::new(release, Side::Server);
        for phase in [Phase::NoSlot, Phase::Ended] {
            let mut leg = Leg::new(Proto::V7, phase, Some(TOKEN));
            let found = verdicts(server, &mut leg, b"\x10\0\0\x01TKEN\xff\xff\xff\xff");
            assert_eq!(found, [Verdict::Answers(Answer::ConnectAccept)], "{release:?}");
        }
    }
}
