//! A join that is over.

use std::{fmt, time::Duration};

use super::STOPPED;
use teetap_proxy::session::{SessionId, Time};
use teetap_wire::{
    Code, Side,
    receiver::{JoinKind, Rejection},
};

/// A join that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Join {
    /// The session.
    pub session: SessionId,
    /// The kind of join.
    pub kind: JoinKind,
    /// The time at which it began.
    pub begin: Time,
    /// The time at which it ended.
    pub end: Time,
    /// How far it came.
    pub outcome: JoinOutcome,
    /// The messages of the join that came, in the order of time.
    pub steps: Vec<PassedStep>,
    /// The number of times that it stood still.
    pub stalls: u32,
    /// True if it stood still only after messages that were lost on the way: their receivers sent datagrams that do not ack them.
    pub is_by_loss: bool,
    /// The end.
    pub ended: Ended,
    /// The last message of the join, with its ack as in [`Self::acked`].
    pub after: Option<&'static str>,
    /// True if the receiver of that message has acked it; `None` if it is not vital.
    pub acked: Option<bool>,
    /// The message that was awaited, and its sender; `None` after the last one.
    pub awaited: Option<(&'static str, Side)>,
    /// The reason why that message does not count, if it came: `came in a chunk that is not vital and is ignored`.
    pub misstep: Option<String>,
    /// True if a rule or a link line kept that message back.
    pub kept: bool,
    /// The note because of which that message did not count.
    pub note: Option<Code>,
    /// Another reason why nothing came, such as a server of another protocol.
    pub cause: Option<String>,
    /// How much of the map the client has, while it is downloaded: "the client has 2 of 3 parts of the map".
    pub parts: Option<String>,
    /// True if that is a mistake of the client, although the server is waited for.
    pub is_of_client: bool,
}

/// How far a join came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JoinOutcome {
    /// The server has sent the first snapshot.
    Entered,
    /// The server has accepted the client, which never came into the game.
    NeverEntered,
    /// The server has not accepted the client.
    NeverOnline,
    /// The run ended before it stood still: it might have gone further.
    Interrupted,
}

impl JoinOutcome {
    /// Returns the name for scripts.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Entered => "entered",
            Self::NeverEntered => "never-entered",
            Self::NeverOnline => "never-online",
            Self::Interrupted => "interrupted",
        }
    }
}

/// The end of a join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With the first snapshot.
    Entered,
    /// The session was closed.
    Closed {
        /// The side; `None` = the proxy, or the end of the recording.
        by: Option<Side>,
        /// The reason, without control characters.
        reason: Option<String>,
    },
    /// Nothing more came.
    Open,
}

impl Ended {
    /// Returns true if the session was closed at the end of the run. In a capture of the client's leg the server seems to have done it.
    #[must_use]
    pub fn is_by_teetap(&self) -> bool {
        matches!(self, Self::Closed { by: None | Some(Side::Server), reason: Some(reason) } if reason == STOPPED)
    }
}

/// A message of a join, and the time for which it was waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedStep {
    /// The name of the message; `map_data` stands for the whole download.
    pub name: &'static str,
    /// The side that was waited for.
    pub from: Side,
    /// The time at which it came, the last part of a download.
    pub at: Time,
    /// The time since the step before it.
    pub took: Duration,
    /// The number of messages: parts of a download, else 1.
    pub count: u32,
    /// The delay on its way to the receiver; `None` if the proxy passed it on at once.
    pub delayed: Option<Delayed>,
}

/// The delay of a message by the proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delayed {
    /// The names of the rules that held it; `None` = a link line.
    pub rules: Option<String>,
    /// How much later it left.
    pub time: Duration,
}

impl fmt::Display for Delayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "delayed {} ms ({})", self.time.as_millis(), self.by())
    }
}

impl Delayed {
    /// Returns the names of the rules, or `the link`.
    #[must_use]
    pub fn by(&self) -> &str {
        self.rules.as_deref().unwrap_or("the link")
    }
}

impl Join {
    /// Returns the rejection that the CLOSE of the server names.
    #[must_use]
    pub fn rejection(&self) -> Option<Rejection> {
        match &self.ended {
            Ended::Closed {
                by: Some(Side::Server),
                reason: Some(reason),
            } => Rejection::of(reason),
            _ => None,
        }
    }

    /// Returns the place where the join stopped and the likeliest reason; `None` for a join that came into the game, or was
    /// interrupted.
    #[must_use]
    pub fn stopped(&self) -> Option<String> {
        if matches!(self.outcome, JoinOutcome::Entered | JoinOutcome::Interrupted) {
            return None;
        }
        let after = self.after.map_or(String::new(), |after| {
            let acked = match self.acked {
                Some(true) => " (acked)",
                Some(false) => " (not acked)",
                None => "",
            };
            format!("after {after}{acked} ")
        });
        if let Some(rejection) = self.rejection() {
            let after = after.trim_end();
            let comma = if after.is_empty() { "" } else { ", " };
            return Some(format!(
                "{}{comma}{after}{}",
                rejection.text(),
                self.end_text(": CLOSE")
            ));
        }
        let never = match (self.awaited, &self.misstep) {
            (None, _) => "nothing more came".to_owned(),
            (Some((name, side)), None) => match &self.parts {
                Some(parts) => format!("the {side} sent no more {name} ({parts})"),
                None => format!("the {side} never sent {name}"),
            },
            (Some((name, side)), Some(misstep)) => format!("no {name} from the {side} counts: it {misstep}"),
        };
        let cause = self
            .cause
            .as_ref()
            .map_or(String::new(), |cause| format!(": {cause}"));
        Some(format!("{after}{never}{cause}{}", self.end_text("; closed")))
    }

    /// Returns the words for the end, after these.
    fn end_text(&self, closed: &str) -> String {
        match &self.ended {
            Ended::Entered
            | Ended::Closed {
                by: None,
                reason: None,
            } => String::new(),
            Ended::Open => "; there the events end".to_owned(),
            Ended::Closed { by, reason } => {
                let by = by.map_or(String::new(), |side| format!(" by the {side}"));
                let reason = reason.as_ref().filter(|reason| !reason.is_empty());
                let reason = reason.map_or(String::new(), |reason| format!(" \"{reason}\""));
                format!("{closed}{by}{reason}")
            }
        }
    }

    /// Returns the time that it took.
    #[must_use]
    pub fn took(&self) -> Duration {
        self.end.since(self.begin)
    }
}

impl fmt::Display for Join {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "session {} ", self.session.0)?;
        match (self.outcome, self.stopped()) {
            (JoinOutcome::NeverOnline, Some(stopped)) => write!(f, "never came online: {stopped}"),
            (_, Some(stopped)) => write!(f, "never entered the game: {stopped}"),
            (JoinOutcome::Interrupted, None) => {
                let ms = self.took().as_millis();
                let waits = self.awaited.map_or(String::new(), |(name, side)| {
                    format!(", before {name} from the {side}")
                });
                write!(
                    f,
                    "was joining when the run ended, after {ms} ms{waits} ({})",
                    self.kind
                )
            }
            (_, None) => write!(
                f,
                "entered the game after {} ms ({})",
                self.took().as_millis(),
                self.kind
            ),
        }
    }
}
