//! A flood of first datagrams, each from a port of its own, beside a joined session.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use teetap_kit::codec::{NO_TOKEN, Variant, control};

use super::{Bench, Run};
use crate::load::{Load, Plan, Spread, join};
use crate::proc;
use crate::stats::{Report, number};
use crate::subject::Which;
use crate::traffic::Traffic;

/// The variants whose first datagrams are sent: CONNECT, or in 0.7 the token request.
const FLOODS: [(Variant, &str); 4] = [
    (Variant::V6, "0.6"),
    (Variant::V65, "0.6.5"),
    (Variant::Ddnet, "DDNet"),
    (Variant::V7, "0.7"),
];
/// Number of ports used of each address.
const PORTS: u32 = 50_000;
const FIRST_PORT: u32 = 10_000;
/// Time for which the session continues after the flood.
const AFTERWARDS: Duration = Duration::from_secs(1);
/// Token that the server assigns to every client.
const SERVER_TOKEN: [u8; 4] = [7, 1, 2, 3];
const MIB: f64 = 1024.0 * 1024.0;

/// The sender of a flood.
struct Flood {
    datagram: Vec<u8>,
    to: SocketAddr,
    start: Instant,
    time: Duration,
    count: u32,
    sent: u32,
    /// Number of addresses that could not be bound.
    skipped: u32,
}

/// Measures, and prints the results.
pub(crate) fn measure(run: &Run, report: &mut Report) -> Result<()> {
    let (count, time) = (
        run.either(100_000, 20_000),
        Duration::from_secs(run.either(10, 2)),
    );
    report.line(&format!(
        "\nFlood: {count} first datagrams from distinct ports in {time:?}, a session in play beside it"
    ));
    report.line("| first datagrams | sent | memory growth MiB | upstream sockets | lost in play | a new client joins in | goals |");
    report.line("|---|---|---|---|---|---|---|");
    for (variant, name) in FLOODS {
        let dialect = if variant.is_seven() {
            Variant::V7
        } else {
            Variant::Ddnet
        };
        let traffic = Traffic::new(dialect);
        let plan = Plan::new(&traffic, 1);
        let bench = run.bench(Which::Teetap, &plan)?;
        let flood = Flood {
            datagram: first(variant),
            to: bench.subject.addr,
            start: Instant::now(),
            time,
            count,
            sent: 0,
            skipped: 0,
        };
        one(bench, flood, &plan, name, report)?;
    }
    Ok(())
}

fn one(mut bench: Bench, mut flood: Flood, plan: &Plan<'_>, name: &str, report: &mut Report) -> Result<()> {
    let subject = bench.subject;
    let server = bench.load.server().addr()?;
    await_probe(server)?;
    let (before, _) = subject.memory()?;
    let mut most = 0;
    let mut looked = Instant::now();
    flood.start = Instant::now();
    bench.load.paced(flood.time + AFTERWARDS, Spread::Even, |load| {
        flood.go_on()?;
        answer(load)?;
        // Only after the flood, because the kernel's table lists some sockets twice while sockets are opened and
        // closed.
        if flood.is_over() && looked.elapsed() > Duration::from_millis(100) {
            looked = Instant::now();
            most = most.max(proc::upstream_sockets(server)?);
        }
        Ok(())
    })?;
    let tally = bench.load.take_tally();
    let (_, highest) = subject.memory()?;
    let growth = number(highest.saturating_sub(before)) / MIB;
    // The new client's server has the same address, because the proxy knows only this one.
    let begun = Instant::now();
    let newcomer = Plan { sessions: 1, ..*plan };
    let socket = bench.load.into_server();
    let load = join(&newcomer, socket, subject.addr).context("no client can join after the flood")?;
    let took = begun.elapsed().as_secs_f64();
    drop(load);
    let lost = number(tally.lost + tally.wrong);
    // The joined session also has a socket.
    let upstream = number(u64::try_from(most)?) - 1.0;
    let words = [
        report.at_most(&format!("flood of {name}: memory growth in MiB"), growth, 16.0),
        report.at_most(&format!("flood of {name}: upstream sockets"), upstream, 256.0),
        report.at_most(&format!("flood of {name}: lost in play"), lost, 0.0),
        report.at_most(&format!("flood of {name}: seconds to join"), took, 2.0),
    ];
    report.line(&format!(
        "| {name} | {} | **{growth:.1}** | **{upstream:.0}** | **{lost:.0}** of {} | {:.0} ms | {} |",
        flood.sent,
        tally.sent,
        took * 1000.0,
        words.join(", ")
    ));
    Ok(())
}

/// Waits until the program has closed the socket with which it queries the server once, at most 3 s.
fn await_probe(server: SocketAddr) -> Result<()> {
    for _ in 0..60 {
        if proc::upstream_sockets(server)? == 1 {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    bail!("the session in play should have the only socket towards the server")
}

impl Flood {
    fn is_over(&self) -> bool {
        self.sent == self.count
    }

    /// Sends the datagrams that are due.
    fn go_on(&mut self) -> Result<()> {
        let share = self.start.elapsed().as_secs_f64() / self.time.as_secs_f64();
        while self.sent < self.count && f64::from(self.sent) < share * f64::from(self.count) {
            let number = self.sent + self.skipped;
            let host = u8::try_from(number / PORTS)?;
            let port = u16::try_from(FIRST_PORT + number % PORTS)?;
            // If the port is in use, the next one is tried.
            match UdpSocket::bind((Ipv4Addr::new(127, 1, 0, host + 1), port)) {
                Ok(socket) => {
                    socket.send_to(&self.datagram, self.to)?;
                    self.sent += 1;
                }
                Err(_) => self.skipped += 1,
            }
        }
        Ok(())
    }
}

/// Answers each CONNECT from an address without a session with a CONNECTACCEPT.
fn answer(load: &mut Load) -> Result<()> {
    for (port, bytes) in load.take_strangers() {
        let Some(variant @ (Variant::V6 | Variant::V65 | Variant::Ddnet)) = control::offered(&bytes) else {
            continue;
        };
        let client = bytes.get(8..12).and_then(|token| token.try_into().ok());
        let reply = control::connect_accept(variant, client.unwrap_or(NO_TOKEN), SERVER_TOKEN);
        load.server().udp().send_to(&reply, (Ipv4Addr::LOCALHOST, port))?;
    }
    Ok(())
}

fn first(variant: Variant) -> Vec<u8> {
    const OWN: [u8; 4] = [1, 2, 3, 4];
    if variant.is_seven() {
        control::token_request(OWN)
    } else {
        control::connect(variant, OWN, NO_TOKEN)
    }
}
