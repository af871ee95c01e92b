//! Sentences that explain notes: the oddity, the received and expected values, and the receiver's reaction.
//!
//! ```text
//!    0.660 #1  c→s V    7 cl_say              6 bytes all: hi !out-of-range
//!    0.660 #1      ! out-of-range: a value outside its range: receivers may drop it; target: got 7 (7), expected 0 to 3
//! ```
//!
//! Law: each code is explained once per session, below the first line with its mark; later lines have only the mark.
//! The fifth of consecutive invalid snapshots is explained again.

use std::{collections::BTreeMap, ops::Range};

use teetap_proxy::session::{Datagram, EventKind, State};
use teetap_rules::context::SESSIONS;
use teetap_wire::{
    Code, Note, RangeOf, Severity, Token, counted,
    def::{Def, Len, Registry, Secrecy, Secrets, Type},
    receiver::checks_ranges,
    snap::{Completed, Crc, Diagnosis, Reused},
    varint,
};

use crate::{
    DecodedEvent, EventLines, Layer, Message, Reading, Row, Style, Values,
    expect::{expectation, missing},
    form::form,
    ints::ints,
    judge::peers::Culprit,
    lines::{About, Line},
    meant::{OtherUuid, has_text_as_uuid, marked, other_uuid, second_message, words},
    row::{CellKind, Start, hex},
    token_mistake::TokenMistake,
    track::Fact,
};

/// The codes already explained in each session. Datagrams outside of sessions share one entry.
#[derive(Clone, Debug, Default)]
pub struct Sentences(BTreeMap<Option<u32>, Vec<Code>>);

impl Sentences {
    /// Forgets all sessions, because another run begins.
    pub fn restart(&mut self) {
        self.0.clear();
    }

    /// Forgets the codes of a session that opens or closes, before the lines of the event are shown.
    pub fn begin(&mut self, decoded: &DecodedEvent) {
        if let (Some(session), EventKind::Session(change)) = (decoded.event.session, &decoded.event.what)
            && matches!(change.state, State::Opening | State::Closed)
        {
            self.0.remove(&Some(session.0));
        }
    }

    /// Returns the sentences to show under a line, one row each.
    pub fn under(&mut self, lines: &EventLines<'_>, line: &Line, style: Style) -> Vec<Row> {
        let start = Start::from_event(lines.event);
        let ends = match &lines.event.what {
            EventKind::Datagram(datagram) => Some(datagram.ends),
            EventKind::Connless(connless) => Some(connless.ends),
            EventKind::Session(_) | EventKind::Notice(_) | EventKind::Answer(_) => None,
        };
        let frame = ends.and_then(|ends| ends.frame).filter(|_| style.frames);
        let noted = Noted::from_line(lines, line, style);
        let notes = noted
            .iter()
            .flat_map(|noted| noted.notes.iter().map(move |note| (noted, note)));
        let mut rows = Vec::new();
        for (noted, note) in notes {
            let session = lines.event.session.map(|session| session.0);
            if self.is_new(session, note.code) || noted.knows_more(note.code) {
                let kind = CellKind::Sentence(note.code.severity());
                let draft = start.draft().cell(kind, "     ").wrapped();
                let draft = draft.cell(kind, noted.sentence(note, style));
                let draft = match frame {
                    Some(frame) => draft.cell(kind, format_args!("; frame {frame}")),
                    None => draft,
                };
                rows.push(draft.row(line.kind));
            }
        }
        rows
    }

    fn is_new(&mut self, session: Option<u32>, code: Code) -> bool {
        if self.0.len() >= SESSIONS && !self.0.contains_key(&session) {
            // Evict the oldest session. The entry for datagrams outside of sessions sorts first, and is kept.
            let oldest = self.0.keys().find(|id| id.is_some()).copied();
            oldest.map(|id| self.0.remove(&id));
        }
        let codes = self.0.entry(session).or_default();
        let is_new = !codes.contains(&code);
        if is_new {
            codes.push(code);
        }
        is_new
    }
}

/// Returns the received value, and the expected value if known, for a note on a message or, if `message` is `None`, on
/// a datagram.
pub(crate) fn values(
    reading: &Reading,
    message: Option<&Message>,
    datagram: Option<&Datagram>,
    note: &Note,
    secrets: Secrets,
) -> Option<Values> {
    let noted = Noted {
        reading,
        message,
        datagram,
        notes: Vec::new(),
    };
    let style = Style {
        secrets,
        ..Style::default()
    };
    noted.values(note, style)
}

