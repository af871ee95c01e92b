//! Compiles gist templates, and checks them against the fields of their message.
//!
//! Law: the first error in a template is reported with its position.

use crate::def::lex::Word;
use crate::def::mark::Mark;
use crate::def::mark::Name;
use crate::def::model::{Compare, Def, Field, Gist, GistPart, Path, Section, Test, Type, ValueFormat, When};
use crate::def::parse::plain_number;
use crate::def::path::PathError;
use crate::def::suggest::{meant_in_source, suggest};
use crate::printable;

/// An error: position, message, and optional help.
pub(super) type Wrong = (Mark, String, Option<String>);

/// Compiles the template in `lines`, each of which has the mark of its first character. Returns `None` if there are no
/// lines.
pub(super) fn compile(lines: &[Name], def: &Def) -> Result<Option<Gist>, Wrong> {
    let Some(first) = lines.first() else {
        return Ok(None);
    };
    let mut template = Template {
        word: Word {
            text: "",
            mark: first.mark,
        },
        def,
        done: Vec::new(),
        open: None,
        raw: false,
    };
    for line in lines {
        template.line(Word {
            text: &line.text,
            mark: line.mark,
        })?;
    }
    Ok(Some(Gist {
        lines: lines.iter().map(|line| line.text.clone()).collect(),
        sections: template.done,
    }))
}

struct Template<'t> {
    word: Word<'t>,
    def: &'t Def,
    done: Vec<Section>,
    /// The section whose bracket is open, and the position of the bracket.
    open: Option<(Section, usize)>,
    /// True after text without quotes, which nothing may follow.
    raw: bool,
}

