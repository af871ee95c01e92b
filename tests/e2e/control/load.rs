//! Many peers, hostile peers, and peers that do not read.

use std::fs;
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::json;
use teetap_kit::{
    binary::place,
    codec::{Chunk, Datagram, Variant},
    control::Control,
    hostile::Shown,
    real::{PATIENCE, Teetap},
};

use super::Demo;
use crate::{TEETAP, hostile::Udp};

/// Maximum memory growth of a run because of its peers, in KiB: the ring of events, here of eight messages each, and
/// the buffers of 64 connections.
const MAY_GROW: u64 = 114 * 1024;

/// Requests the counts several times; each answer must arrive in time.
fn is_prompt(control: &mut Control) -> Result<()> {
    for _ in 0..20 {
        let begun = Instant::now();
        control.done(json!({"cmd": "stats"}))?;
        let took = begun.elapsed();
        ensure!(took < Duration::from_secs(2), "an answer took {took:?}");
    }
    Ok(())
}

#[test]
fn a_thousand_connections_are_refused_but_for_some() -> Result<()> {
    let mut demo = Demo::start(&[])?;
    let (mut control, _) = demo.joined()?;
    let mut all = Vec::new();
    let (mut served, mut turned_away) = (0, 0);
    for _ in 0..1000 {
        let mut peer = demo.connect()?;
        match peer.line()? {
            Some(line) if line["event"] == "start" => {
                served += 1;
                all.push(peer);
            }
            Some(line) => {
                ensure!(line["id"].is_null() && line["done"] == false, "{line}");
                ensure!(
                    line["why"] == "too many connections: at most 64 are served",
                    "{line}"
                );
                turned_away += 1;
            }
            None => bail!("closed silently"),
        }
    }
    ensure!(
        (served, turned_away) == (63, 937),
        "{served} served, {turned_away} refused"
    );
    is_prompt(&mut control)?;
    // The shell reports it, too.
    let (_, errors) = demo.ctl(&["stats"], 1);
    ensure!(errors.contains("too many connections"), "{errors}");
    drop(all);
    let deadline = Instant::now() + PATIENCE;
    while demo
        .connect()?
        .line()?
        .is_none_or(|line| line["event"] != "start")
    {
        ensure!(Instant::now() < deadline, "none is served again");
    }
    demo.stop()?;
    Ok(())
}

#[test]
fn garbage_gets_answers_with_the_cause() -> Result<()> {
    let mut demo = Demo::start(&[])?;
    let mut other = demo.connect()?;
    let why = |bytes: &[u8]| -> Result<String> {
        let mut control = demo.connect()?;
        control.send(bytes)?;
        let answer = control.answer()?;
        ensure!(answer["done"] == false && answer["id"].is_null(), "{answer}");
        // The connection stays open.
        control.done(json!({"cmd": "stats"}))?;
        Ok(answer["why"].as_str().unwrap_or_default().to_owned())
    };
    ensure!(why(b"\xff\xfe\n")? == "not UTF-8 at byte 0");
    ensure!(why(b"{\"id\":1,\"cmd\":\"stats\"\n")?.starts_with("not a JSON object: "));
    ensure!(why(b"\x00\x01\x1b[2J\n")?.starts_with("not a JSON object: "));
    ensure!(why(b"[[[[[[1]]]]]]\n")?.starts_with("not a JSON object: "));
    ensure!(why(&[&[b'['; 60_000][..], b"\n"].concat())?.starts_with("not a JSON object: "));
    let long = [&[b'x'; 65_537][..], b"\n"].concat();
    ensure!(why(&long)? == "the line is longer than 65536 bytes");
    // One error, however long the line is.
    let longer = [&[b'x'; 1 << 20][..], b"\n"].concat();
    ensure!(why(&longer)? == "the line is longer than 65536 bytes");
    ensure!(why(b"\n\r\n  \nnull\n")?.starts_with("not a JSON object: "));

    // Lines in parts, byte by byte.
    let mut control = demo.connect()?;
    for byte in b"{\"id\":1,\"cmd\":\"stats\"}\n{\"id\":2,\"cmd\":\"sessions\"}" {
        control.send([*byte])?;
        thread::sleep(Duration::from_millis(1));
    }
    ensure!(control.answer()?["id"] == 1);
    // The end of the input ends the last line; the answer is still sent.
    control.stream().shutdown(std::net::Shutdown::Write)?;
    ensure!(control.answer()?["id"] == 2);
    ensure!(control.line()?.is_none());

    // Random bytes from many peers.
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    for _ in 0..50 {
        let mut peer = UnixStream::connect(&demo.path)?;
        let mut bytes = Vec::new();
        for _ in 0..5000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            bytes.push(u8::try_from(state >> 56)?);
        }
        let _closed = peer.write_all(&bytes);
    }
    is_prompt(&mut other)?;
    demo.stop()?;
    Ok(())
}

/// Number of datagrams sent before the peers may read.
const AT_ONCE: u64 = 24;

/// Number of messages in a datagram of the flood.
const MESSAGES: u64 = 8;

