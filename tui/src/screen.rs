//! The connection to a terminal: raw mode, keys and frames.

use std::{
    io,
    time::{Duration, Instant},
};

use crossterm::event::{self, Event};
use ratatui::DefaultTerminal;

use crate::{App, Theme, keymap, update::update, view};

/// The shortest time between two frames: 30 a second.
const FRAME: Duration = Duration::from_millis(33);

/// A terminal in raw mode on its alternate screen; dropping it restores the terminal, and so does a panic.
#[derive(Debug)]
pub struct Screen {
    terminal: DefaultTerminal,
    theme: Theme,
    drawn: Option<Instant>,
    /// The state of the screen.
    pub app: App,
}

impl Screen {
    /// Takes over the terminal.
    ///
    /// # Errors
    /// When it is not a terminal, or cannot be switched to raw mode.
    pub fn open(app: App, theme: Theme) -> io::Result<Self> {
        Ok(Self {
            terminal: ratatui::try_init()?,
            theme,
            drawn: None,
            app,
        })
    }

    /// Reads the keys that were pressed and draws a frame if something changed. Returns false when the user leaves.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn step(&mut self) -> io::Result<bool> {
        while event::poll(Duration::ZERO)? {
            match event::read()? {
                Event::Key(key) => {
                    if let Some(action) = keymap::action(&key) {
                        update(&mut self.app, action);
                    }
                }
                Event::Resize(..) => self.app.changed = true,
                _ => {}
            }
        }
        let is_due = self.drawn.is_none_or(|drawn| drawn.elapsed() >= FRAME);
        if self.app.changed && is_due {
            let (app, theme) = (&mut self.app, self.theme);
            self.terminal.draw(|frame| view::draw(frame, app, theme))?;
            self.app.changed = false;
            self.drawn = Some(Instant::now());
        }
        Ok(!self.app.leaving)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}