impl<'t> Template<'t> {
    fn line(&mut self, word: Word<'t>) -> Result<(), Wrong> {
        self.word = word;
        let text = word.text;
        let clean = printable(text.as_bytes());
        let mut chars = text.char_indices().zip(clean.chars());
        if let Some(((at, _), _)) = chars.find(|((_, c), shown)| c != shown) {
            return Err(self.wrong(at, "a control character"));
        }
        if !self.done.is_empty() {
            self.push(0, GistPart::Text(" ".into()))?;
        }
        let mut at = 0;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            at += self.next(at, rest)?;
        }
        match &self.open {
            Some((_, at)) => Err(self.wrong(*at, "a `[` without a `]`")),
            None => Ok(()),
        }
    }

    /// Reads the next part and returns its length in bytes.
    fn next(&mut self, at: usize, rest: &'t str) -> Result<usize, Wrong> {
        if let Some(inner) = rest.strip_prefix('{') {
            let end = inner
                .find('}')
                .ok_or_else(|| self.wrong(at, "a `{` without a `}`"))?;
            self.value(at + 1, inner.get(..end).unwrap_or_default())?;
            return Ok(end + 2);
        }
        if let (Some(inner), None) = (rest.strip_prefix('['), &self.open) {
            return Ok(1 + self.condition(at + 1, inner)?);
        }
        if rest.starts_with(']')
            && let Some((section, start)) = self.open.take()
        {
            let fixed = |part: &GistPart| matches!(part, GistPart::Text(_));
            if section.when == When::Present && section.parts.iter().all(fixed) {
                return Err(self.wrong(start, "nothing in these brackets can be missing"));
            }
            self.done.push(section);
            return Ok(1);
        }
        let len = rest.find(['{', '}', '[', ']']).unwrap_or(rest.len());
        if len == 0 {
            let c = rest.chars().next().unwrap_or_default();
            return Err(self.wrong(at, &format!("unexpected `{c}`")));
        }
        self.push(at, GistPart::Text(rest.get(..len).unwrap_or_default().into()))?;
        Ok(len)
    }

    fn push(&mut self, at: usize, part: GistPart) -> Result<(), Wrong> {
        if self.raw {
            return Err(self.wrong(
                at,
                "nothing can follow text without quotes: it would look like a part of it",
            ));
        }
        match (&mut self.open, self.done.last_mut()) {
            (Some((open, _)), _) => open.parts.push(part),
            (None, Some(last)) if last.when == When::Always => last.parts.push(part),
            (None, _) => self.done.push(Section {
                when: When::Always,
                parts: vec![part],
            }),
        }
        Ok(())
    }

    /// Reads `PATH[:FORM]`.
    fn value(&mut self, at: usize, text: &'t str) -> Result<(), Wrong> {
        let (path, form) = text
            .split_once(':')
            .map_or((text, None), |(path, form)| (path, Some(form)));
        let form_at = at + path.len() + 1;
        let (path, field) = self.path(at, path)?;
        let form = match form {
            None => ValueFormat::Usual,
            Some(name) => self.form(form_at, name)?,
        };
        self.check(form_at, &path, field, form)?;
        if form == ValueFormat::Raw {
            // At the start of a gist it could be mistaken for the outcome of the message, which precedes the gist.
            let before = self.done.iter().filter(|section| section.when == When::Always);
            let says = |part: &GistPart| !matches!(part, GistPart::Text(text) if text.trim().is_empty());
            if !before.flat_map(|section| &section.parts).any(says) {
                return Err(self.wrong(form_at, "text without quotes needs something before it"));
            }
        }
        self.push(at, GistPart::Value(path, form))?;
        self.raw = form == ValueFormat::Raw;
        Ok(())
    }

    fn form(&self, at: usize, name: &str) -> Result<ValueFormat, Wrong> {
        let names = || ValueFormat::NAMES.iter().map(|(name, _)| *name);
        let found = ValueFormat::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, form)| *form).ok_or_else(|| {
            let help = match suggest(name, names()) {
                Some(meant) => meant_in_source(meant),
                None => names().collect::<Vec<_>>().join(", "),
            };
            (self.mark(at), format!("unknown form `{name}`"), Some(help))
        })
    }

    /// Checks that a field can be formatted in a form. `at` is the position after the path.
    fn check(&self, at: usize, path: &Path, field: &Field, form: ValueFormat) -> Result<(), Wrong> {
        let is_bytes = !field.is_number() && !field.is_text() && !matches!(field.ty, Type::Group { .. });
        let wanted = match form {
            ValueFormat::Count | ValueFormat::Teams => (!path.is_list()).then_some("a list"),
            _ if matches!(field.ty, Type::Group { .. }) => {
                return Err(self.wrong(
                    at - 1,
                    &format!("`{}` is a group: name one of its parts", field.name),
                ));
            }
            ValueFormat::Usual => None,
            ValueFormat::Raw => (!field.is_text() || path.is_many(self.def)).then_some("one text"),
            ValueFormat::Size => (!is_bytes).then_some("raw bytes"),
            _ => (!field.is_number()).then_some("a number"),
        };
        wanted.map_or(Ok(()), |wanted| {
            Err(self.wrong(at, &format!("`{}` is not {wanted}", field.name)))
        })
    }

    /// Opens a section and returns the length of its condition in bytes.
    fn condition(&mut self, at: usize, text: &'t str) -> Result<usize, Wrong> {
        let end = text
            .find(['?', '{', '}', '[', ']'])
            .filter(|end| text.get(*end..).is_some_and(|rest| rest.starts_with('?')));
        let (when, len) = match end.and_then(|end| text.get(..end)) {
            None => (When::Present, 0),
            Some(condition) => (self.when(at, condition)?, condition.len() + 1),
        };
        if self.raw {
            return Err(self.wrong(
                at,
                "nothing can follow text without quotes: it would look like a part of it",
            ));
        }
        let parts = Vec::new();
        self.open = Some((Section { when, parts }, at - 1));
        Ok(len)
    }

    /// Reads `[!]PATH` or `PATH=VALUE`.
    fn when(&self, at: usize, text: &'t str) -> Result<When, Wrong> {
        if let Some(name) = text.strip_prefix('!') {
            let (path, _) = self.path(at + 1, name)?;
            return Ok(When::If(path, Test::NotSet));
        }
        let Some(end) = text.find(['=', '!', '<', '>', '&']) else {
            let (path, _) = self.path(at, text)?;
            return Ok(When::If(path, Test::Set));
        };
        let (name, rest) = text.split_at_checked(end).unwrap_or((text, ""));
        let (path, field) = self.path(at, name)?;
        let mark = self.mark(at + end);
        let found = Compare::SIGNS
            .iter()
            .find_map(|(sign, compare)| Some((rest.strip_prefix(sign)?, *compare)));
        let Some((value, compare)) = found else {
            return Err((mark, "expected =, !=, <, > or &".to_owned(), None));
        };
        if !field.is_number() || path.is_many(self.def) {
            return Err((mark, format!("`{}` is not one number", field.name), None));
        }
        let label = field.set().and_then(|set| set.value(value));
        let value = label.or_else(|| plain_number(value)).ok_or_else(|| {
            let labels = field.set().map(|set| set.labels.iter().map(|label| &*label.name));
            let meant = labels.and_then(|labels| suggest(value, labels));
            (
                self.mark(at + text.len() - value.len()),
                format!("`{}` cannot be `{value}`", field.name),
                meant.map(meant_in_source),
            )
        })?;
        Ok(When::If(path, Test::Number(compare, value)))
    }

    fn path(&self, at: usize, text: &str) -> Result<(Path, &'t Field), Wrong> {
        let path = self.def.path(text).map_err(|error| {
            let (place, help) = match &error {
                PathError::Unknown { at, meant, known, .. } => (
                    *at,
                    match meant {
                        Some(meant) => Some(meant_in_source(meant)),
                        None if known.is_empty() => None,
                        None => Some(known.join(", ")),
                    },
                ),
                PathError::NoList { at, .. }
                | PathError::Index { at, .. }
                | PathError::NoParts { at, .. } => (*at, None),
            };
            (self.mark(at + place), error.to_string(), help)
        })?;
        let field = self.def.field(path.leaf());
        let field = field.ok_or_else(|| self.wrong(at, "no such field"))?;
        Ok((path, field))
    }

    fn mark(&self, at: usize) -> Mark {
        self.word.from(at).mark
    }

    fn wrong(&self, at: usize, what: &str) -> Wrong {
        (self.mark(at), what.to_owned(), None)
    }
}
