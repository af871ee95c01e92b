//! `teetap open FILE -w OUT`: the capture again, with the messages of each packet in its comment.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use teetap_kit::binary::{self, objects, place};

use crate::{TEETAP, refused, run};

const SESSION: &str = "tests/captures/tw07-session.pcap";

/// A packet: interface, raw time, lengths, bytes, comments.
type Packet = (u32, u64, u32, u32, Vec<u8>, Vec<String>);

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// Returns the packets of a little-endian pcap file with microseconds.
fn pcap(path: &Path) -> Vec<Packet> {
    let bytes = fs::read(path).unwrap();
    assert_eq!(u32_at(&bytes, 0), 0xa1b2_c3d4, "{}", path.display());
    let mut at = 24;
    let mut packets = Vec::new();
    while at < bytes.len() {
        let [seconds, micros, length, whole] = [0, 4, 8, 12].map(|field| u32_at(&bytes, at + field));
        let end = at + 16 + length as usize;
        let time = u64::from(seconds) * 1_000_000 + u64::from(micros);
        packets.push((0, time, length, whole, bytes[at + 16..end].to_vec(), Vec::new()));
        at = end;
    }
    packets
}

/// Returns the packets of a little-endian pcapng file.
fn pcapng(path: &Path) -> Vec<Packet> {
    let bytes = fs::read(path).unwrap();
    let mut rest = &bytes[..];
    let mut packets = Vec::new();
    while !rest.is_empty() {
        let (block, next) = rest.split_at(u32_at(rest, 4) as usize);
        rest = next;
        if u32_at(block, 0) != 6 {
            continue;
        }
        let length = u32_at(block, 20);
        let time = u64::from(u32_at(block, 12)) << 32 | u64::from(u32_at(block, 16));
        let end = 28 + length as usize;
        let mut at = end.next_multiple_of(4);
        let mut comments = Vec::new();
        while at < block.len() - 4 && u32_at(block, at) != 0 {
            let option = u32_at(block, at);
            let value = at + 4..at + 4 + (option >> 16) as usize;
            if option & 0xffff == 1 {
                comments.push(String::from_utf8(block[value.clone()].to_vec()).unwrap());
            }
            at = value.end.next_multiple_of(4);
        }
        let packet = (u32_at(block, 8), time, length, u32_at(block, 24));
        packets.push((
            packet.0,
            packet.1,
            packet.2,
            packet.3,
            block[28..end].to_vec(),
            comments,
        ));
    }
    packets
}

#[test]
fn each_message_is_in_the_comment_of_its_packet_and_nothing_else_changes() {
    let folders = ["tests/captures", "museum"].map(|folder| fs::read_dir(folder).unwrap());
    let files = folders.into_iter().flatten().map(|file| file.unwrap().path());
    let captures = files.filter(|path| path.extension().is_some_and(|ending| ending == "pcap"));
    let mut count = 0;
    for path in captures {
        let (_folder, out) = place("annotated.pcapng");
        let (name, output) = (path.to_str().unwrap(), out.to_str().unwrap());
        let (stdout, stderr) = run(&["open", name, "-w", output], 0);
        assert_eq!((&*stdout, stderr.lines().count()), ("", 1), "{stderr}");
        let annotated = pcapng(&out);
        let without: Vec<Packet> = annotated
            .iter()
            .cloned()
            .map(|mut packet| {
                packet.5.clear();
                packet
            })
            .collect();
        assert!(without == pcap(&path), "{name}: the packets differ");
        let (found, _) = run(&["grep", "--json", "c2s or s2c", name], 0);
        let mut messages: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        for object in objects(&found)
            .iter()
            .filter(|object| object["event"] == "message")
        {
            let unknown = || format!("{}.{}", object["layer"].as_str().unwrap(), object["id"]);
            let message = object["name"].as_str().map_or_else(unknown, str::to_owned);
            messages
                .entry(object["frame"].as_u64().unwrap())
                .or_default()
                .push(message);
        }
        for (number, packet) in (1..).zip(&annotated) {
            let lines: Vec<&str> = packet.5.iter().flat_map(|comment| comment.lines()).collect();
            assert!(packet.5.len() <= 1, "{name} {number}: {:?}", packet.5);
            let expected = messages.remove(&number).unwrap_or_default();
            // A datagram without messages has a line of its own.
            let of_messages = lines.iter().filter(|line| !line.contains(" datagram "));
            let found: Vec<&&str> = of_messages.collect();
            assert_eq!(
                found.len(),
                expected.len(),
                "{name} {number}: {lines:?} {expected:?}"
            );
            for (line, message) in found.iter().zip(&expected) {
                assert!(
                    line.split_whitespace().any(|word| word == message),
                    "{line}: {message}"
                );
                count += 1;
            }
        }
        assert!(messages.is_empty(), "{name}: {messages:?}");
    }
    assert!(count > 10_000, "{count} messages");
}

