//! The order of sequence numbers, copies, and acks.

use teetap_proxy::session::Notice;
use teetap_wire::Flags;

use super::*;

fn codes(notes: &[(Code, String)]) -> Vec<Code> {
    notes.iter().map(|(code, _)| *code).collect()
}

/// A message is lost and retransmitted: each step is noted, but only as information.
#[test]
fn a_loss_is_information() {
    for proto in Proto::ALL {
        let mut script = Script::new(proto);
        for number in 1..10 {
            script.vital(Dir::S2c, 0, number);
            script.at += 10_000;
        }
        // Message 10 is lost before it reaches the proxy.
        let ahead = script.vital(Dir::S2c, 0, 11);
        assert_eq!(codes(&ahead), [Code::SeqAhead], "{proto}");
        assert!(
            ahead[0].1.starts_with("got 11, expected 10; a client of "),
            "{ahead:?}"
        );
        assert!(
            ahead[0].1.ends_with(" drops the chunk and requests a resend"),
            "{ahead:?}"
        );
        script.at += 20_000;
        let request = script.request(Dir::C2s, 9);
        assert_eq!(codes(&request), [Code::ResendRequest]);
        assert_eq!(request[0].1, "it lacks 10 (not received)");
        script.at += 20_000;
        assert_eq!(script.resend(Dir::S2c, 0, &[10, 11]), []);
        script.at += 20_000;
        assert_eq!(script.keepalive(Dir::C2s, 11), []);
        // The message is sent once more, although it was acked.
        let again = script.resend(Dir::S2c, 0, &[11]);
        assert_eq!(codes(&again), [Code::SeqAgain]);
        assert!(
            again[0]
                .1
                .starts_with("got 11 after 11, the receiver has acked 11; "),
            "{again:?}"
        );
        assert!(
            again[0].1.ends_with(" drops the chunk, which it already has"),
            "{again:?}"
        );
    }
}

/// A message is lost behind the proxy: the resend request shows the loss, and the receiver accepts the next copy.
#[test]
fn a_loss_behind_the_proxy_is_known_from_the_request() {
    for proto in Proto::ALL {
        let mut script = Script::new(proto);
        for number in 1..=11 {
            script.vital(Dir::S2c, 0, number);
        }
        script.at += 1_000_000;
        let request = script.request(Dir::C2s, 9);
        assert_eq!(request[0].1, "it lacks 10 (forwarded, then lost)", "{proto}");
        let next = script.vital(Dir::S2c, 0, 12);
        assert!(next[0].1.starts_with("got 12, expected 10; "), "{next:?}");
        assert_eq!(script.resend(Dir::S2c, 0, &[10, 11, 12]), []);
        assert_eq!(script.vital(Dir::S2c, 0, 13), []);
        // No message is missing at a later request.
        script.keepalive(Dir::C2s, 13);
        assert_eq!(
            script.request(Dir::C2s, 13)[0].1,
            "it has all numbers that were sent"
        );
    }
}

#[test]
fn copies_are_compared() {
    for proto in Proto::ALL {
        let mut script = Script::new(proto);
        script.vital(Dir::C2s, 0, 1);
        let bytes = script.bytes(teetap_wire::Flags::empty(), 0, &[(Some(2), false, KILL)]);
        script.datagram(Dir::C2s, &bytes, |_| {});
        // The network delivers a datagram twice.
        script.at += 1000;
        let twice = script.datagram(Dir::C2s, &bytes, |_| {});
        assert_eq!(codes(&twice), [Code::SeqAgain], "{proto}");
        // The peer retransmits the message without the flag.
        script.at += 1000;
        let unmarked = script.send(Dir::C2s, 0, &[(None, false, READY), (Some(2), false, KILL)]);
        assert!(codes(&unmarked).contains(&Code::ResendUnmarked), "{unmarked:?}");
        // The message has different bytes.
        let changed = script.send(Dir::C2s, 0, &[(Some(2), true, READY)]);
        let changed: Vec<_> = changed
            .iter()
            .filter(|(code, _)| *code == Code::ResendChanged)
            .collect();
        assert_eq!(
            changed[0].1,
            "got 1 other byte under number 2, expected the 1 byte sent before"
        );
    }
}

