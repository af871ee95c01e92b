//! The game's Huffman tree and the tables derived from it, all evaluated at compile time.
//!
//! The tree is built from 256 byte frequencies and an end-of-stream symbol of frequency 1. The two rarest nodes are
//! joined until one node is left; nodes of equal frequency are ordered by a stable descending sort (Teeworlds 0.6.5
//! huffman.cpp). The tree is the same in all versions.

/// The end-of-stream symbol.
pub(super) const EOF: usize = 256;
/// The length of its code in bits.
pub(super) const EOF_BITS: usize = 15;

const SYMBOLS: usize = 257;
const NODES: usize = 2 * SYMBOLS - 1;
const ROOT: u16 = 512;
const _: () = assert!(ROOT as usize == NODES - 1 && codes()[EOF].len as usize == EOF_BITS);

/// The number of bits that one table look-up covers. Longer codes are rare in real traffic, and each costs as much as
/// several look-ups. A table for 13 bits with entries of 4 bytes has 32 KiB, which fits into a first-level cache.
pub(super) const WINDOW: u32 = 13;
/// The number of entries of the table.
pub(super) const WINDOW_SIZE: usize = 1 << WINDOW;
/// The maximum number of symbols that one look-up yields.
pub(super) const BATCH: usize = 8;
/// The maximum number of symbols of one look-up that can be other than zero bytes. They precede the zero bytes.
const NAMED: u32 = 2;

/// The frequency of each byte in the game's traffic, as measured by its authors. Zero is counted as 2^30.
#[rustfmt::skip]
const FREQUENCIES: [u32; 256] = [
    1 << 30, 4545, 2657, 431, 1950, 919, 444, 482, 2244, 617, 838, 542, 715, 1814, 304, 240,
    754, 212, 647, 186, 283, 131, 146, 166, 543, 164, 167, 136, 179, 859, 363, 113,
    157, 154, 204, 108, 137, 180, 202, 176, 872, 404, 168, 134, 151, 111, 113, 109,
    120, 126, 129, 100, 41, 20, 16, 22, 18, 18, 17, 19, 16, 37, 13, 21,
    362, 166, 99, 78, 95, 88, 81, 70, 83, 284, 91, 187, 77, 68, 52, 68,
    59, 66, 61, 638, 71, 157, 50, 46, 69, 43, 11, 24, 13, 19, 10, 12,
    12, 20, 14, 9, 20, 20, 10, 10, 15, 15, 12, 12, 7, 19, 15, 14,
    13, 18, 35, 19, 17, 14, 8, 5, 15, 17, 9, 15, 14, 18, 8, 10,
    2173, 134, 157, 68, 188, 60, 170, 60, 194, 62, 175, 71, 148, 67, 167, 78,
    211, 67, 156, 69, 1674, 90, 174, 53, 147, 89, 181, 51, 174, 63, 163, 80,
    167, 94, 128, 122, 223, 153, 218, 77, 200, 110, 190, 73, 174, 69, 145, 66,
    277, 143, 141, 60, 136, 53, 180, 57, 142, 57, 158, 61, 166, 112, 152, 92,
    26, 22, 21, 28, 20, 26, 30, 21, 32, 27, 20, 17, 23, 21, 30, 22,
    22, 21, 27, 25, 17, 27, 23, 18, 39, 26, 15, 21, 12, 18, 18, 27,
    20, 18, 15, 19, 11, 17, 33, 12, 18, 15, 19, 18, 16, 26, 17, 18,
    9, 10, 25, 22, 22, 17, 20, 16, 6, 16, 15, 20, 14, 18, 24, 335,
];

/// A code word of `len` bits. Bit 0 is sent first.
#[derive(Clone, Copy)]
pub(super) struct Code {
    pub(super) bits: u16,
    pub(super) len: u8,
}

/// The code word of every symbol.
pub(super) static CODES: [Code; SYMBOLS] = codes();

/// The meaning of the next [`WINDOW`] bits of a stream.
pub(super) static STEPS: [WindowEntry; WINDOW_SIZE] = steps();

/// The children of each node by the next bit. Nodes below [`SYMBOLS`] are leaves, whose number is the symbol.
static TREE: [[u16; 2]; NODES] = grow();

/// The decoded contents of a window of bits: up to [`BATCH`] whole symbols, or the start of a symbol that is longer
/// than the window. Only the first [`NAMED`] symbols can differ from zero, by far the most frequent byte.
///
/// From bit 0: number of bits of all symbols (8), number of symbols (8), then the first symbols, one byte each. If the
/// window contains no whole symbol, the number of the tree node at the end of the window is stored in place of the
/// symbols.
#[derive(Clone, Copy)]
pub(super) struct WindowEntry(u32);

impl WindowEntry {
    /// Returns the number of bits of all symbols; [`WINDOW`] if there are none.
    pub(super) const fn bits(self) -> u32 {
        self.0 & 0xff
    }

