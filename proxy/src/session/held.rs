//! Messages that the proxy has acked to their sender but not numbered yet.

use std::{collections::VecDeque, num::NonZeroU32};

use super::{
    datagram::{HeldId, MadeAt, MadeHow, SentAt},
    time::Time,
    waiting::{HeldMessage, ReleaseReason},
};

/// Maximum number of held messages per direction.
const MAX_MESSAGES: usize = 300;
/// Maximum bytes of held messages per direction.
const MAX_BYTES: usize = 24 * 1024;
/// Factor by which both limits are raised for messages that rules make.
const BEYOND: usize = 4;

/// A held message.
#[derive(Debug)]
pub(crate) struct Held {
    /// The number of the message; `None` until [`Hold`] assigns it.
    id: Option<HeldId>,
    pub(crate) data: Box<[u8]>,
    pub(crate) vital: bool,
    pub(crate) release: Release,
    /// The rule that holds the message; `None` if it only waits for earlier messages.
    rule: Option<Box<str>>,
    /// True if a notice reports the release.
    is_noticed: bool,
    is_edited: bool,
    /// True if a rule flipped bits, and nobody has replaced the bytes since.
    is_corrupted: bool,
    /// Why the proxy sends the message when it is released.
    how: MadeHow,
    /// The time since which the message is held.
    since: Time,
}

/// The end of a wait, as a notice reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HoldEnd {
    pub(crate) id: HeldId,
    pub(crate) why: ReleaseReason,
    /// True if the bytes were replaced during the wait.
    pub(crate) is_edited: bool,
}

impl Held {
    pub(crate) fn new(data: Box<[u8]>, vital: bool, release: Release, since: Time) -> Self {
        Self {
            id: None,
            data,
            vital,
            release,
            rule: None,
            is_noticed: matches!(release, Release::Pause(_)),
            is_edited: false,
            is_corrupted: false,
            how: MadeHow::Release,
            since,
        }
    }

    /// Returns the message as made by a rule or a user.
    pub(crate) fn made(self, how: MadeHow) -> Self {
        Self { how, ..self }
    }

    /// Returns the record of the message when it is sent at the time `now`.
    pub(crate) fn made_at(&self, sent: SentAt, now: Time) -> MadeAt {
        MadeAt {
            sent,
            how: self.how,
            rule: self.rule.clone(),
            held: self.id,
            waited: now.since(self.since),
            corrupted: self.is_corrupted,
        }
    }

    /// Returns the message as one whose bits a rule has flipped or not.
    pub(crate) fn corrupted(self, is_corrupted: bool) -> Self {
        Self { is_corrupted, ..self }
    }

    /// Returns the message as held by a rule with this name.
    pub(crate) fn by(self, rule: Option<Box<str>>) -> Self {
        Self { rule, ..self }
    }

    /// Returns the end of the wait for a message that is sent now; `None` if it is not reported.
    pub(crate) fn left(&self) -> Option<HoldEnd> {
        let why = match self.release {
            Release::Key(..) | Release::Pause(_) => ReleaseReason::Timeout,
            Release::Ready | Release::At(_) if self.is_noticed => ReleaseReason::Released,
            Release::Ready | Release::At(_) => return None,
        };
        self.left_as(why)
    }

    fn left_as(&self, why: ReleaseReason) -> Option<HoldEnd> {
        Some(HoldEnd {
            id: self.id?,
            why,
            is_edited: self.is_edited,
        })
    }

    /// Returns the message as due immediately.
    pub(crate) fn ready(self) -> Self {
        Self {
            release: Release::Ready,
            ..self
        }
    }
}

/// The condition on which a held message is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Release {
    /// None: the message is due as soon as the messages before it are sent and the window has room.
    Ready,
    /// This time.
    At(Time),
    /// Its key, or this time.
    Key(u64, Time),
    /// A command, or this time.
    Pause(Time),
}

