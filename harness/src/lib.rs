#![doc = include_str!("../README.md")]
//!
//! | module | contents |
//! |---|---|
//! | [`child`] | a command with all processes that it starts, and how they end |
//! | [`torture`] | a client that joins once for each message of a login and each fault |
//! | [`shrink`] | the smallest set of faults with which a command still fails |
//! | [`demo`] | a server and two bots that play through a proxy |
//! | [`outcome`] | the result of a run: its cause, its exit code, the facts at its end, its tests in a report |
//! | [`junit`] | reports for continuous integration |
//! | [`step_summary`] | the same as Markdown, for the summary of a job |
//!
//! Law: nothing here prints, reads the command line or ends the process. Errors are typed; the caller decides about
//! their wording and about exit codes.

pub mod child;
pub mod demo;
pub mod junit;
pub mod outcome;
pub mod shrink;
pub mod step_summary;
pub mod torture;
