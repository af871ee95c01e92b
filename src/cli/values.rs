//! Parsers of option values that clap does not have: seeds, durations, addresses.

use std::{net::SocketAddr, time::Duration};

use teetap_rules::syntax::{self, Quantity};

pub(super) fn seed(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| "expected a number from 0 to 18446744073709551615".to_owned())
}

/// Parses a positive duration with its unit, as in filters.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let number = match syntax::parse(text).map(|expr| expr.kind) {
        Ok(syntax::Kind::Number(number)) => Some(number),
        _ => None,
    };
    number
        .filter(|number| number.quantity() == Quantity::Duration)
        .and_then(|number| u64::try_from(number.value()?).ok())
        .filter(|micros| *micros > 0)
        .map(Duration::from_micros)
        .ok_or_else(|| {
            let meant = text
                .parse::<u32>()
                .map_or(String::new(), |number| format!("; did you mean {number}s?"));
            format!("expected a number and a unit of time, like 500ms, 30s or 5min{meant}")
        })
}

/// Parses `ADDR:PORT`; `:PORT` is a port of 127.0.0.1.
pub(super) fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let full = if text.starts_with(':') {
        format!("127.0.0.1{text}")
    } else {
        text.to_owned()
    };
    full.parse().map_err(|_| {
        let meant = text
            .parse::<u16>()
            .map_or(String::new(), |port| format!("; did you mean :{port}?"));
        format!("expected an address and a port, like 127.0.0.1:8303, [::1]:8303 or :0{meant}")
    })
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
                .ends_with("; did you mean :8303?")
        );
        assert!(listen_address("host:1").unwrap_err().ends_with(" or :0"));
    }

    #[test]
    fn a_time_needs_its_unit() {
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert!(duration("30").unwrap_err().ends_with("; did you mean 30s?"));
        assert!(duration("soon").unwrap_err().ends_with(" or 5min"));
    }
}