    /// Drops the bits of all symbols from `bits`.
    pub(super) const fn skip(self, bits: u64) -> u64 {
        // A shift uses only the low six bits of its count, so that nothing needs to be masked.
        bits.wrapping_shr(self.0)
    }

    /// Returns the number of whole symbols, 0 to [`BATCH`].
    pub(super) const fn count(self) -> usize {
        (self.0 >> 8 & 0xff) as usize
    }

    /// Returns the symbols, followed by zeros.
    pub(super) const fn symbols(self) -> [u8; BATCH] {
        ((self.0 >> 16) as u64).to_le_bytes()
    }

    /// Returns the tree node at the end of a window that contains no whole symbol.
    pub(super) const fn node(self) -> u16 {
        (self.0 >> 16) as u16
    }
}

/// Returns the step for the low [`WINDOW`] bits of `bits`.
#[expect(clippy::cast_possible_truncation, reason = "masked to the table's size")]
pub(super) fn step(bits: u64) -> WindowEntry {
    STEPS
        .get(bits as usize & (WINDOW_SIZE - 1))
        .copied()
        .unwrap_or(WindowEntry(0))
}

/// Returns the child of the inner node `node` for the lowest bit of `bits`.
pub(super) fn descend(node: u16, bits: u64) -> u16 {
    let [zero, one] = TREE.get(usize::from(node)).copied().unwrap_or_default();
    if bits & 1 == 0 { zero } else { one }
}

/// Returns true if `node` is a symbol.
pub(super) const fn is_leaf(node: u16) -> bool {
    (node as usize) < SYMBOLS
}

#[expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "runs in the compiler, on constants"
)]
const fn grow() -> [[u16; 2]; NODES] {
    let mut tree = [[0; 2]; NODES];
    // The nodes still to be joined, most frequent first; among equals the older first.
    let mut open = [(0u32, 0u16); SYMBOLS];
    let mut count = 0;
    while count < SYMBOLS {
        let frequency = if count == EOF { 1 } else { FREQUENCIES[count] };
        insert(&mut open, count, (frequency, count as u16));
        count += 1;
    }
    let mut node = SYMBOLS;
    while count > 1 {
        let (rare, rarest) = (open[count - 2], open[count - 1]);
        tree[node] = [rarest.1, rare.1];
        insert(&mut open, count - 2, (rare.0 + rarest.0, node as u16));
        count -= 1;
        node += 1;
    }
    tree
}

/// Inserts `item` into the first `count` entries, after all that are at least as frequent.
#[expect(clippy::indexing_slicing, reason = "runs in the compiler, on constants")]
const fn insert(open: &mut [(u32, u16); SYMBOLS], count: usize, item: (u32, u16)) {
    let mut at = count;
    while at > 0 && open[at - 1].0 < item.0 {
        open[at] = open[at - 1];
        at -= 1;
    }
    open[at] = item;
}

#[expect(clippy::indexing_slicing, reason = "runs in the compiler, on constants")]
const fn codes() -> [Code; SYMBOLS] {
    let tree = grow();
    let mut all = [Code { bits: 0, len: 0 }; NODES];
    let mut codes = [Code { bits: 0, len: 0 }; SYMBOLS];
    // A parent has a higher number than its children.
    let mut node = NODES - 1;
    while node >= SYMBOLS {
        let Code { bits, len } = all[node];
        let [zero, one] = tree[node];
        all[zero as usize] = Code { bits, len: len + 1 };
        all[one as usize] = Code {
            bits: bits | 1 << len,
            len: len + 1,
        };
        node -= 1;
    }
    let mut symbol = 0;
    while symbol < SYMBOLS {
        codes[symbol] = all[symbol];
        symbol += 1;
    }
    codes
}

#[expect(clippy::indexing_slicing, reason = "runs in the compiler, on constants")]
const fn steps() -> [WindowEntry; WINDOW_SIZE] {
    let tree = grow();
    let mut steps = [WindowEntry(0); WINDOW_SIZE];
    let mut window = 0;
    while window < WINDOW_SIZE {
        steps[window] = step_of(&tree, window);
        window += 1;
    }
    steps
}

#[expect(clippy::indexing_slicing, reason = "runs in the compiler, on constants")]
const fn step_of(tree: &[[u16; 2]; NODES], window: usize) -> WindowEntry {
    let (mut symbols, mut count, mut total) = (0, 0, 0);
    let mut node = ROOT;
    let mut used = 0;
    while used < WINDOW && (count as usize) < BATCH {
        node = tree[node as usize][window >> used & 1];
        used += 1;
        if (node as usize) == EOF {
            break;
        }
        if is_leaf(node) {
            if count < NAMED {
                symbols |= (node as u32) << (8 * count);
            } else if node != 0 {
                break;
            }
            count += 1;
            total = used;
            node = ROOT;
        }
    }
    if count == 0 {
        symbols = node as u32;
        total = used;
    }
    WindowEntry(symbols << 16 | count << 8 | total)
}
