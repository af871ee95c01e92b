//! The terminal UI on a terminal in memory, over recorded sessions.

mod actions;
mod colours;
pub(crate) mod feed;
mod forms;
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
mod prompt;
mod proxied;
mod rules;
mod same;
mod sessions;
mod stats;
mod timeline;
mod tour;
mod twelve;
mod walk;
