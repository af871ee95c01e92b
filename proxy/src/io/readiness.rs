//! The sockets that have something to read, or room to write.
//!
//! One `epoll` instance holds all sockets and the timer, and the runtime watches that one descriptor. A task for each
//! socket cost a datagram its own wake-up and one more receive that finds nothing: a tick's burst on sixty sockets took
//! twice the time. Level-triggered, so that a socket with datagrams left is reported again.

use std::{io, os::fd::OwnedFd};

use rustix::{
    buffer::spare_capacity,
    event::{Timespec, epoll},
    fd::AsFd,
};
use tokio::io::{Interest, unix::AsyncFd};

use crate::session::{ListenerId, UpstreamId};

/// Descriptors reported at once.
const AT_ONCE: usize = 256;

/// The marks of keys: an upstream socket has its number, a listen socket this and its number, the timer this alone.
const LISTEN: u64 = 1 << 32;
const TIMER: u64 = 1 << 33;

/// A source that is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A socket.
    Socket(Which),
    /// The timer has gone off.
    Timer,
}

/// A socket of the data thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// One that clients send to.
    Listen(ListenerId),
    /// One towards the server.
    Upstream(UpstreamId),
}

/// Something that is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ready {
    pub(super) source: Source,
    /// There is a datagram, or an error to be read.
    pub(super) readable: bool,
    /// There is room to send.
    pub(super) writable: bool,
}

/// All descriptors of the data thread.
#[derive(Debug)]
pub(super) struct Readiness(AsyncFd<OwnedFd>);

/// The descriptors reported by one call, kept from call to call.
pub(super) struct Batch(Vec<epoll::Event>);

impl Readiness {
    /// A set of descriptors that is still empty.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    #[expect(
        deprecated,
        reason = "the new name is unsafe for types that could lend a descriptor they do not own; an OwnedFd cannot"
    )]
    pub(super) fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        AsyncFd::with_interest(epoll, Interest::READABLE).map(Self)
    }

    /// Watches a descriptor for reading from now on; closing it ends that.
    ///
    /// # Errors
    /// When the system refuses to watch any more.
    pub(super) fn add(&self, source: Source, fd: impl AsFd) -> io::Result<()> {
        epoll::add(self.0.get_ref(), fd, key(source), epoll::EventFlags::IN)?;
        Ok(())
    }

    /// Sets whether a socket is watched for room to write, too.
    ///
    /// # Errors
    /// When the system refuses.
    pub(super) fn watch_room(&self, which: Which, fd: impl AsFd, wanted: bool) -> io::Result<()> {
        let mut flags = epoll::EventFlags::IN;
        flags.set(epoll::EventFlags::OUT, wanted);
        epoll::modify(self.0.get_ref(), fd, key(Source::Socket(which)), flags)?;
        Ok(())
    }

    /// Waits until something is ready, and reports it.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub(super) async fn wait(&self, batch: &mut Batch) -> io::Result<()> {
        let at_once = Timespec::default();
        loop {
            let mut guard = self.0.readable().await?;
            batch.0.clear();
            match epoll::wait(guard.get_inner(), spare_capacity(&mut batch.0), Some(&at_once)) {
                // Only an empty answer says that the runtime has to be polled: it reports changes alone.
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
