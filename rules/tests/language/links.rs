//! Tests of link lines, profiles and their use: parsed texts, and errors.

use proptest::prelude::*;
use teetap_rules::{
    Decide, Interest, Opening, Program, ProtoDirs, Shared,
    impair::{Fate, LineSet, Lost, Sent},
    program::{profile, profiles},
    syntax::{Statement, parse_statements},
};
use teetap_wire::{Dir, Proto, def::Registry};

use crate::stage::{OPENING, first_copy, message, program, say, wrong};

/// Returns the canonical forms of the link lines in a text.
fn lines(text: &str) -> Vec<String> {
    let statements = parse_statements(text).unwrap();
    statements
        .iter()
        .flat_map(|statement| match statement {
            Statement::Link(link) => vec![link.to_string()],
            Statement::Profile(profile) => profile.links.iter().map(ToString::to_string).collect(),
            Statement::Use(_) | Statement::Let(_) | Statement::Rule(_) | Statement::Seed { .. } => Vec::new(),
        })
        .collect()
}

#[test]
fn each_parameter_is_read_and_printed_as_it_is_read() {
    for (text, canonical) in [
        ("link both delay 40ms", "link both delay 40ms"),
        ("wifi :  link  both delay 40ms", "wifi: link both delay 40ms"),
        ("link: link both delay 40ms", "link: link both delay 40ms"),
        (
            "link both delay 40ms jitter 8ms normal loss gemodel 1% 30% rate 2mbit",
            "link both delay 40ms jitter 8ms normal loss gemodel 1% 30% rate 2mbit",
        ),
        (
            "link s2c blackhole from 20s to 24s",
            "link s2c blackhole from 20s to 24s",
        ),
        (
            "link c2s delay 0.5s jitter 1.5ms loss 0.25%",
            "link c2s delay 500ms jitter 1500us loss 0.25%",
        ),
        (
            "link both loss gemodel 1% 10% 70% 0.1% dup 1% corrupt 2%",
            "link both loss gemodel 1% 10% 70% 0.1% dup 1% corrupt 2%",
        ),
        // The losses of both states: the first one is left out only together with the second.
        (
            "link both loss gemodel 1% 10% 100% 0%",
            "link both loss gemodel 1% 10%",
        ),
        (
            "link both loss gemodel 1% 10% 100% 0.1%",
            "link both loss gemodel 1% 10% 100% 0.1%",
        ),
        (
            "link both loss gemodel 1% 10% 70% 0%",
            "link both loss gemodel 1% 10% 70%",
        ),
        (
            "link both delay 1s jitter 1ms uniform reorder 5% gap 1",
            "link both delay 1s jitter 1ms reorder 5%",
        ),
        (
            "link both delay 1s jitter 1s paretonormal reorder 25% gap 5 # slow",
            "link both delay 1s jitter 1s paretonormal reorder 25% gap 5",
        ),
        (
            "link both delay 1s\n  jitter 10ms pareto\n\tqueue 64KiB rate 1gbit",
            "link both delay 1s jitter 10ms pareto rate 1gbit queue 65536B",
        ),
        (
            "link s2c until count(input)>200 blackhole after seen(enter_game)",
            "link s2c blackhole after seen(enter_game) until count(input) > 200",
        ),
        (
            "link s2c connless until sv_motd loss 5%",
            "link s2c loss 5% connless until sv_motd",
        ),
        (
            "link both loss 20% after sv_vote_set until 30s",
            "link both loss 20% to 30s after sv_vote_set",
        ),
        (
            "link c2s after 500ms dup 1% until pkt.size in {1..5 9} and not c2s",
            "link c2s dup 1% from 500ms until pkt.size in {1..5 9} and not c2s",
        ),
    ] {
        assert_eq!(lines(text), [canonical]);
        assert_eq!(lines(canonical), [canonical]);
    }
}

#[test]
fn profiles_take_several_lines_and_are_printed_as_they_are_read() {
    let text = "profile cellar-2 { # where\n  link c2s loss 5% link s2c delay 9ms\n link both dup 1%\n}\n\
                use \"cellar-2\"\ndrop when c2s\nprofile 3g { link both delay 1ms }";
    let statements = parse_statements(text).unwrap();
    assert_eq!(statements.len(), 4);
    let Statement::Profile(profile) = &statements[0] else {
        panic!("{statements:?}");
    };
    let printed = profile.to_string();
    assert_eq!(
        printed,
        "profile cellar-2 {\n    link c2s loss 5%\n    link s2c delay 9ms\n    link both dup 1%\n}"
    );
    assert_eq!(lines(&printed), lines(&printed.replace('\n', " ")));
}

