//! Silences and late replies.

use super::*;

#[test]
fn an_answer_that_waits_for_a_flush_is_noted() {
    // The round-trip time to the client is known from two replies with these times. In a handshake, the proxy sends and
    // receives them itself.
    let cases = [
        (450_000, &[10_000, 30_000][..], true),
        (30_000, &[10_000, 30_000], false),
        (450_000, &[10_000], false),
        (450_000, &[10_000, 280_000, 30_000], false),
    ];
    for proto in Proto::ALL {
        for ((pause, trips, is_late), is_by_proxy) in
            cases.into_iter().flat_map(|case| [(case, false), (case, true)])
        {
            let mut script = Script::new(proto);
            let (question, answer) = (script.named("con_ready"), script.named("cl_start_info"));
            for trip in trips {
                if is_by_proxy {
                    let bytes = script.control_bytes(b"\0");
                    script.proxy_datagram(Dir::S2c, &bytes);
                    script.at += trip;
                    script.datagram(Dir::C2s, &bytes, |datagram| {
                        datagram.leg = Some(Dir::C2s.sender())
                    });
                } else {
                    script.keepalive(Dir::S2c, 0);
                    script.at += trip;
                    script.keepalive(Dir::C2s, 0);
                }
            }
            script.at += 60_000;
            script.send(Dir::S2c, 0, &[(Some(1), false, &question)]);
            script.at += pause;
            let codes = script.send(Dir::C2s, 1, &[(Some(1), false, &answer)]);
            let late: Vec<_> = codes
                .iter()
                .filter(|(code, _)| *code == Code::LateReply)
                .collect();
            let expected = if is_late {
                vec!["got it 450 ms after con_ready, expected it immediately"]
            } else {
                vec![]
            };
            let texts: Vec<&str> = late.iter().map(|(_, text)| text.as_str()).collect();
            assert_eq!(texts, expected, "{proto} {pause} {trips:?} {is_by_proxy}");
        }
    }
}

#[test]
fn a_silence_is_noted_if_only_one_peer_is_silent() {
    for proto in Proto::ALL {
        for (others, is_noted) in [(3, true), (0, false)] {
            let mut script = Script::new(proto);
            script.keepalive(Dir::C2s, 0);
            for _ in 0..others {
                script.at += 1_000_000;
                assert_eq!(script.keepalive(Dir::S2c, 0), []);
            }
            script.at += 3_000_000 - others * 1_000_000;
            let notes = script.keepalive(Dir::C2s, 0);
            let expected = "silent for 3.0 s, expected at most 1.0 s".to_owned();
            let expected = is_noted.then_some((Code::KeepaliveLate, expected));
            assert_eq!(notes, expected.into_iter().collect::<Vec<_>>(), "{proto}");
        }
    }
}

/// Unreadable datagrams are sent, too.
#[test]
fn a_peer_that_sends_unreadable_datagrams_is_not_silent() {
    for (is_unreadable, is_noted) in [(true, false), (false, true)] {
        let mut script = Script::new(Proto::V7);
        script.keepalive(Dir::C2s, 0);
        for _ in 0..3 {
            script.at += 1_000_000;
            script.keepalive(Dir::S2c, 0);
            if is_unreadable {
                script.datagram(Dir::C2s, b"\x10\0\x01tokn\xff", |_| {});
            }
        }
        let notes = script.keepalive(Dir::C2s, 0);
        let codes: Vec<_> = notes.iter().map(|(code, _)| *code).collect();
        let expected: &[Code] = if is_noted { &[Code::KeepaliveLate] } else { &[] };
        assert_eq!(codes, expected, "unreadable datagrams: {is_unreadable}");
    }
}
