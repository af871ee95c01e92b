//! The pages of `docs/src/messages/`: one section for each message and object, from the definitions and from the table of
//! receivers.
//!
//! To write them: `INSTA_UPDATE=always cargo test --test cli message_pages`.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use teetap_wire::{
    Proto,
    def::{
        Class, Datum, Decoded, Def, Dialect, Endpoints, Field, Id, Records, Registry, Repeat, Secrets,
        Source, Type, Vitality,
    },
    receiver::{self, MessageRow, MessageVerdict, checks_ranges},
};

/// Class, file, title and introduction of each page.
const PAGES: [(Class, &str, &str, &str); 5] = [
    (
        Class::Control,
        "control.md",
        "Control messages",
        "The payload of a packet with the control flag is one of these: a byte of id, then the fields.",
    ),
    (
        Class::System,
        "system.md",
        "Messages of the engine",
        "The int at the start of such a chunk is the id times 2, plus 1.",
    ),
    (
        Class::Game,
        "game.md",
        "Messages of the game",
        "The int at the start of such a chunk is the id times 2.",
    ),
    (
        Class::Connless,
        "connless.md",
        "Datagrams outside a connection",
        "After the header outside a connection follow `ff ff ff ff` and the four characters of the id.",
    ),
    (
        Class::Object,
        "objects.md",
        "Snapshot objects",
        "The ints of an item. The number is the type of the item; an object with a UUID gets a type in each snapshot.",
    ),
];

fn way(way: Endpoints) -> &'static str {
    match way {
        Endpoints::C2s => "client to server",
        Endpoints::S2c => "server to client",
        Endpoints::Both => "both directions",
        Endpoints::C2m => "client to master server",
        Endpoints::M2c => "master server to client",
        Endpoints::S2m => "server to master server",
        Endpoints::M2s => "master server to server",
        Endpoints::C2v => "client to version server",
        Endpoints::V2c => "version server to client",
        Endpoints::Demo => "only in demo files",
    }
}

fn id(def: &Def) -> String {
    match &def.id {
        Id::Number(number) => format!("id {number}"),
        Id::Uuid { uuid, name } => {
            let hex: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
            let name = name.as_deref().unwrap_or("without a name");
            format!("UUID {hex} (`{name}`)")
        }
        Id::Tag(tag) => format!("id `{}`", tag.escape_ascii()),
    }
}

/// Returns the line below the protocols: id, direction, chunk.
fn head(def: &Def) -> String {
    let mut parts = vec![id(def)];
    if def.class != Class::Object {
        parts.push(way(def.way).to_owned());
    }
    let vital = match def.vitality {
        Vitality::Vital => Some("vital"),
        Vitality::NonVital => Some("not vital"),
        Vitality::Mirror => Some("vital if the request was"),
        Vitality::Either => Some("vital or not"),
        Vitality::None => None,
    };
    parts.extend(vital.map(str::to_owned));
    if def.dead {
        parts.push("never sent".to_owned());
    }
    parts.extend(def.since.as_ref().map(|since| format!("since {since}")));
    if let Some(size) = def.size {
        let least = if size.least < size.full {
            format!("{} to ", size.least)
        } else {
            String::new()
        };
        let stated = if size.agreed.is_some() {
            ""
        } else {
            ", stated in each delta"
        };
        parts.push(format!("{least}{} ints{stated}", size.full));
    }
    parts.join(", ")
}

fn type_text(def: &Def, field: &Field) -> String {
    let name_of = |at: u16| def.field(at).map_or("", |field| &*field.name);
    let list = match field.repeat {
        Repeat::One => String::new(),
        Repeat::Fixed(count) => format!("[{count}]"),
        Repeat::Field(at) => format!("[{}]", name_of(at)),
        Repeat::Params(at) => format!("[{}.params]", name_of(at)),
        Repeat::Rest => "[*]".to_owned(),
    };
    let optional = if field.optional { "?" } else { "" };
    format!("`{}{optional}{list}`", field.ty.name())
}