/// A receiver that refused a message because it was ahead accepts a different message with the same number later.
#[test]
fn another_message_is_changed_only_if_the_receiver_has_the_first_one() {
    for proto in Proto::ALL {
        let mut script = Script::new(proto);
        script.vital(Dir::C2s, 0, 1);
        // Number 2 was skipped, so 3 is refused.
        let ahead = script.send(Dir::C2s, 0, &[(Some(3), false, KILL)]);
        assert!(codes(&ahead).contains(&Code::SeqAhead), "{proto} {ahead:?}");
        script.vital(Dir::C2s, 0, 2);
        let taken = script.send(Dir::C2s, 0, &[(Some(3), false, READY)]);
        assert!(!codes(&taken).contains(&Code::ResendChanged), "{proto} {taken:?}");
        // The receiver has this message now.
        let copy = script.send(Dir::C2s, 0, &[(Some(3), true, READY)]);
        assert!(!codes(&copy).contains(&Code::ResendChanged), "{proto} {copy:?}");
        let changed = script.send(Dir::C2s, 0, &[(Some(3), true, KILL)]);
        assert!(
            codes(&changed).contains(&Code::ResendChanged),
            "{proto} {changed:?}"
        );
    }
}

/// The receiver drops a reordered datagram with its messages, so every later number is ahead until the messages are
/// retransmitted.
#[test]
fn the_messages_of_an_overtaken_datagram_are_missing() {
    for proto in Proto::ALL {
        let mut script = Script::new(proto);
        for number in 1..=9 {
            script.vital(Dir::C2s, 0, number);
        }
        script.keepalive(Dir::S2c, 8);
        script.at += 10_000;
        script.keepalive(Dir::S2c, 9);
        script.vital(Dir::S2c, 9, 1);
        script.at += 20_000;
        let late = script.send_noted(Dir::S2c, 8, &[(Some(2), false, READY)], Code::AckBehind);
        assert!(codes(&late).contains(&Code::Overtaken), "{proto} {late:?}");
        for number in 3..19 {
            script.at += 20_000;
            let ahead = script.vital(Dir::S2c, 9, number);
            assert_eq!(codes(&ahead), [Code::SeqAhead], "{proto} {number}");
        }
        script.at += 20_000;
        assert_eq!(bad(&script.resend(Dir::S2c, 9, &[2])), [], "{proto}");
    }
}

/// A copy without the resend flag may be the delayed first copy if only retransmissions were seen before.
#[test]
fn a_first_copy_that_was_overtaken_by_its_resend_is_fine() {
    let mut script = Script::new(Proto::V7);
    script.vital(Dir::C2s, 0, 1);
    script.resend(Dir::C2s, 0, &[2]);
    assert_eq!(bad(&script.vital(Dir::C2s, 0, 2)), []);
    assert_eq!(
        bad(&script.vital(Dir::C2s, 0, 1)),
        [],
        "a copy of the whole datagram"
    );
}

#[test]
fn a_new_message_with_an_old_number_is_an_error() {
    for proto in Proto::ALL {
        let mut script = Script::new(proto);
        let zero = script.vital(Dir::C2s, 0, 0);
        assert_eq!(codes(&zero), [Code::SeqBehind], "{proto}");
        assert!(
            zero[0].1.starts_with("got 0, expected 1; a server of "),
            "{zero:?}"
        );
    }
}

/// The receiver has acked numbers that the recording lacks, so a message with such a number may be a late copy.
#[test]
fn an_old_number_is_no_error_if_messages_are_missing_in_the_recording() {
    for proto in Proto::ALL {
        let mut script = Script::new(proto);
        script.vital(Dir::C2s, 0, 1);
        script.keepalive(Dir::S2c, 3);
        let late = script.vital(Dir::C2s, 0, 2);
        assert_eq!(codes(&late), [Code::SeqAgain], "{proto} {late:?}");
    }
}

