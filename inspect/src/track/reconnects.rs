//! Clients that go on in the game without an answer to a map change, and clients that begin anew in a session that they
//! have not closed.
//!
//! After a map change the server sends no snapshots to a client before its `enter_game` (`Run` and `DoSnapshot` in
//! `server.cpp` of Teeworlds 0.6.5, 0.7.5 and of DDNet). A client of Teeworlds loads the map at once, or asks the server
//! for it. A client of DDNet may download it over HTTP first, and stops a download of fewer than 4000 bytes per second
//! (`ClMapDownloadConnectTimeoutMs` and `ClMapDownloadLowSpeedLimit` in `config_variables.h` of DDNet).
//!
//! A server that has a slot for an address ignores CONNECT and, with DDNet, token requests of that address (`Recv` in
//! `network_server.cpp` of Teeworlds 0.6.5, `OnSixupCtrlMsg` in that of DDNet).

use std::time::Duration;

use teetap_proxy::session::{Action, Time};
use teetap_wire::{Control, Dir, Packet, Proto, Seq, Token, def::Def};

use super::{
    Fact, NoteSink, Seen, Stream,
    chunk::{DecidedChunk, of_chunk},
    look::whole,
    out_of_turn::{OutOfTurn, Turn},
};
use crate::ints::ints;

/// Minimum time from the ack of a map change to a report, besides the time of a slow download.
const LOADING: Duration = Duration::from_secs(5);

/// The slowest download of a client of DDNet, in bytes per second.
const SLOWEST: u64 = 4000;

/// Minimum number of inputs without an answer.
const INPUTS: u16 = 50;

/// Minimums for a client that begins anew: requests without another datagram, and the time from the first to the last.
const REQUESTS: u16 = 5;
const ANEW: Duration = Duration::from_secs(2);

/// A map change that the client has not answered.
#[derive(Debug, Default)]
pub(super) struct MapAnswer {
    /// True once the client has sent `enter_game`.
    has_asked: bool,
    /// True if the server has sent snapshots to the client since the last map change.
    is_in_game: bool,
    /// The number of the map change, and the time in which the client has to answer; `None` if none is open.
    open: Option<(Seq, Duration)>,
    /// Time of the first input that acks the map change.
    acked: Option<Time>,
    inputs: u16,
}

/// Reconnects for a session in a session.
#[derive(Debug, Default)]
pub(super) struct Reconnects {
    first: Option<Time>,
    count: u16,
    is_reported: bool,
}

impl MapAnswer {
    /// Records a message that is sent for the first time.
    pub(super) fn message(&mut self, def: &Def, dir: Dir, piece: &DecidedChunk<'_>, body: &[u8]) {
        match (dir, &*def.name) {
            (Dir::C2s, "enter_game") => self.has_asked = true,
            (Dir::C2s, "ready" | "request_map_data") => self.open = None,
            (Dir::S2c, "map_change") => {
                let was_in_game = std::mem::take(&mut self.is_in_game);
                let is_plain = was_in_game && piece.action == Some(Action::Pass);
                self.open = piece.seq_out.filter(|_| is_plain).zip(time_to_load(body));
                (self.acked, self.inputs) = (None, 0);
            }
            _ => {}
        }
    }

    /// Records a snapshot, with which the server shows that the client is in the game.
    pub(super) fn snapshot(&mut self) {
        self.is_in_game |= self.has_asked;
        self.open = None;
    }

    /// Records an input. Returns the number of inputs without an answer and their time, once, if they are too many.
    fn input(&mut self, at: Time, ack: Seq) -> Option<(u16, Duration)> {
        let (_, limit) = self.open.filter(|(seq, _)| seq.is_behind(ack))?;
        let since = *self.acked.get_or_insert(at);
        self.inputs = self.inputs.saturating_add(1);
        let time = at.since(since);
        (time >= limit && self.inputs >= INPUTS).then(|| {
            self.open = None;
            (self.inputs, time)
        })
    }
}

/// Returns the time in which a client has to answer a map change; `None` if the message cannot be read.
fn time_to_load(body: &[u8]) -> Option<Duration> {
    let name = body.iter().position(|byte| *byte == 0)?;
    let ([_, size], _) = ints::<2>(body.get(name + 1..)?)?;
    let size = u64::try_from(size).ok()?;
    Some(LOADING + Duration::from_millis(size * 1000 / SLOWEST))
}

impl Reconnects {
    /// Records a datagram of the client. Returns the number of requests and their time, once, if they are too many.
    fn client_sent(&mut self, at: Time, is_request: bool) -> Option<(u16, Duration)> {
        if !is_request {
            self.answered();
            return None;
        }
        let time = at.since(*self.first.get_or_insert(at));
        self.count = self.count.saturating_add(1);
        let is_long = self.count >= REQUESTS && time >= ANEW;
        (is_long && !std::mem::replace(&mut self.is_reported, true)).then_some((self.count, time))
    }

    fn answered(&mut self) {
        (self.first, self.count) = (None, 0);
    }
}

/// Returns true for a packet that asks for a session or for the token of one.
fn is_request(packet: &Packet<'_>) -> bool {
    match packet.control() {
        Some(Control::Connect { .. }) => true,
        Some(Control::Token { .. }) => packet.header.token == Some(Token::NONE),
        _ => false,
    }
}

impl Stream {
    /// Adds a note if the client goes on without an answer to a map change.
    pub(super) fn note_map_answer(
        &mut self,
        seen: &Seen<'_>,
        piece: &DecidedChunk<'_>,
        found: &mut NoteSink<'_>,
    ) {
        let ignored = self.map_answer.input(seen.at, seen.packet.header.ack);
        if let Some((inputs, time)) = ignored.filter(|_| piece.action == Some(Action::Pass)) {
            let what = Turn::MapIgnored { inputs, time };
            let code = what.code();
            let is_ddnet = seen.to_ddnet;
            found.add(
                of_chunk(piece, code),
                Fact::OutOfTurn(OutOfTurn { what, is_ddnet }),
            );
        }
    }

    /// Adds a note if the client asks for a session again and again in a session that it has not closed.
    pub(super) fn note_requests(&mut self, seen: &Seen<'_>, found: &mut NoteSink<'_>) {
        if seen.datagram.leg.is_some() {
            return;
        }
        if seen.datagram.dir == Dir::S2c {
            let is_answer = matches!(
                seen.packet.control(),
                Some(Control::Token { .. } | Control::ConnectAccept { .. })
            );
            if is_answer {
                self.reconnects.answered();
            }
            return;
        }
        let has_talked = self.ways.c2s.numbers.last().is_some_and(|last| last != Seq::ZERO);
        let is_request = has_talked && is_request(seen.packet);
        if let Some((requests, time)) = self.reconnects.client_sent(seen.at, is_request) {
            let is_ddnet = seen.to_ddnet || seen.packet.proto == Proto::Ddnet;
            let what = Turn::RequestInSession { requests, time };
            let code = what.code();
            found.add(whole(seen, code), Fact::OutOfTurn(OutOfTurn { what, is_ddnet }));
        }
    }
}
