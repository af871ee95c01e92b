//! The command line: options and sub-commands, and how a wrong one is refused.

mod ctl;
mod examples;
mod lines;
mod look;
mod options;
mod scope;
mod tools;
mod values;

pub(crate) use ctl::{Ctl, CtlRules, CtlSide, HeldPlace};
pub(crate) use examples::EXAMPLES;
pub(crate) use lines::{Clock, LineOptions};
pub(crate) use look::LookOptions;
pub(crate) use options::{
    Definitions, FilterOption, Json, ProxyOptions, Quiet, Range, RunOptions, ScreenOptions, Search, Show,
};
pub(crate) use tools::{ExplainOptions, ShrinkOptions, TortureOptions};

use std::{ffi::OsString, path::PathBuf};

use clap::{
    ArgMatches, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum,
    error::{ContextKind, ContextValue, ErrorKind},
};
use clap_complete::Shell;
use teetap_proxy::io::Target;
use teetap_wire::def::suggest;

use crate::{
    exit::{self, Exit},
    look::Look,
    output,
    settings::{self, Settings},
};

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

/// The order of the parts of the help: the examples come first.
const TEMPLATE: &str = "{about-with-newline}\n{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}";

/// Sub-commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run without a screen, for scripts: until a signal, or until CMD ends
    Run {
        #[command(flatten)]
        options: Box<ProxyOptions>,
        /// The game server; the port is 8303 when none is given
        #[arg(value_name = "HOST[:PORT]")]
        target: Target,
        /// A program to run and connect to the proxy
        ///
        /// {addr} becomes the HOST:PORT to connect to, {host} and {port} its parts. The program's stdout goes to stderr.
        #[arg(last = true, value_name = "CMD")]
        command: Vec<OsString>,
    },
    /// Let an embedded server and two bots play through the proxy
    ///
    /// The bots speak 0.7 and DDNet's 0.6. Nothing needs to be installed.
    Demo {
        #[command(flatten)]
        options: Box<RunOptions>,
        #[command(flatten)]
        screen: ScreenOptions,
        /// Let the bots play for this many seconds [default: 5; 3600 with --tui]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=3600))]
        seconds: Option<u64>,
    },
    /// Run an input log again without sockets and compare what is sent
    Replay {
        #[command(flatten)]
        quiet: Quiet,
        #[command(flatten)]
        json: Json,
        /// Compare byte for byte, up to the first difference (required)
        #[arg(long)]
        check: bool,
        /// The input log (of --input-log); - is stdin
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Print a recording as a live run would
    ///
    /// Reads pcapng and pcap (of teetap, tcpdump, Wireshark) and the JSON lines of teetap.
    Open {
        #[command(flatten)]
        filter: FilterOption,
        #[command(flatten)]
        range: Range,
        #[command(flatten)]
        show: Show,
        #[command(flatten)]
        screen: ScreenOptions,
        /// The recording; - is stdin
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Print the messages of a recording that match an expression
    #[command(after_long_help = expressions())]
    Grep {
        #[command(flatten)]
        search: Search,
        #[command(flatten)]
        range: Range,
        #[command(flatten)]
        show: Show,
        /// The expression, as for --filter
        #[arg(value_name = "EXPR")]
        expr: String,
        /// The recording; - is stdin
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Redact secrets, texts and addresses in a recording
    ///
    /// Replaces every password, rcon command and code by as many *, and so every text that players and servers wrote: chat,
    /// names, votes, broadcasts, lines of the remote console, reasons. Replaces every IP and MAC address by a placeholder that
    /// is the same wherever the address occurs: 192.0.2.1, 2001:db8::1, 02:00:00:00:00:01 and so on (IPv4 from 240.0.0.1 after
    /// the first 254). Rewrites comments, and removes the names of hosts, interfaces, programs and files. Keeps ports, loopback
    /// addresses, tokens, numbers, versions, names of maps, and snapshots, which hold names of players in 0.6. Packets that do
    /// not belong to the game, were not recorded whole or cannot be read are left out and counted.
    Scrub {
        #[command(flatten)]
        quiet: Quiet,
        #[command(flatten)]
        definitions: Definitions,
        /// The recording: whatever `open` reads; - is stdin
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Write the result here; the file must not exist
        #[arg(short, long, value_name = "OUT")]
        output: PathBuf,
        /// Keep unknown messages, and bytes after known fields
        #[arg(long)]
        keep_unknown: bool,
        /// Keep texts of players and servers; replace only secrets in them
        #[arg(long)]
        keep_text: bool,
    },
    /// List all known messages and snapshot objects, or print one definition
    Messages {
        #[command(flatten)]
        definitions: Definitions,
        /// The name of a message or object
        ///
        /// As it is printed, as in filters (sys.4, snap.character), or as in the sources of the games (NETMSGTYPE_SV_CHAT).
        #[arg(value_name = "NAME")]
        name: Option<String>,
        /// Explain how definitions are written, with an example for --messages
        #[arg(long, conflicts_with = "name")]
        form: bool,
    },
    /// Explain the bytes of one datagram down to bits, or a note code
    ///
    /// Reads a datagram in every protocol that it may belong to, or only in that of --proto. Of a note code, such as wrong-token,
    /// prints the page: what was seen, what the receiver does, the likely cause and what to do.
    Explain {
        #[command(flatten)]
        options: ExplainOptions,
        /// Hex, a file, stdin or a note code
        ///
        /// Hex, a string or list of code (b"\x10", {0x10}), or a file with these, with a dump of xxd, hexdump -C,
        /// tcpdump -x or tshark -x, or with the bytes themselves; - is stdin.
        #[arg(value_name = "HEX|FILE|-|CODE", required = true)]
        words: Vec<String>,
    },
    /// Check files of rules for errors
    ///
    /// Reads them as one program, as a run does, and prints every error and warning with its place. The exit code is 2
    /// if there is an error.
    Check {
        #[command(flatten)]
        definitions: Definitions,
        #[command(flatten)]
        quiet: Quiet,
        /// Print each statement as an English sentence
        #[arg(long)]
        explain: bool,
        /// Try the rules on a recording
        ///
        /// Prints what they would have done to which message (not with --quiet), and the hits of each rule. Random decisions
        /// have the seed of the rules, or 0.
        #[arg(long, value_name = "RECORDING")]
        against: Option<PathBuf>,
        /// The files
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
    },
    /// Print a file of rules in its canonical form
    ///
    /// Checks the syntax, not the names. Comments stay; a statement with a comment between its words keeps its lines.
    Fmt {
        /// Write the result to the file instead
        #[arg(long, conflicts_with = "check")]
        write: bool,
        /// Print nothing; exit with 1 if the file has another form
        #[arg(long)]
        check: bool,
        /// The file; - is stdin
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Join once with each fault on each message of a login
    ///
    /// The faults are lose, drop, dup, delay, swap and corrupt. A run without a fault is made first. The exit code is 1 if
    /// a client does not join although peers of its kind survive the fault.
    Torture(TortureOptions),
    /// Find the smallest set of faults with which a command still fails
    ///
    /// Runs the command again and again with parts of a journal. It fails if its exit code is not 0. The result is a journal,
    /// for --faults-from.
    Shrink {
        #[command(flatten)]
        options: ShrinkOptions,
    },
    /// Control a run that was started with --control
    ///
    /// Prints the answer. The exit code is 1 if the command is refused, and 3 if nothing listens on the socket.
    Ctl {
        #[command(flatten)]
        json: Json,
        /// Act on this session [default: the only one that is online]
        #[arg(long, value_name = "N", global = true, value_parser = clap::value_parser!(u32).range(1..))]
        session: Option<u32>,
        /// The socket
        #[arg(value_name = "PATH")]
        path: PathBuf,
        #[command(subcommand)]
        command: Ctl,
    },
    /// Print the options that configuration files set, or where files are
    ///
    /// An option on the command line wins over its environment variable, that over ./teetap.toml, and that over
    /// $XDG_CONFIG_HOME/teetap/config.toml.
    Config {
        /// The part that is printed
        #[arg(value_name = "PART", default_value = "show")]
        part: ConfigPart,
    },
    /// Print a completion script
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the man page of teetap or of a command
    Man {
        /// The command
        #[arg(value_name = "COMMAND", value_parser = COMMANDS)]
        of: Option<String>,
    },
}

/// The part of the configuration that is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConfigPart {
    /// The options that hold, each with its origin
    Show,
    /// The files, and if they are read
    Path,
    /// A file with all options in comments
    Template,
}

/// The names of all commands.
const COMMANDS: [&str; 16] = [
    "run",
    "demo",
    "replay",
    "open",
    "grep",
    "scrub",
    "messages",
    "explain",
    "check",
    "fmt",
    "torture",
    "shrink",
    "ctl",
    "config",
    "completions",
    "man",
];

/// Returns the definition, for the man page, completions and configuration files.
pub(crate) fn definition() -> clap::Command {
    let root = Cli::command()
        .help_template(TEMPLATE)
        .before_help(examples::of(""));
    // A recording on the screen is shown whole: the screen goes to places, and filters.
    let root = root.mut_subcommand("open", |open| {
        open.mut_arg("tui", |tui| tui.conflicts_with_all(["from", "to", "until"]))
    });
    COMMANDS.into_iter().fold(root, |root, name| {
        root.mut_subcommand(name, |command| {
            let command = command.help_template(TEMPLATE).before_help(examples::of(name));
            LookOptions::added(command)
        })
    })
}

/// Returns the definition for the environment of this process, as for a command line without words.
pub(crate) fn in_environment() -> clap::Command {
    scope::in_environment(definition(), &[])
}

/// The reason why the command line was not accepted, or a requested text (help, version).
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The command line is empty.
    Empty,
    /// The command line, or the environment.
    Line {
        error: clap::Error,
        /// The variable that held the wrong value.
        variable: Option<String>,
    },
    /// Mistakes in configuration files, each with its place.
    Settings(Vec<String>),
}

/// Reads the command line, and the configuration files for options that it does not have.
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
        let error = scope::taken_elsewhere(error, &args, &mut root);
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
    cli.look = LookOptions::of(&matches).map_err(&refused)?;
    if let Some(screen) = cli.screen_options() {
        screen.keys = settings.keys();
    }
    Ok(cli)
}

