//! Scrubs recordings of every format.

use std::{
    io::{BufRead, Write},
    sync::Arc,
};

use teetap_inspect::{Decoder, jsonl::Lines};
use teetap_proxy::{io::Seen, session::Time};

use super::{Capture, ScrubError, Scrubber};
use crate::{Encode as _, Format, Item, ReadError, jsonl::JsonLines};

/// Bytes per write.
const BLOCK: usize = 256 << 10;

/// A recording to scrub.
pub enum Opened<R> {
    /// A capture, pcap or pcapng.
    Capture(Box<Capture<R>>),
    /// JSON lines.
    Lines(Box<Lines<R>>),
}

impl<R: BufRead> Opened<R> {
    /// Opens a recording at its start. Also returns its format.
    ///
    /// # Errors
    /// The first bytes match no format, or cannot be read.
    pub fn detect(mut input: R) -> Result<(Format, Self), ReadError> {
        let format = Format::detect(&mut input)?;
        let opened = match format {
            Format::Pcap => Self::Capture(Box::new(Capture::pcap(input)?)),
            Format::PcapNg => Self::Capture(Box::new(Capture::pcapng(input))),
            Format::JsonLines => Self::Lines(Box::new(Lines::new(input))),
        };
        Ok((format, opened))
    }

    /// Writes the scrubbed recording in its own format.
    ///
    /// # Errors
    /// The recording is damaged, or the output cannot be written. The part before the damage is written.
    pub fn scrub(self, scrubber: &mut Scrubber, out: &mut impl Write) -> Result<(), ScrubError> {
        match self {
            Self::Capture(capture) => capture.scrub(scrubber, out),
            Self::Lines(lines) => scrub_lines(*lines, scrubber, out),
        }
    }
}

/// Reads the event of every line, scrubs it, and writes it as a new line.
fn scrub_lines(
    mut lines: Lines<impl BufRead>,
    scrubber: &mut Scrubber,
    out: &mut impl Write,
) -> Result<(), ScrubError> {
    let mut encoder: Option<JsonLines> = None;
    let mut decoder = scrubber.decoder();
    let mut buffer = Vec::new();
    let done = loop {
        match lines.read() {
            Ok(Some(Item::Start {
                run: Some(mut run), ..
            })) => {
                scrubber.run(&mut run);
                encoder.insert(JsonLines::new(run)).start(&mut buffer);
                decoder.restart();
            }
            Ok(Some(item)) => {
                let Some(encoder) = &mut encoder else {
                    break Err(ReadError::Unknown("it does not begin with the start of a run"));
                };
                write_line(item, scrubber, (encoder, &mut decoder), &mut buffer);
            }
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
        if buffer.len() >= BLOCK {
            out.write_all(&buffer)?;
            buffer.clear();
        }
    };
    out.write_all(&buffer)?;
    done.map_err(ScrubError::Read)
}

fn write_line(
    item: Item,
    scrubber: &mut Scrubber,
    (encoder, decoder): (&mut JsonLines, &mut Decoder),
    out: &mut Vec<u8>,
) {
    match item {
        Item::Start { .. } => {}
        Item::Event(event) => {
            let decoded = decoder.decode(scrubber.event(event));
            encoder.seen(&Seen::Event(Arc::new(decoded)), Time::ZERO, out);
        }
        Item::Log { at, level, text } => {
            let text = scrubber.text(&text);
            decoder.log(&text);
            encoder.log(at, level, &text, out);
        }
        Item::Gap { at, lost } => {
            decoder.gap();
            encoder.seen(&Seen::Gap(lost), at, out);
        }
    }
}
