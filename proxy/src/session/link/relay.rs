//! Forwards a valid datagram from one leg to the other.

use teetap_wire::{Control, Dir, Flags, Notes, Packet, Proto, Rewrite, Seq, Side, rewrite};

use super::{
    Env, Link,
    chunks::is_lost,
    phase::{Ending, Phase},
};
use crate::session::{
    Origin,
    frame::Frame,
    redirect::Resolved,
    splice::{Acked, Answer},
};

impl Link {
    /// Relays one datagram. Steps in order: ack, handshake packets, redirects, resend request, chunks, sending, reporting.
    pub(super) fn relay(&mut self, from: Side, datagram: &[u8], packet: &Packet<'_>, env: &mut Env) {
        if packet.proto == Proto::Ddnet && packet.header.flags.contains(Flags::CONTROL | Flags::COMPRESSION) {
            // DDNet drops a compressed control packet unread (network.cpp, `UnpackPacket`).
            return self.report_one_leg(from, datagram, &packet.notes, env);
        }
        if from == Side::Client && self.is_lone_accept(packet, env) {
            return self.lone_accept_received(datagram, packet, env);
        }
        self.look_for_restart(from, packet, env);
        let (_, back, _) = self.parts(from);
        let (ack, odd_ack) = match back.on_ack(packet.header.ack) {
            Acked::Show(ack, odd) => (ack, odd.filter(|_| !self.fits_anew(from, ack))),
            Acked::Refuse(_) if self.fits_anew(from, packet.header.ack) => {
                // The ack is valid but cannot be translated yet.
                return self.report_one_leg(from, datagram, &packet.notes, env);
            }
            Acked::Refuse(code) => return self.report_refused(from, datagram, code, env),
        };
        let control = packet.control();
        if let (Some(Control::Close { .. }), Some(code)) = (control, odd_ack) {
            // The receiver would ignore this CLOSE, so the session does not end.
            return self.report_refused(from, datagram, code, env);
        }
        self.on_valid(from, packet, control, env);
        if control.is_none() {
            self.note_messages(from, packet, env);
        }
        if self.online().is_some_and(|online| online.arm_pending) {
            self.arm_for_rules(env);
        }
        if control.is_some() && self.keep_on_leg(from, datagram, packet, env) {
            return;
        }
        let notes = env.notes(packet);
        let dir = Dir::from_sender(from);
        let frame = Frame::new(self.id(), dir, env.now, datagram.len(), packet, &notes);
        let is_redirect = self.read_chunks(frame, packet, env);
        if is_redirect && self.awaits_listener(datagram, packet, env) {
            return;
        }
        let rewrites = self.own_rewrites(from, packet, is_redirect, env);
        let (resend, answer) = self.resend_request(from, packet, env);
        // If the proxy answers a resend request without chunks, only the ack remains to be forwarded.
        let is_spent =
            packet.header.flags.contains(Flags::RESEND) && !resend && packet.header.num_chunks == 0;
        let changed = self.place_chunks(frame, packet, rewrites, env) || is_spent && control.is_none();
        self.begin_stalls(env);
        let mark = env.out.mark();
        let is_lost = changed && is_lost(&env.work);
        if !is_lost {
            self.forward(from, datagram, packet, changed, ack, resend, env);
        } else if resend && !packet.header.flags.contains(Flags::RESEND) {
            // The lost datagram contained the proxy's own resend request.
            self.parts(from).1.ask_again(env.now);
        }
        self.report_relayed(from, datagram, packet, odd_ack, mark, env);
        self.report_waits(dir, env);
        if answer && !is_lost {
            self.answer_resend_request(from, env);
        }
        if let Some(Control::Close { reason }) = control {
            return self.on_close(from, reason, env);
        }
        self.send_crossing(env);
        if self.carry_out_effects(env) {
            return;
        }
        self.send_due(Dir::C2s, Origin::Rule, env);
        self.send_due(Dir::S2c, Origin::Rule, env);
    }

