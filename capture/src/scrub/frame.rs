//! The headers around a datagram, with other addresses.
//!
//! Law: headers are written anew from the fields that are known. IP options, extension headers, and what stands behind the
//! datagram are not carried over; checksums are as right or wrong as they were.

use std::net::{IpAddr, SocketAddr};

use super::{
    super::frame::{ETHERTYPE_IPV4, ETHERTYPE_IPV6, Link, Udp, checksum, put},
    addresses::Addresses,
};

/// UDP in headers of IP.
const UDP: u8 = 17;

/// What is kept of the headers of a datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Headers {
    link: Link,
    /// Everything before the IP header.
    before: Vec<u8>,
    from: SocketAddr,
    to: SocketAddr,
    ip: Ip,
    sum: Sum,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Ip {
    Four {
        service: u8,
        id: [u8; 2],
        dont_fragment: bool,
        ttl: u8,
        sum: Sum,
    },
    Six {
        /// Version, traffic class, flow label.
        first: [u8; 4],
        hops: u8,
    },
}

/// A checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sum {
    Right,
    /// 0: there is none, or the network card was to fill it in.
    Unused,
    Wrong,
}

impl Headers {
    /// Of a frame in which this datagram is, whole.
    pub(super) fn of(link: Link, frame: &[u8], udp: &Udp<'_>) -> Option<Self> {
        let start = ip_header(link, frame)?;
        let (before, packet) = frame.split_at_checked(start)?;
        let ip = if packet.first()? >> 4 == 4 {
            let len = usize::from(packet.first()? & 0x0f) * 4;
            let header = packet.get(..len)?;
            Ip::Four {
                service: *packet.get(1)?,
                id: *packet.get(4..)?.first_chunk()?,
                dont_fragment: packet.get(6)? & 0x40 != 0,
                ttl: *packet.get(8)?,
                sum: Sum::of(*packet.get(10..)?.first_chunk()?, checksum([header])),
            }
        } else {
            Ip::Six {
                first: *packet.first_chunk()?,
                hops: *packet.get(7)?,
            }
        };
        let stored = udp.sum.to_be_bytes();
        let pseudo = pseudo(udp.from.ip(), udp.to.ip(), udp.len)?;
        let ports = ports(udp.from, udp.to, udp.len, stored)?;
        Some(Self {
            link,
            before: before.to_owned(),
            from: udp.from,
            to: udp.to,
            ip,
            sum: Sum::of(stored, checksum([&pseudo, &ports, udp.bytes])),
        })
    }

    /// Appends a frame around another datagram; false, with nothing of use in `out`, when there are too many addresses.
    pub(super) fn write(&self, addresses: &mut Addresses, bytes: &[u8], out: &mut Vec<u8>) -> bool {
        self.try_write(addresses, bytes, out).is_some()
    }

    fn try_write(&self, addresses: &mut Addresses, bytes: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let (from, to) = (addresses.socket(self.from)?, addresses.socket(self.to)?);
        self.write_link(addresses, out)?;
        let length = u16::try_from(8 + bytes.len()).ok()?;
        match &self.ip {
            Ip::Four {
                service,
                id,
                dont_fragment,
                ttl,
                sum,
            } => {
                let start = out.len();
                out.extend_from_slice(&[0x45, *service]);
                out.extend_from_slice(&length.checked_add(20)?.to_be_bytes());
                out.extend_from_slice(id);
                out.extend_from_slice(&[u8::from(*dont_fragment) << 6, 0, *ttl, UDP, 0, 0]);
                out.extend_from_slice(&pair(from.ip(), to.ip())?);
                let right = checksum([out.get(start..)?]);
                put(out, start + 10, sum.written(right));
            }
            Ip::Six { first, hops } => {
                out.extend_from_slice(first);
                out.extend_from_slice(&length.to_be_bytes());
                out.extend_from_slice(&[UDP, *hops]);
                out.extend_from_slice(&pair(from.ip(), to.ip())?);
            }
        }
        let pseudo = pseudo(from.ip(), to.ip(), bytes.len())?;
        let start = out.len();
        out.extend_from_slice(&ports(from, to, bytes.len(), [0; 2])?);
        out.extend_from_slice(bytes);
        // 0 would say that there is none.
        let right = match checksum([&pseudo, out.get(start..)?]) {
            0 => 0xffff,
            right => right,
        };
        put(out, start + 6, self.sum.written(right));
        Some(())
    }

