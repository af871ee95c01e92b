//! Datagrams of addresses without a slot: handshakes, some of them damaged.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use teetap_kit::codec::{Head, NO_TOKEN, Packing, Variant, control, put_chunk, seal};
use teetap_kit::huffman::{Ending, compress};
use teetap_kit::link::Random;
use teetap_wire::receiver::{Answer, Leg, Phase, Receiver, Release, Verdict};
use teetap_wire::{Proto, Token};

use super::{QUIET, Report, Target};

const OWN: [u8; 4] = *b"\x11\x22\x33\x44";
const SYNC: [u8; 4] = *b"\x55\x66\x77\x88";

/// The answers to a case, counted by form.
#[derive(Debug, Default, PartialEq, Eq)]
struct Answers {
    accept_tken: usize,
    accept_plain: usize,
    accept_seven: usize,
    tokens: usize,
    closes: usize,
    /// True if the server then accepted `info`, which shows that there is a slot.
    slot: bool,
}

/// A case and the observed answers.
#[derive(Debug)]
pub(crate) struct Record {
    before: Leg,
    datagram: Vec<u8>,
    got: Answers,
}

impl Record {
    /// Returns true if the receiver's predicted answers differ from the server's.
    pub(crate) fn differs(&self, receiver: Receiver) -> bool {
        let predicted = Predicted::new(receiver, &self.before, &self.datagram);
        !predicted.unknown && predicted.answers != self.got
    }
}

/// The prediction of the table for a case.
#[derive(Debug)]
struct Predicted {
    answers: Answers,
    leg: Leg,
    rows: Vec<&'static str>,
    unknown: bool,
}

impl Predicted {
    fn new(receiver: Receiver, before: &Leg, datagram: &[u8]) -> Self {
        let mut answers = Answers::default();
        let (mut rows, mut unknown) = (Vec::new(), false);
        let leg = receiver.judge(before, datagram, |finding| {
            rows.push(finding.row.name);
            unknown |= finding.verdict == Verdict::ReadsLeftover;
            match (finding.verdict, finding.row.name) {
                (Verdict::Answers(Answer::Token), _) => answers.tokens += 1,
                (Verdict::Answers(Answer::ConnectAccept), "connect-plain") => answers.accept_plain += 1,
                (Verdict::Answers(Answer::ConnectAccept), "connect-tken") => answers.accept_tken += 1,
                (Verdict::Answers(Answer::ConnectAccept), _) => answers.accept_seven += 1,
                _ => {}
            }
        });
        answers.slot = leg.has_slot();
        Self {
            answers,
            leg,
            rows,
            unknown,
        }
    }
}

/// Sends `count` cases from one thread, each from its own port.
pub(crate) fn run(target: Target, seed: u64, count: u64) -> Result<Report> {
    let mut random = Random::new(seed);
    let mut report = Report::default();
    while report.cases < count {
        let token = server_token(target)?;
        let (datagram, names) = case(token, &mut random);
        let before = Leg::new(Proto::V6, Phase::NoSlot, Some(Token(token)));
        let predicted = Predicted::new(target.receiver, &before, &datagram);
        // 0.7.5 counts a client that it does not have until the server ends: a few are enough.
        if predicted.rows.contains(&"connect-ack") && random.below(8) > 0 {
            continue;
        }
        report.cases += 1;
        let got = answers(target, token, &datagram, &predicted)?;
        if predicted.unknown {
            report.unknown += 1;
        } else if got != predicted.answers {
            report.differ.push(format!(
                "{} stranger {names:?}: {predicted:?}, got {got:?}\n  sent {datagram:02x?} token {token:02x?}",
                target.receiver.release
            ));
        }
        report.strangers.push(Record {
            before,
            datagram,
            got,
        });
    }
    Ok(report)
}

/// Returns the token that the server gives to the address, whatever the port.
fn server_token(target: Target) -> Result<[u8; 4]> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.connect(target.addr)?;
    socket.set_read_timeout(Some(Duration::from_millis(500)))?;
    let mut buffer = [0; 2048];
    for _ in 0..20 {
        socket.send(&control::token_request(OWN))?;
        if let Ok(len) = socket.recv(&mut buffer)
            && len >= 12
            && buffer[7] == control::TOKEN
        {
            return Ok([buffer[8], buffer[9], buffer[10], buffer[11]]);
        }
    }
    anyhow::bail!("no token from {}", target.addr)
}

fn case(token: [u8; 4], random: &mut Random) -> (Vec<u8>, Vec<&'static str>) {
    let (mut datagram, name) = match random.below(10) {
        0 => (control::token_request(OWN), "token request"),
        1 | 2 => (control::connect(Variant::V7, OWN, token), "connect 0.7"),
        3 => (control::connect(Variant::Ddnet, OWN, OWN), "connect tken"),
        4 | 5 => (control::accept(Some(token)), "accept"),
        6 => (control::connect(Variant::V6, OWN, OWN), "connect 0.6"),
        7 => (control::connect(Variant::V65, OWN, OWN), "connect 0.6.5"),
        8 => (
            control::control(Variant::V7, 0, Some(token), control::TOKEN, &[&OWN]),
            "token reply",
        ),
        _ => (info(Variant::Ddnet, Some(token)), "info"),
    };
    let mut names = vec![name];
    if random.below(4) > 0 {
        names.push(mutate(&mut datagram, random));
    }
    (datagram, names)
}

