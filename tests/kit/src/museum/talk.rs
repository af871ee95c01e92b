//! A session between a client and a server, datagram by datagram.

use super::{
    file::{self, Sent},
    message::{Message, extended, game, system},
    snap::{Items, Snap, world},
};
use crate::{
    codec::{Head, Packing, Token, Variant, control, put_chunk, seal},
    huffman::Ending,
    peer::Role,
};

/// The tokens chosen by the client and the server.
const CLIENT: Token = [0x3a, 0x91, 0x5c, 0x07];
pub(super) const SERVER: Token = [0x6e, 0x24, 0xb8, 0xd1];
/// Microseconds from one datagram to the next, unless [`Talk::wait`] adds more.
const STEP: u64 = 10_000;
/// The id of the client's version message, an extended message of DDNet.
const CLIENT_VERSION: u128 = 0x8c00_1304_8461_3e47_8787_f672_b383_5bd4;

/// A scripted session, and the datagrams sent so far.
pub(crate) struct Talk {
    pub(super) variant: Variant,
    now: u64,
    client: End,
    server: End,
    sent: Vec<Sent>,
}

/// The numbers of a peer.
#[derive(Default)]
struct End {
    /// The last sequence number that the peer sent.
    seq: u16,
    /// The last sequence number that the peer received in order.
    ack: u16,
}

impl Talk {
    /// Opens a session: the handshake.
    pub(crate) fn open(variant: Variant) -> Self {
        Self::accepted_with(variant, SERVER)
    }

    /// Opens a session in which the server writes `token` into its accept.
    pub(super) fn accepted_with(variant: Variant, token: Token) -> Self {
        let mut talk = Self {
            variant,
            now: 0,
            client: End::default(),
            server: End::default(),
            sent: Vec::new(),
        };
        if variant.is_seven() {
            talk.datagram(Role::Client, control::token_request(CLIENT));
            talk.datagram(Role::Server, control::token_reply(variant, CLIENT, SERVER));
        }
        talk.datagram(Role::Client, control::connect(variant, CLIENT, SERVER));
        talk.datagram(Role::Server, control::connect_accept(variant, CLIENT, token));
        if matches!(variant, Variant::V6 | Variant::Ddnet) {
            let token = (variant == Variant::Ddnet).then_some(SERVER);
            talk.datagram(Role::Client, control::accept(token));
        }
        talk
    }

    /// Opens a session and completes the client's join.
    pub(super) fn join(variant: Variant) -> Self {
        let mut talk = Self::open(variant);
        talk.info();
        talk.send(Role::Server, &[map_change(variant)]);
        talk.enter();
        talk
    }

    /// Sends the client's version and info.
    pub(crate) fn info(&mut self) {
        if self.variant.is_seven() {
            let info = system(1).text("0.7 802f1be60a05665f").text("").int(0x0705);
            return self.send(Role::Client, &[info]);
        }
        let version = extended(CLIENT_VERSION)
            .raw(&[0x5a; 16])
            .int(16_040)
            .text("DDNet 16.4");
        let info = system(1).text("0.6 626fce9a778df4d4").text("");
        self.send(Role::Client, &[version, info]);
    }

    /// Sends everything from the loaded map to the request to enter the game.
    pub(crate) fn enter(&mut self) {
        self.ready();
        self.start_info();
        self.begin();
    }

    /// Sends the client's report that it has loaded the map, and the server's answer.
    pub(super) fn ready(&mut self) {
        let (ready, con_ready) = if self.variant.is_seven() { (18, 5) } else { (14, 4) };
        self.send(Role::Client, &[system(ready)]);
        self.send(Role::Server, &[game(1).text("welcome"), system(con_ready)]);
    }

    /// Sends the client's name and looks.
    pub(super) fn start_info(&mut self) {
        let info = start_info(self.variant);
        self.send(Role::Client, &[info]);
    }

