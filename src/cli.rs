//! The command line: options and sub-commands, and how a wrong one is refused.

use std::{ffi::OsString, net::SocketAddr, path::PathBuf, time::Duration};

use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum, builder::BoolishValueParser};
use clap_complete::Shell;
use teetap_proxy::io::{Listen, Target};
use teetap_rules::syntax::{self, Quantity};
use teetap_tui::Verbosity;
use teetap_wire::{
    Dir, Proto,
    def::{Registry, Secrets},
};

use crate::{
    definitions,
    exit::{self, Exit, Failure},
    output,
    recording::Wanted,
};

/// A transparent man-in-the-middle for the Teeworlds and DDNet protocol: point your client at it, and see every message
/// between client and server.
#[derive(Debug, Parser)]
#[command(
    name = "teetap",
    version,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true,
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

/// Options of everything that starts a proxy.
#[derive(Clone, Debug, Args)]
pub(crate) struct Options {
    /// Where clients connect to; redirects of the server open more ports at that IP address [default: 127.0.0.1:8303, or the next free port]
    #[arg(short, long, value_name = "ADDR:PORT", env = "TEETAP_LISTEN", global = true, value_parser = listen_address, hide_env_values = true)]
    listen: Option<SocketAddr>,

    /// Lets clients of other machines in: needed for a listen address that is not loopback
    #[arg(long, env = "TEETAP_ALLOW_REMOTE", global = true, value_parser = BoolishValueParser::new(), hide_env_values = true)]
    allow_remote: bool,

