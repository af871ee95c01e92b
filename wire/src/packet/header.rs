//! Parses and writes the fields of a packet header, even if the bytes are damaged or truncated.
//!
//! Law: only this module knows the positions of header fields. Parsing never fails; a field whose bytes are missing is
//! `None`.

use std::cmp::Reverse;
use std::ops::Range;

use bitflags::bitflags;

use crate::connless::CONNLESS;
use crate::proto::{Layout, TokenPlace};
use crate::{Proto, Seq, Token};

/// Bytes of header that all variants have: flags and ack, ack, number of chunks.
pub(super) const BASE: usize = 3;
/// Bits 9 and 8 of the ack, in byte 0.
pub(super) const ACK_HIGH: u8 = 0x03;

bitflags! {
    /// The flags of a packet. Their values here are the same for all variants and differ from the bits on the wire.
    #[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct Flags: u8 {
        /// The payload is one control message.
        const CONTROL = 1;
        /// The sender asks its peer to resend all chunks that are not acked yet.
        const RESEND = 2;
        /// The payload is compressed.
        const COMPRESSION = 4;
    }
}

/// The complete header of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The flags.
    pub flags: Flags,
    /// The last vital chunk that the sender received in order.
    pub ack: Seq,
    /// The number of chunks in the payload; 0 in control packets.
    pub num_chunks: u8,
    /// The token, wherever the variant carries it.
    pub token: Option<Token>,
}

/// The start of a datagram seen as the packet header of one variant.
///
/// Connless datagrams have other headers, see [`Connless`](crate::Connless).
#[derive(Debug, Clone, Copy)]
pub struct HeaderView<'a> {
    layout: &'static Layout,
    /// The bytes of the header that are present.
    bytes: &'a [u8],
    len: usize,
}

/// A field of a packet header and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderField {
    /// Byte 0: the flags and bits 9 and 8 of the ack, see [`HeaderView::bits`].
    First(u8),
    /// The ack, of which byte 1 is the low part.
    Ack(Seq),
    /// The number of chunks.
    NumChunks(u8),
    /// The token; `None` if only a part of it is present.
    Token(Option<Token>),
}

/// The meaning of bits of byte 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderBits {
    /// The payload is one control message.
    Control,
    /// The sender asks its peer to resend all chunks that are not acked yet.
    Resend,
    /// The payload is compressed.
    Compression,
    /// A token follows the number of chunks.
    Token,
    /// The datagram is outside a connection.
    Connless,
    /// Bits that no sender of the variant sets.
    Unused,
    /// Bits 9 and 8 of the ack.
    Ack,
}

impl<'a> HeaderView<'a> {
    /// Views the start of `datagram` as a header of the variant.
    #[must_use]
    pub fn new(proto: Proto, datagram: &'a [u8]) -> Self {
        let layout = proto.layout();
        let first = datagram.first().copied().unwrap_or(0);
        let token = match layout.token {
            TokenPlace::Header => true,
            TokenPlace::HeaderWhenFlag(bit) => first & bit != 0,
            TokenPlace::Nowhere | TokenPlace::PayloadTail => false,
        };
        let len = if token { BASE + Token::LEN } else { BASE };
        Self {
            layout,
            bytes: datagram.get(..len).unwrap_or(datagram),
            len,
        }
    }

    /// Returns the length of the complete header in bytes, 3 or 7, as byte 0 announces it.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a header is never empty")]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns the number of header bytes that are present.
    #[must_use]
    pub const fn present(&self) -> usize {
        self.bytes.len()
    }

    /// Returns byte 0, or 0 if it is missing.
    #[must_use]
    pub fn first(&self) -> u8 {
        self.bytes.first().copied().unwrap_or(0)
    }

    /// Returns the flags that are set.
    #[must_use]
    pub fn flags(&self) -> Flags {
        let first = self.first();
        let mut flags = Flags::empty();
        flags.set(Flags::CONTROL, first & self.layout.control != 0);
        flags.set(Flags::RESEND, first & self.layout.resend != 0);
        flags.set(Flags::COMPRESSION, first & self.layout.compression != 0);
        flags
    }

    /// Returns true if byte 0 has bits set that no sender of the variant sets.
    #[must_use]
    pub(super) fn has_unused_bits(&self) -> bool {
        self.first() & self.layout.unused != 0
    }

    /// Returns true if the header carries a token, complete or cut off.
    #[must_use]
    pub const fn has_token(&self) -> bool {
        self.len > BASE
    }

    /// Returns the ack.
    #[must_use]
    pub fn ack(&self) -> Option<Seq> {
        let low = *self.bytes.get(1)?;
        Some(Seq::new(u16::from_be_bytes([self.first() & ACK_HIGH, low])))
    }

    /// Returns the number of chunks.
    #[must_use]
    pub fn num_chunks(&self) -> Option<u8> {
        self.bytes.get(2).copied()
    }

    /// Returns the token of the header; `None` if the header has none or if the token is truncated.
    #[must_use]
    pub fn token(&self) -> Option<Token> {
        self.bytes.get(BASE..)?.first_chunk().copied().map(Token)
    }

