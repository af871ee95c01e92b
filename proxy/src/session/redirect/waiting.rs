//! A datagram that waits for a listen socket.
//!
//! Law: the whole datagram waits until the listen socket is open or has failed. Before that, it has only
//! effects that can be repeated, such as the record of its ack. It is then handled again, as if the
//! network had delayed it.

use teetap_wire::Packet;

use super::{
    listeners::{ListenerState, Listeners},
    message::ports,
};
use crate::session::{datagram::readable, notice::Notice, outbox::Outbox};

/// The waiting datagram of a session; `None` if none waits.
#[derive(Debug, Default)]
pub(crate) struct PendingRedirect(Option<Box<[u8]>>);

/// The result of resolving the redirects of a datagram.
#[derive(Debug)]
pub(crate) enum Resolved {
    /// The datagram is forwarded now, with these notices about its redirects.
    Now(Vec<Notice>),
    /// The datagram waits.
    Later,
    /// Another datagram already waits. This one is a repetition of it, or is retransmitted later, so it is
    /// dropped as if it was lost.
    Never,
}

impl PendingRedirect {
    /// Requests the listen sockets that the redirects of a datagram need.
    pub(crate) fn resolve(
        &mut self,
        datagram: &[u8],
        packet: &Packet<'_>,
        listeners: &mut Listeners,
        out: &mut Outbox,
    ) -> Resolved {
        let mut waits = false;
        for port in ports(packet) {
            waits |= listeners.seek(port, out) == ListenerState::Opening;
        }
        if waits && self.0.is_some() {
            return Resolved::Never;
        }
        if waits {
            self.0 = Some(readable(datagram).into());
            return Resolved::Later;
        }
        let notices = ports(packet).filter_map(|port| match listeners.seek(port, out) {
            ListenerState::Open(listen) => Some(Notice::Redirected { port, listen }),
            ListenerState::None(why) => Some(Notice::RedirectPasses { port, why }),
            ListenerState::Opening => None,
        });
        Resolved::Now(notices.collect())
    }

    /// Removes and returns the waiting datagram, since its listen socket is open or has failed.
    pub(crate) fn take(&mut self) -> Option<Box<[u8]>> {
        self.0.take()
    }
}
