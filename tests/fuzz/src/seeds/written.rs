//! Seeds written by hand.

use std::fs;

use super::Seeds;

/// Adds damaged and unusual datagrams.
pub(super) fn datagrams([packets, chunks, connless]: &mut [Seeds; 3]) {
    for proto in 0..4 {
        for first in [
            0x00, 0x04, 0x08, 0x10, 0x14, 0x18, 0x20, 0x21, 0x40, 0x80, 0x90, 0xf0, 0xff,
        ] {
            packets.add(&[proto, 0, 0, 0, first, 1, 1, 0x40, 1, 1, 7, 9, 9, 9, 9]);
        }
        packets.add(&[&[proto, 0x1f, 1, 2, 3, 4, 5, 0, 0, 0, 1][..], &[0x55; 1397]].concat());
        // Every sequence of bits can be decompressed; zeros are a short code.
        packets.add(&[&[proto, 3, 1, 2, 3, 4, 0, 0, 0x80, 0, 1][..], &[0; 700]].concat());
        packets.add(
            &[
                &[proto, 3, 1, 2, 3, 4, 0, 0, 0x10, 0, 1, 1, 2, 3, 4][..],
                &[0; 700],
            ]
            .concat(),
        );
        chunks.add(&[proto, 3, 0x40, 1, 1, 5, 0x40, 1]);
        chunks.add(&[&[proto, 255][..], &[0, 0].repeat(255)].concat());
        chunks.add(&[proto, 1, 0, 1, 5, 6, 7, 8]);
        chunks.add(&[proto, 2, 0x7f, 0xff, 0xff, 0x40, 0, 0]);
    }
    for header in [
        &[0xff; 6][..],
        b"xe\x01\x02\0\0",
        &[0x21; 9],
        &[0x21; 6],
        &[0x25; 9],
        &[0x20; 5],
    ] {
        for word in [&b"gie3\x07"[..], b"inf3\x07name\0", b"iext\0\0\x07", b"\x1b[2J"] {
            connless.add(&[header, &[0xff; 4], word].concat());
        }
    }
}

/// Adds control messages and snapshot objects.
pub(super) fn messages(seeds: &mut Seeds) {
    for proto in 0..4 {
        for control in [
            &b"\x01TKEN\xff\xff\xff\xff"[..],
            b"\x02TKEN",
            b"\x04reason\0",
            b"\x05\x01\x02\x03\x04",
            b"\x00",
        ] {
            seeds.add(&[&[proto, 0, 1], control].concat());
        }
        seeds.add(&[&[proto, 1, 3][..], &[10, 0, 0, 0].repeat(24)].concat());
        seeds.add(&[&[proto, 1, 3][..], &[9, 0, 0, 0].repeat(23)].concat());
    }
}

/// Adds steps of the `snapshot` target; see `Game::step` in `snapshot.rs`.
pub(super) fn snapshots(seeds: &mut Seeds) {
    let next: &[u8] = &[
        2, 0, 5, 0, 1, 1, 9, 1, 3, 1, 2, 1, 7, 3, 4, 3, 1, 2, 6, 1, 2, 5, 0, 0, 8, 8, 1,
    ];
    for proto in 0..4 {
        let head = [proto];
        let again: &[u8] = &[3, 7, 3, 0, 1, 1, 9, 1, 3, 1, 2, 1, 8, 3, 5, 3, 1, 2, 7, 1, 2];
        seeds.add(&[&head, next, again, again, &[6, 103, 5, 4, 0x44], again].concat());
        seeds.add(&[&head, next, &[8], again, &[7, 0, 7, 1], next, &[5, 4, 0x42]].concat());
        let item: &[u8] = &[12, 0, 0, 1, 0, 0x17, 0, 4, 1, 2, 3, 4, 9, 9];
        seeds.add(&[&head, &[0, 4, 0, 1][..], item, &[0, 4, 0x42, 1], item].concat());
        let part: &[u8] = &[
            4, 2, 0, 2, 0, 1, 3, 0, 0, 1, 0, 4, 2, 0, 2, 1, 1, 6, 0, 5, 1, 1, 2, 3, 4,
        ];
        seeds.add(&[&head, part, next, part].concat());
        // Deletes an item twice, and an item that does not exist.
        let gone: &[u8] = &[
            13, 0, 3, 0, 0, 0x81, 0x80, 0x14, 0x81, 0x80, 0x14, 0x82, 0x80, 0x14,
        ];
        seeds.add(&[&head, next, &[0, 4, 0x42, 1], gone].concat());
    }
}

