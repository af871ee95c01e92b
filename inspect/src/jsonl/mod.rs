//! JSON lines: events as objects of the schema that `schema` defines.
//!
//! Names are stable; fields and events may be added. Peers' texts in `fields` are as received. Control characters,
//! invisible characters, and characters that change the text direction are escaped in all texts. `t` is the time in
//! seconds since the start, with microsecond precision.

mod damage;
mod decode;
mod input;
mod read;
mod schema;
mod time;

use std::{
    borrow::Cow,
    fmt,
    path::Path,
    time::{Duration, SystemTime},
};

use serde_json::value::RawValue;
use teetap_proxy::{
    io::input_log::{Checked, Hex},
    session::{Action, Connless, Datagram, EventKind, Level, Time},
    words::Word,
};
use teetap_wire::{
    Flags, Note,
    def::{Registry, Secrets},
    printable, printable_json,
};

pub use read::Lines;
pub use schema::{
    AnswerBody, DatagramBody, EndedByBody, EndingBody, FindingsBody, GapBody, JoinBody, LineEffect,
    ListedBody, LogBody, MadeBody, NoticeBody, OLDEST, PlacedBody, RecordingBody, ResultBody, RuleBody,
    RuleEffect, RuleEndingBody, SessionBody, StatsBody, StepBody, SummaryBody, TransitBody, VERSION,
    WaitingBody, transits,
};
pub use time::rfc3339;
use time::seconds;

use crate::{
    After, DecodedEvent, EventLines, Layer, Message, Reading, Style, Verbosity,
    judge::Finding,
    lines::{self, About},
    recording::{Run, Tally},
    row::hex,
    sentence, snapshot,
};
use schema::{
    ActionBody, AfterBody, Body, FindingBody, HeaderBody, JsonLine, MessageBody, NoteBody, ReplayBody,
    StartBody, Summary, TallyBody,
};

/// Appends the `start` line of a run.
pub fn start(run: &Run, out: &mut Vec<u8>) {
    let wall = SystemTime::UNIX_EPOCH + Duration::from_nanos(run.wall);
    write(
        Time::ZERO,
        None,
        &Body::Start(start_body(Some(run), wall, None)),
        out,
    );
}

/// Appends the `start` line of a recording that is being shown.
pub fn opened(file: &Path, wall: SystemTime, run: Option<&Run>, out: &mut Vec<u8>) {
    write(
        Time::ZERO,
        None,
        &Body::Start(start_body(run, wall, Some(file))),
        out,
    );
}

fn start_body<'a>(run: Option<&'a Run>, wall: SystemTime, file: Option<&'a Path>) -> StartBody<'a> {
    StartBody {
        version: run.map_or(env!("CARGO_PKG_VERSION"), |run| &run.version).into(),
        seed: run.map(|run| run.seed),
        target: run.map(|run| run.target.as_str().into()),
        server: run.map(|run| run.server),
        listen: run.map(|run| run.listen),
        wall_clock: rfc3339(wall).into(),
        file: file.map(Path::to_string_lossy),
    }
}

/// Appends the `gap` line.
pub fn gap(at: Time, lost: u64, out: &mut Vec<u8>) {
    write(at, None, &Body::Gap(GapBody { lost }), out);
}

/// Appends a `log` line with a report of teetap itself.
pub fn log(at: Time, level: Level, text: &str, out: &mut Vec<u8>) {
    write(at, None, &Body::Log(LogBody::new(level, text)), out);
}

/// Appends the `answer` line for a command on the control socket. `session` is the session of the command. Held
/// messages are decoded with the definitions.
pub fn answer(
    at: Time,
    session: Option<u32>,
    id: Option<u64>,
    result: Result<ResultBody, impl fmt::Display>,
    (registry, secrets): (&Registry, Secrets),
    out: &mut Vec<u8>,
) {
    let body = AnswerBody::of_control(id, result, registry, secrets);
    write(at, session, &Body::Answer(body), out);
}

/// Appends the lines of an event that this style shows.
pub fn event(decoded: &DecodedEvent, style: Style, out: &mut Vec<u8>) {
    let lines = EventLines::from_event(decoded, style);
    for one in &lines.list {
        line(&lines, one, style, out);
    }
}

