//! Time: limits, resends, flushes, keepalives, and the repeats of handshakes.

use super::{Peer, Role, State};
use crate::codec::{Variant, control};
use crate::link::{MS, SECOND};

/// Silence of this peer after which it repeats handshake packets and sends half-built packets.
const FLUSH: u64 = 500 * MS;

impl Peer {
    /// Does everything that is due by `now`.
    pub fn update(&mut self, now: u64) {
        if self.state == State::Idle || self.is_over() {
            return;
        }
        if self.options.limits
            && let Some(reason) = self.exceeded(now)
        {
            self.die(&reason, now);
            return;
        }
        if self.resend_waits {
            self.answer_resend(now);
        }
        if self
            .unacked
            .front()
            .is_some_and(|oldest| now.saturating_sub(oldest.last_sent) > SECOND)
        {
            self.resend_oldest(now);
        }
        let idle = now.saturating_sub(self.last_send);
        match self.state {
            State::Online => {
                self.send_input(now);
                if idle > FLUSH {
                    self.flush(now);
                }
                if now.saturating_sub(self.last_send) > SECOND {
                    self.send_control(control::KEEPALIVE, &[], now);
                }
            }
            // DDNet's client asks for a 0.7 token only once.
            State::WantToken if idle > FLUSH && self.variant == Variant::V7 => self.ask_token(now),
            State::Connecting if idle > FLUSH => self.ask_connect_again(now),
            State::Pending if idle > FLUSH => self.send_control(control::CONNECT_ACCEPT, &[], now),
            _ => {}
        }
    }

    /// Gives up. Teeworlds then sends a CLOSE, DDNet sends nothing.
    pub(super) fn die(&mut self, reason: &str, now: u64) {
        if !self.variant.is_ddnet() && self.state != State::WantToken {
            self.send_close(reason, now);
        }
        self.state = State::Dead(reason.to_owned());
    }

    fn exceeded(&self, now: u64) -> Option<String> {
        let patience = self.patience();
        if self
            .silence_limit()
            .is_some_and(|limit| now.saturating_sub(self.last_receive) > limit)
        {
            return Some("Timeout".to_owned());
        }
        let oldest = self.unacked.front()?;
        let seconds = patience / SECOND;
        (now.saturating_sub(oldest.first_sent) > patience)
            .then(|| format!("Too weak connection (not acked for {seconds} seconds)"))
    }

    /// Returns the maximum silence of the other side that is allowed in this state; `None` if there is no limit.
    fn silence_limit(&self) -> Option<u64> {
        match (&self.state, self.variant) {
            (State::WantToken, Variant::V7) => Some(5 * SECOND),
            (State::Connecting, Variant::V7) => Some(10 * SECOND),
            // 0.6 clients, and DDNet's in 0.7, repeat CONNECT forever.
            (State::Connecting, _) if self.role == Role::Client => None,
            _ => Some(self.patience()),
        }
    }
}
