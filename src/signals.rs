//! Signals: INT, TERM and HUP end the run. A HUP that is ignored at the start, as under nohup, stays ignored.
//!
//! Law: the first signal shuts the run down: the peers are sent CLOSE even if the output is blocked by a full pipe.
//! Another INT ends the process at once, and so does a shutdown that takes more than 4 s. No process that the run has
//! started survives.

use std::{
    fs, io,
    sync::{Arc, OnceLock, mpsc},
    thread,
    time::{Duration, Instant},
};

use teetap_engine::control::Guard;
use teetap_harness::child::tree;
use teetap_inspect::joins::STOPPED;
use teetap_proxy::io::Commands;
use tokio::{
    runtime,
    signal::unix::{Signal, SignalKind, signal},
    time::timeout,
};

use crate::{exit::Exit, wake::Wake};

/// Maximum time from the first signal to the end. Closing sessions and flushing output take half a second, and longer
/// on a busy machine with a recording to complete. Another INT ends the process at once.
const PATIENCE: Duration = Duration::from_secs(4);

/// Maximum time for killing the processes of the run when the program ends at once.
const AT_ONCE: Duration = Duration::from_millis(100);

/// Time within which another INT counts as the first signal, since `timeout` and shells signal a process and then its
/// group.
const SAME: Duration = Duration::from_millis(200);

/// The thread that waits for signals.
#[derive(Debug)]
pub(crate) struct Signals {
    proxy: Arc<OnceLock<Commands>>,
    file: Arc<OnceLock<Arc<Guard>>>,
}

impl Signals {
    /// Starts to wait for signals. Sends the first signal to `wake`.
    pub(crate) fn install(wake: mpsc::Sender<Wake>) -> io::Result<Self> {
        let proxy = Arc::new(OnceLock::new());
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let signals = {
            let _inside = runtime.enter();
            Three::new()?
        };
        let file: Arc<OnceLock<Arc<Guard>>> = Arc::default();
        let (shared, removed) = (Arc::clone(&proxy), Arc::clone(&file));
        thread::Builder::new().name("signals".into()).spawn(move || {
            let number = runtime.block_on(wait(signals, &wake, &shared));
            tree::kill(AT_ONCE);
            if let Some(file) = removed.get() {
                file.remove();
            }
            std::process::exit(Exit::Signal(number).code().into());
        })?;
        Ok(Self { proxy, file })
    }

    /// Sets the proxy that a signal stops.
    pub(crate) fn guard(&self, proxy: Commands) {
        // A second proxy in one run would be a bug; the first one stays.
        let _first = self.proxy.set(proxy);
    }

    /// Sets the file of the control socket, which is removed when the process ends at once.
    pub(crate) fn remove(&self, file: Arc<Guard>) {
        // Same as for the proxy.
        let _first = self.file.set(file);
    }
}

/// The signals that end a run.
struct Three {
    interrupt: Signal,
    terminate: Signal,
    /// `None` if the signal is ignored.
    hangup: Option<Signal>,
}

impl Three {
    fn new() -> io::Result<Self> {
        let is_wanted = !is_ignored(SignalKind::hangup());
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: is_wanted.then(|| signal(SignalKind::hangup())).transpose()?,
        })
    }

    /// Waits for the next signal.
    async fn next(&mut self) -> SignalKind {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => SignalKind::interrupt(),
            _ = self.terminate.recv() => SignalKind::terminate(),
            _ = hangup => SignalKind::hangup(),
        }
    }
}

/// Returns true if the parent made this process ignore a signal; false if the system does not report it.
fn is_ignored(kind: SignalKind) -> bool {
    fs::read_to_string("/proc/self/status").is_ok_and(|status| ignores(&status, kind))
}

/// Returns true if `/proc/PID/status` lists a signal in its mask of ignored signals.
fn ignores(status: &str, kind: SignalKind) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let bit = u32::try_from(kind.as_raw_value() - 1).unwrap_or_default();
    mask.is_some_and(|mask| mask.checked_shr(bit).is_some_and(|rest| rest & 1 == 1))
}

/// Waits until the process must end at once. Returns the number of the first signal.
async fn wait(mut signals: Three, wake: &mpsc::Sender<Wake>, proxy: &OnceLock<Commands>) -> u8 {
    let kind = signals.next().await;
    let number = u8::try_from(kind.as_raw_value()).unwrap_or_default();
    // The main thread is told first, so that it knows why the proxy ends.
    let listened = wake.send(Wake::Signal(number)).is_ok();
    if let Some(proxy) = proxy.get() {
        proxy.stop(STOPPED);
    }
    if listened {
        let first = Instant::now();
        let again =
            async { while signals.next().await != SignalKind::interrupt() || first.elapsed() < SAME {} };
        let _either_way_it_is_over = timeout(PATIENCE, again).await;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ignored_signal_is_in_the_mask() {
        let status = "Name:\tteetap\nSigBlk:\t0000000000000001\nSigIgn:\t0000000000001001\nSigCgt:\tffff\n";
        assert!(ignores(status, SignalKind::hangup()), "SIGHUP is ignored");
        assert!(!ignores(status, SignalKind::interrupt()), "SIGINT is not");
        assert!(!ignores("Name:\tteetap\n", SignalKind::hangup()), "no mask");
    }
}
