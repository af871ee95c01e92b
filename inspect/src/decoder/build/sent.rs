//! The datagrams that an event sent: compares their messages with the received messages, and adds the messages that the
//! proxy made.

use std::sync::Arc;

use teetap_proxy::session::{Action, MadeAt, MadeHow, Origin, Placed, SessionId, Transit};
use teetap_wire::{Code, Packet, Scratch, chunk, def::Found, snap::Completed};

use super::Build;
use crate::{
    after::{After, Change},
    reading::{Handling, Layer, Message, MessageOutcome},
    track::DecidedChunk,
};

impl<'a> Build<'a> {
    /// Adds the parts of a sent datagram that the received datagram lacks: the forwarded ack, and messages inserted by
    /// the proxy. `index` is the position among the sent datagrams.
    pub(super) fn decode_sent(&mut self, packet: &Packet<'_>, index: usize) {
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
            let at = chunk.end() - chunk.data.len();
            if !self.was_received(&chunk, (index, at)) {
                // Inserted messages do not describe the state of the server's game, so contexts treat them as not
                // delivered.
                let seq_out = chunk.header.vital;
                let piece = DecidedChunk {
                    chunk: &chunk,
                    known: self.known(chunk.data),
                    action: None,
                    seq_out,
                };
                if let Some(session) = self.session {
                    let streams = self.decoder.streams();
                    streams.content_made(session, datagram.dir, piece.known);
                }
                if let (Some(session), Some(seq)) = (self.session, seq_out) {
                    self.decoder.streams().made(session, datagram.dir, seq);
                }
                let handling = self.made_handling((index, at));
                let old = self.edited_while_held((index, at), chunk.data);
                let change = match self.made((index, at)) {
                    Some(made) if made.corrupted => Change::Corrupt,
                    _ => Change::Edit,
                };
                let data = old.as_deref().unwrap_or(chunk.data);
                let shown = DecidedChunk {
                    chunk: &chunk::Chunk { data, ..chunk },
                    known: old.as_deref().map_or(piece.known, |old| self.known(old)),
                    ..piece
                };
                let mut message = self.chunk(&shown, (false, None), packet, handling);
                message.transport.seq = None;
                self.push_made(message, data, at);
                if old.is_some() {
                    let number = self.reading.messages.len().saturating_sub(1);
                    self.compare(number, chunk.data, change);
                }
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
                _ if placed.corrupted => Change::Corrupt,
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
    pub(super) fn compare_corrupted(&mut self, scratch: &mut Scratch) {
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
            let number = match datagram.placed.is_empty() {
                true => Some(place),
                false => self.placed((index, at)),
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

    /// Returns true if a sent chunk was received from the peer and forwarded. Old recordings have no places of messages: in
    /// these, compares vital chunks by their forwarded sequence number, and other chunks by their bytes.
    fn was_received(&self, chunk: &chunk::Chunk<'_>, (index, at): (usize, usize)) -> bool {
        let (reading, datagram) = (&self.reading, self.datagram);
        if !datagram.made.is_empty() || datagram.placed.iter().any(|placed| placed.sent.is_some()) {
            return self.placed((index, at)).is_some();
        }
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

    /// Returns the index of the received message at this place in the sent datagrams.
    fn placed(&self, (index, at): (usize, usize)) -> Option<usize> {
        let is_here = |placed: &Placed| {
            placed
                .sent
                .is_some_and(|sent| usize::from(sent.datagram) == index && usize::from(sent.at) == at)
        };
        self.datagram.placed.iter().position(is_here)
    }

    /// Returns the record of a message of the proxy at this place in the sent datagrams.
    fn made(&self, (index, at): (usize, usize)) -> Option<&'a MadeAt> {
        let is_here =
            |made: &&MadeAt| usize::from(made.sent.datagram) == index && usize::from(made.sent.at) == at;
        self.datagram.made.iter().find(is_here)
    }

    /// Returns the handling of a message that was sent but not received, at this place in the sent datagrams.
    fn made_handling(&self, (index, at): (usize, usize)) -> Handling {
        let datagram = self.datagram;
        let made = self.made((index, at));
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

    /// Returns the received bytes of a message that was released at this place in the sent datagrams; `None` if they are
    /// unknown, or the same.
    fn edited_while_held(&mut self, (index, at): (usize, usize), data: &[u8]) -> Option<Box<[u8]>> {
        let (session, dir) = (self.session?, self.datagram.dir);
        let made = self.made((index, at))?;
        let old = self.decoder.held.release(session, dir, made.held?)?;
        (made.how == MadeHow::Release && *old != *data).then_some(old)
    }

    /// Keeps the messages of the received datagram that the proxy holds.
    pub(super) fn keep_held(&mut self) {
        let Some(session) = self.session else { return };
        let (datagram, reading) = (self.datagram, &self.reading);
        for (message, placed) in reading.messages.iter().zip(&datagram.placed) {
            if let Some(held) = placed.held {
                let data = reading.data(message);
                self.decoder.held.keep(session, datagram.dir, held, data);
            }
        }
    }

    /// Follows the snapshots of the session as sent, if the proxy or the link changes a message of this datagram.
    pub(super) fn follow_changes(&mut self) {
        let datagram = self.datagram;
        let is_changed = |placed: &Placed| matches!(placed.action, Action::Edit | Action::Corrupt);
        let is_damaged = |transit: &Transit| !transit.corrupted.is_empty();
        if let Some(session) = self.session
            && (datagram.placed.iter().any(is_changed) || datagram.link.iter().any(is_damaged))
        {
            self.decoder.follow_sent(session.0);
        }
    }

    /// Checks the snapshots that the messages of this datagram complete at the receiver, which may differ from the
    /// received snapshots.
    pub(super) fn check_sent_snapshots(&mut self) {
        let Some(SessionId(session)) = self.session else {
            return;
        };
        if !self.decoder.follows_sent(session) {
            return;
        }
        for index in 0..self.reading.messages.len() {
            let error = self.sent_snapshot_error(session, index);
            let Some(message) = self.reading.messages.get_mut(index).filter(|_| error.is_some()) else {
                continue;
            };
            let is_valid = |snapshot: Completed<'_>| snapshot.crc_ok() == Some(true);
            if message.completed.view().is_some_and(is_valid) {
                message.completed.error_as_sent = error;
                if let (Some(code), Some(after)) = (error, message.after.as_mut().and_then(Arc::get_mut)) {
                    after.add_note(code);
                }
            }
        }
    }

    /// Follows a message as sent. Returns the error of the snapshot that the message completes at the receiver.
    fn sent_snapshot_error(&mut self, session: u32, index: usize) -> Option<Code> {
        let message = self.reading.messages.get(index)?;
        // A held or delayed message is sent later, and not followed: a snapshot without a known base is not checked.
        let is_sent = matches!(
            message.handling.done,
            MessageOutcome::Placed(Action::Pass | Action::Edit | Action::Corrupt)
        );
        let is_repeated = message.transport.vital && message.transport.resend;
        if !is_sent || is_repeated || message.layer == Layer::Control {
            return None;
        }
        let after = message.after.clone();
        let data = match &after {
            Some(after) => &after.data,
            None => self.reading.data(message),
        };
        let found = self.known(data)?;
        self.decoder
            .observe_sent(session, self.datagram.dir, (found, data))
    }
}
