//! The output of the program: plain lines or JSON lines on stdout, status on stderr.
//!
//! Law: stdout is written through one buffer, which is flushed once per tick. A closed pipe is not an error. Status is
//! never written to stdout, so that stdout can be piped.

mod around;
mod effects;
mod filters;
mod findings;
pub(crate) mod fit;
#[cfg(test)]
mod fold_tests;
mod joins;
mod plain;
mod printer;
mod screen;
mod stdout;
pub(crate) mod streams;
mod summary;

pub(crate) use around::Extent;
pub(crate) use filters::{Filters, decoder};
pub(crate) use findings::Listing;
pub(crate) use printer::Printer;
pub(crate) use screen::{is_lost, screen_failed};
use streams::write_err;
pub(crate) use streams::{print, print_status, say_sentence, show, write_out};
pub(crate) use summary::leave_to;

use std::{
    io::{self, IsTerminal as _},
    sync::Arc,
};

use teetap_engine::recording::{Finished, Outcome, Running};
use teetap_harness::outcome::{Joins, Times};
use teetap_inspect::fold::{Folds, PATIENCE};
use teetap_inspect::{DecodedEvent, Ending, Sentences, Style, Verbosity, joins::Join, jsonl};
use teetap_proxy::{
    io::Seen,
    session::{EventKind, Level, Notice, Time},
};

use around::Around;
use plain::Lines;
use screen::RunScreen;
use stdout::Stdout;

use crate::{
    cli::lines::{Clock, LineOptions},
    exit::Failure,
    log,
    progress::Progress,
    run::{Opened, Start},
};

/// The output of a run.
#[derive(Debug)]
pub(crate) struct Output {
    style: Style,
    /// True if a filter selects the messages that are shown.
    is_filtered: bool,
    /// Number of messages that passed the filter.
    matches: u64,
    /// True if the run waits for a message.
    waits: bool,
    /// The message or rule that ended the run; `None` if nothing did.
    ending: Option<Arc<Ending>>,
    stdout: Stdout,
    /// The state of plain lines.
    lines: Lines,
    recording: Option<Running>,
    /// True if the recording is written to stdout, so that lines are printed on stderr.
    is_on_stderr: bool,
    /// Progress line on stderr; true if stdout is also a terminal.
    progress: Option<(Progress, bool)>,
    /// A search, with the messages around its matches.
    around: Option<Around>,
    screen: RunScreen,
    /// Joins that have ended.
    joins: Joins,
    /// Start times of sessions, for the summary.
    times: Times,
}

impl Output {
    /// Returns an output for the events that [`decoder`] decodes.
    pub(crate) fn new(style: Style, filters: &Filters) -> Self {
        Self {
            style,
            is_filtered: filters.show.is_some(),
            matches: 0,
            waits: filters.until.is_some(),
            ending: None,
            stdout: Stdout::default(),
            lines: Lines {
                printer: Printer::default(),
                sentences: Sentences::default(),
                folds: None,
            },
            recording: None,
            is_on_stderr: false,
            progress: None,
            around: None,
            screen: RunScreen::default(),
            joins: Joins::default(),
            times: Times::default(),
        }
    }

    /// Sets the form of lines. If `folds`, runs of snapshots and inputs are folded by default on a terminal. If
    /// `is_live`, lines are watched as they are printed, so that folds end after a while.
    pub(crate) fn form(&mut self, options: LineOptions, folds: bool, is_live: bool) {
        let is_possible = !self.style.json && self.style.verbosity == Verbosity::Messages;
        let by_default = || folds && io::stdout().is_terminal();
        let patience = is_live.then_some(PATIENCE);
        let is_folded = is_possible && options.folds().unwrap_or_else(by_default);
        self.lines.folds = is_folded.then(|| Folds::new(patience));
        self.lines.printer = Printer::new(options);
        self.times = Times::new(matches!(options.time, Clock::Run | Clock::Wall));
    }

    /// Updates the time of the run: ends old folds, and carries out the requests of the terminal UI.
    pub(crate) fn tick(&mut self, now: Time) {
        self.lines.end_old_folds(now, &mut self.stdout.lines);
        self.screen.tick(now);
    }

    /// Limits a search to `extent`.
    pub(crate) fn search(&mut self, extent: Extent) {
        self.around = Some(Around::new(extent));
    }

    /// Returns true if the search will print nothing more.
    pub(crate) fn has_found_all(&self) -> bool {
        self.around.as_ref().is_some_and(Around::is_done)
    }

