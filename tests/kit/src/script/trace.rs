//! The answers to a script, and their comparison with the answers of another run.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::time::Duration;

use super::Got;

/// Interval between two snapshots for a client that has not acked one.
const SNAPSHOTS: Duration = Duration::from_millis(200);

/// Time after the answer to CONNECT in which the first keepalive of a slot is due.
const FIRST_KEEPALIVE: Duration = Duration::from_millis(50);

/// An answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The time since the start of the script.
    pub at: Duration,
    /// The socket that received it.
    pub port: usize,
    /// The form without token values.
    pub text: String,
    /// The progress that the answer shows.
    pub got: Vec<Got>,
}

/// All answers.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The answers in the order of their arrival.
    pub answers: Vec<Answer>,
    /// The time for which answers were recorded.
    pub lasts: Duration,
}

impl Trace {
    /// Returns the steps of the join that the server answered.
    pub fn progress(&self) -> BTreeSet<Got> {
        self.answers
            .iter()
            .flat_map(|answer| answer.got.iter().copied())
            .collect()
    }

    /// Returns the answers before the first one with messages.
    pub fn handshake(&self) -> Self {
        let answers = self
            .answers
            .iter()
            .take_while(|answer| !answer.text.starts_with("data"));
        Self {
            answers: answers.cloned().collect(),
            lasts: self.lasts,
        }
    }

    /// Returns the first difference to another run of the same script: in progress, in an answer, or, beyond the
    /// tolerance, in a time. `None` if there is none. Each socket is compared separately, since nothing orders the
    /// datagrams of two sockets. An answer that was due at the end of a recording is not counted as missing.
    pub fn difference(&self, other: &Self, tolerance: Duration) -> Option<String> {
        if self.progress() != other.progress() {
            return Some(format!("progress {:?}, {:?}", self.progress(), other.progress()));
        }
        let ports: BTreeSet<_> = self
            .answers
            .iter()
            .chain(&other.answers)
            .map(|answer| answer.port)
            .collect();
        ports.into_iter().find_map(|port| {
            self.at_port(port)
                .without_first_keepalive()
                .difference_at_port(&other.at_port(port).without_first_keepalive(), tolerance)
        })
    }

    /// Returns the answers that a socket received.
    fn at_port(&self, port: usize) -> Self {
        let answers = self.answers.iter().filter(|answer| answer.port == port);
        Self {
            answers: answers.cloned().collect(),
            lasts: self.lasts,
        }
    }

    /// Removes the first keepalive of a new slot of a 0.6.5 server from the answers. The server sends it only if the turn of
    /// its main loop that accepts the client sends no other packet to it (`CNetConnection::Accept` and `Update` in
    /// network_conn.cpp).
    fn without_first_keepalive(mut self) -> Self {
        let accepted = self
            .answers
            .iter()
            .find(|answer| answer.text.starts_with("connect-accept"));
        if let Some(due) = accepted.map(|answer| answer.at + FIRST_KEEPALIVE) {
            let is_first = |answer: &Answer| answer.at <= due && answer.text.starts_with("keepalive");
            if let Some(first) = self.answers.iter().position(is_first) {
                self.answers.remove(first);
            }
        }
        self
    }

    fn difference_at_port(&self, other: &Self, tolerance: Duration) -> Option<String> {
        let common = self.answers.len().min(other.answers.len());
        let mut snapshots = 0;
        for (number, (one, two)) in self.answers.iter().zip(&other.answers).enumerate() {
            if one.text != two.text {
                return Some(format!("answer {}: {one}, {two}", number + 1));
            }
            // Until a client acks snapshots, a server sends them every 0.2 s of its own time. Each later snapshot is
            // due at a time since an ack, and waits for such a step, too (0.7.5, server.cpp, `DoSnapshot`).
            let is_snapshot = one.got == [Got::Snapshot];
            snapshots += u32::from(is_snapshot);
            let allowed = if is_snapshot {
                tolerance + SNAPSHOTS * snapshots
            } else {
                tolerance
            };
            if one.at.abs_diff(two.at) > allowed {
                return Some(format!("time of answer {}: {one}, {two}", number + 1));
            }
        }
        let more = if self.answers.len() > common { self } else { other };
        let extra = more.answers.get(common)?;
        (extra.at + tolerance < self.lasts).then(|| {
            let side = if self.answers.len() > common {
                "first"
            } else {
                "second"
            };
            format!("answer {} only in the {side}: {extra}", common + 1)
        })
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.at.as_secs_f64())?;
        if self.port > 0 {
            write!(f, " at port {}", self.port)?;
        }
        write!(f, " {}", self.text)
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        for answer in &self.answers {
            writeln!(text, "    {answer}")?;
        }
        if text.is_empty() {
            text.push_str("    nothing\n");
        }
        f.write_str(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(answers: &[(u64, &str)]) -> Trace {
        let answers = answers.iter().map(|(ms, text)| Answer {
            at: Duration::from_millis(*ms),
            port: 0,
            text: (*text).to_owned(),
            got: Vec::new(),
        });
        Trace {
            answers: answers.collect(),
            lasts: Duration::from_secs(10),
        }
    }

    #[test]
    fn only_the_keepalive_of_a_new_slot_may_be_missing() {
        let accepted = (0, "connect-accept ack 0");
        let one = trace(&[accepted, (1, "data ack 2")]);
        for (other, is_same) in [
            (
                trace(&[accepted, (1, "keepalive ack 1"), (2, "data ack 2")]),
                true,
            ),
            (
                trace(&[accepted, (2, "data ack 2"), (50, "keepalive ack 1")]),
                true,
            ),
            (
                trace(&[accepted, (2, "data ack 2"), (51, "keepalive ack 1")]),
                false,
            ),
            (
                trace(&[
                    accepted,
                    (1, "keepalive ack 1"),
                    (2, "keepalive ack 1"),
                    (2, "data ack 2"),
                ]),
                false,
            ),
            (trace(&[(1, "keepalive ack 1"), (2, "data ack 2")]), false),
        ] {
            let difference = one.difference(&other, Duration::from_millis(100));
            assert_eq!(difference.is_none(), is_same, "{difference:?}");
        }
    }
}
