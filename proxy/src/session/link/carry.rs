//! Forwards handshake datagrams from one leg to the other and replaces their tokens.
//!
//! Law: for each CONNECT, ACCEPT and TOKEN request of the client that the rules allow, the proxy sends one
//! datagram to the server, and for each answer of the server one datagram to the client. Only the tokens differ:
//! ack, flags, counts, compression, padding and trailing bytes are kept. So a malformed datagram reaches the
//! server, and the server decides what to do with it. The proxy sends a request of its own in two cases, in
//! which the client cannot send it: for the server's token in 0.7, without which the client's CONNECT cannot be
//! forwarded, and for a client that was answered before it had a session.

use teetap_wire::{
    Control, First, Flags, HeaderView, Packet, Proto, Rewrite, Scratch, Side, Token, Trailing, compress,
    detect, rewrite,
};

use super::{
    Env, Link, Opened,
    names::Name,
    phase::{Ending, Opening, Phase},
    receive::{SEVEN, survivable},
};
use crate::session::{datagram::readable, handshake::Handshake, tokens::Purpose};

/// Maximum datagrams of a client that wait for the server's token or answer; the client retransmits others.
const MAX_EARLY: usize = 16;

impl Link {
    /// Returns the counterpart of a token that the client names. Assigns one if the token is new.
    pub(super) fn counterpart(&mut self, client: Token) -> Token {
        let Opened {
            id,
            client: from,
            tokens,
            ..
        } = self.opened;
        let purpose = Purpose::Name(id.0, client);
        self.names
            .counterpart(client, || tokens.token(from.addr, purpose))
    }

    /// Returns the client's name that a handshake datagram of the server answers (0.6.5 and 0.7).
    pub(super) fn chosen_by(&self, datagram: &[u8], scratch: &mut Scratch) -> Option<Name> {
        let proto = self.opened.requested;
        if !matches!(proto, Proto::V65 | Proto::V7) {
            return None;
        }
        let packet = Packet::parse(proto, datagram, scratch).ok()?;
        self.names.named_by(packet.header.token)
    }

    /// Records which of the client's names the server has chosen (0.7). Does nothing once the server has let the
    /// client in.
    pub(super) fn adopt_name(&mut self, datagram: &[u8], scratch: &mut Scratch) {
        let is_open = self.legs.server.proto == Proto::V7 && self.legs.server.token_out.is_some();
        if !is_open || !self.names.are_many() || self.is_online() || self.is_closing() {
            return;
        }
        if let Some(name) = self.chosen_by(datagram, scratch) {
            self.legs.server.token_in = Some(name.own);
            self.legs.client.token_out = Some(name.client);
        }
    }

    /// Forwards a further answer to CONNECT in 0.6.5. The header of such an answer shows the client's name
    /// instead of the session's token. Returns false for other datagrams.
    pub(super) fn answers_again(&mut self, datagram: &[u8], scratch: &mut Scratch, env: &mut Env) -> bool {
        if self.legs.server.proto != Proto::V65 || self.is_online() && !self.is_new_slot() {
            return false;
        }
        let Ok(packet) = Packet::parse(Proto::V65, datagram, scratch) else {
            return false;
        };
        if self.names.named_by(packet.header.token).is_none() {
            return false;
        }
        let (told, reason) = match packet.control() {
            Some(Control::ConnectAccept {
                token: Some(told), ..
            }) => (Some(told), None),
            Some(Control::Close { reason }) => (None, Some(reason.unwrap_or_default())),
            _ => return false,
        };
        self.report_one_leg(Side::Server, datagram, &packet.notes, env);
        let is_new_slot = self.is_new_slot();
        if is_new_slot {
            self.restart(env);
        }
        if let Some(told) = told.filter(|_| is_new_slot || matches!(self.phase, Phase::Answered(_))) {
            // The server renews its token every 10 s, and a token older than 20 s is invalid.
            (self.legs.server.token_in, self.legs.server.token_out) = (Some(told), Some(told));
        }
        self.pass_answer(datagram, env);
        if let Some(reason) = reason {
            self.begin_closing(Ending::Peer(Side::Server), Some(reason), env);
        }
        true
    }

