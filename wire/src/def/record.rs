//! The result of decoding: flat records that refer to the decoded bytes without copying them.
//!
//! Law: a record contains the position of its bytes, not the bytes, so that a buffer of records can be reused for the
//! next message. Callers that format or edit a record also pass the bytes ([`Source`]).

use std::borrow::Cow;

use super::model::{Def, Field, Path, PathPart, Type};
use crate::note::Notes;

/// The input of decoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source<'a> {
    /// The bytes of a message. Ranges count bytes.
    Bytes(&'a [u8]),
    /// The ints of a snapshot item. Ranges count ints.
    Ints(&'a [i32]),
}

impl Source<'_> {
    /// Returns the number of bytes or ints.
    #[must_use]
    pub const fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Ints(ints) => ints.len(),
        }
    }

    /// Returns true if there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The value of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Int(i64),
    /// Text: the number of bytes from the start of the record, without a final NUL.
    Text(u32),
    /// The bytes of the record, or the ints that hold them.
    Bytes,
    /// A group, whose parts follow.
    Group,
    /// A list: the number of elements, which follow.
    List(u32),
}

/// One decoded value, list or group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// The number of the field in [`Def::fields`].
    pub field: u16,
    /// The index in the list, from 0; `None` if the record is not an element of a list.
    pub index: Option<u16>,
    /// The depth in groups and lists.
    pub depth: u8,
    /// The offset of the first byte or int.
    pub at: u32,
    /// The number of bytes or ints.
    pub len: u32,
    /// The index of the first record after it and its parts.
    pub end: u32,
    /// The value.
    pub value: Value,
}

impl Record {
    /// Returns the value of a number; `None` for other kinds.
    #[must_use]
    pub const fn int(&self) -> Option<i64> {
        match self.value {
            Value::Int(value) => Some(value),
            _ => None,
        }
    }
}

/// The records of one message or object, in a reusable buffer.
#[derive(Debug, Default, Clone)]
pub struct Decoded {
    pub(super) records: Vec<Record>,
    pub(super) notes: Notes,
    pub(super) body: usize,
    pub(super) known_end: usize,
    /// True if the receiver is a DDNet peer.
    pub(super) for_ddnet: bool,
}

impl Decoded {
    /// Creates an empty buffer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns true if messages are read for a receiver that is a DDNet peer.
    #[must_use]
    pub const fn is_for_ddnet(&self) -> bool {
        self.for_ddnet
    }

    /// Sets whether the receiver of the following messages is DDNet, which keeps longer texts in all protocols.
    pub const fn set_for_ddnet(&mut self, is_ddnet: bool) {
        self.for_ddnet = is_ddnet;
    }

    /// Returns all records; lists and groups come before their contents.
    #[must_use]
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Returns the oddities.
    #[must_use]
    pub const fn notes(&self) -> &Notes {
        &self.notes
    }

    /// Returns the length in bytes of the id before the fields.
    #[must_use]
    pub const fn body(&self) -> usize {
        self.body
    }

    /// Returns the offset of the end of the fields. Later bytes are surplus or could not be read.
    #[must_use]
    pub const fn known_end(&self) -> usize {
        self.known_end
    }

    /// Returns the records for reading.
    #[must_use]
    pub fn view(&self) -> Records<'_> {
        Records::new(&self.records)
    }

    /// Returns the records directly in `parent`, as [`Records::parts`] does.
    pub fn parts(&self, parent: Option<&Record>) -> impl Iterator<Item = &Record> + Clone + use<'_> {
        self.view().parts(parent)
    }

    /// Returns the value at a path, as [`Records::find`] does.
    #[must_use]
    pub fn find(&self, path: &Path) -> Option<&Record> {
        self.view().find(path)
    }

    /// Calls `each` with the values at a path, in order, until it returns a value.
    pub fn find_map<'d, T>(&'d self, path: &Path, each: impl FnMut(&'d Record) -> Option<T>) -> Option<T> {
        self.view().find_map(path, each)
    }
}

/// A view of the records of one message or object.
#[derive(Debug, Clone, Copy)]
pub struct Records<'d>(&'d [Record]);

impl<'d> Records<'d> {
    /// Wraps the records of one message or object, in order.
    #[must_use]
    pub const fn new(records: &'d [Record]) -> Self {
        Self(records)
    }

