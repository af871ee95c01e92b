//! `teetap run` without traffic: the output and the files of each option, the summary and the exit code of each end.
//!
//! The output is compared without times, ports and the order of lines, which depend on the machine.

use std::{fs, net::UdpSocket, path::Path};

use super::{Row, rows};
use crate::teetap;

/// Options of runs, then the command, all separated by `|`. `OUT` is a new file, `HOST` the address of a silent server.
const RUNS: &[&str] = &[
    "HOST|--|true",
    "HOST|--|false",
    "HOST|--|sh|-c|exit 7",
    "HOST|--|sh|-c|kill -9 $$",
    "HOST|--|sh|-c|echo a line; echo another >&2",
    "HOST|--|sh|-c|test {addr} = {host}:{port}",
    "HOST|--|./no-such-command",
    "HOST|-q|--|true",
    "HOST|-v|--color|always|--|false",
    "HOST|--json|--|sh|-c|exit 3",
    "HOST|--json|-q|--|true",
    "HOST|--ascii|--wide|--time|run|--|true",
    "HOST|--timeout|60ms",
    "HOST|--timeout|60ms|--json",
    "HOST|--timeout|60ms|--|sleep|60",
    "HOST|--timeout|60ms|--json|--|sleep|60",
    "HOST|--timeout|60ms|--until|sv_chat",
    "HOST|--until|sv_chat|--json|--|true",
    "HOST|--until|sv_chat|--|false",
    "HOST|--fail-on|lint|--|true",
    "HOST|--until|sv_chat|--fail-on|lint|--junit|OUT|--|true",
    "HOST|--until|sv_chat|--junit|OUT|--timeout|60ms|--|sleep|60",
    "HOST|--junit|OUT|--|sh|-c|exit 7",
    "HOST|--junit|OUT|--|true",
    "HOST|--junit|OUT|-r|wait: expect sv_chat within 1s when cl_say|-r|fail \"a motd\" when sv_motd|-r|fail \"a chat\" when sv_chat|--|true",
    "HOST|-r|drop when sv_chat|-r|named: delay 20ms when c2s|--link|s2c delay 5ms loss 1%|--|true",
    "HOST|-r|drop when sv_chat|--link|both delay 5ms|--json|--|false",
    "HOST|--profile|3g|--profile|wifi-bad|--|true",
    "HOST|-R|rules/examples/lost-vitals.tap|-R|rules/examples/stall.tap|-q|--|true",
    "HOST|-r|seed 77|--|true",
    "HOST|-r|drop wehn c2s|--|true",
    "HOST|-r|drop when sv_chat|-r|drop when sv_chat|--|true",
    "HOST|--heal|--proto|0.7|--|true",
    "HOST|--allow-remote|--|true",
    "HOST|-f|vital and|--|true",
    "HOST|-w|OUT.pcapng|--|true",
    "HOST|-w|OUT.jsonl|--json|--|true",
    "HOST|-w|OUT.jsonl|-q|--|false",
    "HOST|--input-log|OUT|--|true",
    "HOST|--journal|OUT|-r|drop when sv_chat|--|true",
    "HOST|--log|OUT|--|sh|-c|exit 4",
    "HOST|--log|OUT|-r|drop when sv_chat|--until|sv_chat|--timeout|60ms",
    "HOST|--messages|wire/defs/control.tw|--|true",
    "HOST|--show-secrets|-vv|--|true",
    "TEETAP_FILTER=lint|TEETAP_RULE=drop when sv_chat|HOST|--|true",
    "TEETAP_TIMEOUT=60ms|TEETAP_QUIET=1|HOST",
    "TEETAP_UNTIL=sv_chat|TEETAP_TIMEOUT=60ms|HOST|--json",
    "TEETAP_LOG=teetap=debug|HOST|--log|OUT|--|true",
    "TEETAP_LOG=x=y=z|HOST|--log|OUT|--|true",
];

/// Replaces times, dates, addresses of this machine and the secret of the run, and sorts the lines. Leaves out a warning that depends on the
/// duration of the run.
fn settled(text: &str) -> String {
    let mut lines: Vec<String> = text
        .lines()
        .filter(|line| !line.contains("did not answer"))
        .map(|line| {
            let (mut out, mut rest) = (String::new(), line);
            if let Some((before, secret)) = line.split_once("\"secret\":\"") {
                out.push_str(before);
                rest = secret.split_once('"').map_or("", |(_, rest)| rest);
            }
            while let Some(at) = rest.find(|char: char| char.is_ascii_digit()) {
                let (before, number) = rest.split_at(at);
                let is_part = |char: char| char.is_ascii_digit() || ".:-TZ".contains(char);
                let end = number.find(|char: char| !is_part(char)).unwrap_or(number.len());
                let (number, after) = number.split_at(end);
                out.push_str(before);
                // A number with a point is a time, an address or a version, with two colons it is a date.
                let is_steady = number.bytes().all(|byte| byte.is_ascii_digit()) && number.len() < 5;
                out.push_str(if is_steady { number } else { "#" });
                rest = after;
            }
            out + rest
        })
        .collect();
    lines.sort();
    lines.join("\n")
}

/// Runs a command line, and returns the exit code and the settled outputs with the contents of the new file.
fn outputs(line: &str, folder: &Path) -> Row {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let host = server.local_addr().unwrap().to_string();
    let out = folder.join("out");
    let path = out.to_str().unwrap();
    let mut command = teetap();
    command
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env_remove("COLUMNS");
    command.args(["run", "-l", "127.0.0.1:0"]);
    if !line.contains("seed") {
        command.args(["--seed", "5"]);
    }
    for arg in line.split('|') {
        match arg.split_once('=') {
            Some((name, value)) if name.starts_with("TEETAP_") => command.env(name, value),
            _ => command.arg(arg.replace("OUT", path).replace("HOST", &host)),
        };
    }
    let run = command.output().unwrap();
    let mut text = String::from_utf8([run.stdout, run.stderr].concat()).unwrap();
    for entry in fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        // A capture contains times in its bytes.
        if file.extension().is_none_or(|ending| ending != "pcapng") {
            text.push_str(&fs::read_to_string(&file).unwrap());
        }
        fs::remove_file(file).unwrap();
    }
    let text = text.replace(path, "OUT").replace(&host, "HOST");
    let text = text.replace(crate::TEETAP, "teetap");
    (run.status.code(), settled(&text).into_bytes())
}

#[test]
fn runs_without_traffic_are_reported_as_before() {
    rows("runs", RUNS.len(), |at, folder| {
        (outputs(RUNS[at], folder), RUNS[at].to_owned())
    });
}
