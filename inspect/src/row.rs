//! Events as lines of text.
//!
//! ```text
//!   12.418 #2  s→c V  217 sv_motd            23 bytes "welcome"
//!   12.418 #2  s→c V 218→219 sv_chat         9 bytes hold 3 "nameless tee": gg
//! ```
//!
//! The columns: time since the start in seconds, session, direction, `V` (vital), `R` (vital, resent) or `-`, sequence
//! number of the sender and, after `→`, the forwarded sequence number if it differs, name or id, size, action, gist,
//! and `!` with each note. `p` in a direction is the proxy: `c→p` is between client and proxy only.

use std::fmt::{self, Write as _};

use teetap_proxy::session::{Connless, Datagram, EventKind, Level, Notice, Origin, SessionChange};
use teetap_wire::{Flags, Note, counted, def::Secrets, printable};

use crate::{
    DecodedEvent, EventLines, Kind, Style, Viewer,
    lines::{About, Bytes, Line},
    reading::{Message, Reading, Transport},
    snapshot,
    transit::Transits,
};

pub use crate::cells::{Cell, CellKind, Draft, Row, Seconds, Start, arrow};

/// Returns the rows of an event that a style shows.
#[must_use]
pub fn rows(decoded: &DecodedEvent, style: Style) -> Vec<Row> {
    let mut rows = Vec::new();
    let lines = EventLines::from_event(decoded, style);
    for line in &lines.list {
        add(&lines, line, style, &mut rows);
    }
    rows
}

/// Renders one line of an event as one or more rows. Changed items of a snapshot, and fields of a message, have their
/// own rows.
#[must_use]
pub fn render(decoded: &DecodedEvent, line: &Line, style: Style) -> Vec<Row> {
    of_line(&EventLines::from_event(decoded, style), line, style)
}

/// Renders one line of `lines`.
#[must_use]
pub fn of_line(lines: &EventLines<'_>, line: &Line, style: Style) -> Vec<Row> {
    let mut rows = Vec::new();
    add(lines, line, style, &mut rows);
    rows
}

/// Returns the rows of an event joined into one text, which captures store as the comment of its packets.
#[must_use]
pub fn comment(decoded: &DecodedEvent) -> String {
    comment_with(decoded, Secrets::Hide)
}

/// Same as [`comment`], with secrets shown or hidden.
#[must_use]
pub fn comment_with(decoded: &DecodedEvent, secrets: Secrets) -> String {
    let style = Style {
        viewer: Viewer::Everything,
        secrets,
        ..Style::default()
    };
    let rows = rows(decoded, style);
    let lines: Vec<&str> = rows.iter().map(Row::text).collect();
    lines.join("\n")
}

/// Appends the rows of a line. Each changed item, and each field of a message shown in full, gets its own row.
fn add(lines: &EventLines<'_>, line: &Line, style: Style, rows: &mut Vec<Row>) {
    let event = lines.event;
    let start = Start::from_event(event);
    let mut row = |draft: Draft| rows.push(draft.row(line.kind));
    match (&line.about, &event.what, lines.reading) {
        (About::Session { .. }, EventKind::Session(change), _) => {
            row(start.draft().push(' ').wrapped().push(Session(change)));
        }
        (About::Notice, EventKind::Notice(notice), _) => {
            row(notice_text(start, &notice.seen_with(style.secrets)))
        }
        (About::Connless, EventKind::Connless(connless), Some(reading)) => {
            if let Some(message) = lines.message(0) {
                let notes = lines.marks(message, false, style);
                row(connless_text(start, connless, (reading, message), &notes, style));
            }
        }
        (About::Datagram, EventKind::Datagram(datagram), Some(reading)) => {
            let draft = start.draft().arrow(datagram.dir, datagram.leg).push(' ');
            let frame = datagram.ends.frame.filter(|_| style.frames);
            let draft = draft.push(Whole {
                datagram,
                reading,
                frame,
            });
            row(draft.cell(CellKind::Notes, Marks(&reading.notes)));
        }
        (About::Bytes(bytes), EventKind::Datagram(datagram), _) => row(bytes_text(start, *bytes, datagram)),
        (About::Bytes(_), EventKind::Notice(Notice::UnknownSender { bytes, .. }), _) => {
            row(hex_text(start, "in", bytes));
        }
        (About::Message { index, with_datagram }, EventKind::Datagram(datagram), Some(reading)) => {
            if let Some(message) = lines.message(*index) {
                let notes = lines.marks(message, *with_datagram, style);
                let draft = start.draft().arrow(datagram.dir, datagram.leg).push(' ');
                let draft = message_text(draft, message, reading, style);
                let link = with_datagram.then(|| Arrival(datagram, reading).to_string());
                row(draft
                    .push(link.unwrap_or_default())
                    .cell(CellKind::Notes, Marks(&notes)));
            }
        }
        (About::Items(index), _, _) => {
            let snapshot = lines
                .message(*index)
                .and_then(|message| message.completed.changes(style));
            if let Some(completed) = snapshot {
                let items = snapshot::lines(&completed, style.secrets);
                items
                    .iter()
                    .for_each(|item| row(start.draft().push("     ").push(item)));
            }
        }
        (About::Whole(index), what, Some(reading)) => {
            if let Some(message) = lines.message(*index) {
                fields(start, message, reading, style).for_each(&mut row);
                whole_bytes(start, message, (reading, what)).for_each(&mut row);
                if let Some(after) = &message.after {
                    row(hex_text(start, "sent", &after.data));
                }
            }
        }
        _ => {}
    }
}

