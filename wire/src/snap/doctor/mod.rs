//! Diagnoses snapshots that clients discard because of a wrong sum: lists the possible causes, the most likely first.
//!
//! The sum in a message is the sum of the sender's items. Its difference to the computed sum is compared with the
//! effects of typical faults of senders: an item that is counted twice, a missing deletion, a base of another tick. A
//! fault that also explains the previous wrong sums is listed first, then a fault of a kind with few candidates,
//! since such a fault is less likely to fit by chance.
//!
//! Law: the diagnosis depends only on the snapshots, and its cost is bounded. It is computed only on request for a
//! wrong snapshot, and only some of many consecutive wrong snapshots are examined.

mod case;
mod cause;
mod fields;
mod forms;
mod items;
mod sizes;
mod whole;

use std::fmt;

use super::Store;
use super::delta::Delta;
use super::row::WrongRun;
use super::snapshot::Snapshot;
use super::view::{Crc, Fate};
use case::Candidate;
pub use cause::{Cause, FieldFault, FormFault, ItemFault, SumFault};

/// The maximum number of causes in a diagnosis.
const MOST: usize = 3;

/// The causes that fit the wrong snapshots of a session so far.
#[derive(Debug, Clone, Default)]
pub struct ChecksumCauses {
    /// The first tick of the row.
    since: Option<i32>,
    /// The causes of the last wrong snapshot, with the number of snapshots that each explains.
    causes: Vec<(Cause, u32)>,
}

/// A possible cause of a wrong snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    /// The cause.
    pub cause: Cause,
    /// The cause in words.
    pub text: String,
    /// The number of consecutive wrong snapshots that the cause explains.
    pub explains: u32,
}

/// The reasons why a snapshot may be wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    /// The sums; `None` if the snapshot cannot be read.
    pub crc: Option<Crc>,
    /// The consecutive wrong snapshots up to and including this snapshot.
    pub row: WrongRun,
    /// At most three possible causes, the most likely first.
    pub causes: Vec<Explained>,
    /// The number of other causes that would explain the snapshot as well.
    pub others: usize,
    /// True if the snapshot was examined.
    pub examined: bool,
}

impl Store<'_> {
    /// Returns the possible causes why the snapshot that the last message completed is wrong. Returns `None` if the
    /// snapshot is correct, or if it is unreadable for an unknown reason. `message` is the last message.
    #[must_use]
    pub fn diagnose(&self, doctor: &mut ChecksumCauses, message: &[u8]) -> Option<Diagnosis> {
        let completed = self.completed()?;
        if completed.fate == Fate::NoBase {
            return self.diagnose_base();
        }
        let row = self.row()?;
        let crc = completed
            .crc
            .filter(|crc| !crc.ok() || completed.fate == Fate::Broken)?;
        let is_read = match completed.fate {
            Fate::BadCrc => true,
            Fate::Broken => false,
            _ => return None,
        };
        if doctor.since != Some(row.since) {
            *doctor = ChecksumCauses {
                since: Some(row.since),
                causes: Vec::new(),
            };
        }
        let mut diagnosis = Diagnosis {
            crc: is_read.then_some(crc),
            row,
            causes: Vec::new(),
            others: 0,
            examined: row.is_examined(),
        };
        if !diagnosis.examined {
            return is_read.then_some(diagnosis);
        }
        let mut case = self.case(crc);
        if let Some(data) = self.data(message) {
            sizes::find(&mut case, self.sizes(), data, is_read);
            if case.found.is_empty() {
                forms::find(&mut case, self.sizes(), data);
            }
            if is_read {
                forms::sums(&mut case, data);
            }
        }
        if is_read && !case.has_form() {
            whole::find(&mut case);
            items::find(&mut case);
            fields::find(&mut case, self.registry(), self.proto());
        }
        let found = doctor.rank(case.found);
        if found.is_empty() && !is_read {
            return None;
        }
        let best = found.first().map_or(0, |(_, explains)| *explains);
        let likely = found.iter().filter(|(_, explains)| *explains == best);
        diagnosis.others = likely.clone().count().saturating_sub(MOST);
        let names = cause::Names {
            registry: self.registry(),
            proto: self.proto(),
            result: completed.snapshot(),
            base: completed.before(),
        };
        diagnosis.causes = likely
            .take(MOST)
            .map(|(cause, explains)| Explained {
                cause: *cause,
                text: names.text(*cause),
                explains: *explains,
            })
            .collect();
        Some(diagnosis)
    }
}

