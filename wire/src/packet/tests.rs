use super::*;
use crate::huffman::Trailing;
use crate::{Seq, control, detect};

fn hex(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
        .collect()
}

fn token(text: &str) -> Token {
    Token(hex(text).try_into().unwrap())
}

fn parsed<T>(proto: Proto, datagram: &[u8], look: impl FnOnce(&Packet<'_>) -> T) -> T {
    let mut scratch = Scratch::new();
    look(&Packet::parse(proto, datagram, &mut scratch).unwrap())
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

/// The handshakes and first packets of live sessions: variant, bytes, then flags, ack, chunks, token, payload.
fn live() -> Vec<(Proto, Vec<u8>, Header, Vec<u8>)> {
    let control = Flags::CONTROL;
    let rows: &[(Proto, &str, Flags, u16, u8, &str, &str)] = &[
        (Proto::V6, "10000001", control, 0, 0, "", "01"),
        (Proto::V6, "10000002", control, 0, 0, "", "02"),
        (Proto::V6, "00010140010 21d", Flags::empty(), 1, 1, "", "4001021d"),
        (
            Proto::V65,
            "1800004a44826102 1673ee88",
            control,
            0,
            0,
            "4a448261",
            "021673ee88",
        ),
        (
            Proto::V65,
            "08000 11673ee8841070103",
            Flags::empty(),
            0,
            1,
            "1673ee88",
            "41070103",
        ),
        (Proto::V65, "18aa001673ee8800", control, 0xaa, 0, "1673ee88", "00"),
        (
            Proto::V65,
            "48aa001673ee88",
            Flags::RESEND,
            0xaa,
            0,
            "1673ee88",
            "",
        ),
        (
            Proto::Ddnet,
            "10000001 544b454e ffffffff",
            control,
            0,
            0,
            "ffffffff",
            "01544b454e",
        ),
        (
            Proto::Ddnet,
            "10000002 544b454e eb070dfa",
            control,
            0,
            0,
            "eb070dfa",
            "02544b454e",
        ),
        (Proto::Ddnet, "10000003 eb070dfa", control, 0, 0, "eb070dfa", "03"),
        (
            Proto::Ddnet,
            "10aa0000 eb070dfa",
            control,
            0xaa,
            0,
            "eb070dfa",
            "00",
        ),
        (
            Proto::V7,
            "04000024 05cdfd05923af36c",
            control,
            0,
            0,
            "2405cdfd",
            "05923af36c",
        ),
        (Proto::V7, "0400002405cdfd02", control, 0, 0, "2405cdfd", "02"),
        (Proto::V7, "05ff00923af36c00", control, 0x1ff, 0, "923af36c", "00"),
        (Proto::V7, "0803002405cdfd", Flags::RESEND, 3, 0, "2405cdfd", ""),
    ];
    let read = |&(proto, bytes, flags, ack, num_chunks, tok, payload): &(_, &str, _, _, _, &str, &str)| {
        let token = (!tok.is_empty()).then(|| token(tok));
        (
            proto,
            hex(bytes),
            Header {
                flags,
                ack: Seq::new(ack),
                num_chunks,
                token,
            },
            hex(payload),
        )
    };
    rows.iter().map(read).collect()
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
    let mut out = Vec::new();
    parsed(Proto::V6, &datagram, |packet| {
        rewrite(
            packet,
            &datagram,
            Rewrite {
                token: None,
                ack: Seq::ZERO,
                resend: false,
                usual: Trailing::Always,
            },
            &mut out,
        )
    });
    assert_eq!(out, datagram[..1400]);
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
    let cheap = Header {
        flags: Flags::empty(),
        ack: Seq::new(5),
        num_chunks: 1,
        token: Some(token("00000000")),
    };
    let mut datagram = Vec::new();
    write(
        Proto::Ddnet,
        &cheap,
        &payload,
        Some(Trailing::Always),
        &mut datagram,
    );
    assert_eq!(datagram[0], 0x80);
    let dear = token("77777777");
    let mut out = Vec::new();
    parsed(Proto::Ddnet, &datagram, |packet| {
        rewrite(
            packet,
            &datagram,
            Rewrite {
                token: Some(dear),
                ack: Seq::new(0x3ff),
                resend: true,
                usual: Trailing::Always,
            },
            &mut out,
        );
    });
    assert_eq!(out, [&hex("43ff01")[..], &payload, &dear.0].concat());
    parsed(Proto::Ddnet, &out.clone(), |packet| {
        rewrite(
            packet,
            &out.clone(),
            Rewrite {
                token: cheap.token,
                ack: Seq::ZERO,
                resend: false,
                usual: Trailing::Always,
            },
            &mut out,
        )
    });
    assert_eq!(out, [&hex("000001")[..], &payload, &[0; 4]].concat());
}

#[test]
fn rewrite_keeps_ignored_bytes() {
    let mut out = Vec::new();
    // Unknown header bits, a wrong chunk count, bytes after the chunks.
    let odd = hex("c50009 923af36c 00");
    parsed(Proto::V7, &odd, |packet| {
        rewrite(
            packet,
            &odd,
            Rewrite {
                token: Some(token("01020304")),
                ack: Seq::new(2),
                resend: true,
                usual: Trailing::Always,
            },
            &mut out,
        )
    });
    assert_eq!(out, hex("cc0209 01020304 00"));
    // A packet without a token gets none.
    let bare = hex("040001 000100");
    parsed(Proto::V65, &bare, |packet| {
        rewrite(
            packet,
            &bare,
            Rewrite {
                token: Some(token("01020304")),
                ack: Seq::new(1),
                resend: false,
                usual: Trailing::Always,
            },
            &mut out,
        )
    });
    assert_eq!(out, hex("040101 000100"));
    let short = hex("000001 aabbcc");
    parsed(Proto::Ddnet, &short, |packet| {
        rewrite(
            packet,
            &short,
            Rewrite {
                token: Some(token("01020304")),
                ack: Seq::ZERO,
                resend: false,
                usual: Trailing::Always,
            },
            &mut out,
        )
    });
    assert_eq!(out, short);
}

#[test]
fn inflating_stops_where_the_most_generous_receiver_stops() {
    for (proto, most) in [
        (Proto::V6, 1397),
        (Proto::V65, 1390),
        (Proto::Ddnet, 1397),
        (Proto::V7, 1397),
    ] {
        let header = Header {
            flags: Flags::empty(),
            ack: Seq::ZERO,
            num_chunks: 1,
            token: Some(token("00000000")),
        };
        let tail = if proto == Proto::Ddnet { 4 } else { 0 };
        let mut out = Vec::new();
        write(
            proto,
            &header,
            &vec![0; most - tail],
            Some(Trailing::Always),
            &mut out,
        );
        parsed(proto, &out, |packet| {
            assert_eq!(packet.payload.len(), most - tail)
        });
        write(
            proto,
            &header,
            &vec![0; most - tail + 1],
            Some(Trailing::Always),
            &mut out,
        );
        assert_eq!(
            error(proto, &out),
            PacketError::Huffman(HuffmanError::OutputFull),
            "{proto}"
        );
    }
}

#[test]
fn surplus_stays_after_a_replaced_token() {
    let header = Header {
        flags: Flags::empty(),
        ack: Seq::ZERO,
        num_chunks: 1,
        token: Some(token("00000000")),
    };
    let (mut datagram, mut out, mut expected) = (Vec::new(), Vec::new(), Vec::new());
    let dear = token("77777777");
    write(
        Proto::Ddnet,
        &header,
        &[0; 100],
        Some(Trailing::Always),
        &mut datagram,
    );
    let changed = Header {
        token: Some(dear),
        ..header
    };
    write(
        Proto::Ddnet,
        &changed,
        &[0; 100],
        Some(Trailing::Always),
        &mut expected,
    );
    for surplus in [5, MAX_DATAGRAM - datagram.len()] {
        let (mut long, mut kept) = (datagram.clone(), expected.clone());
        long.resize(datagram.len() + surplus, 0xab);
        kept.resize((expected.len() + surplus).min(MAX_DATAGRAM), 0xab);
        parsed(Proto::Ddnet, &long, |packet| {
            rewrite(
                packet,
                &long,
                Rewrite {
                    token: Some(dear),
                    ack: Seq::ZERO,
                    resend: false,
                    usual: Trailing::Always,
                },
                &mut out,
            )
        });
        assert_eq!(out, kept);
    }
}
