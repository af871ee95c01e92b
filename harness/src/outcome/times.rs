//! The times in the summary of a run.
//!
//! Law: times are on the clock of the lines above the summary: the clock of the session, or of the run with `--time
//! run` and `wall`.

use std::collections::BTreeMap;

use teetap_inspect::{DecodedEvent, Ending, judge::Finding};
use teetap_proxy::session::{EventKind, SessionId, State, Time};

/// Maximum number of sessions whose start is kept. Times in older sessions count from the start of the run.
const SESSIONS: usize = 4096;

/// Start times of sessions.
#[derive(Clone, Debug, Default)]
pub struct Times {
    begins: BTreeMap<SessionId, Time>,
    /// True if times count from the start of the run.
    is_of_run: bool,
}

impl Times {
    /// Returns a clock whose times count from the start of their session, or from the start of the run if `is_of_run`.
    #[must_use]
    pub const fn new(is_of_run: bool) -> Self {
        Self {
            begins: BTreeMap::new(),
            is_of_run,
        }
    }

    /// Records the start of a session.
    pub fn event(&mut self, decoded: &DecodedEvent) {
        let event = &decoded.event;
        let is_opening = matches!(&event.what, EventKind::Session(change) if change.state == State::Opening);
        if let Some(session) = event.session.filter(|_| is_opening && !self.is_of_run) {
            if self.begins.len() >= SESSIONS {
                self.begins.pop_first();
            }
            self.begins.insert(session, decoded.since.unwrap_or(event.at));
        }
    }

    /// Converts a time of the run to the clock of the lines, in whole milliseconds.
    #[must_use]
    pub fn convert(&self, session: Option<SessionId>, at: Time) -> Time {
        let begin = session.and_then(|session| self.begins.get(&session));
        let micros = at.0.saturating_sub(begin.map_or(0, |begin| begin.0));
        Time(micros - micros % 1000)
    }

    /// Returns the ending with its time converted to the clock of the printed lines.
    #[must_use]
    pub(super) fn ending(&self, ending: &Ending) -> Ending {
        let at = self.convert(ending.session, ending.at);
        Ending { at, ..ending.clone() }
    }

    /// Returns the finding with its times converted to the clock of the printed lines.
    #[must_use]
    pub fn finding(&self, finding: &Finding) -> Finding {
        let mut shown = finding.clone();
        shown.first.at = self.convert(finding.session, finding.first.at);
        shown.last = self.convert(finding.session, finding.last);
        shown
    }
}

#[cfg(test)]
mod tests {
    use teetap_inspect::{
        Stated,
        judge::{Culprit, FindingCode, Judge, Occurrence, Report, Topic},
    };
    use teetap_wire::def::Secrets;

    use super::*;

    #[test]
    fn a_time_in_a_session_counts_from_its_start() {
        let session = Some(SessionId(3));
        let mut times = Times::new(false);
        times.begins.insert(SessionId(3), Time(500_000));
        assert_eq!(times.convert(session, Time(700_999)), Time(200_000));
        assert_eq!(times.convert(Some(SessionId(4)), Time(700_000)), Time(700_000));
        assert_eq!(times.convert(None, Time(700_000)), Time(700_000));
        let run = Times::new(true);
        assert_eq!(run.convert(session, Time(700_999)), Time(700_000));
    }
    #[test]
    fn both_times_of_a_finding_count_from_the_start_of_its_session() {
        let session = Some(SessionId(3));
        let mut judge = Judge::new(Secrets::Hide, Stated::default());
        for at in [700_999, 800_000] {
            judge.report(Report {
                topic: Topic::FindingCode(FindingCode::UpstreamSilent),
                session,
                by: Culprit::Server,
                severity: None,
                text: "for a test".into(),
                detail: None,
                place: Occurrence::at(Time(at)),
            });
        }
        let mut times = Times::new(false);
        times.begins.insert(SessionId(3), Time(500_000));
        let found = judge.findings().list;
        let shown: Vec<_> = found.iter().map(|finding| times.finding(finding)).collect();
        let at: Vec<_> = shown
            .iter()
            .map(|finding| (finding.first.at, finding.last))
            .collect();
        assert_eq!(at, [(Time(200_000), Time(300_000))]);
    }
}
