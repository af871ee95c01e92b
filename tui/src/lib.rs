#![doc = include_str!("../README.md")]
//!
//! ```text
//! keys ── keymap ──> Action ── update ──> App ── view ──> frame
//! decoded events ─────────────────────────┤
//! requests to the proxy, and answers <────┘
//! ```
//!
//! `app` holds the state, `update` changes it by named `action`s, `view` draws it as a function of the state, and
//! [`Screen`] connects them to a terminal. `teetap-inspect` provides all content as typed values.
//!
//! Law: the screen is a watcher. It draws at most 30 times a second and only after a change, renders only visible rows,
//! and keeps a history of bounded size. Text from peers reaches the terminal without control characters.
//!
//! Each view has its state in `app/NAME.rs`, which [`App::push`] updates, its drawing code in `view/NAME.rs`, a row
//! in the table of `app::View`, its panes in `app::Pane`, and its keys in the table of `action`.

mod action;
mod app;
mod command;
mod keymap;
mod request;
mod screen;
#[cfg(test)]
mod tests;
mod theme;
mod update;
mod view;

pub use action::{ACTIONS, Action, ActionRow};
pub use app::{
    App, Title,
    filter::SyntaxError,
    timeline::{Reading, Seek},
};
pub use keymap::{KeyPress, UnknownKey};
pub use request::{NoProxy, Reply, Request, RequestError};
pub use screen::{Screen, has_hung_up};
pub use theme::Theme;
