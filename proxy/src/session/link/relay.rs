//! A valid datagram crosses from one leg to the other.

use teetap_wire::{Code, Control, Dir, Flags, Note, Packet, Rewrite, Seq, Side, rewrite};

use super::{Env, Link, Phase, Work, redirect};
use crate::session::{
    Action, Datagram, Notice, Origin, Placed, What,
    compose::Composer,
    listeners::{Listeners, may_be_redirect},
    rewrites::Rewrites,
    splice::{Acked, Answer, Placing},
};

impl Link {
    /// The order of steps for one datagram: ack, handshake packets, redirects, resend request, chunks, sending, telling.
    pub(super) fn relay(&mut self, from: Side, datagram: &[u8], packet: &Packet<'_>, env: &mut Env<'_>) {
        let (_, back, _) = self.parts(from);
        let (ack, odd_ack) = match back.on_ack(packet.header.ack) {
            Acked::Show(ack, odd) => (ack, odd),
            Acked::Refuse(code) => return self.tell_refused(from, datagram, code, env),
        };
        let control = packet.control();
        if let (Some(Control::Close { .. }), Some(code)) = (control, odd_ack) {
            // Its receiver would ignore it, so it ends nothing.
            return self.tell_refused(from, datagram, code, env);
        }
        self.leg(from).hear(packet, env.now);
        match from {
            Side::Server => {
                // A late answer to CONNECT comes from a server without a slot, too.
                if !matches!(control, Some(Control::ConnectAccept { .. })) {
                    self.accept = None;
                }
                self.told_silent = false;
                if control.is_none() {
                    self.label_legacy_join(env);
                }
            }
            Side::Client if matches!(self.phase, Phase::Answered) => self.go_online(env),
            Side::Client => {}
        }
        // Before that the client's address is not proven: what a rule makes of one datagram could be more than came.
        if self.arm_pending && self.is_online() {
            self.arm_for_rules(env);
        }
        if control.is_some() && self.keep_on_leg(from, datagram, packet, env) {
            return;
        }
        let redirects = self.read_chunks(from, packet, env);
        if redirects && self.awaits_listener(datagram, packet, env) {
            return;
        }
        let rewrites = self.own_rewrites(from, packet, redirects, env);
        let (resend, answer) = self.resend_request(from, packet, env);
        // A bare resend request that the proxy answers leaves nothing but its ack to send on.
        let is_spent =
            packet.header.flags.contains(Flags::RESEND) && !resend && packet.header.num_chunks == 0;
        let changed = self.place_chunks(from, packet, rewrites, env) || is_spent && control.is_none();
        let mark = env.out.mark();
        self.forward(from, datagram, packet, changed, ack, resend, env);
        self.tell_relayed(from, datagram, packet, odd_ack, mark, env);
        if answer {
            self.answer_resend_request(from, env);
        }
        if let Some(Control::Close { reason }) = control {
            self.note_early_close(from, env);
            self.begin_closing(Some(from), reason, env);
            return;
        }
        self.send_crossing(env);
        self.send_due(Dir::C2s, Origin::Rule, env);
        self.send_due(Dir::S2c, Origin::Rule, env);
    }

    /// The RESEND flag asks for what goes *towards* `from`. Gives whether the flag goes on, and whether the proxy
    /// answers instead: never both for one request.
    fn resend_request(&mut self, from: Side, packet: &Packet<'_>, env: &Env<'_>) -> (bool, bool) {
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
        // Our own request for what is missing in that direction leaves with this datagram. Control messages are
        // not read for it by every peer, so then it waits for its own time.
        if !packet.header.flags.contains(Flags::CONTROL) && back.take_resend_request() {
            resend = true;
        }
        (resend, answer)
    }

    /// Whether the server redirects its client. In identity mode every chunk's header is read here, and nothing more is
    /// done to it.
    fn read_chunks(&mut self, from: Side, packet: &Packet<'_>, env: &mut Env<'_>) -> bool {
        env.work.missing = 0;
        if packet.header.flags.contains(Flags::CONTROL) {
            return false;
        }
        let (_, _, splice) = self.parts(from);
        if !splice.is_identity() {
            return from == Side::Server && redirect::is_in(packet);
        }
        let mut extended = false;
        let mut chunks = packet.chunks();
        for chunk in chunks.by_ref() {
            if let Some(u) = chunk.header.vital {
                splice.observe(u);
            }
            extended |= may_be_redirect(chunk.data);
        }
        env.work.missing = chunks.missing();
        extended && from == Side::Server && redirect::is_in(packet)
    }

