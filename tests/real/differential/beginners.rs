//! Typical mistakes of authors of clients, as found in trials: each one directly and through the proxy, with the same
//! result, and with a first sentence that names it. Only in the long form.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Mutex;
use std::thread;

use anyhow::{Context as _, Result, ensure};
use teetap_kit::real::turn;
use teetap_kit::script::Trace;

use super::cells::{self, Cell};
use super::exceptions::exception;
use super::explained::Said;
use super::target::Target;
use super::{FEW, TOLERANCE, TRIES, side_by_side};

use Target::{Ddnet, Header, Old, Seven, SevenOnDdnet};

const OF_SEVEN: &[Target] = &[Seven, SevenOnDdnet];
const OF_SIX: &[Target] = &[Ddnet, Old, Header];
const WITH_TOKENS: &[Target] = &[Seven, SevenOnDdnet, Ddnet, Header];
const ALL: &[Target] = &[Seven, SevenOnDdnet, Ddnet, Old, Header];

/// A mistake: its name, the cells that make it, the kinds of client, and the codes or words of first sentences that
/// name it.
type Row = (
    &'static str,
    &'static [&'static str],
    &'static [Target],
    &'static [&'static str],
);

/// For mistakes without an effect, or that no datagram shows: the client plays.
const HARMLESS: &[&str] = &[];