/// The sender answers each request with its unacked messages, but without the missing number.
#[test]
fn a_number_that_is_skipped_is_an_error_once() {
    for proto in Proto::ALL {
        let mut script = Script::new(proto);
        script.vital(Dir::C2s, 0, 1);
        let mut all = script.vital(Dir::C2s, 0, 3);
        for _ in 0..20 {
            script.at += 500_000;
            script.request(Dir::S2c, 1);
            script.at += 10_000;
            all.extend(script.resend(Dir::C2s, 0, &[3]));
        }
        let gaps: Vec<_> = all.iter().filter(|(code, _)| *code == Code::SeqGap).collect();
        assert_eq!(gaps.len(), 1, "{proto} {all:?}");
        assert_eq!(gaps[0].1, "got 3, expected 2, not sent for 2.0 s");
        assert_eq!(bad(&all), [Code::SeqGap]);
    }
}

/// A peer that never retransmits.
#[test]
fn a_number_that_never_comes_is_an_error_after_a_while() {
    let mut script = Script::new(Proto::Ddnet);
    script.vital(Dir::C2s, 0, 1);
    script.vital(Dir::C2s, 0, 3);
    script.keepalive(Dir::S2c, 1);
    let mut all = Vec::new();
    for _ in 0..7 {
        script.at += 1_000_000;
        all.push(codes(&script.keepalive(Dir::C2s, 0)));
    }
    // The peer has not retransmitted the other message, either.
    assert_eq!(all.concat(), [Code::SeqGap, Code::ResendMissing]);
    assert!(all[4].contains(&Code::SeqGap), "{all:?}");
    // A number that is sent late is not a gap.
    let mut script = Script::new(Proto::Ddnet);
    script.vital(Dir::C2s, 0, 1);
    script.vital(Dir::C2s, 0, 3);
    for _ in 0..4 {
        script.at += 1_000_000;
        assert_eq!(script.keepalive(Dir::C2s, 0), []);
    }
    assert_eq!(script.resend(Dir::C2s, 0, &[2, 3]), []);
    script.at += 9_000_000;
    assert_eq!(bad(&script.keepalive(Dir::C2s, 0)), []);
}

/// The resend timer retransmits only the oldest message, so a later lost message has to wait until the oldest is acked.
#[test]
fn a_lost_message_behind_an_unacked_one_is_no_gap() {
    for proto in Proto::ALL {
        for is_acked in [false, true] {
            let mut script = Script::new(proto);
            script.vital(Dir::C2s, 0, 1);
            script.vital(Dir::C2s, 0, 3);
            if is_acked {
                // The ack is lost between the proxy and the client.
                script.keepalive(Dir::S2c, 1);
            }
            let mut all = Vec::new();
            for _ in 0..9 {
                script.at += 1_010_000;
                all.extend(script.resend(Dir::C2s, 0, &[1]));
            }
            let gap = all.iter().find(|(code, _)| *code == Code::SeqGap);
            assert_eq!(gap, None, "{proto}, acked: {is_acked}");
        }
    }
}

/// After a challenge, a server accepts any number in the first vital chunk that it receives.
#[test]
fn the_first_ack_of_a_server_without_tokens_may_skip_numbers() {
    let mut script = Script::new(Proto::V6);
    script.vital(Dir::C2s, 0, 1);
    script.vital(Dir::C2s, 0, 4);
    assert_eq!(script.keepalive(Dir::S2c, 4), []);
}

#[test]
fn an_ack_beyond_a_missing_number_is_noted() {
    for proto in Proto::ALL {
        let mut script = Script::new(proto);
        script.vital(Dir::S2c, 0, 1);
        script.vital(Dir::S2c, 0, 3);
        let beyond = script.keepalive(Dir::C2s, 3);
        assert_eq!(
            beyond,
            [(Code::AckGap, "got 3, expected less than 2".to_owned())],
            "{proto}"
        );
        assert_eq!(script.vital(Dir::S2c, 0, 4), []);
        // If datagrams are missing from the recording, the same ack has no note.
        let mut script = Script::new(proto);
        script.vital(Dir::S2c, 0, 1);
        script.decoder.gap();
        script.vital(Dir::S2c, 0, 5);
        script.vital(Dir::S2c, 0, 7);
        assert_eq!(script.keepalive(Dir::C2s, 7), []);
    }
}

