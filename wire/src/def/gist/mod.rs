//! The gist of a message: a one-line summary, made from the template in its definition.
//!
//! ```text
//! gist "[team=1? (team)] {client_id:player}: {message:raw}"
//! ```
//!
//! `{PATH}` is the value of a field: enums and flags by name, text in quotes, all elements of a list. `{PATH:FORM}` is
//! the value in another form, see `FORMS`. A part in `[...]` is omitted if a field in it is missing, empty text or an
//! empty list. `[PATH? ...]` is omitted if the field is 0, empty or missing, `[!PATH? ...]` if it is not. `[PATH=VALUE?
//! ...]`, also with `!=`, `<`, `>` and `&` (one of the bits is set), compares a number, also by label. Repeated spaces
//! in the template are collapsed. Several such lines are joined with spaces into one template.
//!
//! Law: text from a peer cannot be mistaken for another part of the line. Text is quoted, and quotes in it are escaped
//! with `\`. Only text at the end of the line may be unquoted, if nothing in it looks like another part. A secret is
//! replaced with dots unless requested. A message that lacks a field outside brackets has no gist, because a list of
//! its fields is more useful.

mod line;

use std::collections::BTreeMap;
use std::ops::Range;

use super::model::{Compare, Def, Field, GistPart, Label, Path, Section, Test, Type, ValueFormat, When};
use super::record::{Record, Records, Source, Value};
use super::secret::{HIDDEN, Secrets};
use super::show::{bytes_text, flag_names, number};
use line::{GistLine, clock, quoted, raw};

/// The style of a gist.
#[derive(Debug, Clone, Copy)]
pub struct GistStyle {
    /// The handling of secrets.
    pub secrets: Secrets,
    /// The maximum length of the line in characters.
    pub line: usize,
    /// The maximum length in characters of a text in the line, except for text at the end of the line.
    pub value: usize,
}

impl Records<'_> {
    /// Returns the message in one line, made from the template of its definition. `name_of` returns the name of the
    /// player with a client id.
    ///
    /// `None` if it has no template, or if the message ends before a field that the template needs.
    #[must_use]
    pub fn gist<'n>(
        self,
        def: &Def,
        source: Source<'_>,
        look: GistStyle,
        name_of: &dyn Fn(i64) -> Option<&'n [u8]>,
    ) -> Option<String> {
        let sections = def.sections()?;
        let mut render = Render {
            decoded: self,
            def,
            source,
            look,
            name_of,
            out: GistLine::new(look.line),
            last: false,
        };
        for (at, section) in (1..).zip(sections) {
            render.section(section, at == sections.len())?;
        }
        Some(render.out.finish())
    }
}

impl Def {
    /// Returns the compiled template of its gist. `None` if it has no template.
    fn sections(&self) -> Option<&[Section]> {
        self.gist.as_ref().map(|gist| &*gist.sections)
    }

    /// Returns true if its gist shows names of players.
    #[must_use]
    pub fn names_players(&self) -> bool {
        let sections = self.sections().into_iter().flatten();
        let mut parts = sections.flat_map(|section| &section.parts);
        parts.any(|part| matches!(part, GistPart::Value(_, ValueFormat::Player)))
    }
}

struct Render<'a, 'n> {
    decoded: Records<'a>,
    def: &'a Def,
    source: Source<'a>,
    look: GistStyle,
    name_of: &'a dyn Fn(i64) -> Option<&'n [u8]>,
    out: GistLine,
    /// True at the end of the template.
    last: bool,
}

impl Render<'_, '_> {
    /// Appends a section. `None` if a value outside brackets is missing.
    fn section(&mut self, section: &Section, last: bool) -> Option<()> {
        let mut values = section.parts.iter().filter_map(|part| match part {
            GistPart::Value(path, _) => Some(path),
            GistPart::Text(_) => None,
        });
        let shown = match &section.when {
            When::Always if values.all(|path| self.decoded.find(path).is_some()) => true,
            When::Always => return None,
            When::Present => values.all(|path| self.is_set(path, false)),
            When::If(path, test) => {
                self.test(path, *test) && values.all(|path| self.decoded.find(path).is_some())
            }
        };
        for (at, part) in (1..).zip(&section.parts).filter(|_| shown) {
            self.last = last && at == section.parts.len();
            match part {
                GistPart::Text(text) => self.out.text(text),
                GistPart::Value(path, form) => self.values(path, *form),
            }
        }
        Some(())
    }

    fn test(&self, path: &Path, test: Test) -> bool {
        let (compare, other) = match test {
            Test::Set => return self.is_set(path, true),
            Test::NotSet => return !self.is_set(path, true),
            Test::Number(compare, other) => (compare, other),
        };
        let record = self.decoded.find(path);
        let Some((record, value)) = record.and_then(|record| Some((record, record.int()?))) else {
            return false;
        };
        let holds = match compare {
            Compare::Equal => value == other,
            Compare::NotEqual => value != other,
            Compare::Less => value < other,
            Compare::More => value > other,
            Compare::Bits => value & other != 0,
        };
        // The line must not reveal a secret by a comparison.
        holds && self.hidden(record).is_none()
    }

    /// Returns true if a value is not empty; with `zero`, 0 is empty, too.
    fn is_set(&self, path: &Path, zero: bool) -> bool {
        let is_set = |record: &Record| match record.value {
            Value::Int(value) => !zero || value != 0,
            Value::Text(len) | Value::List(len) => len > 0,
            Value::Bytes => record.len > 0,
            Value::Group => true,
        };
        self.decoded
            .find_map(path, |record| is_set(record).then_some(()))
            .is_some()
    }

