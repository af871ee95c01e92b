//! A line to the server: every datagram arrives in order after a fixed delay. A line can record its traffic, so that
//! two lines show the behaviour of a proxy between them from outside.
//!
//! For measurements. On the loopback itself a DDNet client loads megabytes in a few hundredths of a second, so that a
//! comparison only shows how many processes share the processor. Over a line it shows what a player would notice.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

/// The largest UDP payload.
const LARGEST: usize = 65_535;
/// The interval at which a waiting thread checks that the line still exists.
const LOOK: Duration = Duration::from_millis(100);

/// A relay in front of one server; it ends when dropped.
#[derive(Debug)]
pub struct Line {
    addr: SocketAddr,
    ended: Arc<AtomicBool>,
    loses: Arc<AtomicBool>,
    record: Record,
}

/// The periods during which a line carries nothing, up and down, counted from the first datagram.
#[derive(Clone, Debug, Default)]
struct Outage {
    since: Arc<OnceLock<Instant>>,
    lasts: [Duration; 2],
}

/// The datagrams that one client and the server exchanged over a recording line, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Talk {
    /// The client's datagrams.
    pub up: Vec<Vec<u8>>,
    /// The server's datagrams.
    pub down: Vec<Vec<u8>>,
}

/// The talks in the order of their first datagrams; `None` if nothing is recorded.
type Record = Option<Arc<Mutex<Vec<(SocketAddr, Talk)>>>>;

fn note(record: &Record, client: SocketAddr, payload: &[u8], of: impl Fn(&mut Talk) -> &mut Vec<Vec<u8>>) {
    let Some(record) = record else { return };
    let mut talks = record.lock().unwrap_or_else(PoisonError::into_inner);
    if !talks.iter().any(|(of, _)| *of == client) {
        talks.push((client, Talk::default()));
    }
    let talk = talks.iter_mut().find(|(of, _)| *of == client);
    if let Some((_, talk)) = talk {
        of(talk).push(payload.to_vec());
    }
}

/// A datagram in transit: its arrival time, the sending socket, and its receiver (`None` if the socket is connected).
struct Flight {
    due: Instant,
    through: Arc<UdpSocket>,
    to: Option<SocketAddr>,
    payload: Vec<u8>,
}

impl Line {
    /// Opens a line to `server` with `delay` in each direction.
    pub fn open(server: SocketAddr, delay: Duration) -> Result<Self> {
        Self::new(server, delay, None)
    }

    /// Opens a line to `server` without delay that records its traffic.
    pub fn recording(server: SocketAddr) -> Result<Self> {
        Self::new(server, Duration::ZERO, Some(Arc::default()))
    }

    /// Returns the traffic so far, by client address in the order of their first datagrams.
    pub fn talks(&self) -> Vec<(SocketAddr, Talk)> {
        let record = self.record.as_ref();
        record.map_or_else(Vec::new, |talks| {
            talks.lock().unwrap_or_else(PoisonError::into_inner).clone()
        })
    }

    /// Opens a line to `server` without delay that loses datagrams in both directions until [`Line::heal`], except
    /// the handshake: every fourth of the client's, every second of the server's.
    pub fn losing(server: SocketAddr) -> Result<Self> {
        Self::with(server, Duration::ZERO, None, (true, Outage::default()))
    }

    /// Opens a line to `server` without delay that loses everything for a period that starts with a client's first
    /// datagram: the client's datagrams, the server's, or both.
    pub fn late(server: SocketAddr, lasts: Duration, [up, down]: [bool; 2]) -> Result<Self> {
        let since = Arc::default();
        let lasts = [up, down].map(|is_lost| if is_lost { lasts } else { Duration::ZERO });
        Self::with(server, Duration::ZERO, None, (false, Outage { since, lasts }))
    }

    /// Loses nothing from now on, so that a CLOSE, which is never retransmitted, arrives.
    pub fn heal(&self) {
        self.loses.store(false, Ordering::Relaxed);
    }

    fn new(server: SocketAddr, delay: Duration, record: Record) -> Result<Self> {
        Self::with(server, delay, record, (false, Outage::default()))
    }