#[test]
fn an_ack_that_does_not_move_is_an_error_once() {
    for proto in Proto::ALL {
        let mut script = Script::new(proto);
        script.vital(Dir::S2c, 0, 1);
        script.keepalive(Dir::C2s, 1);
        let mut all = Vec::new();
        for number in 2..40 {
            script.at += 200_000;
            script.vital(Dir::S2c, 0, number);
            all.extend(script.keepalive(Dir::C2s, 1));
        }
        assert_eq!(codes(&all), [Code::AckStuck], "{proto}");
        assert!(
            all[0].1.starts_with("got 1, expected 2 or more: sent "),
            "{all:?}"
        );
        // A peer is not stuck if it requests the missing message.
        let mut script = Script::new(proto);
        let mut all = Vec::new();
        for number in 1..40 {
            script.at += 200_000;
            script.vital(Dir::S2c, 0, number);
            all.extend(script.request(Dir::C2s, 0));
        }
        assert_eq!(bad(&all), []);
    }
}

#[test]
fn a_storm_is_a_warning() {
    for proto in Proto::ALL {
        let mut script = Script::new(proto);
        script.vital(Dir::S2c, 0, 1);
        let mut all = Vec::new();
        for _ in 0..15 {
            script.at += 20_000;
            all.extend(script.resend(Dir::S2c, 0, &[1]));
        }
        assert_eq!(bad(&all), [Code::ResendStorm], "{proto}");
        let storm = all.iter().find(|(code, _)| *code == Code::ResendStorm).unwrap();
        assert_eq!(
            storm.1,
            "got number 1 12 times within 1 s, expected at most 3 after no resend request"
        );
        // The games send one copy for each request and one for each timeout. More copies are a storm.
        for (spare, expected) in [(0, vec![]), (4, vec![Code::ResendStorm])] {
            let mut script = Script::new(proto);
            script.vital(Dir::S2c, 0, 1);
            let mut all = Vec::new();
            for round in 0..18 {
                script.at += 20_000;
                if round >= spare {
                    script.request(Dir::C2s, 0);
                }
                all.extend(script.resend(Dir::S2c, 0, &[1]));
            }
            let storms = bad(&all).into_iter().filter(|code| *code == Code::ResendStorm);
            assert_eq!(storms.collect::<Vec<_>>(), expected, "{proto} {spare}");
        }
    }
}

/// Releases before DDNet 19.4 read the chunks of a datagram with the control flag, so a receiver may ack them or not.
#[test]
fn the_chunks_of_a_control_packet_may_be_acked() {
    for proto in Proto::ALL {
        for is_read in [true, false] {
            let mut script = Script::new(proto);
            script.vital(Dir::C2s, 0, 1);
            let bytes = script.bytes(Flags::CONTROL, 0, &[(Some(2), false, READY)]);
            let mut found = script.datagram(Dir::C2s, &bytes, |_| {});
            if is_read {
                found.extend(script.keepalive(Dir::S2c, 2));
                found.extend(script.vital(Dir::C2s, 0, 3));
                found.extend(script.keepalive(Dir::S2c, 3));
                assert_eq!(found, [], "{proto}");
            } else {
                found.extend(script.keepalive(Dir::S2c, 1));
                let ahead = script.vital(Dir::C2s, 0, 3);
                assert_eq!(codes(&ahead), [Code::SeqAhead], "{proto}");
                assert!(ahead[0].1.starts_with("got 3, expected 2"), "{proto} {ahead:?}");
            }
        }
    }
}