/// Appends the JSON object of `line`. Appends nothing if the line has no object of its own.
pub fn line(lines: &EventLines<'_>, line: &lines::Line, style: Style, out: &mut Vec<u8>) {
    let session = lines.event.session.map(|session| session.0);
    if let Some(body) = body(lines, line, style) {
        write(lines.event.at, session, &body, out);
    }
}

/// Returns the object of a line; `None` if another line's object contains it.
fn body<'a>(lines: &'a EventLines<'_>, line: &lines::Line, style: Style) -> Option<Body<'a>> {
    Some(match (&line.about, &lines.event.what, lines.reading) {
        (About::Session { player }, EventKind::Session(change), _) => {
            Body::Session(SessionBody::new(change, player.clone(), printable))
        }
        (About::Notice, EventKind::Notice(notice), _) => {
            Body::Notice(NoticeBody::of_viewer(notice, style.secrets))
        }
        (About::Answer, EventKind::Answer(answer), _) => Body::Answer(AnswerBody::new(answer)),
        (About::Connless, EventKind::Connless(connless), Some(reading)) => {
            let message = reading.messages.first()?;
            Body::Message(connless_body(connless, (reading, message), style))
        }
        (About::Datagram, EventKind::Datagram(datagram), Some(reading)) => {
            Body::Datagram(datagram_body(datagram, reading, style))
        }
        (About::Message { index, with_datagram }, EventKind::Datagram(datagram), Some(reading)) => {
            let message = lines.message(*index)?;
            let notes = lines.notes(message, *with_datagram);
            let notes = explained(&notes, reading, Some(message), Some(datagram), style.secrets);
            Body::Message(message_body(datagram, (reading, message), notes, style))
        }
        _ => return None,
    })
}

