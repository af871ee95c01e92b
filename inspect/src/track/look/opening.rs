//! Analyses the handshake of a session: its tokens, and when the server has a slot for the client.

use std::time::Duration;

use teetap_proxy::session::{Datagram, SessionId};
use teetap_wire::{Code, Control, Dir, Note, Packet, Proto, Seq, Side, Token};

use super::{
    super::{
        Fact, ForeignPart, NoteSink, Seen, Stream, Streams,
        handshake::HandshakeMistake,
        out_of_turn::{OutOfTurn, Turn},
    },
    whole,
};

/// Time after an ACCEPT in which another one may be a copy.
const COPIES: Duration = Duration::from_secs(2);

impl Streams {
    /// Records a datagram outside of sessions, and adds a note if it is a reply to a token request with a wrong token.
    pub(crate) fn outside(&mut self, datagram: &Datagram, packet: &Packet<'_>, found: &mut NoteSink<'_>) {
        if !self.is_partial {
            let mistake = self.exchanges.look((datagram, packet), &mut None);
            note_handshake(mistake, datagram, found);
        }
    }

    /// Adds a note if a wrong token is the token of another session.
    pub(super) fn note_foreign_token(&self, seen: &Seen<'_>, token: Option<Token>, found: &mut NoteSink<'_>) {
        let (Some(token), dir) = (token, seen.datagram.dir) else {
            return;
        };
        let has = |stream: &Stream| stream.ways[dir].token == Some(token);
        let mut others = self.sessions.iter().rev();
        let other = others.find(|(id, stream)| *id != seen.session.0 && has(stream));
        let other = other
            .map(|(id, _)| SessionId(id))
            .or_else(|| self.past.with_token(dir, token));
        if let Some(session) = other {
            let part = ForeignPart::Token;
            found.add(
                whole(seen, Code::OtherSession),
                Fact::Foreign {
                    session: session.0,
                    part,
                },
            );
        }
    }
}

impl Stream {
    /// Tracks whether a DDNet server has a slot for the client. Returns true if the server drops the datagram because
    /// it has no slot yet.
    pub(super) fn is_before_slot(&mut self, seen: &Seen<'_>) -> bool {
        let (dir, leg, control) = (seen.datagram.dir, seen.datagram.leg, seen.packet.control());
        if dir == Dir::S2c {
            // A server without a slot can send only these packets; any other packet shows that it has a slot.
            let is_stateless = matches!(
                control,
                Some(Control::ConnectAccept { .. } | Control::Close { .. } | Control::Token { .. })
            );
            self.awaits_accept &= is_stateless;
            return false;
        }
        if matches!(control, Some(Control::Connect { .. })) {
            self.accepted = None;
            if self.ways[Dir::C2s]
                .numbers
                .last()
                .is_some_and(|last| last != Seq::ZERO)
            {
                self.joins_again();
            }
        }
        if seen.packet.proto != Proto::Ddnet || leg == Some(Side::Server) {
            return false;
        }
        if control == Some(Control::Accept) {
            let before = self.accepted.replace(seen.at);
            if !std::mem::take(&mut self.awaits_accept) {
                // A server that accepts a second ACCEPT restarts its sequence numbers, and sends the map again
                // (`ClientRejoinCallback` in server.cpp).
                self.renumber();
                self.joins_again();
                self.accepts_again = before.is_some_and(|before| seen.at.since(before) >= COPIES);
            }
            return false;
        }
        self.awaits_accept && control.is_none()
    }

    /// Records a CONNECT or ACCEPT in the session: a late copy, or a client that joins again. The messages after it have
    /// another place in the join.
    fn joins_again(&mut self) {
        self.turns = None;
        self.maps.forget();
        self.may_rejoin = true;
    }

    /// Adds a note if the current datagram is another ACCEPT in the session.
    pub(super) fn note_accept(&mut self, notes: bool, found: &mut NoteSink<'_>) {
        if std::mem::take(&mut self.accepts_again) && notes {
            let (what, is_ddnet) = (Turn::AcceptAgain, true);
            let note = Note {
                code: what.code(),
                at: 0,
                len: 1,
            };
            found.add(note, Fact::OutOfTurn(OutOfTurn { what, is_ddnet }));
        }
    }

    /// Records the server's token, and adds a note if a later packet of the server contains the token with reversed
    /// bytes.
    pub(super) fn look_at_token(&mut self, seen: &Seen<'_>, notes: bool, found: &mut NoteSink<'_>) {
        let is_of_proxy = seen.datagram.leg == Some(Side::Client);
        if seen.datagram.dir != Dir::S2c || is_of_proxy {
            return;
        }
        match seen.packet.control() {
            Some(Control::Token {
                token: Some(token), ..
            }) => self.server_token = Some(token),
            Some(Control::ConnectAccept {
                token: Some(token), ..
            }) if notes => {
                let expected = token.reversed();
                if expected != token && [self.server_token, self.ways.c2s.token].contains(&Some(expected)) {
                    let note = Note {
                        code: Code::TokenReversed,
                        at: 1,
                        len: 4,
                    };
                    found.add(note, Fact::Reversed { got: token, expected });
                }
            }
            _ => {}
        }
    }
}

/// Adds a note about a mistake in a handshake packet, if there is one.
pub(super) fn note_handshake(
    mistake: Option<HandshakeMistake>,
    datagram: &Datagram,
    found: &mut NoteSink<'_>,
) {
    if let Some(mistake) = mistake {
        let note = Note {
            code: mistake.code(),
            at: 0,
            len: datagram.received().map_or(0, <[u8]>::len),
        };
        found.add(note, Fact::Handshake(mistake));
    }
}
