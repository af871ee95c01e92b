//! The values behind notes about sequence numbers, acks and pace, and their description in words.

use std::{
    fmt::{self, Write},
    time::Duration,
};

use teetap_wire::{
    Code, Note, Seq, Side, Token, counted,
    receiver::{Identified, Verdict},
};

use super::{
    ack_pattern::AckMistake,
    content::ContentFact,
    handshake::HandshakeMistake,
    inflate::NotInflating,
    map::MapFact,
    out_of_turn::OutOfTurn,
    own::{Repeated, Unrepeated},
    surplus::Amplified,
    uncounted::CountedInVain,
    words::{Numbered, Requests, Seconds},
};
use crate::{
    Values,
    encoding::OtherEncoding,
    field_order::FieldOrder,
    meant::{OtherFields, OtherId, WrongSize},
};

/// A note with the received and expected values that led to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detail {
    /// The code of the note.
    pub code: Code,
    /// Offset of the marked bytes in the datagram.
    pub at: usize,
    /// The received and expected values.
    pub fact: Fact,
    /// The receiver's reaction to the datagram or chunk; `None` if unknown.
    pub consequence: Option<Consequence>,
}

impl Detail {
    /// Returns the values and the consequence as a sentence.
    pub(crate) fn values(&self) -> Values {
        match &self.consequence {
            Some(consequence) if self.fact == Fact::Form => consequence.to_string().into(),
            Some(consequence) => self.fact.values().and(format_args!("; {consequence}")),
            None => self.fact.values(),
        }
    }

    /// Returns the note for a datagram of `len` bytes.
    pub(crate) const fn note(&self, len: usize) -> Note {
        Note {
            code: self.code,
            at: self.at,
            len,
        }
    }
}

/// The reaction of a receiver, according to the table of its release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Consequence {
    /// The release of the receiver.
    pub receiver: Identified,
    /// The side of the receiver.
    pub side: Side,
    /// The reaction of the receiver.
    pub verdict: Verdict,
}

