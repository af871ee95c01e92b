//! Replaces the addresses in the link, IP and UDP headers around a datagram.
//!
//! Law: IP options, extension headers and bytes after the datagram are removed, because they may contain addresses.
//! Valid checksums stay valid, and wrong checksums stay wrong.

use std::net::{IpAddr, SocketAddr};

use etherparse::{Ipv4Header, Ipv4Options, Ipv6Header, UdpHeader, ip_number};

use super::addresses::Addresses;
use crate::frame::{Ip, Link, Udp};

/// The headers of a datagram.
#[derive(Clone, Debug)]
pub(super) struct Headers {
    link: Link,
    /// Bytes before the IP header.
    before: Vec<u8>,
    from: SocketAddr,
    to: SocketAddr,
    ip: Header,
    sum: Sum,
}

#[derive(Clone, Debug)]
enum Header {
    Four(Box<Ipv4Header>, Sum),
    Six(Box<Ipv6Header>),
}

/// State of a checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sum {
    Right,
    /// The checksum is 0: there is none, or the network card was to compute it.
    Unused,
    Wrong,
}

impl Headers {
    /// Returns the headers of a datagram; `None` unless the frame was captured completely.
    pub(super) fn locate(link: Link, udp: &Udp<'_>) -> Option<Self> {
        let ip = match &udp.ip {
            Ip::V4(slice) => {
                let mut header = slice.to_header();
                let sum = Sum::compare(header.header_checksum, header.calc_header_checksum());
                header.options = Ipv4Options::default();
                Header::Four(Box::new(header), sum)
            }
            Ip::V6(slice) => {
                let mut header = slice.to_header();
                header.next_header = ip_number::UDP;
                Header::Six(Box::new(header))
            }
        };
        let right = checksum(udp.from, udp.to, udp.bytes)?;
        Some(Self {
            link,
            before: udp.before.to_owned(),
            from: udp.from,
            to: udp.to,
            ip,
            sum: Sum::compare(udp.header.checksum(), right),
        })
    }

    /// Appends a frame around another datagram. Returns false, with an incomplete frame in `out`, if there are too many
    /// addresses.
    pub(super) fn write(&self, addresses: &mut Addresses, bytes: &[u8], out: &mut Vec<u8>) -> bool {
        self.try_write(addresses, bytes, out).is_some()
    }

    fn try_write(&self, addresses: &mut Addresses, bytes: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let (from, to) = (addresses.socket(self.from)?, addresses.socket(self.to)?);
        self.write_link(addresses, out)?;
        let length = UdpHeader::LEN + bytes.len();
        match (&self.ip, from.ip(), to.ip()) {
            (Header::Four(header, sum), IpAddr::V4(source), IpAddr::V4(destination)) => {
                let mut header = Ipv4Header {
                    source: source.octets(),
                    destination: destination.octets(),
                    ..*header.clone()
                };
                header.set_payload_len(length).ok()?;
                header.header_checksum = sum.written(header.calc_header_checksum());
                out.extend_from_slice(&header.to_bytes());
            }
            (Header::Six(header), IpAddr::V6(source), IpAddr::V6(destination)) => {
                let mut header = Ipv6Header {
                    source: source.octets(),
                    destination: destination.octets(),
                    ..*header.clone()
                };
                header.set_payload_length(length).ok()?;
                out.extend_from_slice(&header.to_bytes());
            }
            _ => return None,
        }
        let udp = UdpHeader {
            source_port: from.port(),
            destination_port: to.port(),
            length: u16::try_from(length).ok()?,
            checksum: self.sum.written(checksum(from, to, bytes)?),
        };
        out.extend_from_slice(&udp.to_bytes());
        out.extend_from_slice(bytes);
        Some(())
    }

    fn write_link(&self, addresses: &mut Addresses, out: &mut Vec<u8>) -> Option<()> {
        let is_four = matches!(self.ip, Header::Four(..));
        match self.link {
            Link::Raw | Link::Other(_) => {}
            // Numbers of IPv4 and IPv6, little-endian like the file.
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
                let start = out.len();
                self.write_cooked(12, (11, 1), addresses, out)?;
                // The field is reserved.
                if let Some(reserved) = out.get_mut(start + 2..start + 4) {
                    reserved.fill(0);
                }
            }
        }
        Some(())
    }

    /// Writes a cooked header. `at` is the offset of the sender's address, which has eight bytes; `length` is the
    /// offset and size of the address length.
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
    fn compare(stored: u16, right: u16) -> Self {
        match stored {
            0 => Self::Unused,
            _ if stored == right => Self::Right,
            _ => Self::Wrong,
        }
    }

    fn written(self, right: u16) -> u16 {
        match (self, right ^ 0x0101) {
            (Self::Right, _) => right,
            (Self::Unused, _) => 0,
            // Any wrong value is sufficient.
            (Self::Wrong, 0) => 0x0202,
            (Self::Wrong, wrong) => wrong,
        }
    }
}

/// Returns the valid checksum of a UDP datagram; `None` if the datagram is too long.
fn checksum(from: SocketAddr, to: SocketAddr, bytes: &[u8]) -> Option<u16> {
    let header = UdpHeader {
        source_port: from.port(),
        destination_port: to.port(),
        length: u16::try_from(UdpHeader::LEN + bytes.len()).ok()?,
        checksum: 0,
    };
    let sum = match (from.ip(), to.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            header.calc_checksum_ipv4_raw(from.octets(), to.octets(), bytes)
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            header.calc_checksum_ipv6_raw(from.octets(), to.octets(), bytes)
        }
        _ => return None,
    };
    sum.ok()
}
