//! Matches, non-matches, and unknown results.

use teetap_rules::Filter;
use teetap_rules::eval::{Flag, Identity};
use teetap_wire::def::{Class, Datum, Registry};
use teetap_wire::{Code, Dir, Proto};

use crate::subject::{Case, Evaluated, Snap};

const YES: Option<bool> = Some(true);
const NO: Option<bool> = Some(false);

fn chat(message: &str) -> Case {
    let fields = [
        ("team", Datum::Int(0)),
        ("client_id", Datum::Int(3)),
        ("message", message.into()),
    ];
    let mut case = Case::new(Proto::Ddnet, "sv_chat", &fields);
    case.flags = vec![Flag::Vital];
    case.seq = Some(1015);
    case
}

fn chat7() -> Case {
    let fields = [
        ("mode", Datum::Int(1)),
        ("client_id", Datum::Int(3)),
        ("message", "foo".into()),
    ];
    Case::new(Proto::V7, "sv_chat", &fields)
}

#[track_caller]
fn check(case: &Case, table: &[(&str, Option<bool>)]) {
    for (text, wanted) in table {
        assert_eq!(case.value(text), *wanted, "{text}");
    }
}

#[test]
fn fields_of_a_message() {
    check(
        &chat("what a foo"),
        &[
            ("s2c && sv_chat && .team == 0 && .message contains \"foo\"", YES),
            ("sv_chat.team == red", YES),
            ("red == sv_chat.team", YES),
            ("sv_chat.team != red", NO),
            ("3 > sv_chat.client_id", NO),
            ("3 >= sv_chat.client_id", YES),
            ("sv_chat.client_id in {1 3..5}", YES),
            ("sv_chat.client_id in {1 4..5}", NO),
            ("sv_chat.message in {\"x\" \"what a foo\"}", YES),
            ("sv_chat.message matches /^what.*o$/", YES),
            ("sv_chat.message matches /(?-u)\\xff/", NO),
            ("sv_chat.message == \"what a Foo\"", NO),
            ("sv_chat.message contains sess.name", NO),
            ("len(sv_chat.message) == 10", YES),
            (
                "sv_chat.client_id * 2 + 1 == 7 and sv_chat.client_id % 2 == 1 and -sv_chat.client_id < -2",
                YES,
            ),
            ("sv_chat.client_id * 4000000000 * 4000000000 > 0", None),
            ("6 / sv_chat.team > 0", None),
            ("\"a fo\"", YES),
            ("\"nobody\"", NO),
            ("/wh[aA]t/", YES),
            ("game.3 and game and not sys", YES),
            ("sys.3", NO),
            ("sys.3 or game.3.client_id == 3", YES),
            ("has(.message) and not has(.mode)", YES),
        ],
    );
}

#[test]
fn tunings_are_hundredths() {
    let case = Case::new(Proto::V6, "sv_tune_params", &[("gravity", Datum::Int(50))]);
    check(
        &case,
        &[
            ("sv_tune_params.gravity == 0.5", YES),
            ("sv_tune_params.gravity == 50", NO),
            ("sv_tune_params.gravity in {0.25..0.75}", YES),
            ("sv_tune_params.gravity < 0.51", YES),
        ],
    );
}

#[test]
fn unknown_stays_unknown() {
    check(
        &chat7(),
        &[
            ("sv_chat.team == red", None),
            ("not sv_chat.team == red", None),
            ("not not sv_chat.team == red", None),
            ("sv_chat.team == red or s2c", YES),
            ("sv_chat.team == red and c2s", NO),
            ("sv_chat.team == red and s2c", None),
            ("not (sv_chat.team == red and c2s)", YES),
            ("has(sv_chat.team)", NO),
            ("not has(sv_chat.team)", YES),
            ("cl_say.message == \"x\" or not cl_say.message == \"x\"", None),
            ("sv_chat.mode == all", YES),
            ("sess.rtt > 5ms", None),
            ("pkt.seq == 1", None),
            ("snap.crc_ok", None),
            ("not snap.crc_ok", None),
            ("any(snap.character.x > 5)", None),
            ("since(enter_game) > 1s", None),
            ("last(sv_chat).message == \"x\"", None),
        ],
    );
}

