//! Bytes as a hex string.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Bytes that are written as lower-case hex and read from hex of either case.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Hex(pub Box<[u8]>);

/// The two hex digits of each byte value.
const PAIRS: [[u8; 2]; 256] = pairs();

#[expect(
    clippy::indexing_slicing,
    reason = "checked when the table is made, which is when this is compiled"
)]
const fn pairs() -> [[u8; 2]; 256] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut pairs = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        pairs[byte] = [DIGITS[byte >> 4], DIGITS[byte & 0x0f]];
        byte += 1;
    }
    pairs
}

/// Returns two digits for each byte. Uses a table, because this conversion is half of the cost of writing a
/// line of the input log.
fn text(bytes: &[u8]) -> String {
    let mut text = vec![0; 2 * bytes.len()];
    for (pair, byte) in text.as_chunks_mut::<2>().0.iter_mut().zip(bytes) {
        *pair = PAIRS.get(usize::from(*byte)).copied().unwrap_or_default();
    }
    String::from_utf8(text).unwrap_or_default()
}

/// Writes bytes as [`Hex`]; for `#[serde(with)]`.
///
/// # Errors
/// Returns the errors of the serialiser.
pub(crate) fn serialize<S: Serializer>(bytes: &impl AsRef<[u8]>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&text(bytes.as_ref()))
}

/// Reads bytes from [`Hex`]; for `#[serde(with)]`.
///
/// # Errors
/// If the text is not hex; otherwise the errors of the deserialiser.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<[u8]>, D::Error> {
    Hex::deserialize(deserializer).map(|hex| hex.0)
}

impl Hex {
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
        f.write_str(&text(&self.0))
    }
}

impl fmt::Debug for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hex({self})")
    }
}

impl Serialize for Hex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(&self.0, serializer)
    }
}

impl<'de> Deserialize<'de> for Hex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Digits)
    }
}

/// Parses [`Hex`] without copying the text.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_written_in_lower_case_and_read_in_either() {
        let bytes: Vec<u8> = (0..=u8::MAX).collect();
        let lower: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(text(&bytes), lower);
        let read = |text: &str| Hex::parse(text).map(|hex| hex.0.into_vec());
        assert_eq!(read(&lower).as_ref(), Some(&bytes), "lower case");
        assert_eq!(read(&lower.to_uppercase()), Some(bytes), "upper case");
        assert_eq!(read(""), Some(Vec::new()), "no byte");
        for wrong in ["0", "012", "0g", "G0", "/0", ":0", "@0", "`0", "+1", " 1", "é"] {
            assert_eq!(read(wrong), None, "{wrong:?} is not hex");
        }
    }
}
