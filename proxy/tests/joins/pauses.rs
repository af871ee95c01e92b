//! `pause`: messages that wait for a command, the commands about held messages, and the traffic on both legs
//! meanwhile.

use std::num::NonZeroU32;
use std::time::Duration;

use teetap_kit::{codec::Variant, link::SECOND, rules::compiled};
use teetap_proxy::session::{Command, HeldId, HeldMessage, Input, Notice, ReleaseReason, SessionId};
use teetap_rules::{Fate, Order};
use teetap_wire::Dir;

use crate::bench::{Bench, fate, on_each_kind, with_rules};
use crate::facts::{message, set, text};
use crate::stage::{Pair, Stage};

const SESSION: SessionId = SessionId(1);

fn pause(seconds: u64, order: Order) -> Fate {
    let max = Duration::from_secs(seconds);
    Fate::Pause { max, order }
}

fn id(number: u32) -> HeldId {
    HeldId(NonZeroU32::new(number).unwrap())
}

fn drop_one(number: u32) -> Command {
    Command::Drop {
        session: SESSION,
        dir: Dir::S2c,
        held: id(number),
    }
}

fn edit(number: u32, data: &str) -> Command {
    Command::Edit {
        session: SESSION,
        dir: Dir::S2c,
        held: id(number),
        data: data.as_bytes().into(),
    }
}

/// Returns the held messages as a command lists them.
fn list(bench: &mut Bench) -> Vec<HeldMessage> {
    let session = Some(SESSION);
    assert_eq!(bench.command(Command::List { session }), [""; 0]);
    let answer = bench.answers.last().unwrap();
    answer.held.clone().unwrap().into()
}

fn texts(list: &[HeldMessage]) -> Vec<(u32, &str, bool)> {
    let text = |waiting: &HeldMessage| str::from_utf8(&waiting.data).unwrap().to_owned().leak() as &str;
    list.iter()
        .map(|waiting| (waiting.held.0.get(), text(waiting), waiting.edited))
        .collect()
}

fn released(number: u32, why: ReleaseReason, edited: bool) -> Notice {
    let (dir, held) = (Dir::S2c, id(number).0);
    Notice::Released {
        dir,
        held,
        why,
        edited,
    }
}

/// Removes all notices and returns those about held messages.
fn waits(bench: &mut Bench) -> Vec<Notice> {
    let is_wait = |notice: &Notice| matches!(notice, Notice::Held { .. } | Notice::Released { .. });
    let notices = std::mem::take(&mut bench.notices);
    notices.into_iter().filter(is_wait).collect()
}

#[test]
fn a_paused_message_goes_by_itself_with_a_notice() {
    with_rules(&vec![fate("p", pause(30, Order::Kept))], |bench| {
        bench.is("S a1 1:p", &["C a1 keepalive"]);
        bench.is("C a0 keepalive", &["S a1 keepalive"]);
        let max = Duration::from_secs(30);
        let (dir, held, rule) = (Dir::S2c, id(1).0, Box::default());
        assert_eq!(waits(bench), [Notice::Held { dir, held, rule, max }]);
        bench.after(29_000, &[]);
        bench.after(1_500, &["1000: C a1 1:p"]);
        assert_eq!(waits(bench), [released(1, ReleaseReason::Timeout, false)]);
    });
}

#[test]
fn later_messages_wait_or_overtake() {
    with_rules(&vec![fate("p", pause(30, Order::Kept))], |bench| {
        bench.is("S a1 1:p 2:a -:n", &["C a1 -:n"]);
        bench.is("C a0 keepalive", &["S a2 keepalive"]);
        assert_eq!(bench.release_one(id(1)), ["C a1 1:p 2:a"]);
        assert_eq!(bench.release_one(id(1)), [""; 0]);
        assert_eq!(bench.results(), [Ok(()), Err("the message is not held")]);
        assert_eq!(
            waits(bench).last(),
            Some(&released(1, ReleaseReason::Released, false))
        );
    });
    with_rules(&vec![fate("p", pause(30, Order::Free))], |bench| {
        bench.is("S a1 1:p 2:a -:p", &["C a1 1:a"]);
        bench.is("C a1 keepalive", &["S a2 keepalive"]);
        assert_eq!(bench.release_one(id(2)), ["C a1 -:p"]);
        assert_eq!(bench.release_one(id(1)), ["C a1 2:p"]);
    });
}

