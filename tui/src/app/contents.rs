//! The contents of the detail panes for a row: a tree of its facts and fields, and its bytes.
//!
//! Law: tree and bytes are linked by byte ranges of the message (id and fields). Secret fields show neither value nor
//! bytes.

use std::{borrow::Cow, ops::Range};

use ratatui::text::Span;
use teetap_inspect::{
    After, DecodedEvent, EventLines, Message, Reading, Style, Transits, expect::expectation, row,
};
use teetap_proxy::session::{EventKind, Origin};
use teetap_rules::wrap::at_spaces;
use teetap_wire::{
    Note, RangeOf, Severity,
    def::{Def, Records, Secrets, Source},
};

use super::history::Row;

/// Maximum columns of names before their values.
const NAMES: usize = 24;

/// Kind of a line of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineKind {
    /// A fact about the message.
    Fact,
    /// A field.
    Field,
    /// A field that a rule or a person changed.
    Changed,
    /// A note with the severity warning or error.
    Warning,
    /// Any other note.
    Note,
    /// An action of a rule or a person.
    Done,
}

/// A line of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TreeLine {
    /// Depth of nested groups and lists.
    pub(crate) depth: u8,
    /// The kind.
    pub(crate) weight: LineKind,
    /// Name of the fact or field, or mark of the note.
    pub(crate) name: String,
    /// The value.
    pub(crate) value: String,
    /// Byte range of the message that the line describes.
    pub(crate) range: Option<Range<usize>>,
    /// True if the line continues the value of the line above; its name is not drawn.
    pub(crate) is_more: bool,
}

/// The contents of the detail panes for one row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contents {
    /// Name of the row.
    pub(crate) title: String,
    /// Lines of the tree.
    pub(crate) lines: Vec<TreeLine>,
    /// Columns of the names, after which values begin.
    pub(crate) names: usize,
    /// Bytes as received; as sent if the message was only sent.
    pub(crate) bytes: Vec<u8>,
    /// Bytes as sent, if a rule or a person changed them.
    pub(crate) after: Option<Vec<u8>>,
    /// Byte ranges of secrets.
    pub(crate) secret: Vec<Range<usize>>,
    /// Byte ranges of notes with the severity warning or error.
    pub(crate) odd: Vec<Range<usize>>,
}

/// Breaks a text between words into lines of at most `width` columns.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines = textwrap::wrap(&text, at_spaces(width));
    lines.into_iter().map(Cow::into_owned).collect()
}

/// Breaks a text into lines of at most `first` and then `rest` columns, after a space if there is one in the second half
/// of a line. No character is lost, and none is separated from those that combine with it.
pub(crate) fn broken(text: &str, first: usize, rest: usize) -> Vec<String> {
    let whole = Span::raw(text);
    if whole.width() <= first {
        return vec![text.to_owned()];
    }
    let (mut lines, mut line, mut used) = (Vec::new(), String::new(), 0);
    for grapheme in whole.styled_graphemes(ratatui::style::Style::new()) {
        let width = Span::raw(grapheme.symbol).width();
        let room = if lines.is_empty() { first } else { rest };
        if used + width > room.max(2) {
            let space = line.rfind(' ').filter(|at| at * 2 >= line.len());
            let next = space.map_or(String::new(), |at| line.split_off(at + 1));
            used = Span::raw(next.as_str()).width();
            lines.push(std::mem::replace(&mut line, next));
        }
        line.push_str(grapheme.symbol);
        used += width;
    }
    lines.push(line);
    lines
}

impl TreeLine {
    /// Returns true for a line that is wrapped between words and not aligned.
    #[must_use]
    pub(crate) fn is_sentence(&self) -> bool {
        matches!(self.weight, LineKind::Warning | LineKind::Note)
            || self.name.is_empty() && self.weight == LineKind::Fact
    }

    /// Returns the width of the indented name, in columns.
    #[must_use]
    pub(crate) fn indented(&self) -> usize {
        2 * usize::from(self.depth) + Span::raw(self.name.as_str()).width()
    }
}

