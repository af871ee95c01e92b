//! The round trip between the proxy and the client.

use teetap_wire::{Dir, Seq};

use super::MessageView;

/// The time until the client acks, measured on one vital message after the other.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trip {
    under_way: Option<(Seq, u64)>,
}

impl Trip {
    /// Observes a message in either direction. Returns the microseconds of the trip that it ends.
    pub(super) fn observe(&mut self, view: &MessageView<'_>) -> Option<u64> {
        match (view.dir, self.under_way) {
            (Dir::S2c, None) if !view.resend => {
                self.under_way = view.seq_out.map(|seq| (seq, view.at));
            }
            // A message was sent again: its ack may be for either copy.
            (Dir::S2c, Some((seq, _))) if view.resend && view.seq_out == Some(seq) => self.under_way = None,
            (Dir::C2s, Some((seq, sent))) if view.packet.ack.is_some_and(|ack| seq.is_behind(ack)) => {
                self.under_way = None;
                return Some(view.at.saturating_sub(sent));
            }
            _ => {}
        }
        None
    }
}