/// Adds steps of the `handshake` target; see `Door::step` in `handshake.rs`.
pub(super) fn handshakes(seeds: &mut Seeds) {
    for variant in 0..5 {
        let seven = variant >= 3;
        let knock: &[u8] = if seven { &[1, 1] } else { &[1] };
        let answer: &[u8] = if seven { &[4, 0, 4, 1] } else { &[4, 1] };
        let words: &[u8] = &[2, 1, 0, 0, 4, 1, 7, 5, 1, 1, 0, 4, 1, 7, 5, 1, 1, 0, 0];
        let joined = [&[variant][..], knock, answer, words].concat();
        seeds.add(&joined);
        seeds.add(&[&joined[..], &[2, 1, 0, 0, 1]].concat());
        seeds.add(&[&[variant][..], knock, &[4, 3, 4, 4], words].concat());
        seeds.add(&[&[variant][..], knock, &[4, 2], words].concat());
        seeds.add(
            &[
                &[variant][..],
                knock,
                &[0, 200, 1, 0, 255, 1],
                answer,
                &[0, 255],
                words,
            ]
            .concat(),
        );
        seeds.add(
            &[
                &[variant][..],
                knock,
                &[7, 0, 3, 1, 0, 7, 1, 8, 0x40, 1],
                answer,
                words,
            ]
            .concat(),
        );
        seeds.add(
            &[
                &[variant][..],
                knock,
                &[3, 4, 0, 1, 2, 3, 4, 6, 2, 0, 0x14, 0],
                answer,
                words,
            ]
            .concat(),
        );
        seeds.add(&[&[variant][..], knock, words, &[5, 1, 0, 0, 4, 1, 7]].concat());
    }
}

/// Adds actions of the `hub` target; see `Arena::act` in `hub/actions.rs`.
pub(super) fn hubs(seeds: &mut Seeds) {
    let talk: &[u8] = &[5, 0, 9, 5, 0x80, 0x2a, 0, 20, 6, 0, 1, 7, 0x80, 0xff, 0, 31];
    for server in 0..4 {
        for variant in 0..5 {
            let join = [server, 4, 0, variant, 0, 31];
            seeds.add(&[&join, talk].concat());
            let tail: &[u8] = &[
                11, 1, 0, 7, 0x44, 0, 11, 0, 0, 3, 0x18, 1, 0, 0, 20, 13, 0, 0, 22, 240, 0, 5,
            ];
            seeds.add(&[&join, talk, tail].concat());
            let rules: &[u8] = &[17, 0x7f, 3];
            let inject: &[u8] = &[15, 0, 4, 0, 1, 2, 3, 4, 0, 8];
            seeds.add(&[&join[..], rules, talk, inject, talk, talk, &[17, 0, 0], talk].concat());
        }
        let all: &[u8] = &[4, 0, 0, 4, 1, 1, 4, 2, 2, 4, 3, 3, 0, 31];
        seeds.add(
            &[
                &[server][..],
                all,
                talk,
                &[8, 0, 8, 0x80, 0, 31, 4, 0, 2, 0, 31],
                talk,
            ]
            .concat(),
        );
        seeds.add(
            &[
                &[server][..],
                all,
                &[14, 255, 2, 1, 14, 255, 1, 0, 14, 255, 0, 1, 0, 31],
                talk,
            ]
            .concat(),
        );
        let browse: &[u8] = &[
            20, 0, 2, 0, 1, 2, 0, 9, 0, 20, 1, 0, 0, 1, 0, 20, 3, 0, 0, 1, 0, 0, 31,
        ];
        seeds.add(&[&[server][..], all, browse].concat());
        let end: &[u8] = &[
            15, 0, 3, 0, b'e', b'n', b'd', 0, 1, 0, 31, 15, 0, 0, 0, 0, 2, 18, 9, 0, 31, 21, 9, 9,
        ];
        seeds.add(&[&[server][..], all, talk, end, talk].concat());
    }
    for server in 0..4 {
        let join = [server, 4, 0, [0, 1, 2, 3][usize::from(server)], 0, 31];
        // Redirects to the server's own port, to other ports and to a port without a socket, vital and non-vital,
        // also with rules.
        let port = |kind| [5, 0x80, kind, 0, 31, 0, 31];
        let ways: Vec<u8> = [0xf8, 0xe1, 0xe9, 0xea, 0xfb, 0xfc]
            .into_iter()
            .flat_map(port)
            .collect();
        let rules: &[u8] = &[17, 0x7f, 3];
        let strangers: &[u8] = &[
            9, 1, 1, 0, 1, 2, 3, 4, 13, 0, 0, 20, 0, 2, 0, 1, 2, 0, 9, 0, 0, 31,
        ];
        seeds.add(&[&join, &ways[..], strangers, talk, rules, &ways, talk].concat());
    }
}

/// Adds teetap's own example rules and profiles, and unusual texts.
pub(super) fn rules(seeds: &mut Seeds) {
    for folder in ["examples", "profiles", "tests/language"] {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../rules/").to_owned() + folder;
        let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        let mut files: Vec<_> = files
            .filter(|path| path.extension().is_some_and(|end| end == "tap"))
            .collect();
        files.sort();
        for file in files {
            let text = fs::read_to_string(file).unwrap();
            seeds.add(text.as_bytes());
            text.lines().for_each(|line| seeds.add(line.as_bytes()));
        }
    }
    for text in [
        "reply sv_chat when sv_chat, inject c2s cl_say when cl_say",
        "drop, pass when ((((((((((c2s))))))))))",
        "log when not not not not /((a*)*)*/",
        "profile a { link both delay 1ms }\nprofile a { use \"a\" }\nuse \"a\"",
        "let l = count(input) > 9\nprofile p { link s2c loss 5% connless after seen(enter_game) until l or 5s }\nuse \"p\"",
        "let a = b\nlet b = a\ndrop when a",
        "var $x = $x + 1 when c2s\nlog \"{$x}\" when $x > 9223372036854775807",
        "set .message = .message when cl_say # \u{202e}",
        "delay 1us..3600s when t / 0 == n % 0",
    ] {
        seeds.add(text.as_bytes());
    }
}
