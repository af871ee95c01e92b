//! Analyses a datagram: its token and ack, its resend request, and the silence before it.

use std::time::Duration;

use teetap_proxy::session::{Datagram, SessionId};
use teetap_wire::{Chunk, Code, Control, Dir, Flags, Note, Packet, Property, Proto, Seq, Side, Token};

use super::expected::Expected;
use super::handshake::HandshakeMistake;
use super::out_of_turn::{OutOfTurn, Turn};
use super::recorded::given_token;
use super::{Detail, Fact, ForeignPart, NoteSink, RefusedAck, Seen, Stream, Streams, past::Past};

/// Time after an ACCEPT in which another one may be a copy.
const COPIES: Duration = Duration::from_secs(2);

/// Length in bytes of the header field that a note about the ack marks.
const ACK: usize = 2;

/// Returns the token that a packet shows to its receiver; `None` if it has none. Servers ignore the token in a CONNECT
/// of 0.6: there is no connection yet.
fn shown_token(packet: &Packet<'_>) -> Option<Token> {
    let token = packet.header.token.filter(|token| *token != Token::NONE)?;
    let is_connect = || matches!(packet.control(), Some(Control::Connect { .. }));
    (packet.proto == Proto::V7 || !is_connect()).then_some(token)
}

/// Adds a note about a mistake in a handshake packet, if there is one.
fn note_handshake(mistake: Option<HandshakeMistake>, datagram: &Datagram, found: &mut NoteSink<'_>) {
    if let Some(mistake) = mistake {
        let note = Note {
            code: mistake.code(),
            at: 0,
            len: datagram.received().map_or(0, <[u8]>::len),
        };
        found.add(note, Fact::Handshake(mistake));
    }
}

impl Streams {
    /// Records a datagram, before its chunks. `found` contains its notes so far. Returns the values expected instead of
    /// a wrong token or ack.
    pub(crate) fn begin(&mut self, seen: &Seen<'_>, found: &mut NoteSink<'_>) -> Expected {
        let (dir, packet) = (seen.datagram.dir, seen.packet);
        let token = shown_token(packet);
        let notes = !self.is_partial && !self.stream_mut(seen.session).is_over;
        if notes && (found.has(Code::WrongToken) || found.has(Code::MissingToken)) {
            self.note_foreign_token(seen, token, found);
        }
        let Self {
            sessions,
            past,
            exchanges,
            ..
        } = self;
        let Some(stream) = sessions.get_mut(seen.session.0) else {
            if let Some(refused) = seen.refused_ack {
                refused.add_as(refused.note.code, found.notes);
            }
            return Expected::default();
        };
        stream.catch_up(seen.at);
        if notes {
            let mistake = exchanges.look((seen.datagram, packet), &mut stream.connect);
            note_handshake(mistake, seen.datagram, found);
        }
        let is_before_slot = stream.is_before_slot(seen);
        stream.note_accept(notes, found);
        if let Some(refused) = seen.refused_ack {
            stream.note_refused_ack(seen, refused, notes, found);
        }
        let expected = stream.expect(seen, token, found);
        let is_dropped = found
            .notes
            .iter()
            .any(|note| note.code.has(Property::DropsDatagram));
        stream.is_void = seen.datagram.leg.is_some() || is_dropped || is_before_slot;
        if notes {
            stream.note_foreign_ack(past, seen, expected.ack, found);
            stream.deliveries = stream.deliveries(seen);
        }
        let shows_loss = packet.header.flags.contains(Flags::RESEND) || found.has(Code::Overtaken);
        stream.both(dir).0.network.is_rough |= shows_loss;
        stream.is_doubtful = found
            .notes
            .iter()
            .any(|note| note.code.has(Property::MayLoseChunks));
        if notes && !stream.is_void {
            stream.note_form(seen, found);
        }
        stream.note_surplus(seen, token, notes, found);
        stream.look_at_token(seen, notes, found);
        let is_back = stream
            .both(dir)
            .0
            .silence
            .on_received(seen.at, packet.control().is_none());
        let is_by_peer = seen.datagram.received().is_some();
        let (silence, is_noted) = match is_by_peer {
            true => stream.both(dir).0.pace.sent(seen.at),
            false => (None, false),
        };
        if seen.datagram.leg.is_some() {
            return expected;
        }
        if packet.control().is_none() {
            stream.look_at_ack_pattern(seen, notes, found);
        }
        let (own, _) = stream.both(dir);
        if found.has(Code::CutByCapture) {
            own.numbers.miss();
            own.heard.numbers.miss();
        }
        if let Some(for_) = silence.filter(|_| notes && (is_noted || is_back)) {
            found.add(whole(seen, Code::KeepaliveLate), Fact::Silent { for_ });
        }
        if !stream.is_void {
            stream.record_ack(seen, notes, found);
            stream.look_for_missing(seen, notes, found);
            stream.look_for_repeat(seen, notes, found);
        }
        expected
    }

