//! Options: groups that each command flattens into its own arguments, and what they mean for a run.

use std::{
    io::{self, IsTerminal as _},
    net::SocketAddr,
    path::PathBuf,
    time::Duration,
};

use clap::{
    Args, ValueEnum, ValueHint,
    builder::{BoolishValueParser, PossibleValuesParser, TypedValueParser as _},
};
use teetap_capture::Target;
use teetap_inspect::Verbosity;
use teetap_proxy::{io::Listen, session::Time};
use teetap_tui::{App, Theme};
use teetap_wire::{
    Proto,
    def::{Registry, Secrets},
};

use super::{
    lines::LineOptions,
    values::{duration, listen_address, seed},
};
use crate::{definitions, exit::Failure, look::Look, output::Extent, settings::Bound};

/// Options of `teetap HOST` and `teetap run`.
#[derive(Debug, Args)]
pub(crate) struct ProxyOptions {
    #[command(flatten)]
    pub(crate) run: RunOptions,

    #[command(flatten)]
    pub(crate) protocol: Protocol,
}

/// Options of the terminal UI.
#[derive(Clone, Debug, Args)]
pub(crate) struct ScreenOptions {
    /// The keys that configuration files bind.
    #[arg(skip)]
    pub(crate) keys: Vec<Bound>,

    /// Show the messages in a terminal UI
    #[arg(long, env = "TEETAP_TUI", value_parser = BoolishValueParser::new(), hide_env_values = true,
        conflicts_with_all = ["json", "quiet", "verbose"])]
    pub(crate) tui: bool,

    /// Use a theme in the terminal UI
    #[arg(long, value_name = "NAME", env = "TEETAP_THEME", default_value = "default", hide_env_values = true,
        value_parser = PossibleValuesParser::new(Theme::ALL.map(|(name, _)| name)).map(theme))]
    theme: Theme,
}

/// Returns the theme of a name that was checked.
fn theme(name: String) -> Theme {
    Theme::named(&name).unwrap_or_default()
}

impl ScreenOptions {
    /// Sets colours, characters and keys.
    pub(crate) fn prepare(&self, app: &mut App) {
        let look = Look::get().screen;
        app.theme = if look.colours { self.theme } else { Theme::Mono };
        app.ascii = look.ascii;
        for (key, action) in &self.keys {
            app.keymap.bind(*key, *action);
        }
    }

    /// Refuses a terminal UI where there is no terminal.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.tui && !(io::stdout().is_terminal() && io::stdin().is_terminal()) {
            let text = "cannot open the terminal UI: this is not a terminal; leave out --tui";
            return Err(Failure::usage(text));
        }
        Ok(())
    }
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
    /// The exit code is 4 when --until has not matched by then.
    #[arg(long, value_name = "DUR", env = "TEETAP_TIMEOUT", value_parser = duration, hide_env_values = true)]
    pub(crate) timeout: Option<Duration>,

    /// End the run with exit code 1 when a message matches
    #[arg(long, value_name = "EXPR", env = "TEETAP_FAIL_ON", hide_env_values = true)]
    pub(crate) fail_on: Option<String>,

    /// Write a JUnit report to a file at the end, for continuous integration
    ///
    /// The report has a test case each for --until, --fail-on, the command, each rule with `fail` or `expect`, and the run.
    /// An existing file is replaced.
    #[arg(long, value_name = "FILE", env = "TEETAP_JUNIT", hide_env_values = true)]
    pub(crate) junit: Option<PathBuf>,

    /// Do not repair the loss of a message that is sent once
    ///
    /// That is DDNet's ACCEPT: without it the client does not join, as without the proxy.
    #[arg(long, env = "TEETAP_NO_HEAL", value_parser = BoolishValueParser::new(), hide_env_values = true)]
    pub(crate) no_heal: bool,

    /// Write every input of the run to a new file, for `teetap replay`
    ///
    /// It contains passwords and is created with mode 0600.
    #[arg(long, value_name = "FILE", env = "TEETAP_INPUT_LOG", hide_env_values = true)]
    pub(crate) input_log: Option<PathBuf>,

    /// Write what rules and link lines do to a new file, for --faults-from
    ///
    /// The file has the rules, each decision about the traffic, and how long
    /// each join took. It is created with mode 0600.
    #[arg(long, value_name = "FILE", env = "TEETAP_JOURNAL", hide_env_values = true)]
    pub(crate) journal: Option<PathBuf>,

    /// Repeat the faults of a journal, and no others
    ///
    /// The rules and the seed are those of the journal.
    #[arg(long, value_name = "FILE", env = "TEETAP_FAULTS_FROM", hide_env_values = true)]
    pub(crate) faults_from: Option<PathBuf>,

    /// Record the run to FILE.pcapng or FILE.jsonl
    ///
    /// FILE.pcapng holds every datagram, for Wireshark and `teetap open`. FILE.jsonl holds the lines of --json -vv without
    /// the items of snapshots, which `teetap open` reads from the bytes. Appends to an existing teetap recording. A
    /// filter does not apply to it. It contains passwords and is created with mode 0600.
    #[arg(short, long, value_name = "FILE", env = "TEETAP_WRITE", value_parser = Target::parse,
        value_hint = ValueHint::FilePath, hide_env_values = true)]
    pub(crate) write: Option<Target>,
}

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
    /// May be given several times. Options come before files.
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
    /// May be given several times. These come after those of --rule.
    #[arg(long, value_name = "LINE", env = "TEETAP_LINK", hide_env_values = true)]
    pub(crate) link: Vec<String>,

    /// Add the link lines of a profile, such as 3g or wifi-bad
    ///
    /// May be given several times. Files may define profiles of their own. These come after those of --link.
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
    /// May be given several times. A changed file with errors leaves the last rules in place.
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
    /// Returns the rules of options as statements, each with the name of its option.
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

