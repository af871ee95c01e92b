//! The datagram of a chunk, as rules see it.

use teetap_rules::{Decide, Message, PacketFacts, Shared};
use teetap_wire::{Chunk, Dir, Note, Packet, Proto, identify};

use super::{ids::SessionId, time::Time};

/// Facts that all chunks of a datagram share.
#[derive(Clone, Copy)]
pub(crate) struct Frame<'a> {
    session: SessionId,
    pub(crate) dir: Dir,
    pub(crate) proto: Proto,
    pub(crate) now: Time,
    packet: PacketFacts<'a>,
}

impl<'a> Frame<'a> {
    /// Returns the facts of a datagram of `size` bytes; `notes` are the notes that rules see.
    pub(crate) fn new(
        session: SessionId,
        dir: Dir,
        now: Time,
        size: usize,
        packet: &Packet<'_>,
        notes: &'a [Note],
    ) -> Self {
        Self {
            session,
            dir,
            proto: packet.proto,
            now,
            packet: PacketFacts::new(packet, size, notes),
        }
    }

    /// Returns true if no rule does anything with the message of a chunk, see [`Decide::ignores`].
    pub(crate) fn is_ignored(&self, rules: &dyn Decide, chunk: &Chunk<'_>, shared: &mut Shared) -> bool {
        identify(chunk.data).is_some_and(|(id, _)| rules.ignores((self.proto, self.dir), id, shared))
    }

    /// Returns the message of a chunk.
    pub(crate) fn message<'m>(&self, chunk: &Chunk<'m>) -> Message<'m>
    where
        'a: 'm,
    {
        Message::of_chunk(
            (self.session.0, self.dir, self.proto),
            chunk,
            self.packet,
            self.now.0,
        )
    }
}
