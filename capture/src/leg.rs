//! A recording of teetap as a capture of one leg.
//!
//! Law: the capture has the bytes that were on the leg, in the order and at the times of the leg: link lines have lost,
//! delayed, duplicated and damaged the datagrams that the proxy sent. Only delayed datagrams are kept in memory.

use std::{
    collections::BTreeMap,
    io::{self, BufRead, Read},
};

use teetap_inspect::{
    frame::Link,
    recording::{Item, ReadError},
};
use teetap_proxy::session::{Ends, Event, EventKind, SessionId, Transit};
use teetap_wire::Side;

use crate::{Encoder, frame, reading::Recording};

/// Maximum number of delayed datagrams.
const WAITING: usize = 100_000;

/// Maximum number of sessions whose addresses are kept.
const SESSIONS: usize = 10_000;

/// Magic number of a pcap file with nanoseconds, in the byte order of the file.
const MAGIC: u32 = 0xa1b2_3c4d;
/// Maximum length of a packet.
const SNAP: u32 = 262_144;

/// Reads a recording of teetap as the pcap file that a capture on one leg would have written.
pub struct LegCapture<R> {
    recording: Recording<R>,
    side: Side,
    /// Addresses and time of the current run.
    encoder: Option<Encoder>,
    /// The addresses of the sessions of the run, for recordings whose datagrams have none.
    ends: BTreeMap<SessionId, Ends>,
    /// Delayed packets, by their time and the order in which they were sent.
    waiting: BTreeMap<(u64, u64), Vec<u8>>,
    /// Number of packets so far.
    packets: u64,
    /// Bytes that are not read yet.
    out: Vec<u8>,
    read: usize,
    is_done: bool,
}

impl<R: BufRead> LegCapture<R> {
    /// Reads `recording` as a capture of the leg of a side. Returns `None` for a capture of another program.
    ///
    /// # Errors
    /// The start of the recording cannot be read.
    pub fn open(mut recording: Recording<R>, side: Side) -> Result<Option<Self>, ReadError> {
        let Some(Item::Start { run: Some(run), .. }) = recording.read()? else {
            return Ok(None);
        };
        let mut out = Vec::new();
        out.extend_from_slice(&MAGIC.to_le_bytes());
        for half in [2_u16, 4] {
            out.extend_from_slice(&half.to_le_bytes());
        }
        let link = u32::from(Link::Ethernet.number());
        for word in [0, 0, SNAP, link] {
            out.extend_from_slice(&u32::to_le_bytes(word));
        }
        Ok(Some(Self {
            recording,
            side,
            encoder: Some(Encoder::new(run, |_| String::new())),
            ends: BTreeMap::new(),
            waiting: BTreeMap::new(),
            packets: 0,
            out,
            read: 0,
            is_done: false,
        }))
    }

    /// Appends the packets of the next item. Returns false at the end of the recording.
    fn advance(&mut self) -> io::Result<bool> {
        match self.recording.read().map_err(error)? {
            Some(Item::Start { run: Some(run), .. }) => {
                self.release(u64::MAX);
                self.ends.clear();
                self.encoder = Some(Encoder::new(run, |_| String::new()));
            }
            Some(Item::Start { run: None, .. }) => self.encoder = None,
            Some(Item::Event(mut event)) => {
                self.add_ends(&mut event);
                self.event(&event);
            }
            Some(Item::Log { .. } | Item::Gap { .. }) => {}
            None => {
                self.release(u64::MAX);
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Sets the addresses of a datagram that has none from its session, whose state changes have them.
    fn add_ends(&mut self, event: &mut Event) {
        let Some(session) = event.session else { return };
        if let EventKind::Session(change) = &event.what {
            if self.ends.len() >= SESSIONS {
                self.ends.pop_first();
            }
            let known = self.ends.entry(session).or_default();
            known.client = Some(change.client);
            known.local = change.upstream.or(known.local);
            known.server_port = change.server.map(|server| server.port());
        } else if let (Some(known), Some(ends)) = (self.ends.get(&session), event.ends_mut()) {
            ends.client = ends.client.or(known.client);
            ends.local = ends.local.or(known.local);
            ends.server_port = ends.server_port.or(known.server_port);
        }
    }

    fn event(&mut self, event: &Event) {
        let Some(encoder) = self.encoder.take() else {
            return;
        };
        let now = encoder.time(event.at);
        self.release(now);
        let link = match &event.what {
            EventKind::Datagram(datagram) => &*datagram.link,
            EventKind::Connless(connless) => &*connless.link,
            EventKind::Session(_) | EventKind::Notice(_) | EventKind::Answer(_) => &[],
        };
        let mut sent = 0;
        for part in encoder.parts(event) {
            let is_here = part.leg == self.side && has_address(event, part.leg);
            if part.is_inbound {
                if is_here {
                    self.add(now, frame_of(part.from, part.to, true, part.bytes));
                }
                continue;
            }
            let arrivals = arrivals(link, sent, part.bytes);
            sent += 1;
            for (delay, bytes) in arrivals.into_iter().filter(|_| is_here) {
                let at = now.saturating_add(delay);
                self.add(at, frame_of(part.from, part.to, false, &bytes));
            }
        }
        self.encoder = Some(encoder);
        self.release(now);
    }

    fn add(&mut self, at: u64, frame: Vec<u8>) {
        self.packets += 1;
        if self.waiting.len() < WAITING {
            self.waiting.insert((at, self.packets), frame);
        }
    }

    /// Appends the packets that are due.
    fn release(&mut self, until: u64) {
        while let Some(entry) = self.waiting.first_entry() {
            if entry.key().0 > until {
                return;
            }
            let ((at, _), frame) = entry.remove_entry();
            let second = 1_000_000_000;
            let len = frame.len();
            for word in [at / second, at % second, len as u64, len as u64] {
                let word = u32::try_from(word).unwrap_or(u32::MAX);
                self.out.extend_from_slice(&word.to_le_bytes());
            }
            self.out.extend_from_slice(&frame);
        }
    }
}

impl<R: BufRead> Read for LegCapture<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.read == self.out.len() && !self.is_done {
            self.out.clear();
            self.read = 0;
            self.is_done = !self.advance()?;
        }
        let rest = self.out.get(self.read..).unwrap_or_default();
        let len = rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..len), rest.get(..len)) {
            to.copy_from_slice(from);
        }
        self.read += len;
        Ok(len)
    }
}

