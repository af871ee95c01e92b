//! Eight real clients of four kinds play on two real servers through two proxies, for half a minute, or for ten
//! minutes with `TEETAP_LONG=1` (`tests/run --long`).
//!
//! In each round one player of a server says something, which the server and all its players must receive; some
//! players move and die. In the end no player may have left, been closed or joined twice, no log may contain a
//! complaint that is not listed here, and the memory of the proxies must not have grown.

use std::io::Write as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use teetap_kit::real::{
    Client, DdnetServer, Log, PATIENCE, Player, Server, Teetap, TeeworldsServer, entered, is_odd_as_known,
    left, text, turn,
};

use crate::TEETAP;

/// Interval between two rounds of chat on both servers.
const ROUND: Duration = Duration::from_secs(5);
/// Interval between two memory measurements.
const LOOK: Duration = Duration::from_millis(500);
/// Maximum growth of the median memory from the first to the last third of the run, in KiB.
const MAY_GROW: u64 = 512;

/// The pattern of a log line in which a peer complains of the connection, of a message, or of anything else.
const COMPLAINT: &str = r"(?x) (?i: time.?out | timed | disconnect | reconnect | offline | closed | dropped | weak | lost
    | banned | stress | kicked | muted | invalid | wrong | \bbad\b | broken | corrupt | malform | mismatch | unexpected | unknown
    | not\ understood | error | fail | refuse | denied | warn | overflow | too\ (many|large|long|big) | unable | can('|\ ?no)t
    | could(n't|\ not) | assert | panic ) | ^\S+\ \S+\ [EW]\ ";

/// Complaints unrelated to the connection and the proxy, with their causes.
const EXPLAINED: [(&str, &str); 11] = [
    (r"couldn't open storage\.cfg$", "a file that need not be"),
    (
        r"failed to open '(settings07|settings|autoexec|myServerconfig)\.cfg'$",
        "files that need not be",
    ),
    (
        r"failed to bind socket with domain 10 ",
        "there is no IPv6 for 127.0.0.1",
    ),
    (
        r"client\]?: disconnecting\. reason='unknown'$",
        "a client says so before it connects and when it quits; of any other end it knows the reason",
    ),
    (
        r"client dropped\. cid=\d+ addr=\S+ reason=''$",
        "a 0.7 server says so when a client quits",
    ),
    (
        r"chat.commands\]: (adding server chat|failed to add) command",
        "DDNet's commands have names and descriptions like that, and one comes twice",
    ),
    (
        r"dropped weird message 'invalid' \(0\), failed on '\(type out of range\)'$",
        "DDNet sends its own messages to 0.7 clients too, which do not know them",
    ),
    (
        r" I http: https://\S+ failed\. ",
        "DDNet's web servers are not reached",
    ),
    (
        r" I serverbrowse_http: WARNING: no usable masters found$",
        "DDNet's web servers are not reached",
    ),
    (
        r" I storage: failed to remove: \S+/ddnet-info\.json\.\d+\.tmp$",
        "DDNet's web servers are not reached",
    ),
    (
        r" I gameclient: failed to load the fallback font\. ",
        "a package that is not installed",
    ),
];

/// Notices and notes that the proxies may emit: the start of a text, or the code of a note, and its cause.
const EXPECTED: [(&str, &str); 1] = [(
    "the server answers ",
    "every proxy probes its server at the start",
)];

/// The mark of a retransmitted message: a packet was lost or late, which is not an error but a figure of interest.
const RESENT: &str = r#""resend":true"#;

/// A player at a [`Table`].
struct Seat {
    player: Box<dyn Player>,
    /// True if the player can chat; an offscreen client only listens.
    acts: bool,
    /// The actions of the player, one in each round in turn.
    moves: &'static [&'static str],
}

/// A server with its proxy and its players.
struct Table<S> {
    server: S,
    teetap: Teetap,
    seats: Vec<Seat>,
    /// The protocol of each session, sorted.
    protos: Vec<&'static str>,
    resident: Vec<u64>,
}

const NPM: &[&str] = &["run 1", "jump 1", "run -1", "jump 0", "emote 2", "run 0", "kill"];
pub(crate) const DDNET: &[&str] = &[
    "+right 1", "+jump 1", "+right 0", "+jump 0", "+left 1", "+hook 1", "emote 5", "+left 0", "+hook 0",
    "kill",
];
pub(crate) const SEVEN: &[&str] = &["emote 3", "kill", "emote 7"];

impl<S: Server> Table<S> {
    fn open(server: S, options: &[&str]) -> Result<Self> {
        // Ordinary lines are only counted: ten minutes produce hundreds of thousands of lines.
        let teetap = Teetap::start_keeping(Path::new(TEETAP), server.addr(), options, |line| {
            !line.contains(r#""notes":[]"#) || line.contains(RESENT)
        })?;
        Ok(Self {
            server,
            teetap,
            seats: Vec::new(),
            protos: Vec::new(),
            resident: Vec::new(),
        })
    }

    /// Lets a player join and adds it to the table.
    fn sit(&mut self, client: Client, name: &str, moves: &'static [&'static str]) -> Result<()> {
        let player = client.join(name, self.teetap.listen())?;
        entered(&self.server, name)?;
        self.protos.push(client.proto());
        self.protos.sort_unstable();
        let acts = !moves.is_empty();
        self.seats.push(Seat { player, acts, moves });
        Ok(())
    }

    /// One player says something, all players receive it, then all move.
    fn round(&mut self, number: usize) -> Result<()> {
        let mut actors: Vec<&mut Seat> = self.seats.iter_mut().filter(|seat| seat.acts).collect();
        let turn = number % actors.len();
        let speaker = actors.get_mut(turn).context("no player acts")?;
        let text = format!("round {number}");
        speaker.player.command(&format!("say {text}"))?;
        let line = format!("{}: {text}$", speaker.player.name());
        self.server.log().wait_for(&format!("chat.*{line}"), PATIENCE)?;
        for seat in &self.seats {
            seat.player
                .log()
                .wait_for(&format!("(?i)chat.*{line}"), PATIENCE)?;
        }
        let movers = self.seats.iter_mut().enumerate();
        for (index, seat) in movers.filter(|(_, seat)| seat.acts) {
            // Different players make different moves.
            let step = seat.moves.get((number + 3 * index) % seat.moves.len());
            seat.player.command(step.context("nothing to do")?)?;
        }
        Ok(())
    }

    fn look(&mut self) -> Result<()> {
        self.resident.push(self.teetap.resident()?);
        Ok(())
    }

    /// All players quit, then the proxy and the server end. Returns the complaints of all of them.
    fn rise(mut self, name: &str) -> Result<Vec<String>> {
        let mut complaints = Vec::new();
        for seat in &mut self.seats {
            seat.player.quit()?;
            left(&self.server, seat.player.name())?;
            complaints.extend(complaints_of(seat.player.name(), seat.player.log())?);
        }
        let ordinary = self.teetap.skipped();
        let objects = self
            .teetap
            .stop()
            .with_context(|| format!("the proxy of {name}"))?;
        check_sessions(&self.protos, &objects)?;
        complaints.extend(unexplained(name, &objects));
        self.server.stop()?;
        complaints.extend(complaints_of(name, self.server.log())?);
        let [first, last] = ends(&self.resident);
        let is_resent = |object: &&Value| object.get("resend").and_then(Value::as_bool) == Some(true);
        let resent = objects.iter().filter(is_resent).count();
        let summary = objects.last().unwrap_or(&Value::Null);
        say(&format!(
            "soak, {name}: {} clients, {ordinary} ordinary objects, {resent} messages sent again, RSS {first} KiB in the first third, {last} KiB in the last; {summary}",
            self.seats.len()
        ))?;
        ensure!(
            last <= first + MAY_GROW,
            "the proxy of {name} grew from {first} to {last} KiB: {:?}",
            self.resident
        );
        Ok(complaints)
    }
}

/// Returns the medians of the first and of the last third.
fn ends(samples: &[u64]) -> [u64; 2] {
    let third = samples.len() / 3;
    let median = |part: Option<&[u64]>| {
        let mut sorted = part.unwrap_or_default().to_vec();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied().unwrap_or(u64::MAX)
    };
    [
        median(samples.get(..third)),
        median(samples.get(samples.len() - third..)),
    ]
}

/// Checks that every player came online once and closed its session itself, without a reason, and that nothing was
/// lost.
fn check_sessions(protos: &[&str], objects: &[Value]) -> Result<()> {
    for state in ["online", "closing", "closed"] {
        let sessions = objects.iter().filter(|object| text(object, "state") == state);
        let sessions: Vec<&Value> = sessions.collect();
        let mut seen: Vec<&str> = sessions.iter().map(|object| text(object, "proto")).collect();
        seen.sort_unstable();
        ensure!(seen == protos, "not {protos:?} {state}: {sessions:?}");
        for object in sessions.iter().filter(|_| state == "closing") {
            let itself = text(object, "by") == "client" && text(object, "reason").is_empty();
            ensure!(itself, "not closed by its own wish: {object}");
        }
    }
    let summary = objects.last().unwrap_or(&Value::Null);
    for count in ["refused", "unsent", "network_errors", "lost"] {
        let none = summary.get(count).and_then(Value::as_u64) == Some(0);
        ensure!(none, "{count}: {summary}");
    }
    Ok(())
}

/// Returns the complaints of a peer that have no known cause.
pub(crate) fn complaints_of(name: &str, log: &Log) -> Result<Vec<String>> {
    log.drain(PATIENCE)?;
    let lines = log.matching(COMPLAINT, EXPLAINED.iter().map(|(line, _)| *line))?;
    let lines = lines.into_iter();
    Ok(lines.map(|line| format!("{name}: {line}")).collect())
}

/// Returns the output lines of a proxy that have no known cause: its texts, and objects with notes or errors.
fn unexplained(name: &str, objects: &[Value]) -> Vec<String> {
    let explained = |text: &str| EXPECTED.iter().any(|(part, _)| text.starts_with(part));
    let is_odd = |object: &&Value| match text(object, "event") {
        "start" | "session" | "summary" => false,
        // The notes and notices that a finding summarises are checked themselves.
        "finding" => text(object, "severity") == "error",
        "log" | "notice" => text(object, "level") != "info" || !explained(text(object, "text")),
        _ => {
            let [proto, dir, name] = ["proto", "dir", "name"].map(|key| text(object, key));
            let of = format!("{proto} {dir} {name}");
            let is_known = |code: &str| explained(code) || is_odd_as_known(&of, code);
            let notes = object.get("notes").and_then(Value::as_array);
            let explained = notes.is_some_and(|notes| notes.iter().all(|note| is_known(text(note, "code"))));
            !explained
                || is_unknown_snapshot(object)
                || object.get("error").is_some_and(|error| !error.is_null())
        }
    };
    let odd = objects.iter().filter(is_odd);
    odd.map(|object| format!("the proxy of {name}: {object}"))
        .collect()
}

/// Returns true for a snapshot that its client could not accept.
fn is_unknown_snapshot(object: &Value) -> bool {
    let snap = object.get("snap");
    snap.is_some_and(|snap| !["kept", "late", "again"].contains(&text(snap, "fate")))
}

/// Writes a line past the test harness, which would swallow it: figures of interest in a passing run.
pub(crate) fn say(line: &str) -> Result<()> {
    writeln!(std::io::stderr(), "{line}").context("standard error")
}

#[test]
fn eight_clients_play() -> Result<()> {
    let _turn = turn::alone()?;
    let is_long = std::env::var_os("TEETAP_LONG").is_some();
    let duration = Duration::from_secs(if is_long { 600 } else { 30 });
    let mut seven = Table::open(TeeworldsServer::start(&[])?, &["--quiet"])?;
    let mut six = Table::open(DdnetServer::start(&[])?, &[])?;
    seven.sit(Client::Seven, "speaker", SEVEN)?;
    seven.sit(Client::Offscreen, "first", &[])?;
    seven.sit(Client::Offscreen, "second", &[])?;
    six.sit(Client::Offscreen, "sixup", &[])?;
    for name in ["anna", "bert"] {
        six.sit(Client::Ddnet, name, DDNET)?;
    }
    for name in ["carl", "dora"] {
        six.sit(Client::Npm, name, NPM)?;
    }
    let begun = Instant::now();
    let mut number = 0;
    while begun.elapsed() < duration {
        seven.round(number)?;
        six.round(number)?;
        number += 1;
        let next = begun + ROUND * u32::try_from(number)?;
        while Instant::now() < next {
            thread::sleep(LOOK);
            seven.look()?;
            six.look()?;
        }
    }
    let mut complaints = seven.rise("the 0.7 server")?;
    complaints.extend(six.rise("the DDNet server")?);
    say(&format!(
        "soak: {number} rounds in {:.1} s, {} complaints",
        begun.elapsed().as_secs_f64(),
        complaints.len()
    ))?;
    ensure!(complaints.is_empty(), "complaints:\n{}", complaints.join("\n"));
    Ok(())
}
