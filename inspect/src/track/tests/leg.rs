//! Legs with link lines: a receiver cannot ack datagrams that the link loses or delays.

use std::time::Duration;

use teetap_proxy::session::Transit;
use teetap_rules::impair::Lost;
use teetap_wire::Flags;

use super::*;

/// The effect of the link on a datagram.
#[derive(Clone, Copy)]
enum Link {
    Loses,
    Delays(u64),
}

fn linked(script: &mut Script, dir: Dir, number: u16, link: Link) -> Vec<(Code, String)> {
    let bytes = script.bytes(Flags::empty(), 0, &[(Some(number), false, READY)]);
    let transit = match link {
        Link::Loses => Transit {
            lost: Some(Lost::Loss),
            ..Transit::default()
        },
        Link::Delays(ms) => Transit {
            delay: Duration::from_millis(ms),
            ..Transit::default()
        },
    };
    script.datagram(dir, &bytes, |datagram| datagram.link = [transit].into())
}

#[test]
fn an_ack_beyond_a_message_that_the_link_lost_is_a_gap() {
    let mut script = Script::new(Proto::V7);
    script.vital(Dir::S2c, 0, 1);
    linked(&mut script, Dir::S2c, 2, Link::Loses);
    script.vital(Dir::S2c, 0, 3);
    script.at += 20_000;
    let ack = script.keepalive(Dir::C2s, 3);
    assert_eq!(ack, [(Code::AckGap, "got 3, expected less than 2".to_owned())]);
    // The gap is noted once; later acks are compared with the ack that skipped it.
    assert_eq!(script.keepalive(Dir::C2s, 3), []);
}

#[test]
fn an_ack_before_its_message_has_left_the_link_is_a_gap() {
    for (passed, expected) in [(90, vec![Code::AckGap]), (100, vec![])] {
        let mut script = Script::new(Proto::V7);
        linked(&mut script, Dir::S2c, 1, Link::Delays(100));
        script.at += passed * 1000;
        let codes: Vec<_> = script
            .keepalive(Dir::C2s, 1)
            .iter()
            .map(|(code, _)| *code)
            .collect();
        assert_eq!(codes, expected, "after {passed} ms");
    }
}

/// A peer cannot ack messages that the link loses.
#[test]
fn a_peer_whose_messages_the_link_loses_is_not_stuck() {
    for (link, expected) in [(Link::Loses, vec![]), (Link::Delays(10), vec![Code::AckStuck])] {
        let mut script = Script::new(Proto::V65);
        let mut codes = Vec::new();
        for _ in 0..8 {
            linked(&mut script, Dir::S2c, 1, link);
            script.at += 900_000;
            let found = script.keepalive(Dir::C2s, 0);
            codes.extend(found.iter().map(|(code, _)| *code));
        }
        assert_eq!(codes, expected);
    }
}

/// A message should be retransmitted each second; the note is added after three missing retransmissions.
#[test]
fn a_message_that_is_not_sent_again_is_noted_once() {
    for proto in Proto::ALL {
        let mut script = Script::new(proto);
        let kill = script.kill();
        script.send(Dir::C2s, 0, &[(Some(1), false, kill)]);
        let mut found = Vec::new();
        for _ in 0..40 {
            script.at += 100_000;
            found.extend(
                script
                    .keepalive(Dir::C2s, 0)
                    .into_iter()
                    .map(|note| (script.at, note)),
            );
            script.keepalive(Dir::S2c, 0);
        }
        let detail = "cl_kill (number 1) not retransmitted for 3.0 s (unacked), expected after 1.0 s";
        assert_eq!(
            found,
            [(4_000_000, (Code::ResendMissing, detail.to_owned()))],
            "{proto}"
        );
    }
}

/// A peer that pauses, a peer whose message is acked, and a peer that retransmits the message.
#[test]
fn a_message_without_an_ack_may_wait() {
    for case in 0..3 {
        let mut script = Script::new(Proto::Ddnet);
        script.vital(Dir::C2s, 0, 1);
        script.at += 100_000;
        if case == 1 {
            script.keepalive(Dir::S2c, 1);
        }
        for second in 0..12u16 {
            script.at += if case == 0 { 9_000_000 } else { 1_000_000 };
            let found = match case {
                2 => script.resend(Dir::C2s, 0, &[1]),
                _ if case == 0 && second > 1 => continue,
                _ => script.keepalive(Dir::C2s, 0),
            };
            let codes: Vec<_> = found.iter().map(|(code, _)| *code).collect();
            assert!(!codes.contains(&Code::ResendMissing), "case {case}: {codes:?}");
        }
    }
}

/// Retransmissions count as repeats once their sender has shown that it has received the ack.
#[test]
fn a_message_that_is_sent_again_after_its_ack_is_noted_once() {
    for has_shown in [false, true] {
        let mut script = Script::new(Proto::V7);
        script.vital(Dir::C2s, 0, 1);
        script.at += 50_000;
        script.vital(Dir::S2c, 1, 1);
        script.at += 50_000;
        let ack = u16::from(has_shown);
        script.keepalive(Dir::C2s, ack);
        let mut found = Vec::new();
        for _ in 0..6 {
            script.at += 1_000_000;
            found.extend(script.resend(Dir::C2s, ack, &[1]));
        }
        found.retain(|(code, _)| *code == Code::ResendAcked);
        let detail =
            "got number 1 again 2.0 s after its sender had received the ack, expected no retransmission";
        let expected = has_shown.then(|| (Code::ResendAcked, detail.to_owned()));
        assert_eq!(found, Vec::from_iter(expected));
    }
}