/// The notes of a line.
struct Noted<'a> {
    reading: &'a Reading,
    /// The message; `None` for the line of a datagram.
    message: Option<&'a Message>,
    /// The datagram; `None` outside a connection.
    datagram: Option<&'a Datagram>,
    notes: Vec<Note>,
}

impl<'a> Noted<'a> {
    fn from_line(lines: &'a EventLines<'_>, line: &Line, style: Style) -> Option<Self> {
        let reading = lines.reading?;
        let datagram = match &lines.event.what {
            EventKind::Datagram(datagram) => Some(datagram),
            _ => None,
        };
        let (message, notes) = match line.about {
            About::Message { index, with_datagram } => {
                let message = lines.message(index)?;
                (Some(message), lines.marks(message, with_datagram, style))
            }
            About::Connless => {
                let message = lines.message(0)?;
                (Some(message), lines.marks(message, false, style))
            }
            About::Datagram => (None, reading.notes.clone()),
            _ => return None,
        };
        Some(Self {
            reading,
            message,
            datagram,
            notes,
        })
    }

    fn sentence(&self, note: &Note, style: Style) -> String {
        let (mark, code, text) = (mark(note.code), note.code.name(), note.code.text());
        match self.values(note, style) {
            Some(values) => format!("{mark} {code}: {text}; {values}"),
            None => format!("{mark} {code}: {text}"),
        }
    }

    /// Returns true if an invalid snapshot is explained again, because fewer causes fit all of the consecutive invalid
    /// snapshots.
    fn knows_more(&self, code: Code) -> bool {
        let diagnosis = self.message.and_then(|message| message.completed.diagnosis(code));
        diagnosis.is_some_and(|diagnosis| diagnosis.crc.is_some() && diagnosis.row.count == AGAIN)
    }

    /// Returns the received value, and the expected value if known.
    fn values(&self, note: &Note, style: Style) -> Option<Values> {
        let reading = self.reading;
        let detail = reading.detail(note);
        if let Some(detail) = detail.filter(|detail| detail.fact != Fact::Form) {
            return Some(detail.values());
        }
        let diagnosis = self
            .message
            .and_then(|message| message.completed.diagnosis(note.code));
        if let Some(diagnosis) = diagnosis {
            return Some(diagnosed(diagnosis));
        }
        if let Some(form) = self.datagram.and_then(|datagram| form(reading, datagram, note)) {
            let mistake = self.token_mistake(note).map(|mistake| mistake.to_string());
            let more = detail.map(ToString::to_string).or(mistake);
            return Some(match more {
                Some(more) => form.and(format_args!("; {more}")),
                None => form,
            });
        }
        if let Some(values) = self.of_snapshot(note) {
            return Some(values);
        }
        match note.code {
            Code::AckAhead | Code::AckBehind => {
                let bound = if note.code == Code::AckAhead {
                    "at most"
                } else {
                    "at least"
                };
                let expected = reading
                    .header
                    .expected
                    .ack
                    .map(|ack| format!("{bound} {}", ack.get()));
                Some(Values::new(reading.header.ack?, expected))
            }
            Code::CompressionUnmarked => self.unmarked(),
            Code::SnapNearLimit => {
                let snapshot = self.message?.completed.view()?;
                let (items, parts) = (snapshot.counts.items, snapshot.parts);
                let got = format_args!("{items} items in {}", counted(parts, "part"));
                Some(Values::new(got, None::<&str>))
            }
            Code::SnapIdReused => reused(&self.message?.completed.view()?).map(Values::from),
            Code::SnapEmptyUnacked => Some(Values::new(
                "acks of older snapshots while empty ones were the newest",
                Some("an ack of the newest"),
            )),
            Code::InputLate => {
                let got = format_args!("tick {}", self.int_at(note)?);
                Some(Values::new(got, Some("one after the acked snapshot")))
            }
            Code::SnapAgain | Code::SnapLate if self.message?.completed.view().is_some() => {
                let tick = self.message?.completed.view()?.tick;
                Some(Values::new(format_args!("tick {tick}"), None::<&str>))
            }
            Code::SnapNoBase if self.message?.completed.view().is_some() => {
                let snapshot = self.message?.completed.view()?;
                let base = snapshot.base?;
                let got = format_args!("tick {} relative to tick {base}", snapshot.tick);
                Some(Values::new(
                    got,
                    Some("a base that was sent and that the client has acked"),
                ))
            }
            _ if note.code.place() == RangeOf::Message => self.of_message(note, self.message?, style.secrets),
            _ => {
                let received = self.datagram?.received()?;
                let is_short = note.len > 0 && note.len <= MOST && note.code.place() == RangeOf::Datagram;
                let bytes = received.get(note.at..note.at + note.len).filter(|_| is_short)?;
                Some(Values::new(hex(bytes), None::<&str>))
            }
        }
    }

