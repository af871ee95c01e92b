//! A panic while the screen is open, in a terminal: the test runs itself as the program that panics.

use std::{env, num::NonZero, process::Command, time::Duration};

use teetap_kit::terminal::Terminal;

use super::feed::blank;
use crate::Screen;

/// Environment variable that makes the test the program that panics.
const INSIDE: &str = "TEETAP_TEST_PANIC";

/// Name of the test in its binary.
const NAME: &str = "tests::panic::a_panic_restores_the_terminal_before_it_is_reported";

#[test]
fn a_panic_restores_the_terminal_before_it_is_reported() {
    if env::var_os(INSIDE).is_some() {
        let mut screen = Screen::open(blank()).unwrap();
        screen.step().unwrap();
        panic!("the panic of the test");
    }
    let (columns, rows) = (NonZero::new(80).unwrap(), NonZero::new(24).unwrap());
    let (terminal, inner) = Terminal::open(columns, rows).unwrap();
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", NAME, "--nocapture"])
        .env(INSIDE, "1")
        .stdin(inner.try_clone().unwrap())
        .stdout(inner.try_clone().unwrap())
        .stderr(inner)
        .spawn()
        .unwrap();
    // Text on the alternate screen would disappear with it.
    terminal
        .wait_for("the panic of the test", Duration::from_secs(30))
        .unwrap();
    assert_ne!(child.wait().unwrap().code(), Some(0));
    assert!(!terminal.is_alternate(), "{}", terminal.text());
    let written = String::from_utf8_lossy(&terminal.written()).into_owned();
    let (before, after) = written.split_once("the panic of the test").unwrap();
    assert!(before.contains("\x1b[?1049h"), "the screen was open");
    for (mode, what) in [
        ("\x1b[?1049l", "screen"),
        ("\x1b[?1000l", "mouse"),
        ("\x1b[?2004l", "paste"),
    ] {
        assert!(
            before.contains(mode),
            "{what} is restored before the report: {after}"
        );
    }
}
