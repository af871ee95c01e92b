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
use super::syntax::{Head, Item, Kind, Layout, Scope};
use names::Names;

/// Returns all definitions in the order in which one replaces another.
pub(super) fn by_rank<'i>(items: &'i [Item<'i>]) -> Vec<&'i Item<'i>> {
    let mut items: Vec<_> = items.iter().collect();
    items.sort_by_key(|item| item.scope.rank());
    items
}

/// Returns the definitions of `dialect` and the names in it. `items` are sorted by rank.
pub(super) fn resolve<'i>(
    dialect: Dialect,
    items: &'i [&'i Item<'i>],
    errors: &mut Errors<'_>,
) -> (Vec<Def>, Names<'i>) {
    let of_dialect = |item: &&&Item<'_>| item.scope.dialects & dialect.bit() != 0;
    let mine = || items.iter().filter(of_dialect).copied();
    let mut names = Names {
        consts: BTreeMap::new(),
        words: BTreeMap::new(),
        sets: BTreeMap::new(),
        structs: BTreeMap::new(),
        objects: BTreeMap::new(),
        level: mine().map(|item| item.scope.level).max().unwrap_or(0),
        dialect,
        items,
    };
    let mut taken = DefinedNames::default();
    let mut messages = Messages::default();
    for item in mine() {
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
    let mut defs = Vec::with_capacity(messages.all.len());
    for (item, layout) in messages.live() {
        if let Some(def) = layout::def(item, layout, &names, errors) {
            defs.push(def);
        }
    }
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

/// The messages and objects.
#[derive(Default)]
struct Messages<'i> {
    all: Vec<Message<'i>>,
    /// The index of the last message of each name.
    by_name: BTreeMap<(Class, bool, &'i str), usize>,
    /// The indexes of the first and the last message of each id.
    by_id: BTreeMap<(Class, IdKey), (usize, usize)>,
}

struct Message<'i> {
    item: &'i Item<'i>,
    layout: &'i Layout<'i>,
    is_replaced: bool,
    /// The index of the next message with the same id.
    same_id: Option<usize>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum IdKey {
    Number(i32),
    Uuid([u8; 16]),
    Tag([u8; 4]),
}

impl<'i> Messages<'i> {
    fn live(&self) -> impl Iterator<Item = (&'i Item<'i>, &'i Layout<'i>)> + '_ {
        let live = self.all.iter().filter(|message| !message.is_replaced);
        live.map(|message| (message.item, message.layout))
    }

    fn add(&mut self, item: &'i Item<'i>, layout: &'i Layout<'i>, errors: &mut Errors<'_>) {
        let Some(head) = &layout.head else { return };
        let index = self.all.len();
        let (key, extended) = match &head.id {
            Id::Number(number) => (IdKey::Number(*number), false),
            Id::Uuid { uuid, .. } => (IdKey::Uuid(*uuid), true),
            Id::Tag(tag) => (IdKey::Tag(*tag), false),
        };
        let same_id = self.by_id.entry((head.class, key)).or_insert((index, index));
        let (first, last) = *same_id;
        same_id.1 = index;
        let mut rival = first;
        while let Some(other) = self.all.get_mut(rival) {
            other.give_way(item, head, true, errors);
            rival = other.same_id.unwrap_or(index);
        }
        if let Some(last) = self.all.get_mut(last) {
            last.same_id = Some(index);
        }
        // An extended message may have the name of a plain message: DDNet added some messages of 0.7 in this way.
        let same_name = self
            .by_name
            .insert((head.class, extended, item.name.word.text), index);
        if let Some(other) = same_name.and_then(|at| self.all.get_mut(at)) {
            other.give_way(item, head, false, errors);
        }
        self.all.push(Message {
            item,
            layout,
            is_replaced: false,
            same_id: None,
        });
    }
}

impl Message<'_> {
    /// Marks the message as replaced by `item`, which has the same id (`is_id`) or the same name. Two messages may share
    /// an id if they are sent in opposite directions.
    fn give_way(&mut self, item: &Item<'_>, head: &Head<'_>, is_id: bool, errors: &mut Errors<'_>) {
        let ways = (head.way, self.layout.head.as_ref().map(|head| head.way));
        let is_apart = matches!(
            ways,
            (Endpoints::C2s, Some(Endpoints::S2c)) | (Endpoints::S2c, Some(Endpoints::C2s))
        );
        if self.is_replaced || is_id && is_apart {
            return;
        }
        if self.item.scope.rank() == item.scope.rank() {
            let (what, place) = if is_id {
                ("this id".to_owned(), head.id_place)
            } else {
                (format!("`{}`", item.name.text), item.name.word)
            };
            twice(&what, place, self.item.name.word, errors);
        }
        self.is_replaced = true;
    }
}

fn twice(what: &str, place: Word<'_>, other: Word<'_>, errors: &mut Errors<'_>) {
    let other = errors.line_of(other.at);
    let message = format!("{what} is defined twice; the other definition is at {other}");
    let help = "a definition replaces those in files before, and those for more protocols".to_owned();
    errors.push(place, message, Some(help));
}
