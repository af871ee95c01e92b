//! Datagrams that hostile or broken peers send: strangers without a token, and peers with the right token but other
//! faults.
//!
//! Law: every datagram is made only from knowledge that its sender would have. The test that sends a datagram states
//! its purpose.

use crate::codec::{Chunk, Datagram, Head, NO_TOKEN, Packing, Token, Variant, control, seal};
use crate::huffman::Ending;
use crate::link::Random;
use crate::peer::{Peer, SEQUENCES};

/// The part of a session's state that an end shows in its datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Layout on the wire.
    pub format: Variant,
    /// The token that the end writes.
    pub token: Option<Token>,
    /// The ack that the end sends.
    pub ack: u16,
    /// The sequence number of its next vital chunk.
    pub next: u16,
}

impl Shown {
    /// Returns the state that `peer` shows now.
    pub fn of_peer(peer: &Peer) -> Self {
        let (sequence, ack, _) = peer.numbers();
        let (_, token) = peer.tokens();
        let format = peer.format();
        Self {
            format,
            token: (format != Variant::V6).then_some(token),
            ack,
            next: (sequence + 1) % SEQUENCES,
        }
    }
}

/// Returns true for bytes that make DDNet 16.4's client, which speaks 0.6, read through a null pointer: the mark of
/// 0.7 in a datagram of a connection, or the version of 0.7 in a connless one (DDNet 16.4 `network_client.cpp`,
/// `Recv`).
pub fn looks_seven(bytes: &[u8]) -> bool {
    match bytes.first() {
        Some(first) if first & 0x20 != 0 => first & 0x03 == 0x01,
        Some(first) => first & 0x04 != 0,
        None => false,
    }
}

/// The largest UDP payload over IPv4, in bytes.
pub const LARGEST: usize = 65_507;

/// Returns datagrams with every first byte and nothing valid after it: no token of a peer, no control message, no
/// number that fits.
pub fn every_first_byte() -> Vec<Vec<u8>> {
    let body = [0xee, 3, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xbb, 0xbb, 0xbb, 0xbb];
    (0..=u8::MAX)
        .flat_map(|first| {
            let short = vec![first, 0xee, 3];
            [vec![first], short, [&[first], &body[..]].concat()]
        })
        .collect()
}

/// Returns the datagram truncated after every byte.
pub fn truncated(datagram: &[u8]) -> Vec<Vec<u8>> {
    (0..datagram.len())
        .map(|len| datagram.iter().take(len).copied().collect())
        .collect()
}

/// Returns the datagram padded to lengths that no receiver reads in full.
pub fn oversized(datagram: &[u8]) -> Vec<Vec<u8>> {
    [1395, 1400, 1401, 9000, LARGEST]
        .into_iter()
        .map(|len| {
            let mut bytes = datagram.to_vec();
            bytes.resize(len, 0x55);
            bytes
        })
        .collect()
}

/// Returns compressed datagrams that are hard to inflate: zeros have the shortest codes, so these inflate to far more
/// than a payload; streams without an end; noise.
pub fn bombs(shown: Shown) -> Vec<Vec<u8>> {
    let mut head = Head::new(shown.format, shown.ack, shown.token);
    head.num_chunks = 5;
    let mut random = Random::new(4);
    let noise: Vec<u8> = (0..600).map(|_| random.bits().to_be_bytes()[0]).collect();
    let compressed = if shown.format.is_seven() { 0x10 } else { 0x80 };
    let header = if matches!(shown.format, Variant::V65 | Variant::V7 | Variant::D7) {
        7
    } else {
        3
    };
    let mut bombs = Vec::new();
    for size in [1300, 1398, 5000] {
        bombs.push(seal(&head, &vec![0; size], Packing::Always(Ending::Padded)));
    }
    for stream in [&[0xff; 500][..], &[0x00; 1000], &noise, &[]] {
        let mut bytes = seal(&head, &[], Packing::Clear);
        bytes.truncate(header);
        if let Some(first) = bytes.first_mut() {
            *first |= compressed;
        }
        bytes.extend(stream);
        bombs.push(bytes);
    }
    bombs
}

