//! `teetap open FILE --tui` in a terminal: a long recording, its time line, and a filter over the whole recording.

#![expect(
    clippy::indexing_slicing,
    reason = "a recording that is cut off fails the test"
)]

use std::{
    fs::{self, File},
    io::{BufWriter, Write as _},
    num::NonZero,
    path::Path,
    process::Child,
    time::{Duration, Instant},
};

use teetap_kit::{binary, real::PATIENCE, terminal::Terminal};

use crate::teetap;

/// The sizes in bytes of the header of a pcap file and of a record.
const HEADER: usize = 24;
const RECORD: usize = 16;

/// Writes a recorded session of 0.7 repeatedly, with increasing times, until `size` bytes are written. Returns the
/// number of repetitions.
fn repeat(path: &Path, size: u64) -> u32 {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/captures/rich-tw07.pcap");
    let bytes = fs::read(source).unwrap();
    let (header, records) = bytes.split_at(HEADER);
    let mut records = records.to_vec();
    let mut file = BufWriter::new(File::create(path).unwrap());
    file.write_all(header).unwrap();
    let (mut written, mut times) = (0, 0);
    while written < size {
        file.write_all(&records).unwrap();
        written += records.len() as u64;
        times += 1;
        let mut at = 0;
        while at < records.len() {
            let number = |at: usize| u32::from_le_bytes(records[at..at + 4].try_into().unwrap());
            let (seconds, length) = (number(at), number(at + 8));
            records[at..at + 4].copy_from_slice(&(seconds + 100).to_le_bytes());
            at += RECORD + usize::try_from(length).unwrap();
        }
    }
    file.flush().unwrap();
    times
}

fn size(cells: u16) -> NonZero<u16> {
    NonZero::new(cells).unwrap()
}

/// Returns true once the program has left the alternate screen. The output of a program that has ended may still be on its
/// way to the terminal.
fn has_left(terminal: &Terminal) -> bool {
    let begin = Instant::now();
    while terminal.is_alternate() && begin.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(10));
    }
    !terminal.is_alternate()
}

fn open(path: &Path, options: &[&str]) -> (Terminal, Child) {
    let (terminal, inner) = Terminal::open(size(100), size(30)).unwrap();
    let mut command = teetap();
    command.args(["open", "--tui"]).args(options).arg(path);
    command
        .env("TERM", "xterm-256color")
        .stdin(inner.try_clone().unwrap())
        .stdout(inner.try_clone().unwrap())
        .stderr(inner);
    (terminal, command.spawn().unwrap())
}

fn end(child: &mut Child) -> Option<i32> {
    binary::wait_end(child, PATIENCE).unwrap()
}

#[test]
fn a_long_recording_is_shown_at_once_and_gone_through() {
    let (_folder, path) = binary::place("long.pcap");
    let times = repeat(&path, 32 << 20);
    assert!(times > 20, "{times}");
    let (mut terminal, mut child) = open(&path, &[]);
    // The first rows are shown before the rest is read.
    terminal.wait_for("0.008 #1  session opening", PATIENCE).unwrap();
    let is_first = |screen: &str| screen.contains(" 1/") && screen.contains("info");
    terminal.wait_until("the first row", is_first, PATIENCE).unwrap();

    // The end, and its time.
    let last = 100 * (times - 1);
    // Test builds decode slowly.
    terminal.press("G").unwrap();
    terminal.wait_for("at the end", 4 * PATIENCE).unwrap();
    terminal
        .wait_for(&format!("of {}", last / 100), PATIENCE)
        .unwrap();
    terminal.press("g").unwrap();
    terminal.wait_for("0.008 #1  session opening", PATIENCE).unwrap();
    let middle = last / 200 * 100;
    terminal.press(&format!(":goto {middle}s\r")).unwrap();
    // The selected row is the first row at this time.
    terminal.wait_for(&format!(" {middle}.0"), PATIENCE).unwrap();

    // The whole recording is searched, with progress, until Esc.
    terminal.press("/cl_say\r").unwrap();
    terminal.wait_for("filtering: ", PATIENCE).unwrap();
    terminal.wait_for("cl_say", PATIENCE).unwrap();
    terminal.press("\x1b").unwrap();
    let is_stopped = |screen: &str| screen.contains("stopped at ") || screen.contains("at the end");
    terminal
        .wait_until("the end of the search", is_stopped, PATIENCE)
        .unwrap();
    terminal.press("q").unwrap();
    assert_eq!(end(&mut child), Some(0));
    assert!(has_left(&terminal), "the alternate screen is left open");
}

