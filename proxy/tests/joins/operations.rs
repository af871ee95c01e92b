//! One operation on one message, without loss unless noted: which messages arrive, in which order, under
//! which numbers, and which acks either side is shown. The server sends, so its numbers are `u` and the
//! client's are `d`.

use std::time::Duration;

use teetap_kit::{
    codec::{Datagram, Variant},
    world::{Place, config},
};
use teetap_proxy::session::{Config, Events, Notice};
use teetap_rules::{Fate, Order, Verdict};
use teetap_wire::Dir;

use crate::bench::{Bench, KINDS, fate, made, on_each_kind, with_rules};
use crate::stage::{Stage, pair};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn edit(to: &str) -> Verdict {
    Verdict {
        edit: Some(to.as_bytes().to_vec()),
        ..Verdict::PASS
    }
}

fn after(made: Vec<teetap_rules::Made>) -> Verdict {
    Verdict {
        after: made,
        ..Verdict::PASS
    }
}

#[test]
fn without_rules_everything_passes_under_its_own_number() {
    on_each_kind(|bench| {
        bench.is("S a1 1:a -:n 2:b", &["C a1 1:a -:n 2:b"]);
        // A gap, a retransmission, a resend request and an empty datagram are forwarded, too.
        bench.is("S a1 4:d", &["C a1 4:d"]);
        bench.is("C R a2", &["S R a2"]);
        bench.is("S a1 3*:c 4*:d", &["C a1 3*:c 4*:d"]);
        bench.is("C a4 2:x", &["S a4 2:x"]);
        bench.is("S a2 keepalive", &["C a2 keepalive"]);
        bench.is("C a4 keepalive", &["S a4 keepalive"]);
        bench.after(5000, &[]);
    });
}

/// The receiver gets the other two with consecutive numbers.
/// Bytes that no peer reads, the spare bits of the header and the compression are the sender's.
#[test]
fn without_rules_an_empty_resend_request_passes_byte_for_byte() {
    let mut stage = Stage::joined(pair(Variant::V6, Variant::V6), 3);
    let upstream = stage.world.sockets[0];
    for (is_compressed, tail) in [(false, &[][..]), (false, &[0xab, 0]), (true, &[])] {
        let mut datagram = Datagram::of_chunks(Variant::V6, 1, None, Vec::new());
        (datagram.head.flags.resend, datagram.head.flags.compressed) = (true, is_compressed);
        let bytes = [&datagram.build()[..], tail].concat();
        stage.world.network.sent = Some(Vec::new());
        stage.world.server_sends(upstream, &bytes);
        stage.world.client_sends(0, &bytes);
        let sent = stage.world.network.sent.take().unwrap();
        let passed: Vec<_> = sent.into_iter().map(|sent| (sent.place, sent.bytes)).collect();
        assert_eq!(
            passed,
            [(Place::ToClient, bytes.clone()), (Place::ToServer, bytes)]
        );
    }
}

/// The receiver gets the other two with consecutive numbers.
#[test]
fn drop_one_of_three() {
    with_rules(&vec![fate("b", Fate::Drop)], |bench| {
        bench.is("S a1 1:a 2:b 3:c", &["C a1 1:a 2:c"]);
        bench.is("C a0 keepalive", &["S a0 keepalive"]);
        bench.is("C a1 keepalive", &["S a2 keepalive"]);
        bench.is("C a2 keepalive", &["S a3 keepalive"]);
        bench.is("S a1 4:d", &["C a1 3:d"]);
        bench.is("C a3 2:x", &["S a4 2:x"]);
        assert_eq!(bench.decisions("b"), 1);
        bench.after(5000, &[]);
    });
}

/// The datagram without its only chunk is forwarded as a keepalive, for its ack.
#[test]
fn drop_the_only_one() {
    with_rules(&vec![fate("b", Fate::Drop)], |bench| {
        bench.is("S a1 1:b", &["C a1 keepalive"]);
        bench.is("C a0 2:x", &["S a1 2:x"]);
        // A datagram with a resend request stays a data packet without chunks.
        bench.is("S R a1 2:b", &["C R a1"]);
        // A non-vital message needs no ack.
        bench.is("S a2 -:b", &["C a2 keepalive"]);
        bench.is("C a0 keepalive", &["S a2 keepalive"]);
        bench.is("S a2 3:c", &["C a2 1:c"]);
    });
}

