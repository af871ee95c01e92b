//! The state of the client, and the datagrams that result from it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::answer::{self, Reading};
use super::ports::{Arrived, Ports};
use super::{AWAIT, Answer, Edit, Got, Habit, Message, Step, Trace};
use crate::codec::{Chunk, Datagram, Fault, Token, Variant, control, parse};
use crate::faulty;
use crate::link::Random;

/// A client on real sockets.
pub(super) struct Client {
    variant: Variant,
    random: Random,
    ports: Ports,
    /// The number of the socket that sends.
    port: usize,
    own: Token,
    sequence: u16,
    reading: Reading,
    /// The bytes of each message as last sent.
    sent: BTreeMap<Message, Vec<u8>>,
    begin: Instant,
    answers: Vec<Answer>,
    /// Number of answers when the last datagram was sent.
    seen: usize,
    /// Number of next received datagrams to lose.
    losses: u32,
}

impl Client {
    pub(super) fn new(variant: Variant, server: SocketAddr, seed: u64) -> io::Result<Self> {
        let mut random = Random::new(seed);
        let own = random.token();
        Ok(Self {
            variant,
            random,
            ports: Ports::new(server),
            port: 0,
            own,
            sequence: 0,
            reading: Reading::new(variant, own),
            sent: BTreeMap::new(),
            begin: Instant::now(),
            answers: Vec::new(),
            seen: 0,
            losses: 0,
        })
    }

    pub(super) fn act(&mut self, step: Step) -> io::Result<()> {
        match step {
            Step::Send(message) => {
                let bytes = self.datagram(message).map_err(invalid)?.build();
                self.send(message, bytes)
            }
            Step::Edited(message, Edit::Parts(edit)) => {
                let mut datagram = self.datagram(message).map_err(invalid)?;
                edit(&mut datagram);
                self.send(message, datagram.build())
            }
            Step::Edited(message, Edit::Bytes(edit)) => {
                let mut bytes = self.datagram(message).map_err(invalid)?.build();
                edit(&mut bytes);
                self.send(message, bytes)
            }
            Step::Edited(message, Edit::Packed(pack)) => {
                let bytes = pack(&self.datagram(message).map_err(invalid)?);
                self.send(message, bytes)
            }
            Step::Lost(message) => {
                let bytes = self.datagram(message).map_err(invalid)?.build();
                self.sent.insert(message, bytes);
                Ok(())
            }
            Step::Lose(count) => {
                self.losses = count;
                Ok(())
            }
            Step::Begin(habit) => {
                self.reading.habit = Some(habit);
                Ok(())
            }
            Step::Again(message) => {
                let bytes = self.sent.get(&message).cloned().unwrap_or_default();
                self.send(message, bytes)
            }
            Step::Resend(message) => {
                let bytes = self.sent.get(&message).map(Vec::as_slice).unwrap_or_default();
                let mut datagram = parse(self.reading.format, bytes).map_err(invalid)?;
                datagram.head.ack = self.reading.shown_ack();
                datagram.chunks.iter_mut().for_each(|chunk| chunk.resend = true);
                self.transmit(&datagram.build())
            }
            Step::Bytes(start, len) => {
                let mut bytes = start.to_vec();
                bytes.resize(len.max(start.len()), 0);
                self.transmit(&bytes)
            }
            Step::Await(got) => {
                let deadline = Instant::now() + AWAIT;
                while !self.has(got)
                    && let Some(arrived) = self.ports.receive(deadline)
                {
                    self.take(&arrived);
                }
                Ok(())
            }
            Step::Pause(milliseconds) => {
                self.listen(Instant::now() + Duration::from_millis(milliseconds.into()));
                Ok(())
            }
            Step::Port(port) => {
                self.port = port;
                Ok(())
            }
            Step::Restart => {
                self.own = self.random.token();
                self.restart();
                Ok(())
            }
            Step::RestartWithToken => {
                self.restart();
                Ok(())
            }
        }
    }

    /// Records answers until the end, then closes the session, so that its slot is free for others.
    pub(super) fn finish(mut self, lasts: Duration) -> io::Result<Trace> {
        self.listen(self.begin + lasts);
        let close = self.datagram(Message::Close).map_err(invalid)?.build();
        for port in 0..self.ports.len() {
            self.ports.send(port, &close)?;
        }
        Ok(Trace {
            answers: self.answers,
            lasts,
        })
    }

