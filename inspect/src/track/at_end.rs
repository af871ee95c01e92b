//! What was open when a session ended: how long each peer had sent nothing, and which messages it had not acked.

use std::{fmt::Write as _, time::Duration};

use teetap_proxy::session::{SessionId, Time};
use teetap_wire::{PerSide, Seq, Side};

use super::{Stream, Streams, sent_by, words::Seconds};

/// Minimum silence of a peer at the end of a session that is mentioned: a keepalive is due each second.
const SILENT: Duration = Duration::from_millis(2500);

/// The last datagrams and the unacked messages of both peers at the end of their session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpenAtEnd(PerSide<OpenOfPeer>);

/// The last datagram and the unacked messages of one peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct OpenOfPeer {
    /// Time since the last datagram of the peer; `None` if it sent none.
    silent: Option<Duration>,
    /// First and last number of the messages sent to the peer that it has not acked, and the time since the first one
    /// was sent; `None` if it has acked all.
    unacked: Option<(Seq, Seq, Duration)>,
}

impl Streams {
    /// Returns what is open in a session at the time `at`; `None` if the session is unknown.
    pub(crate) fn open_at_end(&self, session: SessionId, at: Time) -> Option<OpenAtEnd> {
        let stream = self.sessions.get(session.0)?;
        Some(OpenAtEnd(PerSide::from_fn(|side| stream.open_of(side, at))))
    }
}

impl Stream {
    fn open_of(&self, side: Side, at: Time) -> OpenOfPeer {
        let dir = sent_by(side);
        OpenOfPeer {
            silent: self.ways[dir].silence.last().map(|last| at.since(last)),
            unacked: self.ways[dir.reverse()].acks.unacked_since(at),
        }
    }
}

impl OpenAtEnd {
    /// Returns true if a peer sent datagrams until the end.
    pub(crate) fn is_heard(&self, side: Side) -> bool {
        self.0[side].silent.is_some_and(|silent| silent < SILENT)
    }

    /// Describes the last datagram and the unacked messages of one peer.
    pub(crate) fn of(&self, side: Side) -> String {
        let OpenOfPeer { silent, unacked } = self.0[side];
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
        let is_silent = |side: &Side| self.0[*side].silent.is_some_and(|silent| silent >= SILENT);
        let silent = [Side::Client, Side::Server].into_iter().filter(is_silent);
        let texts: Vec<String> = silent.map(|side| self.of(side)).collect();
        (!texts.is_empty()).then(|| texts.join("; "))
    }
}
