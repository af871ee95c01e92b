//! Reads frames of captures by any program, and writes the frames of teetap's own captures.

use std::net::{IpAddr, SocketAddr};

use etherparse::{Ethernet2Header, Ipv4Header, Ipv6Header, UdpHeader, ether_type, ip_number::UDP};

pub(crate) use teetap_inspect::frame::{Ip, Link, Other, Udp, datagram};

/// A frame as it was captured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Captured<'a> {
    /// Nanoseconds since 1970.
    pub(crate) time: u64,
    pub(crate) link: Link,
    pub(crate) frame: &'a [u8],
}

/// MAC addresses that no network card has: of the proxy, and of every peer.
const PROXY: [u8; 6] = [0x02, 0, 0, 0, 0, 1];
const PEER: [u8; 6] = [0x02, 0, 0, 0, 0, 2];

const HOPS: u8 = 64;

/// Appends a frame for [`Link::Ethernet`] with checksums. If the addresses have different families, both are written as
/// IPv6.
///
/// Appends nothing if `bytes` exceeds the maximum size of a datagram.
pub(crate) fn write(from: SocketAddr, to: SocketAddr, is_inbound: bool, bytes: &[u8], out: &mut Vec<u8>) {
    let [destination, source] = if is_inbound { [PROXY, PEER] } else { [PEER, PROXY] };
    let mut ethernet = Ethernet2Header {
        source,
        destination,
        ether_type: ether_type::IPV4,
    };
    if let (IpAddr::V4(source), IpAddr::V4(destination)) = (from.ip(), to.ip()) {
        let mut header = Ipv4Header {
            time_to_live: HOPS,
            protocol: UDP,
            source: source.octets(),
            destination: destination.octets(),
            dont_fragment: false,
            ..Ipv4Header::default()
        };
        let udp = UdpHeader::with_ipv4_checksum(from.port(), to.port(), &header, bytes);
        if let (Ok(()), Ok(udp)) = (header.set_payload_len(UdpHeader::LEN + bytes.len()), udp) {
            header.header_checksum = header.calc_header_checksum();
            out.extend_from_slice(&ethernet.to_bytes());
            out.extend_from_slice(&header.to_bytes());
            out.extend_from_slice(&udp.to_bytes());
            out.extend_from_slice(bytes);
        }
    } else {
        ethernet.ether_type = ether_type::IPV6;
        let mut header = Ipv6Header {
            next_header: UDP,
            hop_limit: HOPS,
            source: six(from.ip()),
            destination: six(to.ip()),
            ..Ipv6Header::default()
        };
        let udp = UdpHeader::with_ipv6_checksum(from.port(), to.port(), &header, bytes);
        if let (Ok(()), Ok(udp)) = (header.set_payload_length(UdpHeader::LEN + bytes.len()), udp) {
            out.extend_from_slice(&ethernet.to_bytes());
            out.extend_from_slice(&header.to_bytes());
            out.extend_from_slice(&udp.to_bytes());
            out.extend_from_slice(bytes);
        }
    }
}

fn six(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
        IpAddr::V6(ip) => ip.octets(),
    }
}

#[cfg(test)]
mod tests;
