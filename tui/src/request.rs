//! Requests to the proxy, and the answers.
//!
//! The screen touches no sockets: its owner takes the requests from [`App::take_requests`](crate::App::take_requests), carries
//! them out and gives each back with its answer to [`App::answer`](crate::App::answer).

use std::sync::Arc;

use teetap_inspect::DecodedEvent;
use teetap_proxy::session::{SessionId, Time, Waiting};
use teetap_rules::Made;

/// A request to the proxy.
#[derive(Clone, Debug)]
pub enum Request {
    /// Send one more message, written as `s2c sv_chat{message: "text"}`.
    Inject {
        /// The session; `None` for the only one that is online.
        session: Option<SessionId>,
        /// The message.
        text: String,
    },
    /// Send these bytes as a message.
    Send {
        /// The session.
        session: SessionId,
        /// The message.
        message: Made,
    },
    /// List what is held.
    Held,
    /// Let a held message go.
    Release(Box<Waiting>),
    /// Drop a held message.
    Drop(Box<Waiting>),
    /// Change the fields of a held message, written as `cl_say{message: "text"}`.
    Edit(Box<Waiting>, String),
    /// List the rules.
    Rules,
    /// Add a rule after all others.
    AddRule(String),
    /// Put a text in the place of a rule.
    ReplaceRule {
        /// The rule.
        name: String,
        /// The new text.
        text: String,
    },
    /// Remove a rule.
    RemoveRule(String),
    /// Change the places of two rules.
    SwapRules(String, String),
    /// Switch rules on or off.
    SwitchRules {
        /// The rules.
        names: Vec<String>,
        /// The new state.
        on: bool,
    },
    /// Close both legs of a session.
    Close {
        /// The session; `None` for the only one that is online.
        session: Option<SessionId>,
        /// The reason that the peers show.
        reason: String,
    },
    /// Have the server send a complete snapshot.
    Resync {
        /// The session; `None` for the only one that is online.
        session: Option<SessionId>,
    },
    /// Write events to a new file; its ending selects the format.
    Save {
        /// The file.
        path: String,
        /// The events.
        events: Vec<Arc<DecodedEvent>>,
    },
    /// Keep a text in a file, for terminals that have no clipboard.
    Copy(String),
}

/// The answer to a request that was carried out.
#[derive(Clone, Debug)]
pub enum Reply {
    /// Done; a sentence to show, which may be empty.
    Done(String),
    /// The rules in their order.
    Rules(Vec<Rule>),
    /// The held messages.
    Held(Vec<Waiting>),
}

/// A rule, link line or other statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The name, or else the text.
    pub name: String,
    /// The text without the name, on one line.
    pub text: String,
    /// The origin: an option, a file, the screen.
    pub from: String,
    /// False if it is switched off.
    pub on: bool,
    /// The number of messages on which it acted; `None` for what is not a rule.
    pub hits: Option<u64>,
    /// The time of the last one.
    pub last: Option<Time>,
}

impl Rule {
    /// A rule with this text that is being added.
    pub(crate) fn new(text: &str) -> Self {
        Self {
            name: text.to_owned(),
            text: text.to_owned(),
            from: String::new(),
            on: true,
            hits: None,
            last: None,
        }
    }
}
