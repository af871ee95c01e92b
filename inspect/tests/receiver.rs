//! Compares the tracker of sequence numbers with receivers. For each datagram, the notes must agree with the receiver
//! about whether the datagram is dropped, and whether each vital message is accepted, a copy, or ahead of a missing
//! message. Correct peers must cause no warning or error.
//!
//! The receivers are scripted peers with the same checks as the games. Each session runs over a network that loses,
//! duplicates and delays datagrams, and is recorded at both ends. A recording contains the datagrams from the other end
//! as its own end received them, in that order.

use std::{
    error::Error,
    io::Cursor,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    time::Duration,
};

use teetap_capture::Playback;
use teetap_inspect::{Decoder, Message, Reading, recording::Item};
use teetap_kit::{
    capture::Packet,
    faulty::pcap,
    link::{Conditions, Hop, MS, Random, SECOND},
};
use teetap_peer::{Client, ClientConfig, Counters, Server, ServerConfig, Variant, token};
use teetap_proxy::session::EventKind;
use teetap_wire::{Code, Severity, def::Registry};

const CLIENT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 50_000);
const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8303);

const C2S: (SocketAddr, SocketAddr) = (CLIENT, SERVER);
const S2C: (SocketAddr, SocketAddr) = (SERVER, CLIENT);

/// Number of sessions per variant.
const SESSIONS: u64 = 16;

/// Duration of a session.
const LENGTH: u64 = 10 * SECOND;

/// Control messages without sequence numbers.
const HANDSHAKE: [&str; 4] = ["connect", "connect_accept", "accept", "token"];

/// Time step of the simulation.
const STEP: u64 = 5 * MS;

/// How a receiver handles a datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Treatment {
    is_dropped: bool,
    copies: u64,
    ahead: u64,
}

impl Treatment {
    /// Returns the treatment of a datagram from the counters of a connection before and after it; `None` if the
    /// connection did not count it.
    fn between(before: Counters, after: Counters) -> Option<Self> {
        let count = after.received + after.dropped - before.received - before.dropped;
        (count == 1).then(|| Self {
            is_dropped: after.dropped > before.dropped,
            copies: after.duplicates - before.duplicates,
            ahead: after.gaps - before.gaps,
        })
    }

    /// Returns the treatment that the notes claim.
    fn noted(reading: &Reading) -> Self {
        let drops = [Code::AckAhead, Code::AckBehind, Code::Overtaken];
        let has = |codes: &[Code]| {
            let messages = reading.messages.iter();
            let of = messages.filter(|message| message.notes.iter().any(|note| codes.contains(&note.code)));
            of.count() as u64
        };
        Self {
            is_dropped: reading.notes.iter().any(|note| drops.contains(&note.code)),
            copies: has(&[Code::SeqAgain, Code::SeqBehind]),
            ahead: has(&[Code::SeqAhead]),
        }
    }
}

/// A recording at one end, and how that end handled each datagram from the other end.
#[derive(Default)]
struct End {
    packets: Vec<Packet>,
    treatments: Vec<Option<Treatment>>,
}

impl End {
    fn add(
        &mut self,
        time: u64,
        (from, to): (SocketAddr, SocketAddr),
        payload: &[u8],
        how: Option<Treatment>,
    ) {
        let payload = payload.to_vec();
        self.packets.push(Packet {
            time,
            from,
            to,
            payload,
        });
        self.treatments.push(how);
    }

    /// Returns a line for each datagram whose notes claim a different treatment.
    fn differences(&self) -> Result<Vec<String>, Box<dyn Error>> {
        let mut differences = Vec::new();
        self.read(0, |frame, reading| {
            let Some(how) = self.treatments.get(frame - 1).copied().flatten() else {
                return;
            };
            // The notes on a handshake are about its tokens.
            let is_handshake = |message: &Message| message.name.is_some_and(|name| HANDSHAKE.contains(&name));
            let noted = Treatment::noted(reading);
            if how != noted && !reading.messages.iter().any(is_handshake) {
                differences.push(format!("frame {frame}: {how:?}, noted {noted:?}"));
            }
        })?;
        Ok(differences)
    }

    /// Returns a line for each warning and error in the recording, beginning at packet `start`.
    fn accusations(&self, start: usize) -> Result<Vec<String>, Box<dyn Error>> {
        let mut accusations = Vec::new();
        self.read(start, |frame, reading| {
            let of_messages = reading.messages.iter().flat_map(|message| &message.notes);
            let notes = reading.notes.iter().chain(of_messages);
            for note in notes.filter(|note| note.code.severity() >= Severity::Warning) {
                let detail = reading.detail(note).map(ToString::to_string).unwrap_or_default();
                accusations.push(format!(
                    "from {start} on, frame {frame}: {} {detail}",
                    note.code.name()
                ));
            }
        })?;
        Ok(accusations)
    }

    /// Decodes the recording, beginning at packet `start`.
    fn read(&self, start: usize, mut each: impl FnMut(usize, &Reading)) -> Result<(), Box<dyn Error>> {
        let packets = self.packets.get(start..).unwrap_or_default();
        let mut playback = Playback::pcap(Cursor::new(pcap(packets)))?;
        let mut decoder = Decoder::new(Registry::builtin());
        while let Some(item) = playback.read()? {
            let Item::Event(event) = item else { continue };
            let frame = match &event.what {
                EventKind::Datagram(datagram) => datagram.ends.frame,
                _ => None,
            };
            let decoded = decoder.decode(event);
            if let (Some(frame), Some(reading)) = (frame, &decoded.reading) {
                each(usize::try_from(frame)?, reading);
            }
        }
        Ok(())
    }
}

