//! Named actions: everything a key can do, declared in one table.
//!
//! The table has the name for the command line, the panes, the default keys, the words of the key hints, and the sentence of
//! the help. Key map, command line, help and documentation read it.

use crate::app::Pane;

/// The panes in which an action is available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All panes.
    Everywhere,
    /// These panes.
    In(&'static [Pane]),
}

impl Scope {
    /// Returns true if the action is available in a pane.
    #[must_use]
    pub fn has(self, pane: Pane) -> bool {
        match self {
            Self::Everywhere => true,
            Self::In(panes) => panes.contains(&pane),
        }
    }

    /// Returns true if there is a pane in which both are available.
    #[must_use]
    pub fn meets(self, other: Self) -> bool {
        Pane::ALL.iter().any(|pane| self.has(*pane) && other.has(*pane))
    }
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The action.
    pub action: Action,
    /// The name on the command line.
    pub name: &'static str,
    /// The panes.
    pub scope: Scope,
    /// The keys until they are bound otherwise. The first one is shown in hints.
    pub keys: &'static [&'static str],
    /// The word of the key hints; empty for an action that has no hint.
    pub hint: &'static str,
    /// The sentence of the help, imperative.
    pub help: &'static str,
}

macro_rules! actions {
    ($($variant:ident $name:literal $scope:ident [$($key:literal)+] $hint:literal $help:literal;)*) => {
        /// A change of the state, by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Action {
            $(#[doc = $help] $variant,)*
        }

        impl Action {
            /// Returns the row of the table.
            #[must_use]
            pub const fn entry(self) -> Entry {
                match self {
                    $(Self::$variant => Entry {
                        action: self,
                        name: $name,
                        scope: $scope,
                        keys: &[$($key),+],
                        hint: $hint,
                        help: $help,
                    },)*
                }
            }
        }

        /// All actions, in the order of the help.
        pub const TABLE: &[Entry] = &[$(Action::$variant.entry()),*];
    };
}

const ALL: Scope = Scope::Everywhere;
const LIST: Scope = Scope::In(&[Pane::List]);

actions! {
    Help          "help"           ALL  ["?"]                  "help"    "Show the keys of this pane; type to search, Enter runs one";
    Command       "command"        ALL  [":"]                  "command" "Type a command";
    Down          "down"           ALL  ["j" "down"]           ""        "Move down";
    Up            "up"             ALL  ["k" "up"]             ""        "Move up";
    PageDown      "page-down"      ALL  ["PgDn" "ctrl-d"]      ""        "Move down by a page";
    PageUp        "page-up"        ALL  ["PgUp" "ctrl-u"]      ""        "Move up by a page";
    First         "first"          ALL  ["g" "Home"]           ""        "Move to the first row";
    Last          "last"           ALL  ["G" "End"]            ""        "Move to the last row";
    Follow        "follow"         LIST ["F"]                  "follow"  "Follow the newest row, or stay";
    Freeze        "freeze"         LIST ["space"]              ""        "Freeze the view, or go on; the traffic goes on anyway";
    Fold          "fold"           LIST ["z"]                  "fold"    "Fold or unfold messages of this type";
    Lint          "lint"           LIST ["L"]                  ""        "Show only rows with warnings, with the counts, or all";
    Messages      "messages"       ALL  ["1"]                  ""        "Show the messages";
    Theme         "next-theme"     ALL  ["ctrl-t"]             ""        "Switch to the next theme";
    Back          "back"           ALL  ["esc"]                ""        "Go back";
    Quit          "quit"           ALL  ["q"]                  "quit"    "Go back, or end the run";
    QuitNow       "quit-now"       ALL  ["Q"]                  ""        "End the run";
    Stop          "stop"           ALL  ["ctrl-c"]             ""        "End the run, from a prompt too";
    Suspend       "suspend"        ALL  ["ctrl-z"]             ""        "Suspend the program; it forwards nothing until fg";
}

impl Action {
    /// Returns the action of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let entry = TABLE.iter().find(|entry| entry.name == name)?;
        Some(entry.action)
    }
}
