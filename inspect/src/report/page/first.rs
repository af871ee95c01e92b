//! The messages around the first finding, and its datagram.

use std::fmt::Write as _;

use teetap_wire::counted;

use super::{Page, seconds};
use crate::{
    explain,
    report::{
        Arrow, Participant,
        markup::{block, mermaid},
    },
};

/// Width of the explanation of a datagram, in columns.
const WIDTH: usize = 100;

impl Page<'_> {
    pub(super) fn ladder_text(&self) -> String {
        let Some(ladder) = self.ladder.filter(|ladder| !ladder.arrows.is_empty()) else {
            return String::new();
        };
        let with_proxy = self.run.is_some();
        let finding = self.numbers.findings.list.first();
        let code = finding.map_or(String::new(), |finding| finding.topic.to_string());
        let mut diagram = String::from("sequenceDiagram\n    participant client\n");
        if with_proxy {
            diagram.push_str("    participant teetap\n");
        }
        diagram.push_str("    participant server\n");
        for (place, arrow) in ladder.arrows.iter().enumerate() {
            if place == ladder.mark {
                let _never_fails = writeln!(diagram, "    Note over client,server: {}", mermaid(&code));
            }
            let Arrow { at, label, .. } = arrow;
            let name = |participant: Participant, other: Participant| match participant {
                Participant::Proxy if !with_proxy => match other {
                    Participant::Client => "server",
                    _ => "client",
                },
                participant => participant.name(),
            };
            let (from, to) = (name(arrow.from, arrow.to), name(arrow.to, arrow.from));
            let line = if arrow.is_lost { "-x" } else { "->>" };
            let label = mermaid(&format!("{} {label}", seconds(*at)));
            let _never_fails = writeln!(diagram, "    {from}{line}{to}: {label}");
        }
        if ladder.mark >= ladder.arrows.len() {
            let _never_fails = writeln!(diagram, "    Note over client,server: {}", mermaid(&code));
        }
        let session = finding.and_then(|finding| finding.session);
        let session = session.map_or(String::new(), |session| format!(" in session {}", session.0));
        format!(
            "\n## Messages around the first finding{session}\n\n{}",
            block("mermaid", &diagram)
        )
    }

    pub(super) fn explanation(&self, room: usize) -> String {
        let Some(found) = self.ladder.and_then(|ladder| ladder.found.as_ref()) else {
            return String::new();
        };
        let Some(best) = self.explanations.first() else {
            return "\nThe datagram of the first finding cannot be read, so that texts and secrets in it cannot be told apart: \
                    only `--show-secrets` shows its bytes.\n"
                .to_owned();
        };
        let title = format!(
            "The {} datagram of the first finding: {}, read as {}",
            found.dir,
            counted(found.bytes.len() as u64, "byte"),
            best.proto
        );
        let text = explain::text::text(None, self.explanations, WIDTH);
        let head = format!("\n<details>\n<summary>{title}</summary>\n\n");
        let hint = if self.is_scrubbed {
            "Texts are replaced, so that a compressed datagram may have another length.\n\n"
        } else {
            ""
        };
        let foot = "\n</details>\n";
        let left = room.saturating_sub(head.len() + hint.len() + foot.len() + 40);
        let mut shown = String::new();
        let mut count = 0;
        for line in text.lines() {
            count += line.chars().count() + 1;
            if count > left {
                shown.push_str("...\n");
                break;
            }
            shown.push_str(line);
            shown.push('\n');
        }
        if left < 400 {
            return String::new();
        }
        format!("{head}{hint}{}{foot}", block("text", &shown))
    }
}
