//! Recordings to scrub, and helpers that search the results.

use std::{collections::BTreeSet, fs, net::SocketAddr, path::Path};

use serde_json::Value;
use teetap_kit::{
    binary::{objects, run},
    capture::{self, Packet},
    huffman,
};

use crate::teetap;

/// Public addresses that replace the recordings' 127.0.0.1 for a client and a server.
pub(crate) const CLIENT: [u8; 4] = [84, 11, 2, 3];
pub(crate) const SERVER: [u8; 4] = [93, 41, 5, 6];
/// Hardware addresses of the client's and the server's network cards.
pub(crate) const CARDS: [u8; 12] = [0, 0x1b, 0x21, 1, 2, 3, 0, 0x1b, 0x21, 4, 5, 6];

pub(crate) fn scrub(path: &Path, out: &Path, args: &[&str], code: i32) -> String {
    let mut command = teetap();
    let (stdout, stderr) = run(command.arg("scrub").arg(path).arg("-o").arg(out).args(args), code);
    assert_eq!(stdout, "");
    stderr
}

pub(crate) fn open(path: &Path, args: &[&str]) -> Vec<Value> {
    let (stdout, _) = run(teetap().arg("open").arg(path).arg("--json").args(args), 0);
    objects(&stdout)
}

fn checksum(bytes: &[u8]) -> [u8; 2] {
    let words = bytes.chunks(2).map(|pair| {
        let low = pair.get(1).copied().unwrap_or_default();
        u64::from(u16::from_be_bytes([pair[0], low]))
    });
    let mut sum: u64 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!u16::try_from(sum).unwrap()).to_be_bytes()
}

/// Returns a frame with right checksums.
fn frame(packet: &Packet, is_client: impl Fn(SocketAddr) -> bool) -> Vec<u8> {
    let [from, to] = [packet.from, packet.to].map(|end| if is_client(end) { CLIENT } else { SERVER });
    let length = u16::try_from(8 + packet.payload.len()).unwrap();
    let mut ip = vec![0x45, 0];
    ip.extend((length + 20).to_be_bytes());
    ip.extend([0x12, 0x34, 0x40, 0, 64, 17, 0, 0]);
    ip.extend([from, to].concat());
    let sum = checksum(&ip);
    ip[10..12].copy_from_slice(&sum);
    let mut udp = [packet.from.port(), packet.to.port(), length, 0]
        .map(u16::to_be_bytes)
        .concat();
    udp.extend(&packet.payload);
    let pseudo = [&[from, to].concat(), &[0, 17][..], &length.to_be_bytes(), &udp].concat();
    udp[6..8].copy_from_slice(&checksum(&pseudo));
    [&CARDS[..], &[8, 0], &ip, &udp].concat()
}

/// Returns the recording as pcap with addresses that identify somebody.
pub(crate) fn relocated(name: &str) -> Vec<u8> {
    let packets = capture::recorded(name).unwrap();
    let flows = capture::flows(packets.clone());
    let clients: BTreeSet<SocketAddr> = flows.iter().map(|flow| flow.client).collect();
    let mut file = [
        [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0],
        [0; 8],
        [0, 0, 4, 0, 1, 0, 0, 0],
    ]
    .concat();
    for packet in &packets {
        let frame = frame(packet, |end| clients.contains(&end));
        let len = frame.len() as u64;
        for number in [packet.time / 1_000_000, packet.time % 1_000_000, len, len] {
            file.extend(u32::try_from(number).unwrap().to_le_bytes());
        }
        file.extend(frame);
    }
    file
}

/// Returns the text of all fields that are shown only with `--show-secrets`.
pub(crate) fn secrets(hidden: &[Value], shown: &[Value]) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    assert_eq!(hidden.len(), shown.len());
    for (hidden, shown) in hidden.iter().zip(shown) {
        let Some(fields) = hidden["fields"].as_object() else {
            continue;
        };
        for (name, value) in fields {
            let (dots, text) = (value.as_str(), shown["fields"][name].as_str());
            let Some((before, text)) = dots.and_then(|dots| dots.strip_suffix("•••")).zip(text) else {
                continue;
            };
            let message = shown["name"].as_str().unwrap();
            found.insert((
                message.to_owned(),
                text[before.trim_end().len()..].trim_start().to_owned(),
            ));
        }
    }
    found
}

/// Returns all bytes in which something could be left: the file, and the contents of compressed packets.
pub(crate) fn everything(path: &Path) -> Vec<Vec<u8>> {
    let mut all = vec![fs::read(path).unwrap()];
    for packet in capture::read(path).unwrap() {
        for header in [3, 7] {
            let inflated = packet
                .payload
                .get(header..)
                .and_then(|rest| huffman::decompress(rest, 1400));
            all.extend(inflated);
        }
    }
    all
}

/// Returns the parts of the lines of `open` that must not change.
pub(crate) fn essence(objects: &[Value]) -> Vec<Value> {
    let mut objects: Vec<Value> = objects.to_vec();
    for object in &mut objects {
        let is_datagram = object["event"] == "datagram";
        let object = object.as_object_mut().unwrap();
        for name in ["hex", "hex_out", "file", "client", "server", "bytes"] {
            object.remove(name);
        }
        // A compressed datagram may have another length.
        if is_datagram {
            object.remove("size");
            object.remove("sizes_out");
        }
        let notes = object.get_mut("notes").and_then(Value::as_array_mut);
        for note in notes.into_iter().flatten() {
            // Surplus bytes are replaced.
            if note["code"] == "surplus-bytes" {
                let note = note.as_object_mut().unwrap();
                note.remove("detail");
                note.remove("got");
            }
        }
    }
    objects
}

/// Writes a recording by teetap from another place: of the server `alic`, at 84.11.2.3.
pub(crate) fn elsewhere(path: &Path) {
    let mut command = teetap();
    run(
        command
            .args(["demo", "--seconds", "1", "-q", "-l", ":0", "-w"])
            .arg(path),
        0,
    );
    let mut bytes = fs::read(path).unwrap();
    for (old, new) in [
        (&b"127.0.0.1"[..], &b"84.11.2.3"[..]),
        (&[127, 0, 0, 1], &CLIENT),
        (b"\"target\":\"demo\"", b"\"target\":\"alic\""),
        (b"server demo (", b"server alic ("),
        (b"the demo succeeded", b"the alic succeeded"),
    ] {
        let places: Vec<usize> = (0..bytes.len() - old.len())
            .filter(|at| bytes[*at..].starts_with(old))
            .collect();
        for at in places {
            bytes[at..at + new.len()].copy_from_slice(new);
        }
    }
    fs::write(path, bytes).unwrap();
}
