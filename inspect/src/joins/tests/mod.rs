//! Tests of joins: scripted joins in which each step is left out in turn, and recordings of real peers.

mod captures;
mod delays;
mod maps;
mod play;
mod script;
mod stops;

use teetap_proxy::session::Time;
use teetap_wire::{
    Proto, Severity, Side,
    receiver::{JoinKind, Rejection},
};

use super::{Ended, Finding, JoinOutcome, STOPPED};
use play::Play;
use script::{SCRIPTS, Script};

/// Start of the line of a stall.
const STALLED: &str = "warning: login stalled: ";

#[test]
fn a_whole_join_enters_the_game_without_a_line() {
    for script in SCRIPTS {
        let play = Play::from_script(script).all();
        let joins = play.joins();
        assert_eq!(play.stalls(), Vec::<String>::new(), "{}", script.name);
        assert_eq!(joins.len(), 1, "{}", script.name);
        assert_eq!(
            (joins[0].outcome, joins[0].kind),
            (JoinOutcome::Entered, script.kind)
        );
        assert_eq!(joins[0].stopped(), None);
        assert_eq!(
            joins[0].to_string(),
            format!(
                "session 1 entered the game after {} ms ({})",
                joins[0].took().as_millis(),
                script.name
            )
        );
        let steps: Vec<_> = joins[0].steps.iter().map(|step| (step.from, step.name)).collect();
        assert_eq!(steps, script.passed(), "{}", script.name);
    }
}

/// Both sides wait for the side that has left out its step, and send keepalives.
#[test]
fn the_line_names_the_step_that_was_forgotten_and_its_side() {
    for script in SCRIPTS {
        for (index, step) in script.steps() {
            if !step.is_needed || step.name == "connect" {
                continue;
            }
            let play = Play::from_script(script)
                .until(index)
                .wait(5000)
                .closed_by(Side::Client, None);
            let (name, from, to) = (step.name, step.from, step.from.other());
            let at = format!("{} without {name}", script.name);
            let stalls = play.stalls();
            assert_eq!(stalls.len(), 1, "{at}: {stalls:?}");
            assert!(stalls[0].starts_with(STALLED), "{at}: {}", stalls[0]);
            let waits = format!("the {to} waits for {name} from the {from}");
            assert!(stalls[0].ends_with(&waits), "{at}: {}", stalls[0]);
            let join = &play.joins()[0];
            let is_online = index > script.online();
            let outcome = if is_online {
                JoinOutcome::NeverEntered
            } else {
                JoinOutcome::NeverOnline
            };
            assert_eq!((join.outcome, join.stalls), (outcome, 1), "{at}");
            let never = format!("the {from} never sent {name}; closed by the client");
            assert!(join.stopped().unwrap().ends_with(&never), "{at}: {join}");
            let finding = Finding::of_join(join).unwrap();
            assert_eq!(
                (finding.severity, finding.code),
                (Severity::Error, outcome.name()),
                "{at}"
            );
        }
    }
}

/// The client sends its remaining steps regardless, and the server answers none of them.
#[test]
fn a_client_that_continues_without_a_step_is_named_by_the_step() {
    for script in SCRIPTS.iter().filter(|script| script.kind != JoinKind::Challenge) {
        for (index, step) in script.steps() {
            if step.from != Side::Client || !step.is_needed || step.name == "connect" {
                continue;
            }
            let play = Play::from_script(script)
                .until(index)
                .client_from(index + 1)
                .wait(1500);
            let stalls = play.stalls();
            let waits = format!("the server waits for {} from the client", step.name);
            assert!(
                stalls.len() == 1 && stalls[0].ends_with(&waits),
                "{}: {stalls:?}",
                script.name
            );
        }
    }
}

