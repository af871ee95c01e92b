//! Handles clients that restart on the same port during their session.
//!
//! Law: the server decides whether a client has restarted. Before and after a restart, the client's datagrams
//! are sent to the server from the same socket, so that the server sees one address. The proxy restarts the
//! sequence numbers of a session only once a datagram of the server shows that the server did so.

use std::time::Duration;

use teetap_wire::{Control, Dir, Notes, Packet, PerDir, Proto, Scratch, Seq, Side, Token};

use super::{
    Env, Link,
    carry::translated,
    names::{Name, TokenRequest},
    phase::{Online, Phase, SERVER_SILENT},
};
use crate::session::{Notice, RestartedNumbers, Time, splice::Splice};

/// Silence of a client after which a Teeworlds server may have dropped it. Slightly shorter than the server's
/// timeout of 10 s.
const GIVEN_UP: Duration = Duration::from_secs(8);
/// Silence after which a client is no longer playing.
const SILENT: Duration = Duration::from_secs(2);

impl Link {
    /// Returns true if TOKEN requests of this client have to be forwarded to the server, because the server
    /// may have a slot for the client and then answers none of them.
    pub(crate) fn keeps_tokens(&self) -> bool {
        let has_slot = !self.must_wait() && !self.is_closing();
        self.opened.requested == Proto::V7 && self.socket.is_open() && has_slot
    }

    /// Forwards a TOKEN request.
    pub(crate) fn pass_token_request(&mut self, named: Token, datagram: &[u8], env: &mut Env) {
        self.report_one_leg(Side::Client, datagram, &Notes::default(), env);
        let own = self.counterpart(named);
        self.names.requested(TokenRequest {
            name: Name { client: named, own },
            size: datagram.len(),
            was_in: self.is_online(),
        });
        let mut scratch = Scratch::new();
        let Ok(packet) = Packet::parse(Proto::V7, datagram, &mut scratch) else {
            return;
        };
        let bytes = translated(&packet, datagram, None, Some((1, own)), self.legs.client.trailing);
        self.send_datagram(Side::Server, &bytes, false, env);
    }

    /// Removes and returns the request that a server's datagram answers: the token that it named, and its
    /// size in bytes.
    pub(crate) fn take_answered_request(
        &mut self,
        datagram: &[u8],
        scratch: &mut Scratch,
    ) -> Option<(Token, usize)> {
        if !self.names.has_requests() {
            return None;
        }
        let packet = Packet::parse(Proto::V7, datagram, scratch).ok()?;
        let Some(Control::Token { .. }) = packet.control() else {
            return None;
        };
        let request = self.names.take_answered(packet.header.token)?;
        Some((request.name.client, request.size))
    }

    /// Reports the server's answer to a TOKEN request of the client.
    pub(crate) fn report_token(&mut self, datagram: &[u8], env: &mut Env) {
        self.report_one_leg(Side::Server, datagram, &Notes::default(), env);
    }

    /// Returns true if a datagram of the server on the shared socket answers the handshake of this session.
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
        self.legs.server.token_in
    }

    /// Records that this session replaces another session on the same socket. Until the server reads the new
    /// handshake, it sends datagrams of the other session, which contain the token `former`. The client would
    /// drop them, so the proxy does too, without a note: neither peer is wrong.
    pub(crate) fn replaces(&mut self, former: Option<Token>, now: Time) {
        self.socket.replaces(former, now);
    }

    /// Returns true if the server has answered a TOKEN request of this client since the session began.
    pub(crate) fn has_renewed_token(&self) -> bool {
        self.names.is_renewed()
    }

    /// Records a CONNECT during the session. It counts as a restart of the client if the client was silent
    /// for so long that the server may have dropped it, or if both peers are silent. Otherwise it is a late
    /// copy.
    pub(super) fn note_rejoin(&mut self, now: Time) {
        let client = self.client_silence(now);
        let server = now.since(self.legs.server.last_received);
        let is_given_up = client >= GIVEN_UP || server >= SERVER_SILENT && client >= SILENT;
        if let Some(online) = self.online() {
            online.is_rejoining |= is_given_up;
            online.left = None;
        }
    }

    /// Returns true if an answer of the server to CONNECT means that it has a new slot for a client that it
    /// had let in before. DDNet servers answer such a CONNECT without a new slot.
    pub(super) fn is_new_slot(&self) -> bool {
        self.legs.server.proto != Proto::Ddnet
            && matches!(&self.phase, Phase::Online(online) if online.server_accepted && online.is_rejoining)
    }

    /// Records that an ACCEPT of DDNet's client was forwarded.
    pub(super) fn note_accept(&mut self) {
        if let Some(online) = self.online() {
            let is_further = std::mem::replace(&mut online.is_accepted, true);
            online.anew = is_further.then(RestartedNumbers::default);
        }
    }

    /// Checks whether a datagram shows that the server has restarted its sequence numbers, before the ack of
    /// the datagram is checked.
    pub(super) fn look_for_restart(&mut self, from: Side, packet: &Packet<'_>, env: &mut Env) {
        if from == Side::Server && self.has_restarted(packet) {
            return self.restart(env);
        }
        let dir = Dir::from_sender(from);
        // In a translated direction the receiver sees other numbers than the sender assigned.
        if !self.splice(dir).is_identity() {
            return;
        }
        if let Some(anew) = self.online().and_then(|online| online.anew.as_mut()) {
            let numbers = packet.chunks().filter_map(|chunk| chunk.header.vital);
            numbers.for_each(|number| anew.sent(dir, number));
        }
    }

    /// Returns true if an ack outside the window is valid because the server has restarted its sequence
    /// numbers. Records the ack.
    pub(super) fn fits_anew(&mut self, from: Side, ack: Seq) -> bool {
        let acked = Dir::from_sender(from).reverse();
        let anew = self.online().and_then(|online| online.anew.as_mut());
        anew.is_some_and(|anew| anew.accepts(acked, ack))
    }

    /// Returns true if a server that received an ACCEPT in the session has restarted its sequence numbers: it
    /// sends numbers that its client acked long ago.
    fn has_restarted(&self, packet: &Packet<'_>) -> bool {
        let Phase::Online(Online { anew: Some(anew), .. }) = &self.phase else {
            return false;
        };
        let acked = self.dirs.s2c.shown();
        let mut numbers = packet.chunks().filter_map(|chunk| chunk.header.vital);
        numbers.any(|number| anew.is_shown_by(number, acked))
    }

    /// Restarts the sequence numbers of both directions. Numbers that were sent after the ACCEPT already
    /// belong to the new sequence.
    pub(super) fn restart(&mut self, env: &mut Env) {
        let anew = self.online().and_then(|online| online.anew.take());
        let anew = anew.unwrap_or_default();
        self.dirs = PerDir::from_fn(|dir| Splice::since(anew.window(dir)));
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
