//! The parser of definition files.
//!
//! Law: the lines are parsed in one pass. Every error is reported with its position, and the line with the error is
//! skipped.

pub(super) mod field;
pub(super) mod head;
mod word;

use std::sync::Arc;

use super::error::Errors;
use super::lex::{self, SourceLine, Word};
use super::mark::Name;
use super::model::{Dialect, Label, Set, Words};
use super::suggest::meant_or_all;
use super::syntax::{Item, Kind, Layout, Member, Scope};
use crate::printable;
pub(super) use word::plain_number;
use word::{at, name, number, shortened};

/// The maximum number of definitions in all files together.
const MAX_ITEMS: usize = 4096;
/// The maximum number of lines in a definition.
const MAX_MEMBERS: usize = 1024;
/// The maximum number of lines of a gist.
const MAX_GIST: usize = 8;

/// The first words of lines that are not indented.
pub(super) const HEADERS: [&str; 11] = [
    "for", "const", "words", "enum", "flags", "struct", "control", "system", "game", "connless", "object",
];
/// The first words of lines of a layout that are not fields.
pub(super) const INCLUDE: &str = "include";
pub(super) const GIST: &str = "gist";
/// The one attribute of a label.
pub(super) const PARAMS: &str = "params=";

/// The start of the attribute of a label that is shown as another text.
pub(super) const SHOWN_AS: &str = "as=";

/// Parses one file. `level` is 0 for built-in files.
pub(super) fn parse(name: &str, text: &str, level: u8, items: &mut Vec<Item>, errors: &mut Errors) {
    let file = u16::try_from(errors.files.len()).unwrap_or(u16::MAX);
    errors.files.push(name.into());
    let mut parser = Parser {
        items,
        scope: Scope { dialects: 0, level },
        open: None,
        doc: String::new(),
    };
    lex::lines(file, text, errors, |line, errors| parser.line(line, errors));
    parser.close();
}

/// A definition whose members are being read.
struct Open {
    name: Name,
    body: Body,
}

enum Body {
    Set(Set),
    Layout(Layout),
}

struct Parser<'i> {
    items: &'i mut Vec<Item>,
    scope: Scope,
    open: Option<Open>,
    /// The comment lines just above.
    doc: String,
}

