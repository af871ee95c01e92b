//! Analyses the ack of a datagram.

use teetap_wire::{Chunk, Code, Dir, Flags, Note, Proto, Seq};

use super::{
    super::{Detail, Fact, ForeignPart, NoteSink, RefusedAck, Seen, Stream, past::Past},
    whole,
};

/// Length in bytes of the header field that a note about the ack marks.
const ACK: usize = 2;

impl Stream {
    /// Adds the note about a refused ack. An ack is behind either because the datagram was reordered, or because the
    /// sender wrote an old ack. `notes` is false while the earlier datagrams are not known.
    pub(super) fn note_refused_ack(
        &self,
        seen: &Seen<'_>,
        refused: RefusedAck,
        notes: bool,
        found: &mut NoteSink<'_>,
    ) {
        let code = refused.note.code;
        if !(notes && code == Code::AckBehind && self.is_overtaken(seen)) {
            refused.add_as(code, found.notes);
            return;
        }
        let note = refused.add_as(Code::Overtaken, found.notes);
        let other = &self.ways[seen.datagram.dir.reverse()];
        let (got, last) = (seen.packet.header.ack, other.acks.last);
        found.add(note, Fact::Overtaken { got, last });
    }

    /// Returns true if a datagram whose ack is behind was probably reordered.
    pub(super) fn is_overtaken(&self, seen: &Seen<'_>) -> bool {
        let (dir, packet) = (seen.datagram.dir, seen.packet);
        let (own, other) = (&self.ways[dir], &self.ways[dir.reverse()]);
        let fills = |chunk: Chunk<'_>| {
            let next = own.numbers.last().map(Seq::next);
            own.numbers.has_gap() && !chunk.header.resend && chunk.header.vital == next
        };
        let ack = packet.header.ack;
        other.acks.was_last(ack, seen.at)
            || !other.numbers.is_whole() && other.acks.is_before_first(ack, seen.at)
            || seen
                .datagram
                .received()
                .is_some_and(|bytes| own.copies.knows(bytes))
            || packet.control().is_none() && packet.chunks().any(fills)
    }

    /// Counts a datagram, and adds the mistake that its ack and the acks before it show.
    pub(super) fn look_at_ack_pattern(&mut self, seen: &Seen<'_>, notes: bool, found: &mut NoteSink<'_>) {
        let header = &seen.packet.header;
        let (own, other) = self.both(seen.datagram.dir);
        own.sent.datagrams = own.sent.datagrams.saturating_add(1);
        own.sent.chunks = own.sent.chunks.saturating_add(header.num_chunks.into());
        let is_odd = |note: &&Note| matches!(note.code, Code::AckAhead | Code::AckBehind);
        let note = found.notes.iter().find(is_odd).copied();
        if own.pattern.is_idle(note.is_some(), other.numbers.is_from_start()) {
            return;
        }
        let top = other.acks.top.unwrap_or(Seq::ZERO);
        let ack = (header.ack, note.is_some());
        let here = seen.packet.chunks().filter_map(|chunk| chunk.header.vital).last();
        let numbers = (here.or(own.numbers.last()).filter(|seq| *seq != Seq::ZERO), top);
        let mistake = own.pattern.acked(ack, numbers, other.sent, other.numbers.count());
        if let Some((note, mistake)) = note.zip(mistake).filter(|_| notes) {
            found.details.push(Detail {
                code: note.code,
                at: note.at,
                fact: Fact::AckMistake {
                    got: header.ack,
                    top,
                    mistake,
                },
                consequence: None,
            });
        }
    }

    /// Adds a note if an ack that is ahead continues the acks of another session of the same client.
    pub(super) fn note_foreign_ack(
        &self,
        past: &Past,
        seen: &Seen<'_>,
        expected: Option<Seq>,
        found: &mut NoteSink<'_>,
    ) {
        if !found.has(Code::AckAhead) {
            return;
        }
        let ack = seen.packet.header.ack;
        // An ack that is only slightly ahead belongs to this session.
        if expected.unwrap_or(Seq::ZERO).distance_to(ack) <= 8 {
            return;
        }
        if let Some(session) = past.with_ack(self.client, seen.datagram.dir.reverse(), ack) {
            let part = ForeignPart::Ack(ack);
            let session = session.0;
            found.add(whole(seen, Code::OtherSession), Fact::Foreign { session, part });
        }
    }

    /// Records a valid ack and the resend flag of the same header, and adds notes about them.
    pub(super) fn record_ack(&mut self, seen: &Seen<'_>, notes: bool, found: &mut NoteSink<'_>) {
        let (at, header) = (seen.at, &seen.packet.header);
        let (own, other) = self.both(seen.datagram.dir);
        let is_rough = own.network.is_rough || other.heard.network.is_rough;
        let ack = header.ack;
        own.own.proved(ack, at);
        let requests = header.flags.contains(Flags::RESEND);
        let needless = requests.then(|| other.acks.requested(at));
        let is_first_ack = !other.acks.has_acked();
        let stuck = other.acks.acked(ack, at, is_rough);
        let deaf = other.inflation.acked(ack, requests, at);
        // A different note covers an ack of a number that was never forwarded.
        let is_sent = other.acks.top.is_some_and(|top| ack.is_behind(top));
        // After a challenge the server acks the first vital chunk whatever its number (`AcceptLegacy` in
        // network_conn.cpp of 0.6.5).
        let is_base = is_first_ack && seen.packet.proto == Proto::V6 && seen.datagram.dir == Dir::S2c;
        let is_whole = is_sent && !is_base && other.heard.numbers.is_whole();
        let beyond = other.heard.numbers.acked(ack).filter(|_| is_whole);
        if !other.acks.is_shifted {
            other.numbers.acked(ack);
        }
        if !notes {
            return;
        }
        if let Some(missing) = beyond {
            found.add(of_ack(Code::AckGap), Fact::Beyond { got: ack, missing });
        }
        if let Some(needless) = needless.flatten() {
            let fact = Fact::Needless {
                requests: needless.requests,
                chunks: needless.chunks,
                within: needless.within,
            };
            let code = Code::ResendNeedless;
            found.add(Note { code, at: 0, len: 1 }, fact);
        }
        if let Some(deaf) = deaf {
            found.add(of_ack(Code::NotInflated), Fact::NotInflating { got: ack, deaf });
        } else if let Some(stuck) = stuck.filter(|_| !other.inflation.is_reported()) {
            let fact = Fact::Stuck {
                got: ack,
                missing: stuck.missing,
                after: stuck.for_,
                times: stuck.sights,
                answer: stuck.answer,
                is_packed: other.inflation.is_packed(stuck.missing),
                is_proven: stuck.is_proven,
            };
            found.add(of_ack(Code::AckStuck), fact);
        }
        if requests {
            let missing = other.acks.top.filter(|top| *top != ack).map(|_| ack.next());
            let missing = missing.or_else(|| other.numbers.has_gap().then(|| ack.next()));
            let is_there = |seq: Seq| other.numbers.last().is_some_and(|last| seq.is_behind(last));
            let was_sent = missing.is_some_and(is_there);
            let code = Code::ResendRequest;
            found.add(Note { code, at: 0, len: 1 }, Fact::Request { missing, was_sent });
            // A request that was sent before the message arrived does not prove that the message was lost.
            let sent = missing.and_then(|seq| other.copies.last_of(seq));
            if !other.acks.is_shifted && was_sent && sent.is_some_and(|sent| other.acks.is_lost(sent, at)) {
                other.numbers.lacks_after(ack);
            }
        }
    }
}

/// Creates a note that marks the ack in the header.
const fn of_ack(code: Code) -> Note {
    Note {
        code,
        at: 0,
        len: ACK,
    }
}
