//! Detects clients that send inputs for wrong ticks.
//!
//! A correct client predicts: each input is for a tick after the newest snapshot and after the tick of the previous
//! input, and never for tick 0. The server sends `input_timing` to correct a client whose inputs are late
//! (`CClient::Update` and `SendInput` in `client.cpp` of Teeworlds 0.6.5, 0.7.5 and of DDNet). The server uses an input
//! for a past tick in its next tick, and does not send `input_timing` unless the tick is later than the tick of the
//! previous input (`ProcessClientPacket` in `server.cpp`).
//!
//! A client is reported after [`ZEROS`] consecutive inputs for tick 0, or after many consecutive inputs for ticks that
//! are not after the acked snapshot, if these ticks are all the same or if the server has reported the inputs as late.

/// Number of consecutive inputs for tick 0 after which a client is reported.
const ZEROS: u16 = 25;

/// Minimums for a series of inputs that are not after the acked snapshot: number of inputs, span of the acked ticks,
/// and number of server replies that report a late input.
const INPUTS: u16 = 25;
const TICKS: i32 = 150;
const ANSWERS: u16 = 10;

/// Maximum spread of the delays in a short series, and the minimum span of the acked ticks in a series with a larger
/// spread. A correct client that was suspended for a moment catches up meanwhile.
const STEADY: i32 = 10;
const LONG: i32 = 500;

/// Tracks the late inputs of a session.
#[derive(Debug, Clone, Default)]
pub(super) struct LateInputs {
    row: LateRun,
    is_reported: bool,
}

/// A series of consecutive inputs for past ticks.
#[derive(Debug, Clone, Default)]
struct LateRun {
    inputs: u16,
    zeros: u16,
    /// The first tick that an input of the series acks.
    first: Option<i32>,
    /// The common tick of all inputs; `None` if the ticks differ, or if there are no inputs.
    tick: Option<i32>,
    answers: u16,
    /// The smallest and the largest number of ticks from an input to the snapshot that it acks; `None` if there are none.
    delays: Option<(i32, i32)>,
}

impl LateInputs {
    /// Records an `input_timing` of the server. `left` is the time between the receipt of an input and its tick, in
    /// milliseconds; negative for a late input.
    pub(super) fn answered(&mut self, left: i32) {
        if left < 0 {
            self.row.answers = self.row.answers.saturating_add(1);
        } else {
            self.row = LateRun::default();
        }
    }

    /// Records an input for `tick`. `acked` is the tick of the snapshot that it acks; `None` if no such snapshot was
    /// sent. Returns true, once, if the client evidently sends its inputs too late.
    pub(super) fn sent(&mut self, tick: i32, acked: Option<i32>) -> bool {
        let is_late = tick <= 0 || acked.is_some_and(|acked| tick <= acked);
        if !is_late {
            self.row = LateRun::default();
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
        if let Some(delay) = acked.map(|acked| acked.saturating_sub(tick)) {
            let (least, most) = row.delays.unwrap_or((delay, delay));
            row.delays = Some((least.min(delay), most.max(delay)));
        }
        let is_steady = row
            .delays
            .is_some_and(|(least, most)| most.saturating_sub(least) <= STEADY);
        let is_long = row.inputs >= INPUTS && ticks.is_some_and(|ticks| ticks >= TICKS);
        let is_uncorrected = is_steady || ticks.is_some_and(|ticks| ticks >= LONG);
        let is_answered = row.answers >= ANSWERS && is_uncorrected;
        let is_clear = row.zeros >= ZEROS || is_long && (row.tick.is_some() || is_answered);
        is_clear && !std::mem::replace(&mut self.is_reported, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the inputs at which a client is noted. It acks every second tick and sends an input for the tick that
    /// `tick` returns; the server answers each input with `left` milliseconds.
    fn noted(left: Option<i32>, tick: impl Fn(i32) -> i32) -> Vec<i32> {
        let mut late = LateInputs::default();
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
        // The server does not report the inputs as late: its replies are lost, or its clock differs.
        assert_eq!(noted(None, |acked| acked - 20), []);
        assert_eq!(noted(Some(5), |acked| acked - 20), []);
        // The clock of the client is corrected within a second or two.
        let corrected = |acked| if acked % 120 == 0 { acked + 1 } else { acked - 20 };
        assert_eq!(noted(Some(-420), corrected), []);
        // A client that was suspended catches up for five seconds.
        let suspended = |acked| match acked {
            1200..1450 => acked - 70 + (acked - 1200) / 4,
            _ => acked + 3,
        };
        assert_eq!(noted(Some(-420), suspended), []);
        // It never catches up.
        assert_eq!(noted(Some(-420), |acked| acked - 20 - acked % 40), [250]);
        // No snapshot is acked.
        let mut late = LateInputs::default();
        assert!((0..1000).all(|tick| !late.sent(tick + 1, None)));
    }
}
