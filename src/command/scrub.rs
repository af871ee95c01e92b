//! `teetap scrub FILE -o OUT`: redacts secrets and addresses.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Read},
    os::unix::fs::FileExt as _,
    path::Path,
};

use teetap_capture::{
    Format, ReadError,
    scrub::{Keep, Opened, ScrubError, Scrubbed, Scrubber},
};
use teetap_wire::printable_path;
use tempfile::NamedTempFile;

use super::file;
use crate::{
    cli::{Definitions, Quiet},
    exit::{Exit, Failure},
    output,
};

/// Bytes read at once.
const BLOCK: usize = 256 << 10;

/// Runs the command.
///
/// # Errors
/// A file cannot be opened or written, or is not a recording; no output is left then. The readable part of a damaged
/// recording is scrubbed, with a warning before the summary.
pub(crate) fn scrub(
    quiet: Quiet,
    definitions: &Definitions,
    path: &Path,
    output: &Path,
    keep: Keep,
) -> anyhow::Result<Exit> {
    let registry = definitions.registry()?;
    let input = file::open(quiet, path)?;
    let shown = printable_path(file::shown(path));
    let refused = |error: ReadError| Failure::damaged(format!("{shown}: {error}"));
    let mut scrubber = Scrubber::new(registry, keep);
    let mut input = input;
    if keep.text {
        // Refuses an endless device before it is copied.
        Format::detect(&mut input.bytes).map_err(refused)?;
        // Texts of rules precede the traffic that shows which of them are secrets, so the file is read twice.
        let cannot = |error: io::Error| Failure::network(format!("cannot read {shown}: {error}"));
        let (first, second) = twice(input, path).map_err(cannot)?;
        let found = Opened::detect(first).map_err(refused)?;
        let mut finder = Scrubber::new(registry, keep);
        // The second pass reports damage.
        let _damage = found.1.scrub(&mut finder, &mut io::sink());
        scrubber = scrubber.with_secrets(finder.into_secrets());
        input = second;
    }
    let progress = input.progress;
    let (format, opened) = Opened::detect(input.bytes).map_err(refused)?;
    check_ending(output, format)?;
    let written = create(output)?;
    let damage = match opened.scrub(&mut scrubber, &mut written.as_file()) {
        Ok(()) => None,
        // No packet could be read.
        Err(ScrubError::Read(error)) if scrubber.tally().packets == 0 => return Err(refused(error).into()),
        Err(ScrubError::Read(error)) => Some(error),
        Err(ScrubError::Write(error)) => return Err(cannot_write(output, &error).into()),
    };
    persist(written, output)?;
    if let Some(progress) = progress {
        progress.end();
    }
    if let Some(error) = &damage {
        output::print_status(&format!("teetap: warning: {shown}: {error}"));
    }
    output::print_status(&summary(&scrubber.tally(), output));
    Ok(if damage.is_none() { Exit::Ok } else { Exit::Damaged })
}

/// Refuses an output name with the ending of another format, since the output has the format of the input.
fn check_ending(path: &Path, format: Format) -> Result<(), Failure> {
    let ending = path.extension().and_then(|ending| ending.to_str());
    let other = Format::ALL.iter().find(|other| Some(other.ending()) == ending);
    if other.is_none_or(|other| *other == format) {
        return Ok(());
    }
    let text = format!(
        "cannot write {}: scrub keeps the format of the input; name a .{} file",
        printable_path(path),
        format.ending()
    );
    Err(Failure::usage(text))
}

/// Creates a temporary file beside the output. It is renamed once it is complete, so that an interrupted run creates no
/// partial output.
///
/// The file has mode 0600, like all recordings.
fn create(path: &Path) -> Result<NamedTempFile, Failure> {
    if path == Path::new("-") {
        return Err(Failure::usage("cannot write to stdout; name a file"));
    }
    if fs::symlink_metadata(path).is_ok() {
        return Err(exists(path));
    }
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    tempfile::Builder::new()
        .prefix(&format!("{name}."))
        .suffix(".part")
        .tempfile_in(folder)
        .map_err(|error| cannot_write(path, &error))
}

/// Renames the temporary file to the output. Fails if the output exists.
fn persist(written: NamedTempFile, path: &Path) -> Result<(), Failure> {
    match written.persist_noclobber(path) {
        Ok(_) => Ok(()),
        Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => Err(exists(path)),
        Err(failed) => Err(cannot_write(path, &failed.error)),
    }
}

fn exists(path: &Path) -> Failure {
    Failure::usage(format!("{} exists; name another file", printable_path(path)))
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    let error = error.to_string();
    // Leaves out the name of the temporary file.
    let why = error.split_once(" at path ").map_or(&*error, |(why, _)| why);
    Failure::network(format!("cannot write {}: {why}", printable_path(path)))
}

/// Returns two readers of a recording. Stdin and pipes are copied to an unnamed temporary file first.
fn twice(mut input: file::Input, path: &Path) -> io::Result<(impl BufRead, file::Input)> {
    let first = if input.is_live {
        let mut copy = tempfile::tempfile()?;
        io::copy(&mut input.bytes, &mut copy)?;
        let second = copy.try_clone()?;
        input = file::of_file(second)?;
        copy
    } else {
        File::open(path)?
    };
    // Duplicated descriptors share a file position, so the first reader keeps a position of its own.
    let first = BufReader::with_capacity(BLOCK, At { file: first, at: 0 });
    Ok((first, input))
}

/// Reader of a file from its start, independent of the position of other descriptors.
struct At {
    file: File,
    at: u64,
}

impl Read for At {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Returns the summary as a line.
fn summary(tally: &Scrubbed, output: &Path) -> String {
    let mut parts = vec![
        count(tally.secrets, "secret", "secrets"),
        count(tally.texts, "text", "texts"),
        count(tally.addresses, "IP address", "IP addresses"),
    ];
    if tally.unknown > 0 {
        let what = count(tally.unknown, "message that is", "messages that are");
        parts.push(format!("{what} not fully known"));
    }
    if tally.blanked > 0 {
        parts.push(format!(
            "{} that cannot be read",
            count(tally.blanked, "datagram", "datagrams")
        ));
    }
    let left_out: Vec<String> = [
        (tally.other, "not UDP"),
        (tally.foreign, "not of the game"),
        (tally.fragments, "fragments"),
        (tally.broken, "broken"),
        (tally.cut, "not recorded whole"),
        (tally.unreadable, "unreadable"),
        (tally.crowded, "of too many addresses"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{count} {what}"))
    .collect();
    let mut line = format!(
        "teetap: {} written to {}; replaced {}",
        count(tally.packets, "packet", "packets"),
        printable_path(output),
        parts.join(", ")
    );
    if !left_out.is_empty() {
        line.push_str("; left out ");
        line.push_str(&left_out.join(", "));
    }
    line
}

fn count(count: u64, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Another program may create the file while this one writes.
    #[test]
    fn a_file_that_exists_at_the_end_is_kept_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.pcapng");
        let new = || NamedTempFile::new_in(folder.path()).unwrap();
        assert!(persist(new(), &path).is_ok(), "the name is free");
        fs::write(&path, "of others").unwrap();
        let error = persist(new(), &path).unwrap_err().to_string();
        assert_eq!(error, format!("{} exists; name another file", path.display()));
        assert_eq!(fs::read_to_string(&path).unwrap(), "of others");
    }
}
