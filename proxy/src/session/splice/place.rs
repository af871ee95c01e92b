//! Decides for each chunk of a datagram whether it is forwarded, dropped, edited, held, repeated or left
//! out.

use std::time::Duration;

use teetap_rules::{Decide, Fate, Made, Order, Program, RuleId, Shared, Verdict};
use teetap_wire::{Chunk, Seq, snap::Recoded};

use super::{Mode, Splice, Wait, log::Record};
use crate::session::{
    compose::{Composer, fits},
    datagram::{Action, HeldId, MadeHow, Placed},
    frame::Frame,
    held::{Held, Release},
    rewrites::{RewriteContext, Rewrites},
    snapshots::Snapshots,
    time::Time,
};

/// Maximum time for which a message waits to be overtaken.
pub(super) const OVERTAKEN_FOR: Duration = Duration::from_secs(1);

/// Inputs and outputs of placing the chunks of one datagram.
pub(crate) struct Placement<'a> {
    pub(crate) frame: Frame<'a>,
    /// `None` if the program does not observe this direction.
    pub(crate) rules: Option<&'a mut (dyn Decide + 'static)>,
    /// The program, for the names of its rules.
    pub(crate) program: Option<&'a Program>,
    /// Counts of rules that all sessions share.
    pub(crate) shared: &'a mut Shared,
    /// The snapshots that rules change; `None` towards the server.
    pub(crate) snapshots: Option<&'a mut Snapshots>,
    /// True if the program acts on messages.
    pub(crate) acts: bool,
    /// True if the program evaluates rules on retransmissions.
    pub(crate) repeats: bool,
    /// The changes that need no rule.
    pub(crate) rewrites: Rewrites,
    pub(crate) means: RewriteContext<'a>,
    /// The payload to send, under construction.
    pub(crate) out: &'a mut Composer,
    /// Failures of rules.
    pub(crate) failed: &'a mut Vec<(RuleId, Box<str>)>,
    /// Messages made for the other direction.
    pub(crate) crossing: &'a mut Vec<Made>,
    /// True if the payload to send differs from the received one.
    pub(crate) changed: &'a mut bool,
}

impl Placement<'_> {
    /// Evaluates the rules on a retransmission.
    fn repeat(&mut self, chunk: &Chunk<'_>) -> Verdict {
        match self.rules.as_deref_mut().filter(|_| self.repeats) {
            Some(rules) => rules.repeat(&self.frame.message(chunk), self.shared),
            None => Verdict::PASS,
        }
    }

    /// Returns the new bytes of a message that the proxy changes without a rule; `None` if it does not
    /// change the message.
    fn rewritten(&self, data: &[u8]) -> Option<Vec<u8>> {
        self.rewrites.edit(self.frame.proto, data, self.means)
    }

    /// Returns the verdict of the rules. If they do not edit the message, the verdict includes the changes
    /// that need no rule.
    pub(super) fn decide(&mut self, chunk: &Chunk<'_>) -> Verdict {
        let mut verdict = self.ruled(chunk);
        if verdict.edit.is_none() {
            verdict.edit = self.rewritten(chunk.data);
        }
        verdict
    }

    /// Returns the name of the rule that decided about a message.
    pub(super) fn name(&self, verdict: &Verdict) -> Option<Box<str>> {
        self.rule_name(verdict.by.or(verdict.rules.last().copied()))
    }

    /// Returns the name of a rule.
    fn rule_name(&self, rule: Option<RuleId>) -> Option<Box<str>> {
        let name = self.program?.rule(rule?)?;
        Some(name.into())
    }

    /// Returns the messages to send in place of a non-vital message whose snapshot rules may change.
    pub(super) fn recode(&mut self, data: &[u8], verdict: &Verdict) -> Recoded {
        let Some(snapshots) = self.snapshots.as_deref_mut() else {
            return Recoded::Same;
        };
        let (recoded, why) = snapshots.recode(data, verdict, self.frame.now);
        if let (Some(why), Some(rule)) = (why, verdict.rules.last()) {
            self.failed.push((*rule, why.to_string().into()));
        }
        recoded
    }

    /// Returns the `reorder` groups in which a message overtakes a held message. If the message is a part of
    /// a snapshot that is held back itself, its groups are kept for the part that completes the snapshot.
    pub(super) fn overtakes(&mut self, waits: bool, verdict: &Verdict) -> Vec<u32> {
        match self.snapshots.as_deref_mut() {
            Some(snapshots) => snapshots.overtakes(waits, &verdict.overtakes),
            None => verdict.overtakes.clone(),
        }
    }

    fn ruled(&mut self, chunk: &Chunk<'_>) -> Verdict {
        let Some(rules) = self.rules.as_deref_mut() else {
            return Verdict::PASS;
        };
        if self.frame.is_ignored(rules, chunk, self.shared) {
            return Verdict::PASS;
        }
        let message = self.frame.message(chunk);
        if !self.acts {
            return rules.observe(&message, self.shared);
        }
        let mut verdict = rules.decide(&message, self.shared);
        // A message that is too large for a chunk cannot be sent. If a rule edited it, the original is sent
        // instead.
        let proto = self.frame.proto;
        let made = verdict.before.len() + verdict.after.len();
        let was_edited = verdict.edit.is_some();
        verdict.edit = verdict.edit.filter(|edit| fits(proto, edit.len()));
        verdict.before.retain(|made| fits(proto, made.data.len()));
        verdict.after.retain(|made| fits(proto, made.data.len()));
        let too_large = if was_edited && verdict.edit.is_none() {
            Some("the new message is too large for a chunk")
        } else if verdict.before.len() + verdict.after.len() < made {
            Some("the message is too large for a chunk")
        } else if message.vital && !verdict.items.is_empty() {
            Some("a snapshot in a vital message cannot be changed")
        } else {
            None
        };
        if let (Some(why), Some(rule)) = (too_large, verdict.rules.last()) {
            self.failed.push((*rule, why.into()));
        }
        verdict
    }
}

