//! The screen in terminals of any size, suspended and continued, and with texts of hostile peers.

mod gone;

use std::{
    fs::File,
    io::Read as _,
    num::NonZero,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use teetap_kit::{
    binary::wait_end,
    codec::{Chunk, Datagram, Variant},
    hostile::Shown,
    real::PATIENCE,
    terminal::{self, Terminal},
};

use crate::{TEETAP, hostile::Udp, teetap};

/// A text with everything that a terminal must not receive from a peer: a title, a status query, C1 controls in one
/// and two bytes, control characters, and characters that reverse the text direction.
const HOSTILE: &[u8] =
    b"ahead\x1b]0;owned\x07\x1b[5n\x9b5n\xc2\x9b6n\xc2\x85\x08\x0e\x7f\xe2\x80\xae\xe2\x81\xa6\xd8\x9c\xe5\x90\x8d\xf0\x9f\x91\xa9tail";

/// Starts a program in a terminal of this size.
fn start(mut command: Command, columns: u16, rows: u16) -> Result<(Terminal, Child)> {
    let (terminal, inner) = Terminal::open(cells(columns)?, cells(rows)?)?;
    command
        .env("TERM", "xterm-256color")
        .stdin(inner.try_clone()?)
        .stdout(inner.try_clone()?)
        .stderr(inner);
    let child = command.spawn()?;
    Ok((terminal, child))
}

fn cells(count: u16) -> Result<NonZero<u16>> {
    NonZero::new(count).context("no size")
}

fn demo() -> Command {
    let mut command = teetap();
    command.args(["demo", "--tui", "-l", "127.0.0.1:0"]);
    command
}

/// Returns the text that a program wrote, without the escape sequences that the screen uses. Any other sequence is an
/// error.
fn text_of(written: &[u8]) -> Result<String> {
    let mut rest = std::str::from_utf8(written)?;
    let mut text = String::new();
    while let Some(at) = rest.find('\x1b') {
        let (before, after) = rest.split_at(at);
        text.push_str(before);
        let end = if let Some(body) = after.strip_prefix("\x1b]52;c;") {
            7 + body.find('\x07').context("a clipboard without an end")? + 1
        } else {
            let body = after
                .strip_prefix("\x1b[")
                .with_context(|| format!("{after:.12?}"))?;
            let end = body
                .find(|char: char| char.is_ascii_alphabetic())
                .context("no end")?;
            let (parameters, word) = (&body[..end], &body[end..=end]);
            let known = match word {
                "m" | "H" => parameters
                    .bytes()
                    .all(|byte| byte.is_ascii_digit() || byte == b';'),
                "J" => parameters == "2",
                "h" | "l" => [
                    "?25", "?1000", "?1002", "?1003", "?1006", "?1015", "?1049", "?2004",
                ]
                .contains(&parameters),
                _ => false,
            };
            ensure!(known, "the sequence {parameters:?} {word:?}");
            2 + end + 1
        };
        rest = &after[end..];
    }
    text.push_str(rest);
    Ok(text)
}

/// Returns true for a character that a terminal must not receive as text.
fn is_unsafe(char: char) -> bool {
    let turns = matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}');
    turns || char.is_control() && !matches!(char, '\r' | '\n')
}

#[test]
fn sequences_and_characters_of_peers_are_found() {
    let own = text_of(b"\x1b[1;2Ha\x1b[0m\x1b[?25l\x1b]52;c;Zg==\x07b");
    assert_eq!(
        own.as_deref().ok(),
        Some("ab"),
        "sequences of the screen are refused"
    );
    for wrong in [
        &b"\x1b]0;owned\x07"[..],
        b"\x1b[5n",
        b"\x1bc",
        b"\x1b[?5h",
        b"\x1b[3J",
    ] {
        assert!(text_of(wrong).is_err(), "{wrong:?}");
    }
    assert!(text_of(b"\x9b5n").is_err(), "a sequence of 8 bits is let through");
    let text = text_of("a\u{9b}\u{202e}\u{8}\r\n".as_bytes()).unwrap();
    assert_eq!(text.chars().filter(|char| is_unsafe(*char)).count(), 3);
}

#[test]
fn nothing_that_a_peer_sends_controls_the_terminal() -> Result<()> {
    let mut udp = Udp::new(Variant::V65, Variant::V65)?;
    let mut command = teetap();
    command.args(["--tui", "-l", "127.0.0.1:0", &udp.server_addr()?.to_string()]);
    let (mut terminal, mut child) = start(command, 220, 40)?;
    let screen = terminal.wait_for("nothing yet: in the game console type", PATIENCE)?;
    let (_, rest) = screen.split_once("type   connect ").context("no address")?;
    udp.join(rest.split_whitespace().next().context("no address")?.parse()?)?;
    // A chat line of each side: id, team, client or mode, text.
    let shown: [Shown; 2] = [udp.shown_down()?, udp.shown_up()];
    let heads: [&[u8]; 2] = [&[6, 0, 0x40], &[34, 0]];
    for (shown, head) in shown.into_iter().zip(heads) {
        let chunk = Chunk::new(Some(shown.next), [head, HOSTILE, b"\0"].concat());
        let bytes = Datagram::of_chunks(shown.format, shown.ack, shown.token, vec![chunk]).build();
        if head.len() == 3 {
            udp.throw_down(&bytes)?;
        } else {
            udp.throw_up(&bytes)?;
        }
        udp.run(Duration::from_millis(200))?;
    }
    let begun = Instant::now();
    // Names, texts, bytes, a menu with texts to copy, and every view.
    for keys in [
        "",
        "/sv_chat\r",
        "\r",
        "\t",
        "\t",
        "y1",
        "\x1b/cl_say\r",
        "g",
        "y0",
        "2",
        "4",
        "5",
        "6",
        "7",
        "1f",
    ] {
        terminal.press(keys)?;
        udp.run(Duration::from_millis(150))?;
    }
    terminal.wait_for("tail", PATIENCE)?;
    ensure!(begun.elapsed() < 2 * PATIENCE);
    terminal.press("QQ")?;
    let ended = wait_end(&mut child, PATIENCE)?;
    ensure!(ended == Some(0), "{ended:?}");
    let text = text_of(&terminal.written())?;
    ensure!(
        text.contains("ahead") && text.contains("tail"),
        "the text is not shown"
    );
    let bad: Vec<char> = text.chars().filter(|char| is_unsafe(*char)).collect();
    ensure!(bad.is_empty(), "{bad:?}");
    Ok(())
}

