//! Delays and changes of steps by rules and by link lines.

use std::time::Duration;

use teetap_proxy::session::{Action, Datagram, Placed, Transit};

use super::*;
use crate::joins::Join;

/// Returns the delays of the steps that were delayed.
fn delays(join: &Join) -> Vec<String> {
    let steps = join.steps.iter();
    let delayed = steps.filter_map(|step| Some(format!("{}: {}", step.name, step.delayed.as_ref()?)));
    delayed.collect()
}

/// Plays a join in which a link line delays `ready`.
fn late(time: Duration) -> Play {
    let script = Script::named("0.7");
    let play = Play::from_script(script).until(script.index("ready"));
    play.changed(Side::Client, "ready", |datagram| link(datagram, time))
}

fn link(datagram: &mut Datagram, delay: Duration) {
    datagram.link = [Transit {
        datagram: 0,
        duplicate: false,
        lost: None,
        delay,
        reordered: false,
        corrupted: [].into(),
    }]
    .into();
}

#[test]
fn a_step_that_a_rule_held_names_it_and_the_time() {
    let script = Script::named("0.7");
    let play = Play::from_script(script).until(script.index("ready"));
    let play = play.changed(Side::Client, "ready", |datagram| {
        datagram.placed = [Placed::new(None, Action::Hold)].into();
    });
    let play = play.after(690).rest(script.index("ready"));
    assert_eq!(delays(&play.joins()[0]), ["ready: delayed 700 ms (a rule)"]);
}

#[test]
fn a_step_that_a_link_line_delayed_says_so() {
    let script = Script::named("0.7");
    let play = late(Duration::from_millis(80)).rest(script.index("con_ready"));
    assert_eq!(delays(&play.joins()[0]), ["ready: delayed 80 ms (the link)"]);
}

/// A rule holds `ready` for 100 ms, and a link line delays it after that.
#[test]
fn of_two_delays_the_longer_one_is_named() {
    let script = Script::named("0.7");
    for (ms, expected) in [
        (20, "ready: delayed 100 ms (a rule)"),
        (99, "ready: delayed 100 ms (a rule)"),
        (101, "ready: delayed 101 ms (the link)"),
    ] {
        let play = Play::from_script(script).until(script.index("ready"));
        let play = play.changed(Side::Client, "ready", |datagram| {
            datagram.placed = [Placed::new(None, Action::Hold)].into();
        });
        let play = play.after(90).changed(Side::Client, "ready", |datagram| {
            link(datagram, Duration::from_millis(ms));
        });
        let play = play.rest(script.index("con_ready"));
        assert_eq!(delays(&play.joins()[0]), [expected]);
    }
}

#[test]
fn a_join_that_stands_still_because_of_the_link_is_of_no_peer() {
    for (ms, is_of_link) in [(900, true), (80, false)] {
        let play = late(Duration::from_millis(ms)).wait(1400);
        let stall = play.stalls().pop().unwrap();
        let why = format!("ready was delayed {ms} ms (the link)");
        assert_eq!(stall.ends_with(&why), is_of_link, "{stall}");
        let play = play.closed_by(Side::Client, None);
        let join = &play.joins()[0];
        assert_eq!(join.kept, is_of_link, "{join}");
        let severity = Finding::of_join(join).unwrap().severity;
        assert_eq!(severity == Severity::Error, !is_of_link, "{join}");
    }
}

/// A client that gets another message than the server sent may close the connection for a good reason.
#[test]
fn a_join_that_ends_after_a_changed_message_is_of_no_peer() {
    for bits in [&[][..], &[8 * 14]] {
        let script = Script::named("0.7");
        let play = Play::from_script(script).until(script.index("map_change"));
        let play = play.changed(Side::Server, "map_change", |datagram| {
            link(datagram, Duration::ZERO);
            datagram.link[0].corrupted = bits.into();
        });
        let play = play.closed_by(Side::Client, Some("invalid standard map"));
        let join = &play.joins()[0];
        let cause = (!bits.is_empty()).then_some("map_change was changed on the way (the link)");
        assert_eq!(
            (join.cause.as_deref(), join.kept),
            (cause, cause.is_some()),
            "{join}"
        );
    }
}

/// The accept may have been lost if the client repeats its CONNECT, so that nobody is known to be late.
#[test]
fn a_join_that_goes_on_after_a_message_was_sent_again_may_have_lost_datagrams() {
    for name in ["0.6.5", "DDNet", "0.7"] {
        for (again, stalls_later, expected) in [
            (Some("connect"), false, true),
            (None, false, false),
            (Some("connect"), true, false),
        ] {
            let script = Script::named(name);
            let mut play = Play::from_script(script)
                .until(script.index("connect_accept") + 1)
                .wait(1400);
            let next = script.index("connect_accept") + 1;
            if let Some(again) = again {
                play = play.message(Side::Client, again);
            }
            play = play.skip_to(next).until(script.index("ready") + 1);
            if stalls_later {
                play = play.wait(1400);
            }
            let play = play.rest(script.index("ready") + 1);
            let join = &play.joins()[0];
            let stalls = 1 + u32::from(stalls_later);
            assert_eq!(
                (join.stalls, join.is_resent),
                (stalls, expected),
                "{name} {again:?} {join}"
            );
        }
    }
}