#[test]
fn packet_and_session() {
    let mut case = chat("x");
    case.lints = vec![Code::OverlongInt];
    case.time = 31_000_000;
    check(
        &case,
        &[
            ("vital and not resend and pkt.seq in {1010..1023 0..5}", YES),
            (
                "pkt.size > 99 and pkt.size < 1kB and pkt.ack == 7 and pkt.chunks == 1",
                YES,
            ),
            (
                "sess.id == 2 and sess.name == \"nameless tee\" and sess.name contains \"tee\"",
                YES,
            ),
            ("sess.state == online and sess.state != closed", YES),
            (
                "sess.proto == ddnet and sess.proto in {ddnet \"0.7\"} and not sess.proto == 0.6",
                YES,
            ),
            ("lint and lint.overlong-int and not lint.not-vital", YES),
            ("t > 30s and t < 31.5s and t / 1s == 31", YES),
            ("n == 1", YES),
            ("n == 2", NO),
            (
                "frame == 12 and frame in 10..20 and frame in {3 12} and 13 > frame",
                YES,
            ),
            ("frame in 13..20 or frame % 2 == 1", NO),
            ("unknown or malformed or compressed", NO),
        ],
    );
}

#[test]
fn flags_of_the_header_and_the_address_of_the_client() {
    check(
        &chat("x"),
        &[
            (
                "pkt.flags contains resend and pkt.flags contains compression",
                YES,
            ),
            ("pkt.flags contains control or pkt.flags == resend", NO),
            ("pkt.flags != control and not pkt.flags in {control resend}", YES),
            ("pkt.resend", YES),
            ("pkt.resend == no", NO),
            (
                r#"sess.client == "127.0.0.1:52000" and sess.client contains ":52""#,
                YES,
            ),
            ("sess.client matches /^10\\./", NO),
            ("len(sess.client) == 15 and len(sess.name) == 12", YES),
        ],
    );
}

#[test]
fn a_datagram_without_a_message_has_a_direction_a_packet_a_session_and_notes() {
    let mut case = chat("x");
    (case.def, case.class, case.id) = (None, None, Identity::Other);
    (case.data, case.flags, case.seq) = (Vec::new(), vec![Flag::Malformed, Flag::Compressed], None);
    case.lints = vec![Code::BadHuffman];
    check(
        &case,
        &[
            ("lint and lint.bad_huffman and malformed and compressed", YES),
            ("s2c and pkt.size == 100 and sess.id == 2 and pkt.resend", YES),
            ("ctrl or sys or game or connless or any_snap", NO),
            ("sv_chat or game.3 or sys.4 or unknown or vital or resend", NO),
            ("\"x\" or /./", NO),
            ("not sv_chat and not input", YES),
            ("sv_chat.message == \"x\"", None),
            ("pkt.seq == 1", None),
            ("seen(sv_chat) or count(sv_chat) > 0", NO),
            ("n == 1", YES),
        ],
    );
}

#[test]
fn messages_without_a_definition() {
    let mut case = chat("x");
    (case.def, case.id, case.data) = (None, Identity::Number(99), b"\xc7\x01some foo\0".to_vec());
    check(
        &case,
        &[
            ("unknown and game.99", YES),
            ("game.98", NO),
            ("\"foo\"", YES),
            ("/o+/", YES),
            ("sv_chat", NO),
            (".message contains \"foo\"", None),
            ("not unknown", NO),
        ],
    );
    let uuid = "12810e1f-a1db-3378-b4fb-164ed6505926";
    case.id = Identity::Uuid(0x1281_0e1f_a1db_3378_b4fb_164e_d650_5926u128.to_be_bytes());
    case.class = Some(Class::System);
    check(
        &case,
        &[
            (&*format!("sys.ex.{uuid}"), YES),
            (&*format!("game.ex.{uuid}"), NO),
        ],
    );
}

#[test]
fn lists() {
    let names = ["body", "", "deco", "hands", "feet", "eyes"].map(Datum::from);
    let ints = |value| Datum::List(vec![Datum::Int(value); 6]);
    let fields = [
        ("name", "tee".into()),
        ("skin_part_names", Datum::List(names.to_vec())),
        ("use_custom_colors", ints(1)),
        ("skin_part_colors", ints(255)),
    ];
    check(
        &Case::new(Proto::V7, "cl_start_info", &fields),
        &[
            ("any(cl_start_info.skin_part_names == \"deco\")", YES),
            ("any(.skin_part_names == \"decor\")", NO),
            ("all(cl_start_info.skin_part_names contains \"e\")", NO),
            ("all(cl_start_info.use_custom_colors)", YES),
            ("all(.skin_part_colors > 3 and .skin_part_colors < 256)", YES),
            ("cl_start_info.skin_part_names[2] == \"deco\"", YES),
            ("len(cl_start_info.skin_part_names) == 6", YES),
            ("not any(.skin_part_colors == 254)", YES),
        ],
    );
    check(&chat7(), &[("any(cl_start_info.skin_part_names == \"x\")", None)]);
}

