//! Link lines between two messages: `after` and `until` with an expression.

use teetap_wire::def::Datum;

use crate::bench::{Bench, on_each_kind};
use crate::examples::{enter_game, sample, say};
use crate::facts::{message, set, text};

/// Returns true if a datagram of the server reaches the client.
fn passes(bench: &mut Bench) -> bool {
    !bench.send("S a1 -:x").is_empty()
}

#[test]
fn messages_open_and_close_a_line_in_a_direction_without_rules() {
    on_each_kind(|bench| {
        set(bench, "link s2c blackhole after cl_say until count(cl_say) > 1");
        let [one, two] = ["a", "b"].map(|words| say(bench, words));
        assert!(passes(bench));
        // No direction is renumbered for it.
        bench.is(&format!("C a0 2{one}"), &[&format!("S a0 2{one}")]);
        assert_eq!(bench.notices, []);
        assert!(!passes(bench));
        // A retransmission is not another message.
        bench.send(&format!("C a0 2*{one}"));
        assert!(!passes(bench));
        bench.send(&format!("C a0 3{two}"));
        assert!(passes(bench));
        bench.send(&format!("C a0 4{two}"));
        assert!(passes(bench));
    });
}

#[test]
fn the_messages_at_both_ends_of_a_window_are_not_in_it() {
    on_each_kind(|bench| {
        set(bench, "link c2s blackhole after cl_say until count(cl_say) > 2");
        let say = say(bench, "a");
        bench.is(&format!("C a0 2{say}"), &[&format!("S a0 2{say}")]);
        bench.is(&format!("C a0 3{say}"), &[]);
        bench.is(
            &format!("C a0 3*{say} 4{say}"),
            &[&format!("S a0 3*{say} 4{say}")],
        );
    });
}

#[test]
fn what_rules_do_to_a_message_does_not_matter_to_a_window() {
    on_each_kind(|bench| {
        set(
            bench,
            "drop when cl_say\nlink s2c blackhole after cl_say until sv_motd\ndelay 50ms when sv_motd",
        );
        let say = say(bench, "a");
        let motd = message(bench, "sv_motd", &[("message", text("hi"))]);
        bench.send(&format!("C a0 2{say}"));
        assert!(!passes(bench));
        // The message counts as received, although it is held.
        bench.send(&format!("S a1 1{motd}"));
        assert!(passes(bench));
    });
}

#[test]
fn control_messages_move_windows() {
    on_each_kind(|bench| {
        set(bench, "link s2c blackhole after ctrl.keepalive");
        assert!(passes(bench));
        bench.is("C a0 keepalive", &["S a0 keepalive"]);
        assert!(!passes(bench));
    });
}

#[test]
fn windows_stay_as_they_are_over_a_change_of_the_program() {
    on_each_kind(|bench| {
        let line = "link s2c blackhole after cl_say";
        set(bench, line);
        let say = say(bench, "a");
        bench.send(&format!("C a0 2{say}"));
        assert!(!passes(bench));
        set(bench, &format!("mark when cl_kill\n{line}"));
        assert!(!passes(bench));
        set(bench, "link s2c blackhole after cl_say and c2s");
        assert!(passes(bench));
    });
}

#[test]
fn a_time_ends_the_window_that_a_message_opened() {
    on_each_kind(|bench| {
        // The session is three seconds old.
        set(bench, "link s2c blackhole after sv_vote_set until 5s");
        let fields = [("description", text("kick")), ("timeout", Datum::Int(30))];
        let vote = message(bench, "sv_vote_set", &fields);
        assert!(passes(bench));
        assert!(!bench.send(&format!("S a1 1{vote}")).is_empty());
        assert!(!passes(bench));
        bench.wait(2500);
        assert!(passes(bench));
    });
}

#[test]
fn the_line_is_bad_in_the_game() {
    let source = sample("bad-link-in-game");
    on_each_kind(|bench| {
        set(bench, &source);
        assert!(passes(bench));
        let enter = enter_game(bench);
        bench.is(&format!("C a0 2{enter}"), &[&format!("S a0 2{enter}")]);
        let mut arrived = 0;
        for _ in 0..400 {
            assert!(!passes(bench));
            arrived += bench
                .wait(100)
                .iter()
                .filter(|line| line.starts_with("60: C"))
                .count();
        }
        assert!((360..=395).contains(&arrived), "{arrived}");
    });
}

#[test]
fn control_messages_move_the_windows_and_counts_of_rules() {
    for rule in [
        "drop when cl_say after ctrl.keepalive",
        "drop when cl_say and count(ctrl.keepalive) > 0",
        "drop when cl_say and seen(ctrl.keepalive)",
    ] {
        on_each_kind(|bench| {
            set(bench, rule);
            let say = say(bench, "a");
            bench.is(&format!("C a0 2{say}"), &[&format!("S a0 2{say}")]);
            bench.is("C a0 keepalive", &["S a0 keepalive"]);
            bench.is(&format!("C a0 3{say}"), &["S a0 keepalive"]);
        });
    }
}

#[test]
fn control_messages_meet_expectations_and_release() {
    on_each_kind(|bench| {
        set(
            bench,
            "expect ctrl.keepalive within 1s when cl_say\nhold until ctrl.keepalive when cl_say",
        );
        let say = say(bench, "a");
        bench.is(&format!("C a0 2{say}"), &["S a0 keepalive"]);
        let sent = bench.send("C a0 keepalive");
        assert!(sent.iter().any(|line| line.contains(&say)), "{sent:?}");
        bench.wait(2000);
        assert_eq!(bench.notices.len(), 1, "{:?}", bench.notices);
    });
}
