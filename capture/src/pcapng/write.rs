//! Writes pcapng blocks.

use teetap_wire::Side;

use super::number::{
    COMMENT, INTERFACE, INTERFACE_DESCRIPTION, INTERFACE_NAME, INTERFACE_RESOLUTION, MAGIC, OWN, PACKET,
    PACKET_DROPS, PACKET_FLAGS, SECTION, SECTION_PROGRAM, STATISTICS, STATISTICS_DROPS, name_of,
};

/// Raw IP would be enough, but libpcap 1.10 rejects a file with two interfaces of that type.
const LINKTYPE_ETHERNET: u16 = 1;
const NANOSECONDS: u8 = 9;
/// Maximum bytes of a comment: a datagram can have 255 messages.
const LONGEST_COMMENT: usize = 32 << 10;

/// A packet of a capture of teetap.
pub(crate) struct Packet<'a> {
    pub(crate) leg: Side,
    /// Nanoseconds since 1970.
    pub(crate) time: u64,
    /// Frame, from the Ethernet header on.
    pub(crate) frame: &'a [u8],
    /// True for a received datagram, false for a sent one.
    pub(crate) is_inbound: bool,
    pub(crate) comment: &'a str,
    /// Number of events missed since the previous packet.
    pub(crate) drops: u64,
    pub(crate) own: Option<&'a [u8]>,
}

/// Appends a section with its two interfaces.
pub(crate) fn section(program: &str, comment: &str, own: &[u8], out: &mut Vec<u8>) {
    block(SECTION, out, |out| {
        out.extend_from_slice(&MAGIC.to_le_bytes());
        out.extend_from_slice(&[1, 0, 0, 0]);
        // The length of the section is unknown.
        out.extend_from_slice(&[0xff; 8]);
        option(COMMENT, comment.as_bytes(), out);
        option(SECTION_PROGRAM, program.as_bytes(), out);
        option(OWN, own, out);
        option(0, &[], out);
    });
    for (leg, description) in [
        (Side::Client, "clients and the address they connect to"),
        (Side::Server, "the proxy's own sockets and the server"),
    ] {
        block(INTERFACE, out, |out| {
            out.extend_from_slice(&LINKTYPE_ETHERNET.to_le_bytes());
            out.extend_from_slice(&[0; 6]);
            option(INTERFACE_NAME, name_of(leg).as_bytes(), out);
            option(INTERFACE_DESCRIPTION, description.as_bytes(), out);
            option(INTERFACE_RESOLUTION, &[NANOSECONDS], out);
            option(0, &[], out);
        });
    }
}

/// Appends a section without options.
pub(crate) fn bare_section(out: &mut Vec<u8>) {
    block(SECTION, out, |out| {
        out.extend_from_slice(&MAGIC.to_le_bytes());
        out.extend_from_slice(&[1, 0, 0, 0]);
        out.extend_from_slice(&[0xff; 8]);
    });
}

/// Appends an interface with times in nanoseconds, named after its leg if it has one.
pub(crate) fn bare_interface(link: u16, leg: Option<Side>, out: &mut Vec<u8>) {
    block(INTERFACE, out, |out| {
        out.extend_from_slice(&link.to_le_bytes());
        out.extend_from_slice(&[0; 6]);
        if let Some(leg) = leg {
            option(INTERFACE_NAME, name_of(leg).as_bytes(), out);
        }
        option(INTERFACE_RESOLUTION, &[NANOSECONDS], out);
        option(0, &[], out);
    });
}

/// Appends a packet without options; `at` is in nanoseconds since 1970.
pub(crate) fn bare_packet(interface: u32, at: u64, frame: &[u8], out: &mut Vec<u8>) {
    block(PACKET, out, |out| {
        out.extend_from_slice(&interface.to_le_bytes());
        time(at, out);
        let len = u32::try_from(frame.len()).unwrap_or(u32::MAX).to_le_bytes();
        out.extend_from_slice(&len);
        out.extend_from_slice(&len);
        out.extend_from_slice(frame);
        pad(frame.len(), out);
    });
}

/// Appends a packet.
pub(crate) fn packet(packet: &Packet<'_>, out: &mut Vec<u8>) {
    block(PACKET, out, |out| {
        out.extend_from_slice(&interface(packet.leg).to_le_bytes());
        time(packet.time, out);
        let len = u32::try_from(packet.frame.len())
            .unwrap_or(u32::MAX)
            .to_le_bytes();
        out.extend_from_slice(&len);
        out.extend_from_slice(&len);
        out.extend_from_slice(packet.frame);
        pad(packet.frame.len(), out);
        comment(packet.comment, out);
        let direction: u32 = if packet.is_inbound { 1 } else { 2 };
        option(PACKET_FLAGS, &direction.to_le_bytes(), out);
        if packet.drops > 0 {
            option(PACKET_DROPS, &packet.drops.to_le_bytes(), out);
        }
        if let Some(own) = packet.own {
            option(OWN, own, out);
        }
        option(0, &[], out);
    });
}