    /// Prints the number of matches, if only the number is wanted.
    pub(crate) fn count(&mut self) {
        if let Some(around) = self.around.as_ref().filter(|around| around.counts()) {
            let line = format!("{}\n", around.found());
            self.stdout.lines.extend_from_slice(line.as_bytes());
        }
    }

    /// Returns true while a recording is written.
    pub(crate) const fn is_recording(&self) -> bool {
        self.recording.is_some()
    }

    /// Prints the command to type in the client, and the start line for scripts.
    pub(crate) fn start(&mut self, start: &Start) {
        self.lines.printer.begin(start.wall);
        if self.style.json {
            jsonl::start(&start.recorded(), &mut self.stdout.lines);
        }
        if !self.style.quiet {
            plain::start(start).iter().for_each(|line| self.say(line));
        }
    }

    /// Lets the run continue if stdout cannot be written, so that a full disk does not end sessions.
    pub(crate) fn outlive_stdout(&mut self) {
        self.stdout.outlive();
    }

    /// Prints lines on stderr from now on, because the recording is written to stdout.
    pub(crate) fn leave_stdout(&mut self) {
        self.is_on_stderr = true;
    }

    /// Returns true if stdout could not be written.
    pub(crate) const fn has_failed(&self) -> bool {
        self.stdout.has_failed()
    }

    /// Warns once if stdout is incomplete.
    pub(crate) fn check_stdout(&mut self, now: Time) {
        if let Some(why) = self.stdout.take_error() {
            let text = format!("{why}; the run continues, but the rest of it is not printed");
            self.log(now, Level::Warning, &text);
        }
    }

    /// Returns the number of messages that passed the filter.
    pub(crate) const fn matches(&self) -> u64 {
        self.matches
    }

    /// Returns true if the run still waits for a message.
    pub(crate) const fn waits(&self) -> bool {
        self.waits && self.ending.is_none()
    }

    /// Returns the message or rule that ended the run.
    pub(crate) const fn ending(&self) -> Option<&Arc<Ending>> {
        self.ending.as_ref()
    }

    /// Prints an event, or a gap between events. Detects the awaited message even if stdout is closed.
    pub(crate) fn seen(&mut self, seen: &Seen<DecodedEvent>, now: Time) {
        match seen {
            Seen::Event(decoded) => {
                self.screen.push(decoded);
                self.event(decoded);
            }
            Seen::Gap(lost) => self.gap(*lost, now),
        }
    }

    fn gap(&mut self, lost: u64, now: Time) {
        if self.screen.gap(lost) {
            return;
        }
        if self.style.json {
            jsonl::gap(now, lost, &mut self.stdout.lines);
        } else if !self.had_screen() {
            self.lines.gap(now, lost, &mut self.stdout.lines);
        }
    }

    /// Returns the joins that have ended, for the summary.
    pub(crate) fn take_joins(&mut self) -> Joins {
        std::mem::take(&mut self.joins)
    }

    /// Returns the clock of the lines, for the summary.
    pub(crate) fn take_times(&mut self) -> Times {
        std::mem::take(&mut self.times)
    }

    /// Records a join that has ended.
    pub(crate) fn joined(&mut self, join: &Arc<Join>) {
        self.joins.add(join);
    }

    /// Prints an event and counts its matches.
    pub(crate) fn event(&mut self, decoded: &DecodedEvent) {
        if let Some(join) = &decoded.joined {
            self.joined(join);
        }
        self.times.event(decoded);
        self.matches += decoded.matches;
        if decoded.ending.is_some() {
            self.ending.clone_from(&decoded.ending);
        }
        let event = &decoded.event;
        match &event.what {
            EventKind::Session(change) => log::session(event.session, change),
            EventKind::Notice(notice) => log::notice(event.session, notice),
            EventKind::Datagram(_) | EventKind::Connless(_) | EventKind::Answer(_) => {}
        }
        if let EventKind::Notice(notice @ Notice::ListenerOpened { .. }) = &event.what {
            // Clients connect to this address, so it is printed as at the start. The screen has a row for it.
            if !self.style.quiet && !self.screen.is_open() {
                self.say(&format!("teetap: {notice}"));
            }
            if !self.style.json {
                return;
            }
        }
        self.lines.sentences.begin(decoded);
        if let Some(around) = &mut self.around {
            around.event(decoded, self.style, &mut self.lines, &mut self.stdout.lines);
        } else if self.style.json {
            jsonl::event(decoded, self.style, &mut self.stdout.lines);
        } else if !self.had_screen() {
            self.lines.event(decoded, self.style, &mut self.stdout.lines);
        }
    }

