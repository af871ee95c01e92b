//! Link, network and transport headers: finds the UDP datagram in a captured frame.
//!
//! Law: lengths in headers are checked against the frame before they are used. If the end of a datagram was not
//! captured, the captured part is returned. Checksums are not checked, because network cards fill them in after the
//! capture.
//!
//! Sources: the link types of tcpdump.org, IEEE 802.1Q. IP and UDP are parsed by `etherparse`.

use std::net::{IpAddr, SocketAddr};

use etherparse::{Ipv4HeaderSlice, Ipv6HeaderSlice, LaxIpv6Slice, UdpHeaderSlice, ip_number::UDP};

/// The link type of an interface, which decides how its frames start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// DLT_NULL and DLT_LOOP: four bytes of address family, in any byte order.
    Loopback,
    /// Ethernet II, with VLAN tags.
    Ethernet,
    /// IPv4 or IPv6 without a link header.
    Raw,
    /// Linux cooked, version 1.
    Cooked,
    /// Linux cooked, version 2: `tcpdump -i any`.
    Cooked2,
    /// An unknown link type, by its number.
    Other(u16),
}

/// A UDP datagram in a frame.
#[derive(Clone, Debug)]
pub struct Udp<'a> {
    /// The sender.
    pub from: SocketAddr,
    /// The receiver.
    pub to: SocketAddr,
    /// The link header: everything before the IP header.
    pub before: &'a [u8],
    /// The IP header.
    pub ip: Ip<'a>,
    /// The UDP header.
    pub header: UdpHeaderSlice<'a>,
    /// Offset of the payload in the frame.
    pub start: usize,
    /// The payload, as far as it was captured.
    pub bytes: &'a [u8],
    /// Length of the payload on the wire, in bytes.
    pub len: usize,
}

/// The IP header of a datagram.
#[derive(Clone, Debug)]
pub enum Ip<'a> {
    /// IPv4, with its options.
    V4(Ipv4HeaderSlice<'a>),
    /// IPv6, without its extension headers.
    V6(Ipv6HeaderSlice<'a>),
}

/// Why a frame has no UDP datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Other {
    /// Another protocol, such as ARP or TCP, or an unknown link type.
    NotUdp,
    /// A part of a fragmented packet.
    Fragment,
    /// Headers that are cut off, or contradict the length of the frame.
    Broken,
}

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
/// 802.1Q, 802.1ad, and the older number of Cisco.
const VLAN_TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
/// Maximum number of stacked tags, more than any network uses.
const MAX_TAGS: usize = 8;
const UDP_HEADER: usize = 8;

impl Link {
    /// Returns the link type with this number in the header of a capture.
    #[must_use]
    pub fn of(number: u16) -> Self {
        match number {
            0 | 108 => Self::Loopback,
            1 => Self::Ethernet,
            // Some systems use the numbers 12 or 14 for raw IP.
            12 | 14 | 101 | 228 | 229 => Self::Raw,
            113 => Self::Cooked,
            276 => Self::Cooked2,
            other => Self::Other(other),
        }
    }

    /// Returns the number for the header of a capture.
    #[must_use]
    pub fn number(self) -> u16 {
        match self {
            Self::Loopback => 0,
            Self::Ethernet => 1,
            Self::Raw => 101,
            Self::Cooked => 113,
            Self::Cooked2 => 276,
            Self::Other(number) => number,
        }
    }

    /// Returns the offset of the IP header, after any VLAN tags.
    fn ip_at(self, frame: &[u8]) -> Result<usize, Other> {
        let (mut ethertype_at, mut at) = match self {
            Self::Raw => return Ok(0),
            Self::Loopback => return Ok(4),
            Self::Ethernet => (12, 14),
            Self::Cooked => (14, 16),
            Self::Cooked2 => (0, 20),
            Self::Other(_) => return Err(Other::NotUdp),
        };
        for _ in 0..MAX_TAGS {
            let found = frame.get(ethertype_at..).and_then(<[u8]>::first_chunk);
            match u16::from_be_bytes(*found.ok_or(Other::Broken)?) {
                ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => return Ok(at),
                tag if VLAN_TAGS.contains(&tag) => (ethertype_at, at) = (at + 2, at + 4),
                _ => break,
            }
        }
        Err(Other::NotUdp)
    }
}

