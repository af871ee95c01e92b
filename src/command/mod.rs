//! The sub-commands.

mod demo;
mod proxy;
mod text;

pub(crate) use demo::demo;
pub(crate) use proxy::proxy;
pub(crate) use text::{completions, man};
