//! A server that lets clients in, as the real ones do: it waits for one message after the other, and ignores what comes too early
//! or in a chunk that is not vital. A client of another version gets a CLOSE.

use std::net::SocketAddr;

use super::{
    EVERY, TALK_EVERY,
    game::{self, Step},
};
use crate::{
    codec::Variant,
    peer::{Delivered, Server, game::int},
};

/// The messages that it waits for, in their order.
const JOIN: [Step; 4] = [Step::Info, Step::Ready, Step::StartInfo, Step::EnterGame];

pub(super) struct Scripted {
    variant: Variant,
    server: Server,
    /// Messages of the client that were looked at.
    seen: usize,
    /// The number of steps of the join that are done.
    done: usize,
    tick: i32,
    next_snapshot: u64,
    /// The time of the next line of chat; `None` if the server is quiet.
    next_talk: Option<u64>,
}

impl Scripted {
    pub(super) fn new(variant: Variant, server: Server, talks: bool) -> Self {
        Self {
            variant,
            server,
            seen: 0,
            done: 0,
            tick: 100,
            next_snapshot: 0,
            next_talk: talks.then_some(0),
        }
    }

    pub(super) fn receive(&mut self, from: SocketAddr, bytes: &[u8], now: u64) {
        self.server.receive(from, bytes, now);
        let Some(peer) = self.server.peer_mut(from) else {
            return;
        };
        let new: Vec<Delivered> = peer.delivered.iter().skip(self.seen).cloned().collect();
        self.seen += new.len();
        for message in new {
            let wanted = JOIN.get(self.done).copied();
            let id = int(&message.data).map(|(id, _)| id);
            let is_wanted = |step: &Step| id == Some(game::id_of(self.variant, *step)) && message.vital;
            let Some(step) = wanted.filter(is_wanted) else {
                continue;
            };
            // A start info that cannot be read is dropped.
            if step == Step::StartInfo && message.data.iter().filter(|byte| **byte == 0).count() < 3 {
                continue;
            }
            if step == Step::Info
                && let Some(reason) = game::wrong_version(self.variant, &message.data)
            {
                return peer.close(&reason, now);
            }
            self.done += 1;
            for answer in game::answers(self.variant, step) {
                peer.send_vital(&answer, now);
            }
            peer.flush(now);
        }
    }

    pub(super) fn update(&mut self, client: SocketAddr, now: u64) {
        self.server.update(now);
        if self.done == JOIN.len()
            && self.next_snapshot <= now
            && let Some(peer) = self.server.peer_mut(client)
        {
            self.next_snapshot = now + EVERY;
            self.tick += 2;
            peer.send_nonvital(&game::snapshot(self.variant, self.tick), now);
            if self.next_talk.is_some_and(|next| next <= now) {
                self.next_talk = Some(now + TALK_EVERY);
                peer.send_vital(&game::chat(self.variant, self.tick), now);
            }
            peer.flush(now);
        }
    }

    pub(super) fn take_outgoing(&mut self) -> Vec<Vec<u8>> {
        let outgoing = self.server.take_outgoing().into_iter();
        outgoing.map(|(_, bytes)| bytes).collect()
    }

    pub(super) fn reached(&self) -> Option<Step> {
        JOIN.get(self.done.checked_sub(1)?).copied()
    }
}
