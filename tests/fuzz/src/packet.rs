//! Arbitrary bytes as a datagram of a connection.

use teetap_kit::codec;
use teetap_wire::{
    Control, Flags, Header, MAX_COMPOSED_PAYLOAD, MAX_DATAGRAM, Packet, Proto, Rewrite, Scratch, Seq, Token,
    Trailing, detect, is_connless, printable, rewrite, write,
};

use crate::input::{Input, variant_of};

/// Maximum decompressed bytes that any receiver can hold.
const MAX_CLEAR: usize = 1397;

/// Parses, rewrites and writes one datagram.
pub fn packet(data: &[u8]) {
    let mut input = Input::new(data);
    let proto = input.proto();
    let choice = input.byte();
    let with = Rewrite {
        token: (choice & 1 != 0).then_some(Token(input.token())),
        ack: Seq::new(input.word() % 1024),
        resend: choice & 2 != 0,
        usual: trailing(choice & 4 != 0),
    };
    let datagram = input.rest();
    let _first = detect(datagram);
    let mut scratch = Scratch::new();
    let read = Packet::parse(proto, datagram, &mut scratch);
    agrees(proto, datagram, read.as_ref().ok());
    let Ok(packet) = read else {
        return;
    };
    let tail = if proto == Proto::Ddnet {
        packet.header.token.map_or(0, |_| 4)
    } else {
        0
    };
    let clear = packet.payload.len() + tail;
    assert!(clear <= MAX_CLEAR, "{clear} clear bytes");
    if let Some(Control::Close { reason: Some(reason) }) = packet.control() {
        assert!(!printable(reason).contains(|c: char| c.is_control()));
    }
    assert!(packet.chunks().count() <= usize::from(packet.header.num_chunks));
    rewritten(&packet, datagram, with);
    written(&packet, choice);
}

fn trailing(always: bool) -> Trailing {
    if always {
        Trailing::Always
    } else {
        Trailing::WhenPartial
    }
}

/// Checks that the second codec parses the same packet.
fn agrees(proto: Proto, datagram: &[u8], packet: Option<&Packet<'_>>) {
    if is_connless(datagram) {
        assert!(packet.is_none(), "a packet out of a connless datagram");
        return;
    }
    let Ok(opened) = codec::open(variant_of(proto), datagram) else {
        return;
    };
    let Some(packet) = packet else {
        // The second codec's decompressor continues with zeros after the end of the input, like older receivers.
        assert!(opened.head.flags.compressed, "only the second codec reads it");
        return;
    };
    let (theirs, ours) = (opened.head, packet.header);
    let flags = [
        (theirs.flags.control, Flags::CONTROL),
        (theirs.flags.resend, Flags::RESEND),
        (theirs.flags.compressed, Flags::COMPRESSION),
    ];
    assert!(flags.iter().all(|(set, flag)| *set == ours.flags.contains(*flag)));
    assert_eq!(theirs.ack & 0x3ff, ours.ack.get());
    assert_eq!(theirs.num_chunks, ours.num_chunks);
    assert_eq!(theirs.token, ours.token.map(|token| token.0));
    assert_eq!(&*opened.payload, packet.payload);
}

/// Checks that rewriting changes only the requested fields.
fn rewritten(packet: &Packet<'_>, datagram: &[u8], with: Rewrite) {
    let old = packet.header;
    let (mut out, mut scratch) = (Vec::new(), Scratch::new());
    rewrite(packet, datagram, with, &mut out);
    assert!(out.len() <= MAX_DATAGRAM, "{} bytes", out.len());
    let again = Packet::parse(packet.proto, &out, &mut scratch);
    let again = again.unwrap_or_else(|error| unreachable!("a rewritten packet is none: {error}"));
    assert_eq!(again.payload, packet.payload);
    let new = again.header;
    let token = old.token.map(|token| with.token.unwrap_or(token));
    assert_eq!(
        (new.ack, new.num_chunks, new.token),
        (with.ack, old.num_chunks, token)
    );
    assert_eq!(new.flags.contains(Flags::RESEND), with.resend);
    assert_eq!(
        new.flags.contains(Flags::CONTROL),
        old.flags.contains(Flags::CONTROL)
    );
    assert!(!new.flags.contains(Flags::COMPRESSION) || old.flags.contains(Flags::COMPRESSION));
    let same = Rewrite {
        token: old.token,
        ack: old.ack,
        resend: old.flags.contains(Flags::RESEND),
        ..with
    };
    rewrite(packet, datagram, same, &mut out);
    let seen = datagram.get(..MAX_DATAGRAM).unwrap_or(datagram);
    assert_eq!(out, seen, "changed by being rewritten to what it was");
}

/// Checks that a written packet parses to the parts that it was written from.
fn written(packet: &Packet<'_>, choice: u8) {
    let limit = MAX_COMPOSED_PAYLOAD.min(packet.payload.len());
    let payload = &packet.payload[..limit];
    let header = Header {
        flags: packet.header.flags,
        ..packet.header
    };
    let compress = (choice & 8 != 0).then_some(trailing(choice & 16 != 0));
    let (mut out, mut scratch) = (Vec::new(), Scratch::new());
    write(packet.proto, &header, payload, compress, &mut out);
    assert!(out.len() <= MAX_DATAGRAM);
    // DDNet's variant requires a token: without one, a parser would read the last bytes of the payload as the token.
    if packet.proto == Proto::Ddnet && header.token.is_none() {
        return;
    }
    let again = Packet::parse(packet.proto, &out, &mut scratch);
    let again = again.unwrap_or_else(|error| unreachable!("a written packet is none: {error}"));
    assert_eq!(again.payload, payload);
    assert_eq!(
        (again.header.ack, again.header.num_chunks),
        (header.ack, header.num_chunks)
    );
    assert_eq!(again.header.token, header.token);
    if let Some(inflated) = again.inflated {
        assert_eq!(inflated.surplus, 0, "surplus in what was written");
    }
}
