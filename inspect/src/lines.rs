//! Decides which lines an event has in any output.
//!
//! Law: this module renders nothing. A line has only a subject and a weight. Text, JSON and lists choose lines by
//! weight, and render them from the event and its [`Reading`].

use teetap_proxy::session::{Datagram, Event, EventKind, Level, Notice};
use teetap_wire::{Note, Severity};

use crate::{DecodedEvent, Kind, Message, Reading, Style, Verbosity};

/// The lines of an event that a style shows, with the data from which they are rendered.
#[derive(Debug)]
pub struct EventLines<'e> {
    /// The event.
    pub event: &'e Event,
    /// The decoded datagram; `None` if the event has no datagram, or the viewer shows no part of it.
    pub reading: Option<&'e Reading>,
    /// The lines, in display order.
    pub list: Vec<Line>,
}

/// A line of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The weight of the line, which decides whether a style shows it.
    pub kind: Kind,
    /// The subject of the line.
    pub about: About,
}

/// The subject of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// A state change of a session.
    Session {
        /// The name of the session's player before this event, if known.
        player: Option<String>,
    },
    /// A notice.
    Notice,
    /// The answer to a command. Rendered as JSON only.
    Answer,
    /// A datagram as a whole.
    Datagram,
    /// The bytes of a datagram in hex.
    Bytes(Bytes),
    /// A message of a datagram.
    Message {
        /// Index of the message in the reading.
        index: usize,
        /// True if the line also shows the notes of the datagram: on the first message that is shown, and on each
        /// message whose filter reads notes.
        with_datagram: bool,
    },
    /// The changed items of the snapshot that the message at this index completes.
    Items(usize),
    /// The fields and bytes of the message at this index.
    Whole(usize),
    /// A datagram outside a connection.
    Connless,
}

/// Selects the bytes of a datagram that a line shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bytes {
    /// The bytes as received, which were forwarded unchanged.
    Passed,
    /// The bytes as received.
    Received,
    /// The bytes as sent, with the index of the datagram among the sent datagrams.
    Sent(usize),
}

impl<'e> EventLines<'e> {
    /// Returns the lines of an event in this style.
    #[must_use]
    pub fn from_event(decoded: &'e DecodedEvent, style: Style) -> Self {
        let event = &decoded.event;
        let mut lines = Self {
            event,
            reading: decoded.reading.as_ref().filter(|_| style.viewer.sees(decoded)),
            list: Vec::new(),
        };
        match &event.what {
            EventKind::Session(_) => {
                let player = decoded.player.clone();
                lines.push(style, Kind::Session, About::Session { player });
            }
            EventKind::Answer(_) => {
                if style.json && !style.matches_only {
                    lines.push(style, Kind::Info, About::Answer);
                }
            }
            EventKind::Notice(notice) => {
                let kind = match notice.level() {
                    Level::Warning => Kind::Warning,
                    Level::Info => Kind::Info,
                };
                if !style.matches_only {
                    match notice {
                        // A rule of the user asked for this line, so no verbosity hides it.
                        Notice::RuleLog { .. } => lines.list.push(Line {
                            kind,
                            about: About::Notice,
                        }),
                        _ => lines.push(style, kind, About::Notice),
                    }
                    let has_bytes =
                        matches!(notice, Notice::UnknownSender { bytes, .. } if !bytes.is_empty());
                    if has_bytes && style.verbosity >= Verbosity::Bytes && !style.json {
                        lines.push(style, kind, About::Bytes(Bytes::Received));
                    }
                }
            }
            EventKind::Connless(_) => {
                if let Some(message) = lines.message(0) {
                    let kind = weight(&message.notes);
                    lines.push(style, kind, About::Connless);
                    if style.verbosity >= Verbosity::Bytes && !style.json {
                        lines.push(style, kind, About::Whole(0));
                    }
                }
            }
            EventKind::Datagram(datagram) => {
                if let Some(reading) = lines.reading {
                    lines.add_datagram(datagram, reading, style);
                }
            }
        }
        lines
    }

    fn add_datagram(&mut self, datagram: &Datagram, reading: &Reading, style: Style) {
        let broken = reading.error.is_some();
        let has_own = reading.is_bare() || style.verbosity >= Verbosity::Datagrams;
        if has_own {
            let kind = if broken {
                Kind::Warning
            } else {
                weight(&reading.notes)
            };
            self.push(style, kind, About::Datagram);
        }
        if style.verbosity >= Verbosity::Bytes && !style.json {
            self.add_bytes(datagram, style);
        }
        let mut is_first = true;
        for (index, message) in reading.messages.iter().enumerate() {
            if !style.viewer.shows(message) {
                continue;
            }
            let with_datagram = !has_own && (is_first || style.viewer.reads_notes(message));
            let kind = match weight(&message.notes) {
                Kind::Traffic if with_datagram => weight(&reading.notes),
                kind => kind,
            };
            let about = About::Message { index, with_datagram };
            if message.handling.marks.is_empty() {
                self.push(style, kind, about);
            } else {
                // A rule of the user marked this message, so no verbosity hides it.
                self.list.push(Line { kind, about });
            }
            is_first = false;
            if style.verbosity >= Verbosity::Bytes && !style.json {
                self.push(style, kind, About::Whole(index));
            }
            if style.items && !style.json && message.completed.view().is_some() {
                self.push(style, Kind::Traffic, About::Items(index));
            }
        }
    }

    fn add_bytes(&mut self, datagram: &Datagram, style: Style) {
        let mut push = |bytes| self.push(style, Kind::Traffic, About::Bytes(bytes));
        let received = datagram.received();
        if received.is_some_and(|received| datagram.sent().eq([received])) {
            return push(Bytes::Passed);
        }
        if received.is_some() {
            push(Bytes::Received);
        }
        (0..datagram.sent().count()).for_each(|index| push(Bytes::Sent(index)));
    }

    fn push(&mut self, style: Style, kind: Kind, about: About) {
        if style.shows(kind) {
            self.list.push(Line { kind, about });
        }
    }

    /// Returns the message at this index of the reading.
    #[must_use]
    pub fn message(&self, index: usize) -> Option<&Message> {
        self.reading?.messages.get(index)
    }

    /// Returns the notes marked on the line of a message. Harmless notes are included with `-v`, or if a filter of the
    /// message reads notes.
    #[must_use]
    pub fn marks(&self, message: &Message, with_datagram: bool, style: Style) -> Vec<Note> {
        let mut notes = self.notes(message, with_datagram);
        if style.verbosity < Verbosity::Datagrams && !message.visibility.reads_notes {
            notes.retain(|note| note.code.severity() >= Severity::Warning);
        }
        notes
    }

    /// Returns all notes of a message, followed by the notes of its datagram if `with_datagram` is set.
    #[must_use]
    pub fn notes(&self, message: &Message, with_datagram: bool) -> Vec<Note> {
        let reading = self.reading.filter(|_| with_datagram);
        let of_datagram = reading.map_or(&[][..], |reading| &reading.notes);
        [&message.notes, of_datagram].concat()
    }
}

fn weight(notes: &[Note]) -> Kind {
    let heavy = notes.iter().any(|note| note.code.severity() >= Severity::Warning);
    if heavy { Kind::Warning } else { Kind::Traffic }
}
