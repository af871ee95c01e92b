//! Recorded clients and servers around a hub in virtual time.
//!
//! Law: the datagrams that the hub sends for a recorded datagram are compared with the recording. The hub may
//! send nothing else, except the packets of its own handshake with each side, which are also compared with
//! the recording.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use teetap_kit::{
    capture::Flow,
    codec::Variant,
    world::{route, upstream_addr},
};
use teetap_proxy::session::{
    Config, Event, EventKind, Events, Hub, Input, ListenerId, Origin, Output, Time, UpstreamId,
};
use teetap_rules::Program;
use teetap_wire::{Dir, Side, def::Registry};

use crate::{
    actor::Actor,
    datagram::{Kind, credentials, in_clear, is_compressed, without_acked},
    tally::Tally,
};

/// Longer than a closed session lingers, an idle browser relay is kept, and a session with two silent peers
/// lives.
const FADE: Duration = Duration::from_secs(130);

/// A datagram that the hub sent.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Out {
    Client(SocketAddr, Vec<u8>),
    Server(UpstreamId, Vec<u8>),
}

impl Out {
    fn bytes(&self) -> &[u8] {
        let (Self::Client(_, bytes) | Self::Server(_, bytes)) = self;
        bytes
    }
}

/// A hub and its actors.
pub(crate) struct Replay {
    name: String,
    hub: Hub,
    now: Time,
    actors: Vec<Actor>,
    sockets: Vec<UpstreamId>,
    /// The events of the last input.
    events: Vec<Event>,
    /// Rules that start after this many datagrams.
    rules: Option<(usize, Option<Arc<Program>>)>,
    /// True if the rules act from the start: chunks that a receiver has acked are not sent again.
    translates: bool,
    tally: Tally,
    /// The current step, for the message of a failure.
    place: String,
}

impl Replay {
    /// Returns an empty replay. `rules` start after this many datagrams.
    pub(crate) fn new(name: &str, rules: Option<(usize, Option<Arc<Program>>)>) -> Self {
        let config = Config {
            seed: 0,
            secret: *b"the same for all",
            proto: None,
            patience: None,
            heals: false,
            events: Events::All,
            registry: Registry::builtin(),
        };
        Self {
            name: name.to_owned(),
            translates: matches!(rules, Some((0, _))),
            rules,
            hub: Hub::new(config, route()),
            now: Time::ZERO,
            actors: Vec::new(),
            sockets: Vec::new(),
            events: Vec::new(),
            tally: Tally::default(),
            place: String::new(),
        }
    }

    /// Adds a flow with its recorded times shifted by `shift` microseconds.
    pub(crate) fn add(&mut self, flow: Flow, shift: i64, salt: u8) {
        self.actors.push(Actor::new(flow, shift, salt));
    }

    /// Plays all flows, then waits until closed sessions are forgotten.
    pub(crate) fn run(mut self) -> Tally {
        let mut scenes: Vec<(i64, usize, usize)> = Vec::new();
        for (index, actor) in self.actors.iter().enumerate() {
            for (number, packet) in actor.flow.packets.iter().enumerate() {
                scenes.push((packet.time.cast_signed() + actor.shift, index, number));
            }
        }
        scenes.sort_unstable();
        for (count, (at, index, number)) in scenes.into_iter().enumerate() {
            self.wait(Time(at.cast_unsigned()));
            if let Some((_, rules)) = self.rules.take_if(|(from, _)| *from == count) {
                self.hub.handle(self.now, Input::Program(rules));
                assert_eq!(self.drain(), (vec![], vec![]), "sent because of rules");
            }
            let actor = &self.actors[index];
            let packet = actor.flow.packets[number].clone();
            self.place = format!(
                "{}, {}, #{number}: {:02x?}",
                self.name,
                actor.name(),
                packet.payload
            );
            self.tally.received += 1;
            if actor.flow.is_from_client(&packet) {
                self.client_sends(index, &packet.payload);
            } else {
                self.server_sends(index, &packet.payload);
            }
        }
        self.fade();
        self.tally
    }

