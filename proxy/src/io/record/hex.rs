//! Bytes as a hex string.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Bytes that are written as lower-case hex and read from hex of either case.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Hex(pub Box<[u8]>);

const DIGITS: &[u8; 16] = b"0123456789abcdef";

impl Hex {
    fn text(&self) -> String {
        let digit = |nibble: u8| char::from(DIGITS.get(usize::from(nibble)).copied().unwrap_or_default());
        let mut text = String::with_capacity(2 * self.0.len());
        for byte in &self.0 {
            text.push(digit(byte >> 4));
            text.push(digit(byte & 0x0f));
        }
        text
    }

    fn parse(text: &str) -> Option<Self> {
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        let bytes = pairs
            .iter()
            .map(|[high, low]| Some(nibble(*high)? << 4 | nibble(*low)?));
        rest.is_empty().then(|| bytes.collect::<Option<_>>().map(Self))?
    }
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

impl From<&[u8]> for Hex {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }
}

impl fmt::Display for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl fmt::Debug for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hex({self})")
    }
}

impl Serialize for Hex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl<'de> Deserialize<'de> for Hex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Digits)
    }
}

/// Reads [`Hex`] without a copy of the text.
struct Digits;

impl de::Visitor<'_> for Digits {
    type Value = Hex;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an even number of hex digits")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Hex, E> {
        Hex::parse(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}
