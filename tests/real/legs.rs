//! Findings about each leg: a run with rules and link lines, its recording, and a tcpdump capture of one leg alone lead
//! to the same findings about the peer of that leg.

use std::{
    collections::BTreeSet,
    net::{SocketAddr, UdpSocket},
    path::Path,
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use anyhow::{Context as _, Result, ensure};
use rustix::process::Signal;
use serde_json::Value;
use teetap_kit::{
    codec::{Packing, Variant},
    faulty::{self, SECOND, Setting},
    huffman::Ending,
    peer::Flaw,
    real::{Launch, PATIENCE, Program, Teetap, home, text, turn},
};

use crate::{TEETAP, faults::try_all};

/// The packing of a server's packets, as in the games.
const PACKING: Packing = Packing::IfShorter(Ending::Padded);

/// A session: the side with a flaw, the flaw, the protocol, the rules, the finding about that side.
struct Row {
    side: &'static str,
    flaw: Option<Flaw>,
    variant: Variant,
    rules: &'static [&'static str],
    finding: Option<&'static str>,
}

const fn row(
    side: &'static str,
    flaw: Flaw,
    variant: Variant,
    rules: &'static [&'static str],
    finding: &'static str,
) -> Row {
    Row {
        side,
        flaw: Some(flaw),
        variant,
        rules,
        finding: Some(finding),
    }
}

