//! Detects what a peer never answers although it goes on sending: a login to the console, pings, and a game without
//! snapshots.
//!
//! Law: a peer is accused only if it still sends at the end, if every vital message was seen, and if no rule or link
//! line has touched the request. A message without a number may be lost, so its absence counts only on a network that
//! loses nothing.
//!
//! Sources: servers answer the first `rcon_auth` with `rcon_auth_status` or `rcon_auth_on`, or with a `rcon_line` that
//! gives a reason, and `ping` with `ping_reply` (`CServer::ProcessClientPacket` in `server.cpp` of Teeworlds 0.6.5 and
//! 0.7.5, and of DDNet); clients answer `ping`, too (`CClient::ProcessServerPacket` in `client.cpp`). A server sends each
//! client in the game a snapshot at least once a second (`CServer::DoSnapshot` in `server.cpp`).

use std::{fmt, time::Duration};

use teetap_proxy::session::{Action, Origin, SessionId, Time};
use teetap_wire::{Dir, PerDir, Proto, Seq, Side, def::Class, receiver::SNAPSHOTS};

use super::{DecidedChunk, Seen, Stream, Streams, words::Seconds};
use crate::Values;

/// Minimum time without the answer. Servers of the games answer within a tick.
const WAIT: Duration = Duration::from_secs(5);

/// Maximum time since the last message of a peer that still sends.
const ALIVE: Duration = Duration::from_millis(2500);

/// Minimum number of messages that the peer has sent without the answer.
const OTHERS: u32 = 5;

/// Minimum number of pings without an answer, and the minimum time between two of them, since the network may deliver a
/// ping twice.
const PINGS: u32 = 2;
const APART: Duration = Duration::from_millis(500);

/// Minimum number of snapshots before the last one.
const SNAPSHOTS_BEFORE: u32 = 10;

/// The requests of one session.
#[derive(Debug, Default)]
pub(super) struct Requests {
    login: Option<Request>,
    /// The pings of each direction.
    pings: PerDir<Option<Request>>,
    snapshots: Option<Request>,
    /// The time of the last message of each direction.
    last: PerDir<Option<Time>>,
    /// The protocol of the last message.
    proto: Option<Proto>,
    /// True if messages may be missing.
    is_unclear: bool,
}

/// A request, or the last snapshot, whose successor is due.
#[derive(Clone, Copy, Debug)]
struct Request {
    place: Place,
    last: Time,
    /// The number of the request; `None` if it is not vital.
    seq: Option<Seq>,
    /// Number of requests, or of snapshots.
    count: u32,
    /// Number of other messages of the peer since the request.
    others: u32,
    is_answered: bool,
}

/// Where a request was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) at: Time,
    pub(crate) dir: Dir,
    pub(crate) datagram: u64,
    pub(crate) frame: Option<u64>,
}

/// What a peer has never answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unanswered {
    pub(crate) what: Question,
    /// The side that owes the answer.
    pub(crate) side: Side,
    pub(crate) place: Place,
    proto: Proto,
    time: Duration,
    count: u32,
    others: u32,
}

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    Login,
    Ping,
    Snapshot,
}

impl Request {
    fn new(seen: &Seen<'_>, seq: Option<Seq>) -> Self {
        let datagram = seen.datagram;
        Self {
            place: Place {
                at: seen.at,
                dir: datagram.dir,
                datagram: datagram.ordinal,
                frame: datagram.ends.frame,
            },
            last: seen.at,
            seq,
            count: 1,
            others: 0,
            is_answered: false,
        }
    }
}

impl Requests {
    /// Forgets all requests, because messages may be missing.
    pub(super) fn forget(&mut self) {
        *self = Self {
            is_unclear: true,
            ..Self::default()
        };
    }

