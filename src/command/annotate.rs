//! `teetap open FILE -w OUT`: the capture again, with a comment on each packet of the game.

use std::{
    fmt::Display,
    io::{self, BufRead, IsTerminal as _},
    path::Path,
};

use teetap_capture::{
    Format, ReadError,
    annotate::{AnnotateError, Annotated, Comments, annotate as copy},
};
use teetap_proxy::io::files::{PATIENCE, PipeWriter, is_pipe};
use teetap_wire::{counted, printable_path};

use super::{
    file,
    new_file::{self, cannot_write, persist},
    twice::twice,
};
use crate::{
    cli::{Contents, Quiet},
    exit::{Exit, Failure},
    output::print_status,
};

/// Runs the command.
///
/// # Errors
/// A file cannot be opened or written, or is not a capture; no output is left then. The readable part of a damaged
/// capture is written, with a warning.
pub(super) fn annotate(
    quiet: Quiet,
    contents: &Contents,
    path: &Path,
    output: &Path,
) -> anyhow::Result<Exit> {
    let registry = contents.registry()?;
    let shown = printable_path(file::shown(path));
    let refused = |error: ReadError| Failure::damaged(format!("{shown}: {error}"));
    let mut input = file::open(quiet, path)?;
    let format = Format::detect(&mut input.bytes).map_err(refused)?;
    check(format, &shown, output)?;
    let cannot = |error: io::Error| Failure::network(format!("cannot read {shown}: {error}"));
    let (first, input) = twice(input, path).map_err(cannot)?;
    let comments = Comments::new(first, format, registry, contents.secrets()).map_err(refused)?;
    let mut done = Annotated::default();
    let damage = match write(input.bytes, comments, output, &mut done)? {
        Written::All => None,
        Written::Unread => return Ok(Exit::Ok),
        Written::Part(error) if done.packets == 0 => return Err(refused(error).into()),
        Written::Part(error) => Some(error),
    };
    if let Some(progress) = input.progress {
        progress.end();
    }
    if let Some(error) = &damage {
        print_status(&format!("teetap: warning: {shown}: {error}"));
    }
    print_status(&summary(&done, output));
    Ok(if damage.is_none() { Exit::Ok } else { Exit::Damaged })
}

/// Refuses a recording without packets, and the name of another format.
fn check(format: Format, shown: &str, output: &Path) -> Result<(), Failure> {
    if format == Format::JsonLines {
        return Err(Failure::usage(format!(
            "cannot write {shown} as a capture: JSON lines have no packets; record to a .pcapng file"
        )));
    }
    let is_capture = output
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("pcapng"));
    if is_capture || output == Path::new(file::STDIN) || is_pipe(output) {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "cannot write {}: comments need pcapng; name a .pcapng file",
        printable_path(output)
    )))
}

/// How much of the capture was written.
enum Written {
    All,
    /// The part before the damage.
    Part(ReadError),
    /// As much as the reader of the pipe wanted.
    Unread,
}

/// Writes the capture to a new file, to a pipe or to stdout.
fn write(
    input: impl BufRead,
    comments: Comments<impl BufRead>,
    output: &Path,
    done: &mut Annotated,
) -> Result<Written, Failure> {
    let pipe =
        |error: &dyn Display| Failure::network(format!("cannot write {}: {error}", printable_path(output)));
    if output == Path::new(file::STDIN) {
        let stdout = io::stdout();
        if stdout.is_terminal() {
            return Err(Failure::usage(
                "cannot write a capture to a terminal: pipe it to a program, or name a file",
            ));
        }
        let to_stdout = |error: &io::Error| Failure::network(format!("cannot write to stdout: {error}"));
        return read_by_other(copy(input, comments, stdout.lock(), done), to_stdout);
    }
    if is_pipe(output) {
        let opened = PipeWriter::open(output, PATIENCE).map_err(|error| pipe(&error))?;
        return read_by_other(copy(input, comments, opened, done), |error| pipe(error));
    }
    let file = new_file::create(output)?;
    let written = match copy(input, comments, file.as_file(), done) {
        Ok(()) => Written::All,
        Err(AnnotateError::Read(error)) if done.packets == 0 => return Ok(Written::Part(error)),
        Err(AnnotateError::Read(error)) => Written::Part(error),
        Err(AnnotateError::Write(error)) => return Err(cannot_write(output, &error)),
    };
    // Removes an incomplete block before the damage.
    let whole = file.as_file().set_len(done.bytes);
    whole.map_err(|error| cannot_write(output, &error))?;
    persist(file, output)?;
    Ok(written)
}

/// Returns how much another program has read.
fn read_by_other(
    result: Result<(), AnnotateError>,
    failed: impl FnOnce(&io::Error) -> Failure,
) -> Result<Written, Failure> {
    match result {
        Ok(()) => Ok(Written::All),
        Err(AnnotateError::Read(error)) => Ok(Written::Part(error)),
        Err(AnnotateError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Written::Unread),
        Err(AnnotateError::Write(error)) => Err(failed(&error)),
    }
}

/// Returns the summary as a line.
fn summary(done: &Annotated, output: &Path) -> String {
    let output = match output == Path::new(file::STDIN) {
        true => "stdout".to_owned(),
        false => printable_path(output),
    };
    let mut parts = vec![
        format!("{} written to {output}", counted(done.packets, "packet")),
        counted(done.commented, "new comment").to_string(),
    ];
    if done.had > 0 {
        parts.push(format!("{} had their comment", done.had));
    }
    if done.unplaced > 0 {
        parts.push(format!("{} without a place for a comment", done.unplaced));
    }
    format!("teetap: {}", parts.join(", "))
}
