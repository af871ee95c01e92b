//! A classic pcap file of UDP over IPv4 over Ethernet.

use crate::peer::Role;

/// The time of the first datagram, in seconds since 1970.
const BEGIN: u64 = 1_767_225_600;
/// The addresses and ports of the client and the server, from the ranges for documentation.
const CLIENT: ([u8; 4], u16) = ([192, 0, 2, 10], 50_000);
const SERVER: ([u8; 4], u16) = ([192, 0, 2, 20], 8303);

/// A datagram of a recording.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    /// Microseconds since the first datagram.
    pub(super) at: u64,
    pub(super) from: Role,
    pub(super) bytes: Vec<u8>,
}

/// Returns the pcap file.
pub(super) fn pcap(sent: &[Sent]) -> Vec<u8> {
    let mut out = Vec::new();
    let ints = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 1];
    ints.iter().for_each(|int: &u32| out.extend(int.to_le_bytes()));
    for sent in sent {
        let frame = frame(sent);
        let length = short(frame.len());
        let (seconds, micros) = (BEGIN + sent.at / 1_000_000, sent.at % 1_000_000);
        for int in [seconds, micros, length.into(), length.into()] {
            out.extend(u32::try_from(int).unwrap_or(u32::MAX).to_le_bytes());
        }
        out.extend(frame);
    }
    out
}

fn frame(sent: &Sent) -> Vec<u8> {
    let (from, to) = match sent.from {
        Role::Client => (CLIENT, SERVER),
        Role::Server => (SERVER, CLIENT),
    };
    let mac = |host: [u8; 4]| [2, 0, host[0], host[1], host[2], host[3]];
    let udp = short(sent.bytes.len() + 8);
    let mut ip = vec![0x45, 0];
    ip.extend((udp + 20).to_be_bytes());
    ip.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
    ip.extend(from.0);
    ip.extend(to.0);
    let sum = checksum(&ip).to_be_bytes();
    ip.splice(10..12, sum);
    let mut out = [mac(to.0), mac(from.0)].concat();
    out.extend([8, 0]);
    out.extend(ip);
    for part in [from.1, to.1, udp, 0] {
        // A checksum of 0 means none.
        out.extend(part.to_be_bytes());
    }
    out.extend(&sent.bytes);
    out
}

fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|word| match word {
        [high, low] => u32::from(u16::from_be_bytes([*high, *low])),
        _ => 0,
    });
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !short(usize::try_from(folded & 0xffff).unwrap_or_default())
}

/// Converts the length of a datagram.
fn short(value: usize) -> u16 {
    u16::try_from(value).unwrap_or(u16::MAX)
}
