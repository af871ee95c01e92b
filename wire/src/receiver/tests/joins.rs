//! The order of each kind of join.

use crate::receiver::{JoinKind, MessageVerdict, Release, Stage, message};
use crate::{Proto, Side};

/// Returns the steps in one line: `>` from the client, `<` from the server, `?` if the step is optional.
fn line(kind: JoinKind) -> String {
    let steps = kind.steps().map(|step| {
        let from = if step.from == Side::Client { '>' } else { '<' };
        let optional = if step.is_needed { "" } else { "?" };
        format!("{from}{}{optional}", step.name)
    });
    steps.collect::<Vec<_>>().join(" ")
}

/// The kind follows from the protocol and the server, and the release and the first stage from the kind.
#[test]
fn each_kind_has_its_server() {
    for (proto, is_ddnet, kind, release, stage) in [
        (
            Proto::V6,
            false,
            JoinKind::Plain,
            Release::Teeworlds064,
            Stage::Auth,
        ),
        (
            Proto::V6,
            true,
            JoinKind::Plain,
            Release::Teeworlds064,
            Stage::Auth,
        ),
        (
            Proto::V65,
            false,
            JoinKind::Token,
            Release::Teeworlds065,
            Stage::Auth,
        ),
        (
            Proto::Ddnet,
            true,
            JoinKind::Ddnet,
            Release::Ddnet20,
            Stage::PreAuth,
        ),
        (
            Proto::V7,
            false,
            JoinKind::Seven,
            Release::Teeworlds075,
            Stage::Auth,
        ),
        (
            Proto::V7,
            true,
            JoinKind::DdnetSeven,
            Release::Ddnet20,
            Stage::PreAuth,
        ),
    ] {
        assert_eq!(JoinKind::from_proto(proto, is_ddnet), kind);
        assert_eq!((kind.server(), kind.first_stage()), (release, stage), "{kind}");
    }
    let challenge = JoinKind::Challenge;
    assert_eq!(
        (challenge.server(), challenge.first_stage()),
        (Release::Teeworlds064, Stage::Auth)
    );
}

#[test]
fn the_messages_follow_from_the_answers() {
    let rest = "<map_change >ready <con_ready >cl_start_info <sv_ready_to_enter >enter_game <snap";
    for (kind, handshake) in [
        (JoinKind::Plain, ">connect <connect_accept >accept? >info"),
        (JoinKind::Token, ">connect <connect_accept >info"),
        (
            JoinKind::Ddnet,
            ">connect <connect_accept >accept >client_version? >info",
        ),
        (
            JoinKind::Seven,
            ">token <token >connect <connect_accept >client_version? >info",
        ),
        (
            JoinKind::DdnetSeven,
            ">token <token >connect <connect_accept >client_version? >info",
        ),
        (JoinKind::Challenge, ">connect <connect_accept <snap_empty >input"),
    ] {
        assert_eq!(line(kind), format!("{handshake} {rest}"), "{kind}");
    }
}

/// A client that sends its messages in this order enters the game, and no message is accepted before its turn.
#[test]
fn each_step_of_the_client_leads_to_the_next_stage() {
    for kind in JoinKind::ALL.iter().filter(|kind| **kind != JoinKind::Challenge) {
        let mut stage = kind.first_stage();
        let steps: Vec<_> = kind
            .steps()
            .filter(|step| step.from == Side::Client && !step.is_control)
            .collect();
        for (index, step) in steps.iter().enumerate() {
            let Some(row) = message(kind.server(), Side::Server, step.name) else {
                assert_eq!(step.name, "client_version", "{kind}");
                continue;
            };
            let MessageVerdict::Acts(next) = row.judge(stage, true) else {
                panic!("{kind}: {} in {stage:?}", step.name);
            };
            assert_eq!(
                row.judge(stage, false),
                MessageVerdict::NeedsVital,
                "{kind}: {}",
                step.name
            );
            for later in steps
                .iter()
                .skip(index + 1)
                .filter(|later| later.is_needed && step.is_needed)
            {
                let row = message(kind.server(), Side::Server, later.name).unwrap();
                // DDNet answers ready in any stage, and stays in it.
                let early = [MessageVerdict::TooEarly, MessageVerdict::AnswersOnly];
                let is_early = early.contains(&row.judge(stage, true));
                assert!(
                    is_early || row.after == Some(step.name),
                    "{kind}: {} before {}",
                    later.name,
                    step.name
                );
            }
            stage = next;
        }
    }
}
