//! The environment that all sessions share.

use std::{net::SocketAddr, sync::Arc};

use teetap_rules::{
    Decide, Effect, Hit, Interest, Made, Opening, Program, RuleId, Shared, Verdict,
    impair::{Channel, LineSet},
};
use teetap_wire::{Dir, Note, Packet, Proto};

use super::Opened;
use crate::session::{
    EventKind, Notice,
    compose::Composer,
    config::Config,
    datagram::Placed,
    ids::SessionId,
    lane::{Lane, Outgoing},
    lanes::Lanes,
    outbox::Outbox,
    redirect::Listeners,
    time::Time,
};

const DIRS: [Dir; 2] = [Dir::C2s, Dir::S2c];

/// The environment that the hub lends to a session while the session handles an input.
pub(crate) struct Env {
    /// Time of the input.
    pub(crate) now: Time,
    pub(crate) config: Config,
    pub(crate) out: Outbox,
    pub(crate) work: Buffers,
    pub(crate) program: Option<Arc<Program>>,
    /// Counts of the program's rules that all sessions share.
    pub(crate) shared: Shared,
    /// State of the program for messages that belong to no session; `None` if the program does not act on
    /// them.
    pub(crate) outside: Option<Box<dyn Decide>>,
    /// The links of connless messages that belong to no session (server browser).
    pub(crate) browsing: Lanes,
    pub(crate) listeners: Listeners,
}

impl Env {
    /// Returns the name of a rule of the program.
    pub(crate) fn rule_name(&self, rule: Option<RuleId>) -> Option<Box<str>> {
        let name = self.program.as_ref()?.rule(rule?)?;
        Some(name.into())
    }

    /// Replaces the program. Rules that both programs contain keep the counts that all sessions share.
    pub(crate) fn set_program(&mut self, program: Option<Arc<Program>>) {
        let named = |program: &Option<Arc<Program>>| program.as_ref().map(|program| program.names());
        let before = named(&self.program).unwrap_or_default();
        let rules = named(&program).unwrap_or_default();
        if !(before.is_empty() && rules.is_empty()) {
            let what = EventKind::Notice(Notice::RulesSet { rules });
            self.out.event(self.now, None, what);
        }
        let before = std::mem::take(&mut self.shared);
        self.shared = match &program {
            Some(program) => program.share(before),
            None => before.cleared(),
        };
        self.program = program;
        let links_browse = |program: &Program| DIRS.iter().any(|dir| program.links_browse(*dir));
        let needs = |program: &&Arc<Program>| {
            let interest = program.interest();
            interest.browses || interest.controls || links_browse(program)
        };
        let before = self.outside.take();
        let program = self.program.as_ref().filter(needs);
        self.outside =
            program.map(|program| program.open(self.opening(SessionId(0), self.now, true, None), before));
        for dir in DIRS {
            let before = self.browsing.lane(dir).channel.take();
            let is_ruled = self
                .program
                .as_ref()
                .is_some_and(|program| program.links_browse(dir));
            let channel = self.open_link(SessionId(0), Time::ZERO, dir, before);
            self.browsing.lane(dir).channel = channel.filter(|_| is_ruled);
        }
        self.settle_browsing();
    }

    /// Updates the link lines that act on messages outside a connection, since their windows may have begun
    /// or ended.
    pub(crate) fn settle_browsing(&mut self) {
        self.browsing.settle(self.windows_outside());
    }

    /// Returns the link lines whose windows are open outside of sessions.
    pub(crate) fn windows_outside(&self) -> LineSet {
        let rules = self.outside.as_ref();
        rules.map_or(LineSet::ALL, |rules| rules.open_lines())
    }

