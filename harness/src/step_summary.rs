//! The result of a run, of a judgement or of a torture matrix as Markdown, appended to the summary of a job.
//!
//! Law: no text from outside is part of the Markdown syntax. Nothing is written before the whole text is known.

use std::{
    fmt::Write as _,
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use teetap_inspect::report::markup::{code, plain};
use teetap_wire::{counted, printable_path};

use crate::junit::{Outcome, Suite};

/// Maximum number of tests in the table.
const ROWS: usize = 30;

/// File to which a summary will be appended.
#[derive(Debug)]
pub struct StepSummary {
    path: PathBuf,
    file: File,
}

/// Reason why a summary cannot be appended.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the summary {path}: {error}")]
pub struct StepSummaryError {
    /// Path, printable.
    path: String,
    /// Error of the system.
    error: io::Error,
}

impl StepSummary {
    /// Opens or creates the file. Its contents and its permissions stay, since it belongs to the job.
    ///
    /// # Errors
    /// The file cannot be opened, or is a pipe.
    pub fn open(path: &Path) -> Result<Self, StepSummaryError> {
        let failed = |error| StepSummaryError {
            path: printable_path(path),
            error,
        };
        // A pipe without a reader would block.
        let is_other = fs::metadata(path).is_ok_and(|kind| kind.file_type().is_fifo());
        if is_other {
            return Err(failed(io::Error::other("it is a pipe; name another file")));
        }
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600);
        let file = options.open(path).map_err(failed)?;
        Ok(Self {
            path: path.to_owned(),
            file,
        })
    }

    /// Appends the result.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn append(mut self, suite: &Suite) -> Result<(), StepSummaryError> {
        let written = self.file.write_all(text(suite).as_bytes());
        written.map_err(|error| StepSummaryError {
            path: printable_path(&self.path),
            error,
        })
    }
}

/// Returns the result as Markdown: the number of tests with each outcome, the tests that did not pass, and the line that
/// repeats the run.
fn text(suite: &Suite) -> String {
    let count = |of: fn(&Outcome) -> bool| suite.cases.iter().filter(|case| of(&case.outcome)).count() as u64;
    let failed = count(|outcome| matches!(outcome, Outcome::Failed(_)));
    let broken = count(|outcome| matches!(outcome, Outcome::Broken(_)));
    let skipped = count(|outcome| matches!(outcome, Outcome::Skipped(_)));
    let passed = count(|outcome| matches!(outcome, Outcome::Passed));
    let mut out = format!(
        "\n### {}\n\n{passed} passed, {failed} failed, {broken} broken, {skipped} skipped, in {:.3} s\n",
        code(&suite.name),
        suite.time.as_secs_f64()
    );
    let mut others = suite
        .cases
        .iter()
        .filter(|case| case.outcome != Outcome::Passed || !case.output.is_empty());
    let mut is_first = true;
    for case in others.by_ref().take(ROWS) {
        if is_first {
            out.push_str("\n| outcome | test | reason |\n|---|---|---|\n");
            is_first = false;
        }
        let (outcome, why) = match &case.outcome {
            Outcome::Passed => ("passed", &case.output),
            Outcome::Failed(why) => ("failed", why),
            Outcome::Broken(why) => ("broken", why),
            Outcome::Skipped(why) => ("skipped", why),
        };
        let _never_fails = writeln!(out, "| {outcome} | {} | {} |", code(&case.name), code(why));
    }
    let more = others.count() as u64;
    if more > 0 {
        let _never_fails = writeln!(out, "\nand {}", counted(more, "more test"));
    }
    let repeat = suite.properties.iter().find(|(name, _)| *name == "repeat");
    if let Some((name, line)) = repeat {
        let _never_fails = writeln!(out, "\n{}: {}", plain(name), code(line));
    }
    out
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::junit::Case;

    fn case(name: &str, outcome: Outcome) -> Case {
        Case {
            class: "teetap".to_owned(),
            name: name.to_owned(),
            time: Duration::ZERO,
            outcome,
            output: String::new(),
        }
    }

    #[test]
    fn a_summary_counts_tests_and_lists_those_that_did_not_pass() {
        let suite = Suite {
            name: "teetap host".to_owned(),
            wall: SystemTime::UNIX_EPOCH,
            time: Duration::from_millis(1500),
            properties: vec![("seed", "7".to_owned()), ("repeat", "teetap run host".to_owned())],
            cases: vec![
                case("run", Outcome::Passed),
                case("until a|b", Outcome::Failed("no `x`\n@user".to_owned())),
                case("command", Outcome::Skipped("cut short".to_owned())),
            ],
        };
        let expected = "\n### `teetap host`\n\n1 passed, 1 failed, 0 broken, 1 skipped, in 1.500 s\n\n\
                        | outcome | test | reason |\n|---|---|---|\n\
                        | failed | `until a\\u{7c}b` | `no \\u{60}x\\u{60} @user` |\n\
                        | skipped | `command` | `cut short` |\n\nrepeat: `teetap run host`\n";
        assert_eq!(text(&suite), expected);
    }

    #[test]
    fn a_summary_is_appended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("summary.md");
        fs::write(&path, "before\n").unwrap();
        let suite = Suite {
            name: "x".to_owned(),
            wall: SystemTime::UNIX_EPOCH,
            time: Duration::ZERO,
            properties: Vec::new(),
            cases: Vec::new(),
        };
        StepSummary::open(&path).unwrap().append(&suite).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(
            text,
            "before\n\n### `x`\n\n0 passed, 0 failed, 0 broken, 0 skipped, in 0.000 s\n"
        );
    }
}