const fn without(side: &'static str, variant: Variant, rules: &'static [&'static str]) -> Row {
    Row {
        side,
        flaw: None,
        variant,
        rules,
        finding: None,
    }
}

const LOSE_CHAT: &[&str] = &["--rule", "lose 1 times when sv_chat every 5"];
const LOSE_SAY: &[&str] = &["--rule", "lose 1 times when cl_say every 3"];
const DELAY: &[&str] = &["--link", "both delay 30ms"];
const LOSE_ON_LOSS: &[&str] = &[
    "--link",
    "s2c loss 10%",
    "--rule",
    "lose 1 times when sv_chat every 4",
];
const LOSS: &[&str] = &["--link", "both loss 10% delay 20ms"];

const ROWS: &[Row] = &[
    row("client", Flaw::AcksSeen, Variant::V7, LOSE_CHAT, "ack-gap"),
    row("client", Flaw::AcksSeen, Variant::V6, LOSE_ON_LOSS, "ack-gap"),
    row(
        "client",
        Flaw::SendsOnce,
        Variant::Ddnet,
        LOSE_SAY,
        "resend-missing",
    ),
    row("client", Flaw::IgnoresAcks, Variant::V65, DELAY, "resend-acked"),
    row("client", Flaw::NoInflate, Variant::Ddnet, DELAY, "not-inflated"),
    row("server", Flaw::AcksSeen, Variant::V65, LOSE_SAY, "ack-gap"),
    row(
        "server",
        Flaw::SendsOnce,
        Variant::V7,
        LOSE_CHAT,
        "resend-missing",
    ),
    row("server", Flaw::IgnoresAcks, Variant::Ddnet, DELAY, "resend-acked"),
    without("client", Variant::V7, LOSS),
    without("server", Variant::Ddnet, LOSS),
    without("client", Variant::V65, LOSE_CHAT),
    without("server", Variant::V6, LOSE_SAY),
];

/// A tcpdump capture of all datagrams of one port.
pub(super) struct Capture {
    program: Program,
    path: String,
}

impl Capture {
    pub(super) fn start(folder: &Path, port: u16) -> Result<Self> {
        let path = folder.join(format!("{port}.pcap"));
        let path = path.to_str().context("a path in UTF-8")?.to_owned();
        let launch = Launch::new("tcpdump", "tcpdump", folder);
        let filter = format!("udp port {port}");
        // As root: other users may not enter the folder.
        let arguments = [
            "-i",
            "lo",
            "-n",
            "-U",
            "--immediate-mode",
            "-Z",
            "root",
            "-w",
            &path,
            &filter,
        ];
        let program = arguments.iter().fold(launch, Launch::arg).start()?;
        program.log().wait_for("listening on", PATIENCE)?;
        Ok(Self { program, path })
    }

    pub(super) fn stop(mut self) -> Result<String> {
        self.program.signal(Signal::INT)?;
        self.program.wait_end(PATIENCE)?;
        Ok(self.path)
    }
}

/// Returns the errors and warnings caused by a side, each with its values except times.
fn about(side: &str, findings: &[Value]) -> BTreeSet<(String, String)> {
    let is_fault = |finding: &&Value| {
        text(finding, "by") == side && text(finding, "role") == "fault" && text(finding, "severity") != "info"
    };
    let findings = findings.iter().filter(is_fault);
    findings
        .map(|finding| {
            let words = text(finding, "detail").split(' ');
            // A time is followed by its unit.
            let is_time = |word: &&str| !word.contains('.');
            let detail: Vec<_> = words.filter(is_time).collect();
            (text(finding, "code").to_owned(), detail.join(" "))
        })
        .collect()
}

pub(super) fn judge(path: &str) -> Result<Vec<Value>> {
    let out = Command::new(TEETAP).args(["judge", "--json", path]).output()?;
    // 1: there is an error.
    ensure!(matches!(out.status.code(), Some(0 | 1)), "{out:?}");
    findings(
        String::from_utf8(out.stdout)?
            .lines()
            .map(|line| Ok(serde_json::from_str(line)?)),
    )
}

pub(super) fn findings(objects: impl Iterator<Item = Result<Value>>) -> Result<Vec<Value>> {
    let objects = objects.collect::<Result<Vec<_>>>()?;
    Ok(objects
        .into_iter()
        .filter(|object| text(object, "event") == "finding")
        .collect())
}

/// Plays a session. Returns the findings of the run, of its recording, and of the captures of the client's and the
/// server's leg.
fn play(row: &Row) -> Result<[Vec<Value>; 4]> {
    let mut setting = Setting {
        length: 9 * SECOND,
        talks: true,
        packing: PACKING,
        ..Setting::new(row.variant, 3)
    };
    match row.side {
        "client" => setting.flaw = row.flaw,
        _ => setting.flaw_of_server = row.flaw,
    }
    let folder = home("legs")?;
    let recording = folder.path().join("run.pcapng");
    let recording = recording.to_str().context("a path in UTF-8")?;
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    let server: SocketAddr = socket.local_addr()?;
    let options = [&["-w", recording, "--seed", "7"][..], row.rules].concat();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let serving = scope.spawn(|| faulty::serve(&setting, &socket, &is_over));
        let played = (|| {
            let teetap = Teetap::start(Path::new(TEETAP), server, &options)?;
            let near = Capture::start(folder.path(), teetap.listen().port())?;
            let far = Capture::start(folder.path(), server.port())?;
            faulty::join(&setting, teetap.listen())?;
            let (near, far) = (near.stop()?, far.stop()?);
            let live = findings(teetap.stop()?.into_iter().map(Ok))?;
            Ok([live, judge(recording)?, judge(&near)?, judge(&far)?])
        })();
        is_over.store(true, Ordering::Relaxed);
        serving.join().unwrap()?;
        played
    })
}

fn difference(row: &Row) -> Result<Option<String>> {
    let found = play(row)?;
    let leg = if row.side == "client" { 2 } else { 3 };
    let [live, recording, leg] = [0, 1, leg].map(|view| about(row.side, &found[view]));
    let is_expected = match row.finding {
        Some(code) => live.iter().any(|(known, _)| known == code),
        None => live.is_empty(),
    };
    let is_right = is_expected && recording == live && leg == live;
    Ok((!is_right).then(|| format!("live {live:#?}\nrecording {recording:#?}\nleg {leg:#?}")))
}

#[test]
fn a_run_its_recording_and_a_capture_of_a_leg_agree_about_its_peer() -> Result<()> {
    let _turn = turn::shared()?;
    let wrong = try_all(ROWS, |row| {
        let what = format!("{} {:?} {:?} {:?}", row.side, row.flaw, row.variant, row.rules);
        match difference(row) {
            Ok(None) => None,
            Ok(Some(difference)) => Some(format!("{what}: not {:?}:\n{difference}", row.finding)),
            Err(error) => Some(format!("{what}: {error:#}")),
        }
    });
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}
