//! Tests of pasted text.

use super::*;

const BYTES: [u8; 20] = [
    0x10, 0, 0, 1, 0x54, 0x4b, 0x45, 0x4e, 0xff, 0xff, 0xff, 0xff, 0x20, 0x20, 0x41, 0x42, 0x30, 0x78, 0x31,
    0x3a,
];

fn bytes(text: &str) -> Vec<u8> {
    from_text(text).unwrap().datagram
}

#[test]
fn hex_with_anything_usual_between_the_bytes() {
    for text in [
        "10000001 544b",
        "10 00 00 01 54 4B",
        "10:00:00:01:54:4b\n",
        "0x10, 0x00, 0x00, 0x01, 0x54, 0x4b",
        "0x10000001544b",
        "1000_0001_544b",
        "\\x10\\x00\\x00\\x01\\x54\\x4b",
        "\u{feff}10 00\r\n00 01\r\n\r\n\t54 4b",
        "10000001  544b",
        "1000:0001:544b",
        "<Buffer 10 00 00 01 54 4b>\n",
    ] {
        assert_eq!(bytes(text), &BYTES[..6], "{text}");
    }
}

#[test]
fn a_buffer_that_was_printed_in_part_is_refused() {
    let cut = "<Buffer 10 00 00 01 ... 463 more bytes>";
    assert_eq!(from_text(cut), Err(InputError::CutBuffer));
}

#[test]
fn dumps_of_xxd_hexdump_and_tcpdump() {
    let xxd = "00000000: 1000 0001 544b 454e ffff ffff 2020 4142  ....TKEN....  AB\n00000010: 3078 313a                                0x1:\n";
    let hexdump = "00000000  10 00 00 01 54 4b 45 4e  ff ff ff ff 20 20 41 42  |....TKEN....  AB|\n00000010  30 78 31 3a                                       |0x1:|\n00000014\n";
    let tcpdump = "12:00:01.5 IP 127.0.0.1.4 > 127.0.0.1.8303: UDP, length 20\n\t0x0000:  1000 0001 544b 454e ffff ffff 2020 4142  ....TKEN....  AB\n\t0x0010:  3078 313a                                0x1:\n";
    for (text, comments) in [
        (xxd, vec!["the text of xxd"]),
        (hexdump, vec!["the text of hexdump -C"]),
        (
            tcpdump,
            vec!["the text of tcpdump", "1 line without bytes ignored"],
        ),
    ] {
        let found = from_text(text).unwrap();
        assert_eq!(found.datagram, BYTES, "{text}");
        assert_eq!(found.comments, comments);
    }
    let starred = "00000000: 0000 0000  ....\n*\n0000000c: 0102  ..\n";
    assert_eq!(bytes(starred), [&[0; 12][..], &[1, 2]].concat());
    let two = format!("{tcpdump}{tcpdump}");
    let found = from_text(&two).unwrap();
    assert_eq!(found.datagram, BYTES);
    assert!(
        found
            .comments
            .contains(&"only the first packet of the text".to_owned())
    );
}

/// Returns the 20 bytes after an IPv4 and a UDP header, from port 1000 to 8303, with the right checksum.
fn ip4() -> Vec<u8> {
    let mut packet = vec![
        0x45, 0, 0, 48, 0, 1, 0, 0, 64, 17, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1,
    ];
    let sum: u32 = packet
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]))
        .sum();
    let sum = !u16::try_from((sum & 0xffff) + (sum >> 16)).unwrap();
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet.extend([0x03, 0xe8, 0x20, 0x6f, 0, 28, 0, 0]);
    packet.extend(BYTES);
    packet
}

#[test]
fn headers_of_the_network_are_skipped_and_reported() {
    let ip = ip4();
    let mut ethernet = [[2; 12].as_slice(), &[8, 0], &ip].concat();
    ethernet.extend([0; 6]);
    let loopback = [&[2, 0, 0, 0], &ip[..]].concat();
    let cut = ip[..40].to_vec();
    let mut six = vec![0x60, 0, 0, 0, 0, 28, 17, 64];
    six.extend([0; 15]);
    six.push(1);
    six.extend([0; 15]);
    six.push(1);
    six.extend(&ip[20..]);
    for (frame, len, headers, ends) in [
        (ip.clone(), 20, "28 bytes of headers skipped (IPv4, UDP)", ""),
        (
            ethernet,
            20,
            "42 bytes of headers skipped (Ethernet, IPv4, UDP)",
            "; 6 bytes of padding ignored",
        ),
        (
            loopback,
            20,
            "32 bytes of headers skipped (loopback, IPv4, UDP)",
            "",
        ),
        (
            cut,
            12,
            "28 bytes of headers skipped (IPv4, UDP)",
            "; 8 bytes were not captured",
        ),
    ] {
        let found = from_bytes(&frame).unwrap();
        assert_eq!(found.datagram, BYTES[..len]);
        assert_eq!(
            found.comments,
            [format!("{headers}: 127.0.0.1:1000 to 127.0.0.1:8303{ends}")]
        );
    }
    let found = from_bytes(&six).unwrap();
    assert_eq!(found.datagram, BYTES);
    assert_eq!(
        found.comments,
        ["48 bytes of headers skipped (IPv6, UDP): [::1]:1000 to [::1]:8303"]
    );
    // Each of these headers is wrong somewhere, so all bytes are the datagram.
    for (at, byte) in [(9, 6), (3, 47), (10, 0x55), (25, 27), (6, 0x20)] {
        let mut other = ip.clone();
        other[at] = byte;
        assert_eq!(from_bytes(&other).unwrap().datagram, other, "{at}");
    }
}

