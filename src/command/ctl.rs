//! `teetap ctl`: one command for the control socket of a run.

#![expect(clippy::indexing_slicing, reason = "a field that a JSON value lacks is null")]

use std::{
    io::{self, BufRead as _, BufReader, Write as _},
    os::unix::net::UnixStream,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use serde_json::Value;
use teetap_engine::control::connect;
use teetap_inspect::control::{self, Command};
use teetap_wire::{printable, printable_json, printable_path};

use crate::{
    cli::Json,
    exit::{Exit, Failure},
    figure::figure,
    output::{Printer, print, print_status, write_out},
};

use super::{
    events,
    json::{list, text},
};

/// Maximum wait for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Maximum bytes of a line; longer than any event or answer.
const LONGEST: usize = 16 << 20;

/// Fields that every answer has, and the warnings, which are printed before the results.
const ENVELOPE: [&str; 8] = ["v", "t", "event", "session", "id", "done", "why", "warnings"];

/// Results that are printed as lists.
const LISTS: [&str; 4] = ["sessions", "rules", "held", "stats"];

/// Number of the command: there is one per connection.
const ID: u64 = 1;

/// Sends a command and prints its answer. After `subscribe`, prints all events up to the end of the run.
pub(crate) fn ctl(json: Json, session: Option<u32>, path: &Path, command: &Command) -> anyhow::Result<Exit> {
    let mut peer = Peer::connect(path)?;
    let mut request = control::request(ID, command).context("cannot write the command")?;
    if let Some(session) = session {
        request.insert("session".to_owned(), session.into());
    }
    peer.send(&Value::Object(request))?;
    let follows = matches!(command, Command::Subscribe { .. });
    loop {
        let line = peer.line()?;
        let object: Value = serde_json::from_str(&line)
            .map_err(|error| Failure::network(format!("cannot read the answer: {error}")))?;
        let is_answer = object["event"] == "answer";
        if !is_answer {
            // The first line describes the run.
            continue;
        }
        if json.json {
            write_out(format!("{}\n", printable_json(&line)).as_bytes())?;
        }
        if object["done"] != true {
            if !json.json {
                let why = object["why"].as_str().unwrap_or_default();
                print_status(&format!("teetap: refused: {}", printable(why.as_bytes())));
            }
            return Ok(Exit::Failed);
        }
        for warning in object["warnings"].as_array().into_iter().flatten() {
            let text = warning.as_str().unwrap_or_default();
            print_status(&format!("teetap: warning: {}", printable(text.as_bytes())));
        }
        if follows {
            return follow(peer, json.json);
        }
        if !json.json {
            print(&answer(&object))?;
        }
        return Ok(Exit::Ok);
    }
}

/// Prints events until the run ends or stdout is closed.
fn follow(mut peer: Peer, json: bool) -> anyhow::Result<Exit> {
    peer.wait_forever()?;
    let mut printer = Printer::default();
    printer.look_at_terminal();
    loop {
        let line = peer.line()?;
        let object: Value = serde_json::from_str(&line)
            .map_err(|error| Failure::network(format!("cannot read an event: {error}")))?;
        let is_open = if json {
            write_out(format!("{}\n", printable_json(&line)).as_bytes())?
        } else {
            let (rows, moment) = events::rows(&line, &object);
            let mut out = Vec::new();
            for row in &rows {
                printer.row(row, moment, &mut out);
            }
            write_out(&out)?
        };
        if !is_open || object["event"] == "summary" {
            return Ok(Exit::Ok);
        }
    }
}

/// A connection to a run.
struct Peer {
    stream: BufReader<UnixStream>,
    /// Deadline for the complete answer; `None` while events are read.
    deadline: Option<Instant>,
    /// Path of the socket, for errors.
    name: String,
}

impl Peer {
    fn connect(path: &Path) -> Result<Self, Failure> {
        let name = printable_path(path);
        let stream = connect(path, PATIENCE).and_then(|stream| {
            stream.set_write_timeout(Some(PATIENCE))?;
            Ok(stream)
        });
        match stream {
            Ok(stream) => Ok(Self {
                stream: BufReader::new(stream),
                deadline: Some(Instant::now() + PATIENCE),
                name,
            }),
            Err(error) => {
                let advice = match error.kind() {
                    io::ErrorKind::NotFound => "no such file; start the run with --control".to_owned(),
                    io::ErrorKind::ConnectionRefused => {
                        "nothing listens on it; the run has ended, or it is another file".to_owned()
                    }
                    io::ErrorKind::WouldBlock => "the run does not accept connections".to_owned(),
                    _ => error.to_string(),
                };
                Err(Failure::network(format!("cannot connect to {name}: {advice}")))
            }
        }
    }

    fn failed(&self, error: &io::Error) -> Failure {
        let why = match error.kind() {
            io::ErrorKind::WouldBlock => format!("no answer for {} s", PATIENCE.as_secs()),
            io::ErrorKind::UnexpectedEof => "the run has closed the connection".to_owned(),
            _ => error.to_string(),
        };
        Failure::network(format!("cannot use {}: {why}", self.name))
    }

    fn send(&mut self, request: &Value) -> Result<(), Failure> {
        let line = format!("{request}\n");
        let sent = self.stream.get_mut().write_all(line.as_bytes());
        match sent {
            // The run closes a refused connection at once, but its answer can still be read.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(self.failed(&error)),
            _ => Ok(()),
        }
    }

    /// Returns the next line without its line break.
    fn line(&mut self) -> Result<String, Failure> {
        let line = self.bytes().map_err(|error| self.failed(&error))?;
        String::from_utf8(line).map_err(|_| self.failed(&io::Error::other("a line is not UTF-8")))
    }

    fn bytes(&mut self) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        loop {
            if let Some(deadline) = self.deadline {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                self.stream.get_ref().set_read_timeout(Some(left))?;
            }
            let there = match self.stream.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                there => there?,
            };
            let end = there.iter().position(|byte| *byte == b'\n');
            let len = end.map_or(there.len(), |end| end + 1);
            if len == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            line.extend_from_slice(there.get(..end.unwrap_or(len)).unwrap_or_default());
            self.stream.consume(len);
            if line.len() > LONGEST {
                return Err(io::Error::other(format!("a line is longer than {LONGEST} bytes")));
            }
            if end.is_some() {
                return Ok(line);
            }
        }
    }

    fn wait_forever(&mut self) -> Result<(), Failure> {
        self.deadline = None;
        let set = self.stream.get_ref().set_read_timeout(None);
        set.map_err(|error| self.failed(&error))
    }
}

