//! A simulated user of the terminal UI, who presses keys and reads the screen.
//!
//! Law: while the load runs, bytes are only read and timestamped. Their effect on the screen is computed afterwards,
//! because a screen model beside the load generator would delay its datagrams, and the program would seem slower than
//! it is.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::num::NonZero;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

const COLUMNS: NonZero<u16> = NonZero::new(120).unwrap();
const ROWS: NonZero<u16> = NonZero::new(40).unwrap();
/// Keys that show other views, each with a text that only its view has.
const KEYS: [(&str, &str); 4] = [
    ("4", "client | proxy"),
    ("6", "rtt c/s "),
    ("2", "drop  inj"),
    ("1", "following"),
];
/// Minimum time between two keys. It is not a multiple of the time between frames.
const REST: Duration = Duration::from_millis(213);
/// The sequence that ends each frame: it hides the cursor.
const FRAME: &[u8] = b"\x1b[?25l";

/// The terminal, with the record of its output and of the pressed keys.
pub(crate) struct ScreenRecord {
    terminal: File,
    screen: vt100::Parser,
    seen: Vec<Seen>,
    pressed: Vec<Pressed>,
    /// Number of keys pressed so far.
    turn: usize,
    figures: Figures,
}

/// The response times and the output of the terminal UI.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    /// Time from each key to the frame with its view, in milliseconds.
    pub(crate) keys: Vec<f64>,
    pub(crate) frames: usize,
    pub(crate) bytes: usize,
}

/// Bytes that were read in one call.
struct Seen {
    at: Instant,
    bytes: Vec<u8>,
}

struct Pressed {
    at: Instant,
    /// A text that only the view of the key has.
    text: &'static str,
}

impl ScreenRecord {
    /// Opens a terminal. The second value is the end for the program.
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

    /// Reads the output of the program without interpreting it.
    pub(crate) fn read_output(&mut self) -> Result<()> {
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

    /// Reads the output of the program, and presses the next key if it is due.
    pub(crate) fn take_and_press(&mut self) -> Result<()> {
        self.read_output()?;
        if self.pressed.last().is_none_or(|last| last.at.elapsed() >= REST) {
            let (key, text) = KEYS.get(self.turn % KEYS.len()).context("no keys")?;
            self.press(key)?;
            self.turn += 1;
            let at = Instant::now();
            self.pressed.push(Pressed { at, text });
        }
        Ok(())
    }

    /// Types keys into the terminal.
    pub(crate) fn press(&mut self, keys: &str) -> io::Result<()> {
        self.terminal.write_all(keys.as_bytes())
    }

    /// Interprets the output that was read since the last call. Counts its frames and bytes if `counted` is true.
    pub(crate) fn look(&mut self, counted: bool) {
        let mut pressed = self.pressed.drain(..).peekable();
        let mut waiting: Option<Pressed> = None;
        for Seen { at, bytes } in self.seen.drain(..) {
            while let Some(next) = pressed.next_if(|next| next.at <= at) {
                // If a view is not shown before the next key, the time until that key is recorded.
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
