//! Options of commands that start a proxy.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::{Args, ValueEnum, ValueHint, builder::BoolishValueParser};
use teetap_capture::Target;
use teetap_engine::recording::Flight;
use teetap_proxy::io::Listen;
use teetap_wire::Proto;

use super::{
    FilterOption, Show,
    values::{duration, listen_address, seed},
};
use crate::exit::Failure;

/// Options of `teetap HOST` and `teetap run`.
#[derive(Debug, Args)]
pub(crate) struct ProxyOptions {
    #[command(flatten)]
    pub(crate) run: RunOptions,

    #[command(flatten)]
    pub(crate) protocol: Protocol,
}

/// Options of every command that starts a proxy.
#[derive(Debug, Args)]
pub(crate) struct RunOptions {
    /// Listen for clients here [default: 127.0.0.1:8303, or the next free port]
    ///
    /// Redirects of the server open more ports at this IP address.
    #[arg(short, long, value_name = "ADDR:PORT", env = "TEETAP_LISTEN", value_parser = listen_address, hide_env_values = true)]
    listen: Option<SocketAddr>,

    /// Let other machines connect: needed for a non-loopback address
    #[arg(long, env = "TEETAP_ALLOW_REMOTE", value_parser = BoolishValueParser::new(), hide_env_values = true)]
    allow_remote: bool,

    /// Give each client its own address, 127.x.y.z, before a local server
    ///
    /// Without it the server sees all clients at one address: it lets in four (sv_max_clients_per_ip), and cannot ban one alone.
    /// The addresses begin at 127.32.111.1 if teetap listens on port 8303. A client that connects again from another port gets
    /// another address. The server must be at 127.0.0.1 or another 127.x.y.z.
    #[arg(long, env = "TEETAP_CLIENT_ADDRESSES", value_parser = BoolishValueParser::new(), hide_env_values = true)]
    pub(crate) client_addresses: bool,

    /// Set the seed of random decisions [default: a new one for each run]
    ///
    /// Shown at the start, at the end and in recordings. The same seed and rules make the same decisions about the same
    /// traffic.
    #[arg(long, value_name = "N", env = "TEETAP_SEED", value_parser = seed, hide_env_values = true)]
    pub(crate) seed: Option<u64>,

    #[command(flatten)]
    pub(crate) rules: RuleOptions,

    #[command(flatten)]
    pub(crate) control: ControlOption,

    #[command(flatten)]
    pub(crate) filter: FilterOption,

    #[command(flatten)]
    pub(crate) show: Show,

    /// Append a log of the program to a file
    ///
    /// The log holds the start and the end of the run, the states of sessions, notices, warnings and panics, but no traffic.
    /// TEETAP_LOG filters it, in the syntax of the Rust crate tracing: warn, or teetap::session=info,error [default: info].
    /// The file is created with mode 0600.
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,

    /// End the run after a time, such as 30s or 5min
    ///
    /// The exit code is 4 when --until has not matched by then, or the command of run has not ended.
    #[arg(long, value_name = "DUR", env = "TEETAP_TIMEOUT", value_parser = duration, hide_env_values = true)]
    pub(crate) timeout: Option<Duration>,

    /// End the run when stdin is closed
    ///
    /// For a program that starts teetap with a pipe as its stdin: the system closes the pipe however that program ends, even if
    /// it is killed. Bytes on stdin are ignored. A screen or CMD, which read stdin themselves, cannot be used with it.
    #[arg(long)]
    pub(crate) until_stdin_closes: bool,

    /// End the run with exit code 1 when a message matches
    #[arg(long, value_name = "EXPR", env = "TEETAP_FAIL_ON", hide_env_values = true)]
    pub(crate) fail_on: Option<String>,

    /// Write a JUnit report to a file at the end, for continuous integration
    ///
    /// The report has a test case each for --until, --fail-on, the command, each rule with `fail` or `expect`, and the run.
    /// An existing file is replaced.
    #[arg(long, value_name = "FILE", env = "TEETAP_JUNIT", hide_env_values = true)]
    pub(crate) junit: Option<PathBuf>,

    /// Append the result as Markdown to a file, for the summary of a job
    ///
    /// The file is usually $GITHUB_STEP_SUMMARY.
    #[arg(long, value_name = "FILE", env = "TEETAP_SUMMARY", hide_env_values = true)]
    pub(crate) summary: Option<PathBuf>,

    /// Repair the loss of a message that its sender never repeats
    ///
    /// The message is DDNet's ACCEPT: a client whose ACCEPT is lost, or that never sends one, does not join. With this option
    /// teetap sends the ACCEPT to the server in the client's place, and repeats a lost one.
    #[arg(long, env = "TEETAP_HEAL", value_parser = BoolishValueParser::new(), hide_env_values = true)]
    pub(crate) heal: bool,