/// Later messages have the next numbers.
#[test]
fn inject_behind_one() {
    with_rules(&vec![("a", after(vec![made(Dir::S2c, "X")]))], |bench| {
        bench.is("S a1 1:a 2:b", &["C a1 1:a 2:X 3:b"]);
        bench.is("C a1 keepalive", &["S a1 keepalive"]);
        // Message 2 was lost: the proxy has custody of X, so it answers, and nothing is requested from the
        // server.
        bench.is("C R a1", &["S a1 keepalive", "C a1 2*:X 3*:b"]);
        bench.is("C a2 keepalive", &["S a1 keepalive"]);
        bench.is("C a3 keepalive", &["S a2 keepalive"]);
        bench.after(5000, &[]);
    });
}

#[test]
fn inject_ahead_of_one_and_the_other_way() {
    let before = Verdict {
        before: vec![made(Dir::S2c, "X"), made(Dir::C2s, "Y")],
        ..Verdict::PASS
    };
    with_rules(&vec![("a", before)], |bench| {
        bench.is("S a1 1:a", &["C a1 1:X 2:a", "S a0 2:Y"]);
        // The client's own next message follows Y.
        bench.is("C a2 2:x", &["S a1 3:x"]);
        bench.is("S a2 keepalive", &["C a1 keepalive"]);
        bench.is("S a3 keepalive", &["C a2 keepalive"]);
        bench.after(5000, &[]);
    });
}

#[test]
fn a_person_injects() {
    on_each_kind(|bench| {
        bench.is("S a1 1:a", &["C a1 1:a"]);
        assert_eq!(bench.inject(made(Dir::S2c, "X")), ["C a1 2:X"]);
        assert!(
            bench.notices.contains(&Notice::Renumbered { dir: Dir::S2c }),
            "{:?}",
            bench.notices
        );
        bench.is("S a1 2:b", &["C a1 3:b"]);
        bench.is("C a1 keepalive", &["S a1 keepalive"]);
        // X is lost. The proxy's resend timer runs since it was sent, and the following message is sent
        // along.
        bench.after(1500, &["1000: C a1 2*:X 3*:b"]);
        bench.is("C a3 2:x", &["S a2 2:x"]);
        bench.after(5000, &[]);
        let loose = teetap_rules::Made {
            vital: false,
            ..made(Dir::C2s, "n")
        };
        assert_eq!(bench.inject(loose), ["S a2 -:n"]);
        let large = made(Dir::C2s, "x".repeat(1389));
        assert_eq!(bench.inject(large), [""; 0]);
        assert!(
            matches!(bench.notices.last(), Some(Notice::InjectRefused { .. })),
            "{:?}",
            bench.notices
        );
    });
}

/// The server retransmits its message, and the client gets the edited one.
#[test]
fn edit_one_and_lose_it() {
    with_rules(&vec![("b", edit("bold"))], |bench| {
        bench.is("S a1 1:a 2:b -:b", &["C a1 1:a 2:bold -:bold"]);
        bench.is("C a1 keepalive", &["S a1 keepalive"]);
        bench.is("S a1 2*:b", &["C a1 2*:bold"]);
        bench.is("C a2 keepalive", &["S a2 keepalive"]);
        // The message is acked, so its retransmission is not forwarded.
        bench.is("S a1 2*:b", &["C a1 keepalive"]);
        assert_eq!(bench.decisions("b"), 2);
    });
}

/// The sender retransmits a dropped message before it has received the ack.
#[test]
fn drop_one_that_comes_again() {
    with_rules(&vec![fate("b", Fate::Drop)], |bench| {
        bench.is("S a1 1:b", &["C a1 keepalive"]);
        bench.after(1000, &[]);
        bench.is("S a1 1*:b", &["C a1 keepalive"]);
        bench.is("S R a1 1*:b 2:c", &["C R a1 1:c"]);
        bench.is("C a0 keepalive", &["S a1 keepalive"]);
        bench.is("C a1 keepalive", &["S a2 keepalive"]);
        assert_eq!(bench.decisions("b"), 1);
    });
}

/// Numbers wrap while one message is dropped and one injected.
#[test]
fn drop_and_inject_where_numbers_wrap() {
    on_each_kind(|bench| {
        talk_to(bench, 1020);
        bench.program(vec![
            fate("x", Fate::Drop),
            ("z", after(vec![made(Dir::S2c, "J")])),
        ]);
        bench.is("S a1 1021:w", &["C a1 1021:w"]);
        bench.is("S a1 1022:x", &["C a1 keepalive"]);
        bench.is("C a1021 keepalive", &["S a1022 keepalive"]);
        bench.is("S a1 1023:y", &["C a1 1022:y"]);
        bench.is("S a1 0:z", &["C a1 1023:z 0:J"]);
        bench.is("S a1 1:q", &["C a1 1:q"]);
        bench.is("C a1022 keepalive", &["S a1023 keepalive"]);
        // Behind and ahead of the window.
        bench.is("C a1000 2:r", &[]);
        bench.is("C a2 2:r", &[]);
        bench.is("C a1023 keepalive", &["S a0 keepalive"]);
        bench.is("C a0 keepalive", &["S a0 keepalive"]);
        bench.is("C a1 2:r", &["S a1 2:r"]);
    });
}

