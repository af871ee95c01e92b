//! How servers with tokens admit clients without them: by a number hidden in a join of the game.
//!
//! Law: no state is kept until the number is received back. The server answers CONNECT, then sends the start of a
//! join whose empty snapshots have the number as their tick. The client's first input acks the newest snapshot, and
//! thus repeats the number.
//!
//! Sources: Teeworlds 0.6.5 `network_server.cpp` (`sv_allow_old_clients`), DDNet 20.1 `network_server.cpp`
//! (`sv_vanilla_antispoof`).

use std::net::SocketAddr;

use super::Server;
use crate::codec::{Chunk, Datagram, NO_TOKEN, Packing, Token, Variant, control, open};
use crate::huffman::Ending;
use crate::peer::{Peer, State, game};

/// The map that a 0.6.5 server names, which every client has.
const DM1: (&str, u32, i32) = ("dm1", 0xf215_9e6e, 5805);
/// The last sequence number that DDNet's challenge uses; the session continues after it.
const LAST_OF_DDNET: u16 = 6;
/// The last sequence number that 0.6.5's challenge uses.
const LAST_OF_65: u16 = 2;

/// Returns the number for an address: the token reduced to a valid tick, with room for ticks before and after it.
pub(in crate::peer) fn number(token: Token) -> i32 {
    let tick = u32::from_be_bytes(token) & 0x3fff_ffff;
    tick.max(2).cast_signed()
}

/// Returns the challenge of a 0.6.5 server: a map that the client has, and three snapshots, with the number in the
/// last.
pub(in crate::peer) fn of_65(number: i32) -> Vec<u8> {
    let (name, crc, size) = DM1;
    let first = number - 2;
    let vital = [game::map_change(name, crc, size), game::con_ready()];
    let lost = [
        game::snap_empty(first, first + 1),
        game::snap_empty(first + 1, 1),
        game::snap_empty(number, 1),
    ];
    let chunks = vital.into_iter().zip(1..).map(|(data, seq)| (Some(seq), data));
    let chunks = chunks.chain(lost.into_iter().map(|data| (None, data)));
    datagram(chunks).build()
}

/// Returns the challenge of DDNet: a map that is sent with it, and the same snapshot three times, all vital.
pub(in crate::peer) fn of_ddnet(number: i32, map: &[u8]) -> Vec<u8> {
    let crc = 0x1234_5678;
    let size = i32::try_from(map.len()).unwrap_or(0);
    let snapshot = || game::snap_empty(number, number + 1);
    let vital = [
        game::map_change("dummy", crc, size),
        game::map_data(crc, map),
        game::con_ready(),
        snapshot(),
        snapshot(),
        snapshot(),
    ];
    let chunks = vital.into_iter().zip(1..).map(|(data, seq)| (Some(seq), data));
    datagram(chunks).pack(Packing::IfShorter(Ending::Tight))
}

fn datagram(chunks: impl Iterator<Item = (Option<u16>, Vec<u8>)>) -> Datagram {
    let chunks = chunks.map(|(seq, data)| Chunk {
        seq,
        resend: false,
        data,
    });
    Datagram::of_chunks(Variant::V6, 0, None, chunks.collect())
}

impl Server {
    /// Answers a CONNECT without a token.
    pub(super) fn challenge(&mut self, to: SocketAddr, now: u64) {
        self.counters.answers += 1;
        let number = number(self.token(to, now));
        let challenge = if self.variant == Variant::V65 {
            of_65(number)
        } else {
            of_ddnet(number, &[0x5a; 290])
        };
        let accept = control::connect_accept(Variant::V6, NO_TOKEN, NO_TOKEN);
        self.outgoing.extend([(to, accept), (to, challenge)]);
    }

    /// Opens a slot for an address that repeats its number. The rest of that datagram is ignored, and the next vital
    /// chunk determines the client's numbering.
    pub(super) fn proves_itself(&mut self, from: SocketAddr, bytes: &[u8], now: u64) -> bool {
        let Ok(opened) = open(Variant::V6, bytes) else {
            return false;
        };
        // DDNet reads only the first chunk, 0.6.5 all chunks.
        let looks_at = if self.variant == Variant::V65 { 255 } else { 1 };
        let says = |tick| self.tokens.any_valid(from, now, |token| number(token) == tick);
        let mut ticks = opened.chunks().take(looks_at);
        let proven = ticks.any(|chunk| game::acked_tick(chunk.data).is_some_and(says));
        if !proven || !self.admit(Variant::V6, from, NO_TOKEN) {
            return proven;
        }
        let sequence = if self.variant == Variant::V65 {
            LAST_OF_65
        } else {
            LAST_OF_DDNET
        };
        let slot = self.open(Variant::V6, from, (NO_TOKEN, NO_TOKEN), State::Online, now);
        slot.go_on_behind(sequence);
        self.greet(from, now);
        true
    }
}

impl Peer {
    /// Continues a session that began before the slot: this side's numbers after `sequence`, the client's at the
    /// first chunk received.
    fn go_on_behind(&mut self, sequence: u16) {
        self.sequence = sequence;
        self.ack_is_unknown = true;
    }
}