/// Returns a datagram of the client with non-vital messages.
fn full(shown: Shown) -> Vec<u8> {
    let chunks: Vec<Chunk> = (0..MESSAGES).map(|_| Chunk::new(None, [0x0a, 0x08])).collect();
    Datagram::of_chunks(shown.format, shown.ack, shown.token, chunks).build()
}

/// Sends a flood of messages while one subscriber does not read, one reads, and one resumes reading.
#[test]
fn a_subscriber_that_does_not_read_costs_the_others_nothing() -> Result<()> {
    let (_folder, path) = place("run.sock");
    let mut udp = Udp::new(Variant::V7, Variant::V7)?;
    let options = ["-q", "--control", path.to_str().unwrap_or_default()];
    // After a signal the run has no time to print a backlog of lines, so that this test reads nothing that it prints.
    let run = Teetap::start_keeping(Path::new(TEETAP), udp.server_addr()?, &options, |line| {
        line.contains(r#""event":"start""#)
    })?;
    udp.join(run.listen())?;
    let mut control = Control::connect(&path)?;
    let mut late = Control::connect(&path)?;
    let mut stuck: Vec<Control> = Vec::new();
    for _ in 0..10 {
        stuck.push(Control::connect(&path)?);
    }
    for peer in stuck.iter_mut().chain([&mut late]) {
        peer.done(json!({"cmd": "subscribe"}))?;
    }
    // This subscriber reads, but its filter matches little.
    let mut quick = Control::connect(&path)?;
    quick.done(json!({"cmd": "subscribe", "filter": "sv_motd"}))?;
    let before = run.resident()?;
    let begun = Instant::now();
    let (mut sent, mut rounds, mut slowest) = (0_u64, 0, Duration::ZERO);
    let mut late = Some(late);
    while begun.elapsed() < Duration::from_secs(13) {
        let datagram = full(udp.shown_up());
        for _ in 0..AT_ONCE {
            udp.throw_up(&datagram)?;
            sent += 1;
        }
        udp.run(Duration::from_millis(3))?;
        rounds += 1;
        if rounds % 100 == 0 {
            let asked = Instant::now();
            control.done(json!({"cmd": "stats"}))?;
            slowest = slowest.max(asked.elapsed());
            udp.talk()?;
        }
        // The ring is full, and the subscribers that did not read are not cut off yet.
        let is_full = sent > 24_000 || begun.elapsed() > Duration::from_secs(6);
        if let Some(mut late) = late.take_if(|_| is_full) {
            let gap = late.wait_for("a gap", |line| line["event"] == "gap")?;
            ensure!(gap["lost"].as_u64().unwrap_or(0) > 0, "{gap}");
            late.wait_for("a message after it", |line| line["event"] == "message")?;
        }
    }
    let messages = sent * MESSAGES;
    println!("{messages} messages in {:?}", begun.elapsed());
    ensure!(messages > 13 * 20_000, "{messages} messages");
    let grown = run.resident()?.saturating_sub(before);
    println!("slowest answer {slowest:?}, grown by {grown} KiB");
    ensure!(slowest < Duration::from_secs(2), "an answer took {slowest:?}");
    ensure!(grown < MAY_GROW, "grown by {grown} KiB");
    for mut peer in stuck {
        // The rest of the bytes in the socket's buffer, and then the end.
        while peer.line().ok().flatten().is_some() {}
    }
    let stats = control.done(json!({"cmd": "stats"}))?;
    let subscribers = stats["stats"]["subscribers"].as_u64().unwrap_or(99);
    ensure!(subscribers <= 2, "{stats}");
    let gaps = quick
        .events
        .iter()
        .filter(|event| event["event"] == "gap")
        .count();
    ensure!(gaps == 0, "{gaps} gaps for one that reads");
    // Printed among the many messages.
    run.errors()
        .wait_for("cut off: its peer read nothing for 10 s", Duration::from_secs(20))?;
    run.stop()?;
    Ok(())
}

/// Endless commands whose answers are not read.
#[test]
fn a_flood_of_commands_costs_the_others_nothing() -> Result<()> {
    let mut demo = Demo::start(&[])?;
    let (mut control, number) = demo.joined()?;
    let before = resident(demo.child.id())?;
    let mut floods = Vec::new();
    for _ in 0..8 {
        let peer = UnixStream::connect(&demo.path)?;
        peer.set_nonblocking(true)?;
        floods.push(peer);
    }
    let inject =
        format!("{{\"id\":1,\"cmd\":\"inject\",\"session\":{number},\"message\":\"s2c sv_broadcast\"}}\n");
    let rules = "{\"id\":1,\"cmd\":\"rules\"}\n";
    let lines = [inject, rules.to_owned()].concat().repeat(50);
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(4) {
        for peer in &mut floods {
            // A full socket is the purpose; a partial line is not JSON.
            let _full = peer.write(lines.as_bytes());
        }
        is_prompt(&mut control)?;
    }
    let grown = resident(demo.child.id())?.saturating_sub(before);
    ensure!(grown < MAY_GROW, "grown by {grown} KiB");
    demo.stop()?;
    Ok(())
}

/// Returns the resident memory of a process in KiB, without the pages of files such as the program.
fn resident(process: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.context("no RssAnon")?.parse()?)
}
