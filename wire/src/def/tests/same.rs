//! Outputs of all definitions for generated messages, and of definition files with mistakes: they must be the same as
//! before, see [`Groups`].

use std::fmt::Write as _;

use super::fuzz::WORDS;
use super::properties::{Choices, DIALECTS, body, pad_ints, path_to};
use super::*;
use teetap_repeatable::Groups;

/// Number of generated messages of each definition.
const ROUNDS: usize = 3;
/// Number of generated definition files.
const FILES: usize = 120;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        write!(out, "{byte:02x}").unwrap();
        out
    })
}

/// Adds all outputs of one decoded message or object.
fn shown(groups: &mut Groups, def: &Def, decoded: &Decoded, source: Source<'_>) {
    let notes: Vec<_> = decoded
        .notes()
        .iter()
        .map(|note| (note.code.name(), note.at, note.len))
        .collect();
    groups.line(format_args!(
        "{} {notes:?} {}",
        decoded.known_end(),
        decoded.notes().overflowed()
    ));
    for secrets in [Secrets::Hide, Secrets::Show] {
        for row in decoded.view().rows(def, source, secrets) {
            groups.line(format_args!(
                "{} {} {:?} {} {}+{}",
                row.depth, row.name, row.index, row.value, row.at, row.len
            ));
        }
        let mut json = String::new();
        decoded.view().json(def, source, secrets, &mut json);
        groups.line(format_args!("{json}"));
        for (line, value) in [(200, 40), (40, 12)] {
            let style = GistStyle { secrets, line, value };
            let name_of = |id| {
                [&b"nameless tee"[..], b"x\"y: z"]
                    .get(usize::try_from(id).ok()?)
                    .copied()
            };
            let gist = decoded.view().gist(def, source, style, &name_of);
            groups.line(format_args!("{gist:?}"));
        }
    }
    groups.line(format_args!("{:?}", decoded.view().scales_json(def)));
    for record in decoded.records() {
        let secret = decoded.view().secret(def, record, source);
        groups.line(format_args!("{record:?} {secret:?}"));
    }
}

/// Returns a value that may not fit a field.
fn other_value(choices: &mut Choices, def: &Def, at: u16, field: &Field) -> Datum {
    match choices.below(12) {
        0 => Datum::Absent,
        1 => Datum::Int(field.bounds.max.saturating_add(1)),
        2 => Datum::Int(field.bounds.min.saturating_sub(1)),
        3 => Datum::Bytes(b"a long text \xff that is no number, \x01 ".repeat(9)),
        4 => Datum::List(vec![Datum::Int(1), "x".into()]),
        5 => Datum::group([("x", Datum::Int(1))]),
        6 => match &field.ty {
            Type::Enum(set) | Type::Flags(set) => set
                .labels
                .last()
                .map_or(Datum::Absent, |label| (&*label.name).into()),
            _ => "red|blue".into(),
        },
        _ => choices.one(def, at, field),
    }
}

/// Adds the results of writing one field: of a message with the field changed, and of a changed message.
fn edited(groups: &mut Groups, choices: &mut Choices, def: &Def, decoded: &Decoded, data: &[u8]) {
    let mut out = Vec::new();
    for record in decoded.records() {
        let Some(path) = path_to(def, decoded, record) else {
            continue;
        };
        let field = def.field(record.field).unwrap();
        let value = other_value(choices, def, record.field, field);
        let path = def.path(&path).unwrap();
        match decoded.splice(def, data, &path, &value, &mut out) {
            Ok(()) => groups.line(format_args!("{path:?} {}", hex(&out))),
            Err(error) => groups.line(format_args!("{path:?} {error}")),
        }
    }
    for (at, field) in def.parts(None) {
        let Datum::Group(mut fields) = decoded.datum(def, Source::Bytes(data)) else {
            unreachable!()
        };
        let value = other_value(choices, def, at, field);
        match fields.iter_mut().find(|(name, _)| *name == field.name) {
            Some(slot) if choices.below(3) > 0 => slot.1 = value,
            Some(_) => fields.retain(|(name, _)| *name != field.name),
            None => fields.push((field.name.clone(), value)),
        }
        out.clear();
        match def.encode(&Datum::Group(fields), &mut out) {
            Ok(()) => groups.line(format_args!("{} {}", field.name, hex(&out))),
            Err(error) => groups.line(format_args!("{} {error}", field.name)),
        }
    }
}