    /// Returns the int that a note on a message marks.
    fn int_at(&self, note: &Note) -> Option<i32> {
        let data = self.reading.data(self.message?);
        Some(varint::decode(data.get(note.at..note.at + note.len)?)?.value)
    }

    /// Returns the values of a note about a snapshot, its items or its ack; `None` for other notes.
    fn of_snapshot(&self, note: &Note) -> Option<Values> {
        let data = self.reading.data(self.message?);
        let marked = data.get(note.at..note.at + note.len)?;
        let only = ints::<1>(marked).filter(|(_, rest)| rest.is_empty());
        let item = |kind: i64, id: i64| {
            let proto = self.datagram.map(|datagram| datagram.proto)?;
            let kind = i32::try_from(kind).ok()?;
            let def = Registry::builtin().object(proto, kind);
            Some(match def {
                Some(def) => format!("{}[{id}] (type {kind})", def.name),
                None => format!("type {kind}, id {id}"),
            })
        };
        Some(match (note.code, only) {
            (Code::SnapUnacked, Some(([tick], _))) => {
                let what = match tick {
                    -1 => " (none)",
                    _ => ", a tick that was not sent",
                };
                let got = format_args!("an ack of {tick}{what}");
                Values::new(got, Some("the tick of the newest snapshot"))
            }
            (Code::SnapPartsDiffer, Some(([got], _))) => {
                Values::new(got, Some("the value of the other parts"))
            }
            (Code::SnapIgnored, None) => {
                let ([parts, part], rest) = ints(marked)?;
                let is_number = rest.is_empty() && parts > 0 && !(0..parts).contains(&part);
                let got = format_args!("part {part} of {parts}, counted from 0");
                is_number.then(|| Values::new(got, Some(format_args!("0 to {}", parts - 1))))?
            }
            (Code::SnapUndeclared, _) => {
                let ([kind, _], _) = ints(marked)?;
                let got = format_args!("type {kind}, which no item of type 0 declares");
                let expected = format_args!("an item of type 0 with the id {kind} and the UUID of the type");
                Values::new(got, Some(expected))
            }
            (Code::SnapNotThere, Some(([key], _))) => {
                let got = format!("the deletion of {}", item(key >> 16, key & 0xffff)?);
                Values::new(got, Some("an item of the snapshot before"))
            }
            (Code::SnapItemAgain, Some(([key], _))) => {
                Values::new(item(key >> 16, key & 0xffff)?, Some("each item once"))
            }
            (Code::SnapItemAgain, None) => {
                let ([kind, id], _) = ints(marked)?;
                Values::new(item(kind, id)?, Some("each item once"))
            }
            _ => return None,
        })
    }

    /// Returns the values of a datagram that is compressed without the flag.
    fn unmarked(&self) -> Option<Values> {
        let datagram = self.datagram?;
        let first = *datagram.received()?.first()?;
        let (marked, is_other) = marked(datagram.proto, first);
        let bit = if is_other {
            " with the compression bit of 0.6"
        } else {
            ""
        };
        let got = format_args!("a first byte of {first:02x}{bit}");
        Some(Values::new(got, Some(format_args!("{marked:02x}"))))
    }

    /// Returns the mistake behind a note about a wrong or missing token; `None` if none is certain.
    fn token_mistake(&self, note: &Note) -> Option<TokenMistake> {
        let datagram = self.datagram?;
        match note.code {
            Code::WrongToken | Code::MissingToken => TokenMistake::find(self.reading, datagram),
            Code::BadHuffman => TokenMistake::of_unreadable(self.reading, datagram),
            _ => None,
        }
    }

