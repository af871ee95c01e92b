//! The faults of joins, for programs that check sessions.

use teetap_proxy::session::{Event, Notice, SessionId, Time, What};
use teetap_wire::{Severity, Side};

use super::{Join, JoinOutcome};

/// Something that is wrong with a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The code, which is stable for scripts; `docs/src/joins.md` has a section for each.
    pub code: &'static str,
    /// The importance.
    pub severity: Severity,
    /// The session.
    pub session: SessionId,
    /// The time.
    pub at: Time,
    /// The sentence.
    pub sentence: String,
}

impl Finding {
    /// The code of a login that stands still.
    pub const LOGIN_STALLED: &'static str = "login-stalled";

    /// The codes of all findings about joins.
    pub const CODES: [&'static str; 3] = [
        Self::LOGIN_STALLED,
        JoinOutcome::NeverOnline.name(),
        JoinOutcome::NeverEntered.name(),
    ];

    /// Returns the finding that an event is: a login that stands still. A client that may be loading the map
    /// causes no warning.
    #[must_use]
    pub fn of_event(event: &Event) -> Option<Self> {
        let What::Notice(
            notice @ Notice::LoginStalled {
                from, waits_for, why, ..
            },
        ) = &event.what
        else {
            return None;
        };
        let may_load = *from == Side::Client && &**waits_for == "ready" && why.is_none();
        Some(Self {
            code: Self::LOGIN_STALLED,
            severity: if may_load {
                Severity::Info
            } else {
                Severity::Warning
            },
            session: event.session?,
            at: event.at,
            sentence: notice.to_string(),
        })
    }

    /// Returns the finding about a join that never came online or never entered the game. The severity is only a warning if the
    /// join was still open at the end, or its own client closed it in time.
    #[must_use]
    pub fn of_join(join: &Join) -> Option<Self> {
        let stopped = join.stopped()?;
        let what = match join.outcome {
            JoinOutcome::NeverOnline => "never came online",
            _ => "never entered the game",
        };
        let is_stuck =
            join.stalls > 0 || join.misstep.is_some() || join.cause.is_some() || join.rejection().is_some();
        Some(Self {
            code: join.outcome.name(),
            severity: if is_stuck && !join.kept {
                Severity::Error
            } else {
                Severity::Warning
            },
            session: join.session,
            at: join.end,
            sentence: format!("{what}: {stopped}"),
        })
    }
}
