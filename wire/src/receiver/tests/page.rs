//! The page `docs/src/receivers.md` contains the table.

use std::fmt::Write as _;

use super::*;
use crate::receiver::{Stage, Verdict, message::Carrier, messages};

const PAGE: &str = include_str!("../../../../docs/src/receivers.md");
const MARK: &str = "<!-- The rest is the table of wire/src/receiver/, which a test compares. -->\n";

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('"', "&quot;")
}

fn line(out: &mut String, cells: &[&str]) {
    writeln!(out, "| {} |", cells.join(" | ")).unwrap();
}

const fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::PreAuth => "pre-auth",
        Stage::Auth => "auth",
        Stage::Connecting => "connecting",
        Stage::Ready => "ready",
        Stage::Ingame => "in game",
    }
}

fn table() -> String {
    let mut out = String::new();
    for receiver in receivers() {
        writeln!(out, "\n## {} as {}\n", receiver.release, receiver.side).unwrap();
        line(&mut out, &["check", "if the receiver gets", "it", "source"]);
        line(&mut out, &["---", "---", "---", "---"]);
        for row in receiver.rows() {
            let ends = if row.stops && !matches!(row.verdict, Verdict::Drops | Verdict::IgnoresRest) {
                ", and nothing else"
            } else {
                ""
            };
            let does = format!("{}{ends}", row.verdict.text());
            let name = format!("`{}`", row.name);
            let source = format!("`{}`", row.source.replace(' ', "`, `"));
            line(&mut out, &[&name, &cell(row.text), &cell(&does), &source]);
        }
    }
    out.push_str("\n## Messages\n\n");
    line(
        &mut out,
        &[
            "to", "message", "releases", "chunk", "stages", "then", "answer", "after", "CLOSE",
        ],
    );
    line(&mut out, &["---"; 9]);
    for row in messages() {
        let releases: Vec<_> = row.releases.iter().map(|release| release.name()).collect();
        let releases = if releases.len() == Release::ALL.len() {
            "all".to_owned()
        } else {
            releases.join(", ")
        };
        let name = format!("`{}`", row.name);
        let (first, last) = row.stages;
        let stages = match (first, last) {
            (Stage::PreAuth, Stage::Ingame) => "any".to_owned(),
            _ if first == last => stage(first).to_owned(),
            _ => format!("{} to {}", stage(first), stage(last)),
        };
        let code = |name: Option<&str>| name.map_or(String::new(), |name| format!("`{name}`"));
        let mut answer = code(row.answer);
        if row.answers_always {
            answer.push_str(" in any stage");
        }
        let closes: Vec<_> = row.closes.iter().map(|reason| cell(reason)).collect();
        line(
            &mut out,
            &[
                &row.receiver.to_string(),
                &name,
                &releases,
                match row.carrier {
                    Carrier::Vital => "vital",
                    Carrier::NotVital => "not vital",
                    Carrier::Either => "any",
                },
                &stages,
                row.next.map_or("", stage),
                &answer,
                &code(row.after),
                &closes.join("; "),
            ],
        );
    }
    out
}

#[test]
fn the_page_is_the_table() {
    let (_, rest) = PAGE.split_once(MARK).unwrap();
    let expected = table();
    assert!(
        rest == expected,
        "docs/src/receivers.md differs from the table; after the comment it has to be:\n{expected}<end>"
    );
}