    /// Returns all records; lists and groups come before their contents.
    #[must_use]
    pub const fn all(self) -> &'d [Record] {
        self.0
    }

    /// Returns the records directly in `parent`, or at the top level.
    pub fn parts(self, parent: Option<&Record>) -> impl Iterator<Item = &'d Record> + Clone + use<'d> {
        let whole = self.0.len();
        let (mut next, end) = match parent {
            Some(parent) => (self.place(parent) + 1, parent.end as usize),
            None => (0, whole),
        };
        std::iter::from_fn(move || {
            let record = self.0.get(next).filter(|_| next < end)?;
            next = record.end as usize;
            Some(record)
        })
    }

    /// Returns the value at a path, or the first element if the path omits the index of a list. Returns `None` if the
    /// message ends before the value.
    #[must_use]
    pub fn find(self, path: &Path) -> Option<&'d Record> {
        self.descend(None, &path.steps, &mut |record| Some(record))
    }

    /// Calls `each` with the values at a path until it returns `Some`. A path that omits the index of a list names
    /// all elements of the list.
    pub(super) fn find_map<T>(self, path: &Path, mut each: impl FnMut(&'d Record) -> Option<T>) -> Option<T> {
        self.descend(None, &path.steps, &mut each)
    }

    fn descend<T>(
        self,
        parent: Option<&'d Record>,
        steps: &[PathPart],
        each: &mut dyn FnMut(&'d Record) -> Option<T>,
    ) -> Option<T> {
        let (step, rest) = steps.split_first()?;
        let record = self.parts(parent).find(|record| record.field == step.field)?;
        let list = matches!(record.value, Value::List(_));
        match step.index {
            // The list itself.
            None if rest.is_empty() => each(record),
            None if list => {
                let mut elements = self.parts(Some(record));
                elements.find_map(|element| self.descend(Some(element), rest, each))
            }
            None => self.descend(Some(record), rest, each),
            Some(index) => {
                let mut elements = self.parts(Some(record));
                let element = elements.find(|element| element.index == Some(index))?;
                if rest.is_empty() {
                    each(element)
                } else {
                    self.descend(Some(element), rest, each)
                }
            }
        }
    }

    /// Returns the index of a record in [`Decoded::records`].
    pub(super) fn place(self, record: &Record) -> usize {
        let same = |other: &Record| {
            (other.at, other.field, other.index, other.depth)
                == (record.at, record.field, record.index, record.depth)
        };
        // Records are sorted by position. Records without length may be between other records at the same position.
        let start = self.0.partition_point(|other| other.at < record.at);
        let after = self.0.get(start..).unwrap_or_default();
        start + after.iter().position(same).unwrap_or(after.len())
    }
}

/// Returns the bytes of text or raw data as received, without a final NUL. Empty for numbers.
#[must_use]
pub(super) fn bytes<'a>(field: &Field, record: &Record, source: Source<'a>) -> Cow<'a, [u8]> {
    let range = record.at as usize..(record.at + record.len) as usize;
    match source {
        Source::Bytes(data) => {
            let data = data.get(range).unwrap_or_default();
            Cow::Borrowed(match record.value {
                Value::Text(len) if matches!(field.ty, Type::Packed(_)) => return unpack_bytes(data, len),
                Value::Text(len) => data.get(..len as usize).unwrap_or_default(),
                Value::Bytes => data,
                _ => &[],
            })
        }
        Source::Ints(ints) => {
            let ints = ints.get(range).unwrap_or_default();
            match record.value {
                Value::Text(len) => {
                    Cow::Owned(packed_text(ints.iter().copied()).take(len as usize).collect())
                }
                Value::Bytes => Cow::Owned(ints.iter().flat_map(|int| int.to_be_bytes()).collect()),
                _ => Cow::Borrowed(&[]),
            }
        }
    }
}

fn unpack_bytes(data: &[u8], len: u32) -> Cow<'_, [u8]> {
    let mut rest = data;
    let ints = std::iter::from_fn(|| {
        let int = crate::varint::decode(rest)?;
        rest = rest.get(int.len..)?;
        Some(int.value)
    });
    Cow::Owned(packed_text(ints).take(len as usize).collect())
}

/// Returns the characters in ints: 128 is added to each (gamecore.h, IntsToStr).
pub(super) fn packed_text(ints: impl Iterator<Item = i32>) -> impl Iterator<Item = u8> {
    ints.flat_map(|int| int.to_be_bytes())
        .map(|byte| byte.wrapping_sub(128))
}

impl Def {
    /// Returns the bytes of a record's text or raw data, without a final NUL. Empty for numbers.
    #[must_use]
    pub fn bytes<'a>(&self, record: &Record, source: Source<'a>) -> Cow<'a, [u8]> {
        self.field(record.field)
            .map_or(Cow::Borrowed(&[]), |field| bytes(field, record, source))
    }
}