    /// What is changed in a datagram without any rule.
    fn own_rewrites(
        &mut self,
        from: Side,
        packet: &Packet<'_>,
        redirects: bool,
        env: &mut Env<'_>,
    ) -> Rewrites {
        if redirects {
            return Rewrites::Redirects;
        }
        if self.resync == 0 || packet.header.flags.contains(Flags::CONTROL) {
            return Rewrites::None;
        }
        match from {
            Side::Client if self.takes_acks(packet, env) => Rewrites::Acks,
            Side::Client => Rewrites::None,
            Side::Server => {
                self.look_for_complete(packet, env);
                Rewrites::None
            }
        }
    }

    /// Places every chunk; in identity mode only those of a datagram in which something is changed. True when the payload that goes on
    /// differs from the one that came.
    fn place_chunks(
        &mut self,
        from: Side,
        packet: &Packet<'_>,
        rewrites: Rewrites,
        env: &mut Env<'_>,
    ) -> bool {
        let session = self.id().0;
        let dir = Dir::from_sender(from);
        let (_, _, splice) = self.parts(from);
        let Work {
            composer,
            placed,
            crossing,
            missing: _,
        } = &mut *env.work;
        composer.clear();
        placed.clear();
        if packet.header.flags.contains(Flags::CONTROL) {
            return false;
        }
        if splice.is_identity() {
            return rewrites != Rewrites::None
                && rewrite_all(packet, (rewrites, &*env.listeners), composer, placed);
        }
        let mut changed = false;
        let mut placing = Placing {
            session,
            dir,
            proto: packet.proto,
            now: env.now,
            rules: env.rules.as_deref_mut(),
            rewrites,
            listeners: env.listeners,
            out: composer,
            crossing,
            changed: &mut changed,
        };
        placed.extend(packet.chunks().map(|chunk| splice.place(&chunk, &mut placing)));
        changed
    }

    /// Sends the datagram on: as it was but for token and ack, or composed anew.
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
        env: &mut Env<'_>,
    ) {
        let to = from.other();
        let usual = self.leg(from).trailing;
        if changed {
            let is_compressed = packet.header.flags.contains(Flags::COMPRESSION);
            self.seal(to, ack, resend, is_compressed.then_some(usual), env);
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

    fn tell_relayed(
        &mut self,
        from: Side,
        datagram: &[u8],
        packet: &Packet<'_>,
        odd_ack: Option<Code>,
        mark: usize,
        env: &mut Env<'_>,
    ) {
        let leg = self.leg(from);
        leg.ordinal += 1;
        let ordinal = leg.ordinal;
        self.tell_full(Dir::from_sender(from), env);
        let is_odd = odd_ack.is_some() || !packet.notes.is_empty() || env.work.missing > 0;
        let is_worth_it = is_odd || !env.work.placed.is_empty();
        if !(env.out.is_watched_closely() || env.out.is_watched() && is_worth_it) {
            return;
        }
        let dir = Dir::from_sender(from);
        let mut event = Datagram::new(
            dir,
            packet.proto,
            Origin::Peer,
            datagram,
            env.out.sent_since(mark),
        );
        event.ordinal = ordinal;
        event.ends = self.ends();
        event.placed = env.work.placed.as_slice().into();
        event.notes = packet.notes;
        if let Some(code) = odd_ack {
            event.notes.push(Note { code, at: 0, len: 2 });
        }
        env.out.event(env.now, Some(self.id()), What::Datagram(event));
    }

    /// A full hold queue is told once each time it fills.
    fn tell_full(&mut self, dir: Dir, env: &mut Env<'_>) {
        let full = self.splice(dir).is_refusing();
        let [c2s, s2c] = &mut self.told_full;
        let told = if dir == Dir::C2s { c2s } else { s2c };
        let news = full && !*told;
        *told = full;
        if news {
            self.notice(Notice::HoldFull(dir), env);
        }
    }
}

/// The payload with its messages rewritten and all else as it is, numbers included. True when it differs.
fn rewrite_all(
    packet: &Packet<'_>,
    (rewrites, listeners): (Rewrites, &Listeners),
    composer: &mut Composer,
    placed: &mut Vec<Placed>,
) -> bool {
    let mut changed = false;
    for chunk in packet.chunks() {
        let edit = rewrites.edit(packet.proto, chunk.data, listeners);
        let data = edit.as_deref().unwrap_or(chunk.data);
        let seq_out = chunk.header.vital;
        composer.push(packet.proto, seq_out, chunk.header.resend, data);
        let action = if edit.is_some() {
            Action::Edit
        } else {
            Action::Pass
        };
        placed.push(Placed { seq_out, action });
        changed |= edit.is_some();
    }
    if !changed {
        placed.clear();
    }
    changed
}
