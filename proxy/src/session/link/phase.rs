//! The phase of a session. State that is used in one phase only is part of that phase.

use std::time::Duration;

use teetap_wire::Side;

use crate::session::{acks::RestartedNumbers, handshake::Handshake, resync::Resync, time::Time};

/// Interval at which a handshake request is repeated, as in the game.
pub(super) const REQUEST_EVERY: Duration = Duration::from_millis(500);
/// Silence after which a client that repeated its CONNECT has given up.
pub(super) const CLIENT_GONE: Duration = Duration::from_secs(5);
/// Silence that confirms a CLOSE of the client while the session opens. A client that has not left repeats
/// CONNECT every 500 ms.
const LEFT_WHILE_OPENING: Duration = Duration::from_secs(1);
/// Silence that confirms a CLOSE of the client while the session is online. A client that has not left sends
/// inputs.
pub(super) const LEFT: Duration = Duration::from_secs(2);
/// Silence of both peers after which a session is over. A server that keeps a silent client sends it
/// keepalives, and finally a CLOSE, after 10 s, or up to 1000 s in DDNet (`conn_timeout`).
pub(super) const BOTH_SILENT: Duration = Duration::from_secs(120);
/// Silence after which the session of a client that the server has not accepted may be ended in favor of
/// others.
pub(super) const CLIENT_LATE: Duration = Duration::from_secs(12);
/// Silence after which an unresponsive server is reported. A server sends a keepalive every second.
pub(super) const SERVER_SILENT: Duration = Duration::from_secs(5);
/// Minimum time to wait for the server's reaction to a lone ACCEPT before it is repeated. Four times the
/// answer time of CONNECT is used if that is longer.
const ACCEPT_ANSWERED: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) enum Phase {
    /// The server has not accepted yet.
    Opening(Opening),
    /// The server has accepted and the client was answered. The client's first packet brings the session
    /// online.
    Answered(Answered),
    Online(Online),
    /// The session has ended; late datagrams are still expected.
    Closing(Closing),
    Closed(Ending),
}

/// A session that has ended.
#[derive(Debug)]
pub(super) struct Closing {
    /// The time at which the session is forgotten.
    pub(super) until: Time,
    pub(super) ending: Ending,
}

/// The cause of the end of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// A CLOSE of this peer.
    Peer(Side),
    /// The proxy, for a user, a rule or another session.
    Proxy,
    /// Silence. Neither peer got a CLOSE.
    Silence,
}

impl Ending {
    /// Returns the peer whose CLOSE ended the session; `None` if the proxy ended it.
    pub(super) fn peer(self) -> Option<Side> {
        match self {
            Self::Peer(side) => Some(side),
            Self::Proxy | Self::Silence => None,
        }
    }
}

#[derive(Debug)]
pub(super) struct Opening {
    /// The state of the handshake. `None` only while a datagram is being handled.
    pub(super) handshake: Option<Handshake>,
    pub(super) next_request: Time,
    /// True if the upstream socket could not be opened. The next request tries again.
    pub(super) has_no_socket: bool,
    /// Time of the next notice about the server's silence.
    pub(super) next_notice: Time,
    /// True once a CONNECT of the client has opened the server leg. Rules may drop the first ones.
    pub(super) has_begun: bool,
    /// The reason of the client's last CLOSE; `None` if a CONNECT was received later. A CLOSE without a token
    /// may be forged, and some servers ignore it.
    pub(super) left: Option<Box<[u8]>>,
    /// Datagrams of the client that wait for a socket or the server's token; or for the server's answer, if
    /// the client was answered before the session opened.
    pub(super) early: Vec<Box<[u8]>>,
    /// True if the client was answered before the session opened.
    pub(super) was_answered: bool,
}

impl Opening {
    /// Returns the maximum silence of the client.
    pub(super) fn patience(&self) -> Duration {
        match self.left {
            Some(_) => LEFT_WHILE_OPENING,
            None => CLIENT_GONE,
        }
    }

    /// Returns true if the proxy has a request of its own to repeat: it needs the server's token, or its
    /// client was answered before the session opened and sends no CONNECT.
    pub(super) fn asks_itself(&self) -> bool {
        self.was_answered || matches!(self.handshake, Some(Handshake::AskToken(_)))
    }
}

