//! The command line: options and sub-commands, and how a wrong one is refused.

mod options;
mod scope;

pub(crate) use options::Options;

use std::{ffi::OsString, path::PathBuf};

use clap::{
    CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum,
    error::{ContextKind, ContextValue, ErrorKind},
};
use clap_complete::Shell;
use teetap_proxy::io::Target;
use teetap_wire::{Dir, def::suggest};

use crate::{
    exit::{self, Exit},
    output,
};

/// A transparent man-in-the-middle for the Teeworlds and DDNet protocol: point your client at it, and see every message
/// between client and server.
#[derive(Debug, Parser)]
#[command(
    name = "teetap",
    version,
    subcommand_negates_reqs = true,
    override_usage = "teetap [OPTIONS] HOST[:PORT]\n       teetap [OPTIONS] COMMAND ...",
    after_help = "More with --help.",
    after_long_help = notes()
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) options: Options,

    /// The game server; the port is 8303 when none is given
    #[arg(value_name = "HOST[:PORT]", required = true)]
    pub(crate) target: Option<Target>,

    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Sub-commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Runs without a screen, for scripts: until a signal, or until CMD ends
    Run {
        /// The game server; the port is 8303 when none is given
        #[arg(value_name = "HOST[:PORT]")]
        target: Target,
        /// A program to run meanwhile; {addr}, {host} and {port} in it are where to connect to. Its output goes to stderr
        #[arg(last = true, value_name = "CMD")]
        command: Vec<OsString>,
    },
    /// Lets an embedded server and two bots (0.7 and DDNet's 0.6) play through the proxy: nothing needs to be installed
    Demo {
        /// How long the bots play, in seconds
        #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=3600))]
        seconds: u64,
    },
    /// Runs an input log (--input-log) again, without sockets, and compares what would be sent byte for byte
    Replay {
        /// Compares, up to the first difference: what a replay is for
        #[arg(long)]
        check: bool,
        /// The input log; - is stdin
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Prints a recording as a live run would: pcapng, pcap (of teetap, tcpdump, Wireshark) or teetap's JSON lines
    Open {
        /// The recording; - is stdin
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Prints the messages of a recording that match an expression, as --filter takes it
    #[command(after_long_help = expressions())]
    Grep {
        /// The expression
        #[arg(value_name = "EXPR")]
        expr: String,
        /// The recording; - is stdin
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Makes a recording fit to be shown to others: secrets and addresses become placeholders
    ///
    /// Every password, rcon command and code becomes as many *, every IP and MAC address a placeholder that is the same for
    /// the same address: 192.0.2.1, 2001:db8::1, 02:00:00:00:00:01 and so on (IPv4 from 240.0.0.1 after the first 254); in
    /// texts of players and servers as many *. Comments are made anew; names of hosts, interfaces, programs and files go.
    /// Ports, loopback addresses, tokens, names of players, chat and maps stay. Packets that are none of the game, were not
    /// recorded whole or cannot be read are left out and counted.
    Scrub {
        /// The recording: whatever `open` reads; - is stdin
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The new file, of the same format; it must not be there
        #[arg(short, long, value_name = "OUT")]
        output: PathBuf,
        /// Keeps messages that are not known, and what follows the known fields of others, instead of replacing it by *
        #[arg(long)]
        keep_unknown: bool,
    },
    /// Lists all messages and snapshot objects that are known, or prints the definition of one
    Messages {
        /// As it is printed, as filters name it (sys.4, snap.character), or as the games' sources do (NETMSGTYPE_SV_CHAT)
        #[arg(value_name = "NAME")]
        name: Option<String>,
        /// Explains how definitions are written, with an example that can be changed to what --messages is to read
        #[arg(long, conflicts_with = "name")]
        form: bool,
    },
    /// Explains the bytes of one datagram down to bits, as every protocol it may be of, or as that of --proto
    Explain {
        /// The direction it goes [default: the one in which it makes more sense]
        #[arg(long, value_name = "DIR")]
        dir: Option<DirChoice>,
        /// Hex, a string or list of code (b"\x10", {0x10}), or a file with these, with a dump of xxd, hexdump -C, od -t x1,
        /// tcpdump -x, tshark -x or Wireshark, or with the bytes themselves; - is stdin
        #[arg(value_name = "HEX|FILE|-", required = true)]
        words: Vec<String>,
    },
    /// Prints a completion script
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Prints the man page, or that of a command
    Man {
        /// The command
        #[arg(value_name = "COMMAND")]
        of: Option<String>,
    },
}

/// A direction.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum DirChoice {
    /// From the client to the server
    C2s,
    /// From the server to the client
    S2c,
}

impl From<DirChoice> for Dir {
    fn from(dir: DirChoice) -> Self {
        match dir {
            DirChoice::C2s => Self::C2s,
            DirChoice::S2c => Self::S2c,
        }
    }
}

/// The definition, for the man page.
pub(crate) fn definition() -> clap::Command {
    scope::limit(Cli::command(), &[])
}

/// The definition, for completions.
pub(crate) fn completed() -> clap::Command {
    scope::without_others(Cli::command())
}

/// Why the command line was not taken, or what was asked for instead (help, version).
#[derive(Debug)]
pub(crate) struct Refusal {
    error: clap::Error,
    /// The variable that the wrong value came from.
    variable: Option<String>,
}

/// Reads the command line.
///
/// # Errors
/// See [`Refusal`].
pub(crate) fn parse<I>(args: I) -> Result<Cli, Refusal>
where
    I: IntoIterator<Item: Into<OsString>>,
{
    let args: Vec<OsString> = args.into_iter().map(Into::into).collect();
    let mut definition = scope::limit(Cli::command(), &args);
    let parsed = definition.try_get_matches_from_mut(&args);
    let parsed = parsed.map_err(|error| meant(error, &args, &mut definition));
    let parsed = parsed.and_then(|matches| {
        scope::check(&mut definition, &matches)?;
        Cli::from_arg_matches(&matches)
    });
    parsed.map_err(|error| {
        let variable = match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::String(option)) if error.kind() == ErrorKind::ValueValidation => {
                scope::variable(&definition, option, &args)
            }
            _ => None,
        };
        Refusal { error, variable }
    })
}

