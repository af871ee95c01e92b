//! The same session on real sockets, in real time.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use super::{Client, STEP, Setting, server};

/// Runs the server of a session on a socket until it is over.
///
/// # Errors
/// Returns an error of the socket.
pub fn serve(setting: &Setting, socket: &UdpSocket, is_over: &AtomicBool) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    let (mut server, begin) = (server(setting), Instant::now());
    while !is_over.load(Ordering::Relaxed) {
        let now = since(begin);
        while let Some((bytes, from)) = next(socket) {
            server.receive(from, &bytes, now);
        }
        server.update(now);
        for (to, bytes) in server.take_outgoing() {
            socket.send_to(&bytes, to)?;
        }
        thread::sleep(Duration::from_micros(STEP));
    }
    Ok(())
}

/// Plays the client of a session against the server at `to`, for the length of the setting.
///
/// # Errors
/// Returns an error of the socket.
pub fn join(setting: &Setting, to: SocketAddr) -> io::Result<()> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.set_nonblocking(true)?;
    let (mut client, begin) = (Client::new(setting, None), Instant::now());
    while since(begin) < setting.length {
        let now = since(begin);
        while let Some((bytes, _)) = next(&socket) {
            client.receive(&bytes, now);
        }
        client.update(now);
        for bytes in client.take_outgoing() {
            socket.send_to(&bytes, to)?;
        }
        thread::sleep(Duration::from_micros(STEP));
    }
    Ok(())
}

/// Returns the next datagram; `None` if there is none yet, or the port at the other end is closed.
fn next(socket: &UdpSocket) -> Option<(Vec<u8>, SocketAddr)> {
    let mut buffer = [0; 2048];
    let (len, from) = socket.recv_from(&mut buffer).ok()?;
    Some((buffer.get(..len)?.to_vec(), from))
}

/// Returns the time since `begin` in microseconds.
fn since(begin: Instant) -> u64 {
    u64::try_from(begin.elapsed().as_micros()).unwrap_or(u64::MAX)
}
