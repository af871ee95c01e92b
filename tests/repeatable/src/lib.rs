//! Random numbers and checksums that are the same on every machine, for tests of all crates.
//!
//! Law: no dependency, because the tests of `wire` use this crate.

mod checksums;
mod random;

pub use checksums::{Checksum, Groups, checksum, keep};
pub use random::Random;