    /// Sends the client's request to enter the game, and the messages around it.
    pub(super) fn begin(&mut self) {
        self.send(Role::Server, &[game(11), game(8)]);
        let enter = if self.variant.is_seven() { 19 } else { 15 };
        self.send(Role::Client, &[system(enter)]);
        if self.variant.is_seven() {
            let info = game(19).ints(&[0, 20, 0, 0, 1]);
            let client = appearance(game(18).ints(&[0, 1, 0]).text("museum").text("").int(-1)).int(0);
            self.send(Role::Server, &[info, client]);
        }
    }

    /// Advances the time by `ms` milliseconds.
    pub(super) fn wait(&mut self, ms: u64) {
        self.now += ms * 1000;
    }

    /// Sends messages in one datagram that is received.
    pub(crate) fn send(&mut self, from: Role, messages: &[Message]) {
        let last = self.post(from, messages);
        if let Some(seq) = last {
            self.end(other(from)).ack = seq;
        }
    }

    /// Sends messages in one datagram, which the receiver does not ack. Returns the last sequence number.
    pub(super) fn post(&mut self, from: Role, messages: &[Message]) -> Option<u16> {
        let variant = self.variant;
        let mut payload = Vec::new();
        let mut last = None;
        for message in messages {
            let end = self.end(from);
            let seq = message.vital.then(|| (end.seq + 1) % 1024);
            end.seq = seq.unwrap_or(end.seq);
            last = seq.or(last);
            put_chunk(&mut payload, variant, seq, false, &message.data);
        }
        let head = self.head(from, messages.len());
        self.datagram(from, seal(&head, &payload, Packing::IfShorter(Ending::Padded)));
        last
    }

    /// Retransmits messages, the first with the number `first`. The receiver acks them.
    pub(super) fn resend(&mut self, from: Role, first: u16, messages: &[Message]) {
        self.repeat(from, first, messages);
        let last = (first..).zip(messages).last();
        let ack = last.map_or(self.end(other(from)).ack, |(seq, _)| seq);
        self.end(other(from)).ack = ack;
    }

    /// Retransmits messages, the first with the number `first`, to a peer that acks none of them.
    pub(super) fn repeat(&mut self, from: Role, first: u16, messages: &[Message]) {
        let mut payload = Vec::new();
        for (seq, message) in (first..).zip(messages) {
            put_chunk(&mut payload, self.variant, Some(seq), true, &message.data);
        }
        let head = self.head(from, messages.len());
        self.datagram(from, seal(&head, &payload, Packing::IfShorter(Ending::Padded)));
    }

    /// Requests a resend of everything that is not acked.
    pub(super) fn request(&mut self, from: Role) {
        let mut head = self.head(from, 0);
        head.flags.resend = true;
        self.datagram(from, seal(&head, &[], Packing::Clear));
    }

    /// Sends a message that is lost, so that this recording, which is made at the receiver, does not contain it.
    pub(super) fn lose(&mut self, from: Role) {
        let end = self.end(from);
        end.seq = (end.seq + 1) % 1024;
    }

    /// Returns a header of this peer. A count above 255 is truncated, as by the reference.
    pub(super) fn head(&mut self, from: Role, chunks: usize) -> Head {
        let (variant, ack) = (self.variant, self.end(from).ack);
        let token = match (variant, from) {
            (Variant::V6, _) => None,
            (Variant::Ddnet, _) | (_, Role::Client) => Some(SERVER),
            (_, Role::Server) => Some(CLIENT),
        };
        let mut head = Head::new(variant, ack, token);
        head.num_chunks = chunks.to_le_bytes()[0];
        head
    }

    /// Records a datagram with these bytes.
    pub(super) fn datagram(&mut self, from: Role, bytes: Vec<u8>) {
        let at = self.now;
        self.sent.push(Sent { at, from, bytes });
        self.now += STEP;
    }

