//! Datagrams that no peer sends in that state.

use teetap_kit::{
    codec::{Chunk, Datagram, Flags, NO_TOKEN, Token, Variant, control, extended},
    hostile::{self, Shown},
    link::Random,
};

/// Datagrams of server browsers and first datagrams of sessions, valid and invalid.
pub(crate) const STRANGE: [&[u8]; 16] = [
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xffgie3\x07",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xffinf3\x07a server",
    b"\x21\x01\x02\x03\x04\xff\xff\xff\xff\xff\xff\xff\xffgie3\x05",
    b"\x21\x01\x02\x03\x04\x05\x06\x07\x08\xff\xff\xff\xffinf3\x05",
    b"xe\x01\x02\x00\x00\xff\xff\xff\xffgie3\x09",
    b"\x10\0\0\x09",
    b"\x10\0\0\x01TKEN\xff\xff\xff\xff",
    b"\x10\0\0\x01TKEN\x01\x02\x03\x04",
    b"\x10\0\0\x01\xff\xff\xff\xff",
    b"\x10\0\0\x01",
    b"\x10\0\0\x04bye\0",
    b"\x04\0\0\xff\xff\xff\xff\x05\x01\x02\x03\x04",
    b"\x04\0\0\x01\x02\x03\x04\x01\x05\x06\x07\x08",
    b"\x04\0\0\xff\xff\xff\xff\x05",
    b"\x80\x10\0\0\x01",
    b"",
];

/// Returns a CONNECT or a request for a token of any variant.
pub(crate) fn connect(random: &mut Random, variant: Variant) -> Vec<u8> {
    let (own, server) = (random.token(), random.token());
    match random.below(4) {
        0 if variant.is_seven() => control::token_request(own),
        1 => control::connect(variant, own, server),
        2 => control::connect_repeated_by_ddnet(NO_TOKEN),
        _ => control::connect(variant, own, NO_TOKEN),
    }
}

/// Returns the answer of a server of any variant to a datagram, mostly with tokens from it.
pub(crate) fn answer(random: &mut Random, request: &[u8]) -> Vec<u8> {
    let token = |random: &mut Random| -> Token {
        let from = [3, 4, 7, 8, request.len().saturating_sub(4)][usize::try_from(random.below(5)).unwrap()];
        let shown = request
            .get(from..from + 4)
            .and_then(|bytes| bytes.try_into().ok());
        shown
            .filter(|_| random.chance(0.8))
            .unwrap_or_else(|| random.token())
    };
    let (client, server) = (token(random), token(random));
    let variant = Variant::ALL[usize::try_from(random.below(5)).unwrap()];
    match random.below(8) {
        0 => control::token_reply(variant, client, server),
        1 => control::close(variant, 0, Some(client), "full"),
        2 => control::close(Variant::V6, 0, None, "full"),
        3 => control::accept(Some(server)),
        4 => control::control(variant, 0, Some(client), control::KEEPALIVE, &[]),
        5 => {
            let token = (variant != Variant::V6).then_some(client);
            Datagram::of_chunks(variant, 0, token, vec![Chunk::new(Some(1), b"first")]).build()
        }
        _ => control::connect_accept(variant, client, server),
    }
}

/// Returns a datagram with the token of a peer and a number, a length, a flag or a control message that the peer would not
/// send now.
pub(crate) fn odd(random: &mut Random, shown: Shown) -> Vec<u8> {
    let off = |random: &mut Random, number: u16| {
        let offset = [0, 0, 0, 1, 2, 1023, 1022, 511, 512, 513][usize::try_from(random.below(10)).unwrap()];
        (number + offset) % 1024
    };
    let ack = off(random, shown.ack);
    match random.below(10) {
        0 => {
            let ids = [0, 1, 2, 3, 4, 5, 6];
            let id = ids[usize::try_from(random.below(7)).unwrap()];
            let token = random.token();
            control::control(shown.format, ack, shown.token, id, &[&token])
        }
        1 => control::close(shown.format, ack, shown.token, "odd"),
        2 => control::close(shown.format, 0, shown.token, ""),
        3 => {
            let all = hostile::malformed(shown);
            all[usize::try_from(random.below(all.len() as u64)).unwrap()].clone()
        }
        4 => {
            let token = if random.chance(0.5) {
                shown.token.unwrap_or(NO_TOKEN)
            } else {
                random.token()
            };
            let all = hostile::of_every_variant(shown, token);
            all[usize::try_from(random.below(all.len() as u64)).unwrap()].clone()
        }
        _ => {
            let chunks = (0..random.below(3)).map(|number| Chunk {
                seq: random
                    .chance(0.7)
                    .then(|| off(random, shown.next + u16::try_from(number).unwrap())),
                resend: random.chance(0.3),
                data: match random.below(3) {
                    0 => extended::redirect(8303),
                    1 => extended::redirect(8304),
                    _ => b"from somebody else".to_vec(),
                },
            });
            let chunks = chunks.collect::<Vec<_>>();
            let mut datagram = Datagram::of_chunks(shown.format, ack, shown.token, chunks);
            datagram.head.flags = Flags {
                resend: random.chance(0.3),
                ..Flags::default()
            };
            let mut bytes = datagram.build();
            if random.chance(0.1) {
                bytes.extend([1, 2, 3, 4, 5]);
            }
            bytes
        }
    }
}