/// The server reads the messages of one packet in turn, so a client may send its steps without waiting for the answers.
#[test]
fn a_client_that_does_not_wait_for_answers_enters_the_game() {
    for script in SCRIPTS.iter().filter(|script| script.kind != JoinKind::Challenge) {
        let info = script.index("info");
        let mut play = Play::from_script(script).until(info).client_from(info);
        for step in script.lines().skip(info).filter(|step| step.from == Side::Server) {
            play = play.message(step.from, step.name);
        }
        assert_eq!(play.stalls(), [] as [&str; 0], "{}", script.name);
        let join = &play.joins()[0];
        assert_eq!(join.outcome, JoinOutcome::Entered, "{}: {join}", script.name);
    }
}

#[test]
fn the_line_says_whether_the_last_message_was_acked() {
    let script = Script::named("0.7");
    let stall = |play: Play| play.stalls().remove(0);
    let before_ready = script.index("ready");
    assert_eq!(
        stall(Play::from_script(script).until(before_ready).wait(1200)),
        format!("{STALLED}after map_change (acked) the server waits for ready from the client")
    );
    assert_eq!(
        stall(Play::from_script(script).until(before_ready).silent(1400)),
        format!("{STALLED}after map_change (not acked) the server waits for ready from the client")
    );
    assert_eq!(
        stall(
            Play::from_script(script)
                .until(script.index("connect_accept"))
                .silent(1400)
        ),
        format!("{STALLED}after connect the client waits for connect_accept from the server")
    );
}

/// The first number of a correct client is 1. The server acks none of the other numbers, although its ack is past half
/// of them.
#[test]
fn a_number_that_was_never_acked_is_not_called_so_wherever_the_numbers_wrap() {
    let script = Script::named("0.7");
    let numbered = |name, before: u16| {
        let play = Play::from_script(script).until(script.index(name));
        let play = play
            .numbered_after(Side::Client, before)
            .message(Side::Client, name);
        play.wait_without_acks(1500).stalls()
    };
    for number in (2..=1024)
        .step_by(7)
        .chain([511, 512, 513, 514, 1015, 1016, 1023, 1024])
    {
        for (name, first) in [("info", 2), ("cl_start_info", 4)] {
            if number < first {
                continue;
            }
            let stalls = numbered(name, number - 1);
            assert_eq!(stalls.len(), 1, "{name} {number}: {stalls:?}");
            let is_acked = stalls[0].contains(&format!("{name} (acked)"));
            assert!(!is_acked, "{name} {number}: {stalls:?}");
        }
    }
}

#[test]
fn a_line_comes_once_for_each_place_at_the_end_of_its_second() {
    let script = Script::named("DDNet");
    let play = Play::from_script(script).until(script.index("info")).wait(3500);
    let begin = play.progress();
    let play = play.next().wait(1500);
    let times: Vec<_> = play.stalled_at();
    assert_eq!(times.len(), 2);
    assert_eq!(times[0], Time(begin.0 + 1_000_000));
    assert!(play.due(Time(u64::MAX)).is_none());
}

#[test]
fn parts_of_the_map_and_acks_of_them_are_progress() {
    let script = Script::named("0.6.5");
    let mut play = Play::from_script(script).until(script.index("ready"));
    for _ in 0..6 {
        play = play.after(700).message(Side::Client, "request_map_data");
        play = play.after(700).message(Side::Server, "map_data");
    }
    assert_eq!(play.stalls(), Vec::<String>::new());
    // The parts were sent at once, and only their acks follow.
    for _ in 0..5 {
        play = play.message(Side::Server, "map_data");
    }
    for part in 0..5 {
        play = play.acked_up_to(part);
    }
    assert_eq!(play.stalls(), Vec::<String>::new());
    let play = play.message(Side::Client, "request_map_data").wait(1100);
    let waits = "after request_map_data (acked) the client waits for map_data from the server";
    assert_eq!(play.stalls(), [format!("{STALLED}{waits}")]);
    let play = play.message(Side::Server, "map_data").rest(script.index("ready"));
    let join = &play.joins()[0];
    let download = join.steps.iter().find(|step| step.name == "map_data").unwrap();
    assert_eq!((download.count, join.outcome), (12, JoinOutcome::Entered));
    assert!(download.took.as_millis() > 9000, "{download:?}");
}

