//! Floods of CONNECTs in real time, and exhausted descriptors: a client that can receive datagrams still joins.

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use teetap_kit::{
    binary::place,
    codec::{NO_TOKEN, Variant, control},
    real::Teetap,
};

use super::{Udp, sockets};
use crate::TEETAP;

/// One-way delay of the client's datagrams: a round trip of 100 ms.
const FAR: Duration = Duration::from_millis(50);

/// A flood of all kinds of CONNECT from addresses that never send twice. It ends when it is dropped.
struct Flood {
    ended: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Flood {
    /// Sends `per_second` datagrams per second.
    fn start(to: SocketAddr, per_second: u64) -> Self {
        let (ended, sent) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let (has_ended, count) = (Arc::clone(&ended), Arc::clone(&sent));
        let thread = thread::spawn(move || {
            let begun = Instant::now();
            let mut number = 0u32;
            while !has_ended.load(Ordering::Relaxed) {
                let due = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX) * per_second / 1000;
                while u64::from(number) < due {
                    number += 1;
                    let [_, a, b, c] = number.to_be_bytes();
                    let own = [a, b, c, 1];
                    let bytes = match number % 5 {
                        0 => control::connect(Variant::V6, own, NO_TOKEN),
                        1 => control::connect(Variant::V65, own, NO_TOKEN),
                        2 => control::connect(Variant::Ddnet, own, NO_TOKEN),
                        3 => control::token_request(own),
                        _ => control::connect(Variant::V7, own, [9, c, b, a]),
                    };
                    // A new socket for each datagram.
                    let from = (Ipv4Addr::new(127, a.wrapping_add(1), b, c), 0);
                    if UdpSocket::bind(from).is_ok_and(|socket| socket.send_to(&bytes, to).is_ok()) {
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                }
                thread::sleep(Duration::from_millis(1));
            }
        });
        Self {
            ended,
            sent,
            thread: Some(thread),
        }
    }

    fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

/// Checks that a distant client joins during a flood, at most `within` later than directly.
fn joins_in_a_flood(variant: Variant, per_second: u64, within: Duration) -> Result<()> {
    let mut direct = Udp::far(variant, variant, FAR)?;
    let by = direct.server_addr()?;
    let direct = direct.join_time(by)?;
    let mut udp = Udp::far(variant, variant, FAR)?;
    let teetap = Teetap::start(Path::new(TEETAP), udp.server_addr()?, &["-q"])?;
    let flood = Flood::start(teetap.listen(), per_second);
    // At full rate.
    let begun = Instant::now();
    udp.run(Duration::from_secs(3))?;
    let rate = flood.sent() * 1000 / u64::try_from(begun.elapsed().as_millis())?.max(1);
    ensure!(
        rate > per_second / 2,
        "{variant:?}: only {rate} datagrams in a second"
    );
    let through = udp.join_time(teetap.listen())?;
    drop(flood);
    ensure!(
        through <= direct + within,
        "{variant:?}: {through:?} in a flood of {rate} datagrams in a second, directly {direct:?}"
    );
    let open = sockets(teetap.id())?;
    ensure!(open <= 3 * 256 + 64 + 16, "{variant:?}: {open} sockets");
    Ok(())
}

/// With `TEETAP_LONG`, the flood sends 12 000 datagrams per second, and the client of each variant joins at most a
/// second later than directly.
#[test]
fn clients_join_during_a_flood() -> Result<()> {
    if std::env::var_os("TEETAP_LONG").is_none() {
        return joins_in_a_flood(Variant::Ddnet, 3000, Duration::from_secs(5));
    }
    for variant in [Variant::V6, Variant::V65, Variant::Ddnet, Variant::V7] {
        joins_in_a_flood(variant, 12_000, Duration::from_secs(1))?;
    }
    Ok(())
}

/// Maximum number of descriptors of the process: fewer than the flood needs.
const DESCRIPTORS: usize = 40;

#[test]
fn a_client_joins_when_descriptors_are_used_up() -> Result<()> {
    let (_folder, few) = place("few");
    fs::write(
        &few,
        format!("#!/bin/sh\nulimit -n {DESCRIPTORS}\nexec '{TEETAP}' \"$@\"\n"),
    )?;
    fs::set_permissions(&few, fs::Permissions::from_mode(0o755))?;
    for variant in [Variant::V6, Variant::V65, Variant::Ddnet, Variant::V7] {
        let mut udp = Udp::far(variant, variant, Duration::ZERO)?;
        let teetap = Teetap::start(&few, udp.server_addr()?, &[])?;
        // Strangers that never send again occupy all remaining descriptors; the server answers CONNECTs of their
        // kind.
        let strangers: Vec<UdpSocket> = (0..3 * DESCRIPTORS)
            .map(|_| UdpSocket::bind(("127.0.0.1", 0)))
            .collect::<std::io::Result<_>>()?;
        for (number, socket) in strangers.iter().enumerate() {
            socket.send_to(
                &control::connect(Variant::Ddnet, NO_TOKEN, NO_TOKEN),
                teetap.listen(),
            )?;
            udp.pace(number)?;
        }
        teetap.wait_for("the failure", |object| object["kind"] == "upstream_failed")?;
        let open = sockets(teetap.id())?;
        ensure!(
            open < DESCRIPTORS && open > DESCRIPTORS / 2,
            "{variant:?}: {open} sockets"
        );
        let took = udp.join_time(teetap.listen())?;
        ensure!(took < Duration::from_secs(5), "{variant:?}: {took:?}");
        teetap.notes()?;
    }
    Ok(())
}
