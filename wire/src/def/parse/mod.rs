//! The parser of definition files.
//!
//! Law: the lines are parsed in one pass. An indented line belongs to the nearest unindented line before it. Every error
//! is reported with its position, and the line with the error is skipped.

pub(super) mod field;
pub(super) mod head;
mod set;

use std::sync::Arc;

use winnow::Parser as _;
use winnow::combinator::peek;

use super::error::Errors;
use super::lex::{self, Input, Parsed, Word, comment, fail, name, number_within, quoted, word, words};
use super::model::{Dialect, Label, Set, Words};
use super::suggest::meant_or_all;
use super::syntax::{Item, Kind, Layout, Member, Name, Scope};
#[cfg(test)]
pub(super) use set::PARAMS;

/// The maximum length of a definition file in bytes.
const MAX_TEXT: usize = 1 << 20;
/// The maximum length of a line in bytes.
const MAX_LINE: usize = 4096;
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

/// Parses one file. `level` is 0 for built-in files.
pub(super) fn parse<'t>(
    name: &'t str,
    text: &'t str,
    level: u8,
    items: &mut Vec<Item<'t>>,
    errors: &mut Errors<'t>,
) {
    let at = errors.file(name, text);
    if text.len() > MAX_TEXT {
        errors.push(
            Word { text: "", at },
            format!("longer than {MAX_TEXT} bytes"),
            None,
        );
        return;
    }
    let mut parser = Parser {
        items,
        errors,
        scope: Scope { dialects: 0, level },
        open: None,
        doc: Doc::default(),
    };
    let mut i = Word { text, at }.input();
    while let Ok(line) = lex::line(&mut i) {
        parser.line(line);
    }
    parser.close();
}

/// A definition whose members are being read.
struct Open<'t> {
    name: Name<'t>,
    body: Body<'t>,
}

enum Body<'t> {
    Set(Set),
    Layout(Layout<'t>),
}

struct Parser<'p, 't> {
    items: &'p mut Vec<Item<'t>>,
    errors: &'p mut Errors<'t>,
    scope: Scope,
    open: Option<Open<'t>>,
    doc: Doc,
}

/// The comment lines just above a line.
#[derive(Default)]
struct Doc(String);

impl Doc {
    /// Adds a comment line. A line without text ends the documentation.
    fn add(&mut self, text: &str) {
        if text.is_empty() {
            self.0.clear();
            return;
        }
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.0.push_str(text);
    }

    /// Returns the comment above the line, or else the comment at the end of the line.
    fn of_line(&self, i: &mut Input<'_>) -> Option<Arc<str>> {
        let above = Some(&*self.0).filter(|doc| !doc.is_empty());
        let doc = above.or_else(|| comment(i).ok().filter(|doc| !doc.is_empty()));
        doc.map(Arc::from)
    }
}

