//! Snapshots that rules change on their way to the client.
//!
//! Law: a session costs nothing here before a rule can change its snapshots. Afterwards each snapshot is rewritten that
//! depends on a changed one, even if the rules are gone by then. Once none does, all of them pass unchanged.

use std::time::Duration;

use teetap_rules::{Fate, Verdict};
use teetap_wire::{
    Proto,
    def::Registry,
    snap::{Changes, NotChanged, Recoded, Recoder},
};

use super::time::Time;

/// The time between two notices about items that were not changed.
const REPORT_EVERY: Duration = Duration::from_secs(1);

/// The snapshots of a session, if its client may have changed ones.
#[derive(Debug, Default)]
pub(crate) struct Snapshots {
    recoder: Option<Box<Recoder<'static>>>,
    /// True if a rule may change snapshots.
    may_follow: bool,
    reported: Option<Time>,
    /// The groups in which the parts that wait overtake messages.
    overtakes: Vec<u32>,
}

impl Snapshots {
    /// Prepares for the next datagram. `may_change`: a rule may change snapshots.
    pub(crate) fn prepare(&mut self, may_change: bool, registry: &'static Registry, proto: Proto) {
        self.may_follow = may_change;
        let is_needed = |recoder: &Recoder<'_>| may_change || !recoder.is_idle();
        if self
            .recoder
            .as_ref()
            .is_some_and(|recoder| !is_needed(recoder) || recoder.proto() != proto)
        {
            self.recoder = None;
        }
        if may_change && self.recoder.is_none() {
            self.recoder = Some(Box::new(Recoder::new(registry, proto)));
        }
    }

    /// Returns the messages that go on in place of one that is not vital, and the reason if items were not changed that is
    /// worth a notice.
    pub(crate) fn recode(
        &mut self,
        data: &[u8],
        verdict: &Verdict,
        now: Time,
    ) -> (Recoded, Option<NotChanged>) {
        let Some(recoder) = &mut self.recoder else {
            return (Recoded::Same, None);
        };
        let changes = Changes {
            items: &verdict.items,
            bytes: verdict.edit.as_deref(),
            is_dropped: matches!(verdict.fate, Fate::Drop | Fate::Lose { .. }),
            may_follow: self.may_follow,
        };
        let (recoded, why) = recoder.on_message(data, changes);
        let is_due = |last: Time| now.since(last) >= REPORT_EVERY;
        // The client of a repeated snapshot keeps the first one.
        let why = why.filter(|why| *why != NotChanged::SentBefore && self.reported.is_none_or(is_due));
        if why.is_some() {
            self.reported = Some(now);
        }
        (recoded, why)
    }

    /// Returns the groups in which a message overtakes a waiting one, with those of the parts that waited for it.
    pub(crate) fn overtakes(&mut self, waits: bool, more: &[u32]) -> Vec<u32> {
        for group in more {
            if !self.overtakes.contains(group) {
                self.overtakes.push(*group);
            }
        }
        if waits {
            return Vec::new();
        }
        std::mem::take(&mut self.overtakes)
    }
}