#[test]
fn held_messages_are_listed_edited_and_dropped() {
    let script = vec![
        fate("p", pause(30, Order::Kept)),
        fate("f", pause(20, Order::Free)),
        fate("r", Fate::Reorder { group: 3, after: 1 }),
    ];
    with_rules(&script, |bench| {
        bench.is("S a1 1:p 2:a 3:f 4:r 5:b", &["C a1 keepalive"]);
        bench.is("C a0 keepalive", &["S a5 keepalive"]);
        let listed = list(bench);
        assert_eq!(
            texts(&listed),
            [
                (1, "p", false),
                (2, "a", false),
                (3, "f", false),
                (4, "r", false),
                (5, "b", false)
            ]
        );
        let times: Vec<_> = listed
            .iter()
            .map(|waiting| waiting.until.map(|at| at.since(listed[0].until.unwrap())))
            .collect();
        assert_eq!(times[0], Some(Duration::ZERO));
        assert_eq!((times[1], times[4]), (None, None));
        assert!(listed[2].until < listed[0].until);
        assert!(
            listed
                .iter()
                .all(|waiting| waiting.vital && waiting.dir == Dir::S2c)
        );
        waits(bench);
        // An edited message stays held; dropping the first message releases the messages that waited behind
        // it.
        assert_eq!(bench.command(edit(2, "A")), [""; 0]);
        assert_eq!(bench.command(edit(3, "longer than before")), [""; 0]);
        assert_eq!(bench.command(edit(3, "")), [""; 0]);
        assert_eq!(bench.command(edit(3, &"x".repeat(2000))), [""; 0]);
        assert_eq!(bench.command(edit(9, "x")), [""; 0]);
        assert_eq!(texts(&list(bench))[1], (2, "A", true));
        assert_eq!(waits(bench), []);
        assert_eq!(bench.command(drop_one(1)), ["C a1 1:A 2:b"]);
        assert_eq!(
            waits(bench),
            [
                released(1, ReleaseReason::Dropped, false),
                released(2, ReleaseReason::Released, true)
            ]
        );
        assert_eq!(bench.command(drop_one(1)), [""; 0]);
        assert_eq!(bench.command(drop_one(4)), [""; 0]);
        bench.is("C a2 keepalive", &["S a5 keepalive"]);
        bench.after(20_500, &["20000: C a1 3:longer than before"]);
        assert_eq!(
            waits(bench),
            [
                released(4, ReleaseReason::Dropped, false),
                released(3, ReleaseReason::Timeout, true)
            ]
        );
        assert_eq!(list(bench), []);
        let refused: Vec<_> = bench.results().into_iter().filter_map(Result::err).collect();
        assert_eq!(
            refused,
            [
                "the message is empty",
                "the message is too large for a chunk",
                "the message is not held",
                "the message is not held"
            ]
        );
    });
}

#[test]
fn a_hold_that_gives_up_is_reported() {
    let hold = Fate::Hold {
        key: 7,
        max: Duration::from_secs(5),
        order: Order::Kept,
    };
    with_rules(&vec![fate("h", hold)], |bench| {
        bench.is("S a1 1:h", &["C a1 keepalive"]);
        bench.after(5_500, &["5000: C a1 1:h"]);
        assert_eq!(waits(bench), [released(1, ReleaseReason::Timeout, false)]);
        bench.is("C a1 keepalive", &["S a1 keepalive"]);
        bench.is("S a1 2:h", &["C a1 keepalive"]);
        assert_eq!(bench.release(7), ["C a1 2:h"]);
        assert_eq!(waits(bench), []);
    });
}

#[test]
fn a_list_names_rules_and_sessions() {
    on_each_kind(|bench| {
        set(bench, "chat: pause max 5s when s2c and sv_motd");
        let motd = message(bench, "sv_motd", &[("message", text("hi"))]);
        bench.is(&format!("S a1 1{motd} 2:=16"), &["C a1 keepalive"]);
        let all = Command::List { session: None };
        bench.command(all);
        let listed = bench.answers.last().unwrap().held.clone().unwrap();
        let rules: Vec<_> = listed.iter().map(|waiting| waiting.rule.as_deref()).collect();
        assert_eq!(rules, [Some("chat"), None]);
        let held = bench.notices.iter().find_map(|notice| match notice {
            Notice::Held { rule, .. } => Some(&**rule),
            _ => None,
        });
        assert_eq!(held, Some("chat"));
        let session = Some(SessionId(7));
        bench.command(Command::List { session });
        assert_eq!(bench.answers.last().unwrap().held, None);
        assert_eq!(bench.results().last(), Some(&Err("there is no such session")));
        // Without the rule the message is still held, and its rule is still known.
        bench.set(None);
        bench.command(Command::List { session: None });
        let listed = bench.answers.last().unwrap().held.clone().unwrap();
        assert_eq!(listed[0].rule.as_deref(), Some("chat"));
    });
}

#[test]
fn nothing_is_done_in_a_closed_session() {
    with_rules(&vec![fate("p", pause(30, Order::Kept))], |bench| {
        bench.is("S a1 1:p", &["C a1 keepalive"]);
        bench.send("S a1 close bye");
        let release = Command::ReleaseOne {
            session: SESSION,
            dir: Dir::S2c,
            held: id(1),
        };
        for command in [release, drop_one(1), edit(1, "x")] {
            assert_eq!(bench.command(command), [""; 0]);
            assert_eq!(bench.results().last(), Some(&Err("the session is not online")));
        }
        assert_eq!(list(bench), []);
    });
}

/// Both peers stay although none of their messages arrive: keepalives with current acks keep both legs alive.
#[test]
fn no_leg_times_out_in_a_pause_of_25_seconds() {
    for pair in Pair::ALL {
        let mut stage = Stage::joined(pair, 2);
        let program = compiled("pause max 25s when vital").unwrap();
        stage.world.input(Input::Program(Some(program)));
        // DDNet's peers have a longer timeout than others.
        if [pair.client, pair.server].contains(&Variant::Ddnet) {
            stage.client().options.patience = Some(10 * SECOND);
            stage.slot().options.patience = Some(10 * SECOND);
        }
        let [up, down] = stage.say();
        stage.run(2 * SECOND);
        // The messages are acked, although not delivered.
        let unacked = (stage.client().unacked(), stage.slot().unacked());
        stage.equal(unacked, (0, 0), "unacked in the pause");
        stage.run(22 * SECOND);
        let has = |stage: &mut Stage, up: &[u8], down: &[u8]| {
            (
                crate::stage::has(stage.slot(), up),
                crate::stage::has(stage.client(), down),
            )
        };
        let during = has(&mut stage, &up, &down);
        stage.equal(during, (false, false), "arrived in the pause");
        stage.run(3 * SECOND);
        let after = has(&mut stage, &up, &down);
        stage.equal(after, (true, true), "arrived after the pause");
        stage.world.input(Input::Program(None));
        stage.assert_plays();
    }
}
