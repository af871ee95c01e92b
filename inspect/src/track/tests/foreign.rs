//! Tokens, acks and messages that belong to other sessions.

use teetap_proxy::session::State;
use teetap_wire::Token;

use super::*;

/// Plays a session to its end, and opens another session of the same client.
fn second(proto: Proto) -> Script {
    let mut script = Script::new(proto);
    for number in 1..=40 {
        script.vital(Dir::S2c, number - 1, number);
        script.vital(Dir::C2s, number, number);
    }
    // The last message is not acked.
    script.keepalive(Dir::S2c, 39);
    script.state(State::Closed);
    script.session = 2;
    script.token = Token(*b"othr");
    script.state(State::Opening);
    script.state(State::Online);
    script.accept();
    script
}

fn foreign(notes: &[(Code, String)]) -> Vec<&str> {
    let foreign = notes.iter().filter(|(code, _)| *code == Code::OtherSession);
    foreign.map(|(_, text)| text.as_str()).collect()
}

#[test]
fn parts_of_the_session_before_are_named() {
    for proto in Proto::ALL {
        let mut script = second(proto);
        let message = script.vital(Dir::C2s, 0, 40);
        assert_eq!(
            foreign(&message),
            ["session #1 has the same message under number 40"],
            "{proto}"
        );
        let number = second(proto).vital(Dir::C2s, 0, 41);
        assert_eq!(foreign(&number), ["number 41 continues session #1"]);
        let ack = script.send_noted(Dir::C2s, 40, &[], Code::AckAhead);
        assert_eq!(foreign(&ack), ["ack 40 continues session #1"]);
        if proto != Proto::V6 {
            script.token = Token(*b"tokn");
            let token = script.send_noted(Dir::C2s, 0, &[], Code::WrongToken);
            assert_eq!(foreign(&token), ["the token is that of session #1"]);
        }
    }
}

/// Clients often send the same messages with the same numbers in each session, even if datagrams are lost.
#[test]
fn equal_messages_with_equal_numbers_are_not_parts_of_the_session_before() {
    for proto in Proto::ALL {
        let mut script = second(proto);
        let mut all = Vec::new();
        for number in (1..=40).filter(|number| number % 7 != 0) {
            all.extend(script.vital(Dir::C2s, 0, number));
        }
        assert!(foreign(&all).is_empty(), "{proto} {all:?}");
    }
}

/// Two joins of a client begin with the same messages and numbers.
#[test]
fn a_second_join_is_not_a_part_of_the_first() {
    for proto in Proto::ALL {
        let mut script = second(proto);
        for number in 1..=60 {
            assert_eq!(script.vital(Dir::S2c, number - 1, number), [], "{proto}");
            assert_eq!(script.vital(Dir::C2s, number, number), [], "{proto}");
        }
    }
}
