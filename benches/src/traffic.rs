//! The traffic: inputs and snapshots, prepared to be sent repeatedly.
//!
//! Law: as much as possible is built before the measurement. Datagrams are packed, compressed if that is shorter as
//! in the real senders, and have their token. Only the ack and the number of a vital message are written later. Vital
//! messages are in clear packets, so that their number is at a known place. The datagrams are built with the test
//! kit's codec, which has no code in common with the product.

use std::rc::Rc;

use teetap_kit::codec::{Head, Packing, Token, Variant, open, put_chunk, seal};
use teetap_kit::huffman::Ending;
use teetap_kit::link::Random;

use crate::message;

/// Number of datagrams in each direction before they repeat.
const TURNS: usize = 32;
/// Interval of vital messages in datagrams: about three vital messages per second from each side.
const VITAL_C2S: usize = 16;
const VITAL_S2C: usize = 8;

/// Number of bytes of the smallest and the largest snapshot.
const SNAPSHOTS: (usize, usize) = (100, 600);
/// Tick of the first snapshot.
const TICK: usize = 2_000_000;

/// One datagram of the traffic, without token and numbers.
#[derive(Clone, Debug)]
struct Content {
    payload: Vec<u8>,
    vital: bool,
}

/// The messages of both sides of a session.
#[derive(Clone, Debug)]
pub(crate) struct Traffic {
    variant: Variant,
    c2s: Vec<Content>,
    s2c: Vec<Content>,
}

/// A datagram with its token, into which only its numbers must be written.
#[derive(Clone, Debug)]
pub(crate) struct Ready {
    bytes: Vec<u8>,
    /// Position of the header of the vital chunk; `None` without a vital chunk.
    vital_at: Option<usize>,
    variant: Variant,
}

/// The direction of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the client to the server.
    C2s,
    /// From the server to the client.
    S2c,
}

impl Traffic {
    /// Creates the traffic of one dialect.
    pub(crate) fn new(variant: Variant) -> Self {
        let mut random = Random::new(5);
        let tick = |turn: usize| i32::try_from(TICK + 2 * turn).unwrap_or(0);
        // The lowest bit of a system message's id is set. The ids are defined by the network protocols of 0.7 and
        // 0.6.
        let (input, snapshot, chat) = if variant.is_seven() {
            (20 << 1 | 1, 8 << 1 | 1, 24 << 1)
        } else {
            (16 << 1 | 1, 8 << 1 | 1, 17 << 1)
        };
        let (least, most) = SNAPSHOTS;
        let size = |turn: usize| least + turn * 7 % TURNS * (most - least) / (TURNS - 1);
        let c2s = (0..TURNS)
            .map(|turn| content(variant, &message::input(input, tick(turn), &mut random), false))
            .collect();
        let s2c = (0..TURNS)
            .map(|turn| {
                let message = message::snapshot(snapshot, tick(turn), size(turn), &mut random);
                content(variant, &message, false)
            })
            .collect();
        let vital = content(variant, &[&[chat][..], b"\0\0a vital message\0"].concat(), true);
        Self {
            variant,
            c2s: with_vitals(c2s, &vital, VITAL_C2S),
            s2c: with_vitals(s2c, &vital, VITAL_S2C),
        }
    }

    /// Returns the dialect of the traffic.
    pub(crate) fn variant(&self) -> Variant {
        self.variant
    }

    /// Returns the datagrams of one direction, first as they are sent with the token `sent`, then as they must arrive
    /// with the token `expected`.
    pub(crate) fn ready(&self, way: Direction, sent: Token, expected: Token) -> (Rc<[Ready]>, Rc<[Ready]>) {
        let contents = match way {
            Direction::C2s => &self.c2s,
            Direction::S2c => &self.s2c,
        };
        contents
            .iter()
            .map(|content| {
                let first = self.build(content, sent, !content.vital);
                // If the sender did not compress a datagram, the proxy does not compress it either.
                let compressed = first.is_compressed();
                (first, self.build(content, expected, compressed))
            })
            .unzip::<_, _, Vec<_>, Vec<_>>()
            .into_rcs()
    }

    /// Returns a line about the sizes of clear payloads and of datagrams.
    pub(crate) fn summary(&self) -> String {
        let line = |name, way, contents: &[Content]| {
            let (sent, _) = self.ready(way, [1; 4], [1; 4]);
            let compressed = sent.iter().filter(|ready| ready.is_compressed()).count();
            let clear = range(contents.iter().map(|content| content.payload.len()));
            let wire = range(sent.iter().map(|ready| ready.bytes.len()));
            format!("{name} {clear} bytes, {wire} on the wire, {compressed} of {TURNS} compressed")
        };
        let c2s = line("c2s", Direction::C2s, &self.c2s);
        format!("{c2s}; {}", line("s2c", Direction::S2c, &self.s2c))
    }