    /// Records a datagram outside of sessions, and adds a note if it is a reply to a token request with a wrong token.
    pub(crate) fn outside(&mut self, datagram: &Datagram, packet: &Packet<'_>, found: &mut NoteSink<'_>) {
        if !self.is_partial {
            let mistake = self.exchanges.look((datagram, packet), &mut None);
            note_handshake(mistake, datagram, found);
        }
    }

    /// Adds a note if a wrong token is the token of another session.
    fn note_foreign_token(&self, seen: &Seen<'_>, token: Option<Token>, found: &mut NoteSink<'_>) {
        let (Some(token), dir) = (token, seen.datagram.dir) else {
            return;
        };
        let has = |stream: &Stream| stream.ways[dir].token == Some(token);
        let mut others = self.sessions.iter().rev();
        let other = others.find(|(id, stream)| *id != seen.session.0 && has(stream));
        let other = other
            .map(|(id, _)| SessionId(id))
            .or_else(|| self.past.with_token(dir, token));
        if let Some(session) = other {
            let part = ForeignPart::Token;
            found.add(
                whole(seen, Code::OtherSession),
                Fact::Foreign {
                    session: session.0,
                    part,
                },
            );
        }
    }
}

impl Stream {
    /// Tracks whether a DDNet server has a slot for the client. Returns true if the server drops the datagram because
    /// it has no slot yet.
    fn is_before_slot(&mut self, seen: &Seen<'_>) -> bool {
        let (dir, leg, control) = (seen.datagram.dir, seen.datagram.leg, seen.packet.control());
        if dir == Dir::S2c {
            // A server without a slot can send only these packets; any other packet shows that it has a slot.
            let is_stateless = matches!(
                control,
                Some(Control::ConnectAccept { .. } | Control::Close { .. } | Control::Token { .. })
            );
            self.awaits_accept &= is_stateless;
            return false;
        }
        if matches!(control, Some(Control::Connect { .. })) {
            self.accepted = None;
            if self.ways[Dir::C2s]
                .numbers
                .last()
                .is_some_and(|last| last != Seq::ZERO)
            {
                // A late copy, or a client that joins again: what it sends from now on has another place in the join.
                self.turns = None;
                self.maps.forget();
            }
        }
        if seen.packet.proto != Proto::Ddnet || leg == Some(Side::Server) {
            return false;
        }
        if control == Some(Control::Accept) {
            let before = self.accepted.replace(seen.at);
            if !std::mem::take(&mut self.awaits_accept) {
                // A server that accepts a second ACCEPT restarts its sequence numbers.
                self.renumber();
                self.accepts_again = before.is_some_and(|before| seen.at.since(before) >= COPIES);
            }
            return false;
        }
        self.awaits_accept && control.is_none()
    }

    /// Adds a note if the current datagram is another ACCEPT in the session.
    fn note_accept(&mut self, notes: bool, found: &mut NoteSink<'_>) {
        if std::mem::take(&mut self.accepts_again) && notes {
            let (what, is_ddnet) = (Turn::AcceptAgain, true);
            let note = Note {
                code: what.code(),
                at: 0,
                len: 1,
            };
            found.add(note, Fact::OutOfTurn(OutOfTurn { what, is_ddnet }));
        }
    }

