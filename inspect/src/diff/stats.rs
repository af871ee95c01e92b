//! Statistics of a game: rates, acks, the lead of inputs, and fields of inputs that never change.
//!
//! Two games have unrelated ticks and messages, but the same kind of client has the same statistics.
//!
//! Law: memory is bounded. Values are counted within limits, and only the first fields of inputs are followed.

use std::collections::BTreeMap;

use teetap_proxy::session::Time;
use teetap_wire::{Dir, Flags, PerDir, snap::Fate};

use super::entry::Field;
use crate::Reading;

/// Minimum number of inputs or snapshots for a statistic.
const LEAST: u64 = 10;

/// Values beyond this limit are counted as the limit.
const LIMIT: i64 = 5000;

/// Maximum number of fields of inputs that are followed.
const FIELDS: usize = 64;

/// A statistic of both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistic {
    /// Its name, such as `input.lead`, or the field of inputs that never changes on one side.
    pub name: Box<str>,
    /// The direction of the messages.
    pub dir: Dir,
    /// What it measures; `None` for a field of inputs.
    pub about: Option<&'static str>,
    /// The value of each side.
    pub values: [Measure; 2],
    /// True if the values are so different that another game of the same programs would hardly explain it.
    pub differs: bool,
}

/// The value of a statistic.
#[derive(Clone, Debug, PartialEq)]
pub enum Measure {
    /// Occurrences, datagrams or bytes in a second.
    PerSecond(f64),
    /// Percentage, 0 to 100.
    Percent(f64),
    /// Median, least and greatest value, in ticks or milliseconds.
    Spread(i64, i64, i64),
    /// A number of occurrences, or the greatest of some numbers.
    Count(u64),
    /// The only value of a field.
    Always(Box<str>),
    /// A field with at least two values.
    Varies,
}

impl Measure {
    /// Returns true if the values differ clearly: medians by more than `least`.
    fn is_unlike(&self, other: &Self, least: u64) -> bool {
        match (self, other) {
            (Self::PerSecond(a), Self::PerSecond(b)) => {
                let (less, more) = (a.min(*b), a.max(*b));
                more - less > 1.0 && more > less * 2.0
            }
            (Self::Percent(a), Self::Percent(b)) => (a - b).abs() >= 20.0,
            (Self::Spread(a, ..), Self::Spread(b, ..)) => {
                a.abs_diff(*b) > least && {
                    let (less, more) = (
                        a.unsigned_abs().min(b.unsigned_abs()),
                        a.unsigned_abs().max(b.unsigned_abs()),
                    );
                    more > less.saturating_mul(2) || (*a < 0) != (*b < 0)
                }
            }
            _ => self != other,
        }
    }
}

/// The statistics of one side so far.
#[derive(Debug, Default)]
pub(super) struct Statistics {
    /// Tick of the newest snapshot.
    newest: Option<i64>,
    snapshots: Occasions,
    /// Number of without a base.
    complete: u64,
    /// Ticks from the base of a snapshot to the snapshot.
    base_age: Spread,
    inputs: Occasions,
    /// Number of inputs without an ack.
    no_ack: u64,
    /// Ticks from the acked snapshot to the newest snapshot.
    ack_age: Spread,
    /// Ticks from the newest snapshot to the intended tick.
    lead: Spread,
    /// Milliseconds by which inputs are early, as the server says.
    left: Spread,
    fields: BTreeMap<Box<str>, Option<Box<str>>>,
    datagrams: PerDir<Occasions>,
    bytes: PerDir<u64>,
    /// Number of vital messages that were sent again.
    resent: PerDir<u64>,
    /// Number of datagrams that request a resend.
    requests: PerDir<u64>,
    /// Number of datagrams that cannot be read.
    unreadable: PerDir<u64>,
    /// Number of snapshots that the client discards, and that are copies.
    discarded: u64,
    copies: u64,
    /// Greatest number of items in a snapshot.
    items: usize,
}

/// Occurrences of one kind, with the times of the first and the last.
#[derive(Clone, Copy, Debug, Default)]
struct Occasions {
    count: u64,
    first: Time,
    last: Time,
}

impl Occasions {
    fn add(&mut self, at: Time) {
        if self.count == 0 {
            self.first = at;
        }
        self.count += 1;
        self.last = self.last.max(at);
    }

