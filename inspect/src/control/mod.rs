//! Commands for a run: from scripts through the control socket, from `teetap ctl`, and from a person at the screen.
//!
//! | module | part |
//! |---|---|
//! | `command` | the commands, which JSON lines, the command line and the screen share |
//! | `place` | the arguments that name a held message or a leg |
//! | `line` | from a JSON line to a command, and back |

mod command;
mod line;
mod place;

pub use command::{Command, Inject, RuleCommand};
pub use line::{Refusal, parse, request};
pub use place::{Edit, HeldPlace, Sides};
