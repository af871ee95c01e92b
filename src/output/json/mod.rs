//! JSON lines: events as objects of the [`schema`].
//!
//! Names are stable; fields and objects may be added. In `fields` texts of peers are as they came, control characters
//! escaped; elsewhere they hold none.
//! `t` counts seconds since the start with microseconds, `wall_clock` says when that was.

mod damage;
mod file;
mod input;
mod line;
mod read;
mod schema;
mod shown;
mod time;

use std::{borrow::Cow, fmt::Write as _};

use serde_json::value::RawValue;
use teetap_inspect::{
    Content, Decoder, Kind, Layer, Message, Reading, Verbosity,
    reading::Done,
    row::{hex, name_of_connless},
};
use teetap_proxy::io::record::Checked;
use teetap_proxy::session::{Action, Connless, Datagram, Event, Level, SessionChange, Time, Traffic, What};
use teetap_wire::{Flags, Note, Place, Severity, printable};

use schema::{
    ActionBody, Body, DatagramBody, Line, MessageBody, NoteBody, PerDir, PlacedBody, RecordingBody,
    ReplayBody, SessionBody, StartBody, SummaryBody, VERSION,
};
pub(super) use shown::{opened, tally};
pub(super) use time::rfc3339;

use super::{Start, Style, Summary};

pub(crate) use file::{JsonLines, end_of_json_lines};
pub(crate) use read::Lines;

/// The `start` line.
pub(super) fn start(start: &Start, out: &mut Vec<u8>) {
    let body = StartBody {
        version: env!("CARGO_PKG_VERSION"),
        seed: Some(start.seed),
        target: Some(&start.target),
        server: Some(start.server),
        listen: Some(start.listen),
        wall_clock: rfc3339(start.wall),
        file: None,
    };
    write(Time::ZERO, Body::Start(body), out);
}

/// The `gap` line.
pub(super) fn gap(at: Time, lost: u64, out: &mut Vec<u8>) {
    write(at, Body::Gap { lost }, out);
}

/// A `log` line of the program itself.
pub(super) fn log(at: Time, level: Level, text: &str, out: &mut Vec<u8>) {
    write(
        at,
        Body::Log {
            session: None,
            level: level_name(level),
            text: text.into(),
            program: true,
        },
        out,
    );
}

/// The lines of an event that this style shows.
pub(super) fn event(event: &Event, style: Style, decoder: &mut Decoder, out: &mut Vec<u8>) {
    let session = event.session.map(|session| session.0);
    let mut line = |kind, body| {
        if style.shows(kind) {
            write(event.at, body, out);
        }
    };
    match &event.what {
        What::Session(change) => {
            let mut name = None;
            if let Some(session) = event.session {
                name = decoder.player(session);
                decoder.on_session(event.at, session, change.state);
            }
            line(Kind::Session, Body::Session(session_body(session, change, name)));
        }
        What::Remark(remark) => {
            let level = remark.level();
            let kind = if level >= Level::Warning {
                Kind::Warning
            } else {
                Kind::Info
            };
            line(
                kind,
                Body::Log {
                    session,
                    level: level_name(level),
                    text: remark.to_string().into(),
                    program: false,
                },
            );
        }
        What::Connless(connless) => {
            let content = decoder.connless(event.at, connless);
            if content.shown {
                line(
                    weight(&content.notes, false),
                    Body::Message(connless_body(session, connless, style.verbosity, &content)),
                );
            }
        }
        What::Datagram(datagram) => {
            let Some(mut reading) = Reading::shown(event.at, event.session, datagram, decoder) else {
                return;
            };
            let bare = reading.messages.is_empty() && (!reading.notes.is_empty() || reading.error.is_some());
            if bare || style.verbosity >= Verbosity::Datagrams {
                let kind = weight(&reading.notes, reading.error.is_some());
                line(
                    kind,
                    Body::Datagram(datagram_body(session, datagram, &reading, style.verbosity)),
                );
            } else if let Some(first) = reading.messages.first_mut() {
                // Without its own line the datagram's notes stand on its first message.
                first.notes.append(&mut reading.notes);
            }
            for message in reading.messages.iter().filter(|message| message.shown) {
                let kind = weight(&message.notes, false);
                line(
                    kind,
                    Body::Message(message_body(session, datagram, message, style.verbosity)),
                );
            }
        }
    }
}

