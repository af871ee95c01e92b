//! Plain lines, for people and for grep.

use std::net::SocketAddr;

use teetap_capture::{Recorded, Tally};
use teetap_inspect::{DecodedEvent, EventLines, Sentences, Style, jsonl::rfc3339, lines::Line, row};
use teetap_proxy::{io::input_log::Checked, session::Traffic};
use teetap_wire::{printable, printable_path};

use crate::{
    exit::Exit,
    run::{Opened, Outcome, Start, Summary},
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
pub(super) fn tally(tally: &Tally, exit: Exit) -> String {
    let mut parts = vec![
        format!("{:.1} s", tally.until.as_secs_f64()),
        counted(tally.packets, "packet"),
        counted(tally.sessions, "session"),
    ];
    parts.extend(traffic(tally.c2s, tally.s2c));
    let extra = [
        (tally.foreign, "not understood"),
        (tally.other, "not UDP"),
        (tally.fragments, "fragments left out"),
        (tally.broken, "broken"),
        (tally.doubled, "of the server leg left out"),
        (tally.lost, "events missing"),
    ];
    parts.extend(found(&extra));
    parts.push(format!("exit {}", exit.code()));
    format!("teetap: {}", parts.join(", "))
}

/// Returns the traffic of each direction, as text.
fn traffic(c2s: Traffic, s2c: Traffic) -> [String; 2] {
    [("c→s", c2s), ("s→c", s2c)].map(|(arrow, Traffic { datagrams, bytes })| {
        let (datagrams, bytes) = (counted(datagrams, "datagram"), counted(bytes, "byte"));
        format!("{arrow} {datagrams} {bytes}")
    })
}

/// Returns the counts that are not 0, as text.
fn found(counts: &[(u64, &str)]) -> impl Iterator<Item = String> {
    let found = counts.iter().filter(|(count, _)| *count > 0);
    found.map(|(count, what)| format!("{count} {what}"))
}

/// Returns a count with its word, in the plural where it is not 1.
pub(crate) fn counted(count: u64, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}

/// Appends the rows of an event that this style shows, with sentences about notes.
pub(super) fn event(decoded: &DecodedEvent, style: Style, sentences: &mut Sentences, out: &mut Vec<u8>) {
    let lines = EventLines::of(decoded, style);
    for one in &lines.list {
        line(&lines, one, style, Some(sentences), out);
    }
}

/// Appends one of these lines as rows, and the sentences under it.
pub(super) fn line(
    lines: &EventLines<'_>,
    line: &Line,
    style: Style,
    sentences: Option<&mut Sentences>,
    out: &mut Vec<u8>,
) {
    let rows = row::of_line(lines, line, style).into_iter();
    let under = sentences.map(|sentences| sentences.under(lines, line, style));
    for row in rows.chain(under.into_iter().flatten()) {
        out.extend_from_slice(row.text.as_bytes());
        out.push(b'\n');
    }
}

/// Appends the line about missed events.
pub(super) fn gap(lost: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(row::gap(lost).text.as_bytes());
    out.push(b'\n');
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
        ended_by,
        cmd,
        recording,
        ..
    } = summary;
    let mut parts = vec![format!("{:.1} s", at.as_secs_f64())];
    match ended {
        None => parts.push("the data thread crashed".to_owned()),
        Some(ended) => {
            let stats = &ended.stats;
            parts.push(counted(stats.sessions, "session"));
            let never = stats.opened.saturating_sub(stats.sessions);
            parts.extend(found(&[(never, "never online")]));
            parts.extend(traffic(stats.c2s, stats.s2c));
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
    if let Some(Outcome { path, recorded }) = recording {
        parts.push(recorded.as_ref().map_or_else(
            || "the recorder crashed".to_owned(),
            |recorded| {
                format!(
                    "{} recorded to {}",
                    counted(recorded.packets, "packet"),
                    printable_path(path)
                )
            },
        ));
        let Recorded { missing, lost, .. } = recorded.clone().unwrap_or_default();
        let extra = [(missing, "packets missing in it"), (lost, "events not recorded")];
        parts.extend(found(&extra));
    }
    parts.push(format!("ended by {ended_by}"));
    parts.extend(cmd.map(|end| match end.is_stopped {
        true => format!("cmd_exit {} (stopped by teetap)", end.code),
        false => format!("cmd_exit {}", end.code),
    }));
    parts.push(format!("seed {seed}"));
    parts.push(format!("exit {}", exit.code()));
    format!("teetap: {}", parts.join(", "))
}

/// Returns the address as a DDNet client expects it for 0.7.
fn seven(addr: SocketAddr) -> String {
    format!("tw-0.7+udp://{addr}")
}
