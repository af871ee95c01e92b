//! `teetap judge FILE`: the findings of a recording, ranked.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use teetap_capture::{
    Item, LegCapture, ReadError, Tally,
    reading::{Recording, ahead::Reader},
};
use teetap_engine::rules;
use teetap_harness::{
    junit::{Case, Outcome, Report, Suite},
    step_summary::StepSummary,
};
use teetap_inspect::{
    Decoder, Style,
    judge::{Finding, Findings, Ignored, Judge, Topic, Wanted, named},
};
use teetap_proxy::session::Level;
use teetap_wire::{
    Severity, counted,
    def::{Registry, Secrets},
    printable_path,
};

use super::file;
use crate::{
    cli::JudgeOptions,
    exit::{Exit, Failure},
    output::{Filters, Listing, Output, print},
    run::Opened,
};

/// Result of reading a recording.
struct Read {
    findings: Findings,
    tally: Tally,
    /// Start time of the recording.
    wall: SystemTime,
    /// True if another program made the recording: datagrams have the numbers of its packets.
    is_foreign: bool,
    /// The last warning about the recording itself.
    warning: Option<String>,
    damage: Option<ReadError>,
}

impl Read {
    /// Refuses a capture that contains no datagram of the game, since a result without findings would be misleading.
    fn must_have_traffic(&self, file: &Path) -> Result<(), Failure> {
        let Tally {
            traffic,
            foreign,
            other,
            ..
        } = self.tally;
        let has_any = traffic.iter().any(|traffic| traffic.datagrams > 0) || !self.findings.list.is_empty();
        // A recording of teetap may be of a run without clients.
        let is_own = !self.is_foreign && self.wall != UNIX_EPOCH;
        if has_any || is_own || self.damage.is_some() {
            return Ok(());
        }
        let path = printable_path(file::shown(file));
        let why = match (&self.warning, foreign + other) {
            (Some(warning), _) => format!(": {warning}"),
            (None, 0) => ": it is empty".to_owned(),
            (None, others) => format!(": {}", counted(others, "other packet")),
        };
        Err(Failure::usage(format!(
            "cannot judge {path}: it has no datagram of the game{why}"
        )))
    }
}

/// Runs the command: prints the findings, and writes the report.
///
/// # Errors
/// The command line is wrong, or a file cannot be opened or is not a recording.
pub(crate) fn judge(options: &JudgeOptions) -> anyhow::Result<Exit> {
    let wanted = wanted(options)?;
    let registry = options.contents.registry()?;
    let report = options.junit.as_deref().map(Report::create);
    let report = report.transpose().map_err(Failure::report)?;
    let summary = options.summary.as_deref().map(StepSummary::open);
    let summary = summary.transpose().map_err(Failure::network)?;
    let style = Style {
        json: options.json.json,
        quiet: options.quiet.quiet,
        secrets: options.contents.secrets(),
        ..Style::default()
    };
    let mut output = Output::new(style, &Filters::default());
    let mut read = read(options, style.secrets, registry, &mut output)?;
    read.must_have_traffic(&options.file)?;
    read.findings.retain(|finding| wanted.includes(finding));
    if !options.verbose && wanted.only.is_empty() {
        read.findings.ends.clear();
    }
    let exit = exit(&read);
    if let Some(error) = &read.damage {
        let path = printable_path(file::shown(&options.file));
        let text = format!("{path}: {error}; the findings are those before it");
        output.log(read.tally.until, Level::Warning, &text);
    }
    if style.json {
        output.findings(&read.findings, read.is_foreign && options.leg.is_none());
    } else {
        let listing = Listing {
            findings: &read.findings,
            file: &options.file,
            frames: read.is_foreign && options.leg.is_none(),
            all: options.verbose,
            is_damaged: read.damage.is_some(),
        };
        print(&listing.text())?;
    }
    output.judged(&read.tally, &read.findings, exit);
    output.flush()?;
    let suite = suite(options, &read, exit);
    if let Some(report) = report {
        report.write(&suite).map_err(Failure::network)?;
    }
    if let Some(summary) = summary {
        summary.append(&suite).map_err(Failure::network)?;
    }
    Ok(exit)
}

/// Reads the whole recording.
fn read(
    options: &JudgeOptions,
    secrets: Secrets,
    registry: &'static Registry,
    output: &mut Output,
) -> Result<Read, Failure> {
    let input = file::open(options.quiet, &options.file)?;
    let path = file::shown(&options.file);
    let refused = |error: ReadError| Failure::damaged(format!("{}: {error}", printable_path(path)));
    if let Some(progress) = input.progress {
        output.expect_progress(progress);
    }
    let recording = Recording::open(input.bytes).map_err(refused)?;
    if let Some(leg) = options.leg {
        let Some(capture) = LegCapture::open(recording, leg.into()).map_err(refused)? else {
            return Err(Failure::usage(format!(
                "cannot judge a leg of {}: another program made the capture, which has only the legs that it shows; leave out --leg",
                printable_path(path)
            )));
        };
        let capture = BufReader::new(capture);
        let capture = Recording::open(Box::new(capture) as Box<dyn BufRead + Send>).map_err(refused)?;
        return collect(
            Reader::Direct(capture),
            (secrets, registry),
            path,
            output,
            &refused,
        );
    }
    let recording = match input.is_live {
        true => Reader::Direct(recording),
        false => Reader::ahead(recording),
    };
    collect(recording, (secrets, registry), path, output, &refused)
}

