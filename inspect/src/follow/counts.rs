//! Counts of messages, snapshot items and compression.

use std::{borrow::Cow, collections::BTreeMap};

use teetap_proxy::session::{Datagram, Time};
use teetap_wire::{Dir, Flags, PerDir};

use super::samples::Rates;
use crate::{Reading, snapshot::ItemBytes};

/// Maximum number of names counted separately, since peers can make up ids that have no definition.
const NAMES: usize = 256;

/// The name under which all other messages are counted.
const OTHERS: Cow<'static, str> = Cow::Borrowed("others");

/// Messages of one kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    /// Number of messages.
    pub messages: u64,
    /// Bytes of their ids and fields.
    pub bytes: u64,
    /// Messages and bytes of the current second and of the previous second.
    seconds: [(u64, u64); 2],
    /// Number of the current second since the start.
    second: u64,
}

impl Count {
    fn add(&mut self, at: Time, bytes: u64) {
        self.tick(at);
        self.messages += 1;
        self.bytes += bytes;
        let [now, _] = &mut self.seconds;
        *now = (now.0 + 1, now.1 + bytes);
    }

    fn tick(&mut self, now: Time) {
        let second = now.0 / 1_000_000;
        let [current, _] = self.seconds;
        match second.saturating_sub(self.second) {
            0 => return,
            1 => self.seconds = [(0, 0), current],
            _ => self.seconds = [(0, 0); 2],
        }
        self.second = second;
    }

    /// Returns the messages and bytes of the last completed second before `now`.
    #[must_use]
    pub fn rate(mut self, now: Time) -> (u64, u64) {
        self.tick(now);
        let [_, last] = self.seconds;
        last
    }
}

/// Snapshot items of one type.
#[derive(Clone, Copy, Debug, Default)]
pub struct Items {
    /// Number of new, changed and deleted items in deltas.
    pub items: u64,
    /// Their bytes in deltas, before compression.
    pub bytes: u64,
}

/// Datagrams sent by the peer of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packed {
    /// Number of datagrams.
    pub datagrams: u64,
    /// Size of the datagrams, in bytes.
    pub bytes: u64,
    /// Size of the compressed payloads, in bytes.
    pub compressed: u64,
    /// Size of the compressed payloads after inflating, in bytes.
    pub inflated: u64,
}

impl Packed {
    /// Returns the compressed size divided by the inflated size; `None` if no payload was compressed.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        (self.inflated > 0).then(|| self.compressed as f64 / self.inflated as f64)
    }
}

/// Counts of one session, or of all sessions.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Number of messages that rules dropped or lost.
    pub dropped: u64,
    /// Number of messages that rules or people made.
    pub injected: u64,
    /// Number of messages that rules edited.
    pub edited: u64,
    /// Number of notes that are warnings or errors.
    pub lints: u64,
    messages: BTreeMap<(Dir, Cow<'static, str>), Count>,
    items: BTreeMap<Cow<'static, str>, Items>,
    packed: PerDir<Packed>,
    /// Messages per second.
    pub rates: Rates,
}

impl Counts {
    /// Counts a datagram.
    pub(super) fn datagram(&mut self, at: Time, datagram: &Datagram, reading: &Reading) {
        if let Some(size) = reading.sizes.received {
            let packed = &mut self.packed[datagram.dir];
            packed.datagrams += 1;
            packed.bytes += size as u64;
            if reading.header.flags.contains(Flags::COMPRESSION) && reading.error.is_none() {
                let header = datagram.proto.layout().header_len;
                packed.compressed += size.saturating_sub(header) as u64;
                packed.inflated += reading.sizes.payload as u64;
            }
        }
        self.rates.count(at, reading.messages.len() as u64);
        for message in &reading.messages {
            let mut key = (datagram.dir, reading.label(message));
            if self.messages.len() >= NAMES && !self.messages.contains_key(&key) {
                key.1 = OTHERS;
            }
            let bytes = reading.data(message).len() as u64;
            self.messages.entry(key).or_default().add(at, bytes);
            for item in message.completed.items() {
                self.item(item);
            }
        }
    }

    fn item(&mut self, item: &ItemBytes) {
        let mut name = item.name.clone();
        if self.items.len() >= NAMES && !self.items.contains_key(&name) {
            name = OTHERS;
        }
        let items = self.items.entry(name).or_default();
        items.items += u64::from(item.items);
        items.bytes += u64::from(item.bytes);
    }

    /// Returns the messages by direction and name.
    pub fn messages(&self) -> impl Iterator<Item = (Dir, &str, Count)> + '_ {
        let messages = self.messages.iter();
        messages.map(|((dir, name), count)| (*dir, &**name, *count))
    }

    /// Returns the snapshot items by type.
    pub fn items(&self) -> impl Iterator<Item = (&str, Items)> + '_ {
        self.items.iter().map(|(name, items)| (&**name, *items))
    }

    /// Returns the datagrams of one direction.
    #[must_use]
    pub fn packed(&self, dir: Dir) -> Packed {
        self.packed[dir]
    }
}
