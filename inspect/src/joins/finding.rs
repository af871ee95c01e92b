//! Faults of joins, for programs that check sessions.

use teetap_proxy::session::{Event, EventKind, Notice, SessionId, Time};
use teetap_wire::{Severity, Side};

use super::{Join, JoinOutcome};

/// A fault of a join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The code, which is stable for scripts; `docs/src/joins.md` has a section for each code.
    pub code: &'static str,
    /// The severity.
    pub severity: Severity,
    /// The session.
    pub session: SessionId,
    /// Time of the stall, or of the end of the join.
    pub at: Time,
    /// The step at which the join stopped, and the most likely reason.
    pub sentence: String,
}

impl Finding {
    /// The code of a stalled login.
    const LOGIN_STALLED: &'static str = "login-stalled";

    /// Returns the finding for a notice of a stalled login; `None` for other events. The severity is info if the client
    /// may still be loading the map.
    #[must_use]
    pub(crate) fn of_event(event: &Event) -> Option<Self> {
        let EventKind::Notice(
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

    /// Returns the finding for a join that never came online or never entered the game; `None` for other joins. The
    /// severity is a warning if the proxy held a message back, or if the join neither stalled nor has a known reason.
    #[must_use]
    pub(crate) fn of_join(join: &Join) -> Option<Self> {
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
