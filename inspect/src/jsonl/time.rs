//! Wall-clock times as text: UTC, RFC 3339, with microseconds.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use teetap_proxy::session::Time;

/// Formats a time in UTC with microseconds. A time out of range becomes the start of 1970.
pub fn rfc3339(time: SystemTime) -> String {
    let time = Timestamp::try_from(time).unwrap_or_default();
    format!("{time:.6}")
}

/// Parses nanoseconds since 1970; `None` if the text is not a time in RFC 3339, or is before 1970.
pub(super) fn parse_rfc3339(text: &str) -> Option<u64> {
    let time: Timestamp = text.parse().ok()?;
    u64::try_from(time.as_nanosecond()).ok()
}

/// Converts microseconds to seconds. The division rounds once, so that the shortest decimal has at most six places.
pub(super) fn seconds(at: Time) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "exact below 2^53 microseconds, which are 285 years"
    )]
    let micros = at.0 as f64;
    micros / 1e6
}

/// Converts a duration to milliseconds with at most three decimal places.
pub(super) fn milliseconds(time: Duration) -> f64 {
    let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    seconds(Time(micros.saturating_mul(1000)))
}

/// Converts seconds to microseconds; 0 for a negative or impossible time.
pub(super) fn micros(seconds: f64) -> Time {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturates, and there is no sign left"
    )]
    let micros = (seconds.max(0.0) * 1e6).round() as u64;
    Time(micros)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn texts_are_read_back() {
        for seconds in [
            0,
            1,
            951_782_399,
            951_782_400,
            1_709_164_800,
            1_732_000_000,
            4_102_444_799,
        ] {
            let time = Duration::new(seconds, 123_456_000);
            let text = rfc3339(UNIX_EPOCH + time);
            assert_eq!(
                parse_rfc3339(&text).map(u128::from),
                Some(time.as_nanos()),
                "{text}"
            );
        }
        assert_eq!(parse_rfc3339("1970-01-02T00:00:00Z"), Some(86_400_000_000_000));
        for wrong in [
            "",
            "2020-01-01",
            "2020-13-01T00:00:00Z",
            "x",
            "1969-01-01T00:00:00Z",
        ] {
            assert_eq!(parse_rfc3339(wrong), None, "{wrong}");
        }
    }
}
