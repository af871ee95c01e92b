//! Rules and link lines that a command disables and enables.

use teetap_proxy::session::Command;
use teetap_rules::RuleId;

use crate::{
    bench::{Bench, on_each_kind},
    facts::{message, set, text},
};

fn toggle(bench: &mut Bench, rule: &str, enabled: bool) -> Vec<String> {
    let rule = rule.into();
    bench.command(Command::ToggleNamed { rule, enabled })
}

fn toggle_number(bench: &mut Bench, rule: u16, enabled: bool) -> Vec<String> {
    let rule = RuleId(rule);
    bench.command(Command::Toggle { rule, enabled })
}

fn toggle_line(bench: &mut Bench, line: u16, enabled: bool) -> Vec<String> {
    bench.command(Command::ToggleLine { line, enabled })
}

#[test]
fn a_disabled_rule_lets_messages_pass_and_releases_what_it_holds() {
    on_each_kind(|bench| {
        let rules = "a: drop when cl_say\nhold until cl_kill when sv_motd";
        set(bench, rules);
        let say = message(bench, "cl_say", &[("message", text("hi"))]);
        let motd = message(bench, "sv_motd", &[("message", text("hi"))]);
        bench.is(&format!("C a0 2{say}"), &["S a0 keepalive"]);
        assert_eq!(toggle(bench, "a", false), [""; 0]);
        bench.is(&format!("C a0 3{say}"), &[&format!("S a0 2{say}")]);
        assert_eq!(toggle_number(bench, 0, true), [""; 0]);
        bench.is(&format!("C a0 4{say}"), &["S a0 keepalive"]);

        let sent = bench.send(&format!("S a2 1{motd}"));
        assert!(!sent.iter().any(|sent| sent.contains(&motd)), "{sent:?}");
        let sent = toggle(bench, "hold until cl_kill when sv_motd", false);
        assert!(
            sent.iter().any(|sent| sent.ends_with(&format!(" 1{motd}"))),
            "{sent:?}"
        );

        toggle_number(bench, 2, true);
        toggle(bench, "b", false);
        let why = Err("there is no such rule");
        assert_eq!(bench.results()[3..], [why, why]);
    });
}

#[test]
fn a_disabled_line_does_nothing_and_what_waits_in_it_still_leaves() {
    on_each_kind(|bench| {
        let lines = "link s2c delay 50ms\nlink c2s blackhole";
        set(bench, lines);
        bench.is("S a1 -:a", &[]);
        bench.is("C a0 -:x", &[]);
        assert_eq!(toggle_line(bench, 0, false), [""; 0]);
        // Later datagrams are still sent after the queued datagram.
        bench.after(20, &[]);
        bench.is("S a1 -:b", &[]);
        bench.after(40, &["30: C a1 -:a", "30: C a1 -:b"]);
        bench.is("S a1 -:c", &["C a1 -:c"]);
        bench.is("C a0 -:x", &[]);

        toggle(bench, "link c2s blackhole", false);
        bench.is("C a0 -:x", &["S a0 -:x"]);
        // A new program with the same lines keeps their state.
        set(bench, &format!("mark when cl_say\n{lines}\nlink s2c blackhole"));
        bench.is("C a0 -:y", &["S a0 -:y"]);
        bench.is("S a1 -:d", &[]);
        toggle_line(bench, 2, false);
        bench.is("S a1 -:e", &["C a1 -:e"]);
        toggle_line(bench, 0, true);
        bench.is("S a1 -:f", &[]);
        bench.after(60, &["50: C a1 -:f"]);

        toggle_line(bench, 3, false);
        toggle(bench, "link both blackhole", false);
        assert_eq!(
            bench.results()[4..],
            [Err("there is no such link line"), Err("there is no such rule")]
        );
    });
}

#[test]
fn a_disabled_rule_keeps_its_memory_and_draws_as_if_it_had_stayed() {
    on_each_kind(|bench| {
        let say = message(bench, "cl_say", &[("message", text("hi"))]);
        set(bench, "a: drop when cl_say once");
        bench.is(&format!("C a0 2{say}"), &["S a0 keepalive"]);
        toggle(bench, "a", false);
        toggle(bench, "a", true);
        bench.is(&format!("C a0 3{say}"), &[&format!("S a0 2{say}")]);
    });
}