/// Returns the action on a message that is sent with other bytes.
pub(super) const fn edited_by(verdict: &Verdict) -> Action {
    if verdict.is_corrupted {
        Action::Corrupt
    } else {
        Action::Edit
    }
}

impl Splice {
    /// Records the number of a chunk in identity mode. Returns true for the first copy in order.
    pub(crate) fn observe(&mut self, u: Seq) -> bool {
        let is_first = u == self.u_seen.next();
        if is_first {
            self.u_seen = u;
        }
        self.may_have(u);
        is_first
    }

    /// Records a number that was forwarded to R, and that R may therefore ack.
    pub(crate) fn may_have(&mut self, u: Seq) {
        if !u.is_behind(self.high) {
            self.high = u;
        }
    }

    /// Returns true for a number that was received before.
    pub(crate) fn is_repeat(&self, u: Seq) -> bool {
        u.is_behind(self.u_seen)
    }

    /// Places one chunk of a translated direction.
    pub(crate) fn place(&mut self, chunk: &Chunk<'_>, to: &mut Placement<'_>) -> Placed {
        let Some(u) = chunk.header.vital else {
            return self.place_loose(chunk, to);
        };
        let placed = if self.mode == Mode::Arming && u.is_behind(self.high) {
            let mut verdict = Verdict::PASS;
            if self.observe(u) {
                if let Some(rules) = to.rules.as_deref_mut() {
                    verdict = rules.observe(&to.frame.message(chunk), to.shared);
                }
            } else if self.is_repeat(u) {
                verdict = to.repeat(chunk);
            }
            let edit = to.rewritten(chunk.data);
            let data = edit.as_deref().unwrap_or(chunk.data);
            let sent = to.out.push(to.frame.proto, Some(u), chunk.header.resend, data);
            let action = if edit.is_some() {
                Action::Edit
            } else {
                Action::Pass
            };
            Placed {
                sent,
                ..Placed::new(Some(u), action)
            }
            .touched(verdict.rules, verdict.marks)
        } else if u == self.u_seen.next() {
            self.place_first(u, chunk, to)
        } else if self.is_repeat(u) {
            let verdict = to.repeat(chunk);
            self.place_repeat(u, to)
                .touched_again(verdict.rules, verdict.marks)
        } else if self.hold.is_refusing() {
            // An earlier chunk was refused; the proxy requests it again when there is room.
            Placed::new(None, Action::Refuse)
        } else {
            self.gap = true;
            self.request_resend(to.frame.now);
            Placed::new(None, Action::Gap)
        };
        if (placed.seq_out, placed.action) != (Some(u), Action::Pass) {
            *to.changed = true;
        }
        placed
    }

