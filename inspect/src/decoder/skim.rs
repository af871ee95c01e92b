//! Fast path for datagrams without a message that a watcher needs: records only their sequence numbers and acks.
//!
//! Law: the state of the decoder afterwards is the same as if the datagram had been decoded, except that the checks of
//! contents, which need every message, start anew.

use teetap_proxy::session::{Action, Datagram, SessionId, Time};
use teetap_rules::context::{DoneView, PacketView};
use teetap_wire::{Packet, identify};

use super::Decoder;
use crate::{
    place::SeenAt,
    track::{DecidedChunk, NoteSink, Seen},
};

impl Decoder {
    /// Records a datagram if no message in it can be shown or change the decoder's state. Returns false without any
    /// effect if the datagram has to be decoded.
    pub(crate) fn skim(&mut self, at: Time, session: Option<SessionId>, datagram: &Datagram) -> bool {
        // Odd datagrams are rare, and their notes affect how their numbers are recorded.
        let is_plain = datagram.notes.is_empty()
            && datagram.leg.is_none()
            && datagram.placed.is_empty()
            && datagram.link.is_empty()
            && datagram.is_unchanged();
        let Some(session) = session.filter(|_| is_plain && self.may_skim()) else {
            return false;
        };
        let mut scratch = self.lend_scratch();
        let is_skimmed = match datagram.packet(&mut scratch) {
            Some(Ok(packet)) => {
                let is_skimmed = self.is_beside(at, session, datagram, &packet);
                if is_skimmed {
                    self.count(at, session, datagram, &packet);
                }
                is_skimmed
            }
            Some(Err(_)) | None => false,
        };
        self.give_back(scratch);
        is_skimmed
    }

    /// Returns true if the packet has at least one chunk and all its chunks can be skipped.
    fn is_beside(&self, at: Time, session: SessionId, datagram: &Datagram, packet: &Packet<'_>) -> bool {
        if !packet.notes.is_empty() || packet.control().is_some() {
            return false;
        }
        let place = SeenAt {
            at,
            session: Some(session),
            proto: datagram.proto,
            dir: datagram.dir,
            leg: None,
            packet: PacketView::default(),
            done: DoneView::default(),
        };
        let mut chunks = packet.chunks().peekable();
        chunks.peek().is_some()
            && chunks.all(|chunk| {
                let id = identify(chunk.data).map(|(id, _)| id);
                let known = self.registry.known_message(place.proto, place.dir, chunk.data);
                self.passes_over(&place.message(id, known, chunk.data))
            })
    }

    /// Records the ack and the sequence numbers of a datagram that was forwarded unchanged.
    fn count(&mut self, at: Time, session: SessionId, datagram: &Datagram, packet: &Packet<'_>) {
        let seen = Seen {
            at,
            session,
            datagram,
            packet,
            refused_ack: None,
            to_ddnet: self.is_to_ddnet(Some(session), datagram.dir),
            stated: &self.stated,
        };
        let (mut notes, mut details) = (Vec::new(), Vec::new());
        let mut found = NoteSink {
            notes: &mut notes,
            details: &mut details,
        };
        self.streams.begin(&seen, &mut found);
        self.streams.content_missed(session);
        self.streams.on_sent((at, session), datagram, (0, packet));
        for chunk in packet.chunks().filter(|chunk| chunk.header.vital.is_some()) {
            let piece = DecidedChunk {
                chunk: &chunk,
                known: self
                    .registry
                    .known_message(datagram.proto, datagram.dir, chunk.data),
                action: Some(Action::Pass),
                seq_out: chunk.header.vital,
            };
            self.streams.chunk(&seen, &piece, &mut found);
        }
    }
}
