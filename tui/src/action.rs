//! Named actions: everything a key can do, declared in one table.
//!
//! The table has the name for the command line, the panes, the default keys, the word for key hints, and the sentence
//! of the help. Key map, command line, help and documentation read it.

use crate::app::view::{Pane, View};

/// The panes in which an action is available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All panes.
    Everywhere,
    /// These panes.
    In(&'static [Pane]),
}

impl Scope {
    /// Returns true if the action is available in a pane.
    #[must_use]
    pub(crate) fn has(self, pane: Pane) -> bool {
        match self {
            Self::Everywhere => true,
            Self::In(panes) => panes.contains(&pane),
        }
    }

    /// Returns true if both actions are available in some pane.
    #[must_use]
    pub(crate) fn meets(self, other: Self) -> bool {
        Pane::ALL.iter().any(|pane| self.has(*pane) && other.has(*pane))
    }
}

/// Row of the table of actions.
#[derive(Clone, Copy, Debug)]
pub struct ActionRow {
    /// The action.
    pub(crate) action: Action,
    /// The name on the command line.
    pub name: &'static str,
    /// Panes in which the action is available.
    pub(crate) scope: Scope,
    /// Default keys. The first one is shown in hints.
    pub keys: &'static [&'static str],
    /// Word in the key hints; empty for an action without a hint.
    pub(crate) hint: &'static str,
    /// Sentence of the help, in the imperative.
    pub help: &'static str,
}

impl ActionRow {
    /// Returns the names of the panes in which the action is available; empty for all panes.
    #[must_use]
    pub fn panes(&self) -> Vec<&'static str> {
        match self.scope {
            Scope::Everywhere => Vec::new(),
            Scope::In(panes) => panes.iter().map(|pane| pane.name()).collect(),
        }
    }
}

