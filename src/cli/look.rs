//! Options of every command: colours and characters.

use std::ffi::{OsStr, OsString};

use clap::{
    ArgMatches, Args, FromArgMatches as _, ValueEnum as _,
    builder::{BoolishValueParser, Resettable},
};

use crate::{
    look::{Look, When},
    settings::Settings,
};

/// Options for the look of the output.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct LookOptions {
    /// Use colours
    ///
    /// With auto they are used on a terminal, unless NO_COLOR is set or TERM is dumb.
    #[arg(
        long,
        value_name = "WHEN",
        env = "TEETAP_COLOR",
        default_value = "auto",
        hide_env_values = true
    )]
    color: When,

    /// Use only ASCII characters
    ///
    /// They are also used on a terminal if TERM is dumb or not set.
    #[arg(long, env = "TEETAP_ASCII", value_parser = BoolishValueParser::new(), hide_env_values = true)]
    ascii: bool,
}

impl LookOptions {
    /// Returns `command` with these options added.
    pub(super) fn added(command: clap::Command) -> clap::Command {
        let about = command.get_about().cloned();
        let long = command.get_long_about().cloned();
        // Adding the options replaces both texts by the doc of this struct.
        Self::augment_args(command)
            .about(Resettable::from(about))
            .long_about(Resettable::from(long))
    }

    /// Returns these options as parsed for the command.
    pub(super) fn from_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let matches = matches.subcommand().map_or(matches, |(_, own)| own);
        Self::from_arg_matches(matches)
    }

    /// Decides about colours and characters for this process.
    pub(crate) fn decide(self) {
        Look::decide(self.color, self.ascii);
    }

    /// Guesses these options from a command line that was refused, since its error is printed with them.
    pub(crate) fn guessed(args: &[OsString], settings: &Settings) -> Self {
        let words = || args.iter().take_while(|word| *word != "--");
        let typed = || {
            let joined = words().filter_map(|word| word.to_str()?.strip_prefix("--color="));
            let next = words().zip(words().skip(1));
            let apart = next.filter_map(|(word, value)| (word == "--color").then_some(value.to_str()?));
            joined.chain(apart).last().map(str::to_owned)
        };
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let set = |name: &str| {
            let settings = settings.files.iter().flat_map(|file| &file.settings);
            let mut found = settings.filter(|setting| setting.name == name);
            found.next()?.values.first().cloned()
        };
        let color = typed()
            .or_else(|| variable("TEETAP_COLOR"))
            .or_else(|| set("color"));
        let is_ascii = words().any(|word| word == OsStr::new("--ascii"))
            || variable("TEETAP_ASCII")
                .or_else(|| set("ascii"))
                .is_some_and(|value| !["0", "false", "no", "off", "n", "f"].contains(&&*value));
        Self {
            color: color
                .and_then(|when| When::from_str(&when, true).ok())
                .unwrap_or_default(),
            ascii: is_ascii,
        }
    }
}
