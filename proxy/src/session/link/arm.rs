//! Arming: when sequence numbers in a direction start to be translated.

use teetap_wire::{Dir, Packet, Proto, Side};

use super::{Env, Link, phase::Phase};
use crate::session::{Notice, splice::Splice};

impl Link {
    /// Returns true if sequence numbers may be translated. A tokenless server has to ack the client first:
    /// the legacy and anti-spoof joins hide a token in game messages and start their numbers late, so
    /// nothing may be changed before that ack.
    pub(super) fn may_renumber(&self) -> bool {
        self.legs.server.proto != Proto::V6 || self.dirs.c2s.has_been_acked()
    }

    /// Returns true if this direction may be renumbered. A tokenless server that does not begin with a
    /// challenge has had a slot for its client since CONNECT, and numbering starts as usual. So the
    /// client's numbers may be translated from the first one on. The server's numbers may not be translated
    /// until its ack proves the client's address: otherwise messages made by rules could send more bytes to
    /// that address than were received from it.
    pub(super) fn may_arm(&self, dir: Dir) -> bool {
        let client_began =
            || matches!(&self.phase, Phase::Online(online) if online.began == Some(Side::Client));
        self.may_renumber() || dir == Dir::C2s && client_began()
    }

    /// Records a datagram with messages. A tokenless server that sends the first messages, or a snapshot,
    /// before it acks the client is challenging the client. If the client has sent messages before the
    /// challenge, the numbering starts anew with the challenge, in identity mode.
    pub(super) fn note_messages(&mut self, from: Side, packet: &Packet<'_>, env: &mut Env) {
        if self.may_renumber() {
            return;
        }
        let began = match &mut self.phase {
            Phase::Answered(answered) => &mut answered.began,
            Phase::Online(online) => &mut online.began,
            _ => return,
        };
        let begins = match (*began, from) {
            (None, _) => true,
            (Some(Side::Client), Side::Server) => has_snapshot(packet, env),
            _ => false,
        };
        if !begins {
            return;
        }
        *began = Some(from);
        if from == Side::Client {
            return;
        }
        if !self.dirs.c2s.is_identity() {
            self.dirs.c2s = Splice::new();
            self.report_waits(Dir::C2s, env);
        }
        self.notice(Notice::LegacyJoin, env);
    }

    /// Opens the rules of a new program, or closes them if there is none. The state of the old rules may be
    /// carried over.
    pub(crate) fn on_program(&mut self, env: &mut Env) {
        let is_new = matches!(self.phase, Phase::Opening(_));
        self.rules.open(&self.opened, is_new, env);
        self.open_links(env);
        if matches!(self.phase, Phase::Online(_)) {
            self.arm_for_rules(env);
        }
    }

    /// Arms the directions in which rules act. Directions that may not be armed yet stay pending.
    pub(crate) fn arm_for_rules(&mut self, env: &mut Env) {
        let mut is_pending = false;
        for dir in [Dir::C2s, Dir::S2c] {
            if !env.interest().acts.contains(self.legs.server.proto, dir) {
                continue;
            }
            if self.may_arm(dir) {
                self.arm(dir, env);
            } else {
                is_pending = true;
            }
        }
        if let Some(online) = self.online() {
            online.arm_pending = is_pending;
        }
    }

    pub(super) fn arm(&mut self, dir: Dir, env: &mut Env) {
        if self.splice(dir).arm() {
            self.notice(Notice::Renumbered { dir }, env);
        }
    }
}

/// Returns true if a datagram of the server contains an empty snapshot, in which a challenge hides its
/// number.
fn has_snapshot(packet: &Packet<'_>, env: &Env) -> bool {
    packet.chunks().any(|chunk| {
        let found = env.config.registry.message(packet.proto, Dir::S2c, chunk.data);
        found.is_some_and(|found| *found.def.name == *"snap_empty")
    })
}
