//! Plays scripted joins into a decoder.

use std::sync::Arc;

use teetap_proxy::session::{Datagram, Event, EventKind, Notice, SessionId, State, Time};
use teetap_rules::Draft;
use teetap_wire::{Dir, Flags, Header, Proto, Seq, Side, Token, control, def::Registry, packet, write_chunk};

use super::script::Script;
use crate::{Decoder, Style, joins::Join, row, testing};

/// A join while it is played.
pub(super) struct Play {
    script: &'static Script,
    /// The protocol of the session when it opens and when it comes online.
    proto: Proto,
    decoder: Decoder,
    ms: u64,
    /// Index of the next line of the script.
    next: usize,
    /// The last sequence number and the last ack of each side: client, server.
    seqs: [u16; 2],
    acks: [u16; 2],
    progress: Time,
    stalls: Vec<(Time, String)>,
    joins: Vec<Arc<Join>>,
}

impl Play {
    pub(super) fn from_script(script: &'static Script) -> Self {
        Self::in_session_of(script, script.proto)
    }

    /// Starts a script in a session that opens with this protocol.
    pub(super) fn in_session_of(script: &'static Script, proto: Proto) -> Self {
        let mut play = Self::without_session(script, proto);
        play.push(EventKind::Session(testing::session(State::Opening, proto)));
        play
    }

    /// Starts a script in a session whose opening is not in the capture.
    pub(super) fn from_the_middle(script: &'static Script) -> Self {
        let mut play = Self::without_session(script, script.proto);
        play.push(EventKind::Session(testing::session(State::Online, script.proto)));
        play
    }

    fn without_session(script: &'static Script, proto: Proto) -> Self {
        Self {
            script,
            proto,
            decoder: Decoder::new(Registry::builtin()),
            ms: 100,
            next: 0,
            seqs: [0; 2],
            acks: [0; 2],
            progress: Time::ZERO,
            stalls: Vec::new(),
            joins: Vec::new(),
        }
    }

    /// Plays the whole script.
    pub(super) fn all(self) -> Self {
        let end = self.script.lines().count();
        self.until(end)
    }

    /// Plays up to the line `end`, exclusive.
    pub(super) fn until(mut self, end: usize) -> Self {
        while self.next < end {
            self = self.next();
        }
        self
    }

    /// Plays from the line `from` to the end.
    pub(super) fn rest(mut self, from: usize) -> Self {
        self.next = from;
        self.all()
    }

    /// Plays the next line.
    pub(super) fn next(mut self) -> Self {
        let step = self.script.lines().nth(self.next).unwrap();
        self.next += 1;
        self = self.message(step.from, step.name);
        if step.name == "connect_accept" {
            self.push(EventKind::Session(testing::session(State::Online, self.proto)));
        }
        self
    }

    /// Continues with the line `next`.
    pub(super) fn skip_to(mut self, next: usize) -> Self {
        self.next = next;
        self
    }

    /// Plays the lines of the client from the line `from` on.
    pub(super) fn client_from(mut self, from: usize) -> Self {
        for step in self
            .script
            .lines()
            .skip(from)
            .filter(|step| step.from == Side::Client)
        {
            self = self.message(step.from, step.name);
        }
        self
    }

    /// Lets time pass, in milliseconds.
    pub(super) fn after(mut self, ms: u64) -> Self {
        self.ms += ms;
        self
    }

    /// Lets time pass, in milliseconds, while both sides send keepalives with acks.
    pub(super) fn wait(mut self, ms: u64) -> Self {
        for _ in 0..ms / 100 {
            self.ms += 100;
            for side in [Side::Client, Side::Server] {
                let ack = self.seqs[1 - side as usize];
                self.acks[side as usize] = ack;
                self.control(side, |_, out| control::keepalive(out));
            }
        }
        self
    }

    /// Lets time pass, in milliseconds, without datagrams of this session.
    pub(super) fn silent(mut self, ms: u64) -> Self {
        self.ms += ms;
        let now = Time(self.ms * 1000);
        self.take_due(now);
        self
    }