#[test]
fn a_map_change_during_a_join_begins_anew_with_ready() {
    let script = Script::named("0.7");
    let play = Play::from_script(script).until(script.index("cl_start_info"));
    let play = play.message(Side::Server, "map_change").wait(1100);
    let waits = "after map_change (acked) the server waits for ready from the client";
    assert_eq!(play.stalls(), [format!("{STALLED}{waits}")]);
    let play = play.rest(script.index("ready"));
    assert_eq!(play.joins()[0].outcome, JoinOutcome::Entered);
}

#[test]
fn after_missing_events_nothing_is_said() {
    let script = Script::named("DDNet");
    let mut play = Play::from_script(script).until(script.index("ready"));
    play.gap();
    let play = play.wait(3000).closed_by(Side::Client, None);
    assert_eq!((play.stalls().len(), play.joins().len()), (0, 0));
}

#[test]
fn a_join_that_is_open_at_the_end_ends_with_the_events() {
    let script = Script::named("0.6.5");
    let mut play = Play::from_script(script).until(script.index("con_ready"));
    let joins = play.finish();
    assert_eq!(joins.len(), 1);
    assert_eq!(joins[0].ended, Ended::Open);
    assert_eq!(
        joins[0].to_string(),
        "session 1 never entered the game: after ready (not acked) the server never sent con_ready; the recording ends there"
    );
    // The join was too short to be stuck.
    assert_eq!(Finding::of_join(&joins[0]).unwrap().severity, Severity::Warning);
}

#[test]
fn each_reason_of_a_server_is_named() {
    for (reason, rejection, text) in [
        ("This server is full", "Refused(Full)", "the server is full"),
        (
            "Only 4 players with the same IP are allowed",
            "Refused(PerAddress)",
            "too many clients have this address",
        ),
        (
            "Too many connections in a short time",
            "Refused(TooFast)",
            "too many connections were made from this address in a short time",
        ),
        (
            "0.7 connections are not accepted at this time",
            "Refused(NoSeven)",
            "the server accepts no clients of 0.7",
        ),
        (
            "You have been banned for 5 minutes (spam)",
            "Refused(Banned)",
            "the address is banned",
        ),
        ("Wrong password", "WrongPassword", "wrong password"),
        (
            "Wrong version. Server is running '0.6 626fce9a778df4d4' and client '0.5'",
            "WrongVersion",
            "wrong version",
        ),
    ] {
        assert_eq!(
            format!("{:?}", Rejection::from_reason(reason).unwrap()),
            rejection
        );
        let script = Script::named("DDNet");
        let play = Play::from_script(script).until(script.index("map_change"));
        let play = play.closed_by(Side::Server, Some(reason));
        let end =
            format!("never entered the game: {text}, after info (acked): CLOSE by the server \"{reason}\"");
        assert_eq!(play.joins()[0].to_string(), format!("session 1 {end}"));
        assert_eq!(
            Finding::of_join(&play.joins()[0]).unwrap().severity,
            Severity::Error
        );
    }
    assert_eq!(Rejection::from_reason("kicked (no reason given)"), None);
    assert_eq!(Rejection::from_reason(""), None);
}

/// Games close with an empty reason as well as without one.
#[test]
fn the_end_of_a_join_quotes_its_reason_if_there_is_one() {
    let script = Script::named("0.6.5");
    for (reason, end) in [
        (None, "closed by the client"),
        (Some(""), "closed by the client"),
        (Some("bye"), "closed by the client \"bye\""),
    ] {
        let play = Play::from_script(script).until(script.index("ready"));
        let play = play.closed_by(Side::Client, reason);
        let stopped = play.joins()[0].stopped().unwrap();
        assert!(stopped.ends_with(&format!("; {end}")), "{stopped}");
    }
}

#[test]
fn ddnets_07_is_known_by_its_messages() {
    let script = Script::named("DDNet's 0.7");
    assert_eq!(script.proto, Proto::V7);
    assert_eq!(
        Play::from_script(script).all().joins()[0].kind,
        JoinKind::DdnetSeven
    );
}