#[test]
fn bytes_are_taken_as_they_are_and_text_as_text() {
    let found = from_bytes(&BYTES).unwrap();
    assert_eq!((found.datagram.as_slice(), found.comments.len()), (&BYTES[..], 0));
    assert_eq!(from_bytes(b"10 00\n").unwrap().datagram, [0x10, 0]);
}

#[test]
fn errors_have_a_place() {
    let long = "00".repeat(MAX_FRAME + 1);
    let text = "00 ".repeat(65_508);
    for (text, place, what) in [
        ("10 00\n1z", "line 2, column 2", "'z' is not a hex digit"),
        ("10 \u{1b}[2J", "line 1, column 4", "U+001B is not a hex digit"),
        (
            "10 0\n00",
            "line 1, column 4",
            "a byte has two digits, this one has one",
        ),
        (
            "1 00",
            "line 1, column 1",
            "a byte has two digits, this one has one",
        ),
        ("0x0000:  10zz  ..", "line 1, column 12", "'z' is not a hex digit"),
        ("{0x10", "line 1, column 1", "'{' is not a hex digit"),
    ] {
        let expected = format!("{place}: {what}; use xxd, hexdump -C or plain hex");
        assert_eq!(from_text(text).unwrap_err().to_string(), expected);
    }
    for (text, expected) in [
        ("", "no bytes"),
        (" \n\t", "no bytes"),
        (
            "00000000: 1000  ..\n00000010: 00  .",
            "line 2: its offset is 0x10, but 0x2 bytes came before it",
        ),
        (&long, "more than 65507 bytes, the most of a UDP datagram"),
        (&text, "more than 65507 bytes, the most of a UDP datagram"),
    ] {
        assert_eq!(from_text(text).unwrap_err().to_string(), expected);
    }
    let capture = [&[0xd4, 0xc3, 0xb2, 0xa1][..], &[0; 30]].concat();
    assert_eq!(from_bytes(&capture), Err(InputError::Capture));
}

#[test]
fn dumps_with_other_widths_are_read() {
    for text in [
        "0000  10 00 00 01 54 4b                                 ....TK",
        "0000  10 00 00 01 54 4b",
        "  0000  10 00 00 01 54 4b                                ....TK",
        "00000000  10 00 00 01 54 4b",
        "Packet:\n0000  10 00 00 01  |....|\n0004  54 4b       |TK|",
    ] {
        assert_eq!(bytes(text), &BYTES[..6], "{text}");
    }
    let middle =
        "0000  10 00 00 01 54 4b 45 4e  ff ff ff ff 20 20 41 42  ....TKEN....  AB\n0010  30 78 31 3a  0x1:";
    assert_eq!(bytes(middle), BYTES);
    let narrow = "  0000  10 00 00 01 54 4b 45 4e  ....TKEN\n  0008  ff ff ff ff 20 20 41 42  ....  AB";
    assert_eq!(bytes(narrow), BYTES[..16]);
    // Without two spaces the text is plain hex.
    assert_eq!(bytes("0000 10 00"), [0, 0, 0x10, 0]);
    assert_eq!(bytes("000000 67ec52a9"), [0, 0, 0, 0x67, 0xec, 0x52, 0xa9]);
}

#[test]
fn a_text_beside_that_shows_other_bytes_is_refused() {
    let edited = from_text("00000000: 1000 0001 554b 454e  ....TKEN\n");
    assert_eq!(edited, Err(InputError::Beside(1)));
    // Spaces at the ends, which some programs show as dots, and text outside ASCII prove nothing.
    for text in [
        "00000000: 2020 4142 2020    AB  ",
        "00000000: 2020 4142 2020    AB",
        "00000000: 2020 4142 2020  ..AB..",
        "00000000: e4f6 fc41  äöüA",
        "00000000: 4142 4344",
    ] {
        assert_eq!(from_text(text).unwrap().comments, ["the text of xxd"], "{text}");
    }
    // `xxd -g 4` and `xxd -e` cannot be distinguished if the text column is the same for both byte orders.
    let dots = from_text("00000000: 10000001 04000000  ........");
    assert_eq!(dots, Err(InputError::Words(1)));
    let same = from_text("00000000: 10000001 41424344  ....ABCD").unwrap();
    assert_eq!(same.comments.len(), 1);
}