    /// Sends a snapshot, each part in a datagram of its own.
    pub(super) fn snap(&mut self, snap: &Snap) {
        for message in snap.messages(self.variant) {
            self.send(Role::Server, &[message]);
        }
    }

    /// Sends an input of the client that acks the snapshot of this tick.
    pub(super) fn input(&mut self, tick: i32) {
        let input = input(self.variant, tick).loose();
        self.send(Role::Client, &[input]);
    }

    /// Plays for `count` snapshots: the player walks, and the client acks each. Returns the last snapshot and its
    /// tick.
    pub(crate) fn play(&mut self, from: i32, count: i32) -> (i32, Items) {
        let mut base = (-1, Items::new());
        for number in 0..count {
            let tick = from + 2 * number;
            let items = world(self.variant, tick, 1584 + 7 * number);
            let snap = Snap::new(self.variant, tick, (base.0, &base.1), &items);
            self.snap(&snap);
            self.wait(10);
            self.input(tick);
            self.wait(10);
            base = (tick, items);
        }
        base
    }

    /// Sends a keepalive of each side, which acks the last messages.
    pub(super) fn keepalive(&mut self) {
        for from in [Role::Client, Role::Server] {
            let head = self.head(from, 0);
            let keepalive = control::control(self.variant, head.ack, head.token, control::KEEPALIVE, &[]);
            self.datagram(from, keepalive);
        }
    }

    /// Acks the last messages on both sides, closes the session and returns the recording.
    pub(crate) fn file(mut self) -> Vec<u8> {
        self.keepalive();
        let head = self.head(Role::Client, 0);
        self.datagram(
            Role::Client,
            control::close(self.variant, head.ack, head.token, ""),
        );
        file::pcap(&self.sent)
    }

    fn end(&mut self, role: Role) -> &mut End {
        match role {
            Role::Client => &mut self.client,
            Role::Server => &mut self.server,
        }
    }
}

/// Returns the map change message, for a map that every client has.
pub(super) fn map_change(variant: Variant) -> Message {
    if !variant.is_seven() {
        return system(2).text("dm1").ints(&[0xf215_9e6e_u32.cast_signed(), 5805]);
    }
    let sha256 = [
        0x49, 0x1a, 0xf1, 0x7a, 0x51, 0x02, 0x14, 0x50, 0x62, 0x70, 0x90, 0x4f, 0x14, 0x7a, 0x4c, 0x30, 0xae,
        0x0a, 0x85, 0xb9, 0x1b, 0xb8, 0x54, 0x39, 0x5b, 0xef, 0x8c, 0x39, 0x7f, 0xc0, 0x78, 0xc3,
    ];
    let map = system(2).text("dm1").ints(&[0x6454_8818, 6793, 8, 1384]);
    map.raw(&sha256)
}

/// Returns the message with the name and looks of the client.
pub(super) fn start_info(variant: Variant) -> Message {
    if variant.is_seven() {
        return appearance(game(27).text("museum").text("").int(-1));
    }
    let named = game(20).text("museum").text("").int(-1).text("default");
    named.ints(&[0, 65_408, 65_408])
}

fn appearance(message: Message) -> Message {
    let parts = ["standard", "", "", "standard", "standard", "standard"];
    let named = parts.iter().fold(message, |message, part| message.text(part));
    named.ints(&[0; 6]).ints(&[0; 6])
}

/// Returns an input that acks the snapshot of this tick.
pub(super) fn input(variant: Variant, tick: i32) -> Message {
    let id = if variant.is_seven() { 20 } else { 16 };
    let input = system(id).ints(&[tick, tick + 7, 40, 1, 100, 0, 0, 0, 0, 0, 0, 0, 0]);
    if variant.is_seven() { input.int(0) } else { input }
}

fn other(role: Role) -> Role {
    match role {
        Role::Client => Role::Server,
        Role::Server => Role::Client,
    }
}
