//! Limits of servers: reasons to refuse clients for a while.

use std::time::Duration;

use teetap_proxy::session::Time;
use teetap_wire::{
    Proto, Side,
    receiver::{Refusal, Rejection},
};

/// Time after which a server that refused a client accepts it: the releases count the joins of 20 s.
pub(super) const WINDOW: Duration = Duration::from_secs(21);

/// Time after which a ban ends. The ban for joins that end at once lasts a minute (`Update` in `network_server.cpp` of
/// the games).
const BAN: Duration = Duration::from_secs(61);

/// Minimum time between two CONNECTs if the second is sent because the server has not answered the first. Clients of the
/// games repeat CONNECT after 0.5 s.
const REPEATED: Duration = Duration::from_millis(400);

/// Release of servers that do not answer every CONNECT without a token.
const RELEASE: &str = "0.6.5";

/// Reason to report if a server of 0.6.5 does not answer CONNECTs without a token (`LegacyRatelimit` in
/// `network_server.cpp` of Teeworlds 0.6.5).
const OLD_CLIENTS: &str = "the server did not answer each CONNECT: a server of 0.6.5 accepts at most 5 clients without tokens per 20 s by \
                           default (sv_old_clients_per_interval)";

/// Limit for which a server refuses clients for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limit {
    pub(super) why: &'static str,
    /// Time after which the server may accept clients.
    pub(super) time: Duration,
    /// True if the server accepts a number of clients in that time.
    pub(super) is_rate: bool,
}

impl Limit {
    /// Returns the limit that the reason of a CLOSE names; `None` if it names none.
    pub(super) fn of_close(reason: &str) -> Option<Self> {
        let Some(Rejection::Refused(refusal)) = Rejection::from_reason(reason) else {
            return None;
        };
        let time = match refusal {
            Refusal::Full | Refusal::PerAddress | Refusal::TooFast => WINDOW,
            Refusal::Banned => BAN,
            Refusal::NoSeven => return None,
        };
        Some(Self {
            why: Rejection::Refused(refusal).text(),
            time,
            is_rate: refusal == Refusal::TooFast,
        })
    }
}

/// Evidence that a server of 0.6.5 has accepted its maximum of clients without tokens for now.
#[derive(Clone, Debug, Default)]
pub(super) struct OldClients {
    /// True if the server states this release.
    is_server: bool,
    /// True if a client sent a CONNECT without a token.
    is_client: bool,
    /// Time of the last counted CONNECT to the server; `None` before the first one.
    last: Option<Time>,
    /// Number of CONNECTs before the server's first answer. Excludes a CONNECT that immediately follows another.
    connects: u32,
    is_answered: bool,
}

impl OldClients {
    /// Records the version that the server states.
    pub(super) fn version(&mut self, version: &str) {
        self.is_server |= version.starts_with(RELEASE);
    }

    /// Records the protocol of a session.
    pub(super) fn opened(&mut self, proto: Proto) {
        self.is_client |= matches!(proto, Proto::V6 | Proto::Ddnet);
    }

    /// Records a control message of this name on one leg.
    pub(super) fn message(&mut self, at: Time, name: Option<&str>, leg: Option<Side>) {
        let is_first = self.last.is_none_or(|last| at.since(last) >= REPEATED);
        match (name, leg) {
            (Some("connect_accept"), Some(Side::Server)) => self.is_answered = true,
            (Some("connect"), Some(Side::Server)) if !self.is_answered && is_first => {
                self.last = Some(at);
                self.connects += 1;
            }
            _ => {}
        }
    }