/// Returns the row that reports `lost` missed events.
#[must_use]
pub fn gap(lost: u64) -> Row {
    let events = counted(lost, "event");
    let text = format!("-- {events} missed: this output is slower than the traffic --");
    Row::plain(Kind::Warning, &text)
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

fn notice_text(start: Start, notice: &Notice) -> Draft {
    let word = match notice.level() {
        Level::Warning => "warning",
        Level::Info => "note",
    };
    let draft = start.draft().push(' ').wrapped();
    draft.push(format_args!("{word}: {notice}"))
}

fn connless_text(
    start: Start,
    connless: &Connless,
    (reading, message): (&Reading, &Message),
    notes: &[Note],
    style: Style,
) -> Draft {
    let Connless {
        dir, client, bytes, ..
    } = connless;
    let draft = start.draft().arrow(*dir, None).push(" -      ");
    let draft = draft.name(&reading.label(message), NAME);
    let draft = draft.size(bytes.len());
    let mut draft = draft.push(format_args!(" client {client}"));
    if let Some(word) = message.outcome() {
        draft = draft.push(' ').push(word);
    }
    if let Some(after) = &message.after {
        draft = draft.push(after.damage());
    }
    for mark in &message.handling.marks {
        draft = draft.push(" #").push(mark);
    }
    let gist = reading.summary(message, style.secrets);
    if !gist.is_empty() {
        draft = draft.push(' ').push(gist);
    }
    draft
        .push(Transits::of_connless(connless))
        .cell(CellKind::Notes, Marks(notes))
}

fn bytes_text(start: Start, bytes: Bytes, datagram: &Datagram) -> Draft {
    let (word, bytes) = match bytes {
        Bytes::Passed => ("in=out", datagram.received()),
        Bytes::Received => ("in", datagram.received()),
        Bytes::Sent(index) => ("out", datagram.sent().nth(index)),
    };
    hex_text(start, word, bytes.unwrap_or_default())
}

fn hex_text(start: Start, word: &str, bytes: &[u8]) -> Draft {
    let draft = start.draft().push("     ").wrapped();
    draft.push(word).push(' ').push(hex(bytes))
}

/// Returns a row for each field of a message.
fn fields<'a>(
    start: Start,
    message: &'a Message,
    reading: &'a Reading,
    style: Style,
) -> impl Iterator<Item = Draft> + 'a {
    reading.tree(message, style.secrets).map(move |field| {
        let indent = " ".repeat(5 + 2 * usize::from(field.depth));
        let draft = start.draft().push(indent).wrapped().push(field.name);
        let draft = match field.index {
            Some(index) => draft.push(format_args!("[{index}]")),
            None => draft,
        };
        match &*field.value {
            "" => draft,
            value => draft.push(format_args!(": {value}")),
        }
    })
}

/// Returns the rows with the inflated bytes of a message; for a message outside a connection, the bytes of its
/// datagram.
fn whole_bytes<'a>(
    start: Start,
    message: &'a Message,
    (reading, what): (&'a Reading, &'a EventKind),
) -> impl Iterator<Item = Draft> + 'a {
    let words = match what {
        EventKind::Connless(connless) => match connless.sent.as_deref() {
            Some(sent) if sent == &*connless.bytes => [Some(("in=out", sent)), None],
            sent => [Some(("in", &*connless.bytes)), sent.map(|sent| ("out", sent))],
        },
        _ => [Some(("bytes", reading.data(message))), None],
    };
    let words = words.into_iter().flatten().filter(|(_, bytes)| !bytes.is_empty());
    words.map(move |(word, bytes)| hex_text(start, word, bytes))
}

/// Displays the line of a datagram.
struct Whole<'a> {
    datagram: &'a Datagram,
    reading: &'a Reading,
    /// The frame number in the capture; `None` if it is not shown.
    frame: Option<u64>,
}

