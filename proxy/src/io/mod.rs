//! Sockets, the clock and the bus: the part of the proxy that uses the operating system.
//!
//! Law: no decision about the protocol is made here. [`Proxy::start`] opens the listen socket and starts one
//! data thread, which owns the sockets and the [`Hub`](crate::session::Hub). Nothing else uses either, so
//! there are no locks. The input log of [`input_log`] and the journal of [`journal`] have threads of their
//! own. Watchers subscribe to the [`Bus`] and may be slow: the data thread never waits for them.

mod bus;
mod client_addresses;
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
pub use driver::{Ended, ProxyState, Reply, Request};
pub use drops::KernelDrops;
pub use listen::{DEFAULT_PORT, Listen, StartError};
pub use log_file::{Faults, Log, LogError, LogFile, Writing};
pub use moved::is_moved;
pub use priority::Nice;
pub use resolve::{ResolveError, Target};
pub use sockets::Counters;
pub use start::{Busy, Commands, Crashed, Proxy, Running, Settings};

/// Returns random bytes of the operating system: the secret of a run, or its seed if none is given.
///
/// # Errors
/// If the operating system provides no random bytes.
pub fn entropy<const N: usize>() -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    SysRng.try_fill_bytes(&mut bytes).map_err(std::io::Error::other)?;
    Ok(bytes)
}

/// Raises the limit of open files to its maximum, because each session has a socket and the usual 1024 are
/// meant for programs that cannot handle more. Child processes that are started later inherit the limit.
///
/// # Errors
/// Returns the error of the operating system. The limit is unchanged then.
pub fn raise_file_limit() -> std::io::Result<()> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_open_files_is_raised_to_its_maximum() {
        let mut limit = getrlimit(Resource::Nofile);
        let maximum = limit.maximum;
        // Other tests of this process may need some files.
        limit.current = Some(maximum.unwrap_or(1024).min(1024) - 1);
        setrlimit(Resource::Nofile, limit).unwrap();
        raise_file_limit().unwrap();
        let limit = getrlimit(Resource::Nofile);
        assert_eq!((limit.current, limit.maximum), (maximum, maximum));
    }
}
