//! Redirects, message by message: the client receives another port, and everything else is unchanged.

use std::time::Duration;

use teetap_kit::codec::extended;
use teetap_proxy::session::Notice;
use teetap_rules::{Fate, Order, Verdict};
use teetap_wire::Dir;

use crate::bench::{Bench, Script, fate, made, on_each_kind, with_rules};

fn passes(port: u16, why: &str) -> Notice {
    let why = why.into();
    Notice::RedirectPasses { port, why }
}

/// Returns true if no direction was renumbered for a redirect.
fn is_untouched(bench: &Bench) -> bool {
    let armed = |notice: &Notice| matches!(notice, Notice::Renumbered { .. });
    !bench.notices.iter().any(armed)
}

#[test]
fn the_own_port_becomes_the_one_that_the_client_came_by() {
    on_each_kind(|bench| {
        bench.is("S a1 1:chat 2:>8303 -:snap", &["C a1 1:chat 2:>9000 -:snap"]);
        // Every copy is rewritten. Non-vital redirects are rewritten too, since clients also follow
        // these.
        bench.is("S R a1 2*:>8303", &["C R a1 2*:>9000"]);
        bench.is("S a1 -:>8303", &["C a1 -:>9000"]);
        bench.is("S a1 4:>8303", &["C a1 4:>9000"]);
        bench.is("S a1 3*:big/900 4*:>8303", &["C a1 3*:big/900 4*:>9000"]);
        let notice = Notice::Redirected {
            port: 8303,
            listen: 9000,
        };
        assert_eq!(
            (&bench.notices, &bench.wanted_listeners),
            (&vec![notice; 5], &vec![])
        );
        // A redirect of the client is not rewritten.
        bench.is("C a4 2:>8303", &["S a4 2:>8303"]);
    });
}

/// The longer port does not fit into the datagram by two bytes.
#[test]
fn a_full_datagram_is_split() {
    on_each_kind(|bench| {
        bench.is("S a1 1:a/1000 2:b/358 3:>1", &[] as &[&str]);
        assert_eq!(bench.listens(1), ["C a1 1:a/1000 2:b/358", "C a1 3:>9001"]);
    });
}

#[test]
fn another_port_waits_for_a_listen_socket_and_nothing_else_does() {
    on_each_kind(|bench| {
        bench.is("S a1 1:>8305 -:snap", &[]);
        assert_eq!(bench.wanted_listeners, [(1, 8305)]);
        bench.is("S a1 2:chat", &["C a1 2:chat"]);
        bench.is("C a0 2:say", &["S a0 2:say"]);
        // The retransmission is the same redirect.
        bench.is("S a1 1*:>8305", &[]);
        assert_eq!(bench.notices, []);
        assert_eq!(bench.listens(1), ["C a1 1:>9001 -:snap"]);
        assert_eq!(bench.listens(1), [] as [&str; 0], "twice");
        bench.is("S a2 1*:>8305", &["C a2 1*:>9001"]);
        bench.is("S a2 3:>8305 4:>8303", &["C a2 3:>9001 4:>9000"]);
        assert_eq!(bench.wanted_listeners.len(), 1);
        assert!(is_untouched(bench));
        let opened = Notice::ListenerOpened {
            server: "10.8.0.1:8305".parse().unwrap(),
            listen: "10.9.0.2:9001".parse().unwrap(),
        };
        assert!(bench.notices.contains(&opened), "{:?}", bench.notices);
    });
}

#[test]
fn two_ports_in_one_datagram_wait_for_both() {
    on_each_kind(|bench| {
        bench.is("S a1 1:>8305 2:>8306", &[]);
        assert_eq!(bench.wanted_listeners, [(1, 8305), (2, 8306)]);
        assert_eq!(bench.listens(2), [] as [&str; 0]);
        assert_eq!(bench.listens(1), ["C a1 1:>9001 2:>9002"]);
    });
}

#[test]
fn the_ninth_port_passes_as_it_is() {
    on_each_kind(|bench| {
        for number in 1..=8_u16 {
            bench.is(&format!("S a1 {number}:>{}", 8303 + number), &[]);
            let line = format!("C a1 {number}:>{}", 9000 + number);
            assert_eq!(bench.listens(number.into()), [line]);
        }
        bench.is("S a1 9:>8312", &["C a1 9:>8312"]);
        let warned = passes(8312, "redirects have requested 8 other ports already");
        assert_eq!(bench.notices.last(), Some(&warned));
        bench.is("S a1 10:>8311 11:>8303", &["C a1 10:>9008 11:>9000"]);
        assert_eq!(bench.wanted_listeners.len(), 8);
    });
}