#[test]
fn strings_and_lists_of_code_are_read() {
    for (text, len) in [
        (r#"b"\x10\x00\x00\x01TKEN""#, 8),
        (r"b'\x10\x00\x00\x01TKEN'", 8),
        (r#"let x = b"\x10\0\0\x01TK\x45N";"#, 8),
        (r#"const char Data[] = "\x10\x00\x00\x01" "TK"; /* 6 */"#, 6),
        ("\"\\x10\\x00\\x00\\x01\" \\\n\"\\x54\\x4b\"", 6),
        (r"bytearray(b'\x10\x00\x00\x01TKEN')", 8),
        (r#"['\x10', "\x00"]"#, 2),
        (r"\x10\x00, \x00:\x01", 4),
        ("\\x10\\x00\n\\x00\\x01\n", 4),
        ("0x10, 0x00, 0x00, 0x01", 4),
        ("0x10 0x0,0x0 0x1", 4),
        ("{0x10, 0x00, 0x00, 0x01}", 4),
        ("[]byte{0x10, 0x0, 0x0, 0x1}", 4),
        ("static const uint8_t a[4] = {\n\t0x10, 0, 0, 1,\n};", 4),
        ("let p: [u8; 4] = [0x10, 0x00, 0x00, 0x01];", 4),
    ] {
        assert_eq!(bytes(text), &BYTES[..len], "{text}");
    }
    assert_eq!(bytes(r#"b"\n\r\t\\\"\'\x00 ""#), b"\n\r\t\\\"'\0 ");
    let comments = |text: &str| from_text(text).unwrap().comments;
    assert_eq!(
        comments(r#"x = "\x00"; y"#),
        [
            "the bytes of a string",
            "text before the string ignored",
            "text after the string ignored"
        ]
    );
    assert_eq!(comments("{0x10}"), ["the numbers of a list"]);
}

#[test]
fn code_that_may_be_read_in_two_ways_is_refused() {
    for (text, expected) in [
        ("[16, 0, 0, 1]", "line 1, column 2: this number may be decimal"),
        ("[16, -1]", "line 1, column 2: this number may be decimal"),
        ("[12, 34]", "line 1, column 2: this number may be decimal"),
        ("[10, 00]", "line 1, column 2: this number may be decimal"),
        ("{0x10, 16}", "line 1, column 8: this number may be decimal"),
        ("16 0 0 1 84 255", "line 1, column 4: a byte has two digits"),
        ("b'10000001'", "line 1, column 1: a byte has two digits"),
        (r"b\x10\x00TKEN", "line 1, column 1: 'b' beside bytes"),
        ("{0x10,\n 0x1000}", "line 2, column 2: more than a byte"),
        ("{0x10, 0x}", "line 1, column 8: a byte has two digits"),
        ("{0x10, 0xzz}", "line 1, column 10: 'z' is not a hex digit"),
        ("{}", "no bytes"),
        ("0x10 0x", "line 1, column 6: a byte has two digits"),
        (
            r"\x10\x00TKEN",
            "line 1, column 9: 'T' beside bytes like \\x10; put",
        ),
        (r"\x10ab", "line 1, column 5: 'a' beside bytes"),
        (r#"b"\x10" + c"#, "line 1, column 11: 'c' beside bytes"),
        (r#"b"\x1""#, "line 1, column 3: a byte has two digits"),
        (
            r#"b"\x10\01""#,
            "line 1, column 7: in a string explain reads ASCII",
        ),
        (r#"b"\x10\u0010""#, "line 1, column 7: in a string"),
        ("b\"\\x10ä\"", "line 1, column 7: in a string"),
        ("b\"\\x10\nab\"", "line 1, column 2: this string does not end"),
    ] {
        let error = from_text(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}

mod properties {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_bytes_and_texts_end(bytes in prop::collection::vec(any::<u8>(), 0..300), text in "[0-9a-fx:| *.\n]{0,200}", code in "[01bx\\\\\"'{}\\[=,/*; ä\n\u{7}-]{0,60}") {
            for input in [&bytes[..], text.as_bytes(), code.as_bytes()] {
                if let Err(error) = from_bytes(input) {
                    prop_assert!(!error.to_string().contains(char::is_control));
                }
            }
        }

        #[test]
        fn hex_of_any_bytes_is_them(bytes in prop::collection::vec(any::<u8>(), 1..100)) {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x} ")).collect();
            let found = from_text(&hex).unwrap().datagram;
            prop_assert!(bytes.ends_with(&found));
        }
    }
}
