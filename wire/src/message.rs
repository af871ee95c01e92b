//! The id at the start of a chunk.
//!
//! Law: an id is an int whose lowest bit selects one of two id spaces. In every variant, the id 0 marks an extended
//! message of DDNet, and is followed by a UUID, which is the actual id (DDNet protocol_ex.cpp). Names and fields of
//! messages are in [`def`](crate::def).

use std::fmt;

use uuid::Uuid;

use crate::varint;

/// The id space of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// Messages of the engine: maps, snapshots, rcon.
    System,
    /// Messages of the game: chat, votes, kills.
    Game,
}

/// The id of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId {
    /// The id space.
    pub layer: Layer,
    /// The number; 0 for extended messages. Damaged bytes may make it negative.
    pub id: i32,
    /// The UUID of an extended message.
    pub uuid: Option<[u8; 16]>,
}

/// Reads the id at the start of a chunk's data and returns it with its length in bytes. `None` if the data ends
/// inside the int.
#[must_use]
pub fn identify(data: &[u8]) -> Option<(MessageId, usize)> {
    let int = varint::decode(data)?;
    let layer = if int.value & 1 == 0 {
        Layer::Game
    } else {
        Layer::System
    };
    let id = int.value >> 1;
    let uuid = data
        .get(int.len..)
        .filter(|_| id == 0)
        .and_then(<[u8]>::first_chunk::<16>)
        .copied();
    let len = int.len + uuid.map_or(0, |uuid| uuid.len());
    Some((MessageId { layer, id, uuid }, len))
}

/// Returns true if a message that starts with this byte can have a UUID: its id is 0, or is written with more bytes
/// than it needs.
pub(crate) const fn may_have_uuid(first: u8) -> bool {
    first & 0x7e == 0
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::System => "sys",
            Self::Game => "game",
        })
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(uuid) = self.uuid else {
            return write!(f, "{}.{}", self.layer, self.id);
        };
        write!(f, "{}.ex.{}", self.layer, Uuid::from_bytes(uuid).hyphenated())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(data: &[u8]) -> Option<(String, usize)> {
        identify(data).map(|(id, len)| (id.to_string(), len))
    }

    #[test]
    fn plain_and_extended_ids() {
        assert_eq!(read(&[0x09]), Some(("sys.4".to_owned(), 1)));
        assert_eq!(read(&[0x84, 0x01, 0x55]), Some(("game.34".to_owned(), 2)));
        let uuid = *b"\x12\x81\x0e\x1f\xa1\xdb\x33\x78\xb4\xfb\x16\x4e\xd6\x50\x59\x26";
        let system = [&[0x01], &uuid[..], &[0]].concat();
        assert_eq!(
            read(&system),
            Some(("sys.ex.12810e1f-a1db-3378-b4fb-164ed6505926".to_owned(), 17))
        );
        let game = [&[0x00], &uuid[..]].concat();
        let id = MessageId {
            layer: Layer::Game,
            id: 0,
            uuid: Some(uuid),
        };
        assert_eq!(identify(&game), Some((id, 17)));
    }

    #[test]
    fn odd_ids() {
        assert_eq!(read(&[]), None);
        assert_eq!(read(&[0x80]), None);
        // Id 0 without room for a UUID.
        assert_eq!(read(&[0x01; 16]), Some(("sys.0".to_owned(), 1)));
        assert_eq!(read(&[0x40]), Some(("sys.-1".to_owned(), 1)));
    }

    proptest! {
        #[test]
        fn any_bytes_have_an_id_within_them(data in prop::collection::vec(any::<u8>(), 0..1500)) {
            if let Some((id, len)) = identify(&data) {
                prop_assert!(len <= data.len());
                prop_assert_eq!(id.uuid.is_some(), id.id == 0 && len > 16);
            }
        }
    }
}