#[test]
fn ctrl_z_gives_the_terminal_back_and_fg_takes_it_again() -> Result<()> {
    let mut shell = Command::new("setsid");
    shell
        .args(["--ctty", "bash", "--norc", "--noprofile", "-i"])
        .env("PS1", "shell> ");
    let (mut terminal, mut child) = start(shell, 100, 30)?;
    terminal.wait_for("shell>", PATIENCE)?;
    terminal.press(&format!(
        "XDG_CONFIG_HOME=/nonexistent {TEETAP} demo --tui -l :0\r"
    ))?;
    terminal.wait_for("tour 1/7", PATIENCE)?;
    ensure!(terminal.is_alternate());
    terminal.press("\x1a")?;
    // What is typed before the next prompt may still be read by the program.
    let has_prompt = |text: &str| text.trim_end().ends_with("shell>");
    let is_stopped = |text: &str| text.contains("type fg to continue") && has_prompt(text);
    let screen = terminal.wait_until("a prompt after the hint", is_stopped, PATIENCE)?;
    ensure!(!terminal.is_alternate(), "{screen}");
    terminal.press("echo $((6*7))\r")?;
    terminal.wait_for("\n42", PATIENCE)?;
    terminal.press("fg\r")?;
    terminal.wait_for("tour 1/7", PATIENCE)?;
    ensure!(terminal.is_alternate());
    // The keys are processed again.
    terminal.press("QQ")?;
    let is_over = |text: &str| text.contains("exit 0") && has_prompt(text);
    terminal.wait_until("a prompt after the summary", is_over, PATIENCE)?;
    terminal.press("exit\r")?;
    wait_end(&mut child, PATIENCE)?;
    Ok(())
}

/// Starts the demo on a terminal.
fn demo_on(terminal: File) -> Result<Child> {
    Ok(demo()
        .env("TERM", "xterm-256color")
        .stdin(terminal.try_clone()?)
        .stdout(terminal)
        .stderr(Stdio::piped())
        .spawn()?)
}

/// Waits until a program ends. Returns its exit code, and its text on stderr.
fn end_of(mut child: Child) -> Result<(Option<i32>, String)> {
    let ended = wait_end(&mut child, PATIENCE)?;
    let mut text = String::new();
    let mut stderr = child.stderr.take().context("no stderr")?;
    stderr.read_to_string(&mut text)?;
    Ok((ended, text))
}

#[test]
fn an_error_of_drawing_is_reported_and_a_lost_terminal_is_not() -> Result<()> {
    // A terminal that accepts no bytes: its other end is not read, and writes do not block.
    let (outer, inner) = terminal::open(200, 60)?;
    let flags = rustix::fs::fcntl_getfl(&inner)? | rustix::fs::OFlags::NONBLOCK;
    rustix::fs::fcntl_setfl(&inner, flags)?;
    let child = demo_on(inner)?;
    let (ended, text) = end_of(child)?;
    ensure!(ended == Some(3), "{ended:?}: {text}");
    ensure!(text.contains("cannot draw on the terminal: "), "{text}");
    drop(outer);

    let (outer, inner) = terminal::open(200, 60)?;
    let mut reader = outer.try_clone()?;
    let child = demo_on(inner)?;
    // Until the screen is drawn.
    let (mut block, mut shown) = ([0; 4096], Vec::<u8>::new());
    while !shown.windows(8).any(|part| part == b"tour 1/7") {
        let read = reader.read(&mut block)?;
        ensure!(read > 0, "nothing is drawn");
        shown.extend(block.iter().take(read));
    }
    drop((reader, outer));
    let (ended, text) = end_of(child)?;
    ensure!(ended == Some(129), "{ended:?}: {text}");
    ensure!(!text.contains("cannot draw"), "{text}");
    Ok(())
}

#[test]
fn a_terminal_of_any_size_is_drawn_and_resized() -> Result<()> {
    let (mut terminal, mut child) = start(demo(), 20, 5)?;
    // The narrowest first line has the names of the views alone.
    terminal.wait_for("1 msgs", PATIENCE)?;
    for (columns, rows) in [(200, 60), (20, 5), (1, 1), (60, 16), (80, 3)] {
        terminal.resize(cells(columns)?, cells(rows)?)?;
        for keys in ["1", "\r", "2", "3", "4", "5", "M", "6", "7", "?", "\x1b", "1"] {
            terminal.press(keys)?;
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    terminal.resize(cells(120)?, cells(40)?)?;
    terminal.wait_for("teetap  demo", PATIENCE)?;
    // A slow machine reads Esc and the next key as one, so that the help stays open: the first ctrl-c closes it.
    terminal.press("\x03\x03")?;
    let ended = wait_end(&mut child, PATIENCE)?;
    ensure!(ended == Some(0), "{ended:?}");
    Ok(())
}
