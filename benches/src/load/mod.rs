//! The load generator: clients and a server in one thread, sessions joined with real handshakes, and prebuilt
//! traffic.
//!
//! Law: every datagram is checked where it arrives: the receiver's own token, the ack, the numbers of vital messages,
//! and the payload. The generator never sleeps while it measures, and its own cost is not counted anywhere.

mod join;
mod lane;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use nix::sys::epoll::{Epoll, EpollEvent, EpollTimeout};
use teetap_kit::link::Random;

use self::lane::{Lane, Verdict};
use crate::net::{LARGEST, Socket, now};
use crate::traffic::Direction;

pub(crate) use self::join::{Plan, join};

/// Time between two inputs of a client.
const INPUT_EVERY: Duration = Duration::from_millis(20);
/// Time between two snapshots for a client. The traffic repeats a pattern of two inputs and one snapshot.
const SNAPSHOT_EVERY: Duration = Duration::from_millis(40);
/// Silence after which the missing datagrams count as lost. It is longer than a busy machine delays a process.
const PATIENCE: Duration = Duration::from_secs(2);
/// The value by which epoll reports the server's socket. A client's socket is reported by its index.
const SERVER: u64 = u64::MAX;

/// The distribution of game-speed traffic over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spread {
    /// All datagrams evenly.
    Even,
    /// All snapshots of a tick at once, as a server sends them, and inputs evenly.
    Burst,
}

/// Counts of datagrams by their outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Number of datagrams sent.
    pub(crate) sent: u64,
    /// Datagrams that arrived correctly.
    pub(crate) right: u64,
    /// Datagrams that never arrived.
    pub(crate) lost: u64,
    /// Datagrams that arrived and were never sent.
    pub(crate) wrong: u64,
    /// Datagrams from an address without a session, such as the datagrams of a probe.
    pub(crate) stray: u64,
}

/// The travel times of datagrams, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latencies {
    /// From clients to the server.
    pub(crate) c2s: Vec<u64>,
    /// From the server to clients.
    pub(crate) s2c: Vec<u64>,
}

/// A joined session.
#[derive(Debug)]
struct Session {
    client: Socket,
    /// The address that the server sends to.
    upstream: SocketAddr,
    c2s: Lane,
    s2c: Lane,
}

/// The joined sessions through one subject.
#[derive(Debug)]
pub(crate) struct Load {
    server: Socket,
    sessions: Vec<Session>,
    by_port: HashMap<u16, usize>,
    epoll: Epoll,
    events: Vec<EpollEvent>,
    buffer: Vec<u8>,
    work: Vec<u8>,
    /// Number of datagrams that were sent and have not arrived yet.
    flying: usize,
    /// Position in the endless pattern of [`Self::fast`].
    turn: usize,
    stamped: bool,
    latencies: Latencies,
    tally: Tally,
    /// Datagrams from addresses without a session, for a caller that answers them.
    strangers: Vec<(u16, Vec<u8>)>,
}

impl Load {
    /// Sends datagrams as fast as possible, until `datagrams` have been sent and have arrived. At most `window` are
    /// on their way at once. The sessions have turns of two inputs and a snapshot.
    pub(crate) fn fast(&mut self, datagrams: usize, window: usize) -> Result<()> {
        let mut left = datagrams;
        let mut received = Instant::now();
        while left > 0 || self.flying > 0 {
            if left > 0 && self.flying <= window / 2 {
                while left > 0 && self.flying < window {
                    let session = self.turn / 3 % self.sessions.len();
                    let way = if self.turn % 3 == 2 {
                        Direction::S2c
                    } else {
                        Direction::C2s
                    };
                    self.turn += 1;
                    self.send(session, way)?;
                    left -= 1;
                }
            }
            if self.poll()? > 0 {
                received = Instant::now();
            } else if received.elapsed() > PATIENCE {
                self.give_up();
                received = Instant::now();
            }
        }
        Ok(())
    }

    /// Plays at the speed of the game, and calls `beside` about every 100 us.
    pub(crate) fn paced(
        &mut self,
        time: Duration,
        spread: Spread,
        mut beside: impl FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let plan = self.schedule(spread);
        let start = Instant::now();
        let mut idle = start;
        let (mut period, mut missing) = (Duration::ZERO, 0);
        while period < time {
            for &(offset, session, way) in &plan {
                while start.elapsed() < period + offset {
                    self.poll()?;
                    missing = 0;
                    if idle.elapsed() > Duration::from_micros(100) {
                        idle = Instant::now();
                        beside(self)?;
                    }
                }
                self.send(session, way)?;
                missing += 1;
                // If sending is late, there are no pauses, but arriving datagrams must still be received.
                if missing >= 128 {
                    missing = 0;
                    self.poll()?;
                }
            }
            period += SNAPSHOT_EVERY;
        }
        self.settle()
    }

    /// Waits for the datagrams on their way, then counts the missing ones as lost.
    pub(crate) fn settle(&mut self) -> Result<()> {
        let mut received = Instant::now();
        while self.flying > 0 && received.elapsed() < PATIENCE {
            if self.poll()? > 0 {
                received = Instant::now();
            }
        }
        self.give_up();
        Ok(())
    }

    /// Returns the number of sessions.
    pub(crate) fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// Returns the server's socket.
    pub(crate) fn server(&self) -> &Socket {
        &self.server
    }

    /// Ends the sessions without a message, and returns the server's socket.
    pub(crate) fn into_server(self) -> Socket {
        self.server
    }

    /// Returns the counts since the last call.
    pub(crate) fn take_tally(&mut self) -> Tally {
        std::mem::take(&mut self.tally)
    }

