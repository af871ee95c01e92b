//! The tokens, acks and numbers that the datagrams of sessions have had, so that a sentence about a wrong one can name the right one.

use std::collections::BTreeMap;

use teetap_proxy::session::{Action, SessionId};
use teetap_rules::context::SESSIONS;
use teetap_wire::{Code, Dir, Note, Packet, Seq, Token};

use crate::reading::Expected;

/// The last values in the datagrams of all sessions.
#[derive(Debug, Default)]
pub(crate) struct Habits(BTreeMap<SessionId, [Habit; 2]>);

/// The last values in the datagrams of one direction.
#[derive(Debug, Default)]
struct Habit {
    token: Option<Token>,
    ack: Option<Seq>,
    /// The number of the last vital message that was sent on.
    seq: Option<Seq>,
    /// The number that its sender gave to the last one in order.
    came: Option<Seq>,
}

impl Habits {
    /// Takes a datagram with its notes, and returns what was expected where it is wrong.
    pub(crate) fn expect(
        &mut self,
        session: SessionId,
        dir: Dir,
        packet: &Packet<'_>,
        notes: &[Note],
    ) -> Expected {
        let has = |code| notes.iter().any(|note| note.code == code);
        let habits = self.of(session);
        let [c2s, s2c] = habits;
        let (own, other) = match dir {
            Dir::C2s => (c2s, s2c),
            Dir::S2c => (s2c, c2s),
        };
        let token = packet.header.token.filter(|token| *token != Token::NONE);
        if has(Code::WrongToken) || has(Code::MissingToken) {
            let token = own.token;
            return Expected { token, ack: None };
        }
        own.token = token.or(own.token);
        let ack = if has(Code::AckAhead) {
            other.seq
        } else if has(Code::AckBehind) {
            own.ack
        } else {
            own.ack = Some(packet.header.ack);
            None
        };
        Expected { token: None, ack }
    }

    /// Takes the number of a vital message that was sent on.
    pub(crate) fn sent(&mut self, session: SessionId, dir: Dir, seq: Seq) {
        if let Some(habit) = self.of(session).get_mut(dir as usize) {
            let is_old = habit.seq.is_some_and(|last| seq.is_behind(last));
            habit.seq = if is_old { habit.seq } else { Some(seq) };
        }
    }

    /// Takes the number that its sender gave to a vital message, and the decision about it. Returns the number that was expected of
    /// one that is ahead of a gap.
    pub(crate) fn came(&mut self, session: SessionId, dir: Dir, seq: Seq, action: Action) -> Option<Seq> {
        let habit = self.of(session).get_mut(dir as usize)?;
        if action == Action::Gap {
            return habit.came.map(Seq::next);
        }
        if action.is_delivered() {
            habit.came = Some(seq);
        }
        None
    }

    /// Forgets a session that opens or ends.
    pub(crate) fn forget(&mut self, session: SessionId) {
        self.0.remove(&session);
    }

    /// Forgets all.
    pub(crate) fn restart(&mut self) {
        self.0.clear();
    }

    fn of(&mut self, session: SessionId) -> &mut [Habit; 2] {
        if self.0.len() >= SESSIONS && !self.0.contains_key(&session) {
            self.0.pop_first();
        }
        self.0.entry(session).or_default()
    }
}
