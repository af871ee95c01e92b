use super::*;
use proptest::prelude::*;

const FORMS: [Trailing; 2] = [Trailing::Always, Trailing::WhenPartial];

fn compressed(input: &[u8], trailing: Trailing) -> Vec<u8> {
    let mut out = Vec::new();
    compress(input, trailing, &mut out);
    out
}

fn inflated(input: &[u8]) -> Result<(Vec<u8>, Inflated), HuffmanError> {
    let mut out = [0; 2000];
    decompress(input, &mut out).map(|found| (out[..found.len].to_vec(), found))
}

fn end(input: &[u8], tail: [u8; 4]) -> Option<StreamEnd> {
    Stream::new(input).end(tail)
}

/// Generates game-like bytes: many zeros, some small numbers, anything.
fn payload() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![3 => Just(0u8), 2 => 0u8..0x20, 2 => any::<u8>()];
    prop::collection::vec(byte, 0..1390)
}

#[test]
fn check_vectors() {
    let clear = [0x00, 0x01, 0x00, 0x02, 0x00, 0x80, 0x00];
    for form in FORMS {
        assert_eq!(compressed(&clear, form), [0xb1, 0x08, 0x2a, 0x6e, 0x00]);
        assert_eq!(compressed(&[], form), [0x8a, 0x1b]);
    }
    let found = Inflated {
        len: 7,
        bits: 33,
        trailing: None,
        surplus: 0,
    };
    assert_eq!(
        inflated(&[0xb1, 0x08, 0x2a, 0x6e, 0x00]),
        Ok((clear.to_vec(), found))
    );
    // One bit of data and 15 of end: the two forms differ.
    assert_eq!(compressed(&[0], Trailing::Always), [0x15, 0x37, 0x00]);
    assert_eq!(compressed(&[0], Trailing::WhenPartial), [0x15, 0x37]);
}

#[test]
fn code_lengths() {
    assert_eq!((code(0).bits, code(0).len), (1, 1));
    assert_eq!((code(0x80).bits, code(0x80).len), (0, 5));
    assert_eq!(CODES.iter().map(|code| code.len).max(), Some(15));
    let longest: Vec<_> = (0..CODES.len())
        .filter(|&symbol| CODES[symbol].len == 15)
        .collect();
    assert_eq!(longest, [0x77, EOF]);
    let eof: String = (0..15)
        .map(|bit| if CODES[EOF].bits >> bit & 1 == 1 { '1' } else { '0' })
        .collect();
    assert_eq!(eof, "010100011101100");
    // A full binary tree: no bit pattern is without meaning.
    let kraft: u32 = CODES.iter().map(|code| 1 << (15 - code.len)).sum();
    assert_eq!(kraft, 1 << 15);
}

#[test]
fn ends_are_reported() {
    let end = |stream: &[u8]| inflated(stream).map(|(_, found)| (found.bits, found.trailing, found.surplus));
    assert_eq!(end(&[0x15, 0x37]), Ok((16, Some(Trailing::WhenPartial), 0)));
    assert_eq!(end(&[0x15, 0x37, 0]), Ok((16, Some(Trailing::Always), 0)));
    assert_eq!(end(&[0x15, 0x37, 0, 0]), Ok((16, Some(Trailing::Always), 1)));
    assert_eq!(end(&[0x15, 0x37, 9]), Ok((16, None, 1)));
    assert_eq!(end(&[0x8a, 0x1b]), Ok((15, None, 0)));
    assert_eq!(end(&[0x8a, 0x9b, 1, 2]), Ok((15, None, 2)));
}

#[test]
fn refuses_streams_without_end_and_too_long_ones() {
    assert_eq!(inflated(&[]), Err(HuffmanError::EndOfInput));
    assert_eq!(inflated(&[0x8a]), Err(HuffmanError::EndOfInput));
    assert_eq!(inflated(&[0; 100]), Err(HuffmanError::EndOfInput));
    assert_eq!(inflated(&[0xff; 1400]), Err(HuffmanError::OutputFull));
    let stream = compressed(&[7; 40], Trailing::Always);
    assert_eq!(decompress(&stream, &mut [0; 39]), Err(HuffmanError::OutputFull));
    assert_eq!(decompress(&stream, &mut [0; 40]).map(|found| found.len), Ok(40));
}

/// Decompresses one bit at a time from the code words alone: the expected result of [`decompress`].
fn reference(input: &[u8], room: usize) -> Result<(Vec<u8>, usize), HuffmanError> {
    let (mut clear, mut word, mut len) = (Vec::new(), 0u16, 0u8);
    for at in 0..input.len() * 8 {
        word |= u16::from(input[at / 8] >> (at % 8) & 1) << len;
        len += 1;
        let Some(symbol) = CODES.iter().position(|code| code.len == len && code.bits == word) else {
            continue;
        };
        match u8::try_from(symbol) {
            Err(_) => return Ok((clear, at + 1)),
            Ok(_) if clear.len() == room => return Err(HuffmanError::OutputFull),
            Ok(byte) => clear.push(byte),
        }
        (word, len) = (0, 0);
    }
    Err(HuffmanError::EndOfInput)
}