    /// Returns `number` divided by the seconds from the first to the last occurrence; `None` if there are too few.
    fn rate(&self, number: u64) -> Option<Measure> {
        let seconds = Time(self.last.0.saturating_sub(self.first.0)).as_secs_f64();
        let is_enough = self.count >= LEAST && seconds > 0.0;
        // Numbers of datagrams and bytes are far below 2^52.
        #[expect(clippy::cast_precision_loss, reason = "a rate is rounded when it is shown")]
        is_enough.then(|| Measure::PerSecond(number as f64 / seconds))
    }
}

/// Counts of values.
#[derive(Debug, Default)]
struct Spread(BTreeMap<i64, u64>);

impl Spread {
    fn add(&mut self, value: i64) {
        *self.0.entry(value.clamp(-LIMIT, LIMIT)).or_default() += 1;
    }

    fn measure(&self) -> Option<Measure> {
        let total: u64 = self.0.values().sum();
        let mut before = 0;
        let middle = self.0.iter().find(|(_, count)| {
            before += **count;
            before * 2 >= total
        });
        let (least, _) = self.0.first_key_value()?;
        let (greatest, _) = self.0.last_key_value()?;
        let (middle, _) = middle.filter(|_| total >= LEAST)?;
        Some(Measure::Spread(*middle, *least, *greatest))
    }
}

impl Statistics {
    /// Records a datagram with `len` bytes. Counts it if the game has begun.
    pub(super) fn datagram(&mut self, dir: Dir, at: Time, len: usize) {
        if self.newest.is_some() {
            self.datagrams[dir].add(at);
            self.bytes[dir] += len as u64;
        }
    }

    /// Counts the reading of a datagram: unreadable, a request for a resend, and messages that are sent again.
    pub(super) fn reading(&mut self, dir: Dir, reading: &Reading) {
        self.unreadable[dir] += u64::from(reading.error.is_some());
        self.requests[dir] += u64::from(reading.header.flags.contains(Flags::RESEND));
        let resent = reading.messages.iter().filter(|message| message.transport.resend);
        self.resent[dir] += resent.count() as u64;
        let snapshots = reading
            .messages
            .iter()
            .filter_map(|message| message.completed.view());
        for snapshot in snapshots {
            self.items = self.items.max(snapshot.snapshot().len());
            match snapshot.fate {
                Fate::NoBase | Fate::Broken | Fate::BadCrc => self.discarded += 1,
                Fate::Again => self.copies += 1,
                Fate::Kept | Fate::Late => {}
            }
        }
    }

    /// Returns the value of a count.
    const fn count(&self, count: Count) -> u64 {
        match count {
            Count::Resent(Dir::C2s) => self.resent.c2s,
            Count::Resent(Dir::S2c) => self.resent.s2c,
            Count::Requests(Dir::C2s) => self.requests.c2s,
            Count::Requests(Dir::S2c) => self.requests.s2c,
            Count::Unreadable(Dir::C2s) => self.unreadable.c2s,
            Count::Unreadable(Dir::S2c) => self.unreadable.s2c,
            Count::Discarded => self.discarded,
            Count::Copies => self.copies,
            Count::Items => self.items as u64,
        }
    }

    /// Records a message of a snapshot; further parts of a snapshot are not counted, nor a message that is not compared.
    pub(super) fn snapshot(&mut self, at: Time, tick: i64, delta: i64, is_compared: bool) {
        if self.newest.is_some_and(|newest| newest >= tick) {
            return;
        }
        self.newest = Some(tick);
        if !is_compared {
            return;
        }
        self.snapshots.add(at);
        // A snapshot without a base names the tick -1.
        if delta > tick {
            self.complete += 1;
        } else {
            self.base_age.add(delta);
        }
    }