/// Returns the message, and copies that are cut, changed, padded or too long.
fn variants(choices: &mut Choices, def: &Def, data: &[u8], body: usize) -> Vec<Vec<u8>> {
    let mut padded = data.to_vec();
    pad_ints(def, &mut padded, body, choices);
    let cut = data[..body + choices.below(data.len() - body + 1)].to_vec();
    let longer = [data, &[0xee; 3]].concat();
    let mut changed = [data.to_vec(), data.to_vec()];
    for (copy, bytes) in changed.iter_mut().zip([1, 4]) {
        for _ in 0..bytes {
            let at = body + choices.below(data.len() - body + 1);
            if let Some(byte) = copy.get_mut(at) {
                *byte = [0, 0x80, 0xff, 0x1b, 0x40, 0xbf][choices.below(6)];
            }
        }
    }
    [vec![data.to_vec(), padded, cut, longer], changed.to_vec()].concat()
}

fn message(groups: &mut Groups, choices: &mut Choices, proto: Proto, def: &Def) {
    let (registry, mut decoded) = (Registry::builtin(), Decoded::new());
    let mut data = Vec::new();
    def.encode(&choices.group(def, None), &mut data).unwrap();
    let body = body(def, &data);
    for data in variants(choices, def, &data, body) {
        groups.line(format_args!("{}", hex(&data)));
        for dir in [Dir::C2s, Dir::S2c] {
            let found = match def.class {
                Class::Control => decoded.control(registry, proto, dir, &data),
                Class::Connless => decoded.connless(registry, proto, &data),
                _ => decoded.message(registry, proto, dir, &data),
            };
            let Some(found) = found else { continue };
            for vital in [false, true] {
                let mut checked = decoded.clone();
                checked.check_vital(found, vital);
                let notes: Vec<_> = codes(&checked);
                groups.line(format_args!("{dir} {vital} {} {notes:?}", found.name));
            }
        }
        decoded.read(def, &data, body);
        shown(groups, def, &decoded, Source::Bytes(&data));
        let mut again = Vec::new();
        match def.encode(&decoded.datum(def, Source::Bytes(&data)), &mut again) {
            Ok(()) => groups.line(format_args!("{}", hex(&again))),
            Err(error) => groups.line(format_args!("{error}")),
        }
    }
    decoded.read(def, &data, body);
    edited(groups, choices, def, &decoded, &data);
}

fn object(groups: &mut Groups, choices: &mut Choices, def: &Def) {
    let (mut decoded, mut whole) = (Decoded::new(), Vec::new());
    def.encode_object(&choices.group(def, None), &mut whole).unwrap();
    let cut = whole[..choices.below(whole.len() + 1)].to_vec();
    let mut changed = whole.clone();
    if let Some(int) = changed.get_mut(choices.below(whole.len().max(1))) {
        *int = [i32::MIN, -1, 1 << 20, 0x0101_0101][choices.below(4)];
    }
    for ints in [whole.clone(), cut, changed, [whole, vec![7, -7]].concat()] {
        groups.line(format_args!("{ints:?}"));
        decoded.object(def, &ints);
        shown(groups, def, &decoded, Source::Ints(&ints));
        for record in decoded.records() {
            let Some(path) = path_to(def, &decoded, record) else {
                continue;
            };
            let field = def.field(record.field).unwrap();
            let value = other_value(choices, def, record.field, field);
            let mut edited = ints.clone();
            let result = decoded.splice_object(def, &mut edited, &def.path(&path).unwrap(), &value);
            groups.line(format_args!("{path:?} {result:?} {edited:?}"));
        }
    }
}