    fn with(
        server: SocketAddr,
        delay: Duration,
        record: Record,
        (loses, outage): (bool, Outage),
    ) -> Result<Self> {
        let noted = record.clone();
        let near = Arc::new(socket()?);
        let addr = near.local_addr()?;
        let ended = Arc::new(AtomicBool::new(false));
        let (to_server, from_client) = channel();
        let (to_client, from_server) = channel();
        let loses = Arc::new(AtomicBool::new(loses));
        for ((flights, every), lasts) in [(from_client, 4), (from_server, 2)].into_iter().zip(outage.lasts) {
            let (loses, since) = (Arc::clone(&loses), Arc::clone(&outage.since));
            let is_out = move || since.get_or_init(Instant::now).elapsed() < lasts;
            thread::spawn(move || deliver(&flights, every, &loses, is_out));
        }
        let end = Arc::clone(&ended);
        thread::spawn(move || {
            let mut far: HashMap<SocketAddr, Arc<UdpSocket>> = HashMap::new();
            each_datagram(&near, &end, |payload, client| {
                note(&noted, client, &payload, |talk| &mut talk.up);
                let through = match far.get(&client) {
                    Some(known) => Arc::clone(known),
                    None => {
                        let fresh = answer(server, client, delay, &near, &to_client, &end, &noted)?;
                        far.insert(client, Arc::clone(&fresh));
                        fresh
                    }
                };
                Ok(to_server.send(Flight {
                    due: Instant::now() + delay,
                    through,
                    to: None,
                    payload,
                })?)
            })
        });
        Ok(Self {
            addr,
            ended,
            loses,
            record,
        })
    }

    /// Returns the address that clients connect to.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}

/// Opens a socket to the server for one client, with a thread that returns the server's datagrams to the client.
fn answer(
    server: SocketAddr,
    client: SocketAddr,
    delay: Duration,
    near: &Arc<UdpSocket>,
    to_client: &Sender<Flight>,
    ended: &Arc<AtomicBool>,
    record: &Record,
) -> Result<Arc<UdpSocket>> {
    let far = Arc::new(socket()?);
    far.connect(server)?;
    let (mine, near, to_client, ended) = (
        Arc::clone(&far),
        Arc::clone(near),
        to_client.clone(),
        Arc::clone(ended),
    );
    let record = record.clone();
    thread::spawn(move || {
        each_datagram(&mine, &ended, |payload, _| {
            note(&record, client, &payload, |talk| &mut talk.down);
            let flight = Flight {
                due: Instant::now() + delay,
                through: Arc::clone(&near),
                to: Some(client),
                payload,
            };
            Ok(to_client.send(flight)?)
        })
    });
    Ok(far)
}

fn socket() -> Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).context("a socket for a line")?;
    socket.set_read_timeout(Some(LOOK))?;
    Ok(socket)
}

/// Calls `pass` for every datagram until the line ends.
fn each_datagram(
    socket: &UdpSocket,
    ended: &AtomicBool,
    mut pass: impl FnMut(Vec<u8>, SocketAddr) -> Result<()>,
) -> Result<()> {
    let mut buffer = vec![0; LARGEST];
    while !ended.load(Ordering::Relaxed) {
        match socket.recv_from(&mut buffer) {
            Ok((size, from)) => pass(buffer.iter().take(size).copied().collect(), from)?,
            // No datagram arrived, or the other side has ended: the line continues.
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::ConnectionRefused) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Sends each datagram when it is due. Drops all datagrams while `is_out`, and one in `every` while `loses`. The
/// delay is the same for all datagrams, so they stay in order.
fn deliver(flights: &Receiver<Flight>, every: usize, loses: &AtomicBool, is_out: impl Fn() -> bool) {
    for (number, flight) in flights.iter().enumerate() {
        if is_out() {
            continue;
        }
        if number >= 6 && number % every == 0 && loses.load(Ordering::Relaxed) {
            continue;
        }
        thread::sleep(flight.due.saturating_duration_since(Instant::now()));
        // A send fails if the peer has ended; the datagram is then lost as on any line.
        drop(match flight.to {
            Some(to) => flight.through.send_to(&flight.payload, to),
            None => flight.through.send(&flight.payload),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_arrive_in_order_after_the_delay() {
        let delay = Duration::from_millis(30);
        let server = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let line = Line::open(server.local_addr().unwrap(), delay).unwrap();
        let client = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        client.connect(line.addr()).unwrap();
        let start = Instant::now();
        for number in 0..50 {
            client.send(&[number]).unwrap();
        }
        let mut buffer = [0; 8];
        for number in 0..50 {
            let (size, from) = server.recv_from(&mut buffer).unwrap();
            assert_eq!(buffer[..size], [number]);
            server.send_to(&buffer[..size], from).unwrap();
        }
        assert!(start.elapsed() >= delay);
        for number in 0..50 {
            assert_eq!(client.recv(&mut buffer).unwrap(), 1);
            assert_eq!(buffer[0], number);
        }
        assert!(start.elapsed() >= 2 * delay);
    }
}
