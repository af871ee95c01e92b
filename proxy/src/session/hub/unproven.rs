//! CONNECTs of 0.7 that do not contain the token that the proxy gave to their sender.
//!
//! Law: the effect is the same as without the proxy. A server of Teeworlds drops such CONNECTs (0.7.5,
//! network_token.cpp, `ProcessMessage`), and so does the proxy. A DDNet server answers each of them, but
//! creates a slot only for a CONNECT that contains its token (16.4, network_server.cpp, `OnSixupCtrlMsg`), so
//! the proxy forwards them to a DDNet server. Their sender address may be forged, so they are limited like
//! CONNECTs of 0.6, and change no session of a client that has proved its address.

use teetap_wire::Proto;

use super::{
    Hub, Link,
    admit::{Connect, Request},
    crowd::Cost,
    sessions::Slot,
};
use crate::session::{ClientAddr, SessionId, link::Standing};

impl Hub {
    /// Forwards a CONNECT that does not contain its sender's token, if the server would answer it. Emits a
    /// notice in any case.
    pub(super) fn on_unproven_connect(
        &mut self,
        addr: ClientAddr,
        slot: Slot,
        connect: Connect,
        bytes: &[u8],
    ) {
        self.unknown_sender(addr, bytes);
        if !self.admission.families.are_both(addr.listener) {
            return;
        }
        let current = slot.current.and_then(|id| self.sessions.links.get(&id));
        match current {
            None => {}
            Some(link) if link.is_closing() => {}
            Some(link) if Self::is_unproven(link) => {
                let id = link.id();
                self.with_link(id, |link, _, env| link.on_repeated_connect(bytes, env));
                return;
            }
            // The server has a slot for the client, or a client that has proved its address requests one.
            Some(_) => return,
        }
        let cost = Cost::Unproved((addr.listener, Proto::V7));
        if !self.make_room(addr, cost) {
            self.notice_dropped(addr);
            return;
        }
        let ended = slot.current;
        let request = Request {
            proto: Proto::V7,
            client_token: connect.client_token,
            token: None,
            standing: cost.standing(),
            beside: false,
            shares: None,
        };
        self.open(addr, request, |opened, env| Link::open(opened, bytes, env));
        if let Some(id) = ended {
            self.with_link(id, |link, _, env| link.leave(env));
        }
    }

    /// Queues a TOKEN request behind an earlier CONNECT that waits to be forwarded. Returns false if no
    /// CONNECT waits.
    pub(super) fn queue_after_connect(&mut self, id: SessionId, bytes: &[u8]) -> bool {
        let link = self.sessions.links.get(&id);
        let waits = link.is_some_and(|link| Self::is_unproven(link) && link.is_waiting_for_token());
        if waits {
            self.with_link(id, |link, _, _| link.wait(bytes));
        }
        waits
    }

    /// Returns true for a session of 0.7 whose client has sent no token yet.
    fn is_unproven(link: &Link) -> bool {
        link.requested() == Proto::V7 && link.standing() == Standing::Unproved && !link.is_closing()
    }
}