impl Release {
    fn is_due(self, now: Time) -> bool {
        self.deadline().is_none_or(|at| at <= now)
    }

    fn deadline(self) -> Option<Time> {
        match self {
            Self::Ready => None,
            Self::At(at) | Self::Key(_, at) | Self::Pause(at) => Some(at),
        }
    }
}

/// A message that waits until other messages of its group have overtaken it.
#[derive(Debug)]
struct Overtaken {
    group: u32,
    /// The tick of the snapshot; `None` unless the message is the first part of a snapshot.
    tick: Option<i32>,
    /// True if the message is released together with the previous message of its group.
    joins: bool,
    remaining: u32,
    until: Time,
    held: Held,
}

/// All held messages of one direction.
#[derive(Debug, Default)]
pub(crate) struct Hold {
    /// Messages in order: later vital messages queue after them.
    ordered: VecDeque<Held>,
    /// Messages out of order: each is released at its own time.
    free: Vec<Held>,
    overtaken: Vec<Overtaken>,
    /// Release time of the last non-vital message in order.
    last_loose: Time,
    bytes: usize,
    refusing: bool,
    last_id: u32,
}

impl Hold {
    /// Returns true if new vital messages have to queue.
    pub(crate) fn is_queueing(&self) -> bool {
        !self.ordered.is_empty()
    }

    /// Returns true if the queue was full and is not half empty yet. It refuses messages until then.
    pub(crate) fn is_refusing(&self) -> bool {
        self.refusing
    }

    /// Returns true if there is room for `len` more bytes. If not, the queue refuses messages until it is
    /// half empty.
    pub(crate) fn has_room(&mut self, len: usize) -> bool {
        if self.len() >= MAX_MESSAGES || self.bytes + len > MAX_BYTES {
            self.refusing = true;
        }
        !self.refusing
    }

    /// Returns true if there is room for a message of `len` bytes that a rule makes. The limit is higher than
    /// for received messages, because a rule makes such messages while it handles a received message that was
    /// already accepted.
    pub(crate) fn has_room_beyond(&self, len: usize) -> bool {
        self.len() < BEYOND * MAX_MESSAGES && self.bytes + len <= BEYOND * MAX_BYTES
    }

    /// Accepts messages again if the queue is half empty. Returns true when it begins to accept them.
    pub(crate) fn has_recovered(&mut self) -> bool {
        let recovered = self.refusing && self.len() <= MAX_MESSAGES / 2 && self.bytes <= MAX_BYTES / 2;
        if recovered {
            self.refusing = false;
        }
        recovered
    }

    /// Counts the bytes of a message, and assigns a number if it has none.
    fn number(&mut self, held: &mut Held) -> Option<HeldId> {
        self.bytes += held.data.len();
        if held.id.is_none() {
            self.last_id += 1;
            held.id = NonZeroU32::new(self.last_id).map(HeldId);
        }
        held.id
    }

    pub(crate) fn push_ordered(&mut self, mut held: Held) -> Option<HeldId> {
        let id = self.number(&mut held);
        self.ordered.push_back(held);
        id
    }

    pub(crate) fn push_free(&mut self, mut held: Held) -> Option<HeldId> {
        let id = self.number(&mut held);
        self.free.push(held);
        id
    }

    /// Holds a non-vital message at least until the previous one is released, so that they stay in order.
    pub(crate) fn push_loose(&mut self, mut held: Held) -> Option<HeldId> {
        if let Release::At(at) = held.release {
            self.last_loose = self.last_loose.max(at);
            held.release = Release::At(self.last_loose);
        }
        self.push_free(held)
    }

    pub(crate) fn push_overtaken(
        &mut self,
        (group, tick): (u32, Option<i32>),
        remaining: u32,
        until: Time,
        mut held: Held,
    ) -> Option<HeldId> {
        let id = self.number(&mut held);
        self.overtaken.push(Overtaken {
            group,
            tick,
            joins: false,
            remaining,
            until,
            held,
        });
        id
    }

