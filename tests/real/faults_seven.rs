//! The client of Teeworlds 0.7.5 with one fault each, which a relay before the proxy adds to its datagrams.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};
use teetap_kit::real::{Player as _, TeeworldsClient, TeeworldsServer, turn};

use crate::faults::{Run, try_all};

/// The time for which a client plays, or tries to. It draws its first frame in this time, which occupies a core:
/// these tests run alone.
const PLAYS: Duration = Duration::from_secs(5);

/// Interval at which a socket that received nothing checks for the end.
const LOOK: Duration = Duration::from_millis(20);

/// The header flag of a packet with compressed data.
const COMPRESSED: u8 = 0x10;

/// A fault: its name, its effect on a datagram with messages, and the code of its note and of the first finding.
type Fault = (&'static str, fn(&mut Vec<u8>), &'static str);

const FAULTS: &[Fault] = &[
    ("wrong token", |bytes| bytes[3] ^= 0x55, "wrong-token"),
    ("ack stuck", |bytes| set_ack(bytes, 0), "ack-stuck"),
    (
        "ack ahead",
        |bytes| {
            let ahead = ack(bytes) + 40;
            set_ack(bytes, ahead);
        },
        "ack-ahead",
    ),
    (
        "one chunk too many",
        |bytes| bytes[2] += 1,
        "chunk-count-too-high",
    ),
    (
        "plain as compressed",
        |bytes| bytes[0] |= COMPRESSED,
        "bad-huffman",
    ),
    (
        "number from zero",
        |bytes| number(bytes, |seq| seq.wrapping_sub(1)),
        "seq-behind",
    ),
    ("not vital", |bytes| not_vital(bytes), "not-vital"),
];

fn ack(bytes: &[u8]) -> u16 {
    u16::from_be_bytes([bytes[0] & 3, bytes[1]])
}

fn set_ack(bytes: &mut [u8], ack: u16) {
    let [high, low] = ack.to_be_bytes();
    bytes[0] = bytes[0] & 0xfc | high & 3;
    bytes[1] = low;
}

/// Returns true if the first chunk is vital and not compressed.
fn is_vital(bytes: &[u8]) -> bool {
    bytes[0] & COMPRESSED == 0 && bytes.len() > 9 && bytes[7] & 0x40 != 0
}

/// Changes the sequence number of the first chunk.
fn number(bytes: &mut [u8], change: fn(u16) -> u16) {
    if is_vital(bytes) {
        let [high, low] = change(u16::from_be_bytes([bytes[8] >> 6, bytes[9]])).to_be_bytes();
        bytes[8] = bytes[8] & 0x3f | high << 6;
        bytes[9] = low;
    }
}

fn not_vital(bytes: &mut Vec<u8>) {
    if is_vital(bytes) {
        bytes[7] &= !0x40;
        bytes.remove(9);
    }
}

/// Relays datagrams between a client and the proxy while `play` runs, and applies the fault to the client's
/// datagrams.
fn with_fault(
    fault: fn(&mut Vec<u8>),
    proxy: SocketAddr,
    play: impl FnOnce(SocketAddr) -> Result<()>,
) -> Result<()> {
    let near = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let far = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    far.connect(proxy)?;
    near.set_read_timeout(Some(LOOK))?;
    far.set_read_timeout(Some(LOOK))?;
    let (client, is_over) = (Mutex::new(None), AtomicBool::new(false));
    let to_proxy = || {
        let mut buffer = [0; 2048];
        while !is_over.load(Ordering::Relaxed) {
            let Ok((len, from)) = near.recv_from(&mut buffer) else {
                continue;
            };
            *client.lock().unwrap() = Some(from);
            let mut bytes = buffer[..len].to_vec();
            // Neither a control message nor a connless one.
            if len > 7 && bytes[0] & 0x24 == 0 {
                fault(&mut bytes);
            }
            // The proxy may have ended.
            let _sent = far.send(&bytes);
        }
    };
    let to_client = || {
        let mut buffer = [0; 2048];
        while !is_over.load(Ordering::Relaxed) {
            let Ok(len) = far.recv(&mut buffer) else { continue };
            let client = *client.lock().unwrap();
            if let Some(client) = client {
                let _sent = near.send_to(&buffer[..len], client);
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(to_proxy);
        scope.spawn(to_client);
        let played = near.local_addr().map_err(Into::into).and_then(play);
        is_over.store(true, Ordering::Relaxed);
        played
    })
}

fn play(fault: fn(&mut Vec<u8>), server: &TeeworldsServer) -> Result<Run> {
    Run::of(server, "keepalive-late", |teetap| {
        with_fault(fault, teetap.listen(), |near| {
            let mut client = TeeworldsClient::offscreen("faulty", near)?;
            thread::sleep(PLAYS);
            client.quit()
        })
    })
}

#[test]
fn each_fault_of_a_client_of_0_7_is_named() -> Result<()> {
    let _turn = turn::alone()?;
    let server = TeeworldsServer::start(&[])?;
    let wrong = try_all(FAULTS, |(name, fault, code)| {
        let run = play(*fault, &server);
        let is_named = run
            .as_ref()
            .is_ok_and(|run| run.names(&(*name, *code, "", *code)));
        (!is_named).then(|| format!("{name}: not {code}: {run:?}"))
    });
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn a_client_of_0_7_without_a_fault_is_not_accused() -> Result<()> {
    let _turn = turn::alone()?;
    let server = TeeworldsServer::start(&[])?;
    let run = play(|_| {}, &server)?;
    ensure!(run.is_clean(), "{run:?}");
    Ok(())
}
