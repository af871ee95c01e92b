//! Compiles gist templates, and checks them against the fields of their message.
//!
//! Law: the first error in a template is reported with its position.

use winnow::combinator::{opt, preceded, terminated};
use winnow::prelude::*;
use winnow::token::{any, take_till};

use crate::def::lex::{Input, Parsed, Word, fail, placed, plain_number, remainder};
use crate::def::model::{Compare, Def, Field, GistPart, Path, Section, Test, Type, ValueFormat, When};
use crate::def::path::PathError;
use crate::def::suggest::{meant_in_source, meant_or_all, suggest};
use crate::printable::first_hidden;

/// The characters with a meaning in a template.
const BRACKETS: [char; 4] = ['{', '}', '[', ']'];

/// Compiles the lines of a template.
pub(super) fn compile<'t>(lines: impl Iterator<Item = Word<'t>>, def: &Def) -> Parsed<Vec<Section>> {
    let mut template = Template {
        def,
        done: Vec::new(),
        open: None,
        raw: false,
    };
    for line in lines {
        template.line(line)?;
    }
    Ok(template.done)
}

struct Template<'d, 't> {
    def: &'d Def,
    done: Vec<Section>,
    /// The section whose bracket is open, and the bracket.
    open: Option<(Section, Word<'t>)>,
    /// True after text without quotes, which nothing may follow.
    raw: bool,
}

impl<'d, 't> Template<'d, 't> {
    fn line(&mut self, line: Word<'t>) -> Parsed<()> {
        if let Some(at) = first_hidden(line.text) {
            return fail(line.part(at, 0), "a control character", None);
        }
        if !self.done.is_empty() {
            self.push(line, GistPart::Text(" ".into()))?;
        }
        let mut i = line.input();
        while !i.is_empty() {
            self.next(&mut i)?;
        }
        match &self.open {
            Some((_, bracket)) => fail(*bracket, "a `[` without a `]`", None),
            None => Ok(()),
        }
    }

    /// Parses the next part: text, a value, or one of the brackets of a section.
    fn next(&mut self, i: &mut Input<'t>) -> Parsed<()> {
        if let Some(text) = opt(placed(take_till(1.., BRACKETS))).parse_next(i)? {
            return self.push(text, GistPart::Text(text.text.into()));
        }
        let bracket = placed(any.take()).parse_next(i)?;
        match bracket.text {
            "{" => match terminated(placed(take_till(0.., '}')), '}').parse_next(i) {
                Ok(value) => self.value(value),
                Err(_) => fail(bracket, "a `{` without a `}`", None),
            },
            "[" if self.open.is_none() => self.condition(bracket, i),
            "]" if self.open.is_some() => self.close(),
            _ => fail(bracket, format!("unexpected `{}`", bracket.text), None),
        }
    }

    /// Ends the open section.
    fn close(&mut self) -> Parsed<()> {
        if let Some((section, start)) = self.open.take() {
            let fixed = |part: &GistPart| matches!(part, GistPart::Text(_));
            if section.when == When::Present && section.parts.iter().all(fixed) {
                return fail(start, "nothing in these brackets can be missing", None);
            }
            self.done.push(section);
        }
        Ok(())
    }

    fn push(&mut self, place: Word<'t>, part: GistPart) -> Parsed<()> {
        self.check_end(place)?;
        if self.open.is_none() && self.done.last().is_none_or(|last| last.when != When::Always) {
            self.done.push(Section {
                when: When::Always,
                parts: Vec::new(),
            });
        }
        let open = self.open.as_mut().map(|(section, _)| section);
        if let Some(section) = open.or(self.done.last_mut()) {
            section.parts.push(part);
        }
        Ok(())
    }

    /// Fails after text without quotes.
    fn check_end(&self, place: Word<'t>) -> Parsed<()> {
        if self.raw {
            let what = "nothing can follow text without quotes: it would look like a part of it";
            return fail(place, what, None);
        }
        Ok(())
    }

    /// Adds a value: `PATH[:FORM]`.
    fn value(&mut self, value: Word<'t>) -> Parsed<()> {
        let path = placed(take_till(0.., ':'));
        let (name, form) = (path, opt(preceded(':', remainder))).parse_next(&mut value.input())?;
        let (path, field) = self.path(name)?;
        let (form, form_place) = match form {
            None => (ValueFormat::Usual, name.from(name.text.len())),
            Some(form) => (named_form(form)?, form),
        };
        self.check(name, form_place, &path, field, form)?;
        if form == ValueFormat::Raw {
            // At the start of a gist it could be mistaken for the outcome of the message, which precedes the gist.
            let before = self.done.iter().filter(|section| section.when == When::Always);
            let says = |part: &GistPart| !matches!(part, GistPart::Text(text) if text.trim().is_empty());
            if !before.flat_map(|section| &section.parts).any(says) {
                return fail(form_place, "text without quotes needs something before it", None);
            }
        }
        self.push(value, GistPart::Value(path, form))?;
        self.raw = form == ValueFormat::Raw;
        Ok(())
    }

