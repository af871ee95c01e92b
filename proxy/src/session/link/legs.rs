//! The two legs of a session.

use teetap_wire::Side;

use crate::session::{Time, leg::Leg};

#[derive(Debug)]
pub(super) struct Legs {
    pub(super) client: Leg,
    pub(super) server: Leg,
}

impl Legs {
    pub(super) fn leg(&mut self, side: Side) -> &mut Leg {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    /// Returns the time at which the last valid datagram of either peer was received.
    pub(super) fn last_sign(&self) -> Time {
        self.client.last_received.max(self.server.last_received)
    }
}