    /// Returns the received and expected values for a note on a message.
    fn of_message(&self, note: &Note, message: &Message, secrets: Secrets) -> Option<Values> {
        let reading = self.reading;
        let bytes = |otherwise: &str| {
            let bytes = self.bytes(note, message);
            bytes.unwrap_or_else(|| otherwise.to_owned())
        };
        if let Some(name) = self.second(note, message) {
            let got = format_args!("a second message, {name}");
            return Some(Values::new(got, Some("a chunk for each message")));
        }
        let expects = |got: String, expected: &str| Values::new(got, Some(expected));
        Some(match note.code {
            Code::NotVital => Values::new("it not vital", Some("a vital chunk")),
            Code::UnexpectedVital => Values::new("it vital", Some("a chunk that is not")),
            Code::WrongDirection => {
                let sender = self.datagram?.dir.sender();
                let (sender, other) = (Culprit::from(sender).name(), Culprit::from(sender.other()).name());
                expects(
                    format!("it from the {sender}"),
                    &format!("it from the {other} only"),
                )
            }
            Code::MissingField => self.missing_field(message)?,
            Code::ObjectShort if message.name == Some("input") => {
                let size = reading.int(message, "input_size")?;
                expects(format!("an input of {size} bytes"), "at least 40")
                    .and(", four for each int: DDNet since 19.9 drops it")
            }
            Code::IntPadding | Code::OverlongInt => self.int(note, message)?,
            Code::UnterminatedText => expects(bytes(&format!("{} bytes", note.len)), "a NUL at the end"),
            Code::InvalidUtf8 => expects(
                self.not_utf8(note, message)
                    .unwrap_or_else(|| bytes("other bytes")),
                "UTF-8",
            ),
            Code::UnknownMessage if has_text_as_uuid(reading.data(message)) => {
                Values::new("text in place of the UUID", Some("its 16 bytes"))
            }
            Code::UnknownMessage if message.uuid.is_some() => self.unknown_uuid(message),
            Code::UnknownMessage => {
                let id = varint::decode(reading.data(message)).filter(|_| message.layer != Layer::Connless);
                let number = id.map(|id| format!("{} ({})", id.value, words(id.value)));
                expects(number.unwrap_or_else(|| bytes("none")), "an id of this version")
            }
            _ => {
                let range = note.at..note.at + note.len;
                let bytes = || Some(Values::new(self.bytes(note, message)?, None::<&str>));
                let values = expectation(reading, message, &range, secrets).or_else(bytes)?;
                let is_checked = note.code == Code::OutOfRange && self.is_range_checked(message);
                match is_checked {
                    true => values.and("; the receiver drops the message"),
                    false => values,
                }
            }
        })
    }

    /// Returns the values of a message that ends before a field.
    fn missing_field(&self, message: &Message) -> Option<Values> {
        let (reading, def) = (self.reading, message.def?);
        let (records, data) = (reading.records(message), reading.data(message));
        let name = missing(def, records.all());
        if message.layer == Layer::Control && reading.header.token == Some(Token::TKEN) {
            // The last four bytes of a packet of DDNet are its token.
            return Some(Values::new(
                "TKEN as the last four bytes, which are read as the token",
                Some("the word TKEN and then a token of four bytes"),
            ));
        }
        let field = def.fields.iter().find(|field| *field.name == *name)?;
        if let Type::Raw(Len::Field(counter), _) = field.ty
            && let Some(record) = records.all().iter().find(|record| record.field == counter)
            && let Some(stated) = reading.int(message, &def.field(counter)?.name)
        {
            let start = record.at.saturating_add(record.len);
            let counter = &def.field(counter)?.name;
            let left = data.len().saturating_sub(usize::try_from(start).ok()?);
            return Some(Values::new(
                format_args!("{counter} {stated} before {} of {name}", counted(left, "byte")),
                Some(format_args!("{counter} {left}, or more bytes of {name}")),
            ));
        }
        Some(Values::new(
            counted(data.len(), "byte"),
            Some(format_args!("{name} after them")),
        ))
    }