    /// Sends a datagram, which the lane has already counted, through the lane of a direction. `outgoing`
    /// describes the datagram, given its bytes.
    pub(crate) fn pass<'l>(
        &mut self,
        session: SessionId,
        (lane, dir): (&'l mut Lane, Dir),
        write: impl FnOnce(&mut Vec<u8>),
        outgoing: impl for<'b> FnOnce(&'b [u8]) -> Outgoing<'b>,
    ) {
        let (now, shared) = (self.now, &mut self.shared);
        let hit = Hit {
            at: now.0,
            session: session.0,
        };
        self.out.keep(write, |bytes| {
            let outgoing = outgoing(bytes);
            let connless = outgoing.connless;
            let transits = lane.enqueue(now, outgoing);
            shared.count_impacts(hit, lane.passed(dir, connless), lane.impacts());
            transits
        });
        if lane.has_filled() {
            let session = Some(session).filter(|session| session.0 > 0);
            self.out
                .event(now, session, EventKind::Notice(Notice::LinkFull { dir }));
        }
    }

    /// Returns the messages and facts that the program needs; none without a program.
    pub(crate) fn interest(&self) -> Interest {
        let program = self.program.as_ref();
        program.map(|program| program.interest()).unwrap_or_default()
    }

    /// Returns true if the program has to see the messages of a direction: its rules need them, or, for
    /// messages of the client, entries into the game are recorded.
    pub(crate) fn observes(&self, proto: Proto, dir: Dir) -> bool {
        let keeps_entries = dir == Dir::C2s && self.shared.is_recording();
        self.program
            .as_ref()
            .is_some_and(|program| keeps_entries || program.interest().observes.contains(proto, dir))
    }

    /// Returns the oddities of a datagram that rules can see; none without a program.
    pub(crate) fn notes(&self, packet: &Packet<'_>) -> Vec<Note> {
        let Some(program) = &self.program else {
            return Vec::new();
        };
        let mut notes: Vec<Note> = packet.notes.iter().collect();
        if program.interest().inspects {
            notes.extend(packet.chunk_notes().iter());
        }
        notes
    }

    /// Returns the state of the program for a session. `is_new` is true if the program sees all messages of
    /// the session; `before` is the state that the session had so far.
    pub(crate) fn open_rules(
        &self,
        opened: &Opened,
        is_new: bool,
        before: Option<Box<dyn Decide>>,
    ) -> Option<Box<dyn Decide>> {
        let opening = self.opening(opened.id, opened.at, is_new, Some(opened.client.addr));
        let program = self.program.as_ref()?;
        Some(program.open(opening, before))
    }

    /// Returns the state of the link in one direction of a session that was opened at `at`; `None` if no link
    /// line acts on it.
    pub(crate) fn open_link(
        &self,
        session: SessionId,
        at: Time,
        dir: Dir,
        before: Option<Channel>,
    ) -> Option<Channel> {
        let opening = self.opening(session, at, true, None);
        self.program.as_ref()?.open_link(&opening, dir, before)
    }

    fn opening(&self, session: SessionId, at: Time, is_new: bool, client: Option<SocketAddr>) -> Opening {
        Opening {
            seed: self.config.seed,
            session: session.0,
            at: at.0,
            is_new,
            client,
        }
    }
}

/// Reused buffers.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    pub(crate) composer: Composer,
    pub(crate) placed: Vec<Placed>,
    /// The chunks of the last datagram that rules only observed, each with its index and verdict.
    pub(crate) touched: Vec<(usize, Verdict)>,
    pub(crate) crossing: Vec<Made>,
    /// Effects of rules that are not carried out yet.
    pub(crate) effects: Vec<Effect>,
    /// The action of rules on the current control message, until it is reported.
    pub(crate) control: Option<Placed>,
    /// The received bytes of the current control message, if rules edited it.
    pub(crate) original: Option<Box<[u8]>>,
    /// Failures of rules on the last datagram.
    pub(crate) failed: Vec<(RuleId, Box<str>)>,
    /// Number of chunks that the last datagram announced but did not contain.
    pub(crate) missing: u8,
}
