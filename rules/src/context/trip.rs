//! Measures the round trip between the proxy and a peer.

use teetap_wire::Seq;

/// Measures the time until a peer acks, for one vital message at a time. Times are in microseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundTrip {
    under_way: Option<(Seq, u64)>,
}

impl RoundTrip {
    /// Records a vital message sent to the peer. `resend` is true for a retransmission.
    pub fn on_sent(&mut self, at: u64, seq: Seq, resend: bool) {
        match self.under_way {
            None if !resend => self.under_way = Some((seq, at)),
            // The message was resent, so its ack may refer to either copy.
            Some((known, _)) if resend && known == seq => self.under_way = None,
            _ => {}
        }
    }

    /// Records an ack of the peer. Returns the microseconds of the round trip that it completes.
    pub fn on_ack(&mut self, at: u64, ack: Seq) -> Option<u64> {
        let (_, sent) = self.under_way.filter(|(seq, _)| seq.is_behind(ack))?;
        self.under_way = None;
        Some(at.saturating_sub(sent))
    }
}