    /// Write every input of the run to a new file, for `teetap replay`
    ///
    /// It contains passwords and is created with mode 0600.
    #[arg(long, value_name = "FILE", env = "TEETAP_INPUT_LOG", hide_env_values = true)]
    pub(crate) input_log: Option<PathBuf>,

    /// Write the actions of rules and links to a new file, for --faults-from
    ///
    /// The file contains the rules, each decision about the traffic, and the duration of
    /// each join. It is created with mode 0600.
    #[arg(long, value_name = "FILE", env = "TEETAP_JOURNAL", hide_env_values = true)]
    pub(crate) journal: Option<PathBuf>,

    /// Repeat the faults of a journal, and no others
    ///
    /// The run uses the rules and the seed of the journal.
    #[arg(long, value_name = "FILE", env = "TEETAP_FAULTS_FROM", hide_env_values = true)]
    pub(crate) faults_from: Option<PathBuf>,

    /// Record the run to FILE.pcapng or FILE.jsonl; - is stdout
    ///
    /// FILE.pcapng holds every datagram, for Wireshark and `teetap open`. FILE.jsonl holds the lines of --json -vv without
    /// the items of snapshots, which `teetap open` reads from the bytes. Appends to an existing teetap recording. A
    /// filter does not apply to it. It contains passwords and is created with mode 0600. With -, pcapng is written to stdout
    /// and the lines go to stderr: teetap -w - HOST | wireshark -k -i -. A named pipe is written while a program reads it.
    #[arg(short, long, value_name = "FILE", env = "TEETAP_WRITE", value_parser = Target::parse,
        value_hint = ValueHint::FilePath, hide_env_values = true)]
    pub(crate) write: Option<Target>,

    /// Record only the last DUR of the run, such as 10min
    ///
    /// The events are kept in memory, at most 256 MiB, and written to the file of -w at the end of the run. With --save-on they are
    /// written after a match instead.
    #[arg(long, value_name = "DUR", env = "TEETAP_KEEP", value_parser = duration, hide_env_values = true)]
    pub(crate) keep: Option<Duration>,

    /// Record only the time around messages that match
    ///
    /// May be given several times. A match begins a new file, FILE-1.pcapng, FILE-2.pcapng and so on for -w FILE.pcapng: it has the
    /// time of --keep before the match [default: 10min] and 10 s after it. Further matches in this time continue the file, for at
    /// most 10 min. A run writes at most 100 files.
    #[arg(long, value_name = "EXPR", env = "TEETAP_SAVE_ON", hide_env_values = true)]
    pub(crate) save_on: Vec<String>,
}

/// Time before a match that `--save-on` records by default.
const KEEP: Duration = Duration::from_mins(10);

/// The control socket of a run.
#[derive(Debug, Args)]
pub(crate) struct ControlOption {
    /// Let scripts control the run through a Unix socket
    ///
    /// The socket takes commands as JSON lines; `teetap ctl` sends them. It is created with mode 0600 and removed at the end.
    #[arg(
        long = "control",
        value_name = "PATH",
        env = "TEETAP_CONTROL",
        hide_env_values = true
    )]
    pub(crate) path: Option<PathBuf>,
}

/// Options that set rules.
#[derive(Debug, Args)]
pub(crate) struct RuleOptions {
    /// Add a rule or link line, such as 'link both delay 40ms loss 1%'
    ///
    /// May be given several times. Options are evaluated before files.
    #[arg(
        short,
        long = "rule",
        value_name = "RULE",
        env = "TEETAP_RULE",
        hide_env_values = true
    )]
    pub(crate) rule: Vec<String>,

    /// Add a link line, such as 'both delay 40ms loss 1%'
    ///
    /// May be given several times. They are evaluated after those of --rule.
    #[arg(long, value_name = "LINE", env = "TEETAP_LINK", hide_env_values = true)]
    pub(crate) link: Vec<String>,

    /// Add the link lines of a profile, such as 3g or wifi-bad
    ///
    /// May be given several times. Files may define profiles of their own. They are evaluated after those of --link.
    #[arg(
        short,
        long,
        value_name = "NAME",
        env = "TEETAP_PROFILE",
        hide_env_values = true
    )]
    pub(crate) profile: Vec<String>,

    /// Add the rules of a file, and read it again when it changes
    ///
    /// May be given several times. If a changed file has errors, its last rules stay in force.
    #[arg(
        short = 'R',
        long = "rules",
        value_name = "FILE",
        env = "TEETAP_RULES",
        hide_env_values = true
    )]
    pub(crate) files: Vec<PathBuf>,
}

