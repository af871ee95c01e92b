//! The message that redirects a client to another port, and its rewritten form.

use teetap_wire::{Layer, MessageId, Packet, Proto, identify, varint};

use super::listeners::Listeners;
use crate::session::compose::fits;

/// `redirect@ddnet.org`: one int, the port (DDNet 17.2 and later, protocol_ex_msgs.h).
const REDIRECT: MessageId = MessageId {
    layer: Layer::System,
    id: 0,
    uuid: Some(0x4efe_406a_7774_33f1_bfde_1806_ff6d_1528_u128.to_be_bytes()),
};

/// The port to which DDNet's client connects if the redirect names none (client.cpp, `Connect`).
const DEFAULT_PORT: u16 = 8303;

/// The port in a redirect, and its place in the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Redirect {
    port: u16,
    /// Offset of the port's int in the message, and its length in bytes.
    at: usize,
    len: usize,
}

impl Redirect {
    fn parse(data: &[u8]) -> Option<Self> {
        if !may_be_redirect(data) {
            return None;
        }
        let (id, at) = identify(data)?;
        if id != REDIRECT {
            return None;
        }
        // A client ignores a redirect without an int.
        let int = varint::decode(data.get(at..)?)?;
        // The client stores the int in a port of 16 bits, whatever its value is.
        let [.., high, low] = int.value.to_be_bytes();
        let port = match u16::from_be_bytes([high, low]) {
            0 => DEFAULT_PORT,
            port => port,
        };
        let len = int.len;
        Some(Self { port, at, len })
    }
}

/// Returns true for a system message with a UUID or an overlong id. Very few messages have either.
pub(crate) fn may_be_redirect(data: &[u8]) -> bool {
    data.first().is_some_and(|first| first & 0x7f == 1)
}

/// Returns the port to which a message redirects a client; `None` if it is not a redirect.
pub(super) fn redirect_port(data: &[u8]) -> Option<u16> {
    Redirect::parse(data).map(|redirect| redirect.port)
}

/// Returns a redirect with the port of the proxy's listen socket; `None` if it stays as it is. Bytes after
/// the port, which no client reads, are kept as far as they fit.
pub(crate) fn redirected(proto: Proto, data: &[u8], listeners: &Listeners) -> Option<Vec<u8>> {
    let Redirect { port, at, len } = Redirect::parse(data)?;
    let local = listeners.in_front_of(port)?;
    let mut edited = data.get(..at)?.to_vec();
    varint::encode(i32::from(local), &mut edited);
    edited.extend_from_slice(data.get(at + len..)?);
    while !fits(proto, edited.len()) {
        edited.pop();
    }
    (edited != data).then_some(edited)
}

/// Returns the ports to which a data packet redirects its receiver.
pub(super) fn ports(packet: &Packet<'_>) -> impl Iterator<Item = u16> {
    packet.chunks().filter_map(|chunk| redirect_port(chunk.data))
}

/// Returns true if a data packet redirects its receiver.
pub(crate) fn redirects(packet: &Packet<'_>) -> bool {
    ports(packet).next().is_some()
}
