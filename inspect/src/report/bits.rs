//! Attributes every bit of the received datagrams to a message, to an item of a snapshot, or to the framing.
//!
//! The Huffman tree is fixed, so that each byte of a compressed payload has a known number of bits.
//!
//! Law: for each datagram, the bits of messages, headers, and padding add up to eight times its size. An unreadable
//! datagram counts as a whole. Memory is bounded: [`NAMES`] names, and one unfinished snapshot for each of [`OPEN`]
//! sessions.

use std::{borrow::Cow, collections::BTreeMap};

use teetap_proxy::session::{Connless, Datagram, Origin, SessionId};
use teetap_wire::{
    Dir, Flags, HeaderView, Proto,
    def::{Registry, Source},
    huffman,
    proto::TokenPlace,
    snap::{Completed, ItemKey, Sizes},
    varint,
};

use crate::{Message, Reading};

/// Maximum number of names that are counted separately.
const NAMES: usize = 512;

/// Maximum number of sessions with an unfinished snapshot.
const OPEN: usize = 256;

/// Maximum number of parts of a snapshot.
const PARTS: i64 = 64;

/// The name under which all other messages and items are counted.
const OTHERS: Cow<'static, str> = Cow::Borrowed("others");

/// Sum of messages of one name, or of items of one type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Number of messages or items.
    pub count: u64,
    /// Bytes before compression.
    pub bytes: u64,
    /// Bits in the datagrams, after compression.
    pub bits: u64,
}

/// Bits outside of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Framing {
    /// Headers of packets, with tokens.
    pub headers: u64,
    /// Headers of chunks, and bytes of payloads that belong to no message.
    pub chunks: u64,
    /// The end code of compressed payloads, and what follows it.
    pub padding: u64,
    /// Datagrams that cannot be read.
    pub unreadable: u64,
}

impl Framing {
    /// Returns the sum of all parts.
    #[must_use]
    pub const fn sum(self) -> u64 {
        self.headers + self.chunks + self.padding + self.unreadable
    }

    fn add(&mut self, other: Self) {
        self.headers += other.headers;
        self.chunks += other.chunks;
        self.padding += other.padding;
        self.unreadable += other.unreadable;
    }
}

/// The parts of a snapshot that were received so far.
#[derive(Debug)]
struct Unfinished {
    tick: i64,
    /// The bytes of each part, with the bits of each byte.
    parts: BTreeMap<i64, Vec<(u8, u8)>>,
}

/// The bits of the datagrams that peers sent.
#[derive(Debug, Default)]
pub struct Bits {
    /// Number of datagrams.
    pub datagrams: u64,
    /// Size of the datagrams, in bytes.
    pub bytes: u64,
    /// Bits outside of messages.
    pub framing: Framing,
    /// Bits of all snapshot messages.
    pub snapshots: u64,
    messages: BTreeMap<(Dir, Cow<'static, str>), Sum>,
    items: BTreeMap<Cow<'static, str>, Sum>,
    unfinished: BTreeMap<SessionId, Unfinished>,
}

impl Bits {
    /// Returns the messages by direction and name, the largest sum first.
    #[must_use]
    pub fn messages(&self) -> Vec<(Dir, &str, Sum)> {
        let messages = self.messages.iter();
        let mut all: Vec<_> = messages.map(|((dir, name), sum)| (*dir, &**name, *sum)).collect();
        all.sort_by_key(|(_, _, sum)| std::cmp::Reverse(sum.bits));
        all
    }