impl Contents {
    /// Returns the contents with sentences and values wrapped to `width` columns.
    #[must_use]
    pub(crate) fn wrapped(mut self, width: u16) -> Self {
        let width = usize::from(width.max(20));
        let names = self.lines.iter().filter(|line| !line.is_sentence());
        let names = names.map(TreeLine::indented).max().unwrap_or(0);
        self.names = names.min(NAMES).min(width / 2);
        let lines = std::mem::take(&mut self.lines);
        for line in lines {
            if line.is_sentence() {
                self.add_sentence(&line, width);
            } else {
                self.add_value(line, width);
            }
        }
        self
    }

    /// Adds a sentence, wrapped between words.
    fn add_sentence(&mut self, line: &TreeLine, width: usize) {
        let room = width.saturating_sub(2 * usize::from(line.depth) + 1);
        let text = format!("{} {}", line.name, line.value);
        for part in wrapped(text.trim(), room) {
            let rest = part.strip_prefix(&line.name).filter(|_| !line.name.is_empty());
            let (name, value) = match rest {
                Some(rest) => (line.name.clone(), rest.trim_start().to_owned()),
                None => (String::new(), part),
            };
            self.lines.push(TreeLine {
                name,
                value,
                ..line.clone()
            });
        }
    }

    /// Adds a name with its value, which is broken anywhere and keeps all its characters.
    fn add_value(&mut self, line: TreeLine, width: usize) {
        let rest = width.saturating_sub(self.names + 2);
        let first = width.saturating_sub(self.names.max(line.indented()) + 2);
        let mut is_more = false;
        for value in broken(&line.value, first, rest) {
            self.lines.push(TreeLine {
                value,
                is_more,
                ..line.clone()
            });
            is_more = true;
        }
    }

    /// Returns the contents for a row.
    #[must_use]
    pub(crate) fn from_row(row: &Row, style: Style) -> Self {
        match row {
            Row::Line(decoded, line) => match row.message() {
                Some((reading, message)) => {
                    message_contents(decoded, reading, message, row.with_datagram(), style)
                }
                None => Self {
                    title: "event".to_owned(),
                    lines: row::render(decoded, line, style)
                        .into_iter()
                        .map(|row| fact("", row.text().trim().to_owned()))
                        .collect(),
                    ..Self::default()
                },
            },
            Row::Gap(lost) => Self {
                title: "gap".to_owned(),
                lines: vec![
                    fact("missed", format!("{lost} events")),
                    fact(
                        "",
                        "The screen was slower than the traffic, which was not held up.".to_owned(),
                    ),
                ],
                ..Self::default()
            },
            Row::Log(_, _, text) => Self {
                title: "teetap".to_owned(),
                lines: vec![fact("", text.to_string())],
                ..Self::default()
            },
        }
    }
}

fn fact(name: &str, value: String) -> TreeLine {
    TreeLine {
        depth: 0,
        weight: LineKind::Fact,
        name: name.to_owned(),
        value,
        range: None,
        is_more: false,
    }
}

fn message_contents(
    decoded: &DecodedEvent,
    reading: &Reading,
    message: &Message,
    with_datagram: bool,
    style: Style,
) -> Contents {
    let bytes = reading.data(message);
    let after = message.after.as_deref();
    let mut contents = Contents {
        title: reading.label(message).into_owned(),
        lines: facts(decoded, message),
        bytes: bytes.to_vec(),
        after: after.map(|after| after.data.clone()),
        ..Contents::default()
    };
    contents.add_after(after, message);
    let notes = EventLines::from_event(decoded, style).notes(message, with_datagram);
    contents.add_names_of(&notes);
    if let Some(def) = message.def {
        let records = reading.records(message);
        contents.add_fields(def, records, Source::Bytes(bytes), after, style);
    }
    if let Some(snapshot) = message.completed.view() {
        contents
            .lines
            .push(fact("snapshot", message.completed.text(&snapshot)));
    }
    contents.add_notes(&notes, reading, message, style);
    contents
}

