//! The results of commands on the control socket: parts of an answer.

use std::net::SocketAddr;

use serde::{Serialize, Serializer};
use teetap_proxy::{
    io::Look,
    session::{Listed, State, Time, Waiting},
    words::Word,
};
use teetap_wire::Proto;

use super::PerDir;

/// The result of a command; all parts are missing where it has none.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ResultBody {
    /// The warnings about its text.
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
    /// The messages that are held. [`AnswerBody`](super::AnswerBody) writes them.
    #[serde(skip)]
    pub held: Option<Vec<Waiting>>,
}

/// A session that is not closed.
#[derive(Clone, Debug, Serialize)]
pub struct ListedBody {
    session: u32,
    state: Word<State>,
    proto: Word<Proto>,
    client: SocketAddr,
    /// The time at which it opened.
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
    /// The name, or else the text.
    pub name: String,
    /// The text as written, on one line.
    pub text: String,
    /// The origin: `--rule`, `control`, or the file.
    pub from: String,
    /// The number of its first line there, from 1.
    pub line: usize,
    /// False if it is switched off.
    pub on: bool,
    /// The number of messages on which it acted; `None` for what is not a rule.
    pub hits: Option<u64>,
    /// The time of the last one.
    #[serde(serialize_with = "opt_seconds")]
    pub last_hit: Option<Time>,
}

/// The counts of a run.
#[derive(Clone, Debug, Serialize)]
pub struct StatsBody {
    sessions: u64,
    never_online: u64,
    datagrams: PerDir,
    bytes: PerDir,
    refused: u64,
    unsent: u64,
    network_errors: u64,
    /// Connections to the control socket, which its owner fills in.
    pub connections: usize,
    /// The connections that are subscribed, which the owner of the control socket fills in.
    pub subscribers: usize,
}

impl StatsBody {
    /// Returns the counts of a proxy without connections to its control socket.
    #[must_use]
    pub fn new(look: &Look) -> Self {
        let stats = &look.stats;
        Self {
            sessions: stats.sessions,
            never_online: stats.opened.saturating_sub(stats.sessions),
            datagrams: PerDir {
                c2s: stats.c2s.datagrams,
                s2c: stats.s2c.datagrams,
            },
            bytes: PerDir {
                c2s: stats.c2s.bytes,
                s2c: stats.s2c.bytes,
            },
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