/// The `replay` line; its time is that of the last input.
pub(super) fn replay(checked: &Checked, out: &mut Vec<u8>) {
    let difference = checked.difference.as_ref();
    let body = ReplayBody {
        version: checked.header.version.clone(),
        equal: difference.is_none(),
        inputs: checked.inputs,
        received: checked.received,
        sent: checked.sent,
        line: difference.map(|difference| difference.line),
        output: difference.map(|difference| difference.output),
        expected: difference
            .and_then(|difference| difference.expected.as_ref())
            .map(ToString::to_string),
        came: difference
            .and_then(|difference| difference.came.as_ref())
            .map(ToString::to_string),
        cut: checked.cut.as_ref().map(ToString::to_string),
    };
    write(checked.until, Body::Replay(body), out);
}

/// The `summary` line.
pub(super) fn summary(summary: &Summary, out: &mut Vec<u8>) {
    let ended = summary.ended.as_ref();
    let stats = ended.map(|ended| &ended.stats);
    let per_dir = |count: fn(&Traffic) -> u64| {
        stats.map(|stats| PerDir {
            c2s: count(&stats.c2s),
            s2c: count(&stats.s2c),
        })
    };
    let body = SummaryBody {
        sessions: stats.map(|stats| stats.sessions),
        datagrams: per_dir(|traffic| traffic.datagrams),
        bytes: per_dir(|traffic| traffic.bytes),
        refused: stats.map(|stats| stats.refused),
        unsent: ended.map(|ended| ended.counters.unsent),
        network_errors: ended.map(|ended| ended.counters.errors),
        kernel_drops: summary.kernel_drops,
        lost: summary.lost,
        seed: summary.seed,
        exit: summary.exit.code(),
        cmd_exit: summary.cmd_exit,
        recording: summary.recording.as_ref().map(|outcome| {
            let recorded = outcome.recorded.as_ref();
            RecordingBody {
                file: outcome.path.to_string_lossy(),
                packets: recorded.map(|recorded| recorded.packets),
                missing: recorded.map(|recorded| recorded.missing),
                lost: recorded.map(|recorded| recorded.lost),
            }
        }),
    };
    write(summary.at, Body::Summary(body), out);
}

fn session_body(session: Option<u32>, change: &SessionChange, name: Option<String>) -> SessionBody {
    SessionBody {
        session,
        state: change.state.to_string(),
        proto: change.proto.to_string(),
        client: change.client,
        server: change.server,
        upstream: change.upstream,
        by: change.by.map(|side| side.to_string()),
        reason: change.reason.as_deref().map(printable),
        name,
    }
}

fn message_body<'a>(
    session: Option<u32>,
    datagram: &Datagram,
    message: &'a Message,
    verbosity: Verbosity,
) -> MessageBody<'a> {
    MessageBody {
        session,
        dir: datagram.dir.to_string(),
        proto: Some(datagram.proto.to_string()),
        layer: match message.layer {
            Layer::Control => Some("control"),
            Layer::System => Some("system"),
            Layer::Game => Some("game"),
            Layer::Unreadable => None,
        },
        id: message.id,
        uuid: message.uuid.map(uuid),
        name: message.named.then_some(Cow::Borrowed(&*message.label)),
        vital: message.vital,
        resend: message.resend,
        seq: message.seq.map(teetap_wire::Seq::get),
        seq_out: message.seq_out.map(teetap_wire::Seq::get),
        datagram: ordinal(datagram),
        size: message.data.len(),
        fields: object(&message.fields),
        notes: notes(&message.notes),
        snap: object(&message.snap),
        actions: actions(message.done),
        origin: message.origin.to_string(),
        leg: datagram.leg.map(|side| side.to_string()),
        client: None,
        hex: (verbosity >= Verbosity::Bytes).then(|| hex(&message.data)),
        hex_out: None,
    }
}

fn connless_body(
    session: Option<u32>,
    connless: &Connless,
    verbosity: Verbosity,
    content: &Content,
) -> MessageBody<'static> {
    let done = if connless.forwarded {
        Done::Placed(Action::Pass)
    } else {
        Done::Discarded
    };
    MessageBody {
        session,
        dir: connless.dir.to_string(),
        proto: None,
        layer: Some("connless"),
        id: None,
        uuid: None,
        name: Some(
            content
                .name
                .map_or_else(|| name_of_connless(&connless.bytes).into(), Cow::Borrowed),
        ),
        vital: false,
        resend: false,
        seq: None,
        seq_out: None,
        datagram: None,
        size: connless.bytes.len(),
        fields: object(&content.fields),
        notes: notes(&content.notes),
        snap: None,
        actions: actions(done),
        origin: "peer".to_owned(),
        leg: None,
        client: Some(connless.client),
        hex: (verbosity >= Verbosity::Bytes).then(|| hex(&connless.bytes)),
        hex_out: (verbosity >= Verbosity::Bytes)
            .then(|| connless.sent.as_deref().map(hex).into_iter().collect()),
    }
}

