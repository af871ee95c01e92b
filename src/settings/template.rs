//! The text of a file with all options, each in a comment with its help.

use std::fmt::Write as _;

use clap::{Arg, ArgAction, Command};
use teetap_rules::wrap::at_spaces;
use teetap_tui::ACTIONS;

use super::{KEYS, USER_ONLY, options};

/// Maximum width of a comment, in columns.
const WIDTH: usize = 100;

/// Values of options that have no default, as examples.
const EXAMPLES: [(&str, &str); 27] = [
    ("listen", "\"127.0.0.1:8303\""),
    ("seed", "1"),
    ("rule", "[\"drop when sv_emoticon\"]"),
    ("link", "[\"both delay 40ms\"]"),
    ("profile", "[\"3g\"]"),
    ("rules", "[\"rules.tap\"]"),
    ("control", "\"teetap.sock\""),
    ("filter", "\"not input\""),
    ("until", "\"sv_chat\""),
    ("fail-on", "\"lint\""),
    ("timeout", "\"5min\""),
    ("log", "\"teetap.log\""),
    ("junit", "\"report.xml\""),
    ("summary", "\"summary.md\""),
    ("input-log", "\"inputs.log\""),
    ("journal", "\"journal.jsonl\""),
    ("faults-from", "\"journal.jsonl\""),
    ("write", "\"run.pcapng\""),
    ("keep", "\"10min\""),
    ("save-on", "\"lint\""),
    ("messages", "\"own.tw\""),
    ("verbose", "0"),
    ("proto", "\"auto\""),
    ("color", "\"auto\""),
    ("time", "\"session\""),
    ("theme", "\"default\""),
    ("history", "64"),
];

/// Returns a file in which every option is commented out.
pub(crate) fn template(root: &Command) -> String {
    let mut page = String::from(
        "# Options of teetap. The command line and the environment win over a file, and ./teetap.toml wins\n\
         # over that of the user. Remove the # before a line to set its option.\n",
    );
    for (name, arg) in options(root) {
        page.push('\n');
        comment(&help(arg), &mut page);
        if USER_ONLY.contains(&name) {
            comment("Not in the file of a project.", &mut page);
        }
        let _infallible = writeln!(page, "#{name} = {}", example(name, arg));
    }
    let _infallible = write!(
        page,
        "\n# Further keys for the actions of the screen.\n#[{KEYS}]\n"
    );
    for entry in ACTIONS {
        let keys: Vec<String> = entry.keys.iter().map(|key| format!("{:?}", key)).collect();
        let keys = keys.join(", ");
        let _infallible = writeln!(page, "#{} = [{keys}]  # {}", entry.name, entry.help);
    }
    page
}

/// Returns the help of an option, with its paragraphs on one line.
fn help(arg: &Arg) -> String {
    let help = arg.get_long_help().or_else(|| arg.get_help());
    let text = help.map(ToString::to_string).unwrap_or_default();
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    let mut text = lines.join(". ");
    let values: Vec<String> = arg
        .get_possible_values()
        .iter()
        .map(|value| value.get_name().to_owned())
        .collect();
    if arg.get_action().takes_values() && !values.is_empty() {
        let _infallible = write!(text, ": {}", values.join(", "));
    }
    text
}

/// Returns an example value in TOML.
fn example(name: &str, arg: &Arg) -> &'static str {
    let example = EXAMPLES.iter().find(|(known, _)| *known == name);
    match (example, arg.get_action()) {
        (Some((_, example)), _) => example,
        (None, ArgAction::SetTrue) => "true",
        (None, _) => "\"\"",
    }
}

/// Appends a comment, wrapped to [`WIDTH`] columns.
fn comment(text: &str, page: &mut String) {
    let options = at_spaces(WIDTH).initial_indent("# ").subsequent_indent("# ");
    page.push_str(&textwrap::fill(text, options));
    page.push('\n');
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use teetap_tui::Action;

    use super::*;
    use crate::{
        cli,
        settings::{Bound, File, Level},
    };

    #[test]
    fn without_its_comment_signs_the_template_sets_every_option_and_every_key() {
        let root = cli::definition();
        let page = template(&root);
        let text: Vec<&str> = page
            .lines()
            .filter_map(|line| line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')))
            .collect();
        let file = File::parse(Level::User, Path::new("config.toml"), &text.join("\n"), &root).unwrap();
        let mut set: Vec<&str> = file.settings.iter().map(|setting| &*setting.name).collect();
        let mut all: Vec<&str> = options(&root).map(|(name, _)| name).collect();
        set.sort_unstable();
        all.sort_unstable();
        assert_eq!(set, all);
        let keys = ACTIONS.iter().flat_map(|entry| {
            let bound = entry
                .keys
                .iter()
                .map(|key| (key.parse().unwrap(), Action::named(entry.name).unwrap()));
            bound.collect::<Vec<Bound>>()
        });
        assert_eq!(file.keys, keys.collect::<Vec<_>>());
        assert!(page.lines().all(|line| line.starts_with('#') || line.is_empty()));
        for (name, example) in EXAMPLES {
            assert!(all.contains(&name), "{name} = {example}");
        }
    }

    #[test]
    fn a_project_may_not_set_options_that_exist() {
        let root = cli::definition();
        for name in USER_ONLY {
            assert!(options(&root).any(|(known, _)| known == name), "{name}");
        }
    }
}
