#![doc = include_str!("../README.md")]
//!
//! | module | contents |
//! |---|---|
//! | [`rules`] | the rules of a run: texts and watched files, compiled as one program |
//! | [`faults`] | the rules and decisions of a journal, for a run that repeats its faults |
//! | [`Builder`], [`Run`] | a proxy in front of a server: its start, its events, its end |
//! | [`Handle`] | carries out commands for a run, and returns their results |
//! | [`control`] | the control socket, over which scripts send commands and subscribe to events |
//! | [`recording`] | the recording of a run: opened before the start, completed at the end |
//!
//! Law: nothing here prints, reads the command line or ends the process. Errors are typed; the caller decides about
//! their wording, colours and exit codes.

mod builder;
mod commands;
pub mod control;
pub mod faults;
mod query;
pub mod recording;
pub mod rules;
mod run;

pub use builder::{Builder, RunError};
pub use commands::{CommandError, Handle, HeldError, MessageError, Origin, Reply, SessionError, StatusLine};
pub use run::{Run, Summary};
