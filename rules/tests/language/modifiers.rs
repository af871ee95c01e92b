//! Tests of modifiers, which select the matches on which a rule acts.

use teetap_rules::{Decide, Interest, Opening, Program, Shared};
use teetap_wire::def::Datum;
use teetap_wire::{Dir, Proto};

use crate::stage::{OPENING, decide, first_copy, message, program, say, wrong};

/// Converts seconds after the opening to a time in microseconds.
fn second(number: u64) -> u64 {
    OPENING.at + number * 1_000_000
}

/// Returns `x` for each message on which a rule acted, otherwise `.`.
fn marks(state: &mut dyn Decide, messages: impl IntoIterator<Item = (u64, (Dir, Vec<u8>))>) -> String {
    let mark = |(at, message)| {
        let verdict = decide(state, &message, at);
        if verdict.rules.is_empty() { '.' } else { 'x' }
    };
    messages.into_iter().map(mark).collect()
}

/// Returns one message per second.
fn each_second(texts: &str) -> Vec<(u64, (Dir, Vec<u8>))> {
    let message = |(at, text): (u64, char)| (second(at), say(&text.to_string()));
    (0..).zip(texts.chars()).map(message).collect()
}

fn of(source: &str, texts: &str) -> String {
    marks(&mut *program(source).open(OPENING, None), each_second(texts))
}

#[test]
fn counts_choose_among_the_matches() {
    for (modifiers, texts, expected) in [
        ("", "aaaaaa", "xxxxxx"),
        ("every 3", "aaaaaaa", "..x..x."),
        ("every 1", "aaa", "xxx"),
        ("skip 2", "aaaaa", "..xxx"),
        ("first 2", "aaaaa", "xx..."),
        ("once", "aaa", "x.."),
        ("skip 1 every 2 first 2", "aaaaaaaaa", "..x.x...."),
        ("every 3 skip 2", "aaaaaaaaaaa", "....x..x..x"),
        ("chance 0%", "aaa", "..."),
        ("per session once", "aaa", "x.."),
        // Only matches are counted.
        ("every 2", "babaabb", "...x..."),
        ("skip 1", "bbaba", "....x"),
        // The messages are one second apart.
        ("every 2s", "aaaaa", "x.x.x"),
        ("every 2500ms", "aaaaaaa", "x..x..x"),
        ("max 2 per 4s", "aaaaaaaaaa", "xx..xx..xx"),
        ("max 1 per 3s", "abaaaa", "x..x.."),
        ("max 2 per 4s every 2", "aaaaaaaa", ".x.x.x.x"),
    ] {
        let source = format!("drop when cl_say.message == \"a\" {modifiers}");
        assert_eq!(of(&source, texts), expected, "{source}: {texts}");
    }
}

/// `n` counts the matches of the conditions next to it, within the window of the rule.
#[test]
fn n_numbers_the_matches_of_the_other_conditions() {
    for (condition, texts, expected) in [
        ("n == 3", "aaaaa", "..x.."),
        ("n > 3", "aaaaa", "...xx"),
        ("n in {2 4}", "aaaaa", ".x.x."),
        ("(n == 1 or n % 3 == 0) and not n == 6", "aaaaaaaaa", "x.x.....x"),
        ("cl_say.message == \"a\" and n == 3", "abababa", "....x.."),
        ("n == 2 and cl_say.message == \"a\" from 2s", "aaaaa", "...x."),
        ("n == 2 after cl_say.message == \"o\"", "aaoaaa", "....x."),
        // The window has a memory of its own.
        ("vital after cl_say and n == 2", "aaaa", "..xx"),
    ] {
        let source = format!("drop when cl_say and {condition}");
        assert_eq!(of(&source, texts), expected, "{source}: {texts}");
    }
    let mut state = program("log \"{n}\" when cl_say and n > 1").open(OPENING, None);
    marks(&mut *state, each_second("aaa"));
    let texts = state.effects().into_iter().map(|effect| format!("{effect:?}"));
    let texts: Vec<_> = texts
        .map(|text| text.split('"').nth(1).unwrap().to_owned())
        .collect();
    assert_eq!(texts, ["2", "3"]);
    // Each direction is counted separately.
    let mut state = program("drop when (cl_say or sv_chat) and n == 2").open(OPENING, None);
    let chat = (Dir::S2c, message("sv_chat", &[]));
    let both = [say("a"), chat.clone(), chat, say("a"), say("a")].map(|message| (second(0), message));
    assert_eq!(marks(&mut *state, both), "..xx.");
    for condition in [
        "cl_say or n == 3",
        "not (cl_say and n == 3)",
        "sv_chat and (n == 1 or c2s and n == 2)",
    ] {
        let errors = wrong(&format!("drop when {condition}"));
        let what =
            "`n` counts the matches of the conditions that `and` joins to it, and here it has an alternative";
        assert!(errors.len() == 1 && errors[0].ends_with(what), "{errors:?}");
    }
}

