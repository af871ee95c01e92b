//! Recognizes how the sender of a datagram with a wrong or missing token mistook it.
//!
//! Law: a mistake is named only if all four bytes of a token prove it, or if chunks fill the whole payload.

use std::fmt;

use teetap_proxy::session::Datagram;
use teetap_wire::{Chunks, Dir, Flags, MAX_DATAGRAM, Proto, Token, huffman};

use crate::Reading;

/// Offset of the token in the header of 0.6.5 and 0.7.
const TOKEN_AT: usize = 3;

/// A mistake in the token of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenMistake {
    /// The bytes of the token are in reverse order.
    Reversed,
    /// The token that the sender of this direction gave to its receiver.
    Own(Dir),
    /// The token that the receiver of this direction gave to its sender.
    Peer(Dir),
    /// The expected token is at this offset of the datagram.
    InDatagram(usize),
    /// The expected token follows the compressed payload, at this offset of the datagram.
    AfterCompressed(usize),
    /// The expected token is at this offset of the decompressed payload.
    InPayload(usize),
    /// The expected token is at this offset of the decompressed payload; it belongs in the header.
    Compressed(usize),
    /// The expected token is compressed together with the payload.
    WithPayload,
    /// A DDNet datagram without a token: its chunks end with its last byte.
    NoRoom,
}

impl TokenMistake {
    /// Returns the mistake in the token of a datagram that cannot be decompressed; `None` if none is certain.
    pub(crate) fn of_unreadable(reading: &Reading, datagram: &Datagram) -> Option<Self> {
        let (received, expected) = (datagram.received()?, reading.header.expected.token?);
        is_compressed_with(datagram.proto, received, expected).then_some(Self::WithPayload)
    }

    /// Returns the mistake in the token of a datagram; `None` if none is certain.
    pub(crate) fn find(reading: &Reading, datagram: &Datagram) -> Option<Self> {
        let (received, payload) = (datagram.received()?, reading.payload_bytes());
        let (got, expected) = (reading.header.token, reading.header.expected);
        if let Some(token) = expected.token.filter(|token| got != Some(*token)) {
            let reversed = token.reversed();
            if got == Some(reversed) && reversed != token {
                return Some(Self::Reversed);
            }
            if got.is_some() && got == expected.own {
                return Some(Self::Own(datagram.dir));
            }
            if got.is_some() && got == expected.peer {
                return Some(Self::Peer(datagram.dir));
            }
            if is_compressed_with(datagram.proto, received, token) {
                return Some(Self::WithPayload);
            }
            let is_compressed = reading.header.flags.contains(Flags::COMPRESSION);
            let find = |bytes: &[u8]| bytes.windows(token.0.len()).position(|window| window == token.0);
            let is_ddnet = datagram.proto == Proto::Ddnet;
            if let Some(at) = find(received) {
                let is_after = is_ddnet && is_compressed && at + token.0.len() == received.len();
                let place = if is_after {
                    Self::AfterCompressed
                } else {
                    Self::InDatagram
                };
                return Some(place(at));
            }
            if let Some(at) = find(payload) {
                let is_inside = !is_ddnet && is_compressed;
                let place = if is_inside {
                    Self::Compressed
                } else {
                    Self::InPayload
                };
                return Some(place(at));
            }
        }
        let tail = got.filter(|_| datagram.proto == Proto::Ddnet)?;
        let whole = [payload, &tail.0].concat();
        let mut chunks = Chunks::new(datagram.proto, &whole, reading.header.num_chunks);
        let count = chunks.by_ref().count();
        let fills = count > 0 && chunks.missing() == 0 && chunks.rest().is_empty();
        fills.then_some(Self::NoRoom)
    }
}

/// Returns true if the sender has compressed the expected token in the header together with the payload.
fn is_compressed_with(proto: Proto, datagram: &[u8], expected: Token) -> bool {
    let is_in_header = matches!(proto, Proto::V65 | Proto::V7);
    let compression = proto.layout().compression;
    let is_compressed = datagram.first().is_some_and(|first| first & compression != 0);
    let Some(behind) = datagram.get(TOKEN_AT..).filter(|_| is_in_header && is_compressed) else {
        return false;
    };
    let mut clear = [0; MAX_DATAGRAM];
    let inflated = huffman::decompress(behind, &mut clear);
    inflated.is_ok_and(|inflated| inflated.len > expected.0.len() && clear.starts_with(&expected.0))
}

impl fmt::Display for TokenMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reversed => f.write_str("its bytes are in reverse order"),
            Self::Own(dir) => {
                let (sender, receiver) = (dir.sender(), dir.receiver());
                write!(
                    f,
                    "it is the token that the {sender} gave to the {receiver}: write that of the {receiver}"
                )
            }
            Self::Peer(dir) => {
                let (sender, receiver) = match dir {
                    Dir::C2s => ("server", "client"),
                    Dir::S2c => ("client", "server"),
                };
                write!(
                    f,
                    "it is the token of the {sender}: both sides write that of the {receiver}"
                )
            }
            Self::AfterCompressed(at) => write!(
                f,
                "the expected token is at byte {at} of the datagram, after the compressed payload: it is the end of the payload and compressed with it"
            ),
            Self::Compressed(at) => write!(
                f,
                "the expected token is at byte {at} of the decompressed payload: it belongs in the header and is not compressed"
            ),
            Self::WithPayload => f.write_str(
                "the bytes from byte 3 on are compressed and begin with the expected token: the token in the header is not compressed",
            ),
            Self::InDatagram(at) => write!(f, "the expected token is at byte {at} of the datagram"),
            Self::InPayload(at) => write!(
                f,
                "the expected token is at byte {at} of the decompressed payload"
            ),
            Self::NoRoom => f.write_str("the chunks end with the last byte: no token follows them"),
        }
    }
}

