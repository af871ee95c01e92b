//! A client that joins with one fault, against a scripted server, in virtual time.
//!
//! Law: the client has no other fault: without it, the same client joins and plays. [`crate::codec`] builds the
//! datagrams from the wire format alone. The [`Setting`] determines the quality of the network between client and
//! server.

mod content;
mod faults;
mod game;
mod habit;
mod live;
mod map;
mod server;
mod through;
mod world;

use std::{collections::BTreeSet, net::SocketAddr};

pub use crate::link::SECOND;
pub use content::{CONTENT_FAULTS, SERVER_FAULTS, ServerAct, ServerFault};
pub use faults::{Act, FAULTS, Fault, Sent};
pub use game::{Step, message};
pub use habit::Habit;
pub use live::{join, serve};
pub use map::{MAP_FAULTS, MapFault, MapTransfer};
pub use server::Scripted;
pub use through::{Through, through};

use crate::{
    capture::Packet,
    codec::{Datagram, Packing, Variant, control, parse},
    link::{Conditions, Hop, MS},
    peer::{Flaw, Options, Peer, Policy, Server},
};

/// Delay in microseconds from either end to the place where the datagrams are recorded.
const DELAY: u64 = 5 * MS;

/// Microseconds per step of virtual time.
const STEP: u64 = 10 * MS;

/// Microseconds between two inputs, and between two snapshots.
const EVERY: u64 = 40 * MS;

/// Microseconds between two additional datagrams of a fault.
const ADDED_EVERY: u64 = 300 * MS;

/// Microseconds between two vital messages of an end that talks.
const TALK_EVERY: u64 = 350 * MS;

/// The usual length of a session in microseconds.
pub const LENGTH: u64 = 5 * SECOND;

/// The circumstances of a session.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The protocol.
    pub variant: Variant,
    /// The seed of the tokens and of the network.
    pub seed: u64,
    /// The network between the client and the recording place, and between that place and the server.
    pub halves: [Conditions; 2],
    /// The length in microseconds.
    pub length: u64,
    /// True if both ends send vital messages repeatedly.
    pub talks: bool,
    /// A mistake in the numbers of the client.
    pub flaw: Option<Flaw>,
    /// A mistake in the numbers of the server.
    pub flaw_of_server: Option<Flaw>,
    /// The time in microseconds after which the client does nothing more; `None` if it never hangs.
    pub hangs: Option<u64>,
    /// The packing of the messages of the server.
    pub packing: Packing,
    /// The number of items in snapshots besides the player; `None` if snapshots are empty.
    pub items: Option<i32>,
    /// A fault in the contents of what the server sends.
    pub server_act: Option<ServerAct>,
    /// How the server differs from the games.
    pub habit: Habit,
}

impl Setting {
    /// Creates a setting with a good network and the usual length.
    #[must_use]
    pub fn new(variant: Variant, seed: u64) -> Self {
        let half = Conditions {
            delay: DELAY,
            ..Conditions::GOOD
        };
        Self {
            variant,
            seed,
            halves: [half; 2],
            length: LENGTH,
            talks: false,
            flaw: None,
            flaw_of_server: None,
            hangs: None,
            packing: Packing::Clear,
            items: None,
            server_act: None,
            habit: Habit::None,
        }
    }
}

/// Returns the addresses of the client and the server.
#[must_use]
pub fn addresses() -> (SocketAddr, SocketAddr) {
    (([127, 0, 0, 1], 50_000).into(), ([127, 0, 0, 1], 8303).into())
}

/// The datagrams of a session, and the progress of the client.
#[derive(Clone, Debug)]
pub struct Session {
    /// The datagrams of both ends in the order in which they pass the recording place.
    pub packets: Vec<Packet>,
    /// The last message of the join that the server received.
    pub reached: Option<Step>,
}

/// Plays a session; without a fault the client joins and plays.
#[must_use]
pub fn play(setting: &Setting, fault: Option<&Fault>) -> Session {
    let seed = setting.seed;
    let mut client = Client::new(setting, fault.map(|fault| &fault.act));
    let mut server = server(setting);
    let (from, to) = addresses();
    let [near, far] = setting.halves;
    let mut ways = [Way::new([near, far], seed), Way::new([far, near], !seed)];
    let mut packets: Vec<Packet> = Vec::new();
    let mut now = 0;
    while now < setting.length {
        let [to_server, to_client] = &mut ways;
        let mut record = |time, (from, to), payload: &[u8]| {
            let payload = payload.to_vec();
            packets.push(Packet {
                time,
                from,
                to,
                payload,
            });
        };
        to_server.pass(now, |time, bytes| record(time, (from, to), bytes));
        to_client.pass(now, |time, bytes| record(time, (to, from), bytes));
        while let Some(bytes) = to_server.after.receive(now) {
            server.receive(from, &bytes, now);
        }
        while let Some(bytes) = to_client.after.receive(now) {
            client.receive(&bytes, now);
        }
        client.update(now);
        server.update(now);
        for bytes in client.take_outgoing() {
            to_server.before.send(bytes, now);
        }
        for (_, bytes) in server.take_outgoing() {
            to_client.before.send(bytes, now);
        }
        now += STEP;
    }
    packets.sort_by_key(|packet| packet.time);
    Session {
        packets,
        reached: server.reached(from),
    }
}

