//! `teetap open FILE` prints a recording as a live run would; `teetap grep EXPR FILE` prints the messages that match.

use std::{
    path::Path,
    time::{Duration, UNIX_EPOCH},
};

use teetap_capture::{
    Item, ReadError,
    reading::{Recording, ahead::Reader},
};
use teetap_inspect::{Decoder, Style, Viewer};
use teetap_proxy::{
    io::Seen,
    session::{Event, Level, Time},
};
use teetap_rules::Filter;
use teetap_wire::{printable, printable_path};

use super::{
    annotate::annotate,
    file::{self, Input},
    setup::style,
};
use crate::{
    cli::{OpenOptions, Range, Search, Show},
    exit::{Exit, Failure},
    filters,
    output::{Extent, Filters, Output, decoder},
    review::review,
    run::Opened,
};

/// Number of items to print before stdout is flushed.
const BATCH: usize = 256;

/// Runs the command: prints the recording, shows it on the screen, or writes it again with comments.
///
/// # Errors
/// The command line is wrong, or the file cannot be opened or is not a recording. A damaged recording is printed up to
/// the damage, with a warning before the summary.
pub(crate) fn open(options: &OpenOptions) -> anyhow::Result<Exit> {
    let OpenOptions {
        filter,
        range,
        show,
        screen,
        annotated,
        file: path,
    } = options;
    if let Some(output) = annotated {
        return annotate(show.quiet, &show.contents, path, output);
    }
    if screen.tui {
        let registry = show.contents.registry()?;
        filters::parse("--filter", filter.filter.as_deref(), registry)?;
        return review(screen, style(show), filter.filter.as_deref(), registry, path);
    }
    let registry = show.contents.registry()?;
    let plan = Plan {
        filter: filters::parse("--filter", filter.filter.as_deref(), registry)?,
        style: style(show),
        range: *range,
        search: None,
        nothing: Exit::Ok,
    };
    show_all(show, path, plan)
}

/// Runs `teetap grep`. Like grep, exits with 1 if nothing matches.
pub(crate) fn grep(
    search: Search,
    range: Range,
    show: &Show,
    expr: &str,
    path: &Path,
) -> anyhow::Result<Exit> {
    let registry = show.contents.registry()?;
    let extent = search.extent();
    if Path::new(expr).is_file() && !path.exists() {
        let text = format!(
            "cannot search with '{expr}': it is a file; write teetap grep EXPR FILE",
            expr = printable(expr.as_bytes())
        );
        return Err(Failure::usage(text).into());
    }
    let plan = Plan {
        filter: filters::parse("grep", Some(expr), registry)?,
        style: Style {
            matches_only: true,
            viewer: if extent.has_context() {
                Viewer::Everything
            } else {
                Viewer::Run
            },
            ..style(show)
        },
        range,
        search: (extent != Extent::default()).then_some(extent),
        nothing: Exit::Failed,
    };
    show_all(show, path, plan)
}

/// The part of a recording that is printed, and how.
struct Plan {
    filter: Option<Filter>,
    style: Style,
    range: Range,
    search: Option<Extent>,
    /// Exit code if nothing matches.
    nothing: Exit,
}

/// Prints a recording as `teetap open` does, without a filter.
pub(super) fn show_recording(show: &Show, input: Input, path: &Path) -> anyhow::Result<Exit> {
    let plan = Plan {
        filter: None,
        style: style(show),
        range: Range::default(),
        search: None,
        nothing: Exit::Ok,
    };
    show_input(show, input, path, plan)
}

/// Prints the recording in a file.
fn show_all(options: &Show, path: &Path, plan: Plan) -> anyhow::Result<Exit> {
    let input = file::open(options.quiet, path)?;
    show_input(options, input, file::shown(path), plan)
}

