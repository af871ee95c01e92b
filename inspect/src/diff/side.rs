//! One of the two sides of a comparison.

use std::{collections::BTreeMap, net::SocketAddr};

use teetap_proxy::session::{SessionId, Time};
use teetap_wire::{Dir, PerDir, Proto, snap::Retained};

use super::{
    entry::{ComparedMessage, Field},
    lineage::Rules,
    stats::Statistics,
};

/// Maximum number of messages kept per direction.
const MESSAGES: usize = 20_000;

/// Maximum number of inputs kept.
const INPUTS: usize = 50_000;

/// Maximum number of snapshots kept.
const SNAPSHOTS: usize = 50_000;

/// Maximum memory for each of these lists, in bytes.
const BYTES: usize = 64 << 20;

/// One side of a comparison: the comparable parts of a session.
#[derive(Debug)]
pub struct Side {
    /// The session.
    pub session: SessionId,
    /// The protocol; `None` if the session has no datagram.
    pub proto: Option<Proto>,
    /// Address of the client.
    pub client: Option<SocketAddr>,
    /// Name of the player, if known.
    pub player: Option<String>,
    /// Time from the first to the last datagram.
    pub lasted: Time,
    /// Number of events missing from the recording.
    pub lost: u64,
    /// True if a message matched the expression that ends the comparison; `None` if there is no such expression.
    pub reached: Option<bool>,
    /// Counts of messages, inputs and snapshots that are not compared because a limit was reached.
    pub left: Omitted,
    pub(super) ways: PerDir<SideDirection>,
    pub(super) inputs: Kept<Input>,
    pub(super) snapshots: Kept<TimedSnapshot>,
    pub(super) statistics: Statistics,
}

/// Counts of messages, inputs and snapshots of a side that are not compared because a limit was reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Omitted {
    /// Number of messages in both directions.
    pub messages: u64,
    /// Number of inputs.
    pub inputs: u64,
    /// Number of snapshots.
    pub snapshots: u64,
}

/// One direction of a session.
#[derive(Debug, Default)]
pub(super) struct SideDirection {
    pub(super) messages: Vec<ComparedMessage>,
    /// Messages that are sent all the time, by name.
    pub(super) noise: BTreeMap<Box<str>, Noise>,
    bytes: usize,
}

/// Summary of one kind of message that is sent continuously.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Noise {
    pub(super) count: u64,
    pub(super) vital: bool,
    pub(super) first: Time,
    pub(super) last: Time,
    pub(super) frame: Option<u64>,
}

/// A bounded list of inputs or snapshots.
#[derive(Debug)]
pub(super) struct Kept<T> {
    pub(super) list: Vec<T>,
    bytes: usize,
}

/// An input.
#[derive(Debug)]
pub(super) struct Input {
    /// The tick for which the input is intended.
    pub(super) tick: i64,
    pub(super) at: Time,
    pub(super) frame: Option<u64>,
    pub(super) fields: Box<[Field]>,
    pub(super) rules: Rules,
}

/// A snapshot.
#[derive(Debug)]
pub(super) struct TimedSnapshot {
    pub(super) at: Time,
    pub(super) frame: Option<u64>,
    pub(super) snapshot: Retained<'static>,
    pub(super) rules: Rules,
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self {
            list: Vec::new(),
            bytes: 0,
        }
    }
}

impl<T> Kept<T> {
    /// Adds an element of `bytes` bytes. Returns false if there are already `most` elements, or not enough memory.
    fn push(&mut self, one: T, bytes: usize, most: usize) -> bool {
        let has_room = self.list.len() < most && self.bytes + bytes <= BYTES;
        if has_room {
            self.bytes += bytes;
            self.list.push(one);
        }
        has_room
    }
}

impl Side {
    pub(super) fn new(session: SessionId) -> Self {
        Self {
            session,
            proto: None,
            client: None,
            player: None,
            lasted: Time::ZERO,
            lost: 0,
            reached: None,
            left: Omitted::default(),
            ways: PerDir::default(),
            inputs: Kept::default(),
            snapshots: Kept::default(),
            statistics: Statistics::default(),
        }
    }

    /// Adds a message.
    pub(super) fn push(&mut self, dir: Dir, entry: ComparedMessage) {
        let held = entry.held();
        let way = &mut self.ways[dir];
        if way.messages.len() < MESSAGES && way.bytes + held <= BYTES {
            way.bytes += held;
            way.messages.push(entry);
        } else {
            self.left.messages += 1;
        }
    }

    /// Counts a message that is sent all the time.
    pub(super) fn count(&mut self, dir: Dir, name: &str, vital: bool, (at, frame): (Time, Option<u64>)) {
        let noise = &mut self.ways[dir].noise;
        if let Some(known) = noise.get_mut(name) {
            known.count += 1;
            known.vital |= vital;
            known.last = known.last.max(at);
            return;
        }
        let first = Noise {
            count: 1,
            vital,
            first: at,
            last: at,
            frame,
        };
        noise.insert(name.into(), first);
    }

    /// Adds an input.
    pub(super) fn push_input(&mut self, input: Input) {
        let fields = input
            .fields
            .iter()
            .map(|field| field.path.len() + field.text.len());
        let held = size_of::<Input>() + size_of_val(&*input.fields) + fields.sum::<usize>();
        self.left.inputs += u64::from(!self.inputs.push(input, held, INPUTS));
    }

    /// Adds a snapshot.
    pub(super) fn push_snapshot(&mut self, shot: TimedSnapshot) {
        let held = size_of::<TimedSnapshot>() + shot.snapshot.held();
        self.left.snapshots += u64::from(!self.snapshots.push(shot, held, SNAPSHOTS));
    }
}