macro_rules! actions {
    ($($variant:ident $name:literal $scope:ident [$($key:literal)+] $hint:literal $help:literal;)*) => {
        /// A named change of the state.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Action {
            $(#[doc = $help] $variant,)*
        }

        impl Action {
            /// Returns the action's row of the table.
            #[must_use]
            pub const fn entry(self) -> ActionRow {
                match self {
                    $(Self::$variant => ActionRow {
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
        pub const ACTIONS: &[ActionRow] = &[$(Action::$variant.entry()),*];
    };
}

const ALL: Scope = Scope::Everywhere;
const FOLDS: Scope = Scope::In(&[Pane::List, Pane::Ladder]);
const HEX: Scope = Scope::In(&[Pane::Hex]);
const ROWS: Scope = Scope::In(&[Pane::List, Pane::Tree, Pane::Hex, Pane::Queue]);
const FILTERED: Scope = Scope::In(&[Pane::List, Pane::Tree, Pane::Hex, Pane::Queue, Pane::Ladder]);
const RULES: Scope = Scope::In(&[Pane::Rules]);
const TABLE_OF_SESSIONS: Scope = Scope::In(&[Pane::Sessions]);
const LADDER: Scope = Scope::In(&[Pane::Ladder]);
const SNAPSHOT: Scope = Scope::In(&[Pane::Snapshot]);
const STATS: Scope = Scope::In(&[Pane::Stats]);
const ONE_SESSION: Scope = Scope::In(&[Pane::Ladder, Pane::Snapshot, Pane::Stats]);

actions! {
    Help          "help"           ALL  ["?"]                  "help"    "Show the keys of this pane, and search them";
    Command       "command"        ALL  [":"]                  "command" "Type a command";
    Down          "down"           ALL  ["j" "down"]           ""        "Move down";
    Up            "up"             ALL  ["k" "up"]             ""        "Move up";
    PageDown      "page-down"      ALL  ["PgDn" "ctrl-d"]      ""        "Move down by a page";
    PageUp        "page-up"        ALL  ["PgUp" "ctrl-u"]      ""        "Move up by a page";
    First         "first"          ALL  ["g" "Home"]           ""        "Move to the first row";
    Last          "last"           ALL  ["G" "End"]            ""        "Move to the last row";
    Open          "open"           ROWS ["enter"]              "open"    "Open the message, or go to its next pane";
    NextPane      "next-pane"      ALL  ["tab"]                "next pane"        "Go to the next pane";
    PreviousPane  "previous-pane"  ALL  ["shift-tab"]          ""        "Go to the previous pane";
    Left          "left"           HEX  ["h" "left"]           ""        "Move to the byte before";
    Right         "right"          HEX  ["l" "right"]          ""        "Move to the next byte";
    Filter        "filter"         FILTERED ["/"]                  "filter"  "Type a filter; an empty one shows everything";
    FilterOnOff   "filter-on-off"  FILTERED ["f"]                  "filter off"        "Switch the filter off, or on again";
    Search        "search"         ROWS ["ctrl-f"]             "search"  "Search for a text in the rows";
    NextMatch     "next-match"     ROWS ["n"]                  "next match"        "Go to the next match of the search";
    PreviousMatch "previous-match" ROWS ["N"]                  ""        "Go to the previous match of the search";
    Follow        "follow"         ROWS ["F"]                  "follow"  "Follow the newest row, or stay";
    Freeze        "freeze"         ROWS ["space"]              "freeze"        "Freeze the view; the traffic is not held";
    Fold          "fold"           FOLDS ["z"]                  "fold"    "Fold this type, or unfold; the ladder: noise";
    Lint          "lint"           ROWS ["L"]                  "warnings"        "Show only rows with warnings, or all";
    Session       "session"        ROWS ["s"]                  "session" "Pick the session that is shown, or all";
    Earlier       "earlier"        ROWS ["<"]                  "earlier"        "Go to an earlier place of the recording";
    Later         "later"          ROWS [">"]                  "later"        "Go to a later place of the recording";
    Time          "time"           ROWS ["t"]                  "times"        "Change times: run, session, delta, wall";
    Mark          "mark"           ROWS ["m"]                  "mark"        "Mark the row, or remove its mark";
    NextMark      "next-mark"      ROWS ["'"]                  ""        "Go to the next marked row";
    Zoom          "zoom"           ROWS ["\\"]                 "zoom"        "Show only this pane, or all";
    Wider         "wider"          ROWS ["+"]                  ""        "Make the list larger";
    Narrower      "narrower"       ROWS ["-"]                  ""        "Make the list smaller";
    Intercept     "intercept"      ROWS ["p"]                  "pause"   "Pause what passes the filter, or stop that";
    Release       "release"        ROWS ["a"]                  "release"        "Release the selected held message";
    ReleaseAll    "release-all"    ROWS ["A"]                  "all"        "Release all held messages";
    Edit          "edit"           ROWS ["e"]                  "edit"        "Edit a held message, or a copy of this one";
    DropHeld      "drop"           ROWS ["d"]                  "drop"        "Drop the selected held message; press it twice";
    RuleFromRow   "rule-from-row"  ROWS ["x"]                  "rule"    "Make a rule for messages like this one";
    Inject        "inject"         ROWS ["i"]                  "inject"  "Inject a message, once or at an interval";
    Again         "send-again"     ROWS ["r"]                  "again"        "Send the selected message again";
    StopRepeat    "stop-repeat"    ROWS ["I"]                  "stop sending"        "Stop sending a message every so often";
    Copy          "copy"           ROWS ["y"]                  "copy"        "Copy the row: hex, JSON, rule, command, link";
    Save          "save"           ROWS ["w"]                  "save"        "Save the shown rows, or the selected one";
    AddRule       "add-rule"       RULES ["o"]                 "add"     "Add a rule or link line";
    EditRule      "edit-rule"      RULES ["enter" "e"]         "edit"    "Edit the selected rule";
    ToggleRule    "toggle-rule"    RULES ["space"]             "on/off"  "Switch the selected rule on or off";
    DeleteRule    "delete-rule"    RULES ["d" "Del"]           "delete"  "Delete the selected rule";
    Undo          "undo"           RULES ["u"]                 "undo"    "Undo the last change of a rule, or its deletion";
    RuleDown      "rule-down"      RULES ["J"]                 "down"        "Move the selected rule down";
    RuleUp        "rule-up"        RULES ["K"]                 "up"        "Move the selected rule up";
    Less          "less"           RULES ["h" "left"]          "less"        "Lower by 5 ms or 1 %, or choose a profile";
    More          "more"           RULES ["l" "right"]         "more"        "Raise by 5 ms or 1 %, or choose a profile";
    AllRules      "all-rules"      ALL  ["R"]                  "all off"        "Switch all rules off, or on again";
    OpenSession   "open-session"   TABLE_OF_SESSIONS ["enter"] "ladder" "Show the ladder of the session";
    NextSession   "next-session"   ONE_SESSION ["s"]           "session" "Show the next session";
    OpenDatagram  "open-datagram"  LADDER ["enter"]            "open"   "Show the messages of the datagram";
    NextResend    "next-resend"    LADDER ["n"]                "next resend" "Go to the next datagram with a resend";
    PreviousResend "previous-resend" LADDER ["N"]              ""       "Go to the previous datagram with a resend";
    Original      "original"       LADDER ["o"]                "original"  "Go from a resend to its original";
    Map           "map"            SNAPSHOT ["M"]              "map"    "Show or hide the map of the snapshot";
    KeepSnapshot  "keep-snapshot"  SNAPSHOT ["space"]          "keep"   "Keep this snapshot, or show the newest";
    NextGraph     "next-graph"     STATS ["right" "l"]         "graph"  "Show the next graph first";
    PreviousGraph "previous-graph" STATS ["left" "h"]          ""       "Show the previous graph first";
    AllSessions   "all-sessions"   STATS ["a"]                 "all"    "Count the messages of all sessions, or of one";
    Messages      "messages"       ALL  ["1"]                  ""        "Show the messages";
    Sessions      "sessions"       ALL  ["2"]                  ""        "Show the sessions";
    Rules         "rules"          ALL  ["3"]                  ""        "Show the rules and link lines";
    Ladder        "ladder"         ALL  ["4"]                  ""        "Show the datagrams of a session on both legs";
    Snapshot      "snapshot"       ALL  ["5"]                  ""        "Show the current snapshot of a session";
    Stats         "stats"          ALL  ["6"]                  ""        "Show the statistics of a session";
    Log           "log"            ALL  ["7"]                  ""        "Show the log";
    Theme         "next-theme"     ALL  ["ctrl-t"]             ""        "Switch to the next theme";
    Redraw        "redraw"         ALL  ["ctrl-l"]             ""        "Draw the screen again";
    Back          "back"           ALL  ["esc"]                "back"        "Go back";
    Quit          "quit"           ALL  ["q"]                  "quit"    "Go back, or end the run; with players it asks";
    QuitNow       "quit-now"       ALL  ["Q"]                  ""        "End the run; with players press it twice";
    Stop          "stop"           ALL  ["ctrl-c"]             ""        "Close a prompt, menu or form; else end the run";
    Suspend       "suspend"        ALL  ["ctrl-z"]             ""        "Suspend the program: it forwards nothing";
}

/// Returns the actions whose keys the last line names for a pane, the most important first. Those that have no effect
/// now are left out.
#[must_use]
pub(crate) const fn hints_of(pane: Pane) -> &'static [Action] {
    match pane {
        Pane::List => HINTS_OF_LIST,
        Pane::Tree | Pane::Hex => HINTS_OF_TREE,
        Pane::Queue => HINTS_OF_QUEUE,
        Pane::Rules => HINTS_OF_RULES,
        Pane::Sessions => HINTS_OF_SESSIONS,
        Pane::Ladder => HINTS_OF_LADDER,
        Pane::Snapshot => HINTS_OF_SNAPSHOT,
        Pane::Stats => HINTS_OF_STATS,
        Pane::Log => HINTS_OF_LOG,
    }
}

const HINTS_OF_LIST: &[Action] = &[
    Action::Help,
    Action::StopRepeat,
    Action::Release,
    Action::Open,
    Action::Filter,
    Action::FilterOnOff,
    Action::NextMatch,
    Action::Edit,
    Action::Intercept,
    Action::RuleFromRow,
    Action::Session,
    Action::Inject,
    Action::Save,
    Action::Lint,
    Action::Copy,
    Action::Fold,
    Action::Search,
    Action::Follow,
    Action::Freeze,
    Action::Time,
    Action::Mark,
    Action::Again,
    Action::Command,
    Action::Quit,
];

const HINTS_OF_TREE: &[Action] = &[
    Action::Help,
    Action::Back,
    Action::NextPane,
    Action::Zoom,
    Action::Edit,
    Action::RuleFromRow,
    Action::Copy,
    Action::Filter,
    Action::Again,
    Action::Mark,
    Action::Command,
];

const HINTS_OF_QUEUE: &[Action] = &[
    Action::Help,
    Action::Release,
    Action::ReleaseAll,
    Action::Edit,
    Action::DropHeld,
    Action::NextPane,
    Action::Intercept,
    Action::Command,
];

const HINTS_OF_RULES: &[Action] = &[
    Action::Help,
    Action::Undo,
    Action::AddRule,
    Action::EditRule,
    Action::ToggleRule,
    Action::DeleteRule,
    Action::Less,
    Action::More,
    Action::Back,
    Action::AllRules,
    Action::RuleUp,
    Action::RuleDown,
    Action::Command,
];

const HINTS_OF_SESSIONS: &[Action] = &[
    Action::Help,
    Action::OpenSession,
    Action::Back,
    Action::Command,
    Action::Quit,
];

const HINTS_OF_LADDER: &[Action] = &[
    Action::Help,
    Action::OpenDatagram,
    Action::NextResend,
    Action::PreviousResend,
    Action::Original,
    Action::Fold,
    Action::Filter,
    Action::FilterOnOff,
    Action::NextSession,
    Action::Back,
    Action::Command,
];

const HINTS_OF_SNAPSHOT: &[Action] = &[
    Action::Help,
    Action::NextSession,
    Action::Map,
    Action::KeepSnapshot,
    Action::Back,
    Action::Command,
];

const HINTS_OF_STATS: &[Action] = &[
    Action::Help,
    Action::NextSession,
    Action::NextGraph,
    Action::AllSessions,
    Action::Back,
    Action::Command,
];

const HINTS_OF_LOG: &[Action] = &[Action::Help, Action::Back, Action::Command, Action::Quit];

impl Action {
    /// Returns the action called `name`; `None` if there is none.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let entry = ACTIONS.iter().find(|entry| entry.name == name)?;
        Some(entry.action)
    }

    /// Returns the view that the action shows, which has the same name; `None` for other actions.
    #[must_use]
    pub(crate) fn view(self) -> Option<View> {
        let name = self.entry().name;
        View::ALL.iter().copied().find(|view| view.name() == name)
    }
}
