//! The datagrams sent on each hop, and the planned losses.

use std::net::SocketAddr;

use crate::codec::control;

/// The place at which a datagram is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// By a client.
    FromClient,
    /// By the middle, towards the server.
    ToServer,
    /// By the server.
    FromServer,
    /// By the middle, towards a client.
    ToClient,
}

/// A datagram as sent, before the network affects it.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Virtual time in microseconds.
    pub at: u64,
    /// The place at which it was sent.
    pub place: Place,
    /// The client's address, or the address of the upstream socket as the server sees it.
    pub addr: SocketAddr,
    /// The bytes of the datagram.
    pub bytes: Vec<u8>,
}

/// Control messages that the network will lose.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// The place at which they are sent.
    pub place: Place,
    /// The id of the control message.
    pub message: u8,
    /// The number of datagrams still to lose.
    pub times: u32,
}

/// Observes every datagram as it is sent.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// The datagrams sent; `None` if they are not recorded.
    pub sent: Option<Vec<Sent>>,
    /// The planned losses.
    pub losses: Vec<Loss>,
}

impl Network {
    /// Records a sent datagram. Returns false if a planned loss drops it.
    pub(super) fn passes(&mut self, at: u64, place: Place, addr: SocketAddr, bytes: &[u8]) -> bool {
        if let Some(sent) = &mut self.sent {
            sent.push(Sent {
                at,
                place,
                addr,
                bytes: bytes.to_vec(),
            });
        }
        let message = control::message(bytes);
        let loss = self
            .losses
            .iter_mut()
            .find(|loss| loss.times > 0 && loss.place == place && Some(loss.message) == message);
        if let Some(loss) = loss {
            loss.times -= 1;
            return false;
        }
        true
    }
}
