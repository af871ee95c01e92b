//! Decodes chunks, control packets and datagrams outside a connection with their definitions.

use std::borrow::Cow;

use teetap_rules::{context::MessageView, eval::Identity};
use teetap_wire::{
    Control,
    def::{Class, Record},
    identify,
};

use super::Decoder;
use crate::{
    place::{Chunk, SeenAt},
    reading::{Layer, Message, Transport},
};

impl Decoder {
    /// Parses a chunk. Appends its fields to `records` if they are decoded.
    pub(crate) fn chunk(
        &mut self,
        place: SeenAt<'_>,
        chunk: Chunk<'_>,
        records: &mut Vec<Record>,
    ) -> Message {
        let id = identify(chunk.data).map(|(id, _)| id);
        let layer = id.map_or(Layer::Unreadable, |id| id.layer.into());
        let mut message = Message {
            id: id.map(|id| id.id),
            uuid: id.and_then(|id| id.uuid),
            transport: Transport {
                vital: chunk.seq.is_some(),
                resend: chunk.resend,
                seq_out: chunk.seq_out,
                ..Transport::default()
            },
            ..Message::new(layer, chunk.known.map(|known| known.def))
        };
        let view = MessageView {
            seq: chunk.seq,
            seq_out: chunk.seq_out,
            resend: chunk.resend,
            delivered: chunk.delivered,
            first: chunk.first == Some(true),
            again: chunk.first == Some(false),
            ..place.message(id, chunk.known, chunk.data)
        };
        self.read(&mut message, &view, records);
        message
    }

    /// Parses the inflated payload of a control packet. Appends its fields to `records` if they are decoded.
    pub(crate) fn control(
        &mut self,
        place: SeenAt<'_>,
        control: Control<'_>,
        payload: &[u8],
        records: &mut Vec<Record>,
    ) -> Message {
        let name = match control.name() {
            Cow::Borrowed(name) => Some(name),
            Cow::Owned(_) => None,
        };
        let id = payload.first().copied();
        let def = id.and_then(|id| self.registry.control(place.proto, place.dir, id));
        let view = MessageView {
            id: id.map_or(Identity::Other, |id| Identity::Number(id.into())),
            body: 1,
            leg: place.leg,
            ..place.view(Class::Control, def, payload)
        };
        let mut message = Message::new(Layer::Control, def);
        self.read(&mut message, &view, records);
        message.name = name;
        message
    }

    /// Evaluates the filters on a datagram without a readable message. Returns true if the datagram is shown, and the
    /// bitmask of the subscribers that select it.
    pub(crate) fn whole(&mut self, place: SeenAt<'_>) -> (bool, u64) {
        self.select(&place.whole(), "datagram")
    }
}
