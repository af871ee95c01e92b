//! Inputs and snapshots: messages of the game with invented contents that resemble real ones.
//!
//! Costs depend on the sizes of messages and on their compressibility, so the contents compress like real ones (many
//! zeros, small differences, a few large numbers). The recorded sessions of the project have one or two players, and
//! so only small snapshots.
//!
//! Sources: Teeworlds 0.6.5 and 0.7.5 `client.cpp` (`SendInput`), `server.cpp` (`DoSnapshot`), `snapshot.cpp`
//! (`CreateDelta`), `compression.cpp` (`Pack`).

use teetap_kit::link::Random;

/// Returns an input: the tick of the last snapshot, the tick for which it is intended, the size, and the values of
/// the player's input, most of which are small. The game has ten values. Here there are twenty, so that a clear
/// datagram has about 40 bytes.
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
    // Milliseconds since the last snapshot.
    put_int(small(random, 40), &mut message);
    message
}

/// Returns a snapshot in one part: ticks, checksum, size, and item differences, with about `size` bytes.
pub(crate) fn snapshot(id: i32, tick: i32, size: usize, random: &mut Random) -> Vec<u8> {
    /// Number of values of a character.
    const CHARACTER: usize = 22;
    let mut delta = Vec::new();
    let mut items = 0;
    let mut body = Vec::new();
    while body.len() + 16 < size {
        items += 1;
        // The type and the id of the item.
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

/// Returns the difference of one value of a character between two snapshots.
pub(crate) fn difference(place: usize, random: &mut Random) -> i32 {
    match (place, random.below(10)) {
        // Tick of the last movement.
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

/// Appends a number in the game's packed form: the sign and six bits, then seven bits per byte.
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