    fn write_link(&self, addresses: &mut Addresses, out: &mut Vec<u8>) -> Option<()> {
        let start = out.len();
        let is_four = matches!(self.ip, Ip::Four { .. });
        match self.link {
            Link::Raw | Link::Other(_) => {}
            // The numbers of IPv4 and IPv6 in the order of the bytes of the file.
            Link::Loopback => out.extend_from_slice(&[if is_four { 2 } else { 30 }, 0, 0, 0]),
            Link::Ethernet => {
                let (receiver, rest) = self.before.split_first_chunk()?;
                let (sender, rest) = rest.split_first_chunk()?;
                out.extend_from_slice(&addresses.mac(*receiver)?);
                out.extend_from_slice(&addresses.mac(*sender)?);
                out.extend_from_slice(rest);
            }
            Link::Cooked => self.write_cooked(6, (4, 2), addresses, out)?,
            Link::Cooked2 => {
                self.write_cooked(12, (11, 1), addresses, out)?;
                // Reserved.
                put(out, start + 2, 0);
            }
        }
        Some(())
    }

    /// `at`: where the sender's address stands in eight bytes; `length`: where its length is, in so many bytes.
    fn write_cooked(
        &self,
        at: usize,
        length: (usize, usize),
        addresses: &mut Addresses,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let length = self.before.get(length.0..length.0 + length.1)?;
        let address = self.before.get(at..)?.first_chunk::<6>()?;
        let is_mac = length.ends_with(&[6]);
        let address = if is_mac { addresses.mac(*address)? } else { [0; 6] };
        out.extend_from_slice(self.before.get(..at)?);
        out.extend_from_slice(&address);
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(self.before.get(at + 8..)?);
        Some(())
    }
}

impl Sum {
    /// `rest`: the checksum over everything, this one included.
    fn of(stored: [u8; 2], rest: u16) -> Self {
        match (stored, rest) {
            ([0, 0], _) => Self::Unused,
            (_, 0) => Self::Right,
            _ => Self::Wrong,
        }
    }

    fn written(self, right: u16) -> u16 {
        match (self, right ^ 0x0101) {
            (Self::Right, _) => right,
            (Self::Unused, _) => 0,
            // As wrong as any.
            (Self::Wrong, 0) => 0x0202,
            (Self::Wrong, wrong) => wrong,
        }
    }
}

/// Where the IP header begins in a frame that holds one.
fn ip_header(link: Link, frame: &[u8]) -> Option<usize> {
    let (mut at, mut start) = match link {
        Link::Raw => return Some(0),
        Link::Loopback => return Some(4),
        Link::Ethernet => (12, 14),
        Link::Cooked => (14, 16),
        Link::Cooked2 => (0, 20),
        Link::Other(_) => return None,
    };
    loop {
        let ethertype = u16::from_be_bytes(*frame.get(at..)?.first_chunk()?);
        if matches!(ethertype, ETHERTYPE_IPV4 | ETHERTYPE_IPV6) {
            return Some(start);
        }
        // Behind a VLAN tag.
        (at, start) = (start + 2, start + 4);
    }
}

/// Two addresses of one family; of two families both as IPv6.
fn pair(from: IpAddr, to: IpAddr) -> Option<Vec<u8>> {
    match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => Some([from.octets(), to.octets()].concat()),
        (IpAddr::V6(from), IpAddr::V6(to)) => Some([from.octets(), to.octets()].concat()),
        _ => None,
    }
}

fn pseudo(from: IpAddr, to: IpAddr, len: usize) -> Option<Vec<u8>> {
    let mut bytes = pair(from, to)?;
    bytes.extend_from_slice(&[0, UDP]);
    bytes.extend_from_slice(&u16::try_from(8 + len).ok()?.to_be_bytes());
    Some(bytes)
}

fn ports(from: SocketAddr, to: SocketAddr, len: usize, sum: [u8; 2]) -> Option<Vec<u8>> {
    let length = u16::try_from(8 + len).ok()?;
    let words = [from.port(), to.port(), length, u16::from_be_bytes(sum)];
    Some(words.iter().flat_map(|word| word.to_be_bytes()).collect())
}
