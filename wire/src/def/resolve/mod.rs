//! Resolves definition files into the definitions of one dialect.
//!
//! Law: if there are several definitions of the same name, the definition with the highest rank is used
//! ([`Scope::rank`]); two definitions with the same rank are an error. A message replaces any message of lower rank
//! with the same name or the same id.

mod gist;
mod layout;
mod names;

use std::collections::BTreeMap;

use super::error::Errors;
use super::lex::Word;
use super::model::{Class, Def, Dialect, Endpoints, Id};
use super::syntax::{Item, Kind, Layout, Scope};
use names::Names;

/// Returns the definitions of `dialect` and the names in it.
pub(super) fn resolve<'i>(
    dialect: Dialect,
    items: &'i [Item<'i>],
    errors: &mut Errors<'_>,
) -> (Vec<Def>, Names<'i>) {
    let mut mine: Vec<&Item> = items
        .iter()
        .filter(|item| item.scope.dialects & dialect.bit() != 0)
        .collect();
    mine.sort_by_key(|item| item.scope.rank());
    let mut names = Names {
        consts: BTreeMap::new(),
        words: BTreeMap::new(),
        sets: BTreeMap::new(),
        structs: BTreeMap::new(),
        objects: BTreeMap::new(),
        level: mine.iter().map(|item| item.scope.level).max().unwrap_or(0),
        dialect,
        items,
    };
    let mut taken = DefinedNames::default();
    let mut messages = Messages::default();
    for item in mine {
        taken.check(item, errors);
        let name = &*item.name.text;
        match &item.kind {
            Kind::Const(value) => {
                names.consts.insert(name, *value);
            }
            Kind::Words(words) => {
                names.words.insert(name, words);
            }
            Kind::Set(set) => {
                names.structs.remove(name);
                names.sets.insert(name, set);
            }
            Kind::Layout(layout) => match &layout.head {
                Some(_) => messages.add(item, layout, errors),
                None => {
                    names.sets.remove(name);
                    names.structs.insert(name, layout);
                }
            },
        }
    }
    for (item, layout) in messages.live() {
        if layout
            .head
            .as_ref()
            .is_some_and(|head| head.class == Class::Object)
        {
            names.objects.insert(&item.name.text, layout);
        }
    }
    let mut defs: Vec<Def> = messages
        .live()
        .filter_map(|(item, layout)| layout::def(item, layout, &names, errors))
        .collect();
    twins(&mut defs);
    (defs, names)
}

/// The names of things other than messages, and the definitions that have them.
#[derive(Default)]
struct DefinedNames<'i> {
    by: BTreeMap<(u8, &'i str), (Scope, Word<'i>)>,
}

impl<'i> DefinedNames<'i> {
    fn check(&mut self, item: &'i Item<'i>, errors: &mut Errors<'_>) {
        let space = match &item.kind {
            Kind::Const(_) => 0,
            Kind::Words(_) => 1,
            Kind::Set(_) => 2,
            Kind::Layout(layout) if layout.head.is_none() => 2,
            Kind::Layout(_) => return,
        };
        let name = &*item.name.text;
        if let Some((scope, other)) = self.by.insert((space, name), (item.scope, item.name.word))
            && scope.rank() == item.scope.rank()
        {
            twice(&format!("`{name}`"), item.name.word, other, errors);
        }
    }
}

/// The messages and objects that were not replaced.
#[derive(Default)]
struct Messages<'i> {
    all: Vec<Option<(&'i Item<'i>, &'i Layout<'i>)>>,
    by_name: BTreeMap<(Class, bool, &'i str), usize>,
    by_id: BTreeMap<(Class, IdKey), Vec<usize>>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum IdKey {
    Number(i32),
    Uuid([u8; 16]),
    Tag([u8; 4]),
}

impl<'i> Messages<'i> {
    fn live(&self) -> impl Iterator<Item = (&'i Item<'i>, &'i Layout<'i>)> + '_ {
        self.all.iter().flatten().copied()
    }

    fn add(&mut self, item: &'i Item<'i>, layout: &'i Layout<'i>, errors: &mut Errors<'_>) {
        let Some(head) = &layout.head else { return };
        let index = self.all.len();
        let (key, extended) = match &head.id {
            Id::Number(number) => (IdKey::Number(*number), false),
            Id::Uuid { uuid, .. } => (IdKey::Uuid(*uuid), true),
            Id::Tag(tag) => (IdKey::Tag(*tag), false),
        };
        let same_id = self.by_id.entry((head.class, key)).or_default();
        let rivals = same_id.iter().copied().map(|rival| (rival, head.id_place));
        // An extended message may have the name of a plain message: DDNet added some messages of 0.7 in this way.
        let same_name = self
            .by_name
            .insert((head.class, extended, &item.name.text), index);
        let rivals: Vec<_> = rivals
            .chain(same_name.map(|rival| (rival, item.name.word)))
            .collect();
        same_id.push(index);
        for (rival, place) in rivals {
            let Some(slot) = self.all.get_mut(rival) else {
                continue;
            };
            let Some((other, its)) = *slot else { continue };
            let ways = its.head.as_ref().map(|head| head.way);
            let apart = matches!(
                (head.way, ways),
                (Endpoints::C2s, Some(Endpoints::S2c)) | (Endpoints::S2c, Some(Endpoints::C2s))
            );
            let is_id = place.at == head.id_place.at;
            if is_id && apart {
                continue;
            }
            if other.scope.rank() == item.scope.rank() {
                let what = if is_id {
                    "this id".to_owned()
                } else {
                    format!("`{}`", item.name.text)
                };
                twice(&what, place, other.name.word, errors);
            }
            *slot = None;
        }
        self.all.push(Some((item, layout)));
    }
}

fn twice(what: &str, place: Word<'_>, other: Word<'_>, errors: &mut Errors<'_>) {
    let other = errors.line_of(other.at);
    let message = format!("{what} is defined twice; the other definition is at {other}");
    let help = "a definition replaces those in files before, and those for more protocols".to_owned();
    errors.push(place, message, Some(help));
}

/// Links definitions that have the same id and are sent in opposite directions.
fn twins(defs: &mut [Def]) {
    for at in 0..defs.len() {
        let (before, rest) = defs.split_at_mut(at);
        let Some(def) = rest.first() else { continue };
        // Only these can share an id.
        if !matches!(def.way, Endpoints::C2s | Endpoints::S2c) || def.class == Class::Object {
            continue;
        }
        let first = before
            .iter_mut()
            .find(|other| other.class == def.class && other.id == def.id);
        if let Some(first) = first {
            first.twin = u16::try_from(at).ok();
        }
    }
}