#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("control flag of 0.6", &["nothing but Token with the flag of 0.6"], &[Seven], &["control flag of 0.6"]),
    ("flags not shifted", &["nothing but Token with its flag not shifted"], &[Seven], &["not shifted"]),
    ("flag 80", &["nothing but Token with flag 80"], &[Seven], &["opens-nothing"]),
    ("no token field", &["nothing but Token without a token in its header"], &[Seven], &["opens-nothing"]),
    ("id as a packed int", &["nothing but Token with the id as a packed int"], &[Seven], &["plain byte"]),
    ("CONNECT of DDNet with flag 04", &["nothing but Connect with flag 04"], &[Ddnet], &["opens-nothing"]),
    ("token request not padded", &["Token without padding"], OF_SEVEN, &["short-token-request"]),
    ("CONNECT without response token", &["Connect without response token"], OF_SEVEN, &["missing-field"]),
    ("own token taken for the server's", &["client shows its own token"], WITH_TOKENS, &["wrong-token", "opens-nothing"]),
    ("token 00000000", &["Info with token 00000000"], WITH_TOKENS, &["wrong-token"]),
    ("CONNECT before the token", &["Token missing"], OF_SEVEN, &["opens-nothing"]),
    ("another response token in CONNECT", &["Connect with another response token"], OF_SEVEN, HARMLESS),
    ("chunk header of the other version", &["Info with the chunk header of the other version", "StartInfo with the chunk header of the other version"], ALL, &["chunk-of-other-version"]),
    ("id without class bit", &["Info without class bit", "Ready without class bit", "EnterGame without class bit", "Input without class bit"], ALL, &["wrong-id"]),
    ("class bit flipped", &["Info with the class of the game", "Ready with the class of the game", "StartInfo with the class of the engine"], ALL, &["wrong-id"]),
    ("id of the other version: ready", &["Ready with the id of the other version"], ALL, &["wrong-id"]),
    ("id of the other version: start_info", &["StartInfo with the id of the other version"], ALL, &["wrong-id"]),
    ("id of the other version: enter_game", &["EnterGame with the id of the other version"], ALL, &["wrong-id"]),
    ("id of the other version: input", &["Input with the id of the other version"], ALL, &["wrong-id"]),
    ("id of the other version: say", &["Say with the id of the other version"], ALL, &["wrong-id"]),
    ("first number 0", &["client counts from 0"], ALL, &["seq-behind"]),
    ("number not counted up", &["client gives each message number 1", "Ready with the number of Info"], ALL, &["seq-again", "resend-changed"]),
    ("never acks", &["client acks nothing"], ALL, &["ack-stuck"]),
    ("acks too high", &["client acks 20 too much", "Ready acks too much"], ALL, &["ack-ahead"]),
    ("counts non-vital chunks into its ack", &["client acks all messages, vital or not"], ALL, &["ack-ahead"]),
    ("counts its own non-vital chunks", &["client numbers all messages, vital or not"], ALL, &["seq-gap", "seq-ahead"]),
    ("info not vital", &["Info not vital"], ALL, &["not-vital"]),
    ("chat not vital", &["Say not vital"], ALL, &["not-vital"]),
    ("input vital", &["Input vital"], ALL, &["unexpected-vital", "resend-changed", "seq-ahead"]),
    ("num_chunks 0", &["Ready with a count of 0"], ALL, &["trailing-bytes", "empty-without-resend"]),
    ("compressed flag without compression", &["Info marked as compressed"], ALL, &["bad-huffman"]),
    ("compression without flag", &["Info compressed without the flag", "StartInfo compressed without the flag"], ALL, &["compression-unmarked"]),
    ("compressed below the gain", &["Ready compressed though longer"], ALL, HARMLESS),
    ("does not inflate", &["client does not inflate"], ALL, &["not-inflated", "ack-stuck"]),
    ("resends for ever", &["repeats everything for ever"], ALL, &["resend-needless", "resend-acked", "resend-storm"]),
    // Lost between the proxy and the peer, which the proxy cannot know. Losses that it causes itself are tested in
    // `legs.rs`.
    ("acks the highest number seen, under loss", &["ConReady lost, the client acks the highest number"], ALL, HARMLESS),
    ("never resends, under loss", &["Info lost and never sent again", "Ready lost and never sent again", "StartInfo lost and never sent again"], ALL, &["resend-missing", "seq-gap"]),
    ("text without NUL", &["StartInfo without NUL", "Say without NUL"], ALL, &["unterminated-text"]),
    ("field left out", &["StartInfo cut behind the name"], ALL, &["missing-field"]),
    ("5 of 6 skin parts", &["StartInfo with five of six parts of the skin"], OF_SEVEN, &["missing-field", "unterminated-text"]),
    ("input_size in ints", &["Input of size 10"], ALL, &["object-short"]),
    ("integers as 32-bit little endian", &["StartInfo as 32-bit integers", "Input as 32-bit integers"], ALL, &["out-of-range", "object-short", "missing-field", "unterminated-text", "int-padding"]),
    ("-1 coded wrong", &["StartInfo with a wrong coding of -1"], ALL, HARMLESS),
    ("start_info too early", &["StartInfo right after Info"], ALL, &["out-of-turn", "never-entered"]),
    ("no ready", &["Ready missing"], ALL, &["never-entered"]),
    ("no enter_game", &["EnterGame missing"], ALL, &["never-entered"]),
    ("wrong version", &["of a wrong version"], ALL, &["wrong-version", "never-entered", "never-online"]),
    ("ack_snapshot always -1", &["Input acks no snapshot"], ALL, &["snap-unacked", "input-ack-stuck"]),
    ("acks ticks never sent", &["Input acks a tick of the future"], ALL, &["input-ack-unknown", "snap-unacked"]),
    ("intended_tick 0", &["Input for tick 0"], ALL, &["input-late"]),
    ("intended_tick 20 ticks late", &["Input 20 ticks late"], ALL, &["input-late"]),
    ("chat with the fields of the other version", &["Say with the fields of 0.6"], OF_SEVEN, &["fields-of-other-version"]),
    // The second field of 0.7 is a letter of the chat line in 0.6, and as valid as any other.
    ("chat with the fields of the other version", &["Say with the fields of 0.7"], OF_SIX, HARMLESS),
    ("magic in lower case", &["Connect with tken"], &[Ddnet], &["opens-nothing", "wrong-magic", "unexpected-bytes"]),
    ("TKEN without the token", &["Connect without the tail"], &[Ddnet], HARMLESS),
    ("magic sent as token", &["TKEN as the token"], &[Ddnet], &["wrong-token"]),
    ("no ACCEPT", &["Accept missing"], &[Ddnet], &["never-online", "never-entered"]),
    ("keepalive for ACCEPT", &["Keepalive instead of Accept"], &[Ddnet], &["never-online", "never-entered"]),
    ("info before ACCEPT", &["Info before Accept"], &[Ddnet], &["never-online", "never-entered", "not-connected"]),
    ("token missing", &["Ready without token", "Accept without token"], &[Ddnet], &["missing-token", "wrong-token"]),
    ("token in front", &["Info with the token in front"], &[Ddnet], &["wrong-token", "missing-token"]),
    ("token not compressed", &["Info with the token behind the compression"], &[Ddnet], &["wrong-token", "missing-token", "huffman-surplus"]),
    ("ack 5 in CONNECT", &["Connect with ack 5"], &[Seven], &["the ack of connect is "]),
    ("info right after CONNECT", &["Connect without a wait for its answer"], OF_SEVEN, HARMLESS),
    ("one CONNECT, then waiting", &["one Connect, then waiting"], ALL, &["never-online", "never-entered"]),
    ("a client of 0.6 and a server of 0.7", &["nothing but Connect of 0.6", "nothing but Connect of DDNet", "nothing but Connect of 0.6.5"], &[Seven], &["other-protocol", "only 0.7"]),
    ("a client of 0.7 and a server of 0.6", &["nothing but Token of 0.7"], &[Old, Header], &["other-protocol", "only 0.6"]),
    ("CONNECT for ever", &["Connect each 0.5 s"], ALL, &["never-online", "never-entered"]),
    // Further mistakes, not found in trials.
    ("name too long", &["StartInfo with a name of 60 letters"], ALL, HARMLESS),
    ("name in UTF-16", &["StartInfo with a name in UTF-16"], ALL, &["out-of-range", "missing-field", "unterminated-text"]),
    ("input of a negative size", &["Input of size -4"], ALL, &["object-short"]),
    ("input of 4000 bytes", &["Input of size 4000"], ALL, &["out-of-range"]),
    ("acks one less", &["Input acks one less"], ALL, HARMLESS),
    ("input with num_chunks 0", &["Input with a count of 0"], ALL, &["empty-without-resend", "trailing-bytes"]),
    ("keepalive as empty data", &["Input as an empty data packet"], ALL, &["empty-without-resend"]),
    ("a number in a chunk that is not vital", &["Input with a number though not vital"], ALL, HARMLESS),
    ("an empty chunk", &["Ready with nothing in its chunk"], ALL, &["unknown-message"]),
    ("padding behind the chunks", &["Ready padded with 500 zeros"], ALL, &["trailing-bytes"]),
    ("text in Latin-1", &["Say in Latin-1"], ALL, &["invalid-utf8"]),
    ("a line of chat of nothing", &["Say of nothing"], ALL, HARMLESS),
    ("chat for team 9", &["Say to team 9"], ALL, &["out-of-range"]),
    ("a size that is 1 too high", &["StartInfo with a size that is 1 too high"], ALL, &["chunk-truncated"]),
    ("the ack in the wrong order of bits", &["Input with the ack in the wrong order of bits"], ALL, &["ack-ahead", "ack-behind"]),
    ("ready twice", &["Ready again with another number"], ALL, HARMLESS),
    ("enter_game twice", &["EnterGame again with another number"], ALL, HARMLESS),
    ("start_info in the game", &["StartInfo again in the game"], ALL, &["out-of-turn"]),
    ("info and ready in one datagram", &["Info and Ready in one datagram"], ALL, HARMLESS),
    ("start_info before ready in one datagram", &["StartInfo before Ready in one datagram"], ALL, &["seq-gap", "seq-ahead", "out-of-turn", "never-entered"]),
    ("reason without NUL", &["Close without NUL in the game"], ALL, &["unterminated-text"]),
    ("ACCEPT with the number of CONNECTACCEPT", &["Accept as ConnectAccept"], &[Ddnet], &["wrong-direction"]),
];

