//! Long recordings, made of copies of the recorded sessions of the tests. The copies follow each other, each with its
//! own clients, so that there are as many sessions as in a recording of days.
//!
//! Law: the datagrams of real peers and the pauses between them are kept. Only the addresses and the time of day are
//! invented.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use teetap_capture::{Encode as _, Encoder, Item, Playback, Run};
use teetap_inspect::{Decoder, row};
use teetap_kit::capture::{self, Flow};
use teetap_proxy::io::Seen;
use teetap_proxy::session::{Event, EventKind, SessionId, Time};
use teetap_wire::def::Registry;

/// The file format of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// The format of tcpdump.
    Pcap,
    /// The format of `teetap -w`, with both legs and comments.
    PcapNg,
}

/// Microseconds between the end of a copy and the start of the next one.
const PAUSE: u64 = 1_000_000;
/// Start of the first copy, in microseconds since 1970.
const BEGIN: u64 = 1_700_000_000_000_000;
const CLIENT_PORTS: std::ops::Range<usize> = 10_000..60_000;

/// Writes a recording of at least `size` bytes, with copies of the recorded sessions `name`.
pub(crate) fn write(name: &str, format: Format, size: u64, path: &Path) -> Result<()> {
    let packets = capture::recorded(name).with_context(|| format!("the sessions of {name}"))?;
    let copies = Copies::from_packets(packets).with_context(|| format!("{name} is empty"))?;
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut ours = Ours::new();
    let (mut block, mut written) = (Vec::new(), 0);
    match format {
        Format::Pcap => begin(&mut block),
        Format::PcapNg => ours.encoder.start(&mut block),
    }
    for number in 0.. {
        match format {
            Format::Pcap => copies.add(number, &mut block),
            Format::PcapNg => ours.add(&copies, number, &mut block)?,
        }
        out.write_all(&block)?;
        written += block.len() as u64;
        block.clear();
        if written >= size {
            break;
        }
    }
    Ok(out.flush()?)
}

/// Sessions to copy.
struct Copies {
    flows: Vec<Flow>,
    start: u64,
    length: u64,
}

impl Copies {
    fn from_packets(packets: Vec<capture::Packet>) -> Option<Self> {
        let (start, end) = (packets.first()?.time, packets.last()?.time);
        Some(Self {
            flows: capture::flows(packets),
            start,
            length: end - start + PAUSE,
        })
    }

    /// Returns the client address of a flow in a copy.
    fn client(&self, number: usize, flow: usize) -> SocketAddr {
        let (ports, ordinal) = (CLIENT_PORTS.len(), number * self.flows.len() + flow);
        let port = u16::try_from(CLIENT_PORTS.start + ordinal % ports).unwrap_or(u16::MAX);
        SocketAddr::new([127, 0, 0, 1].into(), port)
    }

    /// Appends a copy as packets of a pcap file.
    fn add(&self, number: usize, out: &mut Vec<u8>) {
        let mut packets = Vec::new();
        for (at, flow) in self.flows.iter().enumerate() {
            let client = self.client(number, at);
            packets.extend(flow.packets.iter().map(|packet| {
                let (from, to) = match flow.is_from_client(packet) {
                    true => (client, flow.server),
                    false => (flow.server, client),
                };
                (packet.time, from, to, &*packet.payload)
            }));
        }
        packets.sort_by_key(|(time, ..)| *time);
        let shift = BEGIN + self.length * number as u64 - self.start;
        for (time, from, to, payload) in packets {
            record(time + shift, from, to, payload, out);
        }
    }
}

/// Appends the header of a pcap file with microseconds and Ethernet frames.
fn begin(out: &mut Vec<u8>) {
    out.extend(
        [0xa1b2_c3d4, 2 | 4 << 16, 0, 0, 0xffff, 1]
            .into_iter()
            .flat_map(u32::to_le_bytes),
    );
}

/// Appends a packet of a pcap file, without checksums.
fn record(time: u64, from: SocketAddr, to: SocketAddr, payload: &[u8], out: &mut Vec<u8>) {
    let number = |value: u64| u32::try_from(value).unwrap_or(u32::MAX).to_le_bytes();
    let big = |value: usize| u16::try_from(value).unwrap_or(u16::MAX).to_be_bytes();
    let len = 42 + payload.len() as u64;
    for value in [time / 1_000_000, time % 1_000_000, len, len] {
        out.extend(number(value));
    }
    out.extend([2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0]);
    out.extend([0x45, 0]);
    out.extend(big(28 + payload.len()));
    out.extend([0, 0, 0, 0, 64, 17, 0, 0]);
    for address in [from.ip(), to.ip()] {
        if let IpAddr::V4(address) = address {
            out.extend(address.octets());
        }
    }
    out.extend(from.port().to_be_bytes());
    out.extend(to.port().to_be_bytes());
    out.extend(big(8 + payload.len()));
    out.extend([0, 0]);
    out.extend_from_slice(payload);
}

/// The encoder of copies as events that a run of teetap would have recorded.
struct Ours {
    encoder: Encoder,
    decoder: Decoder,
    /// Number of sessions in the previous copies.
    sessions: u32,
}

impl Ours {
    fn new() -> Self {
        let run = Run {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            wall: BEGIN * 1000,
            seed: 1,
            target: "127.0.0.1:8303".to_owned(),
            server: ([127, 0, 0, 1], 8303).into(),
            listen: ([127, 0, 0, 1], 8304).into(),
        };
        Self {
            encoder: Encoder::new(run, row::comment),
            decoder: Decoder::new(Registry::builtin()),
            sessions: 0,
        }
    }

    fn add(&mut self, copies: &Copies, number: usize, out: &mut Vec<u8>) -> Result<()> {
        let mut pcap = Vec::new();
        begin(&mut pcap);
        copies.add(number, &mut pcap);
        let mut playback = Playback::pcap(pcap.as_slice())?;
        let mut clients = BTreeMap::new();
        let mut last = 0;
        while let Some(item) = playback.read()? {
            let Item::Event(mut event) = item else { continue };
            if let (EventKind::Session(change), Some(session)) = (&event.what, event.session) {
                clients.insert(session, change.client);
            }
            last = last.max(event.session.map_or(0, |session| session.0));
            self.shift(copies, number, &clients, &mut event);
            let at = event.at;
            let decoded = self.decoder.decode(event);
            self.encoder.seen(&Seen::Event(Arc::new(decoded)), at, out);
        }
        self.sessions += last;
        Ok(())
    }

    /// Moves an event to the time and the session of its copy, and adds the addresses, which only a proxy knows.
    fn shift(
        &self,
        copies: &Copies,
        number: usize,
        clients: &BTreeMap<SessionId, SocketAddr>,
        event: &mut Event,
    ) {
        event.at = Time(event.at.0 + copies.length * number as u64);
        let client = event.session.and_then(|session| clients.get(&session)).copied();
        if let Some(ends) = event.ends_mut() {
            ends.client = client;
            ends.local = client.map(|client| SocketAddr::new(client.ip(), client.port() ^ 1));
        }
        if let Some(session) = &mut event.session {
            session.0 += self.sessions;
        }
    }
}

impl std::fmt::Debug for Ours {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ours").finish_non_exhaustive()
    }
}
