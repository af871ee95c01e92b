//! The sub-commands.

mod against;
mod check;
mod config;
mod ctl;
mod demo;
mod diff;
mod explain;
mod file;
mod fmt;
mod messages;
mod museum;
mod notes;
mod open;
mod proxy;
mod replay;
mod scrub;
mod shrink;
mod text;
mod torture;

pub(crate) use check::check;
pub(crate) use config::config;
pub(crate) use ctl::ctl;
pub(crate) use demo::demo;
pub(crate) use diff::diff;
pub(crate) use explain::explain;
pub(crate) use fmt::fmt;
pub(crate) use messages::{form, messages};
pub(crate) use museum::museum;
pub(crate) use open::{grep, open};
pub(crate) use proxy::{Mode, proxy};
pub(crate) use replay::replay;
pub(crate) use scrub::scrub;
pub(crate) use shrink::shrink;
pub(crate) use text::{completions, man};
pub(crate) use torture::torture;
