//! The terminal UI on a terminal in memory, over recorded sessions.

#![expect(clippy::unwrap_used, reason = "a test may panic: that is how it fails")]

mod feed;
mod keys;
mod ladder;
mod list;
mod messages;
mod orders;
mod panic;
mod proxied;
mod sessions;
mod stats;
mod timeline;
mod tour;
