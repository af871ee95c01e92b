//! Settings of files that are in force in this process, for the line at its start and the line that repeats its run.

use std::sync::OnceLock;

use clap::{ArgAction, Command};

use super::{File, KEYS, Level, Setting, option};

/// Settings of this process; unset if the command reads no file.
static IN_FORCE: OnceLock<InForce> = OnceLock::new();

/// Settings of files that are in force for a command.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct InForce {
    /// Words of a command line with the same effect.
    words: Vec<String>,
    /// Names of the options that the project's file set.
    of_project: Vec<String>,
}

/// Options that change only the look of the output.
const LOOK: [&str; 3] = ["ascii", "color", "theme"];

impl InForce {
    /// Returns the settings in force for a command.
    pub(super) fn new(command: &Command, taken: &[(&File, &Setting)], files: &[File]) -> Self {
        let words = taken
            .iter()
            .flat_map(|(_, setting)| words(command, setting))
            .collect();
        let of_project = taken
            .iter()
            .filter(|(file, setting)| file.level == Level::Project && !LOOK.contains(&&*setting.name));
        let mut of_project: Vec<String> = of_project.map(|(_, setting)| setting.name.clone()).collect();
        let has_keys = |file: &File| file.level == Level::Project && !file.keys.is_empty();
        if option(command, "tui").is_some() && files.iter().any(has_keys) {
            of_project.push(KEYS.to_owned());
        }
        Self { words, of_project }
    }

    /// Makes these the settings of this process.
    pub(crate) fn keep(self) {
        // A process has one command line, so this is the only call.
        let _first = IN_FORCE.set(self);
    }

    /// Returns the sentence about the project's file; `None` if it set nothing.
    fn sentence(&self) -> Option<String> {
        if self.of_project.is_empty() {
            return None;
        }
        Some(format!(
            "./{} sets {} (see teetap config)",
            super::PROJECT,
            self.of_project.join(", ")
        ))
    }
}

/// Returns words of a command line with the same effect as the settings of files.
pub(crate) fn repeated() -> &'static [String] {
    IN_FORCE.get().map_or(&[], |in_force| &in_force.words)
}

/// Returns a sentence that names the options set by the project's file; `None` if it set nothing.
pub(crate) fn sentence() -> Option<String> {
    IN_FORCE.get()?.sentence()
}

/// Returns the words of a setting.
fn words(command: &Command, setting: &Setting) -> Vec<String> {
    let name = format!("--{}", setting.name);
    let first = setting.values.first().map_or("", String::as_str);
    match option(command, &setting.name).map(clap::Arg::get_action) {
        Some(ArgAction::SetTrue) if first == "true" => vec![name],
        Some(ArgAction::SetTrue) => Vec::new(),
        Some(ArgAction::Count) => vec![name; first.parse().unwrap_or(0)],
        _ => setting
            .values
            .iter()
            .flat_map(|value| value_of(&name, value))
            .collect(),
    }
}

/// Returns an option with its value; joined by `=` if the value begins like an option.
fn value_of(name: &str, value: &str) -> Vec<String> {
    if value.starts_with('-') {
        vec![format!("{name}={value}")]
    } else {
        vec![name.to_owned(), value.to_owned()]
    }
}
