//! The messages around a finding, in order, as arrows between the peers.
//!
//! Law: labels contain names of definitions, numbers and codes, but no fields of messages.

use std::collections::VecDeque;

use teetap_proxy::session::{Action, Datagram, EventKind, Origin, SessionId, Time};
use teetap_wire::{Dir, Proto, Severity, Side, def::Registry};

use crate::{
    DecodedEvent, Decoder, Message, Reading, judge::Finding, reading::MessageOutcome, recording::Item,
};

/// Maximum number of arrows.
pub(super) const ARROWS: usize = 40;

/// Maximum number of arrows before the finding.
const BEFORE: usize = 20;

/// A participant of the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Participant {
    /// The client.
    Client,
    /// The proxy.
    Proxy,
    /// The server.
    Server,
}

impl Participant {
    /// Returns the name in diagrams.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Proxy => "teetap",
            Self::Server => "server",
        }
    }
}

impl From<Side> for Participant {
    fn from(side: Side) -> Self {
        match side {
            Side::Client => Self::Client,
            Side::Server => Self::Server,
        }
    }
}

/// A message on its way.
#[derive(Clone, Debug)]
pub struct Arrow {
    /// The time.
    pub at: Time,
    /// The sender.
    pub from: Participant,
    /// The receiver.
    pub to: Participant,
    /// True if the message was not delivered.
    pub is_lost: bool,
    /// The name of the message, with its sequence number and the codes of its notes.
    pub label: String,
}

/// The datagram of a finding.
#[derive(Clone, Debug)]
pub struct FoundDatagram {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Its protocol.
    pub proto: Proto,
    /// Its direction.
    pub dir: Dir,
}

/// The place around which messages are collected.
#[derive(Clone, Debug)]
pub struct Place {
    run: u32,
    session: SessionId,
    datagram: Option<(Dir, u64)>,
    at: Time,
}

impl Place {
    /// Returns the place of a finding; `None` for a finding outside of sessions.
    #[must_use]
    pub fn of(finding: &Finding) -> Option<Self> {
        let first = &finding.first;
        Some(Self {
            run: finding.run,
            session: finding.session?,
            datagram: first.dir.zip(first.datagram),
            at: first.at,
        })
    }
}

/// Collects the messages around a place.
#[derive(Debug)]
pub struct Ladder {
    decoder: Decoder,
    place: Place,
    run: u32,
    before: VecDeque<Arrow>,
    /// The arrows, in order.
    pub arrows: Vec<Arrow>,
    /// Number of arrows before the finding.
    pub mark: usize,
    /// The datagram of the finding as recorded; `None` if the finding is about no datagram.
    pub found: Option<FoundDatagram>,
    has_passed: bool,
}

impl Ladder {
    /// Creates a ladder around a place.
    #[must_use]
    pub fn new(registry: &'static Registry, place: Place) -> Self {
        let mut decoder = Decoder::new(registry);
        decoder.ignore_gists();
        decoder.ignore_items();
        decoder.ignore_names();
        Self {
            decoder,
            place,
            run: 0,
            before: VecDeque::new(),
            arrows: Vec::new(),
            mark: 0,
            found: None,
            has_passed: false,
        }
    }