/// Sends messages up to this number, which are forwarded unchanged.
fn talk_to(bench: &mut Bench, last: u16) {
    for first in (1..=last).step_by(20) {
        let words: Vec<String> = (first..first + 20).map(|number| format!("{number}:m")).collect();
        let words = words.join(" ");
        bench.is(&format!("S a1 {words}"), &[&format!("C a1 {words}")]);
        let ack = first + 19;
        bench.is(&format!("C a{ack} keepalive"), &[&format!("S a{ack} keepalive")]);
    }
}

#[test]
fn delay_one_and_others_overtake() {
    let late = Fate::Delay {
        for_: ms(1500),
        order: Order::Free,
    };
    with_rules(&vec![fate("b", late)], |bench| {
        bench.is("S a1 1:a 2:b 3:c", &["C a1 1:a 2:c"]);
        bench.is("C a2 keepalive", &["S a3 keepalive"]);
        bench.after(1400, &[]);
        bench.is("S a1 4:d", &["C a1 3:d"]);
        bench.after(200, &["100: C a1 4:b"]);
        // The message is lost, and the proxy retransmits it every second.
        bench.is("C a3 keepalive", &["S a4 keepalive"]);
        bench.after(2000, &["900: C a1 4*:b", "1900: C a1 4*:b"]);
        bench.is("C a4 keepalive", &["S a4 keepalive"]);
        bench.after(5000, &[]);
        // A non-vital message is sent once.
        bench.is("S a1 -:b", &["C a1 keepalive"]);
        bench.after(5000, &["1500: C a1 -:b"]);
    });
}

#[test]
fn delay_one_and_keep_the_order() {
    let late = Fate::Delay {
        for_: ms(1500),
        order: Order::Kept,
    };
    with_rules(&vec![fate("b", late)], |bench| {
        bench.is("S a1 1:a 2:b 3:c -:n", &["C a1 1:a -:n"]);
        bench.is("C a1 keepalive", &["S a3 keepalive"]);
        bench.after(1000, &[]);
        bench.is("S a1 4:d", &["C a1 keepalive"]);
        bench.is("C a1 2:x", &["S a4 2:x"]);
        bench.after(1000, &["500: C a1 2:b 3:c 4:d"]);
        bench.is("C a4 keepalive", &["S a4 keepalive"]);
        bench.is("S a2 5:e", &["C a2 5:e"]);
        bench.after(5000, &[]);
    });
}

#[test]
fn swap_two() {
    let rule = |name| fate(name, Fate::Reorder { group: 1, after: 1 });
    with_rules(&vec![rule("a"), rule("b")], |bench| {
        bench.is("S a1 1:a", &["C a1 keepalive"]);
        // The waiting message is in custody.
        bench.is("C a0 keepalive", &["S a1 keepalive"]);
        bench.is("S a1 2:x", &["C a1 1:x"]);
        bench.is("S a1 3:b", &["C a1 2:b 3:a"]);
        bench.is("C a1 keepalive", &["S a2 keepalive"]);
        bench.is("C a2 keepalive", &["S a3 keepalive"]);
        // The server is responsible for b, the proxy for a.
        bench.after(900, &[]);
        bench.after(1100, &["100: C a1 3*:a", "1100: C a1 3*:a"]);
        bench.is("C a3 keepalive", &["S a3 keepalive"]);
        bench.after(5000, &[]);
        // Both in one datagram, and a message that no other overtakes.
        bench.is("S a1 4:a 5:b", &["C a1 4:b 5:a"]);
        bench.is("C a5 keepalive", &["S a5 keepalive"]);
        bench.is("S a1 6:a", &["C a1 keepalive"]);
        bench.after(1500, &["1000: C a1 6:a"]);
        bench.is("C a6 keepalive", &["S a6 keepalive"]);
    });
}

#[test]
fn say_one_twice() {
    let twice = Verdict {
        copies: vec![ms(0), ms(300)],
        ..Verdict::PASS
    };
    with_rules(&vec![("a", twice)], |bench| {
        bench.is("S a1 1:a 2:b", &["C a1 1:a 2:a 3:b"]);
        bench.is("C a1 keepalive", &["S a1 keepalive"]);
        bench.is("C a3 keepalive", &["S a2 keepalive"]);
        bench.after(1000, &["300: C a1 4:a"]);
        bench.is("S a1 3:c", &["C a1 5:c"]);
        bench.is("C a4 keepalive", &["S a2 keepalive"]);
        bench.is("C a5 keepalive", &["S a3 keepalive"]);
        bench.is("S a1 -:a", &["C a1 -:a -:a"]);
        bench.after(5000, &["300: C a1 -:a"]);
        assert_eq!(bench.decisions("a"), 2);
    });
}

