//! The datagram around a chunk, as rules see it.

use teetap_rules::{Form, Message, PacketFacts};
use teetap_wire::{Chunk, Dir, Flags, Note, Packet, Proto, identify};

use super::{ids::SessionId, time::Time};

/// The facts that all chunks of a datagram share.
#[derive(Clone, Copy)]
pub(crate) struct Frame<'a> {
    session: SessionId,
    pub(crate) dir: Dir,
    pub(crate) proto: Proto,
    pub(crate) now: Time,
    packet: PacketFacts<'a>,
}

impl<'a> Frame<'a> {
    /// The frame of a datagram with so many bytes; `notes` are those that rules see.
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
            packet: PacketFacts {
                size,
                ack: packet.header.ack,
                chunks: packet.header.num_chunks,
                compressed: packet.header.flags.contains(Flags::COMPRESSION),
                notes,
            },
        }
    }

    /// Returns the message of a chunk.
    pub(crate) fn message<'m>(&self, chunk: &Chunk<'m>) -> Message<'m>
    where
        'a: 'm,
    {
        Message {
            session: self.session.0,
            dir: self.dir,
            proto: self.proto,
            form: Form::Chunk,
            vital: chunk.header.vital.is_some(),
            seq: chunk.header.vital,
            resend: chunk.header.resend,
            id: identify(chunk.data).map(|(id, _)| id),
            data: chunk.data,
            packet: self.packet,
            at: self.now.0,
        }
    }
}
