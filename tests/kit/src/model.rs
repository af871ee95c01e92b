//! A scripted server on a real socket, in place of programs that are not packaged: Teeworlds 0.6.4 and 0.6.5, and the
//! challenge of DDNet.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::codec::Variant;
use crate::faulty::Scripted;
use crate::link::SECOND;
use crate::peer::{Policy, Server};

/// Maximum wait for a datagram before the timers are checked, as in the main loops of the games.
const STEP: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 5_000_000,
};

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct Model {
    addr: SocketAddr,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Model {
    /// Starts a server. With `challenges`, clients without tokens have to prove their address by a number hidden in a
    /// join.
    ///
    /// # Errors
    ///
    /// Fails if a socket cannot be opened.
    pub fn start(variant: Variant, challenges: bool) -> io::Result<Self> {
        let policy = Policy {
            max_clients: 1000,
            max_clients_per_ip: 1000,
            challenges,
            ..Policy::default()
        };
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let addr = socket.local_addr()?;
        socket.set_nonblocking(true)?;
        let server = Server::new(variant, policy, u64::from(addr.port()));
        let game = Scripted::new(variant, server, false);
        let is_over = Arc::<AtomicBool>::default();
        let flag = Arc::clone(&is_over);
        let thread = thread::spawn(move || serve(variant, &socket, game, &flag));
        Ok(Self {
            addr,
            is_over,
            thread: Some(thread),
        })
    }

    /// Returns the address on which the server listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// Returns the answer to a request for the server info, which names a release that speaks only 0.6. `None` for
/// another datagram, and for a server of DDNet, which would answer in 0.7, too.
fn info(variant: Variant, datagram: &[u8]) -> Option<Vec<u8>> {
    const OUTSIDE: [u8; 4] = [0xff; 4];
    let release = match variant {
        Variant::V6 => "0.6.4",
        Variant::V65 => "0.6.5",
        _ => return None,
    };
    let (request, token) = datagram.get(6..)?.split_at_checked(8)?;
    if request != [&OUTSIDE[..], b"gie3"].concat() {
        return None;
    }
    let mut answer = [&[0xff; 6][..], &OUTSIDE, b"inf3"].concat();
    let token = token.first()?.to_string();
    for text in [
        token.as_str(),
        release,
        "scripted",
        "dm1",
        "DM",
        "0",
        "0",
        "16",
        "0",
        "16",
    ] {
        answer.extend(text.as_bytes());
        answer.push(0);
    }
    Some(answer)
}

fn serve(variant: Variant, socket: &UdpSocket, mut game: Scripted, is_over: &AtomicBool) {
    // The clock of a machine starts before its servers.
    let clock = |begin: Instant| {
        u64::try_from(begin.elapsed().as_micros())
            .unwrap_or(u64::MAX)
            .saturating_add(60 * SECOND)
    };
    let begin = Instant::now();
    let mut buffer = [0; 2048];
    while !is_over.load(Ordering::Relaxed) {
        // The timeout of a socket is rounded up to ticks of the kernel, so that timers would drift.
        let _interrupted = poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&STEP));
        let now = clock(begin);
        loop {
            match socket.recv_from(&mut buffer) {
                Ok((len, from)) => {
                    let datagram = buffer.get(..len).unwrap_or_default();
                    match info(variant, datagram) {
                        // The client may have closed its socket.
                        Some(answer) => drop(socket.send_to(&answer, from)),
                        None => game.receive(from, datagram, now),
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // A client's port is closed.
                Err(_) => {}
            }
        }
        game.update(now);
        for (to, bytes) in game.take_outgoing() {
            // A client that has closed its socket receives nothing.
            drop(socket.send_to(&bytes, to));
        }
    }
}
