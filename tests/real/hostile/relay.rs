//! A relay in front of the server that forwards everything, and adds its own datagrams in the server's name.
//!
//! The relay reads the traffic, so it knows the form of the session's datagrams. It adds datagrams that a receiver
//! must refuse: marked as 0.7, without the token or with a changed one, truncated, too long, badly compressed, or
//! with a wrong ack. A proxy cannot tell datagrams with the right token from the server's.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};
use teetap_kit::hostile::LARGEST;

/// Number of hostile datagrams added to each datagram of the server.
const ADDED: u64 = 12;

/// The state shared by the thread and its owner.
#[derive(Debug, Default)]
struct State {
    ended: AtomicBool,
    throwing: AtomicBool,
    thrown: AtomicU64,
}

/// The relay; its thread ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Relay {
    addr: SocketAddr,
    state: Arc<State>,
}

impl Relay {
    /// Opens a relay in front of `server`.
    pub(crate) fn open(server: SocketAddr) -> Result<Self> {
        let near = socket()?;
        let addr = near.local_addr()?;
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        thread::spawn(move || pass(&near, server, &shared));
        Ok(Self { addr, state })
    }

    /// Returns the address at which the relay stands in for the server.
    pub(crate) fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Starts or stops adding datagrams.
    pub(crate) fn throw(&self, on: bool) {
        self.state.throwing.store(on, Ordering::Relaxed);
    }

    /// Returns the number of added datagrams.
    pub(crate) fn thrown(&self) -> u64 {
        self.state.thrown.load(Ordering::Relaxed)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.state.ended.store(true, Ordering::Relaxed);
    }
}

fn socket() -> Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).context("a socket for the relay")?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Returns a datagram if one is available. The end of a peer does not affect the relay.
fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> Result<Option<(usize, SocketAddr)>> {
    match socket.recv_from(buffer) {
        Ok(received) => Ok(Some(received)),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::ConnectionRefused) => {
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

fn pass(near: &UdpSocket, server: SocketAddr, state: &State) -> Result<()> {
    let mut buffer = vec![0; LARGEST];
    let mut far: HashMap<SocketAddr, UdpSocket> = HashMap::new();
    while !state.ended.load(Ordering::Relaxed) {
        while let Some((len, client)) = receive(near, &mut buffer)? {
            if let std::collections::hash_map::Entry::Vacant(entry) = far.entry(client) {
                let socket = socket()?;
                socket.connect(server)?;
                entry.insert(socket);
            }
            if let (Some(socket), Some(bytes)) = (far.get(&client), buffer.get(..len)) {
                // A send fails if the peer has ended; the datagram is then lost as on any line.
                drop(socket.send(bytes));
            }
        }
        for (client, socket) in &far {
            while let Some((len, _)) = receive(socket, &mut buffer)? {
                let bytes = buffer.get(..len).unwrap_or_default();
                drop(near.send_to(bytes, client));
                if state.throwing.load(Ordering::Relaxed) {
                    add(near, *client, bytes, state);
                }
            }
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

fn add(near: &UdpSocket, client: SocketAddr, bytes: &[u8], state: &State) {
    for _ in 0..ADDED {
        let number = state.thrown.fetch_add(1, Ordering::Relaxed);
        drop(near.send_to(&hostile(bytes, number), client));
    }
}

/// Returns the hostile datagram with this number, made from one of the server's.
fn hostile(real: &[u8], number: u64) -> Vec<u8> {
    let round = number / 14;
    let [.., byte] = round.to_be_bytes();
    let mut bytes = real.to_vec();
    let cut = usize::try_from(round).unwrap_or(0) % (real.len() + 1);
    match number % 14 {
        // 0.7 in a connection: the real one marked, control messages, data, with tokens and without.
        0 => set(&mut bytes, |first| first | 0x04),
        1 => set(&mut bytes, |first| first & 0x03 | 0x04),
        2 => bytes = [&[0x04, 0, 0, byte, 2, 3, 4], &[byte % 8][..], &[9, 9, 9, 9]].concat(),
        3 => bytes = vec![0x04; 1 + usize::from(byte) % 20],
        4 => bytes = [&[0x14, 0, 1, 1, 2, 3, 4][..], &[byte; 40]].concat(),
        // 0.7 outside a connection, at lengths with and without room for tokens.
        5 => bytes = [&vec![0x21; usize::from(byte) % 24][..], b"\xff\xff\xff\xffinf3"].concat(),
        6 => bytes = vec![byte & 0xfc | 0x21; 6 + usize::from(byte) % 8],
        // Anything at all.
        7 => bytes = vec![byte, 0xee, 3, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xbb, 0xbb],
        8 => bytes.truncate(cut),
        9 => bytes.resize(
            if round.is_multiple_of(8) {
                LARGEST
            } else {
                1400 + cut
            },
            0x55,
        ),
        10 => bytes = [&[0x80, 0, 1][..], &vec![0xff; 100 + cut]].concat(),
        11 => bytes = Vec::new(),
        // With a token that is nearly right, or an ack of a chunk that was never sent.
        12 => {
            if let Some(last) = bytes.last_mut() {
                *last ^= 1 << (round % 8);
            }
        }
        _ => bytes = vec![0x10, byte, 0, 4, b'b', b'y', b'e', 0, 1, 2, 3, 4],
    }
    bytes
}

fn set(bytes: &mut [u8], change: impl Fn(u8) -> u8) {
    if let Some(first) = bytes.first_mut() {
        *first = change(*first);
    }
}
