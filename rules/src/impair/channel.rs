//! State of one direction of a session, and the fate of its datagrams.
//!
//! Law: only `reorder` lets a datagram overtake another; varying delays do not. The size of the state depends on the
//! number of lines, not on the traffic, because the caller keeps the datagrams that wait for their departure.

use std::sync::Arc;

use teetap_wire::Dir;

use super::Named;
use super::draw::{Draws, LineKey, Purpose};
use super::impact::{Impact, LineFaults, Lost, PassedDatagram};
use super::line::{DEFAULT_QUEUE, LinkLine, Loss};
use super::set::LineSet;

/// Maximum number of copies of a datagram.
const MAX_COPIES: usize = 8;
/// Nanoseconds in a microsecond.
const NANOS: u64 = 1_000;

/// The state of one direction of a session.
#[derive(Debug)]
pub struct Channel {
    stages: Vec<Stage>,
    /// Time at which the session opened, in microseconds.
    opened: u64,
    copies: Vec<Copy>,
    /// Buffer for the copies after a line.
    others: Vec<Copy>,
    /// Effects of each line on the last datagram.
    impacts: Vec<Impact>,
}

/// A datagram that is being sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent<'a> {
    /// Microseconds since the start of the run.
    pub at: u64,
    /// Number of the datagram in the session and direction, from 1.
    pub ordinal: u64,
    /// Bytes of the datagram.
    pub bytes: &'a [u8],
    /// True if the session uses 0.7.
    pub seven: bool,
    /// True if the datagram must be sent exactly once, and in order.
    pub once: bool,
    /// Lines that may act on the datagram.
    pub lines: LineSet,
    /// True if the datagram is outside a connection. Such datagrams are numbered separately.
    pub connless: bool,
}

impl<'a> Sent<'a> {
    /// Creates a datagram in a session of 0.6 on which all lines may act.
    #[must_use]
    pub const fn new(at: u64, ordinal: u64, bytes: &'a [u8]) -> Self {
        Self {
            at,
            ordinal,
            bytes,
            seven: false,
            once: false,
            lines: LineSet::ALL,
            connless: false,
        }
    }

    /// Returns a number for draws that is unique in the session and direction.
    const fn drawn(&self) -> u64 {
        const CONNLESS: u64 = 1 << 63;
        if self.connless {
            self.ordinal | CONNLESS
        } else {
            self.ordinal
        }
    }
}

/// A datagram, or a duplicate of it, after the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    /// Whether and when the copy departs.
    pub fate: Fate,
    /// True if the copy overtakes earlier datagrams.
    pub overtakes: bool,
    /// Flipped bits, counted from the lowest bit of the first byte.
    pub flips: Vec<u32>,
    /// Departure time in nanoseconds since the start of the run.
    time: u64,
}

/// Fate of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The copy departs at this time, in microseconds since the start of the run.
    Leaves(u64),
    /// The copy is lost, for this reason.
    Lost(Lost),
}

impl Channel {
    pub(super) fn new(
        opened: u64,
        lines: impl Iterator<Item = ((u16, Arc<Named>), LineKey, Option<Given>)>,
        before: Option<Self>,
    ) -> Self {
        let mut before = before.map_or_else(Vec::new, |before| before.stages);
        let stages = lines.map(|((line, named), key, given)| {
            let same = |stage: &Stage| stage.named.identity == named.identity;
            match before.iter().position(same) {
                Some(at) => Stage {
                    line,
                    given,
                    ..before.swap_remove(at)
                },
                None => Stage::new((line, named), key, given),
            }
        });
        Self {
            stages: stages.collect(),
            opened,
            copies: Vec::new(),
            others: Vec::new(),
            impacts: Vec::new(),
        }
    }

    /// Returns true if a line acts on datagrams outside a connection.
    #[must_use]
    pub fn browses(&self) -> bool {
        self.stages.iter().any(|stage| stage.named.line.connless)
    }

    /// Returns the effects of each line on the last datagram.
    #[must_use]
    pub fn impacts(&self) -> &[Impact] {
        &self.impacts
    }

    /// Returns the fates of a datagram and its duplicates, the datagram itself first.
    pub fn pass(&mut self, sent: &Sent<'_>) -> &[Copy] {
        let since = sent.at.saturating_sub(self.opened);
        self.impacts.clear();
        self.copies.clear();
        self.copies.push(Copy {
            fate: Fate::Leaves(sent.at),
            overtakes: false,
            flips: Vec::new(),
            time: sent.at.saturating_mul(NANOS),
        });
        for stage in &mut self.stages {
            if sent.connless && !stage.named.line.connless {
                continue;
            }
            let is_its_time = stage.given.is_some() || stage.named.line.acts_at(since);
            if !is_its_time || !sent.lines.has(stage.line) {
                continue;
            }
            self.others.clear();
            std::mem::swap(&mut self.copies, &mut self.others);
            let room = MAX_COPIES.saturating_sub(self.others.len());
            for (index, copy) in self.others.drain(..).enumerate() {
                let before = self.copies.len();
                let came = copy.clone();
                stage.pass(copy, (sent, index), index < room, &mut self.copies);
                let left = self.copies.get(before..).unwrap_or_default();
                stage.note(index, &came, left, &mut self.impacts);
            }
        }
        for copy in &mut self.copies {
            if let Fate::Leaves(at) = &mut copy.fate {
                *at = copy.time.div_ceil(NANOS);
            }
        }
        &self.copies
    }
}

