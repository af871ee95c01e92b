//! A finding: an oddity of a peer in a session, with its first occurrence and count.

use std::{borrow::Cow, fmt, net::SocketAddr};

use teetap_proxy::session::{SessionId, Time};
use teetap_wire::{Dir, Severity};

use crate::Values;

use super::{
    finding_code::{PossibleCause, Role, Topic},
    peers::{Culprit, PeerRelease},
};

/// An oddity that a peer showed at least once in a session.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The kind of oddity.
    pub topic: Topic,
    /// The severity. A loss is at most a warning.
    pub severity: Severity,
    /// Whether the finding is a fault, a consequence of a fault, or an effect of the network.
    pub role: Role,
    /// The session; `None` outside of sessions.
    pub session: Option<SessionId>,
    /// Number of the run in the recording, from 1.
    pub run: u32,
    /// The side that is responsible for the oddity.
    pub by: Culprit,
    /// The release of that side; `None` if unknown.
    pub program: Option<PeerRelease>,
    /// Explains the oddity and how the receiver reacts.
    pub text: Cow<'static, str>,
    /// The value received at the first occurrence and the value expected instead; `None` if the oddity has no values.
    pub detail: Option<Values>,
    /// The first occurrence.
    pub first: Occurrence,
    /// Time of the last occurrence.
    pub last: Time,
    /// Number of occurrences, at least 1.
    pub count: u64,
    /// True if the oddity may lead to a consequence.
    pub(super) leads: bool,
    /// The faults that may have led to this consequence.
    pub(super) led_by: PossibleCause,
}

/// Where in the traffic a finding was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// The time.
    pub at: Time,
    /// The direction; `None` if the finding is about no direction.
    pub dir: Option<Dir>,
    /// Number of the datagram in the session and direction; `None` if no peer sent it, or the finding is about no
    /// datagram.
    pub datagram: Option<u64>,
    /// Number of the datagram in the capture or the run.
    pub frame: Option<u64>,
    /// Name of the message; `None` if the finding is about no message.
    pub message: Option<Cow<'static, str>>,
    /// Address of the client, for a finding outside of sessions.
    pub client: Option<SocketAddr>,
}

impl Occurrence {
    /// Creates a place with a time and nothing else.
    #[must_use]
    pub const fn at(at: Time) -> Self {
        Self {
            at,
            dir: None,
            datagram: None,
            frame: None,
            message: None,
            client: None,
        }
    }
}

impl Finding {
    /// Returns a filter expression that selects the output lines of the finding; `None` if it has neither a session
    /// nor a note code.
    #[must_use]
    pub fn filter(&self) -> Option<String> {
        let session = self.session.map(|session| format!("sess.id == {}", session.0));
        match (session, self.topic.filter()) {
            (Some(session), Some(lint)) => Some(format!("{session} and {lint}")),
            (one, other) => one.or(other),
        }
    }

    /// Returns the side and its release, such as `the client (DDNet 16.4)`.
    #[must_use]
    pub fn peer(&self) -> String {
        match (self.by, &self.program) {
            (Culprit::Nobody, _) => self.by.name().to_owned(),
            (by, Some(program)) => format!("the {} ({program})", by.name()),
            (by, None) => format!("the {}", by.name()),
        }
    }

    /// Returns the role and the side, such as `fault of the client (DDNet 16.4)`.
    #[must_use]
    pub fn attribution(&self) -> String {
        match self.role {
            Role::End => format!("ended by {}", self.peer()),
            Role::Consequence if self.by == Culprit::Nobody => {
                "consequence of no fault that the recording proves".to_owned()
            }
            role => format!("{} of {}", role.name(), self.peer()),
        }
    }

    /// Returns the code, its meaning, and the received and the expected value.
    #[must_use]
    pub fn sentence(&self) -> String {
        let message = self.first.message.as_ref();
        let message = message.map_or(String::new(), |name| format!(" in {name}"));
        let detail = self.detail.as_ref();
        let detail = detail.map_or(String::new(), |detail| format!("; {detail}"));
        format!("{}{message}: {}{detail}", self.topic, self.text)
    }

    /// Describes the first occurrence and the count: `session 3, c2s datagram 7, at 0.945 s, 5 times until 2.000 s`.
    /// With `with_frame`, names the frame of the capture instead of the datagram, if known.
    #[must_use]
    pub fn place(&self, with_frame: bool) -> String {
        let mut parts = Vec::new();
        parts.extend((self.run > 1).then(|| format!("run {}", self.run)));
        match (self.session, self.first.client) {
            (Some(session), _) => parts.push(format!("session {}", session.0)),
            (None, Some(client)) => parts.push(client.to_string()),
            (None, None) => {}
        }
        match (self.first.frame.filter(|_| with_frame), self.first.datagram) {
            (Some(frame), _) => parts.push(format!("frame {frame}")),
            (None, Some(datagram)) => {
                let way = self.first.dir.map_or(String::new(), |dir| format!("{dir} "));
                parts.push(format!("{way}datagram {datagram}"));
            }
            (None, None) => {}
        }
        parts.push(format!("at {}", seconds(self.first.at)));
        parts.extend((self.count > 1).then(|| {
            let last = seconds(self.last);
            format!("{} times until {last}", self.count)
        }));
        parts.join(", ")
    }
}

fn seconds(at: Time) -> String {
    format!("{:.3} s", at.as_secs_f64())
}

impl fmt::Display for Finding {
    /// Formats the finding as one line, such as
    /// `error ack-ahead: ...; by the client (DDNet 20.1, assumed), session 3, at 0.945 s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (severity, sentence) = (self.severity.name(), self.sentence());
        let (peer, place) = (self.peer(), self.place(false));
        write!(f, "{severity} {sentence}; by {peer}, {place}")
    }
}