impl Parser<'_> {
    fn line(&mut self, line: &SourceLine<'_>, errors: &mut Errors) {
        let Some((first, rest)) = line.words.split_first() else {
            match line.comment {
                Some(comment) if !comment.is_empty() => {
                    if !self.doc.is_empty() {
                        self.doc.push('\n');
                    }
                    self.doc.push_str(comment);
                }
                _ => self.doc.clear(),
            }
            return;
        };
        if line.indented {
            self.member(line, *first, rest, errors);
            self.doc.clear();
            return;
        }
        self.close();
        self.header(*first, rest, line.comment, errors);
        self.doc.clear();
    }

    fn header(&mut self, first: Word<'_>, rest: &[Word<'_>], comment: Option<&str>, errors: &mut Errors) {
        if first.text == "for" {
            self.scope.dialects = dialects(first, rest, errors);
            return;
        }
        if !HEADERS.contains(&first.text) {
            let help = Some(meant_or_all(first.text, HEADERS));
            errors.push(first.mark, format!("unknown definition `{}`", first.text), help);
            return;
        }
        if self.scope.dialects == 0 {
            let help = "put a line such as `for 0.6 ddnet` above it".to_owned();
            errors.push(first.mark, "a definition without protocols", Some(help));
            return;
        }
        if self.items.len() >= MAX_ITEMS {
            errors.push(first.mark, format!("more than {MAX_ITEMS} definitions"), None);
            return;
        }
        let doc = self.take_doc(comment);
        let open = match first.text {
            "const" => {
                if let Some((name, value)) = constant(first, rest, errors) {
                    self.push(name, Kind::Const(value));
                }
                None
            }
            "words" => {
                if let Some((name, words)) = words(first, rest, errors) {
                    self.push(name, Kind::Words(words));
                }
                None
            }
            "enum" | "flags" => set(first, rest, doc, errors),
            _ => head::layout(first, rest, doc, errors).map(|(name, layout)| Open {
                name,
                body: Body::Layout(layout),
            }),
        };
        self.open = open;
    }

    fn member(&mut self, line: &SourceLine<'_>, first: Word<'_>, rest: &[Word<'_>], errors: &mut Errors) {
        let doc = self.take_doc(line.comment);
        let Some(open) = &mut self.open else {
            // The definition above is wrong and was reported, or there is none.
            if self.scope.dialects == 0 || self.items.is_empty() {
                errors.push(first.mark, "an indented line without a definition above it", None);
            }
            return;
        };
        let count = match &open.body {
            Body::Set(set) => set.labels.len(),
            Body::Layout(layout) => layout.members.len(),
        };
        if count >= MAX_MEMBERS {
            errors.push(first.mark, format!("more than {MAX_MEMBERS} lines"), None);
            return;
        }
        match &mut open.body {
            Body::Set(set) => label(set, first, rest, doc, errors),
            Body::Layout(layout) if first.text == INCLUDE => match rest {
                [name] => layout
                    .members
                    .extend(self::name(*name, errors).map(Member::Include)),
                _ => errors.push(
                    first.mark,
                    "expected the name of one struct after `include`",
                    None,
                ),
            },
            // A type never starts with a quote, so a field may be called gist.
            Body::Layout(layout)
                if first.text == GIST && rest.first().is_some_and(|word| word.text.starts_with('"')) =>
            {
                gist(layout, first, rest, errors);
            }
            Body::Layout(layout) => {
                let field = field::field(first, rest, doc, errors);
                layout
                    .members
                    .extend(field.map(|field| Member::Field(Box::new(field))));
            }
        }
    }

    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let kind = match open.body {
            Body::Set(set) => Kind::Set(Arc::new(set)),
            Body::Layout(layout) => Kind::Layout(layout),
        };
        self.push(open.name, kind);
    }

    fn push(&mut self, name: Name, kind: Kind) {
        self.items.push(Item {
            scope: self.scope,
            name,
            kind,
        });
    }

    /// Removes and returns the comment above the line, or else the comment at the end of the line.
    fn take_doc(&mut self, behind: Option<&str>) -> Option<Arc<str>> {
        let above = Some(self.doc.as_str()).filter(|doc| !doc.is_empty());
        above.or(behind.filter(|doc| !doc.is_empty())).map(Arc::from)
    }
}

fn dialects(first: Word<'_>, rest: &[Word<'_>], errors: &mut Errors) -> u8 {
    let mut bits = 0;
    for word in rest {
        match Dialect::ALL
            .into_iter()
            .find(|dialect| dialect.name() == word.text)
        {
            Some(dialect) => bits |= dialect.bit(),
            None => {
                let help = "0.6, ddnet or 0.7".to_owned();
                errors.push(word.mark, format!("unknown protocol `{}`", word.text), Some(help));
            }
        }
    }
    if rest.is_empty() {
        errors.push(first.mark, "expected protocols: 0.6, ddnet, 0.7", None);
    }
    bits
}

fn constant(first: Word<'_>, rest: &[Word<'_>], errors: &mut Errors) -> Option<(Name, i64)> {
    let [name, value] = rest else {
        errors.push(first.mark, "expected `const NAME NUMBER`", None);
        return None;
    };
    let value = number(*value, i64::from(i32::MIN), i64::from(u32::MAX), errors)?;
    Some((self::name(*name, errors)?, value))
}

fn words(first: Word<'_>, rest: &[Word<'_>], errors: &mut Errors) -> Option<(Name, Arc<Words>)> {
    let Some((name, words)) = rest.split_first().filter(|(_, words)| !words.is_empty()) else {
        errors.push(first.mark, "expected `words NAME WORD...`", None);
        return None;
    };
    let name = self::name(*name, errors)?;
    let words = Words {
        name: name.text.clone(),
        words: words.iter().map(|word| word.text.to_lowercase().into()).collect(),
    };
    Some((name, Arc::new(words)))
}

