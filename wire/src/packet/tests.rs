use super::*;
use crate::huffman::Trailing;
use crate::testing::hex;
use crate::{Seq, control, detect};

fn token(text: &str) -> Token {
    Token(hex(text).try_into().unwrap())
}

fn parsed<T>(proto: Proto, datagram: &[u8], look: impl FnOnce(&Packet<'_>) -> T) -> T {
    let mut scratch = Scratch::new();
    look(&Packet::parse(proto, datagram, &mut scratch).unwrap())
}

/// Rewrites a datagram with a token, an ack and a resend flag.
fn rewritten(datagram: &[u8], proto: Proto, token: Option<Token>, ack: u16, resend: bool) -> Vec<u8> {
    let (ack, usual, mut out) = (Seq::new(ack), Trailing::Always, Vec::new());
    let change = Rewrite {
        token,
        ack,
        resend,
        usual,
    };
    parsed(proto, datagram, |packet| {
        rewrite(packet, datagram, change, &mut out)
    });
    out
}

/// Returns the header of an uncompressed packet with one chunk.
fn header(ack: u16, own: &str) -> Header {
    Header {
        flags: Flags::empty(),
        ack: Seq::new(ack),
        num_chunks: 1,
        token: Some(token(own)),
    }
}

fn written(proto: Proto, header: &Header, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    write(proto, header, payload, Some(Trailing::Always), &mut out);
    out
}

fn error(proto: Proto, datagram: &[u8]) -> PacketError {
    Packet::parse(proto, datagram, &mut Scratch::new()).unwrap_err()
}

fn notes(proto: Proto, datagram: &[u8]) -> Vec<(&'static str, usize, usize)> {
    parsed(proto, datagram, |packet| {
        packet
            .notes
            .iter()
            .map(|note| (note.code.name(), note.at, note.len))
            .collect()
    })
}

/// The handshakes and first packets of live sessions: variant, bytes, flag, ack, chunks, token, payload.
const LIVE: &str = "
0.6    10000001                  control   0  0  -         01
0.6    10000002                  control   0  0  -         02
0.6    0001014001021d            -         1  1  -         4001021d
0.6.5  1800004a448261021673ee88  control   0  0  4a448261  021673ee88
0.6.5  0800011673ee8841070103    -         0  1  1673ee88  41070103
0.6.5  18aa001673ee8800          control 170  0  1673ee88  00
0.6.5  48aa001673ee88            resend  170  0  1673ee88  -
ddnet  10000001544b454effffffff  control   0  0  ffffffff  01544b454e
ddnet  10000002544b454eeb070dfa  control   0  0  eb070dfa  02544b454e
ddnet  10000003eb070dfa          control   0  0  eb070dfa  03
ddnet  10aa0000eb070dfa          control 170  0  eb070dfa  00
0.7    0400002405cdfd05923af36c  control   0  0  2405cdfd  05923af36c
0.7    0400002405cdfd02          control   0  0  2405cdfd  02
0.7    05ff00923af36c00          control 511  0  923af36c  00
0.7    0803002405cdfd            resend    3  0  2405cdfd  -
";

fn live() -> impl Iterator<Item = (Proto, Vec<u8>, Header, Vec<u8>)> {
    LIVE.trim().lines().map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let [proto, bytes, flags, ack, num_chunks, own, payload] = columns[..] else {
            panic!("{line}")
        };
        let header = Header {
            flags: match flags {
                "control" => Flags::CONTROL,
                "resend" => Flags::RESEND,
                _ => Flags::empty(),
            },
            ack: Seq::new(ack.parse().unwrap()),
            num_chunks: num_chunks.parse().unwrap(),
            token: (own != "-").then(|| token(own)),
        };
        (
            proto.parse().unwrap(),
            hex(bytes),
            header,
            hex(payload.trim_start_matches('-')),
        )
    })
}

#[test]
fn live_packets_both_ways() {
    for (proto, bytes, header, payload) in live() {
        parsed(proto, &bytes, |packet| {
            assert_eq!(
                (packet.header, packet.payload),
                (header, &payload[..]),
                "{proto} {bytes:02x?}"
            );
            assert!(
                packet.notes.is_empty(),
                "{proto} {bytes:02x?}: {:?}",
                packet.notes
            );
            assert_eq!(packet.control().is_some(), header.flags.contains(Flags::CONTROL));
        });
        for compress in [None, Some(Trailing::Always)] {
            let mut out = vec![1, 2, 3];
            write(proto, &header, &payload, compress, &mut out);
            assert_eq!(out, bytes);
        }
    }
}

