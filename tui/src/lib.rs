//! The terminal UI.
//!
//! ```text
//! keys ── keymap ──> Action ── update ──> App ── view ──> frame
//! decoded events ─────────────────────────┤
//! requests to the proxy, and answers <────┘
//! ```
//!
//! [`app`] holds the state, [`update`] changes it by named [`action`]s, [`view`] draws it as a function of the state, and
//! [`Screen`] connects them to a terminal. `teetap-inspect` provides all content as typed values.
//!
//! Law: the screen is a watcher. It draws at most 30 times a second and only after a change, renders only visible rows,
//! and keeps a history of bounded size. Text from peers reaches the terminal without control characters.
//!
//! Each view has its state in `app/NAME.rs`, which [`App::push`] updates, its drawing code in `view/NAME.rs`, a row
//! in the table of [`app::View`], its panes in [`app::Pane`], and its keys in the table of [`action`].

pub mod action;
pub mod app;
pub mod command;
pub mod keymap;
pub mod request;
mod screen;
#[cfg(test)]
mod tests;
pub mod theme;
pub mod update;
pub mod view;

pub use action::Action;
pub use app::{App, Title};
pub use screen::{Screen, has_hung_up};
pub use theme::Theme;
