//! Rows of text with the positions of their columns.
//!
//! Law: a row is complete, plain text. The printer uses its [`Layout`] to truncate, colour and align it.

use std::fmt::{self, Write as _};

use teetap_proxy::session::{Event, SessionId, Time};
use teetap_wire::{Dir, Side, is_deceptive, is_invisible, printable};

use crate::Kind;

/// A line of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The weight of the row, for colours.
    pub kind: Kind,
    /// The text without a newline, in a form that is safe to print.
    pub text: String,
    /// The positions of the parts of the text.
    pub layout: Layout,
}

/// Positions in the text of a row, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// End of the time; 0 if the row has no time.
    pub time: usize,
    /// End of the session.
    pub session: usize,
    /// End of the direction; the end of the session if the row has no direction.
    pub arrow: usize,
    /// Start of the message name; 0 if the row has no name.
    pub name: usize,
    /// End of the name column.
    pub column: usize,
    /// Start of the notes; 0 if the row has no notes.
    pub notes: usize,
    /// Indent of continuation lines, in columns; 0 for a row that is cut instead.
    pub indent: usize,
}

impl Row {
    /// Creates a row without columns.
    #[must_use]
    pub fn plain(kind: Kind, text: String) -> Self {
        let draft = Draft {
            text: String::with_capacity(text.len()),
            layout: Layout::default(),
        };
        draft.push(text).row(kind)
    }
}

/// The time and session at the start of a row.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Time since the start of the run.
    pub at: Time,
    /// The session.
    pub session: Option<SessionId>,
}

impl Start {
    /// Returns the time and session of an event.
    #[must_use]
    pub const fn from_event(event: &Event) -> Self {
        Self {
            at: event.at,
            session: event.session,
        }
    }

    /// Starts a row.
    #[must_use]
    pub fn draft(self) -> Draft {
        let mut text = String::with_capacity(128);
        let _never_fails = write!(text, "{}", Seconds(self.at));
        let time = text.len();
        let _never_fails = match self.session {
            Some(session) if session.0 < 10 => write!(text, " #{} ", session.0),
            Some(session) => write!(text, " #{}", session.0),
            None => write!(text, " -  "),
        };
        let layout = Layout {
            time,
            session: text.len(),
            arrow: text.len(),
            ..Layout::default()
        };
        Draft { text, layout }
    }
}

/// Displays a time in seconds with three decimals, padded to its column.
#[derive(Clone, Copy, Debug)]
pub struct Seconds(pub Time);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.0 / 1000;
        write!(f, "{:>4}.{:03}", ms / 1000, ms % 1000)
    }
}

/// A row that is being written.
#[derive(Clone, Debug)]
pub struct Draft {
    text: String,
    layout: Layout,
}

impl Draft {
    /// Appends the direction as an arrow.
    #[must_use]
    pub fn arrow(mut self, dir: Dir, leg: Option<Side>) -> Self {
        self.text.push(' ');
        self.text.push_str(arrow(dir, leg));
        self.layout.arrow = self.text.len();
        self
    }

    /// Appends text, made safe to print.
    #[must_use]
    pub fn push(mut self, part: impl fmt::Display) -> Self {
        let start = self.text.len();
        let _never_fails = write!(self.text, "{part}");
        let pushed = self.text.get(start..).unwrap_or_default();
        // Names of rules and marks may be from an untrusted source.
        if pushed.chars().any(|c| is_deceptive(c) || is_invisible(c)) {
            let safe = printable(pushed.as_bytes());
            self.text.truncate(start);
            self.text.push_str(&safe);
        }
        self
    }

    /// Appends the name of a message, padded to `width`.
    pub(crate) fn name(mut self, name: &str, width: usize) -> Self {
        self.layout.name = self.text.len();
        self = self.push(format_args!("{name:<width$}"));
        self.layout.column = self.text.len();
        self
    }

    /// Appends the notes.
    pub(crate) fn notes(mut self, notes: impl fmt::Display) -> Self {
        let start = self.text.len();
        self = self.push(notes);
        if self.text.len() > start {
            self.layout.notes = start;
        }
        self
    }

    /// Wraps the row onto further lines if it is too long for one.
    #[must_use]
    pub fn wrapped(mut self) -> Self {
        // Continuation lines start below the text, after time and session.
        self.layout.indent = self.text.chars().count() + 2;
        self
    }

    /// Finishes the row.
    #[must_use]
    pub fn row(self, kind: Kind) -> Row {
        let Self { text, layout } = self;
        Row { kind, text, layout }
    }
}

/// Returns the arrow from sender to receiver. `p` is the proxy, for a datagram on a single leg.
#[must_use]
pub const fn arrow(dir: Dir, leg: Option<Side>) -> &'static str {
    match (dir, leg) {
        (Dir::C2s, None) => "c→s",
        (Dir::S2c, None) => "s→c",
        (Dir::C2s, Some(Side::Client)) => "c→p",
        (Dir::C2s, Some(Side::Server)) => "p→s",
        (Dir::S2c, Some(Side::Client)) => "p→c",
        (Dir::S2c, Some(Side::Server)) => "s→p",
    }
}
