//! Captures of others: every datagram waits until the observer has found out what it is.
//!
//! Law: what the observer tells nothing about is left out. The order of the capture stays.

use std::{collections::VecDeque, io};

use teetap_wire::{MAX_DATAGRAM, Side};

use super::{Scrubber, datagram::pad, frame::Headers};
use crate::{
    frame::{self, Captured, Link, Other},
    observe::{MAX_WAITING, Observer, Sighting},
};
use teetap_proxy::session::{Event, Time, What};

/// Where scrubbed packets go.
pub(super) trait Sink {
    fn packet(&mut self, place: Place, time: u64, frame: &[u8]) -> io::Result<()>;
}

/// Where a packet was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Number of the interface.
    pub(super) interface: usize,
    pub(super) link: Link,
    /// The leg of a proxy of ours.
    pub(super) leg: Option<Side>,
}

/// A whole datagram and its headers.
#[derive(Debug)]
pub(super) struct Sighted {
    /// Nanoseconds since 1970.
    time: u64,
    link: Link,
    headers: Headers,
    /// As much as receivers read.
    bytes: Box<[u8]>,
    /// Bytes on the wire.
    len: usize,
}

/// A datagram that waits to be understood.
#[derive(Debug)]
struct Held {
    at: Time,
    place: Place,
    sighted: Sighted,
}

/// A capture that is read.
#[derive(Debug, Default)]
pub(super) struct Stream {
    observer: Observer,
    held: VecDeque<Held>,
    /// Time of the first datagram, nanoseconds since 1970.
    start: Option<u64>,
    out: Vec<u8>,
    frame: Vec<u8>,
}

impl Sighted {
    /// The datagram of a frame; what is none is counted.
    pub(super) fn of(captured: &Captured<'_>, scrubber: &mut Scrubber) -> Option<(Self, Observed)> {
        let tally = &mut scrubber.tally;
        let udp = match frame::datagram(captured.link, captured.frame) {
            Ok(udp) => udp,
            Err(other) => {
                *match other {
                    Other::NotUdp => &mut tally.other,
                    Other::Fragment => &mut tally.fragments,
                    Other::Broken => &mut tally.broken,
                } += 1;
                return None;
            }
        };
        if udp.bytes.len() < udp.len {
            tally.cut += 1;
            return None;
        }
        let Some(headers) = Headers::of(captured.link, &udp) else {
            tally.broken += 1;
            return None;
        };
        let sighted = Self {
            time: captured.time,
            link: captured.link,
            headers,
            bytes: udp.bytes.get(..MAX_DATAGRAM).unwrap_or(udp.bytes).into(),
            len: udp.len,
        };
        let observed = Observed {
            from: udp.from,
            to: udp.to,
        };
        Some((sighted, observed))
    }

    /// For tests of what is around the datagram.
    #[cfg(test)]
    pub(super) fn headers(&self) -> &Headers {
        &self.headers
    }
}

/// Between whom a datagram was seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observed {
    from: std::net::SocketAddr,
    to: std::net::SocketAddr,
}

impl Stream {
    /// One more datagram.
    ///
    /// # Errors
    /// Those of the sink.
    pub(super) fn see(
        &mut self,
        (sighted, between): (Sighted, Observed),
        (interface, leg): (usize, Option<Side>),
        scrubber: &mut Scrubber,
        sink: &mut impl Sink,
    ) -> io::Result<()> {
        let start = *self.start.get_or_insert(sighted.time);
        let at = Time(sighted.time.saturating_sub(start) / 1000);
        self.observer.see(Sighting {
            at,
            from: between.from,
            to: between.to,
            bytes: &sighted.bytes,
            len: sighted.len,
        });
        let place = Place {
            interface,
            link: sighted.link,
            leg,
        };
        self.held.push_back(Held { at, place, sighted });
        self.settle(scrubber, sink)?;
        // The observer has told of all before those that it keeps waiting.
        while self.held.len() > MAX_WAITING {
            self.held.pop_front();
            scrubber.tally.foreign += 1;
        }
        Ok(())
    }

    /// For tests of how many wait.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.held.len()
    }

    /// Nothing follows of what was seen; what comes is seen by the same observer.
    ///
    /// # Errors
    /// Those of the sink.
    pub(super) fn finish(&mut self, scrubber: &mut Scrubber, sink: &mut impl Sink) -> io::Result<()> {
        self.observer.finish();
        self.settle(scrubber, sink)?;
        scrubber.tally.foreign += self.held.drain(..).len() as u64;
        Ok(())
    }

    /// Lets go what the observer tells of.
    fn settle(&mut self, scrubber: &mut Scrubber, sink: &mut impl Sink) -> io::Result<()> {
        while let Some(event) = self.observer.poll() {
            let bytes = match &event.what {
                What::Datagram(datagram) => datagram.received().unwrap_or_default(),
                What::Connless(connless) => &connless.bytes,
                What::Session(_) | What::Notice(_) => continue,
            };
            let is_it = |held: &Held| held.at == event.at && *held.sighted.bytes == *bytes;
            let Some(place) = self.held.iter().position(is_it) else {
                continue;
            };
            scrubber.tally.foreign += self.held.drain(..place).len() as u64;
            if let Some(held) = self.held.pop_front() {
                self.release(&held, &event, scrubber, sink)?;
            }
        }
        Ok(())
    }

    fn release(
        &mut self,
        held: &Held,
        event: &Event,
        scrubber: &mut Scrubber,
        sink: &mut impl Sink,
    ) -> io::Result<()> {
        let Held { place, sighted, .. } = held;
        let read = match &event.what {
            What::Datagram(datagram) => {
                scrubber.datagram(datagram.proto, datagram.dir, &sighted.bytes, &mut self.out)
            }
            _ => scrubber.connless(&sighted.bytes, &mut self.out),
        };
        if read.is_err() {
            scrubber.tally.unreadable += 1;
            return Ok(());
        }
        // What no receiver reads was not kept.
        pad(&mut self.out, sighted.len - sighted.bytes.len());
        self.frame.clear();
        let is_written = sighted
            .headers
            .write(&mut scrubber.addresses, &self.out, &mut self.frame);
        if !is_written {
            scrubber.tally.crowded += 1;
            return Ok(());
        }
        scrubber.tally.packets += 1;
        sink.packet(*place, sighted.time, &self.frame)
    }
}