    /// Records a message that its sender has sent.
    fn record(&mut self, seen: &Seen<'_>, piece: &DecidedChunk<'_>) {
        let (dir, at) = (seen.datagram.dir, seen.at);
        self.last[dir] = Some(at);
        self.proto = Some(seen.datagram.proto);
        let name = piece.known.map(|known| &*known.def.name);
        let is_passed = piece.action == Some(Action::Pass) && seen.datagram.link.is_empty();
        self.record_ping(seen, name, is_passed);
        match (dir, name) {
            (Dir::C2s, Some("rcon_auth")) if self.login.is_none() => {
                let mut login = Request::new(seen, piece.seq_out);
                login.is_answered = !is_passed || piece.seq_out.is_none();
                self.login = Some(login);
            }
            (Dir::S2c, Some("map_change" | "con_ready")) => self.snapshots = None,
            (Dir::S2c, Some(name)) if SNAPSHOTS.contains(&name) => {
                let before = self.snapshots.map_or(0, |snapshot| snapshot.count);
                let mut snapshot = Request::new(seen, None);
                snapshot.count = before.saturating_add(1);
                // A network may refuse large datagrams only.
                snapshot.is_answered = name == "snap";
                self.snapshots = Some(snapshot);
            }
            (Dir::S2c, _) => {
                // An unknown message may be a snapshot under another id.
                self.snapshots = self.snapshots.filter(|_| name.is_some());
                if let Some(snapshot) = &mut self.snapshots {
                    snapshot.others = snapshot.others.saturating_add(1);
                }
                if let Some(login) = &mut self.login {
                    login.others = login.others.saturating_add(1);
                    // An unknown message may be an answer of another form.
                    login.is_answered |= piece.chunk.header.vital.is_some() && may_answer_login(piece);
                }
            }
            _ => {}
        }
    }

    fn record_ping(&mut self, seen: &Seen<'_>, name: Option<&str>, is_passed: bool) {
        let dir = seen.datagram.dir;
        let (own, other) = self.pings.with_reverse_mut(dir);
        match (name, &mut *own) {
            (Some("ping"), _) if !is_passed => {}
            (Some("ping"), None) => *own = Some(Request::new(seen, None)),
            (Some("ping"), Some(ping)) if seen.at.since(ping.last) >= APART => {
                ping.last = seen.at;
                ping.count = ping.count.saturating_add(1);
            }
            _ => {}
        }
        if let Some(ping) = other {
            ping.others = ping.others.saturating_add(1);
            ping.is_answered |= name == Some("ping_reply");
        }
    }

    /// Returns true if the server owes the answer to a login.
    const fn awaits_login(&self) -> bool {
        matches!(self.login, Some(login) if !login.is_answered)
    }
}

/// Returns true if a vital message of the server may answer a login.
fn may_answer_login(piece: &DecidedChunk<'_>) -> bool {
    piece.known.is_none_or(|known| {
        let is_of_map = [
            "map_change",
            "map_data",
            "con_ready",
            "server_info",
            "ping",
            "ping_reply",
        ];
        known.unknown || known.def.class == Class::System && !is_of_map.contains(&&*known.def.name)
    })
}

impl Streams {
    /// Returns true if a server owes the answer to a login to the console.
    pub(crate) fn awaits_login(&self, session: Option<SessionId>) -> bool {
        let stream = session.and_then(|session| self.sessions.get(session.0));
        stream.is_some_and(|stream| stream.requests.awaits_login())
    }

    /// Records a datagram whose chunks do not fit: the missing messages may be in it.
    pub(crate) fn misread(&mut self, session: SessionId) {
        if let Some(stream) = self.sessions.get_mut(session.0) {
            stream.requests.is_unclear = true;
        }
    }

    /// Returns what the peers of a session have not answered by the time `at`.
    pub(crate) fn unanswered(&self, session: SessionId, at: Time) -> Vec<Unanswered> {
        let stream = self.sessions.get(session.0).filter(|_| !self.is_partial);
        stream.map_or_else(Vec::new, |stream| stream.unanswered(at))
    }
}

