//! Notices about datagrams of strangers. A flood of such datagrams is counted instead of listed.
//!
//! Law: at most [`MOST`] notices of each kind are emitted per [`WINDOW`]. At the end of the window, one more
//! notice reports the number of suppressed notices.

use std::time::Duration;

use strum::VariantArray as _;

use super::Hub;
use crate::session::{
    ClientAddr, EventKind, Notice, SessionId, Time,
    timers::{Alarm, Timer},
};

/// Maximum number of notices of a kind per window.
const MOST: u32 = 10;
/// Length of a window, which begins with the first notice of a kind.
const WINDOW: Duration = Duration::from_secs(5);

/// The counts of notices about strangers.
#[derive(Debug, Default)]
pub(super) struct Strangers {
    kinds: [Count; Kind::VARIANTS.len()],
    alarm: Alarm,
}

/// A kind of notice that strangers can cause.
#[derive(Clone, Copy, Debug, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub(super) enum Kind {
    UnknownSender,
    ProtocolRefused,
    HalfOpenLimit,
    AnsweredByProxy,
    DroppedByProxy,
    RelayLimit,
    Candidate,
    OtherProtocol,
}

/// The notices of one kind.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    /// End of the window; `None` if none is open.
    until: Option<Time>,
    emitted: u32,
    suppressed: u64,
}

impl Hub {
    /// Emits the notice about a request for a session that was dropped because of a limit.
    pub(super) fn notice_dropped(&mut self, addr: ClientAddr) {
        let client = addr.addr;
        self.notice_stranger(Kind::DroppedByProxy, None, || Notice::DroppedByProxy { client });
    }

    /// Emits a notice of a kind, or only counts it if the window has too many.
    pub(super) fn notice_stranger(
        &mut self,
        kind: Kind,
        session: Option<SessionId>,
        notice: impl FnOnce() -> Notice,
    ) {
        let now = self.env.now;
        let Some(count) = self.counters.strangers.kinds.get_mut(kind as usize) else {
            return;
        };
        if count.until.is_none() {
            let until = now + WINDOW;
            count.until = Some(until);
            self.timers
                .set(Timer::Strangers, &mut self.counters.strangers.alarm, until);
        }
        if count.emitted < MOST {
            count.emitted += 1;
            self.env.out.event(now, session, EventKind::Notice(notice()));
        } else {
            count.suppressed += 1;
        }
    }

    /// Ends the windows that are over and reports the suppressed notices.
    pub(super) fn on_strangers(&mut self) {
        let now = self.env.now;
        self.counters.strangers.alarm.clear();
        for (kind, count) in Kind::VARIANTS.iter().zip(&mut self.counters.strangers.kinds) {
            let Some(until) = count.until else { continue };
            if until > now {
                self.timers
                    .set(Timer::Strangers, &mut self.counters.strangers.alarm, until);
                continue;
            }
            let Count { suppressed, .. } = std::mem::take(count);
            if suppressed > 0 {
                let of = <&str>::from(kind).into();
                let notice = Notice::Suppressed {
                    of,
                    count: suppressed,
                };
                self.env.out.event(now, None, EventKind::Notice(notice));
            }
        }
    }
}
