//! The parameters of a link line.

use std::fmt;
use std::time::Duration;

use teetap_wire::Dir;

use super::shape::Shape;
use crate::syntax::Expr;
use crate::units::Share;

/// The maximum delay, and the maximum jitter.
pub const MAX_DELAY: Duration = Duration::from_secs(60);
/// The maximum queue of a rate in bytes.
pub const MAX_QUEUE: u32 = 1_000_000;
/// The queue of a rate in bytes, if none is given.
pub const DEFAULT_QUEUE: u32 = 64 * 1024;

/// A link line: at least one parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The directions.
    pub dirs: Dirs,
    /// The delay of every datagram.
    pub delay: Option<Duration>,
    /// The variation of the delay.
    pub jitter: Option<Jitter>,
    /// The loss.
    pub loss: Option<Loss>,
    /// The share of datagrams that leave twice.
    pub dup: Option<Share>,
    /// The datagrams that overtake those before them.
    pub reorder: Option<Reorder>,
    /// The share of datagrams in which one bit is flipped.
    pub corrupt: Option<Share>,
    /// The rate in bits per second, from 1. The bytes of a datagram without UDP and IP headers count.
    pub rate: Option<u64>,
    /// The maximum number of bytes that wait for the rate; [`DEFAULT_QUEUE`] if `None`.
    pub queue: Option<u32>,
    /// True if nothing passes.
    pub blackhole: bool,
    /// True if the line also acts on datagrams outside a connection.
    pub connless: bool,
    /// The time since the opening of the session from which on the line acts.
    pub from: Option<Duration>,
    /// The time since the opening of the session at which the line ends.
    pub to: Option<Duration>,
    /// The line acts after the first message that matches.
    pub after: Option<Expr>,
    /// The line ends at the first message that matches.
    pub until: Option<Expr>,
}

/// The directions of a link line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dirs {
    /// From the client to the server.
    C2s,
    /// From the server to the client.
    S2c,
    /// Each of both, by itself.
    Both,
}

/// The variation of the delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jitter {
    /// The largest deviation of [`Shape::Uniform`], the standard deviation of the others.
    pub spread: Duration,
    /// The distribution.
    pub shape: Shape,
}

/// The loss of datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Each with the same probability.
    Independent(Share),
    /// The model of Gilbert and Elliott, with the parameters of netem's `gemodel`.
    Gemodel {
        /// From the good state to the bad one, per datagram.
        p: Share,
        /// From the bad state to the good one, per datagram.
        r: Share,
        /// The loss in the bad state, `1-h`.
        bad: Share,
        /// The loss in the good state, `1-k`.
        good: Share,
    },
}

/// The datagrams that overtake those before them: they skip the delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reorder {
    /// The share of the candidates that do.
    pub share: Share,
    /// Every datagram after this many less one is a candidate, from 1.
    pub gap: u32,
}

impl Line {
    /// A line that does nothing.
    #[must_use]
    pub const fn new(dirs: Dirs) -> Self {
        Self {
            dirs,
            delay: None,
            jitter: None,
            loss: None,
            dup: None,
            reorder: None,
            corrupt: None,
            rate: None,
            queue: None,
            blackhole: false,
            connless: false,
            from: None,
            to: None,
            after: None,
            until: None,
        }
    }

    /// Returns true if the line acts at this many microseconds after the opening of the session.
    pub(super) fn acts_at(&self, since: u64) -> bool {
        let reached = |limit: Option<Duration>| limit.map(|limit| limit.as_micros() <= u128::from(since));
        reached(self.from) != Some(false) && reached(self.to) != Some(true)
    }
}

impl Reorder {
    /// Returns the share of all datagrams that overtake: after one that did, `gap` less one do not, and from then on each one
    /// does with a chance of `share`.
    #[must_use]
    pub fn overall(self) -> Share {
        let share = u64::from(self.share.millionths());
        let whole = u64::from(Share::WHOLE.millionths());
        let others = u64::from(self.gap.saturating_sub(1)) * share;
        let overall = (share * whole + (others + whole) / 2) / (others + whole);
        u32::try_from(overall)
            .ok()
            .and_then(Share::new)
            .unwrap_or(Share::NONE)
    }
}

impl Dirs {
    /// Returns true if a direction is among them.
    #[must_use]
    pub fn has(self, dir: Dir) -> bool {
        match self {
            Self::C2s => dir == Dir::C2s,
            Self::S2c => dir == Dir::S2c,
            Self::Both => true,
        }
    }

    /// Returns the word of a link line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::C2s => "c2s",
            Self::S2c => "s2c",
            Self::Both => "both",
        }
    }
}

/// Prints it in a canonical form.
impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "link {}", self.dirs.name())?;
        if let Some(delay) = self.delay {
            write!(f, " delay {}", Time(delay))?;
        }
        if let Some(Jitter { spread, shape }) = self.jitter {
            write!(f, " jitter {}", Time(spread))?;
            if shape != Shape::default() {
                write!(f, " {shape}")?;
            }
        }
        match self.loss {
            Some(Loss::Independent(share)) => write!(f, " loss {share}")?,
            Some(Loss::Gemodel { p, r, bad, good }) => {
                write!(f, " loss gemodel {p} {r}")?;
                if (bad, good) != (Share::WHOLE, Share::NONE) {
                    write!(f, " {bad}")?;
                }
                if good != Share::NONE {
                    write!(f, " {good}")?;
                }
            }
            None => {}
        }
        if let Some(share) = self.dup {
            write!(f, " dup {share}")?;
        }
        if let Some(Reorder { share, gap }) = self.reorder {
            write!(f, " reorder {share}")?;
            if gap > 1 {
                write!(f, " gap {gap}")?;
            }
        }
        if let Some(share) = self.corrupt {
            write!(f, " corrupt {share}")?;
        }
        if let Some(rate) = self.rate {
            let (rate, unit) = in_unit(rate, ["bit", "kbit", "mbit", "gbit"]);
            write!(f, " rate {rate}{unit}")?;
        }
        if let Some(queue) = self.queue {
            let (queue, unit) = in_unit(queue.into(), ["B", "kB", "MB"]);
            write!(f, " queue {queue}{unit}")?;
        }
        if self.blackhole {
            f.write_str(" blackhole")?;
        }
        if self.connless {
            f.write_str(" connless")?;
        }
        if let Some(from) = self.from {
            write!(f, " from {}", Time(from))?;
        }
        if let Some(to) = self.to {
            write!(f, " to {}", Time(to))?;
        }
        if let Some(after) = &self.after {
            write!(f, " after {after}")?;
        }
        if let Some(until) = &self.until {
            write!(f, " until {until}")?;
        }
        Ok(())
    }
}

/// Returns an amount in the largest unit in which it is whole. Each unit is a thousand times the one before.
fn in_unit<const N: usize>(amount: u64, units: [&'static str; N]) -> (u64, &'static str) {
    let mut amount = amount;
    let mut units = units.into_iter().peekable();
    loop {
        let unit = units.next().unwrap_or_default();
        if units.peek().is_none() || amount == 0 || !amount.is_multiple_of(1000) {
            return (amount, unit);
        }
        amount /= 1000;
    }
}

/// A time in the largest unit in which it is whole.
struct Time(Duration);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.0.as_micros();
        match (micros % 1_000_000, micros % 1_000) {
            (0, _) => write!(f, "{}s", micros / 1_000_000),
            (_, 0) => write!(f, "{}ms", micros / 1_000),
            _ => write!(f, "{micros}us"),
        }
    }
}