    /// Returns the items of snapshots by type, the largest sum first.
    #[must_use]
    pub fn items(&self) -> Vec<(&str, Sum)> {
        let mut all: Vec<_> = self.items.iter().map(|(name, sum)| (&**name, *sum)).collect();
        all.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.bits));
        all
    }

    /// Forgets unfinished snapshots, because the next run begins or events are missing.
    pub(super) fn gap(&mut self) {
        self.unfinished.clear();
    }

    /// Counts the bits of a received datagram of a session. Ignores a datagram that the proxy made.
    pub(super) fn datagram(
        &mut self,
        session: Option<SessionId>,
        datagram: &Datagram,
        reading: &Reading,
        registry: &'static Registry,
    ) {
        let Some(received) = datagram.received() else {
            return;
        };
        let size = reading.sizes.received.unwrap_or(received.len());
        let payload = reading.payload_bytes();
        let is_compressed = reading.header.flags.contains(Flags::COMPRESSION);
        let costs = Costs { is_compressed };
        let view = HeaderView::new(datagram.proto, received);
        let header = view
            .fields()
            .map(|(_, range)| range.end)
            .max()
            .unwrap_or_default();
        let is_tail = datagram.proto.layout().token == TokenPlace::PayloadTail;
        let token = reading.header.token.filter(|_| is_tail);
        let token = token.map_or(0, |token| costs.sum(&token.0));
        let framed = Framed {
            size,
            header: 8 * header as u64 + token,
            payload,
            costs,
            is_connless: false,
        };
        if reading.error.is_some() || !self.framed(datagram.dir, &framed, reading) {
            self.unreadable(size);
            return;
        }
        for message in peers(reading) {
            self.snapshot((session, datagram.proto), message, reading, (costs, registry));
        }
    }

    /// Adds a datagram outside of sessions.
    pub(super) fn connless(&mut self, connless: &Connless, reading: &Reading) {
        let framed = Framed {
            size: connless.bytes.len() + connless.cut,
            header: 0,
            payload: &connless.bytes,
            costs: Costs { is_compressed: false },
            is_connless: true,
        };
        if !self.framed(connless.dir, &framed, reading) {
            self.unreadable(framed.size);
        }
    }

    /// Adds a datagram that cannot be read.
    fn unreadable(&mut self, size: usize) {
        self.datagrams += 1;
        self.bytes += size as u64;
        self.framing.unreadable += 8 * size as u64;
    }

    /// Adds the messages and the framing of a datagram. Returns false, without adding anything, if the parts are larger
    /// than the datagram.
    fn framed(&mut self, dir: Dir, framed: &Framed<'_>, reading: &Reading) -> bool {
        let total = 8 * framed.size as u64;
        let payload = framed.costs.sum(framed.payload);
        let Some(padding) = total.checked_sub(framed.header + payload) else {
            return false;
        };
        let (mut end, mut sum) = (0, 0);
        for message in peers(reading) {
            // The size of a message outside of connections is that of its datagram.
            let range = match framed.is_connless {
                true => 0..framed.payload.len(),
                false => message.ranges.range(),
            };
            let next = range.end.max(end);
            let range = range.start.max(end)..range.end.max(end).min(framed.payload.len());
            let bytes = framed.payload.get(range).unwrap_or_default();
            end = next;
            let bits = framed.costs.sum(bytes);
            sum += bits;
            let entry = entry(&mut self.messages, (dir, reading.label(message)), |key| {
                key.1 = OTHERS
            });
            entry.count += 1;
            entry.bytes += bytes.len() as u64;
            entry.bits += bits;
        }
        self.datagrams += 1;
        self.bytes += framed.size as u64;
        self.framing.add(Framing {
            headers: framed.header,
            chunks: payload - sum,
            padding,
            unreadable: 0,
        });
        true
    }

    /// Adds the items of a snapshot once it is complete.
    fn snapshot(
        &mut self,
        (session, proto): (Option<SessionId>, Proto),
        message: &Message,
        reading: &Reading,
        (costs, registry): (Costs, &'static Registry),
    ) {
        if !matches!(message.name, Some("snap" | "snap_single" | "snap_empty")) {
            return;
        }
        self.snapshots += costs.sum(reading.data(message));
        let (Some(session), Some(def), Some(tick)) = (session, message.def, reading.int(message, "tick"))
        else {
            return;
        };
        let Ok(path) = def.path("data") else { return };
        let Some(record) = reading.records(message).find(&path) else {
            return;
        };
        let data = def.bytes(record, Source::Bytes(reading.data(message)));
        let part = reading.int(message, "part").unwrap_or_default();
        if self.unfinished.len() >= OPEN && !self.unfinished.contains_key(&session) {
            self.unfinished.pop_first();
        }
        let new = || Unfinished {
            tick,
            parts: BTreeMap::new(),
        };
        let unfinished = self.unfinished.entry(session).or_insert_with(new);
        if unfinished.tick != tick {
            *unfinished = new();
        }
        if (0..PARTS).contains(&part) {
            let bits = data.iter().map(|byte| (*byte, costs.of(*byte)));
            unfinished.parts.insert(part, bits.collect());
        }
        if let Some(completed) = message.completed.view()
            && let Some(Unfinished { parts, .. }) = self.unfinished.remove(&session)
        {
            let delta: Vec<(u8, u8)> = parts.into_values().flatten().collect();
            self.delta(&delta, &completed, proto, registry);
        }
    }

    /// Adds the items of a delta. Items after a fault belong to no type.
    fn delta(
        &mut self,
        delta: &[(u8, u8)],
        completed: &Completed<'_>,
        proto: Proto,
        registry: &'static Registry,
    ) {
        let sizes = Sizes::new(registry, proto);
        let bytes: Vec<u8> = delta.iter().map(|(byte, _)| *byte).collect();
        let mut ints = Ints {
            delta,
            bytes: &bytes,
            at: 0,
        };
        let name = |kind: u16| -> Cow<'static, str> {
            let def = completed.snapshot().def(registry, proto, kind);
            let def = def.or_else(|| completed.before().def(registry, proto, kind));
            def.map_or_else(|| format!("type {kind}").into(), |def| Cow::Borrowed(&*def.name))
        };
        let mut add = |kind: u16, (bytes, bits): (usize, u64)| {
            let entry = entry(&mut self.items, name(kind), |name| *name = OTHERS);
            entry.count += 1;
            entry.bytes += bytes as u64;
            entry.bits += bits;
        };
        let (Some(deleted), Some(updated), Some(_)) = (ints.next(), ints.next(), ints.next()) else {
            return;
        };
        for _ in 0..deleted {
            let begin = ints.at;
            let Some(key) = ints.next() else { return };
            add(ItemKey::from_int(key).kind, ints.since(begin));
        }
        for _ in 0..updated {
            let begin = ints.at;
            let (Some(kind), Some(_id)) = (ints.next(), ints.next()) else {
                return;
            };
            let Ok(kind) = u16::try_from(kind) else { return };
            let size = sizes.of_kind(kind).map(i32::from);
            let Some(size) = size.or_else(|| ints.next()) else {
                return;
            };
            for _ in 0..size {
                if ints.next().is_none() {
                    return;
                }
            }
            add(kind, ints.since(begin));
        }
    }
}

