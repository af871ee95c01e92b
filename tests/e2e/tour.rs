//! The guided tour of `teetap demo --tui`, in a terminal, with the bots of the demo.

use std::{num::NonZero, process::Child};

use teetap_kit::{binary, real::PATIENCE, terminal::Terminal};

use crate::teetap;

fn start() -> (Terminal, Child) {
    let size = |cells: u16| NonZero::new(cells).unwrap();
    let (terminal, inner) = Terminal::open(size(100), size(30)).unwrap();
    let mut command = teetap();
    command
        .args(["demo", "--tui", "-l", "127.0.0.1:0", "--seed", "5"])
        .env("TERM", "xterm-256color")
        .stdin(inner.try_clone().unwrap())
        .stdout(inner.try_clone().unwrap())
        .stderr(inner);
    (terminal, command.spawn().unwrap())
}

#[test]
fn the_tour_makes_a_fault_that_is_seen_on_the_screen() {
    let (mut terminal, mut child) = start();
    // Returns the hits of the tour's rule.
    let hits = |screen: &str| {
        let line = screen.lines().find(|line| line.contains("tour: lose"))?;
        line.split_whitespace().nth(1)?.parse::<u32>().ok()
    };
    let mut step = |keys: &str, parts: &[&str]| {
        terminal.press(keys).unwrap();
        let has = |screen: &str| parts.iter().all(|part| screen.contains(part)) && hits(screen) != Some(0);
        let screen = terminal.wait_until(&format!("{parts:?}"), has, PATIENCE);
        screen.unwrap()
    };
    step("", &["tour 1/7: messages", "following"]);
    step("\r", &["tour 2/7: a filter", "filter sv_chat", "line "]);
    step("\r", &["tour 3/7: a message", "message", "client_id"]);
    step("\r", &["tour 4/7: a fault is made", "lose (tour)", " L "]);
    step("", &["s→c R"]);
    // A retransmission is selected, and the rule is shown at its original.
    step("\r", &["tour 5/7: the fault is seen", " R "]);
    step("o", &["sv_chat lose (tour)"]);
    step("\r", &["tour 6/7: the rule", "tour: lose when s2c and sv_chat"]);
    step("\r", &["tour 7/7: your turn", "teetap --tui HOST"]);
    step("\r3", &["no rules yet"]);
    terminal.press("QQ").unwrap();
    assert_eq!(
        binary::wait_end(&mut child, PATIENCE).unwrap(),
        Some(0),
        "the exit code"
    );
}

#[test]
fn the_tour_is_skipped() {
    let (mut terminal, mut child) = start();
    terminal.wait_for("tour 1/7", PATIENCE).unwrap();
    terminal.press("\x1b").unwrap();
    let is_gone = |screen: &str| !screen.contains("tour 1/7") && screen.contains("following");
    terminal.wait_until("no tour", is_gone, PATIENCE).unwrap();
    // The bots are playing.
    terminal.press("q").unwrap();
    terminal
        .wait_for("2 players are online: end the run?", PATIENCE)
        .unwrap();
    terminal.press("1").unwrap();
    assert_eq!(
        binary::wait_end(&mut child, PATIENCE).unwrap(),
        Some(0),
        "the exit code"
    );
}
