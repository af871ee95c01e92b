//! The proof of the address of a client without tokens, by a number that is hidden in a join.
//!
//! Law: the server keeps no state until the client returns the number. The server answers CONNECT, then sends the
//! beginning of a join whose last empty snapshot has the number as its tick. The first input of the client acks the
//! newest snapshot, and so contains the number (0.6.5 network_server.cpp, `ConstructLegacyHandshake` and
//! `DecodeLegacyHandshake`).

use teetap_wire::{Dir, Flags, Header, Packet, Proto, Scratch, Seq, Token, packet, write_chunk};

use crate::Variant;
use crate::map::Map;
use crate::message::{Delivered, Message};

/// Sequence number of the last vital message of a challenge. The session continues after it.
pub(super) const LAST: u16 = 2;

/// Returns the number for a token. It is at least 2, because it is a tick and two snapshots with earlier ticks
/// precede it.
fn number(token: Token) -> i32 {
    let tick = u32::from_be_bytes(token.0) & 0x3fff_ffff;
    tick.max(2).cast_signed()
}

/// Creates the datagram of a challenge: a map that every client has, `con_ready`, and three snapshots, the last of
/// which has the number.
pub(super) fn challenge(token: Token) -> Vec<u8> {
    let number = number(token);
    let snapshot = |tick: i32, delta: i32| {
        let fields = [("tick", tick.into()), ("delta_tick", delta.into())];
        Message::known(Proto::V6, "snap_empty", fields)
    };
    let vital = [
        Map::dm1().change(Variant::V6),
        Message::known(Proto::V6, "con_ready", []),
    ];
    let first = number - 2;
    let others = [
        snapshot(first, first + 1),
        snapshot(first + 1, 1),
        snapshot(number, 1),
    ];
    let numbered = (1..)
        .zip(&vital)
        .map(|(seq, message)| (Some(Seq::new(seq)), message));
    let chunks = numbered.chain(others.iter().map(|message| (None, message)));
    let mut payload = Vec::new();
    let mut num_chunks = 0;
    for (seq, message) in chunks {
        // The messages are small enough for a chunk.
        if write_chunk(Proto::V6, seq, false, &message.data, &mut payload).is_ok() {
            num_chunks += 1;
        }
    }
    let header = Header {
        flags: Flags::empty(),
        ack: Seq::ZERO,
        num_chunks,
        token: None,
    };
    let mut datagram = Vec::new();
    packet::write(Proto::V6, &header, &payload, None, &mut datagram);
    datagram
}

/// Returns true if a datagram contains an input that acks the number of a token.
pub(super) fn is_proof(datagram: &[u8], token: Token) -> bool {
    let mut scratch = Scratch::default();
    let Ok(packet) = Packet::parse(Proto::V6, datagram, &mut scratch) else {
        return false;
    };
    packet.chunks().any(|chunk| {
        let message = Delivered {
            vital: chunk.header.vital.is_some(),
            data: chunk.data.to_vec(),
        };
        let input = message
            .read(Proto::V6, Dir::C2s)
            .filter(|message| message.name() == "input");
        input.and_then(|input| input.int("ack_snapshot")) == Some(number(token))
    })
}
