//! Rules on datagrams that belong to no session: messages of the server browser and requests for tokens.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use teetap_rules::{Effect, Fate, Message, PacketKind, Verdict};
use teetap_wire::{Connless as Wire, Dir, Packet, Proto, Scratch, Side, Token};

use super::Hub;
use crate::session::{
    Action, ClientAddr, EventKind, MadeAt, MadeHow, Notice, Placed, SentAt, SessionId, Time,
    datagram::readable,
    link::connless,
    timers::{Alarm, Timer},
};

/// Maximum number of delayed messages; further ones are forwarded without a delay.
const MAX_LATE: usize = 256;

/// A delayed message with its route, its record, and the message as received if a rule edited it.
type Delayed = (ConnlessRoute, Box<[u8]>, MadeAt, Option<Arc<[u8]>>);

/// Messages outside a connection that rules delay, and the alarms for delayed messages.
#[derive(Debug, Default)]
pub(super) struct DelayedConnless {
    /// The messages by the time at which they are forwarded and their number.
    waiting: BTreeMap<(Time, u64), Delayed>,
    next: u64,
    /// The message as received, while the message that a rule edited is forwarded.
    pub(super) original: Option<Arc<[u8]>>,
    /// The decision about the message that is forwarded now.
    pub(super) placed: Option<Box<Placed>>,
    /// The record of the delayed message or copy that is forwarded now.
    pub(super) made: Option<Box<MadeAt>>,
    /// Alarm for the next of the messages.
    alarm: Alarm,
    /// Alarm for the next message that a link line delays.
    pub(super) browsing_alarm: Alarm,
}

/// Sender and receiver of a message outside a connection.
#[derive(Clone, Copy, Debug)]
enum ConnlessRoute {
    /// From a client's address.
    FromClient(ClientAddr),
    /// From the server to a browser.
    ToBrowser(ClientAddr),
    /// From the server on the socket of a session.
    ToSession(SessionId),
}

impl Hub {
    pub(super) fn browse_ruled(&mut self, addr: ClientAddr, bytes: &[u8]) {
        self.pass(ConnlessRoute::FromClient(addr), bytes);
    }

    pub(super) fn browse_back_ruled(&mut self, addr: ClientAddr, bytes: &[u8]) {
        self.pass(ConnlessRoute::ToBrowser(addr), bytes);
    }

    pub(super) fn connless_ruled(&mut self, id: SessionId, bytes: &[u8]) {
        self.pass(ConnlessRoute::ToSession(id), bytes);
    }

    /// Forwards a message with the copies, delays and bytes that the rules decide on.
    fn pass(&mut self, way: ConnlessRoute, bytes: &[u8]) {
        let read = Wire::parse(readable(bytes)).filter(|_| self.env.interest().browses);
        let Some(read) = read else {
            return self.pass_now(way, bytes);
        };
        let bytes = readable(bytes);
        let verdict = self.rule_connless(way, &read, bytes.len());
        let header = bytes.len() - read.data().len();
        let edited = verdict.edit.as_ref().map(|edit| {
            let header = bytes.get(..header).unwrap_or_default();
            [header, edit].concat()
        });
        self.late.original = edited.is_some().then(|| bytes.into());
        let bytes = edited.as_deref().unwrap_or(bytes);
        let (placed, made) = self.records(&verdict, bytes.len());
        let delay = placed.delay;
        self.late.placed = (!placed.rules.is_empty()).then(|| placed.into());
        match (verdict.fate, delay) {
            (Fate::Drop | Fate::Lose { .. }, _) => self.report_unsent(way, bytes, false),
            (_, Some(for_)) => {
                self.report_unsent(way, bytes, true);
                let waited = for_;
                self.pass_late(
                    way,
                    bytes,
                    MadeAt {
                        waited,
                        ..made.clone()
                    },
                );
            }
            _ => {
                self.pass_now(way, bytes);
                self.late.placed = None;
            }
        }
        for after in verdict.copies {
            let copy = MadeAt {
                how: MadeHow::Copy,
                rule: self.env.rule_name(verdict.copied_by),
                waited: after,
                ..made.clone()
            };
            self.pass_late(way, bytes, copy);
        }
        self.late.original = None;
    }

    /// Returns the decision about a message of `len` bytes, and the record of a message that is sent later or again.
    fn records(&self, verdict: &Verdict, len: usize) -> (Placed, MadeAt) {
        let delay = match verdict.fate {
            Fate::Delay { for_, .. } if !for_.is_zero() && self.has_room() => Some(for_),
            _ => None,
        };
        let action = match verdict.fate {
            Fate::Drop => Action::Drop,
            Fate::Lose { .. } => Action::Lose,
            _ if delay.is_some() => Action::Hold,
            _ if verdict.is_corrupted => Action::Corrupt,
            _ if verdict.edit.is_some() => Action::Edit,
            _ => Action::Pass,
        };
        let placed = Placed {
            delay,
            ..Placed::new(None, action).touched(verdict.rules.clone(), verdict.marks.clone())
        };
        let rule = self.env.rule_name(verdict.by.or(verdict.rules.last().copied()));
        let made = MadeAt {
            sent: SentAt {
                datagram: 0,
                at: 0,
                len: u16::try_from(len).unwrap_or(u16::MAX),
            },
            how: MadeHow::Release,
            rule,
            held: None,
            waited: Duration::ZERO,
            corrupted: verdict.is_corrupted,
        };
        (placed, made)
    }

    fn has_room(&self) -> bool {
        self.late.waiting.len() < MAX_LATE
    }