    /// Lets the client ack the map parts up to this one, 700 ms later.
    pub(super) fn acked_up_to(mut self, parts: u16) -> Self {
        self.ms += 700;
        self.acks[0] = self.seqs[1] - 4 + parts;
        self.control(Side::Client, |_, out| control::keepalive(out));
        self
    }

    /// Sets the last sequence number of a side, so that its next vital message gets the number after `seq`.
    pub(super) fn numbered_after(mut self, from: Side, seq: u16) -> Self {
        self.seqs[from as usize] = seq;
        self
    }

    /// Lets time pass, in milliseconds, while both sides send keepalives without new acks.
    pub(super) fn wait_without_acks(mut self, ms: u64) -> Self {
        for _ in 0..ms / 100 {
            self.ms += 100;
            for side in [Side::Client, Side::Server] {
                self.control(side, |_, out| control::keepalive(out));
            }
        }
        self
    }

    /// Counts a vital message of this side that the capture lacks.
    pub(super) fn unseen(mut self, from: Side) -> Self {
        self.seqs[from as usize] += 1;
        self
    }

    /// Sends a message.
    pub(super) fn message(self, from: Side, name: &str) -> Self {
        self.sent(from, name, true)
    }

    /// Sends a vital message with these bytes.
    pub(super) fn bytes(mut self, from: Side, data: &[u8], resend: bool) -> Self {
        self.ms += 10;
        let index = from as usize;
        self.acks[index] = self.seqs[1 - index];
        if !resend {
            self.seqs[index] += 1;
        }
        let mut payload = Vec::new();
        let seq = Seq::new(self.seqs[index]);
        write_chunk(self.script.proto, Some(seq), resend, data, &mut payload).unwrap();
        self.packet(from, Flags::empty(), 1, &payload);
        self.progress = Time(self.ms * 1000);
        self
    }

    /// Sends a message. `vital` is false to send a message in a non-vital chunk although its definition is vital.
    pub(super) fn sent(mut self, from: Side, name: &str, vital: bool) -> Self {
        self.ms += 10;
        let index = from as usize;
        let proto = self.script.proto;
        match name {
            "connect" => self.control(from, move |token, out| control::connect(proto, token, out)),
            "connect_accept" => {
                self.control(from, move |token, out| control::connect_accept(proto, token, out))
            }
            "accept" => self.control(from, |_, out| control::accept(out)),
            _ => {
                // A peer acks every message that it has received.
                self.acks[index] = if from == Side::Client && self.next <= self.script.online() {
                    0
                } else {
                    self.seqs[1 - index]
                };
                let (is_vital, data) = data(proto, from, name);
                let seq = (is_vital && vital).then(|| {
                    self.seqs[index] += 1;
                    Seq::new(self.seqs[index])
                });
                let mut payload = Vec::new();
                write_chunk(proto, seq, false, &data, &mut payload).unwrap();
                self.packet(from, Flags::empty(), 1, &payload);
            }
        }
        self.progress = Time(self.ms * 1000);
        self
    }

    fn control(&mut self, from: Side, write: impl Fn(Token, &mut Vec<u8>)) {
        let mut payload = Vec::new();
        write(Token(*b"tokn"), &mut payload);
        self.packet(from, Flags::CONTROL, 0, &payload);
    }

    fn packet(&mut self, from: Side, flags: Flags, num_chunks: u8, payload: &[u8]) {
        let proto = self.script.proto;
        let header = Header {
            flags,
            ack: Seq::new(self.acks[from as usize]),
            num_chunks,
            token: (proto != Proto::V6).then_some(Token(*b"tokn")),
        };
        let mut bytes = Vec::new();
        packet::write(proto, &header, payload, None, &mut bytes);
        let dir = if from == Side::Client { Dir::C2s } else { Dir::S2c };
        self.push(EventKind::Datagram(Datagram::passed(dir, proto, &bytes, None)));
    }