    /// Waits until all sessions are forgotten. Checks that sessions without a CLOSE end silently.
    fn fade(&mut self) {
        let end = self.now + FADE;
        let mut sent = 0;
        while let Some(at) = self.hub.deadline().filter(|at| *at < end) {
            self.now = self.now.max(at);
            self.hub.handle(self.now, Input::Timeout);
            sent += self.drain().0.len();
        }
        assert_eq!(sent, 0, "{}: datagrams for silence", self.name);
        assert_eq!(
            (self.hub.sessions(), self.sockets.len()),
            (0, 0),
            "left over: {}",
            self.name
        );
    }

    /// Lets time pass, and checks that the hub sends nothing meanwhile.
    fn wait(&mut self, until: Time) {
        while let Some(at) = self.hub.deadline().filter(|at| *at < until) {
            self.now = self.now.max(at);
            self.hub.handle(self.now, Input::Timeout);
            let (out, opened) = self.drain();
            assert_eq!(
                (out, opened),
                (vec![], vec![]),
                "without a cause, after {}",
                self.place
            );
        }
        self.now = self.now.max(until);
    }

    fn client_sends(&mut self, index: usize, recorded: &[u8]) {
        let actor = &mut self.actors[index];
        let kind = Kind::of(actor.variant, recorded);
        let bytes = actor.as_client_sends(kind, recorded);
        let input = Input::FromClient {
            listener: ListenerId::FIRST,
            addr: actor.flow.client,
            bytes: &bytes,
        };
        let stays = match kind {
            Kind::TokenRequest | Kind::Connect => true,
            Kind::Accept => actor.variant == Variant::Ddnet,
            _ => false,
        };
        let was_closed = actor.is_closed;
        let out = self.feed(index, input);
        self.check_relayed(Dir::C2s, kind, &bytes, &out);
        if was_closed {
            self.late(index, Side::Client, kind, recorded, &out);
        } else if stays {
            self.kept(Side::Client, kind, &out);
        } else {
            self.compare(index, Side::Client, kind, recorded, out);
        }
    }

    fn server_sends(&mut self, index: usize, recorded: &[u8]) {
        let actor = &mut self.actors[index];
        let kind = Kind::of(actor.variant, recorded);
        let was_closed = actor.is_closed;
        let bytes = if kind == Kind::TokenReply {
            // The recorded client sent its request earlier than the hub.
            actor.token_reply = Some(recorded.to_vec());
            actor.answer()
        } else {
            Some(actor.as_server_sends(kind, recorded))
        };
        let was_accepted = actor.is_accepted;
        let out = match (bytes, actor.upstream) {
            (Some(bytes), Some(upstream)) if self.sockets.contains(&upstream) => {
                let bytes = &bytes;
                let out = self.feed(index, Input::FromServer { upstream, bytes });
                self.check_relayed(Dir::S2c, kind, bytes, &out);
                out
            }
            (None, _) => Vec::new(),
            _ => {
                assert!(was_closed, "no socket: {}", self.place);
                Vec::new()
            }
        };
        if was_closed {
            self.late(index, Side::Server, kind, recorded, &out);
        } else if matches!(kind, Kind::TokenReply | Kind::ConnectAccept) {
            self.kept(Side::Server, kind, &out);
        } else {
            self.compare(index, Side::Server, kind, recorded, out);
        }
        let is_first = kind == Kind::ConnectAccept && !was_accepted;
        assert_eq!(
            is_first,
            !was_accepted && self.actors[index].is_accepted,
            "{}",
            self.place
        );
    }

    /// Checks and counts a datagram that must not be forwarded.
    fn kept(&mut self, side: Side, kind: Kind, out: &[Out]) {
        assert!(out.is_empty(), "{out:02x?} came out of {}", self.place);
        self.tally.keep(side, kind);
    }

