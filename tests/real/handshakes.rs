//! Handshakes that no common client sends but real servers accept: they work through the built binary as they do
//! directly.

use std::{
    net::{SocketAddr, UdpSocket},
    path::Path,
};

use anyhow::{Context as _, Result};
use teetap_kit::real::{DdnetServer, PATIENCE, Route, Server, TeeworldsServer, Via, turn};

use crate::TEETAP;

const TOKEN: u8 = 5;
const CONNECT: u8 = 1;
const ACCEPT: u8 = 2;

/// A control packet of 0.7 with the token of its receiver, a message, and the sender's token.
fn control(receiver: [u8; 4], message: u8, own: [u8; 4]) -> Vec<u8> {
    let head = [&[4, 0, 0][..], &receiver, &[message], &own].concat();
    [&head[..], &[0; 508]].concat()
}

/// Sends a packet until an answer with this token and message is received; returns the rest of the answer.
fn answer(socket: &UdpSocket, packet: &[u8], own: [u8; 4], message: u8) -> Result<Vec<u8>> {
    let wanted = [&[4, 0, 0][..], &own, &[message]].concat();
    socket.set_read_timeout(Some(PATIENCE / 10))?;
    let mut buffer = [0; 2048];
    for _ in 0..10 {
        socket.send(packet)?;
        while let Ok(len) = socket.recv(&mut buffer) {
            if let Some(rest) = buffer[..len].strip_prefix(&wanted[..]) {
                return Ok(rest.to_vec());
            }
        }
    }
    anyhow::bail!("no answer with {wanted:02x?}")
}

/// Joins with one token in the TOKEN request and another one in CONNECT.
fn join(server: SocketAddr) -> Result<()> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.connect(server)?;
    let [first, second] = [*b"\x11\x22\x33\x44", *b"\x55\x66\x77\x88"];
    let given = answer(&socket, &control([0xff; 4], TOKEN, first), first, TOKEN)?;
    let given: [u8; 4] = given.get(..4).context("no token")?.try_into()?;
    answer(&socket, &control(given, CONNECT, second), second, ACCEPT)?;
    Ok(())
}

fn both_ways(server: &impl Server) -> Result<()> {
    join(server.addr()).context("directly")?;
    let route = Route::open(Via::Proxy(Path::new(TEETAP)), server)?;
    join(route.addr()).context("through the proxy")
}

#[test]
fn a_connect_of_0_7_may_name_another_token_than_the_token_request() -> Result<()> {
    let _turn = turn::shared()?;
    let mut server = TeeworldsServer::start(&[])?;
    both_ways(&server).context("Teeworlds 0.7.5")?;
    server.stop()?;
    let mut server = DdnetServer::start(&[])?;
    both_ways(&server).context("DDNet")?;
    server.stop()
}
