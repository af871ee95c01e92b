//! Forwards a valid datagram from one leg to the other.

use teetap_rules::Verdict;
use teetap_wire::{
    Chunk, Code, Control, Dir, Flags, Note, Notes, Packet, Proto, Rewrite, Seq, Side, rewrite,
};

use super::{
    Buffers, Env, Link,
    phase::{Ending, Phase},
    rules::SessionRules,
};
use crate::session::{
    Action, Datagram, EventKind, Notice, Origin, Placed, SentAt,
    compose::Composer,
    frame::Frame,
    redirect::{Resolved, may_be_redirect, redirects},
    resync::Acks,
    rewrites::{RewriteContext, Rewrites},
    splice::{Acked, Answer, Placement, Wait},
};

impl Link {
    /// Relays one datagram. Steps in order: ack, handshake packets, redirects, resend request, chunks, sending, reporting.
    pub(super) fn relay(&mut self, from: Side, datagram: &[u8], packet: &Packet<'_>, env: &mut Env) {
        if packet.proto == Proto::Ddnet && packet.header.flags.contains(Flags::CONTROL | Flags::COMPRESSION) {
            // DDNet drops a compressed control packet unread (network.cpp, `UnpackPacket`).
            return self.report_one_leg(from, datagram, &packet.notes, env);
        }
        if from == Side::Client && self.is_lone_accept(packet, env) {
            return self.accept_came(datagram, packet, env);
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
                self.note_let_in(control, env);
            }
            Side::Client => {
                self.client_came(env);
            }
        }
    }

    /// Ends the session after a CLOSE was forwarded. A server that has not let the client in yet may ignore its CLOSE, so the
    /// session only records that the client has left.
    fn on_close(&mut self, from: Side, reason: Option<&[u8]>, env: &mut Env) {
        self.note_early_close(from, env);
        let is_let_in = self.may_renumber();
        match self.online() {
            Some(online) if from == Side::Client && !is_let_in => {
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

    /// Returns true if the packet contains a redirect of the server. In identity mode, also records the header of every chunk
    /// and shows the messages to the rules that need to observe them. Such messages are never changed.
    fn read_chunks(&mut self, frame: Frame<'_>, packet: &Packet<'_>, env: &mut Env) -> bool {
        env.work.missing = 0;
        env.work.touched.clear();
        let splice = self.dirs.splice(frame.dir);
        if packet.header.flags.contains(Flags::CONTROL) {
            if splice.is_identity() {
                let numbers = packet.chunks_of_control();
                numbers
                    .filter_map(|chunk| chunk.header.vital)
                    .for_each(|u| splice.may_have(u));
            }
            return false;
        }
        if !splice.is_identity() {
            if frame.dir == Dir::S2c && !self.traits.is_ddnet {
                self.traits.is_ddnet = packet.chunks().any(|chunk| may_be_redirect(chunk.data));
            }
            return frame.dir == Dir::S2c && redirects(packet);
        }
        let interest = env.interest();
        let observes = env.observes(frame.proto, frame.dir);
        let repeats = interest.repeats.contains(frame.proto, frame.dir);
        let measures = frame.dir == Dir::S2c && interest.measures;
        let mut rules = self.rules.program.as_deref_mut().filter(|_| observes || measures);
        let mut extended = false;
        let mut chunks = packet.chunks();
        for (index, chunk) in chunks.by_ref().enumerate() {
            let is_first = chunk.header.vital.is_none_or(|u| splice.observe(u));
            if let Some(rules) = &mut rules {
                let is_repeat = |u| !is_first && repeats && splice.is_repeat(u);
                let verdict = if is_first && observes {
                    if frame.is_ignored(&**rules, &chunk, &mut env.shared) {
                        Verdict::PASS
                    } else {
                        rules.observe(&frame.message(&chunk), &mut env.shared)
                    }
                } else if chunk.header.vital.is_some_and(is_repeat) {
                    rules.repeat(&frame.message(&chunk), &mut env.shared)
                } else {
                    Verdict::PASS
                };
                if !verdict.rules.is_empty() {
                    env.work.touched.push((index, verdict));
                }
                if let Some(u) = chunk.header.vital.filter(|_| measures) {
                    rules.on_sent(frame.now.0, u, chunk.header.resend);
                }
            }
            extended |= may_be_redirect(chunk.data);
        }
        env.work.missing = chunks.missing();
        self.traits.is_ddnet |= extended && frame.dir == Dir::S2c;
        extended && frame.dir == Dir::S2c && redirects(packet)
    }

    /// Returns the changes to a datagram that the proxy makes without a rule.
    fn own_rewrites(
        &mut self,
        from: Side,
        packet: &Packet<'_>,
        is_redirect: bool,
        env: &mut Env,
    ) -> Rewrites {
        if is_redirect {
            return Rewrites::Redirects;
        }
        if packet.header.flags.contains(Flags::CONTROL) {
            return Rewrites::None;
        }
        let online = self.online();
        let Some(resync) = online
            .map(|online| &mut online.resync)
            .filter(|resync| resync.is_wanted())
        else {
            return Rewrites::None;
        };
        let registry = env.config.registry;
        if from == Side::Server {
            if resync.on_server(registry, packet) {
                self.notice(Notice::Resynced, env);
            }
            return Rewrites::None;
        }
        match resync.on_client(registry, packet) {
            Acks::Stay => return Rewrites::None,
            Acks::Go => {}
            Acks::GoLast => self.notice(
                Notice::ResyncRefused {
                    why: "the server sent no complete snapshot".into(),
                },
                env,
            ),
        }
        Rewrites::Acks
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

    /// Places every chunk of a datagram; in identity mode only if the proxy rewrites one of them. Returns true if the forwarded
    /// payload differs from the received payload.
    fn place_chunks(
        &mut self,
        frame: Frame<'_>,
        packet: &Packet<'_>,
        rewrites: Rewrites,
        env: &mut Env,
    ) -> bool {
        let interest = env.interest();
        let acts = interest.acts.contains(frame.proto, frame.dir);
        let observes = env.observes(frame.proto, frame.dir);
        let repeats = interest.repeats.contains(frame.proto, frame.dir);
        let measures = frame.dir == Dir::S2c && interest.measures;
        let changes_snapshots = interest.snapshots.contains(frame.proto, Dir::S2c);
        let means = RewriteContext {
            registry: env.config.registry,
            listeners: &env.listeners,
        };
        let Buffers {
            composer,
            placed,
            crossing,
            failed,
            ..
        } = &mut env.work;
        composer.clear();
        placed.clear();
        if packet.header.flags.contains(Flags::CONTROL) {
            return false;
        }
        if self.splice(frame.dir).is_identity() {
            return rewrites != Rewrites::None && rewrite_all(packet, (rewrites, means), composer, placed);
        }
        let SessionRules {
            program: rules,
            snapshots,
            ..
        } = &mut self.rules;
        if frame.dir == Dir::S2c {
            snapshots.prepare(changes_snapshots, env.config.registry, frame.proto);
        }
        let splice = self.dirs.splice(frame.dir);
        let mut changed = false;
        let mut placing = Placement {
            frame,
            rules: rules.as_deref_mut().filter(|_| observes),
            program: env.program.as_deref(),
            shared: &mut env.shared,
            snapshots: (frame.dir == Dir::S2c).then_some(snapshots),
            acts,
            repeats,
            rewrites,
            means,
            out: composer,
            failed,
            crossing,
            changed: &mut changed,
        };
        placed.extend(packet.chunks().map(|chunk| splice.place(&chunk, &mut placing)));
        if let Some(rules) = rules.as_mut().filter(|_| measures) {
            for (placed, chunk) in placed.iter().zip(packet.chunks()) {
                if let Some(seq) = placed.seq_out {
                    rules.on_sent(frame.now.0, seq, chunk.header.resend);
                }
            }
        }
        if !changed && env.out.is_watched() {
            // The chunks are forwarded at their received positions.
            for (placed, chunk) in env.work.placed.iter_mut().zip(packet.chunks()) {
                placed.sent = as_received(&chunk);
            }
        }
        changed
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

    /// Reports a datagram that was forwarded without a look at its chunks.
    pub(super) fn report_untouched(
        &mut self,
        from: Side,
        datagram: &[u8],
        packet: &Packet<'_>,
        mark: usize,
        env: &mut Env,
    ) {
        env.work.placed.clear();
        env.work.touched.clear();
        env.work.missing = 0;
        self.report_relayed(from, datagram, packet, None, mark, env);
    }

    fn report_relayed(
        &mut self,
        from: Side,
        datagram: &[u8],
        packet: &Packet<'_>,
        odd_ack: Option<Code>,
        mark: usize,
        env: &mut Env,
    ) {
        let leg = self.leg(from);
        leg.ordinal += 1;
        let ordinal = leg.ordinal;
        if !env.out.is_watched() {
            return;
        }
        add_touched(packet, &mut env.work);
        self.report_full(Dir::from_sender(from), env);
        let is_odd = odd_ack.is_some() || !packet.notes.is_empty() || env.work.missing > 0;
        // A message with only a new sequence number is not odd.
        let is_worth_it =
            || is_odd || env.work.control.is_some() || env.work.placed.iter().any(Placed::is_odd);
        if !(env.out.is_watched_closely() || env.out.is_watched() && is_worth_it()) {
            return;
        }
        let dir = Dir::from_sender(from);
        let mut event = Datagram::relayed(dir, packet, datagram, env.out.sent_since(mark));
        event.ordinal = ordinal;
        event.ends = self.ends();
        event.placed = env.work.placed.drain(..).chain(env.work.control.take()).collect();
        event.link = env.out.transits_since(mark);
        event.notes = packet.notes;
        if let Some(code) = odd_ack {
            event.notes.push(Note { code, at: 0, len: 2 });
        }
        env.out
            .event(env.now, Some(self.id()), EventKind::Datagram(event));
    }

    /// Reports the messages that have become held, and the held messages that were released or dropped.
    pub(super) fn report_waits(&mut self, dir: Dir, env: &mut Env) {
        if !self.splice(dir).has_waits() {
            return;
        }
        for wait in self.splice(dir).take_waits() {
            let notice = match wait {
                Wait::Begins { id, rule, max } => Notice::Held {
                    dir,
                    held: id.0,
                    rule: rule.unwrap_or_default(),
                    max,
                },
                Wait::Ends(left) => Notice::Released {
                    dir,
                    held: left.id.0,
                    why: left.why,
                    edited: left.is_edited,
                },
            };
            self.notice(notice, env);
        }
    }

    /// Reports a full hold queue once each time it fills.
    fn report_full(&mut self, dir: Dir, env: &mut Env) {
        if self.splice(dir).has_begun_refusing() {
            self.notice(Notice::HoldFull { dir }, env);
        }
    }
}

/// Returns true if rules lose all messages of a datagram: like a datagram lost by the network, it is then not sent at all,
/// ack included. If all messages are dropped instead, a datagram without messages is sent.
fn is_lost(work: &Buffers) -> bool {
    let Buffers { composer, placed, .. } = work;
    composer.is_empty() && !placed.is_empty() && placed.iter().all(|placed| placed.action == Action::Lose)
}

/// Returns the position of a message in a datagram whose chunks are forwarded unchanged. `None` if it exceeds 16 bits.
fn as_received(chunk: &Chunk<'_>) -> Option<SentAt> {
    let len = chunk.data.len();
    Some(SentAt {
        datagram: 0,
        at: u16::try_from(chunk.end() - len).ok()?,
        len: u16::try_from(len).ok()?,
    })
}

/// Composes the payload with rewritten messages; everything else, including sequence numbers, is unchanged. Returns true if
/// a message was rewritten.
fn rewrite_all(
    packet: &Packet<'_>,
    (rewrites, means): (Rewrites, RewriteContext<'_>),
    composer: &mut Composer,
    placed: &mut Vec<Placed>,
) -> bool {
    let mut changed = false;
    for chunk in packet.chunks() {
        let edit = rewrites.edit(packet.proto, chunk.data, means);
        let data = edit.as_deref().unwrap_or(chunk.data);
        let seq_out = chunk.header.vital;
        let sent = composer.push(packet.proto, seq_out, chunk.header.resend, data);
        let action = if edit.is_some() {
            Action::Edit
        } else {
            Action::Pass
        };
        placed.push(Placed {
            sent,
            ..Placed::new(seq_out, action)
        });
        changed |= edit.is_some();
    }
    if !changed {
        placed.clear();
    }
    changed
}

/// Adds the verdicts of rules that observed messages in identity mode, for the report.
fn add_touched(packet: &Packet<'_>, work: &mut Buffers) {
    let Buffers { placed, touched, .. } = work;
    if touched.is_empty() {
        return;
    }
    if placed.is_empty() {
        placed.extend(packet.chunks().map(|chunk| Placed {
            sent: as_received(&chunk),
            ..Placed::new(chunk.header.vital, Action::Pass)
        }));
    }
    for (index, verdict) in touched.drain(..) {
        if let Some(placed) = placed.get_mut(index) {
            (placed.rules, placed.marks) = (verdict.rules.into(), verdict.marks.into());
        }
    }
}
