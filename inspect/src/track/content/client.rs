//! Inputs that ack snapshots which were not sent yet, inputs for ticks that are far ahead, and inputs for one tick.
//!
//! A client acks the newest snapshot that it has read, and predicts little more than its round trip
//! (`CClient::OnPostConnect`, `SendInput` and `NETMSG_SNAP` in `client.cpp` of Teeworlds 0.6.5, 0.7.5 and of DDNet).
//! DDNet servers since 19.9 drop an input whose ack is after their own tick, others find no snapshot of that tick. The
//! servers keep the last 200 inputs and look for one of the current tick; they store an input for a past tick under the
//! next one (`ProcessClientPacket` and `Run` in `server.cpp` of all three).

use teetap_wire::Code;

use super::ContentFact;

/// Minimums for a series of acks that are ahead: inputs, and newer snapshots in the meantime. A snapshot that is missing
/// in the recording is soon followed by a newer one.
const ACKS: u16 = 10;
const SNAPSHOTS: u16 = 5;

/// Minimum number of inputs for one tick. The games send one input for each tick.
const SAME: u16 = 15;

/// Minimums for a series of inputs that are far ahead: inputs, and ticks (10 s). A client sends at least 25 inputs in a
/// second, so the server has overwritten the input before its tick.
const INPUTS: u16 = 25;
const TICKS: i32 = 500;

/// The series of odd inputs of a session.
#[derive(Debug, Default)]
pub(super) struct Inputs {
    acks: Series,
    ticks: Series,
    same: Series,
    /// The tick of the last input.
    tick: Option<i32>,
}

/// A series of consecutive odd inputs.
#[derive(Debug, Default)]
struct Series {
    inputs: u16,
    /// Number of newer snapshots, or newer acks, since the first input of the series.
    snapshots: u16,
    newest: i32,
    is_reported: bool,
}

impl Series {
    /// Records an input. Returns the length of the series, once, if it is long enough.
    fn record(&mut self, is_odd: bool, newest: i32, inputs: u16) -> Option<u16> {
        if !is_odd {
            (self.inputs, self.snapshots) = (0, 0);
            return None;
        }
        if self.inputs > 0 && newest > self.newest {
            self.snapshots = self.snapshots.saturating_add(1);
        }
        self.newest = newest;
        self.inputs = self.inputs.saturating_add(1);
        let is_long = self.inputs >= inputs && self.snapshots >= SNAPSHOTS;
        (is_long && !std::mem::replace(&mut self.is_reported, true)).then_some(self.inputs)
    }
}

impl Inputs {
    /// Records an input with its ack and its tick. `newest` is the tick of the newest snapshot that was sent.
    pub(super) fn record(&mut self, (ack, tick): (i32, i32), newest: i32) -> Option<(Code, ContentFact)> {
        let acks = self.acks.record(ack > newest, newest, ACKS);
        let is_far = tick.saturating_sub(newest) > TICKS;
        let ticks = self.ticks.record(is_far, newest, INPUTS);
        let is_same = self.tick.replace(tick) == Some(tick) && tick <= newest;
        // A client that gets no snapshots has no newer tick.
        let same = self.same.record(is_same, ack, SAME);
        if let Some(inputs) = acks {
            let fact = ContentFact::AckAhead {
                got: ack,
                newest,
                inputs,
            };
            return Some((Code::SnapAckAhead, fact));
        }
        if let Some(inputs) = same {
            let got = tick;
            let fact = ContentFact::InputStuck { got, newest, inputs };
            return Some((Code::InputStuck, fact));
        }
        ticks.map(|inputs| {
            let fact = ContentFact::InputAhead {
                got: tick,
                newest,
                inputs,
            };
            (Code::InputAhead, fact)
        })
    }
}
