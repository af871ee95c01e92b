//! Live datagrams of a session, and their mutations.

use std::time::Instant;

use teetap_kit::codec::{Variant, control};
use teetap_kit::huffman::{Ending, compress};
use teetap_kit::link::Random;

use super::peer::{Peer, system};

/// Datagrams to send one after the other, with the names of the mutations.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) datagrams: Vec<Vec<u8>>,
    pub(crate) names: Vec<&'static str>,
    /// The ack of the first probe, if the server has an unacked chunk. The second probe acks that chunk.
    pub(crate) lag: Option<u16>,
    /// The time at which that chunk was sent.
    pub(crate) since: Instant,
}

/// Creates a case for the current state of the session.
pub(crate) fn case(peer: &mut Peer, random: &mut Random) -> anyhow::Result<Case> {
    let lag = if random.below(3) == 0 {
        peer.provoke()?
    } else {
        None
    };
    // An ack that moves shows that a datagram was accepted: the server then drops the first probe.
    let ack = lag.filter(|_| random.below(2) == 0);
    let (base, name) = base(peer, random, ack);
    let mut case = Case {
        datagrams: vec![base],
        names: vec![name],
        lag,
        since: Instant::now(),
    };
    for _ in 0..random.below(3) {
        mutate(peer, &mut case, random);
    }
    Ok(case)
}

fn base(peer: &Peer, random: &mut Random, ack: Option<u16>) -> (Vec<u8>, &'static str) {
    let ids = peer.ids();
    let (one, two) = (peer.leg.ack.next().get(), peer.leg.ack.plus(2).get());
    let ping = system(ids.ping);
    let ping = &ping[..];
    // Compressible, and without meaning for the server: a message id that does not exist.
    let idle = [&system(31)[..], &[0; 60]].concat();
    match random.below(16) {
        0..=2 => (peer.data(&[(Some(one), ping)], ack), "vital"),
        3 | 4 => (peer.data(&[(None, ping)], ack), "not vital"),
        5 | 6 => (
            peer.data(&[(Some(one), ping), (None, ping), (Some(two), ping)], ack),
            "three chunks",
        ),
        7 => (peer.data(&[(Some(one), &idle), (None, ping)], ack), "idle"),
        8 => (with_ack(peer.control(control::KEEPALIVE, &[]), ack), "keepalive"),
        9 => (peer.data(&[], ack), "empty"),
        14 | 15 => {
            let mut datagram = peer.data(&[(None, ping)], ack);
            if let Some(first) = datagram.first_mut() {
                *first |= if peer.variant.is_seven() { 0x08 } else { 0x40 };
            }
            (datagram, "resend request")
        }
        10 => {
            let id = [ids.ready, ids.enter_game][index(random, 2)];
            let seq = Some(one).filter(|_| random.below(2) == 0);
            (peer.data(&[(seq, &system(id)), (None, ping)], ack), "join again")
        }
        11 => (with_ack(peer.control(control::CLOSE, b"bye\0"), ack), "close"),
        12 if peer.variant == Variant::Ddnet => {
            let connect = control::connect(peer.variant, peer.own, peer.own);
            (connect, "connect")
        }
        12 => {
            let connect = control::connect(peer.variant, peer.own, peer.server_token());
            (with_ack(connect, Some(peer.leg.peer_ack)), "connect")
        }
        _ if peer.variant == Variant::Ddnet => (peer.control(control::ACCEPT, &[]), "accept"),
        _ => {
            let token: [u8; 4] = std::array::from_fn(|_| byte(random));
            (peer.control(control::TOKEN, &token), "token")
        }
    }
}

/// Sets the ack of a datagram if `ack` is given.
fn with_ack(mut datagram: Vec<u8>, ack: Option<u16>) -> Vec<u8> {
    if let (Some(ack), [first, second, ..]) = (ack, &mut datagram[..]) {
        let [high, low] = ack.to_be_bytes();
        *first = *first & 0xfc | high;
        *second = low;
    }
    datagram
}

fn index(random: &mut Random, bound: usize) -> usize {
    usize::try_from(random.below(bound as u64)).unwrap_or(0)
}

fn byte(random: &mut Random) -> u8 {
    random.bits().to_be_bytes()[0]
}

