//! Options of commands that print messages: what is printed, and how.

use std::{path::PathBuf, time::Duration};

use clap::{Args, builder::BoolishValueParser};
use teetap_inspect::Verbosity;
use teetap_proxy::session::Time;
use teetap_wire::def::{Registry, Secrets};

use super::{lines::LineOptions, values::duration};
use crate::{definitions, exit::Failure, output::Extent};

/// Options of every command that prints messages.
#[derive(Debug, Args)]
pub(crate) struct Show {
    #[command(flatten)]
    pub(crate) quiet: Quiet,

    /// Print a line per datagram; twice: also its bytes, secrets included
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
    pub(crate) contents: Contents,
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
#[derive(Clone, Copy, Debug, Default, Args)]
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
    /// Print only sessions, notices, messages with notes and the summary
    #[arg(short, long, env = "TEETAP_QUIET", value_parser = BoolishValueParser::new(), hide_env_values = true)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Json {
    /// Print one JSON object per line
    #[arg(long, env = "TEETAP_JSON", value_parser = BoolishValueParser::new(), hide_env_values = true)]
    pub(crate) json: bool,
}

/// Options for reading and printing the contents of messages.
#[derive(Debug, Args)]
pub(crate) struct Contents {
    #[command(flatten)]
    secrets: ShowSecrets,

    #[command(flatten)]
    pub(super) definitions: Definitions,
}

#[derive(Clone, Copy, Debug, Args)]
struct ShowSecrets {
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
    pub(super) messages: Option<PathBuf>,
}

impl Range {
    /// Returns true if an event at this time is printed.
    pub(crate) fn contains(self, at: Time) -> bool {
        let at = at - Time::ZERO;
        self.from.is_none_or(|from| from <= at) && self.to.is_none_or(|to| at <= to)
    }
}

impl Search {
    /// Returns the context and the limits of the search.
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

/// Maximum number of messages kept for the context before a match.
const MOST_CONTEXT: usize = 100_000;

impl Show {
    /// Returns the level of detail.
    pub(crate) fn verbosity(&self) -> Verbosity {
        match self.verbose {
            0 => Verbosity::Messages,
            1 => Verbosity::Datagrams,
            _ => Verbosity::Bytes,
        }
    }
}

impl Contents {
    pub(crate) fn secrets(&self) -> Secrets {
        if self.secrets.show_secrets {
            Secrets::Show
        } else {
            Secrets::Hide
        }
    }

    /// Returns the built-in definitions with the user's own.
    pub(crate) fn registry(&self) -> Result<&'static Registry, Failure> {
        self.definitions.registry()
    }
}

impl Definitions {
    /// Returns the built-in definitions with the user's own.
    pub(crate) fn registry(&self) -> Result<&'static Registry, Failure> {
        definitions::load(self.messages.as_deref())
    }
}
