//! Compressed payloads, inflated whole or up to their last message.

use super::Scratch;
use crate::huffman::{self, HuffmanError, Inflated, Stream, StreamEnd};
use crate::message::may_have_uuid;
use crate::proto::{Layout, TokenPlace};
use crate::{ChunkHeader, Proto, Seq, Token};

/// A clear payload, and how far it was inflated.
pub(super) type Clear<'a> = (&'a [u8], Depth);

pub(super) enum Depth {
    /// Not compressed: the bytes as received.
    Plain,
    Whole(Inflated),
    /// Inflated up to the message of the last chunk, with the payload-tail token and the end of the stream if there
    /// is a token.
    Start(Option<(Token, StreamEnd)>),
}

pub(super) fn inflate<'a>(
    layout: &Layout,
    rest: &[u8],
    scratch: &'a mut Scratch,
) -> Result<Clear<'a>, HuffmanError> {
    let inflated = huffman::decompress(rest, scratch.room(layout)?)?;
    Ok((scratch.inflated(&inflated), Depth::Whole(inflated)))
}

/// A compressed payload that [`Packet::skim`] reads.
pub(super) struct LazyPayload {
    pub(super) proto: Proto,
    pub(super) num_chunks: u8,
    pub(super) token: Option<Token>,
}

impl LazyPayload {
    /// Inflates the payload up to the message of the last chunk if the start of each message is sufficient, and the
    /// whole payload otherwise.
    pub(super) fn inflate<'a>(
        &self,
        layout: &Layout,
        rest: &[u8],
        scratch: &'a mut Scratch,
        mut is_enough: impl FnMut(Option<Seq>, &[u8]) -> bool,
    ) -> Result<Clear<'a>, HuffmanError> {
        let mut stream = Stream::new(rest);
        let room = scratch.room(layout)?;
        let mut at = 0;
        for left in (0..self.num_chunks).rev() {
            let (len, has_ended) = stream.inflate(at + ChunkHeader::header_len(true) + 1, room)?;
            let clear = room.get(at..len).unwrap_or_default();
            let Some((header, head)) = ChunkHeader::decode(self.proto, clear).filter(|_| !has_ended) else {
                break;
            };
            let start = clear.get(head..).unwrap_or_default();
            if start.first().is_none_or(|first| may_have_uuid(*first)) || !is_enough(header.vital, start) {
                break;
            }
            at += head + usize::from(header.size);
            if left == 0 && header.vital.is_none() {
                let tail = match layout.token {
                    TokenPlace::PayloadTail => match self.tail(rest.len(), at, &stream) {
                        Some(tail) => Some(tail),
                        None => break,
                    },
                    TokenPlace::Nowhere | TokenPlace::HeaderWhenFlag(_) | TokenPlace::Header => None,
                };
                return Ok((scratch.0.get(..len).unwrap_or_default(), Depth::Start(tail)));
            }
        }
        let inflated = stream.finish(room)?;
        Ok((scratch.inflated(&inflated), Depth::Whole(inflated)))
    }

    /// Returns the token after `len` bytes of chunks in a stream of `compressed` bytes, and the end of the stream.
    /// `None` if the token can only be found by inflating the whole payload.
    fn tail(&self, compressed: usize, len: usize, stream: &Stream<'_>) -> Option<(Token, StreamEnd)> {
        let token = self.token?;
        // With any token in its place, the stream must stay smaller than the clear payload.
        if compressed + LONGEST_TAIL >= len + token.0.len() {
            return None;
        }
        Some((token, stream.end(token.0)?))
    }
}

/// Maximum number of compressed bytes that the codes of a token need.
const LONGEST_TAIL: usize = 8;
