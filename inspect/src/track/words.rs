//! Formats sequence numbers, counts and times in words.

use std::{fmt, time::Duration};

use teetap_wire::Seq;

/// Displays a message with its sequence number.
pub(super) struct Numbered(pub(super) Seq, pub(super) Option<&'static str>);

impl fmt::Display for Numbered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(seq, name) = self;
        match name {
            Some(name) => write!(f, "{name} (number {seq})"),
            None => write!(f, "number {seq}"),
        }
    }
}

/// Displays a number of resend requests.
pub(super) struct Requests(pub(super) usize);

impl fmt::Display for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("no resend request"),
            1 => f.write_str("1 resend request"),
            count => write!(f, "{count} resend requests"),
        }
    }
}

/// Displays a time in seconds.
pub(super) struct Seconds(pub(super) Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} s", self.0.as_secs_f64())
    }
}