/// Options of every command that prints messages.
#[derive(Debug, Args)]
pub(crate) struct Show {
    #[command(flatten)]
    pub(crate) quiet: Quiet,

    /// Print a line per datagram; twice: its bytes too, secrets included
    #[arg(short, long, env = "TEETAP_VERBOSE", action = clap::ArgAction::Count, conflicts_with = "quiet", hide_env_values = true)]
    verbose: u8,

    #[command(flatten)]
    pub(crate) json: Json,

    /// End the run, or the reading, when a message matches
    #[arg(long, value_name = "EXPR", env = "TEETAP_UNTIL", hide_env_values = true)]
    pub(crate) until: Option<String>,

    #[command(flatten)]
    pub(crate) lines: LineOptions,

    #[command(flatten)]
    pub(crate) secrets: ShowSecrets,

    #[command(flatten)]
    pub(crate) definitions: Definitions,
}

#[derive(Debug, Args)]
pub(crate) struct FilterOption {
    /// Print only messages that match, such as 'c2s and not input'
    ///
    /// `teetap grep --help` lists the words of the language.
    #[arg(
        short,
        long,
        value_name = "EXPR",
        env = "TEETAP_FILTER",
        hide_env_values = true
    )]
    pub(crate) filter: Option<String>,
}

/// The part of a recording that is printed.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Range {
    /// Print from this time of the recording on, such as 90s
    #[arg(long, value_name = "DUR", value_parser = duration)]
    from: Option<Duration>,

    /// Print up to this time of the recording
    #[arg(long, value_name = "DUR", value_parser = duration)]
    to: Option<Duration>,
}

/// Options of a search.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Search {
    /// Print N messages before each match
    #[arg(short = 'B', long, value_name = "N", conflicts_with = "count")]
    before_context: Option<usize>,

    /// Print N messages after each match
    #[arg(short = 'A', long, value_name = "N", conflicts_with = "count")]
    after_context: Option<usize>,

    /// Print N messages before and after each match
    #[arg(short = 'C', long, value_name = "N", conflicts_with = "count")]
    context: Option<usize>,

    /// Print only the number of matches
    #[arg(short, long, conflicts_with = "json")]
    count: bool,

    /// Stop after N matches
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_count: Option<u64>,
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Quiet {
    /// Print only sessions, notices, odd messages and the summary
    #[arg(short, long, env = "TEETAP_QUIET", value_parser = BoolishValueParser::new(), hide_env_values = true)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Json {
    /// Print one JSON object per line
    #[arg(long, env = "TEETAP_JSON", value_parser = BoolishValueParser::new(), hide_env_values = true)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct ShowSecrets {
    /// Print passwords, rcon commands and codes instead of •••
    #[arg(long, env = "TEETAP_SHOW_SECRETS", value_parser = BoolishValueParser::new(), hide_env_values = true)]
    show_secrets: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Definitions {
    /// Read definitions of messages and objects from a file
    ///
    /// They replace built-in ones of the same name. `teetap messages --form` explains how they are written.
    #[arg(long, value_name = "FILE", env = "TEETAP_MESSAGES", hide_env_values = true)]
    messages: Option<PathBuf>,
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
    /// Any of them
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
    /// Returns the address to listen on.
    pub(crate) fn listen(&self) -> Result<Listen, Failure> {
        match self.listen {
            None => Ok(Listen::Default),
            Some(addr) if self.allow_remote || addr.ip().to_canonical().is_loopback() => Ok(Listen::At(addr)),
            Some(addr) => Err(Failure::usage(format!(
                "cannot listen on {addr}: other machines could connect; add --allow-remote to let them"
            ))),
        }
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

impl Range {
    /// Returns true if an event of this time is printed.
    pub(crate) fn contains(self, at: Time) -> bool {
        let at = at - Time::ZERO;
        self.from.is_none_or(|from| from <= at) && self.to.is_none_or(|to| at <= to)
    }
}

impl Search {
    /// Returns the amount that is printed.
    pub(crate) fn extent(self) -> Extent {
        let around = self.context.unwrap_or_default();
        Extent {
            before: self.before_context.unwrap_or(around).min(MOST_CONTEXT),
            after: self.after_context.unwrap_or(around),
            max: self.max_count,
            count: self.count,
        }
    }
}

/// The maximum number of messages kept for the context before a match.
const MOST_CONTEXT: usize = 100_000;

impl Show {
    /// Returns the amount of detail.
    pub(crate) fn verbosity(&self) -> Verbosity {
        match self.verbose {
            0 => Verbosity::Messages,
            1 => Verbosity::Datagrams,
            _ => Verbosity::Bytes,
        }
    }
}

impl Protocol {
    /// Returns the only protocol; `None` = all.
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

impl ShowSecrets {
    pub(crate) fn secrets(self) -> Secrets {
        if self.show_secrets {
            Secrets::Show
        } else {
            Secrets::Hide
        }
    }
}

impl Definitions {
    /// Returns the built-in definitions with the user's own.
    pub(crate) fn registry(&self) -> Result<&'static Registry, Failure> {
        definitions::load(self.messages.as_deref())
    }
}
