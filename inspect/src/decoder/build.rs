//! Decodes a datagram into a [`Reading`], message by message.

use std::{ops::Range, sync::Arc};

use teetap_proxy::session::{Action, Datagram, MadeAt, Origin, Placed, SessionId, Time, Transit};
use teetap_wire::{
    Code, Control, Note, Notes, Packet, PacketError, Property, RangeOf, Scratch, chunk, def::Found,
};

use super::Decoder;
use crate::{
    after::{After, Change},
    meant::{self, Suspect},
    place::{self, SeenAt},
    reading::{Handling, Layer, Message, MessageOutcome, Reading, Unreadable},
    stated::Stated,
    track::{ChunkOrder, DecidedChunk, Detail, Fact, NoteSink, RefusedAck, Seen},
};

impl Reading {
    /// Decodes a datagram of a session, received at the time `at`. Returns `None` if no watcher displays any of it.
    #[must_use]
    pub fn of_datagram(
        at: Time,
        session: Option<SessionId>,
        datagram: &Datagram,
        decoder: &mut Decoder,
    ) -> Option<Self> {
        let is_joining = decoder.joins.is_joining(session);
        if !is_joining && decoder.skips(datagram.proto, datagram.dir, datagram.ordinal) {
            return None;
        }
        if !is_joining && decoder.skim(at, session, datagram) {
            return None;
        }
        let mut scratch = decoder.lend_scratch();
        let build = Build::new(at, session, datagram, decoder);
        let reading = build.read(&mut scratch);
        decoder.give_back(scratch);
        if is_joining {
            decoder.joins.datagram(at, session, datagram, &reading);
        }
        decoder.keep_shown(reading)
    }
}

/// A reading while it is built.
pub(super) struct Build<'a> {
    at: Time,
    session: Option<SessionId>,
    datagram: &'a Datagram,
    decoder: &'a mut Decoder,
    reading: Reading,
    /// True if the receiver is known to be DDNet, which accepts payloads of any size. Other programs that use the same
    /// protocol refuse large payloads.
    accepts_any_size: bool,
}

impl<'a> Build<'a> {
    pub(super) fn new(
        at: Time,
        session: Option<SessionId>,
        datagram: &'a Datagram,
        decoder: &'a mut Decoder,
    ) -> Self {
        let mut reading = decoder.lend_reading();
        reading.is_refused = MessageOutcome::whole(datagram) == MessageOutcome::Refused;
        reading.sizes.received = datagram.received().map(<[u8]>::len);
        reading.sizes.sent.extend(datagram.sent().map(<[u8]>::len));
        let accepts_any_size = !reading.is_refused && decoder.is_to_ddnet(session, datagram.dir);
        let notes = datagram.notes.iter();
        let is_kept =
            |note: &Note| !(RefusedAck::is_reported_by(note) || accepts_any_size && is_about_size(note));
        reading.notes.extend(notes.filter(is_kept));
        reading.more_notes = datagram.notes.overflowed();
        reading.is_cut = datagram.notes.contains(Code::CutByCapture);
        Self {
            at,
            session,
            datagram,
            decoder,
            reading,
            accepts_any_size,
        }
    }

    pub(super) fn read(mut self, scratch: &mut Scratch) -> Reading {
        let datagram = self.datagram;
        self.decode(scratch);
        if self.reading.is_bare() {
            let place = SeenAt::bare(self.at, self.session, datagram, &self.reading.notes);
            let (shown, subscribers) = self.decoder.whole(place);
            (self.reading.shown, self.reading.subscribers) = (shown, subscribers);
        }
        self.reading
    }

    fn decode(&mut self, scratch: &mut Scratch) {
        let datagram = self.datagram;
        match datagram.packet(scratch) {
            Some(Ok(packet)) => self.decode_received(&packet),
            Some(Err(error)) => {
                // The session core also checks the ack of a datagram whose payload it cannot read.
                if let Some(refused) = RefusedAck::find(&datagram.notes) {
                    refused.add_as(refused.note.code, &mut self.reading.notes);
                }
                self.fail(error);
                self.note_failure(error);
                if let Some(session) = self.session {
                    self.decoder
                        .streams()
                        .on_unreadable(session, datagram.dir, self.at);
                }
            }
            None => {}
        }
        if datagram.is_unchanged() && datagram.received().is_some() {
            self.reading.header.ack_out = self.reading.header.ack;
            self.compare_corrupted(scratch);
            return;
        }
        for (index, sent) in datagram.sent().enumerate() {
            match Packet::parse(datagram.proto, sent, scratch) {
                Ok(packet) => self.decode_sent(&packet, index),
                Err(error) => self.fail(error),
            }
        }
        self.compare_corrupted(scratch);
    }

