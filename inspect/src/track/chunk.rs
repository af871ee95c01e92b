//! Analyses a chunk: its sequence number, its earlier copies, and the message to which it replies.

use teetap_proxy::session::{Action, SessionId, Time};
use teetap_wire::{
    Chunk, Code, Dir, Flags, Note, Seq, Side, Token,
    def::{Class, Def, Found},
    receiver::{Finding, Identified, Leg, Phase, Receiver, Signs, Verdict, identify, message},
    varint,
};

use crate::stated::StatedVersion;

use super::{
    Consequence, Fact, ForeignPart, NoteSink, Seen, Stream, Streams,
    copies::{self, Likeness},
    look::whole,
    numbers::{ChunkPosition, Order},
};

/// Highest number of a new session before which a jump may continue the numbers of another session.
const START: u16 = 8;

/// A chunk and the proxy's decision about it.
#[derive(Clone, Copy)]
pub(crate) struct DecidedChunk<'a> {
    pub(crate) chunk: &'a Chunk<'a>,
    /// The definition of its message; `None` if the message is unknown.
    pub(crate) known: Option<Found<'static>>,
    /// The proxy's decision; `None` if the whole datagram was not forwarded.
    pub(crate) action: Option<Action>,
    /// The forwarded sequence number; `None` if the chunk was not forwarded or is not vital.
    pub(crate) seq_out: Option<Seq>,
}

/// The position of a chunk in the order of its direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChunkOrder {
    /// True for the first copy that the receiver may accept, false for any other copy; `None` if the chunk is not
    /// vital, was refused, or its datagram was not forwarded.
    pub(crate) is_first: Option<bool>,
    /// The expected number, for a chunk that is ahead of it and was not forwarded for that reason.
    pub(crate) expected: Option<Seq>,
}

impl Streams {
    /// Records the sequence number of a message that the proxy inserted.
    pub(crate) fn made(&mut self, session: SessionId, dir: Dir, seq: Seq) {
        let (own, _) = self.stream_mut(session).both(dir);
        own.acks.is_shifted = true;
        own.acks.forwarded(seq);
        self.stream_mut(session).turns = None;
    }

    /// Records a chunk that is not vital.
    fn chunk_without_number(&mut self, seen: &Seen<'_>, piece: &DecidedChunk<'_>, found: &mut NoteSink<'_>) {
        let may_note = !self.is_partial;
        if let Some(stream) = self.sessions.get_mut(seen.session.0)
            && may_note
            && !stream.is_over
            && !stream.is_void
            && piece.action.is_some_and(|action| action != Action::Refuse)
        {
            match piece.known.and_then(|known| known.def.odd_vitality(false)) {
                // Other programs than the games may accept the message.
                Some(_) => stream.turns = None,
                None => stream.note_turn(seen, piece, found),
            }
        }
    }

    /// Records a chunk of the current datagram.
    pub(crate) fn chunk(
        &mut self,
        seen: &Seen<'_>,
        piece: &DecidedChunk<'_>,
        found: &mut NoteSink<'_>,
    ) -> ChunkOrder {
        let Some(seq) = piece.chunk.header.vital else {
            self.chunk_without_number(seen, piece, found);
            self.note_ticks(seen, piece);
            return ChunkOrder::default();
        };
        self.stream_mut(seen.session);
        let Self {
            sessions,
            past,
            is_partial,
            ..
        } = self;
        let Some(stream) = sessions.get_mut(seen.session.0) else {
            return ChunkOrder::default();
        };
        let notes = !*is_partial && !stream.is_over;
        let is_taken = !stream.is_void && piece.action.is_some_and(|action| action != Action::Refuse);
        if !is_taken {
            if stream.is_void {
                let (own, _) = stream.both(seen.datagram.dir);
                own.numbers.may_have(seq);
                if seen.datagram.leg.is_none() {
                    stream.turns = None;
                }
            }
            // The receiver does not accept this copy, so the sender will retransmit the message.
            let is_first = Some(false).filter(|_| stream.is_void && piece.action.is_some());
            return ChunkOrder {
                is_first,
                expected: None,
            };
        }
        if stream.may_renumber
            && seen.datagram.dir == Dir::S2c
            && stream.both(Dir::S2c).0.copies.differs(seq, piece.chunk.data)
        {
            // A different message under a known number shows that the server has restarted its numbers.
            stream.renumber();
            stream.may_renumber = false;
        }
        let deliveries = stream.deliveries;
        let (own, _) = stream.both(seen.datagram.dir);
        let base = own.numbers.base();
        let ChunkPosition {
            order,
            is_first,
            high,
        } = own.numbers.record(seq, piece.chunk.header.resend, seen.at);
        if let Some(out) = piece.seq_out {
            own.acks.is_shifted |= out != seq;
            own.acks.forwarded(out);
        }
        let expected = match order {
            Order::Ahead(expected) => Some(expected),
            Order::Next | Order::Again => None,
        };
        if expected.is_some() && !piece.chunk.header.resend {
            own.numbers.compare(seq, own.sent, seen.packet.header.num_chunks);
        }
        own.network.is_rough |= expected.is_some() || deliveries > 0;
        own.network.has_repeats |= piece.chunk.header.resend;
        stream.look_at_uncounted(seen.datagram.dir, seq, (expected.is_some(), is_first));
        if notes {
            let found_order = Ordered {
                seq,
                order,
                base,
                high,
            };
            note_vital(past, stream, (seen, piece), found_order, is_first, found);
        }
        ChunkOrder {
            is_first: Some(is_first),
            expected: expected.filter(|_| piece.action == Some(Action::Gap)),
        }
    }
}