/// Returns the facts about a message.
fn facts(decoded: &DecodedEvent, message: &Message) -> Vec<TreeLine> {
    let mut lines = Vec::new();
    let (dir, leg, proto) = match &decoded.event.what {
        EventKind::Datagram(datagram) => (datagram.dir, datagram.leg, Some(datagram.proto)),
        EventKind::Connless(connless) => (connless.dir, None, None),
        _ => return lines,
    };
    let mut way = row::arrow(dir, leg).to_owned();
    if let Some(proto) = proto {
        way.push_str(&format!(" {proto}"));
    }
    way.push_str(match (message.transport.vital, message.transport.resend) {
        (true, true) => " vital, resent",
        (true, false) => " vital",
        (false, _) => "",
    });
    let seq = row::seq(&message.transport);
    if !seq.is_empty() {
        way.push_str(&format!(" seq {seq}"));
    }
    lines.push(fact("sent", way));
    if let EventKind::Datagram(datagram) = &decoded.event.what
        && datagram.ordinal > 0
    {
        let ack = decoded.reading.as_ref().map_or(String::new(), |reading| {
            let ack = |ack: Option<teetap_wire::Seq>| ack.map_or("-".to_owned(), |ack| ack.get().to_string());
            match (reading.header.ack, reading.header.ack_out) {
                (came, left) if came == left => format!(", ack {}", ack(came)),
                (came, left) => format!(", ack {}→{}", ack(came), ack(left)),
            }
        });
        lines.push(fact("datagram", format!("{}{ack}", datagram.ordinal)));
    }
    let mut done = |name: &str, value: String| {
        lines.push(TreeLine {
            weight: LineKind::Done,
            ..fact(name, value)
        });
    };
    if let Some(word) = message.outcome() {
        done("done", word);
    }
    if matches!(message.handling.origin, Origin::Rule | Origin::User) {
        done("sent by", message.handling.origin.to_string());
    }
    let words = Transits::of_event(&decoded.event.what).map(|transits| transits.words());
    if let Some(words) = words.as_ref().and_then(|words| words.strip_prefix("link: ")) {
        done("link", words.to_owned());
    }
    if !message.handling.marks.is_empty() {
        let marks: Vec<&str> = message.handling.marks.iter().map(|mark| &**mark).collect();
        done("marks", marks.join(", "));
    }
    lines
}

impl Contents {
    /// Adds the facts about the message as its receiver got it: the flipped bits, another name, and notes.
    fn add_after(&mut self, after: Option<&After>, message: &Message) {
        let Some(after) = after else { return };
        let mut done = |name: &str, value: String| {
            self.lines.push(TreeLine {
                weight: LineKind::Done,
                ..fact(name, value)
            });
        };
        if let Some(bits) = after.bits_text() {
            done("corrupt", bits);
        }
        let name = |def: Option<&Def>| def.map_or("unknown message".to_owned(), |def| def.name.to_string());
        let (before, new) = (name(message.def), name(after.def));
        if before != new {
            done("receiver", format!("{before} → {new}"));
        }
        for note in &after.notes {
            self.lines.push(TreeLine {
                weight: LineKind::Warning,
                name: format!("! {}:", note.code.name()),
                value: format!("as the receiver gets it, {}", note.code.text()),
                range: None,
                depth: 0,
                is_more: false,
            });
        }
    }

    /// Adds a line with the names of the notes, which follow the fields.
    fn add_names_of(&mut self, notes: &[Note]) {
        if notes.is_empty() {
            return;
        }
        let is_heavy = notes.iter().any(|note| note.code.severity() >= Severity::Warning);
        let mut names: Vec<String> = notes
            .iter()
            .map(|note| format!("!{}", note.code.name()))
            .collect();
        names.dedup();
        self.lines.push(TreeLine {
            weight: if is_heavy {
                LineKind::Warning
            } else {
                LineKind::Note
            },
            ..fact("", format!("{}  (explained below)", names.join(" ")))
        });
    }

