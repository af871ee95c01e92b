//! The `teetap` binary: command line, output, signals, the demo.
//!
//! Law: everything about the protocol is in the crates below; here it is chosen, started, shown and ended.

mod child;
mod cli;
mod command;
mod definitions;
mod demo;
mod exit;
mod filters;
mod live;
mod output;
mod progress;
mod recording;
mod run;
mod signals;

use std::{
    env,
    panic::{AssertUnwindSafe, catch_unwind},
    process::ExitCode,
    time::Duration,
};

use cli::{Cli, Command};
use exit::{Exit, Failure};

fn main() -> ExitCode {
    let cli = match cli::parse(env::args_os()) {
        Ok(cli) => cli,
        Err(error) => return ExitCode::from(cli::refuse(&error).code()),
    };
    // The panic hook has told what happened; the exit code says that it is a bug.
    let exit = match catch_unwind(AssertUnwindSafe(|| dispatch(cli))) {
        Ok(Ok(exit)) => exit,
        Ok(Err(error)) => {
            output::say(&format!("teetap: {error:#}"));
            error
                .downcast_ref::<Failure>()
                .map_or(Exit::Internal, |failure| failure.exit)
        }
        Err(_) => Exit::Internal,
    };
    ExitCode::from(exit.code())
}

fn dispatch(cli: Cli) -> anyhow::Result<Exit> {
    let Cli {
        options,
        target,
        command,
    } = cli;
    match (command, target) {
        (Some(_), Some(target)) => {
            let text = format!("the server '{target}' stands before the sub-command: it goes behind it");
            Err(Failure::usage(text).into())
        }
        (Some(Command::Run { target, command }), None) => command::proxy(&options, &target, Some(&command)),
        (Some(Command::Demo { seconds }), None) => command::demo(&options, Duration::from_secs(seconds)),
        (Some(Command::Replay { check, file }), None) => command::replay(&options, check, &file),
        (Some(Command::Open { file }), None) => command::open(&options, &file),
        (Some(Command::Grep { expr, file }), None) => command::grep(&options, &expr, &file),
        (
            Some(Command::Scrub {
                file,
                output,
                keep_unknown,
            }),
            None,
        ) => command::scrub(&options, &file, &output, keep_unknown),
        (Some(Command::Messages { form: true, .. }), None) => command::form(),
        (Some(Command::Messages { name, .. }), None) => command::messages(&options, name.as_deref()),
        (Some(Command::Explain { dir, words }), None) => {
            command::explain(&options, dir.map(Into::into), &words)
        }
        (Some(Command::Completions { shell }), None) => command::completions(shell),
        (Some(Command::Man { of }), None) => command::man(of.as_deref()),
        (None, Some(target)) => command::proxy(&options, &target, None),
        (None, None) => Err(Failure::usage("no server given; see teetap --help").into()),
    }
}
