//! A datagram that waits for a listen socket.
//!
//! Law: while the listen socket is being opened the whole datagram waits, before anything has come of it but what
//! repeating it does not change, as if it had been under way for longer.

use teetap_wire::Packet;

use super::{
    listeners::{Front, Listeners},
    message::ports,
};
use crate::session::{datagram::readable, notice::Notice, outbox::Outbox};

/// The datagram of a session that waits, if one does.
#[derive(Debug, Default)]
pub(crate) struct Waiting(Option<Box<[u8]>>);

/// The fate of a datagram with redirects.
#[derive(Debug)]
pub(crate) enum Resolved {
    /// The datagram goes on now, with these notices about its redirects.
    Now(Vec<Notice>),
    /// The datagram waits.
    Later,
    /// Another one waits already. This is a repetition of that one, or will be repeated itself: lost, as on a bad line.
    Never,
}

impl Waiting {
    /// Asks for the listen sockets that a datagram's redirects need.
    pub(crate) fn resolve(
        &mut self,
        datagram: &[u8],
        packet: &Packet<'_>,
        listeners: &mut Listeners,
        out: &mut Outbox,
    ) -> Resolved {
        let mut waits = false;
        for port in ports(packet) {
            waits |= listeners.seek(port, out) == Front::Opening;
        }
        if waits && self.0.is_some() {
            return Resolved::Never;
        }
        if waits {
            self.0 = Some(readable(datagram).into());
            return Resolved::Later;
        }
        let notices = ports(packet).filter_map(|port| match listeners.seek(port, out) {
            Front::Open(listen) => Some(Notice::Redirected { port, listen }),
            Front::None(why) => Some(Notice::RedirectPasses { port, why }),
            Front::Opening => None,
        });
        Resolved::Now(notices.collect())
    }

    /// A listen socket is open or will never be: the datagram that waited for it, to be handled again.
    pub(crate) fn take(&mut self) -> Option<Box<[u8]>> {
        self.0.take()
    }
}
