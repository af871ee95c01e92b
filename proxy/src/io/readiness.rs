//! Reports sockets that can be read or written.
//!
//! One `epoll` instance holds all sockets and the timer, and the runtime watches only its descriptor. With
//! one task per socket, each datagram cost a wake-up and an additional receive call without a datagram: a
//! tick's burst on sixty sockets took twice the time. Level-triggered, so that a socket with unread datagrams
//! is reported again.

use std::{io, os::fd::OwnedFd};

use rustix::{
    buffer::spare_capacity,
    event::{Timespec, epoll},
    fd::AsFd,
};
use tokio::io::{Interest, unix::AsyncFd};

use crate::session::{ListenerId, UpstreamId};

/// Maximum number of descriptors per report.
const AT_ONCE: usize = 256;

/// Bits of epoll keys. The key of an upstream socket is its number. The key of a listen socket is its number
/// with the bit `LISTEN`. The key of the timer is `TIMER`.
const LISTEN: u64 = 1 << 32;
const TIMER: u64 = 1 << 33;

/// A descriptor that may be ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A socket of the proxy.
    Socket(Which),
    /// The timer of the data thread.
    Timer,
}

/// A socket of the data thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// A socket to which clients send.
    Listen(ListenerId),
    /// A socket to the server.
    Upstream(UpstreamId),
}

/// A source that is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ready {
    pub(super) source: Source,
    /// True if there is a datagram or an error to read.
    pub(super) readable: bool,
    /// True if there is room to send.
    pub(super) writable: bool,
}

/// The set of all descriptors of the data thread.
#[derive(Debug)]
pub(super) struct Readiness(AsyncFd<OwnedFd>);

/// The descriptors of one report. The buffer is reused.
pub(super) struct Batch(Vec<epoll::Event>);

impl Readiness {
    /// Returns an empty set of descriptors.
    ///
    /// # Errors
    /// If the system has no descriptor left.
    #[expect(
        deprecated,
        reason = "the new name is unsafe for types that could lend a descriptor they do not own; an OwnedFd cannot"
    )]
    pub(super) fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        AsyncFd::with_interest(epoll, Interest::READABLE).map(Self)
    }

    /// Watches a descriptor for reading, until it is closed.
    ///
    /// # Errors
    /// If the system refuses to watch more descriptors.
    pub(super) fn add(&self, source: Source, fd: impl AsFd) -> io::Result<()> {
        epoll::add(self.0.get_ref(), fd, key(source), epoll::EventFlags::IN)?;
        Ok(())
    }

    /// Sets whether a socket is also watched for room to send.
    ///
    /// # Errors
    /// If the system refuses.
    pub(super) fn watch_room(&self, which: Which, fd: impl AsFd, wanted: bool) -> io::Result<()> {
        let mut flags = epoll::EventFlags::IN;
        flags.set(epoll::EventFlags::OUT, wanted);
        epoll::modify(self.0.get_ref(), fd, key(Source::Socket(which)), flags)?;
        Ok(())
    }

    /// Waits until a source is ready, and fills `batch` with all that are.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub(super) async fn wait(&self, batch: &mut Batch) -> io::Result<()> {
        let at_once = Timespec::default();
        loop {
            let mut guard = self.0.readable().await?;
            batch.0.clear();
            match epoll::wait(guard.get_inner(), spare_capacity(&mut batch.0), Some(&at_once)) {
                // Only an empty report shows that the runtime has to be polled, since it reports only
                // changes.
                Ok(0) => guard.clear_ready(),
                Ok(_) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Batch {
    pub(super) fn new() -> Self {
        Self(Vec::with_capacity(AT_ONCE))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Ready> {
        self.0.iter().map(|event| {
            let flags = event.flags;
            Ready {
                source: source(event.data.u64()),
                readable: flags.intersects(!epoll::EventFlags::OUT),
                writable: flags.contains(epoll::EventFlags::OUT),
            }
        })
    }
}

fn key(source: Source) -> epoll::EventData {
    epoll::EventData::new_u64(match source {
        Source::Socket(Which::Listen(ListenerId(id))) => LISTEN | u64::from(id),
        Source::Socket(Which::Upstream(UpstreamId(id))) => u64::from(id),
        Source::Timer => TIMER,
    })
}

fn source(key: u64) -> Source {
    match (u32::try_from(key), u32::try_from(key ^ LISTEN)) {
        (Ok(id), _) => Source::Socket(Which::Upstream(UpstreamId(id))),
        (_, Ok(id)) => Source::Socket(Which::Listen(ListenerId(id))),
        _ => Source::Timer,
    }
}

#[cfg(test)]
mod tests {
    use std::{net::UdpSocket, time::Duration};

    use tokio::time::timeout;

    use super::*;

    fn pair() -> (UdpSocket, UdpSocket) {
        let (one, other) = (
            UdpSocket::bind("127.0.0.1:0").unwrap(),
            UdpSocket::bind("127.0.0.1:0").unwrap(),
        );
        other.connect(one.local_addr().unwrap()).unwrap();
        (one, other)
    }

    const SEVEN: Source = Source::Socket(Which::Upstream(UpstreamId(7)));

    #[test]
    fn a_key_belongs_to_one_source() {
        let ids = [0, 1, 7, u32::MAX];
        let upstream = ids.map(|id| Source::Socket(Which::Upstream(UpstreamId(id))));
        let listen = [0, 1, 7, u32::MAX].map(|id| Source::Socket(Which::Listen(ListenerId(id))));
        for of in upstream.into_iter().chain(listen).chain([Source::Timer]) {
            assert_eq!(source(key(of).u64()), of);
        }
    }

    #[tokio::test]
    async fn a_socket_is_reported_until_it_has_been_read() {
        let ((socket, peer), readiness) = (pair(), Readiness::new().unwrap());
        readiness.add(SEVEN, &socket).unwrap();
        let mut batch = Batch::new();
        for _ in 0..2 {
            peer.send(b"x").unwrap();
        }
        for left in (0..2).rev() {
            readiness.wait(&mut batch).await.unwrap();
            let ready: Vec<Ready> = batch.iter().collect();
            let expected = Ready {
                source: SEVEN,
                readable: true,
                writable: false,
            };
            assert_eq!(ready, [expected], "{left} left");
            assert_eq!(socket.recv(&mut [0; 8]).unwrap(), 1);
        }
        let nothing = timeout(Duration::from_millis(20), readiness.wait(&mut batch)).await;
        assert!(nothing.is_err());
        peer.send(b"x").unwrap();
        readiness.wait(&mut batch).await.unwrap();
    }

    #[tokio::test]
    async fn room_is_reported_only_while_it_is_wanted_and_a_closed_socket_never() {
        let ((socket, peer), readiness) = (pair(), Readiness::new().unwrap());
        let listen = Source::Socket(Which::Listen(ListenerId::FIRST));
        readiness.add(listen, &peer).unwrap();
        readiness
            .watch_room(Which::Listen(ListenerId::FIRST), &peer, true)
            .unwrap();
        let mut batch = Batch::new();
        readiness.wait(&mut batch).await.unwrap();
        let expected = Ready {
            source: listen,
            readable: false,
            writable: true,
        };
        assert_eq!(batch.iter().collect::<Vec<_>>(), [expected]);
        readiness
            .watch_room(Which::Listen(ListenerId::FIRST), &peer, false)
            .unwrap();
        readiness.add(SEVEN, &socket).unwrap();
        peer.send(b"x").unwrap();
        drop(socket);
        let nothing = timeout(Duration::from_millis(20), readiness.wait(&mut batch)).await;
        assert!(nothing.is_err());
    }
}