    /// Forwards a CONNECT of the client, or keeps it until there is a socket and, in 0.7, the server's token.
    pub(super) fn pass_connect(&mut self, datagram: &[u8], env: &mut Env) {
        if self.must_wait() {
            self.wait(datagram);
            return self.send_request(env);
        }
        let proto = self.opened.requested;
        let mut scratch = Scratch::new();
        let mut bytes = datagram.to_vec();
        if let Ok(packet) = Packet::parse(proto, datagram, &mut scratch)
            && let Some(Control::Connect { token, .. }) = packet.control()
        {
            let at = proto.layout().connect.token_at;
            // DDNet's 0.7 client repeats its CONNECT without its token.
            let token = match token {
                Some(Token::TKEN) if env.config.heals => self.opened.client_token,
                token => token,
            };
            // A server of 0.7 handles a CONNECT whose token is cut off as if it named `ffffffff`.
            let named = token.or((proto == Proto::V7).then_some(Token::NONE));
            let named = named.map(|named| self.counterpart(named));
            let named = at.zip(named.filter(|_| token.is_some()));
            // Any other token is forwarded as it is, so that the client gets the server's answer to it.
            let shown = match packet.header.token {
                Some(shown) if shown == self.opened.token => self.legs.server.token_out,
                shown => shown,
            };
            let shown = match proto {
                Proto::V7 => shown,
                // A server of 0.6.5 uses the header token as the token of the client (0.6.5,
                // network_server.cpp, `Recv`).
                Proto::V65 => packet.header.token.map(|token| self.counterpart(token)),
                Proto::V6 | Proto::Ddnet => None,
            };
            bytes = translated(&packet, datagram, shown, named, self.legs.client.trailing);
        }
        self.send_datagram(Side::Server, &bytes, false, env);
    }

    /// Forwards DDNet's ACCEPT.
    pub(super) fn pass_accept(&mut self, datagram: &[u8], packet: &Packet<'_>, env: &mut Env) {
        let token = self.legs.server.token_out;
        let bytes = translated(packet, datagram, token, None, self.legs.client.trailing);
        // The link must neither duplicate nor reorder it: that would reset the server's numbers.
        self.send_datagram(Side::Server, &bytes, true, env);
    }

    /// Forwards a server's answer to a CONNECT to the client.
    pub(super) fn pass_answer(&mut self, datagram: &[u8], env: &mut Env) {
        let proto = self.legs.client.proto;
        let mut scratch = Scratch::new();
        let Ok(packet) = Packet::parse(proto, datagram, &mut scratch) else {
            return;
        };
        let shown = packet.header.token;
        // In 0.6.5 and 0.7 the header contains the token that the client named, in DDNet the token of the
        // session.
        let named = self.names.named_by(shown).map(|name| name.client);
        let token = match proto {
            Proto::V65 => named.or(self.opened.client_token),
            Proto::V6 | Proto::Ddnet | Proto::V7 => self.legs.client.token_out,
        };
        let told: Option<Token> = packet
            .payload
            .get(1..)
            .and_then(<[u8]>::first_chunk)
            .copied()
            .map(Token);
        let ours = self.opened.token;
        let known = self.legs.server.token_out;
        let reversed = |token: Token| Token([token.0[3], token.0[2], token.0[1], token.0[0]]);
        let told = match (proto, told) {
            (Proto::V65, Some(_)) => Some((1, ours)),
            // DDNet's server appends its token, in some releases with the bytes reversed. No client reads it.
            (Proto::V7, Some(told)) if Some(told) == known => Some((1, ours)),
            (Proto::V7, Some(told)) if Some(reversed(told)) == known => Some((1, reversed(ours))),
            _ => None,
        };
        let bytes = translated(&packet, datagram, token, told, self.legs.server.trailing);
        self.send_to_client(bytes, proto, env);
    }

    /// Forwards a server's refusal to the client. A refusal without a token is forwarded without one, and a
    /// client of 0.6.5 ignores it (0.6.5, network_conn.cpp, `Feed`).
    pub(super) fn pass_refusal(&mut self, datagram: &[u8], scratch: &mut Scratch, env: &mut Env) {
        let proto = self.opened.requested;
        let mut bytes = readable(datagram).to_vec();
        if matches!(proto, Proto::V65 | Proto::V7)
            && let Ok(packet) = Packet::parse(proto, datagram, scratch)
            && let Some(name) = self.names.named_by(packet.header.token)
        {
            bytes = translated(
                &packet,
                datagram,
                Some(name.client),
                None,
                self.legs.server.trailing,
            );
        }
        self.send_to_client(bytes, proto, env);
    }

    /// Sends an answer of the handshake to the client.
    fn send_to_client(&mut self, mut bytes: Vec<u8>, proto: Proto, env: &mut Env) {
        if let Some(flags) = bytes.first_mut().filter(|_| proto != Proto::V7) {
            // No server of 0.6 sets the bit that marks control packets of 0.7, which crash DDNet 16.4's client.
            *flags &= !SEVEN;
        }
        self.send_datagram(Side::Client, &bytes, false, env);
    }

