//! The state of the screen.

pub mod command;
pub mod cursor;
pub mod editor;
pub mod help;
pub mod history;
pub mod messages;
pub mod meter;
pub mod prompt;
mod view;

use std::sync::Arc;

use teetap_inspect::{DecodedEvent, Style};
use teetap_proxy::session::{Level, Time};

use crate::{Theme, keymap::Keymap};
use cursor::Moves;
use help::Help;
use messages::Messages;
use meter::Meter;
use prompt::{Lines, Prompt};

pub use view::{Pane, View};

/// The facts of the run that the first line shows.
#[derive(Clone, Debug, Default)]
pub struct Title {
    /// The server, as the user wrote it.
    pub target: String,
    /// The address that clients of this machine connect to.
    pub connect: String,
    /// The filter, if one is set.
    pub filter: Option<String>,
    /// A recording is being written.
    pub recording: bool,
    /// The seed of the run.
    pub seed: u64,
}

/// A part of the screen that lies over the view and has all keys.
#[derive(Clone, Debug)]
pub enum Overlay {
    /// The help.
    Help(Help),
    /// A prompt.
    Prompt(Prompt),
}

/// The state of the screen.
#[derive(Debug)]
pub struct App {
    /// The facts of the run.
    pub title: Title,
    /// The lines that are shown, and how.
    pub style: Style,
    /// The colours.
    pub theme: Theme,
    /// Only characters of ASCII are drawn.
    pub ascii: bool,
    /// The keys.
    pub keymap: Keymap,
    /// The view that is shown.
    pub view: View,
    /// The pane that has the keys.
    pub focus: Pane,
    /// The part over the view.
    pub overlay: Option<Overlay>,
    /// The list of messages.
    pub messages: Messages,
    /// The counts of the run.
    pub meter: Meter,
    /// The commands that were entered.
    pub commands: Lines,
    /// The answer to the last key, until the next one.
    pub status: Option<(Level, String)>,
    /// The time of the run.
    pub now: Time,
    /// The user wants to leave.
    pub leaving: bool,
    /// The user wants to suspend the program.
    pub suspending: bool,
    /// The screen is older than the state.
    pub changed: bool,
}

impl App {
    /// A screen without rows.
    #[must_use]
    pub fn new(title: Title, style: Style) -> Self {
        Self {
            title,
            style,
            theme: Theme::default(),
            ascii: false,
            keymap: Keymap::default(),
            view: View::default(),
            focus: Pane::List,
            overlay: None,
            messages: Messages::default(),
            meter: Meter::default(),
            commands: Lines::default(),
            status: None,
            now: Time::ZERO,
            leaving: false,
            suspending: false,
            changed: true,
        }
    }

    /// Takes an event.
    pub fn push(&mut self, decoded: &Arc<DecodedEvent>) {
        if let Some(reading) = &decoded.reading {
            self.meter.count(decoded.event.at, reading);
            self.changed = true;
        }
        self.changed |= self.messages.event(decoded, self.style);
    }

    /// Takes the number of events that were missed here.
    pub fn gap(&mut self, lost: u64) {
        self.messages.gap(lost);
        self.changed = true;
    }

    /// Takes a line of the program itself.
    pub fn log(&mut self, at: Time, level: Level, text: &str) {
        self.messages.log(at, level, text);
        self.changed = true;
    }

    /// Notes the time of the run.
    pub fn tick(&mut self, now: Time) {
        self.now = now;
        self.changed |= self.meter.tick(now);
    }

    /// Shows a view; its first pane gets the keys.
    pub fn show(&mut self, view: View) {
        self.view = view;
        if let Some(pane) = view.panes().first() {
            self.focus = *pane;
        }
    }

    /// Shows a sentence until the next key.
    pub fn say(&mut self, text: impl Into<String>) {
        self.status = Some((Level::Info, text.into()));
    }

    /// Shows the reason why something was refused until the next key.
    pub fn refuse(&mut self, why: impl Into<String>) {
        self.status = Some((Level::Warning, why.into()));
    }

    /// Returns the pane that has the keys, for movements.
    pub fn focused(&mut self) -> &mut dyn Moves {
        match self.focus {
            Pane::List => &mut self.messages,
        }
    }
}
