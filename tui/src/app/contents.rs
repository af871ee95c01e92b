//! The contents of the detail panes for a row: a tree of its facts and fields, and its bytes.
//!
//! Law: tree and bytes are linked by byte ranges of the message (id and fields). Secret fields show neither value nor
//! bytes.

use std::{borrow::Cow, ops::Range};

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
}

/// The contents of the detail panes for one row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contents {
    /// Name of the row.
    pub(crate) title: String,
    /// Lines of the tree.
    pub(crate) lines: Vec<TreeLine>,
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

impl Contents {
    /// Returns the contents with sentences wrapped to `width` columns.
    #[must_use]
    pub(crate) fn wrapped(mut self, width: u16) -> Self {
        let width = usize::from(width.max(20));
        let mut lines = Vec::new();
        for line in self.lines {
            let room = width.saturating_sub(2 * usize::from(line.depth) + 1);
            let is_sentence = matches!(line.weight, LineKind::Warning | LineKind::Note)
                || line.name.is_empty() && line.weight == LineKind::Fact;
            if !is_sentence {
                lines.push(line);
                continue;
            }
            let text = format!("{} {}", line.name, line.value);
            for part in wrapped(text.trim(), room) {
                let part = match line.name.is_empty() || !part.starts_with(&line.name) {
                    true => (String::new(), part),
                    false => (
                        line.name.clone(),
                        part.get(line.name.len()..)
                            .unwrap_or_default()
                            .trim_start()
                            .to_owned(),
                    ),
                };
                lines.push(TreeLine {
                    name: part.0,
                    value: part.1,
                    ..line.clone()
                });
            }
        }
        self.lines = lines;
        self
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
    contents.add_notes(decoded, reading, message, with_datagram, style);
    if let Some(def) = message.def {
        let records = reading.records(message);
        contents.add_fields(def, records, Source::Bytes(bytes), after, style);
    }
    if let Some(snapshot) = message.completed.view() {
        contents.lines.push(fact("snapshot", snapshot.to_string()));
    }
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
            });
        }
    }

    fn add_notes(
        &mut self,
        decoded: &DecodedEvent,
        reading: &Reading,
        message: &Message,
        with_datagram: bool,
        style: Style,
    ) {
        let notes = EventLines::from_event(decoded, style).notes(message, with_datagram);
        for note in &notes {
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
            });
            let detail = || reading.detail(note).map(ToString::to_string);
            let expected = || range.and_then(|range| expectation(reading, message, &range, style.secrets));
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
            let mut value = records.value_text(def, record, source, style.secrets);
            let range = record.at as usize..(record.at + record.len) as usize;
            let mut weight = LineKind::Field;
            let is_hidden = style.secrets == Secrets::Hide;
            if is_hidden && records.secret(def, record, source).is_some() {
                self.secret.push(range.clone());
            }
            let new = after.and_then(|after| after.value((def, at, record), style.secrets));
            if let Some(new) = new.filter(|new| *new != value) {
                value = format!("{value} → {new}");
                weight = LineKind::Changed;
            }
            let name = record
                .index
                .map_or_else(|| field.name.to_string(), |index| format!("[{index}]"));
            self.lines.push(TreeLine {
                depth: record.depth,
                weight,
                name,
                value,
                range: Some(range),
            });
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
