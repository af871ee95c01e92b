//! Checks of message names.
//!
//! Law: a name refers to the messages with that name in every dialect. Without a class it refers to a message of a
//! connection, or to a connless message if no connection has one.

use teetap_wire::Code as Lint;
use teetap_wire::def::{Class, Def, Dialect, Id, suggest};

use super::checker::{Checker, DialectDef, index_or_insert};
use super::fact;
use super::literal::uuid_of;
use super::words::{ATOMS, VALUES, atom, class, is_for_filters};
use crate::diagnostic::{Code, Diagnostic};
use crate::eval::{DefKey, Target};
use crate::span::Span;
use crate::synonym::{self, Place};
use crate::syntax::{Path, Segment};

/// The messages that a name refers to.
pub(super) struct Named<'r> {
    /// The canonical name.
    pub(super) label: String,
    pub(super) defs: Vec<DialectDef<'r>>,
    pub(super) target: Target,
    /// The number of segments of the path that form the name.
    pub(super) used: usize,
}

/// Reason why a name refers to no message.
pub(super) enum Wrong {
    Unknown,
    Number,
}

/// Returns true for messages that carry snapshots (Teeworlds and DDNet protocol.h).
pub(crate) fn is_snap(def: &Def) -> bool {
    def.class == Class::System && matches!(&*def.name, "snap" | "snap_empty" | "snap_single" | "snap_small")
}

fn prefix(class: Class) -> &'static str {
    match class {
        Class::Control => "ctrl",
        Class::System => "sys",
        Class::Game => "game",
        Class::Connless | Class::Object => "connless",
    }
}

impl<'r> Checker<'r> {
    /// Returns the messages that the start of a path names, and the number of segments in the name.
    pub(super) fn look_up(&self, segments: &[Segment]) -> Result<(Vec<DialectDef<'r>>, usize), Wrong> {
        let first = segments.first().ok_or(Wrong::Unknown)?;
        let second = segments.get(1);
        if let (Some(class), Some(second)) = (class(&first.name.text), second) {
            let name = &*second.name.text;
            if name.starts_with(|c: char| c.is_ascii_digit()) {
                let number: i32 = name.parse().map_err(|_| Wrong::Number)?;
                let defs = self.with(|def| def.class == class && def.id == Id::Number(number));
                return Ok((defs, 2));
            }
            if let (true, Some(uuid)) = (name == "ex", segments.get(2)) {
                let wanted = uuid_of(&uuid.name.text).ok_or(Wrong::Number)?;
                let same = |id: &Id| matches!(id, Id::Uuid { uuid, .. } if *uuid == wanted);
                return Ok((self.with(|def| def.class == class && same(&def.id)), 3));
            }
            let defs = self.called(Some(class), name);
            return if defs.is_empty() {
                Err(Wrong::Unknown)
            } else {
                Ok((defs, 2))
            };
        }
        let defs = self.called(None, &first.name.text);
        let (connless, chunks): (Vec<_>, Vec<_>) = defs
            .into_iter()
            .partition(|(_, def)| def.class == Class::Connless);
        match (chunks.is_empty(), connless.is_empty()) {
            (false, _) => Ok((chunks, 1)),
            (true, false) => Ok((connless, 1)),
            (true, true) => Err(Wrong::Unknown),
        }
    }

