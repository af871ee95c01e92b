//! Snapshots: the contents of the game world at a tick, sent as differences.
//!
//! A snapshot is a set of items, each with a type, an id and ints. It is sent as a [`Delta`] to an earlier snapshot
//! that the client has, in parts of 900 bytes, with the sum of all its ints. A [`Store`] processes the messages of one
//! session, joins the parts, finds the earlier snapshot and returns a [`Completed`] snapshot: every item with its
//! definition, its values and its changes. A [`ChecksumCauses`] finds the likely cause of a wrong sum. A [`Recoder`] changes
//! values on their way to the client.
//!
//! Law: the store accepts the same snapshots as the game's client, and notes why the client would discard a snapshot.
//! Peers cannot exhaust memory or time: a snapshot has at most [`MAX_ITEMS`] items and [`MAX_SIZE`] bytes, and a store
//! has a limit. Buffers are reused, so that memory for snapshots of usual size is allocated only if a client acks so
//! late that many snapshots are kept and released at once.
//!
//! Out of scope: checks of the values, which the definitions make in [`Item::read`].
//!
//! Sources: Teeworlds 0.7 and DDNet 20 `snapshot.cpp` (`UnpackDelta`, `CSnapshotBuilder`), `client.cpp`
//! (`NETMSG_SNAP`).

mod delta;
mod doctor;
mod forms;
mod ids;
mod kept;
mod late;
mod pairs;
mod parts;
mod recode;
mod row;
mod snapshot;
mod store;
#[cfg(test)]
mod tests;
mod unacked;
mod unsent;
mod view;
mod write;

pub use delta::{Broken, Counts, Delta};
pub use doctor::{Cause, ChecksumCauses, Diagnosis, Explained, FieldFault, FormFault, ItemFault, SumFault};
pub use ids::Reused;
pub use parts::Receiving;
pub use recode::{Changes, ItemEdit, NotChanged, Recoded, Recoder, TooLarge};
pub use row::WrongRun;
pub use snapshot::{InsertError, ItemKey, Sizes, Snapshot};
pub use store::Store;
pub use view::{Change, Completed, Crc, Fate, Item, Retained};
pub use write::DeltaError;

/// The maximum number of parts of a snapshot.
pub const MAX_PARTS: usize = 64;
/// The length in bytes of every part but the last, which may be shorter.
pub const PART: usize = 900;
/// The maximum number of items of a snapshot.
pub const MAX_ITEMS: usize = 1024;
/// The maximum size of a snapshot in bytes, as clients hold it: 8, plus 8 for each item and 4 for each int. It is
/// also four times the maximum number of ints of a delta.
pub const MAX_SIZE: usize = 64 * 1024;
/// The first type that needs a descriptor: an item of type 0 whose id is the type and whose ints are a UUID.
pub(crate) const FIRST_EXTENDED: u16 = 0x4000;
/// The highest type of an item.
pub(crate) const MAX_TYPE: u16 = 0x7fff;
