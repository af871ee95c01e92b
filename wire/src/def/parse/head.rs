//! The first line of a struct, message or object.

use crate::def::lex::{Input, Parsed, Word, fail, key_value, name, number_within, plain_number, word, words};
use crate::def::model::{Class, Endpoints, Frequency, Id, Vitality};
use crate::def::syntax::{Head, Layout, Name};
use crate::def::uuid::{parse_uuid, uuid};

/// An attribute after the name of a message or object, except direction and vitality.
#[derive(Debug, Clone, Copy)]
pub(in crate::def) enum Attribute {
    Dead,
    Explicit,
    Since,
    Alias,
}

impl Attribute {
    /// The attributes as written; a value follows a `=`.
    pub(in crate::def) const NAMES: [(&'static str, Self); 4] = [
        ("dead", Self::Dead),
        ("explicit", Self::Explicit),
        ("since=", Self::Since),
        ("alias=", Self::Alias),
    ];
}

/// Parses `struct NAME` or `CLASS ID NAME [WAY] [vital|nonvital|mirror|either] [periodic|continuous] [dead]
/// [explicit] [since=V] [alias=NAME]`, after the first word.
pub(super) fn layout<'t>(first: Word<'t>, i: &mut Input<'t>) -> Parsed<(Name<'t>, Layout<'t>)> {
    let (head, name) = match Class::ALL.into_iter().find(|class| class.name() == first.text) {
        Some(class) => {
            let (Ok(id), Ok(name)) = (word(i), word(i)) else {
                return fail(first, format!("expected `{} ID NAME`", first.text), None);
            };
            (Some(head(class, id, name, i)?), name)
        }
        None => match words(i) {
            Ok([name]) => (None, name),
            Err(_) => return fail(first, "expected `struct NAME`", None),
        },
    };
    let layout = Layout {
        head,
        doc: None,
        members: Vec::new(),
        gist: Vec::new(),
    };
    Ok((self::name(name)?.into(), layout))
}

/// Returns the meaning of an id: a number, a UUID, the text that a UUID is made from, or four characters.
fn id(class: Class, word: Word<'_>) -> Parsed<Id> {
    if class == Class::Connless {
        return match word.text.as_bytes().try_into() {
            Ok(tag) => Ok(Id::Tag(tag)),
            Err(_) => fail(word, "expected the four characters after ffffffff", None),
        };
    }
    let max = match class {
        Class::Control => 0xff,
        // Types from 0x4000 on are assigned by the server, by UUID.
        Class::Object => 0x3fff,
        _ => 0x3fff_ffff,
    };
    if class != Class::Control {
        if word.text.contains('@') {
            return Ok(Id::Uuid {
                uuid: uuid(word.text),
                name: Some(word.text.into()),
            });
        }
        if let Some(uuid) = parse_uuid(word.text) {
            return Ok(Id::Uuid { uuid, name: None });
        }
        if plain_number(word.text).is_none() {
            let what = format!("expected an id, found `{}`", word.shown());
            let help = format!(
                "a number up to {max}, a UUID such as 245e5097-9fe0-39d6-bf7d-9a29e1691e4c, or the name with an @ that it is made of, \
                 such as what-is@ddnet.tw"
            );
            return fail(word, what, Some(help));
        }
    }
    let number = number_within(word, 0, max)?;
    Ok(Id::Number(i32::try_from(number).unwrap_or(i32::MAX)))
}

/// Parses the header of a message or object, after its name.
fn head<'t>(class: Class, id: Word<'t>, name: Word<'t>, i: &mut Input<'t>) -> Parsed<Head<'t>> {
    let mut head = Head {
        class,
        id: self::id(class, id)?,
        id_place: id,
        way: Endpoints::S2c,
        vitality: Vitality::None,
        frequency: Frequency::Event,
        dead: false,
        explicit: false,
        since: None,
        aliases: Vec::new(),
    };
    let mut has_way = class == Class::Object;
    while let Ok(word) = word(i) {
        if let Some(way) = listed(&Endpoints::NAMES, word) {
            (head.way, has_way) = (way, true);
        } else if let (Some(vitality), Class::System | Class::Game) = (listed(&Vitality::NAMES, word), class)
        {
            head.vitality = vitality;
        } else if let (Some(frequency), Class::System | Class::Game | Class::Control) =
            (listed(&Frequency::NAMES, word), class)
        {
            head.frequency = frequency;
        } else {
            attribute(&mut head, word)?;
        }
    }
    if !has_way {
        let help = "c2s, s2c or both".to_owned();
        return fail(name, format!("`{}` needs a direction", name.text), Some(help));
    }
    Ok(head)
}

/// Returns the value that a table has for a word.
fn listed<T: Copy>(table: &[(&str, T)], word: Word<'_>) -> Option<T> {
    let found = table.iter().find(|(name, _)| *name == word.text);
    found.map(|(_, value)| *value)
}

/// Sets the attribute that a word states: `KEY` or `KEY=VALUE`.
fn attribute<'t>(head: &mut Head<'t>, word: Word<'t>) -> Parsed<()> {
    let (key, value) = key_value(word)?;
    let found = Attribute::NAMES.iter().find(|(name, _)| *name == key);
    match found.map(|(_, attribute)| attribute) {
        Some(Attribute::Since) if !value.text.is_empty() => head.since = Some(value.text.into()),
        Some(Attribute::Alias) if !value.text.is_empty() => head.aliases.push(value.text.into()),
        Some(Attribute::Dead) => head.dead = true,
        Some(Attribute::Explicit) if head.class == Class::Object => head.explicit = true,
        _ => return unknown(head.class, word),
    }
    Ok(())
}

fn unknown(class: Class, word: Word<'_>) -> Parsed<()> {
    let help = match class {
        Class::System | Class::Game => {
            "c2s, s2c, both, vital, nonvital, mirror, either, periodic, continuous, dead, since=RELEASE or \
             alias=NAME"
        }
        Class::Object => "dead, explicit, since=RELEASE or alias=NAME",
        Class::Control => "a direction, periodic, continuous, dead, since=RELEASE or alias=NAME",
        Class::Connless => "a direction, dead, since=RELEASE or alias=NAME",
    };
    let what = format!("unknown attribute `{}`", word.shown());
    fail(word, what, Some(help.to_owned()))
}
