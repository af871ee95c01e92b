//! The analysis of a chunk: its sequence number, earlier copies, and the question that it answers.

use teetap_proxy::session::{Action, SessionId, Time};
use teetap_wire::{
    Chunk, Code, Dir, Flags, Note, Seq, Side, Token,
    def::{Class, Def},
    receiver::{Finding, Identified, Leg, Phase, Receiver, Signs, Verdict, identify, message},
    varint,
};

use super::{
    Consequence, Fact, Found, Part, Seen, Stream, Streams,
    copies::{self, Likeness},
    look::whole,
    numbers::{Order, Placing},
};

/// Number of sequence numbers at the start of a session within which it may continue another session.
const START: u16 = 8;

/// A chunk and the decision about it.
#[derive(Clone, Copy)]
pub(crate) struct Piece<'a> {
    pub(crate) chunk: &'a Chunk<'a>,
    /// The decision of the core; `None` if the whole datagram was not forwarded.
    pub(crate) action: Option<Action>,
    /// The number with which it was forwarded.
    pub(crate) seq_out: Option<Seq>,
}

/// A vital chunk in the order of its direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    /// True for the first copy that the receiver may accept, false for another copy; `None` if the chunk is not vital,
    /// was refused, or its datagram was not forwarded.
    pub(crate) is_first: Option<bool>,
    /// The expected number, if the chunk is ahead of it.
    pub(crate) expected: Option<Seq>,
}

impl Streams {
    /// Records the forwarded number of a message that no peer sent.
    pub(crate) fn made(&mut self, session: SessionId, dir: Dir, seq: Seq) {
        let (own, _) = self.of(session).both(dir);
        own.acks.is_shifted = true;
        own.acks.gave(seq);
    }

    /// Records a chunk of the current datagram.
    pub(crate) fn chunk(&mut self, seen: &Seen<'_>, piece: &Piece<'_>, found: &mut Found<'_>) -> Counted {
        let Some(seq) = piece.chunk.header.vital else {
            return Counted::default();
        };
        self.of(seen.session);
        let Self {
            sessions,
            past,
            is_partial,
            ..
        } = self;
        let Some(stream) = sessions.get_mut(seen.session.0) else {
            return Counted::default();
        };
        let notes = !*is_partial && !stream.is_over;
        let is_taken = !stream.is_void && piece.action.is_some_and(|action| action != Action::Refuse);
        if !is_taken {
            if stream.is_void {
                let (own, _) = stream.both(seen.datagram.dir);
                own.numbers.may_have(seq);
            }
            // This copy does not count, and the message will be retransmitted.
            let is_first = Some(false).filter(|_| stream.is_void && piece.action.is_some());
            return Counted {
                is_first,
                expected: None,
            };
        }
        if stream.may_renumber
            && seen.datagram.dir == Dir::S2c
            && stream.both(Dir::S2c).0.copies.differs(seq, piece.chunk.data)
        {
            // The number of a different message is a restarted one.
            stream.renumber();
            stream.may_renumber = false;
        }
        let deliveries = stream.deliveries;
        let (own, _) = stream.both(seen.datagram.dir);
        let base = own.numbers.base();
        let Placing {
            order,
            is_first,
            high,
        } = own.numbers.take(seq, piece.chunk.header.resend, seen.at);
        if let Some(out) = piece.seq_out {
            own.acks.is_shifted |= out != seq;
            own.acks.gave(out);
        }
        let expected = match order {
            Order::Ahead(expected) => Some(expected),
            Order::Next | Order::Again => None,
        };
        own.network.is_rough |= expected.is_some() || deliveries > 0;
        own.network.has_repeats |= piece.chunk.header.resend;
        if notes {
            let found_order = Ordered {
                seq,
                order,
                base,
                high,
            };
            let likeness = stream.note_copies(seen, piece, found_order, found);
            stream.note_order(seen, piece, found_order, likeness, found);
            let is_strange = expected.is_some() || matches!(likeness, Likeness::Other { .. });
            if is_strange {
                note_foreign_message(past, stream, seen, piece, found_order, found);
            }
            if is_first {
                stream.note_answer(seen, piece, found);
            } else {
                stream.forget_question(seen, piece);
            }
        }
        Counted {
            is_first: Some(is_first),
            expected: expected.filter(|_| piece.action == Some(Action::Gap)),
        }
    }
}

