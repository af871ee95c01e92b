//! Sending on one socket: at once, and a few datagrams kept when the kernel has no room.
//!
//! Law: order is kept, memory is bounded, and what is dropped is counted. A UDP sender may drop; it may not wait.

use std::{collections::VecDeque, io, net::SocketAddr};

use tokio::net::UdpSocket;

/// Datagrams that wait for room in the kernel's send buffer, at most; a tick's burst of a full server.
const WAITING: usize = 256;

/// The queue of one socket.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    waiting: VecDeque<(Option<SocketAddr>, Box<[u8]>)>,
}

/// What became of a datagram.
#[derive(Debug)]
pub(super) enum Sent {
    /// The kernel has it. The error, if any, is of an earlier datagram (ICMP): a connected socket tells it late.
    Now(Option<io::Error>),
    /// It is the first that waits: somebody has to call [`Outbox::flush`] when the socket is writable.
    First,
    /// It waits behind others.
    Behind,
    /// No room: dropped.
    Dropped,
    /// The kernel refused it: dropped.
    Failed(io::Error),
}

impl Outbox {
    /// Sends, to `addr` or to where the socket is connected to (`None`).
    pub(super) fn send(&mut self, socket: &UdpSocket, addr: Option<SocketAddr>, bytes: &[u8]) -> Sent {
        if self.waiting.is_empty() {
            match put(socket, addr, bytes) {
                Ok(earlier) => return Sent::Now(earlier),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Sent::Failed(error),
            }
        }
        if self.waiting.len() >= WAITING {
            return Sent::Dropped;
        }
        self.waiting.push_back((addr, bytes.into()));
        if self.waiting.len() == 1 {
            Sent::First
        } else {
            Sent::Behind
        }
    }

    /// Sends what waits until the kernel is full again; gives the number of datagrams the kernel refused.
    pub(super) fn flush(&mut self, socket: &UdpSocket) -> u64 {
        let mut refused = 0;
        while let Some((addr, bytes)) = self.waiting.front() {
            match put(socket, *addr, bytes) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => refused += 1,
            }
            self.waiting.pop_front();
        }
        refused
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// How many datagrams wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }
}

/// One send. An error that an earlier datagram left behind fails a send without sending: hence the second try,
/// after which an error is this datagram's own. Gives the earlier error.
fn put(socket: &UdpSocket, addr: Option<SocketAddr>, bytes: &[u8]) -> io::Result<Option<io::Error>> {
    let once = || match addr {
        Some(addr) => socket.try_send_to(bytes, addr),
        None => socket.try_send(bytes),
    };
    match once() {
        Ok(_) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(error),
        Err(earlier) => once().map(|_| Some(earlier)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::udp;

    fn local() -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 0))
    }

    #[tokio::test]
    async fn what_waits_leaves_in_order_and_the_rest_is_dropped() {
        let peer = udp::bind(local()).unwrap();
        let socket = UdpSocket::from_std(udp::connect(peer.local_addr().unwrap()).unwrap()).unwrap();
        let mut outbox = Outbox::default();
        // A fresh socket is not known to be writable before the runtime has looked once: everything waits.
        for number in 0..WAITING {
            let sent = outbox.send(&socket, None, &[number.to_le_bytes()[0]]);
            assert!(matches!(sent, Sent::First) == (number == 0), "{number}: {sent:?}");
        }
        assert!(matches!(outbox.send(&socket, None, b"late"), Sent::Dropped));
        socket.writable().await.unwrap();
        assert_eq!(outbox.flush(&socket), 0);
        assert!(outbox.is_empty());
        peer.set_nonblocking(false).unwrap();
        for number in 0..WAITING {
            let mut byte = [0];
            peer.recv(&mut byte).unwrap();
            assert_eq!(byte[0], number.to_le_bytes()[0]);
        }
    }

    #[tokio::test]
    async fn an_error_of_an_earlier_datagram_does_not_cost_this_one() {
        let peer = udp::bind(local()).unwrap();
        let addr = peer.local_addr().unwrap();
        let socket = UdpSocket::from_std(udp::connect(addr).unwrap()).unwrap();
        socket.writable().await.unwrap();
        drop(peer);
        let mut outbox = Outbox::default();
        assert!(matches!(
            outbox.send(&socket, None, b"nobody hears this"),
            Sent::Now(None)
        ));
        let peer = udp::bind(addr).unwrap();
        let sent = outbox.send(&socket, None, b"heard");
        assert!(
            matches!(&sent, Sent::Now(Some(error)) if error.kind() == io::ErrorKind::ConnectionRefused),
            "{sent:?}"
        );
        peer.set_nonblocking(false).unwrap();
        let mut bytes = [0; 8];
        assert_eq!(peer.recv(&mut bytes).unwrap(), 5);
    }
}
