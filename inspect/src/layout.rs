//! Rows of text with the places of their parts, and how they are put together.
//!
//! Law: the text of a row is whole and plain. What prints it cuts, colours and aligns it by the [`Layout`].

use std::fmt::{self, Write as _};

use teetap_proxy::session::{Event, SessionId, Time};
use teetap_wire::{Dir, Side, is_deceptive, is_invisible, printable};

use crate::Kind;

/// A line of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The weight of the row.
    pub kind: Kind,
    /// The line, without its end. In a form safe to show.
    pub text: String,
    /// The parts of the line.
    pub layout: Layout,
}

/// The places of the parts of a row: bytes of its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// The end of the time; 0 for a row without one.
    pub time: usize,
    /// The end of the session.
    pub session: usize,
    /// The end of the direction; that of the session for a row without one.
    pub arrow: usize,
    /// The start of the name of a message; 0 for a row without one.
    pub name: usize,
    /// The end of the column of the name.
    pub column: usize,
    /// The start of the notes; 0 for a row without notes.
    pub notes: usize,
    /// The start of lines that continue the row, in columns; 0 for a row that is cut instead.
    pub indent: usize,
}

impl Row {
    /// A row without columns.
    #[must_use]
    pub fn plain(kind: Kind, text: String) -> Self {
        let draft = Draft {
            text: String::with_capacity(text.len()),
            layout: Layout::default(),
        };
        draft.push(text).row(kind)
    }
}

/// Time and session.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Time since the start of the run.
    pub at: Time,
    /// The session.
    pub session: Option<SessionId>,
}

impl Start {
    /// Returns those of an event.
    #[must_use]
    pub const fn of(event: &Event) -> Self {
        Self {
            at: event.at,
            session: event.session,
        }
    }

    /// Begins a row.
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

/// A time in its column: seconds with three decimals.
#[derive(Clone, Copy, Debug)]
pub struct Seconds(pub Time);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.0 / 1000;
        write!(f, "{:>4}.{:03}", ms / 1000, ms % 1000)
    }
}

/// A row while it is written.
#[derive(Clone, Debug)]
pub struct Draft {
    text: String,
    layout: Layout,
}

impl Draft {
    /// Appends a direction.
    #[must_use]
    pub fn arrow(mut self, dir: Dir, leg: Option<Side>) -> Self {
        self.text.push(' ');
        self.text.push_str(arrow(dir, leg));
        self.layout.arrow = self.text.len();
        self
    }

    /// Appends a text.
    #[must_use]
    pub fn push(mut self, part: impl fmt::Display) -> Self {
        let start = self.text.len();
        let _never_fails = write!(self.text, "{part}");
        let pushed = self.text.get(start..).unwrap_or_default();
        // Names of rules and marks may be from anywhere.
        if pushed.chars().any(|c| is_deceptive(c) || is_invisible(c)) {
            let safe = printable(pushed.as_bytes());
            self.text.truncate(start);
            self.text.push_str(&safe);
        }
        self
    }

    /// Appends the name of a message, in a column of this width.
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

    /// Lets the row continue on further lines where it is too long for one.
    #[must_use]
    pub fn wrapped(mut self) -> Self {
        // Below the text, after time and session.
        self.layout.indent = self.text.chars().count() + 2;
        self
    }

    /// Ends the row.
    #[must_use]
    pub fn row(self, kind: Kind) -> Row {
        let Self { text, layout } = self;
        Row { kind, text, layout }
    }
}

/// Returns the arrow from sender to receiver; on a single leg, `p` is the proxy.
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
