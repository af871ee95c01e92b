//! The command line: its definition, and how it is read with the environment and configuration files.

mod command;
mod examples;
mod files;
pub(crate) mod lines;
mod look;
mod options;
mod refuse;
mod scope;
mod screen;
mod show;
mod tools;
mod values;

pub(crate) use command::{Command, ConfigPart};
pub(crate) use examples::EXAMPLES;
pub(crate) use files::check_files;
pub(crate) use lines::LineOptions;
pub(crate) use look::LookOptions;
pub(crate) use options::{ProxyOptions, RunOptions};
pub(crate) use refuse::{Refusal, command_like, one_line, refuse};
pub(crate) use screen::ScreenOptions;
pub(crate) use show::{Contents, Definitions, FilterOption, Json, Quiet, Range, Search, Show};
pub(crate) use tools::{
    DiffOptions, ExplainOptions, JudgeOptions, MessagesOptions, MuseumOptions, OpenOptions, ReportOptions,
    ShrinkOptions, TortureOptions,
};

use std::ffi::OsString;

use clap::{
    ArgMatches, CommandFactory as _, FromArgMatches as _, Parser,
    error::{ContextKind, ContextValue, ErrorKind},
};
use teetap_proxy::io::Target;

use crate::{
    exit::{self, Failure},
    settings::{self, Settings},
};
use command::COMMANDS;
use refuse::suggested;

/// A transparent man-in-the-middle for the Teeworlds and DDNet protocol
///
/// Point your client at it, and see every message between client and server.
#[derive(Debug, Parser)]
#[command(
    name = "teetap",
    version,
    subcommand_negates_reqs = true,
    override_usage = "teetap [OPTIONS] HOST[:PORT]\n       teetap COMMAND ...",
    after_help = "More with --help.",
    after_long_help = notes()
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) options: ProxyOptions,

    #[command(flatten)]
    pub(crate) screen: ScreenOptions,

    #[command(flatten)]
    pub(crate) look: LookOptions,

    /// The game server; the port is 8303 when none is given
    #[arg(value_name = "HOST[:PORT]", required = true)]
    pub(crate) target: Option<Target>,

    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Sections of the help. The examples are printed first.
const TEMPLATE: &str = "{about-with-newline}\n{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}";

/// Returns the definition, for the man page, completions and configuration files.
pub(crate) fn definition() -> clap::Command {
    let root = Cli::command()
        .help_template(TEMPLATE)
        .before_help(examples::for_command(""));
    // The screen shows a recording as a whole and has keys for positions and filters.
    let root = root.mut_subcommand("open", |open| {
        open.mut_arg("tui", |tui| tui.conflicts_with_all(["from", "to", "until"]))
    });
    COMMANDS.into_iter().fold(root, |root, name| {
        root.mut_subcommand(name, |command| {
            let command = command
                .help_template(TEMPLATE)
                .before_help(examples::for_command(name));
            LookOptions::added(command)
        })
    })
}

/// Returns the definition with the environment variables of this process, as for an empty command line.
pub(crate) fn in_environment() -> clap::Command {
    scope::in_environment(definition(), &[])
}

/// Parses the command line. Configuration files fill in the options that it does not set.
pub(crate) fn parse<I>(args: I) -> Result<Cli, Refusal>
where
    I: IntoIterator<Item: Into<OsString>>,
{
    let args: Vec<OsString> = args.into_iter().map(Into::into).collect();
    if args.len() <= 1 {
        return Err(Refusal::Empty);
    }
    let mut root = scope::in_environment(definition(), &args);
    let parsed = root.try_get_matches_from_mut(&args).map_err(|error| {
        let error = scope::option_of_other_command(error, &args, &mut root);
        suggested(error, &args, &mut root)
    });
    let parsed = parsed.and_then(|matches| {
        scope::check(&mut root, &matches)?;
        Ok(matches)
    });
    let refused = |error: clap::Error| {
        let variable = match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::String(option)) if error.kind() == ErrorKind::ValueValidation => {
                scope::variable(&root, option, &args)
            }
            _ => None,
        };
        Refusal::Line { error, variable }
    };
    let matches = parsed.map_err(&refused)?;
    let (matches, settings) = match with_settings(&args, &matches)? {
        Some((matches, settings)) => (matches, settings),
        None => (matches, Settings::default()),
    };
    let mut cli = Cli::from_arg_matches(&matches).map_err(&refused)?;
    cli.look = LookOptions::from_matches(&matches).map_err(&refused)?;
    if let Some(screen) = cli.screen_options() {
        screen.keys = settings.keys();
    }
    Ok(cli)
}

