//! Options of the terminal UI.

use std::io::{self, IsTerminal as _};

use clap::{
    Args,
    builder::{BoolishValueParser, PossibleValuesParser, TypedValueParser as _},
};
use teetap_tui::{App, Theme};

use crate::{exit::Failure, look::Look, output::is_lost, settings::Bound};

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
        value_parser = PossibleValuesParser::new(Theme::NAMES.iter().copied()).map(theme))]
    theme: Theme,

    /// Keep this many MiB of messages in the terminal UI
    ///
    /// Rare messages, such as those of a handshake, stay longer than the others.
    #[arg(long, value_name = "MIB", env = "TEETAP_HISTORY", default_value_t = 64, hide_env_values = true,
        value_parser = clap::value_parser!(u32).range(1..=16_384))]
    history: u32,
}

/// Returns the theme called `name`, which clap has checked.
fn theme(name: String) -> Theme {
    name.parse().unwrap_or_default()
}

impl ScreenOptions {
    /// Sets colours, characters and keys.
    pub(crate) fn prepare(&self, app: &mut App) {
        let look = Look::get().screen;
        app.set_look(if look.colours { self.theme } else { Theme::Mono }, look.ascii);
        let mib = usize::try_from(self.history).unwrap_or(usize::MAX);
        app.set_history(mib.saturating_mul(1 << 20));
        for (key, action) in &self.keys {
            app.bind(*key, *action);
        }
    }

    /// Returns an error if the terminal UI has no terminal. A terminal that has hung up is not the user's mistake: the
    /// run then ends in order.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let has_terminal = || io::stdout().is_terminal() && io::stdin().is_terminal();
        if self.tui && !is_lost() && !has_terminal() {
            let text = "cannot open the terminal UI: this is not a terminal; leave out --tui";
            return Err(Failure::usage(text));
        }
        Ok(())
    }
}