    /// Returns true if no further item changes the ladder.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.arrows.len() >= ARROWS || self.run > self.place.run
    }

    /// Records an item of the recording.
    pub fn record(&mut self, item: Item) {
        match item {
            Item::Start { .. } => {
                self.run += 1;
                self.decoder.restart();
            }
            Item::Event(event) => {
                let decoded = self.decoder.decode(event);
                if self.run.max(1) == self.place.run && decoded.event.session == Some(self.place.session) {
                    self.event(&decoded);
                }
                if let Some(reading) = decoded.reading {
                    self.decoder.recycle(reading);
                }
            }
            Item::Gap { .. } => self.decoder.gap(),
            Item::Log { text, .. } => self.decoder.log(&text),
        }
    }

    /// Ends the recording: a place after its last datagram shows the last datagrams.
    pub fn finish(&mut self) {
        if !self.has_passed {
            self.pass();
        }
    }

    fn event(&mut self, decoded: &DecodedEvent) {
        let at = decoded.event.at;
        let (EventKind::Datagram(datagram), Some(reading)) = (&decoded.event.what, &decoded.reading) else {
            return;
        };
        let is_found = self.place.datagram == Some((datagram.dir, datagram.ordinal)) && self.found.is_none();
        if is_found {
            let sent = || datagram.sent().next();
            self.found = datagram.received().or_else(sent).map(|bytes| FoundDatagram {
                bytes: bytes.to_vec(),
                proto: datagram.proto,
                dir: datagram.dir,
            });
        }
        if !self.has_passed && (is_found || at > self.place.at) {
            self.pass();
        }
        for arrow in arrows(at, datagram, reading) {
            if self.has_passed {
                if self.arrows.len() < ARROWS {
                    self.arrows.push(arrow);
                }
            } else {
                if self.before.len() >= BEFORE {
                    self.before.pop_front();
                }
                self.before.push_back(arrow);
            }
        }
    }

    fn pass(&mut self) {
        self.has_passed = true;
        self.mark = self.before.len();
        self.arrows.extend(self.before.drain(..));
    }
}

/// Returns an arrow for each message of a datagram, or one for a datagram without messages.
fn arrows(at: Time, datagram: &Datagram, reading: &Reading) -> Vec<Arrow> {
    let arrow = |origin, done, label| {
        let (from, to, is_lost) = ends(datagram, origin, done);
        Arrow {
            at,
            from,
            to,
            is_lost,
            label,
        }
    };
    if reading.messages.is_empty() {
        let size = reading.sizes.received.unwrap_or_default();
        let label = match reading.notes.first() {
            Some(note) => format!("datagram of {size} bytes ({})", note.code.name()),
            None => format!("datagram of {size} bytes"),
        };
        let done = MessageOutcome::whole(datagram);
        return vec![arrow(datagram.origin, done, label)];
    }
    let messages = reading.messages.iter();
    let messages = messages.map(|message| {
        arrow(
            message.handling.origin,
            message.handling.done,
            label(message, reading),
        )
    });
    messages.collect()
}

/// Returns the sender and the receiver, and whether the message was not delivered.
fn ends(datagram: &Datagram, origin: Origin, done: MessageOutcome) -> (Participant, Participant, bool) {
    let (from, to) = (datagram.dir.sender().into(), datagram.dir.receiver().into());
    if origin != Origin::Peer {
        return (Participant::Proxy, to, false);
    }
    let link_lost = !datagram.link.is_empty() && datagram.link.iter().all(|transit| transit.lost.is_some());
    match done {
        MessageOutcome::Ended => (from, Participant::Proxy, false),
        MessageOutcome::Discarded
        | MessageOutcome::Refused
        | MessageOutcome::Placed(
            Action::Drop | Action::Lose | Action::Hold | Action::Refuse | Action::Known,
        ) => (from, Participant::Proxy, true),
        MessageOutcome::Placed(_) => (from, to, link_lost),
    }
}

/// Returns the name of a message, with its sequence number, the codes of its warnings and the action on it.
fn label(message: &Message, reading: &Reading) -> String {
    let mut label = reading.label(message).into_owned();
    if let Some(seq) = message.transport.seq {
        label.push_str(&format!(" seq {}", seq.get()));
    }
    if message.transport.resend {
        label.push_str(" resend");
    }
    if let Some(word) = message.handling.done.word() {
        label.push_str(&format!(" ({word})"));
    }
    let notes = message.notes.iter().chain(&reading.notes);
    let mut codes: Vec<&str> = notes
        .filter(|note| note.code.severity() > Severity::Info)
        .map(|note| note.code.name())
        .collect();
    codes.dedup();
    if !codes.is_empty() {
        label.push_str(&format!(" - {}", codes.join(", ")));
    }
    label
}
