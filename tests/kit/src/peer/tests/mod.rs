//! Peers checked against the facts of the protocol, and against each other over good and bad lines.

use std::net::SocketAddr;

use super::*;
use crate::codec::{self, Chunk, Datagram, TKEN, control};
use crate::link::MS;

mod challenges;
mod handshakes;
mod rules;
mod world;

/// Returns options with which no peer gives up.
fn patient() -> Options {
    Options::endless()
}

fn client_address() -> SocketAddr {
    "127.0.0.2:5000".parse().unwrap()
}

/// Removes the datagrams to send and parses them.
fn sent(peer: &mut Peer) -> Vec<Datagram> {
    let format = peer.format();
    peer.outgoing
        .drain(..)
        .map(|bytes| codec::parse(format, &bytes).unwrap())
        .collect()
}

/// Returns a data packet for this peer, with its token.
fn data(peer: &Peer, ack: u16, chunks: &[(Option<u16>, &str)]) -> Vec<u8> {
    let token = (peer.format() != Variant::V6).then_some(peer.tokens().0);
    let chunk = |(seq, text): &(Option<u16>, &str)| Chunk::new(*seq, text.as_bytes());
    Datagram::of_chunks(peer.format(), ack, token, chunks.iter().map(chunk).collect()).build()
}

/// Returns a data packet without chunks that requests a resend.
fn asking(peer: &Peer, ack: u16) -> Vec<u8> {
    let mut head = codec::Head::new(peer.format(), ack, None);
    head.token = (peer.format() != Variant::V6).then_some(peer.tokens().0);
    head.flags.resend = true;
    codec::seal(&head, &[], Packing::Clear)
}

fn online(variant: Variant, start: u16) -> Peer {
    let token = [1, 2, 3, 4];
    let other = if variant.is_seven() { [5, 6, 7, 8] } else { token };
    Peer::online(Role::Client, variant, (token, other), start, 0)
}

fn texts(peer: &Peer) -> Vec<&str> {
    peer.delivered
        .iter()
        .map(|message| std::str::from_utf8(&message.data).unwrap())
        .collect()
}

/// Exchanges all datagrams between a client and a server, without delay, until both are silent.
fn exchange(client: &mut Peer, server: &mut Server, now: u64) {
    loop {
        let up = std::mem::take(&mut client.outgoing);
        let down = server.take_outgoing();
        if up.is_empty() && down.is_empty() {
            return;
        }
        for bytes in up {
            server.receive(client_address(), &bytes, now);
        }
        for (to, bytes) in down {
            assert_eq!(to, client_address());
            client.receive(&bytes, now);
        }
    }
}
