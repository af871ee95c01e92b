//! Finds one packet of a capture by its number, as Wireshark and `frame` count.

use std::{io::BufRead, net::SocketAddr};

use teetap_wire::Side;

use crate::{
    Format, ReadError,
    frame::{self, Captured},
    pcap::Pcap,
    pcapng::{Block, PcapNg},
};

/// A packet with a UDP datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberedPacket {
    /// The sender.
    pub from: SocketAddr,
    /// The receiver.
    pub to: SocketAddr,
    /// The leg, in captures of teetap.
    pub leg: Option<Side>,
    /// The datagram, as far as it was captured.
    pub bytes: Vec<u8>,
}

/// Why a packet cannot be returned.
#[derive(Debug, thiserror::Error)]
pub enum NumberedError {
    /// The file has fewer packets.
    #[error("the file has {0} packets")]
    Fewer(u64),
    /// The packet contains no UDP datagram that can be read.
    #[error("the packet has no UDP datagram")]
    NotUdp,
    /// The file has no packets, but lines.
    #[error("a recording in JSON lines has no packets; use the hex of a line of -vv")]
    Lines,
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Returns the packet `number`, from 1, of a capture.
///
/// # Errors
/// See [`NumberedError`].
pub fn numbered_packet<R: BufRead>(mut input: R, number: u64) -> Result<NumberedPacket, NumberedError> {
    let mut count = 0;
    match Format::detect(&mut input)? {
        Format::JsonLines => Err(NumberedError::Lines),
        Format::Pcap => {
            let mut pcap = Pcap::new(input)?;
            while let Some(captured) = pcap.next()? {
                count += 1;
                if count == number {
                    return datagram(captured, None);
                }
            }
            Err(NumberedError::Fewer(count))
        }
        Format::PcapNg => {
            let mut pcapng = PcapNg::new(input);
            while let Some(block) = pcapng.next()? {
                let Block::Packet { captured, leg, .. } = block else {
                    continue;
                };
                count += 1;
                if count == number {
                    return datagram(captured, leg);
                }
            }
            Err(NumberedError::Fewer(count))
        }
    }
}

fn datagram(captured: Captured<'_>, leg: Option<Side>) -> Result<NumberedPacket, NumberedError> {
    let udp = frame::datagram(captured.link, captured.frame).map_err(|_| NumberedError::NotUdp)?;
    Ok(NumberedPacket {
        from: udp.from,
        to: udp.to,
        leg,
        bytes: udp.bytes.to_vec(),
    })
}
