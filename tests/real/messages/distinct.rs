//! The recorded messages again, one of each kind, with a different value in every field.
//!
//! A player who dies by their own hand is killer and victim at once: equal values in two fields would not show that
//! we confuse the fields.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};
use teetap_kit::capture;
use teetap_kit::real::turn;
use teetap_wire::def::{Datum, Decoded, Def, Registry, Source, Type};
use teetap_wire::{Dir, Flags, Packet, Proto, Scratch, is_connless, write_chunk};

use super::captures::{self, hex};
use super::compare::{Datagram, Tally};

/// Fields that state the size of another field, and a field whose values have names only up to 10.
const KEPT: [&str; 6] = [
    "part_size",
    "size",
    "num",
    "num_options",
    "input_size",
    "game_msg_id",
];

/// Gives every number and text of a message a different value, counting up.
struct Renumber<'d> {
    types: BTreeMap<&'d str, &'d Type>,
    next: u8,
}

impl<'d> Renumber<'d> {
    fn new(def: &'d Def) -> Self {
        let fields = (0..).map_while(|at| def.field(at));
        Self {
            types: fields.map(|field| (&*field.name, &field.ty)).collect(),
            next: 0,
        }
    }

    fn change(&mut self, name: &str, value: &mut Datum) {
        let ty = self.types.get(name).copied();
        let is_number = matches!(
            ty,
            Some(Type::Int | Type::Tick | Type::Tune | Type::Enum(_) | Type::Flags(_))
        );
        match value {
            Datum::Group(fields) => fields
                .iter_mut()
                .for_each(|(name, value)| self.change(name, value)),
            Datum::List(elements) => elements.iter_mut().for_each(|value| self.change(name, value)),
            Datum::Int(value) if is_number && !KEPT.contains(&name) => *value = i64::from(self.step()),
            Datum::Bytes(text) if matches!(ty, Some(Type::Text(_))) => {
                *text = format!("t{}", self.step()).into_bytes();
            }
            _ => {}
        }
    }

    fn step(&mut self) -> u8 {
        self.next += 1;
        self.next
    }
}

/// Returns the message of a chunk, changed, in its own datagram.
fn changed(proto: Proto, dir: Dir, def: &Def, decoded: &Decoded, data: &[u8]) -> Result<Datagram> {
    let mut values = decoded.datum(def, Source::Bytes(data));
    Renumber::new(def).change("", &mut values);
    let mut message = Vec::new();
    def.encode(&values, &mut message)?;
    // The header, and the token if the variant has one: in 0.6.5 it may be missing.
    let proto = if proto == Proto::V65 { Proto::V6 } else { proto };
    let mut bytes = vec![0, 0, 1];
    if proto == Proto::V7 {
        bytes.extend([0; 4]);
    }
    write_chunk(proto, None, false, &message, &mut bytes)?;
    if proto == Proto::Ddnet {
        bytes.extend([0; 4]);
    }
    let mut datagram = captures::packet(proto, dir, &bytes)?;
    datagram.c2s = dir == Dir::C2s;
    datagram.hex = hex(&bytes);
    datagram.at = format!("changed, {proto}");
    Ok(datagram)
}

#[test]
fn every_field_agrees_when_all_differ() -> Result<()> {
    let _turn = turn::shared()?;
    let (mut seen, mut all) = (BTreeSet::new(), Vec::new());
    let (mut scratch, mut decoded) = (Scratch::new(), Decoded::new());
    for name in capture::names()? {
        for flow in capture::flows(capture::recorded(&name)?) {
            let proto = captures::proto(&flow);
            for recorded in flow.packets.iter().filter(|packet| !is_connless(&packet.payload)) {
                let dir = if flow.is_from_client(recorded) {
                    Dir::C2s
                } else {
                    Dir::S2c
                };
                let packet = Packet::parse(proto, &recorded.payload, &mut scratch)?;
                if packet.header.flags.contains(Flags::CONTROL) {
                    continue;
                }
                for chunk in packet.chunks() {
                    let def = decoded.message(Registry::builtin(), proto, dir, chunk.data);
                    let def = def.context("an unknown message")?;
                    if decoded.notes().is_empty() && seen.insert((proto.to_string(), def.name.clone())) {
                        all.push(changed(proto, dir, def, &decoded, chunk.data).context(def.name.clone())?);
                    }
                }
            }
        }
    }
    let mut tally = Tally::default();
    tally.compare(&all)?;
    tally.report("changed messages")?;
    tally.verdict()?;
    assert_eq!((tally.datagrams, tally.messages), (180, 172), "what was compared");
    Ok(())
}
