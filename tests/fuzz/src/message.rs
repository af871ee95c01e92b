//! Arbitrary bytes as a message of any kind.

use teetap_wire::def::{Class, Datum, Decoded, Def, Path, Registry, Secrets, Source, Value};
use teetap_wire::note::Code;
use teetap_wire::{Dir, Proto};

use crate::input::Input;

/// Decodes, displays, encodes and edits one message.
pub fn message(data: &[u8]) {
    let registry = Registry::builtin();
    let mut input = Input::new(data);
    let proto = input.proto();
    let dir = [Dir::C2s, Dir::S2c][input.below(2)];
    let kind = input.below(4);
    let message = input.rest();
    if kind == 3 {
        object(registry, proto, message);
        return;
    }
    let mut decoded = Decoded::new();
    let def = match kind {
        0 => decoded.message(registry, proto, dir, message),
        1 => decoded.control(registry, proto, dir, message),
        _ => decoded.connless(registry, proto, message),
    };
    let Some(def) = def else {
        assert!(decoded.notes().contains(Code::UnknownMessage) && decoded.records().is_empty());
        return;
    };
    every_byte_is_explained(&decoded, message);
    let source = Source::Bytes(message);
    shown(&decoded, def, source);
    again(&decoded, def, message);
    spliced(&decoded, def, message);
}

fn every_byte_is_explained(decoded: &Decoded, data: &[u8]) {
    let mut explained = vec![false; data.len()];
    explained[..decoded.body()].fill(true);
    for (place, record) in decoded.records().iter().enumerate() {
        explained[record.at as usize..(record.at + record.len) as usize].fill(true);
        assert!(record.end as usize > place && record.end as usize <= decoded.records().len());
    }
    for note in decoded.notes().iter() {
        explained[note.at..note.at + note.len].fill(true);
    }
    assert!(decoded.notes().overflowed() || explained.iter().all(|explained| *explained));
    assert!(decoded.records().len() <= 8 * data.len() + 1024);
}

fn shown(decoded: &Decoded, def: &Def, source: Source<'_>) {
    for secrets in [Secrets::Hide, Secrets::Show] {
        let mut json = String::new();
        decoded.view().json(def, source, secrets, &mut json);
        assert!(!json.chars().any(char::is_control), "{json:?}");
        for row in decoded.view().rows(def, source, secrets) {
            assert!(!row.value.chars().any(char::is_control), "{row:?}");
            assert!(row.at + row.len <= source.len());
        }
    }
}

/// Checks that encoding the decoded values restores the bytes of the message, unless a note makes the values doubtful.
fn again(decoded: &Decoded, def: &Def, data: &[u8]) {
    let values = decoded.datum(def, Source::Bytes(data));
    let mut out = Vec::new();
    let written = def.encode_fields(&values, &mut out);
    let doubtful = |code| {
        !matches!(
            code,
            Code::OutOfRange
                | Code::UnknownValue
                | Code::UnknownBits
                | Code::TextCleaned
                | Code::TextTooLong
                | Code::InvalidUtf8
                | Code::SurplusBytes
                | Code::WrongDirection
                | Code::UnknownMessage
                | Code::UnexpectedBytes
        )
    };
    if decoded.notes().overflowed() || decoded.notes().iter().any(|note| doubtful(note.code)) {
        return;
    }
    // An object's size that is not a multiple of an int, or a negative count, cannot be encoded; both have this note.
    if decoded.notes().contains(Code::OutOfRange) && written.is_err() {
        return;
    }
    assert_eq!(written, Ok(()), "{}", def.name);
    assert_eq!(out, data[decoded.body()..decoded.known_end()], "{}", def.name);
}

fn spliced(decoded: &Decoded, def: &Def, data: &[u8]) {
    let mut out = Vec::new();
    for record in decoded.records().iter().filter(|record| record.depth == 0) {
        let Some(path) = Path::of_field(def, record.field) else {
            continue;
        };
        assert_eq!(decoded.find(&path), Some(record), "{}", def.name);
        let value = match record.value {
            Value::Int(_) => Datum::Int(1),
            Value::Text(_) => "spliced".into(),
            _ => continue,
        };
        if decoded.splice(def, data, &path, &value, &mut out).is_ok() {
            let (at, end) = (record.at as usize, (record.at + record.len) as usize);
            assert!(
                out[..at] == data[..at] && out.ends_with(&data[end..]),
                "{}",
                def.name
            );
        }
    }
}

fn object(registry: &Registry, proto: Proto, data: &[u8]) {
    let ints: Vec<i32> = data
        .chunks_exact(4)
        .map(|word| i32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect();
    let Some((number, ints)) = ints.split_first() else {
        return;
    };
    let Some(def) = registry.object(proto, number & 31) else {
        return;
    };
    assert_eq!(def.class, Class::Object);
    let mut decoded = Decoded::new();
    decoded.object(def, ints);
    shown(&decoded, def, Source::Ints(ints));
    let (short, long) = (
        decoded.notes().contains(Code::ObjectShort),
        decoded.notes().contains(Code::ObjectLong),
    );
    let size = def.size.map_or(0, |size| usize::from(size.full));
    if !decoded.notes().overflowed() {
        assert_eq!(long, ints.len() > size, "{}", def.name);
        assert!(!short || ints.len() < size, "{}", def.name);
    }
}
