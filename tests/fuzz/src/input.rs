//! Decodes choices from the bytes of an input. After its end every byte is zero.

use teetap_kit::codec::Variant;
use teetap_wire::Proto;

/// The unread rest of an input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    pub(crate) fn word(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        if bound == 0 {
            return 0;
        }
        usize::from(self.byte()) % bound
    }

    pub(crate) fn token(&mut self) -> [u8; 4] {
        [self.byte(), self.byte(), self.byte(), self.byte()]
    }

    /// Returns bytes with a length prefix of two bytes; all remaining bytes if there are fewer.
    pub(crate) fn bytes(&mut self) -> &'a [u8] {
        let len = usize::from(self.word()).min(self.0.len());
        let (bytes, rest) = self.0.split_at(len);
        self.0 = rest;
        bytes
    }

    pub(crate) fn rest(self) -> &'a [u8] {
        self.0
    }

    pub(crate) fn proto(&mut self) -> Proto {
        Proto::ALL[self.below(Proto::ALL.len())]
    }

    pub(crate) fn variant(&mut self) -> Variant {
        Variant::ALL[self.below(Variant::ALL.len())]
    }
}

/// Returns the second codec's variant for a protocol.
pub(crate) fn variant_of(proto: Proto) -> Variant {
    match proto {
        Proto::V6 => Variant::V6,
        Proto::V65 => Variant::V65,
        Proto::Ddnet => Variant::Ddnet,
        Proto::V7 => Variant::V7,
    }
}
