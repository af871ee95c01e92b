//! `teetap scrub` of the built binary: it removes all secrets and addresses, keeps everything else, and other programs
//! can read the result.

mod given;
mod session;

use std::{
    collections::BTreeSet, fs, net::IpAddr, os::unix::fs::PermissionsExt as _, path::Path, process::Command,
};

use serde_json::Value;
use teetap_kit::{
    binary::{place, run},
    capture::{self, holds},
};

use crate::teetap;
use given::{CARDS, CLIENT, SERVER, elsewhere, essence, everything, open, relocated, scrub, secrets};

#[test]
fn secrets_are_removed_and_with_the_texts_the_rest_is_kept() {
    let mut messages = BTreeSet::new();
    for name in capture::names().unwrap() {
        let (_folder, path) = place("given.pcap");
        let (out, again) = (path.with_file_name("out.pcap"), path.with_file_name("again.pcap"));
        fs::write(&path, relocated(&name)).unwrap();
        // Both recordings have the note about surplus bytes.
        let stderr = scrub(&path, &out, &["--keep-text"], 0);
        let count = capture::recorded(&name).unwrap().len();
        assert!(
            stderr.starts_with(&format!("teetap: {count} packets written to ")),
            "{stderr}"
        );
        assert!(
            !stderr.contains("left out") && stderr.lines().count() == 1,
            "{stderr}"
        );
        assert_eq!(fs::metadata(&out).unwrap().permissions().mode() & 0o777, 0o600);
        // Everything shown is equal, except for the replaced parts.
        let (before, after) = (open(&path, &["-vv"]), open(&out, &["-vv"]));
        let keep = |objects: &[Value]| {
            // A message of a library that no other program knows.
            let objects = essence(objects).into_iter();
            let objects = objects.filter(|object| object["uuid"] != "ee610b6f-909f-311e-93f7-11a95f55a086");
            objects.collect::<Vec<_>>()
        };
        let pairs = keep(&before).into_iter().zip(keep(&after));
        for (before, after) in pairs {
            if before["flags"] == after["flags"] {
                assert_eq!(before, after, "{name}");
            } else {
                // With its surplus bytes replaced, compression did not shorten the packet.
                assert_eq!(
                    (name.as_str(), &before["ordinal"]),
                    ("tw06c-to-dd20-antispoof", &5.into())
                );
            }
        }
        assert_eq!(before.len(), after.len());
        let shown = open(&path, &["-vv", "--show-secrets"]);
        let (all_before, all) = (everything(&path), everything(&out));
        for (message, secret) in secrets(&before, &shown) {
            // The server repeats commands in its replies, and raw bytes are shown as hex.
            if !["rcon_cmd", "client_version", "checksum"].contains(&&*message) && secret.len() > 3 {
                assert!(holds(&all_before, secret.as_bytes()), "{name} {message} {secret}");
                assert!(!holds(&all, secret.as_bytes()), "{name} {message} {secret}");
            }
            messages.insert(message);
        }
        let replaced = open(&out, &["-vv", "--show-secrets"]);
        for (message, text) in secrets(&after, &replaced) {
            let is_placeholder =
                text.chars().all(|c| c == '*') || text.replace(['-', '2', 'a'], "").is_empty();
            assert!(is_placeholder, "{name} {message} {text}");
        }
        for address in [
            &CLIENT[..],
            &SERVER,
            &CARDS[..6],
            &CARDS[6..],
            b"84.11.2.3",
            b"93.41.5.6",
        ] {
            assert!(!holds(&all, address), "{name} {address:?}");
        }
        scrub(&out, &again, &["--keep-text"], 0);
        assert!(fs::read(&again).unwrap() == fs::read(&out).unwrap(), "{name}");
    }
    for message in ["rcon_auth", "rcon_cmd", "cl_say", "client_version"] {
        assert!(messages.contains(message), "{message}: {messages:?}");
    }
}

/// Texts written by peers, by message and field.
const TEXTS: [(&str, &str); 11] = [
    ("cl_say", "message"),
    ("sv_chat", "message"),
    ("sv_motd", "message"),
    ("sv_broadcast", "message"),
    ("rcon_line", "line"),
    ("cl_start_info", "name"),
    ("cl_start_info", "clan"),
    ("sv_client_info", "name"),
    ("cl_call_vote", "reason"),
    ("sv_vote_option_add", "description"),
    ("close", "reason"),
];

