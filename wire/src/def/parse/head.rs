//! The first line of a struct, message or object.

use std::sync::Arc;

use super::super::error::Errors;
use super::super::lex::Word;
use super::super::model::{Class, Id, Vitality, Way};
use super::super::syntax::{Head, Layout};
use super::super::uuid::{parse_uuid, uuid};
use super::{Body, Open, name, number};

/// `struct NAME` or `CLASS ID NAME [WAY] [vital|nonvital|mirror] [dead] [explicit] [since=V] [alias=NAME]`
pub(super) fn layout(
    first: Word<'_>,
    rest: &[Word<'_>],
    doc: Option<Arc<str>>,
    errors: &mut Errors,
) -> Option<Open> {
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
        way: Way::S2c,
        vitality: Vitality::None,
        dead: false,
        explicit: false,
        since: None,
        aliases: Vec::new(),
    };
    let head = attributes(head, *word, rest, errors)?;
    open(*word, Some(head), doc, errors)
}

fn open(word: Word<'_>, head: Option<Head>, doc: Option<Arc<str>>, errors: &mut Errors) -> Option<Open> {
    let layout = Layout {
        head,
        doc,
        members: Vec::new(),
        gist: Vec::new(),
    };
    Some(Open {
        name: name(word, errors)?,
        body: Body::Layout(layout),
    })
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
        // From 0x4000 on they are given out by the server, by UUID.
        Class::Object => 0x3fff,
        _ => 0x3fff_ffff,
    };
    let number = number(word, 0, max, errors)?;
    i32::try_from(number).ok().map(Id::Number)
}

fn attributes(mut head: Head, name: Word<'_>, rest: &[Word<'_>], errors: &mut Errors) -> Option<Head> {
    let mut way = None;
    for word in rest {
        let known = Way::NAMES.iter().find(|(name, _)| *name == word.text);
        let vitality = Vitality::NAMES.iter().find(|(name, _)| *name == word.text);
        match word.text.split_once('=') {
            Some(("since", value)) if !value.is_empty() => head.since = Some(value.into()),
            Some(("alias", value)) if !value.is_empty() => head.aliases.push(value.into()),
            _ if known.is_some() => way = known.map(|(_, way)| *way),
            _ if vitality.is_some() && matches!(head.class, Class::System | Class::Game) => {
                head.vitality = vitality.map_or(Vitality::None, |(_, vitality)| *vitality);
            }
            _ if word.text == "dead" => head.dead = true,
            _ if word.text == "explicit" && head.class == Class::Object => head.explicit = true,
            _ => {
                let help = "a direction, vital, nonvital, mirror, dead, since=RELEASE or alias=NAME";
                errors.push(
                    word.mark,
                    format!("unknown attribute `{}`", word.text),
                    Some(help.to_owned()),
                );
                return None;
            }
        }
    }
    if way.is_none() && head.class != Class::Object {
        let help = "c2s, s2c or both".to_owned();
        errors.push(name.mark, format!("who sends `{}`?", name.text), Some(help));
        return None;
    }
    head.way = way.unwrap_or(Way::S2c);
    Some(head)
}