/// The values behind a note about sequence numbers, acks, pace or ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// A message is ahead of a missing message.
    Ahead {
        /// Its sequence number.
        got: Seq,
        /// The missing number.
        expected: Seq,
    },
    /// A sequence number was sent before.
    Again {
        /// Its sequence number.
        got: Seq,
        /// The last in-order number.
        last: Seq,
        /// The last ack of the receiver; `None` if the proxy has changed the numbers.
        acked: Option<Seq>,
    },
    /// A new message has an old sequence number.
    Behind {
        /// Its sequence number.
        got: Seq,
        /// The number that the next message should have.
        expected: Seq,
    },
    /// A known message was sent again under a different number.
    Renumbered {
        /// Its sequence number.
        got: Seq,
        /// Its earlier number.
        before: Seq,
    },
    /// The bytes of a token are reversed.
    Reversed {
        /// The token as received.
        got: Token,
        /// The expected token.
        expected: Token,
    },
    /// A different message was sent under a known number.
    Changed {
        /// Its sequence number.
        got: Seq,
        /// Length of the earlier message, in bytes.
        before: u16,
        /// Length of this message, in bytes.
        now: usize,
    },
    /// Two messages have the same number, and the second one is not marked as a retransmission.
    UsedTwice {
        /// The sequence number.
        got: Seq,
        /// Name of the earlier message.
        before: &'static str,
        /// Name of this message.
        now: &'static str,
        /// The number that the message should have.
        expected: Seq,
    },
    /// A sequence number was skipped.
    Never {
        /// The first number sent after the missing one.
        got: Seq,
        /// The missing number.
        missing: Seq,
        /// What the number after it counts: `chunks` or `datagrams`; `None` if unknown.
        counts: Option<&'static str>,
        /// The message that is not vital and that the sender has probably counted; `None` if unknown.
        in_vain: Option<CountedInVain>,
        /// Time since a later number was sent.
        after: Duration,
    },
    /// An ack covers a number that was never sent.
    Beyond {
        /// The ack.
        got: Seq,
        /// The missing number.
        missing: Seq,
    },
    /// The acks of a peer have a pattern.
    AckMistake {
        /// The ack.
        got: Seq,
        /// The highest number sent to the peer.
        top: Seq,
        /// The pattern.
        mistake: AckMistake,
    },
    /// An ack does not advance.
    Stuck {
        /// The ack.
        got: Seq,
        /// The oldest unacked number.
        missing: Seq,
        /// Time for which the ack has been stuck.
        after: Duration,
        /// Number of transmissions since then.
        times: u8,
        /// Name of the peer's reply to a message that it does not ack; `None` without a reply.
        answer: Option<&'static str>,
        /// True if every copy was compressed, and the peer has acked no compressed message.
        is_packed: bool,
        /// True if the peer has shown that it receives datagrams sent after the message. If false, an outage of the
        /// network may be the cause.
        is_proven: bool,
    },
    /// An ack never covers a compressed message.
    NotInflating {
        /// The ack.
        got: Seq,
        /// The evidence.
        deaf: NotInflating,
    },
    /// Resend requests have no cause.
    Needless {
        /// Number of requests.
        requests: u16,
        /// Number of vital messages that may have caused the requests.
        chunks: u16,
        /// Time over which requests and messages were counted.
        within: Duration,
    },
    /// The sender fails to retransmit an unacked message.
    Unrepeated(Unrepeated),
    /// The sender retransmits a message although it has received the ack.
    Repeated(Repeated),
    /// The receiver requests a retransmission.
    Request {
        /// The number that the receiver lacks; `None` if every number was acked.
        missing: Option<Seq>,
        /// True if the missing number was forwarded, so that it was lost behind the proxy.
        was_sent: bool,
    },
    /// A message was retransmitted too often.
    Storm {
        /// Its sequence number.
        got: Seq,
        /// Number of copies within a second.
        copies: u8,
        /// Maximum number of copies that the game sends for the received requests.
        expected: usize,
    },
    /// A reply was queued until the next flush.
    Late {
        /// The message to which it replies.
        question: &'static str,
        /// Time since that message.
        after: Duration,
    },
    /// A peer was silent.
    Silent {
        /// The length of the silence.
        for_: Duration,
    },
    /// A reply is much larger than its request.
    Amplified {
        /// Description of the address or request to which the reply was sent.
        to: &'static str,
        /// Size of the requests, in bytes.
        asked: u32,
        /// Size of the reply, in bytes.
        answered: u32,
    },
    /// A part of a datagram belongs to another session.
    Foreign {
        /// The other session.
        session: u32,
        /// The part.
        part: ForeignPart,
    },
    /// A message was sent under the id of another message.
    OtherId(OtherId),
    /// The size of a chunk is wrong.
    WrongSize(WrongSize),
    /// Fields are encoded in the format of another version.
    OtherFields(OtherFields),
    /// Ints or texts have another encoding than that of the games.
    OtherEncoding(OtherEncoding),
    /// Fields are left out or in another order.
    FieldOrder(FieldOrder),
    /// The acks or ticks of a series of inputs or snapshots are odd.
    Content(ContentFact),
    /// A message of a map transfer is wrong.
    Map(MapFact),
    /// A message of a join is out of turn.
    OutOfTurn(OutOfTurn),
    /// The server info has another token than the requests for it.
    InfoToken {
        /// The token in the info.
        got: i64,
        /// The token in the last request.
        expected: i64,
    },
    /// A handshake packet does not match the one before it.
    Handshake(HandshakeMistake),
    /// The framing of a datagram is odd. Has no values, because the bytes of the datagram show them.
    Form,
    /// A reordered datagram has an older ack.
    Overtaken {
        /// The ack.
        got: Seq,
        /// The newest ack received before; `None` if unknown.
        last: Option<Seq>,
    },
}