/// A single older ack is the effect of reordering in the network; repeated older acks are a fault of the peer.
#[test]
fn a_datagram_that_was_overtaken_is_not_one_with_a_wrong_ack() {
    for proto in Proto::ALL {
        let mut script = Script::new(proto);
        for number in 1..=9 {
            script.vital(Dir::S2c, 0, number);
        }
        script.keepalive(Dir::C2s, 8);
        script.at += 10_000;
        script.keepalive(Dir::C2s, 9);
        script.at += 50_000;
        let late = script.send_noted(Dir::C2s, 8, &[], Code::AckBehind);
        let late: Vec<_> = late
            .into_iter()
            .filter(|(code, _)| *code != Code::EmptyNoResend)
            .collect();
        assert_eq!(late, [(Code::Overtaken, "got 8 after 9".to_owned())], "{proto}");
        script.at += 1_000_000;
        let behind = script.send_noted(Dir::C2s, 2, &[(Some(1), false, READY)], Code::AckBehind);
        assert_eq!(bad(&behind), [Code::AckBehind]);
        // The messages of the reordered datagram do not count, because the receiver drops it.
        assert_eq!(
            bad(&script.send(Dir::C2s, 9, &[(Some(1), true, READY)]))
                .iter()
                .filter(|code| **code != Code::NotVital)
                .count(),
            0
        );
    }
}

/// The text names the receiver's release and its reaction.
#[test]
fn the_release_of_the_receiver_is_named() {
    for (proto, client, server) in [
        (
            Proto::V6,
            "Teeworlds 0.6.4 (assumed)",
            "Teeworlds 0.6.4 (assumed)",
        ),
        (Proto::V65, "Teeworlds 0.6.5", "Teeworlds 0.6.5"),
        (Proto::Ddnet, "DDNet 20.1 (assumed)", "DDNet 20.1 (assumed)"),
        (
            Proto::V7,
            "Teeworlds 0.7.5 (assumed)",
            "Teeworlds 0.7.5 (assumed)",
        ),
    ] {
        for (dir, release) in [(Dir::S2c, client), (Dir::C2s, server)] {
            let mut script = Script::new(proto);
            let ahead = script.vital(dir, 0, 2);
            let side = if dir == Dir::S2c { "client" } else { "server" };
            assert_eq!(
                ahead[0].1,
                format!("got 2, expected 1; a {side} of {release} drops the chunk and requests a resend"),
            );
        }
    }
    // A DDNet client states its version.
    let mut script = Script::new(Proto::Ddnet);
    let mut defs = Registry::builtin().named(Proto::Ddnet, None, "client_version");
    let Some(teetap_wire::def::Id::Uuid { uuid, .. }) = defs.next().map(|def| &def.id) else {
        panic!("client_version has no UUID")
    };
    let mut version = [&[1][..], uuid, &[7; 16]].concat();
    teetap_wire::varint::encode(16_040, &mut version);
    version.extend(b"DDNet 16.4\0");
    script.send(Dir::C2s, 0, &[(Some(1), false, &version)]);
    let ahead = script.vital(Dir::S2c, 1, 3);
    assert!(
        ahead[0].1.contains("a client of DDNet 16.4 drops the chunk"),
        "{ahead:?}"
    );
}

/// The probe of a run, its line in a recording, and a reply to a browser each state the version of the server.
#[test]
fn the_release_that_the_server_states_is_named() {
    let version = "0.6.4, 16.4";
    let line =
        format!("the server answers 0.6 in 0.4 ms (\"a, b\", version {version}, DM on dm1, 0/16 players)");
    let info = [
        &[0xff; 10][..],
        b"inf31\x000.6.4, 16.4\0a, b\0dm1\0DM\x000\x000\x0016\x000\x0016\0",
    ]
    .concat();
    for name in ["live", "recording", "capture"] {
        let mut script = Script::new(Proto::Ddnet);
        match name {
            "live" => script.decoder.stated().learn(version),
            "recording" => script.decoder.log(&line),
            _ => drop(script.connless(Dir::S2c, &info)),
        }
        let ahead = script.vital(Dir::C2s, 0, 2);
        assert_eq!(
            ahead[0].1, "got 2, expected 1; a server of DDNet 16.4 drops the chunk and requests a resend",
            "{name}"
        );
        // The version of the server says nothing about the client.
        let ahead = script.vital(Dir::S2c, 0, 2);
        assert!(
            ahead[0].1.contains("a client of DDNet 20.1 (assumed)"),
            "{name}: {ahead:?}"
        );
    }
}

