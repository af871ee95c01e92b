//! Analyses a datagram: its token and ack, its resend request, and the silence before it.
//!
//! | file | contents |
//! |---|---|
//! | `opening.rs` | the handshake, and the slot of the client |
//! | `ack.rs` | the ack |

mod ack;
mod opening;

use teetap_wire::{Code, Control, Dir, Flags, Note, Packet, Property, Proto, Seq, Token};

use super::expected::Expected;
use super::handshake::TokenExchanges;
use super::recorded::given_token;
use super::{Detail, Fact, NoteSink, Seen, Stream, Streams};
use opening::note_handshake;

/// Returns the token that a packet shows to its receiver; `None` if it has none. Servers ignore the token in a CONNECT
/// of 0.6: there is no connection yet.
fn shown_token(packet: &Packet<'_>) -> Option<Token> {
    let token = packet.header.token.filter(|token| *token != Token::NONE)?;
    let is_connect = || matches!(packet.control(), Some(Control::Connect { .. }));
    (packet.proto == Proto::V7 || !is_connect()).then_some(token)
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
        if stream.ways.iter().all(|way| way.numbers.is_whole()) {
            stream.began.get_or_insert(seen.at);
        }
        if notes {
            stream.note_exchange(exchanges, seen, found);
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
        stream.look_at_network(seen, found);
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
        if notes && !stream.is_void {
            stream.note_requests(seen, found);
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
}

impl Stream {
    /// Adds a note if a handshake packet does not match the packets before it, and records the token that the server gave.
    fn note_exchange(&mut self, exchanges: &mut TokenExchanges, seen: &Seen<'_>, found: &mut NoteSink<'_>) {
        let mistake = exchanges.look((seen.datagram, seen.packet), &mut self.connect);
        if let Some(Control::Connect {
            token: Some(token), ..
        }) = seen.packet.control()
        {
            self.given = exchanges.given_to(token).filter(|_| seen.datagram.leg.is_none());
        }
        note_handshake(mistake, seen.datagram, found);
    }

    /// Records whether the network loses or reorders datagrams, and whether some receivers drop a part of this one.
    fn look_at_network(&mut self, seen: &Seen<'_>, found: &NoteSink<'_>) {
        let shows_loss = seen.packet.header.flags.contains(Flags::RESEND) || found.has(Code::Overtaken);
        self.both(seen.datagram.dir).0.network.is_rough |= shows_loss;
        let mut notes = found.notes.iter();
        self.is_doubtful = notes.any(|note| note.code.has(Property::MayLoseChunks));
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

    /// Records the token and the ack of a datagram. Returns the values expected instead of a wrong token or ack.
    fn expect(&mut self, seen: &Seen<'_>, token: Option<Token>, found: &NoteSink<'_>) -> Expected {
        let (packet, leg, dir) = (seen.packet, seen.datagram.leg, seen.datagram.dir);
        let given = self.given.filter(|_| dir == Dir::C2s && leg.is_none());
        let (own, other) = self.both(dir);
        if found.has(Code::WrongToken) || found.has(Code::MissingToken) {
            return Expected {
                // If the known token equals the received wrong token, the known token is outdated, and the expected one
                // unknown.
                token: given.or(own.token).filter(|expected| Some(*expected) != token),
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
                // Both sides write the server's token, `given`. Only the header of this packet has the client's
                // token.
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
                in_vain: never.in_vain,
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