    /// Prints the open folds, at the end of the lines.
    pub(crate) fn end_folds(&mut self) {
        self.lines.end_folds(&mut self.stdout.lines);
    }

    /// Draws `progress` on stderr from now on.
    pub(crate) fn expect_progress(&mut self, progress: Progress) {
        self.progress = Some((progress, io::stdout().is_terminal()));
        self.show_progress();
    }

    fn show_progress(&self) {
        if let Some((progress, _)) = &self.progress
            && self.is_filtered
        {
            progress.matched(self.matches);
        }
    }

    /// Prints one line on stderr.
    fn say(&self, line: &str) {
        match &self.progress {
            Some((progress, _)) => progress.suspend(|| print_status(line)),
            None => print_status(line),
        }
    }

    /// Writes log lines of the program to the recording from now on.
    pub(crate) fn record(&mut self, running: Running) {
        self.recording = Some(running);
    }

    /// Prints new lines about the recording, and warns once if it is incomplete. If no program reads stdout any more, ends
    /// the run instead, unless `has_command`: the run then ends with its command.
    pub(crate) fn check_recording(&mut self, now: Time, has_command: bool) {
        let Some(recording) = &self.recording else { return };
        if self.is_on_stderr && !has_command && recording.has_lost_reader() {
            return;
        }
        for (level, text) in recording.news() {
            self.log(now, level, &text);
        }
    }

    /// Ends the recording, except for its summary.
    pub(crate) fn end_recording(&mut self, now: Time) -> Option<(Outcome, Finished)> {
        let recording = self.recording.take()?;
        let is_read = !(self.is_on_stderr && recording.has_lost_reader());
        let (outcome, finished) = recording.finish();
        for (level, text) in finished.news.iter().filter(|_| is_read) {
            self.log(now, *level, text);
        }
        Some((outcome, finished))
    }

    /// Prints a log line that was read from a recording.
    pub(crate) fn recorded_log(&mut self, at: Time, level: Level, text: &str) {
        if !self.style.matches_only {
            self.log(at, level, &format!("recorded: {text}"));
        }
    }

    /// Prints, logs and records a line about the program itself.
    pub(crate) fn log(&mut self, at: Time, level: Level, text: &str) {
        log::line(level, text);
        self.print(at, level, text);
    }

    fn print(&mut self, at: Time, level: Level, text: &str) {
        if let Some(recording) = &self.recording {
            recording.log(at, level, text);
        }
        if self.style.quiet && level < Level::Warning {
            return;
        }
        if self.style.json {
            jsonl::log(at, level, text, &mut self.stdout.lines);
        }
        if self.screen.log(at, level, text) {
            return;
        }
        match level {
            Level::Info => self.say(&format!("teetap: {text}")),
            Level::Warning => self.say(&format!("teetap: warning: {text}")),
        }
    }

    /// Prints the start of a recording.
    pub(crate) fn opened(&mut self, opened: &Opened<'_>) {
        self.end_folds();
        self.lines.sentences.restart();
        self.lines.printer.begin(opened.wall);
        // A recording of teetap is shown like its run, which had no frame numbers.
        self.style.frames = opened.run.is_none();
        if self.style.json {
            jsonl::opened(opened.file, opened.wall, opened.run, &mut self.stdout.lines);
        }
        if !self.style.quiet {
            self.say(&plain::opened(opened));
        }
    }

    /// Writes the gathered lines, or draws the screen. Returns false if stdout is closed or the screen is to be closed.
    pub(crate) fn flush(&mut self) -> Result<bool, Failure> {
        self.show_progress();
        if let Some(stays) = self.screen.step()? {
            return Ok(stays);
        }
        let is_on_stderr = self.is_on_stderr;
        let is_open = self.stdout.flush(|lines| match &self.progress {
            _ if is_on_stderr => Ok(write_err(lines)),
            Some((progress, true)) => progress.suspend(|| write_out(lines)),
            _ => write_out(lines),
        })?;
        self.lines.printer.look_at_terminal();
        let is_unread = || self.recording.as_ref().is_some_and(Running::has_lost_reader);
        Ok(is_open && !(is_on_stderr && is_unread()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_the_screen_nothing_is_printed_on_stdout() {
        let mut output = Output::new(Style::default(), &Filters::default());
        output.seen(&Seen::Gap(3), Time::ZERO);
        assert!(!output.stdout.lines.is_empty());
        output.stdout.lines.clear();
        output.screen.was_open = true;
        output.seen(&Seen::Gap(3), Time::ZERO);
        assert!(output.stdout.lines.is_empty());
    }
}
