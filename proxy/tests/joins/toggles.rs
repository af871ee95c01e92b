//! Rules that a command switches off and on.

use teetap_proxy::session::{Command, WhichRule};
use teetap_rules::RuleId;

use crate::{
    bench::{Bench, on_each_kind},
    facts::{message, set, text},
};

fn toggle(bench: &mut Bench, rule: WhichRule, enabled: bool) -> Vec<String> {
    bench.command(Command::Toggle { rule, enabled })
}

#[test]
fn a_disabled_rule_lets_messages_pass_and_releases_what_it_holds() {
    on_each_kind(|bench| {
        let rules = "a: drop when cl_say\nhold until cl_kill when sv_motd";
        set(bench, rules);
        let say = message(bench, "cl_say", &[("message", text("hi"))]);
        let motd = message(bench, "sv_motd", &[("message", text("hi"))]);
        bench.is(&format!("C a0 2{say}"), &["S a0 keepalive"]);
        assert_eq!(toggle(bench, WhichRule::Name("a".into()), false), [""; 0]);
        bench.is(&format!("C a0 3{say}"), &[&format!("S a0 2{say}")]);
        assert_eq!(toggle(bench, WhichRule::Number(RuleId(0)), true), [""; 0]);
        bench.is(&format!("C a0 4{say}"), &["S a0 keepalive"]);

        let sent = bench.send(&format!("S a2 1{motd}"));
        assert!(!sent.iter().any(|sent| sent.contains(&motd)), "{sent:?}");
        let sent = toggle(
            bench,
            WhichRule::Name("hold until cl_kill when sv_motd".into()),
            false,
        );
        assert!(
            sent.iter().any(|sent| sent.ends_with(&format!(" 1{motd}"))),
            "{sent:?}"
        );

        toggle(bench, WhichRule::Number(RuleId(2)), true);
        toggle(bench, WhichRule::Name("b".into()), false);
        let why = Err("there is no such rule");
        assert_eq!(bench.results()[3..], [why, why]);
    });
}
