//! The id at the start of a chunk.
//!
//! Law: one int, whose lowest bit chooses between two id spaces; DDNet's id 0 is followed by a UUID that is the real
//! id (DDNet protocol_ex.cpp), in every variant. Names and fields are elsewhere.

use std::fmt;

use crate::varint;

/// Which id space a message belongs to.
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
    /// The number, 0 for extended messages. Hostile bytes may make it negative.
    pub id: i32,
    /// The UUID of an extended message.
    pub uuid: Option<[u8; 16]>,
}

/// Reads the id at the start of a chunk's data, and its length in bytes. `None` if the data ends within the int.
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
        write!(f, "{}.ex.", self.layer)?;
        for (at, byte) in uuid.iter().enumerate() {
            let dash = if matches!(at, 4 | 6 | 8 | 10) { "-" } else { "" };
            write!(f, "{dash}{byte:02x}")?;
        }
        Ok(())
    }
}
