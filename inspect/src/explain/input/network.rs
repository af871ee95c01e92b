//! Headers of the network before a datagram.
//!
//! Law: only what cannot be a game packet by chance is taken for a header: an IP header with UDP in it, whose lengths agree
//! and whose checksum is right or not yet computed.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    ops::Range,
};

const UDP: u8 = 17;
const UDP_HEADER: usize = 8;
/// Headers below IP: their length, and where the EtherType stands in them if it does.
const LINKS: [(&str, usize, Option<usize>); 5] = [
    ("", 0, None),
    ("Ethernet, ", 14, Some(12)),
    ("Ethernet with a VLAN tag, ", 18, Some(16)),
    ("Linux cooked, ", 16, Some(14)),
    ("Linux cooked (version 2), ", 20, Some(0)),
];
/// BSD loopback: four bytes of address family.
const LOOPBACK: usize = 4;

/// Where the datagram is.
pub(super) struct Inside {
    pub(super) range: Range<usize>,
    pub(super) said: String,
}

/// The datagram behind the headers, if there are any.
pub(super) fn datagram(bytes: &[u8]) -> Option<Inside> {
    let links = LINKS
        .into_iter()
        .filter(|&(_, _, at)| at.is_none_or(|at| is_ip(bytes, at)))
        .map(|(name, len, _)| (name, len));
    let family = matches!(bytes, [_, 0, 0, 0, ..] | [0, 0, 0, _, ..]);
    let loopback = family.then_some(("loopback, ", LOOPBACK));
    links
        .chain(loopback)
        .find_map(|(name, len)| ip(bytes.get(len..)?, len, name))
}

fn is_ip(bytes: &[u8], at: usize) -> bool {
    matches!(bytes.get(at..), Some([0x08, 0x00, ..] | [0x86, 0xdd, ..]))
}

/// IP and UDP at the start of `bytes`, `before` bytes in.
fn ip(bytes: &[u8], before: usize, link: &str) -> Option<Inside> {
    let (header, total, from, to, name) = match bytes.first()? >> 4 {
        4 => ip4(bytes)?,
        6 => ip6(bytes)?,
        _ => return None,
    };
    let udp = bytes.get(header..)?;
    let &[f0, f1, t0, t1, l0, l1, ..] = udp else {
        return None;
    };
    let len = usize::from(u16::from_be_bytes([l0, l1]));
    if header + len != total || len < UDP_HEADER || udp.len() < UDP_HEADER {
        return None;
    }
    let from = SocketAddr::new(from, u16::from_be_bytes([f0, f1]));
    let to = SocketAddr::new(to, u16::from_be_bytes([t0, t1]));
    let start = header + UDP_HEADER;
    let end = total.min(bytes.len());
    let mut said = format!(
        "{} bytes of headers skipped ({link}{name}, UDP): {from} to {to}",
        before + start
    );
    if bytes.len() < total {
        said.push_str(&format!("; {} bytes were not captured", total - bytes.len()));
    } else if bytes.len() > total {
        said.push_str(&format!("; {} bytes of padding left out", bytes.len() - total));
    }
    Some(Inside {
        range: before + start..before + end,
        said,
    })
}

type Ip = (usize, usize, IpAddr, IpAddr, &'static str);

fn ip4(bytes: &[u8]) -> Option<Ip> {
    let (fixed, _) = bytes.split_first_chunk::<20>()?;
    let &[
        first,
        _,
        t0,
        t1,
        _,
        _,
        fragment,
        low,
        _,
        protocol,
        c0,
        c1,
        a,
        b,
        c,
        d,
        e,
        f,
        g,
        h,
    ] = fixed;
    let header = usize::from(first & 0x0f) * 4;
    let whole = fragment & 0x3f == 0 && low == 0;
    if protocol != UDP || header < 20 || !whole {
        return None;
    }
    let sum: u32 = bytes
        .get(..header)?
        .chunks(2)
        .map(|pair| pair.iter().fold(0, |word, byte| word << 8 | u32::from(*byte)))
        .sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let right = (folded & 0xffff) + (folded >> 16) == 0xffff;
    // Network cards compute it when the capture is already made.
    if !right && [c0, c1] != [0, 0] {
        return None;
    }
    let total = usize::from(u16::from_be_bytes([t0, t1]));
    let (from, to) = (Ipv4Addr::new(a, b, c, d), Ipv4Addr::new(e, f, g, h));
    Some((header, total, from.into(), to.into(), "IPv4"))
}

fn ip6(bytes: &[u8]) -> Option<Ip> {
    let (fixed, rest) = bytes.split_first_chunk::<8>()?;
    let &[_, _, _, _, l0, l1, next, _] = fixed;
    let (from, rest) = rest.split_first_chunk::<16>()?;
    let (to, _) = rest.split_first_chunk::<16>()?;
    if next != UDP {
        return None;
    }
    let total = 40 + usize::from(u16::from_be_bytes([l0, l1]));
    Some((
        40,
        total,
        Ipv6Addr::from(*from).into(),
        Ipv6Addr::from(*to).into(),
        "IPv6",
    ))
}
