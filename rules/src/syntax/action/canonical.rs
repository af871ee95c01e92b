//! Canonical texts of actions.

use std::fmt::{self, Formatter, Write as _};
use std::time::Duration;

use teetap_wire::Side;

use super::MAX_HOLD;
use crate::syntax::argument::Shown;
use crate::syntax::print::quoted;

pub(super) fn delay(from: Duration, to: Duration, unordered: bool, f: &mut Formatter<'_>) -> fmt::Result {
    write!(f, "delay {}", Shown(from))?;
    if to != from {
        write!(f, "..{}", Shown(to))?;
    }
    f.write_str(if unordered { " unordered" } else { "" })
}

pub(super) fn dup(copies: u32, gap: Duration, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_str("dup")?;
    if copies > 1 {
        write!(f, " {copies}")?;
    }
    if gap.is_zero() {
        return Ok(());
    }
    write!(f, " gap {}", Shown(gap))
}

pub(super) fn close(side: Option<Side>, reason: &str, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_str(match side {
        Some(Side::Client) => "close client",
        Some(Side::Server) => "close server",
        None => "close both",
    })?;
    if reason.is_empty() {
        return Ok(());
    }
    f.write_char(' ')?;
    quoted(f, reason)
}

/// Formats the limits of a hold or a pause.
pub(super) fn patience(max: Duration, unordered: bool, f: &mut Formatter<'_>) -> fmt::Result {
    if max != MAX_HOLD {
        write!(f, " max {}", Shown(max))?;
    }
    f.write_str(if unordered { " unordered" } else { "" })
}
