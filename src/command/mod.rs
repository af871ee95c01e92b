//! The sub-commands.

mod demo;
mod open;
mod proxy;
mod replay;
mod text;

pub(crate) use demo::demo;
pub(crate) use open::open;
pub(crate) use proxy::proxy;
pub(crate) use replay::replay;
pub(crate) use text::{completions, man};
