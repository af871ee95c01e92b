//! Events as lines of text.
//!
//! ```text
//!   12.418 #2  s→c V  217 sv_motd            23 bytes "welcome"
//!   12.418 #2  s→c V 218→219 sv_chat         9 bytes hold 3 "nameless tee": gg
//! ```
//!
//! Time since the start in seconds, session, direction, `V` vital or `R` vital and sent again or `-`, number as its
//! sender gave it and `→` as it left where that differs, name or id, size of the message, what was done with it, what
//! it says as far as that fits, `!` and its oddities. `p` in the direction is the proxy itself: `c→p` is between client and proxy only.

use std::fmt::{self, Write as _};

use teetap_proxy::session::{
    Connless, Datagram, Event, Level, Notice, Origin, SessionChange, SessionId, Time, What,
};
use teetap_wire::{Dir, Flags, Note, Severity, Side, connless, printable};

use crate::{
    decoder::Decoder,
    reading::{Message, Reading},
};

/// How much is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Messages, sessions, notices.
    #[default]
    Messages,
    /// And a line per datagram.
    Datagrams,
    /// And its bytes.
    Bytes,
}

/// What a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A message, a datagram, its bytes.
    Traffic,
    /// The state of a session.
    Session,
    /// Something is probably wrong, traffic that has a note of that weight included.
    Warning,
    /// A notice.
    Info,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What it is about.
    pub kind: Kind,
    /// The line, without its end. No control characters.
    pub text: String,
}

/// The rows of an event.
#[must_use]
pub fn rows(event: &Event, verbosity: Verbosity, decoder: &mut Decoder) -> Vec<Row> {
    let start = Start {
        at: event.at,
        session: event.session,
    };
    match &event.what {
        What::Session(change) => {
            if let Some(session) = event.session {
                decoder.on_session(event.at, session, change.state);
            }
            vec![Row::new(Kind::Session, format!("{start} {}", Session(change)))]
        }
        What::Notice(notice) => vec![notice_row(start, notice)],
        What::Connless(connless) => connless_row(start, connless, verbosity, decoder)
            .into_iter()
            .collect(),
        What::Datagram(datagram) => datagram_rows(start, datagram, verbosity, decoder),
    }
}

/// What an event is about, in as many lines as it has messages: the comment of its packets in captures.
#[must_use]
pub fn gist(event: &Event, decoder: &mut Decoder) -> String {
    let rows = rows(event, Verbosity::Messages, decoder);
    let lines: Vec<&str> = rows.iter().map(|row| row.text.as_str()).collect();
    lines.join("\n")
}

/// The row that says that events were missed.
#[must_use]
pub fn gap(lost: u64) -> Row {
    Row::new(
        Kind::Warning,
        format!("-- {lost} events missed: this output is slower than the traffic --"),
    )
}

impl Row {
    fn new(kind: Kind, text: String) -> Self {
        // The parts are clean; this guards the terminal against a part that some day is not.
        let clean = !text.chars().any(char::is_control);
        Self {
            kind,
            text: if clean { text } else { printable(text.as_bytes()) },
        }
    }
}