fn range(field: &Field) -> String {
    let bounds = field.bounds;
    let mut parts = Vec::new();
    let (low, high) = (i64::from(i32::MIN), i64::from(i32::MAX));
    let is_free = matches!(
        field.ty,
        Type::Bool | Type::Decimal | Type::U8 | Type::Be16 | Type::Be32
    );
    if field.is_number() && !is_free && (bounds.min, bounds.max) != (low, high) {
        let end = |value: i64, open: i64| {
            if value == open {
                String::new()
            } else {
                value.to_string()
            }
        };
        parts.push(format!("{}..{}", end(bounds.min, low), end(bounds.max, high)));
    }
    match (bounds.limit, field.limit_for(true)) {
        (Some(limit), Some(ddnet)) if limit != ddnet => parts.push(format!("{limit} bytes, DDNet {ddnet}")),
        (Some(limit), _) => parts.push(format!("{limit} bytes")),
        _ => {}
    }
    parts.extend(field.scale().map(|scale| format!("times {scale}")));
    parts.extend(field.unit.as_deref().map(str::to_owned));
    parts.join(", ")
}

fn rows(def: &Def, parent: Option<u16>, prefix: &str, out: &mut String) {
    for (at, field) in def.parts(parent) {
        let set = field.set().and_then(|set| set.doc.as_deref());
        let text = field
            .doc
            .as_deref()
            .or(set)
            .unwrap_or_default()
            .replace('|', "\\|");
        let name = format!("{prefix}{}", field.name);
        writeln!(
            out,
            "| `{name}` | {} | {} | {text} |",
            type_text(def, field),
            range(field)
        )
        .unwrap();
        if matches!(field.ty, Type::Group { .. }) {
            rows(def, Some(at), &format!("{name}."), out);
        }
    }
}

/// Returns values that show where the fields are: each text is the name of its field, numbers are the defaults.
fn example(def: &Def) -> Datum {
    let texts = def
        .parts(None)
        .filter(|(_, field)| field.is_text() && !field.is_list());
    Datum::group(texts.map(|(_, field)| {
        let limit = match field.ty {
            Type::Packed(ints) => usize::from(ints) * 4 - 1,
            _ => field.bounds.limit.map_or(usize::MAX, usize::from),
        };
        let name = &field.name[..field.name.len().min(limit)];
        (&*field.name, Datum::from(name))
    }))
}

fn hex(bytes: &[u8]) -> String {
    let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    hex.join(" ")
}

/// Appends a line for each value; `part` returns its bytes or ints.
fn dump(
    def: &Def,
    records: Records<'_>,
    source: Source<'_>,
    part: &dyn Fn(usize, usize) -> String,
    out: &mut String,
) {
    for row in records.rows(def, source, Secrets::Show) {
        let bytes = part(row.at, row.len);
        let name = row
            .index
            .map_or_else(|| row.name.to_owned(), |index| format!("{}[{index}]", row.name));
        let line = format!(
            "{bytes:<24}  {:indent$}{name}  {}",
            "",
            row.value,
            indent = 2 * usize::from(row.depth)
        );
        writeln!(out, "{}", line.trim_end()).unwrap();
    }
}

/// Returns the bytes of an example with their meaning; empty for a message without fields.
fn annotated(def: &Def, proto: Proto) -> String {
    let mut decoded = Decoded::new();
    let mut out = String::new();
    if def.class == Class::Object {
        let mut ints = Vec::new();
        def.encode_object(&example(def), &mut ints).unwrap();
        decoded.object(def, &ints);
        let part = |at: usize, len: usize| {
            let ints: Vec<String> = ints[at..at + len].iter().map(i32::to_string).collect();
            ints.join(" ")
        };
        dump(def, decoded.view(), Source::Ints(&ints), &part, &mut out);
        return out;
    }
    let mut data = Vec::new();
    def.encode(&example(def), &mut data).unwrap();
    let mut fields = Vec::new();
    def.encode_fields(&example(def), &mut fields).unwrap();
    let body = data.len() - fields.len();
    decoded.read(def, &data, body);
    let (start, what) = (
        hex(&data[..body.min(8)]),
        if body > 8 { " ...  id" } else { "  id" },
    );
    writeln!(out, "{start:<24}{what}").unwrap();
    let part = |at: usize, len: usize| {
        let bytes = &data[at..at + len];
        if len > 16 {
            format!("{} ...", hex(&bytes[..15]))
        } else {
            hex(bytes)
        }
    };
    dump(def, decoded.view(), Source::Bytes(&data), &part, &mut out);
    assert!(proto.layout().header_len >= 3);
    out
}