#[test]
fn each_direction_has_counts_of_its_own() {
    let chat = (Dir::S2c, message("sv_chat", &[]));
    let both = || {
        [
            say("a"),
            chat.clone(),
            say("a"),
            chat.clone(),
            say("a"),
            chat.clone(),
        ]
    };
    for (modifiers, expected) in [
        ("first 2", "xxxx.."),
        ("skip 2", "....xx"),
        ("every 2", "..xx.."),
        ("every 5s", "xx...."),
        ("max 1 per 5s", "xx...."),
        ("every 2 per global", "..xx.."),
    ] {
        let program = program(&format!("drop when cl_say or sv_chat {modifiers}"));
        let (mut state, mut shared) = (program.open(OPENING, None), program.share(Shared::default()));
        let marks = both().map(|message| {
            let verdict = state.decide(&first_copy(&message, OPENING.at), &mut shared);
            if verdict.rules.is_empty() { '.' } else { 'x' }
        });
        assert_eq!(marks.iter().collect::<String>(), expected, "{modifiers}");
    }
}

#[test]
fn windows_are_open_between_their_ends() {
    for (modifiers, texts, expected) in [
        ("from 2s", "aaaaa", "..xxx"),
        ("to 3s", "aaaaa", "xxx.."),
        ("from 1s to 3s", "aaaaa", ".xx.."),
        ("after 2s until 4s", "aaaaaa", "..xx.."),
        // The messages that open and close a window are not in it.
        ("after cl_say.message == \"o\"", "aaoaoa", "...xxx"),
        ("until cl_say.message == \"c\"", "aacaoa", "xx...."),
        (
            "after cl_say.message == \"o\" until cl_say.message == \"c\"",
            "aoaacao",
            "..xx...",
        ),
        ("after seen(cl_say) until count(cl_say) > 3", "aaaaa", ".xx.."),
        ("after count(cl_say) >= 2 once", "aaaa", "..x."),
    ] {
        let source = format!("drop when cl_say {modifiers}");
        assert_eq!(of(&source, texts), expected, "{source}: {texts}");
    }
    // A message in the other direction opens the window, even before this direction is renumbered.
    let program = program("drop when cl_say after sv_motd");
    let Interest { acts, observes, .. } = program.interest();
    assert!(observes.contains(Proto::Ddnet, Dir::S2c) && !acts.contains(Proto::Ddnet, Dir::S2c));
    let motd = (
        Dir::S2c,
        message("sv_motd", &[("message", Datum::Bytes(b"hi".to_vec()))]),
    );
    let mut state = program.open(OPENING, None);
    assert_eq!(marks(&mut *state, each_second("a")), ".");
    state.observe(&first_copy(&motd, second(1)), &mut Shared::default());
    assert_eq!(marks(&mut *state, each_second("a")), "x");
}

/// Returns the draws of a rule named `dice` for a hundred messages of a session.
fn draws(source: &str, opening: Opening, between: &[(Dir, Vec<u8>)]) -> String {
    let program = program(source);
    let dice = (0..).find(|id| program.rule(teetap_rules::RuleId(*id)) == Some("dice"));
    let dice = teetap_rules::RuleId(dice.unwrap());
    let mut state = program.open(opening, None);
    let mut marks = String::new();
    for number in 0..100 {
        for message in between {
            decide(&mut *state, message, second(number));
        }
        let message = say("x");
        let mut message = first_copy(&message, second(number));
        message.session = opening.session;
        let verdict = state.decide(&message, &mut Shared::default());
        marks.push(if verdict.rules.contains(&dice) { 'x' } else { '.' });
    }
    marks
}