    fn restart(&mut self) {
        self.sequence = 0;
        self.reading.restart(self.own);
    }

    fn has(&self, got: Got) -> bool {
        self.answers
            .iter()
            .skip(self.seen)
            .any(|answer| answer.got.contains(&got))
    }

    fn send(&mut self, message: Message, bytes: Vec<u8>) -> io::Result<()> {
        if message == Message::EnterGame {
            self.reading.has_entered = true;
            self.reading.snapshot_ports = Some(BTreeSet::new());
        }
        self.transmit(&bytes)?;
        self.sent.insert(message, bytes);
        Ok(())
    }

    fn transmit(&mut self, bytes: &[u8]) -> io::Result<()> {
        // Datagrams received before this send cannot be answers to it.
        while let Some(arrived) = self.ports.receive(Instant::now()) {
            self.take(&arrived);
        }
        self.seen = self.answers.len();
        self.ports.send(self.port, bytes)
    }

    fn listen(&mut self, until: Instant) {
        while let Some(arrived) = self.ports.receive(until) {
            self.take(&arrived);
        }
    }

    fn take(&mut self, arrived: &Arrived) {
        let is_compressed = arrived
            .bytes
            .first()
            .is_some_and(|first| first & if self.variant.is_seven() { 0x10 } else { 0x80 } != 0);
        if is_compressed && self.reading.habit == Some(Habit::NoInflate) {
            return;
        }
        if self.losses > 0 {
            self.losses -= 1;
            return;
        }
        let at = arrived.at.saturating_duration_since(self.begin);
        if let Some((text, got)) = answer::read(&mut self.reading, arrived.port, &arrived.bytes) {
            self.answers.push(Answer {
                at,
                port: arrived.port,
                text,
                got,
            });
        }
    }

    /// Returns the datagram of a message without mistakes of an edit.
    fn datagram(&mut self, message: Message) -> Result<Datagram, Fault> {
        let Reading { format, habit, .. } = self.reading;
        let server = match habit {
            Some(Habit::OwnToken) => self.own,
            Some(Habit::ReversedToken) => {
                let [a, b, c, d] = self.reading.server;
                [d, c, b, a]
            }
            _ => self.reading.server,
        };
        let ack = self.reading.shown_ack();
        let token = (format != Variant::V6).then_some(server);
        let of_control = |id| control::control(format, ack, token, id, &[]);
        let step = match message {
            Message::Token => return parse(Variant::V7, &control::token_request(self.own)),
            Message::Connect => {
                let bytes = control::connect(self.variant, self.own, server);
                return parse(self.variant, &bytes);
            }
            Message::Accept => {
                let bytes = control::accept(token);
                return parse(
                    if token.is_some() {
                        Variant::Ddnet
                    } else {
                        Variant::V6
                    },
                    &bytes,
                );
            }
            Message::Keepalive => return parse(format, &of_control(control::KEEPALIVE)),
            Message::Close => return parse(format, &of_control(control::CLOSE)),
            Message::Info => faulty::Step::Info,
            Message::Ready => faulty::Step::Ready,
            Message::StartInfo => faulty::Step::StartInfo,
            Message::EnterGame => faulty::Step::EnterGame,
            Message::Input => faulty::Step::Input,
            Message::Say => faulty::Step::Say,
        };
        let data = faulty::message(self.variant, step, self.reading.tick);
        let is_vital = message != Message::Input;
        if is_vital || habit == Some(Habit::NumbersAll) {
            self.sequence = (self.sequence + 1) % crate::peer::SEQUENCES;
        }
        let seq = is_vital.then(|| match habit {
            Some(Habit::SameNumber) => 1,
            Some(Habit::FromZero) => self.sequence.saturating_sub(1),
            _ => self.sequence,
        });
        let chunks = vec![Chunk::new(seq, data)];
        Ok(Datagram::of_chunks(format, ack, token, chunks))
    }
}

fn invalid(fault: Fault) -> io::Error {
    io::Error::other(format!("{fault:?}"))
}
