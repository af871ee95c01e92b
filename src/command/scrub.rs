//! `teetap scrub FILE -o OUT`: redacts secrets and addresses.

use std::{io, path::Path};

use teetap_capture::{
    Format, ReadError,
    scrub::{Keep, Opened, ScrubError, Scrubbed, Scrubber},
};
use teetap_wire::printable_path;

use super::{
    file,
    new_file::{self, cannot_write, persist},
    twice::twice,
};
use crate::{
    cli::{Definitions, Quiet},
    exit::{Exit, Failure},
    output,
};

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
    let written = new_file::create(output)?;
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
