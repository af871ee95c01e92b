//! Regression tests: every view of every recorded session is drawn as before.
//!
//! A snapshot has a line for each frame: the keys that were pressed before it, and the checksum of its text and its colours.
//! Any difference fails the test, whether or not it is intended. After an intended change, run
//! `INSTA_UPDATE=always cargo test -p teetap-tui --lib same`. `TEETAP_SAME=DIR` writes the frames to files, to be compared
//! with `diff` before and after the change.

use std::fmt::Write as _;

use ratatui::{Terminal, backend::TestBackend, buffer::Buffer};
use teetap_repeatable::{checksum, keep};

use super::{
    feed::{press, replayed},
    proxied,
};
use crate::{App, app::view::View, view};

/// Keys that are pressed one after the other in each view.
const KEYS: [&str; 8] = [
    "",
    "Home",
    "j j j",
    "Enter",
    "l Tab j",
    "PgDn",
    "Esc End k",
    "[ ]",
];

/// Returns a frame as text, with the colour and the modifiers before each cell where they change.
pub(super) fn styled(frame: &Buffer) -> String {
    let mut text = String::new();
    let mut last = None;
    for (at, cell) in frame.content().iter().enumerate() {
        if at % usize::from(frame.area.width) == 0 {
            text.push('\n');
        }
        let style = (cell.fg, cell.bg, cell.modifier);
        if last.replace(style) != Some(style) {
            let _infallible = write!(text, "<{:?} {:?} {}>", cell.fg, cell.bg, cell.modifier.bits());
        }
        text.push_str(cell.symbol());
    }
    text + "\n"
}

/// Draws a screen of a usual size.
fn frame(app: &mut App) -> String {
    let mut terminal = Terminal::new(TestBackend::new(132, 43)).unwrap();
    terminal.draw(|frame| view::draw(frame, app)).unwrap();
    styled(terminal.backend().buffer())
}

/// Compares the frames of a session with the stored snapshot. `screen` returns a screen with the session.
fn check(name: &str, screen: impl Fn() -> App) {
    let mut rows = String::new();
    for view in View::ALL {
        let mut app = screen();
        press(&mut app, &view.number().to_string());
        let mut pressed = view.name().to_owned();
        for keys in KEYS {
            press(&mut app, keys);
            pressed = format!("{pressed} {keys}");
            let frame = frame(&mut app);
            keep(&format!("{name}.{}", pressed.replace(' ', "-")), &frame);
            let _infallible = writeln!(rows, "{:016x} {pressed}", checksum(&frame));
        }
    }
    insta::assert_snapshot!(format!("same-{name}"), rows);
}

#[test]
fn the_views_of_a_run_of_the_proxy_are_drawn_as_before() {
    check("proxied", proxied::app);
}

#[test]
fn the_views_of_captures_are_drawn_as_before() {
    for name in [
        "dd-session",
        "loss-tw07",
        "map-dd",
        "npm-to-dd16",
        "rich-dd16",
        "sixup-session",
        "tw06-session",
        "tw07-session",
    ] {
        check(name, || replayed(name));
    }
}
