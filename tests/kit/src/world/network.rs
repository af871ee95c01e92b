//! The datagrams sent on each hop, and the losses planned for the network.

use std::net::SocketAddr;

use crate::codec::control;

/// The place at which a datagram was sent.
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

/// A datagram as it was sent, before the network had its way with it.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Virtual time.
    pub at: u64,
    /// Where.
    pub place: Place,
    /// The client's address, or the server's view of the upstream socket.
    pub addr: SocketAddr,
    /// The bytes of the datagram.
    pub bytes: Vec<u8>,
}

/// Control messages that the network loses.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// The place at which they are sent.
    pub place: Place,
    /// Which.
    pub message: u8,
    /// The number of datagrams left.
    pub times: u32,
}

/// Sees every datagram as it is sent.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// The datagrams sent; `None` = nothing is kept.
    pub sent: Option<Vec<Sent>>,
    /// The datagrams that are lost for certain.
    pub losses: Vec<Loss>,
}

impl Network {
    /// Keeps a datagram that is sent. False when it gets lost for certain.
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