impl Fact {
    /// Creates the fact about a reply that is too large. `to` describes its requests or its address.
    pub(super) const fn amplified(much: Amplified, to: &'static str) -> Self {
        let Amplified { asked, answered } = much;
        Self::Amplified { to, asked, answered }
    }
}

impl Fact {
    /// Returns the received and expected values as a sentence.
    pub(crate) fn values(&self) -> Values {
        let mut values = Values::default();
        // Writing to a sentence cannot fail.
        let _infallible = self.write(&mut values);
        values
    }

    /// Writes the facts whose values are amounts or times.
    fn write_amount(&self, f: &mut Values) -> fmt::Result {
        match self {
            Self::Stuck {
                got,
                missing,
                after,
                times,
                answer,
                is_packed,
                is_proven: _,
            } => {
                let after = Seconds(*after);
                f.add_got(got)?;
                f.add_expected(format_args!("{missing} or more"))?;
                write!(f, ": sent {times} times in {after}")?;
                match answer {
                    Some(answer) => write!(f, ", and the peer replied with {answer}"),
                    None if *is_packed => f.write_str(", compressed each time: does it inflate?"),
                    None => Ok(()),
                }
            }
            Self::NotInflating { got, deaf } => {
                f.add_got(got)?;
                f.add_expected(format_args!("{} or more", deaf.missing))?;
                write!(f, ": {deaf}")
            }
            Self::Needless {
                requests,
                chunks,
                within,
            } => {
                f.add_got(format_args!("{requests} requests within {}", Seconds(*within)))?;
                f.add_expected(format_args!("at most {chunks}"))?;
                f.write_str(": one for each vital message that may be ahead of another")
            }
            Self::Storm {
                got,
                copies,
                expected,
            } => {
                f.add_got(format_args!("number {got} {copies} times within 1 s"))?;
                let requests = Requests(expected.saturating_sub(3));
                f.add_expected(format_args!("at most {expected} after {requests}"))
            }
            Self::Unrepeated(Unrepeated { seq, name, for_ }) => {
                let (message, for_) = (Numbered(*seq, *name), Seconds(*for_));
                f.add_as_got(format_args!("{message} not retransmitted for {for_} (unacked)"))?;
                f.add_expected("after 1.0 s")
            }
            Self::Repeated(Repeated { seq, name, after }) => {
                let (message, after) = (Numbered(*seq, *name), Seconds(*after));
                f.add_got(format_args!(
                    "{message} again {after} after its sender had received the ack"
                ))?;
                f.add_expected("no retransmission")
            }
            Self::Late { question, after } => {
                f.add_got(format_args!("it {} ms after {question}", after.as_millis()))?;
                f.add_expected("it immediately")
            }
            Self::Silent { for_ } => {
                f.add_as_got(format_args!("silent for {}", Seconds(*for_)))?;
                f.add_expected("at most 1.0 s")
            }
            Self::Amplified { to, asked, answered } => {
                f.add_got(format_args!("{answered} bytes for {asked} bytes of {to}"))
            }
            _ => Ok(()),
        }
    }

