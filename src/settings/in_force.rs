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
const LOOK: [&str; 4] = ["ascii", "color", "history", "theme"];

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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::cli;

    /// Returns the settings in force if files of both levels have these lines.
    fn in_force(command: Option<&str>, project: &str, user: &str) -> InForce {
        let root = cli::definition();
        let parsed = |level, text| File::parse(level, Path::new("/a/config.toml"), text, &root).unwrap();
        let files = [parsed(Level::Project, project), parsed(Level::User, user)];
        let settings = files
            .iter()
            .flat_map(|file| file.settings.iter().map(move |setting| (file, setting)));
        let taken: Vec<(&File, &Setting)> = settings.collect();
        let command = command.map_or(&root, |name| root.find_subcommand(name).unwrap());
        InForce::new(command, &taken, &files)
    }

    #[test]
    fn settings_are_the_words_of_a_command_line() {
        for (text, words) in [
            ("quiet = true", &["--quiet"][..]),
            ("quiet = false", &[]),
            ("verbose = 0", &[]),
            ("verbose = 2", &["--verbose", "--verbose"]),
            ("seed = 7", &["--seed", "7"]),
            ("filter = \"-1 == 1\"", &["--filter=-1 == 1"]),
            (
                "rule = [\"drop when c2s\", \"log when s2c\"]",
                &["--rule", "drop when c2s", "--rule", "log when s2c"],
            ),
            ("rule = []", &[]),
        ] {
            assert_eq!(in_force(None, "", text).words, words, "{text}");
            assert_eq!(in_force(None, text, "").words, words, "{text}");
        }
    }

    #[test]
    fn options_of_a_project_are_named_unless_they_change_only_the_look() {
        let keys = "[keys]\nfreeze = \"ctrl-x\"\n";
        for (command, project, user, sentence) in [
            (None, "seed = 7\nquiet = true", "", Some("seed, quiet")),
            (None, "", "seed = 7", None),
            (
                None,
                "ascii = true\ncolor = \"never\"\ntheme = \"light\"",
                "",
                None,
            ),
            (None, "ascii = true\nseed = 7", "", Some("seed")),
            (None, keys, "", Some("keys")),
            (None, "", keys, None),
            (Some("open"), keys, "", Some("keys")),
            // A command without a screen has no keys.
            (Some("judge"), keys, "", None),
        ] {
            let expected = sentence.map(|names| format!("./teetap.toml sets {names} (see teetap config)"));
            assert_eq!(
                in_force(command, project, user).sentence(),
                expected,
                "{project}{user}"
            );
        }
    }
}
