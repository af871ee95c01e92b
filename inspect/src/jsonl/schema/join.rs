//! The joins of sessions, in summaries.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use teetap_proxy::words::Word;
use teetap_wire::Side;

use crate::{
    joins::{Join, JoinOutcome, PassedStep},
    jsonl::time::{milliseconds, seconds},
};

/// A finished join.
#[derive(Serialize, Deserialize)]
pub struct JoinBody<'a> {
    /// The number of the session.
    pub session: u32,
    /// The kind, such as `0.7`.
    pub kind: Cow<'a, str>,
    /// Time of the first datagram, in seconds since the start.
    pub begin: f64,
    /// Time of the end, in seconds since the start.
    pub end: f64,
    /// `entered`, `never-entered`, `never-online` or `interrupted`.
    pub outcome: Cow<'a, str>,
    /// The step at which the join stopped, and the most likely reason; null if it entered the game or was interrupted.
    pub why: Option<Cow<'a, str>>,
    /// Number of times the join stalled.
    pub stalls: u32,
    /// The messages of the join that were sent.
    pub steps: Vec<StepBody<'a>>,
    /// The message awaited at the end; null after the last message of the join.
    pub awaited: Option<Cow<'a, str>>,
    /// The sender of the awaited message; null if `awaited` is null.
    pub from: Option<Word<Side>>,
}

/// A message of a join.
#[derive(Serialize, Deserialize)]
pub struct StepBody<'a> {
    /// Name of the message; `map_data` is the whole download.
    pub step: Cow<'a, str>,
    /// The side that sent the message.
    pub from: Word<Side>,
    /// Seconds since the start.
    pub at: f64,
    /// Milliseconds since the previous step.
    pub ms: f64,
    /// Number of messages.
    pub count: u32,
    /// The rules that held the message, or `the link`; null if nothing delayed it.
    pub delayed_by: Option<Cow<'a, str>>,
    /// Duration of the delay in milliseconds; null if `delayed_by` is null.
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