    /// Records an input.
    pub(super) fn input(&mut self, at: Time, intended: i64, ack: Option<i64>, fields: &[Field]) {
        self.inputs.add(at);
        let acked = ack.filter(|ack| *ack >= 0);
        self.no_ack += u64::from(acked.is_none());
        if let Some(newest) = self.newest {
            self.lead.add(intended.saturating_sub(newest));
            if let Some(acked) = acked {
                self.ack_age.add(newest.saturating_sub(acked));
            }
        }
        for field in fields {
            let has_room = self.fields.len() < FIELDS;
            if let Some(known) = self.fields.get_mut(&field.path) {
                if known.as_deref().is_some_and(|known| *known != *field.text) {
                    *known = None;
                }
            } else if has_room {
                self.fields.insert(field.path.clone(), Some(field.text.clone()));
            }
        }
    }

    /// Records how early an input was, in milliseconds, as the server says.
    pub(super) fn timing(&mut self, left: i64) {
        self.left.add(left);
    }

    fn percent(part: u64, all: &Occasions) -> Option<Measure> {
        #[expect(
            clippy::cast_precision_loss,
            reason = "a percentage is rounded when it is shown"
        )]
        let percent = |part: u64, all: u64| part as f64 * 100.0 / all as f64;
        (all.count >= LEAST).then(|| Measure::Percent(percent(part, all.count)))
    }

    /// Returns the value of a fixed statistic; `None` if there are too few messages.
    fn measure(&self, kind: Kind) -> Option<Measure> {
        match kind {
            Kind::InputRate => self.inputs.rate(self.inputs.count.saturating_sub(1)),
            Kind::NoAck => Self::percent(self.no_ack, &self.inputs),
            Kind::AckAge => self.ack_age.measure(),
            Kind::Lead => self.lead.measure(),
            Kind::Left => self.left.measure(),
            Kind::SnapshotRate => self.snapshots.rate(self.snapshots.count.saturating_sub(1)),
            Kind::Complete => Self::percent(self.complete, &self.snapshots),
            Kind::BaseAge => self.base_age.measure(),
            Kind::Datagrams(dir) => self.datagrams[dir].rate(self.datagrams[dir].count.saturating_sub(1)),
            Kind::Bytes(dir) => self.datagrams[dir].rate(self.bytes[dir]),
        }
    }
}

/// A fixed statistic.
#[derive(Clone, Copy, Debug)]
enum Kind {
    InputRate,
    NoAck,
    AckAge,
    Lead,
    Left,
    SnapshotRate,
    Complete,
    BaseAge,
    Datagrams(Dir),
    Bytes(Dir),
}

impl Kind {
    /// Returns the largest difference of two medians that another network explains, in the unit of the statistic.
    const fn least(self) -> u64 {
        match self {
            Self::Left => 50,
            _ => 5,
        }
    }
}

/// The fixed statistics: name, direction, what it measures.
const KINDS: &[(Kind, &str, Dir, &str)] = &[
    (Kind::InputRate, "input.rate", Dir::C2s, "per second"),
    (Kind::NoAck, "input.no_ack", Dir::C2s, "ack no snapshot"),
    (
        Kind::AckAge,
        "input.ack_age",
        Dir::C2s,
        "ticks behind the newest snapshot",
    ),
    (
        Kind::Lead,
        "input.lead",
        Dir::C2s,
        "ticks ahead of the newest snapshot",
    ),
    (Kind::Datagrams(Dir::C2s), "datagrams.c2s", Dir::C2s, "per second"),
    (Kind::Bytes(Dir::C2s), "bytes.c2s", Dir::C2s, "per second"),
    (Kind::Left, "input_timing.time_left", Dir::S2c, "ms early"),
    (Kind::SnapshotRate, "snap.rate", Dir::S2c, "per second"),
    (Kind::Complete, "snap.complete", Dir::S2c, "without a base"),
    (Kind::BaseAge, "snap.base_age", Dir::S2c, "ticks back to the base"),
    (Kind::Datagrams(Dir::S2c), "datagrams.s2c", Dir::S2c, "per second"),
    (Kind::Bytes(Dir::S2c), "bytes.s2c", Dir::S2c, "per second"),
];

/// A count that one fault may change.
#[derive(Clone, Copy, Debug)]
enum Count {
    Resent(Dir),
    Requests(Dir),
    Unreadable(Dir),
    Discarded,
    Copies,
    Items,
}

