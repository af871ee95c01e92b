//! Redirects: a client that the server sends to another port stays behind the proxy, see [`crate::session::listeners`].
//!
//! Law: while the listen socket is being opened the whole datagram waits, before anything has
//! come of it but what repeating it does not change, as if it had been under way for longer.

use teetap_wire::{Notes, Packet, Side};

use super::{Env, Link};
use crate::session::{
    Notice,
    datagram::readable,
    listeners::{Front, redirect_port},
};

impl Link {
    /// Whether a datagram has to wait for a listen socket. When it need not any more, what becomes of its redirects is
    /// told.
    pub(super) fn awaits_listener(
        &mut self,
        datagram: &[u8],
        packet: &Packet<'_>,
        env: &mut Env<'_>,
    ) -> bool {
        let mut waits = false;
        for port in ports(packet) {
            waits |= env.listeners.seek(port, env.out) == Front::Opening;
        }
        if !waits {
            for port in ports(packet) {
                let notice = match env.listeners.seek(port, env.out) {
                    Front::Open(listen) => Notice::Redirected { port, listen },
                    Front::None(why) => Notice::RedirectPasses { port, why },
                    Front::Opening => continue,
                };
                self.notice(notice, env);
            }
        } else if self.waiting.is_none() {
            self.waiting = Some(readable(datagram).into());
        } else {
            // A repetition, or it gets one: lost, as on a bad line.
            self.tell_one_leg(Side::Server, datagram, &Notes::default(), env);
        }
        waits
    }

    /// A listen socket is open or will never be: the datagram that waited for it, to be handled again.
    pub(crate) fn take_waiting(&mut self) -> Option<Box<[u8]>> {
        self.waiting.take()
    }
}

/// Whether a datagram of data redirects its receiver.
pub(super) fn is_in(packet: &Packet<'_>) -> bool {
    ports(packet).next().is_some()
}

fn ports(packet: &Packet<'_>) -> impl Iterator<Item = u16> {
    packet.chunks().filter_map(|chunk| redirect_port(chunk.data))
}
