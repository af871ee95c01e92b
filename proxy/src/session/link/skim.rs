//! Parses a datagram only as far as its session needs.
//!
//! Law: the actions of a session do not depend on the watchers. If no rule applies to a message, and the
//! message is not vital or the numbers of its direction are not translated, the session needs only the chunk
//! header. A payload that is damaged after these headers is forwarded, as it would be without a proxy, and
//! its receiver drops it. Watchers that see every datagram parse it completely themselves.

use teetap_wire::{Dir, Packet, PacketError, Scratch, Side, identify};

use super::{Env, Link, phase::Phase};

impl Link {
    /// Parses a datagram of the peer at `from`, only in part if that is enough.
    pub(super) fn read<'a>(
        &self,
        from: Side,
        datagram: &'a [u8],
        scratch: &'a mut Scratch,
        env: &mut Env,
    ) -> Result<Packet<'a>, PacketError> {
        let (leg, splice) = match from {
            Side::Client => (&self.legs.client, &self.dirs.c2s),
            Side::Server => (&self.legs.server, &self.dirs.s2c),
        };
        let proto = leg.form(datagram);
        if !self.may_skim(env) {
            return Packet::parse(proto, datagram, scratch);
        }
        let dir = Dir::from_sender(from);
        let is_ruled = env.observes(proto, dir) || env.interest().repeats.contains(proto, dir);
        let rules = self.rules.program.as_ref().filter(|_| is_ruled);
        let is_untouched = splice.is_identity();
        // In a translated direction the payload may have to be composed again, so vital messages are parsed
        // in full.
        Packet::skim(proto, datagram, leg.token_in, scratch, |vital, start| {
            (is_untouched || vital.is_none())
                && rules.is_none_or(|rules| {
                    identify(start).is_some_and(|(id, _)| rules.ignores((proto, dir), id, &mut env.shared))
                })
        })
    }

    /// Returns true if the session itself needs no message in full.
    fn may_skim(&self, env: &Env) -> bool {
        let Phase::Online(online) = &self.phase else {
            return false;
        };
        let is_waiting = online.arm_pending || online.resync.is_wanted();
        let interest = env.interest();
        let changes_snapshots = interest.snapshots.contains(self.legs.client.proto, Dir::S2c);
        !is_waiting && !interest.measures && !changes_snapshots
    }
}
