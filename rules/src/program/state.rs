//! Memory of rules about one session, the context of the session, and decisions.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use teetap_wire::def::{Class, Decoded, Registry};
use teetap_wire::{Dir, MessageId, Proto, Seq, Side};

use super::compile::Rules;
use super::dispatch::is_entry;
use super::faults::{Drawn, GameEntry, TIMER};
use super::hit::Hit;
use super::parts::tick_of_part;
use super::progress::Progress;
use super::rule::Rule;
use super::shared::Shared;
use super::visit::Visit;
use super::window::{Latches, LineWindow};
use super::write::timed;
use crate::context::{Context, MessageView, Needs, PacketView};
use crate::dice::hash;
use crate::eval::{Identity, SessionState, Variables};
use crate::impair::LineSet;
use crate::opening::Opening;
use crate::program::Decide;
use crate::units::micros;
use crate::verdict::{Effect, Made, Message, PacketKind, RuleId, Verdict};

/// State of one session.
pub(super) struct State {
    pub(super) rules: Arc<Rules>,
    pub(super) seed: u64,
    session: u32,
    /// Protocol of the session; `None` before the first message.
    proto: Option<Proto>,
    /// True if the session began with the program, and no hit of a rule that acts at the start is counted yet.
    counts_starts: bool,
    /// True if the session began without the program, so that timers start with the next message.
    starts_late: bool,
    /// True if the client has entered the game.
    has_entered: bool,
    /// Time at which the session opened; `None` if that was before the program was set.
    opened: Option<u64>,
    pub(super) effects: Vec<Effect>,
    /// Memory of each rule.
    pub(super) progress: Vec<Progress>,
    /// State of each link line's window with conditions.
    windows: Vec<Latches>,
    /// Variables that the rules have set.
    pub(super) variables: RefCell<Variables>,
    /// The parts of the session's context that conditions need.
    pub(super) context: Context,
    /// Buffer that avoids allocations when messages are decoded.
    pub(super) buffer: Decoded,
    /// Buffer for snapshot items.
    pub(super) item: Cell<Decoded>,
}

impl Rules {
    /// Returns the variables of a session, with the values that another program assigned.
    fn variables_after(&self, before: Option<&State>) -> Variables {
        let Some(before) = before else {
            return Variables::new(vec![None; self.variables.len()]);
        };
        let old = before.variables.borrow();
        let given = |at: Option<u16>| old.with_secrecy(at?).cloned();
        Variables::new(
            self.variables
                .in_other(&before.rules.variables)
                .map(given)
                .collect(),
        )
    }
}

impl State {
    /// Creates the state of a session. `before` is its state under another program.
    pub(super) fn open(rules: Arc<Rules>, session: Opening, mut before: Option<Box<Self>>) -> Self {
        let progress = |rule: &Rule| {
            let kept = before.as_mut().and_then(|before| before.take(rule));
            kept.unwrap_or_else(|| Progress::new(rule))
        };
        let mut progress: Vec<Progress> = rules.rules.iter().map(progress).collect();
        let starts = session.is_new && before.is_none();
        for (rule, progress) in rules
            .rules
            .iter()
            .zip(&mut progress)
            .filter(|(rule, _)| starts && rule.starts)
        {
            let begun: Vec<usize> = (0..rule.expects.len()).collect();
            progress.expect(rule, &begun, session.at, None);
        }
        let windows = rules.windows.iter().map(|window| {
            let kept = before.as_mut().and_then(|before| before.take_window(window));
            kept.unwrap_or_else(|| Latches::new(&window.window))
        });
        let windows = windows.collect();
        let variables = RefCell::new(rules.variables_after(before.as_deref()));
        // The previous program knows whether the game has begun.
        let starts_late = match &before {
            Some(before) => before.is_in_game() || !session.is_new && !before.sees_entries(),
            None => !session.is_new,
        };
        let opened = match &before {
            Some(before) => before.opened,
            None => session.is_new.then_some(session.at),
        };
        let mut context = match before {
            Some(before) => before.context_for(&rules),
            None if session.is_new => Context::opening(session.at),
            None => Context::new(session.at),
        };
        // Rules decide about messages of sessions that are online.
        context.set_state(SessionState::Online);
        context.set_client(session.client);
        Self {
            seed: session.seed,
            session: session.session,
            proto: None,
            counts_starts: starts,
            starts_late,
            has_entered: false,
            opened,
            effects: Vec::new(),
            progress,
            windows,
            variables,
            context,
            rules,
            buffer: Decoded::new(),
            item: Cell::default(),
        }
    }

