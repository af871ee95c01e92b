//! Options of open, torture, shrink, explain and diff.

use std::{ffi::OsString, num::NonZeroUsize, path::PathBuf, time::Duration};

use clap::{Args, ValueEnum, ValueHint};
use teetap_wire::{Dir, Side, def::Dialect};

use super::{
    options::Protocol,
    screen::ScreenOptions,
    show::{Contents, Definitions, FilterOption, Json, Quiet, Range, Show},
    values::{duration, seed},
};

/// Options and arguments of `teetap torture`.
#[derive(Debug, Args)]
pub(crate) struct TortureOptions {
    #[command(flatten)]
    pub(crate) json: Json,

    /// End a run after a time, such as 10s, if the client has not joined
    #[arg(long, value_name = "DUR", default_value = "10s", value_parser = duration)]
    pub(crate) timeout: Duration,

    /// Watch a client for this time after it has entered the game
    #[arg(long, value_name = "DUR", default_value = "1s", value_parser = duration)]
    pub(crate) stay: Duration,

    /// Run N clients in parallel [default: 1]
    ///
    /// They share the server, so that the chat of one client may disturb another.
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,

    /// List every cell that did not join at once, not only the failed ones
    #[arg(short, long)]
    pub(crate) all: bool,

    /// Try only messages of this name, such as con_ready
    ///
    /// May be given several times.
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Vec<String>,

    /// The seed of random decisions [default: 1]
    #[arg(long, value_name = "N", value_parser = seed)]
    pub(crate) seed: Option<u64>,

    /// Write a JUnit report to a file at the end
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,

    /// Append the result as Markdown to a file, for the summary of a job
    ///
    /// The file is usually $GITHUB_STEP_SUMMARY.
    #[arg(long, value_name = "FILE")]
    pub(crate) summary: Option<PathBuf>,

    /// The game server; the port is 8303 when none is given
    #[arg(value_name = "HOST[:PORT]")]
    pub(crate) target: teetap_proxy::io::Target,

    /// The client, which is run once for each cell
    ///
    /// {addr} becomes the HOST:PORT to connect to, {host} and {port} its parts.
    #[arg(last = true, value_name = "CMD", required = true)]
    pub(crate) command: Vec<OsString>,
}

/// Options and arguments of `teetap judge`.
#[derive(Debug, Args)]
pub(crate) struct JudgeOptions {
    #[command(flatten)]
    pub(crate) quiet: Quiet,

    /// Also list harmless oddities
    #[arg(short, long)]
    pub(crate) verbose: bool,

    #[command(flatten)]
    pub(crate) json: Json,

    /// Judge the datagrams as they were on one leg of a run of teetap
    ///
    /// On the leg of the receiver, edits of rules and effects of link lines count like datagrams of the sender.
    #[arg(long, value_name = "SIDE")]
    pub(crate) leg: Option<LegSide>,

    /// Write a JUnit report to a file, with a test for each finding
    ///
    /// An existing file is replaced.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,

    /// Append the result as Markdown to a file, for the summary of a job
    ///
    /// The file is usually $GITHUB_STEP_SUMMARY.
    #[arg(long, value_name = "FILE")]
    pub(crate) summary: Option<PathBuf>,

    /// Report only these codes, such as wrong-token,ack-ahead
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    pub(crate) only: Vec<String>,

    /// Do not report these codes
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    pub(crate) ignore: Vec<String>,

    /// Do not report the codes in a file, one on each line
    ///
    /// Write `client` or `server` after a code to ignore only findings about that side, and # before a comment.
    #[arg(long, value_name = "FILE")]
    pub(crate) ignore_file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) contents: Contents,

    /// The recording: whatever `open` reads; - is stdin
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

/// Options and arguments of `teetap open`.
#[derive(Debug, Args)]
pub(crate) struct OpenOptions {
    #[command(flatten)]
    pub(crate) filter: FilterOption,

    #[command(flatten)]
    pub(crate) range: Range,

    #[command(flatten)]
    pub(crate) show: Show,

    #[command(flatten)]
    pub(crate) screen: ScreenOptions,

    /// Write the capture to a new pcapng file, with comments; - is stdout
    ///
    /// Nothing is printed. Each packet of the game gets a comment with its messages, as in a recording of teetap; all else is
    /// copied, packets of other protocols too. The file contains passwords and is created with mode 0600; comments hide
    /// them unless --show-secrets is given.
    #[arg(short = 'w', long = "write", value_name = "OUT", value_hint = ValueHint::FilePath,
        conflicts_with_all = ["filter", "from", "to", "until", "json", "tui"])]
    pub(crate) annotated: Option<PathBuf>,

    /// The recording; - is stdin
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

/// Options and arguments of `teetap report`.
#[derive(Debug, Args)]
pub(crate) struct ReportOptions {
    #[command(flatten)]
    pub(crate) quiet: Quiet,

    /// Report only on this session
    #[arg(long = "for", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) session: Option<u32>,

    /// Write the report to this file [default: stdout]
    ///
    /// An existing file is replaced.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Keep texts of players and servers; replace only secrets in them
    #[arg(long)]
    pub(crate) keep_text: bool,

    #[command(flatten)]
    pub(crate) contents: Contents,

    /// The recording: whatever `open` reads; - is stdin
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

/// Options of `teetap shrink`.
#[derive(Debug, Args)]
pub(crate) struct ShrinkOptions {
    /// Write the smallest journal to this file [default: JOURNAL.min.jsonl]
    ///
    /// An existing file is replaced.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Run the command up to N times for each part
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) runs: u32,

