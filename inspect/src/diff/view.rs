//! The leg on which a session is compared.

use teetap_proxy::session::{Datagram, Ends, Origin};
use teetap_wire::{Severity, Side};

/// Selects datagrams of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// The datagrams as the peers sent them.
    #[default]
    Peers,
    /// The datagrams on the leg of a side: as the side sent them, and as the proxy sent them to it.
    Leg(Side),
}

/// The part of an event that a selected datagram was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The received datagram.
    Received,
    /// The sent datagram with this index.
    Sent(usize),
}

impl View {
    /// Returns the selected datagrams of an event, in order.
    pub(super) fn shown(self, datagram: &Datagram) -> Vec<(Part, Datagram)> {
        let side = match self {
            Self::Peers if is_of_peer(datagram) => return vec![(Part::Received, datagram.clone())],
            Self::Peers => return Vec::new(),
            Self::Leg(side) => side,
        };
        if datagram.leg.is_some_and(|leg| leg != side) {
            return Vec::new();
        }
        if datagram.dir.sender() == side {
            let received = datagram.received().filter(|_| is_of_peer(datagram));
            let received = received.map(|bytes| (Part::Received, alone(datagram, bytes)));
            return received.into_iter().collect();
        }
        let is_lost = |index: usize| {
            let of_it = |transit: &&teetap_proxy::session::Transit| {
                usize::from(transit.datagram) == index && !transit.duplicate
            };
            let mut effects = datagram.link.iter().filter(of_it);
            effects.any(|transit| transit.lost.is_some())
        };
        let sent = datagram.sent().enumerate();
        sent.filter(|(index, _)| !is_lost(*index))
            .map(|(index, bytes)| (Part::Sent(index), alone(datagram, bytes)))
            .collect()
    }
}

/// Returns true if a peer sent the datagram and its receiver would accept it.
fn is_of_peer(datagram: &Datagram) -> bool {
    let is_refused = datagram.leg.is_some()
        && datagram.sent().next().is_none()
        && datagram
            .notes
            .iter()
            .any(|note| note.code.severity() == Severity::Error);
    datagram.origin == Origin::Peer && datagram.received().is_some() && !is_refused
}

/// Returns a datagram with these bytes, without any trace of the other leg.
fn alone(datagram: &Datagram, bytes: &[u8]) -> Datagram {
    let mut alone = Datagram::passed(datagram.dir, datagram.proto, bytes, None);
    alone.leg = datagram.leg;
    alone.ordinal = datagram.ordinal.max(1);
    alone.ends = Ends {
        frame: datagram.ends.frame,
        ..Ends::default()
    };
    alone
}
