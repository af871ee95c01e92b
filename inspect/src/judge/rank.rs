//! The ranking of findings: causes precede their consequences, and losses in the network are last.

use std::cmp::Reverse;

use teetap_proxy::session::Time;
use teetap_wire::{Code, Severity};

use super::{
    finding::Finding,
    finding_code::{FindingCode, PossibleCause, Role, Topic},
    peers::Culprit,
};

/// All findings of a run or a recording, the most important first.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// The findings, in order of rank.
    pub list: Vec<Finding>,
    /// The usual ends of sessions, in order of time. They are no oddities and not counted.
    pub ends: Vec<Finding>,
    /// Number of oddities that are not listed because the maximum number of findings or sessions was reached.
    pub unlisted: u64,
    /// True if events were lost, so that findings may be missing.
    pub missed: bool,
}

/// The number of findings of each severity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of errors.
    pub errors: u64,
    /// Number of warnings.
    pub warnings: u64,
    /// Number of harmless oddities.
    pub infos: u64,
}

impl Findings {
    /// Sorts findings by importance.
    ///
    /// Faults and consequences precede network findings. Within each group, errors precede warnings, and earlier
    /// findings precede later findings. Surplus bytes that no receiver reads are last.
    ///
    /// A fault that precedes the end of a consequence in the same session ranks at least as high as the consequence.
    /// For a warning this holds only if the consequence does not name another cause. A warning also ranks as high as an
    /// error of the same peer in the same or the next datagram. If a session has a consequence, its harmless warnings
    /// rank below other findings of the same severity.
    pub(super) fn rank(list: Vec<Finding>) -> Vec<Finding> {
        let consequences: Vec<_> = list.iter().filter(|one| one.role == Role::Consequence).collect();
        let keys: Vec<RankKey> = list
            .iter()
            .map(|one| RankKey::from_finding(one, &consequences, &list))
            .collect();
        let mut ranked: Vec<_> = keys.into_iter().zip(list).collect();
        // A stable sort: findings of equal rank keep the order in which they were found.
        ranked.sort_by_key(|(key, _)| *key);
        ranked.into_iter().map(|(_, finding)| finding).collect()
    }

    /// Returns the number of findings of each severity.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let count = |severity| self.list.iter().filter(|one| one.severity == severity).count() as u64;
        Counts {
            errors: count(Severity::Error),
            warnings: count(Severity::Warning),
            infos: count(Severity::Info),
        }
    }

    /// Keeps only the findings for which `pass` returns true.
    pub fn retain(&mut self, mut pass: impl FnMut(&Finding) -> bool) {
        self.list.retain(&mut pass);
        self.ends.retain(pass);
    }
}

impl Finding {
    /// Returns true if this fault may have led to the consequence `end`.
    fn led_to(&self, end: &Self) -> bool {
        let is_error = self.severity == Severity::Error;
        let may_lead = match end.led_by {
            // A stalled join that waits for a silent peer already reports that peer, and names the awaited message.
            PossibleCause::Any => self.leads && !(self.is_silence() && end.is_of_login_of(self.by)),
            PossibleCause::Only(topic) => self.topic == topic,
            PossibleCause::Proxy => false,
        };
        self.role == Role::Fault && (is_error || self.severity == Severity::Warning && may_lead)
    }

    fn is_silence(&self) -> bool {
        self.topic == Topic::FindingCode(FindingCode::PeerSilent)
    }

    /// Returns true if this finding is a stalled or unfinished join for which the side `by` is responsible.
    fn is_of_login_of(&self, by: Culprit) -> bool {
        matches!(self.topic, Topic::FindingCode(finding_code) if finding_code.is_about_login())
            && self.by == by
    }

    /// Returns an error of the same peer in the same or the next datagram, which this warning may have caused.
    fn next_error<'a>(&self, all: &'a [Self]) -> Option<&'a Self> {
        let own = self
            .first
            .datagram
            .filter(|_| self.role == Role::Fault && self.leads)?;
        let is_next = |other: &&Self| {
            let same = (other.run, other.session, other.by) == (self.run, self.session, self.by);
            let number = other.first.datagram.filter(|_| other.first.dir == self.first.dir);
            let after = number.and_then(|number| number.checked_sub(own));
            let is_error = other.role == Role::Fault && other.severity == Severity::Error;
            same && is_error && matches!(after, Some(0 | 1))
        };
        let is_warning = self.severity == Severity::Warning;
        all.iter().filter(|_| is_warning).find(is_next)
    }
}

/// Sort key of a finding; the lowest key is first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RankKey {
    /// True for surplus bytes, which no receiver reads.
    is_trifle: bool,
    is_network: bool,
    severity: Reverse<Severity>,
    /// True for a harmless warning in a session that has a consequence.
    is_beside: bool,
    run: u32,
    at: Time,
    role: Role,
}

impl RankKey {
    fn from_finding(finding: &Finding, consequences: &[&Finding], all: &[Finding]) -> Self {
        let led_to = |end: &&&Finding| {
            (end.run, end.session) == (finding.run, finding.session) && finding.first.at <= end.last
        };
        let ends = consequences
            .iter()
            .filter(led_to)
            .filter(|end| finding.led_to(end));
        let severity = ends.map(|end| end.severity).max();
        let same = |end: &&Finding| (end.run, end.session) == (finding.run, finding.session);
        let is_harmless = finding.role == Role::Fault && !finding.leads && severity.is_none();
        let severity = severity.max(finding.next_error(all).map(|error| error.severity));
        Self {
            is_trifle: finding.topic == Topic::Note(Code::SurplusBytes) && finding.severity == Severity::Info,
            is_network: finding.role == Role::Network,
            severity: Reverse(finding.severity.max(severity.unwrap_or(Severity::Info))),
            is_beside: is_harmless && consequences.iter().copied().any(|end| same(&end)),
            run: finding.run,
            // A consequence is sorted by its end, so that faults that prolonged it precede it.
            at: match finding.role {
                Role::Consequence => finding.last,
                Role::Fault | Role::Network | Role::End => finding.first.at,
            },
            role: finding.role,
        }
    }
}
