//! The assignment of cores: the load generator has the first one, and the subjects have the others.
//!
//! A subject on the generator's core would find its datagrams in batches, and would seem cheaper than it is. Without
//! an assignment, this would happen to some subjects and not to others.

use std::io;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// The cores of a run.
#[derive(Clone, Debug)]
pub(crate) struct Cores {
    /// Number of cores that this process may use.
    pub(crate) count: usize,
    generator: CpuSet,
    subjects: CpuSet,
}

impl Cores {
    /// Divides the cores that this process may use. If there is only one, all processes use it.
    pub(crate) fn share() -> io::Result<Self> {
        let all = sched_getaffinity(SELF)?;
        let allowed: Vec<usize> = (0..CpuSet::count())
            .filter(|core| all.is_set(*core).unwrap_or(false))
            .collect();
        let (mut generator, mut subjects) = (all, all);
        if let [first, _, ..] = allowed.as_slice() {
            generator = CpuSet::new();
            generator.set(*first)?;
            subjects.unset(*first)?;
        }
        sched_setaffinity(SELF, &generator)?;
        Ok(Self {
            count: allowed.len(),
            generator,
            subjects,
        })
    }

    /// Starts a process on the subjects' cores.
    pub(crate) fn start<T>(&self, start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        // Started processes inherit the affinity.
        sched_setaffinity(SELF, &self.subjects)?;
        let started = start();
        sched_setaffinity(SELF, &self.generator)?;
        started
    }
}

/// The calling thread.
const SELF: Pid = Pid::from_raw(0);
