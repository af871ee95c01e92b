//! The variable-length integer encoding of all messages.
//!
//! `ESDDDDDD EDDDDDDD EDDDDDDD EDDDDDDD ....DDDD`: E = one more byte follows, S = the value is complemented, D =
//! data, least significant first.
//!
//! Law: decoding reports encodings that no sender of the game would produce, so that the oddity can be shown and the
//! bytes can be kept.

/// The maximum length of an int in bytes.
pub const MAX_LEN: usize = 5;

/// A decoded int and the form it was written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Int {
    /// The value as DDNet and 0.7 after 0.7.5 read it: only the low four bits of a fifth byte count.
    pub value: i32,
    /// The length in bytes, 1 to 5.
    pub len: usize,
    /// True if fewer bytes can hold the value.
    pub overlong: bool,
    /// True if a fifth byte has bits set above its low four. 0.6 and 0.7.5 read three of them as data, so their value
    /// differs.
    pub padding: bool,
}

/// Reads the int at the start of `bytes`. `None` if `bytes` ends before the int does.
#[must_use]
pub fn decode(bytes: &[u8]) -> Option<Int> {
    let (&first, rest) = bytes.split_first()?;
    let mut data = u32::from(first & 0x3f);
    let signed = |data: u32| match first & 0x40 {
        0 => data.cast_signed(),
        _ => !data.cast_signed(),
    };
    if first & 0x80 == 0 {
        // Most ints have one byte.
        return Some(Int {
            value: signed(data),
            len: 1,
            overlong: false,
            padding: false,
        });
    }
    let mut len = 1;
    let mut padding = false;
    let mut more = true;
    let mut rest = rest.iter();
    while more && len < MAX_LEN {
        let &byte = rest.next()?;
        let last = len == MAX_LEN - 1;
        let bits = byte & if last { 0x0f } else { 0x7f };
        padding = last && bits != byte;
        data |= u32::from(bits) << (7 * len - 1);
        len += 1;
        more = byte & 0x80 != 0;
    }
    Some(Int {
        value: signed(data),
        len,
        overlong: len > canonical_len(data),
        padding,
    })
}

/// Appends `value` as all reference writers do: in as few bytes as possible.
pub fn encode(value: i32, out: &mut Vec<u8>) {
    let sign = value >> 31;
    let mut data = (value ^ sign).cast_unsigned();
    let sign_bit = if sign == 0 { 0 } else { 0x40 };
    let more = |data: u32| if data == 0 { 0 } else { 0x80 };
    let low = (data & 0x3f) as u8;
    data >>= 6;
    out.push(low | sign_bit | more(data));
    while data != 0 {
        let low = (data & 0x7f) as u8;
        data >>= 7;
        out.push(low | more(data));
    }
}

/// Returns the number of bytes that a writer uses for these 31 bits of data.
const fn canonical_len(data: u32) -> usize {
    match data {
        0..=0x3f => 1,
        0x40..=0x1fff => 2,
        0x2000..=0x000f_ffff => 3,
        0x0010_0000..=0x07ff_ffff => 4,
        _ => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const VECTORS: &[(i32, &[u8])] = &[
        (0, &[0x00]),
        (1, &[0x01]),
        (63, &[0x3f]),
        (64, &[0x80, 0x01]),
        (-1, &[0x40]),
        (-64, &[0x7f]),
        (-65, &[0xc0, 0x01]),
        (68, &[0x84, 0x01]),
        (8191, &[0xbf, 0x7f]),
        (8192, &[0x80, 0x80, 0x01]),
        (-8192, &[0xff, 0x7f]),
        ((1 << 20) - 1, &[0xbf, 0xff, 0x7f]),
        (1 << 20, &[0x80, 0x80, 0x80, 0x01]),
        ((1 << 27) - 1, &[0xbf, 0xff, 0xff, 0x7f]),
        (1 << 27, &[0x80, 0x80, 0x80, 0x80, 0x01]),
        (i32::MAX, &[0xbf, 0xff, 0xff, 0xff, 0x0f]),
        (i32::MIN, &[0xff, 0xff, 0xff, 0xff, 0x0f]),
    ];

    #[test]
    fn vectors_both_ways() {
        for &(value, bytes) in VECTORS {
            let mut out = Vec::new();
            encode(value, &mut out);
            assert_eq!(out, bytes, "{value}");
            let int = decode(bytes).unwrap();
            assert_eq!(
                int,
                Int {
                    value,
                    len: bytes.len(),
                    overlong: false,
                    padding: false
                }
            );
            for end in 0..bytes.len() {
                assert_eq!(decode(&bytes[..end]), None, "{value} cut at {end}");
            }
        }
    }

    #[test]
    fn oddities_are_reported() {
        assert_eq!(
            decode(&[0x80, 0x00]),
            Some(Int {
                value: 0,
                len: 2,
                overlong: true,
                padding: false
            })
        );
        assert_eq!(
            decode(&[0xc0, 0x00]),
            Some(Int {
                value: -1,
                len: 2,
                overlong: true,
                padding: false
            })
        );
        // The extend bit of the fifth byte is ignored: a sixth byte is never read.
        let five = [0xbf, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(
            decode(&five),
            Some(Int {
                value: i32::MAX,
                len: 5,
                overlong: false,
                padding: true
            })
        );
        let five = [0x80, 0x80, 0x80, 0x80, 0x70];
        assert_eq!(
            decode(&five),
            Some(Int {
                value: 0,
                len: 5,
                overlong: true,
                padding: true
            })
        );
    }

    proptest! {
        #[test]
        fn decode_undoes_encode(value in any::<i32>(), shift in 0u32..32, tail in any::<Vec<u8>>()) {
            let value = value >> shift;
            let mut out = Vec::new();
            encode(value, &mut out);
            let len = out.len();
            out.extend(tail);
            prop_assert_eq!(decode(&out), Some(Int { value, len, overlong: false, padding: false }));
        }

        #[test]
        fn only_canonical_bytes_encode_to_the_same_bytes(bytes in prop::collection::vec(any::<u8>(), 0..8)) {
            if let Some(int) = decode(&bytes) {
                let mut out = Vec::new();
                encode(int.value, &mut out);
                prop_assert_eq!(out == bytes[..int.len], !int.overlong && !int.padding);
            }
        }
    }
}
