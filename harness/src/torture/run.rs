//! One run of a cell: the client through a proxy in process, with one rule.

use std::{
    error::Error,
    ffi::OsString,
    io,
    process::Stdio,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use rustix::process::Signal;
use teetap_engine::{Builder, Run as Proxy};
use teetap_inspect::joins::STOPPED;
use teetap_proxy::{io::Seen, session::Time};
use teetap_rules::Filter;

use super::{
    cell::Cell,
    printed::Printed,
    watch::{Cause, End, Watched},
};
use crate::child::{self, ChildError, ProcessGroup, Running};

/// Time between two polls of a run.
const TICK: Duration = Duration::from_millis(10);

/// Number of polls after which processes that outlived their parents are reaped.
const REAP_EVERY: u32 = 200;

/// Prefix of environment variables that are options of this program; clients do not inherit them.
const OPTIONS: &str = "TEETAP_";

/// Options that clients inherit, since they are options of the runs, too.
const INHERITED: [&str; 2] = ["TEETAP_MESSAGES", "TEETAP_PROTO"];

/// Prepares a run with a rule, or without one: server, definitions, seed.
pub type Prepare<'a> = dyn Fn(Option<&str>) -> Result<Builder, Box<dyn Error + Send + Sync>> + Sync + 'a;

/// The proxy, the client and the limits of all runs.
pub struct Plan<'a> {
    /// Prepares a run.
    pub prepare: &'a Prepare<'a>,
    /// The words of the client; `{addr}`, `{host}` and `{port}` become the address to connect to.
    pub command: &'a [OsString],
    /// Maximum time for a client to join.
    pub timeout: Duration,
    /// Time for which a client is watched after it has entered the game.
    pub stay: Duration,
    /// Names of the messages to try, with or without their class; empty for all.
    pub only: &'a [String],
}

/// Reason why a client cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The proxy cannot be prepared.
    #[error("{0}")]
    Prepare(Box<dyn Error + Send + Sync>),
    /// The proxy does not start.
    #[error(transparent)]
    Start(#[from] teetap_engine::RunError),
    /// The client does not start.
    #[error(transparent)]
    Client(#[from] ChildError),
    /// The system refuses a pipe, a thread or the state of a process.
    #[error("cannot run the client: {0}")]
    System(#[from] io::Error),
}

/// Result of one run.
#[derive(Clone, Debug, Default)]
pub(super) struct Run {
    pub(super) watched: Watched,
    /// Last line that the client printed.
    pub(super) said: Option<String>,
}

/// Stops a matrix from another thread.
#[derive(Debug, Default)]
pub struct Stopper(AtomicBool);

impl Stopper {
    /// Ends all runs with their clients. No further runs are started.
    pub fn stop(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

impl Plan<'_> {
    /// Returns the condition that ends a run: the client is sent a snapshot after it has been in the game for
    /// [`Self::stay`].
    #[must_use]
    pub fn until(&self) -> String {
        format!("any_snap and since(enter_game) > {}ms", self.stay.as_millis())
    }

    /// Returns the time after which a run ends in any case.
    #[must_use]
    pub fn whole(&self) -> Duration {
        self.timeout + self.stay
    }

    /// Returns true if a word of the command contains a placeholder for the address of the proxy.
    pub(super) fn has_place(&self) -> bool {
        self.command.iter().any(|word| child::has_place(word))
    }

    /// Runs the client through a proxy with the fault of a cell; with `None`, without a fault.
    pub(super) fn run(
        &self,
        cell: Option<&Cell>,
        stopper: &Stopper,
        is_beside_others: bool,
    ) -> Result<Run, RunError> {
        let rule = cell.map(Cell::rule);
        let mut builder = (self.prepare)(rule.as_deref()).map_err(RunError::Prepare)?;
        // The user's definitions cannot remove the words of this condition.
        if let Ok((until, _)) = Filter::parse(&self.until(), builder.registry()) {
            builder = builder.until(until);
        }
        let mut proxy = builder.start()?;
        proxy.probe()?;
        let (mut client, printed) = self.client(&proxy, is_beside_others)?;
        let mut watched = Watched::default();
        let cause = self.watch(&mut proxy, &mut client, &mut watched, stopper)?;
        proxy.commands().stop(STOPPED);
        let by_signal = (cause == Cause::Stopped).then_some(Signal::TERM);
        let end = client.stop(by_signal)?;
        if let Some(finding) = proxy.probed() {
            answers(&mut watched, &finding);
        }
        let summary = proxy.stop(STOPPED);
        let mut has_ending = false;
        for seen in &summary.events {
            has_ending |= record(seen, &mut watched);
        }
        let cause = cause.confirmed(has_ending, end.is_stopped, summary.ended.is_none());
        if let Some(findings) = &summary.findings {
            watched.judged(findings);
        }
        watched.end = Some(End::new(cause, end, summary.ended.as_ref()));
        Ok(Run {
            watched,
            said: printed.last(),
        })
    }

    /// Starts the client.
    fn client(&self, proxy: &Proxy, is_beside_others: bool) -> Result<(Running, Printed), RunError> {
        let mut command = child::command(self.command, proxy.addr())?;
        for (name, _) in std::env::vars_os() {
            let is_option = name.to_string_lossy().starts_with(OPTIONS);
            if is_option && !INHERITED.iter().any(|kept| name == *kept) {
                command.env_remove(name);
            }
        }
        let (reader, writer) = io::pipe()?;
        command
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer);
        let company = if is_beside_others {
            ProcessGroup::WithOthers
        } else {
            ProcessGroup::Alone
        };
        let client = child::spawn(command, company)?;
        Ok((client, Printed::read(reader)?))
    }

    /// Watches a run until something ends it. Returns the cause.
    fn watch(
        &self,
        proxy: &mut Proxy,
        client: &mut Running,
        watched: &mut Watched,
        stopper: &Stopper,
    ) -> Result<Cause, RunError> {
        let end = Time::ZERO + self.whole();
        let mut ticks: u32 = 0;
        loop {
            if stopper.is_stopped() {
                return Ok(Cause::Stopped);
            }
            if let Some(finding) = proxy.probed() {
                answers(watched, &finding);
            }
            let mut has_ending = false;
            while let Some(seen) = proxy.poll() {
                has_ending |= record(&seen, watched);
            }
            if has_ending {
                return Ok(Cause::Message);
            }
            if proxy.clock().now() >= end {
                return Ok(Cause::Timeout);
            }
            if client.ended()?.is_some() {
                return Ok(Cause::Client);
            }
            if proxy.is_finished() {
                return Ok(Cause::Crash);
            }
            ticks = (ticks + 1) % REAP_EVERY;
            if ticks == 0 {
                client.reap();
            }
            thread::sleep(TICK);
        }
    }
}

/// Records an event. Returns true once something ends the run.
fn record(seen: &Seen<teetap_inspect::DecodedEvent>, watched: &mut Watched) -> bool {
    let Seen::Event(decoded) = seen else { return false };
    watched.event(decoded);
    decoded.ending.is_some()
}

/// Records the versions that the server states.
fn answers(watched: &mut Watched, finding: &teetap_proxy::io::probe::Finding) {
    let infos = finding.answers.iter().filter_map(|answer| answer.info.as_ref());
    infos.for_each(|info| watched.version(&info.version));
}
