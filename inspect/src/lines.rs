//! The lines of an event: the one place that decides which there are.
//!
//! Law: nothing is rendered here. A line says what it is about and how much it weighs; text, JSON and lists render the
//! lines they show from the event and its [`Reading`].

use teetap_proxy::session::{Datagram, Event, Level, Notice, What};
use teetap_wire::{Note, Severity};

use crate::{DecodedEvent, Kind, Message, Reading, Style, Verbosity};

/// The lines of an event that a style shows, and what they are rendered from.
#[derive(Debug)]
pub struct EventLines<'e> {
    /// The event.
    pub event: &'e Event,
    /// The decoded datagram; `None` if there is none, or nothing of it is shown.
    pub reading: Option<&'e Reading>,
    /// The lines, in their order.
    pub list: Vec<Line>,
}

/// A line of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The weight of the line.
    pub kind: Kind,
    /// The subject of the line.
    pub about: About,
}

impl Line {
    /// Returns true if the line is about a message, connless ones included.
    #[must_use]
    pub fn is_message(&self) -> bool {
        matches!(self.about, About::Message { .. } | About::Connless)
    }
}

/// The subject of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// A session that changes its state.
    Session {
        /// The name of its player before that, if known.
        player: Option<String>,
    },
    /// A notice.
    Notice,
    /// The answer to a command. Only JSON has a line for it.
    Answer,
    /// A datagram as a whole.
    Datagram,
    /// The bytes of a datagram.
    Bytes(Bytes),
    /// A message of a datagram.
    Message {
        /// The index in the reading.
        index: usize,
        /// The notes of the datagram stand on it: on the first message that is shown, and on those whose filter reads notes.
        with_datagram: bool,
    },
    /// The changed items of the snapshot that this message of the reading completes.
    Items(usize),
    /// The fields and the bytes of this message of the reading.
    Whole(usize),
    /// A datagram outside a connection.
    Connless,
}

/// Some bytes of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bytes {
    /// As received, and sent on as they were.
    Passed,
    /// As received.
    Received,
    /// As sent: the datagram of this index.
    Sent(usize),
}

impl<'e> EventLines<'e> {
    /// The lines of an event.
    #[must_use]
    pub fn of(decoded: &'e DecodedEvent, style: Style) -> Self {
        let event = &decoded.event;
        let mut lines = Self {
            event,
            reading: decoded.reading.as_ref().filter(|_| style.viewer.sees(decoded)),
            list: Vec::new(),
        };
        match &event.what {
            What::Session(_) => {
                let player = decoded.player.clone();
                lines.push(style, Kind::Session, About::Session { player });
            }
            What::Answer(_) => {
                if style.json && !style.matches_only {
                    lines.push(style, Kind::Info, About::Answer);
                }
            }
            What::Notice(notice) => {
                let kind = match notice.level() {
                    Level::Warning => Kind::Warning,
                    Level::Info => Kind::Info,
                };
                if !style.matches_only {
                    match notice {
                        // The user's own rule asks for it.
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
            What::Connless(_) => {
                if let Some(message) = lines.message(0) {
                    let kind = weight(&message.notes);
                    lines.push(style, kind, About::Connless);
                    if style.verbosity >= Verbosity::Bytes && !style.json {
                        lines.push(style, kind, About::Whole(0));
                    }
                }
            }
            What::Datagram(datagram) => {
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
            if message.marks.is_empty() {
                self.push(style, kind, about);
            } else {
                // The user's own rule asks for it.
                self.list.push(Line { kind, about });
            }
            is_first = false;
            if style.verbosity >= Verbosity::Bytes && !style.json {
                self.push(style, kind, About::Whole(index));
            }
            if style.items && !style.json && message.snapshot().is_some() {
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

    /// A message of the reading.
    #[must_use]
    pub fn message(&self, index: usize) -> Option<&Message> {
        self.reading?.messages.get(index)
    }

    /// The notes that the line of a message has marks for. Harmless ones are shown with `-v`, and where a filter reads notes.
    #[must_use]
    pub fn marks(&self, message: &Message, with_datagram: bool, style: Style) -> Vec<Note> {
        let mut notes = self.notes(message, with_datagram);
        if style.verbosity < Verbosity::Datagrams && !message.reads_notes {
            notes.retain(|note| note.code.severity() >= Severity::Warning);
        }
        notes
    }

    /// The notes on the line of a message.
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
