//! Commands that control a run, from scripts (control socket), from `teetap ctl`, and from the terminal UI.
//!
//! | module | part |
//! |---|---|
//! | `command` | the commands, shared by JSON lines, the command line and the terminal UI |
//! | `place` | the arguments that name a held message or a leg |
//! | `line` | conversion between JSON lines and commands |
//! | `prompt` | commands typed as the words of `teetap ctl` |

mod command;
mod line;
mod place;
mod prompt;

pub use command::{Command, Inject, RuleCommand};
pub use line::{Cause, Refusal, parse, request};
pub use place::{Edit, HeldPlace, Sides};
pub use prompt::{CommandHelp, PromptError, command_help, error_line, parse_line, parse_words};
