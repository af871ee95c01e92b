//! Reasons why a message of a join does not count.

use teetap_proxy::session::{Action, Family, Notice, Origin, Placed};
use teetap_wire::{Code, Note, Proto};

use super::*;

fn last(play: &Play) -> String {
    play.stalls().pop().unwrap().replace(STALLED, "")
}

#[test]
fn a_message_in_the_wrong_kind_of_chunk_is_named() {
    let script = Script::named("DDNet");
    let play = Play::from_script(script)
        .until(script.index("info"))
        .sent(Side::Client, "info", false)
        .wait(1100);
    assert_eq!(
        last(&play),
        "after client_version (acked) the server waits for info from the client; \
         info was sent in a chunk that is not vital and is ignored"
    );
    let play = play.closed_by(Side::Client, None);
    assert_eq!(
        play.joins()[0].stopped().unwrap(),
        "after client_version (acked) the info of the client had no effect: it was sent in a chunk that is not vital and is ignored; \
         closed by the client"
    );
}

/// No client of the games reads these messages in such a chunk (client.cpp, `ProcessServerPacket`).
#[test]
fn a_message_of_the_server_in_the_wrong_kind_of_chunk_is_of_the_server() {
    for script in SCRIPTS {
        for name in ["map_change", "con_ready", "sv_ready_to_enter"] {
            let play = Play::from_script(script)
                .until(script.index(name))
                .sent(Side::Server, name, false)
                .wait(1400);
            let why = format!(
                "the client waits for {name} from the server; {name} was sent in a chunk that is not vital and is ignored"
            );
            assert!(last(&play).ends_with(&why), "{}: {}", script.name, last(&play));
        }
    }
}

#[test]
fn a_message_that_comes_too_early_is_named_once_it_is_due() {
    let script = Script::named("0.7");
    // The server waits for `cl_start_info`, and an earlier `enter_game` has no effect.
    let play = Play::from_script(script).until(script.index("cl_start_info"));
    let play = play
        .message(Side::Client, "enter_game")
        .message(Side::Client, "cl_start_info");
    let play = play.message(Side::Server, "sv_ready_to_enter").wait(1100);
    assert_eq!(
        last(&play),
        "after sv_ready_to_enter (acked) the server waits for enter_game from the client; \
         enter_game was sent too early, before cl_start_info, and is ignored"
    );
}

/// DDNet answers `ready` in any stage.
#[test]
fn a_ready_before_info_is_no_step_though_ddnet_answers_it() {
    let script = Script::named("DDNet");
    let play = Play::from_script(script)
        .until(script.index("info"))
        .message(Side::Client, "ready");
    let play = play
        .message(Side::Server, "con_ready")
        .message(Side::Client, "cl_start_info");
    let waits = "after client_version (acked) the server waits for info from the client";
    assert_eq!(last(&play.wait(1100)), waits);
}

/// DDNet 16.4 answers a `ready` that is not vital.
#[test]
fn a_ready_that_is_not_vital_is_no_step_though_it_is_answered() {
    let script = Script::named("DDNet");
    let play = Play::from_script(script)
        .until(script.index("ready"))
        .sent(Side::Client, "ready", false);
    let play = play
        .message(Side::Server, "con_ready")
        .message(Side::Client, "cl_start_info");
    assert_eq!(
        last(&play.wait(1400)),
        "after map_change (acked) the server waits for ready from the client; \
         ready was sent in a chunk that is not vital and is ignored"
    );
}

#[test]
fn a_message_that_a_rule_drops_is_named() {
    let script = Script::named("0.7");
    for (action, words) in [
        (Action::Drop, "ready was sent, but was dropped (a rule)"),
        (Action::Hold, "ready was sent, but is held (a rule)"),
    ] {
        let play = Play::from_script(script).until(script.index("ready"));
        let play = play.changed(Side::Client, "ready", |datagram| {
            datagram.placed = [Placed::new(None, action)].into();
        });
        let waits = format!("after map_change (acked) the server waits for ready from the client; {words}");
        assert_eq!(last(&play.wait(1100)), waits);
    }
}

#[test]
fn a_datagram_that_its_receiver_drops_is_named() {
    let script = Script::named("0.7");
    let play = Play::from_script(script).until(script.index("ready"));
    let play = play.changed(Side::Client, "ready", |datagram| {
        let note = Note {
            code: Code::WrongToken,
            at: 3,
            len: 4,
        };
        datagram.notes.push(note);
    });
    assert_eq!(
        last(&play.wait(1100)),
        "after map_change (acked) the server waits for ready from the client; \
         ready was sent in a datagram that its receiver drops (wrong-token)"
    );
}

#[test]
fn a_server_of_another_protocol_is_named() {
    let script = Script::named("0.6.5");
    let play = Play::from_script(script)
        .until(script.index("connect_accept"))
        .notice(Notice::OtherProtocol {
            client: "127.0.0.1:4".parse().unwrap(),
            client_speaks: Family::Six,
            server_speaks: Family::Seven,
        });
    let play = play.wait(1100).closed_by(Side::Client, None);
    let cause = "the client speaks 0.6, and the server only 0.7";
    assert_eq!(
        last(&play),
        format!("after connect the client waits for connect_accept from the server; {cause}")
    );
    assert_eq!(
        play.joins()[0].to_string(),
        format!(
            "session 1 never came online: after connect the server never sent connect_accept: {cause}; closed by the client"
        )
    );
}

/// A message that the proxy sends to one side in place of the other side does not belong to the join.
#[test]
fn what_the_proxy_says_does_not_count() {
    let script = Script::named("0.7");
    let play = Play::from_script(script).until(script.index("connect_accept"));
    let play = play.changed(Side::Server, "map_change", |datagram| {
        datagram.origin = Origin::Proxy;
        datagram.leg = Some(Side::Client);
    });
    assert_eq!(
        last(&play.wait(1100)),
        "after connect the client waits for connect_accept from the server"
    );
}

