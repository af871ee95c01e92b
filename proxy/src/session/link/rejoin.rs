//! A client that begins anew on its port, as far as its session sees it.
//!
//! Law: the server decides. What the client sends goes to the server from the same socket, so that it sees one address,
//! and a session begins anew only when the server's datagrams show that.

use std::time::Duration;

use teetap_wire::{Control, Dir, Notes, Packet, Proto, Scratch, Seq, Side, Token};

use super::{
    Env, Link,
    carry::translated,
    phase::{Online, Phase, SERVER_SILENT},
};
use crate::session::{Anew, Notice, Time, splice::Splice};

/// Teeworlds gives up a client that has been silent for 10 s, most of which the proxy has seen.
const GIVEN_UP: Duration = Duration::from_secs(8);
/// A client that has been silent for so long is not playing.
const SILENT: Duration = Duration::from_secs(2);
/// TOKEN requests that are remembered until the server answers.
const MAX_ASKED: usize = 4;

/// TOKEN requests of the client in its session, which a server with a slot for it does not answer.
#[derive(Debug, Default)]
pub(super) struct Asked {
    requests: Vec<Request>,
    /// True once the server has answered one of a client that it had let in: it has no slot for it any more.
    is_answered: bool,
}

/// A TOKEN request that was sent on.
#[derive(Debug)]
struct Request {
    /// The token that it names, and its counterpart.
    named: Token,
    own: Token,
    /// The size in bytes.
    size: usize,
    /// True if the server had let the client in.
    was_in: bool,
}

impl Link {
    /// Returns true if the server answers TOKEN requests of this client no more, as long as it has a slot for it: those go
    /// to the server.
    pub(crate) fn keeps_tokens(&self) -> bool {
        let has_slot = !self.must_wait() && !self.is_closing();
        self.opened.requested == Proto::V7 && self.local.is_some() && has_slot
    }

    /// Sends a TOKEN request on.
    pub(crate) fn pass_token_request(&mut self, named: Token, datagram: &[u8], env: &mut Env) {
        self.report_one_leg(Side::Client, datagram, &Notes::default(), env);
        let own = self.counterpart(named);
        if self.asked.requests.len() == MAX_ASKED {
            self.asked.requests.remove(0);
        }
        self.asked.requests.push(Request {
            named,
            own,
            size: datagram.len(),
            was_in: self.is_online(),
        });
        let mut scratch = Scratch::new();
        let Ok(packet) = Packet::parse(Proto::V7, datagram, &mut scratch) else {
            return;
        };
        let bytes = translated(&packet, datagram, None, Some((1, own)), self.client.trailing);
        self.send_datagram(Side::Server, &bytes, false, env);
    }

    /// Returns the request that a server's datagram answers: the token that it named, and its size.
    pub(crate) fn take_answered_request(
        &mut self,
        datagram: &[u8],
        scratch: &mut Scratch,
    ) -> Option<(Token, usize)> {
        if self.asked.requests.is_empty() {
            return None;
        }
        let packet = Packet::parse(Proto::V7, datagram, scratch).ok()?;
        let Some(Control::Token { .. }) = packet.control() else {
            return None;
        };
        let mut requests = self.asked.requests.iter();
        let at = requests.position(|request| Some(request.own) == packet.header.token)?;
        let request = self.asked.requests.remove(at);
        self.asked.is_answered |= request.was_in;
        Some((request.named, request.size))
    }

    /// Reports the server's answer to a TOKEN request of the client.
    pub(crate) fn report_token(&mut self, datagram: &[u8], env: &mut Env) {
        self.report_one_leg(Side::Server, datagram, &Notes::default(), env);
    }

    /// Returns true if a server's datagram on the shared socket answers the handshake of this session.
    pub(crate) fn claims(&self, datagram: &[u8]) -> bool {
        if !matches!(self.phase, Phase::Opening(_) | Phase::Answered(_)) {
            return false;
        }
        let mut scratch = Scratch::new();
        if self.opened.requested != Proto::Ddnet {
            return self.chosen_by(datagram, &mut scratch).is_some();
        }
        Packet::parse(Proto::Ddnet, datagram, &mut scratch)
            .is_ok_and(|packet| matches!(packet.control(), Some(Control::ConnectAccept { tken: true, .. })))
    }