/// Adds the notes about a vital chunk, its copies and its place in the join.
fn note_vital(
    past: &super::past::Past,
    stream: &mut Stream,
    (seen, piece): (&Seen<'_>, &DecidedChunk<'_>),
    place: Ordered,
    is_first: bool,
    found: &mut NoteSink<'_>,
) {
    let likeness = stream.note_copies(seen, piece, place, found);
    stream.note_order(seen, piece, place, likeness, found);
    let is_strange = matches!(place.order, Order::Ahead(_)) || matches!(likeness, Likeness::Other { .. });
    if is_strange {
        stream.turns = None;
        note_foreign_message(past, stream, seen, piece, place, found);
    }
    if is_first {
        stream.note_turn(seen, piece, found);
        stream.note_answer(seen, piece, found);
    } else {
        stream.forget_question(seen, piece);
    }
}

impl Streams {
    /// Records the ticks of an input or a snapshot, which show that their sender receives datagrams: an input has the
    /// tick of the last snapshot, and a snapshot is relative to a tick that an input had.
    fn note_ticks(&mut self, seen: &Seen<'_>, piece: &DecidedChunk<'_>) {
        let is_sent = seen.datagram.leg.is_none() && piece.action == Some(Action::Pass);
        let Some(stream) = self.sessions.get_mut(seen.session.0).filter(|_| is_sent) else {
            return;
        };
        let Some(known) = piece.known.filter(|_| !stream.is_void) else {
            return;
        };
        let Some(first) = piece.chunk.data.get(known.body..).and_then(varint::decode) else {
            return;
        };
        let (own, other) = stream.both(seen.datagram.dir);
        match (seen.datagram.dir, &*known.def.name) {
            (Dir::C2s, "input") => {
                own.acks.tick_sent(first.value);
                own.echo.sent(first.value, seen.at);
                other.acks.tick_returned(first.value);
                other.echo.returned(first.value);
            }
            (Dir::S2c, "snap" | "snap_single" | "snap_empty") => {
                own.acks.tick_sent(first.value);
                own.echo.sent(first.value, seen.at);
                let rest = piece.chunk.data.get(known.body + first.len..);
                if let Some(delta) = rest.and_then(varint::decode) {
                    let base = first.value.wrapping_sub(delta.value);
                    other.acks.tick_returned(base);
                    other.echo.returned(base);
                }
            }
            _ => {}
        }
    }
}

/// A sequence number with its position in the order, and the numbers before it.
#[derive(Clone, Copy)]
struct Ordered {
    seq: Seq,
    order: Order,
    base: Option<Seq>,
    /// The highest number sent before this chunk.
    high: Option<Seq>,
}

