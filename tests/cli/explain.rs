//! `teetap explain` of the built binary: its inputs, its output and its errors.

use std::{fs, io::Read as _, process::Command};

use serde_json::Value;
use teetap_kit::{binary, terminal};

/// DDNet's CONNECT.
const CONNECT: [u8; 12] = *b"\x10\x00\x00\x01TKEN\xff\xff\xff\xff";
const HEX: &str = "10 00 00 01 54 4b 45 4e ff ff ff ff";
/// The same datagram with IPv4 and UDP headers, as tcpdump -x shows it.
const TCPDUMP: &str = "\
13:37:00.000001 IP 127.0.0.1.4660 > 127.0.0.1.8303: UDP, length 12
\t0x0000:  4500 0028 0001 0000 4011 7cc2 7f00 0001
\t0x0010:  7f00 0001 1234 206f 0014 0000 1000 0001
\t0x0020:  544b 454e ffff ffff
";
/// 0.7's info with the password `hunter2`.
const INFO: &str = "000001 67ec52a9 400d01 03 302e3700 68756e7465723200";

fn teetap(args: &[&str]) -> Command {
    let mut command = crate::teetap();
    command.arg("explain").args(args);
    command
}

/// Returns the stdout of a run that must succeed without stderr.
fn explained(args: &[&str]) -> String {
    let (stdout, stderr) = binary::run(&mut teetap(args), 0);
    assert_eq!(stderr, "", "{args:?}");
    stdout
}

/// Returns stdout and stderr of a run with `input` as its stdin.
fn piped(args: &[&str], input: &[u8], code: i32) -> (String, String) {
    binary::piped(&mut teetap(args), input, code)
}

/// Checks that the input is refused: code 2, empty stdout, one line with `fragment` on stderr.
fn refused(args: &[&str], input: &[u8], fragment: &str) {
    let (stdout, stderr) = piped(args, input, 2);
    assert_eq!(stdout, "", "{args:?}");
    assert_eq!(stderr.lines().count(), 1, "{args:?}: {stderr}");
    assert!(
        stderr.starts_with("teetap: ") && stderr.contains(fragment),
        "{args:?}: {stderr}"
    );
}

fn json(args: &[&str]) -> Vec<Value> {
    binary::objects(&explained(&[&["--json"], args].concat()))
}

/// Returns the text without the lines about how the bytes were found.
fn body(text: &str) -> &str {
    text.split_once("\n\n").unwrap().1
}

#[test]
fn every_input_format_gives_the_same_bytes() {
    let expected = explained(&[HEX]);
    assert!(
        expected.starts_with("12 bytes\n\nas       dir     verdict   why\nddnet    c2s     fits "),
        "{expected}"
    );
    let words: Vec<&str> = HEX.split(' ').collect();
    assert_eq!(explained(&words), expected);
    assert_eq!(explained(&["10:00:00:01:54:4b:45:4e:ff:ff:ff:ff"]), expected);
    assert_eq!(piped(&["-"], HEX.as_bytes(), 0).0, expected);
    assert_eq!(piped(&["-"], &CONNECT, 0).0, expected);
    for code in [
        r#"b"\x10\0\0\x01TKEN\xff\xff\xff\xff""#,
        "{0x10,0,0,1,0x54,0x4b,0x45,0x4e,0xff,0xff,0xff,0xff}",
    ] {
        assert_eq!(body(&explained(&[code])), body(&expected), "{code}");
    }
    let folder = tempfile::tempdir().unwrap();
    let xxd = "00000000: 1000 0001 544b 454e ffff ffff            ....TKEN....\n";
    let hexdump = "00000000  10 00 00 01 54 4b 45 4e  ff ff ff ff              |....TKEN....|\n0000000c\n";
    let tshark = "0000  10 00 00 01 54 4b 45 4e ff ff ff ff               ....TKEN....\n";
    for (name, contents, comment) in [
        ("tshark", tshark.as_bytes(), "the text of tshark -x\n"),
        ("raw", &CONNECT[..], ""),
        ("hex", HEX.as_bytes(), ""),
        ("xxd", xxd.as_bytes(), "the text of xxd\n"),
        ("hexdump", hexdump.as_bytes(), "the text of hexdump -C\n"),
        (
            "tcpdump",
            TCPDUMP.as_bytes(),
            "the text of tcpdump\n1 line without bytes ignored\n\
             28 bytes of headers skipped (IPv4, UDP): 127.0.0.1:4660 to 127.0.0.1:8303\n",
        ),
    ] {
        let file = folder.path().join(name);
        fs::write(&file, contents).unwrap();
        let text = explained(&[file.to_str().unwrap()]);
        assert_eq!(body(&text), body(&expected), "{name}");
        assert!(
            text.starts_with(&format!("12 bytes\n{comment}\n")),
            "{name}: {text}"
        );
    }
}

