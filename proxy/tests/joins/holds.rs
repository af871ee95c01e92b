//! Held messages: custody, release, the repair of released messages, and the limit on held messages.

use std::time::Duration;

use teetap_kit::rules::program;
use teetap_proxy::session::{Command, Notice, SessionId};
use teetap_rules::{Decide, Fate, Made, Message, Order, RuleId, Shared, Verdict};
use teetap_wire::Dir;

use crate::bench::{Bench, fate, made, on_each_kind, with_rules};

fn hold(seconds: u64, order: Order) -> Fate {
    Fate::Hold {
        key: 7,
        max: Duration::from_secs(seconds),
        order,
    }
}

/// Messages after a held one are forwarded at once, with lower numbers.
#[test]
fn hold_one_for_three_seconds() {
    with_rules(&vec![fate("h", hold(3, Order::Kept))], |bench| {
        bench.is("S a1 1:a 2:b 3:c", &["C a1 1:a 2:b 3:c"]);
        bench.is("C a3 keepalive", &["S a3 keepalive"]);
        bench.is("S a1 4:h", &["C a1 keepalive"]);
        bench.is("C a3 keepalive", &["S a4 keepalive"]);
        bench.after(500, &[]);
        bench.is("S a1 5:e 6:f", &["C a1 keepalive"]);
        bench.is("C a3 keepalive", &["S a6 keepalive"]);
        bench.after(2600, &["2500: C a1 4:h 5:e 6:f"]);
        // The messages are lost, and the server has forgotten them.
        bench.after(1000, &["900: C a1 4*:h 5*:e 6*:f"]);
        bench.is("C a4 keepalive", &["S a6 keepalive"]);
        bench.is("C R a4", &["S a6 keepalive", "C a1 5*:e 6*:f"]);
        bench.is("C a6 keepalive", &["S a6 keepalive"]);
        bench.after(5000, &[]);
        bench.is("S a1 7:g", &["C a1 7:g"]);
    });
}

#[test]
fn a_release_lets_everything_go_at_once() {
    with_rules(&vec![fate("h", hold(60, Order::Kept))], |bench| {
        bench.is("S a1 1:h 2:b -:n", &["C a1 -:n"]);
        bench.is("C a0 keepalive", &["S a2 keepalive"]);
        assert_eq!(bench.release(8), [""; 0]);
        bench.after(2000, &[]);
        assert_eq!(bench.release(7), ["C a1 1:h 2:b"]);
        bench.is("C a2 keepalive", &["S a2 keepalive"]);
        // A second message waits for its own release.
        bench.is("S a1 3:h", &["C a1 keepalive"]);
        bench.after(1000, &[]);
        assert_eq!(bench.release(7), ["C a1 3:h"]);
        bench.is("C a3 keepalive", &["S a3 keepalive"]);
        // The same for a non-vital message.
        bench.is("S a1 -:h", &["C a1 keepalive"]);
        assert_eq!(bench.release(7), ["C a1 -:h"]);
        bench.after(5000, &[]);
    });
}

#[test]
fn one_of_several_is_released_by_its_number() {
    let script = vec![fate("h", hold(60, Order::Free)), fate("i", hold(60, Order::Free))];
    with_rules(&script, |bench| {
        bench.is("S a1 1:h 2:i 3:b", &["C a1 1:b"]);
        bench.is("C a1 keepalive", &["S a3 keepalive"]);
        let held = bench.held.clone();
        assert_eq!(bench.release_one(held[1]), ["C a1 2:i"]);
        assert_eq!(bench.release_one(held[1]), [""; 0]);
        assert_eq!(bench.release_one(held[0]), ["C a1 3:h"]);
        let results = bench.results();
        assert_eq!(results, [Ok(()), Err("the message is not held"), Ok(())]);
        let rules: Vec<_> = bench.placed.iter().map(|placed| &*placed.rules).collect();
        assert_eq!(rules, [&[RuleId(0)][..], &[RuleId(1)], &[]]);
    });
}