    /// Count a part as failing if K of its runs fail
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) fails: u32,

    /// Print the output of the command
    #[arg(short, long)]
    pub(crate) verbose: bool,

    /// The journal
    #[arg(value_name = "JOURNAL")]
    pub(crate) journal: PathBuf,

    /// The command; {faults} becomes the path of a part of the journal
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

/// Options of `teetap explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainOptions {
    #[command(flatten)]
    pub(crate) protocol: Protocol,

    /// Read the datagram in this direction [default: the more plausible one]
    #[arg(long, value_name = "DIR")]
    dir: Option<DirChoice>,

    /// Read this packet of a capture; FILE#N is the same
    ///
    /// Packets count from 1, as in Wireshark and in the frame of messages.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) frame: Option<u64>,

    #[command(flatten)]
    pub(crate) json: Json,

    #[command(flatten)]
    pub(crate) contents: Contents,
}

/// Options and arguments of `teetap messages`.
#[derive(Debug, Args)]
pub(crate) struct MessagesOptions {
    #[command(flatten)]
    pub(crate) definitions: Definitions,
    /// The name of a message or object
    ///
    /// As it is printed, as in filters (sys.4, snap.character), or as in the sources of the games (NETMSGTYPE_SV_CHAT).
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Explain how definitions are written, with an example for --messages
    #[arg(long, conflicts_with = "name")]
    pub(crate) form: bool,
    /// Print one JSON object for code generators
    ///
    /// It has ids, directions, fields with their types and ranges, and texts; docs/messages.schema.json describes it. With NAME, the object has only this message and the types that it uses.
    #[arg(long, conflicts_with = "form")]
    pub(crate) json: bool,
    /// Print the definitions of 0.6, ddnet or 0.7 in the JSON of libtw2
    #[arg(long, value_name = "PROTOCOL", value_parser = dialect, conflicts_with_all = ["name", "form", "json"])]
    pub(crate) libtw2: Option<Dialect>,
    /// Print a JSON file of libtw2 as a definition file for --messages
    #[arg(long, value_name = "FILE", conflicts_with_all = ["name", "form", "json", "libtw2", "messages"])]
    pub(crate) import: Option<PathBuf>,
}

/// Parses the name of a dialect.
fn dialect(text: &str) -> Result<Dialect, &'static str> {
    let mut all = Dialect::ALL.into_iter();
    all.find(|dialect| dialect.name() == text)
        .ok_or("expected one of 0.6, ddnet, 0.7")
}

/// Options and arguments of `teetap museum`.
#[derive(Debug, Args)]
pub(crate) struct MuseumOptions {
    #[command(flatten)]
    pub(crate) show: Show,
    /// Use the same session without the bug
    ///
    /// Prints its messages without the page, or writes it with --save.
    #[arg(long, requires = "name")]
    pub(crate) repaired: bool,
    /// Write the recording to this file instead; it must not exist
    #[arg(long, value_name = "FILE", requires = "name")]
    pub(crate) save: Option<PathBuf>,
    /// The name of a recording
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
}

/// Options and arguments of `teetap diff`.
#[derive(Debug, Args)]
pub(crate) struct DiffOptions {
    #[command(flatten)]
    pub(crate) filter: FilterOption,

    /// End both sides when a message matches, such as 'c2s and enter_game'
    ///
    /// The message is still compared, later messages are not.
    #[arg(long, value_name = "EXPR", env = "TEETAP_UNTIL", hide_env_values = true)]
    pub(crate) until: Option<String>,

    /// Do not compare a message, object or field
    ///
    /// A message or object (sv_chat, character), one of its fields (cl_start_info.name), or a field of all messages and objects
    /// (name). May be given several times.
    #[arg(long, value_name = "NAME")]
    pub(crate) ignore: Vec<String>,

    /// List all messages, and differences of inputs and snapshots one by one
    #[arg(short, long, env = "TEETAP_VERBOSE", action = clap::ArgAction::Count, hide_env_values = true)]
    pub(crate) verbose: u8,

    #[command(flatten)]
    pub(crate) quiet: Quiet,

    #[command(flatten)]
    pub(crate) json: Json,

    #[command(flatten)]
    pub(crate) contents: Contents,

    /// A recording: FILE, FILE#SESSION, FILE@client, FILE@server or ref:NAME
    ///
    /// Whatever `open` reads; - is stdin. The session is the first one that is online if no number is given. A leg of a recording
    /// of teetap has the messages as they were on that side of the proxy; without a leg, the messages are compared as the
    /// peers sent them. A reference is a built-in recording of a join: ref:ddnet-16.4, ref:ddnet-20.1, ref:teeworlds-0.6.5,
    /// ref:teeworlds-0.7.5, and ref:ddnet-16.4-0.7, a client of 0.7 on DDNet's server.
    #[arg(value_name = "A")]
    pub(crate) a: String,

    /// The other recording [default: the client leg of A with its server leg]
    #[arg(value_name = "B")]
    pub(crate) b: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DirChoice {
    /// From the client to the server
    C2s,
    /// From the server to the client
    S2c,
}

impl ExplainOptions {
    /// Returns the direction in which to read the datagram; `None` = the more plausible one.
    pub(crate) fn dir(&self) -> Option<Dir> {
        self.dir.map(|dir| match dir {
            DirChoice::C2s => Dir::C2s,
            DirChoice::S2c => Dir::S2c,
        })
    }
}

/// A leg of the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LegSide {
    /// Between the client and teetap
    Client,
    /// Between teetap and the server
    Server,
}

impl From<LegSide> for Side {
    fn from(side: LegSide) -> Self {
        match side {
            LegSide::Client => Self::Client,
            LegSide::Server => Self::Server,
        }
    }
}
