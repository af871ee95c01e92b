//! Forms of CONNECTs and TOKEN requests that no client sends, but that servers read.

use teetap_wire::{HeaderView, Packet, Proto};

use super::{Hub, Link, SessionId, crowd::Cost};
use crate::session::{ClientAddr, Family};

/// Returns true for a CONNECT of DDNet or 0.6.5 with a bit that its server ignores, but that marks a token in 0.6.5 or a
/// control packet in 0.7. Nothing else begins with these five bytes behind such a header. Servers of DDNet ignore bit 08 in each CONNECT.
fn is_spare_connect(bytes: &[u8], is_ddnet: impl FnOnce() -> bool) -> bool {
    let spare = bytes.first().map_or(0, |first| first & 0x9c);
    if !matches!(spare, 0x14 | 0x18) {
        return false;
    }
    match bytes.get(3..8) {
        Some(b"\x01TKEN") => spare == 0x18,
        Some(b"\x01\0\0\0\0") => bytes.len() >= 516 && (spare == 0x14 || is_ddnet()),
        _ => false,
    }
}

/// The bits of a header of 0.6 that say how it is read, apart from the ack and the resend flag.
const FORM: u8 = 0xbc;
/// Bytes of the header of 0.6.
const BASE: usize = 3;
/// The payload in bytes from which on a server of 0.6.5 takes a CONNECT for one with a token (0.6.5, network_server.cpp, `Recv`).
const WITH_TOKEN: usize = 513;

impl Hub {
    /// Returns the form in which servers read a CONNECT or TOKEN request, if it differs from its own.
    pub(super) fn readable_form(
        &mut self,
        addr: ClientAddr,
        bytes: &[u8],
        current: Option<SessionId>,
    ) -> Option<Vec<u8>> {
        let marked = self.marked_connect(addr, bytes, current);
        marked.or_else(|| self.plain_form(addr, bytes))
    }

    /// Returns a CONNECT with a mark that its server ignores without that mark; `None` for other datagrams. The same bytes mean
    /// something else to other servers, and in a session.
    ///
    /// A server of DDNet has no flag of 0.6.5's (16.4, network.cpp, `UnpackPacket`). One of 0.6.5 ignores the mark of 0.7, and reads
    /// a CONNECT behind a token, which it takes for the token of the client (0.6.5, network_server.cpp, `Recv`).
    fn marked_connect(&self, addr: ClientAddr, bytes: &[u8], current: Option<SessionId>) -> Option<Vec<u8>> {
        const IS_CONNECT: Option<&u8> = Some(&1);
        // Ordinary datagrams of a session look up nothing here.
        if !matches!(bytes.first()? & FORM, 0x14 | 0x18 | 0x1c) {
            return None;
        }
        let link = current.and_then(|id| self.sessions.links.get(&id));
        if link.is_some_and(|link| !Link::is_half_open(link)) {
            return None;
        }
        let is_ddnet = self.is_ddnet(addr);
        let may_be_header = !is_ddnet && !self.families.is_only(addr.listener, Family::Seven);
        let (start, rest) = bytes.split_at_checked(BASE)?;
        let mut plain = start.to_vec();
        *plain.first_mut()? &= !0x0c;
        match start.first()? & FORM {
            0x18 if is_ddnet && rest.first() == IS_CONNECT => plain.extend(rest),
            0x14 if may_be_header && rest.first() == IS_CONNECT => plain.extend(rest),
            0x18 | 0x1c if may_be_header => {
                let (token, payload) = rest.split_first_chunk::<4>()?;
                if payload.first() != IS_CONNECT {
                    return None;
                }
                plain.extend(payload);
                if payload.len() >= WITH_TOKEN {
                    plain.splice(BASE + 5..BASE + 9, *token);
                }
            }
            _ => return None,
        }
        Some(plain)
    }

    /// Returns true if the server behind a listen socket is known to be one of DDNet.
    fn is_ddnet(&self, addr: ClientAddr) -> bool {
        let answer = self.crowd.answer((addr.listener, Proto::Ddnet), self.env.now);
        self.families.are_both(addr.listener) || answer == Some(Proto::Ddnet)
    }

    /// Returns a control datagram without what no client sends with it, but what servers overlook: the resend flag, and in 0.7
    /// the reserved bits; and inflated, since servers of Teeworlds inflate it. `None` if it has nothing of these, or if the server
    /// drops it.
    fn plain_form(&mut self, addr: ClientAddr, bytes: &[u8]) -> Option<Vec<u8>> {
        const CONNLESS: u8 = 0x20;
        let first = *bytes.first()?;
        let (proto, plain, compressed) = match first {
            _ if first & CONNLESS != 0 => return None,
            _ if is_spare_connect(bytes, || self.families.are_both(addr.listener)) => (Proto::V6, 0x13, 0x80),
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