#[test]
fn every_command_has_an_answer() {
    on_each_kind(|bench| {
        let close = |session| Command::Close {
            session,
            side: None,
            reason: Box::default(),
        };
        let (one, none) = (SessionId(1), SessionId(9));
        bench.command(Command::Resync { session: one });
        bench.command(Command::Resync { session: none });
        bench.inject(made(Dir::C2s, "x"));
        bench.inject(made(Dir::C2s, "x".repeat(2000)));
        bench.release(5);
        bench.command(close(Some(one)));
        bench.command(close(Some(one)));
        bench.command(close(None));
        let expected = [
            Ok(()),
            Err("there is no such session"),
            Ok(()),
            Err("the message is too large for a chunk"),
            Err("the message is not held"),
            Ok(()),
            Err("the session is closing already"),
            Ok(()),
        ];
        let results = bench.results();
        assert_eq!(results, expected, "{:?}", bench.kind);
    });
}

/// A program that sends a message each second.
struct Ticks {
    next: u64,
}

impl Decide for Ticks {
    fn decide(&mut self, _: &Message<'_>, _: &mut Shared) -> Verdict {
        Verdict::PASS
    }

    fn deadline(&self) -> Option<u64> {
        Some(self.next)
    }

    fn on_time(&mut self, at: u64, _: &mut Shared) -> Vec<Made> {
        self.next = at + 1_000_000;
        let vital = false;
        vec![Made {
            vital,
            ..made(Dir::S2c, "tick")
        }]
    }
}

#[test]
fn a_program_has_its_own_time() {
    on_each_kind(|bench| {
        let ticks = program(&[], |session| Ticks { next: session.at });
        assert_eq!(bench.set(ticks), ["C a1 -:tick"]);
        bench.after(2500, &["1000: C a1 -:tick", "2000: C a1 -:tick"]);
        bench.set(None);
        bench.after(2500, &[]);
    });
}

#[test]
fn hold_one_and_others_overtake() {
    with_rules(&vec![fate("h", hold(60, Order::Free))], |bench| {
        bench.is("S a1 1:h 2:b", &["C a1 1:b"]);
        bench.is("C a1 keepalive", &["S a2 keepalive"]);
        bench.is("S a1 3:c", &["C a1 2:c"]);
        assert_eq!(bench.release(7), ["C a1 3:h"]);
        bench.is("C a2 keepalive", &["S a3 keepalive"]);
        bench.after(1500, &["1000: C a1 3*:h"]);
        bench.is("C a3 keepalive", &["S a3 keepalive"]);
    });
}

/// Messages that are injected while others wait in order queue after them.
#[test]
fn an_injection_queues_behind_what_is_held() {
    with_rules(&vec![fate("h", hold(60, Order::Kept))], |bench| {
        bench.is("S a1 1:h", &["C a1 keepalive"]);
        assert_eq!(bench.inject(made(Dir::S2c, "X")), [""; 0]);
        bench.is("S a1 2:b", &["C a1 keepalive"]);
        assert_eq!(bench.release(7), ["C a1 1:h 2:X 3:b"]);
        bench.is("C a3 keepalive", &["S a2 keepalive"]);
    });
}

/// Returns messages with the numbers from `first` to `last`, as the chunks of one datagram.
fn words(first: u16, last: u16, name: &str, star: &str) -> String {
    let words: Vec<String> = (first..=last)
        .map(|number| format!("{number}{star}:{name}"))
        .collect();
    words.join(" ")
}

/// Fills the hold queue with 300 messages.
fn fill(bench: &mut Bench) {
    bench.is("S a1 1:h", &["C a1 keepalive"]);
    for first in (2..300).step_by(13) {
        let last = (first + 12).min(300);
        bench.is(
            &format!("S a1 {}", words(first, last, "m", "")),
            &["C a1 keepalive"],
        );
    }
    bench.is("C a0 keepalive", &["S a300 keepalive"]);
    assert!(
        !bench.notices.contains(&Notice::HoldFull { dir: Dir::S2c }),
        "{:?}",
        bench.notices
    );
}

