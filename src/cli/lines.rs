//! Options of the lines that are printed.

use clap::{Args, ValueEnum, builder::BoolishValueParser};

/// The form of lines.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct LineOptions {
    /// Print whole lines, however narrow the terminal is
    #[arg(long, env = "TEETAP_WIDE", value_parser = BoolishValueParser::new(), hide_env_values = true)]
    pub(crate) wide: bool,

    /// Fold runs of snapshots and inputs into one line each
    ///
    /// The line has their number and ticks. The default on a terminal, except with -v and in grep.
    #[arg(long, env = "TEETAP_FOLD", value_parser = BoolishValueParser::new(), 
        conflicts_with_all = ["no_fold", "verbose", "json"], hide_env_values = true)]
    fold: bool,

    /// Print every snapshot and every input
    #[arg(long, env = "TEETAP_NO_FOLD", value_parser = BoolishValueParser::new(), hide_env_values = true)]
    no_fold: bool,

    /// Print this time at the start of each line
    #[arg(
        long,
        value_name = "TIME",
        env = "TEETAP_TIME",
        default_value = "session",
        hide_env_values = true
    )]
    pub(crate) time: Clock,
}

/// The time at the start of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Clock {
    /// Seconds since the start of the session, as t in filters
    #[default]
    Session,
    /// Seconds since the start of the run or the recording
    Run,
    /// Seconds since the previous line
    Delta,
    /// The time of day, UTC
    Wall,
}

impl LineOptions {
    /// Returns true or false if the user requested or refused folding; `None` if neither option is set.
    pub(crate) const fn folds(self) -> Option<bool> {
        match (self.fold, self.no_fold) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }
}
