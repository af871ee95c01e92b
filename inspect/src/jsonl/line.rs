//! One line, read: what it says as the thing that happened.
//!
//! Law: what a later version added is passed over; what is wrong is said without what stands there, which may be a secret.

use std::net::SocketAddr;

use serde::Deserialize;
use serde_json::Value;
use teetap_proxy::{
    io::record::Hex,
    session::{Connless, Datagram, Ends, Event, Notice, Placed, SessionChange, SessionId, Time, What},
};
use teetap_wire::{Code, Dir, Seq};

use super::{
    VERSION,
    names::{ACTIONS, DIRS, ORIGINS, SIDES, STATES, level_of, maybe, named, read_notes},
    time::parse_rfc3339,
};
use crate::recording::{Item, Run};

/// A line of any kind.
#[derive(Deserialize)]
pub(super) struct Line {
    v: u8,
    t: f64,
    event: String,
    #[serde(flatten)]
    body: Value,
}

/// Only the time is known of recordings of others.
#[derive(Deserialize)]
struct StartLine {
    version: String,
    seed: Option<u64>,
    target: Option<String>,
    server: Option<SocketAddr>,
    listen: Option<SocketAddr>,
    wall_clock: String,
}

#[derive(Deserialize)]
struct SessionLine {
    session: Option<u32>,
    state: String,
    proto: String,
    client: SocketAddr,
    #[serde(default)]
    server: Option<SocketAddr>,
    upstream: Option<SocketAddr>,
    by: Option<String>,
    reason: Option<String>,
}

#[derive(Deserialize)]
struct DatagramLine {
    session: Option<u32>,
    dir: String,
    proto: String,
    ordinal: Option<u64>,
    origin: String,
    leg: Option<String>,
    #[serde(default)]
    notes: Vec<NoteLine>,
    #[serde(default)]
    placed: Vec<PlacedLine>,
    hex: Option<Hex>,
    hex_out: Option<Vec<Hex>>,
}

#[derive(Deserialize)]
struct ConnlessLine {
    session: Option<u32>,
    dir: String,
    client: SocketAddr,
    hex: Hex,
    #[serde(default)]
    hex_out: Vec<Hex>,
    #[serde(default)]
    actions: Vec<Value>,
    #[serde(default)]
    notes: Vec<NoteLine>,
}

#[derive(Deserialize)]
struct NoteLine {
    code: String,
    at: usize,
    len: usize,
}

#[derive(Deserialize)]
struct PlacedLine {
    action: String,
    seq_out: Option<u16>,
}

#[derive(Deserialize)]
struct LogLine {
    session: Option<u32>,
    level: String,
    text: String,
    #[serde(default)]
    program: bool,
}

/// The datagram of a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parent {
    session: Option<u32>,
    dir: Dir,
    /// 0 when no peer sent it.
    ordinal: u64,
}

#[derive(Deserialize)]
struct MessageLine {
    session: Option<u32>,
    dir: String,
    datagram: Option<u64>,
}

impl Parent {
    /// Of an event, if it is one.
    pub(super) fn of(item: &Item) -> Option<Self> {
        match item {
            Item::Event(Event {
                session,
                what: What::Datagram(datagram),
                ..
            }) => Some(Self {
                session: session.map(|session| session.0),
                dir: datagram.dir,
                ordinal: datagram.ordinal,
            }),
            _ => None,
        }
    }

    fn of_message(body: Value) -> Option<Self> {
        let line: MessageLine = serde_json::from_value(body).ok()?;
        Some(Self {
            session: line.session,
            dir: named(DIRS, &line.dir)?,
            ordinal: line.datagram.unwrap_or_default(),
        })
    }
}

/// Why a line gives nothing.
pub(super) enum Wrong {
    /// It tells of bytes that it does not have, but the line of this datagram, where it says which.
    NoBytes(Option<Parent>),
    /// It cannot be read, and why.
    Damaged(String),
}

impl Line {
    /// What it tells; `None` = what other lines tell too, or what is not known here.
    ///
    /// # Errors
    /// See [`Wrong`].
    pub(super) fn read(bytes: &[u8]) -> Result<Option<Item>, Wrong> {
        let damaged = |error: serde_json::Error| Wrong::Damaged(wrong(&error));
        let line: Self = serde_json::from_slice(bytes).map_err(damaged)?;
        if line.v != VERSION {
            let text = format!("schema version {}, and only {VERSION} is known here", line.v);
            return Err(Wrong::Damaged(text));
        }
        let at = micros(line.t);
        let has = |key: &str| line.body.get(key).is_some();
        let item = match line.event.as_str() {
            "start" => read_start(line.body),
            "session" => read_session(at, line.body),
            "datagram" if !has("hex") && !has("hex_out") => return Err(Wrong::NoBytes(None)),
            "datagram" => read_datagram(at, line.body),
            "message" if line.body.get("layer").and_then(Value::as_str) == Some("connless") => {
                read_connless(at, line.body)
            }
            "message" => return Err(Wrong::NoBytes(Parent::of_message(line.body))),
            "log" => read_log(at, line.body),
            "gap" => {
                let lost = line.body.get("lost").and_then(Value::as_u64);
                Ok(lost.map(|lost| Item::Gap { at, lost }))
            }
            _ => Ok(None),
        };
        item.map_err(damaged)
    }
}