    /// Checks that a field can be formatted in a form.
    fn check(
        &self,
        name: Word<'t>,
        form_place: Word<'t>,
        path: &Path,
        field: &Field,
        form: ValueFormat,
    ) -> Parsed<()> {
        let is_group = matches!(field.ty, Type::Group { .. });
        let is_bytes = !field.is_number() && !field.is_text() && !is_group;
        let wanted = match form {
            ValueFormat::Count | ValueFormat::Teams => (!path.is_list()).then_some("a list"),
            _ if is_group => {
                let what = format!("`{}` is a group: name one of its parts", field.name);
                return fail(name.from(name.text.len()), what, None);
            }
            ValueFormat::Usual => None,
            ValueFormat::Raw => (!field.is_text() || path.is_many(self.def)).then_some("one text"),
            ValueFormat::Size => (!is_bytes).then_some("raw bytes"),
            _ => (!field.is_number()).then_some("a number"),
        };
        match wanted {
            Some(wanted) => fail(form_place, format!("`{}` is not {wanted}", field.name), None),
            None => Ok(()),
        }
    }

    /// Opens a section: `[`, then a condition and `?` unless it depends on its fields.
    fn condition(&mut self, bracket: Word<'t>, i: &mut Input<'t>) -> Parsed<()> {
        let condition = placed(take_till(0.., ['?', '{', '}', '[', ']']));
        let when = match opt(terminated(condition, '?')).parse_next(i)? {
            None => When::Present,
            Some(condition) => self.when(condition)?,
        };
        self.check_end(bracket.from(1))?;
        let parts = Vec::new();
        self.open = Some((Section { when, parts }, bracket));
        Ok(())
    }

    /// Returns the meaning of a condition: `[!]PATH` or `PATH=VALUE`.
    fn when(&self, condition: Word<'t>) -> Parsed<When> {
        let mut i = condition.input();
        if opt('!').parse_next(&mut i)?.is_some() {
            let (path, _) = self.path(remainder(&mut i)?)?;
            return Ok(When::If(path, Test::NotSet));
        }
        let name = placed(take_till(0.., ['=', '!', '<', '>', '&'])).parse_next(&mut i)?;
        let (path, field) = self.path(name)?;
        let sign = remainder(&mut i)?;
        if sign.text.is_empty() {
            return Ok(When::If(path, Test::Set));
        }
        let mut signs = Compare::SIGNS.iter();
        let Some((len, compare)) = signs.find_map(|(text, compare)| {
            let found = sign.text.starts_with(text);
            found.then_some((text.len(), *compare))
        }) else {
            return fail(sign.part(0, 1), "expected =, !=, <, > or &", None);
        };
        if !field.is_number() || path.is_many(self.def) {
            let what = format!("`{}` is not one number", field.name);
            return fail(sign.part(0, len), what, None);
        }
        let value = sign.from(len);
        let label = field.set().and_then(|set| set.value(value.text));
        let Some(number) = label.or_else(|| plain_number(value.text)) else {
            let labels = field.set().map(|set| set.labels.iter().map(|label| &*label.name));
            let meant = labels.and_then(|labels| suggest(value.text, labels));
            let what = format!("`{}` cannot be `{}`", field.name, value.text);
            return fail(value, what, meant.map(meant_in_source));
        };
        Ok(When::If(path, Test::Number(compare, number)))
    }

    fn path(&self, text: Word<'t>) -> Parsed<(Path, &'d Field)> {
        let path = match self.def.path(text.text) {
            Ok(path) => path,
            Err(error) => {
                let what = error.to_string();
                return match error {
                    PathError::Unknown {
                        name,
                        at,
                        meant,
                        known,
                        ..
                    } => {
                        let known = (!known.is_empty()).then(|| known.join(", "));
                        let help = meant.map(|meant| meant_in_source(&meant)).or(known);
                        fail(text.part(at, name.len()), what, help)
                    }
                    PathError::NoList { at, .. }
                    | PathError::Index { at, .. }
                    | PathError::NoParts { at, .. } => fail(text.from(at), what, None),
                };
            }
        };
        match self.def.field(path.leaf()) {
            Some(field) => Ok((path, field)),
            None => fail(text, "no such field", None),
        }
    }
}

fn named_form(form: Word<'_>) -> Parsed<ValueFormat> {
    let mut forms = ValueFormat::NAMES.iter();
    if let Some((_, form)) = forms.find(|(known, _)| *known == form.text) {
        return Ok(*form);
    }
    let names = ValueFormat::NAMES.iter().map(|(name, _)| *name);
    let help = meant_or_all(form.text, names);
    fail(form, format!("unknown form `{}`", form.text), Some(help))
}
