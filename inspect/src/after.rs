//! A message as it was sent, if a rule or a person changed it.

use teetap_proxy::session::{Datagram, EventKind};
use teetap_wire::{
    Packet, Scratch,
    def::{Decoded, Def, Records, Registry, Secrets, Source},
};

use crate::{DecodedEvent, Message, gist};

/// A message as it was sent.
#[derive(Debug)]
pub struct After {
    /// The id and the fields, in bytes.
    pub data: Vec<u8>,
    /// The definition; `None` if unknown.
    pub def: Option<&'static Def>,
    decoded: Decoded,
}

impl After {
    /// Returns the message at this index as it was sent; `None` if it was sent unchanged, or was not sent with this
    /// event.
    #[must_use]
    pub fn from_event(decoded: &DecodedEvent, index: usize, registry: &'static Registry) -> Option<Self> {
        let EventKind::Datagram(datagram) = &decoded.event.what else {
            return None;
        };
        let reading = decoded.reading.as_ref()?;
        let before = reading.data(reading.messages.get(index)?);
        let data = data(datagram, index).filter(|data| data != before)?;
        let found = registry.known_message(datagram.proto, datagram.dir, &data);
        let mut fields = Decoded::new();
        let def = found.map(|found| {
            fields.read(found.def, &data, found.body);
            found.def
        });
        Some(Self {
            data,
            def,
            decoded: fields,
        })
    }

    /// Returns a one-line summary, with the player names known at the received message `before`. Empty if the id is
    /// unknown.
    #[must_use]
    pub fn gist(&self, before: &Message, secrets: Secrets) -> String {
        let source = Source::Bytes(&self.data);
        self.def.map_or_else(String::new, |def| {
            gist::line(self.records(), def, source, secrets, before.players.as_deref())
        })
    }

    /// Returns the decoded fields.
    #[must_use]
    pub fn records(&self) -> Records<'_> {
        self.decoded.view()
    }
}

/// Returns the bytes of a message in the datagram that was sent.
fn data(datagram: &Datagram, index: usize) -> Option<Vec<u8>> {
    let place = datagram.placed.get(index)?.sent?;
    let sent = datagram.sent().nth(place.datagram.into())?;
    let mut scratch = Scratch::new();
    let packet = Packet::parse(datagram.proto, sent, &mut scratch).ok()?;
    let start = usize::from(place.at);
    let data = packet.payload.get(start..start + usize::from(place.len))?;
    Some(data.to_vec())
}
