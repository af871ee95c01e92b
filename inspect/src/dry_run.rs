//! Applies rules to a recording, and reports the actions that they would have taken on each message.
//!
//! Law: as in a live run, rules keep state from the start of each session, and decide about each message once. The
//! recorded traffic does not change: if a rule would have dropped a message, its consequences are still in the
//! recording.

use std::{collections::BTreeMap, net::SocketAddr};

use teetap_proxy::session::{Datagram, Event, EventKind, Origin, SessionId, State, Time};
use teetap_rules::{
    Decide, Effect, End, Fate, Made, Message, Opening, Order, PacketFacts, PacketKind, Program, Report,
    RuleId, Shared, Verdict,
};
use teetap_wire::{
    Chunk, Dir, Flags, Note, Packet, PerDir, Proto, Scratch, Seq, Side,
    def::{Class, Registry},
    identify,
};

/// Rules, with their memory of all sessions of a recording.
#[derive(Debug)]
pub struct DryRun {
    program: Program,
    registry: &'static Registry,
    seed: u64,
    shared: Shared,
    sessions: BTreeMap<SessionId, DrySession>,
    scratch: Scratch,
}

/// An action that the rules would have performed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The time of the message.
    pub at: Time,
    /// The session.
    pub session: SessionId,
    /// The message; `None` for a rule that acts at a time.
    pub message: Option<Tested>,
    /// The rules involved.
    pub rules: Vec<RuleId>,
    /// The actions in words.
    pub actions: Vec<String>,
}

/// A message of the recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tested {
    /// The direction.
    pub dir: Dir,
    /// The name; the class and number if it has no name.
    pub name: String,
    /// Sequence number given by the sender; `None` if the message is not vital.
    pub seq: Option<Seq>,
}

/// The state of a session.
struct DrySession {
    rules: Box<dyn Decide>,
    /// The last sequence number of each direction.
    seen: PerDir<Option<Seq>>,
    proto: Option<Proto>,
}

impl std::fmt::Debug for DrySession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tried")
            .field("seen", &self.seen)
            .finish_non_exhaustive()
    }
}

impl DryRun {
    /// Creates a dry run. `seed` is the seed of all random decisions.
    #[must_use]
    pub fn new(program: Program, registry: &'static Registry, seed: u64) -> Self {
        let shared = program.share(Shared::default());
        Self {
            program,
            registry,
            seed,
            shared,
            sessions: BTreeMap::new(),
            scratch: Scratch::default(),
        }
    }

    /// Returns the rules with their hits so far.
    #[must_use]
    pub fn report(&self) -> Report {
        self.program.report(&self.shared)
    }

    /// Returns the name of a rule.
    #[must_use]
    pub fn rule(&self, id: RuleId) -> &str {
        self.program.rule(id).unwrap_or_default()
    }

    /// Forgets all sessions, because another recording begins.
    pub fn restart(&mut self) {
        self.sessions.clear();
    }

    /// Applies the rules to an event. Returns the actions that they would have taken.
    pub fn event(&mut self, event: &Event) -> Vec<Attempt> {
        let Some(session) = event.session else {
            return Vec::new();
        };
        let mut attempts = self.on_time(session, event.at);
        match &event.what {
            EventKind::Session(change) => match change.state {
                State::Closed => attempts.extend(self.close(session, event.at)),
                State::Opening | State::Online | State::Closing => {
                    let is_new = change.state == State::Opening;
                    self.open(session, event.at, is_new, Some(change.client));
                }
            },
            EventKind::Datagram(datagram) if is_tried(datagram) => {
                attempts.extend(self.datagram(session, event.at, datagram));
            }
            _ => {}
        }
        attempts
    }

    /// Ends a session. Rules with unmet expectations may report them now.
    fn close(&mut self, session: SessionId, at: Time) -> Option<Attempt> {
        let mut tried = self.sessions.remove(&session)?;
        tried.rules.on_end();
        let (rules, actions) = effects(&mut *tried.rules);
        (!actions.is_empty()).then_some(Attempt {
            at,
            session,
            message: None,
            rules,
            actions,
        })
    }

    fn open(&mut self, session: SessionId, at: Time, is_new: bool, client: Option<SocketAddr>) {
        let opening = Opening {
            seed: self.seed,
            session: session.0,
            at: at.0,
            is_new,
            client,
        };
        let program = &self.program;
        self.sessions.entry(session).or_insert_with(|| DrySession {
            rules: program.open(opening, None),
            seen: PerDir::default(),
            proto: None,
        });
    }