/// Returns the answer to a successful command as lines.
fn answer(object: &Value) -> String {
    let mut lines = Vec::new();
    for session in list(object, "sessions") {
        let [proto, state, client] = ["proto", "state", "client"].map(|field| text(session, field));
        let opened = session["opened"].as_f64().unwrap_or_default();
        let number = &session["session"];
        lines.push(format!(
            "#{number}  {state:<8}{proto:<6}  {client}  since {opened:.3}"
        ));
    }
    for rule in list(object, "rules") {
        let [name, code, from] = ["name", "text", "from"].map(|field| text(rule, field));
        let name = if name == code || name.starts_with(&format!("{code} #")) {
            name
        } else {
            format!("{name}: {code}")
        };
        let state = match (rule["on"] == true, &rule["hits"]) {
            (false, _) => ", off".to_owned(),
            (true, Value::Null) => String::new(),
            (true, hits) => format!(", hits {hits}"),
        };
        lines.push(format!("{name}  ({from}:{}{state})", rule["line"]));
    }
    for waiting in list(object, "held") {
        let dir = text(waiting, "dir");
        let mut line = format!("{}/{dir}/{}", waiting["session"], waiting["held"]);
        match text(waiting, "name") {
            name if name.is_empty() => line = format!("{line}  0x{}", text(waiting, "hex")),
            name => line = format!("{line}  {name} {}", waiting["fields"]),
        }
        if waiting["edited"] == true {
            line.push_str("  edited");
        }
        if let Some(until) = waiting["until"].as_f64() {
            line = format!("{line}  until {until:.3}");
        }
        match text(waiting, "rule") {
            rule if rule.is_empty() => {}
            rule => line = format!("{line}  ({rule})"),
        }
        lines.push(printable(line.as_bytes()));
    }
    let stats = object["stats"].as_object().into_iter().flatten();
    lines.extend(stats.map(|(name, value)| line(name, value)));
    let results = object.as_object().into_iter().flatten();
    let results = results.filter(|(name, value)| !ENVELOPE.contains(&name.as_str()) && !value.is_null());
    let (listed, others): (Vec<_>, Vec<_>) = results.partition(|(name, _)| LISTS.contains(&name.as_str()));
    lines.extend(others.iter().map(|(name, value)| line(name, value)));
    if listed.is_empty() && others.is_empty() {
        lines.push("done".to_owned());
    }
    let safe = |line: &String| printable(line.as_bytes()) + "\n";
    lines.iter().map(safe).collect()
}

/// Returns a line for a result that is not a list.
fn line(name: &str, value: &Value) -> String {
    let [name, value] = figure(name, value);
    format!("{name:<16}{value}")
}

#[cfg(test)]
#[path = "ctl_tests.rs"]
mod tests;
