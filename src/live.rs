//! A run from its start to its summary: the loop of the main thread.
//!
//! Law: the loop polls events on its own tick and writes once per tick; the data thread never waits for it. However a
//! run ends, both legs of every session are sent CLOSE, remaining events are printed, and the summary is printed last.

use std::{
    sync::mpsc::{self, RecvTimeoutError},
    time::{Duration, Instant},
};
use teetap_wire::counted;

use rustix::process::Signal;
use teetap_engine::{Run, StatusLine, control::Control, recording::Outcome};
use teetap_harness::{
    child,
    outcome::{EndedBy, Last, Summary, Verdicts, by_ending, by_signal, decide},
};
use teetap_inspect::joins::STOPPED;
use teetap_proxy::{
    io::{Clock, Faults, Nice, probe::Finding},
    session::{Level, Time},
};

use crate::{
    exit::Exit,
    log::{self, Log},
    output::{Output, leave_to},
    repeat,
    wake::{SIGHUP, Wake},
};

/// Time between two polls of the events.
const TICK: Duration = Duration::from_millis(20);

/// Priority of drawing the screen: lower than the data thread, but higher than the decoder, so that keys are handled in
/// time.
const DRAWING: Nice = Nice(5);

/// Number of ticks between two queries of the kernel.
const DROPS_EVERY: u32 = 100;

/// Number of ticks between two checks of the files of rules.
const RULES_EVERY: u32 = 10;

/// Maximum events printed before signals and the command are checked again.
const BATCH: usize = 4096;

/// Maximum wait for the signal of a terminal that has hung up.
const HANG_UP: Duration = Duration::from_millis(300);

/// A run with its output, its time limit and its control socket.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) run: Run,
    pub(crate) output: Output,
    pub(crate) wake: mpsc::Receiver<Wake>,
    pub(crate) child: Option<child::Running>,
    /// Latest time at which the run ends.
    pub(crate) timeout: Option<Time>,
    /// The control socket.
    pub(crate) control: Option<Control>,
    pub(crate) log: Option<Log>,
    /// The JUnit report.
    pub(crate) verdicts: Option<Verdicts>,
}

impl Live {
    /// Runs until a signal is received, the command ends, stdin is closed if that ends the run, or no reader is left.
    pub(crate) fn run(mut self) -> anyhow::Result<Exit> {
        if self.output.had_screen() {
            DRAWING.apply();
        }
        let ended_by = self.watch();
        // In every case the peers are sent CLOSE first.
        self.run.commands().stop(STOPPED);
        self.output.close_screen();
        let (mut ended_by, mut exit) = match ended_by {
            Ok(ended) => ended,
            Err(error) => return Err(self.abandon(error)),
        };
        let signal = match ended_by {
            EndedBy::Signal(number) => Signal::from_named_raw(number.into()),
            _ => None,
        };
        let cmd = self.child.as_mut().map(|child| child.stop(signal)).transpose()?;
        if let Some(left) = cmd.and_then(child::End::left_text) {
            self.output.log(self.now(), Level::Warning, &left);
        }
        let logs = self.run.log_faults();
        // The sockets are still open here.
        self.look_for_drops();
        let connect = self.run.reachable();
        let ended = self.run.join();
        if ended.is_none() {
            (ended_by, exit) = (EndedBy::Crash, Exit::Internal);
        }
        while let Some(seen) = self.run.poll() {
            self.output.seen(&seen, self.now());
        }
        warn_of(&mut self.output, self.run.clock(), &logs);
        check_log(self.log.as_mut(), &mut self.output, self.run.clock(), true);
        let last = Last {
            ending: self.output.ending(),
            waits: self.output.waits(),
            cmd,
        };
        (ended_by, exit) = decide(ended_by, exit, last);
        let (outcome, finished) = self.output.end_recording(self.now()).unzip();
        // The last lines are printed before the summary, even if stdout and stderr share a terminal.
        self.output.end_folds();
        self.output.flush()?;
        self.output.check_stdout(self.now());
        let is_recorded = |outcome: &Outcome| outcome.recorded.as_ref().is_some_and(|done| !done.has_failed);
        let is_written = outcome.as_ref().is_none_or(is_recorded) && !self.output.has_failed();
        if exit == Exit::Ok && !is_written {
            exit = Exit::Network;
        }
        let mut summary = Summary {
            at: self.now(),
            ended,
            lost: self.run.lost(),
            kernel_drops: self.run.all_kernel_drops(),
            seed: self.run.seed(),
            connect,
            repeat: repeat::line(self.run.seed()),
            rules_changed: self.run.rules().lock().has_changed(),
            exit,
            ended_by,
            cmd,
            recording: outcome,
            joins: self.output.take_joins(),
            times: self.output.take_times(),
            findings: self.run.findings(),
        };
        if let Some(Err(error)) = self.verdicts.take().map(|verdicts| verdicts.write(&summary)) {
            self.output.log(self.now(), Level::Warning, &error.to_string());
            if summary.exit == Exit::Ok {
                summary.exit = Exit::Network;
            }
        }
        log::end(&summary);
        if let Some(control) = self.control.take() {
            control.finish(summary.line());
        }
        self.output.summary(&summary);
        if let Some(finished) = finished {
            leave_to(&summary, finished);
        }
        self.output.flush()?;
        self.output.check_stdout(self.now());
        Ok(summary.exit)
    }

    /// Ends the command, the recording and the sessions of a run whose output failed. Returns `error`, the cause.
    fn abandon(mut self, error: anyhow::Error) -> anyhow::Error {
        let ended = self.child.as_mut().map(|child| child.stop(None)).transpose();
        let _crashed = self.run.join();
        let _without_a_summary = self.output.end_recording(self.now());
        match ended {
            Ok(_) => error,
            Err(failed) => error.context(format!("cannot end the command: {failed}")),
        }
    }

