//! A message that is sent repeatedly.

use std::time::Duration;

use teetap_inspect::control::{Command, Inject};
use teetap_proxy::session::{SessionId, Time};
use teetap_rules::syntax::{self, Kind, Quantity};

use crate::request::Request;

/// Minimum interval: the screen checks the time 50 times a second.
const SHORTEST: Duration = Duration::from_millis(20);

/// A message with its interval.
#[derive(Clone, Debug)]
pub(crate) struct Repeat {
    /// Session of the message; `None` = the only session that is online.
    session: Option<SessionId>,
    /// Message in the syntax of rules.
    text: String,
    /// Interval between two sends.
    pub(crate) every: Duration,
    /// Time of the next send; `None` before the first one.
    next: Option<Time>,
    /// Number of messages sent.
    pub(crate) sent: u64,
}

/// The time after `every` is missing, not a time, or too short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("after every expected a time of at least 20ms, such as every 500ms")]
pub(crate) struct InvalidInterval;

/// Splits `every DURATION` off the end of a message.
///
/// # Errors
/// The text after `every` is not a valid interval.
pub(crate) fn split(text: &str) -> Result<(&str, Option<Duration>), InvalidInterval> {
    let Some((message, time)) = text
        .rsplit_once(" every ")
        .filter(|(_, time)| !time.contains('}'))
    else {
        return Ok((text, None));
    };
    let number = match syntax::parse(time.trim()).map(|expr| expr.kind) {
        Ok(Kind::Number(number)) if number.quantity() == Quantity::Duration => number.value(),
        _ => None,
    };
    let every = number
        .and_then(|micros| u64::try_from(micros).ok())
        .map(Duration::from_micros);
    match every.filter(|every| *every >= SHORTEST) {
        Some(every) => Ok((message.trim_end(), Some(every))),
        None => Err(InvalidInterval),
    }
}

impl Repeat {
    /// Returns a message that is sent immediately and then at each interval.
    #[must_use]
    pub(crate) fn new(session: Option<SessionId>, text: &str, every: Duration) -> Self {
        Self {
            session,
            text: text.to_owned(),
            every,
            next: None,
            sent: 0,
        }
    }

    /// Returns the next request if it is due. Skips intervals that were missed.
    pub(crate) fn due(&mut self, now: Time) -> Option<Request> {
        if self.next.is_some_and(|next| now < next) {
            return None;
        }
        self.next = Some(self.next.map_or(now, |next| next.max(now)) + self.every);
        self.sent += 1;
        Some(Command::Inject(Inject::text(self.session, &self.text)).into())
    }

    /// Returns true if a request is a send of this message.
    #[must_use]
    pub(crate) fn is_of(&self, request: &Request) -> bool {
        let Request::Run(Command::Inject(inject)) = request else {
            return false;
        };
        inject.message.as_ref() == Some(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_taken_off_the_end() {
        for (text, message, every) in [
            ("s2c sv_chat", "s2c sv_chat", None),
            ("s2c sv_chat every 2s", "s2c sv_chat", Some(2000)),
            (
                "c2s cl_say{message: \"a every 2s\"}",
                "c2s cl_say{message: \"a every 2s\"}",
                None,
            ),
            (
                "c2s cl_say{message: \" every \"} every 250ms",
                "c2s cl_say{message: \" every \"}",
                Some(250),
            ),
        ] {
            assert_eq!(split(text), Ok((message, every.map(Duration::from_millis))));
        }
        for wrong in ["a every soon", "a every 5", "a every 1ms", "a every "] {
            assert!(split(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn it_is_sent_at_once_and_then_at_its_times() {
        let mut repeat = Repeat::new(None, "s2c sv_chat", Duration::from_millis(100));
        let due = |repeat: &mut Repeat, ms: u64| repeat.due(Time(ms * 1000)).is_some();
        assert!(due(&mut repeat, 5) && !due(&mut repeat, 50) && due(&mut repeat, 105));
        // The program was suspended meanwhile.
        assert!(due(&mut repeat, 9000) && !due(&mut repeat, 9001));
        assert_eq!(repeat.sent, 3);
    }
}