    fn fail(&mut self, error: PacketError) {
        self.reading.error = Some(if self.reading.is_cut {
            Unreadable::Cut
        } else {
            Unreadable::Packet(error)
        });
    }

    /// Adds the note about an unreadable datagram, unless the datagram already has it: the proxy adds this note during
    /// a run.
    fn note_failure(&mut self, error: PacketError) {
        let Reading {
            notes, is_cut, sizes, ..
        } = &mut self.reading;
        let code = error.code();
        if !*is_cut && notes.iter().all(|note| note.code != code) {
            let len = sizes.received.unwrap_or_default();
            notes.push(Note { code, at: 0, len });
        }
    }

    fn decode_received(&mut self, packet: &Packet<'_>) {
        let datagram = self.datagram;
        self.reading.header.flags = packet.header.flags;
        self.reading.header.num_chunks = packet.header.num_chunks;
        self.reading.header.ack = Some(packet.header.ack);
        self.reading.header.token = packet.header.token;
        self.add_notes(&packet.notes);
        let stated = self.decoder.stated().clone();
        let seen = self.seen(packet, &stated);
        self.begin_stream(seen.as_ref());
        if datagram.is_unchanged() {
            self.record_sent(0, packet);
        }
        // The ranges of messages are positions in the payload.
        self.reading.bytes.extend_from_slice(packet.payload);
        self.reading.sizes.payload = packet.payload.len();
        let whole = MessageOutcome::whole(datagram);
        if let Some(control) = packet.control() {
            let placed = datagram.placed.first();
            let done = placed.map_or(whole, |placed| MessageOutcome::Placed(placed.action));
            let handling = self.handling(placed, done);
            let mut message = self.control(control, packet, handling);
            message.ranges.data = 0..packet.payload.len();
            self.reading.messages.push(message);
            return;
        }
        // The notes on all chunks are added first, because filters evaluate them with the first chunk.
        self.add_notes(&packet.chunk_notes());
        self.note_other_chunks(packet);
        for (index, chunk) in packet.chunks().enumerate() {
            let (done, seq_out) = match datagram.placed.get(index) {
                Some(Placed { seq_out, action, .. }) => (MessageOutcome::Placed(*action), *seq_out),
                None => (
                    whole,
                    chunk
                        .header
                        .vital
                        .filter(|_| whole == MessageOutcome::Placed(Action::Pass)),
                ),
            };
            let action = match done {
                MessageOutcome::Placed(action) => Some(action),
                MessageOutcome::Discarded | MessageOutcome::Refused | MessageOutcome::Ended => None,
            };
            let delivered = action.is_some_and(Action::is_delivered);
            let piece = DecidedChunk {
                chunk: &chunk,
                known: self.known(chunk.data),
                action,
                seq_out,
            };
            let counted = self.count(seen.as_ref(), &piece);
            let handling = self.handling(datagram.placed.get(index), done);
            let mut message = self.chunk(&piece, (delivered, counted.is_first), packet, handling);
            message.transport.seq = chunk.header.vital;
            message.transport.expected_seq = counted.expected;
            message.ranges.at = chunk.end() - chunk.data.len();
            message.ranges.data = message.ranges.at..chunk.end();
            let claimed = self.claim_notes(chunk.at..chunk.end());
            message.notes.extend(claimed);
            self.note_meant(&mut message, chunk.data);
            self.reading.messages.push(message);
        }
    }

    /// Adds a note if the chunk headers are in the format of the other version, or if the compression flag is missing.
    /// The note precedes the notes that result from the mistake.
    fn note_other_chunks(&mut self, packet: &Packet<'_>) {
        let (registry, dir) = (self.decoder.registry(), self.datagram.dir);
        let notes = &mut self.reading.notes;
        let received = self.datagram.received();
        let note = meant::other_chunks(packet, notes, registry, dir).or_else(|| {
            let unmarked = |received| meant::unmarked(packet, received, notes, registry, dir);
            received.and_then(unmarked)
        });
        if let Some(note) = note.filter(|_| !self.reading.is_cut) {
            notes.insert(0, note);
        }
    }

