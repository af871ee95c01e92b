//! Reads a recording back as events.
//!
//! Law: the file is streamed, so that at most one block and the state of the observer are in memory. A capture by
//! teetap yields the events of its run; any other capture yields the events that [`Observer`] derives from its
//! datagrams. If another program has removed teetap's options from a capture, only the client leg is read, because each
//! leg contains every datagram.

use std::{
    collections::{BTreeSet, VecDeque},
    io::{BufRead, Read},
};

use strum::VariantArray as _;
use teetap_wire::{PerDir, Side};

use teetap_proxy::session::{EventKind, Level, SessionId, State, Time};

use crate::{
    Item, ReadError, Run, Tally,
    frame::{self, Link, Other},
    observe::{Observer, Sighting},
    own::{MAX_PARTS, Own, OwnItem, OwnPacket, PacketPlace},
    pcap::{self, Pcap},
    pcapng::{self, Block, PcapNg},
};

/// Maximum number of sessions counted as online at once, in captures of teetap.
const MAX_SESSIONS: usize = 1 << 16;

/// Maximum number of unknown link types that are reported.
const MAX_LINKS: usize = 16;

/// First bytes of an input log.
const INPUT_LOG: &[u8] = br#"{"input_log":"#;

/// A reader of pcap and pcapng files.
#[derive(Debug)]
pub struct Playback<R> {
    input: Input<R>,
    /// Time zero, in nanoseconds since 1970: the start of the run, or the first packet.
    start: Option<u64>,
    is_own: bool,
    observer: Observer,
    /// Number of packets so far, including the packets before the position at which reading began.
    frame: u64,
    /// An event of teetap that lacks some of its packets.
    open: Option<Open>,
    items: VecDeque<Item>,
    tally: Tally,
    /// Unknown link types that were reported.
    unknown_links: BTreeSet<u16>,
    /// Sessions that are online in this section, in captures of teetap.
    sessions: BTreeSet<u32>,
    is_over: bool,
    failed: Option<ReadError>,
}

#[derive(Debug)]
struct Open {
    own: Own<'static>,
    packets: Vec<OwnPacket>,
    /// Number of its first packet; `None` if it has no packets.
    frame: Option<u64>,
}

#[derive(Debug)]
enum Input<R> {
    Pcap(Pcap<R>),
    PcapNg(PcapNg<R>),
}

/// The format of a recording, detected by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::VariantArray)]
pub enum Format {
    /// Classic pcap.
    Pcap,
    /// pcapng.
    PcapNg,
    /// JSON lines.
    JsonLines,
}

impl Format {
    /// All formats.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Returns the file name ending.
    #[must_use]
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Pcap => "pcap",
            Self::PcapNg => "pcapng",
            Self::JsonLines => "jsonl",
        }
    }

    /// Detects the format. The bytes stay in the input.
    ///
    /// # Errors
    /// [`ReadError::Unknown`] for any other file, or an error of the operating system.
    pub fn detect(input: &mut impl BufRead) -> Result<Self, ReadError> {
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

/// Returns true if the bytes contain JSON lines of teetap, the first of which may be damaged.
fn has_json_lines(first: &[u8]) -> bool {
    let mut lines = first.split(|byte| *byte == b'\n');
    let is_object = |line: &[u8]| line.trim_ascii_start().starts_with(b"{");
    lines.next().is_some_and(is_object) || lines.any(|line| line.starts_with(br#"{"v":"#))
}

impl<R: Read> Playback<R> {
    /// Reads a classic capture.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn pcap(input: R) -> Result<Self, ReadError> {
        Pcap::new(input).map(|pcap| Self::new(Input::Pcap(pcap)))
    }

    /// Reads a pcapng capture.
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
            frame: 0,
            open: None,
            items: VecDeque::new(),
            tally: Tally::default(),
            unknown_links: BTreeSet::new(),
            sessions: BTreeSet::new(),
            is_over: false,
            failed: None,
        }
    }

    /// Sets the number of packets before the position at which reading begins.
    #[must_use]
    pub const fn after(mut self, packets: u64) -> Self {
        self.frame = packets;
        self
    }

    /// Returns the next item; `None` at the end.
    ///
    /// # Errors
    /// See [`ReadError`]. Everything before the damage is returned first, and nothing after it.
    pub fn read(&mut self) -> Result<Option<Item>, ReadError> {
        loop {
            // Events of the observer precede items that were read later.
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

    /// Returns the counts so far.
    #[must_use]
    pub(crate) fn tally(&self) -> Tally {
        let observed = self.observer.tally();
        Tally {
            sessions: self.tally.sessions + observed.sessions,
            traffic: PerDir::from_fn(|dir| self.tally.traffic[dir] + observed.traffic[dir]),
            foreign: self.tally.foreign + observed.foreign,
            ..self.tally
        }
    }

    /// Reads one block or record.
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
                        self.begin(own, None);
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
        self.frame += 1;
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
            let place = PacketPlace {
                leg,
                from: udp.from,
                to: udp.to,
            };
            let (own, bytes) = (own.and_then(Own::read), udp.bytes.into());
            self.packet(own, OwnPacket { place, bytes });
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
                frame: self.frame,
            });
        }
        Ok(())
    }

    fn queue_events(&mut self) {
        while let Some(event) = self.observer.poll() {
            self.items.push_back(Item::Event(event));
        }
    }

    /// Begins a section. With a run the section is one of teetap.
    fn section(&mut self, run: Option<Run>) {
        self.open = None;
        self.is_own = run.is_some();
        let Some(run) = run else { return };
        self.observer.finish();
        self.queue_events();
        self.sessions.clear();
        self.items.push_back(Item::Start {
            wall: run.wall,
            run: Some(run),
        });
    }

    /// Adds a packet of a capture by teetap. The packet begins a new event or belongs to the current event.
    fn packet(&mut self, own: Option<Own<'static>>, packet: OwnPacket) {
        if let Some(own) = own {
            self.begin(own, Some(self.frame));
        }
        if let Some(open) = &mut self.open
            && open.packets.len() < MAX_PARTS
        {
            open.packets.push(packet);
        }
        self.complete();
    }

    /// Begins an event of teetap. If the previous event lacks packets, its run ended in the middle of it.
    fn begin(&mut self, own: Own<'static>, frame: Option<u64>) {
        self.open = Some(Open {
            own,
            packets: Vec::new(),
            frame,
        });
        self.complete();
    }

    fn complete(&mut self) {
        let is_complete = |open: &mut Open| open.packets.len() >= open.own.packets();
        let Some(Open { own, packets, frame }) = self.open.take_if(is_complete) else {
            return;
        };
        let at = own.at();
        let item = match own.join(packets) {
            Some(OwnItem::Event(mut event)) => {
                if let Some(ends) = event.ends_mut() {
                    ends.frame = frame;
                }
                Some(Item::Event(event))
            }
            Some(OwnItem::Log(level, text)) => Some(Item::Log { at, level, text }),
            Some(OwnItem::Gap(lost)) => Some(Item::Gap { at, lost }),
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

    /// Counts an event of a capture by teetap. The observer counts the events of other captures.
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
            EventKind::Datagram(datagram) => match datagram.received() {
                Some(received) => (datagram.dir, received.len()),
                None => return,
            },
            EventKind::Connless(connless) => match connless.received() {
                Some(received) => (connless.dir, received.len()),
                None => return,
            },
            EventKind::Session(change) => return self.count_session(event.session, change.state),
            EventKind::Notice(_) | EventKind::Answer(_) => return,
        };
        self.tally.traffic[dir].count(len);
    }

    /// Counts each session once, even if it is reported as online several times.
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
