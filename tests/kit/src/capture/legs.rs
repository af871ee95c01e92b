//! Recordings of the proxy: pcapng files with one interface for each leg, read with a crate that the proxy does not
//! use.

use std::fs::File;
use std::net::SocketAddr;
use std::path::Path;

use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::blocks::opt_common::CommonOption;
use pcap_file::pcapng::{Block, PcapNgReader};

use super::{CaptureError, datagram};

/// A datagram of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leg {
    /// Name of the interface.
    pub interface: String,
    /// Nanoseconds since 1970.
    pub nanoseconds: u128,
    /// Sender.
    pub from: SocketAddr,
    /// Receiver.
    pub to: SocketAddr,
    /// The UDP payload.
    pub payload: Vec<u8>,
    /// True if the proxy received it; `None` if the recording does not say.
    pub is_inbound: Option<bool>,
    /// The comment of the packet.
    pub comment: Option<String>,
    /// Packets dropped before this one.
    pub drops: u64,
}

/// Reads all sections of a recording.
pub fn read_recording(path: &Path) -> Result<Vec<Leg>, CaptureError> {
    let file = File::open(path).map_err(CaptureError::Open)?;
    let mut reader = PcapNgReader::new(file).map_err(CaptureError::ReadNg)?;
    let mut legs = Vec::new();
    while let Some(block) = reader.next_block() {
        let (block, state) = block.map_err(CaptureError::ReadNg)?;
        let Block::EnhancedPacket(packet) = block else {
            continue;
        };
        let interface = usize::try_from(packet.interface_id)
            .ok()
            .and_then(|id| state.interfaces().get(id));
        let name = interface.and_then(|interface| {
            interface.options.iter().find_map(|option| match option {
                InterfaceDescriptionOption::IfName(name) => Some(name.to_string()),
                _ => None,
            })
        });
        let udp = datagram(0, &packet.data).ok_or(CaptureError::NotUdp)?;
        let mut leg = Leg {
            interface: name.unwrap_or_default(),
            nanoseconds: packet.timestamp.as_nanos(),
            from: udp.from,
            to: udp.to,
            payload: udp.payload,
            is_inbound: None,
            comment: None,
            drops: 0,
        };
        for option in &packet.options {
            match option {
                EnhancedPacketOption::Common(CommonOption::Comment(text)) => {
                    leg.comment = Some(text.to_string());
                }
                EnhancedPacketOption::Flags(flags) => leg.is_inbound = Some(*flags & 3 == 1),
                EnhancedPacketOption::DropCount(drops) => leg.drops = *drops,
                _ => {}
            }
        }
        legs.push(leg);
    }
    Ok(legs)
}
