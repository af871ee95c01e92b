//! Forms of CONNECTs and TOKEN requests that no client sends, but that servers read.

use teetap_wire::{HeaderView, Packet, Proto};

use super::{Hub, crowd::Cost};
use crate::session::ClientAddr;

/// Returns true for a CONNECT of DDNet or 0.6.5 with a bit that its server ignores, but that marks a token in 0.6.5 or a
/// control packet in 0.7. Nothing else begins with these five bytes behind such a header. Servers of DDNet ignore bit 08 in each CONNECT.
fn is_spare_connect(bytes: &[u8], is_ddnet: bool) -> bool {
    let spare = bytes.first().map_or(0, |first| first & 0x9c);
    match bytes.get(3..8) {
        Some(b"\x01TKEN") => spare == 0x18,
        Some(b"\x01\0\0\0\0") => {
            let is_ignored = spare == 0x14 || spare == 0x18 && is_ddnet;
            is_ignored && bytes.len() >= 516
        }
        _ => false,
    }
}

impl Hub {
    /// Returns a control datagram without what no client sends with it, but what servers overlook: the resend flag, and in 0.7
    /// the reserved bits; and inflated, since servers of Teeworlds inflate it. `None` if it has nothing of these, or if the server
    /// drops it.
    pub(super) fn plain_form(&mut self, addr: ClientAddr, bytes: &[u8]) -> Option<Vec<u8>> {
        const CONNLESS: u8 = 0x20;
        let first = *bytes.first()?;
        let (proto, plain, compressed) = match first {
            _ if first & CONNLESS != 0 => return None,
            _ if is_spare_connect(bytes, self.families.are_both(addr.listener)) => (Proto::V6, 0x13, 0x80),
            _ if first & 0x04 != 0 => (Proto::V7, 0x07, 0x10),
            _ if first & 0x1c == 0x10 => (Proto::V6, 0x13, 0x80),
            _ => return None,
        };
        if first & !plain == 0 {
            return None;
        }
        if first & compressed == 0 {
            let mut other = bytes.to_vec();
            *other.first_mut()? = first & plain;
            return Some(other);
        }
        if proto == Proto::V7 && self.families.are_both(addr.listener) {
            // DDNet takes no compressed control packet (16.4, network.cpp, `UnpackPacket`).
            return None;
        }
        if !self.crowd.spend(Cost::Inflating, self.env.now) {
            self.notice_dropped(addr);
            return None;
        }
        let packet = Packet::parse(proto, bytes, &mut self.scratch).ok()?;
        let start = HeaderView::new(proto, bytes).len();
        let mut other = bytes.get(..start)?.to_vec();
        *other.first_mut()? = first & plain;
        other.extend_from_slice(packet.payload);
        Some(other)
    }
}
