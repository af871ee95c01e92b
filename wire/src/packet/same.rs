//! Generated datagrams as packets, connless datagrams and first datagrams, for each protocol: everything that is read from
//! them and written for them must be the same as before, see [`Groups`].

use super::*;
use crate::message::identify;
use teetap_repeatable::Groups;

use crate::testing::Dice;
use crate::{
    Connless, OpensNothing, Trailing, connless, detect, huffman, printable, printable_json, varint,
    write_chunk, write_v7,
};

/// Number of datagrams of each protocol.
const DATAGRAMS: usize = 800;
/// Number of first datagrams.
const FIRSTS: usize = 3000;
/// Number of inputs of compression, of ints and of printed text.
const SMALL: usize = 600;

const TOKENS: [Token; 5] = [
    Token([1, 2, 3, 4]),
    Token([0xe5, 0x01, 0x77, 0x3a]),
    Token([0; 4]),
    Token::NONE,
    Token(*b"TKEN"),
];
const USUAL: [Trailing; 2] = [Trailing::Always, Trailing::WhenPartial];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn len(dice: &mut Dice, below: usize) -> usize {
    usize::try_from(dice.below(below.max(1) as u64)).unwrap()
}

fn noted(notes: &Notes) -> Vec<(&'static str, usize, usize)> {
    notes
        .iter()
        .map(|note| (note.code.name(), note.at, note.len))
        .collect()
}

/// Returns bytes that compress well, badly or not at all.
fn bytes(dice: &mut Dice, most: usize) -> Vec<u8> {
    let kind = dice.below(3);
    let count = len(dice, most);
    let mut byte = |_| match kind {
        0 => 0,
        1 => dice.byte() & 0x0f,
        _ => dice.byte(),
    };
    (0..count).map(&mut byte).collect()
}

fn control_payload(dice: &mut Dice, proto: Proto) -> Vec<u8> {
    let (mut out, token) = (Vec::new(), *dice.pick(&TOKENS));
    match dice.below(9) {
        0 => control::keepalive(&mut out),
        1 => control::connect(proto, token, &mut out),
        2 => control::connect_accept(proto, token, &mut out),
        3 => control::accept(&mut out),
        4 => control::close(&bytes(dice, 40), &mut out),
        5 => control::token_reply(token, &mut out),
        6 => control::token_request(token, &mut out),
        7 => control::close(b"text", &mut out),
        _ => {
            out.push(dice.byte());
            out.extend(bytes(dice, 12));
        }
    }
    if dice.below(6) == 0 {
        out.truncate(len(dice, out.len()));
    }
    if dice.below(10) == 0 {
        out.extend(*dice.pick(&[&b"TKEN"[..], b"tken", &[0; 3]]));
    }
    out
}

fn chunk_payload(dice: &mut Dice, proto: Proto) -> (Vec<u8>, u8) {
    let (mut out, count) = (Vec::new(), *dice.pick(&[0u8, 1, 1, 2, 3, 5]));
    for _ in 0..count {
        let seq =
            Some(Seq::new(*dice.pick(&[0, 1, 63, 64, 255, 256, 512, 1023]))).filter(|_| dice.below(3) > 0);
        let most = *dice.pick(&[1, 8, 70, 300]);
        let data = bytes(dice, most);
        let _too_large = write_chunk(proto, seq, dice.below(4) == 0, &data, &mut out);
    }
    match dice.below(8) {
        0 => out.extend(bytes(dice, 9)),
        1 => out.truncate(len(dice, out.len())),
        _ => {}
    }
    let announced = match dice.below(10) {
        0 => count + 1,
        1 => count.saturating_sub(1),
        2 => dice.byte(),
        _ => count,
    };
    (out, announced)
}

/// Returns a datagram of a connection. Some have a changed byte, another length or surplus bytes.
fn datagram(dice: &mut Dice, proto: Proto) -> Vec<u8> {
    let is_control = dice.below(4) == 0;
    let (payload, num_chunks) = match is_control {
        true => (control_payload(dice, proto), 0),
        false => chunk_payload(dice, proto),
    };
    let mut flags = Flags::empty();
    flags.set(Flags::CONTROL, is_control);
    flags.set(Flags::RESEND, dice.below(4) == 0);
    let header = Header {
        flags,
        ack: Seq::new(*dice.pick(&[0, 1, 255, 256, 700, 1023])),
        num_chunks,
        token: Some(*dice.pick(&TOKENS)).filter(|_| dice.below(4) > 0),
    };
    let form = *dice.pick(&[None, Some(Trailing::Always), Some(Trailing::WhenPartial)]);
    let mut out = Vec::new();
    write(proto, &header, &payload, form, &mut out);
    if !out.is_empty() {
        disturb(dice, &mut out);
    }
    out
}

