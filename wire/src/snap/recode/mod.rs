//! Re-encodes snapshots with changed values.
//!
//! A changed snapshot becomes the base of later snapshots, so the client's base differs from the server's. A
//! [`Recoder`] keeps both snapshots of each tick. It applies the server's delta to the server's base, changes the
//! result, and encodes a delta to the client's base, with its sum, in the same messages that a server would use.
//!
//! Law: the client receives the snapshots that the server sent, except for the items that were changed at the same
//! tick. A snapshot is forwarded byte for byte if neither the snapshot nor its base was changed. A snapshot that cannot
//! be re-encoded is not sent; the client then acks an older snapshot. Peers cannot increase the amount of memory that
//! is used, or the time for which it is kept.
//!
//! Out of scope: snapshots in vital messages, which no server sends.

mod ticks;
mod write;

use std::sync::Arc;

use super::delta::{Counts, Delta};
use super::forms::{Forms, Head, Meaning};
use super::kept::REMEMBERED;
use super::parts::Parts;
use super::snapshot::{ItemKey, Snapshot};
use super::{MAX_PARTS, PART};
use crate::def::{Decoded, Registry};
use crate::note::Notes;
use crate::{Dir, Proto};
use ticks::{Base, Ticks};
use write::Writer;

pub use write::TooLarge;

/// The new ints of an item. Must have the same number of ints as the item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemEdit {
    /// The item.
    pub key: ItemKey,
    /// All its ints.
    pub ints: Box<[i32]>,
}

/// The changes to a message that may be part of a snapshot.
#[derive(Debug, Clone, Copy, Default)]
pub struct Changes<'a> {
    /// The items to change, if the message completes a snapshot.
    pub items: &'a [ItemEdit],
    /// The bytes that are sent instead of the message. A snapshot with such a part is not rewritten.
    pub bytes: Option<&'a [u8]>,
    /// True if the message is dropped, so that its snapshot never becomes complete.
    pub is_dropped: bool,
    /// True if items of later snapshots may be changed. If false, only snapshots that depend on a changed snapshot are
    /// decoded.
    pub may_follow: bool,
}

/// The messages that are sent instead of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recoded {
    /// The message unchanged.
    Same,
    /// No message yet: it is sent when its snapshot is complete.
    Waits,
    /// No message: the client could not read it.
    Never,
    /// Send these messages instead; at least one.
    Messages(Vec<Vec<u8>>),
}

/// The reason why items were not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotChanged {
    /// The base was sent before the recoder followed snapshots, or was lost before it reached the recoder.
    #[error("the base of the snapshot is unknown; run resync to request a complete snapshot")]
    NoBase,
    /// The client already has the snapshot of this tick.
    #[error("the client may have this snapshot already")]
    SentBefore,
    /// Other bytes are sent instead of the message.
    #[error("another action changes the message")]
    OtherBytes,
    /// The snapshot would need more than 64 parts.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
}

/// The snapshots of a session, as the server sent them and as the client received them.
#[derive(Debug)]
pub struct Recoder<'r> {
    registry: &'r Registry,
    proto: Proto,
    forms: Forms,
    writer: Writer<'r>,
    decoded: Decoded,
    delta: Delta,
    parts: Parts,
    /// The messages of the parts, in the order of arrival.
    waiting: Vec<Vec<u8>>,
    /// True if other bytes are sent instead of a part.
    has_other_bytes: bool,
    ticks: Ticks,
}

impl<'r> Recoder<'r> {
    /// Creates a recoder for a session. Snapshots whose base was sent earlier cannot be changed.
    #[must_use]
    pub fn new(registry: &'r Registry, proto: Proto) -> Self {
        Self {
            registry,
            proto,
            forms: Forms::new(registry, proto),
            writer: Writer::new(registry, proto),
            decoded: Decoded::new(),
            delta: Delta::new(),
            parts: Parts::default(),
            waiting: Vec::new(),
            has_other_bytes: false,
            ticks: Ticks::default(),
        }
    }

    /// Returns the variant of the messages.
    #[must_use]
    pub const fn proto(&self) -> Proto {
        self.proto
    }