    /// Returns true if the program sees the messages which show that the game begins.
    fn sees_entries(&self) -> bool {
        self.rules.interest.observes.has(Dir::C2s)
    }

    /// Returns true if timers run, or would run if there were any.
    fn is_in_game(&self) -> bool {
        self.starts_late || self.has_entered
    }

    /// Moves out the memory of the rule with the same identity; `None` if there is no such rule.
    fn take(&mut self, rule: &Rule) -> Option<Progress> {
        let mut rules = self.rules.rules.iter().zip(&mut self.progress);
        let (old, progress) = rules.find(|(old, _)| old.label.identity == rule.label.identity)?;
        Some(std::mem::take(progress).carried(old, rule))
    }

    /// Moves out the window state of the link line with the same identity; `None` if there is no such line.
    fn take_window(&mut self, window: &LineWindow) -> Option<Latches> {
        let mut windows = self.rules.windows.iter().zip(&mut self.windows);
        let (old, latches) = windows.find(|(old, _)| old.identity == window.identity)?;
        Some(std::mem::take(latches).carried(&old.window, &window.window))
    }

    /// Returns the context for the next program. It lacks the parts that only the next program needs.
    fn context_for(self, next: &Rules) -> Context {
        let (had, needs) = (self.rules.needs, next.needs);
        let mut context = self.context;
        if needs.follows_any() && !had.follows_any() || needs.names > had.names {
            context.gap();
        }
        if next.interest.measures && !self.rules.interest.measures {
            context.restart_trips();
        }
        context
    }

    /// Observes a message and evaluates the rules. Without `acts`, only rules that change nothing act.
    fn on_message(&mut self, message: &Message<'_>, shared: &mut Shared, acts: bool) -> Verdict {
        let view = view(message, self.rules.registry);
        self.proto = Some(message.proto);
        self.count_starts(message.at, shared);
        self.fail_late(message.at);
        let place = (message.proto, message.dir);
        let visited = shared.dispatch.visited(&self.rules, place, &view.subject());
        if visited.is_none() && !self.rules.interest.measures && self.rules.needs == Needs::NOTHING {
            self.context.introduce(&view);
            self.enter(&view, message, shared);
            return Verdict::PASS;
        }
        let rules = Arc::clone(&self.rules);
        let fields = self.context.fields(&view, std::mem::take(&mut self.buffer));
        self.context.observe(&view, &fields, rules.needs, &rules.stores);
        let facts = self.context.facts(&view, &fields, &self.item);
        let facts = facts.with_variables(&self.variables);
        let is_visited = visited.as_ref().is_some_and(|visited| !visited.rules.is_empty());
        let faults = shared.faults.clone();
        let mut visit = Visit {
            message,
            facts: &facts,
            body: view.body,
            seed: self.seed,
            acts,
            faults: faults.as_deref(),
            snapshot: self.context.completed(),
            tick: if is_visited {
                tick_of_part(&view, &fields)
            } else {
                None
            },
            variables: &self.variables,
            effects: &mut self.effects,
            verdict: Verdict::PASS,
            has_ended: false,
        };
        for &id in visited.iter().flat_map(|visited| &visited.rules) {
            let index = usize::from(id);
            if let (Some(rule), Some(progress)) = (rules.rules.get(index), self.progress.get_mut(index)) {
                visit.rule(RuleId(id), rule, progress, shared);
            }
        }
        let mut verdict = visit.verdict;
        verdict.settle(message);
        for &at in visited.iter().flat_map(|visited| &visited.windows) {
            let at = usize::from(at);
            if let (Some(window), Some(latches)) = (rules.windows.get(at), self.windows.get_mut(at)) {
                window.observe(latches, message.form, &facts);
            }
        }
        self.context.learn(&view, &fields, rules.needs);
        self.buffer = fields.into_buffer();
        self.enter(&view, message, shared);
        verdict
    }

