//! Conditions of rules and of filters: an expression has the same meaning on the data thread and for a watcher.

use std::sync::Arc;

use teetap_inspect::Decoder;
use teetap_proxy::{
    io::input_log::Reader,
    session::{Config, Event, EventKind, Events, Hub, Input, Output, Time},
};
use teetap_rules::{Filter, Program};
use teetap_wire::def::Registry;

use crate::input_log::demo;

/// Conditions on facts that need a context or a memory.
const CONDITIONS: [&str; 11] = [
    "s2c and sess.name == \"seven\"",
    "c2s and sess.name contains \"d\" and sess.proto == ddnet",
    "sess.rtt > 0us",
    "input and sess.rtt < 20ms",
    "snap.tick > 0 and snap.parts == 1",
    "any(snap.character.x > 100) and snap.crc_ok",
    "any_snap and not lint",
    "not malformed and vital",
    "input and count(input) > 20 and count(snap_single) > 5",
    "s2c and last(input).ack_snapshot > 0 and since(enter_game) > 200ms",
    "sess.state == online and t > 500ms and pkt.chunks == 1",
];

#[test]
fn rules_and_filters_match_the_same_messages() {
    let mut useless = Vec::new();
    for condition in CONDITIONS {
        let [matches, messages] = compared(condition);
        if matches == 0 || matches == messages {
            useless.push(format!("{condition}: {matches} of {messages}"));
        }
    }
    assert_eq!(
        useless,
        [] as [&str; 0],
        "conditions that say nothing about this run"
    );
}

/// Repeats the demo with a rule that changes nothing, and a filter with the same condition. Returns the number of
/// matches and of messages.
fn compared(condition: &str) -> [usize; 2] {
    let registry = Registry::builtin();
    let mut reader = Reader::open(demo().as_bytes()).unwrap();
    let header = reader.header().clone();
    let config = Config {
        events: Events::All,
        ..header.config(registry).unwrap()
    };
    let mut hub = Hub::new(config, header.route());
    let mut decoder = Decoder::new(registry);
    decoder.show_only(Filter::parse(condition, registry).unwrap().0);
    decoder.decode_everything();
    let (program, _) = Program::compile(&format!("pass when {condition}"), registry).unwrap();
    hub.handle(Time::ZERO, Input::Program(Some(Arc::new(program))));
    let mut totals = [0; 2];
    for line in reader.by_ref() {
        let (_, entry) = line.unwrap();
        let input = entry.input.input(&|_| unreachable!("a demo has no rules"));
        hub.handle(Time(entry.at), input.unwrap());
        while let Some(output) = hub.poll() {
            if let Output::Event(event) = output {
                let counts = matches(condition, &mut decoder, *event);
                totals = [totals[0] + counts[0], totals[1] + counts[1]];
            }
        }
    }
    totals
}

/// Compares the results of the rule and the filter for the messages of a datagram that the rules have decided about.
fn matches(condition: &str, decoder: &mut Decoder, event: Event) -> [usize; 2] {
    let at = event.at;
    let decoded = decoder.decode(event);
    let EventKind::Datagram(datagram) = &decoded.event.what else {
        return [0; 2];
    };
    let mut counts = [0; 2];
    let messages = decoded.reading.iter().flat_map(|reading| &reading.messages);
    // Rules do not decide again about retransmissions.
    let decided = datagram.placed.iter().zip(messages);
    for (placed, message) in decided.filter(|(placed, _)| placed.action.is_delivered()) {
        let name = message.def.map_or("unknown", |def| &*def.name);
        assert_eq!(
            !placed.rules.is_empty(),
            message.visibility.shown,
            "{condition}: {name}, {at}"
        );
        counts = [counts[0] + usize::from(message.visibility.shown), counts[1] + 1];
    }
    counts
}
