//! The order of findings: causes before their consequences, losses last.

use std::cmp::Reverse;

use teetap_proxy::session::Time;
use teetap_wire::Severity;

use super::{finding::Finding, matter::Role};

/// All findings of a run or a recording, the most important first.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// The findings.
    pub list: Vec<Finding>,
    /// Oddities that are in none of them: there were too many different ones.
    pub unlisted: u64,
    /// Events that were missed, whose oddities are not known.
    pub missed: bool,
}

/// The number of findings of each severity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Errors.
    pub errors: u64,
    /// Warnings.
    pub warnings: u64,
    /// Harmless oddities.
    pub infos: u64,
}

impl Findings {
    /// Ranks findings.
    ///
    /// Faults and consequences come before losses, errors before warnings, early ones before late ones. A fault that came in the
    /// session before one of its consequences counts as much as that, and stands before it.
    pub(super) fn rank(list: Vec<Finding>) -> Vec<Finding> {
        let consequences: Vec<_> = list.iter().filter(|one| one.role == Role::Consequence).collect();
        let keys: Vec<Key> = list.iter().map(|one| Key::of(one, &consequences)).collect();
        let mut ranked: Vec<_> = keys.into_iter().zip(list).collect();
        // A stable sort: what is equal keeps the order in which it was found.
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

    /// Keeps the findings that pass.
    pub fn retain(&mut self, pass: impl FnMut(&Finding) -> bool) {
        self.list.retain(pass);
    }
}

/// The rank of a finding; the lowest is first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    is_network: bool,
    severity: Reverse<Severity>,
    run: u32,
    at: Time,
    role: Role,
}

impl Key {
    fn of(finding: &Finding, consequences: &[&Finding]) -> Self {
        let led_to = |end: &&&Finding| {
            (end.run, end.session) == (finding.run, finding.session) && finding.first.at <= end.last
        };
        let is_cause = finding.role == Role::Fault && finding.severity >= Severity::Warning;
        let ends = consequences.iter().filter(led_to).filter(|_| is_cause);
        let severity = ends.map(|end| end.severity).max();
        Self {
            is_network: finding.role == Role::Network,
            severity: Reverse(finding.severity.max(severity.unwrap_or(Severity::Info))),
            run: finding.run,
            // A consequence is complete at its end: the faults that kept it up came before.
            at: match finding.role {
                Role::Consequence => finding.last,
                Role::Fault | Role::Network => finding.first.at,
            },
            role: finding.role,
        }
    }
}
