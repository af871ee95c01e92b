//! The terminal UI of a run, which replaces stdout and stderr while it is open.

use std::{io, sync::Arc};

use teetap_inspect::DecodedEvent;
use teetap_proxy::session::{Level, Time};
use teetap_tui::{App, Screen, has_hung_up};

use super::Output;
use crate::{console::Console, exit::Failure};

/// The terminal UI, and its state after it closed.
#[derive(Debug, Default)]
pub(super) struct RunScreen {
    /// The screen while it is open.
    open: Option<(Screen, Console)>,
    /// True if the terminal of the screen is gone.
    has_lost_terminal: bool,
    /// True if events were shown on the screen instead of being printed to stdout.
    pub(super) was_open: bool,
}

impl RunScreen {
    pub(super) const fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Returns the state of the screen while it is open.
    fn app(&mut self) -> Option<&mut App> {
        self.open.as_mut().map(|(screen, _)| &mut screen.app)
    }

    /// Shows an event.
    pub(super) fn push(&mut self, decoded: &Arc<DecodedEvent>) {
        if let Some(app) = self.app() {
            app.push(decoded);
        }
    }

    /// Shows the number of lost events. Returns false if no screen is open.
    pub(super) fn gap(&mut self, lost: u64) -> bool {
        let app = self.app();
        app.map(|app| app.gap(lost)).is_some()
    }

    /// Shows a line about the program itself. Returns false if no screen is open.
    pub(super) fn log(&mut self, at: Time, level: Level, text: &str) -> bool {
        let app = self.app();
        app.map(|app| app.log(at, level, text)).is_some()
    }

    /// Updates the time of the run, and carries out requests.
    pub(super) fn tick(&mut self, now: Time) {
        if let Some((screen, console)) = &mut self.open {
            screen.app.tick(now);
            console.carry_out(&mut screen.app);
        }
    }

    /// Draws, handles keys and carries out requests. Returns true if the screen stays open; `None` if there is no
    /// screen.
    pub(super) fn step(&mut self) -> Result<Option<bool>, Failure> {
        let Some((screen, console)) = &mut self.open else {
            return Ok(self.has_lost_terminal.then_some(false));
        };
        match screen.step() {
            Ok(stays) => {
                console.carry_out(&mut screen.app);
                Ok(Some(stays))
            }
            Err(error) => {
                self.open = None;
                screen_failed(&error)?;
                // The hang-up signal ends the run.
                self.has_lost_terminal = true;
                Ok(Some(false))
            }
        }
    }
}

impl Output {
    /// Opens the terminal UI.
    pub(crate) fn open_screen(&mut self, mut app: App, console: Console) -> io::Result<()> {
        app.set_live();
        self.screen.was_open = true;
        match Screen::open(app) {
            Ok(screen) => self.screen.open = Some((screen, console)),
            Err(error) if !is_lost() => return Err(error),
            Err(_) => self.screen.has_lost_terminal = true,
        }
        Ok(())
    }

    /// Begins the guided tour in the terminal UI.
    pub(crate) fn begin_tour(&mut self) {
        if let Some(app) = self.screen.app() {
            app.begin_tour();
        }
    }

    /// Returns true if the events were shown in the terminal UI.
    pub(crate) const fn had_screen(&self) -> bool {
        self.screen.was_open
    }

    /// Returns true if the terminal of the screen, or of stdout, is gone.
    pub(crate) const fn has_lost_terminal(&self) -> bool {
        self.screen.has_lost_terminal || self.stdout.has_lost_terminal()
    }

    /// Closes the terminal UI if it is open, which restores the terminal.
    pub(crate) fn close_screen(&mut self) {
        self.screen.open = None;
    }
}

/// Returns the error of a screen as a failure; `Ok` if the terminal is gone.
pub(crate) fn screen_failed(error: &io::Error) -> Result<(), Failure> {
    if is_lost() {
        return Ok(());
    }
    Err(Failure::network(format!("cannot draw on the terminal: {error}")))
}

/// Returns true if the terminal of the screen is gone.
pub(crate) fn is_lost() -> bool {
    has_hung_up(io::stdin()) || has_hung_up(io::stdout())
}