#[test]
fn nothing_beside_a_rule_shifts_its_draws() {
    const DICE: &str = "dice: dup when cl_say chance 30%";
    let alone = draws(DICE, OPENING, &[]);
    let count = alone.matches('x').count();
    assert!((15..45).contains(&count), "{alone}");
    // Rules before and after the rule, which also draw and count.
    let others = "dup when c2s chance 50%\nlose when s2c every 2\n";
    assert_eq!(draws(&format!("{others}{DICE}\n{others}"), OPENING, &[]), alone);
    // Messages that the rule does not match are interspersed with the messages that it matches.
    let motd = (Dir::S2c, message("sv_motd", &[]));
    let emoticon = (Dir::C2s, message("cl_emoticon", &[]));
    let both = [motd, emoticon];
    assert_eq!(draws(DICE, OPENING, &both), alone);
    assert_eq!(draws("dice: dup when c2s chance 30%", OPENING, &both), alone);
    // If an earlier rule hides some of the messages, the decisions about the others are unchanged.
    let hidden = draws(&format!("pass when cl_say every 2\n{DICE}"), OPENING, &[]);
    let half = |(at, mark)| if at % 2 == 1 { '.' } else { mark };
    assert_eq!(hidden, alone.chars().enumerate().map(half).collect::<String>());
    // The same applies to turns.
    let turns = |before: &str| draws(&format!("{before}\ndice: dup when cl_say every 3"), OPENING, &[]);
    let hidden = turns("pass when cl_say every 2");
    assert_eq!(
        hidden,
        turns("").chars().enumerate().map(half).collect::<String>()
    );
    // The seed and the session change the draws.
    let seed = Opening { seed: 2, ..OPENING };
    let session = Opening {
        session: 4,
        ..OPENING
    };
    assert_ne!(draws(DICE, seed, &[]), alone);
    assert_ne!(draws(DICE, session, &[]), alone);
    let twin = format!("dup when cl_say chance 30%\n{DICE}");
    assert_eq!(draws(&twin, OPENING, &[]), alone);
    assert_eq!(
        draws("dice: dup when cl_say chance 100%", OPENING, &[]),
        "x".repeat(100)
    );
}

#[test]
fn a_chance_has_its_share() {
    let mut state = program("dup when cl_say chance 12.5%").open(OPENING, None);
    let many = (0..10_000).map(|_| (OPENING.at, say("x")));
    let count = marks(&mut *state, many).matches('x').count();
    // Within four standard deviations.
    assert!((1118..1382).contains(&count), "{count}");
}

/// Opens two sessions of a program, and alternately gives them messages.
fn two(program: &Program, before: Shared, states: &mut [Option<Box<dyn Decide>>; 2]) -> (Shared, String) {
    let mut shared = program.share(before);
    for state in &mut *states {
        *state = Some(program.open(OPENING, state.take()));
    }
    let mut marks = String::new();
    for number in 0..4 {
        let message = say("x");
        let message = first_copy(&message, second(number));
        for state in states.iter_mut().flatten() {
            let verdict = state.decide(&message, &mut shared);
            marks.push(if verdict.rules.is_empty() { '.' } else { 'x' });
        }
    }
    (shared, marks)
}

#[test]
fn sessions_share_what_is_global_and_a_reload_keeps_it() {
    let mut states = [None, None];
    let run = |source: &str| two(&program(source), Shared::default(), &mut [None, None]).1;
    assert_eq!(run("drop when cl_say first 3"), "xxxxxx..");
    assert_eq!(run("drop when cl_say first 3 per global"), "xxx.....");
    assert_eq!(run("drop when cl_say every 3 per global"), "..x..x..");
    assert_eq!(run("drop when cl_say max 1 per 2s per global"), "x...x...");
    let (shared, marks) = two(
        &program("drop when cl_say first 3 per global"),
        Shared::default(),
        &mut states,
    );
    assert_eq!(marks, "xxx.....");
    let again = "dup when cl_say.message == \"y\" once per global\ndrop when cl_say first 3 per global";
    let (shared, marks) = two(&program(again), shared, &mut states);
    assert_eq!(marks, "........");
    let other = "drop when cl_say first 2 per global";
    assert_eq!(two(&program(other), shared, &mut states).1, "xx......");
}