#[test]
fn lose_two_copies_of_one() {
    with_rules(&vec![fate("b", Fate::Lose { times: 2 })], |bench| {
        bench.is("S a1 1:a 2:b 3:c", &["C a1 1:a 3:c"]);
        // The client requests, and the server is responsible for all messages.
        bench.is("C R a1", &["S R a1"]);
        bench.is("S a1 2*:b 3*:c", &["C a1 3*:c"]);
        bench.is("C R a1", &["S R a1"]);
        bench.is("S a1 2*:b 3*:c", &["C a1 2*:b 3*:c"]);
        bench.is("C a3 keepalive", &["S a3 keepalive"]);
        assert_eq!(bench.decisions("b"), 1);
        // The only message: the datagram is lost, as on a network.
        bench.is("S a1 4:b", &[]);
        bench.is("C a3 keepalive", &["S a3 keepalive"]);
        bench.is("S a1 -:b", &[]);
    });
}

/// A gap is not forwarded but requested within 200 ms. The retransmission is decided as if it were the first
/// copy.
#[test]
fn a_gap_is_requested_again() {
    with_rules(&vec![fate("b", Fate::Drop)], |bench| {
        bench.is("S a1 1:a 3:c", &["C a1 1:a"]);
        bench.after(300, &["200: S R a0"]);
        bench.is("S a1 4:d", &["C a1 keepalive"]);
        // A datagram that is sent there anyway carries the request.
        bench.is("C a1 2:x", &["S R a1 2:x"]);
        bench.after(300, &[]);
        bench.is("S a2 2*:b 3*:c 4*:d", &["C a2 2*:c 3*:d"]);
        bench.is("C a3 keepalive", &["S a4 keepalive"]);
        for message in ["a", "b", "c", "d", "x"] {
            assert_eq!(bench.decisions(message), 1, "{message}");
        }
        bench.after(5000, &[]);
    });
}

/// Operations on messages of the client, while the numbers of both directions are translated.
#[test]
fn operations_in_both_directions() {
    let script = vec![
        fate("drop", Fate::Drop),
        ("edit", edit("E")),
        ("more", after(vec![made(Dir::C2s, "X")])),
    ];
    with_rules(&script, |bench| {
        bench.is("C a0 2:drop 3:edit 4:more", &["S a0 2:E 3:more 4:X"]);
        bench.is("S a1 1:drop 2:edit", &["C a2 1:E"]);
        bench.is("S a3 3:s", &["C a4 2:s"]);
        bench.is("C a1 5:c", &["S a2 5:c"]);
        bench.is("S a4 keepalive", &["C a4 keepalive"]);
        bench.is("S a5 keepalive", &["C a5 keepalive"]);
        bench.is("C a2 keepalive", &["S a3 keepalive"]);
        bench.after(5000, &[]);
    });
}

/// Events of odd traffic include the actions of rules, but not the numbers that change because of them.
#[test]
fn only_messages_that_rules_touch_are_odd() {
    for kind in KINDS {
        let config = Config {
            events: Events::Odd,
            ..config(3, None, true)
        };
        let mut bench = Bench::with(kind, config);
        bench.program(vec![fate("b", Fate::Drop)]);
        bench.is("S a1 1:a", &["C a1 1:a"]);
        assert_eq!(bench.placed, []);
        bench.is("S a1 2:b", &["C a1 keepalive"]);
        assert_eq!(bench.placed.len(), 1);
        bench.is("S a1 3:c", &["C a1 2:c"]);
        assert_eq!(bench.placed.len(), 1);
    }
}

/// Without rules, the proxy inflates only the start of a non-vital last message. Its place has its whole length.
#[test]
fn the_place_of_a_compressed_message_has_its_whole_length() {
    on_each_kind(|bench| {
        // From now on, the chunks of the server have other numbers at the client.
        bench.inject(made(Dir::S2c, "X"));
        bench.is("S Z a1 -:n -:snapshot/100", &["C a1 -:n -:snapshot/100"]);
        let lens = bench.placed.iter().map(|placed| placed.sent.map(|sent| sent.len));
        assert_eq!(lens.collect::<Vec<_>>(), [Some(1), Some(100)]);
    });
}
