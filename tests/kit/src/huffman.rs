//! The game's Huffman coding, implemented slowly and plainly: a tree that is walked bit by bit.
//!
//! Law: independent of the product's own coder, so that both cannot share a mistake. Speed does not matter here.
//!
//! Sources: the frequency table is the one of `CNetBase` (Teeworlds 0.6.5 network.cpp, 0.7 and DDNet huffman.cpp:
//! the same 256 numbers); the end symbol has frequency 1 whatever the table says (0.6.5 huffman.cpp `Init`).

use std::sync::LazyLock;

/// The end-of-data symbol.
const END: usize = 256;

/// The number of times that each byte is assumed to occur.
#[rustfmt::skip]
const FREQUENCIES: [u64; 256] = [
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

static TREE: LazyLock<Tree> = LazyLock::new(Tree::new);

/// The form of the end of a compressed stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// `bits / 8 + 1` bytes: a zero byte follows if the bits end on a byte boundary. All releases up to DDNet 19.x.
    Padded,
    /// Only the bytes that hold bits. DDNet 20.0 and later.
    Tight,
}

/// Compresses `data`, the end symbol included.
pub fn compress(data: &[u8], ending: Ending) -> Vec<u8> {
    let mut bits: Vec<bool> = Vec::with_capacity(data.len() * 8);
    for byte in data {
        bits.extend(TREE.code(usize::from(*byte)));
    }
    bits.extend(TREE.code(END));
    let mut out: Vec<u8> = bits
        .chunks(8)
        .map(|eight| {
            eight
                .iter()
                .enumerate()
                .fold(0, |byte, (place, bit)| byte | (u8::from(*bit) << place))
        })
        .collect();
    if ending == Ending::Padded && bits.len().is_multiple_of(8) {
        out.push(0);
    }
    out
}

/// Decompresses a stream; bytes after the end symbol are ignored.
///
/// Returns `None` if the bits run out before the end symbol, or if the result is longer than `limit` bytes. Decoders
/// before DDNet 20 read zeros after the end instead, so that a stream without an end symbol is refused too (transport
/// facts: 0.6.5 huffman.cpp, DDNet huffman.cpp).
pub fn decompress(data: &[u8], limit: usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut node = &TREE.root;
    for byte in data {
        for place in 0..8 {
            if let Node::Fork(children) = node {
                let [zero, one] = &**children;
                node = if byte >> place & 1 == 0 { zero } else { one };
            }
            if let Node::Leaf(symbol) = node {
                let Ok(byte) = u8::try_from(*symbol) else {
                    return Some(out);
                };
                if out.len() == limit {
                    return None;
                }
                out.push(byte);
                node = &TREE.root;
            }
        }
    }
    None
}

enum Node {
    Leaf(usize),
    Fork(Box<[Node; 2]>),
}

struct Tree {
    root: Node,
    /// Code of each symbol, first bit first.
    codes: Vec<Vec<bool>>,
}

impl Tree {
    /// Joins the two rarest nodes until one is left; the rarest becomes child 0.
    /// Equal frequencies keep their order, and a joined node is younger than its equals.
    fn new() -> Self {
        let leaves = FREQUENCIES.iter().copied().chain([1]);
        let mut nodes: Vec<(u64, Node)> = leaves
            .enumerate()
            .map(|(symbol, often)| (often, Node::Leaf(symbol)))
            .collect();
        let root = loop {
            nodes.sort_by_key(|(often, _)| std::cmp::Reverse(*often));
            let Some((rarest, zero)) = nodes.pop() else {
                break Node::Leaf(END);
            };
            let Some((rarer, one)) = nodes.pop() else {
                break zero;
            };
            nodes.push((rarest + rarer, Node::Fork(Box::new([zero, one]))));
        };
        let mut codes = vec![Vec::new(); END + 1];
        spell(&root, &mut Vec::new(), &mut codes);
        Self { root, codes }
    }

    fn code(&self, symbol: usize) -> impl Iterator<Item = bool> {
        self.codes.get(symbol).into_iter().flatten().copied()
    }
}

fn spell(node: &Node, path: &mut Vec<bool>, codes: &mut [Vec<bool>]) {
    match node {
        Node::Leaf(symbol) => {
            if let Some(code) = codes.get_mut(*symbol) {
                code.clone_from(path);
            }
        }
        Node::Fork(children) => {
            let [zero, one] = &**children;
            for (bit, child) in [(false, zero), (true, one)] {
                path.push(bit);
                spell(child, path, codes);
                path.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bits: impl Iterator<Item = bool>) -> String {
        bits.map(|bit| if bit { '1' } else { '0' }).collect()
    }

    #[test]
    fn known_codes() {
        assert_eq!(text(TREE.code(0)), "1");
        assert_eq!(text(TREE.code(0x80)), "00000");
        assert_eq!(text(TREE.code(END)), "010100011101100");
        let longest = (0..=END).map(|symbol| TREE.code(symbol).count()).max();
        assert_eq!(longest, Some(15));
        assert_eq!(TREE.code(0x77).count(), 15);
    }

    #[test]
    fn known_streams() {
        let clear = [0, 1, 0, 2, 0, 0x80, 0];
        let packed = [0xb1, 0x08, 0x2a, 0x6e, 0x00];
        assert_eq!(compress(&clear, Ending::Padded), packed);
        assert_eq!(compress(&[], Ending::Padded), [0x8a, 0x1b]);
        assert_eq!(decompress(&packed, 7).as_deref(), Some(&clear[..]));
        assert_eq!(decompress(&[0x8a, 0x1b, 0x55], 0).as_deref(), Some(&[][..]));
    }

    #[test]
    fn every_byte_comes_back_in_both_endings() {
        let clear: Vec<u8> = (0..=255).chain((0..=255).rev()).collect();
        for ending in [Ending::Padded, Ending::Tight] {
            assert_eq!(
                decompress(&compress(&clear, ending), clear.len()).as_ref(),
                Some(&clear)
            );
        }
    }

    #[test]
    fn the_endings_differ_only_on_a_byte_boundary() {
        // The end symbol has 15 bits and a zero byte 1, so a single zero makes 16.
        assert_eq!(compress(&[0], Ending::Padded).len(), 3);
        assert_eq!(compress(&[0], Ending::Tight).len(), 2);
        assert_eq!(compress(&[], Ending::Padded), compress(&[], Ending::Tight));
    }

    #[test]
    fn refuses_what_does_not_end_or_fit() {
        assert_eq!(decompress(&[], 10), None);
        assert_eq!(decompress(&[0; 9], 1000), None);
        let packed = compress(&[7; 10], Ending::Padded);
        assert_eq!(decompress(&packed, 9), None);
        assert!(decompress(&packed, 10).is_some());
    }
}
