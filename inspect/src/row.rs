//! Events as lines of text.
//!
//! ```text
//!   12.418 #2  s→c V  217 sv_motd            23 bytes "welcome"
//!   12.418 #2  s→c V 218→219 sv_chat         9 bytes hold 3 "nameless tee": gg
//! ```
//!
//! The columns: time since the start in seconds, session, direction, `V` (vital), `R` (vital, resent) or `-`, sequence
//! number of its sender and, after `→`, the one under which it left where that differs, name or id, size, action, gist, and
//! `!` with each note. `p` in a direction is the proxy: `c→p` is between client and proxy only.

use std::fmt::{self, Write as _};

use teetap_proxy::session::{
    Connless, Datagram, Event, Level, Notice, Origin, SessionChange, SessionId, Time, What,
};
use teetap_wire::{Dir, Flags, Note, Side, def::Secrets, printable};

use crate::{
    DecodedEvent, EventLines, Kind, Style, Verbosity, Viewer,
    lines::{About, Bytes, Line},
    reading::{Message, Reading},
    snapshot,
    transit::Transits,
};

/// A line of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The weight of the row.
    pub kind: Kind,
    /// The line, without its end. No control characters.
    pub text: String,
}

/// Returns the rows of an event that a style shows.
#[must_use]
pub fn rows(decoded: &DecodedEvent, style: Style) -> Vec<Row> {
    let mut rows = Vec::new();
    let lines = EventLines::of(decoded, style);
    for line in &lines.list {
        add(&lines, line, style, &mut rows);
    }
    rows
}

/// Returns one line of an event as rows: several for the changed items of a snapshot, else one.
#[must_use]
pub fn render(decoded: &DecodedEvent, line: &Line, style: Style) -> Vec<Row> {
    of_line(&EventLines::of(decoded, style), line, style)
}

/// Returns one of these lines as rows.
#[must_use]
pub fn of_line(lines: &EventLines<'_>, line: &Line, style: Style) -> Vec<Row> {
    let mut rows = Vec::new();
    add(lines, line, style, &mut rows);
    rows
}

/// Returns the rows of an event as one text, the comment of its packets in captures.
#[must_use]
pub fn comment(decoded: &DecodedEvent) -> String {
    let style = Style {
        viewer: Viewer::Everything,
        ..Style::default()
    };
    let rows = rows(decoded, style);
    let lines: Vec<&str> = rows.iter().map(|row| row.text.as_str()).collect();
    lines.join("\n")
}

/// Renders a line; changed items take a row each.
fn add(lines: &EventLines<'_>, line: &Line, style: Style, rows: &mut Vec<Row>) {
    let event = lines.event;
    let start = Start::of(event);
    let mut row = |text: String| rows.push(Row::new(line.kind, text));
    match (&line.about, &event.what, lines.reading) {
        (About::Session { .. }, What::Session(change), _) => row(format!("{start} {}", Session(change))),
        (About::Notice, What::Notice(notice), _) => row(notice_text(start, notice)),
        (About::Connless, What::Connless(connless), Some(reading)) => {
            if let Some(message) = lines.message(0) {
                let notes = lines.marks(message, false, style);
                row(connless_text(start, connless, (reading, message), &notes, style));
            }
        }
        (About::Datagram, What::Datagram(datagram), Some(reading)) => {
            let arrow = arrow(datagram.dir, datagram.leg);
            row(format!("{start} {arrow} {}", Whole { datagram, reading }));
        }
        (About::Bytes(bytes), What::Datagram(datagram), _) => row(bytes_text(start, *bytes, datagram)),
        (About::Message { index, with_datagram }, What::Datagram(datagram), Some(reading)) => {
            if let Some(message) = lines.message(*index) {
                let arrow = arrow(datagram.dir, datagram.leg);
                let notes = lines.marks(message, *with_datagram, style);
                let text = MessageText {
                    message,
                    reading,
                    secrets: style.secrets,
                };
                let link = with_datagram.then(|| Transits::of(datagram).to_string());
                let link = link.unwrap_or_default();
                row(format!("{start} {arrow} {text}{link}{}", Marks(&notes)));
            }
        }
        (About::Items(index), _, _) => {
            if let Some(completed) = lines.message(*index).and_then(Message::snapshot) {
                let items = snapshot::lines(&completed, style.secrets);
                items.iter().for_each(|item| row(format!("{start}     {item}")));
            }
        }
        _ => {}
    }
}

