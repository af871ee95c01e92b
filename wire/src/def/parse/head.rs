//! The first line of a struct, message or object.

use std::sync::Arc;

use super::word::{name, number, plain_number, shortened};
use crate::def::error::Errors;
use crate::def::lex::Word;
use crate::def::mark::Name;
use crate::def::model::{Class, Endpoints, Frequency, Id, Vitality};
use crate::def::syntax::{Head, Layout};
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

/// Reads `struct NAME` or `CLASS ID NAME [WAY] [vital|nonvital|mirror|either] [periodic|continuous] [dead]
/// [explicit] [since=V] [alias=NAME]`.
pub(super) fn layout(
    first: Word<'_>,
    rest: &[Word<'_>],
    doc: Option<Arc<str>>,
    errors: &mut Errors,
) -> Option<(Name, Layout)> {
    let Some(class) = Class::ALL.into_iter().find(|class| class.name() == first.text) else {
        let [word] = rest else {
            errors.push(first.mark, "expected `struct NAME`", None);
            return None;
        };
        return open(*word, None, doc, errors);
    };
    let [id, word, rest @ ..] = rest else {
        errors.push(first.mark, format!("expected `{} ID NAME`", first.text), None);
        return None;
    };
    let head = Head {
        class,
        id: self::id(class, *id, errors)?,
        id_mark: id.mark,
        way: Endpoints::S2c,
        vitality: Vitality::None,
        frequency: Frequency::Event,
        dead: false,
        explicit: false,
        since: None,
        aliases: Vec::new(),
    };
    let head = attributes(head, *word, rest, errors)?;
    open(*word, Some(head), doc, errors)
}

fn open(
    word: Word<'_>,
    head: Option<Head>,
    doc: Option<Arc<str>>,
    errors: &mut Errors,
) -> Option<(Name, Layout)> {
    let layout = Layout {
        head,
        doc,
        members: Vec::new(),
        gist: Vec::new(),
    };
    Some((name(word, errors)?, layout))
}

fn id(class: Class, word: Word<'_>, errors: &mut Errors) -> Option<Id> {
    if class == Class::Connless {
        let tag = word
            .text
            .as_bytes()
            .first_chunk()
            .filter(|_| word.text.len() == 4);
        if tag.is_none() {
            errors.push(word.mark, "expected the four characters after ffffffff", None);
        }
        return tag.copied().map(Id::Tag);
    }
    let extended = class != Class::Control;
    if extended && word.text.contains('@') {
        return Some(Id::Uuid {
            uuid: uuid(word.text),
            name: Some(word.text.into()),
        });
    }
    if let Some(uuid) = parse_uuid(word.text).filter(|_| extended) {
        return Some(Id::Uuid { uuid, name: None });
    }
    let max = match class {
        Class::Control => 0xff,
        // Types from 0x4000 on are assigned by the server, by UUID.
        Class::Object => 0x3fff,
        _ => 0x3fff_ffff,
    };
    if extended && plain_number(word.text).is_none() {
        let what = format!("expected an id, found `{}`", shortened(word.text));
        let help = format!(
            "a number up to {max}, a UUID such as 245e5097-9fe0-39d6-bf7d-9a29e1691e4c, or the name with an @ that it is made of, \
             such as what-is@ddnet.tw"
        );
        errors.push(word.mark, what, Some(help));
        return None;
    }
    let number = number(word, 0, max, errors)?;
    i32::try_from(number).ok().map(Id::Number)
}

fn attributes(mut head: Head, name: Word<'_>, rest: &[Word<'_>], errors: &mut Errors) -> Option<Head> {
    let mut way = None;
    for word in rest {
        if let Some((_, known)) = Endpoints::NAMES.iter().find(|(name, _)| *name == word.text) {
            way = Some(*known);
            continue;
        }
        let vitality = Vitality::NAMES.iter().find(|(name, _)| *name == word.text);
        if let (Some((_, vitality)), Class::System | Class::Game) = (vitality, head.class) {
            head.vitality = *vitality;
            continue;
        }
        let frequency = Frequency::NAMES.iter().find(|(name, _)| *name == word.text);
        if let (Some((_, frequency)), Class::System | Class::Game | Class::Control) = (frequency, head.class)
        {
            head.frequency = *frequency;
            continue;
        }
        let key = word.text.split_inclusive('=').next().unwrap_or_default();
        let value = word.from(key.len()).text;
        let found = Attribute::NAMES.iter().find(|(name, _)| *name == key);
        match found.map(|(_, attribute)| attribute) {
            Some(Attribute::Since) if !value.is_empty() => head.since = Some(value.into()),
            Some(Attribute::Alias) if !value.is_empty() => head.aliases.push(value.into()),
            Some(Attribute::Dead) => head.dead = true,
            Some(Attribute::Explicit) if head.class == Class::Object => head.explicit = true,
            _ => {
                unknown(head.class, *word, errors);
                return None;
            }
        }
    }
    if way.is_none() && head.class != Class::Object {
        let help = "c2s, s2c or both".to_owned();
        errors.push(
            name.mark,
            format!("`{}` needs a direction", name.text),
            Some(help),
        );
        return None;
    }
    head.way = way.unwrap_or(Endpoints::S2c);
    Some(head)
}

fn unknown(class: Class, word: Word<'_>, errors: &mut Errors) {
    let help = match class {
        Class::System | Class::Game => {
            "c2s, s2c, both, vital, nonvital, mirror, either, periodic, continuous, dead, since=RELEASE or \
             alias=NAME"
        }
        Class::Object => "dead, explicit, since=RELEASE or alias=NAME",
        Class::Control => "a direction, periodic, continuous, dead, since=RELEASE or alias=NAME",
        Class::Connless => "a direction, dead, since=RELEASE or alias=NAME",
    };
    let what = format!("unknown attribute `{}`", shortened(word.text));
    errors.push(word.mark, what, Some(help.to_owned()));
}
