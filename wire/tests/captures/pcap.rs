//! A reader for the format of the recordings: classic pcap, little-endian, Ethernet, IPv4, UDP, no fragments.

/// One recorded datagram: ports and bytes.
pub(crate) struct Datagram {
    pub(crate) from: u16,
    pub(crate) to: u16,
    pub(crate) bytes: Vec<u8>,
}

pub(crate) fn read(file: &[u8]) -> Vec<Datagram> {
    assert_eq!(file[..4], [0xd4, 0xc3, 0xb2, 0xa1], "classic pcap, little-endian");
    assert_eq!(file[20], 1, "Ethernet");
    let mut datagrams = Vec::new();
    let mut rest = &file[24..];
    while let Some((header, body)) = rest.split_at_checked(16) {
        let len = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().unwrap()) as usize;
        assert_eq!(len(8), len(12), "a record cut short");
        let (frame, next) = body.split_at(len(8));
        datagrams.push(udp(frame));
        rest = next;
    }
    assert!(rest.is_empty());
    datagrams
}

fn udp(frame: &[u8]) -> Datagram {
    assert_eq!((&frame[12..14], frame[23]), (&[8, 0][..], 17), "IPv4 and UDP");
    let segment = &frame[14 + 4 * usize::from(frame[14] & 0x0f)..];
    let word = |at: usize| u16::from_be_bytes([segment[at], segment[at + 1]]);
    Datagram {
        from: word(0),
        to: word(2),
        bytes: segment[8..usize::from(word(4))].to_vec(),
    }
}