#[test]
fn a_cut_stream_yields_its_prefix() {
    let clear = [0x00, 0x01, 0x00, 0x02, 0x00, 0x80, 0x00];
    let stream = compressed(&clear, Trailing::WhenPartial);
    let mut out = [0xee; 32];
    let whole = prefix(&stream, &mut out);
    assert_eq!((whole.len, whole.bits, whole.error), (7, 33, None));
    let cut = prefix(&stream[..2], &mut out);
    assert_eq!(cut.error, Some(HuffmanError::EndOfInput));
    assert!(
        cut.len > 0 && cut.bits <= 16 && out[..cut.len] == clear[..cut.len],
        "{cut:?}"
    );
    let full = prefix(&stream, &mut out[..3]);
    assert_eq!((full.len, full.error), (3, Some(HuffmanError::OutputFull)));
    assert_eq!(out[..3], clear[..3]);
}

proptest! {
    #[test]
    fn decompress_undoes_compress(clear in payload(), always in any::<bool>()) {
        let form = FORMS[usize::from(always)];
        let stream = compressed(&clear, form);
        let (got, found) = inflated(&stream).unwrap();
        prop_assert_eq!(got, clear);
        prop_assert_eq!(found.surplus, 0);
        prop_assert_eq!(found.trailing, (found.bits % 8 == 0).then_some(form));
        let len = if form == Trailing::Always { found.bits / 8 + 1 } else { found.bits.div_ceil(8) };
        prop_assert_eq!(stream.len(), len);
    }

    #[test]
    fn any_bytes_read_as_bit_by_bit(input in prop::collection::vec(any::<u8>(), 0..300), room in 0usize..200) {
        let mut out = vec![0; room];
        let got = decompress(&input, &mut out).map(|found| (out[..found.len].to_vec(), found.bits));
        prop_assert_eq!(got, reference(&input, room));
        let mut out = vec![0; room];
        let found = prefix(&input, &mut out);
        prop_assert_eq!(found.error, decompress(&input, &mut vec![0; room]).err());
        prop_assert!(found.len <= room && found.bits <= input.len() * 8);
    }

    #[test]
    fn a_replaced_tail_is_what_compressing_gives(
        head in payload(),
        old in prop::collection::vec(any::<u8>(), 0..9),
        new in prop::collection::vec(any::<u8>(), 0..9),
        forms in any::<[bool; 2]>(),
    ) {
        let [from, to] = forms.map(|form| FORMS[usize::from(form)]);
        let stream = compressed(&[&head[..], &old].concat(), from);
        let bits = decompress(&stream, &mut [0; 2000]).unwrap().bits;
        let mut out = vec![0xaa];
        replace_tail(&stream, bits, &old, &new, to, &mut out);
        prop_assert_eq!(&out[1..], compressed(&[&head[..], &new].concat(), to));
    }

    #[test]
    fn the_end_of_a_stream_is_found_by_its_last_bits(
        head in payload(), tail in any::<[u8; 4]>(), other in any::<[u8; 4]>(), form in any::<bool>(),
        surplus in prop::collection::vec(any::<u8>(), 1..3), flip in any::<usize>(),
    ) {
        let mut stream = compressed(&[&head[..], &tail].concat(), FORMS[usize::from(form)]);
        let inflated = decompress(&stream, &mut [0; 2000]).unwrap();
        let Inflated { bits, trailing, .. } = inflated;
        let expected = Some(StreamEnd { bits, trailing });
        prop_assert_eq!(end(&stream, tail), expected);
        prop_assert!(other == tail || end(&stream, other).is_none());
        // The end is not found if any bit in the codes of the tail or of the end is wrong.
        let codes: usize = tail.iter().map(|byte| usize::from(code(*byte).len)).sum();
        let at = bits - EOF_BITS - codes + flip % (EOF_BITS + codes);
        stream[at / 8] ^= 1 << (at % 8);
        prop_assert!(end(&stream, tail).is_none());
        stream[at / 8] ^= 1 << (at % 8);
        stream.extend_from_slice(&surplus);
        let found = end(&stream, tail);
        prop_assert!(found.is_none() || found.is_some_and(|found| found.bits == bits && surplus == [0]), "{found:?}");
    }

    #[test]
    fn any_end_is_searched(stream in prop::collection::vec(any::<u8>(), 0..20), tail in any::<[u8; 4]>()) {
        let found = end(&stream, tail);
        prop_assert!(found.is_none_or(|found| found.bits <= stream.len() * 8));
    }

    #[test]
    fn a_wrong_tail_never_panics(
        stream in prop::collection::vec(any::<u8>(), 0..20),
        bits in any::<usize>(),
        tail in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        replace_tail(&stream, bits, &tail, &tail, Trailing::Always, &mut Vec::new());
    }
}
