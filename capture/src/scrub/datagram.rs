//! Removes secrets from one datagram.
//!
//! Law: header, token, ack and chunk headers stay unchanged, except for the end of a text that is at the position of a
//! token. A datagram without a secret does not change at all. If a compressed payload contains a secret, the changed
//! payload is compressed again.

use teetap_wire::{
    ChunkHeader, Chunks, Connless, Control, Dir, Flags, HeaderView, Inflated, MAX_DATAGRAM, Packet, Proto,
    Scratch, Trailing, compress, proto::TokenPlace,
};

use super::{PLACEHOLDER, Scrubber};

/// Replaces bytes at the position of a token.
const PLACEHOLDERS: [u8; 4] = [PLACEHOLDER; 4];

/// Error for a datagram that cannot be read, so that its secrets cannot be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unreadable;

impl Scrubber {
    /// Scrubs a datagram of a connection, and writes it to `out`.
    ///
    /// # Errors
    /// Returns [`Unreadable`]; the contents of `out` must not be used then.
    pub(super) fn datagram(
        &mut self,
        proto: Proto,
        dir: Dir,
        datagram: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Unreadable> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut clear = std::mem::take(&mut self.clear);
        let done = self.packet(proto, dir, datagram, (&mut scratch, &mut clear), out);
        (self.scratch, self.clear) = (scratch, clear);
        done
    }

    fn packet(
        &mut self,
        proto: Proto,
        dir: Dir,
        datagram: &[u8],
        (scratch, clear): (&mut Scratch, &mut Vec<u8>),
        out: &mut Vec<u8>,
    ) -> Result<(), Unreadable> {
        let seen = datagram.get(..MAX_DATAGRAM).unwrap_or(datagram);
        let packet = Packet::parse(proto, seen, scratch).map_err(|_| Unreadable)?;
        clear.clear();
        clear.extend_from_slice(packet.payload);
        let mut tail = tail(&packet);
        if tail.is_some_and(|tail| is_text(&packet, tail)) {
            self.tally.texts += 1;
            tail = Some(PLACEHOLDERS);
        }
        if packet.header.flags.contains(Flags::CONTROL) {
            self.control(proto, dir, clear);
        } else {
            self.chunks(dir, &packet, clear);
        }
        if clear == packet.payload && tail == self::tail(&packet) {
            out.clear();
            out.extend_from_slice(seen);
            let surplus = packet.inflated.map_or(0, |inflated| inflated.surplus);
            blank_last(out, surplus);
        } else {
            write(&packet, seen, (clear, tail), out);
        }
        if out.len() > MAX_DATAGRAM {
            // Compression made it shorter; of an uncompressed datagram receivers would read only the first bytes.
            return Err(Unreadable);
        }
        pad(out, datagram.len() - seen.len());
        Ok(())
    }

    fn chunks(&mut self, dir: Dir, packet: &Packet<'_>, clear: &mut [u8]) {
        let mut chunks = packet.chunks();
        let mut end = 0;
        for chunk in chunks.by_ref() {
            end = chunk.end();
            if let Some(data) = clear.get_mut(end - chunk.data.len()..end) {
                self.chunk(packet.proto, dir, data);
            }
        }
        // The header of a truncated chunk stays, since it shows why the chunk does not fit.
        let header = match ChunkHeader::decode(packet.proto, chunks.rest()) {
            Some((_, len)) if chunks.missing() > 0 => len,
            _ => 0,
        };
        let rest = clear.get_mut(end + header..).unwrap_or_default();
        if rest.iter().any(|byte| *byte != 0) {
            self.tally.unknown += 1;
            rest.fill(PLACEHOLDER);
        }
    }

    /// Scrubs a datagram outside of connections, and writes it to `out`.
    ///
    /// # Errors
    /// Returns [`Unreadable`]; the contents of `out` must not be used then.
    pub(super) fn connless(&mut self, datagram: &[u8], out: &mut Vec<u8>) -> Result<(), Unreadable> {
        let message = Connless::parse(datagram).ok_or(Unreadable)?;
        let proto = match message {
            Connless::V7 { .. } => Proto::V7,
            Connless::Plain { .. } | Connless::Extended { .. } => Proto::Ddnet,
        };
        out.clear();
        out.extend_from_slice(datagram);
        let start = datagram.len() - message.data().len();
        self.connless_message(proto, out.get_mut(start..).unwrap_or_default());
        Ok(())
    }
}

/// Returns the token after the payload; `None` without a token, and for protocols with the token in the header.
fn tail(packet: &Packet<'_>) -> Option<[u8; 4]> {
    let is_tail = packet.proto.layout().token == TokenPlace::PayloadTail;
    packet.header.token.filter(|_| is_tail).map(|token| token.0)
}

/// Returns true if the sender omitted the token, so that the bytes at its position are the end of the last message.
fn is_text(packet: &Packet<'_>, tail: [u8; 4]) -> bool {
    let payload = packet.payload;
    if packet.header.flags.contains(Flags::CONTROL) {
        let [text @ .., end] = tail;
        let is_short = payload.len() == 1 && end == 0 && text.iter().all(|byte| *byte >= b' ');
        // The reason lacks its terminator.
        let is_open = payload.len() > 1 && payload.last() != Some(&0);
        return matches!(packet.control(), Some(Control::Close { .. })) && (is_short || is_open);
    }
    if packet.chunks().fold(0, |_, chunk| chunk.end()) == payload.len() {
        return false;
    }
    let whole = [payload, &tail].concat();
    let mut chunks = Chunks::new(packet.proto, &whole, packet.header.num_chunks);
    chunks.by_ref().for_each(drop);
    chunks.missing() == 0 && chunks.rest().is_empty()
}

/// Writes `packet` to `out` with another payload and token of the same length. `packet` was read from `datagram`.
fn write(packet: &Packet<'_>, datagram: &[u8], (clear, tail): (&[u8], Option<[u8; 4]>), out: &mut Vec<u8>) {
    let layout = packet.proto.layout();
    let header = HeaderView::new(packet.proto, datagram).len();
    let tail: &[u8] = tail.as_ref().map_or(&[], |token| token);
    out.clear();
    out.extend_from_slice(datagram.get(..header).unwrap_or_default());
    if let Some(Inflated {
        trailing, surplus, ..
    }) = packet.inflated
    {
        compress(&[clear, tail].concat(), trailing.unwrap_or(Trailing::Always), out);
        if out.len() - header < clear.len() + tail.len() {
            out.resize(out.len() + surplus, PLACEHOLDER);
            out.truncate(MAX_DATAGRAM);
            return;
        }
        // Like a sender for which compression saves nothing.
        out.truncate(header);
        if let Some(first) = out.first_mut() {
            *first &= !layout.compression;
        }
    }
    out.extend_from_slice(clear);
    out.extend_from_slice(tail);
}

/// Appends placeholders for bytes that no receiver reads. If the datagram has become shorter, appends none, since
/// receivers would read them.
pub(super) fn pad(out: &mut Vec<u8>, len: usize) {
    if out.len() == MAX_DATAGRAM {
        out.resize(out.len() + len, PLACEHOLDER);
    }
}

fn blank_last(out: &mut [u8], len: usize) {
    let start = out.len().saturating_sub(len);
    out.get_mut(start..).unwrap_or_default().fill(PLACEHOLDER);
}