#[test]
fn texts_of_peers_are_removed_and_every_message_stays_at_its_place() {
    let mut found = BTreeSet::new();
    for name in capture::names().unwrap() {
        let (_folder, path) = place("given.pcap");
        let (out, again) = (path.with_file_name("out.pcap"), path.with_file_name("again.pcap"));
        fs::write(&path, relocated(&name)).unwrap();
        scrub(&path, &out, &[], 0);
        let (before, after) = (open(&path, &["-vv"]), open(&out, &["-vv"]));
        assert_eq!(before.len(), after.len(), "{name}");
        let (all, mut removed) = (everything(&out), BTreeSet::new());
        for (before, after) in before.iter().zip(&after) {
            for key in ["event", "session", "ordinal", "t", "dir", "seq"] {
                assert_eq!(before[key], after[key], "{name} {before}");
            }
            // In a session event the name is the player's.
            if before["event"] != "session" {
                assert_eq!(before["name"], after["name"], "{name} {before}");
            }
            for (message, field) in TEXTS {
                let Some(text) = before["fields"][field].as_str() else {
                    continue;
                };
                if before["name"] != message || text.is_empty() || text.ends_with("•••") {
                    continue;
                }
                let new = after["fields"][field].as_str().unwrap();
                assert!(new.chars().all(|c| c == '*'), "{name} {after}");
                if text.is_ascii() {
                    assert_eq!(new.len(), text.len(), "{name} {after}");
                }
                // A shorter text may be part of something else.
                if text.len() > 5 {
                    removed.insert(text.to_owned());
                    found.insert(message);
                }
            }
        }
        for text in removed {
            assert!(!holds(&all, text.as_bytes()), "{name} {text}");
        }
        scrub(&out, &again, &[], 0);
        assert!(fs::read(&again).unwrap() == fs::read(&out).unwrap(), "{name}");
    }
    for message in ["cl_say", "sv_chat", "cl_start_info", "rcon_line", "close"] {
        assert!(found.contains(message), "{message}: {found:?}");
    }
}

#[test]
fn other_tools_read_the_result_and_accept_every_checksum() {
    for (name, ending) in [("rich-dd16", "pcap"), ("rich-tw07", "pcapng")] {
        let (_folder, path) = place("given.pcap");
        let out = path.with_file_name("out").with_extension(ending);
        fs::write(&path, relocated(name)).unwrap();
        let given = if ending == "pcapng" {
            let given = path.with_file_name("given.pcapng");
            let args = ["-F", "pcapng", "--capture-comment", "at alice-pc"];
            run(Command::new("editcap").args(args).args([&path, &given]), 0);
            let is_there = holds(&[fs::read(&given).unwrap()], b"alice-pc");
            assert!(is_there, "the given file has no name of a computer");
            given
        } else {
            path
        };
        scrub(&given, &out, &["--keep-text"], 0);
        let all = [fs::read(&out).unwrap()];
        for text in ["alice-pc", "ditcap", "Linux"] {
            assert!(!holds(&all, text.as_bytes()), "{text} is in the scrubbed {name}");
        }
        let count = capture::recorded(name).unwrap().len();
        let fields = [
            "udp.checksum.status",
            "ip.checksum.status",
            "ip.src",
            "ip.dst",
            "eth.src",
        ];
        let dump = Command::new("tshark")
            .args([
                "-o",
                "udp.check_checksum:TRUE",
                "-o",
                "ip.check_checksum:TRUE",
                "-T",
                "fields",
                "-r",
            ])
            .arg(&out)
            .args(fields.iter().flat_map(|field| ["-e", field]))
            .output()
            .unwrap();
        let dump = String::from_utf8(dump.stdout).unwrap();
        let lines: BTreeSet<&str> = dump.lines().collect();
        assert_eq!(dump.lines().count(), count);
        let wanted = [
            // Sender and receiver in order of appearance: the receiver's card has the first number.
            "1\t1\t192.0.2.1\t192.0.2.2\t02:00:00:00:00:02",
            "1\t1\t192.0.2.2\t192.0.2.1\t02:00:00:00:00:02",
        ];
        assert_eq!(lines, wanted.into(), "{name}");
        // Every datagram keeps its place, its time and its ports.
        let summary = |path: &Path| {
            let objects = open(path, &["-v"]);
            essence(&objects[1..])
        };
        assert_eq!(summary(&given), summary(&out));
    }
}