    /// Appends all values at a path, separated by commas.
    fn values(&mut self, path: &Path, form: ValueFormat) {
        let Self { decoded, .. } = *self;
        if form == ValueFormat::Teams {
            return self.teams(path);
        }
        let mut first = true;
        let mut each = |record: &Record| {
            let listed = record.index.is_some() || !first;
            let empty = matches!(record.value, Value::Text(0));
            if !(listed && empty) {
                self.out.value(if first { "" } else { ", " });
                first = false;
                self.value(record, form);
            }
            self.out.is_full().then_some(())
        };
        let _full = decoded.find_map(path, |record| match record.value {
            Value::List(_) if form != ValueFormat::Count => decoded.parts(Some(record)).find_map(&mut each),
            _ => each(record),
        });
    }

    /// Appends the players of each team except team 0, which holds the players without a team.
    fn teams(&mut self, path: &Path) {
        let mut teams: BTreeMap<i64, Vec<String>> = BTreeMap::new();
        let list = self.decoded.find(path);
        for record in list.iter().flat_map(|list| self.decoded.parts(Some(list))) {
            if let (Some(player), Some(team)) = (record.index, record.int().filter(|team| *team != 0)) {
                teams.entry(team).or_default().push(player.to_string());
            }
        }
        if teams.is_empty() {
            return self.out.value("no teams");
        }
        for (at, (team, players)) in teams.iter().enumerate() {
            let lead = if at == 0 { "" } else { "; " };
            self.out
                .value(&format!("{lead}team {team}: {}", players.join(", ")));
        }
    }

    fn value(&mut self, record: &Record, form: ValueFormat) {
        let Some(field) = self.def.field(record.field) else {
            return;
        };
        let text = match (record.value, form) {
            (Value::List(count), _) => count.to_string(),
            (Value::Group, _) => String::new(),
            (_, ValueFormat::Size) => record.len.to_string(),
            (Value::Text(_), _) => return self.text(record, form),
            _ if self.hidden(record).is_some() => HIDDEN.to_owned(),
            (Value::Int(value), ValueFormat::Player) => return self.player(field, value),
            (Value::Int(value), _) => int(field, value, form),
            (Value::Bytes, _) => bytes_text(&field.ty, &self.def.bytes(record, self.source)),
        };
        self.out.value(&text);
    }

    fn text(&mut self, record: &Record, form: ValueFormat) {
        let bytes = self.def.bytes(record, self.source);
        let Some(hidden) = self.hidden(record) else {
            return self.part(&bytes, form);
        };
        let before = bytes.get(..hidden.start).unwrap_or_default().trim_ascii_end();
        let after = bytes.get(hidden.end..).unwrap_or_default().trim_ascii();
        if hidden.start > 0 {
            self.part(before, form);
            self.out.value(" ");
        }
        self.out.value(HIDDEN);
        if !after.is_empty() {
            self.out.value(" ");
            self.part(after, form);
        }
    }

    /// Appends a text, or the part of a text that is not secret.
    fn part(&mut self, text: &[u8], form: ValueFormat) {
        let text = match form {
            ValueFormat::Raw => raw(text, self.out.left()),
            _ => quoted(text, self.room()),
        };
        self.out.value(&text);
    }

    fn player(&mut self, field: &Field, id: i64) {
        if let Some(label) = label(field, id) {
            return self.out.value(label);
        }
        self.out.value(&id.to_string());
        if let Some(name) = (self.name_of)(id) {
            self.out.value(" ");
            self.out.value(&quoted(name, self.room()));
        }
    }

    /// Returns the number of characters that a text may have.
    fn room(&self) -> usize {
        let left = self.out.left();
        if self.last {
            left
        } else {
            left.min(self.look.value)
        }
    }

    /// Returns the bytes of a value that are hidden, counted from its start. `None` if nothing is hidden.
    fn hidden(&self, record: &Record) -> Option<Range<usize>> {
        let secret = self.decoded.secret(self.def, record, self.source)?;
        let start = record.at as usize;
        (self.look.secrets == Secrets::Hide).then(|| secret.start - start..secret.end - start)
    }
}

fn label(field: &Field, value: i64) -> Option<&str> {
    match &field.ty {
        Type::Enum(set) => set.label(value).map(Label::text),
        _ => None,
    }
}

fn int(field: &Field, value: i64, form: ValueFormat) -> String {
    match form {
        ValueFormat::Number | ValueFormat::Count | ValueFormat::Size => value.to_string(),
        ValueFormat::Hex => {
            // The 32 bits as on the wire.
            let low = value & 0xffff_ffff;
            format!("{low:x}")
        }
        ValueFormat::Centis => clock(value, 100, false),
        ValueFormat::SignedCentis => clock(value, 100, true),
        ValueFormat::Millis => clock(value, 1000, false),
        ValueFormat::SignedMillis => clock(value, 1000, true),
        ValueFormat::Usual | ValueFormat::Player | ValueFormat::Raw | ValueFormat::Teams => match &field.ty {
            Type::Enum(_) => label(field, value).map_or_else(|| value.to_string(), str::to_owned),
            Type::Flags(set) => flag_names(set, value).unwrap_or_else(|| value.to_string()),
            _ => number(field, value),
        },
    }
}