    /// Returns the limit if the server left the first CONNECT unanswered.
    pub(super) fn limit(&self) -> Option<Limit> {
        let is_old = self.is_server && self.is_client && self.connects > 1;
        is_old.then_some(Limit {
            why: OLD_CLIENTS,
            time: WINDOW,
            is_rate: true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unanswered CONNECTs without a token show the limit of a 0.6.5 server. Two CONNECTs at once, and CONNECTs to
    /// other releases, show no limit.
    #[test]
    fn connects_that_a_server_of_0_6_5_leaves_unanswered_are_its_limit() {
        let is_limit = |version: &str, proto, messages: &[(u64, &str)]| {
            let mut old = OldClients::default();
            old.version(version);
            old.opened(proto);
            for (ms, name) in messages {
                old.message(Time(ms * 1000), Some(name), Some(Side::Server));
            }
            old.limit().is_some()
        };
        let late = [(1000, "connect"), (1500, "connect"), (1500, "connect_accept")];
        assert!(is_limit("0.6.5", Proto::Ddnet, &late) && is_limit("0.6.5", Proto::V6, &late));
        assert!(is_limit("0.6.5", Proto::V6, &late[..2]), "no answer");
        assert!(!is_limit("0.6.5", Proto::V65, &late), "with a token");
        assert!(!is_limit("0.6.4", Proto::V6, &late), "another release");
        let delayed = [(1500, "connect"), (1501, "connect"), (1502, "connect_accept")];
        assert!(!is_limit("0.6.5", Proto::V6, &delayed));
        let repeated = [(1000, "connect"), (1000, "connect_accept"), (1500, "connect")];
        assert!(!is_limit("0.6.5", Proto::V6, &repeated));
    }

    /// Time in ms, leg and name of a message.
    type Seen = (u64, Option<Side>, Option<&'static str>);

    /// Each row: the unanswered messages with their legs, and whether a server of 0.6.5 shows its limit by them.
    #[test]
    fn connects_are_counted_on_the_leg_of_the_server_and_apart_from_each_other() {
        let (server, client) = (Some(Side::Server), Some(Side::Client));
        let rows: [(&[Seen], bool); 8] = [
            (
                &[(0, server, Some("connect")), (400, server, Some("connect"))],
                true,
            ),
            (
                &[(0, server, Some("connect")), (399, server, Some("connect"))],
                false,
            ),
            (
                &[(0, client, Some("connect")), (500, client, Some("connect"))],
                false,
            ),
            (&[(0, None, Some("connect")), (500, None, Some("connect"))], false),
            (&[(0, server, Some("connect")), (500, server, None)], false),
            (
                &[(0, server, Some("connect")), (500, server, Some("close"))],
                false,
            ),
            // Only an answer of the server ends the counting, and the first of two CONNECTs at once is the counted one.
            (
                &[
                    (0, server, Some("connect")),
                    (10, client, Some("connect_accept")),
                    (300, server, Some("connect")),
                    (450, server, Some("connect")),
                ],
                true,
            ),
            (
                &[
                    (0, server, Some("connect")),
                    (10, server, Some("connect_accept")),
                    (450, server, Some("connect")),
                ],
                false,
            ),
        ];
        for (messages, is_limit) in rows {
            let mut old = OldClients::default();
            old.version("0.6.5");
            old.opened(Proto::V6);
            for (ms, leg, name) in messages {
                old.message(Time(ms * 1000), *name, *leg);
            }
            let limit = Limit {
                why: OLD_CLIENTS,
                time: WINDOW,
                is_rate: true,
            };
            assert_eq!(old.limit(), is_limit.then_some(limit), "{messages:?}");
            // What was seen of the server and the client is not forgotten.
            old.version("0.7.5");
            old.opened(Proto::V7);
            assert_eq!(old.limit().is_some(), is_limit);
        }
    }

    #[test]
    fn a_refusal_that_passes_is_known_by_its_reason() {
        for (reason, expected) in [
            ("This server is full", Some(("the server is full", WINDOW, false))),
            (
                "Only 4 players with the same IP are allowed",
                Some(("too many clients have this address", WINDOW, false)),
            ),
            (
                "Too many connections in a short time",
                Some((
                    "too many connections were made from this address in a short time",
                    WINDOW,
                    true,
                )),
            ),
            (
                "You have been banned for 1 minute (Stressing network)",
                Some(("the address is banned", BAN, false)),
            ),
            ("0.7 connections are not accepted at this time", None),
            ("Wrong password", None),
        ] {
            let expected = expected.map(|(why, time, is_rate)| Limit { why, time, is_rate });
            assert_eq!(Limit::of_close(reason), expected, "{reason}");
        }
    }
}
