//! The links of the server browser: link lines with `connless` for messages that belong to no session.
//!
//! Law: all browsers share one link in each direction, so the number of queued bytes is bounded. Messages
//! on the socket of a session use the link of that session.

use teetap_wire::Dir;

use super::Hub;
use crate::session::{ClientAddr, SessionId, lane::Outgoing, outbox::Destination, timers::Timer};

impl Hub {
    /// Sends the relayed message that `write` appends to an empty buffer.
    pub(super) fn transmit_connless(
        &mut self,
        relay: ClientAddr,
        to: Destination,
        seven: bool,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let now = self.env.now;
        let dir = match to {
            Destination::Client(_) => Dir::S2c,
            Destination::Server(_) => Dir::C2s,
        };
        if self.env.browsing.lane(dir).is_open_connless(now) {
            self.env.out.send(to, write);
            return;
        }
        let open = self.env.browsing.acting(self.env.windows_outside());
        let lines = self.env.shared.acting(open);
        let mut browsing = std::mem::take(&mut self.env.browsing);
        self.env
            .pass(SessionId(0), (browsing.lane(dir), dir), write, |bytes| Outgoing {
                to,
                bytes,
                seven,
                once: false,
                connless: true,
                lines,
            });
        if dir == Dir::C2s {
            self.keep_relay(relay, browsing.lane(dir).connless_until());
        }
        self.env.browsing = browsing;
        self.on_browsing();
    }

    /// Sends the queued datagrams that are due, and sets the alarm for the next one.
    pub(super) fn on_browsing(&mut self) {
        let now = self.env.now;
        for dir in [Dir::C2s, Dir::S2c] {
            while let Some((to, bytes)) = self.env.browsing.lane(dir).pop(now) {
                // The socket may have been closed for another browser in the meantime.
                let is_open = match to {
                    Destination::Client(_) => true,
                    Destination::Server(upstream) => self.sessions.owners.contains_key(&upstream),
                };
                if is_open {
                    self.env.out.send_late(to, &bytes);
                }
            }
        }
        self.timers.clear(Timer::Browsing, &mut self.late.browsing_alarm);
        if let Some(at) = self.env.browsing.deadline() {
            self.timers
                .set(Timer::Browsing, &mut self.late.browsing_alarm, at);
        }
    }
}
