//! The messages of 0.6 in a join without tokens.
//!
//! Sources: `protocol.h` and `compression.cpp` of Teeworlds 0.6.5; `network_server.cpp` of 0.6.5 and of DDNet 20.1, which
//! hide the proof of the client's address in them.

/// System message: the map to play.
pub const MAP_CHANGE: i32 = 2;
/// System message: a piece of the map.
pub(crate) const MAP_DATA: i32 = 3;
/// System message: the server is ready for the client's start info.
pub const CON_READY: i32 = 4;
/// System message: a snapshot in which nothing has changed.
pub const SNAP_EMPTY: i32 = 6;
/// System message: the client has loaded the map.
pub const READY: i32 = 14;
/// System message: the client's input, with the tick of the last snapshot that the client received.
pub const INPUT: i32 = 16;

/// Game message: name and looks.
const CL_START_INFO: i32 = 20;

/// Appends an int: the sign and six bits in the first byte, then seven bits per byte until no bits are left.
pub fn put_int(out: &mut Vec<u8>, value: i32) {
    let sign = if value < 0 { 0x40 } else { 0 };
    let mut rest = (if value < 0 { !value } else { value }).cast_unsigned();
    let more = |rest: u32| if rest > 0 { 0x80 } else { 0 };
    let low = |rest: u32, mask: u8| rest.to_le_bytes()[0] & mask;
    let first = low(rest, 0x3f);
    rest >>= 6;
    out.push(sign | first | more(rest));
    while rest > 0 {
        let next = low(rest, 0x7f);
        rest >>= 7;
        out.push(next | more(rest));
    }
}

/// Splits off an int at the start. `None` if it has no end.
pub fn int(bytes: &[u8]) -> Option<(i32, &[u8])> {
    let (&first, mut rest) = bytes.split_first()?;
    let mut value = u32::from(first & 0x3f);
    let (mut more, mut shift) = (first & 0x80 != 0, 6);
    while more && shift < 32 {
        let (&next, behind) = rest.split_first()?;
        value |= u32::from(next & 0x7f) << shift;
        (more, shift, rest) = (next & 0x80 != 0, shift + 7, behind);
    }
    let value = value.cast_signed();
    Some((if first & 0x40 == 0 { value } else { !value }, rest))
}

/// Splits off the id of a system message; `None` for a game message.
pub fn system(message: &[u8]) -> Option<(i32, &[u8])> {
    let (id, rest) = int(message)?;
    (id & 1 == 1).then_some((id >> 1, rest))
}

/// Returns a map change with the map's name, crc and size.
pub fn map_change(name: &str, crc: u32, size: i32) -> Vec<u8> {
    let mut message = of_system(MAP_CHANGE, &[]);
    message.extend(name.as_bytes());
    message.push(0);
    put_int(&mut message, crc.cast_signed());
    put_int(&mut message, size);
    message
}

/// Returns map data that contains the whole map.
pub fn map_data(crc: u32, map: &[u8]) -> Vec<u8> {
    let size = i32::try_from(map.len()).unwrap_or(0);
    let mut message = of_system(MAP_DATA, &[1, crc.cast_signed(), 0, size]);
    message.extend(map);
    message
}

/// Returns the server's answer to [`ready`], which lets the client send its start info.
pub fn con_ready() -> Vec<u8> {
    of_system(CON_READY, &[])
}

/// Returns an empty snapshot of `tick`. `delta` is the distance to its base, `tick + 1` if it has none.
pub fn snap_empty(tick: i32, delta: i32) -> Vec<u8> {
    of_system(SNAP_EMPTY, &[tick, delta])
}

/// Returns the message of a client that has loaded the map.
pub fn ready() -> Vec<u8> {
    of_system(READY, &[])
}

/// Returns a client's name, clan, country, skin and colours.
pub fn start_info(name: &str) -> Vec<u8> {
    let mut message = Vec::new();
    put_int(&mut message, CL_START_INFO << 1);
    for text in [name, ""] {
        message.extend(text.as_bytes());
        message.push(0);
    }
    put_int(&mut message, -1);
    message.extend(b"default\0");
    for value in [0, 65_408, 65_408] {
        put_int(&mut message, value);
    }
    message
}

/// Returns an input of a player who stands still; `tick` is the tick of the last snapshot.
pub fn input(tick: i32) -> Vec<u8> {
    // The intended tick, the size in bytes, then direction, target, jump, fire, hook, flags and weapons.
    of_system(INPUT, &[tick, tick + 7, 40, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0])
}

/// Returns the tick that an input acks; `None` for any other message.
pub fn acked_tick(message: &[u8]) -> Option<i32> {
    let (id, rest) = system(message)?;
    (id == INPUT).then(|| int(rest).map(|(tick, _)| tick))?
}

fn of_system(id: i32, ints: &[i32]) -> Vec<u8> {
    let mut message = Vec::new();
    for value in std::iter::once(&(id << 1 | 1)).chain(ints) {
        put_int(&mut message, *value);
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ints_are_those_of_the_game() {
        for (value, bytes) in [
            (0, &[0][..]),
            (63, &[0x3f]),
            (64, &[0x80, 0x01]),
            (-1, &[0x40]),
            (-65, &[0xc0, 0x01]),
            (65_408, &[0x80, 0xfe, 0x07]),
            (i32::MAX, &[0xbf, 0xff, 0xff, 0xff, 0x0f]),
            (i32::MIN, &[0xff, 0xff, 0xff, 0xff, 0x0f]),
        ] {
            let mut out = Vec::new();
            put_int(&mut out, value);
            assert_eq!(out, bytes, "{value}");
            assert_eq!(int(&out), Some((value, &[][..])));
        }
        assert_eq!(int(&[0x80]), None);
    }
}