/// An element for which the condition is unknown leaves the result unknown, unless another element decides it.
#[test]
fn an_unknown_element_does_not_count_as_decided() {
    let colors = [0, 2, 4, 2, 2, 2].map(Datum::Int);
    let fields = [
        ("name", "tee".into()),
        ("skin_part_colors", Datum::List(colors.to_vec())),
    ];
    check(
        &Case::new(Proto::V7, "cl_start_info", &fields),
        &[
            // 4 divided by the first element is unknown, by the others 2, 1, 2 and so on.
            ("all(4 / .skin_part_colors > 0)", None),
            ("not all(4 / .skin_part_colors > 0)", None),
            ("all(4 / .skin_part_colors > 1)", NO),
            ("any(4 / .skin_part_colors > 2)", None),
            ("not any(4 / .skin_part_colors > 2)", None),
            ("any(4 / .skin_part_colors == 1)", YES),
            ("all(.skin_part_colors >= 0) and any(.skin_part_colors == 4)", YES),
        ],
    );
}

#[test]
fn snapshots() {
    let registry = Registry::builtin();
    let character = registry
        .named(Proto::V6, Some(Class::Object), "character")
        .next()
        .unwrap();
    let at = |x: i32| {
        let mut ints = vec![0; usize::from(character.size.unwrap().full)];
        ints[1] = x;
        ints
    };
    let mut case = Case::new(Proto::V6, "snap_empty", &[]);
    let items = vec![(character, 3, at(20_000)), (character, 5, at(10))];
    case.snap = Some(Snap { crc_ok: false, items });
    check(
        &case,
        &[
            ("snap.character[3].x > 320 * 32", YES),
            ("snap.character[5].x > 320 * 32", NO),
            ("snap.character[4].x > 320 * 32", None),
            ("any(snap.character.x > 320 * 32)", YES),
            ("any(snap.character.x > 320 * 320)", NO),
            ("all(snap.character.x >= 10)", YES),
            ("all(snap.character.x > 10)", NO),
            ("all(snap.flag.x > 10)", None),
            ("any(snap.flag.x > 10)", NO),
            (
                "has(snap.character[3]) and has(snap.character) and not has(snap.flag[0])",
                YES,
            ),
            ("any_snap and not snap.crc_ok and snap.tick == 50", YES),
        ],
    );
}

fn run(text: &str, cases: &[Case]) -> Vec<Option<bool>> {
    let (filter, _) = Filter::parse(text, Registry::builtin()).unwrap();
    let mut memory = filter.memory();
    cases
        .iter()
        .map(|case| filter.matches(&Evaluated::new(case), &mut memory))
        .collect()
}

#[test]
fn what_is_remembered() {
    let enter = || {
        let mut case = Case::new(Proto::Ddnet, "enter_game", &[]);
        case.time = 1_000_000;
        case
    };
    let later = |message: &str, time| {
        let mut case = chat(message);
        case.time = time;
        case
    };
    let cases = [
        later("a", 0),
        enter(),
        later("b", 3_000_000),
        later("b", 9_000_000),
        later("c", 9_000_000),
    ];
    assert_eq!(run("seen(enter_game)", &cases), [NO, YES, YES, YES, YES]);
    assert_eq!(run("count(sv_chat) == 2", &cases), [NO, NO, YES, NO, NO]);
    assert_eq!(
        run("count(any_snap) == 0 and count(game) > 1", &cases),
        [NO, NO, YES, YES, YES]
    );
    assert_eq!(run("since(enter_game) == 2s", &cases), [None, NO, YES, NO, NO]);
    assert_eq!(run("since(enter_game) > 5s", &cases), [None, NO, NO, YES, YES]);
    assert_eq!(
        run("last(sv_chat).message == sv_chat.message", &cases),
        [None, NO, NO, YES, NO]
    );
    assert_eq!(
        run("last(sv_chat).message == \"b\"", &cases),
        [None, NO, NO, YES, YES]
    );
    assert_eq!(run("sv_chat and n <= 2", &cases), [YES, NO, YES, NO, NO]);
    let mut again = later("b", 3_000_000);
    again.repeated = true;
    assert_eq!(
        run("count(sv_chat) > 1", &[later("a", 0), again, later("c", 0)]),
        [NO, NO, YES]
    );
}

#[test]
fn memory_stays_as_it_is() {
    let long = "x".repeat(900);
    let (filter, _) = Filter::parse(
        "last(sv_chat).message == \"a\" and count(sv_chat) > 1",
        Registry::builtin(),
    )
    .unwrap();
    let mut memory = filter.memory();
    for _ in 0..1000 {
        filter.matches(&Evaluated::new(&chat(&long)), &mut memory);
    }
    assert!(format!("{memory:?}").len() < 10_000);
    assert!(filter.remembers());
}