#[test]
fn without_a_socket_it_passes_and_the_next_one_tries_again() {
    on_each_kind(|bench| {
        bench.is("S a1 1:>8305", &[]);
        assert_eq!(bench.listens_not(1, "no port"), ["C a1 1:>8305"]);
        assert_eq!(bench.notices, [passes(8305, "no port")]);
        bench.is("S a1 2:>8305", &[]);
        assert_eq!(bench.wanted_listeners, [(1, 8305), (2, 8305)]);
        assert_eq!(bench.listens(1), [] as [&str; 0], "late");
        assert_eq!(bench.listens(2), ["C a1 2:>9002"]);
    });
}

/// Two failing listen sockets are not requested alternately forever.
#[test]
fn two_that_fail_pass_together() {
    on_each_kind(|bench| {
        for first in [1, 2] {
            bench.wanted_listeners.clear();
            bench.notices.clear();
            let [a, b] = [first * 2 - 1, first * 2];
            bench.is(&format!("S a1 {a}:>8305 {b}:>8306"), &[]);
            assert_eq!(bench.wanted_listeners, [(a, 8305), (b, 8306)]);
            let [sooner, later] = if first == 1 { [a, b] } else { [b, a] };
            assert_eq!(bench.listens_not(sooner, "no port"), [] as [&str; 0]);
            let passed = format!("C a1 {a}:>8305 {b}:>8306");
            assert_eq!(bench.listens_not(later, "no port"), [passed]);
            assert_eq!(bench.notices, [passes(8305, "no port"), passes(8306, "no port")]);
            assert_eq!(bench.wanted_listeners.len(), 2);
        }
        // One socket fails and one opens. The failure is remembered until the other socket is open,
        // and the failed socket is then requested again.
        bench.is("S a1 5:>8305 6:>8306", &[]);
        bench.listens_not(5, "no port");
        assert_eq!(bench.listens(6), ["C a1 5:>8305 6:>9006"]);
        bench.is("S a1 7:>8305", &[]);
        assert_eq!(bench.listens(7), ["C a1 7:>9007"]);
    });
}

#[test]
fn renumbered_it_is_the_same_with_every_copy() {
    with_rules(&vec![fate("gone", Fate::Drop)], |bench| {
        bench.is("S a1 1:gone 2:>8303", &["C a1 1:>9000"]);
        bench.is("S a1 2*:>8303", &["C a1 1*:>9000"]);
        // Rules have not decided on the messages of a waiting datagram.
        bench.is("S a1 3:gone 4:>8305 -:>8305", &[]);
        assert_eq!((bench.decisions("gone"), bench.decisions(">8305")), (1, 0));
        assert_eq!(bench.listens(1), ["C a1 2:>9001 -:>9001"]);
        assert_eq!((bench.decisions("gone"), bench.decisions(">8305")), (2, 2));
        bench.is("S a1 4*:>8305", &["C a1 2*:>9001"]);
        assert_eq!(bench.decisions(">8305"), 2);
    });
}

#[test]
fn what_rules_do_with_it_is_done_to_the_rewritten_one() {
    let held = Fate::Hold {
        key: 5,
        max: Duration::from_secs(9),
        order: Order::Kept,
    };
    let doubled = Verdict {
        copies: vec![Duration::ZERO],
        ..Verdict::PASS
    };
    let edited = Verdict {
        edit: Some(extended::redirect(77)),
        ..Verdict::PASS
    };
    let script: Script = vec![
        fate(">8303", held),
        (">8305", doubled),
        // A rule's edit takes precedence.
        (">8306", edited),
    ];
    with_rules(&script, |bench| {
        bench.is("S a1 1:>8303", &["C a1 keepalive"]);
        assert_eq!(bench.release(5), ["C a1 1:>9000"]);
        bench.is("S a1 2:>8305", &[]);
        assert_eq!(bench.listens(1), ["C a1 2:>9001 3:>9001"]);
        bench.is("S a1 3:>8306", &[]);
        assert_eq!(bench.listens(2), ["C a1 4:>77"]);
    });
}

/// The redirect was sent before the direction was renumbered, and lost on the way to the proxy.
#[test]
fn an_old_number_is_rewritten_too() {
    on_each_kind(|bench| {
        bench.is("S a1 2:chat", &["C a1 2:chat"]);
        bench.inject(made(Dir::S2c, "mine"));
        bench.is("S a1 1*:>8303 2*:chat", &["C a1 1*:>9000 2*:chat"]);
        bench.is("S a1 1*:>8305", &[]);
        assert_eq!(bench.listens(1), ["C a1 1*:>9001"]);
    });
}
