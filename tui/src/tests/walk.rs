//! Regression tests: random keys, texts, clicks, events and answers of the proxy are given to the screen. Its frames, its
//! requests and its effects on the terminal must be the same as before.
//!
//! A snapshot has a line for every [`EVERY`] steps of a walk: the number of steps, the number of requests to the proxy, and
//! the checksum of the frames with their colours, of the requests and of the effects on the terminal. Any difference fails
//! the test, whether or not it is intended. After an intended change, run
//! `INSTA_UPDATE=always cargo test -p teetap-tui --lib walk`. `TEETAP_SAME=DIR` writes the steps with their frames to files,
//! to be compared with `diff` before and after the change.

mod answers;
mod feed;
mod texts;

use std::fmt::Write as _;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::{Terminal, backend::TestBackend};
use teetap_inspect::{Decoder, Snapshots, Style};
use teetap_proxy::session::{Event, Level, Time};
use teetap_repeatable::{Random, checksum, keep};
use teetap_wire::def::Registry;

use self::feed::{decoder, recorded};
use super::{
    feed::{SIZES, blank},
    same::styled,
};
use crate::{
    Action, App, Theme,
    action::ACTIONS,
    keymap::KeyPress,
    update::{click, key, paste},
    view,
};

/// Number of steps for each line of a snapshot.
const EVERY: usize = 25;

/// Number of steps of a walk.
const STEPS: usize = 400;

/// Number of bytes that an event has on the time line of a recording.
const BYTES: u64 = 100;

/// Keys without an action, and keys of text fields.
const OTHER_KEYS: [&str; 12] = [
    "F5", "alt-x", "ctrl-x", "é", "ctrl-w", "ctrl-k", "ctrl-a", "ctrl-e", "Del", "left", "space", "5",
];

/// A screen, the events that it shows one after the other, and what was observed since the last line of the snapshot.
struct Walk {
    random: Random,
    app: App,
    snapshots: Snapshots,
    decoder: Decoder,
    events: Vec<Event>,
    /// Number of the next event.
    next: usize,
    /// Number of events that are added in a step.
    pace: u64,
    size: (u16, u16),
    /// The time that a reader of a recording selects once it is read.
    selects: Option<Time>,
    requests: usize,
    seen: String,
    all: String,
    rows: String,
}