fn set(first: Word<'_>, rest: &[Word<'_>], doc: Option<Arc<str>>, errors: &mut Errors) -> Option<Open> {
    let [name] = rest else {
        errors.push(first.mark, format!("expected `{} NAME`", first.text), None);
        return None;
    };
    let name = self::name(*name, errors)?;
    let set = Set {
        name: name.text.clone(),
        flags: first.text == "flags",
        labels: Vec::new(),
        doc,
        mask: 0,
    };
    Some(Open {
        name,
        body: Body::Set(set),
    })
}

/// Reads `VALUE NAME [params=N | as=TEXT]`.
fn label(set: &mut Set, first: Word<'_>, rest: &[Word<'_>], doc: Option<Arc<str>>, errors: &mut Errors) {
    let (name, params, shown) = match rest {
        [name] => (name, None, None),
        [name, attribute] => {
            let is_params = attribute.text.starts_with(PARAMS);
            match attribute.text.strip_prefix(SHOWN_AS) {
                _ if is_params && !set.flags => {
                    (name, number(attribute.from(PARAMS.len()), 0, 64, errors), None)
                }
                Some(text) if !set.flags && !text.is_empty() => (name, None, Some(text)),
                _ => {
                    let what = format!("unknown attribute `{}`", shortened(attribute.text));
                    let help = (!set.flags).then(|| format!("{PARAMS}N or {SHOWN_AS}TEXT"));
                    errors.push(attribute.mark, what, help);
                    return;
                }
            }
        }
        _ => {
            errors.push(first.mark, "expected `VALUE NAME`", None);
            return;
        }
    };
    let (min, max) = if set.flags {
        (1, i64::from(u32::MAX))
    } else {
        (i64::from(i32::MIN), i64::from(i32::MAX))
    };
    if plain_number(first.text).is_none() {
        let what = format!("expected a number, found `{}`", shortened(first.text));
        errors.push(
            first.mark,
            what,
            Some("the line of a label is `VALUE NAME`".to_owned()),
        );
        return;
    }
    let (Some(value), Some(name)) = (number(first, min, max, errors), self::name(*name, errors)) else {
        return;
    };
    if set.labels.iter().any(|label| label.name == name.text) {
        errors.push(name.mark, format!("duplicate label `{}`", name.text), None);
        return;
    }
    let overlaps = |label: &Label| {
        if set.flags {
            label.value & value != 0
        } else {
            label.value == value
        }
    };
    if let Some(label) = set.labels.iter().find(|label| overlaps(label)) {
        errors.push(
            first.mark,
            format!("`{}` has this value already", label.name),
            None,
        );
        return;
    }
    if set.flags {
        set.mask |= u32::try_from(value).unwrap_or(0);
    }
    set.labels.push(Label {
        value,
        name: name.text,
        params: params.and_then(|params| u16::try_from(params).ok()),
        shown: shown.map(|text| printable(text.as_bytes()).into()),
        doc,
    });
}

/// Reads `gist "TEXT"`.
fn gist(layout: &mut Layout, first: Word<'_>, rest: &[Word<'_>], errors: &mut Errors) {
    let [word] = rest else {
        let after = rest.get(1).map_or(first.mark, |word| word.mark);
        errors.push(after, "expected one text in quotes after `gist`", None);
        return;
    };
    let inner = word.from(1);
    let Some(text) = inner.text.strip_suffix('"') else {
        errors.push(word.mark, "a text without a quote at its end", None);
        return;
    };
    if layout.head.is_none() {
        let help = "put it into the messages that include the struct".to_owned();
        errors.push(first.mark, "a struct cannot have a gist", Some(help));
    } else if layout.gist.len() >= MAX_GIST {
        errors.push(first.mark, format!("more than {MAX_GIST} lines of gist"), None);
    } else {
        layout.gist.push(at(inner.mark, text));
    }
}
