//! A recording, shown as the run that it is of.
//!
//! Law: it streams; what is kept is one block and what the observer keeps. Our own captures give the events of their run;
//! captures of others give what [`Observer`] makes of their datagrams. Of a capture of ours from which another program has
//! taken our options, only the client leg is shown: every datagram is there twice.

use std::{
    collections::{BTreeSet, VecDeque},
    io::{BufRead, Read},
};

use teetap_wire::{Dir, Side};

use teetap_proxy::session::{Level, SessionId, State, Time, Traffic, What};

use crate::{
    Item, ReadError, Run, Tally,
    frame::{self, Link, Other},
    observe::{self, Observer, Sighting},
    own::{MAX_PARTS, Of, Own},
    pcap::{self, Pcap},
    pcapng::{self, Block, PcapNg},
};

/// Sessions of ours that are online at once, at most, as far as they are told from each other.
const MAX_SESSIONS: usize = 1 << 16;

/// Link types that cannot be read and are told of, at most.
const MAX_LINKS: usize = 16;

/// How an input log begins.
const INPUT_LOG: &[u8] = br#"{"input_log":"#;

/// Reads a pcap or pcapng file.
#[derive(Debug)]
pub struct Playback<R> {
    input: Input<R>,
    /// When time began, nanoseconds since 1970: of the run, or of the first packet.
    start: Option<u64>,
    is_own: bool,
    observer: Observer,
    /// An event of ours that waits for the rest of its packets.
    open: Option<(Own<'static>, Vec<Box<[u8]>>)>,
    items: VecDeque<Item>,
    tally: Tally,
    /// Link types that were told to be none that can be read.
    unknown_links: BTreeSet<u16>,
    /// Sessions of the section of ours that are online.
    sessions: BTreeSet<u32>,
    is_over: bool,
    failed: Option<ReadError>,
}

#[derive(Debug)]
enum Input<R> {
    Pcap(Pcap<R>),
    PcapNg(PcapNg<R>),
}

/// What kind of recording begins with these bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Classic pcap.
    Pcap,
    /// pcapng.
    PcapNg,
    /// JSON lines.
    JsonLines,
}

impl Format {
    /// Looks at the first bytes, which stay there.
    ///
    /// # Errors
    /// When they are of nothing that is known, and what the operating system says.
    pub fn of(input: &mut impl BufRead) -> Result<Self, ReadError> {
        let first = input
            .fill_buf()
            .map_err(|error| ReadError::System { offset: 0, error })?;
        let magic = first.first_chunk::<4>().copied();
        match (first, magic) {
            ([], _) => Err(ReadError::Unknown("the file is empty")),
            _ if first.starts_with(INPUT_LOG) => Err(ReadError::Unknown(
                "it is an input log: `teetap replay --check` reads it",
            )),
            ([0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] | [0xfd, b'7', b'z', ..], _) => {
                Err(ReadError::Unknown("it is compressed; unpack it first"))
            }
            (_, Some(magic)) if magic == pcapng::SECTION.to_le_bytes() => Ok(Self::PcapNg),
            (_, Some(magic)) if pcap::magic(magic).is_some() => Ok(Self::Pcap),
            _ if has_json_lines(first) => Ok(Self::JsonLines),
            _ => Err(ReadError::Unknown(
                "it is neither pcap nor pcapng nor JSON lines of teetap",
            )),
        }
    }
}