/// Returns the server of a session.
fn server(setting: &Setting) -> server::Scripted {
    let Setting {
        variant,
        seed,
        packing,
        flaw_of_server,
        items,
        server_act,
        habit,
        ..
    } = *setting;
    let mut policy = Policy::default();
    policy.options.packing = packing;
    policy.options.flaw = flaw_of_server;
    let server = Server::new(variant, policy, 2 * seed + 2);
    server::Scripted::new(variant, server, setting.talks)
        .with_contents(items, server_act)
        .with_habit(habit)
}

/// One direction: the hop before the recording place, and the hop after it.
struct Way {
    before: Hop<Vec<u8>>,
    after: Hop<Vec<u8>>,
}

impl Way {
    fn new([before, after]: [Conditions; 2], seed: u64) -> Self {
        Self {
            before: Hop::new(before, seed),
            after: Hop::new(after, seed.wrapping_add(1 << 32)),
        }
    }

    /// Records the datagrams that reached the recording place by now, and forwards them.
    fn pass(&mut self, now: u64, mut record: impl FnMut(u64, &[u8])) {
        while let Some(time) = self.before.next_time().filter(|time| *time <= now) {
            if let Some(bytes) = self.before.receive(now) {
                record(time, &bytes);
                self.after.send(bytes, time);
            }
        }
    }
}

/// The client.
struct Client<'a> {
    peer: Peer,
    act: Option<&'a Act>,
    variant: Variant,
    /// Number of messages of the server already handled.
    seen: usize,
    has_begun: bool,
    is_in_game: bool,
    /// The time of the next line of chat; `None` after the last one.
    next_talk: Option<u64>,
    talks: bool,
    tick: i32,
    /// The parts of the newest snapshot that were received.
    parts: BTreeSet<i32>,
    /// The tick of these parts.
    parts_of: i32,
    next_input: u64,
    next_addition: u64,
    hangs: Option<u64>,
    outgoing: Vec<Vec<u8>>,
}

impl<'a> Client<'a> {
    fn new(setting: &Setting, act: Option<&'a Act>) -> Self {
        let Setting { variant, seed, .. } = *setting;
        let options = Options {
            flaw: setting.flaw,
            ..Options::default()
        };
        let mut peer = Peer::client(variant, options, 2 * seed + 1);
        peer.connect(0);
        Self {
            peer,
            act,
            variant,
            seen: 0,
            has_begun: false,
            is_in_game: false,
            next_talk: Some(SECOND + MS),
            talks: setting.talks,
            tick: 0,
            parts: BTreeSet::new(),
            parts_of: 0,
            next_input: 0,
            next_addition: 0,
            hangs: setting.hangs,
            outgoing: Vec::new(),
        }
    }

    fn receive(&mut self, bytes: &[u8], now: u64) {
        if self.hangs.is_some_and(|time| now >= time) {
            return;
        }
        self.peer.receive(bytes, now);
        let new: Vec<_> = self.peer.delivered.iter().skip(self.seen).cloned().collect();
        self.seen += new.len();
        for message in new {
            match game::answer_to(self.variant, &message.data) {
                Some(game::Answer::Step(step)) => self.say(step, now),
                Some(game::Answer::Tick(tick)) => self.tick = self.tick.max(tick),
                Some(game::Answer::Part(part)) => self.collect_part(part),
                None => {}
            }
        }
    }

    /// Collects a part of a snapshot. As the games do, gives up an older snapshot for a newer one.
    fn collect_part(&mut self, part: game::Part) {
        if part.tick < self.parts_of {
            return;
        }
        if part.tick > self.parts_of {
            self.parts_of = part.tick;
            self.parts.clear();
        }
        self.parts.insert(part.number);
        if i32::try_from(self.parts.len()) == Ok(part.parts) {
            self.tick = self.tick.max(part.tick);
        }
    }

    fn update(&mut self, now: u64) {
        if self.hangs.is_some_and(|time| now >= time) {
            return;
        }
        self.peer.update(now);
        if self.peer.is_online() && !self.has_begun {
            self.has_begun = true;
            self.say(Step::Info, now);
        }
        if self.is_in_game && self.next_input <= now && self.peer.is_online() {
            self.next_input = now + EVERY;
            self.say(Step::Input, now);
            if self.next_talk.is_some_and(|next| next <= now) {
                self.next_talk = self.talks.then_some(now + TALK_EVERY);
                self.say(Step::Say, now);
            }
        }
        self.collect();
        if let Some(Act::Add(add)) = self.act
            && self.peer.is_online()
            && self.next_addition <= now
            && now > SECOND
        {
            self.next_addition = now + ADDED_EVERY;
            self.outgoing.extend(add(&self.peer));
        }
    }

