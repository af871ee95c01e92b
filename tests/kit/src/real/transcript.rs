//! A server's log without everything that may differ between two runs of the same scenario: times, the client's
//! address.
//!
//! Law: only parts that cannot be equal are removed; every other line is compared, in order.

use anyhow::{Context as _, Result, ensure};
use regex::Regex;

use super::Log;

/// Parts of lines whose presence or position depends on the clock.
const BY_THE_CLOCK: [&str; 5] = [
    // DDNet's database thread.
    "sql: ",
    // A client that leaves within a second of its arrival would be banned for "stressing network" if it were not
    // local.
    "ban failed (localhost)",
    // Printed at the first tick (20 ms) with two players, before or after the second one has entered.
    "[game]: start match",
    // A leaving player loses the tee if it was already in the world, which takes some ticks from the entry.
    "weapon=-3",
    // DDNet's last line: a separate thread writes its log and may not reach this line.
    "server: interrupted",
];

/// Returns the lines of a server's log after its start, comparable between runs.
pub fn server_transcript(log: &Log) -> Result<Vec<String>> {
    let stamp = Regex::new(r"^\[?\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\]| [A-Z] )")?;
    let address = Regex::new(r"127\.0\.0\.1:\d+")?;
    let ready = Regex::new(r"server\]?: version ")?;
    let lines = log.lines();
    let start = lines
        .iter()
        .position(|line| ready.is_match(&line.text))
        .context("a server log without a start")?;
    let plain = lines
        .iter()
        .skip(start + 1)
        .map(|line| stamp.replace(&line.text, "").into_owned());
    let plain = plain.filter(|line| !BY_THE_CLOCK.iter().any(|part| line.contains(part)));
    Ok(plain
        .map(|line| address.replace_all(&line, "ADDRESS").into_owned())
        .collect())
}

/// Fails with both texts and the first different line if they differ.
pub(crate) fn show_difference(direct: &[String], proxied: &[String]) -> Result<()> {
    let both = direct.len().max(proxied.len());
    let first = (0..both).find(|&at| direct.get(at) != proxied.get(at));
    let (left, right) = (direct.join("\n    "), proxied.join("\n    "));
    let Some(first) = first else { return Ok(()) };
    ensure!(
        false,
        "the logs differ at line {first}\ndirect:\n    {left}\nthrough the proxy:\n    {right}"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::real::PATIENCE;

    #[test]
    fn keeps_what_matters() {
        let log = Log::new("server");
        log.follow(
            &b"2026-11-20 10:00:20 I server: starting...\n\
               2026-11-20 10:00:20 I server: version 16.4 on linux amd64\n\
               2026-11-20 10:00:25 I sql: load player data done on read database 0\n\
               2026-11-20 10:00:25 I server: player has entered the game. ClientID=1 addr=<{127.0.0.1:3998}> sixup=0\n\
               [2026-11-20 10:00:30][game]: leave player='0:rig07'\n"[..],
        );
        log.drain(PATIENCE).unwrap();
        let entered = "server: player has entered the game. ClientID=1 addr=<{ADDRESS}> sixup=0";
        let wanted = [entered, "[game]: leave player='0:rig07'"].map(str::to_owned);
        assert_eq!(server_transcript(&log).unwrap(), wanted);
        show_difference(&wanted, &wanted).unwrap();
        assert!(show_difference(&wanted, &wanted[..1]).is_err());
    }
}