#[test]
fn a_full_hold_queue_refuses_and_does_not_ask() {
    with_rules(&vec![fate("h", hold(600, Order::Kept))], |bench| {
        fill(bench);
        bench.is("S a1 301:x 302:y -:n", &["C a1 -:n"]);
        let full = |bench: &Bench| {
            bench
                .notices
                .iter()
                .filter(|it| **it == Notice::HoldFull { dir: Dir::S2c })
                .count()
        };
        assert_eq!(full(bench), 1);
        // The refused message is neither acked nor requested again, so the server's own resend timer repeats
        // it.
        bench.is("C a0 keepalive", &["S a300 keepalive"]);
        for _ in 0..8 {
            bench.after(1000, &[]);
            bench.is("S a1 301*:x", &["C a1 keepalive"]);
        }
        assert_eq!(full(bench), 1);
        assert_eq!(bench.decisions("x"), 0);
        // There is no room for a message of the proxy either.
        assert_eq!(bench.inject(made(Dir::S2c, "X")), [""; 0]);
        assert_eq!(
            bench.notices.last(),
            Some(&Notice::InjectRefused {
                why: "the hold queue is full".into()
            })
        );
        // The queue is half empty: the missing message is requested once.
        let left = bench.release(7);
        let chunks: usize = left.iter().map(|line| line.split(' ').count() - 2).sum();
        let requests: Vec<&String> = left.iter().filter(|line| line.starts_with('S')).collect();
        assert_eq!((chunks, requests.len()), (300, 0), "{left:?}");
        bench.after(900, &["200: S R a300"]);
        bench.is("S a1 301*:x 302*:y", &["C a1 301*:x 302*:y"]);
        assert_eq!(bench.decisions("x"), 1);
        bench.is("C a302 keepalive", &["S a302 keepalive"]);
        bench.after(5000, &[]);
        // The full queue is reported again only when it fills again.
        assert_eq!(full(bench), 1);
    });
}

#[test]
fn a_message_without_room_is_decided_once() {
    with_rules(&vec![fate("h", hold(600, Order::Free))], |bench| {
        for first in (1..=300).step_by(12) {
            bench.is(
                &format!("S a1 {}", words(first, first + 11, "h", "")),
                &["C a1 keepalive"],
            );
        }
        bench.is("S a1 301:h", &["C a1 keepalive"]);
        bench.is("C a0 keepalive", &["S a300 keepalive"]);
        bench.is("S a1 301*:h", &["C a1 keepalive"]);
        assert_eq!(
            bench.decisions("h"),
            301,
            "each message is decided once, however often it is sent"
        );
        let left = bench.release(7);
        let chunks: usize = left.iter().map(|line| line.split(' ').count() - 2).sum();
        assert_eq!(chunks, 300, "{left:?}");
        // There is room again: the message is held as decided before.
        bench.is("S a1 301*:h", &["C a1 keepalive"]);
        bench.is("C a300 keepalive", &["S a301 keepalive"]);
        assert_eq!(
            bench.decisions("h"),
            301,
            "each message is decided once, however often it is sent"
        );
        assert_eq!(bench.release(7), ["C a1 301:h"]);
    });
}

#[test]
fn custody_answers_requests_after_a_gap_is_closed() {
    with_rules(&vec![fate("d", Fate::Drop)], |bench| {
        bench.is("S a1 1:a", &["C a1 1:a"]);
        bench.is("S a1 3:c", &["C a1 keepalive"]);
        bench.is("S a1 2*:b 3*:c", &["C a1 2*:b 3*:c"]);
        bench.is("C a3 keepalive", &["S a3 keepalive"]);
        // The request for message 2 and those after it.
        bench.after(500, &["200: S R a3"]);
        assert_eq!(bench.inject(made(Dir::S2c, "X")), ["C a1 4:X"]);
        bench.is("C R a3", &["S a3 keepalive", "C a1 4*:X"]);
    });
}

/// While a message of the server is missing, the server answers, because it also has that message.
#[test]
fn requests_during_a_gap_are_for_the_server() {
    with_rules(&vec![fate("d", Fate::Drop)], |bench| {
        bench.is("S a1 1:a", &["C a1 1:a"]);
        assert_eq!(bench.inject(made(Dir::S2c, "X")), ["C a1 2:X"]);
        bench.is("S a1 3:c", &["C a1 keepalive"]);
        bench.is("C R a1", &["S R a1"]);
        bench.is("S a1 2*:b 3*:c", &["C a1 3*:b 4*:c"]);
        bench.is("C R a1", &["S a1 keepalive", "C a1 2*:X 3*:b 4*:c"]);
    });
}

/// A client requests with each datagram until the messages arrive. They are sent once per 100 ms.
#[test]
fn custody_answers_requests_once_in_a_while() {
    with_rules(&vec![fate("d", Fate::Drop)], |bench| {
        assert_eq!(bench.inject(made(Dir::S2c, "X")), ["C a1 1:X"]);
        bench.is("C R a0", &["S a0 keepalive", "C a1 1*:X"]);
        bench.is("C R a0", &["S a0 keepalive"]);
        bench.after(99, &[]);
        bench.is("C R a0", &["S a0 keepalive"]);
        bench.after(1, &[]);
        bench.is("C R a0", &["S a0 keepalive", "C a1 1*:X"]);
    });
}