    /// Holds a message together with the last message of the group: both are parts of the same snapshot.
    pub(crate) fn push_joined(&mut self, group: u32, until: Time, mut held: Held) -> Option<HeldId> {
        let id = self.number(&mut held);
        let joined = Overtaken {
            group,
            tick: None,
            joins: true,
            remaining: 0,
            until,
            held,
        };
        let last = self.overtaken.iter().rposition(|waiting| waiting.group == group);
        let place = last.map_or(self.overtaken.len(), |last| last + 1);
        self.overtaken.insert(place, joined);
        id
    }

    /// Returns true if a message of this group waits to be overtaken.
    pub(crate) fn awaits(&self, group: u32) -> bool {
        let mut waiting = self.overtaken.iter();
        waiting.any(|waiting| waiting.group == group && !waiting.joins)
    }

    /// Returns true if the last waiting message of this group is the first part of the snapshot with this
    /// tick.
    pub(crate) fn awaits_part(&self, group: u32, tick: i32) -> bool {
        let mut waiting = self.overtaken.iter().rev();
        let last = waiting.find(|waiting| waiting.group == group && !waiting.joins);
        last.is_some_and(|last| last.tick == Some(tick))
    }

    /// Counts a message that is sent ahead of the first waiting message of its group. Returns that waiting
    /// message, and the messages released with it, if it has been overtaken often enough; otherwise nothing.
    pub(crate) fn overtake(&mut self, group: u32) -> Vec<Held> {
        let is_next = |waiting: &Overtaken| waiting.group == group && !waiting.joins;
        let Some(index) = self.overtaken.iter().position(is_next) else {
            return Vec::new();
        };
        if let Some(waiting) = self.overtaken.get_mut(index) {
            waiting.remaining = waiting.remaining.saturating_sub(1);
            if waiting.remaining > 0 {
                return Vec::new();
            }
        }
        let mut gone = vec![self.overtaken.remove(index).held];
        let joins = |waiting: &mut Overtaken| waiting.group == group && waiting.joins;
        while self.overtaken.get_mut(index).is_some_and(joins) {
            gone.push(self.overtaken.remove(index).held);
        }
        self.bytes -= gone.iter().map(|held| held.data.len()).sum::<usize>();
        gone
    }

    /// Makes all messages held under `key` due. Returns true if there are any.
    pub(crate) fn release_key(&mut self, key: u64) -> bool {
        self.release(|held| matches!(held.release, Release::Key(of, _) if of == key))
    }

    /// Makes one message due. Returns false if it is no longer held.
    pub(crate) fn release_one(&mut self, id: HeldId) -> bool {
        for waiting in &mut self.overtaken {
            if waiting.held.id == Some(id) {
                waiting.until = Time::ZERO;
            }
        }
        let Some(held) = self.find(id) else { return false };
        held.release = Release::Ready;
        held.is_noticed = true;
        true
    }

    /// Removes one message without sending it. Returns `None` if it is no longer held.
    pub(crate) fn drop_one(&mut self, id: HeldId) -> Option<HoldEnd> {
        let is_meant = |held: &Held| held.id == Some(id);
        let held = if let Some(at) = self.ordered.iter().position(is_meant) {
            self.ordered.remove(at)?
        } else if let Some(at) = self.free.iter().position(is_meant) {
            self.free.remove(at)
        } else {
            let at = self
                .overtaken
                .iter()
                .position(|waiting| is_meant(&waiting.held))?;
            self.overtaken.remove(at).held
        };
        self.bytes -= held.data.len();
        held.left_as(ReleaseReason::Dropped)
    }

