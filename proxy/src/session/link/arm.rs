//! Arming: from when on the numbers of a direction are translated.

use teetap_wire::{Dir, Proto};

use super::{Env, Link, phase::Phase};
use crate::session::Notice;

impl Link {
    /// The legacy and anti-spoof joins hide a token in game messages and start their numbers late: nothing is
    /// touched before a tokenless server has acked the client.
    pub(super) fn may_renumber(&self) -> bool {
        self.server.proto != Proto::V6 || self.c2s.has_been_acked()
    }

    pub(super) fn label_legacy_join(&mut self, env: &mut Env) {
        let is_tokenless = self.server.proto == Proto::V6;
        let Phase::Answered(answered) = &mut self.phase else {
            return;
        };
        if is_tokenless && !std::mem::replace(&mut answered.is_legacy_reported, true) {
            self.notice(Notice::LegacyJoin, env);
        }
    }

    /// Another program was set, or none. What the rules of the old one remember may be carried over.
    pub(crate) fn on_program(&mut self, env: &mut Env) {
        let is_new = matches!(self.phase, Phase::Opening(_));
        self.rules = env.open_rules(&self.opened, is_new, self.rules.take());
        self.open_links(env);
        if matches!(self.phase, Phase::Online(_)) {
            self.arm_for_rules(env);
        }
    }

    /// Arms the directions in which rules act.
    pub(crate) fn arm_for_rules(&mut self, env: &mut Env) {
        let mut is_pending = false;
        for dir in [Dir::C2s, Dir::S2c] {
            if !env.acts(self.server.proto, dir) {
                continue;
            }
            if self.may_renumber() {
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
