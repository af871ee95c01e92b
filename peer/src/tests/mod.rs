//! The peers in virtual time.

use std::time::Duration;

use teetap_kit::link::{Conditions, MS};

mod connection;

/// Time moves by this.
const STEP: Duration = Duration::from_millis(5);

const FINE: Conditions = Conditions {
    delay: MS,
    jitter: 0,
    loss: 0.0,
    duplicate: 0.0,
};

/// The time of the kit's links.
fn micros(now: Duration) -> u64 {
    u64::try_from(now.as_micros()).unwrap()
}
