//! Deadlines of sessions and relays.
//!
//! Each owner has at most one alarm and stores its time, so that the usual case on the data path, a deadline
//! that is not earlier than the alarm, costs one comparison. If the deadline moves to a later time, the alarm
//! is not moved: it fires early, finds nothing due, and is set again. This costs less than moving the alarm
//! for every datagram.

use std::{collections::BTreeSet, time::Duration};

use super::{
    ids::{ClientAddr, SessionId},
    time::Time,
};

/// The owner of an alarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    Session(SessionId),
    Relay(ClientAddr),
    /// Messages outside a connection that rules delay.
    Late,
    /// Messages outside a connection that wait in links.
    Browsing,
    /// The windows in which notices about strangers are counted.
    Strangers,
}

/// The time for which its owner's alarm is set; `None` if the alarm is not set.
#[derive(Debug, Default)]
pub(crate) struct Alarm(Option<Time>);

/// All alarms, in the order of their times.
#[derive(Debug, Default)]
pub(crate) struct Timers(BTreeSet<(Time, Timer)>);

impl Timers {
    /// Returns the time of the earliest alarm.
    pub(crate) fn first(&self) -> Option<Time> {
        self.0.first().map(|(at, _)| *at)
    }

    /// Sets an alarm for `at`, unless it is already set for an earlier time.
    pub(crate) fn set(&mut self, timer: Timer, alarm: &mut Alarm, at: Time) {
        if alarm.0.is_some_and(|set| set <= at) {
            return;
        }
        self.clear(timer, alarm);
        alarm.0 = Some(at);
        self.0.insert((at, timer));
    }

    pub(crate) fn clear(&mut self, timer: Timer, alarm: &mut Alarm) {
        if let Some(at) = alarm.0.take() {
            self.0.remove(&(at, timer));
        }
    }

    /// Postpones an alarm that is set for `now` or earlier by 1 ms. Otherwise an owner that requests the same
    /// time again would keep the other alarms from being handled.
    pub(crate) fn postpone(&mut self, timer: Timer, alarm: &mut Alarm, now: Time) {
        const SOON: Duration = Duration::from_millis(1);
        if alarm.0.is_some_and(|at| at <= now) {
            self.clear(timer, alarm);
            self.set(timer, alarm, now + SOON);
        }
    }

    /// Removes and returns the earliest alarm that is due. The caller has to call [`Alarm::clear`] on the
    /// owner's alarm.
    pub(crate) fn pop_due(&mut self, now: Time) -> Option<Timer> {
        self.0.first().filter(|(at, _)| *at <= now)?;
        self.0.pop_first().map(|(_, timer)| timer)
    }
}

impl Alarm {
    /// Marks the alarm as not set after it was removed.
    pub(crate) fn clear(&mut self) {
        self.0 = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMER: Timer = Timer::Session(SessionId(1));

    #[test]
    fn an_alarm_moves_only_ahead() {
        let (mut timers, mut alarm) = (Timers::default(), Alarm::default());
        timers.set(TIMER, &mut alarm, Time(50));
        timers.set(TIMER, &mut alarm, Time(80));
        assert_eq!(timers.first(), Some(Time(50)));
        timers.set(TIMER, &mut alarm, Time(20));
        assert_eq!((timers.first(), timers.0.len()), (Some(Time(20)), 1));
        assert_eq!(timers.pop_due(Time(19)), None);
        assert_eq!(timers.pop_due(Time(20)), Some(TIMER));
        alarm.clear();
        timers.set(TIMER, &mut alarm, Time(90));
        timers.clear(TIMER, &mut alarm);
        assert_eq!(timers.first(), None);
    }

    #[test]
    fn an_alarm_for_the_past_goes_off_once_and_later() {
        let (mut timers, mut alarm) = (Timers::default(), Alarm::default());
        timers.set(TIMER, &mut alarm, Time(5));
        timers.postpone(TIMER, &mut alarm, Time(100));
        assert_eq!(timers.pop_due(Time(100)), None);
        assert_eq!(timers.pop_due(Time(1_100)), Some(TIMER));
    }
}
