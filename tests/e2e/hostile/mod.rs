//! Hostile datagrams sent through the built binary to scripted peers of every kind.

mod floods;
mod udp;

use std::net::UdpSocket;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use teetap_kit::codec::{NO_TOKEN, Variant, control};
use teetap_kit::hostile::{self, Shown};
use teetap_kit::real::{PATIENCE, Teetap};

use crate::TEETAP;
pub(crate) use udp::Udp;

/// Maximum memory growth of the proxy during the attack, in KiB: the ring of events fills, which is 16 MiB for
/// ordinary events, but some events here are as long as possible.
const MAY_GROW: u64 = 48 * 1024;

/// Creates hostile datagrams from the state that an end shows and the last datagram that it sent.
type Volley = fn(Shown, &[u8]) -> Vec<Vec<u8>>;

/// Counts the sockets of a process among its descriptors.
fn sockets(pid: u32) -> Result<usize> {
    let mut count = 0;
    for entry in std::fs::read_dir(format!("/proc/{pid}/fd"))? {
        // A socket that is closed meanwhile is not counted.
        let link = entry.and_then(|entry| std::fs::read_link(entry.path()));
        count += usize::from(link.is_ok_and(|link| link.to_string_lossy().starts_with("socket:")));
    }
    Ok(count)
}

/// Lets both sides and strangers send all hostile datagrams to a session of scripted peers; the session must
/// continue.
fn scripted(client: Variant, server: Variant) -> Result<()> {
    let mut udp = Udp::new(client, server)?;
    let teetap = Teetap::start(Path::new(TEETAP), udp.server_addr()?, &[])?;
    udp.join(teetap.listen())?;
    let before = (sockets(teetap.id())?, teetap.resident()?);
    let stranger = UdpSocket::bind(("127.0.0.1", 0))?;
    let volleys: [Volley; 8] = [
        |_, _| hostile::every_first_byte(),
        |_, last| hostile::truncated(last),
        |_, last| hostile::oversized(last),
        |shown, _| hostile::bombs(shown),
        |shown, _| hostile::wrong_tokens(shown),
        |shown, _| hostile::every_ack(shown),
        |shown, _| hostile::every_close(shown),
        |shown, _| hostile::every_number(shown),
    ];
    for volley in volleys {
        // Until everything is acked, more than one ack is valid.
        udp.run(Duration::from_millis(1200))?;
        let (up, down) = (
            volley(udp.shown_up(), &udp.last_up),
            volley(udp.shown_down()?, &udp.last_down),
        );
        for (number, bytes) in up.iter().enumerate() {
            udp.throw_up(bytes)?;
            // A stranger's datagrams belong to its own address; the kernel accepts only the server's datagrams on the
            // upstream socket.
            stranger.send_to(bytes, teetap.listen())?;
            stranger.send_to(bytes, udp.upstream()?)?;
            udp.pace(number)?;
        }
        for (number, bytes) in down.iter().enumerate() {
            udp.throw_down(bytes)?;
            udp.pace(number)?;
        }
        udp.throw_up(&[])?;
        udp.throw_down(&[])?;
        udp.talk()?;
    }
    let most = before.0 + 8;
    let (now, grown) = (sockets(teetap.id())?, teetap.resident()?.saturating_sub(before.1));
    ensure!(now <= most, "{now} sockets after {}", before.0);
    ensure!(grown <= MAY_GROW, "grown by {grown} KiB");
    let noted = teetap.notes()?;
    let mut expected = vec!["too-short", "bad-huffman", "oversized"];
    if client != Variant::V6 {
        expected.push("wrong-token");
    }
    expected.extend(["ack-ahead", "ack-behind"]);
    for code in expected {
        let found = noted.iter().any(|noted| noted == code);
        // Oversized datagrams of 0.6.4 and 0.6.5 are refused because of their effect on the receivers.
        let instead = code == "oversized" && noted.iter().any(|noted| noted == "payload-oversized");
        let by_token = code == "oversized" && client == Variant::Ddnet;
        ensure!(found || instead || by_token, "{code} is not in {noted:?}");
    }
    Ok(())
}

#[test]
fn peers_without_tokens_continue() -> Result<()> {
    scripted(Variant::V6, Variant::V6)
}

#[test]
fn peers_of_0_6_5_continue() -> Result<()> {
    scripted(Variant::V65, Variant::V65)
}

#[test]
fn ddnet_peers_continue() -> Result<()> {
    scripted(Variant::Ddnet, Variant::Ddnet)
}

#[test]
fn peers_of_0_7_continue() -> Result<()> {
    scripted(Variant::V7, Variant::V7)
}

/// Maximum number of half-open sessions.
const HALF_OPEN: usize = 256;

/// Half-open sessions and browser relays are bounded, and relays end. A session waits for its client for two minutes,
/// which tests of the core check.
#[test]
fn sockets_are_bounded() -> Result<()> {
    let mut udp = Udp::new(Variant::Ddnet, Variant::Ddnet)?;
    let teetap = Teetap::start(Path::new(TEETAP), udp.server_addr()?, &[])?;
    udp.join(teetap.listen())?;
    let before = sockets(teetap.id())?;
    let strangers: Vec<UdpSocket> = (0..500)
        .map(|_| UdpSocket::bind(("127.0.0.1", 0)))
        .collect::<std::io::Result<_>>()?;
    for (number, socket) in strangers.iter().enumerate() {
        socket.send_to(
            &control::connect(Variant::Ddnet, NO_TOKEN, NO_TOKEN),
            teetap.listen(),
        )?;
        socket.send_to(
            b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xffgie3\x01",
            teetap.listen(),
        )?;
        udp.pace(number)?;
    }
    udp.talk()?;
    let full = sockets(teetap.id())?;
    ensure!(
        (before + 300..=before + HALF_OPEN + 64).contains(&full),
        "{full} sockets, {before} before"
    );
    let deadline = Instant::now() + PATIENCE;
    while sockets(teetap.id())? > before + HALF_OPEN {
        ensure!(
            Instant::now() < deadline,
            "{} sockets stay",
            sockets(teetap.id())?
        );
        udp.run(Duration::from_millis(200))?;
    }
    udp.talk()?;
    teetap.notes()?;
    Ok(())
}