    /// Runs until something ends the run. Returns the cause and its exit code.
    fn watch(&mut self) -> anyhow::Result<(EndedBy, Exit)> {
        let mut ticks = 0;
        let logs = self.run.log_faults();
        loop {
            match self.wake.recv_timeout(TICK) {
                Ok(Wake::Signal(number)) => return Ok(by_signal(number)),
                Ok(Wake::Done(exit, lines)) => {
                    self.print_events();
                    for (level, line) in &lines {
                        self.output.log(self.now(), *level, line);
                    }
                    return Ok((EndedBy::Demo, exit));
                }
                Ok(Wake::StdinClosed) => return Ok((EndedBy::StdinClosed, Exit::Ok)),
                Ok(Wake::Report(level, text)) => self.output.log(self.now(), level, &text),
                Err(RecvTimeoutError::Timeout) => {}
                // No sender is left; the ticks continue.
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(TICK),
            }
            if let Some(finding) = self.run.probed() {
                self.report(&finding);
            }
            self.print_news();
            self.print_events();
            warn_of(&mut self.output, self.run.clock(), &logs);
            self.output.check_recording(self.now(), self.child.is_some());
            check_log(self.log.as_mut(), &mut self.output, self.run.clock(), false);
            ticks = (ticks + 1) % DROPS_EVERY;
            if ticks % RULES_EVERY == 0 {
                self.reload_rules();
            }
            if ticks == 0 {
                self.look_for_drops();
                if let Some(child) = &self.child {
                    child.reap();
                }
            }
            self.output.tick(self.now());
            let read = self.output.flush()?;
            self.output.check_stdout(self.now());
            if let Some(ending) = self.output.ending() {
                return Ok(by_ending(ending));
            }
            if self.run.is_asked_to_stop() {
                return Ok((EndedBy::Control, Exit::Ok));
            }
            if self.timeout.is_some_and(|end| self.now() >= end) {
                return Ok((EndedBy::Timeout, Exit::Ok));
            }
            match &mut self.child {
                Some(child) => {
                    if let Some(end) = child.ended()? {
                        return Ok((EndedBy::Command, Exit::of_command(end)));
                    }
                }
                None if !read && self.output.has_lost_terminal() => return Ok(self.hung_up()),
                None if !read && self.output.had_screen() => return Ok((EndedBy::User, Exit::Ok)),
                None if !read => return Ok((EndedBy::StdoutClosed, Exit::Ok)),
                None => {}
            }
            if self.run.is_finished() {
                return Ok(self.reason_of_end());
            }
        }
    }

    fn now(&self) -> Time {
        self.run.clock().now()
    }

    fn print_news(&mut self) {
        let news: Vec<StatusLine> = self.run.news().collect();
        for (level, text) in &news {
            self.output.log(self.now(), *level, text);
        }
    }

    fn print_events(&mut self) {
        for _ in 0..BATCH {
            let Some(seen) = self.run.poll() else { break };
            self.output.seen(&seen, self.now());
        }
    }

    /// Reloads the rules if one of their files has changed.
    fn reload_rules(&mut self) {
        for (level, line) in self.run.reload_rules() {
            self.output.log(self.now(), level, &line);
        }
    }

    /// Warns of datagrams that the kernel dropped since the last check.
    fn look_for_drops(&mut self) {
        let news = self.run.kernel_drops();
        if news > 0 {
            let datagrams = counted(news, "datagram");
            let text = format!("the kernel dropped {datagrams}: the receive buffer was full");
            self.output.log(self.now(), Level::Warning, &text);
        }
    }

    /// Returns the cause for the end of the data thread. A signal that stops it is sent to this thread first.
    fn reason_of_end(&self) -> (EndedBy, Exit) {
        let decided = self.wake.try_iter().find_map(|wake| match wake {
            Wake::Signal(number) => Some(by_signal(number)),
            Wake::Done(exit, _) => Some((EndedBy::Demo, exit)),
            Wake::StdinClosed => Some((EndedBy::StdinClosed, Exit::Ok)),
            Wake::Report(..) => None,
        });
        decided.unwrap_or((EndedBy::Crash, Exit::Internal))
    }

    /// Returns the end of a run whose terminal has hung up. Waits for the signal that accompanies the hang-up.
    fn hung_up(&self) -> (EndedBy, Exit) {
        let end = Instant::now() + HANG_UP;
        while let Ok(wake) = self.wake.recv_timeout(end - Instant::now()) {
            if let Wake::Signal(number) = wake {
                return by_signal(number);
            }
        }
        by_signal(SIGHUP)
    }

    fn report(&mut self, finding: &Finding) {
        let level = if finding.is_answered() {
            Level::Info
        } else {
            Level::Warning
        };
        self.output.log(self.now(), level, &finding.to_string());
    }
}

/// Warns once of each log that ended before the run.
fn warn_of(output: &mut Output, clock: Clock, logs: &[Faults]) {
    for news in logs.iter().filter_map(Faults::news) {
        output.log(clock.now(), Level::Warning, &news);
    }
}

/// Warns once if the program's log is incomplete, and once if its file was moved or deleted.
fn check_log(log: Option<&mut Log>, output: &mut Output, clock: Clock, is_last: bool) {
    let Some(log) = log else { return };
    let news = [log.news(), log.moved(is_last)];
    for news in news.iter().flatten() {
        output.log(clock.now(), Level::Warning, news);
    }
}