    /// Seed of what rules will decide at random; shown and logged, nothing uses it yet [default: a new one each time, shown at the start]
    #[arg(
        long,
        value_name = "N",
        env = "TEETAP_SEED",
        global = true,
        value_parser = seed,
        hide_env_values = true
    )]
    pub(crate) seed: Option<u64>,

    /// The one protocol that clients may speak; for explain, the one to read the datagram as
    #[arg(
        long,
        value_name = "PROTO",
        env = "TEETAP_PROTO",
        global = true,
        default_value = "auto",
        hide_env_values = true
    )]
    proto: ProtoChoice,

    /// Only warnings, session states and the summary
    #[arg(short, long, env = "TEETAP_QUIET", global = true, value_parser = BoolishValueParser::new(), conflicts_with = "verbose", hide_env_values = true)]
    pub(crate) quiet: bool,

    /// A line per datagram with both legs' numbers and acks; twice: its bytes too
    #[arg(short, long, env = "TEETAP_VERBOSE", global = true, action = clap::ArgAction::Count, hide_env_values = true)]
    verbose: u8,

    /// One JSON object per line on stdout
    #[arg(long, env = "TEETAP_JSON", global = true, value_parser = BoolishValueParser::new(), hide_env_values = true)]
    pub(crate) json: bool,

    /// Shows only messages that match, such as 'c2s and not input' or 'sv_chat.message contains "gg"'
    #[arg(
        short,
        long,
        value_name = "EXPR",
        env = "TEETAP_FILTER",
        global = true,
        hide_env_values = true
    )]
    pub(crate) filter: Option<String>,

    /// Ends the run when a message matches
    #[arg(
        long,
        value_name = "EXPR",
        env = "TEETAP_UNTIL",
        global = true,
        hide_env_values = true
    )]
    pub(crate) until: Option<String>,

    /// Ends the run after so long, such as 30s or 5min: exit code 4 when --until has not come
    #[arg(long, value_name = "DUR", env = "TEETAP_TIMEOUT", global = true, value_parser = duration, hide_env_values = true)]
    pub(crate) timeout: Option<Duration>,

    /// Shows passwords, rcon commands and codes instead of •••
    #[arg(long, env = "TEETAP_SHOW_SECRETS", global = true, value_parser = BoolishValueParser::new(), hide_env_values = true)]
    show_secrets: bool,

    /// Messages and objects of your own, or others than those built in; `teetap messages NAME` shows the form
    #[arg(
        long,
        value_name = "FILE",
        env = "TEETAP_MESSAGES",
        global = true,
        hide_env_values = true
    )]
    messages: Option<PathBuf>,

    /// Writes every input of the run to a new file, for `teetap replay`; it holds passwords and can only be read by you
    #[arg(
        long,
        value_name = "FILE",
        env = "TEETAP_INPUT_LOG",
        global = true,
        hide_env_values = true
    )]
    pub(crate) input_log: Option<PathBuf>,

    /// Records the run: FILE.pcapng with every datagram, for tshark and `teetap open`, or FILE.jsonl with the lines of
    /// --json -vv. A recording of teetap's that is there is gone on with; it holds passwords and can only be read by you
    #[arg(
        short,
        long,
        value_name = "FILE",
        env = "TEETAP_WRITE",
        global = true,
        value_parser = Wanted::parse,
        hide_env_values = true
    )]
    pub(crate) write: Option<Wanted>,
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
        /// The input log
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Prints a recording as a live run would: pcapng, pcap (of teetap, tcpdump, Wireshark) or teetap's JSON lines
    Open {
        /// The recording
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Prints the messages of a recording that match an expression, as --filter takes it
    Grep {
        /// The expression
        #[arg(value_name = "EXPR")]
        expr: String,
        /// The recording
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
        /// The recording: whatever `open` reads
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
        /// As it is printed, or as the games' sources call it (NETMSGTYPE_SV_CHAT)
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },
    /// Explains the bytes of one datagram down to bits, as every protocol it may be of, or as that of --proto
    Explain {
        /// The direction it goes [default: the one in which it makes more sense]
        #[arg(long, value_name = "DIR")]
        dir: Option<DirChoice>,
        /// Hex, or a file with hex, with a dump of xxd, hexdump -C or tcpdump -x, or with the bytes themselves; - is stdin
        #[arg(value_name = "HEX|FILE|-", required = true)]
        words: Vec<String>,
    },
    /// Prints a completion script
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Prints the man page
    Man,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ProtoChoice {
    /// All of them
    Auto,
    /// 0.6 without tokens
    #[value(name = "0.6")]
    V6,
    /// 0.6.5 with its token in the header
    #[value(name = "0.6.5")]
    V65,
    /// DDNet's 0.6
    Ddnet,
    /// 0.7
    #[value(name = "0.7")]
    V7,
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

impl Options {
    /// Where to listen.
    ///
    /// # Errors
    /// When the address is not loopback and nobody allowed that.
    pub(crate) fn listen(&self) -> Result<Listen, Failure> {
        match self.listen {
            None => Ok(Listen::Default),
            Some(addr) if self.allow_remote || addr.ip().to_canonical().is_loopback() => Ok(Listen::At(addr)),
            Some(addr) => Err(Failure::usage(format!(
                "listening on {addr} would let other machines in: add --allow-remote if that is wanted"
            ))),
        }
    }

    /// The one protocol; `None` = all.
    pub(crate) fn proto(&self) -> Option<Proto> {
        match self.proto {
            ProtoChoice::Auto => None,
            ProtoChoice::V6 => Some(Proto::V6),
            ProtoChoice::V65 => Some(Proto::V65),
            ProtoChoice::Ddnet => Some(Proto::Ddnet),
            ProtoChoice::V7 => Some(Proto::V7),
        }
    }

    /// Whether ordinary traffic is of no interest: neither shown, nor recorded, nor asked about.
    pub(crate) fn sees_only_odd(&self) -> bool {
        self.quiet && self.write.is_none() && self.filter.is_none() && self.until.is_none()
    }

    /// Whether secrets are shown.
    pub(crate) fn secrets(&self) -> Secrets {
        if self.show_secrets {
            Secrets::Show
        } else {
            Secrets::Hide
        }
    }

    /// The definitions of messages.
    ///
    /// # Errors
    /// When those of the user cannot be read.
    pub(crate) fn registry(&self) -> Result<&'static Registry, Failure> {
        definitions::load(self.messages.as_deref())
    }

    /// How much is shown.
    pub(crate) fn verbosity(&self) -> Verbosity {
        match self.verbose {
            0 => Verbosity::Messages,
            1 => Verbosity::Datagrams,
            _ => Verbosity::Bytes,
        }
    }
}

/// The definition, for completions and man page.
pub(crate) fn definition() -> clap::Command {
    Cli::command()
}

/// Says why the command line was not taken, or what was asked for instead (help, version).
pub(crate) fn refuse(error: &clap::Error) -> Exit {
    if !error.use_stderr() {
        // A closed pipe is success: whoever closed it has read enough.
        let _closed_pipe = error.print();
        return Exit::Ok;
    }
    output::say(&format!("teetap: {}", one_line(&error.render().to_string())));
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

fn seed(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| "a seed is a number from 0 to 18446744073709551615".to_owned())
}

/// A number with a unit of time, as in filters.
fn duration(text: &str) -> Result<Duration, String> {
    let number = match syntax::parse(text).map(|expr| expr.kind) {
        Ok(syntax::Kind::Number(number)) => Some(number),
        _ => None,
    };
    number
        .filter(|number| number.quantity() == Quantity::Duration)
        .and_then(|number| u64::try_from(number.value()?).ok())
        .filter(|micros| *micros > 0)
        .map(Duration::from_micros)
        .ok_or_else(|| "write a number and a unit of time, like 500ms, 30s or 5min".to_owned())
}

/// `ADDR:PORT`; `:PORT` is a port of 127.0.0.1.
fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let full = if text.starts_with(':') {
        format!("127.0.0.1{text}")
    } else {
        text.to_owned()
    };
    full.parse()
        .map_err(|_| "write an address and a port, like 127.0.0.1:8303, [::1]:8303 or :0".to_owned())
}

fn notes() -> String {
    format!(
        "Every option has an environment variable: TEETAP_LISTEN for --listen, and so on.\n\
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
    fn listen_addresses() {
        assert_eq!(listen_address(":0").unwrap().to_string(), "127.0.0.1:0");
        assert_eq!(listen_address("[::1]:5").unwrap().to_string(), "[::1]:5");
        assert!(listen_address("8303").is_err() && listen_address("host:1").is_err());
    }

    #[test]
    fn an_error_is_one_line() {
        let error = Cli::try_parse_from(["teetap", "host", "--lissten", "x"]).unwrap_err();
        let line = one_line(&error.render().to_string());
        assert_eq!(
            line,
            "unexpected argument '--lissten' found; tip: a similar argument exists: '--listen'; see teetap --help"
        );
    }
}