/// Returns true if the address of the peer on a leg is known. Datagrams before a session lack it in some recordings.
fn has_address(event: &Event, leg: Side) -> bool {
    let ends = match &event.what {
        EventKind::Datagram(datagram) => datagram.ends,
        EventKind::Connless(connless) => connless.ends,
        EventKind::Session(_) | EventKind::Notice(_) | EventKind::Answer(_) => return true,
    };
    match leg {
        Side::Client => ends.client.is_some(),
        Side::Server => ends.local.is_some(),
    }
}

/// Returns the arrivals of a sent datagram: each with its delay in nanoseconds, and its bytes. A datagram on which the link
/// had no effect has no record, even if its duplicate has one.
fn arrivals(link: &[Transit], index: usize, bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let of_this = || {
        link.iter()
            .filter(|transit| usize::from(transit.datagram) == index)
    };
    let unaffected = of_this()
        .all(|transit| transit.duplicate)
        .then(|| (0, bytes.to_vec()));
    let arrived = of_this().filter(|transit| transit.lost.is_none());
    let arrived = arrived.map(|transit| {
        let mut bytes = bytes.to_vec();
        transit.damage(&mut bytes);
        (u64::try_from(transit.delay.as_nanos()).unwrap_or(u64::MAX), bytes)
    });
    unaffected.into_iter().chain(arrived).collect()
}

fn frame_of(from: std::net::SocketAddr, to: std::net::SocketAddr, is_inbound: bool, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    frame::write(from, to, is_inbound, bytes, &mut out);
    out
}

fn error(error: ReadError) -> io::Error {
    io::Error::other(error.to_string())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use teetap_proxy::session::{Datagram, Origin};
    use teetap_rules::impair::Lost;
    use teetap_wire::{Dir, Proto};

    use super::*;

    /// The link has no record of a datagram that it sends at once and unchanged, even if it sends a duplicate.
    #[test]
    fn a_duplicate_arrives_beside_its_datagram() {
        let duplicate = Transit {
            duplicate: true,
            ..Transit::default()
        };
        let late = Transit {
            delay: Duration::from_micros(3),
            ..Transit::default()
        };
        let delays = |link: &[Transit], index| -> Vec<u64> {
            let arrivals = arrivals(link, index, b"bytes");
            arrivals.into_iter().map(|(delay, _)| delay).collect()
        };
        assert_eq!(delays(&[], 0), [0]);
        assert_eq!(delays(std::slice::from_ref(&duplicate), 0), [0, 0]);
        assert_eq!(delays(&[late.clone(), duplicate], 0), [3000, 0]);
        assert_eq!(delays(&[late], 1), [0]);
    }

    #[test]
    fn only_what_the_link_let_through_arrives() {
        let sent = [&b"ab"[..], b"cd", b"ef"].into_iter();
        let mut datagram = Datagram::new(Dir::C2s, Proto::V7, Origin::Peer, b"ab", sent.clone());
        let transit = |datagram, lost, ms, corrupted: &[u32]| Transit {
            datagram,
            lost,
            delay: Duration::from_millis(ms),
            corrupted: corrupted.into(),
            ..Transit::default()
        };
        datagram.link = [
            transit(0, None, 20, &[8]),
            transit(0, Some(Lost::Queue), 0, &[]),
            transit(1, Some(Lost::Loss), 0, &[]),
        ]
        .into();
        let of = |(at, bytes)| arrivals(&datagram.link, at, bytes);
        let arrived: Vec<_> = sent.enumerate().map(of).collect();
        let expected = [
            vec![(20_000_000, b"ac".to_vec())],
            vec![],
            vec![(0, b"ef".to_vec())],
        ];
        assert_eq!(arrived, expected, "delayed and damaged, lost, untouched");
    }
}