    /// Adds a note if the message has the id of another message, or fields in the format of another version. The note
    /// precedes the notes that result from the mistake.
    fn note_meant(&mut self, message: &mut Message, data: &[u8]) {
        let (proto, dir) = (self.datagram.proto, self.datagram.dir);
        let awaited = self.decoder.joins.awaits(self.session, dir.sender());
        let is_plain = message.notes.is_empty() && awaited.is_none();
        if is_plain || self.reading.is_cut || self.session.is_none() {
            return;
        }
        let suspect = Suspect {
            registry: self.decoder.registry(),
            proto,
            dir,
            to_ddnet: message.for_ddnet,
            awaited,
            vital: message.transport.vital,
            data,
        };
        let notes = &message.notes;
        let fields = || suspect.other_fields(notes).map(Fact::OtherFields);
        let id = || suspect.other_id(notes).map(Fact::OtherId);
        let (code, fact) = match fields().map(|fact| (Code::FieldsOfOtherVersion, fact)) {
            Some(found) => found,
            None => match id() {
                Some(fact) => (Code::WrongId, fact),
                None => return,
            },
        };
        let at = message.ranges.at;
        message.notes.insert(0, Note { code, at, len: 1 });
        self.reading.details.push(Detail {
            code,
            at,
            fact,
            consequence: None,
        });
    }

    /// Adds the parts of a sent datagram that the received datagram lacks: the forwarded ack, and messages inserted by
    /// the proxy. `index` is the position among the sent datagrams.
    fn decode_sent(&mut self, packet: &Packet<'_>, index: usize) {
        let (datagram, first) = (self.datagram, index == 0);
        let received = self.reading.sizes.received.is_some();
        self.record_sent(index, packet);
        if first {
            self.reading.header.ack_out = Some(packet.header.ack);
        }
        if !received && first {
            self.reading.header.flags = packet.header.flags;
            self.reading.header.num_chunks = packet.header.num_chunks;
        }
        if let Some(control) = packet.control() {
            if received {
                self.compare_control(packet);
            } else {
                let handling = self.handling(datagram.placed.first(), Handling::default().done);
                let message = self.control(control, packet, handling);
                self.push_made(message, packet.payload, 0);
            }
            return;
        }
        if received && datagram.placed.is_empty() {
            return;
        }
        self.compare_chunks(packet, index);
        for chunk in packet.chunks() {
            if !self.was_received(&chunk) {
                // Inserted messages do not describe the state of the server's game, so contexts treat them as not
                // delivered.
                let seq_out = chunk.header.vital;
                let piece = DecidedChunk {
                    chunk: &chunk,
                    known: self.known(chunk.data),
                    action: None,
                    seq_out,
                };
                if let (Some(session), Some(seq)) = (self.session, seq_out) {
                    self.decoder.streams().made(session, datagram.dir, seq);
                }
                let at = chunk.end() - chunk.data.len();
                let handling = self.made_handling((index, at));
                let mut message = self.chunk(&piece, (false, None), packet, handling);
                message.transport.seq = None;
                self.push_made(message, chunk.data, at);
            }
        }
    }

    /// Compares the chunks of a sent datagram with the received messages, and records the messages that a rule or a person
    /// changed.
    fn compare_chunks(&mut self, packet: &Packet<'_>, index: usize) {
        let datagram = self.datagram;
        for (number, placed) in datagram.placed.iter().enumerate() {
            let Some(sent) = placed.sent.filter(|sent| usize::from(sent.datagram) == index) else {
                continue;
            };
            let start = usize::from(sent.at);
            let change = match placed.action {
                Action::Corrupt => Change::Corrupt,
                _ => Change::Edit,
            };
            if let Some(data) = packet.payload.get(start..start + usize::from(sent.len)) {
                self.compare(number, data, change);
            }
        }
    }

    /// Compares a control message with its bytes as sent.
    fn compare_control(&mut self, packet: &Packet<'_>) {
        let change = match self.datagram.placed.first().map(|placed| placed.action) {
            Some(Action::Edit) => Change::Edit,
            Some(Action::Corrupt) => Change::Corrupt,
            _ => return,
        };
        self.compare(0, packet.payload, change);
    }

