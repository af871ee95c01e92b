//! Inputs and snapshots as players make them: the game's messages, with made-up contents of the usual kind.
//!
//! The costs depend on their sizes, and on bytes that compress like real ones (many zeros, small differences, a
//! few large numbers). The recorded sessions of the project are of one or two players and have only small snapshots.
//!
//! Sources: Teeworlds 0.6.5 and 0.7.5 `client.cpp` (`SendInput`), `server.cpp` (`DoSnapshot`), `snapshot.cpp`
//! (`CreateDelta`), `compression.cpp` (`Pack`).

use teetap_kit::link::Random;

/// An input: the last snapshot's tick, the tick it is for, the size, and the numbers of the player's input, mostly
/// small. The game has ten of them; here are twenty, so that a clear datagram has about 40 bytes.
pub(crate) fn input(id: i32, tick: i32, random: &mut Random) -> Vec<u8> {
    let mut message = Vec::new();
    for value in [id, tick, tick + 3, 80] {
        put_int(value, &mut message);
    }
    let direction = small(random, 3) - 1;
    let (x, y) = (small(random, 800) - 400, small(random, 800) - 400);
    let (jump, fire, hook) = (small(random, 2), small(random, 64), small(random, 2));
    for value in [direction, x, y, jump, fire, hook, 1, 0, 0, 0] {
        put_int(value, &mut message);
    }
    message.extend([0; 10]);
    // The time since the last snapshot, in milliseconds.
    put_int(small(random, 40), &mut message);
    message
}

/// A snapshot in one part: ticks, checksum, size, and differences of items until it has about `size` bytes.
pub(crate) fn snapshot(id: i32, tick: i32, size: usize, random: &mut Random) -> Vec<u8> {
    /// Numbers of a character.
    const CHARACTER: usize = 22;
    let mut delta = Vec::new();
    let mut items = 0;
    let mut body = Vec::new();
    while body.len() + 16 < size {
        items += 1;
        // The kind of item and its number.
        put_int(9, &mut body);
        put_int(items - 1, &mut body);
        for place in 0..CHARACTER {
            put_int(difference(place, random), &mut body);
        }
    }
    body.truncate(size.saturating_sub(16));
    for value in [0, items, 0] {
        put_int(value, &mut delta);
    }
    delta.extend(body);
    let mut message = Vec::new();
    let checksum = i32::from_le_bytes(random.token()) & 0x00ff_ffff;
    let length = i32::try_from(delta.len()).unwrap_or(0);
    for value in [id, tick, 2, checksum, length] {
        put_int(value, &mut message);
    }
    message.extend(delta);
    message
}

/// The difference of one number of a character between two snapshots.
pub(crate) fn difference(place: usize, random: &mut Random) -> i32 {
    match (place, random.below(10)) {
        // The tick of the last movement.
        (0, _) => 2,
        // Position, speed, hook.
        (1..=4, 0..=6) => small(random, 80) - 40,
        (1..=4, _) => small(random, 2000) - 1000,
        (_, 0) => small(random, 20) - 10,
        (_, 1) => small(random, 500) - 250,
        _ => 0,
    }
}

fn small(random: &mut Random, bound: u64) -> i32 {
    i32::try_from(random.below(bound)).unwrap_or(0)
}

/// Appends a number in the game's packed form: sign and six bits, then seven at a time.
fn put_int(value: i32, out: &mut Vec<u8>) {
    let sign = value < 0;
    let mut rest = if sign { !value } else { value };
    let mut byte = u8::from(sign) << 6 | low(rest, 0x3f);
    rest >>= 6;
    while rest != 0 {
        out.push(byte | 0x80);
        byte = low(rest, 0x7f);
        rest >>= 7;
    }
    out.push(byte);
}

fn low(value: i32, mask: u8) -> u8 {
    value.to_le_bytes()[0] & mask
}