/// Returns the look of an error in a command line.
pub(crate) fn guessed_look(args: &[OsString]) -> LookOptions {
    // Mistakes in files are reported where their other options count.
    let settings = Settings::read(&definition()).unwrap_or_default();
    LookOptions::guessed(args, &settings)
}

/// Parses the command line again with the values of configuration files; `None` for a command that takes none of them. Their
/// mistakes are reported by commands that take more than the look.
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
    let root = settings
        .applied(root, name, own.unwrap_or(matches))
        .map_err(Refusal::Settings)?;
    let matches = root.try_get_matches_from(args).map_err(|error| Refusal::Line {
        error,
        variable: None,
    })?;
    Ok(Some((matches, settings)))
}

impl Cli {
    /// Returns the options of the screen, of a command that can open it.
    fn screen_options(&mut self) -> Option<&mut ScreenOptions> {
        match &mut self.command {
            None => Some(&mut self.screen),
            Some(Command::Demo { screen, .. } | Command::Open { screen, .. }) => Some(screen),
            Some(_) => None,
        }
    }
}

/// Returns a better error where the name of a server may be a mistyped command.
fn suggested(error: clap::Error, args: &[OsString], definition: &mut clap::Command) -> clap::Error {
    let first = args.iter().skip(1).filter_map(|arg| arg.to_str());
    let first = first.into_iter().find(|arg| !arg.starts_with('-'));
    let Some(word) = first.filter(|_| error.kind() == ErrorKind::UnknownArgument) else {
        return error;
    };
    match command_like(word) {
        Some(name) if name != word => {
            let text = format!("unknown command '{word}'; did you mean '{name}'?");
            definition.error(ErrorKind::InvalidSubcommand, text)
        }
        _ => error,
    }
}

