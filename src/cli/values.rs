//! Parsers of option values that clap does not have: seeds, durations, addresses.

use std::{net::SocketAddr, time::Duration};

use teetap_rules::syntax::{self, Quantity};

/// A value that its option does not accept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ValueError {
    #[error("expected a number from 0 to {}", u64::MAX)]
    Seed,
    /// Contains the number if only the unit is missing.
    #[error("expected a number and a unit of time, like 500ms, 30s or 5min{}", meant(*.0, "", "s"))]
    Duration(Option<u32>),
    /// Contains the port if only the colon is missing.
    #[error("expected an address and a port, like 127.0.0.1:8303, [::1]:8303 or :0{}", meant(.0.map(u32::from), ":", ""))]
    ListenAddress(Option<u16>),
}

/// Returns a question for the value that was probably meant; empty for `None`.
fn meant(number: Option<u32>, before: &str, after: &str) -> String {
    number.map_or_else(String::new, |number| {
        format!("; did you mean {before}{number}{after}?")
    })
}

pub(super) fn seed(text: &str) -> Result<u64, ValueError> {
    text.parse().map_err(|_| ValueError::Seed)
}

/// Parses a positive duration with its unit, as in filters.
pub(super) fn duration(text: &str) -> Result<Duration, ValueError> {
    let number = match syntax::parse(text).map(|expr| expr.kind) {
        Ok(syntax::Kind::Number(number)) => Some(number),
        _ => None,
    };
    number
        .filter(|number| number.quantity() == Quantity::Duration)
        .and_then(|number| u64::try_from(number.value()?).ok())
        .filter(|micros| *micros > 0)
        .map(Duration::from_micros)
        .ok_or_else(|| ValueError::Duration(text.parse().ok()))
}

/// Parses `ADDR:PORT`; `:PORT` is a port of 127.0.0.1.
pub(super) fn listen_address(text: &str) -> Result<SocketAddr, ValueError> {
    let full = if text.starts_with(':') {
        format!("127.0.0.1{text}")
    } else {
        text.to_owned()
    };
    full.parse()
        .map_err(|_| ValueError::ListenAddress(text.parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listen_addresses() {
        assert_eq!(listen_address(":0").unwrap().to_string(), "127.0.0.1:0");
        assert_eq!(listen_address("[::1]:5").unwrap().to_string(), "[::1]:5");
        assert!(
            listen_address("8303")
                .unwrap_err()
                .to_string()
                .ends_with("; did you mean :8303?")
        );
        assert!(
            listen_address("host:1")
                .unwrap_err()
                .to_string()
                .ends_with(" or :0")
        );
    }

    #[test]
    fn a_time_needs_its_unit() {
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert!(
            duration("30")
                .unwrap_err()
                .to_string()
                .ends_with("; did you mean 30s?")
        );
        assert!(duration("soon").unwrap_err().to_string().ends_with(" or 5min"));
    }
}
