//! The connection to a terminal: keys, mouse and frames.

mod keys;
mod terminal;

use std::{
    io::{self, Write as _, stdin, stdout},
    panic,
    time::{Duration, Instant},
};

use crossterm::{
    event::{Event, MouseButton, MouseEvent, MouseEventKind},
    execute,
    style::Print,
    terminal::{Clear, ClearType},
};
use ratatui::{Terminal, backend::CrosstermBackend};
use rustix::process::{Signal, kill_current_process_group};

use crate::{
    App,
    update::{click, key, paste},
    view,
};
use keys::Keys;
use terminal::{Out, enter, leave};

pub use terminal::has_hung_up;

/// Minimum time between two frames, for 30 frames a second.
const FRAME: Duration = Duration::from_millis(33);

/// Number of rows that the mouse wheel scrolls by.
const WHEEL: usize = 3;

/// A terminal in raw mode on its alternate screen. Dropping it, or a panic, restores the terminal.
#[derive(Debug)]
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Out>>,
    out: Out,
    keys: Keys,
    drawn: Option<Instant>,
    /// State of the screen.
    pub app: App,
}

impl Screen {
    /// Sets up the terminal.
    ///
    /// # Errors
    /// Fails if stdout is not a terminal, or if it cannot be switched to raw mode.
    pub fn open(app: App) -> io::Result<Self> {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            leave();
            before(info);
        }));
        let out = Out::default();
        let opened = enter().and_then(|()| {
            Ok(Self {
                terminal: Terminal::new(CrosstermBackend::new(out.clone()))?,
                out,
                keys: Keys::start()?,
                drawn: None,
                app,
            })
        });
        opened.inspect_err(|_| leave())
    }

    /// Handles the keys that were pressed, and draws a frame if something changed. Returns false once the user has
    /// asked to end the program.
    ///
    /// # Errors
    /// Fails if the terminal is gone.
    pub fn step(&mut self) -> io::Result<bool> {
        if has_hung_up(stdin()) {
            return Err(io::Error::other("the terminal is gone"));
        }
        while let Some(event) = self.keys.next()? {
            match event {
                Event::Key(event) => key(&mut self.app, &event),
                Event::Paste(text) => paste(&mut self.app, &text),
                Event::Mouse(event) => self.mouse(event),
                Event::Resize(..) => self.app.terminal.changed = true,
                Event::FocusGained | Event::FocusLost => {}
            }
        }
        if std::mem::take(&mut self.app.terminal.suspending) {
            self.suspend()?;
        }
        if std::mem::take(&mut self.app.terminal.redrawing) {
            self.redraw()?;
        }
        if let Some(text) = self.app.terminal.clipboard.take() {
            copy(&text)?;
        }
        let is_due = self.drawn.is_none_or(|drawn| drawn.elapsed() >= FRAME);
        if self.app.terminal.changed && is_due {
            let app = &mut self.app;
            self.terminal.draw(|frame| view::draw(frame, app))?;
            self.app.terminal.changed = false;
            self.drawn = Some(Instant::now());
        }
        Ok(!self.app.terminal.leaving)
    }

    fn mouse(&mut self, event: MouseEvent) {
        if self.app.dialog.overlay.is_some() {
            return;
        }
        match event.kind {
            MouseEventKind::Down(MouseButton::Left) => {
                click(&mut self.app, event.column, event.row);
            }
            MouseEventKind::ScrollDown => self.app.focused().down(WHEEL),
            MouseEventKind::ScrollUp => self.app.focused().up(WHEEL),
            _ => return,
        }
        self.app.terminal.changed = true;
        self.app.sync();
    }

    /// Stops the process like ctrl-z in a shell, and sets up the terminal again when it continues.
    fn suspend(&mut self) -> io::Result<()> {
        self.terminal.show_cursor()?;
        leave();
        let _shown = execute!(
            stdout(),
            Print("teetap is suspended and forwards nothing: type fg to continue\n")
        );
        kill_current_process_group(Signal::TSTP)?;
        enter()?;
        // Another program has drawn on the terminal.
        self.redraw()
    }

    /// Clears the terminal and draws all of it again, because another program has drawn on it.
    fn redraw(&mut self) -> io::Result<()> {
        execute!(stdout(), Clear(ClearType::All))?;
        // The method of the library would query the cursor position, which not every terminal reports.
        self.terminal = Terminal::new(CrosstermBackend::new(self.out.clone()))?;
        self.app.terminal.changed = true;
        self.drawn = None;
        Ok(())
    }
}

/// Copies a text to the terminal's clipboard by OSC 52.
fn copy(text: &str) -> io::Result<()> {
    let mut out = stdout();
    write!(out, "\x1b]52;c;{}\x07", base64(text.as_bytes()))?;
    out.flush()
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| chunk.get(at).copied().map_or(0, u32::from);
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let digit = (bits >> (18 - 6 * place)) & 63;
            let digit = usize::try_from(digit).ok().and_then(|digit| DIGITS.get(digit));
            let is_there = place <= chunk.len();
            text.push(digit.filter(|_| is_there).map_or('=', |digit| char::from(*digit)));
        }
    }
    text
}

impl Drop for Screen {
    fn drop(&mut self) {
        leave();
        self.out.close();
    }
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_is_padded() {
        for (text, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
        ] {
            assert_eq!(base64(text.as_bytes()), coded);
        }
    }
}