#[test]
fn scrubbed_recordings_of_teetap_are_recordings_of_teetap() {
    for ending in ["pcapng", "jsonl"] {
        let (_folder, path) = place("given");
        let path = path.with_extension(ending);
        let (out, again) = (path.with_file_name("out"), path.with_file_name("again"));
        elsewhere(&path);
        let stderr = scrub(&path, &out, &["--keep-text"], 0);
        assert!(
            stderr.contains(" packets written to ")
                && stderr.contains("replaced 2 secrets, 0 texts, 1 IP address"),
            "{stderr}"
        );
        let given = [fs::read(&path).unwrap()];
        let written = [fs::read(&out).unwrap()];
        for text in ["84.11.2.3", "alic"] {
            let found = [holds(&given, text.as_bytes()), holds(&written, text.as_bytes())];
            assert_eq!(found, [true, false], "{text} in the given and the scrubbed file");
        }
        let is_left = [holds(&written, &CLIENT), holds(&written, b"540b0203")];
        assert_eq!(is_left, [false; 2], "the client's address as bytes and in hex");
        for text in ["192.0.2.1:", "the server.invalid succeeded"] {
            assert!(
                holds(&written, text.as_bytes()),
                "{text} is not in the scrubbed file"
            );
        }
        let (before, after) = (open(&path, &["-vv"]), open(&out, &["-vv"]));
        assert_eq!(before.len(), after.len());
        let strip = |objects: &[Value]| {
            let mut objects = essence(objects);
            for object in &mut objects {
                for name in ["target", "listen", "upstream", "text"] {
                    object.as_object_mut().unwrap().remove(name);
                }
            }
            objects
        };
        assert_eq!(strip(&before), strip(&after), "{ending}");
        let run = &after[0];
        assert_eq!(run["target"], "server.invalid");
        for name in ["server", "listen"] {
            assert!(run[name].as_str().unwrap().starts_with("192.0.2.1:"), "{run}");
        }
        scrub(&out, &again, &["--keep-text"], 0);
        assert!(fs::read(&again).unwrap() == written[0], "{ending}");
    }
}

#[test]
fn a_scrubbed_recording_of_teetap_is_still_a_capture_of_both_legs() {
    let (_folder, path) = place("given.pcapng");
    let out = path.with_file_name("out.pcapng");
    elsewhere(&path);
    scrub(&path, &out, &["--keep-text"], 0);
    let (given, found) = (
        capture::read_recording(&path).unwrap(),
        capture::read_recording(&out).unwrap(),
    );
    assert_eq!(given.len(), found.len(), "datagrams given and written");
    assert!(given.len() > 100, "{} datagrams", given.len());
    let mut changed = 0;
    for (given, found) in given.iter().zip(&found) {
        assert_eq!(
            (&given.interface, given.nanoseconds),
            (&found.interface, found.nanoseconds)
        );
        assert_eq!(
            (given.is_inbound, given.from.port()),
            (found.is_inbound, found.from.port())
        );
        assert_eq!(
            (found.from.ip(), found.to.ip()),
            (IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 1]))
        );
        assert_eq!(given.comment, found.comment);
        assert_eq!(given.payload.len(), found.payload.len());
        changed += usize::from(given.payload != found.payload);
    }
    // The identity of the DDNet bot, as received and as sent.
    assert_eq!(changed, 2);
    let dump = Command::new("tcpdump")
        .args(["-nn", "-vv", "-r"])
        .arg(&out)
        .output()
        .unwrap();
    let dump = String::from_utf8(dump.stdout).unwrap();
    assert_eq!(
        (dump.matches("udp sum ok").count(), dump.matches("bad").count()),
        (found.len(), 0)
    );
}

/// The names of players stay in snapshots of 0.6, as ints; the lines beside the packets do not show them as text.
#[test]
fn comments_name_no_player_of_a_snapshot() {
    for ending in ["pcapng", "jsonl"] {
        let (_folder, path) = place("given");
        let path = path.with_extension(ending);
        let out = path.with_file_name("out");
        let rule = "set cl_start_info.name = \"zqx7name\" when cl_start_info";
        let mut command = teetap();
        let args = ["demo", "--seconds", "2", "-q", "-l", ":0", "-r", rule, "-w"];
        run(command.args(args).arg(&path), 0);
        assert!(holds(&[fs::read(&path).unwrap()], b"zqx7name"), "{ending}");
        scrub(&path, &out, &[], 0);
        assert!(!holds(&[fs::read(&out).unwrap()], b"zqx7name"), "{ending}");
        let kept = path.with_file_name("kept");
        scrub(&path, &kept, &["--keep-text"], 0);
        assert!(holds(&[fs::read(&kept).unwrap()], b"zqx7name"), "{ending}");
    }
}

#[test]
fn keep_unknown_keeps_unknown_messages() {
    let npm = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures/npm-to-dd16.pcap");
    let (_folder, path) = place("out.pcap");
    // The first message of the library, with a different UUID.
    let given = path.with_file_name("given.pcap");
    let mut bytes = fs::read(npm).unwrap();
    let known = b"\x5f\x55\xa0\x86https://www.npmjs.com";
    let at = bytes.windows(known.len()).position(|part| part == known).unwrap();
    bytes[at + 3] = 0x87;
    fs::write(&given, bytes).unwrap();
    let kept = path.with_file_name("kept.pcap");
    // After an unknown UUID; in other messages the text is in a field.
    let url = b"\xa0\x87https://www.npmjs.com";
    let stderr = scrub(&given, &path, &[], 0);
    assert!(stderr.contains("1 message that is not fully known"), "{stderr}");
    let stderr = scrub(&given, &kept, &["--keep-unknown"], 0);
    assert!(!stderr.contains("known"), "{stderr}");
    let found = [&given, &kept, &path].map(|path| holds(&everything(path), url));
    assert_eq!(
        found,
        [true, true, false],
        "the address in the given file, with --keep-unknown, without"
    );
}

