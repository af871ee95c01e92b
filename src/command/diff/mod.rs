//! `teetap diff A [B]`: two sessions compared by message and field.

mod json;
mod lists;
mod reference;
mod source;
mod text;

use teetap_capture::{ReadError, reading::Recording};
use teetap_inspect::diff::{Collector, Comparison, DiffSettings, Ignore, Options, Side, View, compare};
use teetap_wire::{Side as Peer, counted, def::Registry, printable};

use super::file;
use crate::{
    cli::{DiffOptions, Quiet},
    exit::{Exit, Failure},
    filters, output,
};
use source::Source;

/// A side, and the recording that it was read from.
struct Read {
    source: Source,
    side: Side,
    /// Error that ended the reading before the end of the recording.
    damage: Option<ReadError>,
}

/// Both sides and the result of their comparison.
struct Outcome {
    sides: [Read; 2],
    comparison: Comparison,
    exit: Exit,
    /// True if messages after the join are not compared, because a side is a reference.
    join_only: bool,
}

/// Runs the command.
///
/// # Errors
/// The command line is wrong, or a file cannot be opened, is not a recording, or has no such session.
pub(crate) fn diff(options: &DiffOptions) -> anyhow::Result<Exit> {
    let registry = options.contents.registry()?;
    let mut ignore = Ignore::default();
    for name in &options.ignore {
        let unknown =
            |error| Failure::usage(format!("cannot ignore '{}': {error}", printable(name.as_bytes())));
        ignore.add(name, registry).map_err(unknown)?;
    }
    let filter = filters::parse("--filter", options.filter.filter.as_deref(), registry)?;
    let until = filters::parse("--until", options.until.as_deref(), registry)?;
    let settings = DiffSettings {
        ignore,
        secrets: options.contents.secrets(),
        each: options.verbose > 0,
        ..DiffSettings::default()
    };
    let [a, b] = sources(options)?;
    let join_only = until.is_none() && [&a, &b].iter().any(|source| source.reference.is_some());
    let read = |source| {
        let wanted = Options {
            filter: filter.clone(),
            until: until.clone(),
            ignore: settings.ignore.clone(),
            secrets: settings.secrets,
            join_only,
            ..Options::default()
        };
        read(options.quiet, registry, source, wanted)
    };
    let (a, b) = (read(a)?, read(b)?);
    let settings = DiffSettings {
        is_one_session: a.source.is_other_leg(&b.source) && a.side.session == b.side.session,
        join_only,
        ..settings
    };
    let comparison = compare(&a.side, &b.side, &settings);
    let sides = [a, b];
    let exit = exit(&sides, &comparison);
    let result = Outcome {
        sides,
        comparison,
        exit,
        join_only,
    };
    if options.json.json {
        output::write_out(json::lines(&result)?.as_bytes())?;
    } else {
        output::write_out(text::text(&result, options.verbose > 0).as_bytes())?;
    }
    warn(&result, options.until.as_deref());
    Ok(exit)
}

/// Returns the recordings of both sides.
fn sources(options: &DiffOptions) -> Result<[Source; 2], Failure> {
    let a = Source::new(&options.a)?;
    let Some(b) = &options.b else {
        if a.reference.is_some() {
            return Err(Failure::usage(
                "a reference has one leg; name a recording to compare it with",
            ));
        }
        if a.view != View::Peers {
            return Err(Failure::usage(
                "nothing to compare the leg with; leave out @client or @server to compare both legs",
            ));
        }
        return unlike_stdin([Peer::Client, Peer::Server].map(|side| a.on(View::Leg(side))));
    };
    unlike_stdin([a, Source::new(b)?])
}

/// Refuses to read stdin twice.
fn unlike_stdin(sources: [Source; 2]) -> Result<[Source; 2], Failure> {
    if sources.iter().all(Source::is_stdin) {
        return Err(Failure::usage(
            "cannot read both sides from stdin; write it to a file",
        ));
    }
    Ok(sources)
}

/// Reads one side.
fn read(quiet: Quiet, registry: &'static Registry, source: Source, options: Options) -> anyhow::Result<Read> {
    let input = match source.reference {
        Some(reference) => file::embedded(reference.recording)?,
        None => file::open(quiet, &source.path)?,
    };
    let refused = |error: &dyn std::fmt::Display| Failure::damaged(format!("{}: {error}", source.file()));
    let mut recording = Recording::open(input.bytes).map_err(|error| refused(&error))?;
    let (session, view) = (source.session, source.view);
    let mut collector = Collector::new(
        Options {
            session,
            view,
            ..options
        },
        registry,
    );
    let mut items = 0;
    let damage = loop {
        match recording.read() {
            Ok(Some(item)) => collector.item(item),
            Ok(None) => break None,
            // No part of the file is a recording.
            Err(error @ ReadError::Unknown(_)) if items <= 1 => return Err(refused(&error).into()),
            Err(error) => break Some(error),
        }
        items += 1;
        if collector.is_done() {
            break None;
        }
    };
    let side = collector.finish();
    let side = side.map_err(|error| Failure::usage(format!("cannot compare {}: {error}", source.name())))?;
    Ok(Read { source, side, damage })
}

fn exit(sides: &[Read; 2], comparison: &Comparison) -> Exit {
    let [a, b] = sides;
    if sides.iter().any(|side| side.damage.is_some()) {
        Exit::Damaged
    } else if (a.side.reached, b.side.reached) == (Some(false), Some(false)) {
        Exit::Timeout
    } else if comparison.is_same() && a.side.reached == b.side.reached {
        Exit::Ok
    } else {
        Exit::Failed
    }
}

/// Warns of everything that makes the comparison incomplete.
fn warn(result: &Outcome, until: Option<&str>) {
    for read in &result.sides {
        let (name, side) = (read.source.name(), &read.side);
        let warning = |text: String| output::print_status(&format!("teetap: warning: {name}: {text}"));
        if let Some(error) = &read.damage {
            warning(error.to_string());
        }
        if let (Some(false), Some(until)) = (side.reached, until) {
            warning(format!(
                "no message matches --until '{}'",
                printable(until.as_bytes())
            ));
        }
        if side.lost > 0 {
            warning(format!(
                "{} missing in the recording",
                counted(side.lost, "event")
            ));
        }
        let left = [
            (side.left.messages, "message"),
            (side.left.inputs, "input"),
            (side.left.snapshots, "snapshot"),
        ];
        for (count, what) in left.into_iter().filter(|(count, _)| *count > 0) {
            let count = counted(count, what);
            warning(format!(
                "too long: the last {count} not compared; use --filter or --until"
            ));
        }
    }
}