/// Returns the command that may have been suggested.
pub(crate) fn command_like(word: &str) -> Option<String> {
    suggest(word, COMMANDS).map(str::to_owned)
}

/// Prints why the command line was not accepted, or the requested text.
pub(crate) fn refuse(refusal: &Refusal) -> Exit {
    let (error, variable) = match refusal {
        Refusal::Empty => {
            output::say(&examples::bare());
            return Exit::Usage;
        }
        Refusal::Settings(mistakes) => {
            for mistake in mistakes {
                output::say(&format!("teetap: {mistake}"));
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
        // A closed pipe is success: its reader has read enough.
        let _closed_pipe = output::print(&text);
        return Exit::Ok;
    }
    let line = one_line(&error.render().to_string());
    output::say(&match variable {
        Some(variable) => format!("teetap: in the environment, {variable}: {line}"),
        None => format!("teetap: {line}"),
    });
    Exit::Usage
}

/// Returns the message and its tips, without the usage that follows.
pub(crate) fn one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim);
    let shown =
        lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"));
    let shown: Vec<&str> = shown.filter(|line| !line.is_empty()).collect();
    let line = shown.join("; ").replace(":; ", ": ");
    let line = line.strip_prefix("error: ").unwrap_or(&line);
    format!("{line}; see teetap --help")
}

fn expressions() -> String {
    format!("The language of expressions:\n\n{}", teetap_rules::vocabulary())
}

fn notes() -> String {
    format!(
        "Each option but --log has an environment variable: TEETAP_LISTEN for --listen, and so on. A command\n\
         ignores the variables of options that it does not take. Options of a command come after its name.\n\
         A server whose host name is that of a command needs its port: teetap run:8303.\n\
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
    fn every_command_is_listed() {
        let root = definition();
        let names: Vec<&str> = root.get_subcommands().map(clap::Command::get_name).collect();
        assert_eq!(names, COMMANDS);
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
