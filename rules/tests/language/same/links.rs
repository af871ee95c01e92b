//! Generated link lines: the fates of datagrams in both directions, and the counted effects.

use super::*;
use crate::stage::OPENING;
use teetap_rules::impair::{LineSet, PassedDatagram, Sent};
use teetap_rules::{Hit, Program, Shared};
use teetap_wire::Dir;
use teetap_wire::def::Registry;

/// Number of programs with link lines.
const PROGRAMS: u64 = 160;
/// Number of datagrams in each direction.
const DATAGRAMS: u64 = 40;

const DIRS: &[&str] = &["c2s", "s2c", "both"];
const DELAYS: &[&str] = &[
    "",
    "delay 40ms",
    "delay 5ms jitter 4ms",
    "delay 30ms jitter 9ms normal",
    "delay 30ms jitter 9ms pareto",
    "delay 1s jitter 200ms paretonormal",
];
const LOSSES: &[&str] = &[
    "",
    "",
    "loss 20%",
    "loss gemodel 10% 30%",
    "loss gemodel 20% 40% 70% 5%",
    "loss 100%",
    "blackhole",
];
const OTHERS: &[&str] = &[
    "",
    "dup 30%",
    "reorder 40%",
    "reorder 25% gap 3",
    "corrupt 50%",
    "dup 20% corrupt 20%",
];
const RATES: &[&str] = &[
    "",
    "",
    "rate 80kbit",
    "rate 200kbit queue 500B",
    "rate 1mbit queue 2kB",
    "queue 300B",
];
const WINDOWS: &[&str] = &[
    "",
    "",
    "",
    "from 300ms",
    "to 400ms",
    "from 100ms to 600ms",
    "connless",
    "after cl_say",
    "until cl_say",
];

fn line(dice: &mut Random) -> String {
    let parts = [DIRS, DELAYS, LOSSES, OTHERS, RATES, WINDOWS].map(|part| *dice.pick(part));
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    format!("link {}", parts.join(" "))
}

/// Sends datagrams of several sizes at several rates, of sessions and of the server browser.
fn play(groups: &mut Groups, dice: &mut Random, program: &Program) {
    let mut shared = program.share(Shared::default());
    shared.record();
    for dir in [Dir::C2s, Dir::S2c] {
        let Some(mut channel) = program.open_link(&OPENING, dir, None) else {
            groups.line(format_args!("{dir} none"));
            continue;
        };
        groups.line(format_args!("{dir} {}", channel.browses()));
        let mut at = OPENING.at;
        for ordinal in 1..=DATAGRAMS {
            at += *dice.pick(&[0, 1_000, 20_000, 20_000, 50_000]);
            let bytes = vec![7; *dice.pick(&[3, 40, 200, 1400])];
            let connless = dice.below(6) == 0;
            let sent = Sent {
                seven: dice.below(4) == 0,
                once: dice.below(9) == 0,
                lines: match dice.below(7) {
                    0 => shared.acting(LineSet::ALL.without(1)),
                    _ => shared.acting(LineSet::ALL),
                },
                connless,
                ..Sent::new(at, ordinal, &bytes)
            };
            let copies = channel.pass(&sent).to_vec();
            groups.line(format_args!("{at} {copies:?} {:?}", channel.impacts()));
            let passed = PassedDatagram {
                dir,
                datagram: ordinal,
                connless,
            };
            let hit = Hit {
                at,
                session: OPENING.session,
            };
            shared.count_impacts(hit, passed, channel.impacts());
            if ordinal == DATAGRAMS / 2 {
                groups.line(format_args!("{}", shared.enable_line(0, false)));
                channel = program.open_link(&OPENING, dir, Some(channel)).unwrap();
            }
        }
    }
    let report = program.report(&shared);
    groups.line(format_args!("{} {report:?}", report.has_any()));
    groups.line(format_args!("{:?}", shared.decisions()));
    for line in &report.lines {
        groups.line(format_args!(
            "{:?} {:?}",
            program.find_line(&line.text),
            line.tally.counts()
        ));
    }
}

#[test]
fn link_lines_act_as_before() {
    let (mut groups, mut dice) = (Groups::default(), Random::new(37));
    for number in 0..PROGRAMS {
        if number % 20 == 0 {
            groups.group(format!("links {number} to {}", number + 19));
        }
        let lines: Vec<_> = (0..=dice.below(3)).map(|_| line(&mut dice)).collect();
        let source = lines.join("\n");
        groups.line(format_args!("{source}"));
        match Program::compile(&source, Registry::builtin()) {
            Ok((program, warnings)) => {
                diagnostics(&mut groups, &source, &warnings);
                play(&mut groups, &mut dice, &program);
            }
            Err(errors) => diagnostics(&mut groups, &source, &errors),
        }
    }
    insta::assert_snapshot!(groups.table("links"));
}
