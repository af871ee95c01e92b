//! A mutator without coverage feedback, seeded so that every finding can be reproduced.
//!
//! Mutations start from a corpus and mostly keep its structure: they write bytes that matter (flags, ids, lengths),
//! insert pieces of other inputs, and repeat or delete pieces.

use std::time::{Duration, Instant};

use teetap_kit::link::Random;

use crate::Target;

/// Maximum length of a mutated input in bytes.
const MAX_LEN: usize = 4096;
/// Maximum number of mutated inputs that are kept to be mutated again, in addition to the corpus.
const POOL: usize = 512;
/// Bytes that are likely to select another branch.
const SPECIAL: [u8; 20] = [
    0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x08, 0x10, 0x18, 0x20, 0x21, 0x40, 0x48, 0x78, 0x7f, 0x80, 0x90,
    0xc0, 0xfe, 0xff,
];

/// The amount of mutation.
#[derive(Clone, Copy, Debug)]
pub enum Effort {
    /// A number of inputs.
    Rounds(u32),
    /// As many inputs as can be run in this time.
    Time(Duration),
}

/// Runs `target` on mutations of `corpus` and returns their number. Passes each input to `finding` before running it.
pub fn run(
    target: Target,
    corpus: &[Vec<u8>],
    seed: u64,
    effort: Effort,
    mut finding: impl FnMut(&[u8]),
) -> u64 {
    let mut random = Random::new(seed);
    let mut pool: Vec<Vec<u8>> = corpus.to_vec();
    if pool.is_empty() {
        pool.push(Vec::new());
    }
    let (begun, mut count) = (Instant::now(), 0);
    loop {
        let enough = match effort {
            Effort::Rounds(rounds) => count >= u64::from(rounds),
            Effort::Time(time) => begun.elapsed() >= time,
        };
        if enough {
            return count;
        }
        let mut input = pick(&mut random, &pool).clone();
        for _ in 0..1 + random.below(5) {
            let other = pick(&mut random, &pool);
            mutate(&mut random, &mut input, other);
        }
        input.truncate(MAX_LEN);
        finding(&input);
        target(&input);
        count += 1;
        // Without coverage to guide the choice, inputs to mutate again are chosen at random.
        if random.chance(0.02) {
            if pool.len() < corpus.len() + POOL {
                pool.push(input);
            } else {
                let at = corpus.len() + below(&mut random, POOL);
                if let Some(place) = pool.get_mut(at) {
                    *place = input;
                }
            }
        }
    }
}

fn below(random: &mut Random, bound: usize) -> usize {
    usize::try_from(random.below(bound as u64)).unwrap_or(0)
}

fn pick<'a>(random: &mut Random, pool: &'a [Vec<u8>]) -> &'a Vec<u8> {
    &pool[below(random, pool.len())]
}

fn byte(random: &mut Random) -> u8 {
    if random.chance(0.6) {
        SPECIAL[below(random, SPECIAL.len())]
    } else {
        random.bits().to_be_bytes()[0]
    }
}

/// Applies one random change to `input`.
fn mutate(random: &mut Random, input: &mut Vec<u8>, other: &[u8]) {
    let len = input.len();
    // Headers are at the beginning.
    let reach = if random.chance(0.5) { len.min(24) } else { len };
    let at = below(random, reach);
    let size = below(random, 1 + (len - at).min(64));
    match random.below(9) {
        0 | 1 if len > 0 => input[at] = byte(random),
        2 if len > 0 => input[at] ^= 1 << random.below(8),
        3 if len > 0 => input[at] = input[at].wrapping_add(if random.chance(0.5) { 1 } else { 0xff }),
        4 => {
            let new: Vec<u8> = (0..1 + random.below(8)).map(|_| byte(random)).collect();
            input.splice(at..at, new);
        }
        5 if len > 0 => drop(input.drain(at..at + size)),
        6 => {
            let piece = input[at..at + size].to_vec();
            input.splice(at..at, piece);
        }
        7 if !other.is_empty() => {
            let from = below(random, other.len());
            let until = from + below(random, 1 + (other.len() - from).min(400));
            input.splice(at..at + size, other[from..until].iter().copied());
        }
        _ => {
            let more = below(random, 200);
            input.resize(len + more, byte(random));
        }
    }
}
