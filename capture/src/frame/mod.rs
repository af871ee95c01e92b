//! Link, network and transport headers: from a captured frame to a UDP datagram, and back for our own captures.
//!
//! Law: what the headers say is checked against what is there, never believed; a datagram of which the end was not captured
//! is given as far as it goes. Checksums are not judged: network cards fill them in behind the capture.
//!
//! Sources: the link types of tcpdump.org, RFC 791 (IPv4), RFC 8200 (IPv6), RFC 768 (UDP), IEEE 802.1Q.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// How the frames of an interface begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// DLT_NULL and DLT_LOOP: four bytes of address family; which order they have does not matter, the packet says what it is.
    Loopback,
    Ethernet,
    /// IPv4 or IPv6 without anything before it.
    Raw,
    /// Linux cooked, version 1 and 2: what `tcpdump -i any` writes.
    Cooked,
    Cooked2,
    /// One that is not known here, by its number.
    Other(u16),
}

/// A frame as it was captured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Captured<'a> {
    /// Nanoseconds since 1970.
    pub(crate) time: u64,
    pub(crate) link: Link,
    pub(crate) frame: &'a [u8],
}

/// A UDP datagram in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Udp<'a> {
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
    /// As far as it was captured.
    pub(crate) bytes: &'a [u8],
    /// Its bytes on the wire.
    pub(crate) len: usize,
    /// Its checksum, as it is there.
    pub(crate) sum: u16,
}

/// Why a frame holds no UDP datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Other {
    /// Something else: ARP, TCP, a link type that is not known.
    NotUdp,
    /// A part of a fragmented packet.
    Fragment,
    /// The headers are cut off, or contradict what is there.
    Broken,
}

const UDP: u8 = 17;
const UDP_HEADER: usize = 8;
pub(crate) const ETHERTYPE_IPV4: u16 = 0x0800;
pub(crate) const ETHERTYPE_IPV6: u16 = 0x86dd;
/// 802.1Q, 802.1ad, and the number that Cisco used before.
const VLAN_TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
/// More tags than anybody stacks.
const MAX_TAGS: usize = 8;
/// More extension headers than any packet needs.
const MAX_EXTENSIONS: usize = 16;

impl Link {
    /// Of a number in the header of a capture.
    pub(crate) fn of(number: u16) -> Self {
        match number {
            0 | 108 => Self::Loopback,
            1 => Self::Ethernet,
            // 12 and 14 are what raw IP is called within some systems.
            12 | 14 | 101 | 228 | 229 => Self::Raw,
            113 => Self::Cooked,
            276 => Self::Cooked2,
            other => Self::Other(other),
        }
    }

    /// The number that everybody knows it by.
    pub(crate) fn number(self) -> u16 {
        match self {
            Self::Loopback => 0,
            Self::Ethernet => 1,
            Self::Raw => 101,
            Self::Cooked => 113,
            Self::Cooked2 => 276,
            Self::Other(number) => number,
        }
    }
}

/// The UDP datagram of a frame.
///
/// # Errors
/// [`Other`].
pub(crate) fn datagram(link: Link, frame: &[u8]) -> Result<Udp<'_>, Other> {
    let packet = match link {
        Link::Raw => frame,
        Link::Loopback => rest(frame, 4)?,
        Link::Ethernet => behind_ethertype(word(frame, 12)?, rest(frame, 14)?)?,
        Link::Cooked => behind_ethertype(word(frame, 14)?, rest(frame, 16)?)?,
        Link::Cooked2 => behind_ethertype(word(frame, 0)?, rest(frame, 20)?)?,
        Link::Other(_) => return Err(Other::NotUdp),
    };
    match packet.first().ok_or(Other::Broken)? >> 4 {
        4 => ipv4(packet),
        6 => ipv6(packet),
        _ => Err(Other::NotUdp),
    }
}