    /// Returns the message that the start of a path names, or reports an error.
    pub(super) fn message(&mut self, path: &Path) -> Option<Named<'r>> {
        let (defs, used) = match self.look_up(&path.segments) {
            Ok(found) => found,
            Err(wrong) => {
                let diagnostic = self.unknown(path, &wrong);
                self.report(diagnostic);
                return None;
            }
        };
        let taken = path.segments.get(..used).unwrap_or_default();
        if let Some(index) = taken.iter().find_map(|segment| segment.index) {
            self.report(Diagnostic::new(
                Code::NoList,
                index.span,
                "a message is not a list",
            ));
            return None;
        }
        let target = numbered(taken).unwrap_or_else(|| {
            Target::defs(
                defs.iter()
                    .map(|(dialect, def)| DefKey::new(*dialect, def))
                    .collect(),
            )
        });
        let written = || {
            taken
                .iter()
                .map(|segment| &*segment.name.text)
                .collect::<Vec<_>>()
                .join(".")
        };
        let label = match (&target, defs.first()) {
            (Target::Defs(_), Some((_, def))) if used == 1 => def.name.to_string(),
            (Target::Defs(_), Some((_, def))) => format!("{}.{}", prefix(def.class), def.name),
            _ => written(),
        };
        Some(Named {
            label,
            defs,
            target,
            used,
        })
    }

    /// Returns the index of a target in the program.
    pub(super) fn target(&mut self, target: Target) -> u16 {
        index_or_insert(&mut self.program.targets, target)
    }

    pub(super) fn any_snap(&self) -> Target {
        let defs = self.with(is_snap);
        Target::defs(
            defs.iter()
                .map(|(dialect, def)| DefKey::new(*dialect, def))
                .collect(),
        )
    }

    /// Adds a note if the user may mean another message with a different name.
    pub(super) fn note_others(&mut self, named: &Named<'_>, span: Span) {
        let name = &*named.label;
        let (what, help) = if name == "snap" && !self.knows.snap_single {
            let what = "`snap` is only a part of a snapshot that takes several messages".to_owned();
            (what, "all snapshots are `any_snap`".to_owned())
        } else if !self.knows.connless
            && named.used == 1
            && named.defs.iter().all(|(_, def)| def.class != Class::Connless)
            && !self.called(Some(Class::Connless), name).is_empty()
        {
            let what = format!("`{name}` is the message of a connection");
            (what, format!("the one outside connections is `connless.{name}`"))
        } else {
            return;
        };
        self.report(Diagnostic::new(Code::OneOfSeveral, span, what).help(help));
    }

    /// Returns true if a message has this name.
    pub(super) fn is_name(&self, name: &str) -> bool {
        !self.called(None, name).is_empty()
    }

    fn with(&self, wanted: impl Fn(&Def) -> bool) -> Vec<DialectDef<'r>> {
        self.defs.iter().copied().filter(|(_, def)| wanted(def)).collect()
    }

    fn called(&self, class: Option<Class>, name: &str) -> Vec<DialectDef<'r>> {
        // The registry accepts any variant for its dialect.
        let protos = [
            teetap_wire::Proto::V6,
            teetap_wire::Proto::Ddnet,
            teetap_wire::Proto::V7,
        ];
        let named = protos.into_iter().flat_map(|proto| {
            let defs = self
                .registry
                .named(proto, class, name)
                .filter(|def| def.class != Class::Object);
            defs.map(move |def| (Dialect::from(proto), def))
        });
        named.collect()
    }

    fn unknown(&self, path: &Path, wrong: &Wrong) -> Diagnostic {
        let mut segments = path.segments.iter();
        let first = segments.next();
        let class = first.and_then(|first| class(&first.name.text));
        let Some(name) = segments
            .next()
            .filter(|_| class.is_some())
            .or(first)
            .map(|segment| &segment.name)
        else {
            return Diagnostic::new(Code::UnknownName, Span::default(), "a path without a name");
        };
        if matches!(wrong, Wrong::Number) {
            let span = path
                .segments
                .last()
                .map_or(name.span, |last| name.span.to(last.name.span));
            return Diagnostic::new(
                Code::BadNumber,
                span,
                "not the id of a message: a number of 31 bits, or a UUID",
            );
        }
        let text = &*name.text;
        let span = name.span;
        let whole = path.segments.len() == 1;
        if let Some(class) = class {
            let what = format!("unknown {} message `{text}`", class.name());
            let meant = self.registry.suggest(Some(class), text);
            let other = synonym::help(Place::Condition, text).or_else(|| self.similar_names(text));
            return Diagnostic::new(Code::UnknownName, span, what)
                .or_help(other.filter(|_| meant.is_none()))
                .meant(meant);
        }
        if matches!(text, "pkt" | "sess") {
            let what = format!("`{text}` is not a message");
            return Diagnostic::new(Code::NotHere, span, what).help(fact::help(text));
        }
        if atom(text).is_some() || VALUES.contains(&text) {
            let second = path.segments.get(1).map(|second| &*second.name.text);
            let lint = second
                .filter(|code| is_lint(code))
                .map(|code| format!("write `lint.{code}`"));
            let help = lint
                .or_else(|| self.last_part(path))
                .or_else(|| synonym::help(Place::Head, text))
                .unwrap_or_else(|| format!("write `{text}` alone, without a dot"));
            return Diagnostic::new(Code::NotHere, span, format!("`{text}` is not a message")).help(help);
        }
        let diagnostic = Diagnostic::new(Code::UnknownName, span, format!("unknown message `{text}`"));
        if self.item_name(text) {
            return diagnostic.help(format!("a snapshot item is `snap.{text}[ID]`"));
        }
        if let Some(help) = self.other_name(path, text) {
            return diagnostic.help(help);
        }
        let messages = self.defs.iter().map(|(_, def)| &*def.name);
        let words = ATOMS
            .iter()
            .map(|(word, _)| *word)
            .chain(VALUES.into_iter().filter(|word| word.len() > 3));
        let words = words.filter(|word| whole && !(self.is_rule && is_for_filters(word)));
        let field = format!("write `.{text}` for the field of any message");
        let is_field = whole && self.defs.iter().any(|(_, def)| def.path(text).is_ok());
        let field = is_field
            .then_some(field)
            .or_else(|| self.field_of_item(text).filter(|_| whole));
        let meant = suggest(text, words.chain(messages)).filter(|_| text.len() > 2);
        match (meant, field, self.similar_names(text)) {
            (Some(_), _, _) => diagnostic.meant(meant),
            (None, Some(field), Some(names)) => diagnostic.help(format!("{field}; {names}")),
            (None, field, names) => diagnostic.or_help(field.or(names)),
        }
    }

    /// Returns what to type for a name that belongs to another program, or is part of the names of messages.
    fn other_name(&self, path: &Path, text: &str) -> Option<String> {
        let whole = path.segments.len() == 1;
        if is_lint(text) {
            return Some(format!("write `lint.{}`", text.to_ascii_lowercase()));
        }
        if !whole && let Some(help) = self.last_part(path) {
            return Some(help);
        }
        let place = if whole { Place::Condition } else { Place::Head };
        let head =
            synonym::typed(place, text).and_then(|typed| typed.trim_start_matches('`').split('.').next());
        if let (false, Some(head), Some(second)) = (whole, head, path.segments.get(1)) {
            let fact = format!("{head}.{}", second.name.text);
            if fact::noun(&fact).is_some() {
                return Some(format!("write `{fact}`"));
            }
        }
        let help = match place {
            Place::Condition => synonym::condition_help(text, self.is_rule),
            place => synonym::help(place, text),
        };
        if help.is_some() {
            return help;
        }
        // The name of the protocol in another program.
        let rest = path.segments.get(1..).unwrap_or_default();
        let is_prefix = synonym::PROTOCOLS.contains(&text);
        if is_prefix && let Some(second) = rest.first() {
            return Some(match self.look_up(rest) {
                Ok(_) => {
                    let names: Vec<String> = rest.iter().map(ToString::to_string).collect();
                    format!("write `{}`", names.join("."))
                }
                Err(_) => synonym::help(Place::Condition, &second.name.text)
                    .or_else(|| self.similar_names(&second.name.text))
                    .unwrap_or_else(|| "write the name of a message alone, such as `sv_chat`".to_owned()),
            });
        }
        None
    }

    /// Returns what to type for a path of another program by its last part, such as `vital` for `tw.chunk.vital`.
    fn last_part(&self, path: &Path) -> Option<String> {
        const HEADS: [&str; 9] = [
            "frame",
            "udp",
            "ip",
            "tcp",
            "eth",
            "tw",
            "teeworlds",
            "ddnet",
            "data",
        ];
        let [first, .., last] = &*path.segments else {
            return None;
        };
        let text = &*last.name.text;
        let is_foreign = HEADS.contains(&&*first.name.text);
        let is_word = atom(text).is_some() && !is_for_filters(text);
        match text {
            _ if !is_foreign => None,
            "number" | "no" | "nr" if first.name.text == "frame" => Some("write `frame`".to_owned()),
            _ if is_word || self.is_name(text) => Some(format!("write `{text}`")),
            _ => synonym::help(Place::Condition, text)
                .filter(|_| !matches!(text, "port" | "addr" | "src" | "dst")),
        }
    }

    /// Returns what to type for the field of an item of a snapshot; `None` if no usual item has it.
    fn field_of_item(&self, text: &str) -> Option<String> {
        const ITEMS: [&str; 5] = ["character", "player_info", "projectile", "pickup", "flag"];
        let text = synonym::typed(Place::Field, text).unwrap_or(text);
        let field = |item: &&&str| {
            let mut defs = self
                .registry
                .named(teetap_wire::Proto::V6, Some(Class::Object), item);
            defs.any(|def| def.path(text).is_ok())
        };
        let item = ITEMS.iter().find(field)?;
        Some(format!(
            "write `snap.{item}[0].{text}`, or `any(snap.{item}.{text} > 1)` for any of them"
        ))
    }

    /// Returns the messages whose names contain a word; `None` if there are none.
    fn similar_names(&self, text: &str) -> Option<String> {
        const SHOWN: usize = 6;
        let text = text.to_ascii_lowercase();
        if text.len() < 3 {
            return None;
        }
        let mut names: Vec<&str> = self.defs.iter().map(|(_, def)| &*def.name).collect();
        names.retain(|name| name.contains(&*text));
        names.sort_unstable_by_key(|name| (name.len(), *name));
        names.dedup();
        let more = if names.len() > SHOWN { ", …" } else { "" };
        let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
        (!shown.is_empty()).then(|| format!("messages with this in their name: {}{more}", shown.join(", ")))
    }
}

/// Returns true if a note has this code, with `_` in place of dashes.
fn is_lint(text: &str) -> bool {
    let code = text.replace('_', "-").to_ascii_lowercase();
    Lint::ALL.iter().any(|known| known.name() == code)
}

fn numbered(segments: &[Segment]) -> Option<Target> {
    let [first, second, rest @ ..] = segments else {
        return None;
    };
    let class = class(&first.name.text)?;
    match rest {
        [] => second
            .name
            .text
            .parse()
            .ok()
            .map(|number| Target::Number(class, number)),
        [uuid, ..] => uuid_of(&uuid.name.text).map(|uuid| Target::Uuid(class, uuid)),
    }
}
