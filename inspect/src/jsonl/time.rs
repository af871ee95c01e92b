//! Wall-clock times as text: UTC, RFC 3339, with microseconds.

use std::time::SystemTime;

const DAY: u64 = 86_400;

/// UTC with microseconds.
pub fn rfc3339(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (since.as_secs() / DAY, since.as_secs() % DAY);
    let (year, month, day) = civil(days);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}.{:06}Z",
        second % 60,
        since.subsec_micros()
    )
}

/// Gregorian date of a day since 1970-01-01. Years begin in March here, so that a leap day ends its year.
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

/// Nanoseconds since 1970 of such a text; `None` where it is none, or of before 1970.
pub(super) fn parse_rfc3339(text: &str) -> Option<u64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let mut date = date.split('-').map(str::parse::<u64>);
    let (year, month, day) = (date.next()?.ok()?, date.next()?.ok()?, date.next()?.ok()?);
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let mut time = time.split(':').map(str::parse::<u64>);
    let (hour, minute, second) = (time.next()?.ok()?, time.next()?.ok()?, time.next()?.ok()?);
    let nanoseconds = format!("{fraction:0<9}").get(..9)?.parse::<u64>().ok()?;
    if !(1970..=2500).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let seconds = days(year, month, day) * DAY + hour.min(23) * 3600 + minute.min(59) * 60 + second.min(60);
    seconds.checked_mul(1_000_000_000)?.checked_add(nanoseconds)
}

/// Days from 1970-01-01 to a date: [`civil`] the other way round.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year / 400, year % 400);
    let shifted = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * shifted + 2) / 5 + day - 1;
    (era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year).saturating_sub(719_468)
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
            "2020-01-01T00:00Z",
            "x",
            "1969-01-01T00:00:00Z",
        ] {
            assert_eq!(parse_rfc3339(wrong), None, "{wrong}");
        }
    }
}
