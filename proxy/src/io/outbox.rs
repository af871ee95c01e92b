//! Sends on one socket: immediately, or later if the kernel has no room.
//!
//! Law: the order is kept, memory is bounded, and dropped datagrams are counted. A UDP sender may drop
//! datagrams but must not block.

use std::{
    collections::VecDeque,
    io,
    net::{SocketAddr, UdpSocket},
};

use super::udp;

/// Maximum datagrams that wait for room in the kernel's send buffer: the burst of a full server in one tick.
const WAITING: usize = 256;

/// The queue of one socket.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    waiting: VecDeque<(Option<SocketAddr>, Box<[u8]>)>,
}

/// The result of sending a datagram.
#[derive(Debug)]
pub(super) enum Sent {
    /// The kernel accepted the datagram. The error, if any, belongs to an earlier datagram (ICMP), because a
    /// connected socket reports it late.
    Now(Option<io::Error>),
    /// The datagram is the first one in the queue. The caller has to call [`Outbox::flush`] when the socket
    /// is writable.
    First,
    /// The datagram is queued after others.
    Queued,
    /// The queue is full: the datagram is dropped.
    Dropped,
    /// The kernel refused the datagram: it is dropped.
    Failed(io::Error),
}

/// A socket that does not block.
pub(super) trait NonBlocking {
    /// Sends a datagram to `addr`, or to the connected address if `None`.
    ///
    /// # Errors
    /// Returns the error of the kernel; `WouldBlock` if it has no room.
    fn put(&self, addr: Option<SocketAddr>, bytes: &[u8]) -> io::Result<()>;
}

impl NonBlocking for UdpSocket {
    fn put(&self, addr: Option<SocketAddr>, bytes: &[u8]) -> io::Result<()> {
        udp::send(self, addr, bytes)
    }
}

impl Outbox {
    /// Sends or queues a datagram to `addr`, or to the connected address if `None`.
    pub(super) fn send(&mut self, socket: &impl NonBlocking, addr: Option<SocketAddr>, bytes: &[u8]) -> Sent {
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
            Sent::Queued
        }
    }

    /// Sends queued datagrams until the kernel has no room. Returns the number of datagrams that the kernel
    /// refused.
    pub(super) fn flush(&mut self, socket: &impl NonBlocking) -> u64 {
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

    /// Drops all queued datagrams and returns their number.
    pub(super) fn give_up(&mut self) -> u64 {
        let waiting = self.waiting.len();
        self.waiting.clear();
        u64::try_from(waiting).unwrap_or(u64::MAX)
    }

    /// Returns true if no datagram is queued.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

/// Sends a datagram. An error of an earlier datagram makes a send fail without sending, so a failed send is
/// tried again: an error of the second try belongs to this datagram. Returns the earlier error.
fn put(socket: &impl NonBlocking, addr: Option<SocketAddr>, bytes: &[u8]) -> io::Result<Option<io::Error>> {
    match socket.put(addr, bytes) {
        Ok(()) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(error),
        Err(earlier) => socket.put(addr, bytes).map(|()| Some(earlier)),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;

    /// A socket with room for a number of datagrams.
    #[derive(Default)]
    struct Narrow {
        room: Cell<usize>,
        sent: RefCell<Vec<usize>>,
    }

    impl NonBlocking for Narrow {
        fn put(&self, _addr: Option<SocketAddr>, bytes: &[u8]) -> io::Result<()> {
            let room = self.room.get().checked_sub(1).ok_or(io::ErrorKind::WouldBlock)?;
            self.room.set(room);
            self.sent.borrow_mut().push(bytes.len());
            Ok(())
        }
    }

    #[test]
    fn what_waits_leaves_in_order_and_the_rest_is_dropped() {
        let (socket, mut outbox) = (Narrow::default(), Outbox::default());
        for number in 0..WAITING {
            let sent = outbox.send(&socket, None, &vec![0; number]);
            assert!(matches!(sent, Sent::First) == (number == 0), "{number}: {sent:?}");
        }
        assert!(matches!(outbox.send(&socket, None, b"late"), Sent::Dropped));
        socket.room.set(3);
        assert_eq!(outbox.flush(&socket), 0);
        assert!(!outbox.is_empty());
        // No datagram overtakes the queue.
        socket.room.set(WAITING);
        assert!(matches!(
            outbox.send(&socket, None, &vec![0; WAITING]),
            Sent::Queued
        ));
        assert_eq!(outbox.flush(&socket), 0);
        assert_eq!((outbox.is_empty(), outbox.give_up()), (true, 0));
        assert_eq!(*socket.sent.borrow(), (0..=WAITING).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_given_up_is_counted() {
        let (socket, mut outbox) = (Narrow::default(), Outbox::default());
        for _ in 0..2 {
            outbox.send(&socket, None, b"x");
        }
        assert_eq!((outbox.give_up(), outbox.is_empty()), (2, true));
    }

    #[test]
    fn an_error_of_an_earlier_datagram_does_not_cost_this_one() {
        let peer = udp::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let addr = peer.local_addr().unwrap();
        let socket = udp::connect(addr).unwrap();
        drop(peer);
        let mut outbox = Outbox::default();
        assert!(matches!(outbox.send(&socket, None, b"lost"), Sent::Now(None)));
        let peer = udp::bind(addr).unwrap();
        let sent = outbox.send(&socket, None, b"right");
        assert!(
            matches!(&sent, Sent::Now(Some(error)) if error.kind() == io::ErrorKind::ConnectionRefused),
            "{sent:?}"
        );
        peer.set_nonblocking(false).unwrap();
        let mut bytes = [0; 8];
        assert_eq!(peer.recv(&mut bytes).unwrap(), 5);
    }
}