/// Returns chunks and control messages in the framing of every variant, with the token `token` (none in 0.6) and the
/// shown ack.
pub fn of_every_variant(shown: Shown, token: Token) -> Vec<Vec<u8>> {
    let mut datagrams = Vec::new();
    for variant in Variant::ALL {
        let token = (variant != Variant::V6).then_some(token);
        let chunk = Chunk::new(Some(shown.next), b"from somebody else");
        datagrams.push(Datagram::of_chunks(variant, shown.ack, token, vec![chunk]).build());
        for message in 0..8 {
            datagrams.push(control::control(
                variant,
                shown.ack,
                token,
                message,
                &[&[1, 2, 3, 4]],
            ));
        }
        datagrams.push(control::close(variant, shown.ack, token, "spoofed"));
        datagrams.push(control::connect(variant, [9, 9, 9, 9], token.unwrap_or(NO_TOKEN)));
    }
    datagrams.push(control::token_request([8, 8, 8, 8]));
    datagrams
}

/// Returns keepalives with all 1024 acks except the right one.
pub fn every_ack(shown: Shown) -> Vec<Vec<u8>> {
    let wrong = (0..SEQUENCES).filter(|ack| *ack != shown.ack);
    wrong
        .map(|ack| control::control(shown.format, ack, shown.token, control::KEEPALIVE, &[]))
        .collect()
}

/// Returns a CLOSE with every ack except the right one.
pub fn every_close(shown: Shown) -> Vec<Vec<u8>> {
    let wrong = (0..SEQUENCES).filter(|ack| *ack != shown.ack);
    wrong
        .map(|ack| control::close(shown.format, ack, shown.token, "bad ack"))
        .collect()
}

/// Returns messages with every sequence number except the next one, with and without the resend bit.
pub fn every_number(shown: Shown) -> Vec<Vec<u8>> {
    let wrong = (0..SEQUENCES).filter(|seq| *seq != shown.next);
    wrong
        .map(|seq| {
            let chunk = Chunk {
                seq: Some(seq),
                resend: seq % 2 == 0,
                data: b"out of order".to_vec(),
            };
            Datagram::of_chunks(shown.format, shown.ack, shown.token, vec![chunk]).build()
        })
        .collect()
}

/// Returns datagrams that are valid except for one bit of the token.
pub fn wrong_tokens(shown: Shown) -> Vec<Vec<u8>> {
    other_tokens(shown.token)
        .map(|wrong| control::close(shown.format, shown.ack, Some(wrong), "a wrong token"))
        .collect()
}

/// Returns tokens that differ from `token` in one bit.
pub fn other_tokens(token: Option<Token>) -> impl Iterator<Item = Token> {
    let flip = |token: Token, bit: usize| {
        let mut wrong = token;
        if let Some(byte) = wrong.get_mut(bit / 8) {
            *byte ^= 1 << (bit % 8);
        }
        wrong
    };
    token
        .into_iter()
        .flat_map(move |token| (0..32).map(move |bit| flip(token, bit)))
}

/// Returns datagrams with the right token and another fault: ids that do not exist, wrong counts, control packets
/// with chunks or without a message, flags that no peer sets.
pub fn malformed(shown: Shown) -> Vec<Vec<u8>> {
    let mut datagrams = Vec::new();
    for id in 6..=u8::MAX {
        datagrams.push(control::control(
            shown.format,
            shown.ack,
            shown.token,
            id,
            &[b"?"],
        ));
    }
    for count in [0, 1, 2, 254, 255] {
        let mut head = Head::new(shown.format, shown.ack, shown.token);
        head.num_chunks = count;
        for payload in [&[][..], &[0x3f], &[0x3f, 0xff], &[0x7f, 0xff, 0xff], &[0; 300]] {
            datagrams.push(seal(&head, payload, Packing::Clear));
        }
        head.flags.control = true;
        datagrams.push(seal(&head, &[], Packing::Clear));
        datagrams.push(seal(&head, &[control::KEEPALIVE], Packing::Clear));
        datagrams.push(seal(
            &head,
            &[control::KEEPALIVE; 300],
            Packing::Always(Ending::Padded),
        ));
    }
    datagrams
}
