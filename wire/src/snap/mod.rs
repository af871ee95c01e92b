//! Snapshots: what is in the game world at a tick, sent as differences.
//!
//! A snapshot is a set of items, each with a type, an id and ints. It is sent as a [`Delta`] to an earlier one that the
//! client has, in parts of 900 bytes, with the sum of all its ints. A [`Store`] follows the messages of one session, puts
//! parts together, finds the earlier snapshot and gives a [`Completed`] one: every item with its definition, its values and
//! what changed.
//!
//! Law: the store takes a snapshot when the game's client would, and says in a note why it would not. What peers send
//! decides neither how much memory it holds nor how long it computes: a snapshot has at most [`MAX_ITEMS`] items and
//! [`MAX_SIZE`] bytes, and a store has a limit. Buffers are used again: a snapshot of the usual size is
//! allocated only where a client acks so late that many are kept and let go at once.
//!
//! What it is not: a check of the values, which [`Item::read`] leaves to the definitions.
//!
//! Sources: Teeworlds 0.7 and DDNet 20 `snapshot.cpp` (`UnpackDelta`, `CSnapshotBuilder`), `client.cpp` (`NETMSG_SNAP`).

mod delta;
mod forms;
mod pairs;
mod parts;
mod snapshot;
mod store;
#[cfg(test)]
mod tests;
mod view;
mod write;

pub use delta::{Broken, Counts, Delta};
pub use parts::Receiving;
pub use snapshot::{InsertError, Key, Sizes, Snapshot};
pub use store::Store;
pub use view::{Change, Completed, Crc, Fate, Item, Retained};
pub use write::DeltaError;

/// Most parts of a snapshot.
pub const MAX_PARTS: usize = 64;
/// Bytes of every part but the last, which has at most as many.
pub const PART: usize = 900;
/// Most items of a snapshot.
pub const MAX_ITEMS: usize = 1024;
/// Most bytes of a snapshot as clients hold it: 8, and for each item 8 and four for each int. Also four times the most
/// ints of a delta.
pub const MAX_SIZE: usize = 64 * 1024;
/// Types from here on are told by descriptor items: items of type 0 whose id is the type and whose ints are a UUID.
pub const FIRST_EXTENDED: u16 = 0x4000;
/// The highest type of an item.
pub const MAX_TYPE: u16 = 0x7fff;