#[cfg(test)]
mod tests {
    use teetap_proxy::session::{Event, EventKind, Origin, SessionId, Time};
    use teetap_wire::{Header, Seq, def::Registry, huffman::Trailing, packet, write_chunk};

    use super::*;
    use crate::{Decoder, track::Expected};

    const EXPECTED: Token = Token(*b"want");
    const OWN: Token = Token(*b"mine");
    const PEER: Token = Token(*b"peer");

    /// Returns the bytes of a datagram with two messages.
    fn bytes(proto: Proto, token: Token) -> Vec<u8> {
        let mut payload = Vec::new();
        for seq in [1, 2] {
            let text = &b"\x05a text\0"[..];
            write_chunk(proto, Some(Seq::new(seq)), false, text, &mut payload).unwrap();
        }
        let header = Header {
            flags: Flags::empty(),
            ack: Seq::ZERO,
            num_chunks: 2,
            token: Some(token).filter(|_| proto != Proto::V6),
        };
        let mut out = Vec::new();
        packet::write(proto, &header, &payload, None, &mut out);
        out
    }

    /// Returns the mistake in the token of a datagram, whether it can be decompressed or not.
    fn find(proto: Proto, dir: Dir, bytes: &[u8], expected: Option<Token>) -> Option<TokenMistake> {
        let mut decoder = Decoder::new(Registry::builtin());
        let bytes: &'static [u8] = bytes.to_vec().leak();
        let datagram = Datagram::new(dir, proto, Origin::Peer, bytes, [bytes].into_iter());
        let decoded = decoder.decode(Event {
            at: Time::ZERO,
            session: Some(SessionId(1)),
            what: EventKind::Datagram(datagram.clone()),
        });
        let mut reading = decoded.reading.unwrap();
        reading.header.expected = Expected {
            token: expected,
            own: Some(OWN),
            peer: (proto == Proto::V65).then_some(PEER),
            ack: None,
        };
        match reading.error {
            None => TokenMistake::find(&reading, &datagram),
            Some(_) => TokenMistake::of_unreadable(&reading, &datagram),
        }
    }

    #[test]
    fn a_token_that_is_compressed_with_the_payload_is_recognized() {
        for proto in [Proto::V65, Proto::V7] {
            for dir in [Dir::C2s, Dir::S2c] {
                for (token, expected) in [(EXPECTED, Some(TokenMistake::WithPayload)), (OWN, None)] {
                    let clear = bytes(proto, token);
                    let (header, rest) = clear.split_at(TOKEN_AT);
                    let mut compressed = header.to_vec();
                    compressed[0] |= proto.layout().compression;
                    teetap_wire::compress(rest, Trailing::Always, &mut compressed);
                    assert_eq!(
                        find(proto, dir, &compressed, Some(EXPECTED)),
                        expected,
                        "{proto} {dir}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_token_that_was_mistaken_is_recognized() {
        for proto in [Proto::V65, Proto::Ddnet, Proto::V7] {
            for dir in [Dir::C2s, Dir::S2c] {
                let other = |token: &[u8; 4]| bytes(proto, Token(*token));
                let found = |bytes: &[u8]| find(proto, dir, bytes, Some(EXPECTED));
                assert_eq!(found(&other(b"tnaw")), Some(TokenMistake::Reversed), "{proto}");
                assert_eq!(found(&other(&OWN.0)), Some(TokenMistake::Own(dir)), "{proto}");
                let of_peer = (proto == Proto::V65).then_some(TokenMistake::Peer(dir));
                assert_eq!(found(&other(&PEER.0)), of_peer, "{proto}");
                assert_eq!(found(&other(b"evil")), None, "{proto}");
                // The expected token follows a wrong one.
                let after = [&other(b"evil")[..], &EXPECTED.0].concat();
                let place = Some(TokenMistake::InDatagram(after.len() - 4)).filter(|_| proto != Proto::Ddnet);
                assert_eq!(found(&after), place, "{proto}");
                assert_eq!(find(proto, dir, &other(b"evil"), None), None, "{proto}");
            }
        }
    }

    #[test]
    fn a_token_of_ddnet_in_the_header_or_left_out_is_recognized() {
        let whole = bytes(Proto::Ddnet, Token(*b"evil"));
        let without = &whole[..whole.len() - 4];
        let found = |bytes: &[u8], expected| find(Proto::Ddnet, Dir::C2s, bytes, expected);
        assert_eq!(found(without, Some(EXPECTED)), Some(TokenMistake::NoRoom));
        assert_eq!(found(without, None), Some(TokenMistake::NoRoom));
        let front = [&without[..3], &EXPECTED.0, &without[3..]].concat();
        assert_eq!(found(&front, Some(EXPECTED)), Some(TokenMistake::InDatagram(3)));
        // The place of DDNet's token in a compressed payload of 0.7.
        let mut payload = Vec::new();
        write_chunk(Proto::V7, None, false, &[0; 60], &mut payload).unwrap();
        payload.extend(EXPECTED.0);
        let header = Header {
            flags: Flags::empty(),
            ack: Seq::ZERO,
            num_chunks: 1,
            token: Some(Token(*b"evil")),
        };
        let mut compressed = Vec::new();
        packet::write(
            Proto::V7,
            &header,
            &payload,
            Some(Trailing::Always),
            &mut compressed,
        );
        let at = payload.len() - 4;
        assert_eq!(
            find(Proto::V7, Dir::C2s, &compressed, Some(EXPECTED)),
            Some(TokenMistake::Compressed(at))
        );
    }
}