fn show_input(options: &Show, input: Input, path: &Path, plan: Plan) -> anyhow::Result<Exit> {
    let Plan {
        filter,
        style,
        range,
        search,
        nothing,
    } = plan;
    let registry = options.contents.registry()?;
    let refused = |error: ReadError| Failure::damaged(format!("{}: {error}", printable_path(path)));
    let filters = Filters {
        show: filter,
        until: filters::parse("--until", options.until.as_deref(), registry)?,
        fail_on: None,
        save_on: Vec::new(),
    };
    let may_end = search.is_some() || filters.until.is_some();
    let mut output = Output::new(style, &filters);
    output.form(options.lines, !style.matches_only, input.is_live);
    let mut decoder = decoder(style, registry, &filters);
    if let Some(extent) = search {
        output.search(extent);
    }
    if let Some(progress) = input.progress {
        output.expect_progress(progress);
    }
    let recording = Recording::open(input.bytes).map_err(refused)?;
    let mut recording = match input.is_live || may_end {
        true => Reader::Direct(recording),
        false => Reader::ahead(recording),
    };
    let batch = if input.is_live { 1 } else { BATCH };
    let mut shown = 0;
    let damage = loop {
        match recording.read() {
            Ok(Some(item)) => {
                if let Some(event) = show(item, path, range, &mut output, &mut decoder) {
                    recording.done(event);
                }
            }
            Ok(None) => break None,
            // No part of the file is a recording.
            Err(error @ ReadError::Unknown(_)) if shown <= 1 => return Err(refused(error).into()),
            Err(error) => break Some(error),
        }
        shown += 1;
        if output.ending().is_some() || output.has_found_all() {
            break None;
        }
        if shown % batch == 0 && !output.flush()? {
            return Ok(Exit::Ok);
        }
    };
    let exit = match damage {
        Some(_) => Exit::Damaged,
        None if output.waits() => Exit::Timeout,
        None if output.matches() == 0 => nothing,
        None => Exit::Ok,
    };
    let tally = recording.tally();
    end_joins(tally.until, range, &mut output, &mut decoder);
    output.end_folds();
    output.count();
    // The last lines are printed before the warning.
    output.flush()?;
    if let Some(error) = damage {
        output.log(
            tally.until,
            Level::Warning,
            &format!("{}: {error}", printable_path(path)),
        );
    }
    output.tally(&tally, exit);
    output.flush()?;
    Ok(exit)
}

/// Prints the logins that stalled before this time.
fn show_due(before: Time, range: Range, output: &mut Output, decoder: &mut Decoder) {
    while let Some(due) = decoder.due(before) {
        if range.contains(due.event.at) {
            output.event(&due);
        }
    }
}

/// Ends the joins that are still in progress at the end of a run.
fn end_joins(at: Time, range: Range, output: &mut Output, decoder: &mut Decoder) {
    show_due(at, range, output, decoder);
    let joins = decoder.finish(at);
    joins.iter().for_each(|join| output.joined(join));
}

/// Prints an item. Returns its event, which the recording may reuse.
fn show(item: Item, path: &Path, range: Range, output: &mut Output, decoder: &mut Decoder) -> Option<Event> {
    match item {
        Item::Start { wall, run } => {
            decoder.restart();
            output.opened(&Opened {
                file: path,
                wall: UNIX_EPOCH + Duration::from_nanos(wall),
                run: run.as_ref(),
            });
        }
        Item::Event(event) => {
            let at = event.at;
            show_due(at, range, output, decoder);
            let decoded = decoder.decode(event);
            if range.contains(at) {
                output.event(&decoded);
            }
            if let Some(reading) = decoded.reading {
                decoder.recycle(reading);
            }
            return Some(decoded.event);
        }
        Item::Log { at, level, text } => {
            decoder.log(&text);
            if range.contains(at) {
                output.recorded_log(at, level, &text);
            }
        }
        Item::Gap { at, lost } => {
            decoder.gap();
            if range.contains(at) {
                output.seen(&Seen::Gap(lost), at);
            }
        }
    }
    None
}