    /// Updates the timers and the phase of the session for a datagram with a valid token and ack.
    fn on_valid(&mut self, from: Side, packet: &Packet<'_>, control: Option<Control<'_>>, env: &mut Env) {
        self.leg(from).on_valid(packet, env.now);
        if from == Side::Client && env.interest().measures {
            self.rules.on_ack(env.now, packet.header.ack);
        }
        match from {
            Side::Server => {
                // A server without a slot for the client may also send a late answer to CONNECT.
                if let Phase::Online(online) = &mut self.phase {
                    online.is_silence_reported = false;
                    if !matches!(control, Some(Control::ConnectAccept { .. })) {
                        online.accept = None;
                    }
                }
                self.note_server_accepted(control, env);
            }
            Side::Client => {
                self.client_received(env);
            }
        }
    }

    /// Ends the session after a CLOSE was forwarded. A server that has not let the client in yet may ignore its CLOSE, so the
    /// session only records that the client has left.
    fn on_close(&mut self, from: Side, reason: Option<&[u8]>, env: &mut Env) {
        self.note_early_close(from, env);
        let server_accepted = self.may_renumber();
        match self.online() {
            Some(online) if from == Side::Client && !server_accepted => {
                online.left = Some(reason.unwrap_or_default().into());
            }
            _ => self.begin_closing(Ending::Peer(from), reason, env),
        }
    }

    /// Handles the RESEND flag, which requests retransmissions of the messages sent towards `from`. Returns whether to forward
    /// the flag, and whether the proxy answers the request itself. A request is never both forwarded and answered.
    fn resend_request(&mut self, from: Side, packet: &Packet<'_>, env: &Env) -> (bool, bool) {
        let (_, back, _) = self.parts(from);
        let mut resend = packet.header.flags.contains(Flags::RESEND);
        let mut answer = false;
        if resend && !back.is_identity() {
            match back.on_resend_request(env.now) {
                Answer::Sender => {}
                Answer::Proxy => (resend, answer) = (false, true),
                Answer::Merged => resend = false,
            }
        }
        // A pending resend request of the proxy for that direction is sent with this datagram. Not every peer reads the flag of
        // a control packet, so the request then waits for the next datagram or its own deadline.
        if !packet.header.flags.contains(Flags::CONTROL) && back.take_resend_request() {
            resend = true;
        }
        (resend, answer)
    }

    /// Returns false if a datagram with redirects can be relayed now, and emits the notices about its redirects. Otherwise the
    /// datagram waits for a listen socket, or is dropped.
    fn awaits_listener(&mut self, datagram: &[u8], packet: &Packet<'_>, env: &mut Env) -> bool {
        let Env { listeners, out, .. } = env;
        match self.redirect.resolve(datagram, packet, listeners, out) {
            Resolved::Now(notices) => {
                for notice in notices {
                    self.notice(notice, env);
                }
                return false;
            }
            Resolved::Later => {}
            Resolved::Never => self.report_one_leg(Side::Server, datagram, &Notes::default(), env),
        }
        true
    }

    /// Forwards a datagram. An unchanged datagram gets only a new token, ack and RESEND flag; a changed one is composed from the
    /// placed chunks.
    #[expect(
        clippy::too_many_arguments,
        reason = "one step of `relay`, all of its findings meet here"
    )]
    fn forward(
        &mut self,
        from: Side,
        datagram: &[u8],
        packet: &Packet<'_>,
        changed: bool,
        ack: Seq,
        resend: bool,
        env: &mut Env,
    ) {
        let to = from.other();
        let usual = self.leg(from).trailing;
        if changed {
            let is_compressed = packet.header.flags.contains(Flags::COMPRESSION);
            self.seal(to, ack, resend, is_compressed.then_some(usual), env);
            return;
        }
        if packet.control().is_some() && self.forward_control(to, packet, ack, resend, env) {
            return;
        }
        let with = Rewrite {
            token: self.leg(to).token_out,
            ack,
            resend,
            usual,
        };
        self.transmit(to, env, |out| {
            rewrite(packet, datagram, with, out);
        });
    }
}