impl RuleOptions {
    /// Returns the rules that options set as statements, each with the name of its option.
    pub(crate) fn texts(&self) -> Vec<(&'static str, String)> {
        let rules = self.rule.iter().map(|rule| ("--rule", rule.clone()));
        let links = self.link.iter().map(|line| ("--link", format!("link {line}")));
        let profiles = self
            .profile
            .iter()
            .map(|name| ("--profile", format!("use {name:?}")));
        rules.chain(links).chain(profiles).collect()
    }
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Protocol {
    /// Use only this protocol
    #[arg(
        long,
        value_name = "PROTO",
        env = "TEETAP_PROTO",
        default_value = "auto",
        hide_env_values = true
    )]
    proto: ProtoChoice,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ProtoChoice {
    /// Any protocol
    Auto,
    /// 0.6 without tokens
    #[value(name = "0.6")]
    V6,
    /// 0.6.5 with a token in the header
    #[value(name = "0.6.5")]
    V65,
    /// 0.6 of DDNet
    Ddnet,
    /// 0.7
    #[value(name = "0.7")]
    V7,
}

impl RunOptions {
    /// Returns the address to listen on. Fails for a non-loopback address without `--allow-remote`.
    pub(crate) fn listen(&self) -> Result<Listen, Failure> {
        match self.listen {
            None => Ok(Listen::Default),
            Some(addr) if self.allow_remote || addr.ip().to_canonical().is_loopback() => Ok(Listen::At(addr)),
            Some(addr) => Err(Failure::usage(format!(
                "cannot listen on {addr}: other machines could connect; add --allow-remote to let them"
            ))),
        }
    }

    /// Refuses `--until-stdin-closes` if `reader`, a program or the screen, reads stdin.
    pub(crate) fn check_stdin(&self, reader: Option<&str>) -> Result<(), Failure> {
        match reader {
            Some(reader) if self.until_stdin_closes => Err(Failure::usage(format!(
                "cannot use --until-stdin-closes with {reader}, which reads stdin; leave out one of them"
            ))),
            _ => Ok(()),
        }
    }

    /// Refuses options that write to stdout together with a recording on stdout. `has_screen` is true if the run has a
    /// screen.
    pub(crate) fn check_stdout(&self, has_screen: bool) -> Result<(), Failure> {
        if !self.writes_to_stdout() {
            return Ok(());
        }
        let other = match (has_screen, self.show.json.json) {
            (true, _) => "--tui",
            (_, true) => "--json",
            _ => return Ok(()),
        };
        Err(Failure::usage(format!(
            "cannot write the recording to stdout together with {other}; leave out {other}, or name a file"
        )))
    }

    /// Returns true if the recording is written to stdout, so that lines are printed on stderr.
    pub(crate) fn writes_to_stdout(&self) -> bool {
        self.write.as_ref().is_some_and(Target::is_stdout)
    }

    /// Returns the settings of the flight recorder; `None` if the whole run is recorded or nothing.
    ///
    /// # Errors
    /// There is no file.
    pub(crate) fn flight(&self) -> Result<Option<Flight>, Failure> {
        let on_match = !self.save_on.is_empty();
        let option = match (self.keep, on_match) {
            (None, false) => return Ok(None),
            (_, true) => "--save-on",
            (Some(_), false) => "--keep",
        };
        let text = match &self.write {
            None => format!("{option} needs a recording: add -w FILE"),
            Some(target) if target.is_pipe() => {
                format!("cannot use {option} with a pipe; name a file for -w")
            }
            Some(_) => {
                let keep = self.keep.unwrap_or(KEEP);
                return Ok(Some(Flight { keep, on_match }));
            }
        };
        Err(Failure::usage(text))
    }

    /// Returns true if every message must be decoded, because all are shown or recorded.
    pub(crate) fn decodes_all(&self) -> bool {
        let is_shown = !self.sees_only_odd() && self.filter.filter.is_none();
        is_shown || self.write.is_some()
    }

    /// Returns true if ordinary traffic is neither shown, nor recorded, nor matched.
    pub(crate) fn sees_only_odd(&self) -> bool {
        self.show.quiet.quiet
            && self.write.is_none()
            && self.filter.filter.is_none()
            && self.show.until.is_none()
            && self.fail_on.is_none()
    }
}

impl Protocol {
    /// Returns the selected protocol; `None` = all.
    pub(crate) fn only(self) -> Option<Proto> {
        match self.proto {
            ProtoChoice::Auto => None,
            ProtoChoice::V6 => Some(Proto::V6),
            ProtoChoice::V65 => Some(Proto::V65),
            ProtoChoice::Ddnet => Some(Proto::Ddnet),
            ProtoChoice::V7 => Some(Proto::V7),
        }
    }
}