    fn add_notes(&mut self, notes: &[Note], reading: &Reading, message: &Message, style: Style) {
        for note in notes {
            let range = place(note, message, self.bytes.len());
            let is_heavy = note.code.severity() >= Severity::Warning;
            if let (true, Some(range)) = (is_heavy, &range) {
                self.odd.push(range.clone());
            }
            self.lines.push(TreeLine {
                weight: if is_heavy {
                    LineKind::Warning
                } else {
                    LineKind::Note
                },
                name: format!("! {}:", note.code.name()),
                value: note.code.text().to_owned(),
                range: range.clone(),
                depth: 0,
                is_more: false,
            });
            let detail = || reading.detail(note).map(ToString::to_string);
            let expected = || {
                let values = expectation(reading, message, &range?, style.secrets)?;
                Some(values.to_string())
            };
            let causes = message.completed.diagnosis(note.code).map(ToString::to_string);
            if let Some(value) = causes.or_else(detail).or_else(expected) {
                self.lines.push(TreeLine {
                    weight: if is_heavy {
                        LineKind::Warning
                    } else {
                        LineKind::Note
                    },
                    depth: 1,
                    ..fact("", value)
                });
            }
        }
    }

    fn add_fields(
        &mut self,
        def: &Def,
        records: Records<'_>,
        source: Source<'_>,
        after: Option<&After>,
        style: Style,
    ) {
        for (at, record) in records.all().iter().enumerate() {
            let Some(field) = def.field(record.field) else {
                continue;
            };
            let value = records.value_text(def, record, source, style.secrets);
            let range = record.at as usize..(record.at + record.len) as usize;
            let is_hidden = style.secrets == Secrets::Hide;
            if is_hidden && records.secret(def, record, source).is_some() {
                self.secret.push(range.clone());
            }
            let new = after.and_then(|after| after.value((def, at, record), style.secrets));
            let name = record
                .index
                .map_or_else(|| field.name.to_string(), |index| format!("[{index}]"));
            let line = TreeLine {
                depth: record.depth,
                weight: LineKind::Field,
                name,
                value,
                range: Some(range),
                is_more: false,
            };
            match new.filter(|new| *new != line.value) {
                None => self.lines.push(line),
                Some(new) => {
                    let was = TreeLine {
                        depth: line.depth.saturating_add(1),
                        weight: LineKind::Fact,
                        name: "came as".to_owned(),
                        ..line.clone()
                    };
                    self.lines.push(TreeLine {
                        weight: LineKind::Changed,
                        value: new,
                        ..line
                    });
                    self.lines.push(was);
                }
            }
        }
    }
}

/// Returns the byte range of the message that a note is about; `None` if the note is about the datagram.
fn place(note: &Note, message: &Message, len: usize) -> Option<Range<usize>> {
    let at = match note.code.place() {
        RangeOf::Message => note.at,
        RangeOf::Payload => note.at.checked_sub(message.ranges.at)?,
        RangeOf::Datagram => return None,
    };
    (at <= len).then(|| at..(at + note.len).min(len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_value_keeps_its_characters_and_its_glyphs() {
        for (text, first, rest, lines) in [
            ("abc", 3, 3, &["abc"][..]),
            ("abcdefgh", 3, 4, &["abc", "defg", "h"]),
            ("one two three", 8, 8, &["one two ", "three"]),
            ("a bcdefgh", 4, 4, &["a bc", "defg", "h"]),
            ("名名名", 5, 3, &["名名", "名"]),
            ("ae\u{301}o\u{301}x", 2, 2, &["ae\u{301}", "o\u{301}x"]),
            (
                "\u{1f469}\u{200d}\u{1f467}b",
                2,
                2,
                &["\u{1f469}\u{200d}\u{1f467}", "b"],
            ),
            ("名", 0, 0, &["名"]),
            ("", 0, 0, &[""]),
        ] {
            assert_eq!(broken(text, first, rest), lines, "{text:?}");
            assert_eq!(broken(text, first, rest).concat(), text);
        }
    }
}
