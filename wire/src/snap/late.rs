//! The ticks for which a client sends its inputs.
//!
//! A client predicts: each input is for a tick after the newest snapshot and after the tick of the previous input.
//! The server corrects a client whose inputs are late with `input_timing`; a client sends no input for tick 0
//! (`CClient::Update` and `SendInput` in `client.cpp` of Teeworlds 0.6.5, 0.7.5 and of DDNet). The server uses an
//! input for a past tick in its next tick, and answers with no `input_timing` unless the tick is later than that of
//! the previous input (`ProcessClientPacket` in `server.cpp`). The proof is a row of inputs for tick 0, or a long row
//! of inputs for ticks that are not after the acked snapshot and that are either all the same or reported as late by
//! the server.

/// Number of consecutive inputs for tick 0 that are proof.
const ZEROS: u16 = 25;

/// Minimums for a row of inputs not after the acked snapshot: inputs, acked ticks from first to last, and server
/// answers that report a late input.
const INPUTS: u16 = 25;
const TICKS: i32 = 150;
const ANSWERS: u16 = 10;

/// The inputs of a session that are late.
#[derive(Debug, Clone, Default)]
pub(super) struct Late {
    row: Row,
    is_reported: bool,
}

/// A row of inputs for ticks of the past.
#[derive(Debug, Clone, Default)]
struct Row {
    inputs: u16,
    zeros: u16,
    /// The acked tick of the first input with one.
    first: Option<i32>,
    /// The tick of all inputs; `None` if the ticks differ, or there are no inputs.
    tick: Option<i32>,
    answers: u16,
}

impl Late {
    /// Records a timing answer of the server: the milliseconds that were left until the tick of an input; negative
    /// for a late input.
    pub(super) fn answered(&mut self, left: i32) {
        if left < 0 {
            self.row.answers = self.row.answers.saturating_add(1);
        } else {
            self.row = Row::default();
        }
    }

    /// Records an input for `tick` that acks the snapshot of tick `acked` (`None` if that was never sent). Returns
    /// true, once, if the client is proven to send its inputs too late.
    pub(super) fn sent(&mut self, tick: i32, acked: Option<i32>) -> bool {
        let is_late = tick <= 0 || acked.is_some_and(|acked| tick <= acked);
        if !is_late {
            self.row = Row::default();
            return false;
        }
        let row = &mut self.row;
        row.zeros = if tick <= 0 { row.zeros.saturating_add(1) } else { 0 };
        row.tick = Some(tick).filter(|tick| row.inputs == 0 || row.tick == Some(*tick));
        row.first = row.first.or(acked);
        row.inputs = row.inputs.saturating_add(1);
        let ticks = acked
            .zip(row.first)
            .map(|(last, first)| last.saturating_sub(first));
        let is_long = row.inputs >= INPUTS && ticks.is_some_and(|ticks| ticks >= TICKS);
        let is_clear = row.zeros >= ZEROS || is_long && (row.tick.is_some() || row.answers >= ANSWERS);
        is_clear && !std::mem::replace(&mut self.is_reported, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the inputs at which a client is noted. It acks every second tick and sends an input for the tick that
    /// `tick` returns; the server answers each input with `left` milliseconds.
    fn noted(left: Option<i32>, tick: impl Fn(i32) -> i32) -> Vec<i32> {
        let mut late = Late::default();
        (0..1000)
            .filter(|input| {
                let acked = 1000 + input * 2;
                let is_noted = late.sent(tick(acked), Some(acked));
                if let Some(left) = left {
                    late.answered(left);
                }
                is_noted
            })
            .collect()
    }

    #[test]
    fn a_client_whose_inputs_are_for_ticks_of_the_past_is_noted_once() {
        assert_eq!(noted(None, |_| 0), [24]);
        assert_eq!(noted(None, |_| -1), [24]);
        assert_eq!(noted(None, |_| 1), [75]);
        assert_eq!(noted(Some(-420), |acked| acked - 20), [75]);
        assert_eq!(noted(Some(-20), |acked| acked), [75]);
        // Late only after a while.
        let later = |acked| if acked < 1400 { acked + 3 } else { acked - 20 };
        assert_eq!(noted(Some(-420), later), [275]);
    }

    #[test]
    fn one_that_predicts_is_not() {
        assert_eq!(noted(Some(-15), |acked| acked + 1), []);
        assert_eq!(noted(None, |acked| acked + 5), []);
        // The server does not say that they are late: its answers are lost, or it has another clock.
        assert_eq!(noted(None, |acked| acked - 20), []);
        assert_eq!(noted(Some(5), |acked| acked - 20), []);
        // The clock of the client is corrected within a second or two.
        let corrected = |acked| if acked % 120 == 0 { acked + 1 } else { acked - 20 };
        assert_eq!(noted(Some(-420), corrected), []);
        // Nothing is acked.
        let mut late = Late::default();
        assert!((0..1000).all(|tick| !late.sent(tick + 1, None)));
    }
}
