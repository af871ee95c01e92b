//! Plays a scripted session and collects the notes of its datagrams.

use teetap_proxy::session::{
    Connless, Datagram, Ends, Event, EventKind, Notice, Origin, Placed, SessionId, State, Time,
};
use teetap_wire::{
    Code, Dir, Flags, Header, Note, Proto, Seq, Side, Token,
    def::{Class, Id, Registry},
    packet, write_chunk,
};

use super::OF_STREAMS;
use crate::{DecodedEvent, Decoder, testing::session, track::Expected};

/// Two different messages of arbitrary meaning, valid in every protocol.
pub(super) const READY: &[u8] = b"\x25";
pub(super) const KILL: &[u8] = b"\x38";

/// A chunk: sequence number, resend flag and bytes.
pub(super) type Piece<'a> = (Option<u16>, bool, &'a [u8]);

/// A scripted session.
pub(super) struct Script {
    pub(super) decoder: Decoder,
    pub(super) proto: Proto,
    pub(super) session: u32,
    /// Time, in microseconds.
    pub(super) at: u64,
    pub(super) token: Token,
    /// Values expected instead of a wrong token or ack of the last datagram.
    pub(super) expected: Expected,
}

impl Script {
    /// Opens session 1. For DDNet, the client has sent its ACCEPT.
    pub(super) fn new(proto: Proto) -> Self {
        let mut script = Self::before_accept(proto);
        script.accept();
        script
    }

    /// Sends the ACCEPT of the client, for DDNet.
    pub(super) fn accept(&mut self) {
        if self.proto == Proto::Ddnet {
            self.control(Dir::C2s, b"\x03");
        }
    }

    /// Opens session 1. For DDNet, the client has not sent its ACCEPT yet.
    pub(super) fn before_accept(proto: Proto) -> Self {
        let mut script = Self {
            decoder: Decoder::new(Registry::builtin()),
            proto,
            session: 1,
            at: 1_000_000,
            token: Token(*b"tokn"),
            expected: Expected::default(),
        };
        script.state(State::Opening);
        script.state(State::Online);
        script
    }

    /// Changes the state of the session.
    pub(super) fn state(&mut self, state: State) {
        self.state_by(state, None);
    }

    /// Changes the state of the session, because of a packet of `by`.
    pub(super) fn state_by(&mut self, state: State, by: Option<Side>) {
        let mut change = session(state, self.proto);
        change.by = by;
        self.event(EventKind::Session(change));
    }

    /// Plays a notice of a recording.
    pub(super) fn notice(&mut self, notice: Notice) {
        self.event(EventKind::Notice(notice));
    }

    /// Returns the bytes of the named message, with arbitrary fields.
    pub(super) fn named(&self, name: &str) -> Vec<u8> {
        let mut defs = Registry::builtin().named(self.proto, None, name);
        let def = defs
            .find(|def| matches!(def.class, Class::System | Class::Game))
            .unwrap();
        // An extended message has the number 0, followed by its UUID.
        let (number, uuid) = match def.id {
            Id::Number(number) => (number, None),
            Id::Uuid { uuid, .. } => (0, Some(uuid)),
            Id::Tag(_) => panic!("{name}"),
        };
        let mut data = Vec::new();
        teetap_wire::varint::encode((number << 1) | i32::from(def.class == Class::System), &mut data);
        data.extend(uuid.iter().flatten());
        data
    }

