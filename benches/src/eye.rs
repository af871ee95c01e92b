//! A person in front of the terminal UI: presses keys, and sees what is written to the screen.
//!
//! Law: while the load runs, bytes are only taken and stamped; what they show is worked out afterwards. A model of a screen
//! beside the load generator would delay its datagrams, and the program would seem slower than it is.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::num::NonZero;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

const COLUMNS: NonZero<u16> = NonZero::new(120).unwrap();
const ROWS: NonZero<u16> = NonZero::new(40).unwrap();
/// Keys that show other views, and a text that only that view has.
const KEYS: [(&str, &str); 4] = [
    ("4", "client | proxy"),
    ("6", "rtt c/s "),
    ("2", "drop  inj"),
    ("1", "following"),
];
/// The time between two keys: no multiple of the time between frames.
const REST: Duration = Duration::from_millis(213);
/// The sequence that ends each frame: the cursor is hidden.
const FRAME: &[u8] = b"\x1b[?25l";

/// The terminal, and what was seen in it.
pub(crate) struct Eye {
    terminal: File,
    screen: vt100::Parser,
    seen: Vec<Seen>,
    pressed: Vec<Pressed>,
    /// The number of keys pressed so far.
    turn: usize,
    figures: Figures,
}

/// The cost of the screen, and its speed.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    /// The time from each key to the frame with its view, in milliseconds.
    pub(crate) keys: Vec<f64>,
    pub(crate) frames: usize,
    pub(crate) bytes: usize,
}

/// Bytes that were read at once.
struct Seen {
    at: Instant,
    bytes: Vec<u8>,
}

struct Pressed {
    at: Instant,
    /// A text of the view that the key shows.
    text: &'static str,
}

impl Eye {
    /// Opens a terminal; the second value is the end of the program.
    pub(crate) fn open() -> Result<(Self, File)> {
        let (terminal, inner) = teetap_kit::terminal::open(COLUMNS.get(), ROWS.get())?;
        rustix::io::ioctl_fionbio(&terminal, true)?;
        let eye = Self {
            terminal,
            screen: vt100::Parser::new(ROWS, COLUMNS, 0),
            seen: Vec::new(),
            pressed: Vec::new(),
            turn: 0,
            figures: Figures::default(),
        };
        Ok((eye, inner))
    }

    /// Takes what was written, without a look at it.
    pub(crate) fn take(&mut self) -> Result<()> {
        let mut block = [0; 4096];
        loop {
            match self.terminal.read(&mut block) {
                Ok(0) => return Ok(()),
                Ok(read) => {
                    let bytes = block.get(..read).unwrap_or_default().to_vec();
                    let at = Instant::now();
                    self.seen.push(Seen { at, bytes });
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error).context("cannot read the screen"),
            }
        }
    }

    /// Takes what was written, and presses the next key when it is time to.
    pub(crate) fn take_and_press(&mut self) -> Result<()> {
        self.take()?;
        if self.pressed.last().is_none_or(|last| last.at.elapsed() >= REST) {
            let (key, text) = KEYS.get(self.turn % KEYS.len()).context("no keys")?;
            self.press(key)?;
            self.turn += 1;
            let at = Instant::now();
            self.pressed.push(Pressed { at, text });
        }
        Ok(())
    }

    /// Types keys.
    pub(crate) fn press(&mut self, keys: &str) -> io::Result<()> {
        self.terminal.write_all(keys.as_bytes())
    }

    /// Shows itself what was taken since the last call, and counts it where `counted`.
    pub(crate) fn look(&mut self, counted: bool) {
        let mut pressed = self.pressed.drain(..).peekable();
        let mut waiting: Option<Pressed> = None;
        for Seen { at, bytes } in self.seen.drain(..) {
            while let Some(next) = pressed.next_if(|next| next.at <= at) {
                // A view that did not come before the next key counts as long as that.
                let late = waiting.replace(next);
                let until = waiting.as_ref().map_or(at, |next| next.at);
                self.figures.keys.extend(late.map(|late| millis(late.at, until)));
            }
            self.screen.process(&bytes);
            if counted {
                self.figures.frames += bytes.windows(FRAME.len()).filter(|part| *part == FRAME).count();
                self.figures.bytes += bytes.len();
            }
            let shown = waiting.take_if(|key| self.screen.screen().contents().contains(key.text));
            self.figures.keys.extend(shown.map(|key| millis(key.at, at)));
        }
    }

    pub(crate) fn figures(self) -> Figures {
        self.figures
    }
}

fn millis(from: Instant, to: Instant) -> f64 {
    to.saturating_duration_since(from).as_secs_f64() * 1000.0
}
