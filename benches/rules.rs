//! The cost of rules per message.
//!
//!     cargo bench -p teetap-bench --bench rules

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use teetap_rules::{Message, Opening, Program, Shared};
use teetap_wire::def::{Datum, Registry};
use teetap_wire::{Dir, Proto};

/// Conditions on messages that are not sent, as in most rules.
const RARE: [&str; 5] = [
    "sv_vote_set",
    "c2s and cl_emoticon.emoticon > 2",
    "s2c and sv_kill_msg and not vital",
    "rcon_cmd",
    "sv_chat.message contains \"foo\"",
];

/// Returns this many rules, with these conditions in turn.
fn source(count: usize, conditions: &[&str]) -> String {
    let rules = (0..count).map(|number| {
        let condition = conditions.iter().cycle().nth(number).copied().unwrap_or_default();
        format!("r{number}: drop when {condition} and t > {number}ms\n")
    });
    rules.collect()
}

#[expect(clippy::expect_used, reason = "the rules of a benchmark are right")]
fn measure(c: &mut Criterion, name: &str, source: &str) {
    let registry = Registry::builtin();
    let (program, _) = Program::compile(source, registry).expect("rules");
    let mut shared = program.share(Shared::default());
    let opening = Opening {
        seed: 1,
        session: 1,
        at: 0,
        is_new: true,
        client: None,
    };
    let mut state = program.open(opening, None);
    let def = registry.named(Proto::V7, None, "input").next().expect("input");
    let mut data = Vec::new();
    def.encode(&Datum::Group(Vec::new()), &mut data).expect("fields");
    let message = Message::alone((1, Dir::C2s, Proto::V7), None, &data, 1_000_000);
    c.bench_function(name, |b| {
        b.iter(|| black_box(state.decide(black_box(&message), &mut shared)));
    });
}

fn rules(c: &mut Criterion) {
    for count in [1, 20, 50] {
        measure(
            c,
            &format!("{count} rules about other messages"),
            &source(count, &RARE),
        );
        let here = ["input.direction == 7"];
        measure(
            c,
            &format!("{count} rules about the message"),
            &source(count, &here),
        );
    }
}

criterion_group!(benches, rules);
criterion_main!(benches);
