//! `teetap explain HEX|FILE|FILE#N|-|CODE`: the bytes of one datagram, annotated, or the page of a code.

use std::{
    io,
    path::{Path, PathBuf},
};

use serde::Serialize;
use teetap_capture::numbered_packet;
use teetap_inspect::{
    explain::{
        ExplainRow, Explanation, Kind, Options, Space, explain as read, first,
        input::{self, InputError, MAX_INPUT, ParsedInput},
        text,
    },
    jsonl::VERSION,
};
use teetap_proxy::io::files::read_given;
use teetap_wire::{OpensNothing, counted, def::meant_clause, printable, printable_path};

use crate::{
    cli::{ExplainOptions, Quiet},
    exit::{Exit, Failure},
    look, output,
};

use super::{codes, file};

/// Explains the datagram in `words`: hex, the name of a file, or `-` for stdin. Prints the page of a code.
pub(crate) fn explain(options: &ExplainOptions, words: &[String]) -> anyhow::Result<Exit> {
    let pages: Option<Vec<String>> = words.iter().map(|word| codes::page(word)).collect();
    if let Some(pages) = pages.filter(|pages| !pages.is_empty() && options.frame.is_none()) {
        if options.json.json {
            let text = format!(
                "cannot print the page of {} as JSON; leave out --json",
                words.join(" ")
            );
            return Err(Failure::usage(text).into());
        }
        output::print(&pages.join("\n"))?;
        return Ok(Exit::Ok);
    }
    let wanted = Options {
        registry: options.contents.registry()?,
        secrets: options.contents.secrets(),
        proto: options.protocol.only(),
        dir: options.dir(),
    };
    let found = match packet_of(words, options.frame)? {
        Some((path, number)) => packet(&path, number)?,
        None => find(words)?,
    };
    let readings = read(&found.datagram, wanted);
    let first = first(&found.datagram, wanted);
    let text = if options.json.json {
        json(&found, first, &readings)?
    } else {
        let head: Vec<String> = std::iter::once(counted(found.datagram.len(), "byte").to_string())
            .chain(found.comments.iter().cloned())
            .collect();
        let width = look::columns(io::stdout()).unwrap_or(text::WIDTH);
        format!("{}\n\n{}", head.join("\n"), text::text(first, &readings, width))
    };
    // A closed pipe is success.
    if options.json.json {
        output::write_out(text.as_bytes())?;
    } else {
        output::print(&text)?;
    }
    Ok(Exit::Ok)
}

/// Returns the file and the number of the packet to read: `FILE --frame N` or `FILE#N`. Returns `None` if the words name
/// no packet.
fn packet_of(words: &[String], frame: Option<u64>) -> Result<Option<(PathBuf, u64)>, Failure> {
    if let Some(number) = frame {
        let [word] = words else {
            return Err(Failure::usage(
                "cannot read a packet of several files; name one file with --frame".to_owned(),
            ));
        };
        return Ok(Some((word.into(), number)));
    }
    let [word] = words else { return Ok(None) };
    // A file whose name contains # is read as such.
    let Some((file, number)) = word.rsplit_once('#').filter(|_| !Path::new(word).exists()) else {
        return Ok(None);
    };
    let is_file = file == file::STDIN || Path::new(file).exists();
    match number.parse::<u64>() {
        Ok(number) if number > 0 && is_file => Ok(Some((file.into(), number))),
        _ if is_file => Err(Failure::usage(format!(
            "cannot read packet '{}': packets count from 1, as in {}#1",
            printable(number.as_bytes()),
            printable(file.as_bytes()),
        ))),
        _ => Ok(None),
    }
}

/// Reads one packet of a capture.
fn packet(path: &Path, number: u64) -> Result<ParsedInput, Failure> {
    let input = file::open(Quiet { quiet: true }, path)?;
    let packet = numbered_packet(input.bytes, number).map_err(|error| {
        let name = printable_path(file::shown(path));
        Failure::usage(format!("cannot read packet {number} of {name}: {error}"))
    })?;
    let leg = packet
        .leg
        .map_or(String::new(), |leg| format!(", on the leg of the {leg}"));
    let comment = format!("packet {number}, {} to {}{leg}", packet.from, packet.to);
    Ok(ParsedInput {
        datagram: packet.bytes,
        comments: vec![comment],
    })
}

