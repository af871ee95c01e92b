//! How far a session is. What means something in one phase only is part of that phase.

use std::time::Duration;

use teetap_wire::Side;

use crate::session::{acks::Anew, handshake::Handshake, resync::Resync, time::Time};

/// A request of a handshake is repeated this often, as the game does.
pub(super) const REQUEST_EVERY: Duration = Duration::from_millis(500);
/// A client that repeats its CONNECT no more has given up.
pub(super) const CLIENT_GONE: Duration = Duration::from_secs(5);
/// A client that sends nothing after its CLOSE for so long has left: while a session opens, clients repeat CONNECT every
/// 500 ms, and later they send inputs.
const LEFT_WHILE_OPENING: Duration = Duration::from_secs(1);
pub(super) const LEFT: Duration = Duration::from_secs(2);
/// A session in which neither peer says anything for so long is over. A server that keeps a silent client sends it keepalives, and
/// its CLOSE in the end, after 10 s, or up to 1000 s in DDNet (`conn_timeout`).
pub(super) const BOTH_SILENT: Duration = Duration::from_secs(120);
/// A client that has been silent for so long before it was let in gives way to others.
pub(super) const CLIENT_LATE: Duration = Duration::from_secs(12);
/// A server that says nothing for so long is worth a notice (it sends a keepalive every second).
pub(super) const SERVER_SILENT: Duration = Duration::from_secs(5);
/// Something has to come back after a lone ACCEPT within this, or four times what CONNECT took.
const ACCEPT_ANSWERED: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) enum Phase {
    /// The server has not accepted yet.
    Opening(Opening),
    /// The server has accepted and the client was answered; the client's first packet makes the session online.
    Answered(Answered),
    Online(Online),
    /// Ended; late datagrams are expected for a while.
    Closing(Closing),
    Closed(Option<Side>),
}

/// A session that has ended.
#[derive(Debug)]
pub(super) struct Closing {
    /// When it is forgotten.
    pub(super) until: Time,
    /// The peer whose CLOSE has ended it; `None` if the proxy has.
    pub(super) by: Option<Side>,
}

#[derive(Debug)]
pub(super) struct Opening {
    /// `None` only while a datagram is being handled.
    pub(super) handshake: Option<Handshake>,
    pub(super) next_request: Time,
    /// The upstream socket could not be opened: the next request tries again.
    pub(super) has_no_socket: bool,
    /// When the server's silence is reported next.
    pub(super) next_notice: Time,
    /// True once a CONNECT of the client has opened the server leg. Rules may lose the first ones.
    pub(super) has_begun: bool,
    /// The reason of the client's last CLOSE, if no CONNECT has come since. Without a token it may be forged, and some
    /// servers ignore it.
    pub(super) left: Option<Box<[u8]>>,
    /// Datagrams of the client that wait for a socket or the server's token. A client that was answered before the session
    /// opened waits for the server's answer.
    pub(super) early: Vec<Box<[u8]>>,
    /// True if the client was answered before the session opened.
    pub(super) was_answered: bool,
}

impl Opening {
    /// Returns how long the client may be silent.
    pub(super) fn patience(&self) -> Duration {
        match self.left {
            Some(_) => LEFT_WHILE_OPENING,
            None => CLIENT_GONE,
        }
    }

    /// Returns true if the proxy has a request of its own to repeat: it needs the server's token, or its client, which
    /// was answered before the session opened, repeats none.
    pub(super) fn asks_itself(&self) -> bool {
        self.was_answered || matches!(self.handshake, Some(Handshake::AskToken(_)))
    }
}

#[derive(Debug)]
pub(super) struct Answered {
    /// How long the server's answer to CONNECT took.
    pub(super) connect_took: Duration,
    /// The peer that has sent the first messages, of a session without tokens.
    pub(super) began: Option<Side>,
    /// The reason of the client's CLOSE before the server had answered, if nothing has come since.
    pub(super) left: Option<Box<[u8]>>,
}

impl Answered {
    /// Returns the time for which neither peer may say anything. A client that has said CLOSE before is not expected to come.
    pub(super) fn patience(&self) -> Duration {
        match self.left {
            Some(_) => CLIENT_LATE,
            None => BOTH_SILENT,
        }
    }
}

#[derive(Debug)]
pub(super) struct Online {
    /// True once the server has sent a datagram which shows that it accepted the client.
    pub(super) is_let_in: bool,
    /// DDNet's alone, until the server has sent something.
    pub(super) accept: Option<LoneAccept>,
    /// True if a CONNECT has come that the server may answer with a new slot, and nothing else since.
    pub(super) is_rejoining: bool,
    /// True if the client's ACCEPT of DDNet's was sent on.
    pub(super) is_accepted: bool,
    /// The numbers since the client's last ACCEPT of DDNet's, if it was not the first: the server may begin its own anew.
    pub(super) anew: Option<Anew>,
    /// The peer that has sent the first messages, of a session without tokens.
    pub(super) began: Option<Side>,
    /// Rules act but the session may not be renumbered yet.
    pub(super) arm_pending: bool,
    /// True once the server's present silence was reported.
    pub(super) is_silence_reported: bool,
    /// The reason of the client's CLOSE, if nothing has come since and the server may have ignored it: one without tokens
    /// that has not let the client in.
    pub(super) left: Option<Box<[u8]>>,
    pub(super) resync: Resync,
}

/// The lone ACCEPT of DDNet's handshake towards the server (session decision 14).
#[derive(Debug)]
pub(super) struct LoneAccept {
    repeat_at: Time,
    every: Duration,
}

impl Online {
    pub(super) fn new(accept: Option<LoneAccept>, began: Option<Side>) -> Self {
        Self {
            is_let_in: false,
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
    /// Sent now, to a server whose answer to CONNECT took so long.
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

    /// Returns true if it has to be sent once more now.
    pub(super) fn is_due(&mut self, now: Time) -> bool {
        let due = self.repeat_at <= now;
        if due {
            self.repeat_at = now + self.every;
        }
        due
    }
}
