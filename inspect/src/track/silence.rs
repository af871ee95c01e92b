//! Detects peers that have stopped sending, by timeout.
//!
//! Law: a peer counts as silent only while datagrams are sent to it; a pause of both peers is a pause of the recording.
//! The games send a keepalive after a second without another datagram, and drop a peer that was silent for 10 seconds,
//! or 100 with DDNet (`CNetConnection::Update` in `network_conn.cpp` of Teeworlds 0.6.5 and 0.7.5, and of DDNet).

use std::time::Duration;

use teetap_proxy::session::{Event, EventKind, Notice, SessionId, Time};
use teetap_wire::{Dir, Side, Token};

use super::{Stream, Streams};

/// Minimum silence to report, in which three keepalives are missing.
const SILENCE: Duration = Duration::from_millis(3500);

/// Minimum number of datagrams sent to the peer during its silence.
const OTHERS: u8 = 3;

/// The silence of one peer.
#[derive(Debug, Default)]
pub(super) struct Silence {
    last: Option<Time>,
    /// Number of datagrams sent to the peer during its silence, up to [`OTHERS`], and the time at which [`OTHERS`] was
    /// reached.
    others: u8,
    enough: Option<Time>,
    is_reported: bool,
    /// True once the peer has sent messages, which shows that its side of the handshake is over.
    talks: bool,
}

impl Silence {
    /// Records a datagram of the peer. `talks` is true if the datagram contains messages. Returns true if the silence
    /// before it was reported.
    pub(super) fn on_received(&mut self, at: Time, talks: bool) -> bool {
        let was_reported = self.is_reported;
        *self = Self {
            last: Some(at),
            talks: self.talks || talks,
            ..Self::default()
        };
        was_reported
    }

    /// Returns the time of the last datagram of the peer; `None` if there is none.
    pub(super) const fn last(&self) -> Option<Time> {
        self.last
    }

    /// Records a datagram sent to the peer.
    pub(super) fn on_sent(&mut self, at: Time) {
        if self.last.is_some() && self.others < OTHERS {
            self.others += 1;
            self.enough = (self.others == OTHERS).then_some(at);
        }
    }

    /// Returns the time at which the peer's silence is to be reported; `None` if it was reported, or if there is no
    /// reason to report it.
    fn due(&self) -> Option<Time> {
        let (last, enough) = (self.last?, self.enough?);
        (self.talks && !self.is_reported).then(|| enough.max(last + SILENCE))
    }
}

impl Streams {
    /// Updates the time of the next report after a change of a session.
    pub(super) fn expect_silence(&mut self, session: SessionId) {
        let due = self.sessions.get(session.0).and_then(Stream::silent);
        if let Some((due, _)) = due {
            self.next_silence = Some(self.next_silence.map_or(due, |next| next.min(due)));
        }
    }

    /// Returns the time of the next report of a silent peer; `None` if there is none before `before`.
    pub(crate) fn silent_before(&mut self, before: Time) -> Option<Time> {
        self.next_silence.filter(|next| *next < before)?;
        let sessions = self.sessions.iter();
        let first = sessions.filter_map(|(_, stream)| Some(stream.silent()?.0)).min();
        self.next_silence = first.filter(|_| !self.is_partial);
        self.next_silence.filter(|next| *next < before)
    }

    /// Reports the next silent peer: marks it as reported, and returns the notice.
    pub(crate) fn silent(&mut self) -> Option<Event> {
        let sessions = self.sessions.iter();
        let silent = sessions.filter_map(|(id, stream)| Some((stream.silent()?, id)));
        let ((at, side), id) = silent.min_by_key(|((at, _), id)| (*at, *id))?;
        let session = SessionId(id);
        let notice = self.sessions.get_mut(id)?.report_silence(side, at)?;
        Some(Event {
            at,
            session: Some(session),
            what: EventKind::Notice(notice),
        })
    }

    /// Records that the recording already contains the notice about a silent peer.
    pub(crate) fn silence_is_known(&mut self, session: SessionId, side: Side) {
        if let Some(stream) = self.sessions.get_mut(session.0) {
            stream.both(sent_by(side)).0.silence.is_reported = true;
        }
    }

    /// Records an unreadable datagram of a peer, which still ends its silence. Returns the known token of the direction.
    pub(crate) fn on_unreadable(&mut self, session: SessionId, dir: Dir, at: Time) -> Option<Token> {
        let stream = self.sessions.get_mut(session.0)?;
        let (own, _) = stream.both(dir);
        own.silence.on_received(at, false);
        own.pace.sent(at);
        own.token
    }
}

impl Stream {
    /// Returns the peer to report first and the time of the report; `None` if no peer is to be reported.
    fn silent(&self) -> Option<(Time, Side)> {
        let of = |due: Option<Time>, side| Some((due?, side));
        let client = of(self.ways.c2s.silence.due(), Side::Client);
        let server = of(self.ways.s2c.silence.due(), Side::Server);
        let first = client.into_iter().chain(server).min_by_key(|(at, _)| *at);
        first.filter(|_| self.is_online)
    }

    fn report_silence(&mut self, side: Side, at: Time) -> Option<Notice> {
        let (own, other) = self.both(sent_by(side));
        own.silence.is_reported = true;
        let time = at.since(own.silence.last?);
        let unacked = other.acks.unacked().map(|(first, last, times)| {
            let numbers = match first == last {
                true => first.to_string(),
                false => format!("{first} to {last}"),
            };
            let times = match times {
                0 | 1 => String::new(),
                times => format!(", {first} was sent {times} times"),
            };
            format!("{numbers}{times}").into()
        });
        Some(Notice::PeerSilent { side, time, unacked })
    }
}

/// Returns the direction of datagrams sent by a side.
pub(super) const fn sent_by(side: Side) -> Dir {
    match side {
        Side::Client => Dir::C2s,
        Side::Server => Dir::S2c,
    }
}