/// A mistake with its results.
#[derive(Debug)]
struct Verdict {
    mistake: &'static str,
    cell: String,
    difference: Option<String>,
    has_joined: bool,
    /// `None` if no sentence has to name the mistake.
    is_named: Option<bool>,
    line: String,
}

impl Verdict {
    fn is_right(&self) -> bool {
        let is_same = self.difference.is_none() || exception(&self.cell).is_some();
        is_same && self.is_named.unwrap_or(self.has_joined)
    }
}

#[test]
fn each_mistake_of_a_beginner_is_named() -> Result<()> {
    if std::env::var_os("TEETAP_LONG").is_none() {
        return Ok(());
    }
    let _turn = turn::shared()?;
    let all = Mutex::new(Vec::new());
    thread::scope(|scope| {
        let lanes: Vec<_> = ALL
            .iter()
            .map(|target| scope.spawn(|| run(*target, &all)))
            .collect();
        lanes.into_iter().try_for_each(|lane| lane.join().unwrap())
    })?;
    wrong_port(&all)?;
    report(all.into_inner()?)
}

/// Runs the mistakes of a kind of client.
fn run(target: Target, all: &Mutex<Vec<Verdict>>) -> Result<()> {
    let known = cells::all();
    let mut cells = Vec::new();
    for (mistake, names, targets, codes) in ROWS {
        for name in names.iter().filter(|_| targets.contains(&target)) {
            let name = format!("{}: {name}", target.name());
            let cell = known.iter().find(|cell| cell.name == name);
            let cell = cell.with_context(|| format!("no cell {name:?}"))?;
            cells.push((*mistake, *codes, cell.clone()));
        }
    }
    let mut server = target.start()?;
    let addr = server.addr();
    let mut verdicts = side_by_side(cells, server.room().min(8), |row| judge(row, addr))?;
    for _ in 0..TRIES {
        let (right, again): (Vec<_>, Vec<_>) =
            verdicts.into_iter().partition(|(_, verdict)| verdict.is_right());
        verdicts = right;
        let again = again.into_iter().map(|(row, _)| row).collect();
        verdicts.extend(side_by_side(again, FEW.min(server.room()), |row| {
            judge(row, addr)
        })?);
    }
    all.lock()
        .unwrap()
        .extend(verdicts.into_iter().map(|(_, verdict)| verdict));
    server.stop()
}