    /// Returns the token in the server's datagrams.
    pub(crate) fn server_token(&self) -> Option<Token> {
        self.server.token_in
    }

    /// Replaces the session of this token on the same socket. The server has sent datagrams of that session until it read the new
    /// handshake; the client drops them, and they are nobody's mistake.
    pub(crate) fn succeed(&mut self, former: Option<Token>, now: Time) {
        self.former = former.map(|token| (token, now + SILENT));
    }

    /// Returns true for a late datagram of the session that this one replaced.
    pub(super) fn is_of_former(&self, packet: &Packet<'_>, now: Time) -> bool {
        self.former
            .is_some_and(|(token, until)| now < until && packet.header.token == Some(token))
    }

    /// Returns true if the server has answered a TOKEN request of this client since the session began.
    pub(crate) fn has_renewed_token(&self) -> bool {
        self.asked.is_answered
    }

    /// Notes a CONNECT in the session. The client begins anew if the server has given it up by now, or has fallen silent
    /// itself; a CONNECT before that is a late copy.
    pub(super) fn note_rejoin(&mut self, now: Time) {
        let client = self.client_silence(now);
        let server = now.since(self.server.last_received);
        let is_given_up = client >= GIVEN_UP || server >= SERVER_SILENT && client >= SILENT;
        if let Some(online) = self.online() {
            online.is_rejoining |= is_given_up;
            online.left = None;
        }
    }

    /// Returns true if the server answers a CONNECT of a client that it had let in: its slot is a new one. Only DDNet's
    /// servers answer without that.
    pub(super) fn is_new_slot(&self) -> bool {
        self.server.proto != Proto::Ddnet
            && matches!(&self.phase, Phase::Online(online) if online.is_let_in && online.is_rejoining)
    }

    /// Notes that an ACCEPT of DDNet's was sent on.
    pub(super) fn note_accept(&mut self) {
        if let Some(online) = self.online() {
            let is_further = std::mem::replace(&mut online.is_accepted, true);
            online.anew = is_further.then(Anew::default);
        }
    }

    /// Looks for numbers that the server has begun anew, before the ack of a datagram is checked.
    pub(super) fn look_for_restart(&mut self, from: Side, packet: &Packet<'_>, env: &mut Env) {
        if from == Side::Server && self.has_restarted(packet) {
            return self.restart(env);
        }
        let dir = Dir::from_sender(from);
        // Where numbers are translated, the server has got none of the client's new ones.
        if !self.splice(dir).is_identity() {
            return;
        }
        if let Some(anew) = self.online().and_then(|online| online.anew.as_mut()) {
            let numbers = packet.chunks().filter_map(|chunk| chunk.header.vital);
            numbers.for_each(|number| anew.sent(dir, number));
        }
    }

    /// Returns true if an ack outside the window is right where the server has begun its numbers anew.
    pub(super) fn fits_anew(&mut self, from: Side, ack: Seq) -> bool {
        let acked = Dir::from_sender(from).reverse();
        let anew = self.online().and_then(|online| online.anew.as_mut());
        anew.is_some_and(|anew| anew.takes(acked, ack))
    }

    /// Returns true if a server that got an ACCEPT in the session has begun its numbers anew: it sends what its client has
    /// acked long ago.
    fn has_restarted(&self, packet: &Packet<'_>) -> bool {
        let Phase::Online(Online { anew: Some(anew), .. }) = &self.phase else {
            return false;
        };
        let acked = self.s2c.shown();
        let mut numbers = packet.chunks().filter_map(|chunk| chunk.header.vital);
        numbers.any(|number| anew.is_shown_by(number, acked))
    }

    /// Begins all numbers anew. What was sent after the ACCEPT is of the new ones.
    pub(super) fn restart(&mut self, env: &mut Env) {
        let anew = self.online().and_then(|online| online.anew.take());
        let anew = anew.unwrap_or_default();
        self.c2s = Splice::since(anew.window(Dir::C2s));
        self.s2c = Splice::since(anew.window(Dir::S2c));
        if let Some(Online {
            is_rejoining,
            began,
            arm_pending,
            ..
        }) = self.online()
        {
            (*is_rejoining, *began, *arm_pending) = (false, None, true);
        }
        self.notice(Notice::Restart, env);
        for dir in [Dir::C2s, Dir::S2c] {
            self.report_waits(dir, env);
        }
    }
}