    /// Checks a datagram after a CLOSE. It is forwarded while its session lingers, unless the session is
    /// renumbered.
    fn late(&mut self, index: usize, from: Side, kind: Kind, recorded: &[u8], out: &[Out]) {
        self.tally.late += 1;
        let Some(out) = out.first().filter(|_| !self.translates) else {
            assert!(out.is_empty(), "{out:02x?} came out of {}", self.place);
            return;
        };
        let expected = self.actors[index].expected(from, kind, recorded);
        assert_eq!(out.bytes(), expected, "{}", self.place);
    }

    /// Compares the datagrams that the hub sent with the recorded ones.
    fn compare(&mut self, index: usize, from: Side, kind: Kind, recorded: &[u8], out: Vec<Out>) {
        let place = &self.place;
        let actor = &mut self.actors[index];
        let variant = actor.variant;
        assert_eq!(out.len(), 1, "one in, one out: {out:02x?} {place}");
        let (forth, back) = if from == Side::Client { (0, 1) } else { (1, 0) };
        let mut expected = actor.expected(from, kind, recorded);
        if self.translates && kind == Kind::Data && !actor.last[back].is_empty() {
            let (acked, _) = credentials(variant, &actor.last[back]);
            expected = without_acked(variant, &expected, acked);
        }
        let sent = match (&out[0], from) {
            (Out::Server(to, sent), Side::Client) if Some(*to) == actor.upstream => sent,
            (Out::Client(to, sent), Side::Server) if *to == actor.flow.client => sent,
            other => panic!("where to? {other:02x?} {place}"),
        };
        if kind == Kind::Connless {
            assert_eq!(sent, &expected, "{place}");
            self.tally.connless += 1;
            return;
        }
        if variant == Variant::Ddnet && is_compressed(variant, recorded) {
            let clear = |bytes: &[u8]| in_clear(variant, bytes);
            assert_eq!(clear(sent), clear(&expected), "{place}");
            self.tally.look_at_compressed(variant, sent, &expected);
        } else {
            assert_eq!(sent, &expected, "{place}");
        }
        self.tally.forwarded += 1;
        self.tally.look(variant, sent, &mut actor.newest[forth]);
        actor.last[forth].clone_from(sent);
        actor.is_closed = kind == Kind::Close;
    }

    /// Checks that watchers get an event for each forwarded datagram, and none for a datagram that was not
    /// forwarded.
    fn check_relayed(&mut self, dir: Dir, kind: Kind, received: &[u8], out: &[Out]) {
        let sent: Vec<&[u8]> = out.iter().map(Out::bytes).collect();
        let mut crossed = Vec::new();
        for event in &self.events {
            match &event.what {
                EventKind::Datagram(datagram) if datagram.leg.is_none() => {
                    assert_eq!(
                        (datagram.dir, datagram.origin),
                        (dir, Origin::Peer),
                        "{}",
                        self.place
                    );
                    assert_eq!(datagram.received(), Some(received), "{}", self.place);
                    crossed.extend(datagram.sent());
                    for note in datagram.notes.iter() {
                        *self.tally.notes.entry(note.code.name()).or_default() += 1;
                    }
                }
                EventKind::Connless(connless) => {
                    assert!(connless.forwarded && kind == Kind::Connless, "{}", self.place);
                    assert_eq!(
                        (connless.dir, &*connless.bytes),
                        (dir, received),
                        "{}",
                        self.place
                    );
                    crossed.extend(&sent);
                }
                _ => {}
            }
        }
        assert_eq!(crossed, sent, "{}", self.place);
    }

    /// Handles an input with the hub and plays the handshakes that follow from it. Returns the datagrams that
    /// are not part of a handshake.
    fn feed(&mut self, index: usize, input: Input<'_>) -> Vec<Out> {
        self.events.clear();
        self.hub.handle(self.now, input);
        let mut passed = Vec::new();
        loop {
            let (outs, opened) = self.drain();
            if outs.is_empty() {
                return passed;
            }
            if let [upstream] = opened[..] {
                self.actors[index].upstream = Some(upstream);
            }
            for out in outs {
                if !self.plays_handshake(index, &out) {
                    passed.push(out);
                }
            }
        }
    }

