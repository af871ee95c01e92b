//! Clients and servers with a scripted fault, through the binary: the faulty side is named and the other is not, and
//! the run, its recording and a tcpdump capture of each leg agree.

use std::{
    collections::BTreeSet,
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use teetap_kit::real::{Teetap, home, text, turn};
use teetap_peer::{
    Action::{self, Send, Skip},
    Client, ClientConfig, Map, MapFile, Message, Script, Server, ServerConfig, Step, Variant, token,
};
use teetap_wire::{Proto, def::Datum};

use crate::{
    TEETAP,
    faults::try_all,
    legs::{Capture, findings, judge},
    peers::receive,
};

/// The time after which the client leaves: a stalled login is reported after a second, and lost copies do not matter
/// here.
const LENGTH: Duration = Duration::from_millis(4500);

/// Bytes of the map in 0.6 and in 0.7: three parts each.
const SIX: usize = 2000;
const SEVEN: usize = 3000;

/// A fault: the side that has it, the step at which it acts, and a finding about that side.
struct Row {
    name: &'static str,
    variant: Variant,
    side: &'static str,
    step: Step,
    action: fn(Proto) -> Action,
    code: &'static str,
}

const fn row(
    name: &'static str,
    variant: Variant,
    (side, step): (&'static str, Step),
    action: fn(Proto) -> Action,
    code: &'static str,
) -> Row {
    Row {
        name,
        variant,
        side,
        step,
        action,
        code,
    }
}

const REQUESTS: (&str, Step) = ("client", Step::RequestMapData);
const PARTS: (&str, Step) = ("server", Step::MapData);

/// Faults of a map download.
const DOWNLOADS: &[Row] = &[
    row(
        "asks for no part",
        Variant::V6,
        REQUESTS,
        |_| Skip,
        "never-entered",
    ),
    row(
        "asks for no part",
        Variant::V7,
        REQUESTS,
        |_| Skip,
        "never-entered",
    ),
    row(
        "asks for a part that is not there",
        Variant::Ddnet,
        REQUESTS,
        |proto| Send(vec![request(proto, 7)]),
        "never-entered",
    ),
    row(
        "asks for a negative part",
        Variant::V65,
        REQUESTS,
        |proto| Send(vec![request(proto, -1)]),
        "never-entered",
    ),
    row(
        "skips a part",
        Variant::V65,
        REQUESTS,
        |proto| Send(vec![request(proto, 1)]),
        "never-entered",
    ),
    row(
        "asks for the same part again",
        Variant::V6,
        REQUESTS,
        |proto| Send(vec![request(proto, 0)]),
        "never-entered",
    ),
    row("sends no part", Variant::V65, PARTS, |_| Skip, "never-entered"),
    row("sends no part", Variant::Ddnet7, PARTS, |_| Skip, "never-entered"),
    row(
        "sends the same part again",
        Variant::V6,
        PARTS,
        |proto| Send(vec![part(proto, 0, 0, 896)]),
        "never-entered",
    ),
    row(
        "sends a part of another map",
        Variant::Ddnet,
        PARTS,
        |proto| Send(vec![part(proto, 1, 0, 896)]),
        "never-entered",
    ),
    row(
        "sends a part without data",
        Variant::V65,
        PARTS,
        |proto| Send(vec![part(proto, 0, 0, 0)]),
        "never-entered",
    ),
    row(
        "sends two of three parts",
        Variant::V7,
        PARTS,
        |_| Send(vec![part_of_seven(1384), part_of_seven(1384)]),
        "never-entered",
    ),
    row(
        "sends short parts",
        Variant::V7,
        PARTS,
        |_| Send(vec![part_of_seven(700)]),
        "never-entered",
    ),
];

/// Other faults.
const OTHERS: &[Row] = &[
    row(
        "says nothing of itself",
        Variant::V7,
        ("client", Step::Info),
        |_| Skip,
        "never-entered",
    ),
    row(
        "accepts not",
        Variant::Ddnet,
        ("client", Step::Accept),
        |_| Skip,
        "never-entered",
    ),
    row(
        "is never ready",
        Variant::Ddnet7,
        ("client", Step::Ready),
        |_| Skip,
        "never-entered",
    ),
    row(
        "has no looks",
        Variant::V6,
        ("client", Step::StartInfo),
        |_| Skip,
        "never-entered",
    ),
    row(
        "does not enter",
        Variant::Ddnet,
        ("client", Step::EnterGame),
        |_| Skip,
        "never-entered",
    ),
    row(
        "sends inputs as vital",
        Variant::V65,
        ("client", Step::Input),
        |proto| {
            Send(vec![Message {
                vital: true,
                ..input(proto)
            }])
        },
        "unexpected-vital",
    ),
    row(
        "sends inputs without an end",
        Variant::V7,
        ("client", Step::Input),
        |proto| Send(vec![cut(input(proto))]),
        "missing-field",
    ),
    row(
        "names no map",
        Variant::V6,
        ("server", Step::MapChange),
        |_| Skip,
        "never-entered",
    ),
    row(
        "is never ready",
        Variant::V65,
        ("server", Step::ConReady),
        |_| Skip,
        "never-entered",
    ),
    row(
        "lets nobody enter",
        Variant::V7,
        ("server", Step::ReadyToEnter),
        |_| Skip,
        "never-entered",
    ),
    row(
        "sends no snapshot",
        Variant::Ddnet7,
        ("server", Step::Snapshot),
        |_| Skip,
        "never-entered",
    ),
];

fn named(proto: Proto, name: &str, fields: &[(&str, Datum)]) -> Message {
    Message::new(proto, name, fields.iter().cloned()).unwrap()
}

fn request(proto: Proto, part: i32) -> Message {
    named(proto, "request_map_data", &[("chunk", part.into())])
}

/// Returns a part of the map in 0.6, with `other` added to its checksum.
fn part(proto: Proto, other: i32, number: i32, size: i32) -> Message {
    let crc = file(SIX).crc().cast_signed().wrapping_add(other);
    let data = vec![7; usize::try_from(size).unwrap()];
    let head = [
        ("last", 0.into()),
        ("crc", crc.into()),
        ("chunk", number.into()),
        ("size", size.into()),
    ];
    named(
        proto,
        "map_data",
        &[&head[..], &[("data", Datum::Bytes(data))]].concat(),
    )
}

fn part_of_seven(size: usize) -> Message {
    named(Proto::V7, "map_data", &[("data", Datum::Bytes(vec![7; size]))])
}

fn input(proto: Proto) -> Message {
    named(
        proto,
        "input",
        &[("ack_snapshot", 10.into()), ("intended_tick", 20.into())],
    )
}

fn cut(mut message: Message) -> Message {
    message.data.truncate(3);
    message
}

fn file(len: usize) -> MapFile {
    MapFile::new(vec![7; len], None).unwrap()
}

impl Row {
    fn script(&self, side: &str) -> Script {
        match side == self.side {
            true => Script::new().at(self.step, (self.action)(self.variant.proto())),
            false => Script::new(),
        }
    }

    fn client(&self) -> Client {
        Client::new(ClientConfig {
            maps: Vec::new(),
            script: self.script("client"),
            ..ClientConfig::new(self.variant, token(1, self.name), "tee")
        })
    }

    fn server(&self) -> Server {
        Server::new(ServerConfig {
            variants: vec![self.variant],
            map: Map::new("scripted", file(SIX), file(SEVEN)),
            script: self.script("server"),
            ..ServerConfig::new(2)
        })
    }
}

fn serve(mut server: Server, socket: &UdpSocket, is_over: &AtomicBool) -> Result<()> {
    let start = Instant::now();
    while !is_over.load(Ordering::Relaxed) {
        server.tick(start.elapsed());
        while let Some((to, bytes)) = server.poll_transmit() {
            socket.send_to(&bytes, to)?;
        }
        if let Some((bytes, from)) = receive(socket, Duration::from_millis(5))? {
            server.handle(start.elapsed(), from, &bytes);
        }
    }
    Ok(())
}

fn join(mut client: Client, to: SocketAddr) -> Result<()> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let start = Instant::now();
    loop {
        let now = start.elapsed();
        client.tick(now);
        if now >= LENGTH {
            client.close(now, "enough");
        }
        while let Some(bytes) = client.poll_transmit() {
            socket.send_to(&bytes, to)?;
        }
        if now >= LENGTH {
            return Ok(());
        }
        if let Some((bytes, _)) = receive(&socket, Duration::from_millis(5))? {
            client.handle(start.elapsed(), &bytes);
        }
    }
}

/// Returns the codes, roles and sides of the warnings and errors among findings.
fn wrong(findings: &[Value]) -> BTreeSet<[String; 3]> {
    let is_wrong =
        |finding: &&Value| text(finding, "severity") != "info" && text(finding, "role") != "network";
    let findings = findings.iter().filter(is_wrong);
    findings
        .map(|finding| ["code", "role", "by"].map(|field| text(finding, field).to_owned()))
        .collect()
}

/// Plays a session. Returns the findings of the run, of its recording, and of the captures of the client's and the
/// server's leg.
fn play(row: &Row) -> Result<[BTreeSet<[String; 3]>; 4]> {
    let folder = home("scripted")?;
    let recording = folder.path().join("run.pcapng");
    let recording = recording.to_str().context("a path in UTF-8")?;
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    let server = socket.local_addr()?;
    let (scripted_client, scripted_server) = (row.client(), row.server());
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let serving = scope.spawn(|| serve(scripted_server, &socket, &is_over));
        let played = (|| {
            let teetap = Teetap::start(Path::new(TEETAP), server, &["-w", recording])?;
            let near = Capture::start(folder.path(), teetap.listen().port())?;
            let far = Capture::start(folder.path(), server.port())?;
            join(scripted_client, teetap.listen())?;
            thread::sleep(Duration::from_millis(200));
            let (near, far) = (near.stop()?, far.stop()?);
            let live = findings(teetap.stop()?.into_iter().map(Ok))?;
            Ok([live, judge(recording)?, judge(&near)?, judge(&far)?].map(|found| wrong(&found)))
        })();
        is_over.store(true, Ordering::Relaxed);
        serving.join().unwrap()?;
        played
    })
}

fn mistake(row: &Row) -> Result<Option<String>> {
    let found = play(row)?;
    let [live, others @ ..] = &found;
    let is_named = live
        .iter()
        .any(|[code, _, by]| code == row.code && by == row.side);
    let is_only = live.iter().all(|[_, _, by]| by == row.side);
    let agree = others.iter().all(|other| other == live);
    Ok((!is_named || !is_only || !agree).then(|| format!("{found:#?}")))
}

fn each_is_named(rows: &[Row]) -> Result<()> {
    let _turn = turn::shared()?;
    let wrong = try_all(rows, |row| {
        let what = format!("{} of {}: {}", row.side, row.variant, row.name);
        match mistake(row) {
            Ok(None) => None,
            Ok(Some(found)) => Some(format!("{what}: not only {} of it: {found}", row.code)),
            Err(error) => Some(format!("{what}: {error:#}")),
        }
    });
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn each_fault_of_a_download_is_of_the_side_that_makes_it() -> Result<()> {
    each_is_named(DOWNLOADS)
}

#[test]
fn each_scripted_fault_is_of_the_side_that_makes_it() -> Result<()> {
    each_is_named(OTHERS)
}