    /// Runs the rules whose timers have expired.
    fn on_time(&mut self, session: SessionId, now: Time) -> Vec<Attempt> {
        let Some(tried) = self.sessions.get_mut(&session) else {
            return Vec::new();
        };
        let mut attempts = Vec::new();
        while let Some(at) = tried.rules.deadline().filter(|at| *at <= now.0) {
            let made = tried.rules.on_time(at, &mut self.shared);
            let (rules, mut actions) = effects(&mut *tried.rules);
            actions.extend(made.iter().map(|made| makes(made, tried.proto, self.registry)));
            if !actions.is_empty() {
                attempts.push(Attempt {
                    at: Time(at),
                    session,
                    message: None,
                    rules,
                    actions,
                });
            }
            // A rule that asks for the same time again would loop forever.
            if tried.rules.deadline() == Some(at) {
                break;
            }
        }
        attempts
    }

    fn datagram(&mut self, session: SessionId, at: Time, datagram: &Datagram) -> Vec<Attempt> {
        self.open(session, at, false, None);
        let mut attempts = Vec::new();
        let Some(Ok(packet)) = datagram.packet(&mut self.scratch) else {
            return attempts;
        };
        let Some(tried) = self.sessions.get_mut(&session) else {
            return attempts;
        };
        let interest = self.program.interest();
        tried.proto = Some(packet.proto);
        if datagram.dir == Dir::C2s && interest.measures {
            tried.rules.on_ack(at.0, packet.header.ack);
        }
        if packet.header.flags.contains(Flags::CONTROL) {
            let message = control(session, at, datagram.dir, &packet);
            if !packet.payload.is_empty() {
                let verdict = tried.rules.decide(&message, &mut self.shared);
                attempts.extend(attempt(&mut *tried.rules, &message, &verdict, self.registry));
            }
            return attempts;
        }
        let mut notes: Vec<Note> = packet.notes.iter().collect();
        if interest.inspects {
            notes.extend(packet.chunk_notes().iter());
        }
        let size = datagram.received().map_or(0, <[u8]>::len);
        for chunk in packet.chunks() {
            let message = message(session, at, datagram.dir, (&packet, size, &notes), &chunk);
            if message.dir == Dir::S2c
                && interest.measures
                && let Some(seq) = message.seq
            {
                tried.rules.on_sent(at.0, seq, message.resend);
            }
            let verdict = if !tried.is_first(&message) {
                if !interest.repeats.contains(message.proto, message.dir) {
                    continue;
                }
                tried.rules.repeat(&message, &mut self.shared)
            } else if interest.acts.contains(message.proto, message.dir) {
                tried.rules.decide(&message, &mut self.shared)
            } else {
                tried.rules.observe(&message, &mut self.shared)
            };
            attempts.extend(attempt(&mut *tried.rules, &message, &verdict, self.registry));
        }
        attempts
    }
}

impl DrySession {
    /// Returns true for the first copy of a message.
    fn is_first(&mut self, message: &Message<'_>) -> bool {
        let Some(seq) = message.seq else {
            return true;
        };
        let seen = &mut self.seen[message.dir];
        let is_first = seen.is_none_or(|seen| !seq.is_behind(seen));
        if is_first {
            *seen = Some(seq);
        }
        is_first
    }
}

/// Returns true if rules decide about the datagram: it was sent by a peer, and is not between the server and the proxy
/// only.
fn is_tried(datagram: &Datagram) -> bool {
    datagram.origin == Origin::Peer && datagram.leg != Some(Side::Server)
}

/// Returns the actions of the rules on a message; `None` if there are none.
fn attempt(
    decided: &mut dyn Decide,
    message: &Message<'_>,
    verdict: &Verdict,
    registry: &Registry,
) -> Option<Attempt> {
    let (others, logged) = effects(decided);
    let mut rules = verdict.rules.clone();
    rules.extend(others.iter().filter(|rule| !verdict.rules.contains(rule)));
    let mut actions = words(verdict, message, registry);
    actions.extend(logged);
    if actions.is_empty() && !rules.is_empty() {
        actions.push("matched".to_owned());
    }
    (!actions.is_empty()).then(|| Attempt {
        at: Time(message.at),
        session: SessionId(message.session),
        message: Some(Tested {
            dir: message.dir,
            name: match message.form {
                PacketKind::Control(_) => control_name(registry, message),
                _ => name(registry, message.proto, message.dir, message.data),
            },
            seq: message.seq,
        }),
        rules,
        actions,
    })
}

