//! Figures of the kernel about a process: CPU time, memory, sockets.

use std::fs;
use std::net::SocketAddr;

use anyhow::{Context as _, Result};

/// Returns the nanoseconds that all threads of a process have run. Threads that have ended are not counted.
pub(crate) fn cpu_time(pid: u32) -> Result<u64> {
    let mut sum = 0;
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        // The thread may have ended meanwhile.
        let Ok(text) = fs::read_to_string(task?.path().join("schedstat")) else {
            continue;
        };
        let first = text.split_whitespace().next().context("an empty schedstat")?;
        sum += first.parse::<u64>()?;
    }
    Ok(sum)
}

/// Returns the nanoseconds that a process has run outside the kernel, in steps of 10 ms. The kernel samples this
/// time, so only a sum over some seconds is meaningful.
pub(crate) fn user_time(pid: u32) -> Result<u64> {
    /// The unit of the kernel's figures, which is equal on all current machines.
    const TICK: u64 = 10_000_000;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The program name can contain any character, so the fields are counted from its closing parenthesis.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks = fields.split_whitespace().nth(11);
    Ok(ticks.context("no user time in the stat")?.parse::<u64>()? * TICK)
}

/// Returns the resident memory in bytes: the current and the highest value.
pub(crate) fn memory(pid: u32) -> Result<(u64, u64)> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let field = |name: &str| -> Result<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|line| line.split_whitespace().next());
        Ok(kib
            .with_context(|| format!("no {name} in the status"))?
            .parse::<u64>()?
            * 1024)
    };
    Ok((field("VmRSS:")?, field("VmHWM:")?))
}

/// Returns the number of UDP sockets in this network namespace that are connected to `server`: the upstream sockets
/// of all proxies.
pub(crate) fn upstream_sockets(server: SocketAddr) -> Result<usize> {
    sockets(server, REMOTE)
}

/// Returns the number of UDP sockets that are bound to `local`.
pub(crate) fn sockets_at(local: SocketAddr) -> Result<usize> {
    sockets(local, LOCAL)
}

/// Columns of `/proc/net/udp`.
const LOCAL: usize = 1;
const REMOTE: usize = 2;

fn sockets(addr: SocketAddr, column: usize) -> Result<usize> {
    let SocketAddr::V4(addr) = addr else {
        return Ok(0);
    };
    // The address in the form of the kernel: its four bytes as one number in native byte order.
    let address = u32::from_ne_bytes(addr.ip().octets());
    let printed = format!("{address:08X}:{:04X}", addr.port());
    let table = fs::read_to_string("/proc/net/udp")?;
    Ok(table
        .lines()
        .filter(|line| line.split_whitespace().nth(column) == Some(&printed))
        .count())
}

/// Returns the load averages of 1, 5 and 15 minutes, in the form of the kernel.
pub(crate) fn load_average() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
}
