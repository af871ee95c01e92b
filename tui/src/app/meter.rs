//! Counts of the whole run, for the last line of the screen.

use std::collections::BTreeMap;

use teetap_inspect::{Reading, reading::MessageOutcome};
use teetap_proxy::session::{Action, Time};
use teetap_wire::{Code, Severity};

/// Counts of messages, and of notes on them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meter {
    /// Number of messages so far.
    pub(crate) messages: u64,
    /// Number of messages that rules dropped or lost.
    pub(crate) dropped: u64,
    /// Number of notes with the severity warning or error, by code.
    pub(crate) lints: BTreeMap<&'static str, u64>,
    /// Number of messages in the current second and in the previous one.
    seconds: [u64; 2],
    /// Number of the current second.
    second: u64,
}

impl Meter {
    /// Counts the messages of an event.
    pub(crate) fn count(&mut self, at: Time, reading: &Reading) {
        self.tick(at);
        let messages = reading.messages.len() as u64;
        self.messages += messages;
        let [now, _] = &mut self.seconds;
        *now += messages;
        reading.notes.iter().for_each(|note| self.lint(note.code));
        for message in &reading.messages {
            let is_dropped = matches!(
                message.handling.done,
                MessageOutcome::Placed(Action::Drop | Action::Lose)
            );
            self.dropped += u64::from(is_dropped);
            message.notes.iter().for_each(|note| self.lint(note.code));
        }
    }

    fn lint(&mut self, code: Code) {
        if code.severity() >= Severity::Warning {
            *self.lints.entry(code.name()).or_default() += 1;
        }
    }

    /// Updates the time. Returns true if the rate may have changed.
    pub(crate) fn tick(&mut self, now: Time) -> bool {
        let second = now.0 / 1_000_000;
        let [current, last] = self.seconds;
        match second.checked_sub(self.second) {
            None | Some(0) => return false,
            Some(1) => self.seconds = [0, current],
            Some(_) => self.seconds = [0, 0],
        }
        self.second = second;
        [current, last] != [0, 0]
    }

    /// Returns the number of messages in the last whole second.
    #[must_use]
    pub(crate) const fn rate(&self) -> u64 {
        let [_, last] = self.seconds;
        last
    }

    /// Returns the number of notes with the severity warning or error.
    #[must_use]
    pub(crate) fn lint_count(&self) -> u64 {
        self.lints.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_the_number_of_messages_in_the_last_whole_second() {
        let mut meter = Meter {
            seconds: [5, 3],
            second: 10,
            ..Meter::default()
        };
        // Each time in ms, whether the rate may have changed, and the rate.
        for (ms, is_changed, rate) in [
            (9_000, false, 3),
            (10_999, false, 3),
            (11_000, true, 5),
            (11_500, false, 5),
            (12_000, true, 0),
            (13_000, false, 0),
        ] {
            assert_eq!(
                (meter.tick(Time(ms * 1000)), meter.rate()),
                (is_changed, rate),
                "{ms} ms"
            );
        }
        meter.seconds = [7, 0];
        assert!(meter.tick(Time(15_000_000)), "a second was left out");
        assert_eq!((meter.rate(), meter.seconds, meter.second), (0, [0, 0], 15));
    }

    #[test]
    fn only_notes_from_warnings_on_are_counted() {
        let mut meter = Meter::default();
        let mut expected = 0;
        for code in Code::ALL {
            meter.lint(*code);
            meter.lint(*code);
            let is_counted = code.severity() != Severity::Info;
            expected += if is_counted { 2 } else { 0 };
            assert_eq!(
                meter.lints.get(code.name()),
                is_counted.then_some(&2),
                "{}",
                code.name()
            );
        }
        assert_eq!(meter.lint_count(), expected);
    }
}