#[test]
fn padded_handshake_datagrams_have_their_lengths() {
    let own = token("2405cdfd");
    let build = |proto, token, fill: &dyn Fn(&mut Vec<u8>)| {
        let (mut payload, mut out) = (Vec::new(), Vec::new());
        fill(&mut payload);
        write(
            proto,
            &Header {
                flags: Flags::CONTROL,
                ack: Seq::ZERO,
                num_chunks: 0,
                token,
            },
            &payload,
            None,
            &mut out,
        );
        out
    };
    let request = build(Proto::V7, None, &|out| control::token_request(own, out));
    assert_eq!(
        (request.len(), &request[..12]),
        (520, &hex("040000ffffffff052405cdfd")[..])
    );
    let expected = detect::First::TokenRequest {
        token: own,
        header_token: Token::NONE,
        padded: true,
    };
    assert_eq!(detect::detect(&request), expected);
    let connect = build(Proto::V7, Some(token("923af36c")), &|out| {
        control::connect(Proto::V7, own, out)
    });
    assert_eq!(
        (connect.len(), &connect[..12]),
        (520, &hex("040000923af36c012405cdfd")[..])
    );
    let connect = build(Proto::V65, None, &|out| control::connect(Proto::V65, own, out));
    assert_eq!(
        (connect.len(), &connect[..12]),
        (516, &hex("10000001000000002405cdfd")[..])
    );
    let connect = build(Proto::Ddnet, Some(Token::NONE), &|out| {
        control::connect(Proto::Ddnet, own, out)
    });
    assert_eq!(connect, hex("10000001544b454effffffff"));
}

#[test]
fn errors_name_the_missing_bytes() {
    let short = |need, have| PacketError::TooShort { need, have };
    for proto in Proto::ALL {
        assert_eq!(error(proto, &[]), short(3, 0));
        assert_eq!(error(proto, &[0xff, 0xff]), short(3, 2));
        assert_eq!(error(proto, &[0xff; 20]), PacketError::Connless);
    }
    assert_eq!(error(Proto::V7, &[0x04, 0, 0, 1, 2, 3]), short(7, 6));
    assert_eq!(error(Proto::V65, &[0x08, 0, 0, 1, 2, 3]), short(7, 6));
    assert_eq!(
        error(Proto::V6, &hex("800001 8a")),
        PacketError::Huffman(HuffmanError::EndOfInput)
    );
    let many_zeros = [&hex("800001")[..], &[0xff; 1397]].concat();
    assert_eq!(
        error(Proto::V6, &many_zeros),
        PacketError::Huffman(HuffmanError::OutputFull)
    );
}

#[test]
fn what_some_receivers_drop_is_noted() {
    assert_eq!(notes(Proto::V6, &hex("000000")), [("empty-without-resend", 0, 3)]);
    assert_eq!(notes(Proto::V6, &hex("100000")), [("control-empty", 0, 0)]);
    assert_eq!(
        notes(Proto::V6, &hex("10000105")),
        [("control-with-chunks", 2, 1), ("unknown-control", 0, 1)]
    );
    assert_eq!(notes(Proto::V6, &hex("0c0001000100")), [("unknown-flags", 0, 1)]);
    assert_eq!(
        notes(Proto::V65, &hex("0c0001aabbccdd000100")),
        [("unknown-flags", 0, 1)]
    );
    assert_eq!(
        notes(Proto::V7, &hex("c40000aabbccdd00")),
        [("unknown-flags", 0, 1)]
    );
    assert_eq!(
        notes(Proto::Ddnet, &hex("000001aabbcc")),
        [("missing-token", 3, 0)]
    );
    // Compressed keepalive with three bytes too many: 01 bits, then EOF, then `00 aa bb cc`.
    let odd = hex("900000 1537 00 aabbcc");
    assert_eq!(
        notes(Proto::V6, &odd),
        [("huffman-surplus", 6, 3), ("control-compressed", 0, 1)]
    );
    parsed(Proto::V6, &odd, |packet| {
        assert_eq!(packet.control(), Some(Control::KeepAlive))
    });
}

#[test]
fn only_what_receivers_see_is_read() {
    let datagram = [&hex("000001")[..], &[0; 1500]].concat();
    for (proto, payload) in [(Proto::V6, 1397), (Proto::Ddnet, 1393)] {
        parsed(proto, &datagram, |packet| {
            assert_eq!(packet.payload.len(), payload)
        });
    }
    let found = notes(Proto::V6, &datagram);
    assert_eq!(found, [("oversized", 1400, 103), ("payload-oversized", 1394, 3)]);
    assert_eq!(rewritten(&datagram, Proto::V6, None, 0, false), datagram[..1400]);
}

#[test]
fn control_packets_have_no_chunks() {
    parsed(Proto::V6, &hex("10000100010203"), |packet| {
        assert_eq!(packet.chunks().count(), 0)
    });
    parsed(Proto::V6, &hex("000001000102"), |packet| {
        assert_eq!(packet.chunks().count(), 1);
        assert_eq!(packet.control(), None);
    });
}

#[test]
fn rewritten_ddnet_stream_grows_into_the_clear_form() {
    let payload = hex("0006 00000000 0000");
    let (cheap, dear) = (header(5, "00000000"), token("77777777"));
    let datagram = written(Proto::Ddnet, &cheap, &payload);
    assert_eq!(datagram[0], 0x80);
    let out = rewritten(&datagram, Proto::Ddnet, Some(dear), 0x3ff, true);
    assert_eq!(out, [&hex("43ff01")[..], &payload, &dear.0].concat());
    let out = rewritten(&out, Proto::Ddnet, cheap.token, 0, false);
    assert_eq!(out, [&hex("000001")[..], &payload, &[0; 4]].concat());
}

