//! Sockets, the clock and the bus: everything of the proxy that touches the machine.
//!
//! Law: no decision about the protocol is taken here. [`Proxy::start`] opens the listen socket and one data thread
//! that owns the sockets and the [`Hub`](crate::session::Hub); nothing else touches either, so there are no locks.
//! The input log of [`input_log`] and the journal of [`journal`] have threads of their own.
//! Watchers hang on the [`Bus`] and can be late: the data thread never wakes them and never waits for them.

mod bus;
mod clock;
mod driver;
mod drops;
pub mod files;
pub mod input_log;
pub mod journal;
mod listen;
mod log_file;
mod moved;
mod outbox;
mod priority;
pub mod probe;
mod readiness;
mod resolve;
mod sockets;
mod start;
mod timer;
mod udp;

use rand::{TryRng as _, rngs::SysRng};
use rustix::process::{Resource, getrlimit, setrlimit};

pub use bus::{Bus, Publisher, Raw, Seen, Stage, Watcher, Worker};
pub use clock::Clock;
pub use driver::{Ended, Look, Reply, Request};
pub use drops::KernelDrops;
pub use listen::{DEFAULT_PORT, Listen, StartError};
pub use log_file::{Faults, Log, LogError, LogFile, Writing};
pub use moved::is_moved;
pub use priority::Nice;
pub use resolve::{ResolveError, Target};
pub use sockets::Counters;
pub use start::{Busy, Commands, Crashed, Proxy, Running, Settings};

/// Returns random bytes of the operating system: the secret of a run, or its seed when none is given.
///
/// # Errors
/// The operating system has none.
pub fn entropy<const N: usize>() -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    SysRng.try_fill_bytes(&mut bytes).map_err(std::io::Error::other)?;
    Ok(bytes)
}

/// Lets this process open as many files as it may: each session has a socket, and the usual 1024 are meant for programs
/// that cannot deal with more. Children started later inherit it.
///
/// # Errors
/// Returns the error of the operating system; the limit stays as it was.
pub fn raise_file_limit() -> std::io::Result<()> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit)?;
    Ok(())
}