/// Returns the UDP datagram in a frame.
///
/// # Errors
/// See [`Other`].
pub fn datagram(link: Link, frame: &[u8]) -> Result<Udp<'_>, Other> {
    let (before, packet) = frame.split_at_checked(link.ip_at(frame)?).ok_or(Other::Broken)?;
    let (ip, from, to, segment_at, segment) = match packet.first().ok_or(Other::Broken)? >> 4 {
        4 => ipv4(packet)?,
        6 => ipv6(packet)?,
        _ => return Err(Other::NotUdp),
    };
    let header = UdpHeaderSlice::from_slice(segment).map_err(|_| Other::Broken)?;
    let payload = segment.get(UDP_HEADER..).unwrap_or_default();
    let len = match usize::from(header.length()) {
        // A length of 0 means a jumbogram or segmentation offload.
        0 => payload.len(),
        length => length.checked_sub(UDP_HEADER).ok_or(Other::Broken)?,
    };
    Ok(Udp {
        from: SocketAddr::new(from, header.source_port()),
        to: SocketAddr::new(to, header.destination_port()),
        before,
        ip,
        header,
        start: before.len() + segment_at + UDP_HEADER,
        bytes: payload.get(..len).unwrap_or(payload),
        len,
    })
}

/// An IP header, its source and destination, the offset of the UDP segment in the packet, and the segment.
type Segment<'a> = (Ip<'a>, IpAddr, IpAddr, usize, &'a [u8]);

fn ipv4(packet: &[u8]) -> Result<Segment<'_>, Other> {
    let Ok(header) = Ipv4HeaderSlice::from_slice(packet) else {
        return Err(cut_ipv4(packet));
    };
    if header.protocol() != UDP {
        return Err(Other::NotUdp);
    }
    if header.is_fragmenting_payload() {
        return Err(Other::Fragment);
    }
    // A length of 0 is the result of segmentation offload; the packet then fills the frame.
    let end = match usize::from(header.total_len()) {
        0 => packet.len(),
        total => total.min(packet.len()),
    };
    let at = header.slice().len();
    let segment = packet.get(at..end).ok_or(Other::Broken)?;
    let (from, to) = (header.source_addr(), header.destination_addr());
    Ok((Ip::V4(header), from.into(), to.into(), at, segment))
}

/// Classifies a packet whose header is cut off by the bytes that are there.
fn cut_ipv4(packet: &[u8]) -> Other {
    let is_cut = packet.first().is_some_and(|first| first & 0x0f >= 5);
    let fragment = packet
        .get(6..)
        .and_then(<[u8]>::first_chunk)
        .copied()
        .unwrap_or_default();
    match packet.get(9) {
        Some(protocol) if is_cut && *protocol != UDP.0 => Other::NotUdp,
        Some(_) if is_cut && u16::from_be_bytes(fragment) & 0x3fff != 0 => Other::Fragment,
        _ => Other::Broken,
    }
}

fn ipv6(packet: &[u8]) -> Result<Segment<'_>, Other> {
    let (slice, stopped) = LaxIpv6Slice::from_slice(packet).map_err(|_| Other::Broken)?;
    let payload = slice.payload();
    if payload.fragmented {
        return Err(Other::Fragment);
    }
    if stopped.is_some() {
        return Err(Other::Broken);
    }
    if payload.ip_number != UDP {
        return Err(Other::NotUdp);
    }
    let header = slice.header();
    let at = header.slice().len() + slice.extensions().slice().len();
    let (from, to) = (header.source_addr(), header.destination_addr());
    Ok((Ip::V6(header), from.into(), to.into(), at, payload.payload))
}

#[cfg(test)]
mod tests;
