//! A finding: an oddity of a peer in a session, with the first place and the number of times.

use std::{borrow::Cow, fmt, net::SocketAddr};

use teetap_proxy::session::{SessionId, Time};
use teetap_wire::{Dir, Severity};

use super::{
    matter::{LedBy, Role, Topic},
    peers::{By, Program},
};

/// An oddity that a peer showed once or more often in a session.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The kind.
    pub topic: Topic,
    /// The importance. That of losses is at most a warning.
    pub severity: Severity,
    /// The part that it plays.
    pub role: Role,
    /// The session; `None` outside of sessions.
    pub session: Option<SessionId>,
    /// The number of the run in the recording, from 1.
    pub run: u32,
    /// The side whose bytes show it.
    pub by: By,
    /// The release of that side; `None` if nothing shows it.
    pub program: Option<Program>,
    /// The meaning, and the reaction of the receiver.
    pub text: Cow<'static, str>,
    /// The value that came first, and the one that was expected.
    pub detail: Option<String>,
    /// The first place.
    pub first: Place,
    /// The time of the last one.
    pub last: Time,
    /// How often it was seen.
    pub count: u64,
    /// True if it may have led to a consequence.
    pub(super) leads: bool,
    /// The findings that may have led to it.
    pub(super) led_by: LedBy,
}

/// The place of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The time.
    pub at: Time,
    /// The direction; `None` if it is not of one.
    pub dir: Option<Dir>,
    /// The number of the datagram in the session and direction; `None` if no peer sent it, or there is none.
    pub datagram: Option<u64>,
    /// The number of the datagram in the capture, or in the run.
    pub frame: Option<u64>,
    /// The name of the message; `None` if it is not about one.
    pub message: Option<Cow<'static, str>>,
    /// The client, outside of sessions.
    pub client: Option<SocketAddr>,
}

impl Place {
    /// Returns a place that is only a time.
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
    /// Returns the expression of a filter for the lines that show it; `None` if there is none.
    #[must_use]
    pub fn filter(&self) -> Option<String> {
        let session = self.session.map(|session| format!("sess.id == {}", session.0));
        match (session, self.topic.filter()) {
            (Some(session), Some(lint)) => Some(format!("{session} and {lint}")),
            (one, other) => one.or(other),
        }
    }

    /// Returns the side, with its release: "client (DDNet 16.4)".
    #[must_use]
    pub fn peer(&self) -> String {
        match &self.program {
            Some(program) => format!("{} ({program})", self.by.name()),
            None => self.by.name().to_owned(),
        }
    }

    /// Returns the code, the meaning, and what was received and expected.
    #[must_use]
    pub fn sentence(&self) -> String {
        let message = self.first.message.as_ref();
        let message = message.map_or(String::new(), |name| format!(" in {name}"));
        let detail = self.detail.as_ref();
        let detail = detail.map_or(String::new(), |detail| format!("; {detail}"));
        format!("{}{message}: {}{detail}", self.topic, self.text)
    }

    /// Returns the first place and the count: "session 3, datagram 7, at 0.945 s, 5 times".
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
    /// Formats it as one line: "error ack-ahead: ..., by the client (DDNet 20.1, assumed), session 3, at 0.945 s".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (severity, sentence) = (self.severity.name(), self.sentence());
        let (peer, place) = (self.peer(), self.place(false));
        write!(f, "{severity} {sentence}; by the {peer}, {place}")
    }
}