/// Appends the `replay` line, dated with the time of the last input.
pub fn replay(checked: &Checked, out: &mut Vec<u8>) {
    let difference = checked.difference.as_ref();
    let body = ReplayBody {
        version: checked.header.version.as_str().into(),
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
    write(checked.until, None, &Body::Replay(body), out);
}

/// Appends the `summary` line of a run.
pub fn summary(at: Time, body: SummaryBody<'_>, out: &mut Vec<u8>) {
    write(at, None, &Body::Summary(Summary::Run(Box::new(body))), out);
}

/// Appends the `finding` line for the finding with this rank, from 1. `with_frame` adds the frame number, for captures
/// of other programs.
pub fn finding(rank: u64, finding: &Finding, with_frame: bool, out: &mut Vec<u8>) {
    let session = finding.session.map(|session| session.0);
    let body = Body::Finding(FindingBody::new(rank, finding, with_frame));
    write(finding.first.at, session, &body, out);
}

/// Appends the `summary` line of a recording that was shown. `joins` are its joins, `joins_left_out` is the number of
/// omitted joins, and `exit` the exit code of the program.
pub fn tally(
    tally: &Tally,
    (joins, joins_left_out): (Vec<JoinBody<'_>>, u64),
    findings: Option<FindingsBody>,
    exit: u8,
    out: &mut Vec<u8>,
) {
    let body = TallyBody {
        packets: tally.packets,
        sessions: tally.sessions,
        datagrams: tally.traffic.map(|traffic| traffic.datagrams),
        bytes: tally.traffic.map(|traffic| traffic.bytes),
        not_understood: tally.foreign,
        not_udp: tally.other,
        fragments: tally.fragments,
        broken: tally.broken,
        doubled: tally.doubled,
        lost: tally.lost,
        joins,
        joins_left_out,
        exit,
        findings,
    };
    write(tally.until, None, &Body::Summary(Summary::Recording(body)), out);
}

fn message_body(
    datagram: &Datagram,
    (reading, message): (&Reading, &Message),
    notes: Vec<NoteBody>,
    style: Style,
) -> MessageBody<'static> {
    MessageBody {
        dir: Word(datagram.dir),
        proto: Some(Word(datagram.proto)),
        layer: match message.layer {
            Layer::Control => Some("control".into()),
            Layer::System => Some("system".into()),
            Layer::Game => Some("game".into()),
            Layer::Connless => Some("connless".into()),
            Layer::Unreadable => None,
        },
        id: message.id,
        uuid: message.uuid.map(|bytes| uuid(bytes).into()),
        name: message.name.map(Cow::Borrowed),
        vital: message.transport.vital,
        resend: message.transport.resend,
        seq: message.transport.seq.map(teetap_wire::Seq::get),
        seq_out: message.transport.seq_out.map(teetap_wire::Seq::get),
        datagram: ordinal(datagram),
        frame: datagram.ends.frame.filter(|_| style.frames),
        size: message.ranges.range().len(),
        fields: reading.json(message, style.secrets).and_then(object),
        scale: reading.scales_json(message).and_then(object),
        notes,
        snap: message.completed.view().and_then(|snapshot| {
            object(snapshot::json(
                (&snapshot, message.completed.error_as_sent),
                style,
            ))
        }),
        actions: actions(message),
        origin: Word(message.handling.origin),
        leg: datagram.leg.map(Word),
        link: transits(&datagram.link),
        sent: message
            .after
            .as_deref()
            .map(|after| sent_body(after, message, style)),
        delay_s: message.handling.delay.unwrap_or_default(),
        waited_s: message.handling.made.map_or(Duration::ZERO, |(_, waited)| waited),
        client: None,
        hex: (style.verbosity >= Verbosity::Bytes).then(|| Hex::from(reading.data(message))),
        hex_out: None,
        placed: None,
        made: None,
    }
}

fn connless_body(
    connless: &Connless,
    (reading, message): (&Reading, &Message),
    style: Style,
) -> MessageBody<'static> {
    MessageBody {
        dir: Word(connless.dir),
        proto: None,
        layer: Some("connless".into()),
        id: None,
        uuid: None,
        name: Some(reading.label(message)),
        vital: false,
        resend: false,
        seq: None,
        seq_out: None,
        datagram: None,
        frame: connless.ends.frame.filter(|_| style.frames),
        size: connless.bytes.len(),
        fields: reading.json(message, style.secrets).and_then(object),
        scale: reading.scales_json(message).and_then(object),
        notes: explained(&message.notes, reading, Some(message), None, style.secrets),
        snap: None,
        actions: actions(message),
        origin: Word(message.handling.origin),
        leg: None,
        link: transits(&connless.link),
        sent: message
            .after
            .as_deref()
            .map(|after| sent_body(after, message, style)),
        delay_s: message.handling.delay.unwrap_or_default(),
        waited_s: message.handling.made.map_or(Duration::ZERO, |(_, waited)| waited),
        client: Some(connless.client),
        hex: (style.verbosity >= Verbosity::Bytes).then(|| Hex::from(&*connless.bytes)),
        hex_out: (style.verbosity >= Verbosity::Bytes)
            .then(|| connless.sent.as_deref().map(Hex::from).into_iter().collect()),
        placed: connless
            .placed
            .as_deref()
            .filter(|_| style.verbosity >= Verbosity::Bytes)
            .map(|placed| PlacedBody::new(placed).into()),
        made: connless
            .made
            .as_deref()
            .filter(|_| style.verbosity >= Verbosity::Bytes)
            .map(|made| MadeBody::new(made).into()),
    }
}

/// Returns a message as its receiver got it.
fn sent_body(after: &After, message: &Message, style: Style) -> AfterBody {
    let rule = message.handling.rules.join("; ");
    let rule = Some(rule).filter(|rule| !rule.is_empty() && !after.is_by_link);
    let note = |note: &Note| NoteBody::explained(note, None).of_proxy(rule.clone());
    AfterBody {
        name: after.def.map(|def| def.name.to_string()),
        size: after.data.len(),
        fields: after.json(style.secrets).and_then(object),
        notes: after.notes.iter().map(note).collect(),
        bits: after.bits.clone(),
        hex: (style.verbosity >= Verbosity::Bytes).then(|| Hex::from(&*after.data)),
    }
}

/// Wraps text that is already JSON.
fn object(json: String) -> Option<Box<RawValue>> {
    RawValue::from_string(json).ok()
}

