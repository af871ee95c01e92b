//! Reads and places the chunks of a datagram that is relayed.

use teetap_rules::Verdict;
use teetap_wire::{Chunk, Dir, Flags, Packet, Side};

use super::{Buffers, Env, Link, rules::SessionRules};
use crate::session::{
    Action, Notice, Placed, SentAt,
    compose::Composer,
    frame::Frame,
    redirect::{may_be_redirect, redirects},
    resync::Acks,
    rewrites::{RewriteContext, Rewrites},
    splice::Placement,
};

impl Link {
    /// Returns true if the packet contains a redirect of the server. In identity mode, also records the header of every chunk
    /// and shows the messages to the rules that need to observe them. Such messages are never changed.
    pub(super) fn read_chunks(&mut self, frame: Frame<'_>, packet: &Packet<'_>, env: &mut Env) -> bool {
        env.work.missing = 0;
        env.work.touched.clear();
        let splice = &mut self.dirs[frame.dir];
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
    pub(super) fn own_rewrites(
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

    /// Places every chunk of a datagram; in identity mode only if the proxy rewrites one of them. Returns true if the forwarded
    /// payload differs from the received payload.
    pub(super) fn place_chunks(
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
        let splice = &mut self.dirs[frame.dir];
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
}

/// Returns true if rules lose all messages of a datagram: like a datagram lost by the network, it is then not sent at all,
/// ack included. If all messages are dropped instead, a datagram without messages is sent.
pub(super) fn is_lost(work: &Buffers) -> bool {
    let Buffers { composer, placed, .. } = work;
    composer.is_empty() && !placed.is_empty() && placed.iter().all(|placed| placed.action == Action::Lose)
}

/// Returns the position of a message in a datagram whose chunks are forwarded unchanged. `None` if it exceeds 16 bits.
pub(super) fn as_received(chunk: &Chunk<'_>) -> Option<SentAt> {
    Some(SentAt {
        datagram: 0,
        at: u16::try_from(chunk.end() - chunk.data.len()).ok()?,
        // Of the last message, only the start may have been inflated.
        len: chunk.header.size,
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
