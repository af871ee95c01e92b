//! Payloads that the proxy composes chunk by chunk. A payload that would grow too large for a datagram is
//! split.

use teetap_wire::{ChunkHeader, MAX_CHUNKS, MAX_COMPOSED_PAYLOAD, Proto, Seq, write_chunk};

use super::datagram::{MadeAt, SentAt};

/// Returns true if a message of `len` bytes fits into a chunk: 10 bits of size in 0.6; in 0.7 its sender
/// refuses more than 1388.
pub(crate) fn fits(proto: Proto, len: usize) -> bool {
    len <= proto.layout().max_chunk
}

/// Payloads under construction. The buffers are reused, so that composing normally allocates nothing.
#[derive(Debug, Default)]
pub(crate) struct Composer {
    bytes: Vec<u8>,
    /// End of each payload in `bytes`, and its number of chunks.
    payloads: Vec<(usize, u8)>,
    /// The messages that the proxy sends by itself.
    made: Vec<MadeAt>,
}

impl Composer {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.payloads.clear();
        self.made.clear();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.payloads.is_empty()
    }

    /// Returns true if a message of `len` bytes fits into the first datagram. A message of any size fits if
    /// there is none yet.
    pub(crate) fn has_room_in_datagram(&self, len: usize) -> bool {
        let chunks = self
            .payloads
            .first()
            .map_or(0, |(_, chunks)| usize::from(*chunks));
        let end = self.bytes.len() + ChunkHeader::header_len(true) + len;
        self.payloads.is_empty() || end <= MAX_COMPOSED_PAYLOAD && chunks < MAX_CHUNKS
    }

    /// Appends a chunk and returns the place of its message. Messages that are too large for a chunk are
    /// refused earlier, see [`fits`].
    pub(crate) fn push(
        &mut self,
        proto: Proto,
        vital: Option<Seq>,
        resend: bool,
        data: &[u8],
    ) -> Option<SentAt> {
        let before = self.bytes.len();
        if write_chunk(proto, vital, resend, data, &mut self.bytes).is_err() {
            self.bytes.truncate(before);
            debug_assert!(false, "a message of {} bytes got past the size check", data.len());
            return None;
        }
        let end = self.bytes.len();
        let start = self.payloads.iter().rev().nth(1).map_or(0, |(end, _)| *end);
        match self.payloads.last_mut() {
            Some((last, chunks))
                if end - start <= MAX_COMPOSED_PAYLOAD && usize::from(*chunks) < MAX_CHUNKS =>
            {
                *last = end;
                *chunks += 1;
            }
            _ => self.payloads.push((end, 1)),
        }
        let datagram = self.payloads.len().checked_sub(1)?;
        let start = datagram
            .checked_sub(1)
            .and_then(|before| self.payloads.get(before))
            .map_or(0, |(end, _)| *end);
        Some(SentAt {
            datagram: u16::try_from(datagram).ok()?,
            at: u16::try_from(end - data.len() - start).ok()?,
            len: u16::try_from(data.len()).ok()?,
        })
    }

    /// Appends a chunk with a message that the proxy sends by itself. `of` returns the record of the message at its
    /// place.
    pub(crate) fn push_made(
        &mut self,
        proto: Proto,
        vital: Option<Seq>,
        data: &[u8],
        of: impl FnOnce(SentAt) -> MadeAt,
    ) {
        if let Some(sent) = self.push(proto, vital, false, data) {
            self.record(of(sent));
        }
    }

    /// Records a message that the proxy sends by itself, and that was appended before.
    pub(crate) fn record(&mut self, made: MadeAt) {
        self.made.push(made);
    }

    /// Removes and returns the records of the messages that the proxy sends by itself.
    pub(crate) fn take_made(&mut self) -> Box<[MadeAt]> {
        self.made.drain(..).collect()
    }

    /// Returns the payloads, each with its number of chunks.
    pub(crate) fn payloads(&self) -> impl Iterator<Item = (&[u8], u8)> {
        let mut start = 0;
        self.payloads.iter().filter_map(move |(end, chunks)| {
            let payload = self.bytes.get(start..*end)?;
            start = *end;
            Some((payload, *chunks))
        })
    }
}
