//! Joins, sessions, losses and input margins.

use std::fmt::Write as _;

use teetap_wire::{Dir, Side, counted};

use super::{Page, percent, seconds};
use crate::{
    joins::waterfall,
    report::{
        Collected, Session,
        markup::{block, code},
    },
};

/// Maximum number of joins with their steps.
const JOINS: usize = 4;

/// Maximum number of steps of a join.
const STEPS: usize = 40;

/// Maximum number of sessions.
const SESSIONS: usize = 20;

impl Page<'_> {
    pub(super) fn joins(&self) -> String {
        let seen = self.texts.unwrap_or(self.numbers);
        if seen.joins.is_empty() {
            return String::new();
        }
        // A join that stopped by itself tells more than those that succeeded.
        let mut joins: Vec<_> = seen.joins.iter().collect();
        joins.sort_by_key(|(_, join)| join.stopped().is_none());
        let mut lines = Vec::new();
        for (run, join) in joins.iter().take(JOINS) {
            let run = if seen.runs > 1 {
                format!("run {run}, ")
            } else {
                String::new()
            };
            lines.push(format!("{run}{join}"));
            let steps = waterfall(join);
            lines.extend(steps.iter().take(STEPS).map(|line| format!("  {line}")));
            if steps.len() > STEPS {
                lines.push(format!(
                    "  and {}",
                    counted((steps.len() - STEPS) as u64, "more step")
                ));
            }
        }
        let more = joins.len().saturating_sub(JOINS) as u64 + seen.more_joins;
        if more > 0 {
            lines.push(format!("and {}", counted(more, "more join")));
        }
        format!("\n## Joins\n\n{}", block("text", &lines.join("\n")))
    }

    pub(super) fn sessions(&self) -> String {
        let seen = self.numbers;
        if seen.sessions.is_empty() {
            return String::new();
        }
        let mut table = String::from(
            "\n## Sessions\n\n| session | protocol | client | server | from | to | c2s datagrams | c2s bytes | s2c datagrams | s2c bytes |\n\
             |---|---|---|---|---:|---:|---:|---:|---:|---:|\n",
        );
        for session in seen.sessions.iter().take(SESSIONS) {
            let proto = session.proto.map_or("-".to_owned(), |proto| proto.to_string());
            let release = |side: Side| {
                let release = session.releases[side].as_ref();
                release.map_or("unknown".to_owned(), |release| code(&release.to_string()))
            };
            let ((c2s, c2s_bytes), (s2c, s2c_bytes)) = (session.traffic[Dir::C2s], session.traffic[Dir::S2c]);
            let _never_fails = writeln!(
                table,
                "| {} | {proto} | {} | {} | {} | {} | {c2s} | {c2s_bytes} | {s2c} | {s2c_bytes} |",
                name(session, seen),
                release(Side::Client),
                release(Side::Server),
                seconds(session.begin),
                seconds(session.end),
            );
        }
        let more = seen.sessions.len().saturating_sub(SESSIONS) as u64 + seen.more_sessions;
        if more > 0 {
            let _never_fails = writeln!(table, "\nand {}", counted(more, "more session"));
        }
        table
    }

    pub(super) fn losses(&self) -> String {
        let seen = self.numbers;
        if seen.sessions.is_empty() {
            return String::new();
        }
        let mut table = String::from(
            "\n## Losses\n\nAs far as resent vital messages show them.\n\n\
             | session | leg | vital messages | resent | lost | shortest round trip |\n|---|---|---:|---:|---:|---:|\n",
        );
        for session in seen.sessions.iter().take(SESSIONS) {
            for side in [Side::Client, Side::Server] {
                let leg = session.legs[side];
                let rtt = leg.rtt.map_or("-".to_owned(), |rtt| format!("{rtt:.1} ms"));
                let _never_fails = writeln!(
                    table,
                    "| {} | {side} | {} | {} | {} | {rtt} |",
                    name(session, seen),
                    leg.vital,
                    leg.resends,
                    leg.lost
                );
            }
        }
        table
    }

    pub(super) fn margins(&self) -> String {
        let margins = &self.numbers.margins;
        let Some((least, at)) = margins.least else {
            return String::new();
        };
        let ms = |value: Option<i64>| value.map_or("-".to_owned(), |value| format!("{value} ms"));
        let late = percent(margins.late, margins.count);
        format!(
            "\n## Input margin\n\nHow early the inputs reached the server, from `input_timing`:\n\n\
             * inputs: {}\n* late: {} ({late})\n* smallest margin: {least} ms, at {}\n* 5% have at most: {}\n\
             * 50% have at most: {}\n* largest margin: {}\n",
            margins.count,
            margins.late,
            seconds(at),
            ms(margins.percentile(5)),
            ms(margins.percentile(50)),
            ms(margins.most),
        )
    }
}

/// Returns the number of a session, with its run if there are several.
fn name(session: &Session, seen: &Collected) -> String {
    match seen.runs {
        0 | 1 => session.id.0.to_string(),
        _ => format!("{} (run {})", session.id.0, session.run),
    }
}
