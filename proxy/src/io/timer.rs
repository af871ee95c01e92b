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
