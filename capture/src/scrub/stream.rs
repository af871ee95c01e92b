//! Scrubs captures by other programs. Each datagram is held until the observer has classified its flow.
//!
//! Law: a datagram for which the observer emits no event is omitted. The order of the capture is kept.

use std::{collections::VecDeque, io};

use teetap_wire::{MAX_DATAGRAM, Side};

use super::{Scrubber, datagram::pad, frame::Headers};
use crate::{
    frame::{self, Captured, Link, Other},
    observe::{MAX_WAITING, Observer, Sighting},
};
use teetap_proxy::session::{Event, EventKind, Time};

/// Receives scrubbed packets.
pub(super) trait Sink {
    fn packet(&mut self, place: PacketOrigin, time: u64, frame: &[u8]) -> io::Result<()>;
}

/// Origin of a packet in the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PacketOrigin {
    /// Index of the interface.
    pub(super) interface: usize,
    pub(super) link: Link,
    /// Leg, in captures of teetap.
    pub(super) leg: Option<Side>,
}

/// A complete datagram and its headers.
#[derive(Debug)]
pub(super) struct Sighted {
    /// Nanoseconds since 1970.
    time: u64,
    link: Link,
    headers: Headers,
    /// Bytes that receivers read.
    bytes: Box<[u8]>,
    /// Length on the wire.
    len: usize,
}

/// A datagram that waits for the observer.
#[derive(Debug)]
struct Held {
    at: Time,
    place: PacketOrigin,
    sighted: Sighted,
}

/// The state of a capture.
#[derive(Debug, Default)]
pub(super) struct Stream {
    observer: Observer,
    held: VecDeque<Held>,
    /// Time of the first datagram, in nanoseconds since 1970.
    start: Option<u64>,
    out: Vec<u8>,
    frame: Vec<u8>,
}

impl Sighted {
    /// Reads the datagram of a frame; `None` if there is none, which is counted.
    pub(super) fn from_captured(
        captured: &Captured<'_>,
        scrubber: &mut Scrubber,
    ) -> Option<(Self, Observed)> {
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
        let Some(headers) = Headers::locate(captured.link, &udp) else {
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

    /// Returns the headers, for tests.
    #[cfg(test)]
    pub(super) fn headers(&self) -> &Headers {
        &self.headers
    }
}

/// Addresses of a datagram.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observed {
    from: std::net::SocketAddr,
    to: std::net::SocketAddr,
}

impl Stream {
    /// Shows one datagram to the observer, and keeps it until its flow is decided.
    ///
    /// # Errors
    /// Returns the errors of the sink.
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
            frame: 0,
        });
        let place = PacketOrigin {
            interface,
            link: sighted.link,
            leg,
        };
        self.held.push_back(Held { at, place, sighted });
        self.settle(scrubber, sink)?;
        // The observer holds at most `MAX_WAITING` datagrams, so it will not emit any older datagram anymore.
        while self.held.len() > MAX_WAITING {
            self.held.pop_front();
            scrubber.tally.foreign += 1;
        }
        Ok(())
    }

    /// Returns the number of waiting datagrams, for tests.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.held.len()
    }

    /// Ends the sessions so far; the same observer sees later datagrams.
    ///
    /// # Errors
    /// Returns the errors of the sink.
    pub(super) fn finish(&mut self, scrubber: &mut Scrubber, sink: &mut impl Sink) -> io::Result<()> {
        self.observer.finish();
        self.settle(scrubber, sink)?;
        scrubber.tally.foreign += self.held.drain(..).len() as u64;
        Ok(())
    }

    /// Writes the datagrams that the observer has emitted.
    fn settle(&mut self, scrubber: &mut Scrubber, sink: &mut impl Sink) -> io::Result<()> {
        while let Some(event) = self.observer.poll() {
            let bytes = match &event.what {
                EventKind::Datagram(datagram) => datagram.received().unwrap_or_default(),
                EventKind::Connless(connless) => &connless.bytes,
                EventKind::Session(_) | EventKind::Notice(_) | EventKind::Answer(_) => continue,
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
            EventKind::Datagram(datagram) => {
                scrubber.datagram(datagram.proto, datagram.dir, &sighted.bytes, &mut self.out)
            }
            _ => scrubber.connless(&sighted.bytes, &mut self.out),
        };
        if read.is_err() {
            scrubber.tally.unreadable += 1;
            return Ok(());
        }
        // Bytes that no receiver reads were not stored.
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
