//! The steps of a join as lines of text, with a bar for the time of each step.

use std::time::Duration;

use super::{Join, JoinOutcome, PassedStep};

/// Columns of the longest bar.
const BAR: u128 = 24;

/// Returns a line for each step of a join: the message, the side that was waited for, and the time.
#[must_use]
pub fn waterfall(join: &Join) -> Vec<String> {
    let longest = join.steps.iter().map(|step| step.took.as_millis()).max();
    let longest = longest.unwrap_or_default().max(1);
    let mut lines = Vec::new();
    for step in &join.steps {
        let PassedStep {
            from, took, delayed, ..
        } = step;
        let ms = took.as_millis();
        let bar = "━".repeat(usize::try_from(ms * BAR / longest).unwrap_or_default());
        let delayed = delayed
            .as_ref()
            .map_or(String::new(), |delayed| format!("  {delayed}"));
        let line = format!(
            "{:<24} {from:<6} {:>10}  {bar}{delayed}",
            name(step),
            milliseconds(*took)
        );
        lines.push(line.trim_end().to_owned());
    }
    if let Some((name, from)) = join.awaited.filter(|_| join.outcome != JoinOutcome::Entered) {
        let waited = join
            .end
            .since(join.steps.last().map_or(join.begin, |step| step.at));
        lines.push(format!(
            "{name:<24} {from:<6} {:>10}  missing",
            milliseconds(waited)
        ));
    }
    lines
}

/// Returns the name of a step, with the number of its messages if there are several.
fn name(step: &PassedStep) -> String {
    match step.count {
        1 => step.name.to_owned(),
        count => format!("{} ×{count}", step.name),
    }
}

fn milliseconds(time: Duration) -> String {
    format!("{} ms", time.as_millis())
}
