//! All definitions of all dialects.

use std::fmt;
use std::sync::{Arc, LazyLock};

use super::error::{DefError, Errors};
use super::lex::Word;
use super::model::{Class, Def, Dialect, Field, Path, Set};
use super::path::PathError;
use super::suggest::suggest;
use super::syntax::{Item, Kind};
use super::table::Table;
use super::{parse, resolve, secrecy};
use crate::message::identify;
use crate::{Dir, MessageId, Proto};

/// The built-in files in reading order.
const FILES: [(&str, &str); 7] = [
    ("v06.tw", include_str!("../../defs/v06.tw")),
    ("ddnet.tw", include_str!("../../defs/ddnet.tw")),
    ("v07.tw", include_str!("../../defs/v07.tw")),
    ("extended.tw", include_str!("../../defs/extended.tw")),
    ("others.tw", include_str!("../../defs/others.tw")),
    ("connless.tw", include_str!("../../defs/connless.tw")),
    ("control.tw", include_str!("../../defs/control.tw")),
];

/// All definitions of all dialects.
pub struct Registry {
    v6: Table,
    ddnet: Table,
    v7: Table,
    /// Names and texts of the files that were loaded in addition to the built-in files.
    files: Box<[(Box<str>, Box<str>)]>,
}

/// The definition found for the start of a message.
#[derive(Debug, Clone, Copy)]
pub struct Found<'r> {
    /// The definition. An unknown UUID has the definition of its envelope.
    pub def: &'r Def,
    /// The length of the id before the fields, in bytes.
    pub body: usize,
    /// True if the UUID is unknown.
    pub unknown: bool,
}

