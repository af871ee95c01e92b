//! CONNECTs and TOKEN requests in unusual forms, which no client sends but servers accept.

use teetap_wire::{HeaderView, Packet, Proto};

use super::{Hub, Link, SessionId, crowd::Cost};
use crate::session::{ClientAddr, Family};

/// Returns true for a CONNECT of DDNet or 0.6.5 with a header bit that its server ignores, but that marks a
/// token in 0.6.5 or a control packet in 0.7. No other datagram has these five bytes after such a header.
/// DDNet servers ignore bit 08 in each CONNECT.
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

/// The header bits that decide how a datagram of 0.6 is parsed; excludes the ack and the resend flag.
const FORM: u8 = 0xbc;
/// Size of the header of 0.6 in bytes.
const BASE: usize = 3;
/// Minimum payload size in bytes of a CONNECT in which a server of 0.6.5 reads a token (0.6.5,
/// network_server.cpp, `Recv`).
const WITH_TOKEN: usize = 513;

impl Hub {
    /// Returns a CONNECT or TOKEN request in its usual form, as servers parse it; `None` if the datagram
    /// already has that form.
    pub(super) fn readable_form(
        &mut self,
        addr: ClientAddr,
        bytes: &[u8],
        current: Option<SessionId>,
    ) -> Option<Vec<u8>> {
        let marked = self.marked_connect(addr, bytes, current);
        marked.or_else(|| self.plain_form(addr, bytes))
    }

    /// Returns a CONNECT without a header bit that its server ignores; `None` for other datagrams. The same
    /// bytes have another meaning for other servers, and in a session.
    ///
    /// A DDNet server does not know the token flag of 0.6.5 (16.4, network.cpp, `UnpackPacket`). A server of
    /// 0.6.5 ignores the control bit of 0.7, and accepts a CONNECT after a token in the header, which it uses
    /// as the token of the client (0.6.5, network_server.cpp, `Recv`).
    fn marked_connect(&self, addr: ClientAddr, bytes: &[u8], current: Option<SessionId>) -> Option<Vec<u8>> {
        const IS_CONNECT: Option<&u8> = Some(&1);
        // Returns early, so that ordinary datagrams of a session cost no lookup.
        if !matches!(bytes.first()? & FORM, 0x14 | 0x18 | 0x1c) {
            return None;
        }
        let link = current.and_then(|id| self.sessions.links.get(&id));
        if link.is_some_and(|link| !Link::is_half_open(link)) {
            return None;
        }
        let is_ddnet = self.is_ddnet(addr);
        let may_be_header = !is_ddnet && !self.admission.families.is_only(addr.listener, Family::Seven);
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

    /// Returns true if the server behind a listen socket is known to be a DDNet server.
    fn is_ddnet(&self, addr: ClientAddr) -> bool {
        let answer = self
            .admission
            .crowd
            .answer((addr.listener, Proto::Ddnet), self.env.now);
        self.admission.families.are_both(addr.listener) || answer == Some(Proto::Ddnet)
    }

    /// Returns a control datagram without the parts that no client sends but that servers ignore: the resend
    /// flag, and in 0.7 the reserved bits. Inflates it, since servers of Teeworlds do. `None` if it has none
    /// of these parts, or if the server drops it.
    fn plain_form(&mut self, addr: ClientAddr, bytes: &[u8]) -> Option<Vec<u8>> {
        const CONNLESS: u8 = 0x20;
        let first = *bytes.first()?;
        let (proto, plain, compressed) = match first {
            _ if first & CONNLESS != 0 => return None,
            _ if is_spare_connect(bytes, || self.admission.families.are_both(addr.listener)) => {
                (Proto::V6, 0x13, 0x80)
            }
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
        if proto == Proto::V7 && self.admission.families.are_both(addr.listener) {
            // DDNet drops compressed control packets (16.4, network.cpp, `UnpackPacket`).
            return None;
        }
        if !self.admission.crowd.spend(Cost::Inflating, self.env.now) {
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