impl fmt::Display for Whole<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            datagram,
            reading,
            frame,
        } = self;
        match (datagram.ordinal, reading.sizes.received) {
            (0, Some(_)) => f.write_str("datagram")?,
            (0, None) => write!(f, "datagram of the {}", datagram.origin)?,
            (ordinal, _) => write!(f, "datagram {ordinal}")?,
        }
        if let Some(frame) = frame {
            write!(f, ", frame {frame}")?;
        }
        f.write_str(":")?;
        let out = reading
            .sizes
            .sent
            .iter()
            .map(usize::to_string)
            .collect::<Vec<_>>()
            .join("+");
        match reading.sizes.received.map(|size| size.to_string()) {
            Some(size) if size == out || out.is_empty() => write!(f, " {size} bytes")?,
            Some(size) => write!(f, " {size}→{out} bytes")?,
            None => write!(f, " {out} bytes")?,
        }
        if let Some(error) = &reading.error {
            write!(f, ", unreadable: {error}")?;
        }
        if reading.sizes.received.is_some() && out.is_empty() && datagram.leg.is_none() {
            f.write_str(", not forwarded")?;
        }
        if reading.is_refused {
            f.write_str(", refused")?;
        }
        let [seqs, seqs_out] = reading.seqs().map(|ends| ends.map(Range));
        write_pair(f, ", seq ", seqs, seqs_out)?;
        write_pair(f, ", ack ", reading.header.ack, reading.header.ack_out)?;
        for (flag, word) in [
            (Flags::CONTROL, "control"),
            (Flags::RESEND, "resend"),
            (Flags::COMPRESSION, "compressed"),
        ] {
            if reading.header.flags.contains(flag) {
                write!(f, ", {word}")?;
            }
        }
        match reading.header.num_chunks {
            0 if reading.header.flags.contains(Flags::CONTROL) => {}
            1 => f.write_str(", 1 chunk")?,
            chunks => write!(f, ", {chunks} chunks")?,
        }
        write!(f, "{}", Arrival(datagram, reading))
    }
}

/// Displays the effects of link lines on a datagram, and whether its receiver can read it.
struct Arrival<'a>(&'a Datagram, &'a Reading);

impl fmt::Display for Arrival<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(datagram, reading) = self;
        write!(f, "{}", Transits::from_datagram(datagram))?;
        match reading.damage {
            Some(error) => write!(f, ", unreadable for the receiver: {error}"),
            None => Ok(()),
        }
    }
}

/// Writes `a→b`, or a single value if the values are equal or one of them is missing.
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

/// Returns `V` for a vital message, `R` for a vital message with the resend flag, and `-` for others.
#[must_use]
pub fn flag(transport: &Transport) -> char {
    match (transport.vital, transport.resend) {
        (true, true) => 'R',
        (true, false) => 'V',
        (false, _) => '-',
    }
}

/// Returns the sequence number of the sender, followed by `→` and the forwarded sequence number if it differs; empty
/// for a message that is not vital.
#[must_use]
pub fn seq(transport: &Transport) -> String {
    match (transport.seq, transport.seq_out) {
        (Some(came), Some(left)) if came != left => format!("{}→{}", came.get(), left.get()),
        (None, Some(left)) => format!("→{}", left.get()),
        (Some(came), _) => came.get().to_string(),
        (None, None) => String::new(),
    }
}

/// Width of the name column, in characters.
const NAME: usize = 15;

/// Appends the vital flag, the sequence number, the name and the size of a message to a draft that ends with the
/// direction.
#[must_use]
pub fn columns(draft: Draft, transport: &Transport, name: &str, size: usize) -> Draft {
    let (flag, seq) = (flag(transport), seq(transport));
    // A long number shortens the padding of the name, so that sizes stay in their column.
    let spare = NAME.saturating_sub(seq.chars().count().saturating_sub(4));
    let draft = draft.push(format_args!("{flag} {seq:>4} "));
    draft.name(name, spare).size(size)
}

/// Appends flag, number, name, size, outcome and summary of a message to a row that already has its direction.
fn message_text(draft: Draft, message: &Message, reading: &Reading, style: Style) -> Draft {
    let (name, size) = (reading.label(message), message.ranges.range().len());
    let mut draft = columns(draft, &message.transport, &name, size);
    if let Some(word) = message.outcome() {
        draft = draft.push(' ').push(word);
    }
    if let Some(after) = &message.after {
        draft = draft.push(after.damage());
    }
    for mark in &message.handling.marks {
        draft = draft.push(" #").push(mark);
    }
    draft = match message.handling.origin {
        // The direction column already shows that a message is between the proxy and one peer.
        Origin::Peer | Origin::Proxy => draft,
        Origin::Rule if message.handling.made.is_some() => draft,
        origin => draft.push(format_args!(" by the {origin}")),
    };
    let gist = match message.completed.changes(style) {
        Some(snapshot) if message.after.is_none() => message.completed.text(&snapshot),
        _ => reading.summary(message, style.secrets),
    };
    if gist.is_empty() {
        draft
    } else {
        draft.push(' ').push(gist)
    }
}

/// Displays notes at the end of a line, each as ` !name`.
struct Marks<'a>(&'a [Note]);

impl fmt::Display for Marks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|note| write!(f, " !{}", note.code.name()))
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