    /// Forwards a message that is not received now.
    fn pass_made(&mut self, way: ConnlessRoute, bytes: &[u8], made: MadeAt) {
        self.late.made = Some(made.into());
        self.pass_now(way, bytes);
        self.late.made = None;
    }

    fn pass_now(&mut self, way: ConnlessRoute, bytes: &[u8]) {
        match way {
            ConnlessRoute::FromClient(addr) => self.browse(addr, bytes),
            ConnlessRoute::ToBrowser(addr) => self.browse_back(addr, bytes),
            ConnlessRoute::ToSession(id) => self.connless_from_game(id, bytes),
        }
    }

    /// Forwards a message after the time that `made` has.
    fn pass_late(&mut self, way: ConnlessRoute, bytes: &[u8], made: MadeAt) {
        if made.waited.is_zero() || !self.has_room() {
            let waited = Duration::ZERO;
            return self.pass_made(way, bytes, MadeAt { waited, ..made });
        }
        let at = self.env.now + made.waited;
        self.late.next += 1;
        self.late.waiting.insert(
            (at, self.late.next),
            (way, bytes.into(), made, self.late.original.clone()),
        );
        self.timers.set(Timer::Late, &mut self.late.alarm, at);
    }

    /// Forwards the messages that are due.
    pub(super) fn on_late(&mut self) {
        self.late.alarm.clear();
        while let Some(entry) = self.late.waiting.first_entry() {
            let at = entry.key().0;
            if at > self.env.now {
                self.timers.set(Timer::Late, &mut self.late.alarm, at);
                return;
            }
            let (way, bytes, made, original) = entry.remove();
            self.late.original = original;
            self.pass_made(way, &bytes, made);
            self.late.original = None;
        }
    }

    /// Reports a message that is not sent now. `waits` is true if it is sent later.
    fn report_unsent(&mut self, way: ConnlessRoute, bytes: &[u8], waits: bool) {
        let mark = self.env.out.mark();
        match way {
            ConnlessRoute::FromClient(addr) => self.report_connless(Dir::C2s, addr, bytes, waits, mark),
            ConnlessRoute::ToBrowser(addr) => self.report_connless(Dir::S2c, addr, bytes, waits, mark),
            ConnlessRoute::ToSession(id) => self.report_to_session(id, bytes, waits, mark),
        }
        self.late.placed = None;
    }

    fn rule_connless(&mut self, way: ConnlessRoute, read: &Wire<'_>, size: usize) -> Verdict {
        let dir = match way {
            ConnlessRoute::FromClient(_) => Dir::C2s,
            ConnlessRoute::ToBrowser(_) => Dir::S2c,
            ConnlessRoute::ToSession(id) => {
                let verdict = self.with_link(id, |link, _, env| link.rule_connless(read.data(), size, env));
                return verdict.unwrap_or_default();
            }
        };
        let proto = match read {
            Wire::V7 { .. } => Proto::V7,
            Wire::Plain { .. } | Wire::Extended { .. } => Proto::Ddnet,
        };
        let message = connless(0, dir, proto, (read.data(), size), self.env.now);
        self.rule_outside(&message)
    }

    /// Evaluates the rules on a 0.7 client's request for a token, which opens no session. Returns the number
    /// of answers to send.
    pub(super) fn rule_token_request(&mut self, token: Token, size: usize) -> usize {
        if !self.env.interest().controls {
            return 1;
        }
        let data = [&[5][..], &token.0].concat();
        let message = Message {
            form: PacketKind::Control(Side::Client),
            ..connless(0, Dir::C2s, Proto::V7, (&data, size), self.env.now)
        };
        let verdict = self.rule_outside(&message);
        match verdict.fate {
            Fate::Drop | Fate::Lose { .. } => 0,
            _ => 1 + verdict.copies.len(),
        }
    }

    /// Evaluates the rules on a CONNECT of 0.6 and its answer, which open no session. Returns false if the
    /// rules drop either message. The rules are evaluated only if one of them can drop such a message.
    pub(super) fn rules_pass_greeting(&mut self, request: (Proto, &[u8]), answer: (Proto, &[u8])) -> bool {
        if !self.env.interest().decides_alone {
            return true;
        }
        let mut scratch = Scratch::new();
        let (proto, bytes) = request;
        let Ok(packet) = Packet::parse(proto, bytes, &mut scratch) else {
            return true;
        };
        self.rules_pass(Dir::C2s, proto, packet.payload) && self.rules_pass(Dir::S2c, answer.0, answer.1)
    }

    fn rules_pass(&mut self, dir: Dir, proto: Proto, payload: &[u8]) -> bool {
        let message = Message {
            form: PacketKind::Control(Side::Client),
            ..connless(0, dir, proto, (payload, payload.len()), self.env.now)
        };
        !matches!(self.rule_outside(&message).fate, Fate::Drop | Fate::Lose { .. })
    }

    fn rule_outside(&mut self, message: &Message<'_>) -> Verdict {
        let Some(rules) = self.env.outside.as_mut() else {
            return Verdict::PASS;
        };
        let verdict = rules.decide(message, &mut self.env.shared);
        for effect in rules.effects() {
            let name = |rule| {
                let name = self.env.program.as_ref().and_then(|program| program.rule(rule));
                name.unwrap_or_default().into()
            };
            let notice = match effect {
                Effect::Log { rule, text, whole } => Notice::RuleLog {
                    rule: name(rule),
                    logged: text,
                    whole,
                },
                Effect::Failed { rule, why } => Notice::RuleFailed {
                    rule: name(rule),
                    why,
                },
                _ => continue,
            };
            self.env.out.event(self.env.now, None, EventKind::Notice(notice));
        }
        verdict
    }
}
