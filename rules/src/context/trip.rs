//! Measures the round trip between the proxy and the client.

use teetap_wire::{Dir, Seq};

use super::MessageView;

/// Measures the time until the client acks, for one vital message at a time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RoundTrip {
    under_way: Option<(Seq, u64)>,
}

impl RoundTrip {
    /// Observes a message in either direction. Returns the microseconds of the round trip that it completes.
    pub(super) fn observe(&mut self, view: &MessageView<'_>) -> Option<u64> {
        match view.dir {
            Dir::S2c => {
                self.on_sent(view.at, view.seq_out?, view.resend);
                None
            }
            Dir::C2s => self.on_ack(view.at, view.packet.ack?),
        }
    }

    /// Records that a vital message was sent to the client with this sequence number.
    pub(super) fn on_sent(&mut self, at: u64, seq: Seq, resend: bool) {
        match self.under_way {
            None if !resend => self.under_way = Some((seq, at)),
            // The message was resent, so that its ack may refer to either copy.
            Some((known, _)) if resend && known == seq => self.under_way = None,
            _ => {}
        }
    }

    /// Handles an ack of the client. Returns the microseconds of the round trip that it completes.
    pub(super) fn on_ack(&mut self, at: u64, ack: Seq) -> Option<u64> {
        let (_, sent) = self.under_way.filter(|(seq, _)| seq.is_behind(ack))?;
        self.under_way = None;
        Some(at.saturating_sub(sent))
    }
}