/// The counts: name, direction, what it counts.
const COUNTS: &[(Count, &str, Dir, &str)] = &[
    (
        Count::Unreadable(Dir::C2s),
        "unreadable.c2s",
        Dir::C2s,
        "datagrams",
    ),
    (
        Count::Unreadable(Dir::S2c),
        "unreadable.s2c",
        Dir::S2c,
        "datagrams",
    ),
    (
        Count::Resent(Dir::C2s),
        "resent.c2s",
        Dir::C2s,
        "messages sent again",
    ),
    (
        Count::Resent(Dir::S2c),
        "resent.s2c",
        Dir::S2c,
        "messages sent again",
    ),
    (
        Count::Requests(Dir::C2s),
        "requests.c2s",
        Dir::C2s,
        "requests for a resend",
    ),
    (
        Count::Requests(Dir::S2c),
        "requests.s2c",
        Dir::S2c,
        "requests for a resend",
    ),
    (
        Count::Discarded,
        "snap.discarded",
        Dir::S2c,
        "snapshots the client cannot use",
    ),
    (Count::Copies, "snap.copies", Dir::S2c, "snapshots sent again"),
    (Count::Items, "snap.items", Dir::S2c, "most items in a snapshot"),
];

/// Returns the counts that differ.
pub(super) fn counts(a: &Statistics, b: &Statistics) -> Vec<Statistic> {
    let mut found = Vec::new();
    for (count, name, dir, about) in COUNTS {
        let values = [a, b].map(|side| side.count(*count));
        let [of_a, of_b] = values;
        if of_a != of_b {
            let (less, more) = (of_a.min(of_b), of_a.max(of_b));
            found.push(Statistic {
                name: (*name).into(),
                dir: *dir,
                about: Some(about),
                values: values.map(Measure::Count),
                differs: more > less.saturating_mul(2),
            });
        }
    }
    found
}

/// Returns the statistics that both sides have, and the fields of inputs that never change on one side.
pub(super) fn statistics(a: &Statistics, b: &Statistics) -> Vec<Statistic> {
    let both = |values: [Option<Measure>; 2]| -> Option<[Measure; 2]> {
        let [a, b] = values;
        Some([a?, b?])
    };
    let mut found = Vec::new();
    for (kind, name, dir, about) in KINDS {
        if let Some(values) = both([a.measure(*kind), b.measure(*kind)]) {
            let [of_a, of_b] = &values;
            let differs = of_a.is_unlike(of_b, kind.least());
            found.push(Statistic {
                name: (*name).into(),
                dir: *dir,
                about: Some(about),
                values,
                differs,
            });
        }
    }
    if a.inputs.count < LEAST || b.inputs.count < LEAST {
        return found;
    }
    for (path, of_a) in &a.fields {
        let Some(of_b) = b.fields.get(path).filter(|of_b| of_a.is_some() || of_b.is_some()) else {
            continue;
        };
        let value = |only: &Option<Box<str>>| only.clone().map_or(Measure::Varies, Measure::Always);
        let values = [value(of_a), value(of_b)];
        let [first, second] = &values;
        let differs = first != second;
        found.push(Statistic {
            name: path.clone(),
            dir: Dir::C2s,
            about: None,
            values,
            differs,
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_and_its_range() {
        let mut spread = Spread::default();
        (0..9).for_each(|value| spread.add(value));
        assert_eq!(spread.measure(), None, "too few");
        spread.add(1_000_000);
        assert_eq!(spread.measure(), Some(Measure::Spread(4, 0, LIMIT)));
    }

    #[test]
    fn small_deviations_are_no_differences() {
        let rate = Measure::PerSecond;
        for (a, b, differs) in [
            (rate(50.0), rate(45.0), false),
            (rate(50.0), rate(24.0), true),
            (rate(0.1), rate(0.9), false),
            (Measure::Percent(0.0), Measure::Percent(19.0), false),
            (Measure::Percent(100.0), Measure::Percent(0.0), true),
            (Measure::Spread(2, 0, 9), Measure::Spread(7, 0, 9), false),
            (Measure::Spread(2, 0, 9), Measure::Spread(40, 0, 90), true),
            (Measure::Spread(9, 0, 9), Measure::Spread(-9, -9, 0), true),
            (Measure::Varies, Measure::Always("0".into()), true),
        ] {
            assert_eq!(a.is_unlike(&b, 5), differs, "{a:?} {b:?}");
        }
    }
}