/// An object that the decoder made.
fn object(json: &str) -> Option<Box<RawValue>> {
    // Empty where there is none, which is no JSON.
    RawValue::from_string(json.to_owned()).ok()
}

fn datagram_body(
    session: Option<u32>,
    datagram: &Datagram,
    reading: &Reading,
    verbosity: Verbosity,
) -> DatagramBody {
    let bytes = verbosity >= Verbosity::Bytes;
    DatagramBody {
        session,
        dir: datagram.dir.to_string(),
        proto: datagram.proto.to_string(),
        ordinal: ordinal(datagram),
        size: reading.size,
        sizes_out: reading.sizes_out.clone(),
        flags: [
            (Flags::CONTROL, "control"),
            (Flags::RESEND, "resend"),
            (Flags::COMPRESSION, "compression"),
        ]
        .into_iter()
        .filter(|(flag, _)| reading.flags.contains(*flag))
        .map(|(_, name)| name)
        .collect(),
        ack: reading.ack.map(teetap_wire::Seq::get),
        ack_out: reading.ack_out.map(teetap_wire::Seq::get),
        chunks: reading.num_chunks,
        token_ok: reading.token_ok(),
        notes: notes(&reading.notes),
        error: reading.error.clone(),
        origin: datagram.origin.to_string(),
        leg: datagram.leg.map(|side| side.to_string()),
        hex: datagram.received().filter(|_| bytes).map(hex),
        hex_out: bytes.then(|| datagram.sent().map(hex).collect()),
        placed: datagram
            .placed
            .iter()
            .filter(|_| bytes)
            .map(PlacedBody::of)
            .collect(),
    }
}

fn actions(done: Done) -> Vec<ActionBody> {
    done.word()
        .map(|action| ActionBody { rule: None, action })
        .into_iter()
        .collect()
}

fn notes(notes: &[Note]) -> Vec<NoteBody> {
    let body = |note: &Note| NoteBody {
        severity: note.code.severity().name(),
        code: note.code.name(),
        place: match note.code.place() {
            Place::Datagram => "datagram",
            Place::Payload => "payload",
            Place::Message => "message",
        },
        at: note.at,
        len: note.len,
        text: note.code.text(),
    };
    notes.iter().map(body).collect()
}

fn weight(notes: &[Note], broken: bool) -> Kind {
    let heavy = notes.iter().any(|note| note.code.severity() >= Severity::Warning);
    if heavy || broken {
        Kind::Warning
    } else {
        Kind::Traffic
    }
}

fn ordinal(datagram: &Datagram) -> Option<u64> {
    Some(datagram.ordinal).filter(|ordinal| *ordinal > 0)
}

fn level_name(level: Level) -> &'static str {
    match level {
        Level::Info => "info",
        Level::Warning => "warning",
    }
}

fn uuid(bytes: [u8; 16]) -> String {
    let mut text = hex(&bytes);
    for at in [8, 13, 18, 23] {
        text.insert(at, '-');
    }
    text
}

/// Microseconds as seconds: the division rounds once, so that the shortest decimal has at most six places.
fn seconds(at: Time) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "exact below 2^53 microseconds, which are 285 years"
    )]
    let micros = at.0 as f64;
    micros / 1e6
}

fn write(at: Time, body: Body<'_>, out: &mut Vec<u8>) {
    let line = Line {
        v: VERSION,
        t: seconds(at),
        body,
    };
    match serde_json::to_string(&line) {
        Ok(text) => push_clean(&text, out),
        // No type here can fail to serialise; if one some day does, the reader is told.
        Err(error) => push_clean(
            &format!("{{\"v\":1,\"event\":\"log\",\"level\":\"error\",\"text\":\"{error}\"}}"),
            out,
        ),
    }
    out.push(b'\n');
}

/// JSON escapes control characters below 0x20 only; a terminal obeys those of 0x7f..0x9f too.
fn push_clean(text: &str, out: &mut Vec<u8>) {
    if !text.chars().any(char::is_control) {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    let mut clean = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if c.is_control() {
            let _never_fails = write!(clean, "\\u{:04x}", u32::from(c));
        } else {
            clean.push(c);
        }
    }
    out.extend_from_slice(clean.as_bytes());
}

#[cfg(test)]
mod tests;