    /// Returns the fields that are present, at least in part, each with the range of its bytes.
    pub fn fields(&self) -> impl Iterator<Item = (HeaderField, Range<usize>)> {
        let first = self.bytes.first().map(|first| (HeaderField::First(*first), 0..1));
        let ack = self.ack().map(|ack| (HeaderField::Ack(ack), 1..2));
        let num_chunks = self
            .num_chunks()
            .map(|count| (HeaderField::NumChunks(count), 2..BASE));
        let present = BASE..self.bytes.len();
        let token = (!present.is_empty()).then(|| (HeaderField::Token(self.token()), present));
        [first, ack, num_chunks, token].into_iter().flatten()
    }

    /// Returns the meaning of every bit of byte 0, as masks from the highest to the lowest.
    pub fn bits(&self) -> impl Iterator<Item = (u8, HeaderBits)> {
        let token = match self.layout.token {
            TokenPlace::HeaderWhenFlag(bit) => bit,
            TokenPlace::Nowhere | TokenPlace::Header | TokenPlace::PayloadTail => 0,
        };
        let mut bits = [
            (self.layout.control, HeaderBits::Control),
            (self.layout.resend, HeaderBits::Resend),
            (self.layout.compression, HeaderBits::Compression),
            (token, HeaderBits::Token),
            (CONNLESS, HeaderBits::Connless),
            (self.layout.unused, HeaderBits::Unused),
            (ACK_HIGH, HeaderBits::Ack),
        ];
        bits.sort_unstable_by_key(|(mask, _)| Reverse(*mask));
        bits.into_iter().filter(|(mask, _)| *mask != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_of_each_variant() {
        let bytes = b"\x49\xaa\x02\x01\x02\x03\x04\x55";
        let base = [
            (HeaderField::First(0x49), 0..1),
            (HeaderField::Ack(Seq::new(0x1aa)), 1..2),
            (HeaderField::NumChunks(2), 2..3),
        ];
        let token = [(HeaderField::Token(Some(Token([1, 2, 3, 4]))), 3..7)];
        for (proto, with_token) in [
            (Proto::V6, false),
            (Proto::V65, true),
            (Proto::Ddnet, false),
            (Proto::V7, true),
        ] {
            let fields: Vec<_> = HeaderView::new(proto, bytes).fields().collect();
            let expected = base.iter().chain(token.iter().filter(|_| with_token));
            assert_eq!(fields, expected.cloned().collect::<Vec<_>>(), "{proto}");
        }
        assert_eq!(HeaderView::new(Proto::V65, b"\x41\xaa\x02\x01").token(), None);
    }

    #[test]
    fn a_cut_header_keeps_the_fields_before_the_cut() {
        let bytes = b"\x04\0\0\x01\x02\x03\x04";
        for (len, fields) in [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (6, 4), (7, 4)] {
            let view = HeaderView::new(Proto::V7, &bytes[..len]);
            assert_eq!((view.fields().count(), view.present()), (fields, len));
            assert_eq!(view.token().is_some(), len == 7);
        }
        let cut = HeaderView::new(Proto::V7, &bytes[..5]).fields().last();
        assert_eq!(cut, Some((HeaderField::Token(None), 3..5)));
        // Without byte 0, only 0.7 is known to have a token.
        let lens = Proto::ALL.map(|proto| HeaderView::new(proto, &[]).len());
        assert_eq!(lens, [3, 3, 3, 7]);
    }

    #[test]
    fn bits_from_the_highest_to_the_lowest() {
        use HeaderBits::{Ack, Compression, Connless, Control, Resend, Token, Unused};
        let bits = |proto| HeaderView::new(proto, &[]).bits().collect::<Vec<_>>();
        let common = [
            (0x80, Compression),
            (0x40, Resend),
            (0x20, Connless),
            (0x10, Control),
        ];
        assert_eq!(
            bits(Proto::V65),
            [&common[..], &[(8, Token), (4, Unused), (3, Ack)]].concat()
        );
        assert_eq!(
            bits(Proto::Ddnet),
            [&common[..], &[(0x0c, Unused), (3, Ack)]].concat()
        );
        let v7 = [
            (0xc0, Unused),
            (0x20, Connless),
            (0x10, Compression),
            (8, Resend),
            (4, Control),
            (3, Ack),
        ];
        assert_eq!(bits(Proto::V7), v7);
    }

    proptest! {
        #[test]
        fn fields_tile_what_is_present(bytes in prop::collection::vec(any::<u8>(), 0..12)) {
            for proto in Proto::ALL {
                let view = HeaderView::new(proto, &bytes);
                let mut end = 0;
                for (_, range) in view.fields() {
                    prop_assert_eq!(range.start, end);
                    end = range.end;
                }
                prop_assert_eq!(end, view.present());
                prop_assert_eq!(end, view.len().min(bytes.len()));
                prop_assert_eq!(view.bits().fold(0, |all, (mask, _)| all ^ mask), 0xff);
            }
        }
    }
}