#[test]
fn an_annotated_capture_stays_as_it_is_and_hides_secrets() {
    let (_folder, first) = place("a.pcapng");
    let again = first.with_file_name("b.pcapng");
    let [one, two] = [&first, &again].map(|path| path.to_str().unwrap());
    let capture = "tests/captures/rich-dd16.pcap";
    run(&["open", capture, "-w", one], 0);
    let (_, stderr) = run(&["open", one, "-w", two], 0);
    assert!(stderr.contains(", 0 new comments, "), "{stderr}");
    assert!(
        fs::read(&first).unwrap() == fs::read(&again).unwrap(),
        "the second copy differs"
    );
    let comments = |path: &Path| {
        let packets = pcapng(path).into_iter();
        packets.flat_map(|packet| packet.5).collect::<Vec<_>>().join("\n")
    };
    let hidden = comments(&first);
    fs::remove_file(&again).unwrap();
    run(&["open", capture, "--show-secrets", "-w", two], 0);
    let shown = comments(&again);
    assert!(
        hidden.contains("•••") && !shown.contains("•••"),
        "nothing is hidden"
    );
}

/// The files are new or stay as they were, and a pipe needs no terminal.
#[test]
fn nothing_is_overwritten_and_damage_leaves_whole_packets() {
    let (_folder, path) = place("in.pcapng");
    let out = path.with_file_name("out.pcapng");
    let [input, output] = [&path, &out].map(|path| path.to_str().unwrap());
    run(&["open", SESSION, "-w", input], 0);
    let whole = fs::read(&path).unwrap();
    refused(&["open", input, "-w", input], 2, "exists; name another file");
    assert!(fs::read(&path).unwrap() == whole, "the input has changed");
    refused(&["open", input, "-w", "out.pcap"], 2, "name a .pcapng file");
    refused(
        &["open", input, "-w", output, "-f", "c2s"],
        2,
        "cannot be used with",
    );
    refused(&["open", input, "-w", "/no/such/out.pcapng"], 3, "cannot write");
    fs::write(&path, &whole[..whole.len() - 50]).unwrap();
    let (_, stderr) = run(&["open", input, "-w", output], 5);
    assert!(
        stderr.contains("warning: ") && stderr.contains("is truncated"),
        "{stderr}"
    );
    assert_eq!(pcapng(&out).len(), pcap(Path::new(SESSION)).len() - 1);
    let lines = path.with_file_name("in.jsonl");
    fs::write(&lines, "{\"v\":2,\"t\":0.0,\"event\":\"start\"}\n").unwrap();
    refused(
        &["open", lines.to_str().unwrap(), "-w", "o.pcapng"],
        2,
        "JSON lines have no packets",
    );
    let script = "set -o pipefail; cat \"$1\" | \"$0\" open - -w - | head -c 100 | wc -c";
    let mut command = Command::new("bash");
    let (count, _) = binary::run(command.args(["-c", script, TEETAP, SESSION]), 0);
    assert_eq!(count.trim(), "100");
}

/// The option of `teetap HOST` with the same name is another one.
#[test]
fn a_configured_recording_is_not_an_annotation() {
    let (folder, path) = place("config.toml");
    let config = folder.path().join("teetap");
    fs::create_dir(&config).unwrap();
    fs::write(config.join("config.toml"), "write = \"run.pcapng\"\n").unwrap();
    let rules = path.with_file_name("rules.tap");
    fs::write(&rules, "drop when sv_chat\n").unwrap();
    for args in [["open", SESSION], ["fmt", rules.to_str().unwrap()]] {
        let mut command = crate::teetap();
        command.args(args).env("XDG_CONFIG_HOME", folder.path());
        command.env("TEETAP_WRITE", "other.pcapng");
        let (stdout, stderr) = binary::run(&mut command, 0);
        assert!(!stdout.is_empty(), "{stderr}");
    }
}