#[test]
fn a_filter_finds_what_the_printed_lines_have() {
    let (_folder, path) = binary::place("short.pcap");
    let times = repeat(&path, 4 << 20);
    let count = binary::run(teetap().args(["grep", "-c", "cl_say"]).arg(&path), 0).0;
    let count = count.trim();
    assert!(count.parse::<u32>().unwrap() >= times, "{count}");
    let (mut terminal, mut child) = open(&path, &["-f", "cl_say"]);
    terminal.wait_for("at the end", PATIENCE).unwrap();
    // Rows of sessions are listed, too; rows of messages are listed only if the filter matches them.
    terminal.press("G").unwrap();
    terminal.wait_for("following", PATIENCE).unwrap();
    terminal.wait_for("filter cl_say", PATIENCE).unwrap();
    terminal.press("Q").unwrap();
    assert_eq!(end(&mut child), Some(0));
}

#[test]
fn only_files_of_recordings_are_shown() {
    let (_folder, path) = binary::place("no.pcap");
    fs::write(&path, "text").unwrap();
    let (terminal, mut child) = open(&path, &[]);
    assert_eq!(end(&mut child), Some(5));
    terminal.wait_for("this is not a recording", PATIENCE).unwrap();
    for (options, reason) in [
        (
            &["--from", "1s"][..],
            "'--tui' cannot be used with '--from <DUR>'",
        ),
        (&["--to", "1s"], "'--tui' cannot be used with '--to <DUR>'"),
        (
            &["--until", "sv_chat"],
            "'--tui' cannot be used with '--until <EXPR>'",
        ),
    ] {
        let (terminal, mut child) = open(&path, options);
        assert_eq!(end(&mut child), Some(2));
        terminal.wait_for(reason, PATIENCE).unwrap();
    }
    let (terminal, mut child) = open(Path::new("/dev/null"), &[]);
    assert_eq!(end(&mut child), Some(2));
    terminal.wait_for("it is not a file", PATIENCE).unwrap();
}

/// Opens a recording in a terminal with a configuration file of the user.
fn open_with(config: &str, options: &[&str]) -> (Terminal, Child) {
    let (folder, path) = binary::place("config");
    fs::create_dir_all(path.join("teetap")).unwrap();
    fs::write(path.join("teetap/config.toml"), config).unwrap();
    let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/captures/tw07-session.pcap");
    let (terminal, inner) = Terminal::open(size(100), size(30)).unwrap();
    let mut command = teetap();
    command.arg("open").args(options).arg(recording);
    command
        .env("TERM", "xterm-256color")
        .env("XDG_CONFIG_HOME", &path)
        .stdin(inner.try_clone().unwrap())
        .stdout(inner.try_clone().unwrap())
        .stderr(inner);
    let child = command.spawn().unwrap();
    // The configuration is read at the start.
    terminal.wait_for("#1", PATIENCE).unwrap();
    drop(folder);
    (terminal, child)
}

#[test]
fn options_of_printed_lines_win_over_a_screen_that_a_file_sets() {
    for options in [
        &["-f", "sv_chat", "--from", "2900ms", "--to", "4s"][..],
        &["--until", "sv_chat"],
        &["-f", "sv_chat", "--until", "cl_emoticon"],
    ] {
        for config in ["tui = true\n", "until = \"cl_emoticon\"\ntui = true\n"] {
            let (terminal, mut child) = open_with(config, options);
            assert!(matches!(end(&mut child), Some(0 | 4)), "{options:?}");
            let screen = terminal.wait_for("sv_chat", PATIENCE).unwrap();
            assert!(has_left(&terminal) && !screen.contains("following"), "{screen}");
        }
    }
    // Without these options the screen opens; settings of a file that end printed lines do not affect it.
    for config in ["tui = true\n", "tui = true\nuntil = \"sv_motd\"\n"] {
        let (mut terminal, mut child) = open_with(config, &[]);
        terminal.wait_for("at the end", PATIENCE).unwrap();
        terminal.press("q").unwrap();
        assert_eq!(end(&mut child), Some(0));
        assert!(has_left(&terminal), "the alternate screen is left open");
    }
}

#[test]
fn the_end_of_a_damaged_recording_is_reported_after_the_screen() {
    let (_folder, path) = binary::place("cut.pcap");
    repeat(&path, 1 << 20);
    let file = File::options().write(true).open(&path).unwrap();
    file.set_len((1 << 20) - 5).unwrap();
    let (mut terminal, mut child) = open(&path, &[]);
    terminal.wait_for("at the end", PATIENCE).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    terminal.press("Q").unwrap();
    assert_eq!(end(&mut child), Some(5));
    terminal.wait_for("the recording is truncated", PATIENCE).unwrap();
}
