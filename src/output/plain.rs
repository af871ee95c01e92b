//! Plain lines, for people and for grep.

use std::{net::SocketAddr, path::Path};

use teetap_capture::{Recorded, Tally};
use teetap_engine::recording::Outcome;
use teetap_harness::outcome::Summary;
use teetap_inspect::{
    DecodedEvent, EventLines, Row, Sentences, Style,
    fold::{Folds, Moment},
    jsonl::rfc3339,
    lines::Line,
    row,
};
use teetap_proxy::{
    io::input_log::Checked,
    session::{Time, Traffic},
};
use teetap_wire::{PerDir, counted, printable, printable_path};

use super::printer::Printer;
use crate::{
    exit::Exit,
    run::{Opened, Start},
};

/// Returns the lines at the start.
pub(super) fn start(start: &Start) -> Vec<String> {
    let Start {
        seed,
        target,
        server,
        listen,
        connect,
        ..
    } = start;
    let server = if *target == server.to_string() {
        String::new()
    } else {
        format!(" ({server})")
    };
    vec![
        format!(
            "teetap {}: listening on {listen}, server {target}{server}, seed {seed}",
            env!("CARGO_PKG_VERSION")
        ),
        format!("  in the client:               connect {connect}"),
        format!("  in a DDNet client, for 0.7:  connect {}", seven(*connect)),
    ]
}

/// Returns the line at the start of a recording that is shown.
pub(super) fn opened(opened: &Opened<'_>) -> String {
    let Opened { file, wall, run } = opened;
    let begin = format!(
        "teetap {}: {}, begins {}",
        env!("CARGO_PKG_VERSION"),
        printable_path(file),
        rfc3339(*wall)
    );
    match run {
        None => begin,
        Some(run) => format!(
            "{begin}, a run of teetap {}: listening on {}, server {}, seed {}",
            printable(run.version.as_bytes()),
            run.listen,
            printable(run.target.as_bytes()),
            run.seed
        ),
    }
}

/// Returns the line at the end of a recording that is shown.
pub(super) fn tally(tally: &Tally, findings: Option<String>, exit: Exit) -> String {
    let mut parts = vec![
        format!("{:.1} s", tally.until.as_secs_f64()),
        counted(tally.packets, "packet").to_string(),
        counted(tally.sessions, "session").to_string(),
    ];
    parts.extend(traffic(tally.traffic));
    let extra = [
        (tally.foreign, "not understood"),
        (tally.other, "not UDP"),
        (tally.fragments, "fragments left out"),
        (tally.broken, "broken"),
        (tally.doubled, "of the server leg left out"),
        (tally.lost, "events missing"),
    ];
    parts.extend(found(&extra));
    parts.extend(findings);
    parts.push(format!("exit {}", exit.code()));
    format!("teetap: {}", parts.join(", "))
}

/// Returns the traffic of each direction, as text.
fn traffic(traffic: PerDir<Traffic>) -> [String; 2] {
    [("c→s", traffic.c2s), ("s→c", traffic.s2c)].map(|(arrow, Traffic { datagrams, bytes })| {
        let (datagrams, bytes) = (counted(datagrams, "datagram"), counted(bytes, "byte"));
        format!("{arrow} {datagrams} {bytes}")
    })
}

/// Returns the counts that are not 0, as text.
fn found(counts: &[(u64, &str)]) -> impl Iterator<Item = String> {
    let found = counts.iter().filter(|(count, _)| *count > 0);
    found.map(|(count, what)| format!("{count} {what}"))
}

/// The state of plain lines.
#[derive(Debug)]
pub(super) struct Lines {
    pub(super) printer: Printer,
    /// Notes whose sentence was already printed.
    pub(super) sentences: Sentences,
    /// Runs of snapshots and inputs; `None` if each of them is printed.
    pub(super) folds: Option<Folds>,
}

impl Lines {
    /// Appends the rows of an event that this style shows, with sentences about notes.
    pub(super) fn event(&mut self, decoded: &DecodedEvent, style: Style, out: &mut Vec<u8>) {
        let moment = Moment::of_event(decoded);
        let lines = EventLines::from_event(decoded, style);
        for line in &lines.list {
            if let Some(folds) = &mut self.folds {
                if folds.add(&lines, line, moment, style) {
                    continue;
                }
                let ended = folds.end(decoded.event.session);
                self.rows(ended, out);
            }
            self.line((&lines, line), moment, style, true, out);
        }
        self.end_old_folds(moment.at, out);
    }