/// Behind VLAN tags.
fn behind_ethertype(mut ethertype: u16, mut packet: &[u8]) -> Result<&[u8], Other> {
    for _ in 0..MAX_TAGS {
        match ethertype {
            ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => return Ok(packet),
            tag if VLAN_TAGS.contains(&tag) => {
                ethertype = word(packet, 2)?;
                packet = rest(packet, 4)?;
            }
            _ => break,
        }
    }
    Err(Other::NotUdp)
}

fn ipv4(packet: &[u8]) -> Result<Udp<'_>, Other> {
    let header = usize::from(packet.first().ok_or(Other::Broken)? & 0x0f) * 4;
    let protocol = *packet.get(9).ok_or(Other::Broken)?;
    if header < 20 {
        return Err(Other::Broken);
    }
    if protocol != UDP {
        return Err(Other::NotUdp);
    }
    // More fragments, or an offset.
    if word(packet, 6)? & 0x3fff != 0 {
        return Err(Other::Fragment);
    }
    let address = |at| -> Result<IpAddr, Other> { Ok(Ipv4Addr::from(array::<4>(packet, at)?).into()) };
    let (from, to) = (address(12)?, address(16)?);
    // 0 is what segmentation offload leaves: then the packet goes to the end of the frame.
    let packet = match usize::from(word(packet, 2)?) {
        0 => packet,
        total => packet.get(..total).unwrap_or(packet),
    };
    udp(from, to, rest(packet, header)?)
}

fn ipv6(packet: &[u8]) -> Result<Udp<'_>, Other> {
    let address = |at| -> Result<IpAddr, Other> { Ok(Ipv6Addr::from(array::<16>(packet, at)?).into()) };
    let (from, to) = (address(8)?, address(24)?);
    let mut next = *packet.get(6).ok_or(Other::Broken)?;
    let length = usize::from(word(packet, 4)?);
    let mut payload = rest(packet, 40)?;
    if length > 0 {
        payload = payload.get(..length).unwrap_or(payload);
    }
    for _ in 0..MAX_EXTENSIONS {
        let skip = match next {
            UDP => return udp(from, to, payload),
            // Hop by hop, routing, destination options, mobility, host identity, shim.
            0 | 43 | 60 | 135 | 139 | 140 => 8 + 8 * byte(payload, 1)?,
            // Authentication, which counts in units of four.
            51 => 8 + 4 * byte(payload, 1)?,
            // The fragment header of a packet that is whole has neither offset nor more.
            44 if word(payload, 2)? & 0xfff9 != 0 => return Err(Other::Fragment),
            44 => 8,
            _ => return Err(Other::NotUdp),
        };
        next = *payload.first().ok_or(Other::Broken)?;
        payload = rest(payload, skip)?;
    }
    Err(Other::Broken)
}

fn udp(from: IpAddr, to: IpAddr, segment: &[u8]) -> Result<Udp<'_>, Other> {
    let ports = (word(segment, 0)?, word(segment, 2)?);
    let told = usize::from(word(segment, 4)?);
    let payload = rest(segment, UDP_HEADER)?;
    let len = match told.checked_sub(UDP_HEADER) {
        Some(len) => len,
        // A jumbogram, or offload.
        None if told == 0 => payload.len(),
        None => return Err(Other::Broken),
    };
    Ok(Udp {
        from: SocketAddr::new(from, ports.0),
        to: SocketAddr::new(to, ports.1),
        bytes: payload.get(..len).unwrap_or(payload),
        len,
        sum: word(segment, 6)?,
    })
}

/// Addresses that no card has: the proxy's, and everybody else's.
const PROXY: [u8; 6] = [0x02, 0, 0, 0, 0, 1];
const PEER: [u8; 6] = [0x02, 0, 0, 0, 0, 2];