#[derive(Debug)]
pub(super) struct Answered {
    /// Time that the server took to answer CONNECT.
    pub(super) connect_took: Duration,
    /// The peer that sent the first messages, in a session without tokens; `None` before that.
    pub(super) began: Option<Side>,
    /// The reason of a CLOSE that the client sent before it had its token; `None` if another datagram was
    /// received later.
    pub(super) left: Option<Box<[u8]>>,
}

impl Answered {
    /// Returns the maximum silence of both peers. A client that has sent a CLOSE is not expected to send
    /// anything.
    pub(super) fn patience(&self) -> Duration {
        match self.left {
            Some(_) => CLIENT_LATE,
            None => BOTH_SILENT,
        }
    }
}

#[derive(Debug)]
pub(super) struct Online {
    /// True once a datagram of the server has shown that it accepted the client.
    pub(super) server_accepted: bool,
    /// The lone ACCEPT of DDNet, until the server has sent anything; `None` in other protocols.
    pub(super) accept: Option<LoneAccept>,
    /// True if the last datagram of the client was a CONNECT that the server may answer with a new slot.
    pub(super) is_rejoining: bool,
    /// True if an ACCEPT of DDNet's client was forwarded.
    pub(super) is_accepted: bool,
    /// Sequence numbers since the last ACCEPT of DDNet's client, unless it was the first ACCEPT. The server
    /// may restart its own numbers after such an ACCEPT.
    pub(super) anew: Option<RestartedNumbers>,
    /// The peer that sent the first messages, in a session without tokens; `None` before that.
    pub(super) began: Option<Side>,
    /// True if rules act but the session may not be renumbered yet.
    pub(super) arm_pending: bool,
    /// True once the server's current silence was reported.
    pub(super) is_silence_reported: bool,
    /// The reason of a CLOSE of the client that the server may have ignored, because the server has no tokens
    /// and has not let the client in. `None` once another datagram of the client was received.
    pub(super) left: Option<Box<[u8]>>,
    pub(super) resync: Resync,
}

/// The timer of the lone ACCEPT, which completes DDNet's handshake and which DDNet's client sends only once.
#[derive(Debug)]
pub(super) struct LoneAccept {
    repeat_at: Time,
    every: Duration,
}

impl Online {
    pub(super) fn new(accept: Option<LoneAccept>, began: Option<Side>) -> Self {
        Self {
            server_accepted: false,
            accept,
            is_rejoining: false,
            is_accepted: false,
            anew: None,
            began,
            arm_pending: true,
            is_silence_reported: false,
            left: None,
            resync: Resync::default(),
        }
    }
}

impl LoneAccept {
    /// Returns the state of an ACCEPT that is sent now, to a server that took `connect_took` to answer
    /// CONNECT.
    pub(super) fn new(now: Time, connect_took: Duration) -> Self {
        let every = ACCEPT_ANSWERED.max(connect_took * 4);
        Self {
            repeat_at: now + every,
            every,
        }
    }

    pub(super) fn repeat_at(&self) -> Time {
        self.repeat_at
    }

    /// Returns true if the ACCEPT has to be sent again now, and sets the time of the next repetition.
    pub(super) fn is_due(&mut self, now: Time) -> bool {
        let due = self.repeat_at <= now;
        if due {
            self.repeat_at = now + self.every;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ACCEPT that arrives twice resets the numbers of the server, so a slow link gets more time.
    #[test]
    fn a_lone_accept_waits_for_four_answers_and_at_least_two_seconds() {
        for (took, every) in [(0, 2000), (500, 2000), (501, 2004), (3000, 12_000)] {
            let [took, every] = [took, every].map(Duration::from_millis);
            let now = Time(7);
            let mut accept = LoneAccept::new(now, took);
            let repeats = [accept.repeat_at(), accept.repeat_at() + every];
            assert_eq!(repeats, [now + every, now + every * 2], "CONNECT took {took:?}");
            let before = Time(repeats[0].0 - 1);
            let dues = [before, repeats[0], repeats[0]].map(|at| accept.is_due(at));
            assert_eq!(dues, [false, true, false], "CONNECT took {took:?}");
            assert_eq!(accept.repeat_at(), repeats[1], "CONNECT took {took:?}");
        }
    }
}