/// A stream whose bits end on a byte boundary shows how its sender ends streams. The new token has the same bytes in
/// another order, so that the rewritten stream ends on a byte boundary, too.
#[test]
fn a_rewritten_stream_ends_as_its_bytes_show_or_as_usual() {
    use Trailing::{Always, WhenPartial};
    let (own, new) = (token("01020304"), token("04030201"));
    let mut shown = 0;
    for len in 0..200 {
        let payload: Vec<u8> = (0..len).map(|at| [0, 0x40, 7][at % 3]).collect();
        for form in [Always, WhenPartial] {
            let write_with = |token, form| {
                let (mut out, header) = (Vec::new(), header(5, "00000000"));
                let header = Header {
                    token: Some(token),
                    ..header
                };
                write(Proto::Ddnet, &header, &payload, Some(form), &mut out);
                out
            };
            let datagram = write_with(own, form);
            let Some(inflated) = parsed(Proto::Ddnet, &datagram, |packet| packet.inflated) else {
                continue;
            };
            shown += usize::from(inflated.trailing.is_some());
            for usual in [Always, WhenPartial] {
                let change = Rewrite {
                    token: Some(new),
                    ack: Seq::new(5),
                    resend: false,
                    usual,
                };
                let mut out = Vec::new();
                parsed(Proto::Ddnet, &datagram, |packet| {
                    rewrite(packet, &datagram, change, &mut out)
                });
                let expected = write_with(new, inflated.trailing.unwrap_or(usual));
                assert_eq!(out, expected, "{len} bytes, {form:?}, usually {usual:?}");
            }
        }
    }
    assert!(shown > 20, "{shown} streams end on a byte boundary");
}

#[test]
fn rewrite_keeps_ignored_bytes() {
    let new = Some(token("01020304"));
    // Unknown header bits, a wrong chunk count, bytes after the chunks.
    let odd = hex("c50009 923af36c 00");
    assert_eq!(
        rewritten(&odd, Proto::V7, new, 2, true),
        hex("cc0209 01020304 00")
    );
    // A packet without a token gets none.
    let bare = hex("040001 000100");
    assert_eq!(rewritten(&bare, Proto::V65, new, 1, false), hex("040101 000100"));
    let short = hex("000001 aabbcc");
    assert_eq!(rewritten(&short, Proto::Ddnet, new, 0, false), short);
}

#[test]
fn inflating_stops_where_the_most_generous_receiver_stops() {
    for (proto, most) in [
        (Proto::V6, 1397),
        (Proto::V65, 1390),
        (Proto::Ddnet, 1397),
        (Proto::V7, 1397),
    ] {
        let most = most - if proto == Proto::Ddnet { 4 } else { 0 };
        let out = written(proto, &header(0, "00000000"), &vec![0; most]);
        parsed(proto, &out, |packet| assert_eq!(packet.payload.len(), most));
        let out = written(proto, &header(0, "00000000"), &vec![0; most + 1]);
        let full = PacketError::Huffman(HuffmanError::OutputFull);
        assert_eq!(error(proto, &out), full, "{proto}");
    }
}

#[test]
fn surplus_stays_after_a_replaced_token() {
    let [datagram, expected] =
        ["00000000", "77777777"].map(|own| written(Proto::Ddnet, &header(0, own), &[0; 100]));
    for surplus in [5, MAX_DATAGRAM - datagram.len()] {
        let (mut long, mut kept) = (datagram.clone(), expected.clone());
        long.resize(datagram.len() + surplus, 0xab);
        kept.resize((expected.len() + surplus).min(MAX_DATAGRAM), 0xab);
        let dear = Some(token("77777777"));
        assert_eq!(rewritten(&long, Proto::Ddnet, dear, 0, false), kept);
    }
}

#[test]
fn a_close_without_a_token_is_one_of_0_6() {
    let (bye, shown) = (b"\x10\0\0\x04bye\0", Token(*b"bye\0"));
    let form = |datagram: &[u8], known| written_form(Proto::Ddnet, datagram, known);
    assert_eq!(form(bye, None), Proto::V6);
    assert_eq!(form(bye, Some(Token([1, 2, 3, 4]))), Proto::V6);
    assert_eq!(form(bye, Some(shown)), Proto::Ddnet);
    for other in [
        &b"\x10\0\0\x04by\x01\0"[..],
        b"\x10\0\0\x04byes",
        b"\x10\0\0\x03bye\0",
        b"\x00\0\0\x04bye\0",
        b"\x90\0\0\x04bye\0",
        b"\x10\0\0\x04byes\0",
    ] {
        assert_eq!(form(other, None), Proto::Ddnet, "{other:02x?}");
    }
    assert_eq!(written_form(Proto::V65, bye, None), Proto::V65);
}