#[test]
fn braces_of_expressions_do_not_end_a_profile() {
    let text = "profile a {\n  link c2s loss 5% until pkt.size in {1..5} or sv_chat.message == \"} # {\" # }\n\
                \tlink s2c dup 1% after \"}\"\n}\ndrop when c2s";
    let statements = parse_statements(text).unwrap();
    assert_eq!(statements.len(), 2, "{statements:?}");
    assert_eq!(lines(text).len(), 2);
}

#[test]
fn a_rule_may_be_called_like_a_statement() {
    program("link: drop when c2s\nuse: drop when s2c\nprofile : pass when c2s");
}

/// Texts with their errors.
const WRONG: &[(&str, &[&str])] = &[
    (
        "link both dely 40ms loss 5 jitter 8ms nrmal rate 2mbit",
        &[
            "1:11 E101 a link has no parameter `dely`",
            "1:26 E202 expected a percentage, found `5`",
            "1:39 E101 no distribution `nrmal`",
        ],
    ),
    (
        "link up delay 1ms",
        &["1:6 E001 expected `c2s`, `s2c` or `both`, found `up`"],
    ),
    (
        "link",
        &["1:5 E001 expected `c2s`, `s2c` or `both`, found the end"],
    ),
    (
        "link both",
        &["1:10 E001 expected a parameter such as `delay 40ms`, found the end"],
    ),
    (
        "link both from 1s",
        &["1:18 E001 expected a parameter such as `delay 40ms`, found the end"],
    ),
    (
        "link both delay",
        &["1:16 E001 expected a duration, found the end"],
    ),
    (
        "link both delay 100",
        &["1:17 E202 expected a duration, found `100`"],
    ),
    (
        "link both delay 2min",
        &["1:17 E204 a link delays by at most 60 s"],
    ),
    (
        "link both loss 101%",
        &["1:16 E204 expected a percentage from 0% to 100%"],
    ),
    (
        "link both loss gmodel 1%",
        &["1:16 E001 expected a percentage or `gemodel`, found `gmodel`"],
    ),
    (
        "link both loss gemodel 1%",
        &["1:26 E001 expected a percentage, found the end"],
    ),
    (
        "link both rate 0bit",
        &["1:16 E204 `0bit` is not a possible value here"],
    ),
    (
        "link both rate 1mbit queue 2MB",
        &["1:28 E204 `2MB` is not from 1 to 1000000"],
    ),
    (
        "link both jitter 1ms reorder 1% queue 1kB",
        &[
            "1:11 E001 `jitter` needs a `delay` to vary",
            "1:22 E001 `reorder` needs a `delay`",
            "1:33 E001 `queue` needs a `rate`",
        ],
    ),
    (
        "link both delay 1ms delay 2ms",
        &["1:21 E102 `delay` is given twice"],
    ),
    (
        "link both blackhole from 5s to 5s",
        &["1:29 E209 the window ends before it begins"],
    ),
    (
        "link both loss 5% chance 5%",
        &["1:19 E102 `chance` is for rules, not for link lines"],
    ),
    (
        "link both loss 5% after sv_chtt until count(input) > 5s",
        &[
            "1:25 E101 unknown message `sv_chtt`",
            "1:54 E201 `count(input)` is a number, not a duration",
        ],
    ),
    (
        "link both connless",
        &["1:19 E001 expected a parameter such as `delay 40ms`, found the end"],
    ),
    (
        "link both after sv_chat until 5s",
        &["1:33 E001 expected a parameter such as `delay 40ms`, found the end"],
    ),
    (
        "link both loss 5% until 5s to 6s",
        &["1:28 E102 `to` with a time means the same as `until`, which is there already"],
    ),
    (
        "link both loss 5% from 5s after 6s",
        &["1:33 E102 `after` with a time means the same as `from`, which is there already"],
    ),
    (
        "link both loss 5% from 5s until 4s",
        &["1:27 E209 the window ends before it begins"],
    ),
    (
        "link both loss 5% after sv_chat untl 5s",
        &["1:33 E001 expected an operator or a parameter of the link, found `untl`"],
    ),
    (
        "link both loss 5% after sv_chat = 5",
        &["1:33 E008 `=` assigns; to compare use `==`"],
    ),
    (
        "link both loss 5% after sv_chat after sv_motd",
        &["1:33 E102 `after` is given twice"],
    ),
    (
        "profile a { link c2s loss 5% after sv_chtt }\nuse \"a\"\nuse \"a\"",
        &["1:36 E101 unknown message `sv_chtt`"],
    ),
    (
        "link both loss 5% }",
        &["1:19 E001 expected the end of the line, found `}`"],
    ),
    ("use wifi", &["1:5 E101 no profile is called `wifi`"]),
    ("use \"wifi-bat\"", &["1:5 E101 no profile is called `wifi-bat`"]),
    (
        "profile { }",
        &["1:9 E001 expected the name of a profile, found `{`"],
    ),
    ("profile a { }", &["1:11 E001 a profile without link lines"]),
    ("profile a { link both dup 1%", &["1:11 E002 `{` has no `}`"]),
    (
        "profile a { drop when c2s }",
        &["1:13 E001 expected `link` or `}`, found `drop`"],
    ),
    (
        "profile a { link both los 1%\n link c2s dup 1\n}\ndrup when c2s",
        &[
            "1:23 E101 a link has no parameter `los`",
            "2:15 E202 expected a percentage, found `1`",
            "4:1 E011 unknown action `drup`",
        ],
    ),
    (
        "profile a { link both dup 1% }\nprofile a { link both dup 2% }",
        &["2:9 E102 two profiles are called `a`"],
    ),
];