    /// Forwards, unchanged, an answer in a protocol that the client does not use: a server of 0.6.5 parses a
    /// long CONNECT of DDNet as a CONNECT of 0.6.5.
    pub(super) fn pass_foreign_answer(&mut self, datagram: &[u8], scratch: &mut Scratch, env: &mut Env) {
        let is_answer = Packet::parse(Proto::V65, datagram, scratch).is_ok_and(|packet| {
            packet.header.token.is_some()
                && packet.header.flags.contains(Flags::CONTROL)
                && survivable(datagram, &packet).is_ok()
        });
        if self.opened.requested != Proto::Ddnet || !is_answer {
            return;
        }
        let mark = env.out.mark();
        self.transmit(Side::Client, env, |out| out.extend_from_slice(datagram));
        self.report_made(Side::Client, crate::session::Origin::Proxy, mark, env);
    }

    /// Forwards, unchanged, a datagram of a client that has no token yet, because a server without tokens
    /// accepts it.
    pub(super) fn pass_raw(&mut self, datagram: &[u8], env: &mut Env) {
        let mark = env.out.mark();
        self.transmit(Side::Server, env, |out| out.extend_from_slice(readable(datagram)));
        self.report_made(Side::Server, crate::session::Origin::Proxy, mark, env);
    }

    /// Returns true if the session waits for the server's token (0.7).
    pub(crate) fn is_waiting_for_token(&self) -> bool {
        matches!(self.phase, Phase::Opening(_)) && self.must_wait()
    }

    /// Returns true if no datagram of the client can be forwarded yet: there is no socket, the server's token is
    /// unknown, or the client was answered before the server answered the proxy.
    pub(super) fn must_wait(&self) -> bool {
        let Phase::Opening(opening) = &self.phase else {
            return false;
        };
        let has_token = !matches!(opening.handshake, Some(Handshake::AskToken(_)));
        !self.socket.is_open() || !has_token || opening.was_answered
    }

    /// Keeps a datagram of the client until it can be forwarded, up to [`MAX_EARLY`].
    pub(crate) fn wait(&mut self, datagram: &[u8]) {
        if let Phase::Opening(Opening { early, .. }) = &mut self.phase
            && early.len() < MAX_EARLY
        {
            early.push(readable(datagram).into());
        }
    }

    /// Handles the datagrams that were kept until they could be forwarded.
    pub(super) fn handle_early(&mut self, early: Vec<Box<[u8]>>, scratch: &mut Scratch, env: &mut Env) {
        for datagram in early {
            if self.is_closing() {
                return;
            }
            if let First::TokenRequest { token, .. } = detect(&datagram)
                && self.opened.requested == Proto::V7
            {
                self.pass_token_request(token, &datagram, env);
                continue;
            }
            let requested = self.opened.requested;
            if datagram == self.first || is_connect(requested, &datagram, scratch) {
                self.pass_connect(&datagram, env);
            } else if let super::Admission::No(code) = self.on_client(&datagram, scratch, env) {
                self.report_refused(Side::Client, &datagram, code, env);
            }
        }
    }
}

/// Returns true for a CONNECT.
pub(super) fn is_connect(proto: Proto, datagram: &[u8], scratch: &mut Scratch) -> bool {
    Packet::parse(proto, datagram, scratch)
        .is_ok_and(|packet| matches!(packet.control(), Some(Control::Connect { .. })))
}

/// Returns a handshake datagram in which `token` replaces the token in the header or at the end, and `told`
/// replaces the token at an offset of the payload.
pub(super) fn translated(
    packet: &Packet<'_>,
    datagram: &[u8],
    token: Option<Token>,
    told: Option<(usize, Token)>,
    usual: Trailing,
) -> Vec<u8> {
    let mut out = Vec::new();
    let with = Rewrite {
        token,
        ack: packet.header.ack,
        resend: packet.header.flags.contains(Flags::RESEND),
        usual,
    };
    rewrite(packet, datagram, with, &mut out);
    let Some((at, told)) = told else {
        return out;
    };
    let start = HeaderView::new(packet.proto, &out).len();
    if packet.header.flags.contains(Flags::COMPRESSION) {
        let mut payload = packet.payload.to_vec();
        patch(&mut payload, at, told);
        out.truncate(start);
        let mut body = Vec::new();
        compress(&payload, usual, &mut body);
        out.append(&mut body);
    } else {
        patch(&mut out, start + at, told);
    }
    out
}

fn patch(bytes: &mut [u8], at: usize, token: Token) {
    if let Some(place) = bytes.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        *place = token.0;
    }
}
