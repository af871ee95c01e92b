use teetap_inspect::joins::Ended as JoinEnd;
use teetap_wire::{Proto, receiver::JoinKind};

use super::*;

pub(in crate::torture) fn join(begin: u64, end: u64, outcome: JoinOutcome, ended: JoinEnd) -> Arc<Join> {
    Arc::new(Join {
        session: SessionId(1),
        kind: JoinKind::Ddnet,
        begin: Time(begin * 1000),
        end: Time(end * 1000),
        outcome,
        steps: Vec::new(),
        stalls: 0,
        is_by_loss: false,
        is_resent: false,
        ended,
        after: None,
        acked: None,
        awaited: Some(("con_ready", Side::Server)),
        misstep: None,
        kept: false,
        note: None,
        cause: None,
        parts: None,
        blamed: None,
    })
}

/// Returns the end of a join that the end of the run closed.
pub(in crate::torture) fn stopped() -> JoinEnd {
    JoinEnd::Closed {
        by: None,
        reason: Some(STOPPED.to_owned()),
    }
}

fn watched(joins: &[Arc<Join>]) -> Watched {
    let mut watched = Watched::default();
    joins.iter().for_each(|join| watched.join(join));
    watched
}

#[test]
fn a_client_has_joined_if_one_of_its_joins_entered_the_game() {
    // The client tried again after a first session.
    let twice = watched(&[
        join(250, 500, JoinOutcome::NeverEntered, stopped()),
        join(1000, 1500, JoinOutcome::Entered, JoinEnd::Entered),
    ]);
    assert_eq!(twice.joined(), Some(Duration::from_millis(1250)));
    assert!(!twice.is_never_online());
    let never = watched(&[join(250, 500, JoinOutcome::NeverOnline, stopped())]);
    assert_eq!(
        (never.joined(), never.why().as_deref()),
        (None, Some("the server never sent con_ready"))
    );
    assert!(never.is_never_online());
    let interrupted = watched(&[join(0, 2000, JoinOutcome::Interrupted, JoinEnd::Open)]);
    assert_eq!(interrupted.joined(), None);
    assert_eq!(watched(&[]).joined(), None);
}

#[test]
fn the_end_of_a_client_counts_only_if_it_ended_by_itself() {
    let code = |code, is_stopped| {
        let client = child::End {
            is_stopped,
            ..child::End::with(code)
        };
        Watched {
            end: Some(End::new(Cause::Client, client, None)),
            ..Watched::default()
        }
        .code()
    };
    assert_eq!(code(139, false), Some(139));
    assert_eq!(code(0, false), Some(0));
    assert_eq!(code(143, true), None);
    assert_eq!((watched(&[]).code(), watched(&[]).cause()), (None, None));
}

#[test]
fn only_grave_findings_about_the_client_are_kept() {
    use Severity::{Error, Info, Warning};
    for (code, by, role, severity, is_kept) in [
        ("ack-ahead", Culprit::Client, Role::Fault, Error, true),
        ("resend-storm", Culprit::Client, Role::Fault, Warning, true),
        ("never-entered", Culprit::Client, Role::Fault, Error, false),
        ("ack-ahead", Culprit::Server, Role::Fault, Error, false),
        ("late-reply", Culprit::Client, Role::Network, Warning, false),
        ("odd", Culprit::Client, Role::Fault, Info, false),
    ] {
        assert_eq!(is_grave(code, by, role, severity), is_kept, "{code} {by:?}");
    }
}

#[test]
fn a_flood_of_joins_is_bounded() {
    let mut flooded = Watched::default();
    for begin in 0..10 * JOINS as u64 {
        flooded.join(&join(begin, begin, JoinOutcome::NeverOnline, JoinEnd::Open));
    }
    assert_eq!(flooded.joins.len(), JOINS, "joins that are kept");
}

#[test]
fn a_join_without_a_reason_names_the_awaited_message() {
    let why = |outcome, ended| watched(&[join(0, 1, outcome, ended)]).why();
    assert_eq!(
        why(JoinOutcome::Interrupted, JoinEnd::Open).as_deref(),
        Some("the run ended before con_ready from the server")
    );
    assert_eq!(why(JoinOutcome::Entered, JoinEnd::Entered), None);
}

#[test]
fn a_client_that_was_refused_sent_something() {
    let has_client = |refused: u64| {
        let mut ended = Ended::default();
        ended.stats.refused = refused;
        let end = End::new(Cause::Timeout, child::End::default(), Some(&ended));
        let watched = Watched {
            end: Some(end),
            ..Watched::default()
        };
        watched.has_client()
    };
    assert_eq!([has_client(0), has_client(1)], [false, true]);
    let mut opened = Watched::default();
    opened.change(&change(State::Opening, None, None));
    assert!(opened.has_client(), "a session was opened");
}

pub(in crate::torture) fn change(state: State, by: Option<Side>, reason: Option<&str>) -> SessionChange {
    SessionChange {
        state,
        proto: Proto::Ddnet,
        client: ([127, 0, 0, 1], 5000).into(),
        server: None,
        upstream: None,
        by,
        reason: reason.map(|reason| reason.as_bytes().into()),
    }
}