impl Registry {
    /// Returns the built-in definitions, which are read once.
    #[must_use]
    #[expect(
        clippy::expect_used,
        reason = "the text is part of the program, and a test reads it"
    )]
    pub fn builtin() -> &'static Self {
        static BUILTIN: LazyLock<Registry> =
            LazyLock::new(|| Registry::load(&[]).expect("the built-in definitions are right"));
        &BUILTIN
    }

    /// Parses the built-in definitions and a user's definitions in `text`, the contents of the file `name`. These may
    /// add to the built-in definitions or replace them.
    ///
    /// # Errors
    /// Returns all errors in `text`, at most 50, in the order of the text.
    pub fn with(name: &str, text: &str) -> Result<Self, Vec<DefError>> {
        Self::load(&[(name, text)])
    }

    /// Reads definitions as [`Registry::with`] does. `objection` returns the error for the name of a new message or
    /// object, if a program reserves that name.
    ///
    /// # Errors
    /// As [`Registry::with`], and the objections.
    pub fn with_names(
        name: &str,
        text: &str,
        objection: impl Fn(Class, &str) -> Option<String>,
    ) -> Result<Self, Vec<DefError>> {
        Self::read(&[(name, text)], &objection)
    }

    /// Reads definitions as [`Registry::with`] does, from any number of files.
    ///
    /// # Errors
    /// As [`Registry::with`].
    pub fn load(files: &[(&str, &str)]) -> Result<Self, Vec<DefError>> {
        Self::read(files, &|_, _| None)
    }

    fn read(
        files: &[(&str, &str)],
        objection: &dyn Fn(Class, &str) -> Option<String>,
    ) -> Result<Self, Vec<DefError>> {
        let mut errors = Errors::new();
        let mut items = Vec::new();
        for (name, text) in FILES {
            parse::parse(name, text, 0, &mut items, &mut errors);
        }
        for (name, text) in files {
            parse::parse(name, text, 1, &mut items, &mut errors);
        }
        object(&items, objection, &mut errors);
        let items_by_rank = resolve::by_rank(&items);
        let mut resolved = |dialect| {
            let (defs, names) = resolve::resolve(dialect, &items_by_rank, &mut errors);
            let sets = names
                .sets
                .values()
                .map(|set| (set.name.clone(), Arc::clone(set)))
                .collect();
            (defs, sets)
        };
        let [mut v6, mut ddnet, mut v7] = Dialect::ALL.map(&mut resolved);
        if !files.is_empty() {
            let builtin = Self::builtin();
            for (defs, dialect) in [
                (&mut v6.0, Dialect::V6),
                (&mut ddnet.0, Dialect::Ddnet),
                (&mut v7.0, Dialect::V7),
            ] {
                let builtin = &builtin.of_dialect(dialect).defs;
                secrecy::adopt(defs, builtin);
                adopt_attributes(defs, builtin);
            }
        }
        adopt_limits(&mut v6.0, &ddnet.0);
        adopt_limits(&mut v7.0, &ddnet.0);
        let table = |(defs, sets)| Table::new(defs, sets);
        let registry = Self {
            v6: table(v6),
            ddnet: table(ddnet),
            v7: table(v7),
            files: files
                .iter()
                .map(|(name, text)| ((*name).into(), (*text).into()))
                .collect(),
        };
        errors.blame(FILES.len(), &replacing(&items));
        errors.into_result()?;
        Ok(registry)
    }

    /// Returns the names and texts of the files that were loaded in addition to the built-in files. [`Registry::load`]
    /// creates the same registry from them.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(name, text)| (&**name, &**text))
    }

    /// Returns the definition of a message by its id and direction. If it is only defined for the other direction,
    /// returns that.
    #[must_use]
    pub fn identify(&self, proto: Proto, dir: Dir, id: MessageId) -> Option<&Def> {
        let table = self.table(proto);
        let class = id.layer.into();
        let at = match &id.uuid {
            Some(uuid) => table.uuid(class, uuid),
            None => table.number(class, id.id),
        };
        table.towards(at?, dir)
    }

    /// Returns the definition of the message in the data of a chunk. `None` if its number is unknown or missing.
    #[must_use]
    pub fn message(&self, proto: Proto, dir: Dir, data: &[u8]) -> Option<Found<'_>> {
        let (id, body) = identify(data)?;
        let found = |def, body, unknown| Found { def, body, unknown };
        if let Some(def) = self.identify(proto, dir, id) {
            return Some(found(def, body, false));
        }
        let envelope = MessageId { uuid: None, ..id };
        let def = self.identify(proto, dir, envelope)?;
        Some(found(def, body - 16, true))
    }

    /// Returns the definition of the message in the data of a chunk, like [`Self::message`], but `None` for an unknown
    /// UUID, for which only the envelope has a definition.
    #[must_use]
    pub fn known_message(&self, proto: Proto, dir: Dir, data: &[u8]) -> Option<Found<'_>> {
        self.message(proto, dir, data).filter(|found| !found.unknown)
    }

    /// Returns the definition of a control message by its first byte.
    #[must_use]
    pub fn control(&self, proto: Proto, dir: Dir, id: u8) -> Option<&Def> {
        let table = self.table(proto);
        table.towards(table.number(Class::Control, id.into())?, dir)
    }

    /// Returns the definition of a connless message by its first eight bytes.
    #[must_use]
    pub fn connless(&self, proto: Proto, data: &[u8]) -> Option<&Def> {
        let tag: &[u8; 4] = data.strip_prefix(&[0xff; 4])?.first_chunk()?;
        self.table(proto).tag(*tag)
    }

    /// Returns the definition of a snapshot object by its type.
    #[must_use]
    pub fn object(&self, proto: Proto, number: i32) -> Option<&Def> {
        let table = self.table(proto);
        table.def(table.number(Class::Object, number)?)
    }

    /// Returns the definition of a snapshot object by the UUID that a descriptor item gave its type.
    #[must_use]
    pub(crate) fn object_uuid(&self, proto: Proto, uuid: &[u8; 16]) -> Option<&Def> {
        let table = self.table(proto);
        table.def(table.uuid(Class::Object, uuid)?)
    }

    /// Returns all definitions with this name, in snake case or as in the games' sources (`NETMSG_CON_READY`,
    /// `NETMSGTYPE_SV_CHAT`, `CNetMsg_Sv_Chat`), in upper or lower case. Each class has its own names. If a plain and
    /// an extended message have the same name, the plain message is first.
    pub fn named<'r>(
        &'r self,
        proto: Proto,
        class: Option<Class>,
        name: &str,
    ) -> impl Iterator<Item = &'r Def> + use<'r> {
        let named = self.table(proto).named(name);
        named.filter(move |def| class.is_none_or(|class| class == def.class))
    }

    /// Returns the field and the resolved path for each definition of `name`; empty if there is no such definition. See
    /// [`Def::path`].
    ///
    /// # Errors
    /// Returns the error of the first definition if no definition has such a field.
    pub fn field(
        &self,
        proto: Proto,
        class: Option<Class>,
        name: &str,
        path: &str,
    ) -> Result<Vec<(&Def, &Field, Path)>, PathError> {
        let mut failed = None;
        let mut found = Vec::new();
        for def in self.named(proto, class, name) {
            match def.path(path) {
                Ok(path) => found.extend(def.field(path.leaf()).map(|field| (def, field, path))),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        match failed {
            Some(error) if found.is_empty() => Err(error),
            _ => Ok(found),
        }
    }

    /// Returns all definitions of a dialect.
    pub fn defs(&self, dialect: Dialect) -> impl Iterator<Item = &Def> {
        self.of_dialect(dialect).defs.iter()
    }

    /// Returns all enums and flags of a dialect.
    pub fn sets(&self, dialect: Dialect) -> impl Iterator<Item = &Set> {
        self.of_dialect(dialect).sets.values().map(|set| &**set)
    }

    /// Returns the most similar name of any dialect.
    #[must_use]
    pub fn suggest(&self, class: Option<Class>, name: &str) -> Option<&str> {
        let defs = Dialect::ALL.into_iter().flat_map(|dialect| self.defs(dialect));
        let defs = defs.filter(|def| class.is_none_or(|class| class == def.class));
        suggest(name, defs.map(|def| &*def.name))
    }

    fn table(&self, proto: Proto) -> &Table {
        self.of_dialect(proto.into())
    }

    const fn of_dialect(&self, dialect: Dialect) -> &Table {
        match dialect {
            Dialect::V6 => &self.v6,
            Dialect::Ddnet => &self.ddnet,
            Dialect::V7 => &self.v7,
        }
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.files.iter().map(|(name, _)| name).collect();
        f.debug_struct("Registry")
            .field("files", &names)
            .finish_non_exhaustive()
    }
}

/// Adds to definitions the frequency and the transient fields of the built-in definitions of the same messages, so that
/// a user's file that states only the fields of a message keeps both.
fn adopt_attributes(defs: &mut [Def], builtin: &[Def]) {
    for def in defs {
        for other in builtin {
            if !secrecy::is_same_message(def, other) {
                continue;
            }
            def.frequency = def.frequency.max(other.frequency);
            for field in &mut def.fields {
                let mut known = other.fields.iter();
                field.transient |= known.any(|known| known.transient && known.name == field.name);
            }
        }
    }
}

/// Sets the DDNet limit of text fields to the limit in DDNet's definition of the same field.
fn adopt_limits(defs: &mut [Def], ddnet: &[Def]) {
    for def in defs {
        if !def.fields.iter().any(Field::is_text) {
            continue;
        }
        let Some(same) = ddnet
            .iter()
            .find(|other| other.class == def.class && other.name == def.name)
        else {
            continue;
        };
        for field in def.fields.iter_mut().filter(|field| field.is_text()) {
            let mut others = same.fields.iter();
            if let Some(other) = others.find(|other| other.name == field.name && other.is_text()) {
                field.bounds.ddnet_limit = other.bounds.limit;
            }
        }
    }
}

/// Reports names in a user's files that the program objects to. Built-in names are accepted.
fn object(items: &[Item<'_>], objection: &dyn Fn(Class, &str) -> Option<String>, errors: &mut Errors<'_>) {
    let class = |item: &Item<'_>| match &item.kind {
        Kind::Layout(layout) => layout.head.as_ref().map(|head| head.class),
        _ => None,
    };
    let (own, builtin): (Vec<&Item<'_>>, Vec<&Item<'_>>) =
        items.iter().partition(|item| item.scope.level > 0);
    for item in own {
        let Some(wrong) = class(item).and_then(|class| objection(class, &item.name.text)) else {
            continue;
        };
        let mut known = builtin.iter();
        if !known.any(|other| other.name.text == item.name.text && class(other) == class(item)) {
            errors.push(item.name.word, wrong, None);
        }
    }
}

/// Returns the names of a user's definitions that replace built-in definitions, or of all the user's definitions if
/// none of them does.
fn replacing<'t>(items: &[Item<'t>]) -> Vec<Word<'t>> {
    let (own, builtin): (Vec<&Item<'_>>, Vec<&Item<'_>>) =
        items.iter().partition(|item| item.scope.level > 0);
    let replaces = |item: &&Item<'_>| builtin.iter().any(|other| other.name.text == item.name.text);
    let replacing: Vec<Word<'t>> = own
        .iter()
        .copied()
        .filter(replaces)
        .map(|item| item.name.word)
        .collect();
    if replacing.is_empty() {
        return own.into_iter().map(|item| item.name.word).collect();
    }
    replacing
}