    /// Accepts from now on that datagrams overtake others and are rewritten.
    pub(crate) fn loosen(&mut self) {
        for session in &mut self.sessions {
            session.c2s.loosen();
            session.s2c.loosen();
        }
    }

    /// Returns the latencies since the last call; empty without timestamps.
    pub(crate) fn take_latencies(&mut self) -> Latencies {
        std::mem::take(&mut self.latencies)
    }

    /// Returns the datagrams from addresses without a session since the last call, with the ports.
    pub(crate) fn take_strangers(&mut self) -> Vec<(u16, Vec<u8>)> {
        std::mem::take(&mut self.strangers)
    }

    /// Returns one pattern at game speed: for each datagram, the time after the start, the session and the direction.
    fn schedule(&self, spread: Spread) -> Vec<(Duration, usize, Direction)> {
        let count = u32::try_from(self.sessions.len()).unwrap_or(u32::MAX);
        let mut plan = Vec::new();
        for (index, number) in (0..self.sessions.len()).zip(0..count) {
            let phase = INPUT_EVERY * number / count;
            plan.push((phase, index, Direction::C2s));
            plan.push((phase + INPUT_EVERY, index, Direction::C2s));
            let phase = match spread {
                // Snapshots are sent in another order than inputs, at times between the inputs.
                Spread::Even => {
                    let step = SNAPSHOT_EVERY / count;
                    step * (number * 7 % count) + step / 4
                }
                Spread::Burst => INPUT_EVERY / 2,
            };
            plan.push((phase, index, Direction::S2c));
        }
        let mut random = Random::new(7);
        let mut keyed: Vec<_> = plan
            .into_iter()
            .map(|entry| (entry.0, random.bits(), entry))
            .collect();
        keyed.sort_unstable_by_key(|(at, tie, _)| (*at, *tie));
        keyed.into_iter().map(|(_, _, entry)| entry).collect()
    }

    fn send(&mut self, index: usize, way: Direction) -> Result<()> {
        let session = self.sessions.get_mut(index).context("no such session")?;
        let at = if self.stamped { now() } else { 0 };
        match way {
            Direction::C2s => {
                session.c2s.next(session.s2c.arrived(), at, &mut self.work);
                session.client.udp().send(&self.work)?;
            }
            Direction::S2c => {
                session.s2c.next(session.c2s.arrived(), at, &mut self.work);
                self.server.udp().send_to(&self.work, session.upstream)?;
            }
        }
        self.flying += 1;
        self.tally.sent += 1;
        Ok(())
    }

    /// Receives datagrams that have arrived, and returns their number.
    fn poll(&mut self) -> Result<usize> {
        let count = self.epoll.wait(&mut self.events, EpollTimeout::ZERO)?;
        let mut taken = 0;
        for event in 0..count {
            let Some(data) = self.events.get(event).map(EpollEvent::data) else {
                break;
            };
            if data == SERVER {
                // Receiving one datagram at a time would be fair, but slow.
                for _ in 0..32 {
                    if !self.at_server()? {
                        break;
                    }
                    taken += 1;
                }
            } else {
                taken += usize::from(self.at_client(usize::try_from(data)?)?);
            }
        }
        Ok(taken)
    }

    fn at_server(&mut self) -> Result<bool> {
        let Some(received) = self.server.receive(&mut self.buffer, true)? else {
            return Ok(false);
        };
        let bytes = self.buffer.get(..received.len).unwrap_or_default();
        let index = self.by_port.get(&received.port);
        let Some(session) = index.and_then(|index| self.sessions.get_mut(*index)) else {
            self.tally.stray += 1;
            self.strangers.push((received.port, bytes.to_vec()));
            return Ok(true);
        };
        let verdict = session.c2s.check(bytes, &mut self.work);
        self.count(verdict, Direction::C2s, received.at);
        Ok(true)
    }

    fn at_client(&mut self, index: usize) -> Result<bool> {
        let session = self.sessions.get_mut(index).context("no such session")?;
        let Some(received) = session.client.receive(&mut self.buffer, false)? else {
            return Ok(false);
        };
        let bytes = self.buffer.get(..received.len).unwrap_or_default();
        let verdict = session.s2c.check(bytes, &mut self.work);
        self.count(verdict, Direction::S2c, received.at);
        Ok(true)
    }

    fn count(&mut self, verdict: Verdict, way: Direction, at: u64) {
        let Verdict::Right { sent_at, lost } = verdict else {
            self.tally.wrong += 1;
            return;
        };
        self.flying -= lost + 1;
        self.tally.right += 1;
        self.tally.lost += u64::try_from(lost).unwrap_or(u64::MAX);
        if self.stamped {
            let list = match way {
                Direction::C2s => &mut self.latencies.c2s,
                Direction::S2c => &mut self.latencies.s2c,
            };
            list.push(at.saturating_sub(sent_at));
        }
    }

    fn give_up(&mut self) {
        for session in &mut self.sessions {
            let lost = if session.c2s.flying() + session.s2c.flying() > 0 {
                session.c2s.give_up() + session.s2c.give_up()
            } else {
                0
            };
            self.tally.lost += u64::try_from(lost).unwrap_or(u64::MAX);
        }
        self.flying = 0;
    }
}

impl Tally {
    /// Returns the counts if every datagram arrived correctly.
    pub(crate) fn clean(self, what: &str) -> Result<Self> {
        if self.lost > 0 || self.wrong > 0 || self.right != self.sent {
            bail!("{what}: {self:?}");
        }
        Ok(self)
    }
}