/// Whether there are lines of ours, the first of which may be damaged.
fn has_json_lines(first: &[u8]) -> bool {
    let mut lines = first.split(|byte| *byte == b'\n');
    let is_object = |line: &[u8]| line.trim_ascii_start().starts_with(b"{");
    lines.next().is_some_and(is_object) || lines.any(|line| line.starts_with(br#"{"v":"#))
}

impl<R: Read> Playback<R> {
    /// A classic capture.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn pcap(input: R) -> Result<Self, ReadError> {
        Pcap::new(input).map(|pcap| Self::new(Input::Pcap(pcap)))
    }

    /// A pcapng capture.
    #[must_use]
    pub fn pcapng(input: R) -> Self {
        Self::new(Input::PcapNg(PcapNg::new(input)))
    }

    fn new(input: Input<R>) -> Self {
        Self {
            input,
            start: None,
            is_own: false,
            observer: Observer::new(),
            open: None,
            items: VecDeque::new(),
            tally: Tally::default(),
            unknown_links: BTreeSet::new(),
            sessions: BTreeSet::new(),
            is_over: false,
            failed: None,
        }
    }

    /// The next thing; `None` at the end.
    ///
    /// # Errors
    /// See [`ReadError`]. Everything before the damage has been given out then, and nothing follows.
    pub fn read(&mut self) -> Result<Option<Item>, ReadError> {
        loop {
            // The observer's events follow what has been taken from it.
            let next = self.items.pop_front();
            if let Some(item) = next.or_else(|| self.observer.poll().map(Item::Event)) {
                if let Item::Event(event) = &item {
                    self.tally.until = self.tally.until.max(event.at);
                }
                return Ok(Some(item));
            }
            if self.is_over {
                return self.failed.take().map_or(Ok(None), Err);
            }
            if let Err(error) = self.step() {
                self.failed = Some(error);
                self.finish();
            }
        }
    }

    /// What was read so far.
    #[must_use]
    pub fn tally(&self) -> Tally {
        let observe::Tally {
            sessions,
            c2s,
            s2c,
            foreign,
        } = self.observer.tally();
        let add = |one: Traffic, other: Traffic| Traffic {
            datagrams: one.datagrams + other.datagrams,
            bytes: one.bytes + other.bytes,
        };
        Tally {
            sessions: self.tally.sessions + sessions,
            c2s: add(self.tally.c2s, c2s),
            s2c: add(self.tally.s2c, s2c),
            foreign: self.tally.foreign + foreign,
            ..self.tally
        }
    }

    /// Reads one thing.
    fn step(&mut self) -> Result<(), ReadError> {
        let captured = match &mut self.input {
            Input::Pcap(pcap) => pcap.next()?.map(|captured| (captured, None, None)),
            Input::PcapNg(pcapng) => match pcapng.next()? {
                Some(Block::Section { program, own }) => {
                    let is_own = program.is_some_and(|program| program.starts_with(pcapng::PROGRAM));
                    let run = own
                        .filter(|_| is_own)
                        .and_then(|own| serde_json::from_slice(own).ok());
                    self.section(run);
                    return Ok(());
                }
                Some(Block::Statistics { own }) => {
                    if let Some(own) = own.filter(|_| self.is_own).and_then(Own::read) {
                        self.begin(own);
                    }
                    return Ok(());
                }
                Some(Block::Packet { captured, leg, own }) => Some((captured, leg, own)),
                None => None,
            },
        };
        let Some((captured, leg, own)) = captured else {
            self.finish();
            return Ok(());
        };
        self.tally.packets += 1;
        if let Link::Other(number) = captured.link
            && self.unknown_links.len() < MAX_LINKS
            && self.unknown_links.insert(number)
        {
            self.items.push_back(Item::Log {
                at: self.tally.until,
                level: Level::Warning,
                text: format!(
                    "packets of link type {number} cannot be read here: capture on an interface that gives Ethernet, Linux cooked, loopback or raw IP"
                ),
            });
        }
        let udp = match frame::datagram(captured.link, captured.frame) {
            Ok(udp) => udp,
            Err(other) => {
                *match other {
                    Other::NotUdp => &mut self.tally.other,
                    Other::Fragment => &mut self.tally.fragments,
                    Other::Broken => &mut self.tally.broken,
                } += 1;
                return Ok(());
            }
        };
        if self.is_own {
            let (own, bytes) = (own.and_then(Own::read), udp.bytes.into());
            self.packet(own, bytes);
        } else if leg == Some(Side::Server) {
            self.tally.doubled += 1;
        } else {
            let start = *self.start.get_or_insert_with(|| {
                let wall = captured.time;
                self.items.push_back(Item::Start { wall, run: None });
                wall
            });
            self.observer.see(Sighting {
                at: Time(captured.time.saturating_sub(start) / 1000),
                from: udp.from,
                to: udp.to,
                bytes: udp.bytes,
                len: udp.len,
            });
        }
        Ok(())
    }

    fn take_events(&mut self) {
        while let Some(event) = self.observer.poll() {
            self.items.push_back(Item::Event(event));
        }
    }

    /// A section begins; with a run it is one of ours.
    fn section(&mut self, run: Option<Run>) {
        self.open = None;
        self.is_own = run.is_some();
        let Some(run) = run else { return };
        self.observer.finish();
        self.take_events();
        self.sessions.clear();
        self.items.push_back(Item::Start {
            wall: run.wall,
            run: Some(run),
        });
    }

    /// A packet of ours: the first of an event, or one more.
    fn packet(&mut self, own: Option<Own<'static>>, bytes: Box<[u8]>) {
        if let Some(own) = own {
            self.begin(own);
        }
        if let Some((_, packets)) = &mut self.open
            && packets.len() < MAX_PARTS
        {
            packets.push(bytes);
        }
        self.complete();
    }

    /// An event of ours begins. One that has not all its packets was cut off by the end of its run.
    fn begin(&mut self, own: Own<'static>) {
        self.open = Some((own, Vec::new()));
        self.complete();
    }

    fn complete(&mut self) {
        let Some((own, packets)) = self.open.take_if(|(own, packets)| packets.len() >= own.packets()) else {
            return;
        };
        let at = own.at();
        let item = match own.join(&packets) {
            Some(Of::Event(event)) => Some(Item::Event(event)),
            Some(Of::Log(level, text)) => Some(Item::Log { at, level, text }),
            Some(Of::Gap(lost)) => Some(Item::Gap { at, lost }),
            None => None,
        };
        if let Some(item) = item {
            self.count(&item);
            self.items.push_back(item);
        }
    }

    fn finish(&mut self) {
        self.is_over = true;
        self.observer.finish();
    }

    /// Counts what is ours: the observer counts the rest.
    fn count(&mut self, item: &Item) {
        let event = match item {
            Item::Gap { lost, .. } => {
                self.tally.lost += lost;
                return;
            }
            Item::Event(event) => event,
            Item::Start { .. } | Item::Log { .. } => return,
        };
        let (dir, len) = match &event.what {
            What::Datagram(datagram) => match datagram.received() {
                Some(received) => (datagram.dir, received.len()),
                None => return,
            },
            What::Connless(connless) => (connless.dir, connless.bytes.len()),
            What::Session(change) => return self.count_session(event.session, change.state),
            What::Notice(_) => return,
        };
        let Traffic { datagrams, bytes } = match dir {
            Dir::C2s => &mut self.tally.c2s,
            Dir::S2c => &mut self.tally.s2c,
        };
        *datagrams += 1;
        *bytes += len as u64;
    }

    /// Each counts once, however often it is said to be online.
    fn count_session(&mut self, session: Option<SessionId>, state: State) {
        let Some(SessionId(id)) = session else { return };
        match state {
            State::Online => self.tally.sessions += u64::from(self.sessions.insert(id)),
            State::Closed => {
                self.sessions.remove(&id);
            }
            State::Opening | State::Closing => {}
        }
        if self.sessions.len() > MAX_SESSIONS {
            self.sessions.pop_first();
        }
    }
}

#[cfg(test)]
mod tests;
