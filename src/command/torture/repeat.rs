//! The line that repeats a cell.

use std::{env, ffi::OsString};

use teetap_harness::torture::{Cell, Plan};

use crate::{cli::TortureOptions, repeat::quoted};

/// Words that the lines of all cells share.
pub(super) struct Repeat {
    /// Words before the rule.
    start: String,
    /// Words after the rule.
    end: String,
}

impl Repeat {
    pub(super) fn new(options: &TortureOptions, plan: &Plan<'_>) -> Self {
        let target = options.target.to_string();
        let limits = [
            ("--until", plan.until()),
            ("--timeout", format!("{}ms", plan.whole().as_millis())),
            ("--seed", seed(options).to_string()),
        ];
        let mut start = format!("{} run {}", program(), quoted(target.as_ref()));
        for (option, value) in limits {
            start += &format!(" {option} {}", quoted(value.as_ref()));
        }
        let words: Vec<String> = options.command.iter().map(|word| quoted(word)).collect();
        Self {
            start,
            end: words.join(" "),
        }
    }

    /// Returns the line of a cell: its exit code is 0 if the client joins.
    pub(super) fn line(&self, cell: &Cell) -> String {
        let rule = quoted(cell.rule().as_ref());
        format!("{} -r {rule} -- {}", self.start, self.end)
    }
}

/// Returns the seed of all runs.
pub(super) fn seed(options: &TortureOptions) -> u64 {
    options.seed.unwrap_or(1)
}

/// Returns the name of this program.
fn program() -> String {
    let path = env::current_exe().unwrap_or_default();
    let name = path.file_name().map_or(OsString::from("teetap"), OsString::from);
    name.to_string_lossy().into_owned()
}