    /// Closes the session.
    pub(super) fn closed_by(mut self, side: Side, reason: Option<&str>) -> Self {
        self.ms += 1;
        let mut change = testing::session(State::Closed, self.script.proto);
        change.by = Some(side);
        change.reason = reason.map(|reason| reason.as_bytes().into());
        self.push(EventKind::Session(change));
        self
    }

    /// Plays a notice.
    pub(super) fn notice(mut self, notice: Notice) -> Self {
        self.push(EventKind::Notice(notice));
        self
    }

    /// Sends a datagram after changing it.
    pub(super) fn changed(mut self, from: Side, name: &str, change: impl FnOnce(&mut Datagram)) -> Self {
        self.ms += 10;
        let (_, data) = data(self.script.proto, from, name);
        self.seqs[from as usize] += 1;
        let mut payload = Vec::new();
        let seq = Seq::new(self.seqs[from as usize]);
        write_chunk(self.script.proto, Some(seq), false, &data, &mut payload).unwrap();
        let header = Header {
            flags: Flags::empty(),
            ack: Seq::new(self.acks[from as usize]),
            num_chunks: 1,
            token: (self.script.proto != Proto::V6).then_some(Token(*b"tokn")),
        };
        let mut bytes = Vec::new();
        packet::write(self.script.proto, &header, &payload, None, &mut bytes);
        let dir = if from == Side::Client { Dir::C2s } else { Dir::S2c };
        let mut datagram = Datagram::passed(dir, self.script.proto, &bytes, None);
        change(&mut datagram);
        self.push(EventKind::Datagram(datagram));
        self
    }

    fn push(&mut self, what: EventKind) {
        let at = Time(self.ms * 1000);
        self.take_due(at);
        let event = Event {
            at,
            session: Some(SessionId(1)),
            what,
        };
        let decoded = self.decoder.decode(event);
        self.joins.extend(decoded.joined);
    }

    fn take_due(&mut self, before: Time) {
        while let Some(decoded) = self.decoder.due(before) {
            if !matches!(decoded.event.what, EventKind::Notice(Notice::LoginStalled { .. })) {
                continue;
            }
            let row = row::rows(&decoded, Style::default()).remove(0).into_text();
            let (_, text) = row.split_once("#1  ").unwrap();
            self.stalls.push((decoded.event.at, text.to_owned()));
        }
    }

    pub(super) fn gap(&mut self) {
        self.decoder.gap();
    }

    pub(super) fn finish(&mut self) -> Vec<Arc<Join>> {
        self.decoder.finish(Time(self.ms * 1000))
    }

    /// Returns the next stall or silence that is due before `before`.
    pub(super) fn due(mut self, before: Time) -> Option<Event> {
        self.decoder.due(before).map(|decoded| decoded.event)
    }

    pub(super) fn stalls(&self) -> Vec<String> {
        self.stalls.iter().map(|(_, text)| text.clone()).collect()
    }

    pub(super) fn stalled_at(&self) -> Vec<Time> {
        self.stalls.iter().map(|(at, _)| *at).collect()
    }

    pub(super) fn joins(&self) -> &[Arc<Join>] {
        &self.joins
    }

    /// Returns the time of the last message.
    pub(super) const fn progress(&self) -> Time {
        self.progress
    }
}

/// Returns true if a message is vital, and its bytes.
fn data(proto: Proto, from: Side, name: &str) -> (bool, Vec<u8>) {
    let single = if proto == Proto::V7 { 8 } else { 7 };
    match name {
        // A complete snapshot without items.
        "snap" => (false, vec![single << 1 | 1, 1, 2, 0, 0]),
        "snap_empty" => (false, vec![(single - 1) << 1 | 1, 1, 2]),
        _ => {
            let dir = if from == Side::Client { Dir::C2s } else { Dir::S2c };
            let (draft, _) = Draft::inject(&format!("{dir} {name}"), Registry::builtin()).unwrap();
            let made = draft.made(proto).unwrap();
            (made.vital, made.data)
        }
    }
}
