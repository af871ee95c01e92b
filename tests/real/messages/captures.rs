//! All recorded sessions: the decoding of the library compared with the oracle's.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use teetap_kit::capture;
use teetap_kit::codec::Variant;
use teetap_kit::real::turn;
use teetap_wire::def::{Decoded, Def, Registry, Secrets, Source};
use teetap_wire::{Connless, Dir, Flags, Packet, Proto, Scratch, identify, is_connless};

use super::compare::{Datagram, Tally};
use super::known;

/// Returns the JSON of a message, as the program prints it.
fn object(decoded: &Decoded, def: Option<&Def>, data: &[u8]) -> Result<Value> {
    let mut fields = String::new();
    if let Some(def) = def {
        decoded
            .view()
            .json(def, Source::Bytes(data), Secrets::Show, &mut fields);
    }
    let fields = if fields.is_empty() {
        Value::Null
    } else {
        serde_json::from_str(&fields)?
    };
    Ok(json!({
        "name": def.map(|def| &*def.name),
        "fields": fields,
        "hex": hex(data),
        "notes": decoded.notes().iter().map(|note| json!({ "code": note.code.name() })).collect::<Vec<_>>(),
    }))
}

pub(crate) fn hex(data: &[u8]) -> String {
    data.iter().fold(String::new(), |mut text, byte| {
        let _infallible = write!(text, "{byte:02x}");
        text
    })
}

fn connless(proto: Proto, bytes: &[u8]) -> Result<Datagram> {
    let data = Connless::parse(bytes).context("no datagram outside a connection")?;
    let mut decoded = Decoded::new();
    let def = decoded.connless(Registry::builtin(), proto, data.data());
    let mut message = object(&decoded, def, data.data())?;
    merge(&mut message, json!({ "layer": "connless" }));
    Ok(Datagram {
        seven: proto == Proto::V7,
        header: None,
        messages: vec![message],
        ..Datagram::default()
    })
}

pub(crate) fn packet(proto: Proto, dir: Dir, bytes: &[u8]) -> Result<Datagram> {
    let (mut scratch, registry, mut decoded) = (Scratch::new(), Registry::builtin(), Decoded::new());
    let packet = Packet::parse(proto, bytes, &mut scratch)?;
    let mut messages = Vec::new();
    if packet.header.flags.contains(Flags::CONTROL) {
        let def = decoded.control(registry, proto, dir, packet.payload);
        let mut message = object(&decoded, def, packet.payload)?;
        merge(&mut message, json!({ "layer": "control" }));
        messages.push(message);
    }
    for chunk in packet.chunks() {
        let (id, _) = identify(chunk.data).context("a chunk without id")?;
        let def = decoded.message(registry, proto, dir, chunk.data);
        let mut message = object(&decoded, def, chunk.data)?;
        let rest = json!({
            "layer": if id.layer == teetap_wire::Layer::System { "system" } else { "game" },
            "id": id.id,
            "uuid": id.uuid.map(|uuid| dashed(&hex(&uuid))),
            "vital": chunk.header.vital.is_some(),
            "resend": chunk.header.resend,
            "seq": chunk.header.vital.map(teetap_wire::Seq::get),
        });
        merge(&mut message, rest);
        messages.push(message);
    }
    let header = packet.header;
    let names = [
        (Flags::CONTROL, "control"),
        (Flags::RESEND, "resend"),
        (Flags::COMPRESSION, "compression"),
    ];
    let flags: Vec<&str> = names
        .into_iter()
        .filter(|(flag, _)| header.flags.contains(*flag))
        .map(|(_, name)| name)
        .collect();
    Ok(Datagram {
        seven: proto == Proto::V7,
        header: Some(json!({ "ack": header.ack.get(), "chunks": header.num_chunks, "flags": flags })),
        messages,
        ..Datagram::default()
    })
}

fn dashed(hex: &str) -> String {
    let mut text = hex.to_owned();
    for at in [8, 13, 18, 23] {
        text.insert(at, '-');
    }
    text
}

fn merge(into: &mut Value, from: Value) {
    if let (Value::Object(into), Value::Object(from)) = (into, from) {
        into.extend(from);
    }
}

/// Returns the protocol of a flow; if its handshake has no answer, the protocol that DDNet requests.
pub(crate) fn proto(flow: &capture::Flow) -> Proto {
    match flow.variant() {
        Some(Variant::V6) => Proto::V6,
        Some(Variant::V65) => Proto::V65,
        Some(Variant::V7 | Variant::D7) => Proto::V7,
        Some(Variant::Ddnet) | None => Proto::Ddnet,
    }
}

fn datagrams(name: &str) -> Result<Vec<Datagram>> {
    let mut all = Vec::new();
    for flow in capture::flows(capture::recorded(name)?) {
        let proto = proto(&flow);
        for packet_of in &flow.packets {
            let from_client = flow.is_from_client(packet_of);
            let bytes = &packet_of.payload[..];
            let read = if is_connless(bytes) {
                let seven = bytes.first() == Some(&0x21);
                connless(if seven { Proto::V7 } else { Proto::Ddnet }, bytes)
            } else {
                packet(proto, if from_client { Dir::C2s } else { Dir::S2c }, bytes)
            };
            let mut datagram = read.with_context(|| format!("{name}: {}", hex(bytes)))?;
            datagram.c2s = from_client;
            datagram.hex = hex(bytes);
            datagram.at = format!("{name}, {proto}");
            all.push(datagram);
        }
    }
    Ok(all)
}

fn expected(counts: &[(&str, usize)]) -> BTreeMap<String, usize> {
    counts
        .iter()
        .map(|&(what, count)| (what.to_owned(), count))
        .collect()
}

#[test]
fn every_field_agrees() -> Result<()> {
    let _turn = turn::shared()?;
    let mut all = Vec::new();
    for name in capture::names()? {
        all.extend(datagrams(&name)?);
    }
    ensure!(!all.is_empty(), "there are no captures");
    let mut tally = Tally::default();
    tally.compare(&all)?;
    tally.report("captures")?;
    tally.verdict()?;
    let needed = known::EXCEPTIONS
        .iter()
        .map(|exception| (exception.key(), exception.recorded));
    let needed = needed.chain(
        known::FAILURES
            .iter()
            .map(|failure| (failure.key(), failure.recorded)),
    );
    let needed = needed.filter(|(_, recorded)| *recorded > 0);
    assert_eq!(tally.exceptions, needed.collect::<BTreeMap<_, _>>());
    assert_eq!(tally.only_ours, expected(&known::ONLY_OURS));
    assert_eq!(tally.only_theirs, expected(&known::ONLY_THEIRS));
    assert_eq!(
        (tally.datagrams, tally.messages, tally.names.len(), tally.values),
        (8396, 13510, 128, 191_563),
        "what was compared"
    );
    Ok(())
}
