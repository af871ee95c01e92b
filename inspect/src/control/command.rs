//! The commands that control a run.
//!
//! Each command is declared once: serde derives its JSON object for the control socket, clap its arguments for
//! `teetap ctl` and the command line of the terminal UI, which sends it directly. The first lines of the docs here are the
//! help of `teetap ctl`.

use clap::{ArgAction, Args, Subcommand};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use teetap_proxy::{io::input_log::Hex, session::SessionId};
use teetap_rules::Made;
use teetap_wire::Dir;

use super::place::{Edit, HeldPlace, Sides};

/// A command for a run.
///
/// In JSON lines, `cmd` is the name in snake case, with the prefix `rule_` for a [`RuleCommand`]. A command without a
/// session applies to the only session that is online.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Subcommand)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// List the sessions
    Sessions {},
    /// Print the counts of the run
    Stats {},
    /// End the run
    Stop {},
    /// Inject a message
    Inject(Inject),
    /// Close a session
    Close {
        /// The session
        #[arg(skip)]
        session: Option<SessionId>,
        /// Close all sessions
        #[arg(long, conflicts_with = "session")]
        #[serde(default)]
        all: bool,
        /// Close only the leg towards this side
        #[arg(long, value_name = "SIDE", default_value = "both")]
        #[serde(default)]
        side: Sides,
        /// Reason shown to the peers
        #[arg(value_name = "REASON", default_value = "")]
        #[serde(default)]
        reason: String,
    },
    /// Request a complete snapshot from the server
    Resync {
        /// The session
        #[arg(skip)]
        session: Option<SessionId>,
    },
    /// List the held messages
    Held {
        /// The session; `None` for all
        #[arg(skip)]
        session: Option<SessionId>,
    },
    /// Release a held message
    Release(HeldPlace),
    /// Change a held message
    Edit(Edit),
    /// Drop a held message
    Drop(HeldPlace),
    /// List or change the rules and link lines
    Rules {
        /// The change; `None` lists them
        #[command(subcommand)]
        #[serde(skip)]
        change: Option<RuleCommand>,
    },
    /// Print events as they happen
    Subscribe {
        /// Print only messages that match
        #[arg(value_name = "FILTER")]
        filter: Option<String>,
        /// Print a line per datagram; twice: its bytes too
        #[arg(short, long, action = ArgAction::Count)]
        #[serde(default)]
        verbose: u8,
    },
    /// End the subscription of a connection
    #[command(skip)]
    Unsubscribe {},
}

impl Command {
    /// Sets the session of a command that acts on one: `wanted`, otherwise `shown` if the command needs a session.
    /// Returns false if the command does not act on a session.
    pub fn set_session(&mut self, wanted: Option<SessionId>, shown: Option<SessionId>) -> bool {
        let (session, shown) = match self {
            Self::Inject(Inject { session, .. })
            | Self::Close {
                session, all: false, ..
            }
            | Self::Resync { session } => (session, shown),
            // A held message is found in any session.
            Self::Held { session }
            | Self::Release(HeldPlace { session, .. })
            | Self::Edit(Edit { session, .. })
            | Self::Drop(HeldPlace { session, .. }) => (session, None),
            Self::Sessions {}
            | Self::Stats {}
            | Self::Stop {}
            | Self::Close { all: true, .. }
            | Self::Rules { .. }
            | Self::Subscribe { .. }
            | Self::Unsubscribe {} => return false,
        };
        *session = wanted.or(*session).or(shown);
        true
    }
}

/// A command about rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Subcommand)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum RuleCommand {
    /// List the rules and link lines
    // On the socket it is `rules`.
    #[serde(skip)]
    List,
    /// Add rules or link lines after all others
    Add {
        /// The text, such as 'drop when sv_chat'
        #[arg(value_name = "TEXT")]
        text: String,
    },
    /// Replace a rule not read from a file
    Replace {
        /// The name of the rule as in the list
        #[arg(value_name = "NAME")]
        name: String,
        /// The new text
        #[arg(value_name = "TEXT")]
        text: String,
    },
    /// Swap two rules not read from a file
    Swap {
        /// The name of the rule as in the list
        #[arg(value_name = "NAME")]
        name: String,
        /// The name of the other rule
        #[arg(value_name = "WITH")]
        with: String,
    },
    /// Remove a rule not read from a file
    Remove {
        /// The name of the rule as in the list
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Switch a rule on
    On {
        /// The name of the rule as in the list
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Switch a rule off
    Off {
        /// The name of the rule as in the list
        #[arg(value_name = "NAME")]
        name: String,
    },
}

impl From<RuleCommand> for Command {
    fn from(change: RuleCommand) -> Self {
        Self::Rules { change: Some(change) }
    }
}

/// One more message, in one of three forms: a text, a name and fields, or bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Args)]
#[serde(deny_unknown_fields)]
pub struct Inject {
    /// The session
    #[arg(skip)]
    pub session: Option<SessionId>,
    /// The message, such as 's2c sv_chat{client_id: -1, message: "hi"}'
    ///
    /// A missing field has its default. Or the bytes of id and fields: 's2c vital 0x06...', 's2c nonvital 0x...'.
    #[arg(value_name = "MESSAGE", required = true)]
    pub message: Option<String>,
    /// The direction of a message in another form
    #[arg(skip)]
    pub dir: Option<Dir>,
    /// The name of the message
    #[arg(skip)]
    pub name: Option<String>,
    /// The fields by name; a missing field has its default
    #[arg(skip)]
    pub fields: Option<Map<String, Value>>,
    /// `None` for the usual way of the message; with bytes it is vital
    #[arg(skip)]
    pub vital: Option<bool>,
    /// Id and fields in hex
    #[arg(skip)]
    pub hex: Option<String>,
}

impl Inject {
    /// Returns an injection of a message written as `s2c sv_chat{message: "text"}`.
    #[must_use]
    pub fn text(session: Option<SessionId>, text: &str) -> Self {
        Self {
            session,
            message: Some(text.to_owned()),
            ..Self::default()
        }
    }

    /// Returns an injection of a message given by its bytes.
    #[must_use]
    pub fn bytes(session: SessionId, made: &Made) -> Self {
        Self {
            session: Some(session),
            dir: Some(made.dir),
            vital: Some(made.vital),
            hex: Some(Hex::from(made.data.as_slice()).to_string()),
            ..Self::default()
        }
    }
}
