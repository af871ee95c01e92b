//! Numbers and their units.
//!
//! Law: a number keeps its written form, so that it is printed unchanged; [`Number::value`] is its value. One table
//! defines all units.

use std::fmt;

/// A number as written: digits, the position of the decimal point, and the unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number {
    /// True if the number has a `-`.
    pub negative: bool,
    /// All digits, without the decimal point.
    pub digits: u64,
    /// Number of digits after the decimal point, at most 9.
    pub decimals: u8,
    /// True if it is written as `0x…`, and so has no decimal point and no unit.
    pub hex: bool,
    /// Unit; `None` for a plain number.
    pub unit: Option<Unit>,
}

/// Quantity that a number measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// A plain number without a unit.
    Plain,
    /// Time, in microseconds.
    Duration,
    /// Bytes.
    Size,
    /// Bits per second.
    Rate,
    /// A fraction, in millionths.
    Percent,
}

impl Quantity {
    /// Returns the name with its article.
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

    /// Returns the most common unit, for a suggestion.
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
            /// All units.
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

/// English names of units, which are accepted like the units.
pub(crate) const ENGLISH: [(Unit, &[&str]); 7] = [
    (Unit::Microseconds, &["usec", "microsecond", "microseconds"]),
    (Unit::Milliseconds, &["msec", "millisecond", "milliseconds"]),
    (Unit::Seconds, &["sec", "secs", "second", "seconds"]),
    (Unit::Minutes, &["mins", "minute", "minutes"]),
    (Unit::Hours, &["hr", "hour", "hours"]),
    (Unit::Bytes, &["byte", "bytes"]),
    (Unit::Percent, &["percent"]),
];

impl Unit {
    /// Returns the unit as written.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// Returns the quantity that it measures.
    #[must_use]
    pub const fn quantity(self) -> Quantity {
        self.row().1
    }

    /// Returns the unit with this name, ignoring case: the unit as written, or its English name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let written = Self::ALL
            .iter()
            .copied()
            .find(|unit| unit.name().eq_ignore_ascii_case(name));
        written.or_else(|| {
            let is_name =
                |(_, names): &&(Self, &[&str])| names.iter().any(|known| known.eq_ignore_ascii_case(name));
            ENGLISH.iter().find(is_name).map(|(unit, _)| *unit)
        })
    }
}

impl Number {
    /// Maximum number of digits after the decimal point.
    pub(super) const MAX_DECIMALS: u8 = 9;

    /// Creates an integer without a unit.
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

    /// Gives a plain number at the start of a range the unit of the end, as in `60..100ms`. A plain number already is a
    /// size in bytes, and a hexadecimal number has no unit.
    pub(super) fn take_unit(&mut self, end: &Self) {
        let unit = end.unit.filter(|unit| unit.quantity() != Quantity::Size);
        if !self.hex && self.unit.is_none() {
            self.unit = unit;
        }
    }

    /// Returns the quantity that it measures.
    #[must_use]
    pub fn quantity(&self) -> Quantity {
        self.unit.map_or(Quantity::Plain, Unit::quantity)
    }

    /// Returns the value in the base unit of its [`Quantity`]; `None` if it is too large or not an integer.
    #[must_use]
    pub fn value(&self) -> Option<i64> {
        self.scaled(self.unit.map_or(1, |unit| unit.row().2))
    }

    /// Returns the number without zeros at its end.
    pub(super) fn shortened(mut self) -> Self {
        while self.decimals > 0 && self.digits.is_multiple_of(10) {
            self.digits /= 10;
            self.decimals -= 1;
        }
        self
    }

    /// Returns the value multiplied by `factor`; `None` if it is too large or not an integer.
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
