//! The terminal UI of the built binary, in a terminal, while a real client visits a real server.

use std::{
    fs,
    net::SocketAddr,
    num::NonZero,
    process::{Child, Command, ExitStatus},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use teetap_kit::{
    real::{DdnetServer, NpmBot, PATIENCE, Player as _, Server as _, home, turn},
    terminal::Terminal,
};

use crate::TEETAP;

const COLUMNS: NonZero<u16> = NonZero::new(100).unwrap();
const ROWS: NonZero<u16> = NonZero::new(30).unwrap();

/// Starts the terminal UI in front of a server. Returns the address for clients, which is read from the screen.
fn start(server: SocketAddr, options: &[&str]) -> Result<(Terminal, Child, SocketAddr)> {
    let (terminal, inner) = Terminal::open(COLUMNS, ROWS)?;
    let mut command = Command::new(TEETAP);
    command
        .args(["--tui", "-l", "127.0.0.1:0", &server.to_string()])
        .args(options);
    command.env("TERM", "xterm-256color");
    command
        .stdin(inner.try_clone()?)
        .stdout(inner.try_clone()?)
        .stderr(inner);
    let child = command.spawn()?;
    let screen = terminal.wait_for("nothing yet: in the game console type", PATIENCE)?;
    let (_, rest) = screen.split_once("type   connect ").context("no address")?;
    let address = rest.split_whitespace().next().context("no address")?;
    Ok((terminal, child, address.parse()?))
}

/// Waits until the program ends.
fn end(child: &mut Child) -> Result<ExitStatus> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if begun.elapsed() > PATIENCE {
            child.kill()?;
            bail!("the program does not end");
        }
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_visit_is_listed_and_q_ends_the_run_with_the_terminal_as_before() -> Result<()> {
    let _turn = turn::shared()?;
    let folder = home("screen")?;
    let recording = folder.path().join("run.pcapng");
    let mut server = DdnetServer::start(&[])?;
    let (mut terminal, mut child, connect) = start(server.addr(), &["-w", recording.to_str().unwrap()])?;
    let mut bot = NpmBot::start("shown", connect)?.joined()?;
    // The start has scrolled off the screen by then.
    bot.log().wait_for("^snapshots 25$", PATIENCE)?;
    terminal.wait_for("snap_single", PATIENCE)?;
    assert!(terminal.is_alternate(), "the screen is not the alternate one");

    terminal.press("g")?;
    let (there, gone) = (
        [
            " REC",
            "session opening: ddnet",
            "connect_accept",
            "c→s V     3 info",
            "session online",
        ],
        ["following", "session closed"],
    );
    let is_first = |screen: &str| {
        there.iter().all(|part| screen.contains(part)) && !gone.iter().any(|part| screen.contains(part))
    };
    terminal.wait_until("the first messages, and no later ones", is_first, PATIENCE)?;
    terminal.press("G")?;
    terminal.wait_for("following", PATIENCE)?;
    bot.quit()?;
    terminal.wait_for("session closed", PATIENCE)?;

    terminal.press("q")?;
    assert_eq!(end(&mut child)?.code(), Some(0), "the exit code");
    let last = terminal.wait_for("exit 0", PATIENCE)?;
    assert!(last.contains("1 session,") && !terminal.is_alternate(), "{last}");
    let size = fs::metadata(&recording)?.len();
    assert!(size > 1000, "the recording has {size} bytes");
    server.stop()
}

/// A first-time user's tour: hold a chat line, edit it, release it, answer, and make the link worse.
#[test]
fn a_chat_line_is_held_edited_and_released_and_a_message_is_injected() -> Result<()> {
    let _turn = turn::shared()?;
    let folder = home("screen-tour")?;
    let saved = folder.path().join("rows.pcapng");
    let mut server = DdnetServer::start(&[])?;
    let (mut terminal, mut child, connect) = start(server.addr(), &[])?;
    let mut bot = NpmBot::start("toured", connect)?.joined()?;
    terminal.wait_for("enter_game", PATIENCE)?;

    terminal.press("/cl_say\r")?;
    terminal.wait_for("filter cl_say", PATIENCE)?;
    terminal.press("p")?;
    terminal.wait_for("PAUSING", PATIENCE)?;
    bot.command("say hello")?;
    terminal.wait_for("1 held:", PATIENCE)?;
    terminal.press("e")?;
    terminal.wait_for("edit held 1 cl_say", PATIENCE)?;
    // The second field; its text is replaced.
    terminal.press("\x1b[B\x15goodbye\r")?;
    terminal.wait_for("it is still held", PATIENCE)?;
    assert!(!bot.log().contains("hello"), "the held message arrived");
    terminal.press("a")?;
    bot.log().wait_for("^chat toured: goodbye$", PATIENCE)?;

    terminal.press("p")?;
    terminal.wait_until("no pause", |text| !text.contains("PAUSING"), PATIENCE)?;
    terminal.press("is2c sv_chat{client_id: -1, message: \"from the screen\"}\r")?;
    bot.log().wait_for("^chat \\*\\*\\* from the screen$", PATIENCE)?;

    terminal.press("3")?;
    terminal.wait_for("link both: right adds it", PATIENCE)?;
    terminal.press("G")?;
    terminal.press(&"\x1b[C".repeat(10))?;
    terminal.wait_for("link both loss 10%", PATIENCE)?;

    terminal.press(&format!("1:save {}\r", saved.display()))?;
    let begun = Instant::now();
    while fs::metadata(&saved).is_ok_and(|file| file.len() < 100) || !saved.exists() {
        if begun.elapsed() > PATIENCE {
            bail!("nothing was saved:\n{}", terminal.text());
        }
        thread::sleep(Duration::from_millis(10));
    }
    let opened = Command::new(TEETAP).arg("open").arg(&saved).output()?;
    let printed = String::from_utf8_lossy(&opened.stdout).into_owned();
    assert!(
        printed.contains("cl_say") && !printed.contains("input_timing"),
        "{printed}"
    );

    bot.quit()?;
    terminal.press("QQ")?;
    assert_eq!(end(&mut child)?.code(), Some(0), "the exit code");
    server.stop()
}

#[test]
fn a_signal_ends_the_run_and_restores_the_terminal() -> Result<()> {
    let _turn = turn::shared()?;
    let mut server = DdnetServer::start(&[])?;
    for (signal, number) in [(Signal::TERM, 15), (Signal::HUP, 1)] {
        let (terminal, mut child, _) = start(server.addr(), &[])?;
        let process = Pid::from_raw(child.id().try_into()?).context("a process id")?;
        kill_process(process, signal)?;
        assert_eq!(end(&mut child)?.code(), Some(128 + number), "the exit code");
        let last = terminal.wait_for(&format!("exit {}", 128 + number), PATIENCE)?;
        assert!(!terminal.is_alternate(), "{last}");
    }
    server.stop()
}
