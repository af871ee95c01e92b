//! Checks of fields of messages and snapshot items.

use teetap_wire::def::{Class, Def, Dialect, Path as Place, PathError, suggest};

use super::checker::{Checker, DialectDef, index_or_insert};
use super::name::{Named, is_snap};
use super::value::Operand;
use super::{fact, versions};
use crate::diagnostic::{Code, Diagnostic};
use crate::eval::{DefKey, Field, FieldVariant, Source};
use crate::span::Span;
use crate::synonym;
use crate::syntax::{Path, Segment};

/// Maximum number of definitions whose fields an error lists.
const LISTED: usize = 8;

impl<'r> Checker<'r> {
    /// Checks `message.field`.
    pub(super) fn operand_of(&mut self, named: &Named<'r>, path: &Path) -> Operand {
        let rest = path.segments.get(named.used..).unwrap_or_default();
        self.field_of(Source::Message, &named.label, &named.defs, rest)
    }

    /// Checks `.field` of any message in the scope.
    pub(super) fn dotted(&mut self, path: &Path) -> Operand {
        let scope = self.defs.iter().zip(&self.scope);
        let defs: Vec<DialectDef<'r>> = scope.filter(|(_, may)| **may).map(|(of, _)| *of).collect();
        let first = defs.first().map(|(_, def)| def.name.clone());
        let one = first.filter(|name| defs.iter().all(|(_, def)| def.name == *name));
        match one {
            Some(name) => self.field_of(Source::Message, &name, &defs, &path.segments),
            None => self.field_of(Source::Message, "", &defs, &path.segments),
        }
    }

    /// Checks `snap.item[3].field`.
    pub(super) fn item(&mut self, path: &Path) -> Operand {
        let Some((item, defs)) = self.item_defs(path) else {
            return Operand::Failed;
        };
        let rest = path.segments.get(2..).unwrap_or_default();
        if rest.is_empty() {
            let what = format!("`{path}` is an item, not a value");
            let diagnostic = Diagnostic::new(Code::NotValue, path.span(), what);
            return self.failed(
                diagnostic
                    .help("use one of its fields, or `has(…)`")
                    .note(versions::fields(&defs)),
            );
        }
        let label = format!("snap.{}", item.name.text);
        self.field_of(
            Source::Item(item.index.map(|index| index.value)),
            &label,
            &defs,
            rest,
        )
    }

    /// Returns true if a snapshot item has this name.
    pub(super) fn item_name(&self, name: &str) -> bool {
        !self.items(name).is_empty()
    }

    fn items(&self, name: &str) -> Vec<DialectDef<'r>> {
        let protos = [
            teetap_wire::Proto::V6,
            teetap_wire::Proto::Ddnet,
            teetap_wire::Proto::V7,
        ];
        let named = protos.into_iter().flat_map(|proto| {
            let defs = self.registry.named(proto, Some(Class::Object), name);
            defs.map(move |def| (Dialect::from(proto), def))
        });
        named.collect()
    }

    /// Returns the item that the second segment of a path names.
    fn item_defs<'p>(&mut self, path: &'p Path) -> Option<(&'p Segment, Vec<DialectDef<'r>>)> {
        let item = path.segments.get(1)?;
        let defs = self.items(&item.name.text);
        if defs.is_empty() {
            let name = &item.name.text;
            let diagnostic = Diagnostic::new(
                Code::UnknownItem,
                item.name.span,
                format!("unknown snapshot item `{name}`"),
            );
            let message = self
                .defs
                .iter()
                .any(|(_, def)| is_snap(def) && def.path(name).is_ok());
            let diagnostic = match message && path.segments.len() == 2 {
                true => diagnostic.help(format!("the field of the message is `sys.snap.{name}`")),
                false => diagnostic
                    .or_help(
                        synonym::help(synonym::Place::Condition, name).filter(|help| help.contains("`snap.")),
                    )
                    .meant(self.registry.suggest(Some(Class::Object), name)),
            };
            self.report(diagnostic.note(format!("facts of the snapshot are {}", fact::list("snap"))));
            return None;
        }
        Some((item, defs))
    }

    /// Returns the field for `has`: a field, list, group or item.
    pub(super) fn whole(&mut self, path: &Path) -> Option<u16> {
        let head = path.segments.first().map_or("", |segment| &*segment.name.text);
        let operand = match (path.dot, head) {
            (true, _) => self.dotted(path),
            (false, "snap") if path.segments.len() > 1 => {
                let (item, defs) = self.item_defs(path)?;
                let source = Source::Item(item.index.map(|index| index.value));
                match path.segments.get(2..).unwrap_or_default() {
                    [] => {
                        let entries = defs
                            .iter()
                            .map(|(dialect, def)| entry(*dialect, def, None))
                            .collect();
                        return Some(self.place(
                            Field {
                                source,
                                entries,
                                list: false,
                            },
                            vec![None; defs.len()],
                        ));
                    }
                    rest => self.field_of(source, &format!("snap.{}", item.name.text), &defs, rest),
                }
            }
            _ => {
                let named = self.message(path)?;
                if named.used == path.segments.len() {
                    let what = format!("`{path}` is a message, not a field");
                    self.report(
                        Diagnostic::new(Code::Arguments, path.span(), what)
                            .help("drop the `has(…)` around it"),
                    );
                    return None;
                }
                self.operand_of(&named, path)
            }
        };
        match operand {
            Operand::Field(at, _) => Some(at),
            _ => None,
        }
    }

    /// Returns the field that `segments` name in the definitions called `label`. The label is empty if there are many
    /// messages.
    pub(super) fn field_of(
        &mut self,
        source: Source,
        label: &str,
        defs: &[DialectDef<'r>],
        segments: &[Segment],
    ) -> Operand {
        let text = segments
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(".");
        let (mut entries, mut kinds, mut list, mut has) = (Vec::new(), Vec::new(), false, Vec::new());
        let mut error = None;
        for &(dialect, def) in defs {
            match def.path(&text) {
                Ok(path) => {
                    list |= within_list(def, segments, &path);
                    kinds.push(def.field(path.leaf()));
                    entries.push(entry(dialect, def, Some(path)));
                    has.push((dialect, def));
                }
                // The error of the definition that matches the longest part is the most useful.
                Err(found) => match &error {
                    Some(known) if place_of(known) >= place_of(&found) => {}
                    _ => error = Some(found),
                },
            }
        }
        let span = segments
            .iter()
            .map(|segment| segment.name.span)
            .reduce(Span::to)
            .unwrap_or_default();
        if entries.is_empty() {
            let diagnostic = no_field(label, defs, segments, error.as_ref(), span);
            return self.failed(diagnostic);
        }
        let what = match label {
            "" => format!(".{text}"),
            _ => format!("{label}.{text}"),
        };
        if !label.is_empty() {
            self.note_versions(&what, &has, span);
        }
        let anyone = matches!(source, Source::Item(None));
        let field = Field {
            source,
            entries,
            list: list || anyone,
        };
        Operand::Field(self.place(field, kinds), what)
    }

    fn place(&mut self, field: Field, kinds: Vec<Option<&'r teetap_wire::def::Field>>) -> u16 {
        let at = index_or_insert(&mut self.program.fields, field);
        if usize::from(at) == self.kinds.len() {
            self.kinds.push(kinds);
        }
        at
    }
}

