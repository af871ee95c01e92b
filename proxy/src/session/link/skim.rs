//! Reading a datagram no further than its session needs.
//!
//! Law: what is decided does not depend on the watchers. Where numbers pass untouched and no rule looks at a
//! direction, the session needs the headers of the chunks and nothing else. A payload that is damaged behind them
//! crosses, as it would without a proxy, and its receiver drops it. Watchers that see every datagram read it whole
//! themselves.

use teetap_wire::{Dir, Packet, PacketError, Scratch, Side};

use super::{Env, Link, phase::Phase};

impl Link {
    /// Reads a datagram of the peer at `from`, in part where that is enough.
    pub(super) fn read<'a>(
        &self,
        from: Side,
        datagram: &'a [u8],
        scratch: &'a mut Scratch,
        env: &Env,
    ) -> Result<Packet<'a>, PacketError> {
        let proto = match from {
            Side::Client => self.client.proto,
            Side::Server => self.server.proto,
        };
        if self.needs_headers_only(from, env) {
            Packet::skim(proto, datagram, scratch)
        } else {
            Packet::parse(proto, datagram, scratch)
        }
    }

    fn needs_headers_only(&self, from: Side, env: &Env) -> bool {
        let Phase::Online(online) = &self.phase else {
            return false;
        };
        let (proto, dir) = (self.client.proto, Dir::from_sender(from));
        let is_ruled = env.observes(proto, dir) || env.repeats(proto, dir) || env.measures();
        // An ack has a meaning in the other direction, and a cut payload cannot be composed anew.
        let is_untouched = self.c2s.is_identity() && self.s2c.is_identity();
        is_untouched && !is_ruled && !online.arm_pending && !online.resync.is_wanted()
    }
}
