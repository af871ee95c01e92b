//! The messages of one datagram, handed to the decoder one by one.

use std::borrow::Cow;

use teetap_proxy::session::{Action, Datagram, Origin, SessionId, Time};
use teetap_rules::context::PacketView;
use teetap_wire::{Control, Flags, MessageId, Note, Packet, Seq, chunk, identify, message};

use super::{Done, Layer, Message};
use crate::decoder::{self, Decoder};

/// What the messages of one datagram are decoded with.
pub(super) struct Decode<'a> {
    pub(super) at: Time,
    pub(super) session: Option<SessionId>,
    pub(super) datagram: &'a Datagram,
    pub(super) decoder: &'a mut Decoder,
}

impl Decode<'_> {
    /// Asks the filters about every message beforehand: whether any is shown. `None`: that takes the whole reading, and
    /// nothing was asked.
    pub(super) fn foresee(&mut self) -> Option<bool> {
        let datagram = self.datagram;
        // Notes stand on messages, and what was decided about them may be asked for.
        if !datagram.notes.is_empty() || !datagram.placed.is_empty() {
            return None;
        }
        if self.decoder.is_beyond(datagram.proto, datagram.dir) {
            return Some(false);
        }
        let mut scratch = self.decoder.lend_scratch();
        let shown = datagram
            .packet(&mut scratch)
            .and_then(Result::ok)
            .filter(|packet| packet.notes.is_empty() && !packet.header.flags.contains(Flags::CONTROL))
            .and_then(|packet| self.foresee_chunks(&packet));
        self.decoder.give_back(scratch);
        shown
    }

    fn foresee_chunks(&mut self, packet: &Packet<'_>) -> Option<bool> {
        let passes = Done::whole(self.datagram) == Done::Placed(Action::Pass);
        let place = self.place(packet, &[]);
        let chunks = || {
            packet.chunks().map(|chunk| decoder::Chunk {
                seq: chunk.header.vital,
                seq_out: chunk.header.vital.filter(|_| passes),
                resend: chunk.header.resend,
                heard: passes,
                data: chunk.data,
            })
        };
        if !packet.chunk_notes().is_empty() {
            return None;
        }
        if self.decoder.foresees() {
            // Each is asked about, shown or not.
            return Some(chunks().fold(false, |any, chunk| self.decoder.foresee(place, chunk) | any));
        }
        if !chunks().all(|chunk| self.decoder.is_out_of_reach(place, chunk)) {
            return None;
        }
        chunks().for_each(|chunk| self.decoder.learn(place, chunk));
        Some(false)
    }

    fn place<'n>(&self, packet: &Packet<'_>, notes: &'n [Note]) -> decoder::Place<'n> {
        decoder::Place {
            at: self.at,
            session: self.session,
            proto: self.datagram.proto,
            dir: self.datagram.dir,
            around: PacketView {
                size: self.datagram.received().map(<[u8]>::len),
                ack: Some(packet.header.ack),
                chunks: Some(packet.header.num_chunks),
                compressed: packet.header.flags.contains(Flags::COMPRESSION),
                notes,
            },
        }
    }

    pub(super) fn control(&mut self, control: Control<'_>, packet: &Packet<'_>, notes: &[Note]) -> Message {
        let content = self.decoder.control(self.place(packet, notes), packet.payload);
        Message {
            layer: Layer::Control,
            id: Some(control.id().into()),
            uuid: None,
            label: control.name(),
            named: !matches!(control, Control::Unknown { .. }),
            vital: false,
            resend: false,
            seq: None,
            seq_out: None,
            origin: self.datagram.origin,
            done: Done::Placed(Action::Pass),
            fields: content.fields,
            snap: content.snap,
            items: content.items,
            data: packet.payload.into(),
            notes: content.notes,
            shown: content.shown,
        }
    }

    pub(super) fn chunk(
        &mut self,
        chunk: &chunk::Chunk<'_>,
        seq_out: Option<Seq>,
        (origin, heard): (Origin, bool),
        packet: &Packet<'_>,
        notes: &[Note],
    ) -> Message {
        let id = identify(chunk.data).map(|(id, _)| id);
        let header = chunk.header;
        let content = self.decoder.chunk(
            self.place(packet, notes),
            decoder::Chunk {
                seq: header.vital,
                seq_out,
                resend: header.resend,
                heard,
                data: chunk.data,
            },
        );
        let by_id = || id.map_or("unreadable".into(), |id| id.to_string().into());
        Message {
            layer: match id.map(|id| id.layer) {
                Some(message::Layer::System) => Layer::System,
                Some(message::Layer::Game) => Layer::Game,
                None => Layer::Unreadable,
            },
            id: id.map(|id| id.id),
            uuid: id.and_then(|id: MessageId| id.uuid),
            label: content.name.map_or_else(by_id, Cow::Borrowed),
            named: content.name.is_some(),
            vital: header.vital.is_some(),
            resend: header.resend,
            seq: None,
            seq_out,
            origin,
            done: Done::Placed(Action::Pass),
            fields: content.fields,
            snap: content.snap,
            items: content.items,
            data: chunk.data.into(),
            notes: content.notes,
            shown: content.shown,
        }
    }
}