    /// Counts a hit of each rule that acts at the start of the session.
    fn count_starts(&mut self, at: u64, shared: &mut Shared) {
        if std::mem::take(&mut self.counts_starts) {
            let session = self.session;
            for (id, rule) in (0..).zip(&self.rules.rules) {
                if rule.starts {
                    shared.hit(RuleId(id), Hit { at, session });
                }
            }
        }
    }

    /// Starts the timers if the game begins with this message.
    fn enter(&mut self, view: &MessageView<'_>, message: &Message<'_>, shared: &mut Shared) {
        let is_entry = view.def.is_some_and(|def| is_entry(message.dir, def));
        if let Some(opened) = self.opened.take_if(|_| is_entry) {
            shared.entered(GameEntry {
                at: message.at,
                session: self.session,
                after: message.at.saturating_sub(opened),
            });
        }
        if self.starts_late || is_entry {
            self.start_timers(message.at);
        }
    }

    /// Starts the timers that are not running.
    fn start_timers(&mut self, at: u64) {
        (self.starts_late, self.has_entered) = (false, true);
        for (rule, progress) in self.rules.rules.iter().zip(&mut self.progress) {
            if let (Some(timer), None) = (rule.timer, progress.next) {
                progress.next = Some(at.saturating_add(micros(timer)));
            }
        }
    }

    /// Lets a rule without a condition act if it is its turn.
    fn on_timer(&mut self, number: u16, at: u64, shared: &mut Shared, made: &mut Vec<Made>) {
        let rules = Arc::clone(&self.rules);
        let index = usize::from(number);
        let (Some(rule), Some(progress)) = (rules.rules.get(index), self.progress.get_mut(index)) else {
            return;
        };
        let Some((timer, next)) = rule.timer.zip(progress.next).filter(|(_, next)| *next <= at) else {
            return;
        };
        // Missed turns are not repeated.
        let timer = micros(timer).max(1);
        progress.next = Some(
            next.saturating_add((at - next) / timer * timer)
                .saturating_add(timer),
        );
        progress.ticks = progress.ticks.saturating_add(1);
        let ordinal = progress.ticks;
        let id = RuleId(number);
        if !shared.is_enabled(id) {
            return;
        }
        let session = self.session;
        let faults = shared.faults.clone().filter(|_| rule.actions.is_fault);
        let acts = match faults {
            Some(faults) => faults
                .of_rule(id, session, None, (hash(TIMER), ordinal))
                .is_some(),
            None => {
                let since = self.context.known().since;
                let counts = shared.counts(id).filter(|_| rule.is_global);
                progress.timer_acts(rule, (self.seed, session), (at, since), counts)
            }
        };
        if acts {
            let hit = Hit { at, session };
            shared.hit(id, hit);
            if rule.actions.is_fault {
                shared.decided(|| rule.decision(hit, None, (TIMER, ordinal), Drawn::default()));
            }
            timed(id, &rule.actions.resolved, self.proto, (made, &mut self.effects));
            let begun: Vec<usize> = (0..rule.expects.len()).collect();
            progress.expect(rule, &begun, at, None);
        }
    }

    /// Fails the expectations whose deadline has passed.
    pub(super) fn fail_late(&mut self, at: u64) {
        if !self.rules.expects {
            return;
        }
        let rules = self.rules.rules.iter().zip(&mut self.progress);
        for (id, (rule, progress)) in (0..).zip(rules) {
            let ends = progress.late(rule, at).map(|unmet| unmet.effect(RuleId(id)));
            self.effects.extend(ends);
        }
    }
}

