//! The sequence numbers of both directions of a session.

use std::time::Duration;

use teetap_wire::Dir;

use crate::session::{RestartedNumbers, Time, splice::Splice};

#[derive(Debug)]
pub(super) struct Directions {
    pub(super) c2s: Splice,
    pub(super) s2c: Splice,
}

impl Directions {
    pub(super) fn new() -> Self {
        Self {
            c2s: Splice::new(),
            s2c: Splice::new(),
        }
    }

    /// Restarts the numbers of both directions, from the numbers that were sent since.
    pub(super) fn restart(&mut self, since: RestartedNumbers) {
        self.c2s = Splice::since(since.window(Dir::C2s));
        self.s2c = Splice::since(since.window(Dir::S2c));
    }

    pub(super) fn splice(&mut self, dir: Dir) -> &mut Splice {
        match dir {
            Dir::C2s => &mut self.c2s,
            Dir::S2c => &mut self.s2c,
        }
    }

    /// Returns true if the numbers of both directions pass unchanged.
    pub(super) fn are_identity(&self) -> bool {
        self.c2s.is_identity() && self.s2c.is_identity()
    }

    /// Returns the age of the oldest message in the custody of the proxy.
    pub(super) fn custody_age(&self, now: Time) -> Duration {
        self.c2s.custody_age(now).max(self.s2c.custody_age(now))
    }

    /// Returns the next time at which a message has to be sent.
    pub(super) fn deadline(&self) -> Option<Time> {
        let both = [self.c2s.deadline(), self.s2c.deadline()];
        both.into_iter().flatten().min()
    }
}
