//! Numbers and their units.
//!
//! Law: a number keeps how it was written, so that it is printed as it was; [`Number::value`] is what it means. One
//! table has all units.

use std::fmt;

/// A number as it is written: digits, where the decimal point is, and the unit behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number {
    /// A `-` in front.
    pub negative: bool,
    /// All digits, without the point.
    pub digits: u64,
    /// Digits behind the point, at most [`Number::MAX_DECIMALS`].
    pub decimals: u8,
    /// Written as `0x…`; then there is no point and no unit.
    pub hex: bool,
    /// The unit.
    pub unit: Option<Unit>,
}

/// What a number with a unit measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// Nothing: no unit.
    Plain,
    /// Time, in microseconds.
    Duration,
    /// Bytes.
    Size,
    /// Bits in a second.
    Rate,
    /// A part of all, in millionths.
    Percent,
}

impl Quantity {
    /// With its article.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "a number",
            Self::Duration => "a duration",
            Self::Size => "a size",
            Self::Rate => "a rate",
            Self::Percent => "a percentage",
        }
    }

    /// The unit that is meant most often by somebody who forgot it.
    #[must_use]
    pub const fn usual(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Duration => "ms",
            Self::Size => "B",
            Self::Rate => "kbit",
            Self::Percent => "%",
        }
    }
}

macro_rules! units {
    ($($variant:ident $name:literal $quantity:ident $factor:literal)*) => {
        /// A unit.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[expect(missing_docs, reason = "the names are the units")]
        pub enum Unit {
            $($variant,)*
        }

        impl Unit {
            /// Every unit.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            const fn row(self) -> (&'static str, Quantity, i64) {
                match self {
                    $(Self::$variant => ($name, Quantity::$quantity, $factor),)*
                }
            }
        }
    };
}

units! {
    Microseconds "us"   Duration 1
    Milliseconds "ms"   Duration 1_000
    Seconds      "s"    Duration 1_000_000
    Minutes      "min"  Duration 60_000_000
    Hours        "h"    Duration 3_600_000_000
    Bytes        "B"    Size     1
    Kilobytes    "kB"   Size     1_000
    Megabytes    "MB"   Size     1_000_000
    Kibibytes    "KiB"  Size     1_024
    Mebibytes    "MiB"  Size     1_048_576
    Bits         "bit"  Rate     1
    Kilobits     "kbit" Rate     1_000
    Megabits     "mbit" Rate     1_000_000
    Gigabits     "gbit" Rate     1_000_000_000
    Percent      "%"    Percent  10_000
}

impl Unit {
    /// How it is written.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// What it measures.
    #[must_use]
    pub const fn quantity(self) -> Quantity {
        self.row().1
    }

    /// The unit with this name, in any case.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|unit| unit.name().eq_ignore_ascii_case(name))
    }
}

impl Number {
    /// Most digits behind the point.
    pub const MAX_DECIMALS: u8 = 9;

    /// A whole number without a unit.
    #[must_use]
    pub const fn plain(digits: u64) -> Self {
        Self {
            negative: false,
            digits,
            decimals: 0,
            hex: false,
            unit: None,
        }
    }

    /// What it measures.
    #[must_use]
    pub fn quantity(&self) -> Quantity {
        self.unit.map_or(Quantity::Plain, Unit::quantity)
    }

    /// Its value in the base unit of its [`Quantity`]. `None`: too large, or not a whole number of them.
    #[must_use]
    pub fn value(&self) -> Option<i64> {
        self.scaled(self.unit.map_or(1, |unit| unit.row().2))
    }

    /// Its value in units of which it takes `factor` to make one.
    pub(crate) fn scaled(&self, factor: i64) -> Option<i64> {
        let whole = i128::from(self.digits) * i128::from(factor);
        let parts = 10i128.pow(self.decimals.min(Self::MAX_DECIMALS).into());
        let value = if whole % parts == 0 {
            whole / parts
        } else {
            return None;
        };
        i64::try_from(if self.negative { -value } else { value }).ok()
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.negative {
            f.write_str("-")?;
        }
        match (self.hex, self.decimals) {
            (true, _) => write!(f, "{:#x}", self.digits)?,
            (false, 0) => write!(f, "{}", self.digits)?,
            (false, decimals) => {
                let parts = 10u64.pow(decimals.min(Self::MAX_DECIMALS).into());
                let width = usize::from(decimals);
                write!(f, "{}.{:0width$}", self.digits / parts, self.digits % parts)?;
            }
        }
        f.write_str(self.unit.map_or("", Unit::name))
    }
}
