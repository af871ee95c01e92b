//! Terminals whose window is closed while a program runs in them: the program ends cleanly.

use std::{
    fs,
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use teetap_kit::{
    binary::{place, run},
    real::PATIENCE,
    terminal::Terminal,
};

use super::start;
use crate::{TEETAP, teetap};

/// The exit code of a program whose terminal has hung up.
const HUNG_UP: i32 = 129;

/// Starts a program in a window. If the window `signals`, its terminal belongs to a session whose leader receives
/// SIGHUP when the window is closed.
fn open(arguments: &[&str], temporary: &Path, signals: bool) -> Result<(Terminal, Child)> {
    let mut command = if signals {
        let mut command = Command::new("setsid");
        command.args(["--ctty", TEETAP]);
        command.env("XDG_CONFIG_HOME", "/nonexistent");
        command
    } else {
        teetap()
    };
    command.args(arguments).env("TMPDIR", temporary);
    let (window, child) = start(command, 100, 30)?;
    // Until setsid has executed the program.
    let name = format!("/proc/{}/comm", child.id());
    let begun = Instant::now();
    while fs::read_to_string(&name)?.trim_end() != "teetap" {
        ensure!(begun.elapsed() < PATIENCE, "the program does not start");
        thread::sleep(Duration::from_millis(1));
    }
    Ok((window, child))
}

/// Closes the window of a program. Returns the exit status of the program.
fn close(window: Terminal, child: &mut Child) -> Result<ExitStatus> {
    window.close();
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if begun.elapsed() > PATIENCE {
            child.kill()?;
            bail!("the program does not end");
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Checks that a program ended cleanly: its recording is complete, and its temporary files are removed.
fn check_end(name: &str, status: ExitStatus, recording: &Path, temporary: &Path) -> Result<()> {
    ensure!(status.code() == Some(HUNG_UP), "{name}: ended with {status}");
    let left: Vec<PathBuf> = fs::read_dir(temporary)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    ensure!(left.is_empty(), "{name}: {left:?} is left");
    let (_, printed) = run(teetap().arg("open").arg(recording), 0);
    ensure!(
        printed.contains("ended by SIGHUP") && printed.contains("exit 129"),
        "{name}: the recording lacks its end: {printed}"
    );
    Ok(())
}

#[test]
fn a_window_that_is_closed_ends_the_screen_in_order() -> Result<()> {
    for signals in [true, false] {
        // The keys pressed before, and their effect on the screen.
        for (name, keys, shown) in [
            ("the tour", "", "tour 1/7"),
            ("a copied text", "y0", "copied by OSC 52"),
            ("a prompt", ":theme", ":theme"),
            ("the help", "?", "type to search"),
            ("a part of a key", "\x1b[", "tour 1/7"),
        ] {
            let (folder, recording) = place("run.pcapng");
            let temporary = folder.path().join("tmp");
            fs::create_dir(&temporary)?;
            let path = recording.to_str().context("no path")?;
            let arguments = ["demo", "--tui", "-l", ":0", "-w", path];
            let (mut window, mut child) = open(&arguments, &temporary, signals)?;
            window.wait_for("tour 1/7", PATIENCE)?;
            window.press(keys)?;
            window.wait_for(shown, PATIENCE)?;
            let name = format!("{name}, with SIGHUP: {signals}");
            check_end(&name, close(window, &mut child)?, &recording, &temporary)?;
        }
    }
    Ok(())
}

#[test]
fn a_window_that_is_closed_ends_plain_lines_in_order() -> Result<()> {
    for signals in [true, false] {
        let (folder, recording) = place("run.pcapng");
        let temporary = folder.path().join("tmp");
        fs::create_dir(&temporary)?;
        let path = recording.to_str().context("no path")?;
        let arguments = ["demo", "-l", ":0", "--seconds", "60", "-w", path];
        let (window, mut child) = open(&arguments, &temporary, signals)?;
        window.wait_for("session online", PATIENCE)?;
        let name = format!("plain lines, with SIGHUP: {signals}");
        check_end(&name, close(window, &mut child)?, &recording, &temporary)?;
    }
    Ok(())
}

#[test]
fn a_window_that_is_closed_ends_a_recording_that_is_shown() -> Result<()> {
    let (folder, recording) = place("run.pcapng");
    let temporary = folder.path().join("tmp");
    fs::create_dir(&temporary)?;
    run(
        teetap()
            .args(["demo", "--seconds", "1", "-q", "-l", ":0", "-w"])
            .arg(&recording),
        0,
    );
    let path = recording.to_str().context("no path")?;
    for signals in [true, false] {
        let (mut window, mut child) = open(&["open", "--tui", path], &temporary, signals)?;
        window.wait_for("session online", PATIENCE)?;
        window.press("y0")?;
        window.wait_for("copied by OSC 52", PATIENCE)?;
        window.press("/sv_")?;
        window.wait_for("/sv_", PATIENCE)?;
        let status = close(window, &mut child)?;
        ensure!(status.code() == Some(HUNG_UP), "SIGHUP {signals}: {status}");
        ensure!(fs::read_dir(&temporary)?.count() == 0, "a file is left");

        // Its end was printed, so nothing more is written.
        let (window, mut child) = open(&["open", path], &temporary, signals)?;
        window.wait_for("exit 0", PATIENCE)?;
        let status = close(window, &mut child)?;
        ensure!(status.code() == Some(0), "{status}");
    }
    Ok(())
}

#[test]
fn a_window_that_is_closed_during_the_start_ends_the_program() -> Result<()> {
    let (folder, _) = place("run.pcapng");
    let temporary = folder.path().join("tmp");
    fs::create_dir(&temporary)?;
    for arguments in [
        &["demo", "--tui", "-l", ":0"][..],
        &["demo", "-l", ":0", "--seconds", "60"],
    ] {
        for (signals, wait) in [true, false]
            .into_iter()
            .flat_map(|signals| (0..24).step_by(4).map(move |wait| (signals, wait)))
        {
            let (window, mut child) = open(arguments, &temporary, signals)?;
            thread::sleep(Duration::from_millis(wait));
            let status = close(window, &mut child)?;
            // Before the program waits for SIGHUP, it ends like any other program.
            let is_early = signals && status.signal() == Some(1);
            ensure!(
                status.code() == Some(HUNG_UP) || is_early,
                "{arguments:?}, SIGHUP {signals}, after {wait} ms: {status}"
            );
            ensure!(fs::read_dir(&temporary)?.count() == 0, "a file is left");
        }
    }
    Ok(())
}
