//! Writes recordings as JSON lines (`-w FILE.jsonl`), and finds the end of such a file for appending.
//!
//! The format is the output of `--json -vv`: the line of a datagram contains all its bytes, so that the run can be
//! shown again. Only the items of snapshots are omitted, since they would make up most of the file and can be decoded
//! from the bytes.

use std::{
    fs::File,
    io::{BufRead as _, BufReader},
};

use serde::Deserialize;
use teetap_inspect::{
    DecodedEvent, Style, Verbosity, Viewer,
    jsonl::{self, OLDEST, VERSION},
};
use teetap_proxy::{
    io::Seen,
    session::{Level, Time},
};
use teetap_wire::def::Secrets;

use crate::{Encode, ReadError, Run};

/// Writes everything.
const STYLE: Style = Style {
    json: true,
    quiet: false,
    matches_only: false,
    verbosity: Verbosity::Bytes,
    viewer: Viewer::Everything,
    items: false,
    since: false,
    frames: false,
    secrets: Secrets::Hide,
};

/// Maximum bytes of the first line.
const FIRST: usize = 64 << 10;

/// Writes a run as JSON lines.
pub struct JsonLines {
    run: Run,
}

impl JsonLines {
    /// Returns an encoder for a run.
    #[must_use]
    pub const fn new(run: Run) -> Self {
        Self { run }
    }
}

impl Encode for JsonLines {
    fn start(&mut self, out: &mut Vec<u8>) {
        jsonl::start(&self.run, out);
    }

    fn seen(&mut self, seen: &Seen<DecodedEvent>, now: Time, out: &mut Vec<u8>) {
        match seen {
            Seen::Gap(lost) => jsonl::gap(now, *lost, out),
            Seen::Event(decoded) => jsonl::event(decoded, STYLE, out),
        }
    }

    fn left_out(&mut self, at: Time, count: u64, out: &mut Vec<u8>) {
        jsonl::gap(at, count, out);
    }

    fn log(&mut self, at: Time, level: Level, text: &str, out: &mut Vec<u8>) {
        jsonl::log(at, level, text, out);
    }

    fn summary(&mut self, _at: Time, _text: &str, json: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(json);
    }
}

/// Returns the end of the last complete line of a recording; `None` if teetap did not write it.
///
/// # Errors
/// The error of the operating system.
pub(crate) fn end_of_json_lines(file: &mut BufReader<&File>) -> Result<Option<u64>, ReadError> {
    #[derive(Deserialize)]
    struct First {
        v: u8,
        event: String,
    }
    let mut offset = 0;
    let mut end = 0;
    let mut first = Vec::new();
    loop {
        let block = file
            .fill_buf()
            .map_err(|error| ReadError::System { offset, error })?;
        if block.is_empty() {
            break;
        }
        if end == 0 && first.len() < FIRST {
            first.extend_from_slice(block);
        }
        if let Some(last) = block.iter().rposition(|byte| *byte == b'\n') {
            end = offset + last as u64 + 1;
        }
        let length = block.len();
        offset += length as u64;
        file.consume(length);
    }
    let line = first.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let is_ours = serde_json::from_slice::<First>(line)
        .is_ok_and(|first| (OLDEST..=VERSION).contains(&first.v) && first.event == "start");
    Ok((is_ours && end > 0).then_some(end))
}
