#![doc = include_str!("../README.md")]
//!
//! # The binary
//!
//! Command line, output, signals.
//!
//! Law: the crates below contain the protocol; this crate configures, starts, prints and ends runs.

mod cli;
mod command;
mod console;
mod definitions;
mod exit;
mod figure;
mod filters;
mod live;
mod log;
mod look;
mod output;
mod progress;
mod repeat;
mod review;
mod run;
mod settings;
mod signals;
mod stdin;
mod wake;

use std::{
    env,
    ffi::OsString,
    panic::{AssertUnwindSafe, catch_unwind},
    process::ExitCode,
    time::Duration,
};

use teetap_capture::scrub::Keep;
use teetap_proxy::io::Target;

use cli::{Cli, Command};
use command::Mode;
use exit::{Exit, Failure};

fn main() -> ExitCode {
    let args: Vec<OsString> = env::args_os().collect();
    if let Some(text) = command::topic(&args) {
        return ExitCode::from(output::show(&text).code());
    }
    let cli = match cli::parse(&args) {
        Ok(cli) => cli,
        Err(error) => {
            cli::guessed_look(&args).decide();
            return ExitCode::from(cli::refuse(&error).code());
        }
    };
    cli.look.decide();
    // The file of a project may come from another person.
    if let Some(sentence) = settings::sentence() {
        output::print_status(&format!("teetap: {sentence}"));
    }
    // The panic hook has reported the panic; the exit code marks a bug.
    let exit = match catch_unwind(AssertUnwindSafe(|| dispatch(cli))) {
        Ok(Ok(exit)) => exit,
        Ok(Err(error)) => {
            let text = format!("teetap: {error:#}");
            // Diagnostics have several lines, with marks below the text.
            if text.contains('\n') {
                output::print_status(&text);
            } else {
                output::say_sentence(&text);
            }
            error
                .downcast_ref::<Failure>()
                .map_or(Exit::Internal, |failure| failure.exit)
        }
        Err(_) => Exit::Internal,
    };
    ExitCode::from(exit.code())
}

fn dispatch(cli: Cli) -> anyhow::Result<Exit> {
    let command = match (cli.command, cli.target) {
        (Some(command), None) => command,
        (Some(_), Some(target)) => return Err(misplaced(&target).into()),
        (None, Some(target)) => {
            return command::proxy(&cli.options, &target, Mode::from_options(&cli.screen));
        }
        (None, None) => return Err(Failure::usage("no server given; see teetap --help").into()),
    };
    match command {
        Command::Run {
            options,
            target,
            command,
        } => command::proxy(&options, &target, Mode::Command(&command)),
        Command::Demo {
            options,
            screen,
            seconds,
        } => command::demo(&options, &screen, seconds.map(Duration::from_secs)),
        Command::Replay {
            quiet,
            json,
            check,
            file,
        } => command::replay(quiet, json, check, &file),
        Command::Open(options) => command::open(&options),
        Command::Grep {
            search,
            range,
            show,
            expr,
            file,
        } => command::grep(search, range, &show, &expr, &file),
        Command::Diff(options) => command::diff(&options),
        Command::Judge(options) => command::judge(&options),
        Command::Report(options) => command::report(&options),
        Command::Scrub {
            quiet,
            definitions,
            file,
            output,
            keep_unknown: unknown,
            keep_text: text,
        } => command::scrub(quiet, &definitions, &file, &output, Keep { unknown, text }),
        Command::Shrink { options } => command::shrink(&options),
        Command::Messages(options) => command::messages(&options),
        Command::Museum(options) => command::museum(&options),
        Command::Explain { options, words } => command::explain(&options, &words),
        Command::Check {
            definitions,
            quiet,
            explain,
            against,
            json,
            files,
        } => {
            let shown = command::Shown::new(explain, json.json);
            command::check(&definitions, shown, against.as_deref(), quiet, &files)
        }
        Command::Fmt { write, check, file } => command::fmt(write, check, &file),
        Command::Torture(options) => command::torture(&options),
        Command::Ctl {
            json,
            session,
            path,
            command,
        } => command::ctl(json, session, &path, &command),
        Command::Config { part } => command::config(part),
        Command::Completions { shell } => command::completions(shell),
        Command::Man { of } => command::man(of.as_deref()),
    }
}

fn misplaced(target: &Target) -> Failure {
    Failure::usage(format!(
        "the server '{target}' is before the command: write it after"
    ))
}
