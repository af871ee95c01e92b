//! A peer of the control socket.

#![expect(clippy::indexing_slicing, reason = "a field that a JSON value lacks is null")]

use std::io::{BufRead as _, BufReader, ErrorKind, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::real::PATIENCE;

/// A connection to the control socket of a run.
#[derive(Debug)]
pub struct Control {
    stream: BufReader<UnixStream>,
    last: u64,
    /// Events that were received while waiting for an answer.
    pub events: Vec<Value>,
}

impl Control {
    /// Connects as soon as the socket exists.
    pub fn connect(path: &Path) -> Result<Self> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match UnixStream::connect(path) {
                Ok(stream) => {
                    stream.set_read_timeout(Some(PATIENCE))?;
                    stream.set_write_timeout(Some(PATIENCE))?;
                    return Ok(Self {
                        stream: BufReader::new(stream),
                        last: 0,
                        events: Vec::new(),
                    });
                }
                Err(error) => {
                    let is_early = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused);
                    ensure!(
                        is_early && Instant::now() < deadline,
                        "connect to {}: {error}",
                        path.display()
                    );
                    thread::sleep(Duration::from_millis(10));
                }
            }
        }
    }

    /// Returns the connection, for bytes that are not lines of JSON.
    pub fn stream(&mut self) -> &mut UnixStream {
        self.stream.get_mut()
    }

    /// Sends bytes.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> Result<()> {
        Ok(self.stream.get_mut().write_all(bytes.as_ref())?)
    }

    /// Returns the next line; `None` if the run has closed the connection.
    pub fn line(&mut self) -> Result<Option<Value>> {
        let mut line = String::new();
        let read = match self.stream.read_line(&mut line) {
            Err(error) if error.kind() == ErrorKind::ConnectionReset => 0,
            read => read.context("a line of the control socket")?,
        };
        if read == 0 {
            return Ok(None);
        }
        serde_json::from_str(&line).map(Some).with_context(|| line)
    }

    /// Returns the next answer. Events before it are kept.
    pub fn answer(&mut self) -> Result<Value> {
        loop {
            let line = self.line()?.context("the connection was closed")?;
            if line["event"] == "answer" {
                return Ok(line);
            }
            self.events.push(line);
        }
    }

    /// Sends a command, with a number that this adds, and returns its answer.
    pub fn ask(&mut self, mut command: Value) -> Result<Value> {
        self.last += 1;
        command["id"] = json!(self.last);
        self.send(format!("{command}\n"))?;
        let answer = self.answer()?;
        ensure!(answer["id"] == self.last, "{command}: {answer}");
        Ok(answer)
    }

    /// Sends a command that must succeed, and returns its answer.
    pub fn done(&mut self, command: Value) -> Result<Value> {
        let answer = self.ask(command.clone())?;
        ensure!(
            answer["done"] == true && answer["why"].is_null(),
            "{command}: {answer}"
        );
        Ok(answer)
    }

    /// Sends a command that must be refused, and returns the reason.
    pub fn refused(&mut self, command: Value) -> Result<String> {
        let answer = self.ask(command.clone())?;
        ensure!(answer["done"] == false, "{command}: {answer}");
        let why = answer["why"].as_str();
        Ok(why.with_context(|| answer.to_string())?.to_owned())
    }

    /// Returns the first event for which `wanted` holds, from the kept events or the next ones.
    pub fn wait_for(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        if let Some(at) = self.events.iter().position(&wanted) {
            return Ok(self.events.remove(at));
        }
        let deadline = Instant::now() + PATIENCE;
        loop {
            ensure!(Instant::now() < deadline, "{what} never came");
            let line = self.line()?.with_context(|| format!("closed before {what}"))?;
            if wanted(&line) {
                return Ok(line);
            }
            self.events.push(line);
        }
    }
}
