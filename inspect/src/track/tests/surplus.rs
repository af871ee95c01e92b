//! Replies that are too large, and resend requests without a cause.

use std::collections::BTreeSet;

use super::*;

/// Returns the texts of the notes with the given code.
fn with_code(code: Code, notes: Vec<(Code, String)>) -> Vec<String> {
    let notes = notes.into_iter().filter(|(found, _)| *found == code);
    notes.map(|(_, text)| text).collect()
}

#[test]
fn much_for_an_address_that_has_proven_nothing_is_noted() {
    let large = vec![0x7e; 1000];
    for proto in Proto::ALL {
        for is_proven in [false, true] {
            let mut script = Script::before_accept(proto);
            if is_proven {
                script.vital(Dir::S2c, 0, 1);
                script.keepalive(Dir::C2s, 1);
            } else {
                script.token = teetap_wire::Token::NONE;
            }
            script.keepalive(Dir::C2s, u16::from(is_proven));
            let mut found = Vec::new();
            for _ in 0..30 {
                script.at += 10_000;
                found.extend(with_code(
                    Code::Amplified,
                    script.send(Dir::S2c, 0, &[(None, false, &large)]),
                ));
            }
            assert_eq!(found.len(), usize::from(!is_proven), "{proto} {found:?}");
            if let Some(text) = found.first() {
                assert!(
                    text.ends_with(" bytes of an address that has proven nothing"),
                    "{text}"
                );
            }
        }
    }
}

#[test]
fn much_for_one_request_of_a_browser_is_noted_and_little_for_many_is_not() {
    // The server list of a master server has 16 datagrams.
    for (requests, count, size, is_noted) in [
        (1, 20, 1400, true),
        (1, 16, 1400, false),
        (30, 20, 1400, false),
        (1, 20, 700, false),
    ] {
        let mut script = Script::new(Proto::Ddnet);
        let mut found = Vec::new();
        for _ in 0..requests {
            found.extend(script.connless(
                Dir::C2s,
                &[b"\xff\xff\xff\xff\xff\xff\xff\xffgie3".as_slice(), &[0; 3]].concat(),
            ));
        }
        for _ in 0..count {
            script.at += 10_000;
            let reply = [
                b"\xff\xff\xff\xff\xff\xff\xff\xffinf3".as_slice(),
                &vec![b'a'; size],
            ]
            .concat();
            found.extend(script.connless(Dir::S2c, &reply));
        }
        let found = with_code(Code::Amplified, found);
        assert_eq!(
            found.len(),
            usize::from(is_noted),
            "{requests} {count} {size}: {found:?}"
        );
    }
}

#[test]
fn much_for_a_resend_request_of_a_proven_address_is_not_noted() {
    for proto in Proto::ALL {
        let mut script = Script::new(proto);
        let mut found = script.vital(Dir::S2c, 0, 1);
        found.extend(script.keepalive(Dir::C2s, 1));
        let part = vec![0x7e; 900];
        for number in 2..40 {
            found.extend(script.send(Dir::S2c, 0, &[(Some(number), false, &part)]));
        }
        found.extend(script.request(Dir::C2s, 1));
        for number in 2..40 {
            found.extend(script.send(Dir::S2c, 0, &[(Some(number), true, &part)]));
        }
        let codes: BTreeSet<Code> = found.into_iter().map(|(code, _)| code).collect();
        let expected = [Code::ResendRequest, Code::SeqAgain];
        assert!(
            codes.iter().all(|code| expected.contains(code)),
            "{proto} {codes:?}"
        );
    }
}

#[test]
fn requests_for_the_next_message_are_needless_however_often_it_comes() {
    for proto in Proto::ALL {
        let mut script = Script::new(proto);
        script.keepalive(Dir::C2s, 0);
        script.vital(Dir::S2c, 0, 1);
        let mut found = Vec::new();
        for _ in 0..40 {
            script.at += 10_000;
            found.extend(with_code(Code::ResendNeedless, script.request(Dir::C2s, 0)));
            script.resend(Dir::S2c, 0, &[1]);
        }
        let expected = "got 16 requests within 0.1 s, expected at most 0: one for each vital message that may be ahead of another";
        assert_eq!(found, [expected], "{proto}");
    }
}

#[test]
fn more_requests_than_messages_are_noted_once() {
    for proto in Proto::ALL {
        for with_messages in [false, true] {
            let mut script = Script::new(proto);
            let mut found = Vec::new();
            for number in 1..200 {
                script.at += 40_000;
                if with_messages && number % 3 == 0 {
                    // Each of these messages is ahead of a missing message.
                    script.vital(Dir::S2c, 0, number + 1);
                }
                found.extend(with_code(Code::ResendNeedless, script.request(Dir::C2s, 0)));
            }
            let expected = if with_messages {
                vec![]
            } else {
                vec![
                    "got 16 requests within 0.6 s, expected at most 0: one for each vital message that may be ahead of another".to_owned(),
                ]
            };
            assert_eq!(found, expected, "{proto}");
        }
    }
}