#[test]
fn a_reload_keeps_the_counts_of_the_same_rule() {
    let (named, text) = ("a: drop when cl_say first 3", "drop when cl_say skip 2");
    let mut state = program(&format!("{named}\n{text}")).open(OPENING, None);
    assert_eq!(marks(&mut *state, each_second("aa")), "xx");
    // The name identifies the rule, even with another number and condition.
    let mut state = program(&format!("{text}\na: drop when c2s first 4")).open(OPENING, Some(state));
    assert_eq!(marks(&mut *state, each_second("a")), "x");
    let mut state = program("a: drop when c2s first 4").open(OPENING, Some(state));
    assert_eq!(marks(&mut *state, each_second("aaa")), "xx.");
    // Windows stay open, and draws continue.
    let source = "w: drop when cl_say.message == \"a\" after cl_say.message == \"o\"";
    let mut state = program(source).open(OPENING, None);
    assert_eq!(marks(&mut *state, each_second("ao")), "..");
    let mut state = program(source).open(OPENING, Some(state));
    assert_eq!(marks(&mut *state, each_second("a")), "x");
    let mut state = program(&source.replace("\"o\"", "\"p\"")).open(OPENING, Some(state));
    assert_eq!(marks(&mut *state, each_second("a")), ".");
    let dice = || program("dup when cl_say chance 50%");
    let once = marks(&mut *dice().open(OPENING, None), each_second(&"a".repeat(40)));
    let mut state = dice().open(OPENING, None);
    let first = marks(&mut *state, each_second(&"a".repeat(15)));
    let mut state = dice().open(OPENING, Some(state));
    assert_eq!(first + &marks(&mut *state, each_second(&"a".repeat(25))), once);
}

#[test]
fn wrong_modifiers_are_reported() {
    for (modifiers, expected) in [
        ("chance 5", "1:22 E202 expected a percentage, found `5`"),
        ("chance 101%", "1:22 E204 expected a percentage from 0% to 100%"),
        (
            "every",
            "1:20 E001 expected a number or a duration, as in `every 3` or `every 5s`, found the end",
        ),
        ("every 0", "1:21 E204 expected a number from 1 to 4294967295"),
        ("every 0s", "1:21 E204 expected more than no time"),
        ("every 5%", "1:21 E202 expected a duration, found `5%`"),
        ("first 0", "1:21 E204 expected a number from 1 to 4294967295"),
        ("once first 2", "1:20 E012 `first` has a value already"),
        ("skip 1 skip 1", "1:22 E012 `skip` has a value already"),
        (
            "max 3",
            "1:20 E001 expected `per`, as in `max 20 per 1s`, found the end",
        ),
        ("max 1001 per 1s", "1:19 E204 expected a number from 1 to 1000"),
        ("max 3 per 1", "1:25 E202 expected a duration, found `1`"),
        ("from 5s to 4s", "1:28 E209 4s is not after 5s"),
        ("from 1s after 2s", "1:23 E012 `after` has a value already"),
        (
            "per minute",
            "1:19 E001 expected `session` or `global`, found `minute`",
        ),
        ("until cl_sya", "1:21 E101 unknown message `cl_sya`"),
        ("once drop", "1:20 E001 expected a modifier, found `drop`"),
        (
            "oncee",
            "1:15 E001 expected an operator or a modifier, found `oncee`",
        ),
    ] {
        let source = format!("drop when s2c {modifiers}");
        assert_eq!(wrong(&source), [expected], "{source}");
    }
}

#[test]
fn the_text_of_a_rule_is_canonical() {
    for (source, expected) in [
        (
            "drop when s2c  until 13s from 10s per session once chance 2.50%",
            "drop when s2c from 10s to 13s chance 2.5% once per session",
        ),
        (
            "delay 1500us when s2c&&vital max 20 per 1000ms every 1.5s skip 3 first 2",
            "delay 1500us when s2c and vital skip 3 every 1500ms first 2 max 20 per 1s",
        ),
        (
            "lose 1 times when c2s until count(input)>200 after seen(enter_game) every 2 per global",
            "lose when c2s after seen(enter_game) until count(input) > 200 every 2 per global",
        ),
    ] {
        let program = program(source);
        assert_eq!(program.rule(teetap_rules::RuleId(0)), Some(expected));
        let again = crate::stage::program(expected);
        assert_eq!(again.rule(teetap_rules::RuleId(0)), Some(expected));
    }
}
