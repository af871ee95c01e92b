//! The joins of sessions, in summaries.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use teetap_proxy::words::Word;
use teetap_wire::Side;

use crate::{
    course::{Join, JoinOutcome, PassedStep},
    jsonl::time::{milliseconds, seconds},
};

/// A join that is over.
#[derive(Serialize, Deserialize)]
pub struct JoinBody<'a> {
    /// The number of the session.
    pub session: u32,
    /// The kind, such as `0.7`.
    pub kind: Cow<'a, str>,
    /// Seconds since the start, at its first datagram.
    pub begin: f64,
    /// The same at its end.
    pub end: f64,
    /// `entered`, `never-entered`, `never-online` or `interrupted`.
    pub outcome: Cow<'a, str>,
    /// The place where it stopped, and the likeliest reason; null if it came into the game or was interrupted.
    pub why: Option<Cow<'a, str>>,
    /// The number of times that it stood still.
    pub stalls: u32,
    /// The messages that came.
    pub steps: Vec<StepBody<'a>>,
    /// The message that was awaited at the end; null after the last one.
    pub awaited: Option<Cow<'a, str>>,
    /// The sender of that message; null as `awaited`.
    pub from: Option<Word<Side>>,
}

/// A message of a join.
#[derive(Serialize, Deserialize)]
pub struct StepBody<'a> {
    /// The name of the message; `map_data` stands for the whole download.
    pub step: Cow<'a, str>,
    /// The side that was waited for.
    pub from: Word<Side>,
    /// Seconds since the start.
    pub at: f64,
    /// Milliseconds since the step before it.
    pub ms: f64,
    /// The number of messages.
    pub count: u32,
    /// The rules that held it, or `the link`; null if nothing delayed it.
    pub delayed_by: Option<Cow<'a, str>>,
    /// Milliseconds for which that delayed it; null as `delayed_by`.
    pub delayed_ms: Option<f64>,
}

impl<'a> JoinBody<'a> {
    /// Returns the fields of a join.
    #[must_use]
    pub fn new(join: &'a Join) -> Self {
        let (awaited, from) = join
            .awaited
            .filter(|_| join.outcome != JoinOutcome::Entered)
            .map(|(name, side)| (Cow::Borrowed(name), Word(side)))
            .unzip();
        Self {
            session: join.session.0,
            kind: join.kind.name().into(),
            begin: seconds(join.begin),
            end: seconds(join.end),
            outcome: join.outcome.name().into(),
            why: join.stopped().map(Into::into),
            stalls: join.stalls,
            steps: join.steps.iter().map(StepBody::new).collect(),
            awaited,
            from,
        }
    }
}

impl<'a> StepBody<'a> {
    fn new(step: &'a PassedStep) -> Self {
        Self {
            step: step.name.into(),
            from: Word(step.from),
            at: seconds(step.at),
            ms: milliseconds(step.took),
            count: step.count,
            delayed_by: step.delayed.as_ref().map(|delayed| delayed.by().into()),
            delayed_ms: step.delayed.as_ref().map(|delayed| milliseconds(delayed.time)),
        }
    }
}
