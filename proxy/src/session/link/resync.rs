//! A complete snapshot on request, in one session, see [`crate::session::resync`].

use teetap_wire::Packet;

use super::{Env, Link};
use crate::session::{
    Notice,
    resync::{INPUTS, is_complete, without_ack},
};

impl Link {
    /// From the next input on.
    pub(crate) fn resync(&mut self, env: &mut Env<'_>) {
        let notice = if self.is_online() {
            self.resync = INPUTS;
            Notice::Resync
        } else {
            Notice::ResyncRefused("the session is not online")
        };
        self.notice(notice, env);
    }

    /// Whether acks of a client's datagram are to be taken away.
    pub(super) fn takes_acks(&mut self, packet: &Packet<'_>, env: &mut Env<'_>) -> bool {
        let has_ack = |data: &[u8]| without_ack(packet.proto, data).is_some();
        if self.resync == 0 || !packet.chunks().any(|chunk| has_ack(chunk.data)) {
            return false;
        }
        self.resync -= 1;
        if self.resync == 0 {
            self.notice(Notice::ResyncRefused("the server sent none"), env);
        }
        true
    }

    /// Looks for the snapshot that was asked for.
    pub(super) fn look_for_complete(&mut self, packet: &Packet<'_>, env: &mut Env<'_>) {
        let mut chunks = packet.chunks();
        // Not the one that was under way before the first input.
        let asked = self.resync > 0 && self.resync < INPUTS;
        if asked && chunks.any(|chunk| is_complete(packet.proto, chunk.data)) {
            self.resync = 0;
            self.notice(Notice::Resynced, env);
        }
    }
}