impl Store<'_> {
    /// Returns the diagnosis of a snapshot with an unknown base, if the message has the tick of its base in place of
    /// the difference to it.
    fn diagnose_base(&self) -> Option<Diagnosis> {
        let (tick, named, stated) = self.stated()?;
        let base = tick.checked_sub(named)?;
        let difference = tick.checked_sub(base).filter(|difference| *difference > 0)?;
        let before = self.bases().at(base).filter(|_| base >= 0)?;
        if !fits(&mut self.delta().clone(), before, stated) {
            return None;
        }
        let cause = Cause::TickAsDifference { base, difference };
        let names = cause::Names {
            registry: self.registry(),
            proto: self.proto(),
            result: before,
            base: before,
        };
        Some(Diagnosis {
            crc: None,
            row: WrongRun::with(None, tick, 0),
            causes: vec![Explained {
                cause,
                text: names.text(cause),
                explains: 1,
            }],
            others: 0,
            examined: true,
        })
    }
}

impl ChecksumCauses {
    /// Orders and remembers causes: first by the number of wrong snapshots in the row that they explain, then by
    /// rank.
    fn rank(&mut self, mut found: Vec<Candidate>) -> Vec<(Cause, u32)> {
        found.sort_by_key(|candidate| candidate.rank);
        let mut ranked: Vec<(Cause, u32)> = Vec::new();
        for Candidate { cause, .. } in found {
            if ranked.iter().all(|(other, _)| !other.is_like(cause)) {
                let before = self.causes.iter().find(|(other, _)| other.is_like(cause));
                ranked.push((
                    cause,
                    before.map_or(1, |(_, explains)| explains.saturating_add(1)),
                ));
            }
        }
        ranked.sort_by_key(|(_, explains)| std::cmp::Reverse(*explains));
        self.causes.clone_from(&ranked);
        ranked
    }
}

impl Diagnosis {
    /// Returns the number of bytes of memory held.
    #[must_use]
    pub fn held(&self) -> usize {
        let texts: usize = self.causes.iter().map(|cause| cause.text.capacity()).sum();
        size_of::<Self>() + self.causes.capacity() * size_of::<Explained>() + texts
    }
}

impl Diagnosis {
    /// Displays the causes and the length of the row, as they follow the sums.
    pub fn reasons(&self) -> impl fmt::Display {
        fmt::from_fn(|f| self.fmt_reasons(f))
    }

    fn fmt_reasons(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lead = if self.crc.is_some() { "; " } else { "" };
        for (number, cause) in self.causes.iter().enumerate() {
            let word = if number == 0 { "likely cause" } else { "or" };
            write!(f, "{lead}{word}: {}", cause.text)?;
            lead = "; ";
        }
        match self.causes.len() {
            0 if self.examined => write!(f, "{lead}no single item or value explains it")?,
            _ if self.others > 0 => write!(f, "; {} more would explain it", self.others)?,
            _ => {}
        }
        let WrongRun {
            count,
            steady,
            steady_since,
            since,
            ..
        } = self.row;
        if self.crc.is_some() && steady > 1 {
            write!(
                f,
                "; {steady} in a row since tick {steady_since} are off by the same"
            )?;
        } else if self.crc.is_some() && count > 1 {
            write!(
                f,
                "; {count} in a row since tick {since} are wrong, off by different amounts"
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Crc { stated, actual }) = self.crc {
            write!(f, "got {stated}, expected {actual}, off by {}", self.row.off)?;
        }
        self.fmt_reasons(f)
    }
}

/// Returns the wrapping sum of ints.
fn sum(ints: &[i32]) -> i32 {
    ints.iter().fold(0, |sum, int| sum.wrapping_add(*int))
}

/// Returns true if applying `delta` to `base` gives a snapshot with the sum `stated`.
fn fits(delta: &mut Delta, base: &Snapshot, stated: i32) -> bool {
    let (mut out, mut counts) = (Snapshot::new(), super::Counts::default());
    delta.apply(base, &mut out, &mut counts).is_ok() && out.crc() == stated
}
