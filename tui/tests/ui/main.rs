//! The terminal UI on a terminal in memory, over recorded sessions.

#![expect(clippy::unwrap_used, reason = "a test may panic: that is how it fails")]

mod feed;
mod keys;
mod list;
mod messages;
mod orders;