fn control_name(registry: &Registry, message: &Message<'_>) -> String {
    let id = message.data.first().copied().unwrap_or_default();
    registry
        .control(message.proto, message.dir, id)
        .map_or_else(|| format!("ctrl.{id}"), |def| def.name.to_string())
}

/// Returns the message of a control packet.
fn control<'a>(session: SessionId, at: Time, dir: Dir, packet: &Packet<'a>) -> Message<'a> {
    let facts = PacketFacts::without_chunks(packet.payload.len(), packet.header.ack);
    let place = (session.0, dir, packet.proto);
    Message::unnumbered(
        place,
        PacketKind::Control(Side::Client),
        packet.payload,
        facts,
        at.0,
    )
}

fn message<'a>(
    session: SessionId,
    at: Time,
    dir: Dir,
    (packet, size, notes): (&Packet<'_>, usize, &'a [Note]),
    chunk: &Chunk<'a>,
) -> Message<'a> {
    let facts = PacketFacts::new(packet, size, notes);
    Message::of_chunk((session.0, dir, packet.proto), chunk, facts, at.0)
}

/// Returns the name of a message; its class and number if it has no name.
fn name(registry: &Registry, proto: Proto, dir: Dir, data: &[u8]) -> String {
    let found = registry.known_message(proto, dir, data);
    match (found, identify(data)) {
        (Some(found), _) => found.def.name.to_string(),
        (None, Some((id, _))) => {
            let class = if Class::from(id.layer) == Class::System {
                "sys"
            } else {
                "game"
            };
            format!("{class}.{}", id.id)
        }
        (None, None) => "no message".to_owned(),
    }
}

/// Returns the rules that had an effect of their own, and these effects in words.
fn effects(rules: &mut dyn Decide) -> (Vec<RuleId>, Vec<String>) {
    let effects = rules.effects().into_iter();
    let (rules, words): (Vec<Option<RuleId>>, Vec<String>) = effects
        .map(|effect| match effect {
            Effect::Failed { rule, why } => (Some(rule), format!("fails: {why}")),
            Effect::Log { rule, text, .. } => (Some(rule), format!("reports \"{text}\"")),
            Effect::End { rule, end, .. } => {
                let words = match end {
                    End::Fail(text) | End::Unmet(text) => format!("fails the run: {text}"),
                    End::Exit(code) => format!("ends the run with {code}"),
                };
                (Some(rule), words)
            }
            Effect::Stall { for_, .. } => (None, format!("stalls for {for_:?}")),
            Effect::Release { .. } => (None, "releases what is held".to_owned()),
            Effect::Close { reason, .. } => (None, format!("closes the session \"{reason}\"")),
        })
        .unzip();
    (rules.into_iter().flatten().collect(), words)
}

fn words(verdict: &Verdict, message: &Message<'_>, registry: &Registry) -> Vec<String> {
    let mut words = Vec::new();
    let order = |order: &Order| if *order == Order::Free { ", unordered" } else { "" };
    match &verdict.fate {
        Fate::Pass => {}
        Fate::Drop => words.push("dropped".to_owned()),
        Fate::Lose { times: 1 } => words.push("lost".to_owned()),
        Fate::Lose { times } => words.push(format!("lost {times} times")),
        Fate::Delay { for_, order: of } => words.push(format!("delayed by {for_:?}{}", order(of))),
        Fate::Hold { max, order: of, .. } => words.push(format!("held, at most {max:?}{}", order(of))),
        Fate::Pause { max, order: of, .. } => {
            words.push(format!("paused, at most {max:?}{}", order(of)));
        }
        Fate::Reorder { after, .. } => words.push(format!("overtaken by {after}")),
    }
    if verdict.edit.as_ref().is_some_and(|edit| edit != message.data) || !verdict.items.is_empty() {
        words.push("changed".to_owned());
    }
    if !verdict.copies.is_empty() {
        words.push(format!("sent {} times more", verdict.copies.len()));
    }
    words.extend(verdict.marks.iter().map(|mark| format!("marked {mark}")));
    let proto = Some(message.proto);
    let made = verdict.before.iter().chain(&verdict.after);
    words.extend(made.map(|made| makes(made, proto, registry)));
    words
}

fn makes(made: &Made, proto: Option<Proto>, registry: &Registry) -> String {
    let to = match made.dir {
        Dir::C2s => "server",
        Dir::S2c => "client",
    };
    let name = proto.map(|proto| name(registry, proto, made.dir, &made.data));
    format!("sends the {to} {}", name.as_deref().unwrap_or("a message"))
}

#[cfg(test)]
#[path = "dry_run_tests.rs"]
mod tests;
