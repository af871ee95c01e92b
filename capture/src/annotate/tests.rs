use teetap_wire::def::{Registry, Secrets};

use super::*;

/// A CONNECT of 0.6 from port 1000 to port 8303, from the IPv4 header on.
const CONNECT: [u8; 32] = [
    0x45, 0, 0, 32, 0, 0, 0, 0, 64, 17, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1, 3, 232, 0x20, 0x6f, 0, 12, 0, 0,
    0x10, 0, 0, 1,
];

/// Writes pcapng in one byte order.
struct File {
    is_big: bool,
    bytes: Vec<u8>,
}

impl File {
    /// Returns a file with an interface of raw IP.
    fn new(is_big: bool) -> Self {
        let bytes = Vec::new();
        let mut file = Self { is_big, bytes };
        let mut section = file.u32(0x1a2b_3c4d).to_vec();
        section.extend(file.u16(1));
        section.extend(file.u16(0));
        // A length of the section that comments would change.
        section.extend([0; 8]);
        file.block(0x0a0d_0d0a, &section);
        let interface = [file.u16(101).to_vec(), vec![0; 6]].concat();
        file.block(1, &interface);
        file
    }

    fn u32(&self, number: u32) -> [u8; 4] {
        match self.is_big {
            true => number.to_be_bytes(),
            false => number.to_le_bytes(),
        }
    }

    fn u16(&self, number: u16) -> [u8; 2] {
        match self.is_big {
            true => number.to_be_bytes(),
            false => number.to_le_bytes(),
        }
    }

    fn block(&mut self, kind: u32, body: &[u8]) {
        let length = self.u32(u32::try_from(body.len() + 12).unwrap());
        let block = [&self.u32(kind), &length, body, &length].concat();
        self.bytes.extend(block);
    }

    fn option(&self, code: u16, value: &[u8]) -> Vec<u8> {
        let length = u16::try_from(value.len()).unwrap();
        let mut option = [&self.u16(code)[..], &self.u16(length), value].concat();
        option.resize(option.len().next_multiple_of(4), 0);
        option
    }

    /// Adds a packet with options.
    fn packet(&mut self, kind: u32, options: &[u8]) {
        let length = self.u32(32);
        let body = match kind {
            3 => [&length[..], &CONNECT].concat(),
            _ => [&[0; 12][..], &length, &length, &CONNECT, options].concat(),
        };
        self.block(kind, &body);
    }
}

fn annotated(bytes: &[u8]) -> (Vec<u8>, Annotated, Option<String>) {
    let comments = Comments::new(bytes, Format::PcapNg, Registry::builtin(), Secrets::Hide).unwrap();
    let (mut out, mut done) = (Vec::new(), Annotated::default());
    let error = annotate(bytes, comments, &mut out, &mut done).err();
    assert_eq!(done.bytes, out.len() as u64);
    (out, done, error.map(|error| error.to_string()))
}

/// The comment of the first packet.
const FIRST: &[u8] = b"   0.000 #1  c\xe2\x86\x92s -      connect             1 byte";

#[test]
fn a_comment_is_added_to_the_options_of_a_packet_in_each_byte_order() {
    for is_big in [false, true] {
        let name = |file: &File| file.option(1, FIRST);
        let other = |file: &File| file.option(1, b"of others");
        let end = [0; 4];
        let nothing = Vec::new;
        let file = || File::new(is_big);
        let of = file();
        for (kind, before, after, count) in [
            (6, nothing(), [&name(&of)[..], &end].concat(), (1, 0, 0)),
            (6, end.to_vec(), [&name(&of)[..], &end].concat(), (1, 0, 0)),
            (2, end.to_vec(), [&name(&of)[..], &end].concat(), (1, 0, 0)),
            (
                6,
                [&other(&of)[..], &end].concat(),
                [&other(&of)[..], &name(&of), &end].concat(),
                (1, 0, 0),
            ),
            (
                6,
                [&name(&of)[..], &end].concat(),
                [&name(&of)[..], &end].concat(),
                (0, 1, 0),
            ),
            (3, nothing(), nothing(), (0, 0, 1)),
        ] {
            let (mut input, mut expected) = (file(), file());
            input.packet(kind, &before);
            expected.packet(kind, &after);
            expected.bytes[16..24].fill(0xff);
            let (out, done, error) = annotated(&input.bytes);
            assert_eq!(error, None);
            assert_eq!(out, expected.bytes, "{kind} {before:?}");
            assert_eq!(
                (done.commented, done.had, done.unplaced),
                count,
                "{kind} {before:?}"
            );
        }
    }
}

#[test]
fn damage_leaves_whole_blocks() {
    let mut file = File::new(false);
    // A block of another kind, longer than what is kept in memory.
    file.block(0xbad, &vec![7; 5 << 20]);
    file.packet(6, &[0; 4]);
    let whole = file.bytes.len();
    file.packet(6, &[1, 0, 200, 0]);
    let (out, done, error) = annotated(&file.bytes);
    assert_eq!(
        (error, done.packets, done.commented, done.unplaced),
        (None, 2, 1, 1)
    );
    assert!(out.ends_with(&file.bytes[whole..]), "damaged options stay");
    let (_, done, error) = annotated(&file.bytes[..whole + 20]);
    assert_eq!(
        error,
        Some(format!(
            "the recording is truncated: the item at byte {whole} is incomplete"
        ))
    );
    assert_eq!(done.packets, 1);
}