#[test]
fn all_errors_of_a_line_are_reported_with_their_places() {
    for (text, errors) in WRONG {
        assert_eq!(wrong(text), *errors, "{text}");
    }
    let many = "link both dup 1%\n".repeat(65);
    assert_eq!(wrong(&many), ["65:1 E007 more than 64 link lines"]);
}

#[test]
fn suggestions_name_the_right_word() {
    for (text, help) in [
        ("link both dely 40ms", "did you mean `delay`?"),
        ("link boht delay 40ms", "did you mean `both`?"),
        (
            "link both delay 40ms jitter 1ms paretonorml",
            "did you mean `paretonormal`?",
        ),
        ("link both loss 5", "write `5%`"),
        ("link both loss 5% after sv_chat untl 5s", "did you mean `until`?"),
        ("link both loss 5% after sv_chta", "did you mean `sv_chat`?"),
        ("use \"wifi-bat\"", "did you mean `wifi-bad`?"),
        ("link both jitter 1ms", "write `delay 40ms jitter 10ms`"),
    ] {
        let errors = Program::compile(text, Registry::builtin()).unwrap_err();
        assert_eq!(errors[0].help.as_deref(), Some(help), "{text}");
    }
}

fn opening(session: u32) -> Opening {
    Opening {
        seed: 5,
        session,
        at: 0,
        is_new: true,
        client: None,
    }
}

#[test]
fn a_program_impairs_only_the_directions_of_its_lines() {
    let source = "profile shut { link s2c blackhole }\nuse \"shut\"\ndrop when c2s and sv_chat";
    let program = program(source);
    assert!(program.open_link(&opening(1), Dir::C2s, None).is_none());
    let mut link = program.open_link(&opening(1), Dir::S2c, None).unwrap();
    assert_eq!(
        link.pass(&Sent::new(0, 1, b"x"))[0].fate,
        Fate::Lost(Lost::Blackhole)
    );
    let none = crate::stage::program("drop when s2c");
    assert!(none.open_link(&opening(1), Dir::S2c, None).is_none());
}

#[test]
fn a_program_of_link_lines_acts_on_no_message() {
    let interest = program("link both loss 5%").interest();
    assert_eq!(
        (interest.acts, interest.observes),
        (ProtoDirs::NONE, ProtoDirs::NONE)
    );
}

/// Returns the link lines with open windows after each of these messages.
fn windows(state: &mut dyn Decide, messages: &[(Dir, Vec<u8>)]) -> Vec<[bool; 3]> {
    let after = |(at, message): (u64, &(Dir, Vec<u8>))| {
        let at = OPENING.at + at * 1_000_000;
        state.observe(&first_copy(message, at), &mut Shared::default());
        [0, 1, 2].map(|line| state.open_lines().has(line))
    };
    (0..).zip(messages).map(after).collect()
}