    /// Replaces the bytes of one message.
    ///
    /// # Errors
    /// Returns the reason if the message is not held, or if the queue is full.
    pub(crate) fn edit(&mut self, id: HeldId, data: &[u8]) -> Result<(), &'static str> {
        let bytes = self.bytes;
        let held = self.find(id).ok_or("the message is not held")?;
        let bytes = bytes - held.data.len() + data.len();
        if bytes > BEYOND * MAX_BYTES {
            return Err("the hold queue is full");
        }
        held.data = data.into();
        (held.is_noticed, held.is_edited, held.is_corrupted) = (true, true, false);
        self.bytes = bytes;
        Ok(())
    }

    fn find(&mut self, id: HeldId) -> Option<&mut Held> {
        let overtaken = self.overtaken.iter_mut().map(|waiting| &mut waiting.held);
        let mut all = self.ordered.iter_mut().chain(&mut self.free).chain(overtaken);
        all.find(|held| held.id == Some(id))
    }

    /// Appends all held messages to `list`, in the order of their numbers. `of` returns the entry of a
    /// number.
    pub(crate) fn list(&self, list: &mut Vec<HeldMessage>, of: impl Fn(HeldId) -> HeldMessage) {
        let overtaken = self
            .overtaken
            .iter()
            .map(|waiting| (&waiting.held, Some(waiting.until)));
        let queued = self.ordered.iter().chain(&self.free);
        let queued = queued.map(|held| (held, held.release.deadline()));
        let start = list.len();
        list.extend(queued.chain(overtaken).filter_map(|(held, until)| {
            Some(HeldMessage {
                vital: held.vital,
                rule: held.rule.clone(),
                until,
                edited: held.is_edited,
                data: held.data.clone(),
                ..of(held.id?)
            })
        }));
        if let Some(added) = list.get_mut(start..) {
            added.sort_by_key(|waiting| waiting.held);
        }
    }

    fn release(&mut self, is_meant: impl Fn(&Held) -> bool) -> bool {
        let mut found = false;
        for held in self.ordered.iter_mut().chain(&mut self.free) {
            if is_meant(held) {
                held.release = Release::Ready;
                found = true;
            }
        }
        found
    }

    /// Removes and returns the next message that is due. Vital messages are due only if the window has room.
    pub(crate) fn pop_due(&mut self, now: Time, window_open: bool) -> Option<Held> {
        if window_open && self.ordered.front().is_some_and(|held| held.release.is_due(now)) {
            return self
                .ordered
                .pop_front()
                .inspect(|held| self.bytes -= held.data.len());
        }
        if let Some(index) = self
            .overtaken
            .iter()
            .position(|waiting| (window_open || !waiting.held.vital) && waiting.until <= now)
        {
            let held = self.overtaken.remove(index).held;
            self.bytes -= held.data.len();
            return Some(held);
        }
        let index = self
            .free
            .iter()
            .enumerate()
            .filter(|(_, held)| (window_open || !held.vital) && held.release.is_due(now))
            .min_by_key(|(index, held)| (held.release.deadline(), *index))
            .map(|(index, _)| index)?;
        let held = self.free.remove(index);
        self.bytes -= held.data.len();
        Some(held)
    }

    /// Returns the time at which the next message is due; `Time::ZERO` if it can be sent now, `None` if no
    /// message has a time.
    pub(crate) fn deadline(&self, window_open: bool) -> Option<Time> {
        let ordered = self
            .ordered
            .front()
            .filter(|_| window_open)
            .map(|held| held.release);
        let free = self
            .free
            .iter()
            .filter(|held| window_open || !held.vital)
            .map(|held| held.release);
        let overtaken = self
            .overtaken
            .iter()
            .filter(|waiting| window_open || !waiting.held.vital)
            .map(|waiting| waiting.until);
        ordered
            .into_iter()
            .chain(free)
            .map(|release| release.deadline().unwrap_or(Time::ZERO))
            .chain(overtaken)
            .min()
    }

    pub(crate) fn len(&self) -> usize {
        self.ordered.len() + self.free.len() + self.overtaken.len()
    }
}
