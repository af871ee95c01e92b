//! The events of a session: notices, states, datagrams.

use teetap_wire::{Code, Dir, Note, Notes, Packet, Proto, Scratch, Side};

use super::{Buffers, Env, Link, chunks::as_received};
use crate::session::{
    Action, Datagram, Ends, EventKind, ListenerId, Notice, Origin, Placed, SessionChange, State, splice::Wait,
};

impl Link {
    /// Returns the addresses of the session's datagrams.
    pub(crate) fn ends(&self) -> Ends {
        Ends {
            client: Some(self.opened.client.addr),
            upstream: Some(self.opened.upstream),
            local: self.socket.local(),
            listen_port: self.opened.listen_port,
            server_port: self.opened.listen_port.map(|_| self.opened.server.port()),
            frame: None,
        }
    }

    pub(super) fn notice(&self, notice: Notice, env: &mut Env) {
        env.out.event(env.now, Some(self.id()), EventKind::Notice(notice));
    }

    pub(super) fn report_state(&self, state: State, by: Option<Side>, reason: Option<&[u8]>, env: &mut Env) {
        if self.opened.is_candidate {
            return;
        }
        let change = SessionChange {
            state,
            proto: self.legs.client.proto,
            client: self.opened.client.addr,
            server: (self.opened.client.listener != ListenerId::FIRST).then_some(self.opened.server),
            upstream: self.socket.local(),
            by,
            reason: reason.map(Into::into),
        };
        env.out
            .event(env.now, Some(self.id()), EventKind::Session(change));
    }

    /// Reports a datagram that stays on its leg: part of a handshake, refused, or late in an ended session.
    pub(super) fn report_one_leg(&mut self, from: Side, datagram: &[u8], notes: &Notes, env: &mut Env) {
        let leg = self.leg(from);
        leg.ordinal += 1;
        let (proto, ordinal) = (leg.form(datagram), leg.ordinal);
        let placed = env.work.control.take();
        let original = env.work.original.take().filter(|_| placed.is_some());
        let datagram = original.as_deref().unwrap_or(datagram);
        let is_odd = !notes.is_empty() || placed.is_some();
        if env.out.is_watched_closely() || env.out.is_watched() && is_odd {
            let mut event = Datagram::new(
                Dir::from_sender(from),
                proto,
                Origin::Peer,
                datagram,
                std::iter::empty(),
            );
            event.leg = Some(from);
            event.ends = self.ends();
            event.ordinal = ordinal;
            event.notes = original
                .as_deref()
                .map_or(*notes, |original| notes_of(proto, original));
            event.placed = placed.into_iter().collect();
            env.out
                .event(env.now, Some(self.id()), EventKind::Datagram(event));
        }
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
        env.work.composer.clear();
        env.work.missing = 0;
        self.report_relayed(from, datagram, packet, None, mark, env);
    }

    pub(super) fn report_relayed(
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
        let made = env.work.composer.take_made();
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
        let original = env.work.original.take().filter(|_| env.work.control.is_some());
        let mut event = match &original {
            Some(original) => {
                let sent = env.out.sent_since(mark);
                Datagram::new(dir, packet.proto, Origin::Peer, original, sent)
            }
            None => Datagram::relayed(dir, packet, datagram, env.out.sent_since(mark)),
        };
        event.ordinal = ordinal;
        event.ends = self.ends();
        event.placed = env.work.placed.drain(..).chain(env.work.control.take()).collect();
        event.made = made;
        event.link = env.out.transits_since(mark);
        event.notes = original.map_or(packet.notes, |original| notes_of(packet.proto, &original));
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

    /// Reports a datagram that the session refuses, with the reason as a note.
    pub(crate) fn report_refused(&mut self, from: Side, datagram: &[u8], code: Code, env: &mut Env) {
        let mut notes = Notes::default();
        notes.push(Note {
            code,
            at: 0,
            len: datagram.len(),
        });
        self.report_one_leg(from, datagram, &notes, env);
    }

    /// Returns the protocol in which datagrams to a peer are written. Datagrams to a DDNet client that has
    /// no token yet end without one, so they are parsed as 0.6: otherwise the last bytes of the message
    /// would be read as a token.
    fn written(&mut self, to: Side) -> Proto {
        let leg = self.leg(to);
        match leg.proto {
            Proto::Ddnet if to == Side::Client && leg.token_out.is_none() => Proto::V6,
            proto => proto,
        }
    }

    /// Reports the datagrams that the proxy itself has sent on one leg since `mark`.
    pub(super) fn report_made(&mut self, to: Side, origin: Origin, mark: usize, env: &mut Env) {
        let made = env.work.composer.take_made();
        if !env.out.is_watched_closely() {
            return;
        }
        let proto = self.written(to);
        let dir = Dir::from_sender(to.other());
        let mut event = Datagram::new(dir, proto, origin, &[], env.out.sent_since(mark));
        event.leg = Some(to);
        event.ends = self.ends();
        event.placed = env.work.control.take().into_iter().collect();
        event.made = made;
        event.link = env.out.transits_since(mark);
        env.out
            .event(env.now, Some(self.id()), EventKind::Datagram(event));
    }
}

/// Returns the notes on a control packet as it was received, before a rule changed it.
fn notes_of(proto: Proto, original: &[u8]) -> Notes {
    let mut scratch = Scratch::new();
    Packet::parse(proto, original, &mut scratch).map_or(Notes::default(), |packet| packet.notes)
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
