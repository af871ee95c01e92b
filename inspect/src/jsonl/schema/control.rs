//! The results of commands on the control socket, which are parts of an answer.

use std::net::SocketAddr;

use serde::{Serialize, Serializer};
use teetap_proxy::{
    io::ProxyState,
    session::{HeldMessage, Listed, State, Time},
    words::Word,
};
use teetap_wire::Proto;

use teetap_wire::PerDir;

/// The result of a command; all fields are missing if the command has no result.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ResultBody {
    /// Warnings about the text of the command.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<Vec<ListedBody>>,
    /// The rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<Vec<RuleBody>>,
    /// The counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stats: Option<StatsBody>,
    /// The messages that the proxy holds. [`AnswerBody`](super::AnswerBody) writes them.
    #[serde(skip)]
    pub held: Option<Vec<HeldMessage>>,
}

/// A session that is not closed.
#[derive(Clone, Debug, Serialize)]
pub struct ListedBody {
    session: u32,
    state: Word<State>,
    proto: Word<Proto>,
    client: SocketAddr,
    /// Time at which the session was opened.
    #[serde(serialize_with = "seconds")]
    opened: Time,
}

impl From<&Listed> for ListedBody {
    fn from(listed: &Listed) -> Self {
        Self {
            session: listed.id.0,
            state: Word(listed.state),
            proto: Word(listed.proto),
            client: listed.client,
            opened: listed.opened,
        }
    }
}

/// A statement of the rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleBody {
    /// The name of the rule; the text of the statement if it has no name.
    pub name: String,
    /// The text as written, on one line.
    pub text: String,
    /// Where the statement is from: `--rule`, `control`, or the file name.
    pub from: String,
    /// Line number of its first line in that source, from 1.
    pub line: usize,
    /// False if the statement is switched off.
    pub on: bool,
    /// Number of messages on which the rule acted; `None` for other statements.
    pub hits: Option<u64>,
    /// Time of the last action.
    #[serde(serialize_with = "opt_seconds")]
    pub last_hit: Option<Time>,
}

/// The counts of a run.
#[derive(Clone, Debug, Serialize)]
pub struct StatsBody {
    sessions: u64,
    never_online: u64,
    datagrams: PerDir<u64>,
    bytes: PerDir<u64>,
    refused: u64,
    unsent: u64,
    network_errors: u64,
    /// Number of connections to the control socket. The owner of the socket sets it.
    pub connections: usize,
    /// Number of subscribed connections. The owner of the socket sets it.
    pub subscribers: usize,
}

impl StatsBody {
    /// Returns the counts of a proxy without connections to its control socket.
    #[must_use]
    pub fn new(look: &ProxyState) -> Self {
        let stats = &look.stats;
        Self {
            sessions: stats.sessions,
            never_online: stats.opened.saturating_sub(stats.sessions),
            datagrams: stats.traffic.map(|traffic| traffic.datagrams),
            bytes: stats.traffic.map(|traffic| traffic.bytes),
            refused: stats.refused,
            unsent: look.counters.unsent,
            network_errors: look.counters.errors,
            connections: 0,
            subscribers: 0,
        }
    }
}

fn opt_seconds<S: Serializer>(at: &Option<Time>, serializer: S) -> Result<S::Ok, S::Error> {
    at.map(crate::jsonl::time::seconds).serialize(serializer)
}

fn seconds<S: Serializer>(at: &Time, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(crate::jsonl::time::seconds(*at))
}