#[test]
fn messages_open_and_close_the_window_of_a_line() {
    let source = "let talk = cl_say or sv_chat\n\
                  link s2c blackhole after talk until count(cl_say) > 2\n\
                  profile p { link both loss 1% until sv_motd }\nuse \"p\"\nlink c2s loss 1%";
    let program = program(source);
    let Interest { acts, observes, .. } = program.interest();
    for dir in [Dir::C2s, Dir::S2c] {
        assert!(observes.contains(Proto::Ddnet, dir) && !acts.contains(Proto::Ddnet, dir));
    }
    let motd = (Dir::S2c, message("sv_motd", &[]));
    let mut state = program.open(OPENING, None);
    assert_eq!(
        windows(
            &mut *state,
            &[motd.clone(), say("a"), say("b"), say("c"), say("d")]
        ),
        [
            [false, false, true],
            [true, false, true],
            [true, false, true],
            [false, false, true],
            [false, false, true],
        ]
    );
}

#[test]
fn windows_stay_open_while_the_text_of_their_line_stays() {
    let source = "link s2c loss 1% after cl_say until count(cl_say) > 2\nlink c2s loss 1% after cl_say";
    let mut state = program(source).open(OPENING, None);
    assert_eq!(windows(&mut *state, &[say("a"), say("b")])[1], [true, true, true]);
    let other = "link c2s loss 2% after cl_say\nlink s2c loss 1% after cl_say until count(cl_say) > 2";
    let mut state = program(other).open(OPENING, Some(state));
    assert_eq!(
        [0, 1].map(|line| state.open_lines().has(line)),
        [false, true],
        "the other text is another line"
    );
    assert_eq!(windows(&mut *state, &[say("c")]), [[true, false, true]]);
}

#[test]
fn a_line_acts_only_in_its_window_and_time() {
    let program = program("link s2c blackhole after cl_say\nlink s2c delay 5ms from 2s");
    let mut link = program.open_link(&OPENING, Dir::S2c, None).unwrap();
    let mut fate = |at, lines| {
        let at = OPENING.at + at;
        let sent = Sent {
            lines,
            ..Sent::new(at, 1, b"x")
        };
        match link.pass(&sent)[0].fate {
            Fate::Lost(_) => None,
            Fate::Leaves(leaves) => Some(leaves - at),
        }
    };
    assert_eq!(fate(0, LineSet::ALL.without(0)), Some(0));
    assert_eq!(fate(0, LineSet::ALL), None);
    assert_eq!(fate(2_000_000, LineSet::ALL.without(0)), Some(5_000));
    assert_eq!(fate(2_000_000, LineSet::ALL.without(0).without(1)), Some(0));
}

#[test]
fn a_profile_of_the_text_replaces_a_built_in_one() {
    for name in profiles() {
        assert!(profile(name).is_some());
        program(&format!("use \"{name}\""));
    }
    let own = program("use \"3g\"\nprofile 3g { link c2s delay 1ms }");
    assert!(own.open_link(&opening(1), Dir::S2c, None).is_none());
}

#[test]
fn a_profile_without_an_end_is_read_in_time() {
    let text = format!("profile endless {{\n{}", "link both loss 1%\n".repeat(60_000));
    assert!(wrong(&text).len() > 1);
}

proptest! {
    /// Any sequence of words is parsed or refused, and a parsed line is printed in a form that parses to the same line.
    #[test]
    fn any_words_are_read_or_refused(
        words in prop::collection::vec(prop::sample::select(&[
            "link", "both", "c2s", "delay", "jitter", "normal", "loss", "gemodel", "dup", "reorder", "gap", "corrupt",
            "rate", "queue", "blackhole", "from", "to", "after", "until", "connless", "sv_chat", "seen(input)", "and", "in {1..2}", "5ms", "1s", "3%", "2", "8kbit", "9kB", "{", "}", "profile", "use",
            "\"3g\"", "#", "x-1", ":", ",",
        ][..]), 0..12),
        start in prop::sample::select(&["", "link both ", "link s2c delay 9ms ", "profile a { link c2s ", "use "][..]),
    ) {
        let text = format!("{start}{}", words.join(" "));
        if let Ok(statements) = parse_statements(&text) {
            for statement in statements {
                let printed = match statement {
                    Statement::Link(link) => link.to_string(),
                    Statement::Profile(profile) => profile.to_string(),
                    _ => continue,
                };
                prop_assert_eq!(lines(&printed), lines(&text), "{}", printed);
            }
        }
    }
}