    /// Places a retransmission. Forwards the bytes that were decided for the first copy, since rules decide
    /// only once.
    fn place_repeat(&mut self, u: Seq, to: &mut Placement<'_>) -> Placed {
        let Some(record) = self.log.by_sender(u) else {
            return Placed {
                rules: self.dropped.get(&u.get()).cloned().unwrap_or_default(),
                ..Placed::new(None, Action::Known)
            };
        };
        let rules = record.rules.clone();
        if !record.transmit(to.frame.now) {
            return Placed {
                rules,
                ..Placed::new(None, Action::Lose)
            };
        }
        let sent = to.out.push(to.frame.proto, Some(record.d), true, &record.data);
        Placed {
            sent,
            rules,
            corrupted: record.is_corrupted,
            ..Placed::new(Some(record.d), Action::Repeat)
        }
    }

    /// Places the first copy in order, the only copy on which rules decide.
    fn place_first(&mut self, u: Seq, chunk: &Chunk<'_>, to: &mut Placement<'_>) -> Placed {
        if self.hold.is_refusing() || (self.must_queue() && !self.hold.has_room(chunk.data.len())) {
            return Placed::new(None, Action::Refuse);
        }
        let verdict = match self.decided.take() {
            Some((at, verdict)) if at == u => verdict,
            _ => to.decide(chunk),
        };
        let waits = !matches!(verdict.fate, Fate::Pass | Fate::Drop | Fate::Lose { .. });
        if waits && !self.hold.has_room(chunk.data.len()) {
            self.decided = Some((u, verdict));
            return Placed::new(None, Action::Refuse);
        }
        self.u_seen = u;
        self.gap = false;
        self.inject_all(&verdict.before, to);
        match verdict.fate {
            Fate::Drop => self.dropped.insert(u.get(), verdict.rules.as_slice().into()),
            _ => self.dropped.remove(&u.get()),
        };
        let edited = verdict.edit.is_some();
        let data: Box<[u8]> = verdict.edit.as_deref().unwrap_or(chunk.data).into();
        let copy = (!verdict.copies.is_empty()).then(|| data.clone());
        let mut placed = match verdict.fate {
            Fate::Drop => Placed::new(None, Action::Drop),
            Fate::Pass => self.forward((u, data, &verdict), chunk.header.resend, to),
            Fate::Lose { .. } => self.forward((u, data, &verdict), chunk.header.resend, to),
            Fate::Reorder { group, .. } if self.hold.awaits(group) => {
                let placed = self.forward((u, data, &verdict), chunk.header.resend, to);
                self.overtake(&[group], to);
                placed
            }
            _ => self.keep(&verdict, data, to.name(&verdict), to.frame.now),
        };
        if matches!(placed.action, Action::Pass | Action::Lose) {
            self.overtake(&verdict.overtakes, to);
        }
        if edited && placed.action == Action::Pass {
            placed.action = edited_by(&verdict);
        }
        if let Some(data) = copy {
            self.copy(&data, true, &verdict, to);
        }
        self.inject_all(&verdict.after, to);
        placed.touched(verdict.rules, verdict.marks)
    }

    /// Numbers and sends a message of S, for which S stays responsible. If other messages are queued, queues
    /// the message behind them instead, in custody.
    fn forward(
        &mut self,
        (u, data, verdict): (Seq, Box<[u8]>, &Verdict),
        resend: bool,
        to: &mut Placement<'_>,
    ) -> Placed {
        if self.must_queue() {
            let held = Held::new(data, true, Release::Ready, to.frame.now);
            let held = self.hold.push_ordered(held.corrupted(verdict.is_corrupted));
            return Placed {
                held,
                ..Placed::new(None, Action::Hold)
            };
        }
        let d = self.next_number();
        let mut record = Record {
            d,
            u: Some(u),
            data,
            first: to.frame.now,
            last: to.frame.now,
            lose: match verdict.fate {
                Fate::Lose { times } => times,
                _ => 0,
            },
            rules: verdict.rules.as_slice().into(),
            is_corrupted: verdict.is_corrupted,
        };
        let is_sent = record.transmit(to.frame.now);
        let mut placed = Placed::new(None, Action::Lose);
        if is_sent {
            placed = Placed::new(Some(d), Action::Pass);
            placed.sent = to.out.push(to.frame.proto, Some(d), resend, &record.data);
        }
        self.log.push(record);
        placed
    }

