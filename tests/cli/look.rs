//! The look of what commands print: colours, the width of a terminal, folds, times and characters, on a terminal and in a pipe.

use std::{
    fs::{self, File},
    io::Read as _,
    num::NonZero,
    path::PathBuf,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use teetap_kit::{binary, real::PATIENCE, terminal};
use tempfile::TempDir;

use crate::{run, teetap};

fn capture(name: &str) -> String {
    format!("{}/tests/captures/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Files for commands that read some.
struct Files {
    _folder: TempDir,
    rules: String,
    wrong: String,
    capture: String,
}

impl Files {
    fn new() -> Self {
        let (folder, rules) = binary::place("good.tap");
        let wrong = folder.path().join("wrong.tap");
        fs::write(&rules, "drop when sv_emoticon\n").unwrap();
        fs::write(&wrong, "drop wen sv_emoticon\n").unwrap();
        let text = |path: PathBuf| path.into_os_string().into_string().unwrap();
        Self {
            _folder: folder,
            rules: text(rules),
            wrong: text(wrong),
            capture: capture("loss-tw07.pcap"),
        }
    }

    /// Returns commands that print text, and true for those that print colours where they may.
    fn commands(&self) -> Vec<(Vec<&str>, bool)> {
        let Self {
            rules,
            wrong,
            capture,
            ..
        } = self;
        vec![
            (vec!["open", capture], true),
            (vec!["open", "-v", capture], true),
            (vec!["open", "-vv", "-f", "resend", capture], true),
            (vec!["grep", "resend", capture], true),
            (vec!["grep", "-C", "1", "-m", "1", "resend", capture], true),
            (vec!["grep", "sv_chat.mesage == 1", capture], true),
            (vec!["open", "-f", "sv_chat.mesage == 1", capture], true),
            (vec!["check", wrong], true),
            (vec!["check", "--explain", rules], false),
            (vec!["check", "--against", capture, rules], false),
            (vec!["fmt", wrong], true),
            (vec!["fmt", rules], false),
            (vec!["run", "192.0.2.1:8303", "-R", wrong], true),
            (vec!["run", "192.0.2.1:8303", "-f", "nothing like it"], true),
            (vec!["explain", "100000040000"], false),
            (vec!["explain", "wrong-token"], false),
            (vec!["messages", "sv_chat"], false),
            (vec!["config", "show"], false),
            (
                vec!["torture", "127.0.0.1:1", "--timeout", "1s", "--", "false"],
                false,
            ),
            (vec!["shrink", wrong, "--", "false", "{faults}"], false),
            (vec!["ctl", "/nonexistent/socket", "sessions"], false),
            (vec!["scrub", wrong, "-o", "/nonexistent/out"], false),
            (vec!["open", "--bogus"], false),
            (vec!["open", "--help"], true),
            (vec!["--help"], true),
            (vec!["-h"], true),
            (vec!["demo", "--seconds", "1", "-l", "127.0.0.1:0"], true),
        ]
    }
}

/// Returns all bytes that a command writes to a terminal of this width, without the returns at the ends of lines.
fn shown(command: &mut Command, columns: u16) -> String {
    let (outer, inner) = terminal::open(columns, 24).unwrap();
    command.stdout(inner.try_clone().unwrap()).stderr(inner);
    ended(command, outer)
}

/// Returns those that it writes to stdout, where only that is a terminal.
fn shown_out(command: &mut Command, columns: u16) -> String {
    let (outer, inner) = terminal::open(columns, 24).unwrap();
    command.stdout(inner).stderr(Stdio::null());
    ended(command, outer)
}

fn ended(command: &mut Command, mut outer: File) -> String {
    let mut child = command.stdin(Stdio::null()).spawn().unwrap();
    // Its own ends of the terminal.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let text = all(&mut outer);
    binary::wait_end(&mut child, PATIENCE).unwrap();
    text.replace('\r', "")
}

/// Reads until no process has the terminal open.
fn all(outer: &mut File) -> String {
    let (mut all, mut block) = (Vec::new(), [0; 4096]);
    while let Ok(read @ 1..) = outer.read(&mut block) {
        all.extend_from_slice(&block[..read]);
    }
    String::from_utf8(all).unwrap()
}

fn piped(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap();
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

fn plain_terminal() -> Command {
    let mut command = teetap();
    command.env("TERM", "xterm-256color").env_remove("NO_COLOR");
    command
}

/// The messages of a terminal, without control sequences.
fn without_escapes(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |line, part| {
        let end = part.find(|c: char| c.is_ascii_alphabetic()).unwrap();
        line + &part[end + 1..]
    })
}

/// The lines of messages in the output of a command, without those about itself.
fn messages(text: &str) -> Vec<&str> {
    text.lines()
        .filter(|line| !line.starts_with("teetap"))
        .filter(|line| line.contains(" c→s ") || line.contains(" s→c "))
        .collect()
}

#[test]
fn no_command_prints_an_escape_where_colours_are_off() {
    let files = Files::new();
    type Setting = fn(&mut Command, &mut Vec<&str>);
    let off: [Setting; 4] = [
        |command, _| {
            command.env("NO_COLOR", "1");
        },
        |command, _| {
            command.env("TERM", "dumb");
        },
        |command, _| {
            command.env("TEETAP_COLOR", "never");
        },
        |_, args| {
            let at = args.iter().position(|arg| *arg == "--").unwrap_or(args.len());
            args.splice(at..at, ["--color", "never"]);
        },
    ];
    for (args, _) in files.commands() {
        for (number, setting) in off.iter().enumerate() {
            let (mut command, mut args) = (plain_terminal(), args.clone());
            setting(&mut command, &mut args);
            let text = shown(command.args(&args), 100);
            assert!(!text.contains('\x1b'), "{args:?} with setting {number}: {text:?}");
        }
        let text = piped(plain_terminal().args(&args));
        assert!(!text.contains('\x1b'), "{args:?} in a pipe: {text:?}");
    }
}

#[test]
fn commands_print_colours_on_a_terminal_and_where_they_are_requested() {
    let files = Files::new();
    for (args, has_colours) in files.commands() {
        let on_terminal = shown(plain_terminal().args(&args), 100);
        assert_eq!(
            on_terminal.contains("\x1b["),
            has_colours,
            "{args:?}: {on_terminal:?}"
        );
        let in_pipe = piped(
            plain_terminal()
                .args(&args)
                .env("TEETAP_COLOR", "always")
                .env("NO_COLOR", "1"),
        );
        assert_eq!(in_pipe.contains("\x1b["), has_colours, "{args:?}: {in_pipe:?}");
    }
    let json = piped(plain_terminal().args(["open", "--json", "--color", "always", &files.capture]));
    assert!(!json.contains('\x1b'));
    // An empty variable counts as unset.
    let mut empty = plain_terminal();
    let text = shown(empty.args(["open", &files.capture]).env("NO_COLOR", ""), 100);
    assert!(text.contains("\x1b["));
}

#[test]
fn a_configuration_file_sets_the_colours_of_every_command() {
    let files = Files::new();
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("teetap")).unwrap();
    fs::write(folder.path().join("teetap/config.toml"), "color = \"never\"\n").unwrap();
    for (args, _) in files.commands() {
        let text = shown(
            plain_terminal().args(&args).env("XDG_CONFIG_HOME", folder.path()),
            100,
        );
        assert!(!text.contains('\x1b'), "{args:?}: {text:?}");
    }
}

#[test]
fn names_of_files_bring_no_colours() {
    let text = piped(plain_terminal().args(["open", "\x1b[31mfile"]));
    assert!(!text.contains('\x1b'), "{text:?}");
    let text = piped(plain_terminal().args(["open", "-f", "\x1b[31m", &capture("loss-tw07.pcap")]));
    assert!(!text.contains('\x1b'), "{text:?}");
}

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
                    // The texts in these captures have one column for each character.
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
    assert!(!has_folds(&whole) && whole.lines().count() > folded.lines().count() * 4);
    assert!(!has_folds(&on_terminal(&["-v"])));
    let (piped, _) = run(&["open", &path], 0);
    assert!(!has_folds(&piped));
    let (piped, _) = run(&["open", "--fold", &path], 0);
    assert!(has_folds(&piped));
    // What is searched for is shown, and counted as before.
    let search = |args: &[&str]| {
        shown_out(
            plain_terminal().args([&["grep", "--color", "never"], args, &["any_snap", &*path]].concat()),
            200,
        )
    };
    assert!(!has_folds(&search(&[])) && has_folds(&search(&["--fold"])));
    assert_eq!(search(&["-c", "--fold"]), search(&["-c"]));
    crate::refused(&["open", "--fold", "--no-fold", &path], 2, "cannot be used with");
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

/// Returns the first column of the lines of a recording.
fn times(args: &[&str]) -> Vec<String> {
    let path = capture("rich-tw07.pcap");
    let (text, _) = run(&[&["grep", "sv_chat or cl_say"], args, &[&*path]].concat(), 0);
    text.lines()
        .map(|line| line.trim_start().split(' ').next().unwrap().to_owned())
        .collect()
}

#[test]
fn the_time_of_a_line_is_that_of_filters_unless_another_one_is_requested() {
    let path = capture("rich-tw07.pcap");
    // The second session begins later than the recording.
    for (filter, expected) in [("t > 2s", true), ("t <= 2s", false)] {
        let (text, _) = run(&["grep", filter, &path], 0);
        assert!(text.lines().count() > 100);
        for line in text.lines().filter(|line| line.contains(" #2 ")) {
            let time: f64 = line.split_whitespace().next().unwrap().parse().unwrap();
            assert!((time >= 2.0) == expected || time == 2.0, "{line}");
        }
    }
    let of = |time| times(&["--time", time]);
    assert_eq!(times(&[]), of("session"));
    let seconds = |times: &[String]| -> Vec<f64> { times.iter().map(|time| time.parse().unwrap()).collect() };
    let (session, run_times) = (seconds(&of("session")), seconds(&of("run")));
    assert!(
        session
            .iter()
            .zip(&run_times)
            .all(|(session, run)| session <= run)
    );
    assert!(session != run_times && run_times.is_sorted());
    let deltas = of("delta");
    assert!(deltas.iter().all(|time| time.starts_with('+')));
    let sum: f64 = seconds(&deltas).iter().sum();
    assert!((sum - (run_times[run_times.len() - 1] - run_times[0])).abs() < 0.1);
    let wall = of("wall");
    assert!(
        wall.iter()
            .all(|time| time.len() == 12 && time.split(':').count() == 3),
        "{wall:?}"
    );
    // Parts of a recording are those of its own time.
    let (part, _) = run(&["open", "--time", "run", "--from", "2s", "--to", "3s", &path], 0);
    for line in part.lines() {
        let time: f64 = line.split_whitespace().next().unwrap().parse().unwrap();
        assert!((2.0..=3.0).contains(&time), "{line}");
    }
}

#[test]
fn with_ascii_everything_is_ascii() {
    let files = Files::new();
    for (mut args, _) in files.commands() {
        let at = args.iter().position(|arg| *arg == "--").unwrap_or(args.len());
        args.splice(at..at, ["--ascii"]);
        let text = piped(plain_terminal().args(&args));
        assert!(text.is_ascii(), "{args:?}: {text}");
    }
    for name in ["rich-dd16.pcap", "tw06c-to-dd20-antispoof.pcap"] {
        for args in [&["--fold"][..], &["-v"], &["-vv"], &["--wide"]] {
            let path = capture(name);
            let text = piped(teetap().args(["open", "--ascii", &path]).args(args));
            assert!(text.is_ascii(), "{args:?}");
        }
    }
    // On a terminal without anything else, too; a pipe is not one.
    let mut dumb = plain_terminal();
    let text = shown(dumb.args(["open", &files.capture]).env("TERM", "dumb"), 80);
    assert!(text.is_ascii() && text.contains("c->s"), "{text}");
    let text = piped(
        plain_terminal()
            .args(["open", &files.capture])
            .env("TERM", "dumb"),
    );
    assert!(text.contains("c→s"));
}

#[test]
fn sizes_are_in_their_column_below_long_names() {
    for name in ["rich-dd16.pcap", "ddh20-to-dd20.pcap", "rich-tw07.pcap"] {
        let (text, _) = run(&["open", &capture(name)], 0);
        let columns = messages(&text).into_iter().map(|line| {
            let at = line.find(" byte").unwrap();
            line[..at].chars().count()
        });
        let mut columns: Vec<usize> = columns.collect();
        columns.sort_unstable();
        columns.dedup();
        assert_eq!(columns.len(), 1, "{name}: {columns:?}");
    }
}

#[test]
fn a_whole_message_has_its_fields_and_its_bytes() {
    let path = capture("tw07-session.pcap");
    let (text, _) = run(&["grep", "-vv", "sv_motd", &path], 0);
    assert!(
        text.contains("message: \"rig motd\"") || text.contains("message: rig motd"),
        "{text}"
    );
    assert!(text.contains(" bytes 02726967206d6f746400"), "{text}");
    let (secret, _) = run(&["grep", "-vv", "rcon_auth", &path], 0);
    assert!(secret.contains(": •••"), "{secret}");
    let (open, _) = run(&["grep", "-vv", "--show-secrets", "rcon_auth", &path], 0);
    assert!(!open.contains("•••"), "{open}");
    let (short, _) = run(&["grep", "-v", "sv_motd", &path], 0);
    assert!(!short.contains(" bytes 02"), "{short}");
}

#[test]
fn changes_of_snapshots_are_those_since_the_one_before() {
    let path = capture("rich-tw07.pcap");
    let (since, _) = run(&["open", &path], 0);
    assert!(
        since.contains(" changed since ") || since.contains(" the same as "),
        "{since}"
    );
    let (base, _) = run(&["open", "-vv", &path], 0);
    assert!(!base.contains(" since 1") && !base.contains(" the same as "));
    // The tick of the snapshot before is that of the line before in the session.
    let mut last: std::collections::BTreeMap<&str, &str> = std::collections::BTreeMap::new();
    let mut compared = 0;
    for line in since
        .lines()
        .filter(|line| line.contains(" tick ") && line.contains(" s→c "))
    {
        let session = line.split_whitespace().nth(1).unwrap();
        let (_, rest) = line.split_once(" tick ").unwrap();
        let tick = rest.split([' ', ',']).next().unwrap();
        let before = [" since ", " the same as "]
            .iter()
            .find_map(|word| line.split_once(word));
        if let Some((_, before)) = before {
            let before = before.split(',').next().unwrap();
            assert_eq!(last.get(session), Some(&before), "{line}");
            compared += 1;
        }
        last.insert(session, tick);
    }
    assert!(compared > 50, "{compared}");
}

#[test]
fn captures_of_other_programs_have_numbers_of_frames() {
    let path = capture("tw07-session.pcap");
    let (lines, _) = run(&["open", "-v", &path], 0);
    let frames = lines
        .lines()
        .filter_map(|line| line.split_once(", frame ")?.1.split(':').next());
    let frames: Vec<u64> = frames.map(|frame| frame.parse().unwrap()).collect();
    assert!(frames.len() > 400 && frames.is_sorted(), "{frames:?}");
    // The filter finds it under that number.
    let frame = frames[frames.len() / 2];
    let (found, _) = run(&["grep", "-v", &format!("frame == {frame}"), &path], 0);
    assert!(found.contains(&format!(", frame {frame}:")), "{found}");
    for line in run(&["open", "--json", "-v", &path], 0).0.lines() {
        let line = crate::command_line::json(line);
        let has_frame = ["message", "datagram"].contains(&line["event"].as_str().unwrap());
        assert_eq!(line["frame"].as_u64().is_some(), has_frame, "{line}");
    }
    let (noted, _) = run(&["grep", "lint.surplus_bytes", &capture("rich-tw07.pcap")], 0);
    assert!(noted.lines().any(|line| line.contains("; frame ")), "{noted}");
}
