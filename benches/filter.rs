//! The cost of a filter per message.
//!
//!     cargo bench -p teetap-bench --bench filter

use std::cell::Cell;
use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use teetap_rules::eval::{Flag, Identity, Lazy, PacketFact, SessionFact, SessionState};
use teetap_rules::{Facts, Fields, Filter, Subject};
use teetap_wire::def::{Datum, Decoded, Registry};
use teetap_wire::{Code, Dir, Proto};

/// A chat line to the client, as a proxy sees it.
struct Chat<'a> {
    subject: Subject<'a>,
    data: &'a [u8],
    lazy: Lazy<'a>,
}

impl Facts for Chat<'_> {
    fn proto(&self) -> Proto {
        Proto::Ddnet
    }

    fn dir(&self) -> Dir {
        Dir::S2c
    }

    fn subject(&self) -> Subject<'_> {
        self.subject
    }

    fn data(&self) -> &[u8] {
        self.data
    }

    fn fields(&self) -> Option<Fields<'_>> {
        self.lazy.fields()
    }

    fn flag(&self, flag: Flag) -> bool {
        flag == Flag::Vital
    }

    fn lint(&self, _: Option<Code>) -> bool {
        false
    }

    fn packet(&self, _: PacketFact) -> Option<i64> {
        Some(100)
    }

    fn session(&self, _: SessionFact) -> Option<i64> {
        Some(1)
    }

    fn state(&self) -> SessionState {
        SessionState::Online
    }

    fn player(&self) -> Option<&[u8]> {
        None
    }

    fn time(&self) -> u64 {
        1_000_000
    }
}

fn filters(criterion: &mut Criterion) {
    let registry = Registry::builtin();
    let fields = [
        ("team", Datum::Int(0)),
        ("client_id", Datum::Int(3)),
        ("message", "buy gold, foo and bar".into()),
    ];
    let mut data = Vec::new();
    let def = registry.named(Proto::Ddnet, None, "sv_chat").next();
    let written = def.map(|def| def.encode(&Datum::group(fields), &mut data));
    assert_eq!(written, Some(Ok(())), "a chat line can be written");
    let subject = Subject {
        class: Some(teetap_wire::def::Class::Game),
        id: Identity::Number(3),
        def,
    };
    let chat = |buffer| Chat {
        subject,
        data: &data,
        lazy: Lazy::new(def, &data, 1, buffer),
    };
    let decoded = chat(Decoded::new());
    assert!(
        decoded.fields().is_some(),
        "it is decoded once, before the clock runs"
    );
    let mut group = criterion.benchmark_group("filter");
    for text in [
        "s2c && sv_chat && .team == 0 && .message contains \"foo\"",
        "s2c && sv_chat && .team == 0 && .message contains \"fool\"",
        "c2s && sv_chat && .team == 0 && .message contains \"foo\"",
        "sv_chat.message matches /f[aeiou]{2}/",
        "\"foo\"",
        "cl_say.message contains \"foo\"",
        "count(sv_chat) > 5 and sv_chat.client_id in {1 2 5..9}",
    ] {
        let Ok((filter, _)) = Filter::parse(text, registry) else {
            continue;
        };
        let mut memory = filter.memory();
        group.bench_function(format!("{text}, decoded"), |bencher| {
            bencher.iter(|| filter.matches(black_box(&decoded), &mut memory));
        });
        let buffer = Cell::new(Decoded::new());
        group.bench_function(format!("{text}, with decoding"), |bencher| {
            bencher.iter(|| {
                let message = chat(buffer.take());
                let result = filter.matches(black_box(&message), &mut memory);
                buffer.set(message.lazy.into_buffer());
                result
            });
        });
    }
    group.finish();
    criterion.bench_function("parse and check a filter", |bencher| {
        let text = "s2c && sv_chat && .team == 0 && .message contains \"foo\"";
        bencher.iter(|| Filter::parse(black_box(text), registry).is_ok());
    });
}

criterion_group!(benches, filters);
criterion_main!(benches);