/// Effects of a line in another run, with the session and direction to which they belong.
pub(super) type Given = (Arc<LineFaults>, (u32, Dir));

/// A line and its state.
#[derive(Debug)]
struct Stage {
    /// Effects of another run, which replace its own.
    given: Option<Given>,
    /// Index of the line in its program.
    line: u16,
    named: Arc<Named>,
    key: LineKey,
    /// True in the bad state of the Gilbert-Elliott model.
    is_bad: bool,
    /// Time at which the rate limit has sent all earlier datagrams, in nanoseconds.
    idle_at: u64,
    /// Number of datagrams since a datagram last overtook others.
    since_reorder: u32,
    /// Departure time of the last in-order datagram, in nanoseconds.
    last: u64,
}

impl Stage {
    fn new((line, named): (u16, Arc<Named>), key: LineKey, given: Option<Given>) -> Self {
        Self {
            given,
            line,
            named,
            key,
            is_bad: false,
            idle_at: 0,
            since_reorder: 0,
            last: 0,
        }
    }

    fn pass(
        &mut self,
        mut copy: Copy,
        (sent, index): (&Sent<'_>, usize),
        has_room: bool,
        out: &mut Vec<Copy>,
    ) {
        let named = Arc::clone(&self.named);
        let line = &named.line;
        if self.given.is_some() {
            return self.repeat(copy, (sent, index), has_room, out);
        }
        let draws = self.key.draws(sent.drawn(), index);
        if matches!(copy.fate, Fate::Leaves(_)) {
            if line.blackhole {
                copy.fate = Fate::Lost(Lost::Blackhole);
            } else if line.loss.is_some_and(|loss| self.loses(loss, draws)) {
                copy.fate = Fate::Lost(Lost::Loss);
            }
        }
        if matches!(copy.fate, Fate::Lost(_)) {
            return out.push(copy);
        }
        let is_doubled = !sent.once && line.dup.is_some_and(|share| draws.hits(Purpose::Dup, share));
        let second = (is_doubled && has_room).then(|| copy.clone());
        let twin = self.key.draws(sent.drawn(), MAX_COPIES + index);
        for (mut copy, draws) in [(Some(copy), draws), (second, twin)]
            .into_iter()
            .filter_map(|(copy, draws)| Some((copy?, draws)))
        {
            if line
                .corrupt
                .is_some_and(|share| draws.hits(Purpose::Corrupt, share))
            {
                corrupt(&mut copy, sent, draws.number(Purpose::Bit));
            }
            if self.is_let_through(line, &mut copy, sent.bytes.len()) {
                self.delay(line, &mut copy, sent.once, draws);
            }
            out.push(copy);
        }
    }

    /// Applies the effects of another run to a copy.
    fn repeat(&mut self, copy: Copy, (sent, index): (&Sent<'_>, usize), has_room: bool, out: &mut Vec<Copy>) {
        let Some((faults, place)) = &self.given else {
            return;
        };
        if matches!(copy.fate, Fate::Lost(_)) {
            return out.push(copy);
        }
        let (session, dir) = *place;
        let passed = PassedDatagram {
            dir,
            datagram: sent.ordinal,
            connless: sent.connless,
        };
        let of = |duplicate| faults.get((session, passed), (index, duplicate));
        let first = (copy.clone(), of(false));
        let twin = of(true).filter(|_| has_room).map(|impact| (copy, Some(impact)));
        for (mut copy, impact) in std::iter::once(first).chain(twin) {
            if let Some(impact) = impact {
                copy.flips.extend(impact.flip);
                copy.time = copy.time.saturating_add(impact.delay);
                copy.overtakes |= impact.overtakes;
                if let Some(lost) = impact.lost {
                    copy.fate = Fate::Lost(lost);
                }
            }
            if !copy.overtakes && matches!(copy.fate, Fate::Leaves(_)) {
                copy.time = copy.time.max(self.last);
                self.last = copy.time;
            }
            out.push(copy);
        }
    }

    /// Records the effects of a line on a copy: `came` is the copy that reached the line, `left` the copy and its
    /// duplicate after the line.
    fn note(&self, index: usize, came: &Copy, left: &[Copy], impacts: &mut Vec<Impact>) {
        // A copy that was lost earlier does not reach the line.
        if matches!(came.fate, Fate::Leaves(_)) {
            for (copy, duplicate) in left.iter().zip([false, true]) {
                let impact = Impact {
                    line: self.line,
                    copy: u8::try_from(index).unwrap_or(u8::MAX),
                    duplicate,
                    lost: match copy.fate {
                        Fate::Lost(lost) => Some(lost),
                        Fate::Leaves(_) => None,
                    },
                    delay: copy.time.saturating_sub(came.time),
                    overtakes: copy.overtakes && !came.overtakes,
                    flip: copy.flips.get(came.flips.len()).copied(),
                };
                impacts.extend(Some(impact).filter(Impact::is_effect));
            }
        }
    }

    /// Returns true if the datagram is lost. The Gilbert-Elliott model then makes one step.
    fn loses(&mut self, loss: Loss, draws: Draws) -> bool {
        match loss {
            Loss::Independent(share) => draws.hits(Purpose::Loss, share),
            Loss::Gemodel { p, r, bad, good } => {
                let (loss, step) = if self.is_bad { (bad, r) } else { (good, p) };
                self.is_bad ^= draws.hits(Purpose::State, step);
                draws.hits(Purpose::Loss, loss)
            }
        }
    }

    /// Delays a copy by the rate limit. Returns false if the queue is full.
    fn is_let_through(&mut self, line: &LinkLine, copy: &mut Copy, len: usize) -> bool {
        const BIT_NANOS: u64 = 8_000_000_000;
        let Some(rate) = line.rate else { return true };
        let len = len as u64;
        let waits = self.idle_at.saturating_sub(copy.time);
        let queued = u128::from(waits) * u128::from(rate) / u128::from(BIT_NANOS);
        let room = u128::from(line.queue.unwrap_or(DEFAULT_QUEUE));
        if queued > 0 && queued + u128::from(len) > room {
            copy.fate = Fate::Lost(Lost::Queue);
            return false;
        }
        self.idle_at = copy.time.max(self.idle_at) + (len * BIT_NANOS).div_ceil(rate.max(1));
        copy.time = self.idle_at;
        true
    }

    fn delay(&mut self, line: &LinkLine, copy: &mut Copy, once: bool, draws: Draws) {
        if let Some(reorder) = line.reorder {
            self.since_reorder += 1;
            let is_candidate = self.since_reorder >= reorder.gap;
            if !once && is_candidate && draws.hits(Purpose::Reorder, reorder.share) {
                self.since_reorder = 0;
                copy.overtakes = true;
                return;
            }
        }
        let nanos = |duration: std::time::Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let mean = line.delay.map_or(0, nanos);
        let delay = line.jitter.map_or(mean, |jitter| {
            let spread = nanos(jitter.spread);
            varied(mean, spread, jitter.shape.value(draws))
        });
        copy.time += delay;
        if !copy.overtakes {
            copy.time = copy.time.max(self.last);
            self.last = copy.time;
        }
    }
}

/// Returns `mean + spread * deviation`, at least 0.
fn varied(mean: u64, spread: u64, deviation: f64) -> u64 {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "times of minutes are exact, and the cast saturates at 0"
    )]
    let nanos = (mean as f64 + spread as f64 * deviation) as u64;
    nanos
}

