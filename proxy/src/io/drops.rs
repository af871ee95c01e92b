//! Datagrams that the kernel dropped before they were read.
//!
//! A full receive buffer drops datagrams silently. To the peers this looks like packet loss on the network,
//! so the user of a debugging proxy has to be told about it. The counters are read from
//! `/proc/self/net/udp` and `/proc/self/net/udp6`, at intervals and never on the data path, because a query
//! per datagram would cost too much.

use std::{collections::BTreeMap, fs, io};

/// Fields of a line of `/proc/net/udp` (Linux `Documentation/networking/proc_net_tcp`, net/ipv4/udp.c).
const INODE: usize = 9;
const DROPS: usize = 12;

/// The drops on the UDP sockets of this process.
#[derive(Debug, Default)]
pub struct KernelDrops {
    /// Drops of each socket at the last call, by inode.
    seen: BTreeMap<u64, u64>,
    total: u64,
}

impl KernelDrops {
    /// Returns the number of datagrams dropped since the last call. The last drops of a socket that was
    /// closed in between are unknown.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub fn look(&mut self) -> io::Result<u64> {
        let ours = own_sockets()?;
        let mut now = BTreeMap::new();
        for file in ["/proc/self/net/udp", "/proc/self/net/udp6"] {
            match fs::read_to_string(file) {
                Ok(text) => now.extend(text.lines().skip(1).filter_map(drops)),
                // The machine has no IPv6.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        now.retain(|inode, _| ours.binary_search(inode).is_ok());
        let before = |inode| self.seen.get(inode).copied().unwrap_or(0);
        let news = now
            .iter()
            .map(|(inode, drops)| drops.saturating_sub(before(inode)))
            .sum();
        self.seen = now;
        self.total += news;
        Ok(news)
    }

    /// Returns the total of all calls of [`Self::look`].
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }
}

/// Returns the inodes of this process's sockets, sorted.
fn own_sockets() -> io::Result<Vec<u64>> {
    let mut inodes = Vec::new();
    for entry in fs::read_dir("/proc/self/fd")? {
        // The descriptor was closed in the meantime.
        let Ok(link) = fs::read_link(entry?.path()) else {
            continue;
        };
        let inode = link
            .to_str()
            .and_then(|link| link.strip_prefix("socket:[")?.strip_suffix(']'));
        inodes.extend(inode.and_then(|inode| inode.parse::<u64>().ok()));
    }
    inodes.sort_unstable();
    Ok(inodes)
}

/// Returns the inode and the drops of one line; `None` if they cannot be parsed.
fn drops(line: &str) -> Option<(u64, u64)> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    Some((fields.get(INODE)?.parse().ok()?, fields.get(DROPS)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    /// Sends more bytes than a usual receive buffer holds. Returns the number of datagrams that were dropped.
    fn overflow(local: &str) -> u64 {
        let (socket, peer) = (UdpSocket::bind(local).unwrap(), UdpSocket::bind(local).unwrap());
        let mut drops = KernelDrops::default();
        drops.look().unwrap();
        for _ in 0..3_000 {
            peer.send_to(&[0; 1024], socket.local_addr().unwrap()).unwrap();
        }
        let mut arrived = 0;
        socket.set_nonblocking(true).unwrap();
        while socket.recv(&mut [0; 2048]).is_ok() {
            arrived += 1;
        }
        let dropped = drops.look().unwrap();
        assert_eq!(dropped + arrived, 3_000, "{local}");
        assert_eq!(drops.look().unwrap(), 0, "{local}");
        assert_eq!(drops.total(), dropped, "{local}");
        dropped
    }

    /// One test for both families, because the drops of all sockets of a process are counted.
    #[test]
    fn an_overflow_is_reported_once() {
        assert!(overflow("127.0.0.1:0") > 0);
        // Some machines have no IPv6 address.
        if UdpSocket::bind("[::1]:0").is_ok() {
            assert!(overflow("[::1]:0") > 0);
        }
    }
}