/// Returns the view of the first copy of a message, which has no sequence number towards the receiver yet.
pub(super) fn view<'a>(message: &Message<'a>, registry: &'static Registry) -> MessageView<'a> {
    let number = |id: u8| Identity::Number(id.into());
    let (class, id, def, body) = match message.form {
        PacketKind::Chunk => {
            let found = registry.known_message(message.proto, message.dir, message.data);
            let id = message.id;
            (
                id.map_or(Class::System, |id| id.layer.into()),
                match id {
                    Some(id) => id.uuid.map_or(Identity::Number(id.id), Identity::Uuid),
                    None => Identity::Other,
                },
                found.map(|found| found.def),
                found.map_or(0, |found| found.body),
            )
        }
        PacketKind::Control(_) => {
            let id = message.data.first().copied();
            let def = id.and_then(|id| registry.control(message.proto, message.dir, id));
            (Class::Control, id.map_or(Identity::Other, number), def, 1)
        }
        PacketKind::Connless => {
            let def = registry.connless(message.proto, message.data);
            (Class::Connless, Identity::Other, def, 8)
        }
    };
    let packet = message.packet;
    MessageView {
        at: message.at,
        session: Some(message.session),
        proto: message.proto,
        dir: message.dir,
        class: Some(class),
        id,
        def,
        body,
        data: message.data,
        seq: message.seq,
        seq_out: None,
        resend: message.resend,
        delivered: true,
        first: true,
        again: false,
        leg: match message.form {
            PacketKind::Control(leg) => Some(leg),
            PacketKind::Chunk | PacketKind::Connless => None,
        },
        client: None,
        done: None,
        packet: PacketView {
            size: Some(packet.size),
            // An ack that is sent to the server does not refer to the numbers that were sent to the client.
            ack: Some(packet.ack).filter(|_| message.form != PacketKind::Control(Side::Server)),
            chunks: Some(packet.chunks),
            flags: packet.flags,
            notes: packet.notes,
            // Datagrams are numbered later.
            frame: None,
        },
    }
}

impl Decide for State {
    fn decide(&mut self, message: &Message<'_>, shared: &mut Shared) -> Verdict {
        self.on_message(message, shared, true)
    }

    fn observe(&mut self, message: &Message<'_>, shared: &mut Shared) -> Verdict {
        self.on_message(message, shared, false)
    }

    fn ignores(&self, (proto, dir): (Proto, Dir), id: MessageId, shared: &mut Shared) -> bool {
        let rules = &self.rules;
        let remembers = rules.interest.measures || rules.needs != Needs::NOTHING;
        // A message must be seen if it can have an effect other than through the rules that it visits.
        let is_awaited = rules.expects || self.starts_late || self.proto != Some(proto);
        !remembers && !is_awaited && shared.dispatch.ignores(rules, (proto, dir), id)
    }

    fn repeat(&mut self, message: &Message<'_>, shared: &mut Shared) -> Verdict {
        self.on_repeat(message, shared)
    }

    fn effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    fn deadline(&self) -> Option<u64> {
        let progress = self.progress.iter().filter(|_| self.rules.is_timed);
        progress.filter_map(Progress::deadline).min()
    }

    fn on_time(&mut self, at: u64, shared: &mut Shared) -> Vec<Made> {
        self.count_starts(at, shared);
        self.fail_late(at);
        let mut made = Vec::new();
        for (number, _) in (0..).zip(&Arc::clone(&self.rules).rules) {
            self.on_timer(number, at, shared, &mut made);
        }
        made
    }

    fn open_lines(&self) -> LineSet {
        let windows = self.rules.windows.iter().zip(&self.windows);
        let closed = windows.filter(|(of, latches)| !latches.is_open(&of.window));
        closed.fold(LineSet::ALL, |lines, (of, _)| lines.without(of.line))
    }

    fn on_end(&mut self) {
        let rules = self.rules.rules.iter().zip(&mut self.progress);
        for (id, (rule, progress)) in (0..).zip(rules) {
            let ends = progress.ended(rule).map(|unmet| unmet.effect(RuleId(id)));
            self.effects.extend(ends);
        }
    }

    fn on_sent(&mut self, at: u64, seq: Seq, resend: bool) {
        self.context.on_sent(at, seq, resend);
    }

    fn on_ack(&mut self, at: u64, ack: Seq) {
        self.context.on_ack(at, ack);
    }
}