fn info(variant: Variant, token: Option<[u8; 4]>) -> Vec<u8> {
    let version: &[u8] = if variant.is_seven() {
        b"\x030.7 802f1be60a05665f\0\0\x85\x1b"
    } else {
        b"\x030.6 626fce9a778df4d4\0\0"
    };
    let mut payload = Vec::new();
    put_chunk(&mut payload, variant, Some(1), false, version);
    let mut head = Head::new(variant, 0, token);
    head.num_chunks = 1;
    seal(&head, &payload, Packing::Clear)
}

fn mutate(datagram: &mut Vec<u8>, random: &mut Random) -> &'static str {
    let mut place = |bound: usize| usize::try_from(random.below(bound as u64)).unwrap_or(0);
    let len = datagram.len().min(16);
    match place(7) {
        0 => {
            datagram[0] ^= 1 << place(8);
            "header bit"
        }
        1 => {
            datagram[1] = u8::try_from(place(256)).unwrap_or(0);
            "ack"
        }
        2 => {
            datagram[2] = u8::try_from(place(256)).unwrap_or(0);
            "count"
        }
        3 | 4 => {
            let at = place(len);
            datagram[at] = u8::try_from(place(256)).unwrap_or(0);
            "byte"
        }
        5 => {
            let kept = [place(len), 516, 517, 518, 519, 511, 512][place(7)].max(1);
            datagram.truncate(kept);
            "cut"
        }
        _ => {
            let (header, flag) = if datagram[0] & 4 == 0 {
                (3, 0x80)
            } else {
                (7, 0x10)
            };
            let packed = compress(datagram.get(header..).unwrap_or_default(), Ending::Padded);
            datagram.truncate(header);
            datagram.extend(packed);
            datagram[0] |= flag;
            "compressed"
        }
    }
}

/// Sends the case, `info` as a client would send it next, and a request that is always answered, so that silence
/// needs no waiting.
fn answers(target: Target, token: [u8; 4], datagram: &[u8], predicted: &Predicted) -> Result<Answers> {
    let (leg, expected) = (&predicted.leg, &predicted.answers);
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.connect(target.addr)?;
    socket.set_read_timeout(Some(Duration::from_millis(40)))?;
    let is_ddnet = target.receiver.release == Release::Ddnet16;
    let variant = match (leg.proto, leg.has_slot()) {
        (Proto::V7, true) => Variant::V7,
        (_, false) if !is_ddnet => Variant::V7,
        (Proto::V6, true) => Variant::V6,
        _ => Variant::Ddnet,
    };
    let shown = Some(token).filter(|_| variant != Variant::V6);
    let sync = if is_ddnet {
        control::connect(Variant::Ddnet, SYNC, SYNC)
    } else {
        control::token_request(SYNC)
    };
    for bytes in [datagram, &info(variant, shown), &sync] {
        socket.send(bytes)?;
    }
    let mut got = Answers::default();
    let (mut synced, begin) = (0, Instant::now());
    let mut buffer = [0; 2048];
    while begin.elapsed() < QUIET {
        let Ok(len) = socket.recv(&mut buffer) else {
            // A 0.7.5 server with a slot drops the request: its answer to `info` is the last one.
            let is_complete = synced > 0 || got.slot && !is_ddnet;
            if is_complete && got.slot == expected.slot {
                break;
            }
            continue;
        };
        let bytes = buffer.get(..len).context("longer than the buffer")?;
        match (bytes.first().map(|first| first & 0xfc), control::message(bytes)) {
            (Some(0x04), Some(control::TOKEN)) if bytes.get(3..7) == Some(&SYNC) => synced += 1,
            (Some(0x10), Some(control::CONNECT_ACCEPT)) if len > 4 && is_ddnet => {
                synced += 1;
                got.accept_tken = synced - 1;
            }
            (Some(0x10), Some(control::CONNECT_ACCEPT)) => got.accept_plain += 1,
            (Some(0x04), Some(control::CONNECT_ACCEPT)) => got.accept_seven += 1,
            (Some(0x04), Some(control::TOKEN)) => got.tokens += 1,
            (_, Some(control::CLOSE)) => got.closes += 1,
            (_, Some(_)) => {}
            (_, None) => got.slot = true,
        }
        if synced > expected.accept_tken && got == *expected {
            socket.set_read_timeout(Some(Duration::from_millis(5)))?;
        }
    }
    if leg.has_slot() {
        socket.send(&control::close(
            variant,
            0,
            shown.or(Some(NO_TOKEN)).filter(|_| variant != Variant::V6),
            "",
        ))?;
    }
    Ok(got)
}
