//! The tries of all cells: the baseline, second tries, and waiting for a server that refuses clients.
//!
//! Law: a cell fails only if it fails twice, the second time with nothing beside it and after a join without a fault. So neither a
//! busy machine nor a limit of the server fails it.

use std::{
    sync::{Mutex, RwLock},
    thread,
    time::{Duration, Instant},
};

use super::{
    Tried,
    cell::Cell,
    login::Login,
    run::{Plan, Run, Stopper},
    status::Status,
    verdict::{Judged, Verdict},
    watch::{Limit, WINDOW},
};
use crate::exit::Failure;

/// Joins without a fault before the cells.
const BASELINES: usize = 3;

/// The clients that the releases take in [`WINDOW`] from one address (DDNet's `sv_connlimit`), or without tokens (0.6.5's
/// `sv_old_clients_per_interval`).
const AT_ONCE: u32 = 5;

/// How often a limit is waited for, for one cell.
const WAITS: u32 = 2;

/// The shortest delay that counts as one.
const LATE: Duration = Duration::from_millis(250);

/// The joins without a fault.
#[derive(Clone, Debug, Default)]
pub(super) struct Baseline {
    /// Their times, the shortest first.
    pub(super) times: Vec<Duration>,
    /// Codes of findings about the client.
    known: Vec<String>,
}

impl Baseline {
    /// Returns the baseline of joins that took these times, in this order.
    #[cfg(test)]
    pub(super) const fn of(times: Vec<Duration>) -> Self {
        let known = Vec::new();
        Self { times, known }
    }

    /// Returns the median of the times.
    pub(super) fn median(&self) -> Duration {
        self.times.get(self.times.len() / 2).copied().unwrap_or_default()
    }

    /// Returns the time that a join took longer than these.
    pub(super) fn late(&self, joined: Duration) -> Duration {
        joined.saturating_sub(self.median())
    }

    /// Returns true if a join took longer than these, beyond the differences between them.
    pub(super) fn is_late(&self, joined: Duration) -> bool {
        let span = self.times.first().zip(self.times.last());
        let span = span.map_or(Duration::ZERO, |(first, last)| last.saturating_sub(*first));
        self.late(joined) >= LATE.max(span)
    }
}

/// The cause for which no more cells are tried.
#[derive(Debug)]
enum Halt {
    /// A signal.
    Stopped,
    /// The server no longer lets the client in.
    Gone(String),
    Failure(Failure),
}

/// The results of a whole matrix.
#[derive(Clone, Debug, Default)]
pub(super) struct Results {
    pub(super) baseline: Baseline,
    /// The cells that were tried, in their order.
    pub(super) tried: Vec<Tried>,
    /// The number of cells of the matrix.
    pub(super) cells: usize,
    /// The reason for which the others were not tried.
    pub(super) halted: Option<String>,
}

/// The tries.
pub(super) struct Tester<'a> {
    pub(super) plan: &'a Plan,
    pub(super) stopper: &'a Stopper,
    pub(super) status: &'a Status,
    /// Locked for writing by a run that has to be alone.
    alone: RwLock<()>,
    /// The last time at which the server was found to have a limit, and the runs since then.
    limited: Mutex<Option<(Instant, u32)>>,
}

impl<'a> Tester<'a> {
    pub(super) fn new(plan: &'a Plan, stopper: &'a Stopper, status: &'a Status) -> Self {
        Self {
            plan,
            stopper,
            status,
            alone: RwLock::default(),
            limited: Mutex::default(),
        }
    }

    /// Makes the joins without a fault, then tries all cells, `jobs` at once.
    pub(super) fn all(&self, jobs: usize) -> Result<Results, Failure> {
        let (baseline, login) = match self.baseline() {
            Ok(baseline) => baseline,
            Err(Halt::Failure(failure)) => return Err(failure),
            Err(Halt::Stopped | Halt::Gone(_)) => return Ok(Results::default()),
        };
        let cells = Cell::all(&login.only(&self.plan.only)?);
        let count = cells.len();
        self.status
            .begin(count, jobs, baseline.median() + self.plan.stay());
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
                match self.cell(cell, &baseline) {
                    Ok(cell) => {
                        self.status.done(&cell, cell.has_failed());
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
            for _ in 0..jobs {
                scope.spawn(work);
            }
        });
        let halted = match halted.into_inner().unwrap_or_default() {
            Some(Halt::Failure(failure)) => return Err(failure),
            Some(Halt::Gone(why)) => Some(why),
            Some(Halt::Stopped) => Some("interrupted".to_owned()),
            None => None,
        };
        let mut tried = tried.into_inner().unwrap_or_default();
        tried.sort_by_key(|(at, _)| *at);
        Ok(Results {
            baseline,
            tried: tried.into_iter().map(|(_, tried)| tried).collect(),
            cells: count,
            halted,
        })
    }

