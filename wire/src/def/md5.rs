//! The UUID of an extended message: version 3, that is the MD5 of a namespace and a name.
//!
//! What it is not: for anything that must stay secret. RFC 1321, RFC 9562; DDNet uuid_manager.cpp.

/// The namespace of all DDNet messages (uuid_manager.cpp).
const NAMESPACE: [u8; 16] = [
    0xe0, 0x5d, 0xda, 0xaa, 0xc4, 0xe6, 0x4c, 0xfb, 0xb6, 0x42, 0x5d, 0x48, 0xe8, 0x0c, 0x00, 0x29,
];

/// The first 32 bits of the fraction of |sin(step + 1)|.
#[rustfmt::skip]
const SINES: [u32; 64] = [
    0xd76a_a478, 0xe8c7_b756, 0x2420_70db, 0xc1bd_ceee, 0xf57c_0faf, 0x4787_c62a, 0xa830_4613, 0xfd46_9501,
    0x6980_98d8, 0x8b44_f7af, 0xffff_5bb1, 0x895c_d7be, 0x6b90_1122, 0xfd98_7193, 0xa679_438e, 0x49b4_0821,
    0xf61e_2562, 0xc040_b340, 0x265e_5a51, 0xe9b6_c7aa, 0xd62f_105d, 0x0244_1453, 0xd8a1_e681, 0xe7d3_fbc8,
    0x21e1_cde6, 0xc337_07d6, 0xf4d5_0d87, 0x455a_14ed, 0xa9e3_e905, 0xfcef_a3f8, 0x676f_02d9, 0x8d2a_4c8a,
    0xfffa_3942, 0x8771_f681, 0x6d9d_6122, 0xfde5_380c, 0xa4be_ea44, 0x4bde_cfa9, 0xf6bb_4b60, 0xbebf_bc70,
    0x289b_7ec6, 0xeaa1_27fa, 0xd4ef_3085, 0x0488_1d05, 0xd9d4_d039, 0xe6db_99e5, 0x1fa2_7cf8, 0xc4ac_5665,
    0xf429_2244, 0x432a_ff97, 0xab94_23a7, 0xfc93_a039, 0x655b_59c3, 0x8f0c_cc92, 0xffef_f47d, 0x8584_5dd1,
    0x6fa8_7e4f, 0xfe2c_e6e0, 0xa301_4314, 0x4e08_11a1, 0xf753_7e82, 0xbd3a_f235, 0x2ad7_d2bb, 0xeb86_d391,
];

const SHIFTS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

/// The UUID of the message with this name, such as `what-is@ddnet.tw`.
pub(super) fn uuid(name: &str) -> [u8; 16] {
    let mut hash = md5(&[&NAMESPACE[..], name.as_bytes()].concat());
    let [_, _, _, _, _, _, version, _, variant, ..] = &mut hash;
    *version = *version & 0x0f | 0x30;
    *variant = *variant & 0x3f | 0x80;
    hash
}

/// The UUID that a text such as `245e5097-9fe0-39d6-bf7d-9a29e1691e4c` names.
pub(super) fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let dashes = text
        .bytes()
        .enumerate()
        .all(|(at, byte)| (byte == b'-') == matches!(at, 8 | 13 | 18 | 23));
    if text.len() != 36 || !dashes || !text.is_ascii() {
        return None;
    }
    let hex: String = text.split('-').collect();
    let value = hex
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit())
        .then(|| u128::from_str_radix(&hex, 16));
    Some(value?.ok()?.to_be_bytes())
}

fn md5(data: &[u8]) -> [u8; 16] {
    let mut padded = data.to_vec();
    padded.push(0x80);
    padded.resize((padded.len() + 8).next_multiple_of(64) - 8, 0);
    padded.extend((data.len() as u64).wrapping_mul(8).to_le_bytes());
    let mut state = [0x6745_2301u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    for block in padded.chunks_exact(64) {
        round(&mut state, block);
    }
    let mut out = [0; 16];
    for (to, word) in out.chunks_exact_mut(4).zip(state) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    out
}

fn round(state: &mut [u32; 4], block: &[u8]) {
    let word = |at: usize| {
        let bytes = block.get(4 * at..).and_then(<[u8]>::first_chunk::<4>);
        bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
    };
    let [mut a, mut b, mut c, mut d] = *state;
    for (step, sine) in SINES.into_iter().enumerate() {
        let (mixed, at) = match step / 16 {
            0 => ((b & c) | (!b & d), step),
            1 => ((d & b) | (!d & c), 5 * step + 1),
            2 => (b ^ c ^ d, 3 * step + 5),
            _ => (c ^ (b | !d), 7 * step),
        };
        let shift = SHIFTS
            .get(step / 16)
            .and_then(|row| row.get(step % 4))
            .copied()
            .unwrap_or(0);
        let sum = a
            .wrapping_add(mixed)
            .wrapping_add(sine)
            .wrapping_add(word(at % 16));
        (a, d, c, b) = (d, c, b, b.wrapping_add(sum.rotate_left(shift)));
    }
    for (old, new) in state.iter_mut().zip([a, b, c, d]) {
        *old = old.wrapping_add(new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_of_names() {
        // Seen on the wire.
        for (name, text) in [
            ("what-is@ddnet.tw", "245e5097-9fe0-39d6-bf7d-9a29e1691e4c"),
            ("clientver@ddnet.tw", "8c001304-8461-3e47-8787-f672b3835bd4"),
            // The only one that takes two blocks.
            (
                "sv-vote-option-group-start@netmsg.ddnet.org",
                "969d127c-b768-390d-8879-6104993769fa",
            ),
        ] {
            assert_eq!(Some(uuid(name)), parse_uuid(text), "{name}");
        }
    }

    #[test]
    fn what_is_no_uuid() {
        for text in [
            "",
            "245e5097-9fe0-39d6-bf7d-9a29e1691e4",
            "245e5097-9fe0-39d6-bf7d-9a29e1691e4g",
            "245e50979fe0-39d6-bf7d-9a29-e1691e4c",
            "+45e5097-9fe0-39d6-bf7d-9a29e1691e4c",
        ] {
            assert_eq!(parse_uuid(text), None, "{text}");
        }
    }
}
