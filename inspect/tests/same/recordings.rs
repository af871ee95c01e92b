//! The recordings of a run, and the items read from these recordings.

use std::{
    collections::BTreeMap,
    fmt::{self, Write as _},
    io::Cursor,
    net::SocketAddr,
    sync::Arc,
};

use teetap_capture::{
    Encode, Encoder, Item, Playback, Run,
    jsonl::JsonLines,
    scrub::{Keep, Opened, Scrubber},
};
use teetap_inspect::{Decoder, judge::Judge, row};
use teetap_kit::{
    capture::Packet,
    faulty::pcap,
    world::{route, transcript},
};
use teetap_proxy::{
    io::Seen,
    session::{Datagram, Event, EventKind, Level, Time},
};
use teetap_repeatable::checksum;
use teetap_wire::{
    Dir, Side,
    def::{Registry, Secrets},
};

/// Returns the findings of events as lines.
pub(crate) fn findings(items: impl Iterator<Item = Item>) -> String {
    let mut decoder = Decoder::new(Registry::builtin());
    let mut judge = Judge::new(Secrets::Hide, decoder.stated().clone());
    for item in items {
        judge.record(item, &mut decoder, drop);
    }
    judge.finish(&mut decoder);
    let findings = judge.findings();
    let mut text = String::new();
    for finding in &findings.list {
        let _infallible = writeln!(
            text,
            "{} {} {} {}: {} | {}",
            finding.severity.name(),
            finding.topic.name(),
            finding.role.name(),
            finding.peer(),
            finding.sentence(),
            finding.place(true)
        );
    }
    text
}

/// Returns the packets of an event on the legs of a client and of the server, as tcpdump sees them.
fn packets(at: Time, datagram: &Datagram, packets: &mut Vec<Packet>) {
    let ends = &datagram.ends;
    let (Some(client), Some(upstream)) = (ends.client, ends.local) else {
        return;
    };
    let mut add = |leg: Side, bytes: &[u8]| {
        let (near, far): (SocketAddr, SocketAddr) = match leg {
            Side::Client => (client, route().listen),
            Side::Server => (upstream, route().server),
        };
        let (from, to) = match datagram.dir {
            Dir::C2s => (near, far),
            Dir::S2c => (far, near),
        };
        packets.push(Packet {
            time: at.0,
            from,
            to,
            payload: bytes.to_vec(),
        });
    };
    if let Some(bytes) = datagram.received() {
        add(datagram.dir.sender(), bytes);
    }
    for bytes in datagram.sent() {
        add(datagram.dir.receiver(), bytes);
    }
}

/// Reads all items of a recording.
fn items(mut playback: Playback<Cursor<&[u8]>>) -> Vec<Item> {
    std::iter::from_fn(|| playback.read().expect("a whole recording")).collect()
}

/// Returns a scrubbed copy of a recording.
fn scrubbed(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let (_, opened) = Opened::detect(Cursor::new(bytes)).expect("a recording");
    let mut scrubber = Scrubber::new(Registry::builtin(), Keep::default());
    opened.scrub(&mut scrubber, &mut out).expect("a whole recording");
    out
}

/// Texts made from the recordings of a run: the findings, and the contents of each file.
pub(crate) struct Recordings {
    findings: String,
    others: Vec<(&'static str, String)>,
}

impl Recordings {
    pub(crate) fn of(events: Vec<Event>) -> Self {
        let run = Run {
            version: "0.0.0".to_owned(),
            wall: 1_700_000_000_000_000_000,
            seed: 1,
            target: "localhost".to_owned(),
            server: route().server,
            listen: route().listen,
        };
        let mut encoders: [Box<dyn Encode>; 2] = [
            Box::new(Encoder::new(run.clone(), row::comment)),
            Box::new(JsonLines::new(run)),
        ];
        let mut written = [Vec::new(), Vec::new()];
        let mut legs = Vec::new();
        let mut decoder = Decoder::new(Registry::builtin());
        decoder.decode_everything();
        for (encoder, out) in encoders.iter_mut().zip(&mut written) {
            encoder.start(out);
            encoder.log(Time::ZERO, Level::Info, "a line of the program", out);
        }
        for (number, event) in events.iter().enumerate() {
            if let EventKind::Datagram(datagram) = &event.what {
                packets(event.at, datagram, &mut legs);
            }
            let decoded = Seen::Event(Arc::new(decoder.decode(event.clone())));
            for (encoder, out) in encoders.iter_mut().zip(&mut written) {
                encoder.seen(&decoded, event.at, out);
                if number == 1000 {
                    encoder.seen(&Seen::Gap(3), event.at, out);
                }
            }
        }
        let [pcapng, json] = written;
        let tcpdump = pcap(&legs);
        let again = items(Playback::pcapng(Cursor::new(pcapng.as_slice())));
        let again: String = again
            .iter()
            .map(|item| match item {
                Item::Event(event) => transcript(event) + "\n",
                other => format!("{other:?}\n"),
            })
            .collect();
        let foreign = items(Playback::pcap(Cursor::new(tcpdump.as_slice())).expect("a pcap"));
        let clean = scrubbed(&pcapng);
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self {
            findings: findings(events.into_iter().map(Item::Event)),
            others: vec![
                ("pcapng", text(pcapng.clone())),
                ("jsonl", text(json.clone())),
                ("again", again),
                (
                    "recorded-findings",
                    findings(items(Playback::pcapng(Cursor::new(pcapng.as_slice()))).into_iter()),
                ),
                ("tcpdump-findings", findings(foreign.into_iter())),
                (
                    "scrubbed-findings",
                    findings(items(Playback::pcapng(Cursor::new(clean.as_slice()))).into_iter()),
                ),
                ("scrubbed-pcapng", text(clean)),
                ("scrubbed-jsonl", text(scrubbed(&json))),
            ],
        }
    }

    /// Returns the texts with their names.
    pub(crate) fn texts(&self) -> Vec<(&str, &str)> {
        let others = self.others.iter().map(|(name, text)| (*name, text.as_str()));
        [("findings", self.findings.as_str())]
            .into_iter()
            .chain(others)
            .collect()
    }
}

impl fmt::Display for Recordings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, text) in &self.others {
            writeln!(
                f,
                "{name}: {} lines, {:016x}",
                text.lines().count(),
                checksum(text)
            )?;
        }
        writeln!(
            f,
            "findings: {} lines, {:016x}",
            self.findings.lines().count(),
            checksum(&self.findings)
        )?;
        let mut counts = BTreeMap::<_, usize>::new();
        for line in self.findings.lines() {
            let head: Vec<_> = line.split([' ', ':']).take(4).collect();
            *counts.entry(head.join(" ")).or_default() += 1;
        }
        counts
            .iter()
            .try_for_each(|(head, count)| write!(f, "\n{count:3} {head}"))
    }
}