    /// Holds a message in custody.
    fn keep(&mut self, verdict: &Verdict, data: Box<[u8]>, rule: Option<Box<str>>, now: Time) -> Placed {
        let fate = verdict.fate;
        let (release, order) = match fate {
            Fate::Delay { for_, order } => (Release::At(now + for_), order),
            Fate::Hold { key, max, order } => (Release::Key(key, now + max), order),
            Fate::Pause { max, order } => (Release::Pause(now + max), order),
            _ => (Release::At(now + OVERTAKEN_FOR), Order::Free),
        };
        let held = Held::new(data, true, release, now).by(rule.clone());
        let held = held.corrupted(verdict.is_corrupted);
        let id = match (fate, order) {
            (Fate::Reorder { group, after }, _) => {
                self.hold
                    .push_overtaken((group, None), after, now + OVERTAKEN_FOR, held)
            }
            (_, Order::Kept) => self.hold.push_ordered(held),
            (_, Order::Free) => self.hold.push_free(held),
        };
        self.held(fate, id, rule)
    }

    /// Returns the record of a held message, and reports the beginning of a wait for `pause`.
    pub(super) fn held(&mut self, fate: Fate, id: Option<HeldId>, rule: Option<Box<str>>) -> Placed {
        if let (Fate::Pause { max, .. }, Some(id)) = (fate, id) {
            self.waits.push(Wait::Begins { id, rule, max });
        }
        let delay = match fate {
            Fate::Delay { for_, .. } => Some(for_),
            _ => None,
        };
        Placed {
            held: id,
            delay,
            ..Placed::new(None, Action::Hold)
        }
    }

    /// Releases the messages that were waiting to be overtaken by a message of one of these groups.
    pub(super) fn overtake(&mut self, groups: &[u32], to: &mut Placement<'_>) {
        for group in groups {
            for held in self.hold.overtake(*group) {
                self.send_overtaken(held, to);
            }
        }
    }

    /// Sends an overtaken message, or queues it if the window is full.
    fn send_overtaken(&mut self, held: Held, to: &mut Placement<'_>) {
        *to.changed = true;
        self.waits.extend(held.left().map(Wait::Ends));
        if !held.vital {
            to.out.push_made(to.frame.proto, None, &held.data, |sent| {
                held.made_at(sent, to.frame.now)
            });
        } else if self.must_queue() {
            self.hold.push_ordered(held.ready());
        } else {
            self.emit_own(held, to.frame.proto, to.frame.now, to.out);
        }
    }

    /// Sends the copies of a message that a rule made, each with its own number.
    pub(super) fn copy(&mut self, data: &[u8], vital: bool, verdict: &Verdict, to: &mut Placement<'_>) {
        let rule = verdict.copied_by;
        for after in &verdict.copies {
            *to.changed = true;
            if !after.is_zero() {
                if self.hold.has_room(data.len()) {
                    let release = Release::At(to.frame.now + *after);
                    let held = Held::new(data.into(), vital, release, to.frame.now);
                    let name = to.rule_name(rule);
                    self.hold.push_free(held.made(MadeHow::Copy).by(name));
                }
            } else {
                self.inject_here(
                    &Made {
                        dir: to.frame.dir,
                        vital,
                        data: data.to_vec(),
                        rule,
                    },
                    MadeHow::Copy,
                    to,
                );
            }
        }
    }

    pub(super) fn inject_all(&mut self, made: &[Made], to: &mut Placement<'_>) {
        for made in made {
            if made.dir == to.frame.dir {
                self.inject_here(made, MadeHow::Inject, to);
            } else {
                to.crossing.push(made.clone());
            }
        }
    }

    /// Sends or queues a message that a rule made. Discards it if too many messages are held, so that a peer
    /// that acks nothing cannot make the queue grow without limit. The full queue has been reported by then.
    fn inject_here(&mut self, made: &Made, how: MadeHow, to: &mut Placement<'_>) {
        if made.vital && self.must_queue() && !self.hold.has_room_beyond(made.data.len()) {
            return;
        }
        *to.changed = true;
        let by = (how, to.rule_name(made.rule));
        self.inject(made, by, to.frame.proto, to.frame.now, to.out);
    }
}