    /// Joins several times without a fault. Returns the messages that every login has.
    fn baseline(&self) -> Result<(Baseline, Login), Halt> {
        let mut baseline = Baseline::default();
        let mut common: Option<Login> = None;
        for number in 1..=BASELINES {
            self.status
                .show(&format!("join {number} of {BASELINES} without a fault"));
            let (run, judged) = self.patiently(None, &[])?;
            let Some(joined) = judged.verdict.joined() else {
                return Err(Halt::Failure(Failure::failed(self.no_baseline(&run, &judged))));
            };
            baseline.times.push(joined);
            for found in &run.watched.findings {
                if !baseline.known.contains(&found.code) {
                    baseline.known.push(found.code.clone());
                }
            }
            match &mut common {
                Some(common) => common.keep_common(&run.watched.login),
                None => common = Some(run.watched.login),
            }
        }
        baseline.times.sort();
        Ok((baseline, common.unwrap_or_default()))
    }

    /// Returns the reason for which the client does not join without a fault.
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
        let end = match run.watched.ended() {
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

    /// Tries a cell: again, alone, if it fails; and again after a while if the server took no clients.
    fn cell(&self, cell: Cell, baseline: &Baseline) -> Result<Tried, Halt> {
        let begun = Instant::now();
        let tried = |judged, first| Tried {
            cell: cell.clone(),
            judged,
            first,
            took: begun.elapsed(),
        };
        let shared = self.alone.read();
        self.status.cell(&cell);
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
        self.status.cell(&cell);
        let (_, second) = self.patiently(Some(&cell), &baseline.known)?;
        Ok(tried(second, Some(judged.verdict)))
    }

    /// Makes sure that a client without a fault joins, now or after a limit of the server. Returns true if that had to be waited for.
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

    /// Runs the client, again after a while if the server refuses it.
    fn patiently(&self, cell: Option<&Cell>, known: &[String]) -> Result<(Run, Judged), Halt> {
        let mut waits = 0;
        loop {
            self.keep_limit()?;
            let run = self.plan.run(cell, self.stopper).map_err(Halt::Failure)?;
            if self.stopper.is_stopped() {
                return Err(Halt::Stopped);
            }
            let judged = Judged::of(&run, cell, known);
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

    /// Waits before a run that a server with a limit would refuse: it has taken as many clients since the limit was last over as the
    /// releases take in [`WINDOW`].
    fn keep_limit(&self) -> Result<(), Halt> {
        let Ok(mut limited) = self.limited.lock() else {
            return Ok(());
        };
        let Some((since, runs)) = limited.as_mut() else {
            return Ok(());
        };
        if *runs >= AT_ONCE {
            self.status.show("waiting until the server takes clients again");
            self.sleep(WINDOW.saturating_sub(since.elapsed()))?;
            (*since, *runs) = (Instant::now(), 0);
        }
        *runs += 1;
        Ok(())
    }

    /// Waits until a limit of the server is over.
    fn wait(&self, why: &str, time: Duration) -> Result<(), Halt> {
        self.status.say(&format!("{why}: waiting {} s", time.as_secs()));
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
mod tests {
    use super::*;

    #[test]
    fn a_join_is_late_beyond_the_differences_of_the_baseline() {
        let ms = Duration::from_millis;
        let baseline = |times: &[u64]| Baseline {
            times: times.iter().map(|time| ms(*time)).collect(),
            known: Vec::new(),
        };
        let calm = baseline(&[100, 110, 130]);
        assert_eq!(
            (calm.median(), calm.late(ms(400)), calm.late(ms(50))),
            (ms(110), ms(290), ms(0))
        );
        assert!(calm.is_late(ms(360)) && !calm.is_late(ms(359)));
        // A busy machine: 900 ms are between the joins.
        let busy = baseline(&[100, 300, 1000]);
        assert!(busy.is_late(ms(1200)) && !busy.is_late(ms(1199)));
        assert_eq!(baseline(&[]).median(), ms(0));
    }
}