    /// Records the messages of the sent datagrams whose bits the link flipped.
    fn compare_corrupted(&mut self, scratch: &mut Scratch) {
        let datagram = self.datagram;
        let is_damaged = |transit: &&Transit| transit.lost.is_none() && !transit.corrupted.is_empty();
        for transit in datagram.link.iter().filter(is_damaged) {
            let index = usize::from(transit.datagram);
            let Some(sent) = datagram.sent().nth(index) else {
                continue;
            };
            let mut bytes = sent.to_vec();
            transit.damage(&mut bytes);
            match Packet::parse(datagram.proto, &bytes, scratch) {
                Ok(packet) => self.compare_damaged(&packet, index),
                Err(error) => self.reading.damage = Some(error),
            }
        }
    }

    /// Compares the chunks of a damaged datagram with the messages at their places.
    fn compare_damaged(&mut self, packet: &Packet<'_>, index: usize) {
        let datagram = self.datagram;
        if packet.control().is_some() {
            return self.compare(0, packet.payload, Change::Link);
        }
        for (place, chunk) in packet.chunks().enumerate() {
            let at = chunk.end() - chunk.data.len();
            let is_here = |placed: &Placed| {
                placed
                    .sent
                    .is_some_and(|sent| usize::from(sent.datagram) == index && usize::from(sent.at) == at)
            };
            let number = match datagram.placed.is_empty() {
                true => Some(place),
                false => datagram.placed.iter().position(is_here),
            };
            if let Some(number) = number {
                self.compare(number, chunk.data, Change::Link);
            }
        }
    }

    /// Records the bytes that the receiver of a message got, if they differ from the received bytes.
    fn compare(&mut self, number: usize, data: &[u8], change: Change) {
        let reading = &self.reading;
        let message = reading.messages.get(number);
        let Some(message) = message.filter(|message| message.visibility.decoded) else {
            return;
        };
        let before = reading.before(message);
        if before.data == data {
            return;
        }
        let found = match message.layer {
            Layer::Control => data.first().and_then(|id| {
                let registry = self.decoder.registry();
                let def = registry.control(self.datagram.proto, self.datagram.dir, *id)?;
                Some(Found {
                    def,
                    body: 1,
                    unknown: false,
                })
            }),
            _ => self.known(data),
        };
        let after = After::new(&before, data, found, change);
        if let Some(message) = self.reading.messages.get_mut(number) {
            message.after = Some(Arc::new(after));
        }
    }

    /// Adds a message that was sent but not received. `at` is the position of its data in the sent payload.
    fn push_made(&mut self, mut message: Message, data: &[u8], at: usize) {
        let start = self.reading.bytes.len();
        self.reading.bytes.extend_from_slice(data);
        (message.ranges.data, message.ranges.at) = (start..self.reading.bytes.len(), at);
        self.reading.messages.push(message);
    }

    /// Returns true if a sent chunk was received from the peer and forwarded. Compares vital chunks by their forwarded
    /// sequence number, and other chunks by their bytes.
    fn was_received(&self, chunk: &chunk::Chunk<'_>) -> bool {
        let reading = &self.reading;
        reading.messages.iter().any(|message| match chunk.header.vital {
            Some(seq) => message.transport.seq.is_some() && message.transport.seq_out == Some(seq),
            None => {
                !message.transport.vital
                    && match message.handling.done {
                        MessageOutcome::Placed(Action::Pass) => reading.data(message) == chunk.data,
                        MessageOutcome::Placed(Action::Edit | Action::Corrupt) => true,
                        _ => false,
                    }
            }
        })
    }

    /// Records the header of a session's datagram (token, ack, and the silence before it), and adds the notes about it.
    fn begin_stream(&mut self, seen: Option<&Seen<'_>>) {
        let Some(seen) = seen else { return };
        let mut found = NoteSink {
            notes: &mut self.reading.notes,
            details: &mut self.reading.details,
        };
        self.reading.header.expected = self.decoder.streams().begin(seen, &mut found);
    }

    /// Records a forwarded datagram. `index` is its position among the datagrams that the event sent.
    fn record_sent(&mut self, index: usize, packet: &Packet<'_>) {
        if let Some(session) = self.session {
            let streams = self.decoder.streams();
            streams.on_sent((self.at, session), self.datagram, (index, packet));
        }
    }

    /// Records a chunk in the streams of its session, and adds the notes about its sequence number.
    fn count(&mut self, seen: Option<&Seen<'_>>, piece: &DecidedChunk<'_>) -> ChunkOrder {
        let Some(seen) = seen else {
            return ChunkOrder::default();
        };
        let mut found = NoteSink {
            notes: &mut self.reading.notes,
            details: &mut self.reading.details,
        };
        self.decoder.streams().chunk(seen, piece, &mut found)
    }

