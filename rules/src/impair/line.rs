//! The parameters of a link line.

use std::fmt;
use std::time::Duration;

use teetap_wire::Dir;

use super::shape::Shape;
use crate::syntax::Expr;
use crate::units::Share;

/// Maximum delay, and maximum jitter.
pub(crate) const MAX_DELAY: Duration = Duration::from_secs(60);
/// Maximum queue size of a rate limit, in bytes.
pub(crate) const MAX_QUEUE: u32 = 1_000_000;
/// Default queue size of a rate limit, in bytes.
pub(super) const DEFAULT_QUEUE: u32 = 64 * 1024;

/// A link line, which has at least one parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkLine {
    /// Name of the line; `None` if its text identifies it.
    pub name: Option<Box<str>>,
    /// Directions in which the line acts.
    pub dirs: Dirs,
    /// Delay of every datagram.
    pub delay: Option<Duration>,
    /// Variation of the delay.
    pub jitter: Option<Jitter>,
    /// Loss of datagrams.
    pub loss: Option<Loss>,
    /// Share of datagrams that are sent twice.
    pub dup: Option<Share>,
    /// Datagrams that overtake earlier ones.
    pub reorder: Option<Reorder>,
    /// Share of datagrams with one flipped bit.
    pub corrupt: Option<Share>,
    /// Rate limit in bits per second (at least 1). Counts UDP payload bytes only.
    pub rate: Option<u64>,
    /// Maximum bytes that wait for the rate limit; 64 KiB if `None`.
    pub queue: Option<u32>,
    /// True if all datagrams are lost.
    pub blackhole: bool,
    /// True if the line also acts on datagrams outside a connection.
    pub connless: bool,
    /// Session age at which the line becomes active.
    pub from: Option<Duration>,
    /// Session age at which the line ends.
    pub to: Option<Duration>,
    /// The line becomes active after the first message that matches.
    pub after: Option<Expr>,
    /// The line ends at the first message that matches.
    pub until: Option<Expr>,
}

/// Directions in which a link line acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dirs {
    /// From the client to the server.
    C2s,
    /// From the server to the client.
    S2c,
    /// Both directions, independently.
    Both,
}

/// Variation of the delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jitter {
    /// Maximum deviation for [`Shape::Uniform`]; standard deviation for the other shapes.
    pub spread: Duration,
    /// Distribution of the deviation.
    pub shape: Shape,
}

/// Loss of datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Each datagram is lost with the same probability.
    Independent(Share),
    /// The Gilbert-Elliott model, with the parameters of netem's `gemodel`.
    Gemodel {
        /// Probability of a step from the good to the bad state, per datagram.
        p: Share,
        /// Probability of a step from the bad to the good state, per datagram.
        r: Share,
        /// Loss in the bad state, `1-h`.
        bad: Share,
        /// Loss in the good state, `1-k`.
        good: Share,
    },
}

/// Datagrams that overtake earlier ones by skipping the delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reorder {
    /// Share of the candidates that overtake.
    pub share: Share,
    /// Distance from the last overtaking datagram to the first candidate, at least 1.
    pub gap: u32,
}

impl LinkLine {
    /// Returns a line without parameters, which does nothing.
    #[must_use]
    pub const fn new(dirs: Dirs) -> Self {
        Self {
            name: None,
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

    /// Returns true if the line is active at this session age in microseconds.
    pub(super) fn acts_at(&self, since: u64) -> bool {
        let reached = |limit: Option<Duration>| limit.map(|limit| limit.as_micros() <= u128::from(since));
        reached(self.from) != Some(false) && reached(self.to) != Some(true)
    }
}

impl Reorder {
    /// Returns the share of all datagrams that overtake. After a datagram has overtaken others, the next `gap - 1`
    /// datagrams do not, and from then on each datagram does with the probability `share`.
    #[must_use]
    pub(crate) fn overall(self) -> Share {
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
    /// Returns true if the line acts in a direction.
    #[must_use]
    pub fn has(self, dir: Dir) -> bool {
        match self {
            Self::C2s => dir == Dir::C2s,
            Self::S2c => dir == Dir::S2c,
            Self::Both => true,
        }
    }

    /// Returns the keyword in link lines.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::C2s => "c2s",
            Self::S2c => "s2c",
            Self::Both => "both",
        }
    }
}

/// Formats the line in its canonical form.
impl fmt::Display for LinkLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            write!(f, "{name}: ")?;
        }
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

/// Returns an amount in the largest unit in which it is an integer. Each unit is a thousand times the previous one.
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

/// A time, formatted in the largest unit in which it is an integer.
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