/// A number with its position in the order, and the last number before it.
#[derive(Clone, Copy)]
struct Ordered {
    seq: Seq,
    order: Order,
    base: Option<Seq>,
    /// The highest number before it.
    high: Option<Seq>,
}

impl Stream {
    /// Adds the notes about copies of a message.
    fn note_copies(
        &mut self,
        seen: &Seen<'_>,
        piece: &Piece<'_>,
        Ordered { seq, order, .. }: Ordered,
        found: &mut Found<'_>,
    ) -> Likeness {
        let deliveries = self.deliveries;
        let (own, _) = self.both(seen.datagram.dir);
        let Chunk { header, data, .. } = piece.chunk;
        let is_repeat = order == Order::Again;
        let likeness = own
            .copies
            .take(seq, data, (header.resend, is_repeat, deliveries == 1), seen.at);
        let known = seen
            .registry
            .known_message(seen.datagram.proto, seen.datagram.dir, data);
        let name = known.map(|known| &*known.def.name);
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
                // Resend requests of the last 3 s: those of the current second, and earlier ones that the network has
                // delayed or whose replies it has.
                let since = Time(seen.at.0.saturating_sub(3_000_000));
                // The first copy, the copies of the timer, and one for each request.
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
            Likeness::Other { len } => {
                let fact = Fact::Changed {
                    got: seq,
                    before: len,
                    now: data.len(),
                };
                let code = Code::ResendChanged;
                found.add(of_chunk(piece, code), fact);
            }
            Likeness::New => {}
        }
        likeness
    }

    /// Adds the note about a message that is not the next one.
    fn note_order(
        &mut self,
        seen: &Seen<'_>,
        piece: &Piece<'_>,
        ordered: Ordered,
        likeness: Likeness,
        found: &mut Found<'_>,
    ) {
        let Ordered { seq, order, base, .. } = ordered;
        let Some(base) = base else { return };
        let (own, _) = self.both(seen.datagram.dir);
        let (code, fact) = match order {
            Order::Next => return,
            Order::Ahead(expected) => (Code::SeqAhead, Fact::Ahead { got: seq, expected }),
            // While all messages are known, an unknown message must be new.
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
        // The receiver may lack a repeated message that it has not acked.
        let is_known = !matches!(fact, Fact::Again { got, acked, .. } if acked.is_none_or(|acked| !got.is_behind(acked)));
        let consequence = is_known.then(|| self.consequence(seen, piece, base)).flatten();
        found.add_with(of_chunk(piece, code), fact, consequence);
    }

    /// Returns what the receiver does with a chunk, if `base` is its last in-order number.
    fn consequence(&self, seen: &Seen<'_>, piece: &Piece<'_>, base: Seq) -> Option<Consequence> {
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

    /// Returns what the receiver does with a datagram before its chunks: the verdict that ends it, or else the last
    /// verdict. For a control packet only a drop is returned, because its other effects depend on more than its form.
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

    /// Reports each verdict of the receiver on a datagram, if `base` is its last in-order number. Returns the release
    /// of the receiver.
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
        let of = |version: Option<&str>| {
            identify(&Signs {
                proto: seen.datagram.proto,
                client_version: self.client_version.filter(|_| is_client),
                version,
                is_ddnet: seen.to_ddnet,
            })
        };
        match is_client {
            true => of(None),
            false => seen.stated.with(of),
        }
    }

    /// Adds a note if a message answers a question only with the flush of its connection. Records the question that the
    /// message asks.
    fn note_answer(&mut self, seen: &Seen<'_>, piece: &Piece<'_>, found: &mut Found<'_>) {
        let (dir, data) = (seen.datagram.dir, piece.chunk.data);
        let Some(known) = seen.registry.known_message(seen.datagram.proto, dir, data) else {
            return;
        };
        let (def, body) = (known.def, known.body);
        if let Some(at) = version_at(def).filter(|_| dir == Dir::C2s) {
            let number = data.get(body + at..).and_then(varint::decode);
            self.client_version = number.map(|number| number.value).or(self.client_version);
        }
        self.note_map(def, dir, piece, found);
        let receiver = self.receiver(seen);
        let (own, other) = self.both(dir);
        let networks = [own.network, other.heard.network];
        let is_rough = networks
            .iter()
            .any(|network| network.is_rough || network.has_repeats);
        // A retransmitted message was lost before, so it is not late.
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
            // A message kept back by a rule or a link line is answered later.
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
    /// Forgets the question of a retransmitted message: it may have been lost before, so that its answer is not late.
    fn forget_question(&mut self, seen: &Seen<'_>, piece: &Piece<'_>) {
        let (proto, dir) = (seen.datagram.proto, seen.datagram.dir);
        let Some(known) = seen.registry.known_message(proto, dir, piece.chunk.data) else {
            return;
        };
        let row = message(self.receiver(seen).release, dir.receiver(), &known.def.name);
        if let Some(answer) = row.and_then(|row| row.answer) {
            self.both(dir).1.pace.forget(answer);
        }
    }

    /// Adds a note if the server requests a map that the client is already loading.
    fn note_map(&mut self, def: &Def, dir: Dir, piece: &Piece<'_>, found: &mut Found<'_>) {
        match (dir, &*def.name) {
            (Dir::S2c, "map_change") => {
                let Some(seq) = piece.chunk.header.vital else {
                    return;
                };
                let hash = copies::hash(piece.chunk.data);
                let before = self.map.replace((hash, seq));
                if let Some((_, before)) = before.filter(|(known, _)| *known == hash) {
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

impl super::Way {
    /// Returns the last ack; `None` if the receiver counts in other numbers than the sender.
    fn acked(&self) -> Option<Seq> {
        self.acks.last.filter(|_| !self.acks.is_shifted)
    }
}

/// Adds a note if an unexpected message belongs to another session.
fn note_foreign_message(
    past: &super::past::Past,
    stream: &Stream,
    seen: &Seen<'_>,
    piece: &Piece<'_>,
    Ordered { seq, high, .. }: Ordered,
    found: &mut Found<'_>,
) {
    let dir = seen.datagram.dir;
    // Clients that do the same in each session number the same messages alike: a message that continues this session
    // proves nothing, nor does one that was acked in the other.
    let continues = high.is_some_and(|high| seq == high.next());
    let same = past
        .with_unacked(dir, seq, copies::hash(piece.chunk.data))
        .filter(|_| !continues);
    let is_start = high.is_some_and(|high| high.get() < START && high.distance_to(seq) > START);
    let continued = || {
        let session = past.with_number(stream.client, dir, seq).filter(|_| is_start);
        session.map(|session| (session, Part::Number(seq)))
    };
    let part = same.map(|session| (session, Part::Message(seq)));
    if let Some((session, part)) = part.or_else(continued) {
        let session = session.0;
        found.add(whole(seen, Code::OtherSession), Fact::Foreign { session, part });
    }
}

/// Returns the offset of the version in a message of a DDNet client; `None` for other messages.
fn version_at(def: &Def) -> Option<usize> {
    match (def.class, &*def.name) {
        // The version follows a UUID.
        (Class::System, "client_version") => Some(16),
        (Class::Game, "cl_is_ddnet_legacy") => Some(0),
        _ => None,
    }
}

/// Returns a note about a chunk.
fn of_chunk(piece: &Piece<'_>, code: Code) -> Note {
    let Chunk { at, data, .. } = piece.chunk;
    Note {
        code,
        at: *at,
        len: piece.chunk.end() - data.len() - at,
    }
}