/// Returns the row for missed events.
#[must_use]
pub fn gap(lost: u64) -> Row {
    let s = if lost == 1 { "" } else { "s" };
    let text = format!("-- {lost} event{s} missed: this output is slower than the traffic --");
    Row::new(Kind::Warning, text)
}

impl Row {
    pub(crate) fn new(kind: Kind, text: String) -> Self {
        // The parts are clean already; this keeps a mistake in one of them from reaching the terminal.
        let clean = !text.chars().any(char::is_control);
        Self {
            kind,
            text: if clean { text } else { printable(text.as_bytes()) },
        }
    }
}

/// Time and session.
#[derive(Clone, Copy)]
pub(crate) struct Start {
    at: Time,
    session: Option<SessionId>,
}

impl Start {
    /// Returns those of an event.
    pub(crate) const fn of(event: &Event) -> Self {
        Self {
            at: event.at,
            session: event.session,
        }
    }
}

impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.at.0 / 1000;
        let session = self
            .session
            .map_or("-".to_owned(), |session| format!("#{}", session.0));
        write!(f, "{:>4}.{:03} {session:<3}", ms / 1000, ms % 1000)
    }
}

struct Session<'a>(&'a SessionChange);

impl fmt::Display for Session<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SessionChange {
            state,
            proto,
            client,
            server,
            upstream,
            by,
            reason,
        } = self.0;
        write!(f, "session {state}: {proto}, client {client}")?;
        if let Some(upstream) = upstream {
            write!(f, ", from {upstream} to the server")?;
        }
        if let Some(server) = server {
            write!(f, ", redirected to {server}")?;
        }
        if let Some(side) = by {
            write!(f, ", by the {side}")?;
        }
        match reason.as_deref() {
            Some(reason) if !reason.is_empty() => write!(f, ": \"{}\"", printable(reason)),
            _ => Ok(()),
        }
    }
}

fn notice_text(start: Start, notice: &Notice) -> String {
    match notice.level() {
        Level::Warning => format!("{start} warning: {notice}"),
        Level::Info => format!("{start} note: {notice}"),
    }
}

fn connless_text(
    start: Start,
    connless: &Connless,
    (reading, message): (&Reading, &Message),
    notes: &[Note],
    style: Style,
) -> String {
    let Connless {
        dir,
        client,
        bytes,
        forwarded,
        ..
    } = connless;
    let arrow = arrow(*dir, None);
    let (name, size) = (reading.label(message), Size(bytes.len()));
    let mut text = format!("{start} {arrow} -      {name:<15} {size} client {client}");
    if !forwarded {
        text.push_str(" discard");
    }
    let gist = reading.gist(message, style.secrets);
    if !gist.is_empty() {
        let _never_fails = write!(text, " {gist}");
    }
    let _never_fails = write!(text, "{}{}", Transits::of_connless(connless), Marks(notes));
    if style.verbosity >= Verbosity::Bytes {
        let _never_fails = write!(text, " hex {}", hex(bytes));
    }
    text
}

fn bytes_text(start: Start, bytes: Bytes, datagram: &Datagram) -> String {
    let (word, bytes) = match bytes {
        Bytes::Passed => ("in=out", datagram.received()),
        Bytes::Received => ("in", datagram.received()),
        Bytes::Sent(index) => ("out", datagram.sent().nth(index)),
    };
    format!("{start}     {word} {}", hex(bytes.unwrap_or_default()))
}

/// The line of a datagram.
struct Whole<'a> {
    datagram: &'a Datagram,
    reading: &'a Reading,
}

impl fmt::Display for Whole<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { datagram, reading } = self;
        match (datagram.ordinal, reading.size) {
            (0, Some(_)) => f.write_str("datagram:")?,
            (0, None) => write!(f, "datagram of the {}:", datagram.origin)?,
            (ordinal, _) => write!(f, "datagram {ordinal}:")?,
        }
        let out = reading
            .sizes_out
            .iter()
            .map(usize::to_string)
            .collect::<Vec<_>>()
            .join("+");
        match reading.size.map(|size| size.to_string()) {
            Some(size) if size == out || out.is_empty() => write!(f, " {size} bytes")?,
            Some(size) => write!(f, " {size}→{out} bytes")?,
            None => write!(f, " {out} bytes")?,
        }
        if let Some(error) = &reading.error {
            write!(f, ", unreadable: {error}")?;
        }
        if reading.size.is_some() && out.is_empty() && datagram.leg.is_none() {
            f.write_str(", not sent on")?;
        }
        if reading.is_refused {
            f.write_str(", refused")?;
        }
        let [seqs, seqs_out] = reading.seqs().map(|ends| ends.map(Range));
        write_pair(f, ", seq ", seqs, seqs_out)?;
        write_pair(f, ", ack ", reading.ack, reading.ack_out)?;
        for (flag, word) in [
            (Flags::CONTROL, "control"),
            (Flags::RESEND, "resend"),
            (Flags::COMPRESSION, "compressed"),
        ] {
            if reading.flags.contains(flag) {
                write!(f, ", {word}")?;
            }
        }
        match reading.num_chunks {
            0 if reading.flags.contains(Flags::CONTROL) => {}
            1 => f.write_str(", 1 chunk")?,
            chunks => write!(f, ", {chunks} chunks")?,
        }
        write!(f, "{}{}", Transits::of(datagram), Marks(&reading.notes))
    }
}

