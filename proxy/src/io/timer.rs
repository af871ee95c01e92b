//! The timer of the data thread. The runtime's own timer has a resolution of 1 ms, which is too coarse.

use std::{io, os::fd::OwnedFd, time::Duration};

use rustix::{
    fd::{AsFd, BorrowedFd},
    time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    },
};

/// A one-shot timer.
#[derive(Debug)]
pub(super) struct Timer(OwnedFd);

impl Timer {
    /// Returns a timer that is not set.
    ///
    /// # Errors
    /// If the system has no descriptor left.
    pub(super) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        Ok(Self(timerfd_create(TimerfdClockId::Monotonic, flags)?))
    }

    /// Sets the timer to fire once after `delay`, or after 1 ns if `delay` is zero. Replaces an earlier
    /// setting.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub(super) fn set(&self, delay: Duration) -> io::Result<()> {
        // Zero would disable the timer.
        let delay = delay.max(Duration::from_nanos(1));
        let once = Itimerspec {
            it_interval: Timespec::default(),
            it_value: Timespec::try_from(delay).map_err(io::Error::other)?,
        };
        timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &once)?;
        Ok(())
    }

    /// Clears the readiness of the timer after it has fired.
    pub(super) fn clear(&self) {
        // If there is nothing to read, the timer was set again in the meantime, which also cleared it.
        let _count = rustix::io::read(&self.0, &mut [0_u8; 8]);
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use rustix::event::{PollFd, PollFlags, poll};

    use super::*;

    /// Returns true if the timer has fired, or fires within this time.
    fn fires(timer: &Timer, within: Duration) -> bool {
        let within = Timespec::try_from(within).unwrap();
        poll(&mut [PollFd::new(timer, PollFlags::IN)], Some(&within)).unwrap() == 1
    }

    #[test]
    fn a_timer_fires_once_at_the_time_that_was_set_last() {
        let (at_once, soon, late) = (Duration::ZERO, Duration::from_secs(5), Duration::from_secs(100));
        let timer = Timer::new().unwrap();
        timer.clear();
        assert!(!fires(&timer, at_once), "not set");
        timer.set(at_once).unwrap();
        assert!(
            fires(&timer, soon) && fires(&timer, at_once),
            "until it is cleared"
        );
        timer.clear();
        assert!(!fires(&timer, Duration::from_millis(2)), "once");
        timer.set(late).unwrap();
        assert!(!fires(&timer, Duration::from_millis(2)));
        timer.set(Duration::from_micros(1)).unwrap();
        assert!(fires(&timer, soon), "the earlier setting is replaced");
        timer.set(late).unwrap();
        assert!(!fires(&timer, at_once), "setting it again clears it");
    }
}