fn find(words: &[String]) -> Result<ParsedInput, Failure> {
    let [word] = words else {
        return input::from_text(&words.join(" "))
            .map_err(|error| Failure::usage(format!("cannot read the bytes: {error}")));
    };
    let path = Path::new(word);
    if word == file::STDIN {
        return contents(path);
    }
    match input::from_text(word) {
        Ok(found) => Ok(found),
        Err(_) if path.exists() => contents(path),
        Err(InputError::NoHex { .. }) if codes::meant(word).is_some() => {
            let name = printable(word.as_bytes());
            Err(Failure::usage(format!(
                "cannot explain '{name}': neither bytes nor a file nor a code{}",
                meant_clause(codes::meant(word))
            )))
        }
        Err(InputError::NoHex { .. }) if is_name(word) => {
            let word = printable(word.as_bytes());
            Err(Failure::usage(format!(
                "cannot explain '{word}': neither bytes (hex) nor a file nor a code, as in `teetap explain wrong-token`"
            )))
        }
        Err(InputError::NoHex { place, found }) => Err(Failure::usage(format!(
            "cannot read the bytes: not a file, and {found} at {place} is not a hex digit; use xxd, hexdump -C or plain hex"
        ))),
        Err(error) => Err(Failure::usage(format!("cannot read the bytes: {error}"))),
    }
}

/// Returns true for a word that looks like a name: letters, `-`, `_` and `.` only.
fn is_name(word: &str) -> bool {
    let is_part = |char: char| char.is_ascii_alphabetic() || matches!(char, '-' | '_' | '.');
    !word.is_empty() && word.chars().all(is_part)
}

fn contents(path: &Path) -> Result<ParsedInput, Failure> {
    let name = printable_path(file::shown(path));
    let fail = |error: &dyn std::fmt::Display| Failure::usage(format!("cannot read {name}: {error}"));
    let most = u64::try_from(MAX_INPUT).unwrap_or(u64::MAX);
    let bytes = read_given(path, most).map_err(|error| fail(&error))?;
    input::from_bytes(&bytes).map_err(|error| fail(&error))
}

#[derive(Serialize)]
struct DatagramLine<'a> {
    v: u8,
    t: f64,
    event: &'static str,
    proto: String,
    /// c2s, s2c, or null if both directions read the same.
    dir: Option<String>,
    verdict: &'static str,
    reasons: &'a [String],
    same_as: Option<String>,
    /// Mistake of the datagram if it is the first datagram of a client; null if there is none.
    first: Option<FirstBody>,
    input: &'a [String],
    datagram: &'a str,
    clear: Option<&'a str>,
    rows: Vec<RowBody<'a>>,
}

#[derive(Serialize)]
struct FirstBody {
    what: &'static str,
    text: &'static str,
}

#[derive(Serialize)]
struct RowBody<'a> {
    depth: u8,
    /// Bytes in which `at` and the notes count: datagram or clear.
    space: &'static str,
    at: usize,
    len: usize,
    /// Bits of the byte, for a row about some of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    bits: Option<u8>,
    label: &'a str,
    value: &'a str,
    hex: &'a str,
    notes: Vec<NoteBody>,
}

#[derive(Serialize)]
struct NoteBody {
    code: &'static str,
    /// error, warning or info.
    severity: &'static str,
    /// Place as in the other JSON lines: datagram, or payload for the clear bytes.
    place: &'static str,
    at: usize,
    len: usize,
    text: &'static str,
}

fn json(
    found: &ParsedInput,
    first: Option<OpensNothing>,
    readings: &[Explanation],
) -> anyhow::Result<String> {
    let mut out = String::new();
    for reading in readings {
        let line = DatagramLine {
            v: VERSION,
            t: 0.0,
            event: "explain",
            proto: reading.proto.to_string(),
            dir: (!reading.either).then(|| reading.dir.to_string()),
            verdict: reading.verdict.name(),
            reasons: &reading.reasons,
            same_as: reading.same_as.map(|proto| proto.to_string()),
            first: first.map(|what| FirstBody {
                what: what.name(),
                text: what.text(),
            }),
            input: &found.comments,
            datagram: &reading.datagram,
            clear: reading.clear.as_deref(),
            rows: reading.rows.iter().map(row).collect(),
        };
        out.push_str(&serde_json::to_string(&line)?);
        out.push('\n');
    }
    Ok(out)
}

fn row(row: &ExplainRow) -> RowBody<'_> {
    // Ranges count from the start of the bytes of the row, never within a message.
    let (space, place) = match row.span.space {
        Space::Datagram => ("datagram", "datagram"),
        Space::Clear => ("clear", "payload"),
    };
    let notes = row.notes.iter().map(|note| NoteBody {
        code: note.code.name(),
        severity: note.code.severity().name(),
        place,
        at: note.at,
        len: note.len,
        text: note.code.text(),
    });
    RowBody {
        depth: row.depth,
        space,
        at: row.span.at,
        len: row.span.len,
        bits: match row.kind {
            Kind::Bits(mask) => Some(mask),
            Kind::Group | Kind::Bytes => None,
        },
        label: &row.label,
        value: &row.value,
        hex: &row.hex,
        notes: notes.collect(),
    }
}
