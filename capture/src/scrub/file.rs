//! Scrubs captures, from file to file.
//!
//! pcap stays pcap with its link type and time resolution, pcapng stays pcapng with its sections and interfaces. Both
//! are written in little-endian byte order, times of pcapng in nanoseconds.

use std::io::{self, Chain, Cursor, Read, Write};

use super::{
    Scrubber,
    own::Again,
    stream::{PacketOrigin, Sighted, Sink, Stream},
};
use crate::{
    ReadError, Run,
    frame::{self, Link},
    own::{Own, OwnPacket, PacketPlace},
    pcap::{self, Pcap},
    pcapng::{self, Block, PcapNg, write},
};

/// Bytes per write.
const BLOCK: usize = 256 << 10;

/// Bytes in the header of a pcap file.
const HEADER: u64 = 24;

/// Magic numbers of a file with microseconds, and with nanoseconds.
const MAGIC: [u32; 2] = [0xa1b2_c3d4, 0xa1b2_3c4d];

/// Maximum bytes of a packet, for the header of a pcap file.
const SNAPLEN: u32 = 262_144;

/// Error that ended the scrubbing of a capture.
#[derive(Debug, thiserror::Error)]
pub enum ScrubError {
    /// The input cannot be read any further. The output contains the part before.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The output cannot be written.
    #[error(transparent)]
    Write(#[from] io::Error),
}

/// A capture to scrub.
#[derive(Debug)]
pub struct Capture<R>(Input<R>);

#[derive(Debug)]
enum Input<R> {
    Pcap {
        pcap: Pcap<Chain<Cursor<Vec<u8>>, R>>,
        link: Link,
        /// Nanoseconds per time unit.
        unit: u64,
    },
    PcapNg(PcapNg<R>),
}

impl<R: Read> Capture<R> {
    /// Opens a classic capture.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn pcap(mut input: R) -> Result<Self, ReadError> {
        let mut header = Vec::new();
        let read = input.by_ref().take(HEADER).read_to_end(&mut header);
        read.map_err(|error| ReadError::System { offset: 0, error })?;
        let known = header.first_chunk().copied().and_then(pcap::magic);
        let link = header.get(20..).and_then(<[u8]>::first_chunk).copied();
        let found = known
            .zip(link)
            .map(|((order, unit), link)| (order.u32(link) & 0xffff, unit));
        let pcap = Pcap::new(Cursor::new(header).chain(input))?;
        // An incomplete header was refused above.
        let (link, unit) = found.unwrap_or_default();
        Ok(Self(Input::Pcap {
            pcap,
            link: Link::of(link.try_into().unwrap_or_default()),
            unit: unit.max(1),
        }))
    }

    /// Opens a pcapng capture.
    #[must_use]
    pub fn pcapng(input: R) -> Self {
        Self(Input::PcapNg(PcapNg::new(input)))
    }

    /// Writes the scrubbed capture.
    ///
    /// # Errors
    /// See [`ScrubError`].
    pub fn scrub(self, scrubber: &mut Scrubber, out: impl Write) -> Result<(), ScrubError> {
        let mut writer = Writer {
            out,
            buffer: Vec::new(),
            form: FileFormat::Pcap { unit: 1 },
        };
        let done = match self.0 {
            Input::Pcap { pcap, link, unit } => {
                writer.form = FileFormat::Pcap { unit };
                writer.pcap_header(link);
                scrub_pcap(pcap, scrubber, &mut writer)?
            }
            Input::PcapNg(pcapng) => {
                writer.form = FileFormat::PcapNg { known: Vec::new() };
                scrub_pcapng(pcapng, scrubber, &mut writer)?
            }
        };
        writer.flush()?;
        done.map_err(ScrubError::Read)
    }
}

/// A write error, or the read error that ended the input after its last packet was written.
type Outcome = io::Result<Result<(), ReadError>>;

