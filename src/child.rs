//! The command of `teetap run HOST -- CMD`.
//!
//! Law: the command's stdout goes to stderr, as stdout holds nothing but lines about the traffic.

use std::{
    ffi::{OsStr, OsString},
    io,
    net::SocketAddr,
    os::unix::{ffi::OsStrExt as _, ffi::OsStringExt as _, process::ExitStatusExt as _},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use teetap_wire::printable_path;

use crate::exit::{Exit, Failure};

/// Time to end by itself after INT, and again after TERM.
const GRACE: Duration = Duration::from_millis(200);

/// A running command.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
}

/// The end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// The exit code, 128+n when a signal ended it.
    pub(crate) code: i32,
    /// True if it was stopped because the run ended.
    pub(crate) is_stopped: bool,
}

impl End {
    /// Returns the end of the run that it leads to.
    pub(crate) fn exit(self) -> Exit {
        if self.code == 0 { Exit::Ok } else { Exit::Failed }
    }

    fn of(status: ExitStatus) -> Self {
        let by_signal = || 128 + status.signal().unwrap_or_default();
        Self {
            code: status.code().unwrap_or_else(by_signal),
            is_stopped: false,
        }
    }
}

/// Starts `command` with `{addr}`, `{host}` and `{port}` replaced by where to connect to.
pub(crate) fn start(command: &[OsString], connect: SocketAddr) -> Result<Running, Failure> {
    let words: Vec<OsString> = command.iter().map(|word| fill_in(word, connect)).collect();
    let Some((program, arguments)) = words.split_first() else {
        return Err(Failure::usage("no command after --"));
    };
    Command::new(program)
        .args(arguments)
        .stdout(Stdio::from(io::stderr()))
        .spawn()
        .map(|child| Running { child })
        .map_err(|error| Failure::network(format!("cannot start {}: {error}", printable_path(program))))
}

impl Running {
    /// Returns how it ended, if it has.
    pub(crate) fn ended(&mut self) -> io::Result<Option<End>> {
        Ok(self.child.try_wait()?.map(End::of))
    }

    /// Stops it: sends TERM, waits, kills. `is_interrupted`: it received INT from the terminal already.
    pub(crate) fn stop(&mut self, is_interrupted: bool) -> io::Result<End> {
        // It may have ended by itself.
        if let Some(end) = self.ended()? {
            return Ok(end);
        }
        let end = self.force(is_interrupted)?;
        Ok(End {
            is_stopped: true,
            ..end
        })
    }

    fn force(&mut self, is_interrupted: bool) -> io::Result<End> {
        if is_interrupted && let Some(end) = self.wait(GRACE)? {
            return Ok(end);
        }
        // An error means that it has just ended.
        let _ended = kill_process(Pid::from_child(&self.child), Signal::TERM);
        if let Some(end) = self.wait(GRACE)? {
            return Ok(end);
        }
        self.child.kill()?;
        Ok(End::of(self.child.wait()?))
    }

    fn wait(&mut self, patience: Duration) -> io::Result<Option<End>> {
        let start = Instant::now();
        loop {
            let ended = self.ended()?;
            if ended.is_some() || start.elapsed() >= patience {
                return Ok(ended);
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Replaces the three words; any other braces stay.
fn fill_in(word: &OsStr, connect: SocketAddr) -> OsString {
    let words: [(&[u8], String); 3] = [
        (b"{addr}", connect.to_string()),
        (b"{host}", connect.ip().to_string()),
        (b"{port}", connect.port().to_string()),
    ];
    let mut rest = word.as_bytes();
    let mut filled = Vec::with_capacity(rest.len());
    while let Some((first, after)) = rest.split_first() {
        match words.iter().find(|(name, _)| rest.starts_with(name)) {
            Some((name, value)) => {
                filled.extend_from_slice(value.as_bytes());
                rest = rest.get(name.len()..).unwrap_or_default();
            }
            None => {
                filled.push(*first);
                rest = after;
            }
        }
    }
    OsString::from_vec(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_filled_in() {
        let addr = "[::1]:8304".parse().unwrap();
        for (word, filled) in [
            ("connect {addr}", "connect [::1]:8304"),
            ("{host}:{port}{port}", "::1:83048304"),
            ("{}{x}{addr", "{}{x}{addr"),
        ] {
            assert_eq!(fill_in(OsStr::new(word), addr), OsString::from(filled));
        }
    }

    #[test]
    fn the_code_of_the_command_is_kept() {
        let run = |script: &str| {
            let command = ["sh".into(), "-c".into(), script.into()];
            let mut child = start(&command, "127.0.0.1:1".parse().unwrap()).unwrap();
            child.wait(Duration::from_secs(30)).unwrap().unwrap()
        };
        assert_eq!((run("exit 0").exit(), run("exit 0").code), (Exit::Ok, 0));
        assert_eq!((run("exit 7").exit(), run("exit 7").code), (Exit::Failed, 7));
        assert_eq!(run("kill -9 $$").code, 137);
    }

    #[test]
    fn a_command_that_ignores_the_request_is_killed() {
        let command = [
            "sh".into(),
            "-c".into(),
            "trap '' TERM; echo >&2; while :; do sleep 1; done".into(),
        ];
        let mut child = start(&command, "127.0.0.1:1".parse().unwrap()).unwrap();
        assert!(child.ended().unwrap().is_none());
        let end = child.stop(true).unwrap();
        assert!(matches!(end.code, 137 | 143) && end.is_stopped);
    }
}