type Made = (&'static str, &'static [&'static str], Cell);

fn judge((mistake, codes, cell): Made, server: SocketAddr) -> Result<(Made, Verdict)> {
    let (direct, through) = thread::scope(|scope| {
        let direct = scope.spawn(|| cell.script.run(server, 1));
        let through = Said::of(&cell, server);
        (direct.join().unwrap(), through)
    });
    let verdict = verdict(mistake, codes, &direct?, &through?);
    Ok(((mistake, codes, cell), verdict))
}

fn verdict(
    mistake: &'static str,
    codes: &[&str],
    direct: &Trace,
    (through, said): &(Trace, Said),
) -> Verdict {
    Verdict {
        mistake,
        cell: said.name.clone(),
        difference: direct.difference(through, TOLERANCE),
        has_joined: said.has_joined,
        is_named: (codes != HARMLESS).then(|| said.names_one_of(codes)),
        line: said.line(),
    }
}

/// Tests a client of each kind that connects to a port on which nobody listens; in the run through the proxy, the
/// proxy does.
fn wrong_port(all: &Mutex<Vec<Verdict>>) -> Result<()> {
    let free = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let addr = free.local_addr()?;
    drop(free);
    for target in ALL {
        let cell = Cell::new(*target, "wrong port", target.join());
        let codes: &[&str] = &["the server is unreachable: Connection refused"];
        let (_, verdict) = judge(("wrong port", codes, cell), addr)?;
        all.lock().unwrap().push(verdict);
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the table is for those who run it")]
fn report(mut verdicts: Vec<Verdict>) -> Result<()> {
    let place = |verdict: &Verdict| ROWS.iter().position(|row| row.0 == verdict.mistake);
    verdicts.sort_by_key(place);
    for verdict in &verdicts {
        let result = match (&verdict.difference, verdict.has_joined) {
            (Some(_), _) if exception(&verdict.cell).is_some() => "differs, as known".to_owned(),
            (Some(difference), _) => format!("DIFFERS ({difference})"),
            (None, true) => "plays, as directly".to_owned(),
            (None, false) => "fails, as directly".to_owned(),
        };
        let named = match verdict.is_named {
            Some(true) => "named",
            Some(false) => "NOT NAMED",
            None => "harmless",
        };
        println!("{} | {result} | {named} | {}", verdict.mistake, verdict.line);
    }
    let wrong = verdicts.iter().filter(|verdict| !verdict.is_right()).count();
    println!("{} mistakes, {wrong} not as they should be", verdicts.len());
    ensure!(wrong == 0, "{wrong} of {} mistakes", verdicts.len());
    Ok(())
}
