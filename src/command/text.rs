//! `teetap completions` and `teetap man`: texts made from the definition of the command line and the tables of the program.

use std::fmt::Write as _;

use clap::builder::Resettable;
use clap_complete::Shell;
use teetap_rules::wrap::at_spaces;
use teetap_tui::ACTIONS;

use crate::{
    cli::{self, EXAMPLES},
    exit::{self, Exit},
    output, settings,
};

/// Maximum width of the sentence below a term, in columns.
const WIDTH: usize = 70;

/// Environment variables without an option, and their meaning.
const VARIABLES: [(&str, &str); 4] = [
    (
        "TEETAP_LOG",
        "Filters the log of --log, in the syntax of the Rust crate tracing",
    ),
    (
        "NO_COLOR",
        "Switches colours off if it is set, unless --color is always",
    ),
    (
        "TERM",
        "Switches colours and characters outside of ASCII off if it is dumb",
    ),
    (
        "XDG_CONFIG_HOME",
        "The folder of configuration files [default: ~/.config]",
    ),
];

/// Prints the completion script of a shell.
pub(crate) fn completions(shell: Shell) -> anyhow::Result<Exit> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut cli::definition(), "teetap", &mut text);
    print(&text)
}

/// Prints the man page of teetap or of the sub-command `of`.
pub(crate) fn man(of: Option<&str>) -> anyhow::Result<Exit> {
    print(&page(of)?)
}

/// Returns the man page of teetap or of the sub-command `of`.
fn page(of: Option<&str>) -> anyhow::Result<Vec<u8>> {
    let mut definition = cli::definition().flatten_help(true).disable_help_subcommand(true);
    // Gives the sub-commands the names of their man pages.
    definition.build();
    let page = of
        .and_then(|name| definition.find_subcommand(name).cloned())
        .unwrap_or_else(|| definition.clone());
    // The generator would fill lists to lines like other text.
    let notes = page.get_after_long_help().map(ToString::to_string);
    let page = page
        .after_help(Resettable::Reset)
        .after_long_help(Resettable::Reset);
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text)?;
    let mut more = String::new();
    section(&mut more, "EXAMPLES", &examples(of.unwrap_or_default())?);
    if of.is_none() {
        section(&mut more, "EXIT STATUS", &table(exit::TABLE.iter().copied())?);
        section(&mut more, "ENVIRONMENT", &environment(&definition)?);
        section(&mut more, "FILES", &files()?);
        section(&mut more, "FILTERS", &teetap_rules::vocabulary());
        section(&mut more, "RULES", &teetap_rules::rule_vocabulary());
        section(&mut more, "KEYS", &keys()?);
    }
    if let Some(notes) = notes {
        // The exit codes have a section of their own.
        let notes = notes.split("\nExit codes:").next().unwrap_or_default();
        section(&mut more, "NOTES", notes);
    }
    text.extend_from_slice(more.as_bytes());
    Ok(text)
}

fn examples(of: &str) -> Result<String, std::fmt::Error> {
    let own = EXAMPLES.iter().filter(|(command, ..)| *command == of);
    table(own.map(|(_, line, purpose)| (*line, *purpose)))
}

/// Returns rows, each with a term and a sentence below it.
fn table<'r>(rows: impl Iterator<Item = (&'r str, &'r str)>) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    for (term, sentence) in rows {
        writeln!(text, "{term}")?;
        for line in textwrap::wrap(sentence, at_spaces(WIDTH)) {
            writeln!(text, "    {line}")?;
        }
    }
    Ok(text)
}

fn environment(definition: &clap::Command) -> Result<String, std::fmt::Error> {
    let mirrored: Vec<(String, String)> = settings::options(definition)
        .filter_map(|(name, arg)| {
            Some((
                arg.get_env()?.to_string_lossy().into_owned(),
                format!("As --{name}"),
            ))
        })
        .collect();
    let mirrored = mirrored.iter().map(|(name, what)| (&**name, &**what));
    table(mirrored.chain(VARIABLES))
}