    fn write(&self, f: &mut Values) -> fmt::Result {
        match self {
            Self::Ahead { got, expected } | Self::Behind { got, expected } => {
                f.add_got(got)?;
                f.add_expected(expected)
            }
            Self::Again { got, last, acked } => {
                f.add_got(format_args!("{got} after {last}"))?;
                match acked {
                    Some(acked) if got.is_behind(*acked) => write!(f, ", the receiver has acked {acked}"),
                    Some(acked) => write!(f, ", the receiver has acked no more than {acked}"),
                    None => Ok(()),
                }
            }
            Self::Renumbered { got, before } => {
                f.add_as_got(format_args!("number {got} has the message of number {before}"))?;
                f.write_str(": a resend keeps the number")
            }
            Self::Reversed { got, expected } => {
                f.add_got(got)?;
                f.add_expected(expected)
            }
            Self::Changed { got, before, now } => {
                let other = if *now == 1 { "byte" } else { "bytes" };
                let sent = if *before == 1 { "byte" } else { "bytes" };
                f.add_got(format_args!("{now} other {other} under number {got}"))?;
                f.add_expected(format_args!("the {before} {sent} sent before"))
            }
            Self::Request { missing: None, .. } => f.write_str("it has all numbers that were sent"),
            Self::Request {
                missing: Some(missing),
                was_sent,
            } => {
                let why = if *was_sent {
                    "forwarded, then lost"
                } else {
                    "not received"
                };
                write!(f, "it lacks {missing} ({why})")
            }
            Self::Foreign { session, part } => match part {
                ForeignPart::Token => write!(f, "the token is that of session #{session}"),
                ForeignPart::Ack(ack) => write!(f, "ack {ack} continues session #{session}"),
                ForeignPart::Number(seq) => write!(f, "number {seq} continues session #{session}"),
                ForeignPart::Message(seq) => {
                    write!(f, "session #{session} has the same message under number {seq}")
                }
            },
            Self::Overtaken {
                got,
                last: Some(last),
            } => f.add_got(format_args!("{got} after {last}")),
            Self::Overtaken { got, last: None } => f.add_got(got),
            Self::Content(content) => content.write(f),
            Self::OtherId(other) => other.write(f),
            Self::WrongSize(wrong) => wrong.write(f),
            Self::OtherFields(other) => other.write(f),
            Self::OtherEncoding(other) => other.write(f),
            Self::FieldOrder(order) => order.write(f),
            Self::Map(map) => map.write(f),
            Self::OutOfTurn(turn) => turn.write(f),
            Self::Handshake(mistake) => mistake.write(f),
            Self::InfoToken { got, expected } => {
                f.add_got(got)?;
                f.add_expected(format_args!(
                    "{expected} as in the request: the browser ignores the info"
                ))
            }
            _ => self.write_mistake(f),
        }
    }

    /// Adds the values of mistakes in acks and sequence numbers.
    fn write_mistake(&self, f: &mut Values) -> fmt::Result {
        match self {
            Self::AckMistake { got, top, mistake } => {
                f.add_got(got)?;
                write!(f, ", the highest number sent is {top}: {mistake}")
            }
            Self::UsedTwice {
                got,
                before,
                now,
                expected,
            } => {
                let which = if before == now { "another" } else { "the message" };
                f.add_got(format_args!(
                    "{now} under number {got}, which {which} {before} had"
                ))?;
                f.add_expected(expected)
            }
            Self::Never {
                got,
                missing,
                counts,
                in_vain,
                after,
            } => {
                f.add_got(got)?;
                f.add_expected(missing)?;
                write!(f, ", not sent for {}", Seconds(*after))?;
                if let Some(CountedInVain { name, chunks }) = in_vain {
                    let chunks = counted(usize::from(*chunks), "chunk");
                    return write!(
                        f,
                        "; as many numbers are missing as it has sent chunks of {name} that are not vital in between ({chunks}): \
                         only vital chunks have numbers"
                    );
                }
                match counts {
                    Some(counts) => write!(
                        f,
                        "; {got} is the number of all {counts} sent until then: only vital chunks have numbers"
                    ),
                    None => Ok(()),
                }
            }
            Self::Beyond { got, missing } => {
                f.add_got(got)?;
                f.add_expected(format_args!("less than {missing}"))
            }
            _ => self.write_amount(f),
        }
    }
}

/// Which part of a datagram belongs to another session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignPart {
    /// The token.
    Token,
    /// The ack.
    Ack(Seq),
    /// The sequence number of a message.
    Number(Seq),
    /// A message, identified by its sequence number and contents.
    Message(Seq),
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.values().fmt(f)
    }
}

impl fmt::Display for Consequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            receiver,
            side,
            verdict,
        } = self;
        let assumed = if receiver.assumed { " (assumed)" } else { "" };
        let side = match side {
            Side::Client => "client",
            Side::Server => "server",
        };
        write!(f, "a {side} of {}{assumed} {}", receiver.release, verdict.text())
    }
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.values().fmt(f)
    }
}
