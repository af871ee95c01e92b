//! The command line: the names of all actions, commands with an argument, and the commands of `teetap ctl`.

use teetap_inspect::control::{CommandHelp, command_help};

use crate::{
    Theme,
    action::{ACTIONS, Action},
    app::{prompt::Candidates, view::View},
};

/// Commands with an argument: name, argument, and sentence of the help.
pub(crate) const COMMANDS: &[(&str, &str, &str)] = &[
    ("filter", "EXPR", "Show only messages that match"),
    ("rule", "RULE", "Add a rule; the word rule may be left out"),
    (
        "inject",
        "MESSAGE",
        "Send a message: s2c sv_chat{message: \"hi\"}",
    ),
    ("close", "REASON", "Close both legs of the session"),
    ("resync", "", "Request a complete snapshot from the server"),
    ("save", "FILE", "Save the shown rows as FILE.pcapng or FILE.jsonl"),
    ("goto", "PLACE", "Go to a place of the recording: 90s, 5min, 50%"),
    ("view", "NAME", "Show a view"),
    (
        "theme",
        "NAME",
        "Use a theme: default, light, mono, high-contrast",
    ),
    ("bind", "KEY ACTION", "Bind a key to an action for this run"),
];

/// Names of control commands that are not available on the command line, because the screen always shows their results.
const SHOWN: [&str; 4] = ["sessions", "stats", "held", "subscribe"];

/// Returns the control commands that are typed as in `teetap ctl`: all except those of [`COMMANDS`] and [`SHOWN`].
pub(crate) fn control_commands() -> Vec<CommandHelp> {
    let mut commands = command_help();
    commands.retain(|command| {
        let is_own = COMMANDS.iter().any(|(name, ..)| *name == command.name);
        !is_own && !SHOWN.contains(&&*command.name)
    });
    commands
}

/// Returns the words that can complete a line, given the text before the cursor.
#[must_use]
pub(crate) fn candidates(before: &str) -> Candidates {
    let (head, word) = before.rsplit_once(' ').unwrap_or(("", before));
    let actions = ACTIONS.iter().map(|entry| (entry.name, entry.help));
    let control = control_commands();
    let all: Vec<(&str, &str)> = match head.split(' ').next().unwrap_or_default() {
        "" => {
            let commands = COMMANDS.iter().map(|(name, _, help)| (*name, *help));
            // If an action and a command have the same name, it is offered once, with the sentence of the command.
            let is_command = |name: &str| COMMANDS.iter().any(|(command, ..)| *command == name);
            let actions = actions.filter(|(name, _)| !is_command(name));
            // Without an argument, the action of the same name has precedence over a control command.
            let control = control
                .iter()
                .filter(|command| Action::named(&command.name).is_none());
            let control = control.map(|command| (&*command.name, &*command.help));
            actions.chain(commands).chain(control).collect()
        }
        "view" => View::ALL.iter().map(|view| (view.name(), "")).collect(),
        "theme" => Theme::NAMES.iter().map(|name| (*name, "")).collect(),
        "bind" if head.contains(' ') => actions.collect(),
        _ => Vec::new(),
    };
    let words = all.into_iter().filter(|(name, _)| name.starts_with(word));
    Candidates {
        len: word.len(),
        words: words
            .map(|(name, help)| (name.to_owned(), help.to_owned()))
            .collect(),
    }
}