/// Two servers of a capture may have different releases, so neither release is named for the other server.
#[test]
fn no_release_of_several_is_named() {
    let mut script = Script::new(Proto::Ddnet);
    for version in ["0.6.4, 16.4", "0.6.4, 18.3"] {
        script.decoder.stated().learn(version);
    }
    let ahead = script.vital(Dir::C2s, 0, 2);
    assert!(
        ahead[0].1.contains("a server of DDNet 20.1 (assumed)"),
        "{ahead:?}"
    );
    // The next run may have a different server.
    script.decoder.restart();
    script.decoder.stated().learn("0.6.4, 16.4");
    assert_eq!(
        script
            .decoder
            .stated()
            .with(|version| version.map(|version| version.text.to_owned()))
            .as_deref(),
        Some("0.6.4, 16.4")
    );
}

/// The text of a note never contradicts itself, whatever notes the core has added.
#[test]
fn an_ack_is_not_expected_to_be_what_it_is() {
    for proto in Proto::ALL {
        for dir in [Dir::C2s, Dir::S2c] {
            let mut script = Script::new(proto);
            for number in 1..=8 {
                script.vital(dir.reverse(), 0, number);
            }
            for (ack, code) in [(8, Code::AckAhead), (3, Code::AckAhead), (5, Code::AckBehind)] {
                let data = script.kill();
                script.send_noted(dir, ack, &[(Some(1), false, data)], code);
                assert_eq!(script.expected.ack, None, "{proto} {dir:?} {ack}");
            }
            let data = script.kill();
            script.send_noted(dir, 9, &[(Some(1), false, data)], Code::AckAhead);
            assert_eq!(script.expected.ack, Some(Seq::new(8)), "{proto} {dir:?}");
        }
    }
}

/// A DDNet server restarts its sequence numbers with each ACCEPT, and sends other messages under them, whether ACCEPT
/// is seen before or after the messages sent until then.
#[test]
fn numbers_that_an_accept_begins_anew_are_no_repeats() {
    for late in [false, true] {
        let mut script = Script::new(Proto::Ddnet);
        let first = |script: &mut Script| {
            for number in 1..=3 {
                script.vital(Dir::C2s, 0, number);
            }
        };
        let answer = |script: &mut Script| {
            for number in 1..=4 {
                assert_eq!(script.vital(Dir::S2c, 3, number), [], "{late}");
            }
        };
        first(&mut script);
        if !late {
            answer(&mut script);
        }
        assert_eq!(script.control(Dir::C2s, b"\x03"), [], "{late}");
        if late {
            answer(&mut script);
        }
        for number in 4..=6 {
            assert_eq!(script.vital(Dir::C2s, 0, number), [], "{late}");
        }
        for number in 1..=2 {
            let data = [b"\x7e" as &[u8], &[number]].concat();
            let got = script.send(Dir::S2c, 0, &[(Some(number.into()), false, &data)]);
            assert_eq!(got, [], "{late} {number}");
        }
        script.notice(Notice::Restart);
        assert_eq!(script.vital(Dir::S2c, 6, 3), [], "{late}");
        assert_eq!(script.vital(Dir::C2s, 3, 7), [], "{late}");
    }
}