#[test]
fn a_hold_queue_is_bounded_in_bytes() {
    with_rules(&vec![fate("h", hold(600, Order::Kept))], |bench| {
        for number in 1..=24 {
            let line = format!("S a1 {number}:h/1000");
            bench.is(&line, &["C a1 keepalive"]);
        }
        bench.is("C a0 keepalive", &["S a24 keepalive"]);
        bench.is("S a1 25:h/1000", &["C a1 keepalive"]);
        bench.is("S a1 25*:small", &["C a1 keepalive"]);
        bench.is("C a0 keepalive", &["S a24 keepalive"]);
        assert!(
            bench.notices.contains(&Notice::HoldFull { dir: Dir::S2c }),
            "{:?}",
            bench.notices
        );
        assert_eq!(bench.release(7).len(), 24);
        bench.after(500, &["200: S R a24"]);
        bench.is("S a1 25*:small", &["C a1 25*:small"]);
    });
}

/// At most 400 numbers towards a receiver are unacked; further messages wait in custody.
#[test]
fn the_window_of_the_receiver_is_respected() {
    with_rules(&vec![], |bench| {
        for first in (1..400).step_by(20) {
            let words = words(first, first + 19, "m", "");
            bench.is(&format!("S a1 {words}"), &[&format!("C a1 {words}")]);
        }
        bench.is("S a1 401:x 402:y", &["C a1 keepalive"]);
        // The server is responsible for messages 1 to 400, so it is shown no ack yet.
        bench.is("C a0 keepalive", &["S a0 keepalive"]);
        bench.is("C a1 keepalive", &["S a1 keepalive", "C a1 401:x"]);
        bench.is("C a10 keepalive", &["S a10 keepalive", "C a1 402:y"]);
        bench.is("S a1 403:z", &["C a1 403:z"]);
        // The two messages in the proxy's custody are numbered between the server's messages.
        bench.is("C a400 keepalive", &["S a402 keepalive"]);
        bench.is("C a403 keepalive", &["S a403 keepalive"]);
    });
}

/// A message in custody that is never acked ends the session, at the limit of the peers: after 10 s, or 100 s
/// in DDNet.
#[test]
fn custody_that_is_not_acked_ends_the_session() {
    on_each_kind(|bench| {
        assert_eq!(bench.inject(made(Dir::S2c, "X")), ["C a1 1:X"]);
        let seconds: u64 = if bench.kind == teetap_kit::codec::Variant::Ddnet {
            100
        } else {
            10
        };
        let mut left = Vec::new();
        for _ in 0..seconds - 1 {
            left.extend(bench.wait(1000));
            bench.is("S a1 keepalive", &["C a1 keepalive"]);
            bench.is("C a0 keepalive", &["S a0 keepalive"]);
        }
        assert_eq!(left.len(), usize::try_from(seconds).unwrap() - 1);
        let reason = format!("close Too weak connection (not acked for {seconds} seconds)\0");
        assert_eq!(
            bench.wait(1500),
            [format!("1000: C a1 {reason}"), format!("1000: S a0 {reason}")]
        );
    });
}

/// Rules that begin while messages are under way: messages up to the highest forwarded one keep their numbers.
#[test]
fn rules_begin_in_the_middle_of_a_burst() {
    on_each_kind(|bench| {
        bench.is("S a1 1:a 2:b 4:d", &["C a1 1:a 2:b 4:d"]);
        bench.program(vec![fate("c", Fate::Drop), fate("e", Fate::Drop)]);
        // Message 4 was forwarded, so 3 already has its number.
        bench.is("S a1 3*:c 4*:d", &["C a1 3*:c 4*:d"]);
        bench.is("S a1 5:e 6:f", &["C a1 5:f"]);
        // The server is shown no ack beyond 4 before 4 is acked.
        bench.is("C a2 keepalive", &["S a2 keepalive"]);
        bench.is("C a4 keepalive", &["S a5 keepalive"]);
        bench.is("C a5 keepalive", &["S a6 keepalive"]);
    });
}
