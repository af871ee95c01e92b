//! The measurements, one file each.

mod capacity;
mod flood;
mod grep;
mod latency;
mod play;
mod rules;
mod screen;
mod script;
mod sessions;
mod watch;

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use teetap_kit::codec::Variant;

use crate::cores::Cores;
use crate::load::{Load, Plan, join};
use crate::net::Socket;
use crate::subject::{Subject, Which};

pub(crate) use self::capacity::measure as capacity;
pub(crate) use self::flood::measure as flood;
pub(crate) use self::grep::measure as grep;
pub(crate) use self::latency::measure as latency;
pub(crate) use self::play::{Play, play};
pub(crate) use self::rules::measure as rules;
pub(crate) use self::screen::measure as screen;
pub(crate) use self::script::measure as script;
pub(crate) use self::sessions::measure as sessions;
pub(crate) use self::watch::measure as watch;

/// The two dialects whose traffic is measured, with their names.
const DIALECTS: [(Variant, &str); 2] = [(Variant::V7, "0.7"), (Variant::Ddnet, "DDNet")];

/// The settings of a run.
#[derive(Debug)]
pub(crate) struct Run {
    /// Path of the binary.
    pub(crate) teetap: PathBuf,
    /// True for fewer and shorter runs.
    pub(crate) quick: bool,
    /// The cores for the load generator and the subjects.
    pub(crate) cores: Cores,
}

/// A subject with sessions joined through it. The load is dropped first, so that nothing is sent to a process that
/// has ended.
#[derive(Debug)]
struct Bench {
    load: Load,
    subject: Subject,
}

impl Run {
    /// Returns `quick` if [`Run::quick`] is true, otherwise `full`.
    fn either<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }

    /// Starts a subject in front of `server`.
    fn start(&self, which: Which, server: SocketAddr) -> Result<Subject> {
        Subject::start(which, &self.teetap, server, &self.cores)
    }

    /// Starts a subject and joins sessions through it.
    fn bench(&self, which: Which, plan: &Plan<'_>) -> Result<Bench> {
        let server = Socket::open(plan.stamped)?;
        let subject = self.start(which, server.addr()?)?;
        let load = join(plan, server, subject.addr).with_context(|| format!("joining through {which:?}"))?;
        Ok(Bench { load, subject })
    }

    /// Starts all subjects and joins sessions through them, in the order of [`Which::ALL`].
    fn all(&self, plan: &Plan<'_>) -> Result<Vec<Bench>> {
        Which::ALL
            .into_iter()
            .map(|which| self.bench(which, plan))
            .collect()
    }
}

impl Bench {
    /// Returns the CPU time in nanoseconds per datagram, for `datagrams` sent as fast as possible.
    fn cost(&mut self, datagrams: usize, window: usize) -> Result<f64> {
        let before = self.subject.cpu_time()?;
        self.load.fast(datagrams, window)?;
        // The work of the subject after the last datagram is part of the run.
        std::thread::sleep(std::time::Duration::from_millis(2));
        let after = self.subject.cpu_time()?;
        let tally = self.load.take_tally().clean("a run as fast as it goes")?;
        Ok(crate::stats::number(after - before) / crate::stats::number(tally.right))
    }
}
