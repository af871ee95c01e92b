//! DDNet's messages that send a client to another server: `redirect` and `reconnect`, both extended system messages.
//!
//! Source: DDNet 20.1 `protocol_ex_msgs.h`, `client.cpp` (`ProcessServerPacket`).

/// The id byte of an extended system message, and the UUID of `redirect@ddnet.org`.
const REDIRECT: [u8; 17] = [
    0x01, 0x4e, 0xfe, 0x40, 0x6a, 0x77, 0x74, 0x33, 0xf1, 0xbf, 0xde, 0x18, 0x06, 0xff, 0x6d, 0x15, 0x28,
];

/// The message `reconnect@ddnet.org`: the client connects again to the address it was given. It has no fields.
pub const RECONNECT: [u8; 17] = [
    0x01, 0x5f, 0x4d, 0x5d, 0xb7, 0x39, 0x47, 0x37, 0x11, 0xb0, 0x4e, 0x07, 0xa1, 0xff, 0x23, 0xc9, 0x70,
];

/// Returns the message `redirect@ddnet.org`: the client connects to this port of the same host.
pub fn redirect(port: u16) -> Vec<u8> {
    let mut data = REDIRECT.to_vec();
    let [low, middle, high] = [port & 0x3f, port >> 6 & 0x7f, port >> 13].map(|bits| bits.to_le_bytes()[0]);
    match (middle, high) {
        (0, 0) => data.push(low),
        (_, 0) => data.extend([low | 0x80, middle]),
        _ => data.extend([low | 0x80, middle | 0x80, high]),
    }
    data
}

/// Returns the port of a redirect; `None` for another message, or if no client would follow it.
pub fn redirect_port(data: &[u8]) -> Option<u16> {
    let int = data.strip_prefix(&REDIRECT)?;
    let wide = |byte: u8, shift: u32| u16::from(byte & 0x7f) << shift;
    match *int {
        [low, ..] if low < 0x40 => Some(u16::from(low)),
        [low, middle, ..] if low & 0xc0 == 0x80 && middle < 0x80 => {
            Some(u16::from(low & 0x3f) | wide(middle, 6))
        }
        [low, middle, high, ..] if low & 0xc0 == 0x80 && high < 0x08 => {
            Some(u16::from(low & 0x3f) | wide(middle, 6) | wide(high, 13))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_port_is_read_as_it_was_written() {
        for port in 0..=u16::MAX {
            assert_eq!(redirect_port(&redirect(port)), Some(port));
        }
        assert_eq!(redirect(8303)[17..], [0xaf, 0x81, 0x01]);
        assert_eq!(redirect_port(&redirect(8303)[..19]), None);
        assert_eq!(redirect_port(&RECONNECT), None);
    }
}
