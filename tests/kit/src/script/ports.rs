//! The sockets of a client, each read by its own thread, so that the time of an answer is the time of its arrival.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Interval at which a reader checks whether it is still needed.
const LOOK: Duration = Duration::from_millis(200);

/// A received datagram with the number of its socket and its arrival time.
pub(super) struct Arrived {
    pub(super) at: Instant,
    pub(super) port: usize,
    pub(super) bytes: Vec<u8>,
}

/// The sockets.
pub(super) struct Ports {
    server: SocketAddr,
    sockets: Vec<UdpSocket>,
    sender: Sender<Arrived>,
    receiver: Receiver<Arrived>,
    is_over: Arc<AtomicBool>,
}

impl Ports {
    pub(super) fn new(server: SocketAddr) -> Self {
        let (sender, receiver) = channel();
        Self {
            server,
            sockets: Vec::new(),
            sender,
            receiver,
            is_over: Arc::default(),
        }
    }

    /// Returns the number of sockets.
    pub(super) fn len(&self) -> usize {
        self.sockets.len()
    }

    /// Sends from a socket, which is opened if necessary.
    pub(super) fn send(&mut self, port: usize, bytes: &[u8]) -> io::Result<()> {
        while self.sockets.len() <= port {
            self.open()?;
        }
        match self.sockets.get(port).map(|socket| socket.send(bytes)) {
            // The system reports that the port is closed: treated like a server that does not answer.
            Some(Err(error)) if error.kind() != ErrorKind::ConnectionRefused => Err(error),
            _ => Ok(()),
        }
    }

    /// Returns the next datagram received before `until`.
    pub(super) fn receive(&self, until: Instant) -> Option<Arrived> {
        let wait = until.saturating_duration_since(Instant::now());
        // Only a timeout is possible, since a sender is kept here.
        self.receiver.recv_timeout(wait).ok()
    }

    fn open(&mut self) -> io::Result<()> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.connect(self.server)?;
        socket.set_read_timeout(Some(LOOK))?;
        let (reader, port) = (socket.try_clone()?, self.sockets.len());
        let (sender, is_over) = (self.sender.clone(), Arc::clone(&self.is_over));
        thread::spawn(move || {
            let mut buffer = [0; 2048];
            while !is_over.load(Ordering::Relaxed) {
                let Ok(len) = reader.recv(&mut buffer) else {
                    continue;
                };
                let arrived = Arrived {
                    at: Instant::now(),
                    port,
                    bytes: buffer.get(..len).unwrap_or_default().to_vec(),
                };
                if sender.send(arrived).is_err() {
                    return;
                }
            }
        });
        self.sockets.push(socket);
        Ok(())
    }
}

impl Drop for Ports {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}