impl<'t> Parser<'_, 't> {
    fn line(&mut self, line: Word<'t>) {
        if line.text.len() > MAX_LINE {
            let what = format!("a line longer than {MAX_LINE} bytes");
            self.errors.push(line.part(0, 0), what, None);
            return;
        }
        let mut i = line.input();
        let parsed = match word(&mut i) {
            Err(_) => return self.doc.add(comment(&mut i).unwrap_or_default()),
            Ok(first) if line.text.starts_with([' ', '\t']) => self.member(first, &mut i),
            Ok(first) => {
                self.close();
                self.header(first, &mut i)
            }
        };
        self.errors.accept(parsed);
        self.doc.0.clear();
    }

    /// Parses a line that is not indented, after its first word.
    fn header(&mut self, first: Word<'t>, i: &mut Input<'t>) -> Parsed<()> {
        if first.text == "for" {
            self.scope.dialects = dialects(first, i, self.errors);
            return Ok(());
        }
        if !HEADERS.contains(&first.text) {
            let help = meant_or_all(first.text, HEADERS);
            return fail(first, format!("unknown definition `{}`", first.text), Some(help));
        }
        if self.scope.dialects == 0 {
            let help = "put a line such as `for 0.6 ddnet` above it".to_owned();
            return fail(first, "a definition without protocols", Some(help));
        }
        if self.items.len() >= MAX_ITEMS {
            return fail(first, format!("more than {MAX_ITEMS} definitions"), None);
        }
        match first.text {
            "const" => {
                let (name, value) = constant(first, i)?;
                self.push(name, Kind::Const(value));
            }
            "words" => {
                let (name, words) = word_list(first, i)?;
                self.push(name, Kind::Words(words));
            }
            "enum" | "flags" => {
                let (name, mut set) = set::set(first, i)?;
                set.doc = self.doc.of_line(i);
                let body = Body::Set(set);
                self.open = Some(Open { name, body });
            }
            _ => {
                let (name, mut layout) = head::layout(first, i)?;
                layout.doc = self.doc.of_line(i);
                let body = Body::Layout(layout);
                self.open = Some(Open { name, body });
            }
        }
        Ok(())
    }

    /// Parses an indented line, after its first word.
    fn member(&mut self, first: Word<'t>, i: &mut Input<'t>) -> Parsed<()> {
        match self.open.as_mut().map(|open| &mut open.body) {
            // The definition above is wrong and was reported, or there is none.
            None if self.scope.dialects == 0 || self.items.is_empty() => {
                fail(first, "an indented line without a definition above it", None)
            }
            None => Ok(()),
            Some(Body::Set(set)) if set.labels.len() < MAX_MEMBERS => {
                let label = set::label(set, first, i, self.errors)?;
                let doc = self.doc.of_line(i);
                set::add(set, Label { doc, ..label });
                Ok(())
            }
            Some(Body::Layout(layout)) if layout.members.len() < MAX_MEMBERS => {
                part(layout, first, i, &self.doc)
            }
            Some(_) => fail(first, format!("more than {MAX_MEMBERS} lines"), None),
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

    fn push(&mut self, name: impl Into<Name<'t>>, kind: Kind<'t>) {
        self.items.push(Item {
            scope: self.scope,
            name: name.into(),
            kind,
        });
    }
}

fn dialects(first: Word<'_>, i: &mut Input<'_>, errors: &mut Errors<'_>) -> u8 {
    let (mut bits, mut is_empty) = (0, true);
    while let Ok(word) = word(i) {
        is_empty = false;
        let mut known = Dialect::ALL.into_iter();
        match known.find(|dialect| dialect.name() == word.text) {
            Some(dialect) => bits |= dialect.bit(),
            None => {
                let help = "0.6, ddnet or 0.7".to_owned();
                errors.push(word, format!("unknown protocol `{}`", word.text), Some(help));
            }
        }
    }
    if is_empty {
        errors.push(first, "expected protocols: 0.6, ddnet, 0.7", None);
    }
    bits
}

fn constant<'t>(first: Word<'t>, i: &mut Input<'t>) -> Parsed<(Word<'t>, i64)> {
    let Ok([name, value]) = words(i) else {
        return fail(first, "expected `const NAME NUMBER`", None);
    };
    let value = number_within(value, i32::MIN.into(), u32::MAX.into())?;
    Ok((self::name(name)?, value))
}

fn word_list<'t>(first: Word<'t>, i: &mut Input<'t>) -> Parsed<(Name<'t>, Arc<Words>)> {
    let (Ok(name), Ok(_)) = (word(i), peek(word).parse_next(i)) else {
        return fail(first, "expected `words NAME WORD...`", None);
    };
    let name = Name::from(self::name(name)?);
    let mut words = Vec::new();
    while let Ok(word) = word(i) {
        words.push(word.text.to_lowercase().into());
    }
    let words = Words {
        name: name.text.clone(),
        words,
    };
    Ok((name, Arc::new(words)))
}

/// Parses a line of a struct, message or object, after its first word.
fn part<'t>(layout: &mut Layout<'t>, first: Word<'t>, i: &mut Input<'t>, doc: &Doc) -> Parsed<()> {
    if first.text == INCLUDE {
        let Ok([part]) = words(i) else {
            return fail(first, "expected the name of one struct after `include`", None);
        };
        layout.members.push(Member::Include(name(part)?));
        return Ok(());
    }
    // A type never starts with a quote, so a field may be called gist.
    if first.text == GIST
        && peek(word)
            .parse_next(i)
            .is_ok_and(|word| word.text.starts_with('"'))
    {
        return gist(layout, first, i);
    }
    let mut field = Box::new(field::field(first, i)?);
    field.doc = doc.of_line(i);
    layout.members.push(Member::Field(field));
    Ok(())
}

/// Parses `gist "TEXT"`.
fn gist<'t>(layout: &mut Layout<'t>, first: Word<'t>, i: &mut Input<'t>) -> Parsed<()> {
    let text = word(i)?;
    if let Ok(after) = word(i) {
        return fail(after, "expected one text in quotes after `gist`", None);
    }
    let Ok(inner) = text.parse(quoted) else {
        return fail(text, "a text without a quote at its end", None);
    };
    if layout.head.is_none() {
        let help = "put it into the messages that include the struct".to_owned();
        return fail(first, "a struct cannot have a gist", Some(help));
    }
    if layout.gist.len() >= MAX_GIST {
        return fail(first, format!("more than {MAX_GIST} lines of gist"), None);
    }
    layout.gist.push(inner.into());
    Ok(())
}