/// What is wrong, without what stands there, which may be a secret.
fn wrong(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = text.rsplit_once(" at line ").map_or(&*text, |(text, _)| text);
    let text = match text.rsplit_once(", expected ") {
        Some((_, wanted)) => format!("expected {wanted}"),
        None => text.to_owned(),
    };
    match error.column() {
        0 => text,
        column => format!("{text} at column {column}"),
    }
}

type Read = Result<Option<Item>, serde_json::Error>;

fn read_start(body: Value) -> Read {
    let start: StartLine = serde_json::from_value(body)?;
    let wall = parse_rfc3339(&start.wall_clock).unwrap_or_default();
    let version = start.version;
    let known = (start.seed, start.target, start.server, start.listen);
    let run = match known {
        (Some(seed), Some(target), Some(server), Some(listen)) => Some(Run {
            version,
            wall,
            seed,
            target,
            server,
            listen,
        }),
        _ => None,
    };
    Ok(Some(Item::Start { wall, run }))
}

fn read_session(at: Time, body: Value) -> Read {
    let line: SessionLine = serde_json::from_value(body)?;
    let change = || {
        Some(SessionChange {
            state: named(STATES, &line.state)?,
            proto: line.proto.parse().ok()?,
            client: line.client,
            server: line.server,
            upstream: line.upstream,
            by: maybe(SIDES, line.by.as_deref())?,
            reason: line.reason.as_deref().map(|reason| reason.as_bytes().into()),
        })
    };
    Ok(change().map(|change| event(at, line.session, What::Session(change))))
}

fn read_datagram(at: Time, body: Value) -> Read {
    let line: DatagramLine = serde_json::from_value(body)?;
    let session = line.session;
    Ok(datagram(line).map(|datagram| event(at, session, What::Datagram(datagram))))
}

/// `None` where a name is not known here.
fn datagram(line: DatagramLine) -> Option<Datagram> {
    let received: &[u8] = line.hex.as_ref().map_or(&[], |hex| &hex.0);
    let sent = line.hex_out.as_deref().unwrap_or_default();
    let mut datagram = Datagram::new(
        named(DIRS, &line.dir)?,
        line.proto.parse().ok()?,
        named(ORIGINS, &line.origin)?,
        received,
        sent.iter().map(|hex| &*hex.0),
    );
    datagram.leg = maybe(SIDES, line.leg.as_deref())?;
    datagram.ordinal = line.ordinal.unwrap_or_default();
    let placed = |line: &PlacedLine| {
        Some(Placed {
            action: named(ACTIONS, &line.action)?,
            seq_out: line.seq_out.map(Seq::new),
        })
    };
    datagram.placed = line.placed.iter().map(placed).collect::<Option<_>>()?;
    datagram.notes = read_notes(
        line.notes
            .iter()
            .map(|note| (note.code.as_str(), note.at, note.len)),
    );
    Some(datagram)
}

fn read_connless(at: Time, body: Value) -> Read {
    let line: ConnlessLine = serde_json::from_value(body)?;
    let Some(dir) = named(DIRS, &line.dir) else {
        return Ok(None);
    };
    let mut notes = line.notes.iter();
    let cut = notes.find(|note| note.code == Code::CutByCapture.name());
    let cut = cut.map_or(0, |note| note.len);
    let connless = Connless {
        dir,
        client: line.client,
        bytes: line.hex.0,
        cut,
        forwarded: line.actions.is_empty(),
        sent: line.hex_out.into_iter().next().map(|hex| hex.0),
        ends: Ends::default(),
    };
    Ok(Some(event(at, line.session, What::Connless(connless))))
}

fn read_log(at: Time, body: Value) -> Read {
    let line: LogLine = serde_json::from_value(body)?;
    let Some(level) = level_of(&line.level) else {
        return Ok(None);
    };
    Ok(Some(if line.program {
        Item::Log {
            at,
            level,
            text: line.text,
        }
    } else {
        let notice = Notice::Other {
            kind: None,
            level,
            text: line.text.into(),
        };
        event(at, line.session, What::Notice(notice))
    }))
}

fn event(at: Time, session: Option<u32>, what: What) -> Item {
    Item::Event(Event {
        at,
        session: session.map(SessionId),
        what,
    })
}

/// The microseconds that were written as seconds; what is no time is the start.
fn micros(seconds: f64) -> Time {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturates, and there is no sign left"
    )]
    let micros = (seconds.max(0.0) * 1e6).round() as u64;
    Time(micros)
}