#[test]
fn a_packet_of_a_capture_is_read_by_its_number() {
    let capture = "tests/captures/rich-dd16.pcap";
    let first = explained(&[&format!("{capture}#1")]);
    assert!(
        first.starts_with("12 bytes\npacket 1, 127.0.0.1:58637 to 127.0.0.1:21002\n\n"),
        "{first}"
    );
    assert_eq!(body(&first), body(&explained(&[HEX])));
    assert_eq!(explained(&[capture, "--frame", "1"]), first);
    let delta = explained(&[&format!("{capture}#81")]);
    assert!(
        delta.contains(" data  27 bytes, relative to the snapshot of tick 12980\n"),
        "{delta}"
    );
    assert!(delta.contains("  item  character, id 0\n"), "{delta}");
    for (word, fragment) in [
        (capture.to_owned(), "give the number of one, such as --frame 1"),
        (format!("{capture}#0"), "packets count from 1"),
        (format!("{capture}#one"), "packets count from 1"),
        (format!("{capture}#999999"), "the file has 2860 packets"),
        ("no-such-file#1".to_owned(), "not a file"),
    ] {
        refused(&[&word], b"", fragment);
    }
    refused(&[capture, "--frame", "0"], b"", "--frame");
    let lines = br#"{"v":2,"t":0,"event":"start"}"#;
    refused(&["-", "--frame", "1"], lines, "cannot read packet 1 of stdin: ");
}

#[test]
fn protocol_and_direction_can_be_forced() {
    let text = explained(&["--proto", "0.6", "--dir", "s2c", HEX]);
    let tried: Vec<&str> = body(&text)
        .lines()
        .skip(1)
        .take_while(|line| !line.is_empty())
        .collect();
    assert!(tried[0].starts_with("0.6      s2c     doubtful "), "{text}");
    assert!(tried[1..].iter().all(|line| line.starts_with(' ')), "{text}");
    assert!(text.contains("wrong-direction"), "{text}");
    let all = json(&[HEX]);
    let protos: Vec<&str> = all.iter().map(|line| line["proto"].as_str().unwrap()).collect();
    assert_eq!(protos, ["ddnet", "0.6", "0.6.5", "0.7"]);
    assert_eq!(json(&["--proto", "0.7", HEX]).len(), 1);
}

#[test]
fn json_has_the_rows_with_their_ranges() {
    let best = &json(&[HEX])[0];
    let found = ["v", "event", "verdict", "dir"].map(|key| &best[key]);
    assert_eq!(
        serde_json::json!(found),
        serde_json::json!([2, "explain", "fits", "c2s"])
    );
    let rows = best["rows"].as_array().unwrap();
    let token = rows.iter().find(|row| row["label"] == "token").unwrap();
    let expected = serde_json::json!({
        "depth": 0, "space": "datagram", "at": 8, "len": 4, "label": "token",
        "value": "ffffffff (none yet)", "hex": "ffffffff", "notes": [],
    });
    assert_eq!(token, &expected);
    let control = rows.iter().find(|row| row["label"] == "control").unwrap();
    assert_eq!(
        (control["bits"].as_i64(), &control["value"]),
        (Some(0x10), &"yes".into())
    );
    // The code, the offset and the place of the first note.
    let first_note = |hex: &str| {
        let unknown = &json(&["--proto", "0.6", hex])[0];
        let rows = unknown["rows"].as_array().unwrap().iter();
        let note = rows
            .flat_map(|row| row["notes"].as_array().unwrap())
            .next()
            .unwrap();
        serde_json::json!(["code", "at", "place"].map(|key| &note[key]))
    };
    let note = first_note("00 00 01 00 01 7f");
    assert_eq!(note, serde_json::json!(["unknown-message", 5, "datagram"]));
    // The same message compressed: its ranges count in the payload.
    let mut packed = vec![0x80, 0, 1];
    teetap_wire::compress(&[0, 1, 0x7f], teetap_wire::Trailing::Always, &mut packed);
    let hex: String = packed.iter().map(|byte| format!("{byte:02x}")).collect();
    let note = first_note(&hex);
    assert_eq!(note, serde_json::json!(["unknown-message", 2, "payload"]));
}

/// Returns the output on a terminal with `columns` columns.
fn on_terminal(columns: u16) -> String {
    let (mut outer, inner) = terminal::open(columns, 24).unwrap();
    let mut command = teetap(&[INFO]);
    let mut child = command.stdout(inner).spawn().unwrap();
    // Otherwise this end would keep the terminal open.
    drop(command);
    let mut text = Vec::new();
    // Reading fails once no process has the terminal open.
    let _ended = outer.read_to_end(&mut text);
    assert_eq!(child.wait().unwrap().code(), Some(0), "the exit code");
    String::from_utf8(text).unwrap()
}

#[test]
fn lines_are_as_wide_as_the_terminal() {
    let widest = |text: &str| text.lines().map(|line| line.trim_end().chars().count()).max();
    let pairs = [(0, 100), (20, 60), (60, 60), (79, 79), (130, 130)];
    for (columns, most) in pairs {
        let text = on_terminal(columns);
        let widest = widest(&text).unwrap();
        // Words are not split to fill a line.
        assert!(
            widest <= most && widest + 12 > most,
            "{columns}: {widest} of {most}\n{text}"
        );
    }
    assert_eq!(on_terminal(100).replace('\r', ""), explained(&[INFO]));
}