/// Writes `a→b`, or one of them where they are equal or the other is missing.
fn write_pair<T: fmt::Display + PartialEq>(
    f: &mut fmt::Formatter<'_>,
    lead: &str,
    came: Option<T>,
    left: Option<T>,
) -> fmt::Result {
    match (came, left) {
        (Some(came), Some(left)) if came != left => write!(f, "{lead}{came}→{left}"),
        (Some(one), _) | (None, Some(one)) => write!(f, "{lead}{one}"),
        (None, None) => Ok(()),
    }
}

#[derive(PartialEq)]
struct Range((teetap_wire::Seq, teetap_wire::Seq));

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = self.0;
        if first == last {
            write!(f, "{}", first.get())
        } else {
            write!(f, "{}..{}", first.get(), last.get())
        }
    }
}

/// Returns `V` for a vital message, `R` for one that is sent again, and `-` for others.
#[must_use]
pub fn flag(message: &Message) -> char {
    match (message.vital, message.resend) {
        (true, true) => 'R',
        (true, false) => 'V',
        (false, _) => '-',
    }
}

/// Returns the sequence number as its sender gave it, with `→` and the number it left with where that differs; empty for a
/// message without one.
#[must_use]
pub fn seq(message: &Message) -> String {
    match (message.seq, message.seq_out) {
        (Some(came), Some(left)) if came != left => format!("{}→{}", came.get(), left.get()),
        (None, Some(left)) => format!("→{}", left.get()),
        (Some(came), _) => came.get().to_string(),
        (None, None) => String::new(),
    }
}

/// The line of a message, after the direction.
struct MessageText<'a> {
    message: &'a Message,
    reading: &'a Reading,
    secrets: Secrets,
}

impl fmt::Display for MessageText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            message,
            reading,
            secrets,
        } = *self;
        let (flag, seq) = (flag(message), seq(message));
        // A long number shortens the padding of the name, so that sizes stay in their column.
        let spare = 15_usize.saturating_sub(seq.chars().count().saturating_sub(4));
        write!(
            f,
            "{flag} {seq:>4} {:<spare$} {}",
            reading.label(message),
            Size(message.range().len())
        )?;
        if let Some(word) = message.outcome() {
            write!(f, " {word}")?;
        }
        for mark in &message.marks {
            write!(f, " #{mark}")?;
        }
        match message.origin {
            // The direction shows messages between the proxy and one peer already.
            Origin::Peer | Origin::Proxy => {}
            origin => write!(f, " by the {origin}")?,
        }
        let gist = reading.gist(message, secrets);
        if gist.is_empty() {
            return Ok(());
        }
        write!(f, " {gist}")
    }
}

/// A size in its column.
struct Size(usize);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = if self.0 == 1 { "" } else { "s" };
        write!(f, "{:>5} byte{s}", self.0)
    }
}

/// Notes at the end of a line.
struct Marks<'a>(&'a [Note]);

impl fmt::Display for Marks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|note| write!(f, " !{}", note.code.name()))
    }
}

/// Returns the arrow from sender to receiver; on a single leg, `p` is the proxy.
#[must_use]
pub fn arrow(dir: Dir, leg: Option<Side>) -> &'static str {
    match (dir, leg) {
        (Dir::C2s, None) => "c→s",
        (Dir::S2c, None) => "s→c",
        (Dir::C2s, Some(Side::Client)) => "c→p",
        (Dir::C2s, Some(Side::Server)) => "p→s",
        (Dir::S2c, Some(Side::Client)) => "p→c",
        (Dir::S2c, Some(Side::Server)) => "s→p",
    }
}

/// Returns lower-case hex without spaces.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _never_fails = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
#[path = "row_tests.rs"]
mod tests;
