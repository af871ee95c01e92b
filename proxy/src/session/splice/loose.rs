//! Decides for each non-vital chunk whether it is sent, dropped, edited or held. Handles parts of snapshots
//! that rules change.

use std::time::Duration;

use teetap_rules::{Fate, Order, SnapshotPart};
use teetap_wire::{Chunk, snap::Recoded};

use super::{
    Splice,
    place::{OVERTAKEN_FOR, Placement, edited_by},
};
use crate::session::{
    datagram::{Action, MadeAt, MadeHow, Placed},
    held::{Held, Release},
};

/// A non-vital message and the decision about it.
struct Loose<'a> {
    fate: Fate,
    /// The snapshot that contains the message as a part.
    part: Option<SnapshotPart>,
    /// True if the message is released together with the last message of its group that waits to be
    /// overtaken.
    joins: bool,
    /// The rule that holds the message.
    rule: Option<Box<str>>,
    is_corrupted: bool,
    resend: bool,
    data: &'a [u8],
}

impl Splice {
    /// Places a non-vital chunk.
    pub(super) fn place_loose(&mut self, chunk: &Chunk<'_>, to: &mut Placement<'_>) -> Placed {
        let verdict = to.decide(chunk);
        let recoded = to.recode(chunk.data, &verdict);
        let is_recoded = recoded != Recoded::Same;
        if verdict.fate != Fate::Pass || verdict.edit.is_some() || is_recoded {
            *to.changed = true;
        }
        self.inject_all(&verdict.before, to);
        let whole = verdict.edit.as_deref().unwrap_or(chunk.data);
        let messages: Vec<&[u8]> = match &recoded {
            Recoded::Same => vec![whole],
            Recoded::Waits | Recoded::Never => Vec::new(),
            Recoded::Messages(messages) => messages.iter().map(|message| &**message).collect(),
        };
        let passed = if verdict.edit.is_some() || is_recoded {
            edited_by(&verdict)
        } else {
            Action::Pass
        };
        let rule = match verdict.fate {
            Fate::Pass | Fate::Drop | Fate::Lose { .. } => None,
            _ => to.name(&verdict),
        };
        let waits = recoded == Recoded::Waits;
        let overtakes = to.overtakes(waits, &verdict);
        let left_out = match verdict.fate {
            _ if waits => Action::Hold,
            Fate::Lose { .. } => Action::Lose,
            _ => Action::Drop,
        };
        let mut placed = Placed::new(None, left_out);
        // The earlier parts of a rewritten snapshot were not sent.
        let mut part = verdict.part.map(|part| SnapshotPart {
            follows: part.follows && !is_recoded,
            ..part
        });
        let mut joins = self.joins(verdict.fate, part);
        for (index, data) in messages.iter().enumerate() {
            let loose = Loose {
                fate: verdict.fate,
                part,
                joins,
                rule: rule.clone(),
                is_corrupted: verdict.is_corrupted,
                resend: chunk.header.resend,
                data,
            };
            placed = self.place_loose_as(loose, to);
            if let Some(sent) = placed.sent.filter(|_| index + 1 < messages.len()) {
                // The record of the received message has only the place of the last part.
                to.out.record(MadeAt {
                    sent,
                    how: MadeHow::Inject,
                    rule: to.name(&verdict),
                    held: None,
                    waited: Duration::ZERO,
                    corrupted: false,
                });
            }
            // Further messages are parts of the same snapshot.
            joins = placed.action == Action::Hold;
            part = Some(SnapshotPart {
                tick: verdict.part.map_or(0, |part| part.tick),
                follows: true,
            });
        }
        if placed.action == Action::Pass {
            placed.action = passed;
            self.overtake(&overtakes, to);
        }
        for data in messages {
            self.copy(data, false, &verdict, to);
        }
        self.inject_all(&verdict.after, to);
        placed.touched(verdict.rules, verdict.marks)
    }

    /// Returns true if a message is released together with an earlier part of its snapshot that waits to be
    /// overtaken.
    fn joins(&self, fate: Fate, part: Option<SnapshotPart>) -> bool {
        match (fate, part) {
            (Fate::Reorder { group, .. }, Some(part)) => {
                part.follows && self.hold.awaits_part(group, part.tick)
            }
            _ => false,
        }
    }

    /// Carries out the decision about a non-vital message.
    fn place_loose_as(&mut self, loose: Loose<'_>, to: &mut Placement<'_>) -> Placed {
        let Loose {
            fate,
            part,
            joins,
            rule,
            is_corrupted,
            resend,
            data,
        } = loose;
        let now = to.frame.now;
        let follows = part.is_some_and(|part| part.follows);
        let hold = |release| {
            let held = Held::new(data.into(), false, release, now);
            held.by(rule.clone()).corrupted(is_corrupted)
        };
        let id = match fate {
            Fate::Pass => return send(data, resend, to),
            Fate::Reorder { .. } if follows && !joins => return send(data, resend, to),
            Fate::Drop => return Placed::new(None, Action::Drop),
            Fate::Lose { .. } => return Placed::new(None, Action::Lose),
            Fate::Reorder { group, .. } if !joins && self.hold.awaits(group) => {
                let placed = send(data, resend, to);
                self.overtake(&[group], to);
                return placed;
            }
            _ if !self.hold.has_room(data.len()) => return Placed::new(None, Action::Refuse),
            Fate::Delay { for_, order } => {
                let held = hold(Release::At(now + for_));
                match order {
                    Order::Kept => self.hold.push_loose(held),
                    Order::Free => self.hold.push_free(held),
                }
            }
            Fate::Hold { key, max, .. } => self.hold.push_loose(hold(Release::Key(key, now + max))),
            Fate::Pause { max, .. } => self.hold.push_loose(hold(Release::Pause(now + max))),
            Fate::Reorder { group, after } => {
                let until = now + OVERTAKEN_FOR;
                let held = hold(Release::At(until));
                if joins {
                    self.hold.push_joined(group, until, held)
                } else {
                    let tick = part.map(|part| part.tick);
                    self.hold.push_overtaken((group, tick), after, until, held)
                }
            }
        };
        self.held(fate, id, rule)
    }
}

fn send(data: &[u8], resend: bool, to: &mut Placement<'_>) -> Placed {
    Placed {
        sent: to.out.push(to.frame.proto, None, resend, data),
        ..Placed::new(None, Action::Pass)
    }
}
