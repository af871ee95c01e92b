//! A finished join.

use std::{fmt, time::Duration};

use super::{STOPPED, TIMEOUT};
use teetap_proxy::session::{SessionId, Time};
use teetap_wire::{
    Code, Side,
    receiver::{JoinKind, Rejection},
};

/// A finished join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Join {
    /// The session.
    pub session: SessionId,
    /// The kind of join.
    pub kind: JoinKind,
    /// Time at which the join began.
    pub begin: Time,
    /// Time at which the join ended.
    pub end: Time,
    /// How far the join progressed.
    pub outcome: JoinOutcome,
    /// The steps that the join has passed, in order of time.
    pub steps: Vec<PassedStep>,
    /// Number of times the join stalled.
    pub stalls: u32,
    /// True if the join stalled, and only after messages that were lost.
    pub is_by_loss: bool,
    /// True if the join stalled, and each stall ended after a peer had sent a message again. Datagrams may have been
    /// lost then, or ignored.
    pub is_resent: bool,
    /// How the join ended.
    pub ended: Ended,
    /// The last message of the join; `None` if the join has no message.
    pub after: Option<&'static str>,
    /// True if the receiver acked the message `after`; `None` if that message is not vital.
    pub acked: Option<bool>,
    /// The awaited message and its sender; `None` after the last message of the join.
    pub awaited: Option<(&'static str, Side)>,
    /// Why the awaited message had no effect although it was sent: `was sent in a chunk that is not vital and is ignored`.
    pub misstep: Option<String>,
    /// True if a rule or a link line dropped, held, delayed or changed the awaited message or an earlier message.
    pub kept: bool,
    /// The code of the note that explains why the awaited message had no effect.
    pub note: Option<Code>,
    /// Why the awaited message was not sent, such as a server of another protocol; `None` if unknown.
    pub cause: Option<String>,
    /// Final progress of the map download: `the client has 2 of 3 parts of the map`. `None` if no download was running.
    pub parts: Option<String>,
    /// The side whose mistake `cause` is, even if the awaited message is the other side's; `None` if unknown.
    pub blamed: Option<Side>,
}

/// How far a join progressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JoinOutcome {
    /// The server has sent the first snapshot.
    Entered,
    /// The server has accepted CONNECT, but the client never entered the game.
    NeverEntered,
    /// The server has not accepted CONNECT.
    NeverOnline,
    /// The run ended before the join stalled, so the join might have succeeded.
    Interrupted,
}

impl JoinOutcome {
    /// Returns the name for scripts.
    #[must_use]
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Entered => "entered",
            Self::NeverEntered => "never-entered",
            Self::NeverOnline => "never-online",
            Self::Interrupted => "interrupted",
        }
    }
}

/// How a join ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The server sent the first snapshot.
    Entered,
    /// The session was closed.
    Closed {
        /// The side that closed the session; `None` if the proxy closed it.
        by: Option<Side>,
        /// The reason, without control characters.
        reason: Option<String>,
    },
    /// The recording ended during the join.
    Open,
}

impl Ended {
    /// Returns true if the proxy closed the session at the end of its run. In a capture of the client leg, the proxy's
    /// CLOSE appears to be sent by the server.
    #[must_use]
    pub(super) fn is_by_teetap(&self) -> bool {
        matches!(self, Self::Closed { by: None | Some(Side::Server), reason: Some(reason) } if reason == STOPPED)
    }
}

/// A step that a join has passed, and the time that it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedStep {
    /// Name of the message; `map_data` is the whole download.
    pub name: &'static str,
    /// The side that sent the message.
    pub from: Side,
    /// Time at which the message, or the last part of a download, was sent.
    pub at: Time,
    /// Time since the previous step.
    pub took: Duration,
    /// Number of messages: the parts of a download, otherwise 1.
    pub count: u32,
    /// Delay caused by the proxy; `None` if the proxy forwarded the message at once.
    pub delayed: Option<Delayed>,
}

/// The delay of a message by the proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delayed {
    /// Names of the rules that held the message; `None` if a link line delayed it.
    pub rules: Option<String>,
    /// Duration of the delay.
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
    pub(crate) fn by(&self) -> &str {
        self.rules.as_deref().unwrap_or("the link")
    }
}

impl Join {
    /// Returns the rejection that the reason in the server's CLOSE states; `None` if there is none.
    #[must_use]
    pub(crate) fn rejection(&self) -> Option<Rejection> {
        match &self.ended {
            Ended::Closed {
                by: Some(Side::Server),
                reason: Some(reason),
            } => Rejection::from_reason(reason),
            _ => None,
        }
    }

    /// Returns true if `side` has closed the session because it has received nothing for a long time.
    #[must_use]
    pub(crate) fn has_received_nothing(&self, side: Side) -> bool {
        match &self.ended {
            Ended::Closed { by, reason } => {
                *by == Some(side)
                    && reason
                        .as_deref()
                        .is_some_and(|reason| reason.starts_with(TIMEOUT))
            }
            Ended::Entered | Ended::Open => false,
        }
    }

    /// Describes the step at which the join stopped and the most likely reason. `None` for a join that entered the game
    /// or was interrupted.
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
            (None, _) => "no further message was sent".to_owned(),
            (Some((name, side)), None) => match &self.parts {
                Some(parts) => format!("the {side} did not send the rest of {name} ({parts})"),
                None => format!("the {side} never sent {name}"),
            },
            (Some((name, side)), Some(misstep)) => {
                format!("the {name} of the {side} had no effect: it {misstep}")
            }
        };
        let cause = self
            .cause
            .as_ref()
            .map_or(String::new(), |cause| format!(": {cause}"));
        Some(format!("{after}{never}{cause}{}", self.end_text("; closed")))
    }

    /// Describes the end of the join, with `closed` as the words for a closed session. Empty if the cause is unknown.
    fn end_text(&self, closed: &str) -> String {
        match &self.ended {
            Ended::Entered
            | Ended::Closed {
                by: None,
                reason: None,
            } => String::new(),
            Ended::Open => "; the recording ends there".to_owned(),
            Ended::Closed { by, reason } => {
                let by = by.map_or(String::new(), |side| format!(" by the {side}"));
                let reason = reason.as_ref().filter(|reason| !reason.is_empty());
                let reason = reason.map_or(String::new(), |reason| format!(" \"{reason}\""));
                format!("{closed}{by}{reason}")
            }
        }
    }

    /// Returns the duration of the join.
    #[must_use]
    pub(crate) fn took(&self) -> Duration {
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
