//! The environment that all sessions share.

use std::sync::Arc;

use teetap_rules::{Decide, Effect, Made, Opening, Program, RuleId, Shared, Verdict, impair::Channel};
use teetap_wire::{Dir, Note, Packet, Proto};

use crate::session::{
    Notice, What, compose::Composer, config::Config, datagram::Placed, ids::SessionId, outbox::Outbox,
    redirect::Listeners, time::Time,
};

/// The environment that the hub lends to a session while it handles an input.
pub(crate) struct Env {
    /// When the input happened.
    pub(crate) now: Time,
    pub(crate) config: Config,
    pub(crate) out: Outbox,
    pub(crate) work: Work,
    pub(crate) program: Option<Arc<Program>>,
    /// The counts of its rules that all sessions share.
    pub(crate) shared: Shared,
    /// The state of the program for what belongs to no session.
    pub(crate) outside: Option<Box<dyn Decide>>,
    pub(crate) listeners: Listeners,
}

impl Env {
    /// Sets another program. Rules that are in both keep the counts that all sessions share.
    pub(crate) fn set_program(&mut self, program: Option<Arc<Program>>) {
        let named = |program: &Option<Arc<Program>>| program.as_ref().map(|program| program.names());
        let before = named(&self.program).unwrap_or_default();
        let rules = named(&program).unwrap_or_default();
        if !(before.is_empty() && rules.is_empty()) {
            let what = What::Notice(Notice::RulesSet { rules });
            self.out.event(self.now, None, what);
        }
        let before = std::mem::take(&mut self.shared);
        self.shared = match &program {
            Some(program) => program.share(before),
            None => before.cleared(),
        };
        self.program = program;
        let needs = |program: &&Arc<Program>| program.browses() || program.controls();
        let before = self.outside.take();
        let program = self.program.as_ref().filter(needs);
        self.outside =
            program.map(|program| program.open(self.opening(SessionId(0), self.now, true), before));
    }

    /// Returns true if the program acts on messages of a direction.
    pub(crate) fn acts(&self, proto: Proto, dir: Dir) -> bool {
        self.program
            .as_ref()
            .is_some_and(|program| program.acts(proto, dir))
    }

    /// Returns true if the program has to see the messages of a direction.
    pub(crate) fn observes(&self, proto: Proto, dir: Dir) -> bool {
        self.program
            .as_ref()
            .is_some_and(|program| program.observes(proto, dir))
    }

    /// Returns true if the program decides about control messages.
    pub(crate) fn controls(&self) -> bool {
        self.program.as_ref().is_some_and(|program| program.controls())
    }

    /// Returns true if the program decides about messages outside a connection.
    pub(crate) fn browses(&self) -> bool {
        self.program.as_ref().is_some_and(|program| program.browses())
    }

    /// Returns true if the program looks at further copies of messages of a direction.
    pub(crate) fn repeats(&self, proto: Proto, dir: Dir) -> bool {
        self.program
            .as_ref()
            .is_some_and(|program| program.repeats(proto, dir))
    }

    /// Returns true if the program needs the round trip to the client.
    pub(crate) fn measures(&self) -> bool {
        self.program.as_ref().is_some_and(|program| program.measures())
    }

    /// Returns the oddities of a datagram that the program sees.
    pub(crate) fn notes(&self, packet: &Packet<'_>) -> Vec<Note> {
        let Some(program) = &self.program else {
            return Vec::new();
        };
        let mut notes: Vec<Note> = packet.notes.iter().collect();
        if program.inspects() {
            notes.extend(packet.chunk_notes().iter());
        }
        notes
    }

    /// The state of the program for a session that opened at `at`; `is_new`: none of its messages was missed;
    /// `before`: the state that it had so far.
    pub(crate) fn open_rules(
        &self,
        session: SessionId,
        at: Time,
        is_new: bool,
        before: Option<Box<dyn Decide>>,
    ) -> Option<Box<dyn Decide>> {
        let opening = self.opening(session, at, is_new);
        let program = self.program.as_ref()?;
        Some(program.open(opening, before))
    }

    /// The state of the link in one direction of a session that opened at `at`; `None` without link lines for it.
    pub(crate) fn open_link(
        &self,
        session: SessionId,
        at: Time,
        dir: Dir,
        before: Option<Channel>,
    ) -> Option<Channel> {
        let opening = self.opening(session, at, true);
        self.program.as_ref()?.open_link(&opening, dir, before)
    }

    fn opening(&self, session: SessionId, at: Time, is_new: bool) -> Opening {
        Opening {
            seed: self.config.seed,
            session: session.0,
            at: at.0,
            is_new,
        }
    }
}

/// Reused buffers.
#[derive(Debug, Default)]
pub(crate) struct Work {
    pub(crate) composer: Composer,
    pub(crate) placed: Vec<Placed>,
    /// The chunks of the last datagram that rules looked at without a decision, by their index.
    pub(crate) touched: Vec<(usize, Verdict)>,
    pub(crate) crossing: Vec<Made>,
    /// Effects of rules that are not carried out yet.
    pub(crate) effects: Vec<Effect>,
    /// The action of rules on the control message at hand, until it is reported.
    pub(crate) control: Option<Placed>,
    /// Failures of rules in the last datagram.
    pub(crate) failed: Vec<(RuleId, &'static str)>,
    /// Chunks that the last datagram announced and did not have.
    pub(crate) missing: u8,
}