/// Appends a frame for [`Link::Ethernet`], checksums included. Addresses of different families are both written as IPv6.
pub(crate) fn write(from: SocketAddr, to: SocketAddr, is_inbound: bool, bytes: &[u8], out: &mut Vec<u8>) {
    let Ok(length) = u16::try_from(UDP_HEADER + bytes.len()) else {
        // Longer than a datagram can be: nothing that was ever received or sent.
        return;
    };
    let mut segment = Vec::with_capacity(UDP_HEADER + bytes.len());
    segment.extend_from_slice(&from.port().to_be_bytes());
    segment.extend_from_slice(&to.port().to_be_bytes());
    segment.extend_from_slice(&length.to_be_bytes());
    segment.extend_from_slice(&[0; 2]);
    segment.extend_from_slice(bytes);
    let [receiver, sender] = if is_inbound { [PROXY, PEER] } else { [PEER, PROXY] };
    out.extend_from_slice(&receiver);
    out.extend_from_slice(&sender);
    let addresses = if let (IpAddr::V4(from), IpAddr::V4(to)) = (from.ip(), to.ip()) {
        out.extend_from_slice(&ETHERTYPE_IPV4.to_be_bytes());
        let start = out.len();
        out.extend_from_slice(&[0x45, 0]);
        out.extend_from_slice(&length.saturating_add(20).to_be_bytes());
        out.extend_from_slice(&[0, 0, 0, 0, 64, UDP, 0, 0]);
        let addresses = [from.octets(), to.octets()].concat();
        out.extend_from_slice(&addresses);
        let sum = checksum([out.get(start..).unwrap_or_default()]);
        put(out, start + 10, sum);
        addresses
    } else {
        out.extend_from_slice(&ETHERTYPE_IPV6.to_be_bytes());
        out.extend_from_slice(&[0x60, 0, 0, 0]);
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(&[UDP, 64]);
        let addresses = [six(from.ip()), six(to.ip())].concat();
        out.extend_from_slice(&addresses);
        addresses
    };
    let pseudo = [&addresses[..], &[0, UDP], &length.to_be_bytes()].concat();
    // 0 would say that there is none.
    let sum = match checksum([&pseudo, &segment]) {
        0 => 0xffff,
        sum => sum,
    };
    put(&mut segment, 6, sum);
    out.extend_from_slice(&segment);
}

fn six(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
        IpAddr::V6(ip) => ip.octets(),
    }
}

/// The Internet checksum (RFC 1071) over parts, of which all but the last have an even length.
pub(crate) fn checksum<const N: usize>(parts: [&[u8]; N]) -> u16 {
    let mut sum: u32 = 0;
    for pair in parts.iter().flat_map(|part| part.chunks(2)) {
        let [high, low] = [pair.first(), pair.get(1)].map(|byte| byte.copied().unwrap_or(0));
        sum += u32::from(u16::from_be_bytes([high, low]));
    }
    let [a, b, c, d] = sum.to_be_bytes();
    let folded = u32::from(u16::from_be_bytes([a, b])) + u32::from(u16::from_be_bytes([c, d]));
    let [_, carry, c, d] = folded.to_be_bytes();
    !u16::from_be_bytes([c, d]).wrapping_add(u16::from(carry))
}

pub(crate) fn put(bytes: &mut [u8], at: usize, value: u16) {
    for (slot, byte) in bytes.iter_mut().skip(at).zip(value.to_be_bytes()) {
        *slot = byte;
    }
}

fn rest(bytes: &[u8], at: usize) -> Result<&[u8], Other> {
    bytes.get(at..).ok_or(Other::Broken)
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], Other> {
    rest(bytes, at)?.first_chunk().copied().ok_or(Other::Broken)
}

fn word(bytes: &[u8], at: usize) -> Result<u16, Other> {
    array(bytes, at).map(u16::from_be_bytes)
}

fn byte(bytes: &[u8], at: usize) -> Result<usize, Other> {
    bytes.get(at).map(|byte| usize::from(*byte)).ok_or(Other::Broken)
}

#[cfg(test)]
mod tests;