fn files() -> Result<String, std::fmt::Error> {
    table(
        [
            (
                format!("./{}", settings::PROJECT),
                "The options of a project; teetap config template prints them all",
            ),
            (
                format!("$XDG_CONFIG_HOME/{}", settings::USER),
                "The options of the user, which those of the project override",
            ),
        ]
        .iter()
        .map(|(name, what)| (&**name, *what)),
    )
}

/// Returns the keys of the screen, by action.
fn keys() -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    for entry in ACTIONS {
        let panes = match &entry.panes()[..] {
            [] => String::new(),
            names => format!(" ({})", names.join(", ")),
        };
        writeln!(text, "{:<14} {}{panes}", entry.keys.join(" "), entry.help)?;
    }
    Ok(text)
}

/// Appends a section whose lines are not filled.
fn section(page: &mut String, name: &str, text: &str) {
    page.push_str(&format!(".SH \"{name}\"\n.nf\n"));
    for line in text.lines() {
        let line = line.replace('\\', "\\\\").replace('-', "\\-");
        // A leading dot or apostrophe would be read as a request.
        if line.starts_with(['.', '\'']) {
            page.push_str("\\&");
        }
        page.push_str(&line);
        page.push('\n');
    }
    page.push_str(".fi\n");
}

fn print(text: &[u8]) -> anyhow::Result<Exit> {
    // A closed pipe is success.
    output::write_out(text)?;
    Ok(Exit::Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the lines of a section, without the escapes of the format.
    fn lines(page: &str, name: &str) -> Vec<String> {
        let (_, rest) = page.split_once(&format!(".SH \"{name}\"\n.nf\n")).unwrap();
        let (text, _) = rest.split_once(".fi\n").unwrap();
        let plain = text.replace("\\-", "-").replace("\\&", "").replace("\\\\", "\\");
        plain.lines().map(str::to_owned).collect()
    }

    #[test]
    fn the_man_page_has_every_row_of_the_tables() {
        let page = String::from_utf8(page(None).unwrap()).unwrap();
        let has = |section: &str, word: &str| lines(&page, section).iter().any(|line| line.starts_with(word));
        for (code, _) in exit::TABLE {
            assert!(has("EXIT STATUS", code), "{code}");
        }
        for entry in ACTIONS {
            let row = format!("{:<14} {}", entry.keys.join(" "), entry.help);
            assert!(has("KEYS", &row), "{row}");
        }
        let root = cli::definition();
        let variables: Vec<String> = settings::options(&root)
            .filter_map(|(_, arg)| Some(arg.get_env()?.to_string_lossy().into_owned()))
            .collect();
        assert!(variables.len() > 20, "{variables:?}");
        let all = variables
            .iter()
            .map(|name| &**name)
            .chain(VARIABLES.map(|(name, _)| name));
        for name in all {
            assert!(has("ENVIRONMENT", name), "{name}");
        }
        for (_, line, _) in EXAMPLES.iter().filter(|(command, ..)| command.is_empty()) {
            assert!(has("EXAMPLES", line), "{line}");
        }
        let rules = lines(&page, "RULES").join("\n");
        for word in ["reorder", "chance", "blackhole", "3g"] {
            assert!(rules.contains(word), "{word}");
        }
        assert!(has("FILES", "./teetap.toml") && has("FILES", "$XDG_CONFIG_HOME/teetap/config.toml"));
        assert!(lines(&page, "FILTERS").join(" ").contains("lint.CODE"));
    }

    #[test]
    fn the_page_of_a_command_has_its_examples_only() {
        let page = String::from_utf8(page(Some("grep")).unwrap()).unwrap();
        assert!(
            lines(&page, "EXAMPLES")
                .iter()
                .any(|line| line.starts_with("teetap grep"))
        );
        assert!(!page.contains("EXIT STATUS") && page.contains(".SH \"NOTES\""));
    }

    #[test]
    fn lines_of_a_page_are_short() {
        let page = String::from_utf8(page(None).unwrap()).unwrap();
        for section in ["EXIT STATUS", "ENVIRONMENT", "FILES", "RULES"] {
            for line in lines(&page, section) {
                assert!(line.chars().count() < 100, "{section}: {line}");
            }
        }
    }
}
