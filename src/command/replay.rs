//! `teetap replay --check FILE`: runs an input log through a fresh core and compares what it sends.

use std::{fs::File, io::BufReader, path::Path};

use teetap_proxy::{
    io::{Clock, record},
    session::Level,
};

use super::proxy::style;
use crate::{
    cli::Options,
    exit::{Exit, Failure},
    output::Output,
};

/// Bytes read from the file at once.
const BLOCK: usize = 256 << 10;

/// Runs it.
///
/// # Errors
/// [`Failure`]s: without `check` of the command line, for a file that cannot be opened, and for one that is damaged.
pub(crate) fn replay(options: &Options, check: bool, file: &Path) -> anyhow::Result<Exit> {
    if !check {
        let text = "replay compares an input log with what this teetap makes of it: say so with --check";
        return Err(Failure::usage(text).into());
    }
    let log = File::open(file)
        .map_err(|error| Failure::network(format!("cannot open {}: {error}", file.display())))?;
    let clock = Clock::start();
    let checked = record::check(BufReader::with_capacity(BLOCK, log)).map_err(Failure::damaged)?;
    let mut output = Output::new(style(options), options.registry()?);
    output.replay(&checked);
    if let Some(cut) = &checked.cut {
        let text = format!("the input log does not hold the whole run: {cut}");
        output.log(clock.now(), Level::Warning, &text);
    }
    let exit = if checked.difference.is_none() {
        Exit::Ok
    } else {
        let (theirs, ours) = (checked.header.version.as_str(), env!("CARGO_PKG_VERSION"));
        if theirs != ours {
            let text = format!("the log is of teetap {theirs}, this is {ours}: the difference may be meant");
            output.log(clock.now(), Level::Warning, &text);
        }
        Exit::Failed
    };
    output.flush()?;
    Ok(exit)
}