/// Returns a sentence for each way in which releases treat a message, from its row in the receiver table.
fn treatment(row: &MessageRow) -> String {
    let releases: Vec<&str> = row.releases.iter().map(|release| release.name()).collect();
    let (first, last) = row.stages;
    let acts = |vital| matches!(row.judge(first, vital), MessageVerdict::Acts(_));
    let chunk = match (acts(true), acts(false)) {
        (true, false) => "ignores it unless the chunk is vital",
        (false, true) => "ignores it if the chunk is vital",
        _ => "accepts it in any chunk",
    };
    let mut text = format!("- {} as {}: {chunk}", releases.join(", "), row.receiver);
    if row.receiver == teetap_wire::Side::Server {
        write!(text, "; stages {first:?} to {last:?}").unwrap();
    }
    if let Some(after) = row.after {
        write!(text, "; only after `{after}`").unwrap();
    }
    if let Some(answer) = row.answer {
        write!(text, "; answers with `{answer}`").unwrap();
    }
    if !row.closes.is_empty() {
        write!(text, "; may close the connection: {}", row.closes.join(" / ")).unwrap();
    }
    writeln!(text, ". `{}`", row.source).unwrap();
    text
}

/// Returns the section of the definitions of one name, in the order of the dialects.
fn section(name: &str, defs: &[(Dialect, &Def)]) -> String {
    let mut out = format!("\n## {name}\n\n");
    let mut blocks: Vec<(Vec<Dialect>, &Def)> = Vec::new();
    for (dialect, def) in defs {
        let same = |other: &&mut (Vec<Dialect>, &Def)| {
            let other = other.1;
            (&other.id, other.way, other.vitality, &other.fields, &other.doc)
                == (&def.id, def.way, def.vitality, &def.fields, &def.doc)
        };
        match blocks.iter_mut().find(same) {
            Some((dialects, _)) => dialects.push(*dialect),
            None => blocks.push((vec![*dialect], def)),
        }
    }
    for (dialects, def) in &blocks {
        let names: Vec<&str> = dialects.iter().map(|dialect| dialect.name()).collect();
        writeln!(out, "**{}**: {}.\n", names.join(", "), head(def)).unwrap();
        writeln!(out, "{}\n", def.doc.as_deref().unwrap_or_default()).unwrap();
        if !def.fields.is_empty() {
            out.push_str("| field | type | range | |\n| --- | --- | --- | --- |\n");
            rows(def, None, "", &mut out);
            let proto = match dialects[0] {
                Dialect::V6 => Proto::V6,
                Dialect::Ddnet => Proto::Ddnet,
                Dialect::V7 => Proto::V7,
            };
            writeln!(out, "\n```text\n{}```\n", annotated(def, proto)).unwrap();
            let is_checked = def.class == Class::Game && checks_ranges(proto, name);
            if is_checked {
                out.push_str("Receivers drop the message if an int is outside its range.\n\n");
            }
        }
    }
    let class = blocks[0].1.class;
    if matches!(class, Class::System | Class::Game) {
        let treatments: Vec<String> = receiver::messages()
            .filter(|row| row.name == name)
            .map(treatment)
            .collect();
        if !treatments.is_empty() {
            writeln!(out, "{}", treatments.concat()).unwrap();
        }
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// Returns the page of a class.
fn page(class: Class, title: &str, introduction: &str) -> String {
    let mut names: BTreeMap<&str, Vec<(Dialect, &Def)>> = BTreeMap::new();
    for dialect in Dialect::ALL {
        for def in Registry::builtin().defs(dialect).filter(|def| def.class == class) {
            names.entry(&def.name).or_default().push((dialect, def));
        }
    }
    let mut out = format!(
        "# {title}\n\n{introduction} The bytes are an example: texts are the names of their fields, numbers are 0 or the legal number nearest to it.\n\
         [Messages](../messages.md) explains the definitions, [the wire](../wire.md) the bytes around them.\n\n\
         <!-- Generated from the definitions: INSTA_UPDATE=always cargo test --test cli message_pages. -->\n"
    );
    if class == Class::Game {
        let general = receiver::messages()
            .filter(|row| row.name == "game")
            .map(treatment);
        write!(
            out,
            "\nOf messages without a list of receivers:\n\n{}",
            general.collect::<String>()
        )
        .unwrap();
    }
    for (name, defs) in names {
        out.push_str(&section(name, &defs));
    }
    out
}

#[test]
fn the_pages_of_messages_are_those_of_the_definitions() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/messages");
    let is_accepted = std::env::var("INSTA_UPDATE").is_ok_and(|value| value == "always");
    for (class, file, title, introduction) in PAGES {
        let (path, expected) = (folder.join(file), page(class, title, introduction));
        if is_accepted {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&path, &expected).unwrap();
        }
        let written = fs::read_to_string(&path).unwrap();
        assert!(written == expected, "{} is not current", path.display());
        assert!(expected.matches("\n## ").count() >= 5, "{file}");
    }
}