/// A session over a network, recorded at both ends.
struct Session {
    client: Client,
    server: Server,
    to_server: Hop<Vec<u8>>,
    to_client: Hop<Vec<u8>>,
    at_client: End,
    at_server: End,
    time: u64,
}

impl Session {
    fn new(variant: Variant, conditions: Conditions, seed: u64) -> Self {
        Self {
            client: Client::new(ClientConfig::new(variant, token(seed, "client"), "tee")),
            server: Server::new(ServerConfig {
                variants: vec![variant],
                ..ServerConfig::new(seed)
            }),
            to_server: Hop::new(conditions, seed),
            to_client: Hop::new(conditions, !seed),
            at_client: End::default(),
            at_server: End::default(),
            time: 0,
        }
    }

    /// Plays a session in which both sides send messages. Returns the recordings of the client and the server.
    fn play(mut self, seed: u64) -> [End; 2] {
        let mut random = Random::new(seed);
        while self.time < LENGTH {
            self.time += STEP;
            let now = Duration::from_micros(self.time);
            self.client.tick(now);
            self.server.tick(now);
            if random.chance(0.12) {
                let _not_connected = self.client.say(now, "a line of the client");
            }
            if random.chance(0.12) {
                self.server.say(now, "a line of the server");
            }
            self.send();
            while let Some(bytes) = self.to_server.receive(self.time) {
                self.receive_at_server(now, &bytes);
            }
            while let Some(bytes) = self.to_client.receive(self.time) {
                self.receive_at_client(now, &bytes);
            }
        }
        [self.at_client, self.at_server]
    }

    fn send(&mut self) {
        while let Some(bytes) = self.client.poll_transmit() {
            self.at_client.add(self.time, C2S, &bytes, None);
            // A DDNet server restarts on a copy of ACCEPT, but the scripted server does not.
            if bytes.starts_with(&[0x10, 0, 0, 3]) {
                self.to_server.send_once(bytes, self.time);
            } else {
                self.to_server.send(bytes, self.time);
            }
        }
        while let Some((_, bytes)) = self.server.poll_transmit() {
            self.at_server.add(self.time, S2C, &bytes, None);
            self.to_client.send(bytes, self.time);
        }
    }

    fn receive_at_server(&mut self, now: Duration, bytes: &[u8]) {
        let before = self.server_counters();
        self.server.handle(now, CLIENT, bytes);
        let treatment = Treatment::between(before, self.server_counters());
        self.at_server.add(self.time, C2S, bytes, treatment);
        self.send();
    }

    fn receive_at_client(&mut self, now: Duration, bytes: &[u8]) {
        let before = self.client.counters();
        self.client.handle(now, bytes);
        let treatment = Treatment::between(before, self.client.counters());
        self.at_client.add(self.time, S2C, bytes, treatment);
        self.send();
    }

    fn server_counters(&self) -> Counters {
        let client = self.server.clients().next();
        client.map_or(Counters::default(), |client| client.counters)
    }
}

/// The networks over which sessions are played.
const NETWORKS: [Conditions; 4] = [
    network(0, 0.15, 0.0),
    network(30, 0.03, 0.1),
    network(120, 0.05, 0.05),
    network(200, 0.0, 0.2),
];

const fn network(jitter: u64, loss: f64, duplicate: f64) -> Conditions {
    Conditions {
        delay: 20 * MS,
        jitter: jitter * MS,
        loss,
        duplicate,
    }
}

/// Plays sessions of each variant. Returns the lines that `of` returns for their ends.
fn over_all(of: impl Fn(&End) -> Vec<String>) -> Vec<String> {
    let mut lines = Vec::new();
    for variant in Variant::ALL {
        let mut known = 0;
        for (seed, conditions) in (0..SESSIONS).zip(NETWORKS.into_iter().cycle()) {
            let ends = Session::new(variant, conditions, seed).play(seed);
            for (side, end) in ["client", "server"].into_iter().zip(&ends) {
                known += end.treatments.iter().flatten().count();
                lines.extend(
                    of(end)
                        .into_iter()
                        .map(|line| format!("{variant}, seed {seed}, {side}: {line}")),
                );
            }
        }
        assert!(
            u64::try_from(known).is_ok_and(|known| known > 150 * SESSIONS),
            "{variant}: only {known} datagrams have been received"
        );
    }
    lines
}

#[test]
fn the_tracker_agrees_with_each_receiver() {
    let differences = over_all(|end| end.differences().unwrap());
    assert!(
        differences.is_empty(),
        "{}:\n{}",
        differences.len(),
        differences.join("\n")
    );
}

/// Datagrams missing from a recording that starts within a session are no fault of the peers, either.
#[test]
fn no_peer_is_accused_wherever_a_recording_begins() {
    let accusations = over_all(|end| {
        let starts = [0, 80];
        starts
            .into_iter()
            .flat_map(|start| end.accusations(start).unwrap())
            .collect()
    });
    assert!(
        accusations.is_empty(),
        "{}:\n{}",
        accusations.len(),
        accusations.join("\n")
    );
}
