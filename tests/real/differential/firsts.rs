//! First datagrams of odd lengths, flags and forms, sent to every kind of server, and a join after each.

use teetap_kit::codec::Variant;
use teetap_kit::script::Step;

use super::cells::Cell;
use super::target::Target;

/// A first datagram: its name, its first bytes, and the lengths to which it is padded with zeros.
type Row = (&'static str, &'static [u8], &'static [usize]);

/// Datagrams of 0.6 without tokens.
const PLAIN: &[Row] = &[
    ("nothing", b"", &[0, 1, 2]),
    ("control", b"\x10\0\0", &[3]),
    ("resent control", b"\x50\0\0", &[3]),
    ("Keepalive", b"\x10\0\0\0", &[4, 12]),
    (
        "Connect",
        b"\x10\0\0\x01",
        &[
            4, 5, 7, 8, 12, 300, 512, 515, 516, 517, 1390, 1397, 1398, 1400, 1401,
        ],
    ),
    ("ConnectAccept", b"\x10\0\0\x02", &[4, 12]),
    ("Accept", b"\x10\0\0\x03", &[4, 8]),
    ("Close", b"\x10\0\0\x04", &[4, 8]),
    ("control 5", b"\x10\0\0\x05", &[4, 520]),
    ("control 255", b"\x10\0\0\xff", &[4]),
    ("Connect with a high ack", b"\x13\0\0\x01", &[4]),
    ("Connect with bit 04", b"\x14\0\0\x01", &[4, 8, 12, 300, 516]),
    ("Connect with bit 08", b"\x18\0\0\x01", &[4, 8, 12, 300, 516]),
    ("Connect with bits 0c", b"\x1c\0\0\x01", &[4, 12]),
    ("Connect with resend", b"\x50\0\0\x01", &[4, 12]),
    ("Connect marked as compressed", b"\x90\0\0\x01", &[4, 12]),
    ("Connect with a count", b"\x10\0\x01\x01", &[4, 12]),
    ("Connect with a count of 255", b"\x10\0\xff\x01", &[4, 12]),
    ("data", b"\0\0\0", &[3, 4, 12]),
    ("data that asks for a resend", b"\x40\0\0", &[3]),
    ("data with a chunk", b"\0\0\x01\x40\x01\x01\x1d", &[7]),
    ("input", b"\0\0\x01\x04\x02\x21\x01", &[20]),
    ("byte 80", b"\x80\0\0\x01", &[4, 12]),
];

/// Datagrams of DDNet.
const OF_DDNET: &[Row] = &[
    (
        "Connect",
        b"\x10\0\0\x01TKEN",
        &[8, 9, 11, 12, 13, 16, 300, 515, 516, 1394, 1400, 1401],
    ),
    (
        "Connect with a tail",
        b"\x10\0\0\x01TKEN\xff\xff\xff\xff",
        &[12, 13, 516],
    ),
    ("Connect with bit 04", b"\x14\0\0\x01TKEN\xff\xff\xff\xff", &[12]),
    (
        "Connect with bit 08",
        b"\x18\0\0\x01TKEN\xff\xff\xff\xff",
        &[12, 16],
    ),
    ("Connect with resend", b"\x50\0\0\x01TKEN\xff\xff\xff\xff", &[12]),
    (
        "Connect marked as compressed",
        b"\x90\0\0\x01TKEN\xff\xff\xff\xff",
        &[12],
    ),
    (
        "Connect with a count",
        b"\x10\0\x01\x01TKEN\xff\xff\xff\xff",
        &[12],
    ),
    (
        "Connect with an ack",
        b"\x10\x05\0\x01TKEN\xff\xff\xff\xff",
        &[12],
    ),
    ("Connect as data", b"\0\0\x01\x01TKEN\xff\xff\xff\xff", &[12]),
    ("control", b"\x10\0\0", &[3]),
    ("Accept", b"\x10\0\0\x03abcd", &[4, 7, 8, 9, 12]),
    ("Keepalive", b"\x10\0\0\0\xff\xff\xff\xff", &[8]),
    ("Close", b"\x10\0\0\x04bye\0", &[8, 12]),
];

/// Datagrams of 0.6.5.
const OF_HEADER: &[Row] = &[
    (
        "Connect",
        b"\x10\0\0\x01\0\0\0\0abcd",
        &[12, 300, 515, 516, 517, 1390, 1397, 1398, 1400, 1401],
    ),
    ("Connect without zeros", b"\x10\0\0\x01wxyzabcd", &[516]),
    ("Connect with bit 04", b"\x14\0\0\x01\0\0\0\0abcd", &[515, 516]),
    (
        "Connect with bit 08",
        b"\x18\0\0\x01\0\0\0\0abcd",
        &[515, 516, 520],
    ),
    (
        "Connect behind a token",
        b"\x18\0\0abcd\x01\0\0\0\0efgh",
        &[8, 16, 520],
    ),
    ("Connect with resend", b"\x50\0\0\x01\0\0\0\0abcd", &[516]),
    (
        "Connect marked as compressed",
        b"\x90\0\0\x01\0\0\0\0abcd",
        &[516],
    ),
    ("Connect with a count", b"\x10\0\x01\x01\0\0\0\0abcd", &[516]),
    ("Connect with an ack", b"\x11\x05\0\x01\0\0\0\0abcd", &[516]),
    ("cut token", b"\x18\0\0ab", &[5, 6, 7]),
    ("control", b"\x10\0\0", &[3]),
    ("Keepalive", b"\x18\0\0abcd\0", &[8]),
    ("data", b"\x08\0\x01abcd\x40\x01\x01\x1d", &[11]),
];

/// Datagrams of 0.7.
const OF_SEVEN: &[Row] = &[
    ("control", b"\x04\0\0", &[3, 6]),
    (
        "Token without a token in its header",
        b"\x04\0\0\x05abcd",
        &[12, 516, 520],
    ),
    (
        "Token with its flag not shifted",
        b"\x01\0\0\xff\xff\xff\xff\x05abcd",
        &[520],
    ),
    ("Token with flag 80", b"\x80\0\0\xff\xff\xff\xff\x05abcd", &[520]),
    (
        "Token with the id of a message",
        b"\x04\0\0\xff\xff\xff\xff\x0babcd",
        &[520],
    ),
    ("control behind a token", b"\x04\0\0\xff\xff\xff\xff", &[7]),
    (
        "Token",
        b"\x04\0\0\xff\xff\xff\xff\x05abcd",
        &[
            8, 11, 12, 13, 300, 515, 518, 519, 520, 521, 1390, 1398, 1399, 1400, 1401,
        ],
    ),
    ("Token with a token", b"\x04\0\0wxyz\x05abcd", &[12, 520]),
    ("Token with token 0", b"\x04\0\0\0\0\0\0\x05abcd", &[520]),
    ("Token with bits c0", b"\xc4\0\0\xff\xff\xff\xff\x05abcd", &[520]),
    ("Token with resend", b"\x0c\0\0\xff\xff\xff\xff\x05abcd", &[520]),
    (
        "Token marked as compressed",
        b"\x14\0\0\xff\xff\xff\xff\x05abcd",
        &[520],
    ),
    (
        "Token with a count",
        b"\x04\0\x01\xff\xff\xff\xff\x05abcd",
        &[520],
    ),
    ("Token with an ack", b"\x05\x05\0\xff\xff\xff\xff\x05abcd", &[520]),
    ("Token as data", b"\0\0\x01\xff\xff\xff\xff\x05abcd", &[520]),
    (
        "Token with the flag of 0.6",
        b"\x10\0\0\xff\xff\xff\xff\x05abcd",
        &[520],
    ),
    ("Connect", b"\x04\0\0\xff\xff\xff\xff\x01abcd", &[8, 11, 12, 520]),
    (
        "Connect with a token",
        b"\x04\0\0wxyz\x01abcd",
        &[8, 12, 519, 520],
    ),
    ("Keepalive", b"\x04\0\0\xff\xff\xff\xff\0", &[8, 520]),
    ("Accept", b"\x04\0\0\xff\xff\xff\xff\x02", &[8, 12]),
    ("Close", b"\x04\0\0\xff\xff\xff\xff\x04bye\0", &[12]),
    ("control 6", b"\x04\0\0\xff\xff\xff\xff\x06", &[8, 520]),
    ("data", b"\0\0\x01\xff\xff\xff\xff\x40\x01\x01\x1d", &[11]),
];

/// First datagrams that a client repeats without ever sending a valid one: the kind of server, the name, the first
/// bytes, the length.
const ALONE: &[(Target, &str, &[u8], usize)] = &[
    (
        Target::Seven,
        "Token with the flag of 0.6",
        b"\x10\0\0\xff\xff\xff\xff\x05abcd",
        520,
    ),
    (
        Target::Seven,
        "Token with its flag not shifted",
        b"\x01\0\0\xff\xff\xff\xff\x05abcd",
        520,
    ),
    (
        Target::Seven,
        "Token with flag 80",
        b"\x80\0\0\xff\xff\xff\xff\x05abcd",
        520,
    ),
    (
        Target::Seven,
        "Token without a token in its header",
        b"\x04\0\0\x05abcd",
        516,
    ),
    (
        Target::Seven,
        "Token with the id as a packed int",
        b"\x04\0\0\xff\xff\xff\xff\x0babcd",
        520,
    ),
    (Target::Seven, "Connect of 0.6", b"\x10\0\0\x01", 4),
    (
        Target::Seven,
        "Connect of DDNet",
        b"\x10\0\0\x01TKEN\xff\xff\xff\xff",
        12,
    ),
    (
        Target::Seven,
        "Connect of 0.6.5",
        b"\x10\0\0\x01\0\0\0\0abcd",
        516,
    ),
    (
        Target::Ddnet,
        "Connect with flag 04",
        b"\x14\0\0\x01TKEN\xff\xff\xff\xff",
        12,
    ),
    (
        Target::Header,
        "Token of 0.7",
        b"\x04\0\0\xff\xff\xff\xff\x05abcd",
        520,
    ),
    (
        Target::Old,
        "Token of 0.7",
        b"\x04\0\0\xff\xff\xff\xff\x05abcd",
        520,
    ),
];

/// Returns the cells of a kind of client: the first datagrams of its protocol, and of other protocols that its server
/// may confuse with it.
pub(crate) fn cells(target: Target) -> Vec<Cell> {
    let of = |kind: &'static str, rows: &'static [Row]| {
        let sized = rows
            .iter()
            .flat_map(|(name, start, lens)| lens.iter().map(move |len| (*name, *start, *len)));
        sized.map(move |(name, start, len)| {
            let first = [Step::Bytes(start, len), Step::Pause(700)];
            let steps = first.into_iter().chain(target.join()).collect();
            Cell::new(target, &format!("first {kind}{name} of {len} bytes"), steps).lasting(5)
        })
    };
    if target == Target::OldOnAntispoof {
        // The server of this kind of client is scripted.
        return Vec::new();
    }
    let alone = ALONE.iter().filter(|(of, ..)| *of == target);
    let alone = alone.map(|(_, name, start, len)| {
        let steps = [Step::Bytes(start, *len), Step::Pause(500)].repeat(4);
        Cell::new(target, &format!("nothing but {name}"), steps)
    });
    let own: Vec<Cell> = match target.variant() {
        Variant::V7 | Variant::D7 => of("", OF_SEVEN).collect(),
        Variant::V65 => of("", OF_HEADER).collect(),
        Variant::Ddnet => of("", OF_DDNET).collect(),
        Variant::V6 => of("", PLAIN).collect(),
    };
    let foreign: Vec<Cell> = match target {
        Target::Seven => of("plain ", PLAIN)
            .chain(of("ddnet ", OF_DDNET))
            .chain(of("0.6.5 ", OF_HEADER))
            .collect(),
        Target::OldOnDdnet => of("0.6.5 ", OF_HEADER).collect(),
        Target::Old => of("0.7 ", OF_SEVEN).collect(),
        _ => Vec::new(),
    };
    own.into_iter().chain(foreign).chain(alone).collect()
}