pub(super) fn entry(dialect: Dialect, def: &Def, path: Option<Place>) -> FieldVariant {
    FieldVariant {
        dialect,
        key: DefKey::new(dialect, def),
        id: def.id.clone(),
        path,
    }
}

/// Returns true if the path or one of its prefixes is a list without an index.
fn within_list(def: &Def, segments: &[Segment], path: &Place) -> bool {
    let prefix = |len: usize| {
        let start = segments.get(..len).unwrap_or_default();
        start
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(".")
    };
    let list = |len| def.path(&prefix(len)).is_ok_and(|path| path.is_list());
    path.is_list() || (1..segments.len()).any(list)
}

const fn place_of(error: &PathError) -> usize {
    match error {
        PathError::Unknown { at, .. }
        | PathError::NoList { at, .. }
        | PathError::Index { at, .. }
        | PathError::NoParts { at, .. } => *at,
    }
}

fn no_field(
    label: &str,
    defs: &[DialectDef<'_>],
    segments: &[Segment],
    error: Option<&PathError>,
    span: Span,
) -> Diagnostic {
    let Some(error) = error else {
        return Diagnostic::new(
            Code::UnknownField,
            span,
            format!("message `{label}` is not defined, and has no known fields"),
        );
    };
    // Finds the segment with the error.
    let mut end = 0;
    let segment = segments.iter().find(|segment| {
        end += segment.to_string().len() + 1;
        place_of(error) < end
    });
    let span = segment.map_or(span, |segment| segment.name.span);
    let index = segment
        .and_then(|segment| segment.index)
        .map_or(span, |index| index.span);
    match error {
        PathError::Unknown { name, .. } => unknown_field(label, defs, name, place_of(error), span),
        PathError::NoList { name, .. } => {
            Diagnostic::new(Code::NoList, index, format!("`{name}` is not a list"))
        }
        PathError::Index { name, text, .. } => {
            Diagnostic::new(Code::NoList, index, format!("`{name}` has no element {text}"))
        }
        PathError::NoParts { name, .. } => {
            Diagnostic::new(Code::UnknownField, span, format!("`{name}` has no parts"))
        }
    }
}

/// Returns the error for an unknown name at byte `at` of the path.
fn unknown_field(label: &str, defs: &[DialectDef<'_>], name: &str, at: usize, span: Span) -> Diagnostic {
    let fields = |(_, def): &DialectDef<'_>| match at {
        0 => def
            .parts(None)
            .map(|(_, field)| field.name.clone())
            .collect::<Vec<_>>(),
        _ => def.fields.iter().map(|field| field.name.clone()).collect(),
    };
    let known: Vec<_> = defs.iter().flat_map(fields).collect();
    let meant = suggest(name, known.iter().map(|name| &**name));
    let what = match (label.strip_prefix("snap."), at) {
        (Some(item), _) => format!("snapshot item `{item}` has no field `{name}`"),
        (None, 0) if label.is_empty() => format!("no message here has a field `{name}`"),
        (None, _) if label.is_empty() => format!("no such field has a part `{name}`"),
        (None, _) => format!("message `{label}` has no field `{name}`"),
    };
    let names: Vec<&str> = known.iter().map(|name| &**name).collect();
    let typed = synonym::field(name, &names).map(|field| format!("write `{field}`"));
    let part = names
        .iter()
        .find(|known| known.contains(name) || name.contains(**known));
    let part = part
        .filter(|_| meant.is_none() && name.len() > 2)
        .map(|field| format!("write `{field}`"));
    let listed = (!label.is_empty() && meant.is_none()).then(|| match label.strip_prefix("snap.") {
        Some(item) => format!("`teetap messages {item}` prints the fields"),
        None => format!("`teetap messages {label}` prints the fields"),
    });
    let diagnostic = Diagnostic::new(Code::UnknownField, span, what)
        .or_help(listed)
        .meant(meant)
        .or_help(part)
        .or_help(typed);
    let listed = !label.is_empty() && defs.len() <= LISTED && at == 0;
    if listed {
        diagnostic.note(versions::fields(defs))
    } else {
        diagnostic
    }
}