    fn seen<'p>(&self, packet: &'p Packet<'p>, stated: &'p Stated) -> Option<Seen<'p>>
    where
        'a: 'p,
    {
        let session = self.session?;
        Some(Seen {
            at: self.at,
            session,
            datagram: self.datagram,
            packet,
            refused_ack: RefusedAck::find(&self.datagram.notes),
            to_ddnet: self.decoder.is_to_ddnet(self.session, self.datagram.dir),
            stated,
        })
    }

    /// Returns the definition of the message in a chunk of this datagram; `None` if it is unknown.
    fn known(&self, data: &[u8]) -> Option<Found<'static>> {
        let registry = self.decoder.registry();
        registry.known_message(self.datagram.proto, self.datagram.dir, data)
    }

    fn add_notes(&mut self, found: &Notes) {
        let Reading {
            notes,
            messages,
            is_cut,
            ..
        } = &mut self.reading;
        for note in found.iter() {
            let is_known = notes.contains(&note)
                || self.accepts_any_size && is_about_size(&note)
                || messages.iter().any(|message| message.notes.contains(&note))
                || *is_cut && note.code.has(Property::MayComeFromCut);
            if !is_known {
                notes.push(note);
            }
        }
    }

    /// Removes the notes about `range` of the payload, and returns them for the message in that range.
    fn claim_notes(&mut self, range: Range<usize>) -> impl Iterator<Item = Note> {
        self.reading.notes.extract_if(.., move |note| {
            // The note about an oversized payload concerns all messages, so it stays with the datagram.
            !is_about_size(note) && note.code.place() == RangeOf::Payload && range.contains(&note.at)
        })
    }

    /// Returns the handling of a received message.
    fn handling(&self, placed: Option<&Placed>, done: MessageOutcome) -> Handling {
        let mut handling = Handling {
            origin: self.datagram.origin,
            done,
            ..Handling::default()
        };
        if let Some(placed) = placed.filter(|placed| !placed.rules.is_empty()) {
            handling.rules = self.decoder.rule_names(&placed.rules);
            handling.marks.clone_from(&placed.marks);
            handling.delay = placed.delay;
        }
        handling
    }

    /// Returns the handling of a message that was sent but not received, at this place in the sent datagrams.
    fn made_handling(&self, (index, at): (usize, usize)) -> Handling {
        let datagram = self.datagram;
        let is_here =
            |made: &&MadeAt| usize::from(made.sent.datagram) == index && usize::from(made.sent.at) == at;
        let made = datagram.made.iter().find(is_here);
        let rule = made.and_then(|made| made.rule.as_deref());
        Handling {
            origin: match datagram.received() {
                Some(_) => Origin::Rule,
                None => datagram.origin,
            },
            made: made.map(|made| (made.how, made.waited)),
            rules: rule.into_iter().map(Arc::from).collect(),
            ..Handling::default()
        }
    }

    fn control(&mut self, control: Control<'_>, packet: &Packet<'_>, handling: Handling) -> Message {
        let place = SeenAt::packet(self.at, self.session, self.datagram, packet, &self.reading.notes);
        let place = place.handled(&handling);
        let records = &mut self.reading.records;
        let mut message = self.decoder.control(place, control, packet.payload, records);
        message.id = Some(control.id().into());
        message.handling = handling;
        message
    }

    fn chunk(
        &mut self,
        piece: &DecidedChunk<'_>,
        (delivered, first): (bool, Option<bool>),
        packet: &Packet<'_>,
        handling: Handling,
    ) -> Message {
        let DecidedChunk {
            chunk,
            known,
            seq_out,
            ..
        } = *piece;
        let place = SeenAt::packet(self.at, self.session, self.datagram, packet, &self.reading.notes);
        let place = place.handled(&handling);
        let chunk = place::Chunk {
            seq: chunk.header.vital,
            seq_out,
            resend: chunk.header.resend,
            delivered,
            first,
            data: chunk.data,
            known,
        };
        let mut message = self.decoder.chunk(place, chunk, &mut self.reading.records);
        message.handling = handling;
        message
    }
}

/// Returns true for the note about an oversized payload, which some receivers refuse.
fn is_about_size(note: &Note) -> bool {
    note.code == Code::PayloadOversized
}
