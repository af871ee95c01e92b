//! `teetap replay --check FILE`: runs an input log through a new core and compares the core's output with the log.

use std::path::Path;

use teetap_inspect::Style;
use teetap_proxy::{
    io::{
        Clock,
        input_log::{self, Texts},
    },
    session::Level,
};
use teetap_rules::{Diagnostic, Program};
use teetap_wire::{def::Registry, printable_path};

use super::file;
use crate::{
    cli::{Json, Quiet},
    definitions,
    exit::{Exit, Failure},
    output::{Filters, Output},
};

/// Runs the command.
pub(crate) fn replay(quiet: Quiet, json: Json, check: bool, path: &Path) -> anyhow::Result<Exit> {
    if !check {
        let text = "replay needs --check: it only compares an input log with what this teetap sends";
        return Err(Failure::usage(text).into());
    }
    let input = file::open(quiet, path)?;
    let clock = Clock::start();
    let texts = Texts {
        registry: &definitions::of_log,
        program: &compile,
    };
    let checked = input_log::check(input.bytes, texts);
    if let Some(progress) = input.progress {
        progress.end();
    }
    let path = printable_path(file::shown(path));
    let checked = checked.map_err(|error| Failure::damaged(format!("{path}: {error}")))?;
    let style = Style {
        json: json.json,
        quiet: quiet.quiet,
        ..Style::default()
    };
    let mut output = Output::new(style, &Filters::default());
    output.replay(&checked);
    if let Some(cut) = &checked.cut {
        let text = format!("the input log is incomplete: {cut}");
        output.log(clock.now(), Level::Warning, &text);
    }
    let exit = if checked.difference.is_none() {
        Exit::Ok
    } else {
        let (theirs, ours) = (checked.header.version.as_str(), env!("CARGO_PKG_VERSION"));
        if theirs != ours {
            let text = format!(
                "the log was written by teetap {theirs}, this is {ours}: the difference may be intended"
            );
            output.log(clock.now(), Level::Warning, &text);
        }
        Exit::Failed
    };
    output.flush()?;
    Ok(exit)
}

/// Compiles the text of a program.
fn compile(source: &str, registry: &'static Registry) -> Result<Program, Vec<Diagnostic>> {
    Program::compile(source, registry).map(|(program, _)| program)
}