/// Half of all numbers are behind an ack, but a message whose number was never sent is new, with or without the resend
/// flag.
#[test]
fn a_number_that_never_came_is_no_repeat_wherever_the_numbers_wrap() {
    for proto in Proto::ALL {
        for jump in (2..=1024).step_by(3).chain([511, 512, 513, 1015, 1016, 1023]) {
            for is_resent in [false, true] {
                let mut script = Script::new(proto);
                script.vital(Dir::C2s, 0, 1);
                script.vital(Dir::C2s, 0, 2);
                script.at += 10_000;
                let number = (2 + jump) % 1024;
                let notes = script.send(Dir::C2s, 0, &[(Some(number), is_resent, READY)]);
                let expected = match jump {
                    ..=511 => Code::SeqAhead,
                    // These jumps lead to numbers 1 and 2, which were already sent.
                    1023 | 1024 => continue,
                    _ => Code::SeqBehind,
                };
                assert!(codes(&notes).contains(&expected), "{proto} {number}: {notes:?}");
                assert!(
                    !codes(&notes).contains(&Code::SeqAgain),
                    "{proto} {number}: {notes:?}"
                );
            }
        }
    }
}

/// A client that starts with a wrong number retransmits its messages, since the server acks none of them. Such
/// retransmissions do not ignore an ack.
#[test]
fn an_ack_of_nothing_acks_no_number_before_the_first_one() {
    for proto in Proto::ALL {
        for first in [2, 500, 511, 512, 513, 1015, 1016, 1023, 0] {
            let mut script = Script::new(proto);
            let mut found = Vec::new();
            for second in 0..8 {
                let ack = if second == 0 { 0 } else { second };
                found.extend(script.send(Dir::C2s, ack, &[(Some(first), second > 0, READY)]));
                script.at += 500_000;
                found.extend(script.vital(Dir::S2c, 0, second + 1));
                script.at += 500_000;
            }
            let codes = codes(&found);
            for code in [Code::ResendAcked, Code::ResendMissing, Code::AckStuck] {
                assert!(!codes.contains(&code), "{proto} {first}: {found:?}");
            }
        }
    }
}

/// Only a known release is named. Only 0.6.5 has tokens in its headers.
#[test]
fn a_datagram_of_an_odd_form_says_what_a_known_release_does_with_it() {
    for proto in Proto::ALL {
        let mut script = Script::new(proto);
        let bytes = script.bytes(Flags::empty(), 0, &[]);
        let notes = script.every_note(Dir::C2s, &bytes);
        let empty = notes.iter().find(|(code, _)| *code == Code::EmptyNoResend);
        let (_, detail) = empty.unwrap_or_else(|| panic!("{proto}: {notes:?}"));
        let is_named = detail.ends_with("a server of Teeworlds 0.6.5 accepts the ack");
        assert_eq!(is_named, proto == Proto::V65, "{proto}: {notes:?}");
        assert!(is_named || !detail.contains("server of"), "{proto}: {notes:?}");
    }
}

/// A peer that counts a message that is not vital skips its number. The message is named.
#[test]
fn a_number_of_a_chunk_that_is_not_vital_is_named() {
    for (proto, dir) in Proto::ALL
        .iter()
        .flat_map(|proto| [(*proto, Dir::C2s), (*proto, Dir::S2c)])
    {
        let mut script = Script::new(proto);
        let ping = script.named("ping");
        let input = script.named(if dir == Dir::C2s { "input" } else { "snap_empty" });
        for number in [1, 2, 3] {
            script.send(dir, 0, &[(None, false, &input), (Some(number), false, READY)]);
            script.at += 10_000;
        }
        script.send(dir, 0, &[(None, false, &input), (None, false, &ping)]);
        script.send(dir, 0, &[(None, false, &ping)]);
        script.vital(dir, 0, 6);
        let mut found = Vec::new();
        for _ in 0..20 {
            script.at += 400_000;
            script.request(dir.reverse(), 3);
            found.extend(script.resend(dir, 0, &[6]));
        }
        let gap = found.iter().find(|(code, _)| *code == Code::SeqGap);
        let says = gap.map(|(_, text)| text.contains("as it has sent chunks of ping that are not vital"));
        assert_eq!(says, Some(true), "{proto} {dir} {found:?}");
    }
}