/// Adds the results of reading paths of all fields, with and without an index, a part and a mistake.
fn paths(groups: &mut Groups, def: &Def) {
    for field in &*def.fields {
        let name = &field.name;
        for text in [
            name.to_string(),
            format!("{name}[0]"),
            format!("{name}[63]"),
            format!("{name}[65536]"),
            format!("{name}[1"),
            format!("{name}[0].{name}"),
            format!("{name}.x"),
            format!("{name}x"),
            name.to_uppercase(),
        ] {
            match def.path(&text) {
                Ok(path) => groups.line(format_args!("{text} {path:?} {}", path.leaf())),
                Err(error) => groups.line(format_args!("{text} {error} {error:?}")),
            }
        }
    }
}

#[test]
fn messages_and_objects_are_shown_as_before() {
    let mut groups = Groups::default();
    let registry = Registry::builtin();
    for (dialect, proto) in DIALECTS {
        for def in registry.defs(dialect) {
            groups.group(format!("{dialect} {} {}", def.class.name(), def.name));
            let mut choices = Choices(0x7ee7 + def.fields.len() as u64);
            groups.line(format_args!("{}", def.to_text()));
            groups.line(format_args!(
                "{:?}",
                registry.describe(Some(def.class), &def.name)
            ));
            let wrong = format!("{}x", &def.name[1..]);
            groups.line(format_args!(
                "{:?} {:?}",
                registry.suggest(None, &wrong),
                registry.suggest(Some(def.class), &wrong)
            ));
            paths(&mut groups, def);
            for _ in 0..ROUNDS {
                match def.class {
                    Class::Object => object(&mut groups, &mut choices, def),
                    _ => message(&mut groups, &mut choices, proto, def),
                }
            }
        }
    }
    insta::assert_snapshot!(groups.table("definitions"));
}

/// Returns lines of a built-in file and of the explanation of the format, each with a chance of a mistake.
fn file(choices: &mut Choices) -> String {
    let texts = [
        FORM,
        include_str!("../../../defs/v06.tw"),
        include_str!("../../../defs/v07.tw"),
        include_str!("../../../defs/ddnet.tw"),
        include_str!("../../../defs/extended.tw"),
        include_str!("../../../defs/others.tw"),
        include_str!("../../../defs/connless.tw"),
        include_str!("../../../defs/control.tw"),
    ];
    let text = texts[choices.below(texts.len())];
    // The explanation of the format is one long block.
    let blocks: Vec<_> = text.split("\n\n").filter(|block| block.len() < 3000).collect();
    let mut out = String::from("for 0.6 ddnet 0.7\n\n");
    for _ in 0..1 + choices.below(4) {
        for line in blocks[choices.below(blocks.len())]
            .lines()
            .filter(|line| !line.starts_with("for "))
        {
            let indent = &line[..line.len() - line.trim_start().len()];
            let mut words: Vec<_> = line.split_whitespace().collect();
            let at = choices.below(words.len() + 1);
            let word = WORDS[choices.below(WORDS.len())];
            match choices.below(24) {
                0 => words.insert(at, word),
                1 if at < words.len() => words[at] = word,
                2 if at < words.len() => drop(words.remove(at)),
                3 if at + 1 < words.len() => words.swap(at, at + 1),
                4 => continue,
                _ => {}
            }
            writeln!(out, "{indent}{}", words.join(" ")).unwrap();
        }
        out.push('\n');
    }
    out
}

#[test]
fn definition_files_are_read_or_refused_as_before() {
    let (mut groups, mut choices) = (Groups::default(), Choices(11));
    for number in 0..FILES {
        if number % 10 == 0 {
            groups.group(format!("files {number} to {}", number + 9));
        }
        let text = file(&mut choices);
        groups.line(format_args!("{text}"));
        match Registry::with("any.tw", &text) {
            Ok(registry) => {
                let all = Dialect::ALL
                    .into_iter()
                    .flat_map(|dialect| registry.defs(dialect).map(move |def| (dialect, def)));
                let known = |dialect, def: &Def| Registry::builtin().defs(dialect).any(|known| known == def);
                for (dialect, def) in all.filter(|(dialect, def)| !known(*dialect, def)) {
                    groups.line(format_args!("{dialect} {:?}\n{}", def.id, def.to_text()));
                }
            }
            Err(errors) => errors
                .iter()
                .for_each(|error| groups.line(format_args!("{error} {error:?}"))),
        }
    }
    insta::assert_snapshot!(groups.table("files"));
}