/// Flips one bit. Spares bits that would make a datagram of 0.6 look like 0.7, since that crashes clients of DDNet
/// 16.4.
fn corrupt(copy: &mut Copy, sent: &Sent<'_>, number: u64) {
    let Ok(bytes @ 1..) = u64::try_from(sent.bytes.len()) else {
        return;
    };
    let mut bit = number % (bytes * 8);
    if bit < 8 && !sent.seven {
        let flipped = |bit: u32| 1u8 << (bit & 7);
        let of_first = copy.flips.iter().filter(|bit| **bit < 8);
        let first = of_first.fold(sent.bytes.first().copied().unwrap_or_default(), |first, bit| {
            first ^ flipped(*bit)
        });
        if looks_seven(first ^ 1 << bit) {
            match number % ((bytes - 1) * 8).max(1) {
                _ if bytes == 1 => return,
                other => bit = 8 + other,
            }
        }
    }
    if let Ok(bit) = u32::try_from(bit) {
        copy.flips.push(bit);
    }
}

/// Returns true if a datagram of 0.6 with this first byte has the mark of 0.7, or is connless with the version of 0.7.
const fn looks_seven(first: u8) -> bool {
    const SEVEN: u8 = 0x04;
    const CONNLESS: u8 = 0x20;
    first & SEVEN != 0 || first & CONNLESS != 0 && first & 0x03 == 0x01
}
