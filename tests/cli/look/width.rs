//! The width of a terminal, and folded lines on it.

use std::{num::NonZero, process::Stdio, thread, time::Duration};

use teetap_kit::{binary, real::PATIENCE, terminal};

use super::{all, capture, messages, plain_terminal, shown_out, without_escapes};
use crate::{refused, run};

#[test]
fn lines_fit_the_terminal_and_are_whole_in_a_pipe() {
    for name in ["npm-to-dd16.pcap", "tw07-session.pcap", "info-requests.pcap"] {
        let path = capture(name);
        let (whole, _) = run(&["open", &path], 0);
        for columns in [20, 60, 80, 120, 200] {
            for colour in ["never", "always"] {
                let args = ["open", "--no-fold", "--color", colour, &path];
                let text = without_escapes(&shown_out(plain_terminal().args(args), columns));
                let columns = usize::from(columns);
                for line in messages(&text) {
                    // The texts in these captures have one column per character.
                    assert!(line.chars().count() <= columns, "{line}");
                    let start = line.trim_end_matches('…');
                    if columns >= 100 {
                        assert!(whole.contains(start), "{line}");
                    }
                }
                assert_eq!(messages(&text).len(), messages(&whole).len(), "{columns}");
            }
        }
        let wide = shown_out(
            plain_terminal().args(["open", "--no-fold", "--wide", "--color", "never", &path]),
            60,
        );
        for line in whole.lines() {
            assert!(wide.contains(line), "{line}");
        }
    }
}

#[test]
fn the_width_follows_the_terminal() {
    let (mut outer, inner) = terminal::open(200, 24).unwrap();
    let mut command = plain_terminal();
    command
        .args([
            "demo",
            "--seconds",
            "3",
            "-l",
            "127.0.0.1:0",
            "--no-fold",
            "--color",
            "never",
        ])
        .stdin(Stdio::null())
        .stdout(inner.try_clone().unwrap())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    command.stdout(Stdio::null());
    let narrower = outer.try_clone().unwrap();
    let resize = thread::spawn(move || {
        thread::sleep(Duration::from_millis(1500));
        terminal::resize(&narrower, NonZero::new(60).unwrap(), NonZero::new(24).unwrap()).unwrap();
        drop(inner);
    });
    let text = all(&mut outer).replace('\r', "");
    resize.join().unwrap();
    binary::wait_end(&mut child, PATIENCE).unwrap();
    let lines = messages(&text);
    let (first, last) = (&lines[..20], &lines[lines.len() - 20..]);
    let widest = |lines: &[&str]| lines.iter().map(|line| line.chars().count()).max().unwrap();
    assert!(widest(first) > 60 && widest(last) <= 60, "{first:#?}\n{last:#?}");
    assert_eq!(widest(last), 60, "{last:#?}");
}

#[test]
fn snapshots_and_inputs_are_folded_on_a_terminal() {
    let path = capture("rich-tw07.pcap");
    let on_terminal = |args: &[&str]| {
        let args = [&["open", "--color", "never"], args, &[&*path]].concat();
        shown_out(plain_terminal().args(args), 200)
    };
    let has_folds = |text: &str| {
        text.lines()
            .any(|line| line.contains("snap") && line.contains(" ×"))
    };
    let folded = on_terminal(&[]);
    assert!(has_folds(&folded), "{folded}");
    let whole = on_terminal(&["--no-fold"]);
    assert!(!has_folds(&whole), "{whole}");
    let lines = [&whole, &folded].map(|text| text.lines().count());
    assert!(lines[0] > lines[1] * 4, "{lines:?} lines without and with folds");
    let verbose = on_terminal(&["-v"]);
    assert!(!has_folds(&verbose), "{verbose}");
    let (piped, _) = run(&["open", &path], 0);
    assert!(!has_folds(&piped), "{piped}");
    let (piped, _) = run(&["open", "--fold", &path], 0);
    assert!(has_folds(&piped), "{piped}");
    // Search results are unfolded by default, and the count is the same with `--fold`.
    let search = |args: &[&str]| {
        shown_out(
            plain_terminal().args([&["grep", "--color", "never"], args, &["any_snap", &*path]].concat()),
            200,
        )
    };
    for (args, is_folded) in [(&[][..], false), (&["--fold"][..], true)] {
        let found = search(args);
        assert_eq!(has_folds(&found), is_folded, "{args:?}: {found}");
    }
    assert_eq!(search(&["-c", "--fold"]), search(&["-c"]));
    refused(&["open", "--fold", "--no-fold", &path], 2, "cannot be used with");
}

#[test]
fn a_live_terminal_is_not_silent_while_messages_are_folded() {
    let args = [
        "demo",
        "--seconds",
        "5",
        "-l",
        "127.0.0.1:0",
        "--color",
        "never",
        "-f",
        "any_snap or input",
    ];
    let text = shown_out(plain_terminal().args(args), 200);
    let folds: Vec<&str> = text.lines().filter(|line| line.contains(" ×")).collect();
    assert!(folds.len() >= 6, "{text}");
}
