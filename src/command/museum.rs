//! `teetap museum [NAME]`: recordings of well-known bugs, each with its page.

use std::{
    ffi::OsStr,
    fmt::Write as _,
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::Path,
};

use teetap_wire::{
    def::{did_you_mean, suggest},
    printable, printable_path,
};

use super::{file, notes::plain, open::show_recording};
use crate::{
    cli::MuseumOptions,
    exit::{Exit, Failure},
    output,
};

/// A recording of the museum, with its page.
struct Piece {
    name: &'static str,
    page: &'static str,
    recording: &'static [u8],
    /// The same session without the bug.
    repaired: &'static [u8],
}

macro_rules! pieces {
    ($($name:literal)*) => {
        /// All pieces, in the order of the list.
        const PIECES: &[Piece] = &[
            $(Piece {
                name: $name,
                page: include_str!(concat!("../../docs/src/museum/", $name, ".md")),
                recording: include_bytes!(concat!("../../museum/", $name, ".pcap")),
                repaired: include_bytes!(concat!("../../museum/repaired/", $name, ".pcap")),
            },)*
        ];
    };
}

pieces! {
    "long-chunk"
    "too-many-chunks"
    "not-inflatable"
    "vital-input"
    "undeclared-item"
    "foreign-base"
    "pickup-size"
    "resized-item"
    "snapshot-twice"
    "full-snapshot"
    "numbers-ignored"
    "foreign-resend"
    "resend-flood"
    "late-start-info"
    "map-twice"
    "map-stuck"
    "reversed-token"
    "empty-ignored"
}

/// Prints the list, or the page of a piece and its messages, or writes its recording to a file. With `--repaired`, uses
/// the recording without the bug, and prints only its messages.
///
/// # Errors
/// There is no such piece, or the file exists or cannot be written.
pub(crate) fn museum(options: &MuseumOptions) -> anyhow::Result<Exit> {
    let MuseumOptions {
        show,
        repaired,
        save,
        name,
    } = options;
    let is_repaired = *repaired;
    let Some(name) = name else {
        if show.json.json {
            let text = "cannot print the list as JSON; name a recording, or leave out --json";
            return Err(Failure::usage(text.to_owned()).into());
        }
        output::print(&list())?;
        return Ok(Exit::Ok);
    };
    let piece = PIECES.iter().find(|piece| piece.name == name);
    let piece = piece.ok_or_else(|| unknown(name))?;
    let recording = if is_repaired {
        piece.repaired
    } else {
        piece.recording
    };
    if let Some(path) = save {
        write(path, recording).map_err(|error| {
            let path = printable_path(path);
            Failure::usage(format!("cannot write {path}: {error}; name a new file"))
        })?;
        return Ok(Exit::Ok);
    }
    if !show.json.json && !is_repaired {
        output::print(&format!("{}\n", plain(piece.page)))?;
    }
    let input = file::embedded(recording)?;
    let path = match is_repaired {
        true => format!("{} (repaired).pcap", piece.name),
        false => format!("{}.pcap", piece.name),
    };
    show_recording(show, input, Path::new(&path))
}

fn unknown(name: &str) -> Failure {
    // The name may be written as a file or a code: museum/map-twice.pcap, MAP_TWICE.
    let file = Path::new(name).file_stem().map(OsStr::to_string_lossy);
    let spelled = file.unwrap_or_default().to_ascii_lowercase().replace('_', "-");
    // Otherwise suggests a piece whose page mentions the word, such as a code or a thread.
    let about = || {
        let is_word = |page: &&str| {
            page.split(|char: char| !char.is_alphanumeric() && char != '-')
                .any(|word| word == spelled)
        };
        let piece = PIECES
            .iter()
            .find(|piece| is_word(&piece.page) && spelled.len() > 3);
        piece.map(|piece| piece.name)
    };
    let meant = suggest(&spelled, PIECES.iter().map(|piece| piece.name)).or_else(about);
    let help = match meant {
        Some(meant) => did_you_mean(meant),
        None => "teetap museum lists them".to_owned(),
    };
    Failure::usage(format!("unknown piece '{}'; {help}", printable(name.as_bytes())))
}

fn list() -> String {
    let width = PIECES
        .iter()
        .map(|piece| piece.name.len())
        .max()
        .unwrap_or_default();
    let mut out = String::new();
    for piece in PIECES {
        let _infallible = writeln!(out, "{:width$}  {}", piece.name, piece.summary());
    }
    out.push_str("\nThe page and the messages of one: teetap museum NAME\n");
    out.push_str("The same session without the bug: teetap museum NAME --repaired\n");
    out
}

/// Writes a new file. Fails if the file exists.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes).inspect_err(|_| {
        // An incomplete file is worse than none.
        let _gone_already = fs::remove_file(path);
    })
}

impl Piece {
    /// Returns the first line of the page after its heading.
    fn summary(&self) -> &'static str {
        self.page
            .lines()
            .skip(1)
            .find(|line| !line.is_empty())
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_has_a_page_of_its_name() {
        for piece in PIECES {
            assert!(
                piece.page.starts_with(&format!("# {}\n\n", piece.name)),
                "{}",
                piece.name
            );
            let length = piece.summary().len();
            assert!((20..=90).contains(&length), "{}: {length}", piece.name);
        }
    }
}
