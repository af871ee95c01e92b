//! The use of the cores: the load generator keeps the first one to itself, the subjects have the rest.
//!
//! On one core with the generator a subject would find its datagrams in batches and look cheaper than it is; beside it,
//! some subjects would be lucky and others not.

use std::io;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// The cores of a run.
#[derive(Clone, Debug)]
pub(crate) struct Cores {
    /// Returns the number of cores.
    pub(crate) count: usize,
    generator: CpuSet,
    subjects: CpuSet,
}

impl Cores {
    /// Shares out the cores that this process may use; a single one is shared by all.
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
        // Inherited by whatever is started.
        sched_setaffinity(SELF, &self.subjects)?;
        let started = start();
        sched_setaffinity(SELF, &self.generator)?;
        started
    }
}

/// The calling thread.
const SELF: Pid = Pid::from_raw(0);