/// Reads all items of a recording.
fn collect<R: BufRead + Send + 'static>(
    mut recording: Reader<R>,
    (secrets, registry): (Secrets, &'static Registry),
    path: &Path,
    output: &mut Output,
    refused: &dyn Fn(ReadError) -> Failure,
) -> Result<Read, Failure> {
    let mut decoder = Decoder::new(registry);
    decoder.ignore_gists();
    decoder.ignore_items();
    decoder.ignore_names();
    let mut judge = Judge::new(secrets, decoder.stated().clone());
    let (mut wall, mut is_foreign, mut shown) = (UNIX_EPOCH, false, 0_u64);
    let mut warning = None;
    let damage = loop {
        match recording.read() {
            Ok(Some(item)) => {
                if let Item::Start { wall: start, run } = &item {
                    wall = UNIX_EPOCH + Duration::from_nanos(*start);
                    is_foreign |= run.is_none();
                    let run = run.as_ref();
                    output.opened(&Opened {
                        file: path,
                        wall,
                        run,
                    });
                }
                if let Item::Log {
                    level: Level::Warning,
                    text,
                    ..
                } = &item
                {
                    warning = Some(text.clone());
                }
                judge.record(item, &mut decoder, |event| recording.done(event));
            }
            Ok(None) => break None,
            // No part of the file is a recording.
            Err(error @ ReadError::Unknown(_)) if shown <= 1 => return Err(refused(error)),
            Err(error) => break Some(error),
        }
        shown += 1;
    };
    judge.finish(&mut decoder);
    Ok(Read {
        findings: judge.findings(),
        tally: recording.tally(),
        wall,
        is_foreign,
        warning,
        damage,
    })
}

fn exit(read: &Read) -> Exit {
    match &read.damage {
        Some(_) => Exit::Damaged,
        None if read.findings.counts().errors > 0 => Exit::Failed,
        None => Exit::Ok,
    }
}

/// Returns the findings that the options select.
fn wanted(options: &JudgeOptions) -> Result<Wanted, Failure> {
    let topics = |option: &str, codes: &[String]| -> Result<Vec<Topic>, Failure> {
        let codes = codes.iter().map(|code| named(code));
        let codes = codes.collect::<Result<_, _>>();
        codes.map_err(|error| Failure::usage(format!("invalid value for {option}: {error}")))
    };
    let ignored = topics("--ignore", &options.ignore)?;
    let mut wanted = Wanted {
        only: topics("--only", &options.only)?,
        ignored: ignored
            .into_iter()
            .map(|topic| Ignored { topic, by: None })
            .collect(),
    };
    if let Some(path) = &options.ignore_file {
        wanted.ignored.extend(ignore_file(path)?);
    }
    Ok(wanted)
}

fn ignore_file(path: &Path) -> Result<Vec<Ignored>, Failure> {
    let shown = printable_path(path);
    let text = rules::contents(path);
    let text = text.map_err(|error| Failure::usage(format!("cannot read {shown}: {error}")))?;
    Ignored::read(&text).map_err(|errors| {
        let errors = errors
            .iter()
            .map(|(line, error)| format!("{shown}:{line}: {error}"));
        let errors: Vec<String> = errors.collect();
        Failure::usage(errors.join("\n"))
    })
}

/// Returns the report: a test for the recording, and one for each finding, which fails if the finding is an error.
fn suite(options: &JudgeOptions, read: &Read, exit: Exit) -> Suite {
    let path = printable_path(file::shown(&options.file)).to_string();
    let time = Duration::from_micros(read.tally.until.0);
    let whole = Case {
        class: "teetap".to_owned(),
        name: "recording".to_owned(),
        time,
        outcome: match &read.damage {
            Some(error) => Outcome::Broken(error.to_string()),
            None => Outcome::Passed,
        },
        output: String::new(),
    };
    let found = read
        .findings
        .list
        .iter()
        .map(|finding| case(finding, read.is_foreign));
    Suite {
        name: format!("teetap judge {path}"),
        wall: read.wall,
        time,
        properties: vec![("exit", exit.code().to_string())],
        cases: std::iter::once(whole).chain(found).collect(),
    }
}

fn case(finding: &Finding, frames: bool) -> Case {
    let sentence = finding.sentence();
    let place = format!("{}, {}", finding.attribution(), finding.place(frames));
    let session = finding
        .session
        .map_or(String::new(), |session| format!(" in session {}", session.0));
    let is_error = finding.severity == Severity::Error;
    Case {
        class: "teetap.findings".to_owned(),
        name: format!("{} by the {}{session}", finding.topic, finding.by.name()),
        time: Duration::from_micros(finding.first.at.0),
        output: match is_error {
            true => String::new(),
            false => format!("{} {sentence}\n{place}", finding.severity.name()),
        },
        outcome: match is_error {
            true => Outcome::Failed(format!("{sentence}\n{place}")),
            false => Outcome::Passed,
        },
    }
}
