//! The commands and their arguments.

use std::{ffi::OsString, path::PathBuf};

use clap::{Subcommand, ValueEnum};
use clap_complete::Shell;
use teetap_inspect::control;
use teetap_proxy::io::Target;

use super::{
    Definitions, DiffOptions, ExplainOptions, Json, JudgeOptions, MessagesOptions, MuseumOptions,
    OpenOptions, ProxyOptions, Quiet, Range, ReportOptions, RunOptions, ScreenOptions, Search, Show,
    ShrinkOptions, TortureOptions,
};

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
    /// Replay an input log without sockets and compare the sent datagrams
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
    Open(Box<OpenOptions>),
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
    /// Compare two sessions by message and field
    ///
    /// Retransmissions count once. Sequence numbers, acks, tokens, times and ticks are not compared. Inputs and snapshots are compared by their ticks if
    /// both sides saw the same game. The exit code is 1 if the sides differ.
    Diff(Box<DiffOptions>),
    /// Find the faults in a recording, the cause first
    ///
    /// Lists datagrams and messages that receivers drop, ignore or read differently: each kind once for each peer and session,
    /// with its first occurrence. Errors are listed before warnings, early ones before late ones, and losses of the network
    /// last. The exit code is 1 if there is an error.
    Judge(JudgeOptions),
    /// Sum up a recording as Markdown, for a bug report
    ///
    /// Lists the findings with their first place, draws the messages around the first finding, explains its datagram, and adds joins, losses,
    /// rules, the bits of each message and of each type of snapshot item, and the command that repeats the run: at most 60,000
    /// characters. Hides secrets, texts of players and servers, and addresses, as `scrub` does. The exit code is 0 whatever was
    /// found.
    Report(ReportOptions),
    /// Redact secrets, texts and addresses in a recording
    ///
    /// Replaces every password, rcon command and code by the same number of *, and likewise every text that players and servers wrote: chat,
    /// names, votes, broadcasts, lines of the remote console, reasons. Replaces every IP and MAC address by a placeholder that
    /// is the same wherever the address occurs: 192.0.2.1, 2001:db8::1, 02:00:00:00:00:01 and so on (IPv4 from 240.0.0.1 after
    /// the first 254). Rewrites comments, and removes the names of hosts, interfaces, programs and files. Keeps ports, loopback
    /// addresses, tokens, numbers, versions, names of maps, and snapshots, which hold names of players in 0.6. Packets that do
    /// not belong to the game, were not recorded whole or cannot be read are omitted and counted.
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
    Messages(Box<MessagesOptions>),
    /// Show recordings of well-known bugs, each with a page about it
    ///
    /// Without NAME, lists the recordings. With NAME, prints its page (the symptoms, the bug, and the finding that names it), then
    /// the messages, as `open` does.
    Museum(Box<MuseumOptions>),
    /// Explain the bytes of one datagram down to bits, or a code
    ///
    /// Reads a datagram in every protocol that it may belong to, or only in the one of --proto. Of a code that teetap prints, such as
    /// wrong-token or login-stalled, prints the page: the symptoms, the reaction of the receiver, the likely cause and the remedy.
    Explain {
        #[command(flatten)]
        options: ExplainOptions,
        /// Hex, a file, a packet of a capture (FILE#57), stdin or a code
        ///
        /// Hex, a string or list of code (b"\x10", {0x10}), or a file with these, with a dump of xxd, hexdump -C,
        /// tcpdump -x or tshark -x, or with the bytes themselves; - is stdin.
        #[arg(value_name = "HEX|FILE|-|CODE", required = true)]
        words: Vec<String>,
    },
    /// Check rules, or files of rules, for errors
    ///
    /// Reads them as one program, as a run does, and prints every error and warning with its place. The exit code is 2
    /// if there is an error.
    Check {
        #[command(flatten)]
        definitions: Definitions,
        #[command(flatten)]
        quiet: Quiet,
        /// Print each statement as an English sentence
        #[arg(long, conflicts_with = "json")]
        explain: bool,
        #[command(flatten)]
        json: Json,
        /// Try the rules on a recording
        ///
        /// Prints the actions on each message (not with --quiet), and the hits of each rule. Random decisions use the seed of the
        /// rules, or 0.
        #[arg(long, value_name = "RECORDING", conflicts_with = "json")]
        against: Option<PathBuf>,
        /// The files; - is stdin
        ///
        /// Text with blanks that is no file is a rule itself: teetap check 'drop when sv_chat'.
        #[arg(value_name = "FILE|RULE", required = true)]
        files: Vec<PathBuf>,
    },
    /// Print a file of rules in its canonical form
    ///
    /// Checks the syntax, not the names. Comments are kept; a statement with a comment between its words keeps its lines.
    Fmt {
        /// Write the result to the file instead of stdout
        #[arg(long, conflicts_with = "check")]
        write: bool,
        /// Print nothing; exit with 1 if the file is not in canonical form
        #[arg(long)]
        check: bool,
        /// The file; - is stdin
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Try each fault on each message of a login
    ///
    /// The faults are lose, drop, dup, delay, swap and corrupt. The first runs have no fault. The exit code is 1 if a
    /// client does not join although clients of its kind survive the fault.
    Torture(TortureOptions),
    /// Find the smallest set of faults with which a command still fails
    ///
    /// Runs the command repeatedly with parts of a journal. The command fails if its exit code is not 0. The result is a journal,
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
        command: control::Command,
    },
    /// Print the options that configuration files set, or where files are
    ///
    /// An option on the command line overrides its environment variable, the variable overrides ./teetap.toml, and that file
    /// overrides $XDG_CONFIG_HOME/teetap/config.toml.
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
    /// The options in force, each with its origin
    Show,
    /// The files, and whether they are read
    Path,
    /// A file with all options in comments
    Template,
}

/// The names of all commands.
pub(super) const COMMANDS: [&str; 20] = [
    "run",
    "demo",
    "replay",
    "open",
    "grep",
    "diff",
    "judge",
    "report",
    "scrub",
    "messages",
    "museum",
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

fn expressions() -> String {
    format!("The language of expressions:\n\n{}", teetap_rules::vocabulary())
}

#[cfg(test)]
mod tests {
    use crate::cli::definition;

    use super::COMMANDS;

    #[test]
    fn every_command_is_listed() {
        let root = definition();
        let names: Vec<&str> = root.get_subcommands().map(clap::Command::get_name).collect();
        assert_eq!(names, COMMANDS);
    }
}
