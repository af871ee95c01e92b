//! A run of teetap in process: what lies between the session core and the programs that show or steer a run.
//!
//! | module | contents |
//! |---|---|
//! | [`rules`] | the rules of a run: texts and watched files, compiled as one program |
//! | [`faults`] | the rules and decisions of a journal, for a run that repeats its faults |
//! | [`Builder`], [`Run`] | a proxy in front of a server: its start, its events, its end |
//! | [`recording`] | the recording of a run: opened before the start, complete at the end |
//!
//! Law: nothing here prints, reads the command line or ends the process. Errors are typed; the caller decides about words
//! around them, colours and exit codes.

pub mod faults;
pub mod recording;
pub mod rules;
mod run;

pub use run::{Builder, Plan, Run, RunError, Summary};
