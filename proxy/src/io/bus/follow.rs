//! Contexts that follow events.

use teetap_rules::{
    context::{Contexts, MessageView, PacketView},
    eval::{Identity, Lazy},
};
use teetap_wire::{
    Packet, Scratch,
    def::{Class, Decoded, Registry},
};

use crate::session::{Datagram, Event, SessionId, What};

/// Buffers to use again.
#[derive(Debug, Default)]
pub struct Buffers {
    scratch: Scratch,
    decoded: Decoded,
}

/// Follows the snapshots in an event, for a watcher that shows nothing of it.
pub fn follow(contexts: &mut Contexts, registry: &'static Registry, event: &Event, buffers: &mut Buffers) {
    let Some(session) = event.session else { return };
    match &event.what {
        What::Session(change) => contexts.on_session(event.at.0, session.0, change.state.into()),
        What::Datagram(datagram) => {
            let mut follow = Follow {
                contexts,
                registry,
                buffers,
            };
            follow.datagram(event, session, datagram);
        }
        What::Connless(_) | What::Notice(_) | What::Answer(_) => {}
    }
}

struct Follow<'a> {
    contexts: &'a mut Contexts,
    registry: &'static Registry,
    buffers: &'a mut Buffers,
}

impl Follow<'_> {
    fn datagram(&mut self, event: &Event, session: SessionId, datagram: &Datagram) {
        let Buffers { scratch, decoded } = &mut *self.buffers;
        // What is on one leg only never reaches the peers of a game, nor does what was not sent on as a whole.
        let passed =
            datagram.leg.is_none() && (!datagram.placed.is_empty() || datagram.sent().next().is_some());
        let Some(received) = datagram.received().filter(|_| passed) else {
            return;
        };
        let Ok(packet) = Packet::parse(datagram.proto, received, scratch) else {
            return;
        };
        for (index, chunk) in packet.chunks().enumerate() {
            let placed = datagram.placed.get(index);
            let found = self.registry.message(datagram.proto, datagram.dir, chunk.data);
            let Some(found) = found.filter(|found| !found.unknown) else {
                continue;
            };
            let stores = self.contexts.stores();
            if !stores.follows(datagram.proto, datagram.dir, found.def) {
                continue;
            }
            let view = MessageView {
                at: event.at.0,
                session: Some(session.0),
                proto: datagram.proto,
                dir: datagram.dir,
                class: Class::System,
                id: Identity::Other,
                def: Some(found.def),
                body: found.body,
                data: chunk.data,
                seq: chunk.header.vital,
                seq_out: None,
                resend: chunk.header.resend,
                delivered: placed.is_none_or(|placed| placed.action.is_delivered()),
                packet: PacketView::default(),
            };
            let fields = Lazy::new(view.def, view.data, view.body, std::mem::take(decoded));
            self.contexts.observe(&view, &fields);
            *decoded = fields.into_buffer();
        }
    }
}
