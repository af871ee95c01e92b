//! Command lines that are refused: the error in one line.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use teetap_inspect::control::error_line;
use teetap_wire::def::{did_you_mean, suggest};

use super::{command::COMMANDS, examples};
use crate::{exit::Exit, look::Look, output::streams};

/// Reason why a command line was refused, or a text that it requested (help, version).
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The command line is empty.
    Empty,
    /// The command line or the environment is wrong, or a text was requested.
    Line {
        error: clap::Error,
        /// Environment variable that held the wrong value.
        variable: Option<String>,
    },
    /// Mistakes in configuration files, each with its place.
    Settings(Vec<String>),
}

/// Returns a better error if the name of the server may be a mistyped command.
pub(super) fn suggested(
    error: clap::Error,
    args: &[OsString],
    definition: &mut clap::Command,
) -> clap::Error {
    let first = args.iter().skip(1).filter_map(|arg| arg.to_str());
    let first = first.into_iter().find(|arg| !arg.starts_with('-'));
    // The next word is an unknown argument, or an unknown command if it resembles a command.
    let is_after = matches!(
        error.kind(),
        ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand
    );
    let Some(word) = first.filter(|_| is_after) else {
        return error;
    };
    if let Some(text) = without_dashes(word, &error, args) {
        return definition.error(ErrorKind::UnknownArgument, text);
    }
    match command_like(word) {
        Some(name) if name != word => {
            let text = format!("unknown command '{word}'; {}", did_you_mean(name.as_str()));
            definition.error(ErrorKind::InvalidSubcommand, text)
        }
        _ => error,
    }
}

/// Returns the error for a command to start without `--` before it.
fn without_dashes(command: &str, error: &clap::Error, args: &[OsString]) -> Option<String> {
    let starts = ["run", "torture", "shrink"].contains(&command) && !args.iter().any(|arg| arg == "--");
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg).filter(|_| starts) else {
        return None;
    };
    let is_word = !word.starts_with('-');
    is_word.then(|| {
        format!("unexpected argument '{word}' found; a program to start comes after '--': teetap {command} ... -- {word} ...")
    })
}

/// Returns the command that is spelled most like `word`.
pub(crate) fn command_like(word: &str) -> Option<String> {
    suggest(word, COMMANDS).map(str::to_owned)
}

/// Prints the reason for the refusal, or the requested text.
pub(crate) fn refuse(refusal: &Refusal) -> Exit {
    let (error, variable) = match refusal {
        Refusal::Empty => {
            streams::print_status(&examples::bare());
            return Exit::Usage;
        }
        Refusal::Settings(mistakes) => {
            for mistake in mistakes {
                streams::print_status(&format!("teetap: {mistake}"));
            }
            return Exit::Usage;
        }
        Refusal::Line { error, variable } => (error, variable),
    };
    if !error.use_stderr() {
        let text = error.render();
        let text = if Look::get().out.colours {
            text.ansi().to_string()
        } else {
            text.to_string()
        };
        return streams::show(&text);
    }
    let line = one_line(&error.render().to_string());
    streams::print_status(&match variable {
        Some(variable) => format!("teetap: in the environment, {variable}: {line}"),
        None => format!("teetap: {line}"),
    });
    Exit::Usage
}

/// Returns the message and its tips, without the usage that follows.
pub(crate) fn one_line(text: &str) -> String {
    format!("{}; see teetap --help", error_line(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::parse;

    #[test]
    fn a_program_to_start_comes_after_dashes() {
        let line = |args: &[&str]| {
            let Err(Refusal::Line { error, .. }) = parse(args) else {
                return String::new();
            };
            one_line(&error.render().to_string())
        };
        assert_eq!(
            line(&["teetap", "run", "example.org", "node", "x.js"]),
            "unexpected argument 'node' found; a program to start comes after '--': teetap run ... -- node ...; see teetap --help"
        );
        for args in [
            &["teetap", "run", "example.org", "--lissten", "x"][..],
            &["teetap", "check", "a", "--nothing"],
        ] {
            assert!(!line(args).contains("comes after"), "{args:?}");
        }
    }

    #[test]
    fn an_error_is_one_line() {
        let refusal = parse(["teetap", "host", "--lissten", "x"]).unwrap_err();
        let Refusal::Line { error, .. } = refusal else {
            panic!("{refusal:?}");
        };
        let line = one_line(&error.render().to_string());
        assert_eq!(
            line,
            "unexpected argument '--lissten' found; tip: a similar argument exists: '--listen'; see teetap --help"
        );
    }
}
