//! Joins whose messages are reordered, duplicated, sent in the wrong kind of chunk or with a wrong version.

use anyhow::{Result, ensure};
use teetap_kit::link::Random;
use teetap_wire::Side;
use teetap_wire::receiver::{MessageVerdict, Release, Stage, message};

use super::peer::{Ids, Peer, system};
use super::{Report, Target};

const STEPS: [&str; 7] = [
    "info",
    "ready",
    "cl_start_info",
    "enter_game",
    "ping",
    "wrong info",
    "ready",
];

/// The state of a join according to the table.
#[derive(Debug)]
struct Course {
    release: Release,
    stage: Stage,
    has_start_info: bool,
}

/// The messages that the server sends after a step.
#[derive(Debug, PartialEq, Eq)]
struct Shown {
    map_change: usize,
    con_ready: usize,
    pongs: usize,
    close: Option<String>,
}

/// Plays `count` joins on one thread.
pub(crate) fn run(target: Target, seed: u64, count: u64) -> Result<Report> {
    let mut random = Random::new(seed);
    let mut report = Report::default();
    while report.cases < count {
        report.cases += 1;
        if let Err(error) = join(target, &mut random) {
            report
                .differ
                .push(format!("{}: {error:#}", target.receiver.release));
        }
    }
    Ok(report)
}

fn join(target: Target, random: &mut Random) -> Result<()> {
    let mut peer = Peer::connect(target.variant, target.addr)?;
    let release = target.receiver.release;
    let first = if release.is_ddnet() {
        Stage::PreAuth
    } else {
        Stage::Auth
    };
    let mut course = Course {
        release,
        stage: first,
        has_start_info: false,
    };
    let mut done = Vec::new();
    // Each join starts with some right steps.
    let right = usize::try_from(random.below(4))?;
    for step in 0..right + 3 {
        let at = if step < right {
            step
        } else {
            usize::try_from(random.below(7))?
        };
        let (name, vital) = (STEPS[at], step < right || random.below(5) > 0);
        done.push((name, vital, course.stage));
        let expected = course.step(name, vital);
        let ids = peer.ids();
        let bytes = bytes(&peer, name, &ids);
        let got = show(&mut peer, &bytes, vital, &ids, &expected)?;
        ensure!(got == expected, "{done:?}: predicted {expected:?}, got {got:?}");
        if expected.close.is_some() || course.stage == Stage::Ingame {
            break;
        }
    }
    peer.close()
}

fn bytes(peer: &Peer, name: &str, ids: &Ids) -> Vec<u8> {
    match name {
        "info" => peer.info(true),
        "wrong info" => peer.info(false),
        "ready" => system(ids.ready),
        "cl_start_info" => peer.start_info(),
        "enter_game" => system(ids.enter_game),
        _ => system(ids.ping),
    }
}

/// Sends the message and a ping, and waits for the reply to the ping or for a CLOSE.
fn show(peer: &mut Peer, message: &[u8], vital: bool, ids: &Ids, expected: &Shown) -> Result<Shown> {
    let seen = peer.step(message, vital, expected.pongs)?;
    ensure!(
        seen.close.is_some() || seen.ack == peer.leg.ack.get(),
        "ack {} after {:?}",
        seen.ack,
        peer.leg.ack
    );
    let count = |wanted: i32| seen.system.iter().filter(|id| **id == wanted).count();
    Ok(Shown {
        map_change: count(ids.map_change),
        con_ready: count(ids.con_ready),
        pongs: if seen.close.is_some() {
            expected.pongs
        } else {
            seen.pongs
        },
        close: seen.close.map(|text| text.chars().take(13).collect()),
    })
}

impl Course {
    fn step(&mut self, name: &str, vital: bool) -> Shown {
        let mut shown = Shown {
            map_change: 0,
            con_ready: 0,
            pongs: 1,
            close: None,
        };
        let row = match name {
            "wrong info" => message(self.release, Side::Server, "info"),
            "cl_start_info" => message(self.release, Side::Server, "game"),
            _ => message(self.release, Side::Server, name),
        };
        let Some(row) = row else {
            return shown;
        };
        let verdict = row.judge(self.stage, vital);
        let is_ready = row.after.is_none() || self.has_start_info;
        match verdict {
            MessageVerdict::Acts(_) if name == "wrong info" => {
                shown.close = row.closes.first().map(|text| text.chars().take(13).collect());
                return shown;
            }
            MessageVerdict::Acts(next) if is_ready => self.stage = next,
            MessageVerdict::AnswersOnly => {}
            _ => return shown,
        }
        self.has_start_info |= name == "cl_start_info";
        match row.answer {
            Some("map_change") => shown.map_change = 1,
            Some("con_ready") => shown.con_ready = 1,
            Some("ping_reply") => shown.pongs = 2,
            _ => {}
        }
        shown
    }
}
