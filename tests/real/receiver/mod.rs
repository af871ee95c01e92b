//! Compares the table of receivers (`teetap_wire::receiver`) with real servers: thousands of damaged datagrams of a
//! live session, each followed by a probe that makes the server show its state.
//!
//! Law: the peers build and read datagrams with the kit's own codec; only the prediction comes from the product.

mod compare;
mod join;
mod mutation;
mod peer;
mod stranger;

use std::net::SocketAddr;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use teetap_kit::codec::Variant;
use teetap_kit::link::Random;
use teetap_kit::real::{DdnetServer, Server, TeeworldsServer, turn};
use teetap_wire::Side;
use teetap_wire::receiver::{Leg, Receiver, Release};

use mutation::{Case, case};
use peer::{Peer, Seen};

/// Number of clients that play in parallel.
const CLIENTS: u64 = 16;

/// A server and the protocol that the clients speak to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub(crate) variant: Variant,
    pub(crate) addr: SocketAddr,
    pub(crate) receiver: Receiver,
}

/// The agreement of the table and a server.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) cases: u64,
    /// Cases that the table calls unpredictable.
    pub(crate) unknown: u64,
    /// One text for each case whose prediction was wrong.
    pub(crate) differ: Vec<String>,
    sessions: Vec<Session>,
    strangers: Vec<stranger::Record>,
}

/// A case of a session, and the observed result.
#[derive(Debug)]
struct Session {
    before: Leg,
    case: Case,
    seen: Seen,
}

impl Report {
    fn add(&mut self, other: Self) {
        self.cases += other.cases;
        self.unknown += other.unknown;
        self.differ.extend(other.differ);
        self.sessions.extend(other.sessions);
        self.strangers.extend(other.strangers);
    }

    /// Returns the share of predictable cases in which table and server agree, 0 to 1.
    pub(crate) fn agreement(&self) -> f64 {
        let known = (self.cases - self.unknown).max(1);
        let differ = u64::try_from(self.differ.len()).unwrap_or(u64::MAX);
        1.0 - differ as f64 / known as f64
    }
}

/// Sends `count` mutations in total.
pub(crate) fn mutations(target: Target, seed: u64, count: u64) -> Result<Report> {
    spread(|client| play(target, seed ^ client << 32, count.div_ceil(CLIENTS)))
}

/// Runs one client on each thread and combines their reports.
fn spread(run: impl Fn(u64) -> Result<Report> + Sync) -> Result<Report> {
    let total = Mutex::new(Report::default());
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (run, total) = (&run, &total);
                scope.spawn(move || -> Result<()> {
                    let report = run(client)?;
                    total.lock().unwrap().add(report);
                    Ok(())
                })
            })
            .collect();
        clients.into_iter().try_for_each(|client| client.join().unwrap())
    })?;
    Ok(total.into_inner()?)
}

fn play(target: Target, seed: u64, count: u64) -> Result<Report> {
    let mut random = Random::new(seed);
    let mut report = Report::default();
    let mut peer = Peer::join(target.variant, target.addr).context("join")?;
    while report.cases < count {
        let case = match case(&mut peer, &mut random) {
            Ok(case) => case,
            // An earlier case left the server in a different state, which only this case shows.
            Err(error) => {
                report.differ.push(format!("after a case: {error:#}"));
                peer = Peer::join(target.variant, target.addr).context("join again")?;
                continue;
            }
        };
        let (predicted, leg) = compare::predict(target.receiver, target.variant, &peer.leg, &case);
        let silence = if predicted.ends { peer::SHORT } else { peer::LONG };
        let acks = [case.lag, None];
        let acks = if case.lag.is_some() { &acks[..] } else { &acks[1..] };
        let mut seen = peer.exchange(&case.datagrams, acks, silence)?;
        seen.is_early = case.since.elapsed() < Duration::from_millis(900);
        report.cases += 1;
        let found = compare::differences(&predicted, &leg, &case, &peer.ids(), &seen);
        if predicted.unknown {
            report.unknown += 1;
        } else if !found.is_empty() {
            report.differ.push(format!(
                "{} {:?}: {}\n  rows {:?}\n  sent {:02x?}\n  {seen:?}\n  before {:?}",
                target.receiver.release,
                case.names,
                found.join("; "),
                predicted.rows,
                case.datagrams,
                peer.leg,
            ));
        }
        let before = peer.leg;
        let is_over = seen.silent || seen.restarted || seen.close.is_some() || predicted.ends;
        if is_over || predicted.unknown || !found.is_empty() {
            peer.close()?;
            peer = Peer::join(target.variant, target.addr).context("join again")?;
        } else {
            peer.settle(leg, &seen);
        }
        report.sessions.push(Session { before, case, seen });
    }
    peer.close()?;
    Ok(report)
}

/// Settings with which a server answers a probe immediately.
const SETTINGS: &[&str] = &["sv_high_bandwidth 1"];
/// The same for DDNet, whose slots otherwise outlive a lost CLOSE for long.
const DDNET_SETTINGS: &[&str] = &["sv_high_bandwidth 1", "conn_timeout 10"];

