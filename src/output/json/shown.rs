//! The first and the last line about a recording that is shown.

use teetap_capture::Tally;
use teetap_proxy::session::{Time, Traffic};

use super::{
    rfc3339,
    schema::{Body, PerDir, StartBody, TallyBody},
    write,
};
use crate::{exit::Exit, output::Opened};

/// The `start` line of a recording that is shown.
pub(in crate::output) fn opened(opened: &Opened<'_>, out: &mut Vec<u8>) {
    let run = opened.run;
    let body = StartBody {
        version: run.map_or(env!("CARGO_PKG_VERSION"), |run| &run.version),
        seed: run.map(|run| run.seed),
        target: run.map(|run| run.target.as_str()),
        server: run.map(|run| run.server),
        listen: run.map(|run| run.listen),
        wall_clock: rfc3339(opened.wall),
        file: Some(opened.file.to_string_lossy()),
    };
    write(Time::ZERO, Body::Start(body), out);
}

/// The `summary` line of a recording that was shown.
pub(in crate::output) fn tally(tally: &Tally, exit: Exit, out: &mut Vec<u8>) {
    let per_dir = |count: fn(&Traffic) -> u64| PerDir {
        c2s: count(&tally.c2s),
        s2c: count(&tally.s2c),
    };
    let body = TallyBody {
        packets: tally.packets,
        sessions: tally.sessions,
        datagrams: per_dir(|traffic| traffic.datagrams),
        bytes: per_dir(|traffic| traffic.bytes),
        not_understood: tally.foreign,
        not_udp: tally.other,
        fragments: tally.fragments,
        broken: tally.broken,
        doubled: tally.doubled,
        lost: tally.lost,
        exit: exit.code(),
    };
    write(tally.until, Body::Tally(body), out);
}
