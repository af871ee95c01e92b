//! The comment of each packet of a capture.

use std::{io::Read, ops::Range};

use teetap_inspect::{Decoder, row};
use teetap_wire::def::{Registry, Secrets};

use crate::{Format, Item, Playback, ReadError, recorder::packets_of};

/// Reads a capture, and returns the comment of each packet.
pub struct Comments<R> {
    playback: Playback<R>,
    decoder: Decoder,
    secrets: Secrets,
    /// True in a run of teetap, each event of which has one comment for all its packets.
    is_own: bool,
    /// The packets of the next event, and its comment.
    next: Option<(Range<u64>, String)>,
}

/// The comment of a packet.
pub(super) struct Comment<'a> {
    pub(super) text: &'a str,
    /// True if the capture is one of teetap, whose packets have comments unless another program removed them.
    pub(super) is_own: bool,
}

impl<R: Read> Comments<R> {
    /// Reads a capture in the format `format`. Secrets are hidden unless they are to be shown.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn new(
        input: R,
        format: Format,
        registry: &'static Registry,
        secrets: Secrets,
    ) -> Result<Self, ReadError> {
        let mut decoder = Decoder::new(registry);
        decoder.decode_everything();
        Ok(Self {
            playback: match format {
                Format::Pcap => Playback::pcap(input)?,
                _ => Playback::pcapng(input),
            },
            decoder,
            secrets,
            is_own: false,
            next: None,
        })
    }

    /// Returns the comment of the packet with this number; `None` if the packet belongs to no event. Numbers must
    /// increase.
    pub(super) fn of(&mut self, packet: u64) -> Option<Comment<'_>> {
        while self
            .next
            .as_ref()
            .is_none_or(|(packets, _)| packets.end <= packet)
        {
            self.next = Some(self.read()?);
        }
        let (packets, text) = self.next.as_ref()?;
        packets.contains(&packet).then_some(Comment {
            text,
            is_own: self.is_own,
        })
    }

    /// Returns the packets and the comment of the next event with packets; `None` at the end. The copy reports damage.
    fn read(&mut self) -> Option<(Range<u64>, String)> {
        loop {
            let mut event = match self.playback.read().ok()?? {
                Item::Event(event) => event,
                Item::Start { run, .. } => {
                    self.is_own = run.is_some();
                    self.decoder.restart();
                    continue;
                }
                Item::Log { text, .. } => {
                    self.decoder.log(&text);
                    continue;
                }
                Item::Gap { .. } => {
                    self.decoder.gap();
                    continue;
                }
            };
            // Events that a timeout causes have no packet.
            while self.decoder.due(event.at).is_some() {}
            let first = event.ends_mut().and_then(|ends| ends.frame);
            let decoded = self.decoder.decode(event);
            let found = first.map(|first| {
                let count = if self.is_own {
                    packets_of(&decoded.event)
                } else {
                    1
                };
                (first..first + count, row::comment_with(&decoded, self.secrets))
            });
            if let Some(reading) = decoded.reading {
                self.decoder.recycle(reading);
            }
            match found {
                Some((packets, text)) if !text.is_empty() => return Some((packets, text)),
                _ => {}
            }
        }
    }
}