fn datagram_body(datagram: &Datagram, reading: &Reading, style: Style) -> DatagramBody {
    let flags = [
        (Flags::CONTROL, "control"),
        (Flags::RESEND, "resend"),
        (Flags::COMPRESSION, "compression"),
    ];
    let header = HeaderBody {
        frame: datagram.ends.frame.filter(|_| style.frames),
        size: reading.sizes.received,
        sizes_out: reading.sizes.sent.clone(),
        flags: flags
            .into_iter()
            .filter(|(flag, _)| reading.header.flags.contains(*flag))
            .map(|(_, name)| name.into())
            .collect(),
        ack: reading.header.ack.map(teetap_wire::Seq::get),
        ack_out: reading.header.ack_out.map(teetap_wire::Seq::get),
        chunks: reading.header.num_chunks,
        token_ok: reading.token_ok(),
        error: reading.error.map(|error| error.to_string().into()),
        error_out: reading.damage.map(|error| error.to_string().into()),
    };
    let bytes = style.verbosity >= Verbosity::Bytes;
    let placed = datagram.placed.iter().filter(|_| bytes);
    let mut body = DatagramBody::new(datagram);
    body.notes = Some(explained(
        &reading.notes,
        reading,
        None,
        Some(datagram),
        style.secrets,
    ));
    body.placed = placed.map(PlacedBody::new).collect();
    body.made = match bytes {
        true => datagram.made.iter().map(MadeBody::new).collect(),
        false => Vec::new(),
    };
    body.header = Some(header);
    body.hex = datagram.received().filter(|_| bytes).map(Hex::from);
    body.hex_out = bytes.then(|| datagram.sent().map(Hex::from).collect());
    body
}

/// Returns the outcome of a message, once for each rule that acted on it (or once without a rule if none is known),
/// followed by the marks of the message.
fn actions(message: &Message) -> Vec<ActionBody<'static>> {
    let word = match message.handling.made {
        Some((how, _)) => Some(how.to_string()),
        None => message.handling.done.word(),
    };
    let named = message.handling.rules.iter().map(|name| ActionBody {
        rule: Some(name.to_string().into()),
        action: word.clone().unwrap_or_else(|| Action::Pass.to_string()).into(),
        mark: None,
    });
    let mut actions: Vec<_> = named.collect();
    let is_unnamed = actions.is_empty();
    actions.extend(word.filter(|_| is_unnamed).map(|action| ActionBody {
        rule: None,
        action: action.into(),
        mark: None,
    }));
    actions.extend(message.handling.marks.iter().map(|mark| ActionBody {
        rule: None,
        action: "mark".into(),
        mark: Some(mark.to_string().into()),
    }));
    actions
}

/// Returns the notes of a message or, if `message` is `None`, of a datagram, with their values.
fn explained(
    notes: &[Note],
    reading: &Reading,
    message: Option<&Message>,
    datagram: Option<&Datagram>,
    secrets: Secrets,
) -> Vec<NoteBody> {
    let values = |note: &Note| sentence::values(reading, message, datagram, note, secrets);
    let body = |note: &Note| NoteBody::explained(note, values(note).as_ref());
    notes.iter().map(body).collect()
}

fn ordinal(datagram: &Datagram) -> Option<u64> {
    Some(datagram.ordinal).filter(|ordinal| *ordinal > 0)
}

fn uuid(bytes: [u8; 16]) -> String {
    let mut text = hex(&bytes);
    for at in [8, 13, 18, 23] {
        text.insert(at, '-');
    }
    text
}

fn write(at: Time, session: Option<u32>, body: &Body<'_>, out: &mut Vec<u8>) {
    let line = JsonLine {
        v: VERSION,
        t: seconds(at),
        event: body.event(),
        session: body.is_of_session().then_some(session),
        body,
    };
    match serde_json::to_string(&line) {
        Ok(text) => push_clean(&text, out),
        // Serialising these types cannot fail; if it fails after all, the output contains the error.
        Err(error) => push_clean(
            &format!(
                "{{\"v\":{VERSION},\"t\":0,\"event\":\"log\",\"level\":\"warning\",\"text\":\"{error}\"}}"
            ),
            out,
        ),
    }
    out.push(b'\n');
}

fn push_clean(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(printable_json(text).as_bytes());
}

#[cfg(test)]
mod tests;