/// Returns the messages that the peer sent.
fn peers(reading: &Reading) -> impl Iterator<Item = &Message> {
    let messages = reading.messages.iter();
    messages.filter(|message| message.handling.origin == Origin::Peer)
}

/// Returns the sum of a name. If there are too many names, `other` replaces the name.
fn entry<K: Ord>(sums: &mut BTreeMap<K, Sum>, mut key: K, other: impl FnOnce(&mut K)) -> &mut Sum {
    if sums.len() >= NAMES && !sums.contains_key(&key) {
        other(&mut key);
    }
    sums.entry(key).or_default()
}

/// The parts of a readable datagram.
struct Framed<'a> {
    /// Size of the datagram, in bytes.
    size: usize,
    /// Bits of the header, with the token.
    header: u64,
    /// The payload before compression.
    payload: &'a [u8],
    costs: Costs,
    /// True for a datagram outside of connections.
    is_connless: bool,
}

/// The bits of the bytes of a payload.
#[derive(Clone, Copy)]
struct Costs {
    is_compressed: bool,
}

impl Costs {
    fn of(self, byte: u8) -> u8 {
        if self.is_compressed {
            huffman::bits_of(byte)
        } else {
            8
        }
    }

    fn sum(self, bytes: &[u8]) -> u64 {
        bytes.iter().map(|byte| u64::from(self.of(*byte))).sum()
    }
}

/// Reads the ints of a delta.
struct Ints<'a> {
    /// The bytes, with the bits of each byte.
    delta: &'a [(u8, u8)],
    bytes: &'a [u8],
    at: usize,
}

impl Ints<'_> {
    fn next(&mut self) -> Option<i32> {
        let int = varint::decode(self.bytes.get(self.at..)?)?;
        self.at += int.len;
        Some(int.value)
    }

    /// Returns the number of bytes and of bits since a place.
    fn since(&self, begin: usize) -> (usize, u64) {
        let read = self.delta.get(begin..self.at).unwrap_or_default();
        (read.len(), read.iter().map(|(_, bits)| u64::from(*bits)).sum())
    }
}