    /// Returns true if no later snapshot can depend on a changed snapshot, and no snapshot is incomplete.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty() && !self.ticks.has_changed()
    }

    /// Returns the number of snapshots kept, at most 256.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ticks.len()
    }

    /// Returns true if no snapshot is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ticks.len() == 0
    }

    /// Returns the number of bytes of the snapshots kept.
    #[must_use]
    pub const fn held(&self) -> usize {
        self.ticks.held()
    }

    /// Handles a message of the server in the order of arrival. Returns the messages to send instead, and the reason
    /// if items were not changed.
    pub fn on_message(&mut self, data: &[u8], changes: Changes<'_>) -> (Recoded, Option<NotChanged>) {
        let def = self
            .decoded
            .message(self.registry, self.proto, Dir::S2c, data)
            .filter(|def| self.forms.follow(Dir::S2c, def));
        let meaning = def.and_then(|def| self.forms.meaning(Dir::S2c, def, &self.decoded, data));
        let Some(Meaning::Snap(head, bytes)) = meaning else {
            return (Recoded::Same, None);
        };
        let (parts, part) = (u8::try_from(head.parts).ok(), u8::try_from(head.part).ok());
        let is_right = |parts: u8, part: u8| part < parts && usize::from(parts) <= MAX_PARTS;
        let place = parts.zip(part).filter(|(parts, part)| is_right(*parts, *part));
        let is_sized = usize::try_from(head.size) == Ok(bytes.len()) && bytes.len() <= PART;
        let Some((parts, part)) = place.filter(|_| is_sized) else {
            // Clients ignore the message.
            return (Recoded::Same, None);
        };
        if self.is_gathering_after(head.tick) && parts > 1 {
            return (Recoded::Never, None);
        }
        self.begin(head.tick);
        if changes.is_dropped {
            if self.parts.now().is_some_and(|now| now.tick == head.tick) {
                self.give_up();
            }
            return (Recoded::Never, None);
        }
        if !changes.may_follow && self.waiting.is_empty() && self.ticks.may_pass(head.tick, head.base) {
            self.ticks.pass(head.tick, head.base);
            return (Recoded::Same, None);
        }
        if parts == 1 {
            let came = Came {
                messages: Vec::new(),
                has_other_bytes: changes.bytes.is_some(),
            };
            return self.complete(&head, bytes, came, changes.items);
        }
        self.has_other_bytes |= changes.bytes.is_some();
        self.waiting.push(changes.bytes.unwrap_or(data).to_vec());
        if !self.parts.add(&head, part, parts, bytes, &mut Notes::new()) {
            return (Recoded::Waits, None);
        }
        let came = Came {
            messages: std::mem::take(&mut self.waiting),
            has_other_bytes: std::mem::take(&mut self.has_other_bytes),
        };
        let joined = std::mem::take(&mut self.parts);
        let done = self.complete(&head, joined.joined(), came, changes.items);
        self.parts = joined;
        done
    }

    /// Returns true if parts of a snapshot slightly newer than `tick` are waiting: clients then ignore older parts.
    fn is_gathering_after(&self, tick: i32) -> bool {
        let newer = self.parts.now().map(|now| now.tick.saturating_sub(tick));
        newer.is_some_and(|by| (1..=REMEMBERED).contains(&by))
    }

    /// Discards the waiting parts of another tick, unless that tick is newer.
    fn begin(&mut self, tick: i32) {
        let is_other = |now: i32| now != tick && !self.is_gathering_after(tick);
        if self.parts.now().is_none_or(|now| is_other(now.tick)) {
            self.give_up();
        }
    }

    fn give_up(&mut self) {
        self.parts.give_up();
        self.waiting.clear();
        self.has_other_bytes = false;
    }

    /// Handles a complete snapshot.
    fn complete(
        &mut self,
        head: &Head,
        joined: &[u8],
        came: Came,
        items: &[ItemEdit],
    ) -> (Recoded, Option<NotChanged>) {
        let as_it_came = match came.messages.is_empty() {
            true => Recoded::Same,
            false => Recoded::Messages(came.messages),
        };
        let refused = |why| Some(why).filter(|_| !items.is_empty());
        if came.has_other_bytes {
            return (as_it_came, refused(NotChanged::OtherBytes));
        }
        let base = match self.ticks.base(head.base) {
            Base::Lost => return (Recoded::Never, refused(NotChanged::NoBase)),
            Base::Passed => {
                self.ticks.pass(head.tick, head.base);
                return (as_it_came, refused(NotChanged::NoBase));
            }
            Base::Known(base) => base,
        };
        let Some(server) = self.read(head, joined, &base.server) else {
            // Clients discard the snapshot.
            return (as_it_came, None);
        };
        let sent = self.ticks.sent(head.tick, &server);
        let why = refused(NotChanged::SentBefore).filter(|_| sent.is_some());
        let changed = sent.unwrap_or_else(|| change(&server, items));
        if changed.is_none() && base.changed.is_none() {
            self.ticks.keep(head.tick, head.base, server, None);
            return (as_it_came, why);
        }
        let to = changed.as_ref().unwrap_or(&server);
        let from = base.changed.as_ref().unwrap_or(&base.server);
        let messages = match self.writer.messages(head.tick, head.base, from, to) {
            Ok(messages) => messages,
            Err(error) => return (Recoded::Never, refused(error.into())),
        };
        self.ticks.keep(head.tick, head.base, server, changed);
        (Recoded::Messages(messages), why)
    }

    /// Applies the difference to the server's base. `None` if clients discard the snapshot.
    fn read(&mut self, head: &Head, joined: &[u8], base: &Snapshot) -> Option<Arc<Snapshot>> {
        self.delta.read(self.writer.sizes(), joined).ok()?;
        let (mut snapshot, mut counts) = (Snapshot::new(), Counts::default());
        self.delta.apply(base, &mut snapshot, &mut counts).ok()?;
        let is_right = head.crc.is_none_or(|crc| crc == snapshot.crc());
        is_right.then(|| Arc::new(snapshot))
    }
}

/// The messages of a complete snapshot.
struct Came {
    /// The messages of the parts; empty if the snapshot was sent in one message.
    messages: Vec<Vec<u8>>,
    /// True if other bytes are sent instead of a part.
    has_other_bytes: bool,
}

/// Returns the snapshot with `items` changed; `None` if nothing differs.
fn change(snapshot: &Arc<Snapshot>, items: &[ItemEdit]) -> Option<Arc<Snapshot>> {
    let differs = |edit: &&ItemEdit| {
        let ints = snapshot.get(edit.key);
        ints.is_some_and(|ints| ints.len() == edit.ints.len() && *ints != *edit.ints)
    };
    let mut changed: Option<Snapshot> = None;
    for edit in items.iter().filter(differs) {
        let changed = changed.get_or_insert_with(|| Snapshot::clone(snapshot));
        if let Some(ints) = changed.get_mut(edit.key) {
            ints.copy_from_slice(&edit.ints);
        }
    }
    changed.map(Arc::new)
}