    /// Sends a message, or the messages that the fault replaces it with.
    fn say(&mut self, step: Step, now: u64) {
        self.is_in_game |= step == Step::EnterGame;
        let message = game::message(self.variant, step, self.tick);
        let mut list = vec![(step != Step::Input, message)];
        if let Some(Act::Message(of, change)) = self.act
            && *of == step
        {
            list = change(self.variant, list.remove(0).1);
        }
        for (vital, message) in list {
            if vital {
                self.peer.send_vital(&message, now);
            } else {
                self.peer.send_nonvital(&message, now);
            }
        }
        self.peer.flush(now);
    }

    /// Collects the datagrams that the peer sends, changed by its fault.
    fn collect(&mut self) {
        for mut bytes in std::mem::take(&mut self.peer.outgoing) {
            let is_control = control::message(&bytes).is_some();
            match self.act {
                Some(Act::Datagram(change)) if !is_control => {
                    if let Ok(mut datagram) = parse(self.peer.format(), &bytes) {
                        change(&mut datagram);
                        bytes = datagram.build();
                    }
                }
                Some(Act::Bytes(change)) if !is_control => change(self.variant, &mut bytes),
                Some(Act::Handshake(change)) if is_control => change(&mut bytes),
                _ => {}
            }
            self.outgoing.push(bytes);
        }
    }

    fn take_outgoing(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.outgoing)
    }
}

/// Returns the datagrams as a pcap file.
#[must_use]
pub fn pcap(packets: &[Packet]) -> Vec<u8> {
    // Little endian, microseconds, raw IP.
    let mut file = Vec::new();
    file.extend(0xa1b2_c3d4_u32.to_le_bytes());
    file.extend([2, 0, 4, 0]);
    file.extend([0; 8]);
    file.extend(65_535_u32.to_le_bytes());
    file.extend(101_u32.to_le_bytes());
    for packet in packets {
        let datagram = udp(packet);
        let len = u32::try_from(datagram.len()).unwrap_or(0).to_le_bytes();
        let word = |value: u64| u32::try_from(value).unwrap_or(0).to_le_bytes();
        // One second later, so that no time is zero.
        file.extend(word(1 + packet.time / SECOND));
        file.extend(word(packet.time % SECOND));
        file.extend(len);
        file.extend(len);
        file.extend(datagram);
    }
    file
}

/// Returns an IPv4 packet with a UDP datagram, without checksums.
fn udp(packet: &Packet) -> Vec<u8> {
    let ip = |address: SocketAddr| match address {
        SocketAddr::V4(address) => address.ip().octets(),
        SocketAddr::V6(_) => [0; 4],
    };
    let short = |value: usize| u16::try_from(value).unwrap_or(u16::MAX).to_be_bytes();
    let len = packet.payload.len();
    let mut out = vec![0x45, 0];
    out.extend(short(28 + len));
    out.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
    out.extend(ip(packet.from));
    out.extend(ip(packet.to));
    out.extend(packet.from.port().to_be_bytes());
    out.extend(packet.to.port().to_be_bytes());
    out.extend(short(8 + len));
    out.extend([0, 0]);
    out.extend(&packet.payload);
    out
}

/// Returns a data packet of the client with this payload and chunk count.
fn datagram(peer: &Peer, num_chunks: u8, payload: &[u8]) -> Datagram {
    let mut datagram = Datagram::of_chunks(
        peer.format(),
        peer.numbers().1,
        (peer.format() != Variant::V6).then_some(peer.tokens().1),
        Vec::new(),
    );
    datagram.head.num_chunks = num_chunks;
    datagram.payload = payload.to_vec();
    datagram.trailing = payload.to_vec();
    datagram
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_fault_the_client_joins_and_plays() {
        for variant in Variant::ALL {
            let session = play(&Setting::new(variant, 0), None);
            assert_eq!(session.reached, Some(Step::EnterGame), "{variant:?}");
            assert!(session.packets.len() > 100, "{variant:?}");
        }
    }

    #[test]
    fn a_bad_network_loses_doubles_and_delays() {
        let half = Conditions {
            delay: 20 * MS,
            jitter: 100 * MS,
            loss: 0.05,
            duplicate: 0.05,
        };
        let setting = Setting {
            halves: [half; 2],
            talks: true,
            ..Setting::new(Variant::V7, 3)
        };
        let (bad, again) = (play(&setting, None), play(&setting, None));
        assert_eq!(bad.packets, again.packets);
        assert_eq!(bad.reached, Some(Step::EnterGame));
        let times: Vec<u64> = bad.packets.iter().map(|packet| packet.time).collect();
        assert!(times.is_sorted());
        let copies = |packet: &&Packet| {
            bad.packets
                .iter()
                .filter(|other| other.payload == packet.payload)
                .count()
        };
        assert!(bad.packets.iter().any(|packet| copies(&packet) > 1));
    }

    #[test]
    fn every_fault_changes_the_session() {
        for fault in FAULTS {
            for variant in fault.variants {
                let setting = Setting::new(*variant, 0);
                let (good, bad) = (play(&setting, None), play(&setting, Some(fault)));
                assert_ne!(good.packets, bad.packets, "{} of {variant:?}", fault.name);
            }
        }
    }
}