#[test]
fn reach_is_small() {
    let reach = |text: &str| {
        let (filter, _) = Filter::parse(text, Registry::builtin()).unwrap();
        let evaluated = |case: &Case| {
            let evaluated = Evaluated::new(case);
            let subject = teetap_rules::Facts::subject(&evaluated);
            filter.reach().message(case.proto, case.dir, &subject)
        };
        let enter = Case::new(Proto::Ddnet, "enter_game", &[]);
        [evaluated(&chat("x")), evaluated(&chat7()), evaluated(&enter)]
    };
    assert_eq!(reach("sv_chat"), [true, true, false]);
    assert_eq!(reach("sv_chat.team == red"), [true, false, false]);
    assert_eq!(reach("c2s and vital"), [false, false, true]);
    assert_eq!(reach("not sv_chat"), [false, false, true]);
    assert_eq!(reach("\"text\""), [true, true, false]);
    assert_eq!(reach(".message contains \"x\" or unknown"), [true, true, false]);
    assert_eq!(reach("snap.tick > 1"), [false, false, false]);
    assert_eq!(reach("seen(sv_chat)"), [true, true, true]);
    let (filter, _) = Filter::parse("sv_chat and s2c", Registry::builtin()).unwrap();
    assert!(filter.reach().dir(Proto::V7, Dir::S2c) && !filter.reach().dir(Proto::V7, Dir::C2s));
}

/// A message with an unknown UUID has the definition of the envelope, so the definition does not decide.
#[test]
fn messages_with_unknown_uuids_are_in_reach() {
    let uuid = "12810e1f-a1db-3378-b4fb-164ed6505926";
    let case = |class, name: Option<&str>| {
        let mut case = chat("x");
        case.class = Some(class);
        case.def = name.map(|name| {
            let mut defs = Registry::builtin().named(Proto::Ddnet, Some(class), name);
            defs.next().unwrap()
        });
        case
    };
    let cases = [
        case(Class::System, Some("ex")),
        case(Class::Game, Some("ex")),
        case(Class::System, None),
        case(Class::Game, None),
        case(Class::Game, Some("sv_chat")),
    ];
    for (text, expected) in [
        (format!("sys.ex.{uuid}"), [true, false, true, false, false]),
        (format!("not sys.ex.{uuid}"), [true; 5]),
        (format!("game.ex.{uuid}"), [false, true, false, true, false]),
        ("sys.0".to_owned(), [true, false, true, false, false]),
        ("not sys.0".to_owned(), [true; 5]),
        ("sys".to_owned(), [true, false, true, false, false]),
        ("not game".to_owned(), [true, false, true, false, false]),
    ] {
        let (filter, _) = Filter::parse(&text, Registry::builtin()).unwrap();
        let found = cases.each_ref().map(|case| {
            let evaluated = Evaluated::new(case);
            let subject = teetap_rules::Facts::subject(&evaluated);
            filter.reach().message(case.proto, case.dir, &subject)
        });
        assert_eq!(found, expected, "{text}");
    }
}

/// The age of a session, its player and its round trips depend on messages before the current one, which memories
/// (`seen`, `count`, `since`) record by themselves.
#[test]
fn facts_of_the_whole_session_need_its_history() {
    for (text, needs) in [
        ("t > 5s", true),
        ("5s < t", true),
        ("t + 1s > 5s", true),
        ("1s + t > 5s", true),
        ("1s + (2s - t) > 5s", true),
        ("-t < 5s", true),
        ("t in {1s..5s}", true),
        ("not t > 5s", true),
        ("c2s and (vital or t > 5s)", true),
        ("sess.name == \"x\"", true),
        ("\"x\" == sess.name", true),
        ("sv_chat.message contains sess.name", true),
        ("len(sess.name) > 1", true),
        ("1 + len(sess.name) > 1", true),
        ("sess.rtt > 5ms", true),
        ("c2s and vital", false),
        ("sv_chat.team + 1 > 1 + 2", false),
        ("-sv_chat.team > 1", false),
        ("len(sv_chat.message) > 1", false),
        ("sv_chat.message contains \"x\"", false),
        ("sess.id == 1", false),
        ("pkt.size > 1 and n > 3", false),
        (
            "since(sv_chat) > 5s or seen(sv_chat) or count(sv_chat) > 1",
            false,
        ),
    ] {
        match Filter::parse(text, Registry::builtin()) {
            Ok((filter, _)) => assert_eq!(filter.needs_history(), needs, "{text}"),
            Err(errors) => panic!("{text}: {errors:?}"),
        }
    }
}
