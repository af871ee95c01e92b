//! Decodes a datagram into a [`Reading`], message by message.

mod sent;

use std::ops::Range;

use teetap_proxy::session::{Action, Datagram, Placed, SessionId, Time};
use teetap_wire::{
    Code, Control, Dir, Note, Notes, Packet, PacketError, Property, Proto, RangeOf, Scratch,
    def::Found,
    snap::{Completed, Fate},
};

use super::Decoder;
use crate::{
    meant::{self, Suspect},
    place::{self, SeenAt},
    reading::{Handling, INTRODUCTIONS, Message, MessageOutcome, Reading, Unreadable},
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
        self.decode_both(scratch);
        self.check_sent_snapshots();
    }

    /// Decodes the received datagram, then the sent datagrams.
    fn decode_both(&mut self, scratch: &mut Scratch) {
        let datagram = self.datagram;
        self.follow_changes();
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
                    self.reading.header.expected.token =
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
        self.begin_stream(seen.as_ref(), packet);
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
        if let Some(session) = self.session
            && self
                .reading
                .notes
                .iter()
                .any(|note| meant::is_about_chunks(note.code))
        {
            self.decoder.streams().misread(session);
        }
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
            let awaited = self.awaited();
            let counted = self.count(seen.as_ref(), &piece);
            self.note_content(seen.as_ref(), &piece, counted.is_first);
            let handling = self.handling(datagram.placed.get(index), done);
            let mut message = self.chunk(&piece, (delivered, counted.is_first), packet, handling);
            self.record_readable();
            message.transport.seq = chunk.header.vital;
            message.transport.expected_seq = counted.expected;
            message.ranges.at = chunk.end() - chunk.data.len();
            message.ranges.data = message.ranges.at..chunk.end();
            let claimed = self.claim_notes(chunk.at..chunk.end());
            message.notes.extend(claimed);
            self.note_meant(&mut message, awaited, chunk.data);
            if datagram.ordinal <= INTRODUCTIONS {
                stated.learn_from_chat(&self.reading, &message);
            }
            self.reading.messages.push(message);
        }
        self.keep_held();
    }

    /// Adds a note if the chunk headers are in the format of the other version, or if the compression flag is missing;
    /// otherwise, adds the values of a chunk whose size is wrong.
    /// The note precedes the notes that result from the mistake.
    fn note_other_chunks(&mut self, packet: &Packet<'_>) {
        let (registry, dir) = (self.decoder.registry(), self.datagram.dir);
        let notes = &mut self.reading.notes;
        let received = self.datagram.received();
        let note = meant::other_chunks(packet, notes, registry, dir).or_else(|| {
            let unmarked = |received| meant::unmarked(packet, received, notes, registry, dir);
            received.and_then(unmarked)
        });
        if self.reading.is_cut {
            return;
        }
        if let Some(note) = note {
            notes.insert(0, note);
        } else if let Some(wrong) = meant::wrong_size(packet, notes, registry, dir) {
            let odd = notes.iter().filter(|note| meant::is_about_chunks(note.code));
            self.reading.details.extend(odd.map(|note| Detail {
                code: note.code,
                at: note.at,
                fact: Fact::WrongSize(wrong),
                consequence: None,
            }));
        }
    }

    /// Returns the message that the join, or a login to the console, awaits from the sender.
    fn awaited(&mut self) -> Option<&'static str> {
        let (session, dir) = (self.session, self.datagram.dir);
        let of_join = self.decoder.joins.awaits(session, dir.sender());
        let of_login = || {
            let is_login = dir == Dir::S2c && self.decoder.streams().awaits_login(session);
            is_login.then_some(match self.datagram.proto {
                Proto::V7 => "rcon_auth_on",
                Proto::V6 | Proto::V65 | Proto::Ddnet => "rcon_auth_status",
            })
        };
        of_join.or_else(of_login)
    }

    /// Adds a note if the message has the id of another message, or fields in the format of another version. The note
    /// precedes the notes that result from the mistake.
    fn note_meant(&mut self, message: &mut Message, awaited: Option<&'static str>, data: &[u8]) {
        let (proto, dir) = (self.datagram.proto, self.datagram.dir);
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
        let encoding = || suspect.other_encoding(notes).map(Fact::OtherEncoding);
        let order = || suspect.other_order(notes).map(Fact::FieldOrder);
        let found = fields()
            .map(|fact| (Code::FieldsOfOtherVersion, fact))
            .or_else(|| Some((Code::OtherEncoding, encoding()?)))
            .or_else(|| Some((Code::WrongId, id()?)))
            .or_else(|| Some((Code::FieldsMisplaced, order()?)));
        let Some((code, fact)) = found else { return };
        let at = message.ranges.at;
        message.notes.insert(0, Note { code, at, len: 1 });
        self.reading.details.push(Detail {
            code,
            at,
            fact,
            consequence: None,
        });
    }

    /// Records the header of a session's datagram (token, ack, and the silence before it), and adds the notes about it.
    fn begin_stream(&mut self, seen: Option<&Seen<'_>>, packet: &Packet<'_>) {
        let mut found = NoteSink {
            notes: &mut self.reading.notes,
            details: &mut self.reading.details,
        };
        let Some(seen) = seen else {
            return self.decoder.streams().outside(self.datagram, packet, &mut found);
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

    /// Adds the notes about the acks and ticks of a message. They need all messages of the session.
    fn note_content(&mut self, seen: Option<&Seen<'_>>, piece: &DecidedChunk<'_>, is_first: Option<bool>) {
        let Some(seen) = seen else { return };
        if self.decoder.may_skim() {
            return self.decoder.streams().content_missed(seen.session);
        }
        let mut found = NoteSink {
            notes: &mut self.reading.notes,
            details: &mut self.reading.details,
        };
        self.decoder.streams().content(seen, piece, is_first, &mut found);
    }

    /// Records the snapshot that the last message completed, if the client can read it.
    fn record_readable(&mut self) {
        let Some(session) = self.session else { return };
        let context = self.decoder.contexts().of_session(Some(session.0));
        let is_readable =
            |completed: Completed<'_>| completed.fate == Fate::Kept && completed.notes.is_empty();
        if context.completed().is_some_and(is_readable) {
            self.decoder.streams().readable(session, self.at);
        }
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
