//! The help of a pane: its keys and all commands, made from the tables.

use super::{App, Pane, cursor::Cursor, editor::Editor};
use crate::{
    action::{ACTIONS, Action, ActionRow, Scope},
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
    /// What the row is.
    pub(crate) kind: HelpKind,
}

/// Kind of a row of the help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HelpKind {
    /// The title of a group.
    Title,
    /// An action or a command.
    Entry,
    /// A letter, a sign or a column of the screen.
    Sign,
}

/// Letters, signs and columns of the message list.
const LIST: &[(&str, &str)] = &[
    ("id", "session; - for none"),
    ("way", "c→s to the server, s→c to the client"),
    ("f", "V vital, R vital and sent again, - not vital"),
    ("seq", "number of a vital message on its sender's leg"),
    ("D L E H", "a rule dropped, lost, edited or holds it"),
    ("L", "also: a link line lost its datagram"),
    ("I", "a rule or a person created or released it"),
    ("X", "the proxy refused its datagram"),
    ("G K F", "not sent: after a gap, known, no room"),
    ("*", "a rule acted, and it was sent unchanged"),
    ("!", "it has a warning or an error"),
    ("◆", "a mark of yours"),
    ("×", "folded messages, and their number per second"),
];

/// Signs and columns of the ladder.
const LADDER: &[(&str, &str)] = &[
    ("seq ack", "the numbers of the leg on this side"),
    ("─▸ ◂─", "the way of a datagram on a leg"),
    ("─x", "a link line lost the datagram"),
    ("x", "the proxy did not forward it"),
    ("seq+1 ack-2", "numbers differ between the legs"),
    ("R", "a resend, and the time of its original"),
    ("●", "it has a message of the selected datagram"),
];

/// Signs of the snapshot.
const SNAPSHOT: &[(&str, &str)] = &[
    ("+ ~ -", "a new, a changed, a deleted item"),
    ("→", "the old and the new value"),
];

/// Columns of the sessions.
const SESSIONS: &[(&str, &str)] = &[
    ("rtt c/s", "round trip in ms: client's leg, server's leg"),
    ("lost", "lost vital messages: client's, server's leg"),
    ("lint", "warnings and errors"),
    ("▸", "the session of ladder, snapshot and stats"),
];

/// Columns of the rules.
const RULES: &[(&str, &str)] = &[
    ("on off", "on!: with a warning, shown if selected"),
    ("hits last", "messages that matched, time of the last"),
];

/// Returns the letters, signs and columns of a pane.
const fn signs(pane: Pane) -> &'static [(&'static str, &'static str)] {
    match pane {
        Pane::List | Pane::Tree | Pane::Hex | Pane::Queue => LIST,
        Pane::Ladder => LADDER,
        Pane::Snapshot => SNAPSHOT,
        Pane::Sessions => SESSIONS,
        Pane::Rules => RULES,
        Pane::Stats | Pane::Log => &[],
    }
}

/// Returns the title of the group of an action.
fn group(entry: &ActionRow) -> &'static str {
    match entry.scope {
        _ if entry.action.view().is_some() => "views",
        Scope::Everywhere => "everywhere",
        Scope::In(_) => "this pane",
    }
}

/// Returns the rows for a pane in groups: its actions with their keys, the letters and columns, the actions of all panes,
/// the views, the commands with arguments.
#[must_use]
pub(crate) fn rows(keymap: &Keymap, pane: Pane) -> Vec<HelpRow> {
    let row = |keys: String, name: String, help: &str, action, kind| HelpRow {
        keys,
        name,
        help: help.to_owned(),
        action,
        kind,
    };
    let title = |text: &str| row(String::new(), String::new(), text, None, HelpKind::Title);
    let of_group = |wanted: &'static str| {
        let entries = ACTIONS
            .iter()
            .filter(move |entry| entry.scope.has(pane) && group(entry) == wanted);
        entries.map(move |entry| {
            let keys: Vec<String> = keymap.keys(entry.action).map(|key| key.to_string()).collect();
            let action = Some(entry.action);
            row(
                keys.join(" "),
                entry.name.to_owned(),
                entry.help,
                action,
                HelpKind::Entry,
            )
        })
    };
    let commands = COMMANDS.iter().map(|(name, argument, help)| {
        let name = format!(":{name} {argument}").trim_end().to_owned();
        row(String::new(), name, help, None, HelpKind::Entry)
    });
    let control = control_commands().into_iter().map(|command| {
        let name = format!(":{} {}", command.name, command.arguments);
        let name = name.trim_end().to_owned();
        row(String::new(), name, &command.help, None, HelpKind::Entry)
    });
    let signs = signs(pane)
        .iter()
        .map(|(sign, help)| row((*sign).to_owned(), String::new(), help, None, HelpKind::Sign));
    let groups: [(&str, Vec<HelpRow>); 5] = [
        ("this pane", of_group("this pane").collect()),
        ("letters and columns", signs.collect()),
        ("everywhere", of_group("everywhere").collect()),
        ("views", of_group("views").collect()),
        ("commands: type : and the name", commands.chain(control).collect()),
    ];
    let mut all = Vec::new();
    for (name, rows) in groups {
        if !rows.is_empty() {
            all.push(title(name));
            all.extend(rows);
        }
    }
    all
}

impl Help {
    /// Returns the rows that contain all words of the search.
    #[must_use]
    pub(crate) fn rows(&self, app: &App) -> Vec<HelpRow> {
        let words = self.search.text().to_lowercase();
        let mut rows = rows(&app.dialog.keymap, app.panes.focus);
        rows.retain(|row| {
            // Titles are for the whole list.
            if row.kind == HelpKind::Title && !words.is_empty() {
                return false;
            }
            let text = format!("{} {} {}", row.keys, row.name, row.help).to_lowercase();
            words.split_whitespace().all(|word| text.contains(word))
        });
        rows
    }
}