impl Stream {
    /// Adds notes about retransmissions: missing resend flag, too many copies, changed contents.
    fn note_copies(
        &mut self,
        seen: &Seen<'_>,
        piece: &DecidedChunk<'_>,
        Ordered { seq, order, .. }: Ordered,
        found: &mut NoteSink<'_>,
    ) -> Likeness {
        let deliveries = self.deliveries;
        let (own, _) = self.both(seen.datagram.dir);
        let Chunk { header, data, .. } = piece.chunk;
        let is_repeat = order == Order::Again;
        let likeness = own
            .copies
            .record(seq, data, (header.resend, is_repeat, deliveries == 1), seen.at);
        let name = piece.known.map(|known| &*known.def.name);
        if likeness == Likeness::New {
            own.copies.set_name(seq, name);
        }
        let repeated = match likeness {
            Likeness::Other { .. } => None,
            Likeness::New | Likeness::Copy { .. } => own.own.sent(seq, name, seen.at),
        };
        if let Some(repeated) = repeated {
            found.add(of_chunk(piece, Code::ResendAcked), Fact::Repeated(repeated));
        }
        match likeness {
            Likeness::Copy { was_plain, storm } => {
                if was_plain && !header.resend && deliveries == 0 {
                    let (last, acked) = (own.numbers.last().unwrap_or(seq), own.acked());
                    let fact = Fact::Again {
                        got: seq,
                        last,
                        acked,
                    };
                    found.add(of_chunk(piece, Code::ResendUnmarked), fact);
                }
                // Requests of the last 3 s may have caused these copies, since the network may delay requests and
                // replies.
                let since = Time(seen.at.0.saturating_sub(3_000_000));
                // One copy for each request, and three for the first transmission and the resend timer.
                let expected = own.acks.requests_since(since).map(|requests| requests + 3);
                if let Some((copies, expected)) = storm.zip(expected)
                    && usize::from(copies) > expected
                {
                    own.copies.reported(seq);
                    let fact = Fact::Storm {
                        got: seq,
                        copies,
                        expected,
                    };
                    found.add(of_chunk(piece, Code::ResendStorm), fact);
                }
            }
            Likeness::Other { len, name: before } => {
                let names = before.zip(name).filter(|_| !header.resend);
                let fact = match (names, own.numbers.last()) {
                    (Some((before, now)), Some(last)) => Fact::UsedTwice {
                        got: seq,
                        before,
                        now,
                        expected: last.next(),
                    },
                    _ => Fact::Changed {
                        got: seq,
                        before: len,
                        now: data.len(),
                    },
                };
                let code = Code::ResendChanged;
                found.add(of_chunk(piece, code), fact);
            }
            Likeness::New => {}
        }
        likeness
    }

    /// Adds a note if a message is not the next message in order.
    fn note_order(
        &mut self,
        seen: &Seen<'_>,
        piece: &DecidedChunk<'_>,
        ordered: Ordered,
        likeness: Likeness,
        found: &mut NoteSink<'_>,
    ) {
        let Ordered { seq, order, base, .. } = ordered;
        let Some(base) = base else { return };
        let (own, _) = self.both(seen.datagram.dir);
        let (code, fact) = match order {
            Order::Next => return,
            Order::Ahead(expected) => (Code::SeqAhead, Fact::Ahead { got: seq, expected }),
            // If every message since the start was seen, a message under an old number that was never seen is new.
            Order::Again
                if likeness == Likeness::New
                    && own.numbers.is_whole()
                    && (own.numbers.never_had(seq)
                        || !piece.chunk.header.resend && seq.distance_to(base) < 100) =>
            {
                let fact = Fact::Behind {
                    got: seq,
                    expected: base.next(),
                };
                (Code::SeqBehind, fact)
            }
            Order::Again => {
                let acked = own.acked();
                let fact = Fact::Again {
                    got: seq,
                    last: own.numbers.last().unwrap_or(base),
                    acked,
                };
                (Code::SeqAgain, fact)
            }
        };
        // A receiver may still need a retransmitted message that it has not acked, so its reaction is unknown.
        let is_known = !matches!(fact, Fact::Again { got, acked, .. } if acked.is_none_or(|acked| !got.is_behind(acked)));
        let consequence = is_known.then(|| self.consequence(seen, piece, base)).flatten();
        found.add_with(of_chunk(piece, code), fact, consequence);
    }

    /// Returns the receiver's reaction to a chunk; `base` is the receiver's last in-order number.
    fn consequence(&self, seen: &Seen<'_>, piece: &DecidedChunk<'_>, base: Seq) -> Option<Consequence> {
        let mut verdict = None;
        let (receiver, side) = self.judge(seen, base, |finding| {
            if finding.chunk.is_some_and(|place| place.at == piece.chunk.at) {
                verdict = Some(finding.verdict);
            }
        })?;
        verdict.map(|verdict| Consequence {
            receiver,
            side,
            verdict,
        })
    }