impl Walk {
    fn new(seed: u64, path: &str) -> Self {
        let events = recorded(path);
        let snapshots = Snapshots::default();
        let mut app = blank();
        app.share_snapshots(snapshots.clone());
        let pace = (events.len() / (STEPS / 2)).max(1) as u64;
        Self {
            random: Random::new(seed),
            app,
            decoder: decoder(&snapshots),
            snapshots,
            events,
            next: 0,
            pace,
            size: (100, 30),
            selects: None,
            requests: 0,
            seen: String::new(),
            all: String::new(),
            rows: String::new(),
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.random.below(bound as u64)).unwrap()
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// Walks to the end, and compares the lines with the stored snapshot.
    fn check(mut self, name: &str) {
        for number in 1..=STEPS {
            self.step();
            if number.is_multiple_of(2) {
                self.draw();
            }
            if number.is_multiple_of(EVERY) {
                let sum = checksum(&self.seen);
                let _infallible = writeln!(self.rows, "{sum:016x} {number} {}", self.requests);
                self.all.push_str(&self.seen);
                self.seen.clear();
            }
        }
        keep(&format!("walk-{name}"), &self.all);
        insta::assert_snapshot!(format!("walk-{name}"), self.rows);
    }

    fn step(&mut self) {
        match self.app.timeline {
            Some(_) => self.read(),
            None => self.receive(),
        }
        match self.below(100) {
            0..=54 => self.press_any(),
            55..=74 => self.enter_text(),
            75..=82 => self.click(),
            83..=87 => {
                let keys = self.one_of(&["down", "up", "PgUp", "PgDn", "tab"]);
                self.press(keys);
            }
            88 | 89 => {
                let texts = self.one_of(&[texts::FILTERS, texts::MESSAGES, texts::COMMANDS]);
                let text = self.one_of(texts);
                self.note("paste", text);
                paste(&mut self.app, text);
            }
            90..=92 => {
                let is_down = self.random.chance(0.5);
                self.note("wheel", if is_down { "down" } else { "up" });
                match is_down {
                    true => self.app.focused().down(3),
                    false => self.app.focused().up(3),
                }
                self.app.sync();
            }
            93 | 94 => self.size = self.one_of(&SIZES),
            95 if self.random.chance(0.3) => {
                let ascii = self.random.chance(0.5);
                let theme = self.one_of(Theme::ALL);
                self.app.set_look(theme, ascii);
            }
            96 if self.random.chance(0.3) => self.app.gap(3),
            97 => {
                let level = self.one_of(&[Level::Info, Level::Warning]);
                let now = self.app.now();
                self.app.log(now, level, "a line \u{1b}[31m of the program");
            }
            98 if self.app.tour.is_none() && self.random.chance(0.2) => self.app.begin_tour(),
            _ => self.press("esc"),
        }
        self.answer();
    }

    fn note(&mut self, what: &str, text: &str) {
        let _infallible = writeln!(self.seen, "{what} {text}");
    }

    fn press(&mut self, keys: &str) {
        for name in keys.split_whitespace() {
            self.note("key", name);
            let pressed: KeyPress = name.parse().unwrap();
            let modifiers = match name {
                _ if name.starts_with("ctrl-") => KeyModifiers::CONTROL,
                _ if name.starts_with("alt-") => KeyModifiers::ALT,
                _ => KeyModifiers::NONE,
            };
            let mut event = KeyEvent::new(pressed.code(), modifiers);
            key(&mut self.app, &event);
            event.kind = KeyEventKind::Release;
            key(&mut self.app, &event);
        }
    }

    /// Presses a key of any action, with or without an effect in the focused pane, or another key.
    fn press_any(&mut self) {
        let focus = self.app.panes.focus;
        let name = match self.below(20) {
            0 => self.one_of(&OTHER_KEYS),
            1 | 2 => {
                let entry = self.one_of(ACTIONS);
                self.one_of(entry.keys)
            }
            _ => {
                let here = |entry: &&crate::ActionRow| {
                    entry.scope.has(focus) && entry.action.view().is_none() && entry.action != Action::QuitNow
                };
                let mut entries: Vec<_> = ACTIONS.iter().filter(here).collect();
                // Half of the keys are keys that not every pane has.
                let has_own = entries.iter().any(|entry| !entry.panes().is_empty());
                if has_own && self.random.chance(0.5) {
                    entries.retain(|entry| !entry.panes().is_empty());
                }
                let entry = self.one_of(&entries);
                self.one_of(entry.keys)
            }
        };
        self.press(name);
        if self.random.chance(0.08) {
            let view = self.one_of(&["1", "2", "3", "4", "5", "6", "7"]);
            self.press(view);
        }
    }

    /// Opens a prompt, types a text, and ends with a key.
    fn enter_text(&mut self) {
        let (opens, list) = self.one_of(&[
            (":", texts::COMMANDS),
            (":", texts::COMMANDS),
            ("1 /", texts::FILTERS),
            ("1 ctrl-f", texts::SEARCHES),
            ("1 i", texts::MESSAGES),
            ("3 o", texts::RULES),
            ("?", texts::SEARCHES),
            ("1 w", &["0", "1", "3"]),
            ("3 enter", texts::VALUES),
            ("", texts::VALUES),
        ]);
        if self.random.chance(0.8) {
            self.press("esc esc");
        }
        self.press(opens);
        let text = self.one_of(list);
        self.note("type", text);
        let short = self.random.chance(0.15);
        let len = if short {
            self.below(text.chars().count() + 1)
        } else {
            usize::MAX
        };
        for char in text.chars().take(len) {
            key(
                &mut self.app,
                &KeyEvent::new(KeyCode::Char(char), KeyModifiers::NONE),
            );
        }
        let ends = self.one_of(&[
            "enter",
            "enter",
            "enter",
            "enter",
            "enter enter",
            "tab tab enter",
            "shift-tab",
            "left left backspace enter",
            "ctrl-w enter",
            "up up down enter",
            "down tab enter",
            "esc",
        ]);
        self.press(ends);
    }

    fn click(&mut self) {
        let (width, height) = self.size;
        let column = u16::try_from(self.below(width.into())).unwrap();
        let row = u16::try_from(self.below(height.into())).unwrap();
        // The mouse does nothing under a prompt, menu or form.
        if self.app.dialog.overlay.is_none() {
            self.note("click", &format!("{column} {row}"));
            click(&mut self.app, column, row);
            self.app.sync();
        }
    }

    /// Records the frame and the effects on the terminal.
    fn draw(&mut self) {
        let (width, height) = self.size;
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| view::draw(frame, &mut self.app)).unwrap();
        if let Some(text) = self.app.terminal.clipboard.take() {
            self.note("clipboard", &text);
        }
        let ends = (self.app.terminal.leaving, self.app.terminal.suspending);
        if ends != (false, false) {
            self.note("ends", &format!("{ends:?}"));
            (self.app.terminal.leaving, self.app.terminal.suspending) = (false, false);
        }
        self.seen.push_str(&styled(terminal.backend().buffer()));
    }
}

/// Walks over a run of which the events arrive one after the other.
fn live(name: &str, seed: u64, path: &str) {
    let mut walk = Walk::new(seed, path);
    walk.app.set_live();
    walk.check(name);
}

/// Walks over a recording, which a reader adds in parts.
fn review(name: &str, seed: u64, path: &str) {
    let mut walk = Walk::new(seed, path);
    walk.app = App::new(
        crate::Title {
            target: "run.pcapng".to_owned(),
            ..crate::Title::default()
        },
        Style::default(),
        Registry::builtin(),
    );
    walk.app.share_snapshots(walk.snapshots.clone());
    walk.app.show_recording(walk.events.len() as u64 * BYTES);
    walk.app.set_filter("").unwrap();
    walk.check(name);
}

#[test]
fn a_walk_over_a_run_with_rules_stays_the_same() {
    live("proxied", 1, "src/tests/proxied.pcapng");
}

#[test]
fn a_walk_over_a_run_of_ddnet_stays_the_same() {
    live("rich-dd16", 2, "../tests/captures/rich-dd16.pcap");
}

#[test]
fn a_walk_over_a_run_of_0_7_stays_the_same() {
    live("rich-tw07", 3, "../tests/captures/rich-tw07.pcap");
}

#[test]
fn a_walk_over_a_run_without_tokens_stays_the_same() {
    live("tw06-session", 4, "../tests/captures/tw06-session.pcap");
}

#[test]
fn a_walk_over_a_recording_of_teetap_stays_the_same() {
    review("read-proxied", 5, "src/tests/proxied.pcapng");
}

#[test]
fn a_walk_over_a_capture_of_0_7_stays_the_same() {
    review("read-loss-tw07", 6, "../tests/captures/loss-tw07.pcap");
}

#[test]
fn a_walk_over_a_capture_of_ddnet_stays_the_same() {
    review("read-dd-session", 7, "../tests/captures/dd-session.pcap");
}
