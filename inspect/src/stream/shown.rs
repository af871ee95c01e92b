//! The messages that a peer has shown to have, by its answers.
//!
//! Law: a peer acks a message before it acts upon it, so the answer of a correct one acks the message that it answers, however bad
//! the network; unless it sends the answer without waiting for the message.

use teetap_wire::{Dir, Proto, Seq};

/// The answers that show it, which are those of a join. Other messages answer one of several.
const ANSWERS: [&str; 5] = [
    "ready",
    "con_ready",
    "cl_start_info",
    "sv_ready_to_enter",
    "enter_game",
];

/// The questions to one peer that have no answer yet.
#[derive(Debug, Default)]
pub(super) struct Shown(Vec<Question>);

/// A message that has to be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Question {
    /// The number, as the peer gets it.
    pub(super) seq: Seq,
    pub(super) answer: &'static str,
}

impl Shown {
    /// Takes the number of a message to the peer with the name of its answer.
    pub(super) fn asked(&mut self, answer: &'static str, seq: Seq) {
        if !ANSWERS.contains(&answer) {
            return;
        }
        match self.0.iter_mut().find(|known| known.answer == answer) {
            // The answer may be to the older one.
            Some(known) if known.seq.is_behind(seq) => {}
            Some(known) => known.seq = seq,
            None => self.0.push(Question { seq, answer }),
        }
    }

    /// Takes a message of the peer with the ack in its header. Returns the message that it answers without an ack of it.
    pub(super) fn answered(&mut self, name: &str, ack: Seq, proto: Proto, dir: Dir) -> Option<Question> {
        let index = self.0.iter().position(|known| known.answer == name)?;
        let question = self.0.swap_remove(index);
        // Until it has proven its address, the server of a client without tokens acks nothing.
        let may_be_challenge = proto == Proto::V6 && dir == Dir::S2c;
        (!question.seq.is_behind(ack) && !may_be_challenge).then_some(question)
    }
}
