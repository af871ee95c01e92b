//! `teetap check RULES --against FILE`: the rules tried on a recording.

use std::{fmt::Write as _, path::Path};

use teetap_capture::{Item, ReadError, reading::Recording};
use teetap_inspect::dry_run::{Attempt, DryRun};
use teetap_rules::Program;
use teetap_wire::{Dir, def::Registry, printable, printable_path};

use super::file;
use crate::{
    cli::Quiet,
    exit::{Exit, Failure},
    output,
};

/// Bytes of output to gather before they are printed.
const BATCH: usize = 64 << 10;

/// Tries a program on a recording. Prints its effect on each message, then the hits of each rule.
///
/// # Errors
/// The file cannot be opened, or no part of it is a recording.
pub(super) fn against(
    program: &Program,
    registry: &'static Registry,
    quiet: Quiet,
    path: &Path,
) -> anyhow::Result<Exit> {
    let input = file::open(quiet, path)?;
    let shown = printable_path(file::shown(path));
    let refused = |error: ReadError| Failure::damaged(format!("{shown}: {error}"));
    let mut recording = Recording::open(input.bytes).map_err(refused)?;
    let seed = program.seed().unwrap_or_default();
    let mut dry_run = DryRun::new(program.clone(), registry, seed);
    let mut page = String::new();
    let mut read = 0;
    let damage = loop {
        match recording.read() {
            Ok(Some(Item::Start { .. })) => dry_run.restart(),
            Ok(Some(Item::Event(event))) => {
                for attempt in dry_run.event(&event) {
                    if !quiet.quiet {
                        write_attempt(&mut page, &dry_run, &attempt)?;
                    }
                }
            }
            Ok(Some(_)) => {}
            Ok(None) => break None,
            Err(error @ ReadError::Unknown(_)) if read <= 1 => return Err(refused(error).into()),
            Err(error) => break Some(error),
        }
        read += 1;
        if page.len() >= BATCH {
            if !output::print(&page)? {
                return Ok(Exit::Ok);
            }
            page.clear();
        }
    };
    write_hits(&mut page, program, &dry_run, seed)?;
    output::print(&page)?;
    Ok(match damage {
        Some(error) => {
            output::print_status(&format!("teetap: {}", refused(error)));
            Exit::Damaged
        }
        None => Exit::Ok,
    })
}

fn write_attempt(page: &mut String, dry_run: &DryRun, attempt: &Attempt) -> std::fmt::Result {
    let Attempt {
        at,
        session,
        message,
        rules,
        actions,
    } = attempt;
    write!(page, "{:>8.3} #{:<2} ", at.as_secs_f64(), session.0)?;
    match message {
        Some(message) => {
            let way = match message.dir {
                Dir::C2s => "c→s",
                Dir::S2c => "s→c",
            };
            let seq = message.seq.map_or("-".to_owned(), |seq| seq.get().to_string());
            write!(page, "{way} {seq:>4} {:<16} ", message.name)?;
        }
        None => write!(page, "{:<25} ", "at a time")?,
    }
    write!(page, "{}", printable(actions.join(", ").as_bytes()))?;
    for rule in rules {
        write!(page, " [{}]", dry_run.rule(*rule))?;
    }
    writeln!(page)
}

fn write_hits(page: &mut String, program: &Program, dry_run: &DryRun, seed: u64) -> std::fmt::Result {
    let report = dry_run.report();
    writeln!(page, "    hits rule (seed {seed})")?;
    for rule in &report.rules {
        let name = rule
            .name
            .as_ref()
            .map(|name| format!("{name}: "))
            .unwrap_or_default();
        writeln!(page, "{:>8} {name}{}", rule.hits.count, rule.text)?;
    }
    if !program.report(&Default::default()).lines.is_empty() {
        writeln!(page, "link lines are not tried: a recording has no link")?;
    }
    Ok(())
}
