//! Messages that a peer must have received, because it has answered them.
//!
//! Law: a peer acks a message before acting on it. The reply of a correct peer therefore acks the message that it
//! answers, however bad the network, unless the peer sends the reply without waiting for the message.

use teetap_wire::{Dir, Proto, Seq};

/// The answers that are tracked, all from the join. Other answers may belong to one of several messages.
const ANSWERS: [&str; 5] = [
    "ready",
    "con_ready",
    "cl_start_info",
    "sv_ready_to_enter",
    "enter_game",
];

/// The messages to one peer that it has to answer and has not answered yet.
#[derive(Debug, Default)]
pub(super) struct Shown(Vec<Question>);

/// A message that has to be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Question {
    /// Sequence number with which the peer receives the message.
    pub(super) seq: Seq,
    pub(super) answer: &'static str,
}

impl Shown {
    /// Records a message to the peer by its sequence number and the name of its answer.
    pub(super) fn asked(&mut self, answer: &'static str, seq: Seq) {
        if !ANSWERS.contains(&answer) {
            return;
        }
        match self.0.iter_mut().find(|known| known.answer == answer) {
            // The answer may refer to the older message.
            Some(known) if known.seq.is_behind(seq) => {}
            Some(known) => known.seq = seq,
            None => self.0.push(Question { seq, answer }),
        }
    }

    /// Records a message of the peer with the ack in its header. Returns the message that it answers if the ack does
    /// not cover it.
    pub(super) fn answered(&mut self, name: &str, ack: Seq, proto: Proto, dir: Dir) -> Option<Question> {
        let index = self.0.iter().position(|known| known.answer == name)?;
        let question = self.0.swap_remove(index);
        // A server acks nothing for a client without tokens until the client has proven its address.
        let may_be_challenge = proto == Proto::V6 && dir == Dir::S2c;
        (!question.seq.is_behind(ack) && !may_be_challenge).then_some(question)
    }
}