    /// Counts the bytes sent to a client address that may be spoofed, and adds a note if they are too many.
    fn note_surplus(&mut self, seen: &Seen<'_>, token: Option<Token>, notes: bool, found: &mut NoteSink<'_>) {
        let Some(bytes) = seen.datagram.received().map(<[u8]>::len) else {
            return;
        };
        if seen.datagram.dir == Dir::C2s {
            if !found
                .notes
                .iter()
                .any(|note| note.code.has(Property::DropsDatagram))
            {
                let acks = seen.packet.header.ack != Seq::ZERO;
                self.unproven.asked(seen.at, bytes, token, acks);
            }
            return;
        }
        let much = self.unproven.answered(seen.at, bytes);
        if let Some(much) = much.filter(|_| notes) {
            let fact = Fact::amplified(much, "an address that has proven nothing");
            found.add(whole(seen, Code::Amplified), fact);
        }
    }

    /// Adds the note about a refused ack. An ack is behind either because the datagram was reordered, or because the
    /// sender wrote an old ack. `notes` is false while the earlier datagrams are not known.
    fn note_refused_ack(&self, seen: &Seen<'_>, refused: RefusedAck, notes: bool, found: &mut NoteSink<'_>) {
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
    fn is_overtaken(&self, seen: &Seen<'_>) -> bool {
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

    /// Records the token and the ack of a datagram. Returns the values expected instead of a wrong token or ack.
    fn expect(&mut self, seen: &Seen<'_>, token: Option<Token>, found: &NoteSink<'_>) -> Expected {
        let (packet, leg, dir) = (seen.packet, seen.datagram.leg, seen.datagram.dir);
        let (own, other) = self.both(dir);
        if found.has(Code::WrongToken) || found.has(Code::MissingToken) {
            return Expected {
                // If the known token equals the received wrong token, the known token is outdated, and the expected one
                // unknown.
                token: own.token.filter(|expected| Some(*expected) != token),
                // In 0.7 each side writes the token that the other side gave.
                own: own.gave.or(other.token.filter(|_| packet.proto == Proto::V7)),
                peer: other.gave.filter(|_| packet.proto == Proto::V65),
                ack: None,
            };
        }
        // The proxy writes a different token on each leg, so only the sender's leg has the token of the sender.
        let is_of_peer = leg.is_none_or(|leg| leg == dir.sender());
        own.token = token.filter(|_| is_of_peer).or(own.token);
        if is_of_peer && let Some(given) = given_token(packet) {
            own.gave = Some(given);
            if packet.proto == Proto::V65 {
                // Both sides write the server's token, `given`. Only the header of this packet has the client's.
                own.token = Some(given);
                other.gave = packet.header.token.filter(|token| *token != given);
            }
        }
        let ack = if found.has(Code::AckAhead) {
            let nothing = other.numbers.is_from_start().then_some(Seq::ZERO);
            other.acks.top.or(nothing)
        } else if found.has(Code::AckBehind) || found.has(Code::Overtaken) {
            other.acks.last
        } else {
            if packet.header.flags.contains(Flags::CONTROL) {
                other.acks.last.get_or_insert(packet.header.ack);
            }
            None
        };
        // A value that the received ack satisfies cannot be the value expected instead.
        let agrees = |expected: Seq| match found.has(Code::AckAhead) {
            true => packet.header.ack.is_behind(expected),
            false => expected.is_behind(packet.header.ack),
        };
        Expected {
            token: None,
            own: None,
            peer: None,
            ack: ack.filter(|expected| !agrees(*expected)),
        }
    }

    /// Counts a datagram, and adds the mistake that its ack and the acks before it show.
    fn look_at_ack_pattern(&mut self, seen: &Seen<'_>, notes: bool, found: &mut NoteSink<'_>) {
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
        let mistake = own.pattern.acked(ack, top, other.sent, other.numbers.count());
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
    fn note_foreign_ack(
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

    /// Adds the receiver's reaction to an oddly framed datagram, if the receiver's release is known.
    fn note_form(&self, seen: &Seen<'_>, found: &mut NoteSink<'_>) {
        let mut odd = found
            .notes
            .iter()
            .filter(|note| note.code.has(Property::ByRelease));
        let Some(note) = odd.next().copied() else { return };
        let own = &self.ways[seen.datagram.dir];
        let base = own.numbers.base().unwrap_or(Seq::ZERO);
        let consequence = self.consequence_of_form(seen, base);
        if let Some(consequence) = consequence.filter(|consequence| !consequence.receiver.assumed) {
            found.details.push(Detail {
                code: note.code,
                at: note.at,
                fact: Fact::Form,
                consequence: Some(consequence),
            });
        }
    }

    fn deliveries(&mut self, seen: &Seen<'_>) -> usize {
        let (own, _) = self.both(seen.datagram.dir);
        let bytes = seen.datagram.received();
        bytes.map_or(0, |bytes| own.copies.deliveries(bytes, seen.at))
    }

    /// Records a valid ack and the resend flag of the same header, and adds notes about them.
    fn record_ack(&mut self, seen: &Seen<'_>, notes: bool, found: &mut NoteSink<'_>) {
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

    /// Records the server's token, and adds a note if a later packet of the server contains the token with reversed
    /// bytes.
    fn look_at_token(&mut self, seen: &Seen<'_>, notes: bool, found: &mut NoteSink<'_>) {
        let is_of_proxy = seen.datagram.leg == Some(Side::Client);
        if seen.datagram.dir != Dir::S2c || is_of_proxy {
            return;
        }
        match seen.packet.control() {
            Some(Control::Token {
                token: Some(token), ..
            }) => self.server_token = Some(token),
            Some(Control::ConnectAccept {
                token: Some(token), ..
            }) if notes => {
                let Token([a, b, c, d]) = token;
                let expected = Token([d, c, b, a]);
                if expected != token && [self.server_token, self.ways.c2s.token].contains(&Some(expected)) {
                    let note = Note {
                        code: Code::TokenReversed,
                        at: 1,
                        len: 4,
                    };
                    found.add(note, Fact::Reversed { got: token, expected });
                }
            }
            _ => {}
        }
    }

    /// Adds a note if the sender fails to retransmit its oldest unacked message.
    fn look_for_repeat(&mut self, seen: &Seen<'_>, notes: bool, found: &mut NoteSink<'_>) {
        let (own, _) = self.both(seen.datagram.dir);
        let chunks = seen.packet.control().is_none().then(|| seen.packet.chunks());
        let numbers = chunks.into_iter().flatten();
        let numbers = numbers.filter_map(|chunk| Some((chunk.header.vital?, chunk.header.resend)));
        if let Some(unrepeated) = own.own.on_received(seen.at, numbers).filter(|_| notes) {
            found.add(whole(seen, Code::ResendMissing), Fact::Unrepeated(unrepeated));
        }
    }

    /// Adds a note if a sequence number is missing and will not be sent anymore.
    fn look_for_missing(&mut self, seen: &Seen<'_>, notes: bool, found: &mut NoteSink<'_>) {
        let (own, _) = self.both(seen.datagram.dir);
        if !own.numbers.has_gap() || seen.packet.control().is_some() && !notes {
            return;
        }
        let chunks = seen.packet.control().is_none().then(|| seen.packet.chunks());
        let numbers = chunks
            .into_iter()
            .flatten()
            .filter_map(|chunk| Some((chunk.header.vital?, chunk.header.resend)));
        let missing = own.numbers.last().map(Seq::next);
        let oldest = missing.and_then(|missing| own.own.oldest_since(missing));
        let never = own.numbers.look_for_missing(seen.at, oldest, numbers);
        if let Some(never) = never.filter(|_| notes) {
            let fact = Fact::Never {
                got: never.next,
                missing: never.missing,
                counts: never.counts,
                after: never.for_,
            };
            found.add(whole(seen, Code::SeqGap), fact);
        }
    }
}

/// Creates a note that marks a whole datagram.
pub(super) fn whole(seen: &Seen<'_>, code: Code) -> Note {
    let len = seen.datagram.received().map_or(0, <[u8]>::len);
    Note { code, at: 0, len }
}

/// Creates a note that marks the ack in the header.
const fn of_ack(code: Code) -> Note {
    Note {
        code,
        at: 0,
        len: ACK,
    }
}
