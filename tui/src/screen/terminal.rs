//! The modes of the terminal, and output to it.
//!
//! Law: no function of this module panics or blocks because the terminal is gone.

use std::{
    cell::Cell,
    io::{self, Write, stdout},
    os::fd::AsFd,
    rc::Rc,
};

use crossterm::{
    cursor::Show,
    event::{DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture},
    execute,
    terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode},
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{FileType, fstat},
};

/// Stdout while the screen is open. Ignores errors once the screen is closed, since the library reports them on stderr
/// and panics if stderr is gone, too.
#[derive(Clone, Debug, Default)]
pub(super) struct Out {
    is_closed: Rc<Cell<bool>>,
}

impl Out {
    /// Ignores errors from now on.
    pub(super) fn close(&self) {
        self.is_closed.set(true);
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match stdout().write(bytes) {
            Err(_) if self.is_closed.get() => Ok(bytes.len()),
            result => result,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match stdout().flush() {
            Err(_) if self.is_closed.get() => Ok(()),
            result => result,
        }
    }
}

/// Sets up the terminal: raw mode, alternate screen, mouse and pasted text.
pub(super) fn enter() -> io::Result<()> {
    enable_raw_mode()?;
    execute!(
        stdout(),
        EnterAlternateScreen,
        EnableMouseCapture,
        EnableBracketedPaste
    )
}

/// Restores the terminal.
pub(super) fn leave() {
    // A terminal that is gone cannot be restored.
    let _gone = disable_raw_mode();
    let _gone = execute!(
        stdout(),
        DisableBracketedPaste,
        DisableMouseCapture,
        LeaveAlternateScreen,
        Show
    );
}

/// Returns true if a stream is a terminal that has hung up, because its window was closed.
pub fn has_hung_up(stream: impl AsFd) -> bool {
    let is_device =
        fstat(&stream).is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::CharacterDevice);
    let mut polled = [PollFd::new(&stream, PollFlags::empty())];
    let asked = poll(&mut polled, Some(&Timespec::default()));
    let [polled] = polled;
    is_device && asked.is_ok() && polled.revents().intersects(PollFlags::HUP | PollFlags::ERR)
}