#[test]
fn a_client_that_may_load_the_map_is_not_a_warning() {
    let script = Script::named("0.7");
    for (name, severity) in [("ready", Severity::Info), ("enter_game", Severity::Warning)] {
        let play = Play::from_script(script).until(script.index(name));
        let event = play.due(Time(u64::MAX)).unwrap();
        let finding = Finding::of_event(&event).unwrap();
        assert_eq!((finding.severity, finding.code), (severity, "login-stalled"));
    }
    assert_eq!(script.proto, Proto::V7);
}

/// The recording of a run has the notice of the run, so the decoder must not add it again.
#[test]
fn a_recorded_stall_is_not_made_again() {
    let script = Script::named("0.7");
    let play = Play::from_script(script).until(script.index("ready"));
    let due = Time(play.progress().0 + 1_300_000);
    let live = play.due(due + std::time::Duration::from_micros(1)).unwrap();
    let teetap_proxy::session::EventKind::Notice(notice) = live.what else {
        unreachable!();
    };
    assert_eq!(live.at, due);
    let replay = Play::from_script(script)
        .until(script.index("ready"))
        .after(1300)
        .notice(notice);
    let replay = replay.wait(2000).closed_by(Side::Client, None);
    assert_eq!((replay.stalls().len(), replay.joins()[0].stalls), (0, 1));
}

/// The end of a run with `--until con_ready`.
#[test]
fn a_join_is_interrupted_by_the_end_of_the_run_only_while_it_does_not_stand_still() {
    for script in SCRIPTS {
        let play = || Play::from_script(script).until(script.index("enter_game"));
        let in_time = play().wait(900).closed_by(Side::Server, Some(STOPPED));
        let join = &in_time.joins()[0];
        assert_eq!(join.outcome, JoinOutcome::Interrupted, "{}", script.name);
        assert_eq!((join.stopped(), Finding::of_join(join)), (None, None));
        let shown = join.to_string();
        assert!(
            shown.starts_with("session 1 was joining when the run ended, after "),
            "{shown}"
        );
        // The join stalled, or something else closed it.
        for play in [
            play().wait(1500).closed_by(Side::Server, Some(STOPPED)),
            play().wait(900).closed_by(Side::Client, None),
            play().wait(900).closed_by(Side::Server, Some("kicked")),
        ] {
            let join = &play.joins()[0];
            assert_eq!(join.outcome, JoinOutcome::NeverEntered, "{}", script.name);
            assert!(Finding::of_join(join).is_some());
        }
    }
}

/// The snapshots of a challenge precede every message of the client, and the session may begin as a DDNet session.
#[test]
fn a_challenge_that_the_client_never_answers_is_no_entry() {
    let script = Script::named("0.6 with a challenge");
    for proto in [Proto::V6, Proto::Ddnet] {
        let challenged = || Play::in_session_of(script, proto).until(script.index("input"));
        let play = challenged().wait(1500).closed_by(Side::Client, None);
        let join = &play.joins()[0];
        assert_eq!(
            (join.outcome, join.kind),
            (JoinOutcome::NeverEntered, JoinKind::Challenge),
            "{proto:?}: {join}"
        );
        assert_eq!(join.awaited, Some(("input", Side::Client)), "{proto:?}");
        let entered = challenged().rest(script.index("input"));
        assert_eq!(entered.joins()[0].outcome, JoinOutcome::Entered, "{proto:?}");
    }
}

#[test]
fn no_snapshot_is_an_entry_before_the_client_has_asked_for_it() {
    for script in SCRIPTS.iter().filter(|script| script.kind != JoinKind::Challenge) {
        for name in ["snap", "snap_empty"] {
            let play = Play::from_script(script).until(script.index("ready"));
            let play = play.message(Side::Server, name).wait(1500);
            assert_eq!(play.joins().len(), 0, "{} with {name}", script.name);
            let play = play.closed_by(Side::Client, None);
            let join = &play.joins()[0];
            assert_eq!(join.outcome, JoinOutcome::NeverEntered, "{}: {join}", script.name);
        }
    }
}

/// The acks of the server prove that the client sent the message that the capture lacks.
#[test]
fn a_capture_that_lacks_enter_game_does_not_deny_the_entry() {
    for script in SCRIPTS.iter().filter(|script| script.kind != JoinKind::Challenge) {
        let play = Play::from_script(script).until(script.index("enter_game"));
        let play = play.unseen(Side::Client).rest(script.index("snap"));
        let [join] = play.joins() else {
            panic!("{}: {:?}", script.name, play.joins());
        };
        assert_eq!(join.outcome, JoinOutcome::Entered, "{}", script.name);
    }
}

#[test]
fn a_capture_that_begins_in_the_middle_has_no_join() {
    for script in SCRIPTS {
        let play = Play::from_the_middle(script).message(Side::Server, "snap_empty");
        let mut play = play.wait(1500).closed_by(Side::Client, None);
        assert_eq!(play.joins(), [], "{}", script.name);
        assert_eq!(
            (play.stalls().len(), play.finish().len()),
            (0, 0),
            "{}",
            script.name
        );
    }
}

/// The token request precedes the session.
#[test]
fn a_session_that_begins_with_another_packet_lacks_the_connect() {
    let script = Script::named("0.7");
    let play = Play::from_script(script)
        .message(Side::Client, "connect_accept")
        .wait(1500);
    let waits = "the server waits for connect from the client";
    let stalls = play.stalls();
    assert!(stalls.len() == 1 && stalls[0].ends_with(waits), "{stalls:?}");
}