#[test]
fn only_a_refusal_of_the_server_is_a_limit() {
    let limit = |by| {
        let mut refused = Watched::default();
        refused.change(&change(State::Closing, Some(by), Some("This server is full")));
        refused.limit().map(|limit| limit.why)
    };
    assert_eq!(limit(Side::Server), Some("the server is full"));
    assert_eq!(limit(Side::Client), None);
}

/// A message of session 1: direction, name, true if a rule holds it, and its sender.
type Placed = (Dir, &'static str, bool, Origin);

#[test]
fn a_held_message_is_overtaken_by_another_one_of_its_direction_before_its_release() {
    let held = (Dir::S2c, "con_ready", true, Origin::Peer);
    let released = (Dir::S2c, "con_ready", false, Origin::Rule);
    let resent = (Dir::S2c, "con_ready", false, Origin::Peer);
    let other = (Dir::S2c, "sv_motd", false, Origin::Peer);
    let back = (Dir::C2s, "input", false, Origin::Peer);
    let is_overtaken = |messages: &[Placed]| {
        let mut watched = Watched::default();
        for (dir, name, is_held, origin) in messages {
            let place = (Some(SessionId(1)), *dir);
            watched.order(place, Some(name), (false, *is_held, *origin));
        }
        watched.is_overtaken
    };
    assert!(is_overtaken(&[held, other, released]));
    assert!(!is_overtaken(&[other, held, back, released, other]));
    assert!(!is_overtaken(&[held, resent, released]));
}

/// Control messages have no place in the order, and other sessions have an order of their own.
#[test]
fn only_a_message_of_the_same_order_overtakes() {
    let of = |session, dir, name, is_control| {
        let mut watched = Watched::default();
        let held = (Some(SessionId(1)), Dir::S2c);
        watched.order(held, Some("con_ready"), (false, true, Origin::Peer));
        watched.order((session, dir), Some(name), (is_control, false, Origin::Peer));
        watched.is_overtaken
    };
    let [own, other] = [1, 2].map(|number| Some(SessionId(number)));
    assert!(of(own, Dir::S2c, "sv_motd", false));
    assert!(!of(own, Dir::S2c, "keepalive", true));
    assert!(!of(own, Dir::C2s, "input", false));
    assert!(!of(other, Dir::S2c, "sv_motd", false));
    assert!(!of(own, Dir::S2c, "con_ready", false));
}

/// The reader knows that the run was stopped, but not why another side closed the session.
#[test]
fn the_end_of_the_run_is_no_reason() {
    let why = |reason: &str| {
        let ended = JoinEnd::Closed {
            by: None,
            reason: Some(reason.to_owned()),
        };
        watched(&[join(0, 1, JoinOutcome::NeverEntered, ended)])
            .why()
            .unwrap()
    };
    assert_eq!(why(STOPPED), "the server never sent con_ready");
    assert_eq!(why("kick"), "the server never sent con_ready; closed \"kick\"");
}

/// A server that refuses a client which then joins has not limited it. A server may name its limit more than once.
#[test]
fn the_first_refusal_is_the_limit_unless_the_client_joins() {
    let mut refused = Watched::default();
    for reason in [
        "Wrong password",
        "Too many connections in a short time",
        "This server is full",
    ] {
        refused.change(&change(State::Closing, Some(Side::Server), Some(reason)));
    }
    let why = refused.limit().map(|limit| (limit.why, limit.is_rate));
    let text = "too many connections were made from this address in a short time";
    assert_eq!(why, Some((text, true)));
    refused.join(&join(0, 1, JoinOutcome::NeverEntered, stopped()));
    assert!(refused.limit().is_some());
    refused.join(&join(0, 1, JoinOutcome::Entered, JoinEnd::Entered));
    assert_eq!(refused.limit(), None);
}

/// What the last events and the end of the client show overrides what was seen first, unless the matrix was stopped or
/// the data thread crashed.
#[test]
fn a_run_that_ended_just_before_its_timeout_did_not_time_out() {
    use Cause::{Client, Crash, Message, Stopped, Timeout};
    for has_ending in [false, true] {
        for is_stopped in [false, true] {
            let of_timeout = match (has_ending, is_stopped) {
                (true, _) => Message,
                (false, false) => Client,
                (false, true) => Timeout,
            };
            let of_client = if has_ending { Message } else { Client };
            for (cause, has_crashed, expected) in [
                (Timeout, false, of_timeout),
                (Client, false, of_client),
                (Message, false, Message),
                (Stopped, false, Stopped),
                (Crash, false, Crash),
                (Timeout, true, Crash),
                (Client, true, Crash),
                (Message, true, Crash),
                (Stopped, true, Stopped),
                (Crash, true, Crash),
            ] {
                assert_eq!(
                    cause.confirmed(has_ending, is_stopped, has_crashed),
                    expected,
                    "{cause:?} {has_ending} {is_stopped} {has_crashed}"
                );
            }
        }
    }
}