/// Parses `words` as the options of `teetap run`. Applies configuration files, but only the environment variables that
/// the runs of `teetap torture` use.
pub(crate) fn of_run(words: &[OsString]) -> Result<ProxyOptions, Failure> {
    let root = scope::of_cells(definition());
    let refused = |error: clap::Error| Failure::usage(one_line(&error.to_string()));
    let matches = root.clone().try_get_matches_from(words).map_err(refused)?;
    let mistakes = |lines: Vec<String>| Failure::usage(lines.join("; "));
    let settings = Settings::read(&root).map_err(mistakes)?;
    let own = matches.subcommand_matches("run").unwrap_or(&matches);
    let root = settings.applied(root, Some("run"), own).map_err(mistakes)?;
    let matches = root.try_get_matches_from(words).map_err(refused)?;
    match Cli::from_arg_matches(&matches).map_err(refused)?.command {
        Some(Command::Run { options, .. }) => Ok(*options),
        _ => Err(Failure::usage("the words name another command than run")),
    }
}

/// Returns the look of the error of a command line that was refused.
pub(crate) fn guessed_look(args: &[OsString]) -> LookOptions {
    // Mistakes in files are reported by the commands that use their other options.
    let settings = Settings::read(&definition()).unwrap_or_default();
    LookOptions::guessed(args, &settings)
}

/// Parses the command line again with the values of configuration files as defaults. Returns `None` for a command that
/// uses no option of these files beyond the look; other commands report the mistakes in the files.
fn with_settings(args: &[OsString], matches: &ArgMatches) -> Result<Option<(ArgMatches, Settings)>, Refusal> {
    let root = scope::in_environment(definition(), args);
    let (name, own) = matches.subcommand().unzip();
    let command = name.and_then(|name| root.find_subcommand(name)).unwrap_or(&root);
    let takes_more = command.get_arguments().any(|arg| {
        let long = arg.get_long();
        let mut options = settings::options(&root).filter(|(name, _)| !["color", "ascii"].contains(name));
        options.any(|(name, _)| long == Some(name))
    });
    let settings = match Settings::read(&root) {
        Ok(settings) => settings,
        Err(mistakes) if takes_more => return Err(Refusal::Settings(mistakes)),
        Err(_) => return Ok(None),
    };
    let own = own.unwrap_or(matches);
    let in_force = settings.in_force(&root, name, own).map_err(Refusal::Settings)?;
    in_force.keep();
    let root = settings.applied(root, name, own).map_err(Refusal::Settings)?;
    let matches = root.try_get_matches_from(args).map_err(|error| Refusal::Line {
        error,
        variable: None,
    })?;
    Ok(Some((matches, settings)))
}

impl Cli {
    /// Returns the options of the screen; `None` if the command cannot open it.
    fn screen_options(&mut self) -> Option<&mut ScreenOptions> {
        match &mut self.command {
            None => Some(&mut self.screen),
            Some(Command::Demo { screen, .. }) => Some(screen),
            Some(Command::Open(options)) => Some(&mut options.screen),
            Some(_) => None,
        }
    }
}

fn notes() -> String {
    format!(
        "Each option but --log has an environment variable: TEETAP_LISTEN for --listen, and so on. A command\n\
         ignores the variables of options that it does not take. Options of a command come after its name.\n\
         A server whose host name is that of a command needs its port: teetap run:8303.\n\
         \n\
         The language of rules and filters: teetap help rules, teetap help filters, teetap help link.\n\
         \n\
         ./teetap.toml and $XDG_CONFIG_HOME/teetap/config.toml set options, too: see teetap config template.\n\
         \n\
         A line has: time, session, direction (p is the proxy itself), V for vital or R for vital and\n\
         resent, the sequence number as sent and as forwarded if that differs, message, size, action,\n\
         a summary, and notes after !.\n\
         \n\
         Exit codes:\n{}",
        exit::table()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        definition().debug_assert();
    }

    #[test]
    fn each_command_has_a_help_of_its_own() {
        let root = definition();
        let abouts = root
            .get_subcommands()
            .filter_map(|command| Some(command.get_about()?.to_string()));
        let different: std::collections::BTreeSet<String> = abouts.collect();
        assert_eq!(different.len(), COMMANDS.len(), "{different:?}");
    }

    #[test]
    fn help_is_short() {
        let root = definition();
        for command in std::iter::once(&root).chain(root.get_subcommands()) {
            let about = command
                .get_about()
                .map(|about| (command.get_name(), about.to_string()));
            let helps = command.get_arguments().map(|arg| {
                let help = arg.get_help().map(ToString::to_string);
                (arg.get_id().as_str(), help.unwrap_or_default())
            });
            for (name, help) in about.into_iter().chain(helps) {
                let columns = help.chars().count();
                assert!((1..=72).contains(&columns), "{name}: {columns} columns: {help}");
            }
        }
    }
}