impl Stream {
    /// Records a message for the requests of its session.
    pub(super) fn note_request(&mut self, seen: &Seen<'_>, piece: &DecidedChunk<'_>) {
        if seen.datagram.origin != Origin::Peer {
            self.requests.is_unclear = true;
        }
        self.requests.record(seen, piece);
    }

    fn unanswered(&self, at: Time) -> Vec<Unanswered> {
        let requests = &self.requests;
        let is_whole = self
            .ways
            .iter()
            .all(|way| way.numbers.is_whole() && !way.numbers.has_gap());
        let Some(proto) = requests.proto.filter(|_| is_whole && !requests.is_unclear) else {
            return Vec::new();
        };
        let is_rough = self.ways.iter().any(|way| {
            let networks = [way.network, way.heard.network];
            networks
                .iter()
                .any(|network| network.is_rough || network.has_repeats)
        });
        let is_acked = |login: &Request| {
            let acked = self.ways.c2s.acks.last;
            login
                .seq
                .zip(acked)
                .is_some_and(|(seq, acked)| seq.is_behind(acked))
        };
        let login = requests.login.filter(is_acked);
        let ping = |dir: Dir| requests.pings[dir].filter(|ping| !is_rough && ping.count >= PINGS);
        let snapshot = requests
            .snapshots
            .filter(|snapshot| !is_rough && snapshot.count > SNAPSHOTS_BEFORE);
        let all = [
            (Question::Login, Side::Server, login),
            (Question::Ping, Side::Server, ping(Dir::C2s)),
            (Question::Ping, Side::Client, ping(Dir::S2c)),
            (Question::Snapshot, Side::Server, snapshot),
        ];
        let of = |(what, side, request): (Question, Side, Option<Request>)| {
            let request = request.filter(|request| !request.is_answered && request.others >= OTHERS)?;
            let time = at.since(request.place.at);
            let last = requests.last[super::sent_by(side)]?;
            (time >= WAIT && at.since(last) < ALIVE).then_some(Unanswered {
                what,
                side,
                place: request.place,
                proto,
                time,
                count: request.count,
                others: request.others,
            })
        };
        all.into_iter().filter_map(of).collect()
    }
}

impl Unanswered {
    /// Returns the name of the request; `None` if nothing was requested.
    pub(crate) const fn name(&self) -> Option<&'static str> {
        match self.what {
            Question::Login => Some("rcon_auth"),
            Question::Ping => Some("ping"),
            Question::Snapshot => None,
        }
    }

    /// Returns a sentence about what is missing and what follows from it.
    pub(crate) const fn text(&self) -> &'static str {
        match self.what {
            Question::Login => {
                "never answered, although the server acks it and goes on: the client waits for its login"
            }
            Question::Ping => {
                "never answered, although its receiver goes on sending: the sender waits for ever"
            }
            Question::Snapshot => {
                "no more snapshots, although the server goes on sending: the game of the client stands still"
            }
        }
    }

    /// Returns the received and the expected value.
    pub(crate) fn values(&self) -> Values {
        let time = Seconds(self.time);
        match self.what {
            Question::Login => {
                let answer = match self.proto {
                    Proto::V7 => "rcon_auth_on",
                    Proto::V6 | Proto::V65 | Proto::Ddnet => "rcon_auth_status",
                };
                Values::new(
                    format_args!("no answer for {time}"),
                    Some(format_args!("{answer}, or rcon_line with the reason, at once")),
                )
            }
            Question::Ping => Values::new(
                format_args!("no ping_reply to {} pings within {time}", self.count),
                Some("one for each ping"),
            ),
            Question::Snapshot => {
                let others: fmt::Arguments<'_> = format_args!("but {} other messages", self.others);
                Values::new(
                    format_args!("no snapshot for {time}, {others}"),
                    Some("one or more in each second"),
                )
            }
        }
    }
}
