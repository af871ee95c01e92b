//! Handles a received datagram according to the phase of its session.

use teetap_wire::{Code, Packet, Proto, Scratch, Side};

use super::{Admission, Env, Link, phase::Phase, ruled::ControlVerdict};

impl Link {
    /// Handles a client's datagram other than a CONNECT or TOKEN request.
    pub(crate) fn on_client(&mut self, datagram: &[u8], scratch: &mut Scratch, env: &mut Env) -> Admission {
        let packet = match self.read(Side::Client, datagram, scratch, env) {
            Ok(packet) => packet,
            Err(error) => return Admission::No(error.code()),
        };
        match self.phase {
            Phase::Opening(_) => self.client_while_opening(datagram, &packet, env),
            Phase::Answered(_) | Phase::Online(_) => {
                match self.legs.client.check(&packet).and_then(|()| fitting(&packet)) {
                    Ok(()) => {
                        self.relay_ruled(Side::Client, datagram, &packet, env);
                        Admission::Yes
                    }
                    Err(code) => {
                        self.may_have_left(&packet);
                        Admission::No(code)
                    }
                }
            }
            Phase::Closing(_) | Phase::Closed(_) => {
                match self.legs.client.check(&packet).and_then(|()| fitting(&packet)) {
                    Ok(()) => {
                        self.received_after_end(Side::Client, datagram, &packet, env);
                        Admission::Yes
                    }
                    Err(code) => Admission::No(code),
                }
            }
        }
    }

    /// Returns true if a client's datagram contains the token of this session.
    pub(crate) fn is_shown_own_token(&self, datagram: &[u8], scratch: &mut Scratch) -> bool {
        self.legs.client.token_in.is_some()
            && Packet::parse(self.legs.client.proto, datagram, scratch)
                .is_ok_and(|packet| self.legs.client.check(&packet).is_ok())
    }

    /// Handles a datagram of the server. `may_take_over` is true if this candidate may replace the current session although
    /// its client has not sent a token.
    pub(crate) fn on_server(
        &mut self,
        datagram: &[u8],
        may_take_over: bool,
        scratch: &mut Scratch,
        env: &mut Env,
    ) {
        self.adopt_name(datagram, scratch);
        let is_opening = matches!(self.phase, Phase::Opening(_));
        if is_opening && !self.server_while_opening(datagram, may_take_over, scratch, env) {
            return;
        }
        if !self.is_closing() && self.answers_again(datagram, scratch, env) {
            return;
        }
        let refused = match self.read(Side::Server, datagram, scratch, env) {
            Ok(packet) => match self
                .legs
                .server
                .check(&packet)
                .and_then(|()| survivable(datagram, &packet))
            {
                Ok(()) if self.is_closing() => {
                    return self.received_after_end(Side::Server, datagram, &packet, env);
                }
                Ok(()) => return self.relay_ruled(Side::Server, datagram, &packet, env),
                Err(_) if self.socket.is_former(packet.header.token, env.now) => {
                    return self.report_one_leg(Side::Server, datagram, &packet.notes, env);
                }
                Err(code) => code,
            },
            Err(error) => error.code(),
        };
        self.report_refused(Side::Server, datagram, refused, env);
    }

    /// Relays a datagram after the rules on control messages have dropped, edited, repeated or delayed it.
    pub(super) fn relay_ruled(&mut self, from: Side, datagram: &[u8], packet: &Packet<'_>, env: &mut Env) {
        match self.rule_control(from, datagram, packet, env) {
            ControlVerdict::AsItIs => self.relay(from, datagram, packet, env),
            ControlVerdict::Not => self.report_one_leg(from, datagram, &packet.notes, env),
            ControlVerdict::Times(bytes, times) => {
                let mut scratch = Scratch::new();
                for _ in 0..times {
                    if self.is_closing() {
                        break;
                    }
                    if let Ok(packet) = Packet::parse(packet.proto, &bytes, &mut scratch) {
                        self.relay(from, &bytes, &packet, env);
                    }
                }
            }
        }
    }
}

/// Refuses a datagram with a valid token that could crash its receiver. 0.6.4 and 0.6.5 copy an uncompressed payload past
/// the end of their buffer, because they do not check its size (Teeworlds 0.6.5 network.cpp, `UnpackPacket`). No sender of
/// these versions sends a payload of that size.
pub(super) fn fitting(packet: &Packet<'_>) -> Result<(), Code> {
    let unchecked = matches!(packet.proto, Proto::V6 | Proto::V65);
    if unchecked && packet.notes.contains(Code::PayloadOversized) {
        return Err(Code::PayloadOversized);
    }
    Ok(())
}

/// Bit of the first byte that marks control packets of 0.7.
pub(super) const SEVEN: u8 = 0x04;

/// Refuses a datagram that could crash a client of 0.6. DDNet 16.4 parses a packet with the mark of 0.7 as a packet of 0.7
/// and writes its tokens through a null pointer (network_client.cpp, `Recv`). No server of 0.6 sets that bit.
pub(super) fn survivable(datagram: &[u8], packet: &Packet<'_>) -> Result<(), Code> {
    let marked = datagram.first().is_some_and(|first| first & SEVEN != 0);
    if marked && packet.proto != Proto::V7 {
        return Err(Code::UnknownFlags);
    }
    fitting(packet)
}