#[test]
fn secrets_are_dots_unless_requested() {
    for args in [
        &[INFO][..],
        &["--json", INFO],
        &["--proto", "0.6", INFO],
        &["--dir", "s2c", "--json", INFO],
    ] {
        let text = explained(args);
        assert!(text.contains("•••"), "{args:?}: {text}");
        for leak in ["hunter2", "hunter", "68756e74", "68 75 6e 74"] {
            assert!(!text.contains(leak), "{args:?}: {text}");
        }
    }
    let text = explained(&["--show-secrets", INFO]);
    assert!(
        text.contains("password  \"hunter2\"") && text.contains("68 75 6e 74"),
        "{text}"
    );
}

#[test]
fn definitions_of_the_user_are_used() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("own.tw");
    fs::write(
        &file,
        "for 0.6\n\n# Mine.\ngame 63 mine s2c nonvital\n  count  int\n",
    )
    .unwrap();
    let text = explained(&["--messages", file.to_str().unwrap(), "00 00 01 00 03 be 01 07"]);
    assert!(
        text.contains("id  63 game mine: Mine.") && text.contains("count  7"),
        "{text}"
    );
}

#[test]
fn a_broken_packet_is_explained_up_to_the_damage() {
    let text = explained(&["--proto", "0.7", "04 00 00 67 ec"]);
    assert!(
        text.contains("3-4        67 ec                       token  2 of 4 bytes"),
        "{text}"
    );
    assert!(text.contains("! too-short"), "{text}");
    // No character of a name can move the cursor.
    let text = explained(&["--proto", "0.6", "00 00 01 40 05 01 02 1b 5b 32 4a 00"]);
    assert!(
        !text.contains('\u{1b}') && text.contains("message  \"\u{fffd}[2J\""),
        "{text}"
    );
}

#[test]
fn input_without_a_packet_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("none");
    let capture = folder.path().join("capture");
    fs::write(&capture, [&[0xd4, 0xc3, 0xb2, 0xa1][..], &[0; 40]].concat()).unwrap();
    let long = vec![0xff; 65_508];
    let longer = vec![b'0'; 2 << 20];
    let cases: [(&[&str], &[u8], &str); 17] = [
        (&[], b"", "HEX|FILE|-"),
        (&[""], b"", "no bytes"),
        (&["-"], b"", "cannot read stdin: no bytes"),
        (
            &["-"],
            b"10 0z",
            "cannot read stdin: line 1, column 5: 'z' is not a hex digit; use xxd, hexdump -C or plain hex",
        ),
        (&["-"], b"10 00\n1", "line 2, column 1: a byte has two digits"),
        (&["-"], &long, "more than 65507 bytes"),
        (&["-"], &longer, "larger than 1024 KiB"),
        (&["[16,0,0,1]"], b"", "this number may be decimal; write 0x10"),
        (
            &["-"],
            b"0000000 0010 0100\n0000004\n",
            "words whose bytes may be in another order; use xxd, hexdump -C or plain hex",
        ),
        (
            &["-"],
            b"00000000: 4e454b54  TKEN\n",
            "line 1: the text beside the bytes shows other bytes",
        ),
        (&["100"], b"", "line 1, column 3: a byte has two digits"),
        (&["10", "zz"], b"", "'z' is not a hex digit"),
        (&[missing.to_str().unwrap()], b"", "not a file, and"),
        (&[folder.path().to_str().unwrap()], b"", "cannot read"),
        (&[capture.to_str().unwrap()], b"", "a capture of many packets"),
        (&["wrong"], b"", "neither bytes (hex) nor a file nor a code"),
        (&["--dir", "up", "00"], b"", "--dir"),
    ];
    for (args, input, fragment) in cases {
        refused(args, input, fragment);
    }
}

#[test]
fn a_note_code_has_its_page() {
    let page = explained(&["wrong-token"]);
    assert!(page.starts_with("wrong-token\n\nSeverity: error."), "{page}");
    assert!(
        page.contains("\nWhat the receiver does\n") && !page.contains("]("),
        "{page}"
    );
    for word in ["lint.wrong_token", "!wrong-token"] {
        assert_eq!(explained(&[word]), page);
    }
    // A code as printed after a finding, and several codes at once.
    assert_eq!(explained(&["wrong-token:"]), page);
    let both = explained(&["wrong-token", "login-stalled"]);
    assert!(
        both.starts_with(&page) && both.contains("\n\nlogin-stalled\n\n"),
        "{both}"
    );
    for (word, begin) in [
        (
            "never-entered",
            "never-entered\n\nThe server has accepted the client",
        ),
        ("foreign-token", "foreign-token\n\nSeverity: warning"),
        ("hold_full", "hold_full\n\nLevel: "),
        ("E103", "E103\n\nSeverity: error"),
    ] {
        assert!(explained(&[word]).starts_with(begin), "{word}");
    }
    crate::refused(&["explain", "login-staled"], 2, "did you mean 'login-stalled'?");
    crate::refused(&["explain", "wrong-tokn"], 2, "did you mean 'wrong-token'?");
    crate::refused(&["explain", "--json", "wrong-token"], 2, "leave out --json");
}