    /// Returns the receiver's reaction to the framing of a datagram: the last verdict before its chunks. For a control
    /// packet, returns only a drop, because other reactions depend on more than the framing.
    pub(super) fn consequence_of_form(&self, seen: &Seen<'_>, base: Seq) -> Option<Consequence> {
        let is_control = seen.packet.header.flags.contains(Flags::CONTROL);
        let mut verdict = None;
        let (receiver, side) = self.judge(seen, base, |finding| {
            if finding.chunk.is_none() {
                verdict = Some(finding.verdict);
            }
        })?;
        let verdict = verdict.filter(|verdict| !is_control || *verdict == Verdict::Drops)?;
        Some(Consequence {
            receiver,
            side,
            verdict,
        })
    }

    /// Passes each verdict of the receiver on a datagram to `each`, and returns the receiver's release and side. `base`
    /// is the receiver's last in-order number.
    fn judge(&self, seen: &Seen<'_>, base: Seq, each: impl FnMut(Finding)) -> Option<(Identified, Side)> {
        let (proto, side) = (seen.datagram.proto, seen.datagram.dir.receiver());
        let receiver = self.receiver(seen);
        let token = seen.packet.header.token.filter(|token| *token != Token::NONE);
        let leg = Leg {
            ack: base,
            peer_ack: seen.packet.header.ack.get(),
            sequence: seen.packet.header.ack,
            ..Leg::new(proto, Phase::Online, token)
        };
        let _after = Receiver::new(receiver.release, side).judge(&leg, seen.datagram.received()?, each);
        Some((receiver, side))
    }

    /// Returns the release of the receiver of a datagram.
    fn receiver(&self, seen: &Seen<'_>) -> Identified {
        let is_client = seen.datagram.dir == Dir::S2c;
        let of = |version: Option<StatedVersion<'_>>| {
            identify(&Signs {
                proto: seen.datagram.proto,
                client_version: self.client_version.filter(|_| is_client),
                version: version.map(|version| version.text),
                is_ddnet: seen.to_ddnet,
            })
        };
        match is_client {
            true => of(None),
            false => seen.stated.with(of),
        }
    }

    /// Adds a note if a message is a late reply that its sender queued until the next flush. Records the message itself
    /// if the other peer has to reply to it.
    fn note_answer(&mut self, seen: &Seen<'_>, piece: &DecidedChunk<'_>, found: &mut NoteSink<'_>) {
        let (dir, data) = (seen.datagram.dir, piece.chunk.data);
        let Some(known) = piece.known else { return };
        let (def, body) = (known.def, known.body);
        if let Some(at) = version_at(def).filter(|_| dir == Dir::C2s) {
            let number = data.get(body + at..).and_then(varint::decode);
            self.client_version = number.map(|number| number.value).or(self.client_version);
        }
        self.note_map(def, dir, piece, found);
        self.map_answer
            .message(def, dir, piece, data.get(body..).unwrap_or_default());
        let receiver = self.receiver(seen);
        let (own, other) = self.both(dir);
        let networks = [own.network, other.heard.network];
        let is_rough = networks
            .iter()
            .any(|network| network.is_rough || network.has_repeats);
        // A retransmitted reply was probably lost before, so its delay proves nothing.
        let late = own.pace.answered(&def.name, seen.at, is_rough);
        if let Some(late) = late.filter(|_| !piece.chunk.header.resend) {
            let fact = Fact::Late {
                question: late.question,
                after: late.after,
            };
            found.add(of_chunk(piece, Code::LateReply), fact);
        }
        let ack = seen.packet.header.ack;
        if let Some(question) = own.shown.answered(&def.name, ack, seen.datagram.proto, dir) {
            other.acks.answered(question.seq, question.answer);
            other.inflation.answered(question.seq);
        }
        let row = message(receiver.release, dir.receiver(), &def.name);
        if let Some((row, answer)) = row.and_then(|row| Some((row, row.answer?))) {
            // If a rule or a link line holds the message, the delay of its reply proves nothing.
            let is_sent = piece.seq_out.is_some() && seen.datagram.link.is_empty();
            match is_sent {
                true => other.pace.asked(row.name, answer, seen.at),
                false => other.pace.forget(answer),
            }
            if let Some(seq) = piece.seq_out {
                other.shown.asked(answer, seq);
            }
        }
    }
}

