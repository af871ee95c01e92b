//! Arbitrary bytes as the chunks of a payload.

use teetap_kit::codec;
use teetap_wire::{Chunk, Chunks, Code, identify, write_chunk};

use crate::input::{Input, variant_of};

/// Parses the chunks of a payload and writes them again.
pub fn chunks(data: &[u8]) {
    let mut input = Input::new(data);
    let proto = input.proto();
    let count = input.byte();
    let payload = input.rest();
    let mut walk = Chunks::new(proto, payload, count);
    let found: Vec<Chunk<'_>> = walk.by_ref().collect();
    assert!(walk.next().is_none(), "more after the end");

    let mut theirs = codec::Chunks::new(variant_of(proto), payload, count);
    for chunk in &found {
        let other = theirs.next();
        let read = other.map(|other| (other.seq, other.resend, other.data));
        let seq = chunk.header.vital.map(|seq| seq.get());
        assert_eq!(read, Some((seq, chunk.header.resend, chunk.data)));
    }
    assert!(theirs.next().is_none(), "the second codec finds more");
    assert_eq!((theirs.rest(), theirs.left()), (walk.rest(), walk.missing()));

    let end = found.last().map_or(0, Chunk::end);
    assert_eq!(end + walk.rest().len(), payload.len());
    assert_eq!(usize::from(count), found.len() + usize::from(walk.missing()));
    let notes = walk.notes();
    let whole = walk.rest().is_empty() && walk.missing() == 0;
    assert_eq!(notes.is_empty(), whole, "{notes:?}");
    assert_eq!(
        notes.contains(Code::TrailingBytes),
        walk.missing() == 0 && !walk.rest().is_empty()
    );

    let (mut out, mut written) = (Vec::new(), Vec::new());
    for chunk in &found {
        let (header, data) = (chunk.header, chunk.data);
        let before = out.len();
        if write_chunk(proto, header.vital, header.resend, data, &mut out).is_ok() {
            written.push((header.vital, header.resend, data));
        } else {
            // The size field of 0.7 can hold larger sizes than a packet that 0.7 builds.
            assert!(data.len() > proto.layout().max_chunk && out.len() == before);
        }
        let _id = identify(data);
    }
    let all = u8::try_from(written.len()).unwrap_or(u8::MAX);
    let again: Vec<_> = Chunks::new(proto, &out, all)
        .map(|chunk| (chunk.header.vital, chunk.header.resend, chunk.data))
        .collect();
    assert_eq!(again, written);
}