    /// Returns the received and the expected UUID of a message with an unknown one.
    fn unknown_uuid(&self, message: &Message) -> Values {
        let data = self.reading.data(message);
        let got = message.label(data);
        let other = self
            .datagram
            .and_then(|datagram| other_uuid(datagram.proto, datagram.dir, data));
        let Some((def, other)) = other else {
            return Values::new(got, Some("a known UUID"));
        };
        let name = &def.name;
        match other {
            OtherUuid::Class(class) => Values::new(
                format_args!("{got}, the UUID of {name} in the other class"),
                Some(format_args!("a {} message", class.name())),
            ),
            OtherUuid::Groups => Values::new(
                format_args!("{got}, the UUID of {name} with its first three groups reversed"),
                Some("the bytes in the order of the text"),
            ),
        }
    }

    /// Returns the name of the message that the bytes after a message are; `None` if they are no whole message.
    fn second(&self, note: &Note, message: &Message) -> Option<&'static str> {
        let datagram = self.datagram.filter(|_| note.code == Code::SurplusBytes)?;
        let surplus = self.reading.data(message).get(note.at..note.at + note.len)?;
        second_message(datagram.proto, datagram.dir, surplus)
    }

    /// Returns true if every release drops the message for a value out of range.
    fn is_range_checked(&self, message: &Message) -> bool {
        let (Some(datagram), Some(name)) = (self.datagram, message.name) else {
            return false;
        };
        message.layer == Layer::Game && checks_ranges(datagram.proto, name)
    }

    /// Returns the bytes of an int as received, and as other senders encode the same value.
    fn int(&self, note: &Note, message: &Message) -> Option<Values> {
        let bytes = self.reading.data(message).get(note.at..note.at + note.len)?;
        let value = varint::decode(bytes)?.value;
        let mut expected = Vec::new();
        varint::encode(value, &mut expected);
        Some(Values::new(hex(bytes), Some(hex(&expected))))
    }

    /// Returns the first byte of a text that is not UTF-8, and its place; `None` if the message may contain secrets.
    fn not_utf8(&self, note: &Note, message: &Message) -> Option<String> {
        let has_secrets = |def: &Def| def.fields.iter().any(|field| field.secrecy != Secrecy::Open);
        let text = self.reading.data(message).get(note.at..note.at + note.len)?;
        let at = std::str::from_utf8(text).err()?.valid_up_to();
        let byte = text.get(at).filter(|_| !message.def.is_some_and(has_secrets))?;
        Some(format!(
            "byte {byte:02x} after {} of the text",
            counted(at, "byte")
        ))
    }

    /// Returns the bytes marked by a note without a field. If the message may contain secrets, returns `None`, because
    /// an unreadable field may be a secret.
    fn bytes(&self, note: &Note, message: &Message) -> Option<String> {
        let has_secrets = |def: &Def| def.fields.iter().any(|field| field.secrecy != Secrecy::Open);
        let range: Range<usize> = note.at..note.at + note.len;
        let bytes = self.reading.data(message).get(range)?;
        let is_shown = !bytes.is_empty() && bytes.len() <= MOST && !message.def.is_some_and(has_secrets);
        is_shown.then(|| hex(bytes))
    }
}

/// Returns the sums of a wrong snapshot, and its likely causes.
fn diagnosed(diagnosis: &Diagnosis) -> Values {
    match diagnosis.crc {
        Some(Crc { stated, actual }) => {
            Values::new(stated, Some(actual)).and(format_args!(", off by {}", diagnosis.row.off))
        }
        None => Values::default(),
    }
    .and(diagnosis.reasons())
}

/// Position of the snapshot that is explained again among consecutive invalid snapshots.
const AGAIN: u32 = 5;
/// Maximum number of bytes shown for a note.
const MOST: usize = 8;

/// Describes an item of a snapshot whose id belonged to a different item shortly before.
pub(crate) fn reused(snapshot: &Completed<'_>) -> Option<String> {
    let Reused { key, seen, after } = snapshot.reused?;
    let mut items = snapshot.items_of(key.kind);
    let name = items.find(|item| item.key == key)?.name()?;
    Some(format!(
        "{name}[{}] was another one at tick {seen}, {} before: servers give an id again after 250",
        key.id,
        counted(after, "tick")
    ))
}

/// Returns the mark for a code, which shows its severity.
#[must_use]
pub const fn mark(code: Code) -> char {
    match code.severity() {
        Severity::Error => '✗',
        Severity::Warning => '!',
        Severity::Info => '·',
    }
}

#[cfg(test)]
#[path = "sentence_tests.rs"]
mod tests;