fn disturb(dice: &mut Dice, out: &mut Vec<u8>) {
    let at = len(dice, out.len());
    match dice.below(16) {
        0 => out[0] ^= 1 << dice.below(8),
        1 | 2 => out[at] = dice.byte(),
        3 => out.truncate(at),
        4 => out.extend(bytes(dice, 5)),
        5 => out.resize(*dice.pick(&[1394, 1397, 1400, 1401, 1450]), 0x11),
        6 => out.insert(at, dice.byte()),
        _ => {}
    }
}

fn chunks(groups: &mut Groups, mut chunks: Chunks<'_>) {
    for chunk in chunks.by_ref() {
        let id = identify(chunk.data);
        groups.line(format_args!(
            "{:?} {} {} {id:?}",
            chunk.header,
            chunk.at,
            hex(chunk.data)
        ));
    }
    groups.line(format_args!(
        "{} {} {:?}",
        chunks.missing(),
        hex(chunks.rest()),
        noted(&chunks.notes())
    ));
}

fn packet(groups: &mut Groups, dice: &mut Dice, packet: &Packet<'_>, datagram: &[u8]) {
    let Packet {
        header,
        payload,
        is_cut,
        inflated,
        end,
        ..
    } = packet;
    groups.line(format_args!(
        "{header:?} {} {is_cut} {inflated:?} {end:?} {:?}",
        hex(payload),
        noted(&packet.notes)
    ));
    groups.line(format_args!(
        "{:?} {:?}",
        noted(&packet.chunk_notes()),
        packet.control().map(|control| (control.name(), control))
    ));
    chunks(groups, packet.chunks());
    chunks(groups, packet.chunks_of_control());
    let mut out = Vec::new();
    let with = Rewrite {
        token: Some(*dice.pick(&TOKENS)).filter(|_| dice.below(4) > 0),
        ack: Seq::new(*dice.pick(&[0, 255, 256, 1023])),
        resend: dice.below(2) == 0,
        usual: *dice.pick(&USUAL),
    };
    rewrite(packet, datagram, with, &mut out);
    groups.line(format_args!("{}", hex(&out)));
}

#[test]
fn packets_are_read_and_rewritten_as_before() {
    let mut groups = Groups::default();
    for proto in Proto::ALL {
        let mut dice = Dice(0x1000_0001);
        for number in 0..DATAGRAMS {
            if number % 100 == 0 {
                groups.group(format!("{proto} {number} to {}", number + 99));
            }
            let dice = &mut dice;
            // Some packets have the form of another protocol.
            let of = if dice.below(10) == 0 {
                *dice.pick(&Proto::ALL[..])
            } else {
                proto
            };
            let datagram = datagram(dice, of);
            groups.line(format_args!("{}", hex(&datagram)));
            let view = HeaderView::new(proto, &datagram);
            groups.line(format_args!(
                "{} {} {} {:?} {:?} {:?} {:?}",
                view.len(),
                view.present(),
                view.first(),
                view.flags(),
                view.ack(),
                view.num_chunks(),
                view.token()
            ));
            let (fields, bits): (Vec<_>, Vec<_>) = (view.fields().collect(), view.bits().collect());
            groups.line(format_args!("{fields:?} {bits:?}"));
            let known = Some(*dice.pick(&TOKENS)).filter(|_| dice.below(2) == 0);
            groups.line(format_args!("{}", written_form(proto, &datagram, known)));
            let (mut scratch, mut other) = (Scratch::new(), Scratch::new());
            match Packet::parse(proto, &datagram, &mut scratch) {
                Ok(whole) => packet(&mut groups, dice, &whole, &datagram),
                Err(error) => groups.line(format_args!("{error} {}", error.code().name())),
            }
            let is_enough = dice.below(4) > 0;
            let skimmed = Packet::skim(proto, &datagram, known, &mut other, |seq, start| {
                is_enough && (seq.is_none() || start.len() > 1)
            });
            match skimmed {
                Ok(start) => packet(&mut groups, dice, &start, &datagram),
                Err(error) => groups.line(format_args!("{error}")),
            }
        }
    }
    insta::assert_snapshot!(groups.table("packets"));
}