    pub(super) fn kill(&self) -> &'static [u8] {
        self.named("cl_kill").leak()
    }

    /// Sends a vital message whose bytes depend only on its number.
    pub(super) fn vital(&mut self, dir: Dir, ack: u16, number: u16) -> Vec<(Code, String)> {
        let data = [&[0x7f][..], &number.to_be_bytes()].concat();
        self.send(dir, ack, &[(Some(number & 1023), false, &data)])
    }

    /// Retransmits messages sent by [`Self::vital`].
    pub(super) fn resend(&mut self, dir: Dir, ack: u16, numbers: &[u16]) -> Vec<(Code, String)> {
        let data: Vec<Vec<u8>> = numbers
            .iter()
            .map(|number| [&[0x7f][..], &number.to_be_bytes()].concat())
            .collect();
        let pieces: Vec<Piece<'_>> = numbers
            .iter()
            .zip(&data)
            .map(|(number, data)| (Some(number & 1023), true, &**data))
            .collect();
        self.send(dir, ack, &pieces)
    }

    /// Sends an empty datagram with the resend request flag.
    pub(super) fn request(&mut self, dir: Dir, ack: u16) -> Vec<(Code, String)> {
        let bytes = self.bytes(Flags::RESEND, ack, &[]);
        self.datagram(dir, &bytes, |_| {})
    }

    /// Sends a keepalive.
    pub(super) fn keepalive(&mut self, dir: Dir, ack: u16) -> Vec<(Code, String)> {
        let bytes = self.packet(Flags::CONTROL, ack, 0, b"\0");
        self.datagram(dir, &bytes, |_| {})
    }

    /// Sends a control message.
    pub(super) fn control(&mut self, dir: Dir, payload: &[u8]) -> Vec<(Code, String)> {
        let bytes = self.control_bytes(payload);
        self.datagram(dir, &bytes, |_| {})
    }

    /// Returns the bytes of a control message.
    pub(super) fn control_bytes(&self, payload: &[u8]) -> Vec<u8> {
        self.packet(Flags::CONTROL, 0, 0, payload)
    }

    /// Sends chunks.
    pub(super) fn send(&mut self, dir: Dir, ack: u16, pieces: &[Piece<'_>]) -> Vec<(Code, String)> {
        let bytes = self.bytes(Flags::empty(), ack, pieces);
        self.datagram(dir, &bytes, |_| {})
    }

    /// Sends chunks with a decision of the core about each.
    pub(super) fn send_placed(
        &mut self,
        dir: Dir,
        ack: u16,
        pieces: &[Piece<'_>],
        placed: Vec<Placed>,
    ) -> Vec<(Code, String)> {
        let bytes = self.bytes(Flags::empty(), ack, pieces);
        self.datagram(dir, &bytes, |datagram| datagram.placed = placed.into())
    }

    /// Sends chunks in a datagram with a note of the core.
    pub(super) fn send_noted(
        &mut self,
        dir: Dir,
        ack: u16,
        pieces: &[Piece<'_>],
        code: Code,
    ) -> Vec<(Code, String)> {
        let bytes = self.bytes(Flags::empty(), ack, pieces);
        let note = Note { code, at: 0, len: 2 };
        self.datagram(dir, &bytes, |datagram| datagram.notes.push(note))
    }

    /// Sends a datagram outside a connection.
    pub(super) fn connless(&mut self, dir: Dir, bytes: &[u8]) -> Vec<(Code, String)> {
        let decoded = self.event(EventKind::Connless(Connless {
            dir,
            client: ([127, 0, 0, 1], 50_000).into(),
            bytes: bytes.into(),
            cut: 0,
            forwarded: true,
            sent: None,
            link: Box::default(),
            ends: Ends::default(),
            placed: None,
            made: None,
        }));
        notes(&decoded)
    }

    /// Returns true if a message of the datagram passes the filter.
    pub(super) fn shows(&mut self, dir: Dir, ack: u16, pieces: &[Piece<'_>]) -> bool {
        let bytes = self.bytes(Flags::empty(), ack, pieces);
        let decoded = self.event(self.what(dir, &bytes, |_| {}));
        decoded.matches > 0
    }

    pub(super) fn bytes(&self, flags: Flags, ack: u16, pieces: &[Piece<'_>]) -> Vec<u8> {
        let mut payload = Vec::new();
        for (seq, resent, data) in pieces {
            write_chunk(self.proto, seq.map(Seq::new), *resent, data, &mut payload).unwrap();
        }
        self.packet(flags, ack, u8::try_from(pieces.len()).unwrap(), &payload)
    }

    fn packet(&self, flags: Flags, ack: u16, num_chunks: u8, payload: &[u8]) -> Vec<u8> {
        let header = Header {
            flags,
            ack: Seq::new(ack),
            num_chunks,
            token: Some(self.token).filter(|_| self.proto != Proto::V6),
        };
        let mut out = Vec::new();
        packet::write(self.proto, &header, payload, None, &mut out);
        out
    }

    /// Sends a datagram. Returns the notes of the datagram and its messages, with their values.
    pub(super) fn datagram(
        &mut self,
        dir: Dir,
        bytes: &[u8],
        change: impl FnOnce(&mut Datagram),
    ) -> Vec<(Code, String)> {
        let decoded = self.event(self.what(dir, bytes, change));
        self.expected = decoded
            .reading
            .as_ref()
            .map(|reading| reading.header.expected)
            .unwrap_or_default();
        strange(notes(&decoded))
    }

    /// Sends a datagram, and returns all of its notes.
    pub(super) fn every_note(&mut self, dir: Dir, bytes: &[u8]) -> Vec<(Code, String)> {
        notes(&self.event(self.what(dir, bytes, |_| {})))
    }

    /// Plays a datagram that the proxy sends to the receiver on its own.
    pub(super) fn proxy_datagram(&mut self, dir: Dir, bytes: &[u8]) {
        let mut datagram = Datagram::new(dir, self.proto, Origin::Proxy, b"", [bytes].into_iter());
        datagram.leg = Some(dir.receiver());
        self.event(EventKind::Datagram(datagram));
    }

    fn what(&self, dir: Dir, bytes: &[u8], change: impl FnOnce(&mut Datagram)) -> EventKind {
        let bytes: &'static [u8] = bytes.to_vec().leak();
        let mut datagram = Datagram::new(dir, self.proto, Origin::Peer, bytes, [bytes].into_iter());
        datagram.ordinal = 100;
        change(&mut datagram);
        EventKind::Datagram(datagram)
    }

    fn event(&mut self, what: EventKind) -> DecodedEvent {
        self.decoder.decode(Event {
            at: Time(self.at),
            session: Some(SessionId(self.session)),
            what,
        })
    }
}

/// Returns all notes of an event.
pub(super) fn notes(decoded: &DecodedEvent) -> Vec<(Code, String)> {
    let Some(reading) = &decoded.reading else {
        return Vec::new();
    };
    let of_messages = reading.messages.iter().flat_map(|message| &message.notes);
    let all = reading.notes.iter().chain(of_messages);
    all.map(|note| {
        (
            note.code,
            reading.detail(note).map_or_else(String::new, ToString::to_string),
        )
    })
    .collect()
}

/// Returns the notes about sequence numbers, acks, tokens and pace.
fn strange(notes: Vec<(Code, String)>) -> Vec<(Code, String)> {
    let of_core = [Code::AckAhead, Code::AckBehind, Code::WrongToken];
    notes
        .into_iter()
        .filter(|(code, _)| OF_STREAMS.contains(code) || of_core.contains(code))
        .collect()
}