/// Returns the number of cases for each server: mutations of a session, datagrams of strangers, joins out of order.
fn efforts() -> (u64, u64, u64) {
    if std::env::var_os("TEETAP_LONG").is_some() {
        (5_600, 1_600, 160)
    } else {
        (320, 96, 16)
    }
}

/// Known disagreements: a part of their text, and the reason.
const KNOWN: &[(&str, &str)] = &[];

#[expect(clippy::print_stdout, reason = "the figures are for those who run it")]
fn check(name: &str, report: &Report, begin: Instant) -> Result<()> {
    let unknown: Vec<_> = report
        .differ
        .iter()
        .filter(|text| !KNOWN.iter().any(|(part, _)| text.contains(part)))
        .collect();
    println!(
        "{name}: {} cases, {} unpredictable, {} differ, {:.3} % agree, {:.1} s",
        report.cases,
        report.unknown,
        report.differ.len(),
        report.agreement() * 100.0,
        begin.elapsed().as_secs_f64()
    );
    for text in &unknown {
        println!("{text}");
    }
    ensure!(
        unknown.is_empty(),
        "{name}: {} differ, first: {}",
        unknown.len(),
        unknown[0]
    );
    ensure!(
        report.agreement() >= 0.999,
        "{name}: only {} agree",
        report.agreement()
    );
    ensure!(
        report.unknown * 20 <= report.cases,
        "{name}: too much is unpredictable"
    );
    Ok(())
}

fn targets(seven: SocketAddr, ddnet: SocketAddr) -> [Target; 3] {
    let server = |release| Receiver::new(release, Side::Server);
    let target = |variant, addr, release| Target {
        variant,
        addr,
        receiver: server(release),
    };
    [
        target(Variant::V7, seven, Release::Teeworlds075),
        target(Variant::Ddnet, ddnet, Release::Ddnet16),
        target(Variant::V7, ddnet, Release::Ddnet16),
    ]
}

#[test]
fn the_table_predicts_what_servers_do() -> Result<()> {
    let _turn = turn::shared()?;
    let mut seven = TeeworldsServer::start(SETTINGS)?;
    let mut ddnet = DdnetServer::start(DDNET_SETTINGS)?;
    let targets = targets(seven.addr(), ddnet.addr());
    thread::scope(|scope| {
        let running = targets.map(|target| scope.spawn(move || compare_all(target)));
        running.into_iter().try_for_each(|target| target.join().unwrap())
    })?;
    seven.stop()?;
    ddnet.stop()
}

fn compare_all(target: Target) -> Result<()> {
    let (sessions, strangers, joins) = efforts();
    let name = format!("{} as {:?}", target.receiver.release, target.variant);
    let begin = Instant::now();
    let found = mutations(target, 1, sessions)?;
    check(&format!("{name}: sessions"), &found, begin)?;
    let own = if target.variant.is_seven() {
        SEVEN_ROWS
    } else {
        SIX_ROWS
    };
    without_rows(target, &found, SESSION_ROWS)?;
    without_rows(target, &found, own)?;
    let begin = Instant::now();
    let found = spread(|client| stranger::run(target, 2 ^ client << 32, strangers.div_ceil(CLIENTS)))?;
    check(&format!("{name}: strangers"), &found, begin)?;
    without_rows(target, &found, STRANGER_ROWS)?;
    let begin = Instant::now();
    let found = spread(|client| join::run(target, 3 ^ client << 32, joins.div_ceil(CLIENTS)))?;
    check(&format!("{name}: joins"), &found, begin)
}

/// Rows that even the short form must prove necessary, if a receiver has them.
const SESSION_ROWS: &[&str] = &[
    "ack",
    "ack-window",
    "resend",
    "close",
    "not-vital",
    "next",
    "repeat",
    "gap",
];
const SEVEN_ROWS: &[&str] = &["token-wrong", "token"];
const SIX_ROWS: &[&str] = &["tail-wrong", "reconnect", "rejoin"];
const STRANGER_ROWS: &[&str] = &[
    "open",
    "token-request",
    "connect",
    "connect-tken",
    "connect-plain",
    "connect-seven",
];

/// Predicts the cases of a run again without each row: the agreement must then fall below the required share.
fn without_rows(target: Target, report: &Report, rows: &[&'static str]) -> Result<()> {
    let has = |name: &&&'static str| target.receiver.rows().any(|row| row.name == **name);
    for name in rows.iter().filter(has) {
        let receiver = target.receiver.without(name);
        let differs = |session: &&Session| {
            let (predicted, leg) = compare::predict(receiver, target.variant, &session.before, &session.case);
            let ids = peer::ids(target.variant);
            !predicted.unknown
                && !compare::differences(&predicted, &leg, &session.case, &ids, &session.seen).is_empty()
        };
        let sessions = report.sessions.iter().filter(differs).count();
        let strangers = report
            .strangers
            .iter()
            .filter(|record| record.differs(receiver))
            .count();
        let differ = u64::try_from(sessions + strangers)?;
        ensure!(
            differ * 1000 > report.cases,
            "{} without {name}: only {differ} of {} cases differ",
            receiver.release,
            report.cases
        );
    }
    Ok(())
}

/// Silence of a server that counts as its answer.
const QUIET: Duration = Duration::from_millis(700);