/// Time and session.
#[derive(Clone, Copy)]
struct Start {
    at: Time,
    session: Option<SessionId>,
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

fn notice_row(start: Start, notice: &Notice) -> Row {
    match notice.level() {
        Level::Warning => Row::new(Kind::Warning, format!("{start} warning: {notice}")),
        Level::Info => Row::new(Kind::Info, format!("{start} note: {notice}")),
    }
}

fn connless_row(
    start: Start,
    connless: &Connless,
    verbosity: Verbosity,
    decoder: &mut Decoder,
) -> Option<Row> {
    let Connless {
        dir,
        client,
        bytes,
        forwarded,
        ..
    } = connless;
    let content = decoder.connless(start.at, connless);
    if !content.shown {
        return None;
    }
    let name = content
        .name
        .map_or_else(|| name_of_connless(bytes), str::to_owned);
    let size = bytes.len();
    let mut text = format!(
        "{start} {} -      {name:<15} {size:>5} bytes client {client}",
        arrow(*dir, None)
    );
    if !forwarded {
        text.push_str(" discard");
    }
    if !content.fields.is_empty() {
        let _never_fails = write!(text, " {}", content.fields);
    }
    let _never_fails = write!(text, "{}", Marks(&content.notes));
    if verbosity >= Verbosity::Bytes {
        let _never_fails = write!(text, " hex {}", hex(bytes));
    }
    Some(Row::new(weight(&content.notes, false), text))
}

/// What to call a datagram outside a connection.
#[must_use]
pub fn name_of_connless(bytes: &[u8]) -> String {
    connless::Connless::parse(bytes).map_or_else(
        || "connless.raw".to_owned(),
        |message| connless::tag(message.data()),
    )
}

fn datagram_rows(start: Start, datagram: &Datagram, verbosity: Verbosity, decoder: &mut Decoder) -> Vec<Row> {
    let Some(reading) = Reading::shown(start.at, start.session, datagram, decoder) else {
        return Vec::new();
    };
    let arrow = arrow(datagram.dir, datagram.leg);
    let mut rows = Vec::with_capacity(reading.messages.len() + 3);
    // Without messages the notes would have no line to stand on.
    let bare = reading.messages.is_empty() && (!reading.notes.is_empty() || reading.error.is_some());
    if bare || verbosity >= Verbosity::Datagrams {
        let text = format!(
            "{start} {arrow} {}",
            Whole {
                datagram,
                reading: &reading
            }
        );
        rows.push(Row::new(weight(&reading.notes, reading.error.is_some()), text));
    }
    if verbosity >= Verbosity::Bytes {
        rows.extend(bytes_rows(start, datagram));
    }
    // With the datagram's own line the notes are there.
    let mut loose: &[Note] = if rows.is_empty() { &reading.notes } else { &[] };
    for message in reading.messages.iter().filter(|message| message.shown) {
        let notes = [message.notes.as_slice(), loose].concat();
        loose = &[];
        rows.push(Row::new(
            weight(&notes, false),
            format!("{start} {arrow} {}{}", Line(message), Marks(&notes)),
        ));
        let items = message.items.iter();
        rows.extend(items.map(|item| Row::new(Kind::Traffic, format!("{start}     {item}"))));
    }
    rows
}

fn bytes_rows(start: Start, datagram: &Datagram) -> Vec<Row> {
    let received = datagram.received();
    let row =
        |word: &str, bytes: &[u8]| Row::new(Kind::Traffic, format!("{start}     {word} {}", hex(bytes)));
    let unchanged = received.is_some_and(|received| datagram.sent().eq([received]));
    let mut rows: Vec<Row> = received
        .map(|bytes| row(if unchanged { "in=out" } else { "in" }, bytes))
        .into_iter()
        .collect();
    if !unchanged {
        rows.extend(datagram.sent().map(|bytes| row("out", bytes)));
    }
    rows
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
        write!(f, "{}", Marks(&reading.notes))
    }
}

/// `a→b`, or one of them where they are equal or the other is missing.
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

/// The line of a message, behind the direction.
struct Line<'a>(&'a Message);

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = self.0;
        let flag = match (message.vital, message.resend) {
            (true, true) => 'R',
            (true, false) => 'V',
            (false, _) => '-',
        };
        let seq = match (message.seq, message.seq_out) {
            (Some(came), Some(left)) if came != left => format!("{}→{}", came.get(), left.get()),
            (None, Some(left)) => format!("→{}", left.get()),
            (Some(came), _) => came.get().to_string(),
            (None, None) => String::new(),
        };
        // A long number takes from the padding of the name, so that sizes stay in their column.
        let spare = 15_usize.saturating_sub(seq.chars().count().saturating_sub(4));
        write!(
            f,
            "{flag} {seq:>4} {:<spare$} {:>5} bytes",
            message.label,
            message.data.len()
        )?;
        if let Some(word) = message.done.word() {
            write!(f, " {word}")?;
        }
        match message.origin {
            // What the proxy does by itself is between it and one peer, which the direction shows.
            Origin::Peer | Origin::Proxy => {}
            origin => write!(f, " by the {origin}")?,
        }
        if message.fields.is_empty() {
            return Ok(());
        }
        write!(f, " {}", message.fields)
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

fn weight(notes: &[Note], broken: bool) -> Kind {
    let heavy = notes.iter().any(|note| note.code.severity() >= Severity::Warning);
    if heavy || broken {
        Kind::Warning
    } else {
        Kind::Traffic
    }
}

/// Who sends to whom; with a leg, one of them is the proxy.
fn arrow(dir: Dir, leg: Option<Side>) -> &'static str {
    match (dir, leg) {
        (Dir::C2s, None) => "c→s",
        (Dir::S2c, None) => "s→c",
        (Dir::C2s, Some(Side::Client)) => "c→p",
        (Dir::C2s, Some(Side::Server)) => "p→s",
        (Dir::S2c, Some(Side::Client)) => "p→c",
        (Dir::S2c, Some(Side::Server)) => "s→p",
    }
}

/// Lower-case hex without spaces.
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
