//! Snapshots that rules change on their way to the client.
//!
//! Law: a session pays nothing for this module until a rule may change its snapshots. From then on each
//! snapshot that depends on a changed one is rewritten, even if the rules were removed in the meantime. Once
//! no snapshot depends on a changed one, all pass unchanged.

use std::time::Duration;

use teetap_rules::{Fate, Verdict};
use teetap_wire::{
    Proto,
    def::Registry,
    snap::{Changes, NotChanged, Recoded, Recoder},
};

use super::time::Time;

/// Minimum time between two notices about items that were not changed.
const REPORT_EVERY: Duration = Duration::from_secs(1);

/// The snapshots of a session whose client may have changed ones.
#[derive(Debug, Default)]
pub(crate) struct Snapshots {
    recoder: Option<Box<Recoder<'static>>>,
    /// True if a rule may change snapshots.
    may_follow: bool,
    reported: Option<Time>,
    /// The groups in which waiting parts of a snapshot overtake messages.
    overtakes: Vec<u32>,
}

impl Snapshots {
    /// Prepares for the next datagram. `may_change` is true if a rule may change snapshots.
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

    /// Returns the messages to send in place of a non-vital one, and the reason why items were not changed if
    /// it is worth a notice.
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
        // A client that receives a snapshot again keeps the first copy.
        let why = why.filter(|why| *why != NotChanged::SentBefore && self.reported.is_none_or(is_due));
        if why.is_some() {
            self.reported = Some(now);
        }
        (recoded, why)
    }

    /// Returns the `reorder` groups in which a message overtakes a held message. If the message itself waits,
    /// the groups are kept for the part of the snapshot that is sent with it.
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
