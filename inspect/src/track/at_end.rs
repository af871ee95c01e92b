//! What was open when a session ended: how long each peer had sent nothing, and which messages it had not acked.

use std::{fmt::Write as _, time::Duration};

use teetap_proxy::session::{SessionId, Time};
use teetap_wire::{PerSide, Seq, Side};

use super::{Stream, Streams, sent_by, words::Seconds};
use crate::Values;

/// Minimum silence of a peer at the end of a session that is mentioned: a keepalive is due each second.
const SILENT: Duration = Duration::from_millis(2500);

/// The shortest time after which a peer gives up on a silent peer: `conn_timeout` of DDNet is 5 seconds or more, and
/// Teeworlds waits for 10 (`CNetConnection::Update` in `network_conn.cpp`).
const SHORTEST: Duration = Duration::from_secs(5);

/// The last datagrams and the unacked messages of both peers at the end of their session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpenAtEnd {
    peers: PerSide<OpenOfPeer>,
    /// Time since the first datagram; `None` if the start of the session is unknown.
    age: Option<Duration>,
}

/// The last datagram and the unacked messages of one peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct OpenOfPeer {
    /// Time since the last datagram of the peer; `None` if it sent none.
    silent: Option<Duration>,
    /// Maximum time since the other peer has received a datagram of the peer; `None` without a proof.
    heard: Option<Duration>,
    /// True if the other peer has received the acks of all of its messages.
    has_acked_all: bool,
    /// First and last number of the messages sent to the peer that it has not acked, and the time since the first one
    /// was sent; `None` if it has acked all.
    unacked: Option<(Seq, Seq, Duration)>,
}

impl Streams {
    /// Returns what is open in a session at the time `at`; `None` if the session is unknown.
    pub(crate) fn open_at_end(&self, session: SessionId, at: Time) -> Option<OpenAtEnd> {
        let stream = self.sessions.get(session.0)?;
        Some(OpenAtEnd {
            peers: PerSide::from_fn(|side| stream.open_of(side, at)),
            age: stream.began.map(|began| at.since(began)),
        })
    }
}

impl Stream {
    fn open_of(&self, side: Side, at: Time) -> OpenOfPeer {
        let dir = sent_by(side);
        let (own, other) = (&self.ways[dir], &self.ways[dir.reverse()]);
        let proved = self.began.max(own.echo.until());
        let all_since = other
            .acks
            .all_since()
            .filter(|_| !other.acks.is_shifted && !other.numbers.has_gap());
        OpenOfPeer {
            heard: proved.map(|proved| at.since(proved)),
            has_acked_all: all_since
                .zip(own.echo.until())
                .is_some_and(|(all, until)| until >= all),
            silent: self.ways[dir].silence.last().map(|last| at.since(last)),
            unacked: self.ways[dir.reverse()].acks.unacked_since(at),
        }
    }
}

impl OpenAtEnd {
    /// Returns true if a peer sent datagrams until the end.
    pub(crate) fn is_heard(&self, side: Side) -> bool {
        self.peers[side].silent.is_some_and(|silent| silent < SILENT)
    }

    /// Returns why the reason of a CLOSE is false that says that the peer was silent (`is_silence`) or did not ack; `None`
    /// if it may be true.
    pub(crate) fn refutes(&self, side: Side, is_silence: bool) -> Option<Values> {
        let of = &self.peers[side];
        let is_heard = of.heard.is_some_and(|heard| heard < SHORTEST);
        let is_short = self.age.is_some_and(|age| age < SHORTEST);
        match is_silence {
            true if is_heard => {
                let silent = Seconds(of.silent?);
                let got = format_args!("a datagram of the {side} {silent} before");
                Some(Values::new(got, Some("10 s or more of silence")).and(": the reason is false"))
            }
            false if is_heard && of.unacked.is_none() && (of.has_acked_all || is_short) => {
                let got = format_args!("acks of the {side} for all messages");
                let expected = Some("a message that is not acked for 10 s or more");
                Some(Values::new(got, expected).and(": the reason is false"))
            }
            _ => None,
        }
    }

    /// Describes the last datagram and the unacked messages of one peer.
    pub(crate) fn of(&self, side: Side) -> String {
        let OpenOfPeer { silent, unacked, .. } = self.peers[side];
        let mut text = match silent {
            Some(silent) => format!("the last datagram of the {side} was {} before", Seconds(silent)),
            None => format!("the {side} has sent no datagram"),
        };
        if let Some((first, last, time)) = unacked {
            let numbers = match first == last {
                true => format!("{first} was"),
                false => format!("{first} to {last} were"),
            };
            let _infallible = write!(text, "; {numbers} not acked for {}", Seconds(time));
        }
        text
    }

    /// Describes the peers that were silent for longer than the interval between two keepalives; `None` if neither was.
    pub(crate) fn silences(&self) -> Option<String> {
        let is_silent = |side: &Side| self.peers[*side].silent.is_some_and(|silent| silent >= SILENT);
        let silent = [Side::Client, Side::Server].into_iter().filter(is_silent);
        let texts: Vec<String> = silent.map(|side| self.of(side)).collect();
        (!texts.is_empty()).then(|| texts.join("; "))
    }
}