/// Appends a note without a packet, as statistics of the client leg with a comment.
pub(crate) fn statistics(at: u64, text: &str, drops: u64, own: Option<&[u8]>, out: &mut Vec<u8>) {
    block(STATISTICS, out, |out| {
        out.extend_from_slice(&interface(Side::Client).to_le_bytes());
        time(at, out);
        comment(text, out);
        option(STATISTICS_DROPS, &drops.to_le_bytes(), out);
        if let Some(own) = own {
            option(OWN, own, out);
        }
        option(0, &[], out);
    });
}

fn interface(leg: Side) -> u32 {
    match leg {
        Side::Client => 0,
        Side::Server => 1,
    }
}

/// Appends a time: the upper half first, in both byte orders.
pub(crate) fn time(units: u64, out: &mut Vec<u8>) {
    let [a, b, c, d, e, f, g, h] = units.to_le_bytes();
    out.extend_from_slice(&[e, f, g, h, a, b, c, d]);
}

pub(crate) fn comment(text: &str, out: &mut Vec<u8>) {
    let text = short(text);
    if !text.is_empty() {
        option(COMMENT, text.as_bytes(), out);
    }
}

/// Returns the part of a comment that is written: at most [`LONGEST_COMMENT`] bytes.
pub(crate) fn short(text: &str) -> &str {
    text.get(..text.floor_char_boundary(LONGEST_COMMENT))
        .unwrap_or_default()
}

/// Appends an option. Appends nothing if the value is too long.
pub(crate) fn option(code: u16, value: &[u8], out: &mut Vec<u8>) {
    let Ok(length) = u16::try_from(value.len()) else {
        return;
    };
    out.extend_from_slice(&code.to_le_bytes());
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(value);
    pad(value.len(), out);
}

pub(crate) fn pad(length: usize, out: &mut Vec<u8>) {
    out.resize(out.len() + length.next_multiple_of(4) - length, 0);
}

/// Appends a block, whose length is at both ends.
pub(crate) fn block(kind: u32, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = u32::try_from(out.len() - start + 4)
        .unwrap_or(u32::MAX)
        .to_le_bytes();
    for (slot, byte) in out.iter_mut().skip(start + 4).zip(length) {
        *slot = byte;
    }
    out.extend_from_slice(&length);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the little-endian words of a file.
    fn words(bytes: &[u8]) -> Vec<u32> {
        let (words, rest) = bytes.as_chunks();
        assert!(rest.is_empty(), "{bytes:02x?}");
        words.iter().map(|word| u32::from_le_bytes(*word)).collect()
    }

    const AT: u64 = 0x0102_0304_0506_0708;

    #[test]
    fn a_note_is_statistics_of_the_client_leg() {
        let own: &[u8] = &[0xaa, 0xbb];
        for (own, option) in [(None, vec![]), (Some(own), vec![0x0002_9e7a, 0xbbaa])] {
            let mut out = Vec::new();
            statistics(AT, "abc", 7, own, &mut out);
            let mut expected = vec![
                5,
                0,
                0,
                0x0102_0304,
                0x0506_0708,
                0x0003_0001,
                0x0063_6261,
                0x0008_0005,
                7,
                0,
            ];
            expected.extend(option);
            expected.push(0);
            let length = u32::try_from(out.len()).unwrap();
            expected[1] = length;
            expected.push(length);
            assert_eq!(words(&out), expected);
        }
    }

    #[test]
    fn a_packet_has_its_leg_direction_and_losses() {
        for (leg, is_inbound, drops) in [
            (Side::Client, true, 0),
            (Side::Client, false, 9),
            (Side::Server, true, 9),
            (Side::Server, false, 0),
        ] {
            let mut out = Vec::new();
            let frame = &[1, 2, 3];
            packet(
                &Packet {
                    leg,
                    time: AT,
                    frame,
                    is_inbound,
                    comment: "",
                    drops,
                    own: None,
                },
                &mut out,
            );
            let interface = u32::from(leg == Side::Server);
            let direction = if is_inbound { 1 } else { 2 };
            let mut expected = vec![6, 0, interface, 0x0102_0304, 0x0506_0708, 3, 3, 0x0003_0201];
            expected.extend([0x0004_0002, direction]);
            if drops > 0 {
                expected.extend([0x0008_0004, 9, 0]);
            }
            expected.push(0);
            let length = u32::try_from(out.len()).unwrap();
            expected[1] = length;
            expected.push(length);
            assert_eq!(words(&out), expected, "{leg:?}");
        }
    }

    /// A value of more than 65535 bytes is left out, and a long comment is cut between characters.
    #[test]
    fn long_values_are_cut_or_left_out() {
        for (len, kept) in [(65_535, 65_540), (65_536, 0)] {
            let mut out = Vec::new();
            option(OWN, &vec![1; len], &mut out);
            assert_eq!(out.len(), kept);
        }
        let text = format!("a{}", "\u{e9}".repeat(LONGEST_COMMENT / 2));
        let mut out = Vec::new();
        comment(&text, &mut out);
        assert_eq!(
            out[2..4],
            u16::try_from(LONGEST_COMMENT - 1).unwrap().to_le_bytes()
        );
        out.clear();
        comment("", &mut out);
        assert!(out.is_empty());
    }
}