/// Where there is too much behind a server, its name may be that of a mistyped command.
fn meant(error: clap::Error, args: &[OsString], definition: &mut clap::Command) -> clap::Error {
    let first = args.iter().skip(1).filter_map(|arg| arg.to_str());
    let first = first.into_iter().find(|arg| !arg.starts_with('-'));
    let Some(word) = first.filter(|_| error.kind() == ErrorKind::UnknownArgument) else {
        return error;
    };
    match command_like(word) {
        Some(name) if name != word => {
            let text = format!("there is no command '{word}'; did you mean '{name}'?");
            definition.error(ErrorKind::InvalidSubcommand, text)
        }
        _ => error,
    }
}

/// The command that somebody may have meant.
pub(crate) fn command_like(word: &str) -> Option<String> {
    let names = scope::names(&Cli::command());
    suggest(word, names.iter().map(String::as_str)).map(str::to_owned)
}

/// Says why the command line was not taken, or what was asked for instead.
pub(crate) fn refuse(Refusal { error, variable }: &Refusal) -> Exit {
    if !error.use_stderr() {
        // A closed pipe is success: whoever closed it has read enough.
        let _closed_pipe = error.print();
        return Exit::Ok;
    }
    let line = one_line(&error.render().to_string());
    output::say(&match variable {
        Some(variable) => format!("teetap: in the environment, {variable}: {line}"),
        None => format!("teetap: {line}"),
    });
    Exit::Usage
}

/// The message and its tips, without the usage that follows.
fn one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim);
    let told =
        lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"));
    let told: Vec<&str> = told.filter(|line| !line.is_empty()).collect();
    let line = told.join("; ").replace(":; ", ": ");
    let line = line.strip_prefix("error: ").unwrap_or(&line);
    format!("{line}; see teetap --help")
}

fn expressions() -> String {
    format!("What an expression is made of:\n\n{}", teetap_rules::vocabulary())
}

fn notes() -> String {
    format!(
        "Each of these options has an environment variable: TEETAP_LISTEN for --listen, and so on; commands\n\
         that do not take the option pass over it. Options stand before or behind a command.\n\
         A server whose host name is that of a sub-command needs its port: teetap run:8303.\n\
         \n\
         A line is: time, session, direction (p is the proxy itself), V vital or R vital and sent again,\n\
         sequence number as its sender gave it and as it left if that differs, message, size, what was\n\
         done with it, fields, ! and its oddities.\n\
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
    fn an_error_is_one_line() {
        let error = parse(["teetap", "host", "--lissten", "x"]).unwrap_err();
        let line = one_line(&error.error.render().to_string());
        assert_eq!(
            line,
            "unexpected argument '--lissten' found; tip: a similar argument exists: '--listen'; see teetap --help"
        );
    }
}
