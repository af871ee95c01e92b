//! JSON lines read back: the recording of `-w FILE.jsonl`, or what `--json -vv` printed.
//!
//! Law: an event is made again of the line of its datagram, which has all bytes; the lines of its messages are made of those
//! when it is shown. What a later version added is passed over; so is a line that cannot be read, which is then told.

use std::{
    io::{self, BufRead},
    net::SocketAddr,
};

use serde::Deserialize;
use serde_json::Value;
use teetap_proxy::{
    io::{
        capture::{
            Item, ReadError, Run, Tally,
            own::{ACTIONS, DIRS, ORIGINS, SIDES, STATES, level_of, maybe, named, read_notes},
        },
        record::Hex,
    },
    session::{Connless, Datagram, Ends, Event, Placed, Remark, SessionChange, SessionId, State, Time, What},
};
use teetap_wire::{Dir, Seq};

use super::{VERSION, damage::Damage, time::parse_rfc3339};

/// Bytes of the longest line that is read: more than any event has.
const LONGEST: u64 = 16 << 20;

/// Reads a recording.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    input: R,
    offset: u64,
    line: Vec<u8>,
    tally: Tally,
    sessions: std::collections::BTreeSet<u32>,
    /// The last line was of a datagram with its bytes.
    has_bytes: bool,
    is_over: bool,
    damage: Damage,
    /// What follows a gap that was told.
    next: Option<Item>,
}

/// A line of any kind.
#[derive(Deserialize)]
struct Line {
    v: u8,
    t: f64,
    event: String,
    #[serde(flatten)]
    body: Value,
}

#[derive(Deserialize)]
struct StartLine {
    version: String,
    seed: u64,
    target: String,
    server: SocketAddr,
    listen: SocketAddr,
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

impl<R: BufRead> Lines<R> {
    /// From the beginning.
    pub(crate) fn new(input: R) -> Self {
        Self {
            input,
            offset: 0,
            line: Vec::new(),
            tally: Tally::default(),
            sessions: std::collections::BTreeSet::new(),
            has_bytes: false,
            is_over: false,
            damage: Damage::default(),
            next: None,
        }
    }

    /// What was read so far.
    pub(crate) fn tally(&self) -> Tally {
        self.tally
    }

    /// The next thing; `None` at the end. Where lines cannot be read there is a gap.
    ///
    /// # Errors
    /// See [`ReadError`]; nothing follows then. That lines were damaged is told at the end.
    pub(crate) fn read(&mut self) -> Result<Option<Item>, ReadError> {
        if let Some(item) = self.next.take() {
            return Ok(Some(self.counted(item)));
        }
        while !self.is_over {
            match self.step() {
                Ok(None) => {}
                Ok(Some(item)) => {
                    let Some(lost) = self.damage.untold() else {
                        return Ok(Some(self.counted(item)));
                    };
                    let at = self.tally.until;
                    self.next = Some(item);
                    return Ok(Some(self.counted(Item::Gap { at, lost })));
                }
                Err(ReadError::Damaged { offset, text }) => self.damage.add(offset, text),
                Err(error) => {
                    self.is_over = true;
                    return Err(error);
                }
            }
        }
        self.damage.told_at_the_end().map_or(Ok(None), Err)
    }

    fn counted(&mut self, item: Item) -> Item {
        self.count(&item);
        item
    }

    /// One line; `None` when it holds nothing that is not elsewhere.
    fn step(&mut self) -> Result<Option<Item>, ReadError> {
        let begin = self.offset;
        self.line.clear();
        let read = io::Read::take(&mut self.input, LONGEST).read_until(b'\n', &mut self.line);
        let read = read.map_err(|error| ReadError::System { offset: begin, error })?;
        self.offset += read as u64;
        if read == 0 {
            self.is_over = true;
            return Ok(None);
        }
        if self.line.last() != Some(&b'\n') {
            return Err(ReadError::Cut(begin));
        }
        let damaged = |text: String| ReadError::Damaged { offset: begin, text };
        let line: Line = serde_json::from_slice(&self.line).map_err(|error| damaged(wrong(&error)))?;
        if line.v != VERSION {
            return Err(damaged(format!(
                "schema version {}, and only {VERSION} is known here",
                line.v
            )));
        }
        let at = micros(line.t);
        let item = match line.event.as_str() {
            "start" => read_start(line.body),
            "session" => read_session(at, line.body),
            "datagram" => {
                self.has_bytes = true;
                read_datagram(at, line.body)
            }
            "message" if line.body.get("layer").and_then(Value::as_str) == Some("connless") => {
                read_connless(at, line.body)
            }
            "message" if !self.has_bytes && self.damage.is_none() => {
                let text = "these lines hold no bytes: record with -w, or with --json -vv";
                return Err(ReadError::Unknown(text));
            }
            "log" => read_log(at, line.body),
            "gap" => Ok(line
                .body
                .get("lost")
                .and_then(Value::as_u64)
                .map(|lost| Item::Gap { at, lost })),
            _ => Ok(None),
        };
        item.map_err(|error| damaged(wrong(&error)))
    }

    fn count(&mut self, item: &Item) {
        let event = match item {
            Item::Start { .. } => {
                self.sessions.clear();
                return;
            }
            Item::Gap { lost, .. } => {
                self.tally.lost += lost;
                return;
            }
            Item::Log { .. } => return,
            Item::Event(event) => event,
        };
        self.tally.until = self.tally.until.max(event.at);
        let (dir, received, packets) = match &event.what {
            What::Datagram(datagram) => {
                let received = datagram.received();
                (
                    datagram.dir,
                    received,
                    usize::from(received.is_some()) + datagram.sent().count(),
                )
            }
            What::Connless(connless) => {
                let packets = 1 + usize::from(connless.sent.is_some());
                (connless.dir, Some(&connless.bytes[..]), packets)
            }
            What::Session(change) => {
                let is_new = change.state == State::Online
                    && event
                        .session
                        .is_some_and(|session| self.sessions.insert(session.0));
                self.tally.sessions += u64::from(is_new);
                return;
            }
            What::Remark(_) => return,
        };
        self.tally.packets += packets as u64;
        if let Some(received) = received {
            let traffic = match dir {
                Dir::C2s => &mut self.tally.c2s,
                Dir::S2c => &mut self.tally.s2c,
            };
            traffic.datagrams += 1;
            traffic.bytes += received.len() as u64;
        }
    }
}

/// What is wrong, without what stands there, which may be a secret.
fn wrong(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(", expected ") {
        Some((_, wanted)) => format!("expected {wanted}"),
        None => text,
    }
}

type Read = Result<Option<Item>, serde_json::Error>;

fn read_start(body: Value) -> Read {
    let start: StartLine = serde_json::from_value(body)?;
    let wall = parse_rfc3339(&start.wall_clock).unwrap_or_default();
    let run = Run {
        version: start.version,
        wall,
        seed: start.seed,
        target: start.target,
        server: start.server,
        listen: start.listen,
    };
    Ok(Some(Item::Start { wall, run: Some(run) }))
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
    let connless = Connless {
        dir,
        client: line.client,
        bytes: line.hex.0,
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
        let remark = Remark::Recorded(level, line.text.into());
        event(at, line.session, What::Remark(remark))
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
