//! The command line: the names of all actions, and commands that have an argument.

use teetap_wire::def::suggest;

use super::{App, View, prompt::Candidates};
use crate::{
    Theme,
    action::{Action, TABLE},
    keymap::Key,
    update::update,
};

/// Commands with an argument: the name, the argument, and the sentence of the help.
pub const COMMANDS: &[(&str, &str, &str)] = &[
    ("view", "NAME", "Show a view"),
    (
        "theme",
        "NAME",
        "Use a theme: default, light, mono, high-contrast",
    ),
    (
        "bind",
        "KEY ACTION",
        "Bind a key to an action, until the end of the run",
    ),
];

/// Carries out a line.
///
/// # Errors
/// Returns the reason why it is refused.
pub fn carry_out(app: &mut App, line: &str) -> Result<(), String> {
    let line = line.trim();
    if line.is_empty() {
        return Ok(());
    }
    let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
    let rest = rest.trim();
    if let (Some(action), "") = (Action::named(name), rest) {
        if !action.entry().scope.has(app.focus) {
            return Err(format!("'{name}' is not available in this pane"));
        }
        update(app, action);
        return Ok(());
    }
    match name {
        "view" => app.show(view(rest)?),
        "filter" => app.set_filter(rest).map_err(|(_, why)| why)?,
        "theme" => {
            let names = Theme::ALL.map(|(name, _)| name);
            app.theme = Theme::named(rest).ok_or_else(|| unknown("theme", rest, &names))?;
        }
        "bind" => {
            let (key, action) = rest.split_once(' ').ok_or("write bind KEY ACTION")?;
            let key: Key = key.parse()?;
            let names: Vec<&str> = TABLE.iter().map(|entry| entry.name).collect();
            let action = action.trim();
            let action = Action::named(action).ok_or_else(|| unknown("action", action, &names))?;
            app.keymap.bind(key, action);
        }
        _ => {
            let mut names: Vec<&str> = TABLE.iter().map(|entry| entry.name).collect();
            names.extend(COMMANDS.iter().map(|(name, ..)| *name));
            return Err(unknown("command", name, &names));
        }
    }
    Ok(())
}

fn view(name: &str) -> Result<View, String> {
    let names: Vec<&str> = View::ALL.iter().map(|view| view.name()).collect();
    let mut views = View::ALL.iter().copied();
    let found = views.find(|view| view.name() == name || view.number().to_string() == name);
    found.ok_or_else(|| unknown("view", name, &names))
}

fn unknown(what: &str, name: &str, names: &[&str]) -> String {
    let meant = suggest(name, names.iter().copied());
    let help = meant.map_or_else(|| names.join(", "), |name| format!("did you mean {name}?"));
    format!("unknown {what} '{name}'; {help}")
}

/// Returns the words that can complete a line.
#[must_use]
pub fn candidates(before: &str) -> Candidates {
    let (head, word) = before.rsplit_once(' ').unwrap_or(("", before));
    let actions = TABLE.iter().map(|entry| (entry.name, entry.help));
    let all: Vec<(&str, &str)> = match head.split(' ').next().unwrap_or_default() {
        "" => {
            let commands = COMMANDS.iter().map(|(name, _, help)| (*name, *help));
            actions.chain(commands).collect()
        }
        "view" => View::ALL.iter().map(|view| (view.name(), "")).collect(),
        "theme" => Theme::ALL.iter().map(|(name, _)| (*name, "")).collect(),
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