fn mutate(peer: &Peer, case: &mut Case, random: &mut Random) {
    let header = if peer.variant.is_seven() { 7 } else { 3 };
    let Some(datagram) = case.datagrams.last_mut() else {
        return;
    };
    let name = match random.below(13) {
        0 => header_bit(datagram, random),
        1 | 2 => ack(peer, datagram, random),
        3 => token(peer, datagram, header, random),
        4 => sequence(peer, datagram, header, random),
        5 => {
            set(datagram, header + index(random, 2), byte(random));
            "chunk header"
        }
        6 => {
            let count = [0, 1, 2, 3, 4, byte(random)][index(random, 6)];
            set(datagram, 2, count);
            "count"
        }
        7 => compression(datagram, header, random),
        8 => {
            let at = header + index(random, datagram.len().saturating_sub(header).max(1));
            set(datagram, at, byte(random));
            "message byte"
        }
        9 => size(datagram, random),
        10 => {
            let again = datagram.clone();
            case.datagrams.push(again);
            "repeat"
        }
        11 => {
            let ping = system(peer.ids().ping);
            let seq = peer.leg.ack.plus(1 + u16::from(byte(random) % 3)).get();
            let other = peer.data(&[(Some(seq), &ping)], case.lag);
            case.datagrams.insert(0, other);
            "order"
        }
        _ => {
            let kept = 3.min(datagram.len());
            datagram
                .iter_mut()
                .skip(kept)
                .for_each(|place| *place = byte(random));
            "noise"
        }
    };
    case.names.push(name);
}

fn set(datagram: &mut [u8], at: usize, value: u8) {
    if let Some(place) = datagram.get_mut(at) {
        *place = value;
    }
}

fn header_bit(datagram: &mut [u8], random: &mut Random) -> &'static str {
    if let Some(first) = datagram.first_mut() {
        *first ^= 1 << random.below(8);
    }
    "header bit"
}

/// Sets an ack that is certainly inside or outside the window, although the server may have sent a few chunks that
/// have not arrived yet.
fn ack(peer: &Peer, datagram: &mut Vec<u8>, random: &mut Random) -> &'static str {
    let (low, high) = (peer.leg.peer_ack, peer.leg.sequence.get());
    let (ack, name) = match random.below(4) {
        0 => (low, "lowest ack"),
        1 => (high, "highest ack"),
        2 => (
            low.wrapping_sub(1 + u16::from(byte(random) % 200)) & 1023,
            "ack behind",
        ),
        _ => (
            high.wrapping_add(60 + u16::from(byte(random))) & 1023,
            "ack ahead",
        ),
    };
    *datagram = with_ack(std::mem::take(datagram), Some(ack));
    name
}

fn token(peer: &Peer, datagram: &mut Vec<u8>, header: usize, random: &mut Random) -> &'static str {
    let at = if peer.variant.is_seven() {
        header - 4
    } else {
        datagram.len().saturating_sub(4)
    };
    let bit = 1 << random.below(8);
    match random.below(4) {
        0 => datagram.iter_mut().skip(at).take(4).for_each(|byte| *byte = 0xff),
        1 => datagram.truncate(at),
        _ => {
            if let Some(place) = datagram.get_mut(at + index(random, 4)) {
                *place ^= bit;
            }
        }
    }
    "token"
}

fn sequence(peer: &Peer, datagram: &mut [u8], header: usize, random: &mut Random) -> &'static str {
    let last = peer.leg.ack;
    let steps = [0, 1023, 2, 3, 511, 512, 513, u16::from(byte(random)) * 4];
    let seq = last.plus(steps[index(random, steps.len())]).get();
    let [high, low] = seq.to_be_bytes();
    let seven = peer.variant.is_seven();
    if let Some([first, second, third, ..]) = datagram.get_mut(header..) {
        *first |= 0x40;
        let (mask, bits) = if seven {
            (0x3f, high << 6)
        } else {
            (0x0f, high << 6 | low >> 2 & 0x30)
        };
        *second = *second & mask | bits;
        *third = low;
    }
    "sequence"
}

fn compression(datagram: &mut Vec<u8>, header: usize, random: &mut Random) -> &'static str {
    let flag = if header == 7 { 0x10 } else { 0x80 };
    let body = datagram.get(header..).unwrap_or_default().to_vec();
    let mut packed = compress(&body, [Ending::Padded, Ending::Tight][index(random, 2)]);
    let name = match random.below(5) {
        0 => {
            packed = body;
            "marked as compressed"
        }
        1 => {
            packed.truncate(index(random, packed.len()));
            "compressed and cut"
        }
        2 => {
            let at = index(random, packed.len());
            set(&mut packed, at, byte(random));
            "compressed and damaged"
        }
        3 => {
            packed.extend([0, byte(random)]);
            "compressed and longer"
        }
        _ => "compressed",
    };
    datagram.truncate(header);
    datagram.extend(packed);
    if let Some(first) = datagram.first_mut() {
        *first |= flag;
    }
    name
}

fn size(datagram: &mut Vec<u8>, random: &mut Random) -> &'static str {
    match random.below(4) {
        0 | 1 => {
            let len = index(random, datagram.len());
            datagram.truncate(len.max(1));
            "cut"
        }
        2 => {
            let more = 1 + index(random, 40);
            datagram.extend((0..more).map(|_| byte(random)));
            "longer"
        }
        _ => {
            let len = 1380 + index(random, 40);
            datagram.resize(len.max(datagram.len()), 0);
            "very long"
        }
    }
}
