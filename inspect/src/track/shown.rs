//! Detects replies to messages that their sender has not acked.
//!
//! Law: a peer acks a message before it acts on the message. Therefore a correct peer's reply comes with an ack of the
//! message, however bad the network, unless the peer sends the reply without waiting for the message.

use teetap_wire::{Dir, Proto, Seq};

/// The tracked replies, all of them part of a join. Other replies may belong to several messages.
const ANSWERS: [&str; 5] = [
    "ready",
    "con_ready",
    "cl_start_info",
    "sv_ready_to_enter",
    "enter_game",
];

/// Messages to which one peer has not replied yet.
#[derive(Debug, Default)]
pub(super) struct OwedReplies(Vec<Question>);

/// A message that expects a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Question {
    /// Sequence number with which the peer receives the message.
    pub(super) seq: Seq,
    pub(super) answer: &'static str,
}

impl OwedReplies {
    /// Records a message to the peer. `answer` is the name of the expected reply.
    pub(super) fn asked(&mut self, answer: &'static str, seq: Seq) {
        if !ANSWERS.contains(&answer) {
            return;
        }
        match self.0.iter_mut().find(|known| known.answer == answer) {
            // The reply may belong to the older message.
            Some(known) if known.seq.is_behind(seq) => {}
            Some(known) => known.seq = seq,
            None => self.0.push(Question { seq, answer }),
        }
    }

    /// Records a message of the peer, with the ack in the same datagram. If it is a reply to a message that the ack
    /// does not cover, returns that message.
    pub(super) fn answered(&mut self, name: &str, ack: Seq, proto: Proto, dir: Dir) -> Option<Question> {
        let index = self.0.iter().position(|known| known.answer == name)?;
        let question = self.0.swap_remove(index);
        // In 0.6 without tokens, a server sends no acks until the client has proven its address.
        let may_be_challenge = proto == Proto::V6 && dir == Dir::S2c;
        (!question.seq.is_behind(ack) && !may_be_challenge).then_some(question)
    }
}
