//! Tests of the hits of rules and the effects of link lines, which all sessions share.

use teetap_rules::impair::{PassedDatagram, Sent};
use teetap_rules::{Hit, Program, Shared};
use teetap_wire::Dir;

use crate::stage::{OPENING, first_copy, program, say};

/// Returns the name or text of each rule, with its hits.
fn hits(program: &Program, shared: &Shared) -> Vec<(String, u64)> {
    let rules = program.report(shared).rules.into_iter();
    rules
        .map(|rule| (rule.name.unwrap_or(rule.text).into(), rule.hits.count))
        .collect()
}

/// Lets two sessions say a text each second.
fn talk(program: &Program, shared: &mut Shared, texts: &[&str]) {
    for session in [3, 4] {
        let mut state = program.open(teetap_rules::Opening { session, ..OPENING }, None);
        for (number, text) in (0..).zip(texts) {
            let message = say(text);
            let mut message = first_copy(&message, OPENING.at + number * 1_000_000);
            message.session = session;
            state.decide(&message, shared);
        }
    }
}

#[test]
fn hits_are_counted_for_all_sessions_and_kept_for_the_same_rule() {
    let first = program("a: drop when cl_say.message == \"x\"\nlog when cl_say once\ndup when s2c");
    let mut shared = first.share(Shared::default());
    talk(&first, &mut shared, &["x", "y", "x"]);
    let counts = [("a", 4), ("log when cl_say once", 0), ("dup when s2c", 0)];
    let of = |counts: &[(&str, u64)]| -> Vec<(String, u64)> {
        counts
            .iter()
            .map(|(name, count)| ((*name).to_owned(), *count))
            .collect()
    };
    // `drop` precedes `log`: only `y` reaches `log`, as the second match.
    let counts = [counts[0], ("log when cl_say once", 2), counts[2]];
    assert_eq!(hits(&first, &shared), of(&counts));
    let last = first.report(&shared).rules[0].hits.last;
    let at = OPENING.at + 2_000_000;
    assert_eq!(last, Some(Hit { at, session: 4 }));

    let second = program("dup when cl_say\na: drop when cl_say.message == \"x\"");
    let mut shared = second.share(shared);
    assert_eq!(hits(&second, &shared), of(&[("dup when cl_say", 0), ("a", 4)]));
    talk(&second, &mut shared, &["x"]);
    assert_eq!(hits(&second, &shared), of(&[("dup when cl_say", 2), ("a", 6)]));
}

#[test]
fn effects_of_link_lines_are_counted_by_direction() {
    let source = "twice: link both delay 5ms dup 100%\nlink c2s loss 100%\nlink s2c blackhole from 1s";
    let program = program(source);
    let mut shared = program.share(Shared::default());
    for (dir, count) in [(Dir::C2s, 3), (Dir::S2c, 2)] {
        let mut channel = program.open_link(&OPENING, dir, None).unwrap();
        for ordinal in 1..=count {
            channel.pass(&Sent::new(OPENING.at, ordinal, b"x"));
            let (at, session) = (OPENING.at, OPENING.session);
            let passed = PassedDatagram {
                dir,
                datagram: ordinal,
                connless: false,
            };
            shared.count_impacts(Hit { at, session }, passed, channel.impacts());
        }
    }
    let report = program.report(&shared);
    let counts = report.lines.iter().map(|line| {
        let counts = line.tally.counts().map(|(count, _)| count);
        (&*line.text, line.dir, counts)
    });
    let (both, lossy, shut) = (
        "twice: link both delay 5ms dup 100%",
        "link c2s loss 100%",
        "link s2c blackhole from 1s",
    );
    assert_eq!(
        counts.collect::<Vec<_>>(),
        [
            (both, Dir::C2s, [0, 6, 3, 0, 0]),
            (both, Dir::S2c, [0, 4, 2, 0, 0]),
            (lossy, Dir::C2s, [6, 0, 0, 0, 0]),
            (shut, Dir::S2c, [0; 5]),
        ]
    );
}
