//! The packets of an event in a capture by teetap.

use std::net::SocketAddr;

use teetap_proxy::session::{Event, EventKind};
use teetap_wire::{Dir, Side};

/// A packet of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnPacket {
    pub(crate) place: PacketPlace,
    pub(crate) bytes: Box<[u8]>,
}

/// Where a packet was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PacketPlace {
    /// `None` if the interface has no known name.
    pub(crate) leg: Option<Side>,
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
}

impl OwnPacket {
    /// Returns a packet of a capture in which no interface has a known name.
    #[cfg(test)]
    pub(crate) fn of_no_leg(bytes: impl Into<Box<[u8]>>) -> Self {
        let nowhere = SocketAddr::from(([0; 4], 0));
        let place = PacketPlace {
            leg: None,
            from: nowhere,
            to: nowhere,
        };
        Self {
            place,
            bytes: bytes.into(),
        }
    }

    pub(super) fn split(self) -> (PacketPlace, Box<[u8]>) {
        (self.place, self.bytes)
    }
}

/// Sets the addresses of an event from the places of its packets.
pub(super) fn set_ends(event: &mut Event, places: &[PacketPlace]) {
    let dir = match &event.what {
        EventKind::Datagram(datagram) => datagram.dir,
        EventKind::Connless(connless) => connless.dir,
        EventKind::Session(_) | EventKind::Notice(_) | EventKind::Answer(_) => return,
    };
    let Some(ends) = event.ends_mut() else { return };
    for PacketPlace { leg, from, to } in places {
        let (one, other) = match dir {
            Dir::C2s => (from, to),
            Dir::S2c => (to, from),
        };
        match leg {
            Some(Side::Client) => (ends.client, ends.listen_port) = (Some(*one), Some(other.port())),
            Some(Side::Server) => (ends.local, ends.server_port) = (Some(*one), Some(other.port())),
            None => {}
        }
    }
}