    /// Appends one line of an event as rows, with the sentences below it if `with_sentences`.
    pub(super) fn line(
        &mut self,
        (lines, line): (&EventLines<'_>, &Line),
        moment: Moment,
        style: Style,
        with_sentences: bool,
        out: &mut Vec<u8>,
    ) {
        for row in row::of_line(lines, line, style) {
            self.printer.row(&row, moment, out);
        }
        if with_sentences {
            for row in self.sentences.under(lines, line, style) {
                self.printer.row(&row, moment, out);
            }
        }
    }

    /// Appends the line about missed events.
    pub(super) fn gap(&mut self, now: Time, lost: u64, out: &mut Vec<u8>) {
        self.end_folds(out);
        let moment = Moment { at: now, since: None };
        self.printer.row(&row::gap(lost), moment, out);
    }

    /// Ends the folds that are too old at this time.
    pub(super) fn end_old_folds(&mut self, now: Time, out: &mut Vec<u8>) {
        let ended = self.folds.as_mut().map(|folds| folds.end_old(now));
        self.rows(ended.unwrap_or_default(), out);
    }

    /// Ends all folds.
    pub(super) fn end_folds(&mut self, out: &mut Vec<u8>) {
        let ended = self.folds.as_mut().map(Folds::end_all);
        self.rows(ended.unwrap_or_default(), out);
    }

    fn rows(&mut self, rows: Vec<(Row, Moment)>, out: &mut Vec<u8>) {
        for (row, moment) in rows {
            self.printer.row(&row, moment, out);
        }
    }
}

/// Appends the result of a replay.
pub(super) fn replay(checked: &Checked, out: &mut Vec<u8>) {
    let Checked {
        inputs,
        received,
        sent,
        until,
        difference,
        ..
    } = checked;
    let (inputs, received) = (counted(*inputs, "input"), counted(*received, "datagram"));
    let counts = format!("{inputs} up to {until} s, {received} received, {sent} sent as in the log");
    let text = match difference {
        None => format!("equal: {counts}\n"),
        Some(difference) => format!("different: {counts}\n{difference}\n"),
    };
    out.extend_from_slice(text.as_bytes());
}

/// Returns the line at the end of a run.
pub(super) fn summary(summary: &Summary) -> String {
    let Summary {
        at,
        ended,
        lost,
        kernel_drops,
        seed,
        exit,
        cmd,
        recording,
        ..
    } = summary;
    let mut parts = vec![format!("{:.1} s", at.as_secs_f64())];
    match ended {
        None => parts.push("the data thread crashed".to_owned()),
        Some(ended) => {
            let stats = &ended.stats;
            parts.push(counted(stats.sessions, "session").to_string());
            let never = stats.opened.saturating_sub(stats.sessions);
            parts.extend(found(&[(never, "never online")]));
            parts.extend(traffic(stats.traffic));
            let extra = [
                (stats.refused, "refused"),
                (ended.counters.unsent, "not sent"),
                (ended.counters.errors, "network errors"),
            ];
            parts.extend(found(&extra));
        }
    }
    parts.extend(found(&[
        (*kernel_drops, "dropped by the kernel"),
        (*lost, "events not shown"),
    ]));
    if let Some(Outcome { path, recorded, .. }) = recording {
        parts.push(recorded.as_ref().map_or_else(
            || "the recorder crashed".to_owned(),
            |recorded| recorded_to(recorded, path),
        ));
        let Recorded { missing, lost, .. } = recorded.clone().unwrap_or_default();
        let extra = [(missing, "packets missing in it"), (lost, "events not recorded")];
        parts.extend(found(&extra));
    }
    parts.push(format!("ended by {}", summary.cause()));
    parts.extend(cmd.map(|end| match (end.is_stopped, end.is_killed) {
        (true, true) => format!("cmd_exit {} (killed by teetap)", end.code),
        (true, false) => format!("cmd_exit {} (stopped by teetap)", end.code),
        (false, _) => format!("cmd_exit {}", end.code),
    }));
    parts.push(format!("seed {seed}"));
    parts.push(format!("exit {}", exit.code()));
    format!("teetap: {}", parts.join(", "))
}

/// Returns the number of recorded packets and their file.
fn recorded_to(recorded: &Recorded, path: &Path) -> String {
    let packets = counted(recorded.packets, "packet");
    let path = printable_path(path);
    match recorded.saved {
        Some((0, _)) => "nothing recorded: no message matched --save-on".to_owned(),
        Some((files, _)) if files > 1 => {
            let more = counted(files - 1, "more file");
            format!("{packets} recorded to {path} and {more}")
        }
        _ => format!("{packets} recorded to {path}"),
    }
}

/// Returns the address as a DDNet client expects it for 0.7.
fn seven(addr: SocketAddr) -> String {
    format!("tw-0.7+udp://{addr}")
}