fn scrub_pcap<R: Read, W: Write>(
    mut pcap: Pcap<R>,
    scrubber: &mut Scrubber,
    writer: &mut Writer<W>,
) -> Outcome {
    let mut stream = Stream::default();
    let done = loop {
        match pcap.next() {
            Ok(Some(captured)) => {
                if let Some(sighted) = Sighted::from_captured(&captured, scrubber) {
                    stream.see(sighted, (0, None), scrubber, writer)?;
                }
            }
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    stream.finish(scrubber, writer)?;
    Ok(done)
}

fn scrub_pcapng<R: Read, W: Write>(
    mut pcapng: PcapNg<R>,
    scrubber: &mut Scrubber,
    writer: &mut Writer<W>,
) -> Outcome {
    let mut stream = Stream::default();
    let mut again: Option<Again> = None;
    let done = loop {
        match pcapng.next() {
            Ok(Some(Block::Section { program, own })) => {
                let is_own = program.is_some_and(|program| program.starts_with(pcapng::PROGRAM));
                let run: Option<Run> = own
                    .filter(|_| is_own)
                    .and_then(|own| serde_json::from_slice(own).ok());
                stream.finish(scrubber, writer)?;
                if let Some(mut again) = again.take() {
                    again.finish(scrubber);
                }
                again = run.map(|run| Again::start(run, scrubber, &mut writer.buffer));
                if again.is_none() {
                    writer.section();
                }
            }
            Ok(Some(Block::Statistics { own })) => {
                if let (Some(again), Some(own)) = (&mut again, own.and_then(Own::read)) {
                    again.begin(own, scrubber, &mut writer.buffer);
                }
            }
            Ok(Some(Block::Packet { captured, leg, own })) => match &mut again {
                Some(again) => match frame::datagram(captured.link, captured.frame) {
                    Ok(udp) => {
                        let place = PacketPlace {
                            leg,
                            from: udp.from,
                            to: udp.to,
                        };
                        let bytes = udp.bytes.into();
                        let part = OwnPacket { place, bytes };
                        again.packet(own.and_then(Own::read), part, scrubber, &mut writer.buffer);
                    }
                    Err(_) => scrubber.tally.other += 1,
                },
                None => {
                    if let Some(sighted) = Sighted::from_captured(&captured, scrubber) {
                        stream.see(sighted, (pcapng.interface(), leg), scrubber, writer)?;
                    }
                }
            },
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
        writer.flush_full()?;
    };
    stream.finish(scrubber, writer)?;
    if let Some(mut again) = again.take() {
        again.finish(scrubber);
    }
    Ok(done)
}

/// Writes captures.
struct Writer<W> {
    out: W,
    buffer: Vec<u8>,
    form: FileFormat,
}

enum FileFormat {
    Pcap {
        /// Nanoseconds per time unit.
        unit: u64,
    },
    PcapNg {
        /// Interfaces of the input for which this section of the output has an interface.
        known: Vec<usize>,
    },
}

impl<W: Write> Writer<W> {
    fn pcap_header(&mut self, link: Link) {
        let FileFormat::Pcap { unit } = self.form else {
            return;
        };
        let [micro, nano] = MAGIC;
        let magic = if unit == 1 { nano } else { micro };
        self.buffer.extend_from_slice(&magic.to_le_bytes());
        // Version 2.4, no time zone.
        self.buffer
            .extend_from_slice(&[2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        self.buffer.extend_from_slice(&SNAPLEN.to_le_bytes());
        self.buffer
            .extend_from_slice(&u32::from(link.number()).to_le_bytes());
    }

    fn section(&mut self) {
        write::bare_section(&mut self.buffer);
        if let FileFormat::PcapNg { known } = &mut self.form {
            known.clear();
        }
    }

    fn flush_full(&mut self) -> io::Result<()> {
        if self.buffer.len() < BLOCK {
            return Ok(());
        }
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        self.out.flush()
    }
}

impl<W: Write> Sink for Writer<W> {
    fn packet(&mut self, place: PacketOrigin, time: u64, frame: &[u8]) -> io::Result<()> {
        match &mut self.form {
            FileFormat::Pcap { unit } => {
                let seconds = u32::try_from(time / 1_000_000_000).unwrap_or(u32::MAX);
                let fraction = u32::try_from(time % 1_000_000_000 / *unit).unwrap_or(u32::MAX);
                let len = u32::try_from(frame.len()).unwrap_or(u32::MAX);
                for number in [seconds, fraction, len, len] {
                    self.buffer.extend_from_slice(&number.to_le_bytes());
                }
                self.buffer.extend_from_slice(frame);
            }
            FileFormat::PcapNg { known } => {
                let number = known.iter().position(|known| *known == place.interface);
                let number = number.unwrap_or_else(|| {
                    write::bare_interface(place.link.number(), place.leg, &mut self.buffer);
                    known.push(place.interface);
                    known.len() - 1
                });
                let number = u32::try_from(number).unwrap_or(u32::MAX);
                write::bare_packet(number, time, frame, &mut self.buffer);
            }
        }
        self.flush_full()
    }
}