    fn build(&self, content: &Content, token: Token, compressed: bool) -> Ready {
        let mut head = Head::new(self.variant, 0, Some(token));
        head.num_chunks = 1;
        let packing = if compressed {
            Packing::IfShorter(Ending::Padded)
        } else {
            Packing::Clear
        };
        let seven = self.variant.is_seven();
        Ready {
            bytes: seal(&head, &content.payload, packing),
            vital_at: content.vital.then_some(if seven { 7 } else { 3 }),
            variant: self.variant,
        }
    }
}

trait IntoRcs {
    fn into_rcs(self) -> (Rc<[Ready]>, Rc<[Ready]>);
}

impl IntoRcs for (Vec<Ready>, Vec<Ready>) {
    fn into_rcs(self) -> (Rc<[Ready]>, Rc<[Ready]>) {
        (self.0.into(), self.1.into())
    }
}

impl Ready {
    /// Returns true if the datagram contains a vital message.
    pub(crate) fn is_vital(&self) -> bool {
        self.vital_at.is_some()
    }

    /// Returns true if both datagrams have the same chunks, independent of their acks and compression.
    pub(crate) fn has_chunks_of(&self, one: &[u8], other: &[u8]) -> bool {
        match [one, other].map(|bytes| open(self.variant, bytes)) {
            [Ok(one), Ok(other)] => one.payload == other.payload,
            _ => false,
        }
    }

    /// Writes the datagram with these numbers into `out`.
    pub(crate) fn write(&self, ack: u16, seq: u16, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(&self.bytes);
        let [ack_high, ack_low] = ack.to_be_bytes();
        if let [first, second, ..] = out.as_mut_slice() {
            *first |= ack_high;
            *second = ack_low;
        }
        if let Some([_, second, third, ..]) = self.vital_at.and_then(|at| out.get_mut(at..)) {
            let high = (seq >> 2).to_be_bytes()[1];
            let (size, number) = if self.variant.is_seven() {
                (0x3f, 0xc0)
            } else {
                (0x0f, 0xf0)
            };
            *second = *second & size | high & number;
            *third = seq.to_be_bytes()[1];
        }
    }

    fn is_compressed(&self) -> bool {
        let bit = if self.variant.is_seven() { 0x10 } else { 0x80 };
        self.bytes.first().is_some_and(|first| first & bit != 0)
    }
}

fn content(variant: Variant, message: &[u8], vital: bool) -> Content {
    let mut payload = Vec::new();
    put_chunk(&mut payload, variant, vital.then_some(0), false, message);
    Content { payload, vital }
}

/// Replaces every `every`th content by the vital message.
fn with_vitals(mut contents: Vec<Content>, vital: &Content, every: usize) -> Vec<Content> {
    for content in contents.iter_mut().skip(every - 1).step_by(every) {
        *content = vital.clone();
    }
    contents
}

/// Returns the range of some sizes, as a text.
fn range(sizes: impl Iterator<Item = usize> + Clone) -> String {
    let (least, most) = (sizes.clone().min(), sizes.max());
    format!("{}-{}", least.unwrap_or(0), most.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use teetap_kit::codec::open;

    #[test]
    fn clients_and_servers_agree_in_every_dialect() {
        for variant in [Variant::V7, Variant::Ddnet] {
            let (sent, expected) = Traffic::new(variant).ready(Direction::S2c, [1, 2, 3, 4], [5, 6, 7, 8]);
            let (mut one, mut other) = (Vec::new(), Vec::new());
            for (sent, expected) in sent.iter().zip(expected.iter()) {
                sent.write(777, 1023, &mut one);
                expected.write(777, 1023, &mut other);
                let (one, other) = (open(variant, &one).unwrap(), open(variant, &other).unwrap());
                assert_eq!((one.head.ack, other.head.ack), (777, 777));
                assert_eq!(one.head.token, Some([1, 2, 3, 4]));
                assert_eq!(other.head.token, Some([5, 6, 7, 8]));
                assert_eq!(one.payload, other.payload);
                assert_eq!(one.head.flags.compressed, other.head.flags.compressed);
                let seqs: Vec<_> = one.chunks().map(|chunk| chunk.seq).collect();
                assert_eq!(seqs, [sent.is_vital().then_some(1023)]);
            }
        }
    }

    #[test]
    fn most_is_compressed_and_some_is_vital() {
        for variant in [Variant::V7, Variant::Ddnet] {
            for (way, vital) in [(Direction::C2s, 2), (Direction::S2c, 4)] {
                let (sent, _) = Traffic::new(variant).ready(way, [0; 4], [0; 4]);
                assert_eq!(sent.iter().filter(|ready| ready.is_vital()).count(), vital);
                assert_eq!(
                    sent.iter().filter(|ready| ready.is_compressed()).count(),
                    TURNS - vital
                );
            }
        }
    }
}