    /// Returns true if a datagram of the hub belongs to a handshake. The answer of the peer is passed to the
    /// hub immediately.
    fn plays_handshake(&mut self, index: usize, out: &Out) -> bool {
        if let Out::Server(to, _) = out {
            // A client that connects again uses the socket of its previous session.
            self.actors[index].upstream.get_or_insert(*to);
        }
        if let Out::Server(to, bytes) = out
            && self.actors[index].upstream != Some(*to)
            && let Some(left) = self.left_behind(index, *to)
        {
            left.is_left(bytes);
            self.tally.make(Side::Server, Kind::Close);
            return true;
        }
        let actor = &mut self.actors[index];
        let (side, kind) = match out {
            Out::Client(_, bytes) => (Side::Client, Kind::of(actor.variant, bytes)),
            Out::Server(_, bytes) => (Side::Server, Kind::of(actor.variant, bytes)),
        };
        match (out, kind) {
            (Out::Client(_, bytes), Kind::TokenReply) => actor.is_given_token(bytes),
            (Out::Client(_, bytes), Kind::ConnectAccept) => actor.is_let_in(bytes),
            (Out::Server(_, bytes), Kind::TokenRequest | Kind::Connect) => actor.is_knocked_at(kind, bytes),
            (Out::Server(_, bytes), Kind::Accept) if actor.variant == Variant::Ddnet => {
                actor.is_knocked_at(kind, bytes);
            }
            _ => return false,
        }
        self.tally.make(side, kind);
        if let (Some(bytes), Some(upstream)) = (actor.answer(), actor.upstream) {
            let bytes = &bytes;
            self.hub.handle(self.now, Input::FromServer { upstream, bytes });
        }
        true
    }

    /// Returns the earlier session of the same client address that owns this socket.
    fn left_behind(&mut self, index: usize, socket: UpstreamId) -> Option<&mut Actor> {
        let client = self.actors[index].flow.client;
        let mut earlier = self.actors[..index].iter_mut();
        earlier.find(|actor| actor.flow.client == client && actor.upstream == Some(socket))
    }

    /// Carries out the hub's outputs. Returns the datagrams that it sent and the sockets that it opened.
    fn drain(&mut self) -> (Vec<Out>, Vec<UpstreamId>) {
        let (mut out, mut all) = (Vec::new(), Vec::new());
        loop {
            let (sent, opened) = self.drain_once();
            out.extend(sent);
            if opened.is_empty() {
                return (out, all);
            }
            all.extend(opened);
        }
    }

    /// Carries out the hub's outputs up to the opening of the sockets. Returns the datagrams that it sent and
    /// the sockets that it opened.
    fn drain_once(&mut self) -> (Vec<Out>, Vec<UpstreamId>) {
        let (mut out, mut opened) = (Vec::new(), Vec::new());
        while let Some(output) = self.hub.poll() {
            match output {
                Output::OpenUpstream { upstream, .. } => opened.push(upstream),
                Output::OpenListener { .. } => panic!("no capture has a redirect: {}", self.place),
                Output::CloseUpstream(upstream) => self.sockets.retain(|open| *open != upstream),
                Output::ToClient { addr, bytes, .. } => out.push(Out::Client(addr, bytes.to_vec())),
                Output::ToServer { upstream, bytes } => {
                    let is_open = self.sockets.contains(&upstream) || opened.contains(&upstream);
                    assert!(is_open, "a closed socket: {}", self.place);
                    out.push(Out::Server(upstream, bytes.to_vec()));
                }
                Output::Event(event) => self.events.push(*event),
            }
        }
        for upstream in opened.iter().copied() {
            self.sockets.push(upstream);
            let local = upstream_addr(upstream);
            self.hub
                .handle(self.now, Input::UpstreamOpened { upstream, local });
        }
        (out, opened)
    }
}