#[test]
fn a_damaged_recording_is_scrubbed_up_to_the_damage() {
    let whole = relocated("dd-session");
    let (_folder, path) = place("cut.pcap");
    let out = path.with_file_name("out.pcap");
    fs::write(&path, &whole[..20_000]).unwrap();
    let stderr = scrub(&path, &out, &[], 5);
    assert!(
        stderr.contains("warning: ") && stderr.contains("is truncated: the item at byte 1"),
        "{stderr}"
    );
    assert!(stderr.contains(" packets written to "), "{stderr}");
    let count = capture::read(&out).unwrap().len();
    assert!(count > 100, "{count} datagrams are left");
    for ending in ["pcapng", "jsonl"] {
        let (given, out) = (
            path.with_extension(ending),
            path.with_file_name("o").with_extension(ending),
        );
        elsewhere(&given);
        let bytes = fs::read(&given).unwrap();
        fs::write(&given, &bytes[..bytes.len() - 9]).unwrap();
        let stderr = scrub(&given, &out, &[], 5);
        assert!(stderr.contains("is truncated"), "{ending}: {stderr}");
        let count = open(&out, &[]).len();
        assert!(count > 20, "{ending}: {count} lines are left");
    }
}

#[test]
fn a_refused_scrub_prints_one_line_and_leaves_no_file() {
    let given = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures/dd-session.pcap");
    let (_folder, path) = place("file");
    let out = path.with_file_name("out");
    let refused = |args: &[&Path], more: &[&str], code, fragment: &str| {
        let (stdout, stderr) = run(teetap().arg("scrub").args(args).args(more), code);
        assert_eq!((stdout.as_str(), stderr.lines().count()), ("", 1), "{stderr}");
        assert!(stderr.contains(fragment), "{stderr}");
        assert!(!out.exists(), "a file was written: {stderr}");
    };
    let to = Path::new("-o");
    refused(&[&given], &[], 2, "--output <OUT>");
    refused(&[to, &out], &[], 2, "<FILE>");
    refused(&[Path::new("/no/such"), to, &out], &[], 2, "cannot open /no/such");
    refused(&[Path::new("/"), to, &out], &[], 2, "directory");
    refused(&[Path::new("/dev/zero"), to, &out], &[], 5, "not a recording");
    // The input is read twice; endless input is not copied.
    refused(
        &[Path::new("/dev/zero"), to, &out],
        &["--keep-text"],
        5,
        "not a recording",
    );
    refused(
        &[&given, to, Path::new("/no/such/out")],
        &[],
        3,
        "cannot write /no/such/out: No such file or directory (os error 2)\n",
    );
    refused(&[&given, to, Path::new("-")], &[], 2, "cannot write to stdout");
    let other = out.with_extension("jsonl");
    refused(
        &[&given, to, &other],
        &[],
        2,
        "scrub keeps the format of the input; name a .pcap",
    );
    for (option, value) in [("--filter", "c2s"), ("--until", "input"), ("-w", "x.jsonl")] {
        refused(&[&given, to, &out], &[option, value], 2, "takes no --");
    }
    // An existing file stays unchanged, even the recording itself.
    fs::copy(&given, &path).unwrap();
    refused(&[&path, to, &path], &[], 2, " exists; name another file");
    refused(&[&given, to, &path], &[], 2, " exists; name another file");
    let is_same = fs::read(&path).unwrap() == fs::read(&given).unwrap();
    assert!(is_same, "the existing file was changed");
    for (bytes, fragment) in [
        (&b""[..], "empty"),
        (b"hello", "not a recording"),
        (b"\xd4\xc3\xb2\xa1\x02\0", "is truncated"),
        (b"\x0a\x0d\x0d\x0a\x1c\0\0\0\0\0\0\0", "without its mark"),
        (b"{\"hello\":1}\n", "damaged at byte 0"),
        (
            b"{\"v\":1,\"t\":0.0,\"event\":\"gap\",\"lost\":1}\n",
            "does not begin with the start of a run",
        ),
    ] {
        fs::write(&path, bytes).unwrap();
        refused(&[&path, to, &out], &[], 5, fragment);
    }
}
