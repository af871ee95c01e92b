//! A server that lets clients join as the real ones do: it waits for one message after the other, and ignores a
//! message that is too early or in a non-vital chunk. A client of another version receives a CLOSE.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use super::{
    EVERY, Habit, TALK_EVERY,
    content::ServerAct,
    game::{self, Step},
    world::World,
};
use crate::{
    codec::Variant,
    peer::{Delivered, Peer, Server, game::int},
};

/// The messages that the server waits for, in order.
const JOIN: [Step; 4] = [Step::Info, Step::Ready, Step::StartInfo, Step::EnterGame];

/// A server with its game.
#[derive(Debug)]
pub struct Scripted {
    variant: Variant,
    server: Server,
    /// True if the server sends chat repeatedly.
    talks: bool,
    /// The number of items in snapshots besides the player; `None` if snapshots are empty.
    items: Option<i32>,
    act: Option<ServerAct>,
    habit: Habit,
    courses: BTreeMap<SocketAddr, Course>,
}

/// The join of a client.
#[derive(Debug, Default)]
struct Course {
    /// Number of messages of the client already handled.
    seen: usize,
    /// The number of completed steps of the join.
    done: usize,
    tick: i32,
    /// Number of snapshots sent.
    sent: u64,
    next_snapshot: u64,
    next_talk: u64,
    world: World,
}

impl Scripted {
    /// Creates a server that speaks `variant`; if it talks, every client in the game repeatedly receives a line of
    /// chat.
    #[must_use]
    pub fn new(variant: Variant, server: Server, talks: bool) -> Self {
        Self {
            variant,
            server,
            talks,
            items: None,
            act: None,
            habit: Habit::None,
            courses: BTreeMap::new(),
        }
    }

    /// Sends snapshots with this number of items besides the player, and with a fault in its contents.
    pub(super) fn with_contents(self, items: Option<i32>, act: Option<ServerAct>) -> Self {
        Self { items, act, ..self }
    }

    /// Gives the server a habit.
    #[must_use]
    pub fn with_habit(self, habit: Habit) -> Self {
        Self { habit, ..self }
    }

    /// Handles a datagram of a client.
    pub fn receive(&mut self, from: SocketAddr, bytes: &[u8], now: u64) {
        let opened = self.server.counters.opened;
        self.server.receive(from, bytes, now);
        let is_new = self.server.counters.opened > opened;
        let Some(peer) = self.server.peer_mut(from) else {
            self.courses.remove(&from);
            return;
        };
        if is_new {
            let course = Course {
                tick: 100,
                // A client that had to prove its address has already played a join, and is sent its map.
                done: usize::from(peer.was_challenged()),
                ..Course::default()
            };
            if course.done > 0 {
                answer(self.variant, Step::Info, peer, now);
            }
            self.courses.insert(from, course);
        }
        if let Some(course) = self.courses.get_mut(&from) {
            course.go_on(self.variant, self.habit, peer, now);
        }
    }

    /// Does everything that is due by `now`.
    pub fn update(&mut self, now: u64) {
        self.server.update(now);
        for (client, course) in &mut self.courses {
            if course.is_served(self.habit)
                && course.next_snapshot <= now
                && let Some(peer) = self.server.peer_mut(*client)
            {
                course.next_snapshot = now + EVERY;
                let before = course.tick;
                course.tick += 2;
                let odd = self
                    .habit
                    .snapshot(self.variant, course.tick, before, course.sent);
                course.sent += 1;
                let is_over = self.habit == Habit::NoMoreSnapshots && course.sent > 40;
                let messages = match (odd, self.items) {
                    _ if is_over => Vec::new(),
                    (Some(odd), _) => vec![odd],
                    (None, Some(items)) => course.world.snapshot(self.variant, course.tick, items, self.act),
                    (None, None) => vec![game::snapshot(self.variant, course.tick)],
                };
                for message in messages {
                    peer.send_nonvital(&message, now);
                    peer.flush(now);
                }
                if self.talks && course.next_talk <= now {
                    course.next_talk = now + TALK_EVERY;
                    peer.send_vital(&game::chat(self.variant, course.tick), now);
                }
                peer.flush(now);
                if let Habit::Closes(reason, snapshots) = self.habit
                    && course.sent == snapshots
                {
                    peer.close(reason, now);
                }
            }
        }
    }

    /// Returns the datagrams to be sent.
    pub fn take_outgoing(&mut self) -> Vec<(SocketAddr, Vec<u8>)> {
        self.server.take_outgoing()
    }

    /// Returns the last message of a client's join that the server received.
    pub(super) fn reached(&self, client: SocketAddr) -> Option<Step> {
        let done = self.courses.get(&client)?.done;
        JOIN.get(done.checked_sub(1)?).copied()
    }
}

impl Course {
    /// Returns true if the client is sent snapshots.
    fn is_served(&self, habit: Habit) -> bool {
        self.done == JOIN.len() || habit == Habit::EarlySnapshots && self.done > 0
    }

    /// Handles the messages that are new.
    fn go_on(&mut self, variant: Variant, habit: Habit, peer: &mut Peer, now: u64) {
        let new: Vec<Delivered> = peer.delivered.iter().skip(self.seen).cloned().collect();
        self.seen += new.len();
        for message in new {
            if let Some(acked) = acked(variant, &message) {
                self.world.on_ack(acked, self.tick);
            }
            let wanted = JOIN.get(self.done).copied();
            let id = int(&message.data).map(|(id, _)| id);
            if habit == Habit::Lenient {
                let mut steps = JOIN.into_iter().zip(1..);
                let found = steps.find(|(step, _)| id == Some(game::id_of(variant, *step)));
                if let Some((step, done)) = found {
                    self.done = self.done.max(done);
                    answer(variant, step, peer, now);
                }
                continue;
            }
            let is_wanted = |step: &Step| id == Some(game::id_of(variant, *step)) && message.vital;
            let Some(step) = wanted.filter(is_wanted) else {
                continue;
            };
            if step == Step::StartInfo && !game::is_readable_start_info(variant, &message.data) {
                continue;
            }
            if step == Step::Info
                && let Some(reason) = game::wrong_version(variant, &message.data)
            {
                return peer.close(&reason, now);
            }
            self.done += 1;
            match (habit, step) {
                (Habit::EarlyReady, Step::Info) => {
                    answer(variant, step, peer, now);
                    answer(variant, Step::Ready, peer, now);
                }
                (Habit::EarlyReadyToEnter, Step::Ready) => {
                    answer(variant, step, peer, now);
                    answer(variant, Step::StartInfo, peer, now);
                }
                (Habit::EarlyReady, Step::Ready) | (Habit::EarlyReadyToEnter, Step::StartInfo) => {}
                _ => answer(variant, step, peer, now),
            }
        }
    }
}

/// Returns the tick that an input acks; `None` for another message.
fn acked(variant: Variant, message: &Delivered) -> Option<i32> {
    let (id, rest) = int(&message.data)?;
    (id == game::id_of(variant, Step::Input) && !message.vital).then(|| int(rest).map(|(tick, _)| tick))?
}

fn answer(variant: Variant, step: Step, peer: &mut Peer, now: u64) {
    for answer in game::answers(variant, step) {
        peer.send_vital(&answer, now);
    }
    peer.flush(now);
}
