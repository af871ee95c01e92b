//! The terminal UI on a terminal in memory, over recorded sessions.

#![expect(clippy::unwrap_used, reason = "a test may panic: that is how it fails")]

mod actions;
mod colours;
mod feed;
mod held;
mod keys;
mod ladder;
mod list;
mod live;
mod log;
mod losses;
mod messages;
mod orders;
mod panic;
mod proxied;
mod rules;
mod sessions;
mod stats;
mod timeline;
mod tour;