impl Stream {
    /// Stops timing the reply to a retransmitted message, since earlier copies of the message may have been lost.
    fn forget_question(&mut self, seen: &Seen<'_>, piece: &DecidedChunk<'_>) {
        let Some(known) = piece.known else { return };
        let dir = seen.datagram.dir;
        let row = message(self.receiver(seen).release, dir.receiver(), &known.def.name);
        if let Some(answer) = row.and_then(|row| row.answer) {
            self.both(dir).1.pace.forget(answer);
        }
    }

    /// Adds a note if the server announces a map that the client is already loading.
    fn note_map(&mut self, def: &Def, dir: Dir, piece: &DecidedChunk<'_>, found: &mut NoteSink<'_>) {
        match (dir, &*def.name) {
            (Dir::S2c, "map_change") => {
                let Some(seq) = piece.chunk.header.vital else {
                    return;
                };
                let hash = copies::hash(piece.chunk.data);
                let before = self.map.replace((hash, seq));
                // A server that starts over, for a second ACCEPT of the client, begins with number 1 again.
                let before = before.filter(|(known, before)| *known == hash && before.is_behind(seq));
                // A server that reloads its map sends the map change to clients that are loading the map, too
                // (`CServer::Run` in server.cpp of Teeworlds 0.6.5 and 0.7.5). Only an unacked message is retransmitted.
                let acked = self.ways[dir].acked();
                let is_acked = |seq: Seq| acked.is_some_and(|acked| seq.is_behind(acked));
                let before = before.filter(|(_, before)| !self.may_rejoin && !is_acked(*before));
                if let Some((_, before)) = before {
                    found.add(
                        of_chunk(piece, Code::MapAgain),
                        Fact::Renumbered { got: seq, before },
                    );
                }
            }
            (Dir::C2s, "ready") | (Dir::S2c, "con_ready") => self.map = None,
            _ => {}
        }
    }
}

impl super::DirectionState {
    /// Returns the last ack of the receiver; `None` if the forwarded numbers differ from the sender's.
    fn acked(&self) -> Option<Seq> {
        self.acks.last.filter(|_| !self.acks.is_shifted)
    }
}

/// Adds a note if an unexpected message seems to belong to another session.
fn note_foreign_message(
    past: &super::past::Past,
    stream: &Stream,
    seen: &Seen<'_>,
    piece: &DecidedChunk<'_>,
    Ordered { seq, high, .. }: Ordered,
    found: &mut NoteSink<'_>,
) {
    let dir = seen.datagram.dir;
    // Clients often send the same messages with the same numbers in each session. Therefore a message that continues
    // this session is no evidence, nor is a message that was acked in the other session.
    let continues = high.is_some_and(|high| seq == high.next());
    let same = past
        .with_unacked(dir, seq, copies::hash(piece.chunk.data))
        .filter(|_| !continues);
    let is_start = high.is_some_and(|high| high.get() < START && high.distance_to(seq) > START);
    let continued = || {
        let session = past.with_number(stream.client, dir, seq).filter(|_| is_start);
        session.map(|session| (session, ForeignPart::Number(seq)))
    };
    let part = same.map(|session| (session, ForeignPart::Message(seq)));
    if let Some((session, part)) = part.or_else(continued) {
        let session = session.0;
        found.add(whole(seen, Code::OtherSession), Fact::Foreign { session, part });
    }
}

/// Returns the offset of the version number in the body of a DDNet client's version message; `None` for other messages.
fn version_at(def: &Def) -> Option<usize> {
    match (def.class, &*def.name) {
        // The version follows a UUID.
        (Class::System, "client_version") => Some(16),
        (Class::Game, "cl_is_ddnet_legacy") => Some(0),
        _ => None,
    }
}

/// Creates a note that marks the header of a chunk.
pub(super) fn of_chunk(piece: &DecidedChunk<'_>, code: Code) -> Note {
    let Chunk { at, data, .. } = piece.chunk;
    Note {
        code,
        at: *at,
        len: piece.chunk.end() - data.len() - at,
    }
}
