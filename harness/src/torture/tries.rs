//! The tries of all cells: the baseline, second tries, and waits for a server that refuses clients.
//!
//! Law: a cell fails only if it fails twice, the second time without runs beside it and after a join without a fault.
//! So neither a busy machine nor a limit of the server makes a cell fail.

use std::{
    sync::{Mutex, RwLock},
    thread,
    time::{Duration, Instant},
};

use super::{
    cell::Cell,
    limit::{Limit, WINDOW},
    login::Login,
    run::{Plan, Run, RunError, Stopper},
    tried::{Baseline, CellResult, Results},
    verdict::{Judged, Verdict},
};
use crate::child::tree;

/// Number of joins without a fault before the cells.
const BASELINES: usize = 3;

/// Number of clients that the releases accept in [`WINDOW`] from one address (DDNet's `sv_connlimit`), or without
/// tokens (0.6.5's `sv_old_clients_per_interval`).
const AT_ONCE: u32 = 5;

/// Maximum number of waits for a limit, per cell.
const WAITS: u32 = 2;

/// Maximum time for killing processes at the end.
const TO_KILL: Duration = Duration::from_millis(100);

/// The progress of a matrix.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// A join without a fault before the cells.
    Join {
        /// Number of the join, from 1.
        number: usize,
        /// Number of all joins without a fault.
        of: usize,
    },
    /// The cells begin.
    Begin {
        /// Number of cells.
        cells: usize,
        /// Number of cells that are tried at the same time.
        jobs: usize,
        /// Expected duration of a cell.
        each: Duration,
    },
    /// A cell is being tried.
    Cell(&'a Cell),
    /// A cell is done.
    Done(&'a CellResult),
    /// The run waits until the server is expected to accept clients again.
    Pause,
    /// The server accepts no clients.
    Waiting {
        /// Reason of the refusal.
        why: &'a str,
        /// Duration of the wait.
        time: Duration,
    },
}

/// Reason why there is no matrix.
#[derive(Debug, thiserror::Error)]
pub enum TortureError {
    /// The client does not join without a fault, for this reason.
    #[error("{0}")]
    NoBaseline(String),
    /// No login has a message of this name.
    #[error("the login has no message '{name}'; it has {known}")]
    NoMessage {
        /// Name that the user gave.
        name: String,
        /// Names that the login has.
        known: String,
    },
    /// The client cannot be run.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Tries all cells, `jobs` at a time. Calls `tell` from several threads.
///
/// # Errors
/// See [`TortureError`].
pub fn run(
    plan: &Plan<'_>,
    stopper: &Stopper,
    jobs: usize,
    tell: &(dyn Fn(Progress<'_>) + Sync),
) -> Result<Results, TortureError> {
    let results = Tester::new(plan, stopper, jobs, tell).all();
    // Some processes may belong to no client that is known.
    tree::kill(TO_KILL);
    results
}

/// Reason why no more cells are tried.
#[derive(Debug)]
enum Halt {
    /// The matrix was stopped.
    Stopped,
    /// The server no longer accepts the client, for this reason.
    Gone(String),
    Failed(TortureError),
}

/// State of the tries.
struct Tester<'a> {
    plan: &'a Plan<'a>,
    stopper: &'a Stopper,
    /// Number of clients that run at the same time.
    jobs: usize,
    tell: &'a (dyn Fn(Progress<'_>) + Sync),
    /// Locked for writing by a run that must not have others beside it.
    alone: RwLock<()>,
    /// Time at which a limit of the server was last found, and the number of runs since then.
    limited: Mutex<Option<(Instant, u32)>>,
}

impl<'a> Tester<'a> {
    fn new(
        plan: &'a Plan<'a>,
        stopper: &'a Stopper,
        jobs: usize,
        tell: &'a (dyn Fn(Progress<'_>) + Sync),
    ) -> Self {
        Self {
            plan,
            stopper,
            jobs,
            tell,
            alone: RwLock::default(),
            limited: Mutex::default(),
        }
    }

    /// Joins without a fault, then tries all cells.
    fn all(&self) -> Result<Results, TortureError> {
        let (baseline, login) = match self.baseline() {
            Ok(baseline) => baseline,
            Err(Halt::Failed(error)) => return Err(error),
            Err(Halt::Stopped | Halt::Gone(_)) => return Ok(Results::default()),
        };
        let only = login.only(self.plan.only);
        let login = only.map_err(|(name, known)| TortureError::NoMessage { name, known })?;
        let cells = Cell::all(&login);
        let count = cells.len();
        (self.tell)(Progress::Begin {
            cells: count,
            jobs: self.jobs,
            each: baseline.median() + self.plan.stay,
        });
        let (tried, halt) = self.each(cells, &baseline);
        let halted = match halt {
            Some(Halt::Failed(error)) => return Err(error),
            Some(Halt::Gone(why)) => Some(why),
            Some(Halt::Stopped) => Some("interrupted".to_owned()),
            None => None,
        };
        Ok(Results {
            baseline,
            tried,
            cells: count,
            halted,
        })
    }

    /// Tries cells until all are tried or a reason to halt is found. Returns their results in the order of the cells.
    fn each(&self, cells: Vec<Cell>, baseline: &Baseline) -> (Vec<CellResult>, Option<Halt>) {
        let cells = Mutex::new(cells.into_iter().enumerate());
        let (tried, halted) = (Mutex::new(Vec::new()), Mutex::new(None));
        let next = || {
            let is_halted = halted.lock().map_or(true, |halted| halted.is_some());
            cells
                .lock()
                .ok()
                .filter(|_| !is_halted)
                .and_then(|mut cells| cells.next())
        };
        let work = || {
            while let Some((at, cell)) = next() {
                match self.cell(cell, baseline) {
                    Ok(cell) => {
                        (self.tell)(Progress::Done(&cell));
                        if let Ok(mut tried) = tried.lock() {
                            tried.push((at, cell));
                        }
                    }
                    Err(halt) => {
                        if let Ok(mut halted) = halted.lock() {
                            halted.get_or_insert(halt);
                        }
                    }
                }
            }
        };
        thread::scope(|scope| {
            for _ in 0..self.jobs {
                scope.spawn(work);
            }
        });
        let mut tried = tried.into_inner().unwrap_or_default();
        tried.sort_by_key(|(at, _)| *at);
        let tried = tried.into_iter().map(|(_, tried)| tried).collect();
        (tried, halted.into_inner().unwrap_or_default())
    }

    /// Joins several times without a fault. Returns the baseline and the messages that all logins have.
    fn baseline(&self) -> Result<(Baseline, Login), Halt> {
        let mut baseline = Baseline::default();
        let mut common: Option<Login> = None;
        for number in 1..=BASELINES {
            (self.tell)(Progress::Join {
                number,
                of: BASELINES,
            });
            let (run, judged) = self.patiently(None, &[])?;
            let Some(joined) = judged.verdict.joined() else {
                return Err(Halt::Failed(TortureError::NoBaseline(
                    self.no_baseline(&run, &judged),
                )));
            };
            baseline.add(joined, &run.watched.findings);
            let login = run.watched.login;
            common.get_or_insert_with(|| login.clone()).keep_common(&login);
        }
        Ok((baseline, common.unwrap_or_default()))
    }

    /// Returns the reason why the client does not join without a fault.
    fn no_baseline(&self, run: &Run, judged: &Judged) -> String {
        let said = judged
            .said
            .as_ref()
            .map_or(String::new(), |said| format!("; its last line: {said}"));
        if run.watched.has_client() {
            let why = judged
                .why
                .as_ref()
                .map_or(String::new(), |why| format!(": {why}"));
            return format!(
                "the client does not join without a fault: {}{why}{said}",
                judged.verdict
            );
        }
        let end = match run.watched.code() {
            Some(code) => {
                format!("the client ended at once with exit code {code}, without a datagram to teetap")
            }
            None => "no datagram came from the client to teetap".to_owned(),
        };
        let hint = if self.plan.has_place() {
            "does it connect to the address that it gets?"
        } else {
            "no word of its command has {addr}, {host} or {port}, which become the address to connect to"
        };
        format!("{end}; {hint}{said}")
    }

    /// Tries a cell. Tries it again alone if it fails, and again later if the server refused the client.
    fn cell(&self, cell: Cell, baseline: &Baseline) -> Result<CellResult, Halt> {
        let begun = Instant::now();
        let tried = |judged, first| CellResult {
            cell: cell.clone(),
            judged,
            first,
            took: begun.elapsed(),
        };
        let shared = self.alone.read();
        (self.tell)(Progress::Cell(&cell));
        let (run, judged) = self.patiently(Some(&cell), &baseline.known)?;
        drop(shared);
        let is_bad = judged.verdict.is_bad() && cell.is_survived();
        let is_shut_out = judged.verdict == Verdict::Never && run.watched.is_never_online();
        if !is_bad && !is_shut_out {
            return Ok(tried(judged, None));
        }
        let _alone = self.alone.write();
        let has_waited = self.server_takes_clients()?;
        if !is_bad && !has_waited {
            return Ok(tried(judged, None));
        }
        (self.tell)(Progress::Cell(&cell));
        let (_, second) = self.patiently(Some(&cell), &baseline.known)?;
        Ok(tried(second, Some(judged.verdict)))
    }

    /// Checks that a client joins without a fault, now or after a limit of the server. Returns true if the check had to
    /// wait.
    fn server_takes_clients(&self) -> Result<bool, Halt> {
        let (_, judged) = self.patiently(None, &[])?;
        if judged.verdict.joined().is_some() {
            return Ok(false);
        }
        self.wait("the client does not join without a fault, either", WINDOW)?;
        let (_, judged) = self.patiently(None, &[])?;
        if judged.verdict.joined().is_some() {
            return Ok(true);
        }
        let why = judged.why.map_or(String::new(), |why| format!(": {why}"));
        Err(Halt::Gone(format!(
            "the client no longer joins without a fault: {}{why}",
            judged.verdict
        )))
    }

    /// Runs the client. Waits and runs it again if the server refuses it.
    fn patiently(&self, cell: Option<&Cell>, known: &[&str]) -> Result<(Run, Judged), Halt> {
        let mut waits = 0;
        loop {
            self.keep_limit()?;
            let run = self.plan.run(cell, self.stopper, self.jobs > 1);
            let run = run.map_err(|error| Halt::Failed(error.into()))?;
            if self.stopper.is_stopped() {
                return Err(Halt::Stopped);
            }
            let judged = Judged::from_run(&run, cell, known);
            if judged.verdict != Verdict::Refused || waits == WAITS {
                return Ok((run, judged));
            }
            waits += 1;
            let Some(Limit { why, time, is_rate }) = run.watched.limit() else {
                return Ok((run, judged));
            };
            self.wait(why, time)?;
            if let Ok(mut limited) = self.limited.lock()
                && is_rate
            {
                *limited = Some((Instant::now(), 0));
            }
        }
    }

    /// Waits before a run that a limited server would refuse: since its limit was last found, the server has accepted
    /// [`AT_ONCE`] clients, the maximum per [`WINDOW`].
    fn keep_limit(&self) -> Result<(), Halt> {
        let Ok(mut limited) = self.limited.lock() else {
            return Ok(());
        };
        let Some((since, runs)) = limited.as_mut() else {
            return Ok(());
        };
        if *runs >= AT_ONCE {
            (self.tell)(Progress::Pause);
            self.sleep(WINDOW.saturating_sub(since.elapsed()))?;
            (*since, *runs) = (Instant::now(), 0);
        }
        *runs += 1;
        Ok(())
    }

    /// Waits until a limit of the server is over.
    fn wait(&self, why: &str, time: Duration) -> Result<(), Halt> {
        (self.tell)(Progress::Waiting { why, time });
        self.sleep(time)
    }

    fn sleep(&self, time: Duration) -> Result<(), Halt> {
        let begun = Instant::now();
        while begun.elapsed() < time {
            if self.stopper.is_stopped() {
                return Err(Halt::Stopped);
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "tries_tests.rs"]
mod tests;
