//! Silences and late replies.

use super::*;

#[test]
fn an_answer_that_waits_for_a_flush_is_noted() {
    for proto in Proto::ALL {
        // The round-trip time to the client is known from two replies with these times.
        for (pause, trips, is_late) in [
            (450_000, &[10_000, 30_000][..], true),
            (30_000, &[10_000, 30_000], false),
            (450_000, &[10_000], false),
            (450_000, &[10_000, 280_000, 30_000], false),
        ] {
            let mut script = Script::new(proto);
            let (question, answer) = (script.named("con_ready"), script.named("cl_start_info"));
            for trip in trips {
                script.keepalive(Dir::S2c, 0);
                script.at += trip;
                script.keepalive(Dir::C2s, 0);
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
            assert_eq!(texts, expected, "{proto} {pause} {trips:?}");
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