/// Returns a handshake, or a first datagram of another kind, with one of the usual mistakes.
fn first(dice: &mut Dice) -> Vec<u8> {
    let proto = *dice.pick(&Proto::ALL[..]);
    let mut out = match dice.below(4) {
        0 => datagram(dice, proto),
        1 => {
            let (mut out, token) = (Vec::new(), *dice.pick(&TOKENS));
            match dice.below(3) {
                0 => write_v7(token, *dice.pick(&TOKENS), b"\xff\xff\xff\xffgie3", &mut out),
                1 => out.extend(
                    [
                        &[0xff; 10][..],
                        *dice.pick(&[&b"gie3"[..], b"inf3", b"iext", b"xxxx", b"hb01"]),
                    ]
                    .concat(),
                ),
                _ => out.extend([&b"xe"[..], &[1, 2, 3, 4], &[0xff; 4], b"gie3", &[7]].concat()),
            }
            out
        }
        _ => {
            let (mut payload, token) = (Vec::new(), *dice.pick(&TOKENS));
            match dice.below(3) {
                0 => control::token_request(token, &mut payload),
                _ => control::connect(proto, token, &mut payload),
            }
            if dice.below(4) == 0 {
                payload[0] = *dice.pick(&[2, 3, 10, 11, 0x41, 0]);
            }
            let header = [0x04, 0x10, 0x14, 0x18, 0x01, 0x00, 0x90, 0x40];
            let mut out = vec![
                *dice.pick(&header),
                *dice.pick(&[0, 0, 0, 1]),
                *dice.pick(&[0, 0, 0, 1]),
            ];
            if dice.below(2) == 0 {
                out.extend(dice.pick(&TOKENS).0);
            }
            match dice.below(6) {
                0 => huffman::compress(&payload, *dice.pick(&USUAL), &mut out),
                _ => out.extend(payload),
            }
            out
        }
    };
    match dice.below(8) {
        0 if !out.is_empty() => drop(out.remove(len(dice, out.len().min(9)))),
        1 => out.insert(len(dice, out.len().min(9)), 0),
        2 => out.truncate(len(dice, 14)),
        3 => out.truncate(*dice.pick(&[12, 515, 516, 518, 519, 520])),
        4 => out.resize(*dice.pick(&[12, 515, 516, 518, 519, 520, 1400]), 0),
        5 if !out.is_empty() => disturb(dice, &mut out),
        _ => {}
    }
    out
}

#[test]
fn first_datagrams_are_classified_as_before() {
    let (mut groups, mut dice) = (Groups::default(), Dice(0x2000_0003));
    for number in 0..FIRSTS {
        if number % 100 == 0 {
            groups.group(format!("{number} to {}", number + 99));
        }
        let datagram = first(&mut dice);
        let kind = OpensNothing::classify(&datagram);
        groups.line(format_args!("{} {:?}", hex(&datagram), detect(&datagram)));
        let (start, is_malformed, is_mistake) =
            (hex(kind.start(&datagram)), kind.is_malformed(), kind.is_mistake());
        groups.line(format_args!(
            "{} {} {start} {is_malformed} {is_mistake}",
            kind.name(),
            kind.text()
        ));
        let found = Connless::parse(&datagram);
        let named = found.map(|found| (connless::name(found.data()), connless::tag(found.data())));
        groups.line(format_args!("{} {found:?} {named:?}", is_connless(&datagram)));
    }
    insta::assert_snapshot!(groups.table("firsts"));
}

#[test]
fn compressed_bytes_ints_and_texts_are_as_before() {
    let (mut groups, mut dice) = (Groups::default(), Dice(0x3000_0005));
    groups.group("compression");
    for _ in 0..SMALL {
        let most = *dice.pick(&[4, 40, 300]);
        let clear = bytes(&mut dice, most);
        let mut packed = Vec::new();
        huffman::compress(&clear, *dice.pick(&USUAL), &mut packed);
        groups.line(format_args!("{} {}", hex(&clear), hex(&packed)));
        match dice.below(3) {
            0 if !packed.is_empty() => {
                let at = len(&mut dice, packed.len());
                packed[at] = dice.byte();
            }
            1 => packed.truncate(len(&mut dice, packed.len())),
            _ => {}
        }
        let mut room = vec![0; *dice.pick(&[0, 5, 39, 400])];
        let inflated = huffman::decompress(&packed, &mut room);
        groups.line(format_args!("{inflated:?} {}", hex(&room)));
    }
    groups.group("ints");
    for _ in 0..SMALL {
        let mut packed = Vec::new();
        varint::encode(dice.int().wrapping_shl(u32::from(dice.byte()) % 32), &mut packed);
        if dice.below(3) == 0 {
            packed = (0..6).map(|_| dice.byte() | 0x80 & dice.byte()).collect();
        }
        packed.truncate(*dice.pick(&[6, 6, 1, 0]));
        groups.line(format_args!(
            "{} {:?} {:?}",
            hex(&packed),
            varint::decode(&packed),
            identify(&packed)
        ));
    }
    groups.group("texts");
    let marks = [
        'a',
        ' ',
        '"',
        '\\',
        '\n',
        '\0',
        '\u{1b}',
        '\u{7f}',
        '\u{85}',
        'é',
        '\u{202e}',
        '\u{200b}',
        '\u{feff}',
        '😀',
        '\u{e0041}',
    ];
    for _ in 0..SMALL {
        let mut text: Vec<u8> = (0..dice.below(9))
            .map(|_| *dice.pick(&marks))
            .collect::<String>()
            .into();
        groups.line(format_args!(
            "{}",
            printable_json(&String::from_utf8_lossy(&text))
        ));
        if dice.below(3) == 0 {
            text.push(dice.byte());
        }
        groups.line(format_args!(
            "{} {}",
            printable(&text),
            crate::is_safe(&String::from_utf8_lossy(&text))
        ));
    }
    insta::assert_snapshot!(groups.table("small"));
}
