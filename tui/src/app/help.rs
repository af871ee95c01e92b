//! The help of a pane: its keys and all commands, made from the tables.

use super::{App, Pane, cursor::Cursor, editor::Editor};
use crate::{
    action::{ACTIONS, Action},
    command::{COMMANDS, control_commands},
    keymap::Keymap,
};

/// The help, while it is open.
#[derive(Clone, Debug, Default)]
pub(crate) struct Help {
    /// Words that a row must contain to be shown.
    pub(crate) search: Editor,
    /// Cursor in the rows.
    pub(crate) cursor: Cursor,
}

/// A row of the help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HelpRow {
    /// Keys; empty for a command without keys.
    pub(crate) keys: String,
    /// Name, with its arguments.
    pub(crate) name: String,
    /// Sentence of the help.
    pub(crate) help: String,
    /// The action that Enter runs; `None` for a command with arguments.
    pub(crate) action: Option<Action>,
}

/// Returns the rows for a pane: its actions with their keys, then the commands with arguments.
#[must_use]
pub(crate) fn rows(keymap: &Keymap, pane: Pane) -> Vec<HelpRow> {
    let actions = ACTIONS.iter().filter(|entry| entry.scope.has(pane)).map(|entry| {
        let keys: Vec<String> = keymap.keys(entry.action).map(|key| key.to_string()).collect();
        HelpRow {
            keys: keys.join(" "),
            name: entry.name.to_owned(),
            help: entry.help.to_owned(),
            action: Some(entry.action),
        }
    });
    let commands = COMMANDS.iter().map(|(name, argument, help)| HelpRow {
        keys: String::new(),
        name: format!(":{name} {argument}").trim_end().to_owned(),
        help: (*help).to_owned(),
        action: None,
    });
    let control = control_commands().into_iter().map(|command| HelpRow {
        keys: String::new(),
        name: format!(":{} {}", command.name, command.arguments)
            .trim_end()
            .to_owned(),
        help: command.help,
        action: None,
    });
    actions.chain(commands).chain(control).collect()
}

impl Help {
    /// Returns the rows that contain all words of the search.
    #[must_use]
    pub(crate) fn rows(&self, app: &App) -> Vec<HelpRow> {
        let words = self.search.text().to_lowercase();
        let mut rows = rows(&app.dialog.keymap, app.panes.focus);
        rows.retain(|row| {
            let text = format!("{} {} {}", row.keys, row.name, row.help).to_lowercase();
            words.split_whitespace().all(|word| text.contains(word))
        });
        rows
    }
}
