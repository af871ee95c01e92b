//! Recorded sessions: classic pcap files of UDP over IPv4 over Ethernet.
//!
//! Law: returns the datagrams as they were on the wire, grouped by client and server. The variant of a flow is taken
//! from its handshake. Anything but whole UDP over IPv4 is skipped, not guessed at.

use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use pcap_file::pcap::{PcapReadError, PcapReader};
use pcap_file::pcapng::PcapNgReadError;

use crate::codec::{TKEN, Variant, control};

mod legs;
#[cfg(test)]
mod tests;

pub use legs::{Leg, read_recording};

/// One datagram of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Microseconds since 1970.
    pub time: u64,
    /// Sender.
    pub from: SocketAddr,
    /// Receiver.
    pub to: SocketAddr,
    /// The UDP payload.
    pub payload: Vec<u8>,
}

/// All datagrams between two addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The side that sent the first datagram.
    pub client: SocketAddr,
    /// The other side.
    pub server: SocketAddr,
    /// The datagrams in the order of the file.
    pub packets: Vec<Packet>,
}

/// The reason why a capture cannot be read.
#[derive(Debug)]
pub enum CaptureError {
    /// The file cannot be opened.
    Open(io::Error),
    /// A file that is not a pcap file, or is damaged.
    Read(PcapReadError),
    /// A file that is not a pcapng file, or is damaged.
    ReadNg(PcapNgReadError),
    /// A packet is not whole UDP over IPv4.
    NotUdp,
}

impl Flow {
    /// Returns true if the client sent this packet.
    pub fn is_from_client(&self, packet: &Packet) -> bool {
        packet.from == self.client
    }

    /// Returns the variant of the session, which the server's answer to the handshake decides. `None` if the flow has
    /// no such answer (server browser traffic, or a handshake without answer).
    pub fn variant(&self) -> Option<Variant> {
        self.packets
            .iter()
            .filter(|packet| !self.is_from_client(packet))
            .find_map(|packet| {
                let bytes = &packet.payload[..];
                match bytes {
                    [
                        0x04,
                        _,
                        _,
                        _,
                        _,
                        _,
                        _,
                        control::TOKEN | control::CONNECT_ACCEPT,
                        ..,
                    ] => Some(Variant::V7),
                    [0x18, _, _, _, _, _, _, control::CONNECT_ACCEPT, ..] => Some(Variant::V65),
                    [0x10, _, _, control::CONNECT_ACCEPT, rest @ ..] if rest.starts_with(&TKEN) => {
                        Some(Variant::Ddnet)
                    }
                    [0x10, _, _, control::CONNECT_ACCEPT] => Some(Variant::V6),
                    _ => None,
                }
            })
    }
}

/// Reads a capture file.
pub fn read(path: &Path) -> Result<Vec<Packet>, CaptureError> {
    let file = File::open(path).map_err(CaptureError::Open)?;
    let mut reader = PcapReader::new(file).map_err(CaptureError::Read)?;
    let mut packets = Vec::new();
    while let Some(frame) = reader.next_packet() {
        let frame = frame.map_err(CaptureError::Read)?;
        let time = u64::try_from(frame.timestamp().as_micros()).unwrap_or(u64::MAX);
        packets.extend(datagram(time, frame.data()));
    }
    Ok(packets)
}

/// Returns true if one of `all` contains `part`. An empty `part` is always contained.
#[must_use]
pub fn holds(all: &[Vec<u8>], part: &[u8]) -> bool {
    let Some((first, rest)) = part.split_first() else {
        return true;
    };
    all.iter().any(|bytes| {
        let mut places = bytes.iter().enumerate().filter(|(_, byte)| *byte == first);
        places.any(|(at, _)| bytes.get(at + 1..).is_some_and(|behind| behind.starts_with(rest)))
    })
}

/// Returns the sorted names of the recorded sessions that the tests of the project share.
pub fn names() -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in folder().read_dir()? {
        let path = entry?.path();
        let stem = path.file_stem().and_then(OsStr::to_str);
        if path.extension() == Some(OsStr::new("pcap")) {
            names.extend(stem.map(str::to_owned));
        }
    }
    names.sort();
    Ok(names)
}

/// Reads a recorded session that the tests of the project share.
pub fn recorded(name: &str) -> Result<Vec<Packet>, CaptureError> {
    read(&path(name))
}

/// Returns the file of a recorded session.
pub fn path(name: &str) -> PathBuf {
    folder().join(name).with_extension("pcap")
}

fn folder() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "captures"].iter().collect()
}

/// Groups packets by pairs of addresses, in the order of their first packets.
pub fn flows(packets: Vec<Packet>) -> Vec<Flow> {
    let mut flows: Vec<Flow> = Vec::new();
    for packet in packets {
        let (from, to) = (packet.from, packet.to);
        let same =
            |flow: &&mut Flow| [(flow.client, flow.server), (flow.server, flow.client)].contains(&(from, to));
        match flows.iter_mut().find(same) {
            Some(flow) => flow.packets.push(packet),
            None => flows.push(Flow {
                client: from,
                server: to,
                packets: vec![packet],
            }),
        }
    }
    flows
}

/// Returns the UDP datagram in an Ethernet frame.
fn datagram(time: u64, frame: &[u8]) -> Option<Packet> {
    let (ethernet, ip) = frame.split_at_checked(14)?;
    if !ethernet.ends_with(&[0x08, 0x00]) || ip.first()? >> 4 != 4 || *ip.get(9)? != 17 {
        return None;
    }
    let address = |at: usize| {
        ip.get(at..at + 4)
            .and_then(|bytes| <[u8; 4]>::try_from(bytes).ok())
            .map(Ipv4Addr::from)
    };
    let udp = ip.get(usize::from(ip.first()? & 0x0f) * 4..)?;
    let word = |at: usize| {
        udp.get(at..at + 2)
            .and_then(|bytes| bytes.try_into().ok())
            .map(u16::from_be_bytes)
    };
    let payload = udp.get(8..usize::from(word(4)?))?.to_vec();
    let from = SocketAddr::from((address(12)?, word(0)?));
    let to = SocketAddr::from((address(16)?, word(2)?));
    Some(Packet {
        time,
        from,
        to,
        payload,
    })
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(_) => f.write_str("cannot open the capture"),
            Self::Read(_) | Self::ReadNg(_) => f.write_str("cannot read the capture"),
            Self::NotUdp => f.write_str("a packet that is not UDP over IPv4"),
        }
    }
}

impl std::error::Error for CaptureError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Open(error) => Some(error),
            Self::Read(error) => Some(error),
            Self::ReadNg(error) => Some(error),
            Self::NotUdp => None,
        }
    }
}
