//! Copies pcapng, block by block.

use std::io::{Read, Write};

use super::{
    comments::Comment,
    copy::{AnnotateError, Copy},
};
use crate::{
    ReadError,
    pcapng::{
        number::{COMMENT, MAGIC, SECTION, SIMPLE_PACKET, is_packet},
        write::short,
    },
    source::{LONGEST, Order, Source},
};

/// Bytes per step of a block that is too long to be kept in memory.
const STEP: u32 = 64 << 10;

/// Offset of the length of a section in its block.
const SECTION_LENGTH: usize = 16;

/// Offset of a packet's length in its block.
const LENGTH: usize = 20;

/// Offset of a packet's bytes in its block.
const FRAME: usize = 28;

pub(super) fn copy<R: Read, W: Write>(
    input: impl Read,
    copy: &mut Copy<'_, R, W>,
) -> Result<(), AnnotateError> {
    let mut source = Source::new(input);
    let mut order = Order::Little;
    loop {
        let begin = source.offset();
        let Some(head) = source.piece(begin, 8)? else {
            return Ok(());
        };
        copy.block.clear();
        copy.block.extend_from_slice(head);
        if head.starts_with(&SECTION.to_le_bytes()) {
            copy.block.extend_from_slice(source.more(begin, 4)?);
            let magic = copy.block.last_chunk().copied().unwrap_or_default();
            let known = [Order::Little, Order::Big]
                .into_iter()
                .find(|order| order.u32(magic) == MAGIC);
            order = known.ok_or_else(|| ReadError::damaged(begin, "a section without its mark"))?;
        } else if begin == 0 {
            return Err(ReadError::Unknown("it does not begin as a pcapng file does").into());
        }
        let (kind, length) = (order.u32_at(&copy.block, 0), order.u32_at(&copy.block, 4));
        let read = u32::try_from(copy.block.len()).unwrap_or_default();
        if length < read + 4 || !length.is_multiple_of(4) {
            return Err(ReadError::damaged(begin, format!("a block of {length} bytes")).into());
        }
        let rest = length - read;
        if rest > LONGEST {
            if is_packet(kind) || kind == SECTION {
                return Err(ReadError::damaged(begin, format!("a block of {length} bytes")).into());
            }
            copy_long(&mut source, (begin, rest), copy)?;
            continue;
        }
        copy.block.extend_from_slice(source.more(begin, rest)?);
        let last = copy.block.last_chunk().copied().unwrap_or_default();
        if order.u32(last) != length {
            return Err(ReadError::damaged(begin, "a block whose two lengths differ").into());
        }
        if kind == SECTION {
            // Comments make the section longer.
            let lengths = copy.block.get_mut(SECTION_LENGTH..SECTION_LENGTH + 8);
            lengths.into_iter().for_each(|lengths| lengths.fill(0xff));
        } else if is_packet(kind) {
            comment(kind, order, copy);
        }
        copy.buffer.extend_from_slice(&copy.block);
        copy.end_block()?;
    }
}

/// Copies a block of which only the head was read.
fn copy_long<R: Read, W: Write>(
    source: &mut Source<impl Read>,
    (begin, mut rest): (u64, u32),
    copy: &mut Copy<'_, R, W>,
) -> Result<(), AnnotateError> {
    // The block counts once it is complete.
    copy.flush()?;
    let mut written = copy.block.len() as u64;
    copy.out.write_all(&copy.block)?;
    while rest > 0 {
        let step = source.more(begin, rest.min(STEP))?;
        copy.out.write_all(step)?;
        written += step.len() as u64;
        rest -= rest.min(STEP);
    }
    copy.done.bytes += written;
    Ok(())
}

/// Adds the comment of the packet in the block, unless it has that comment.
fn comment<R: Read, W: Write>(kind: u32, order: Order, copy: &mut Copy<'_, R, W>) {
    copy.done.packets += 1;
    let Some(comment) = copy.comments.of(copy.done.packets) else {
        return;
    };
    let place = match kind {
        SIMPLE_PACKET => Place::None,
        _ => place(&copy.block, order, &comment),
    };
    match place {
        Place::None => copy.done.unplaced += 1,
        Place::Has => copy.done.had += 1,
        Place::At(at) => {
            copy.done.commented += 1;
            insert(&mut copy.block, at, order, comment.text);
        }
    }
}

/// The place for a comment in a packet's block.
enum Place {
    /// None: the block cannot have options, or they are damaged.
    None,
    /// The packet has the comment already.
    Has,
    /// The end of its options.
    At(usize),
}

fn place(block: &[u8], order: Order, comment: &Comment<'_>) -> Place {
    let frame = usize::try_from(order.u32_at(block, LENGTH)).unwrap_or(usize::MAX);
    let end = block.len().saturating_sub(4);
    let begin = frame
        .checked_next_multiple_of(4)
        .and_then(|frame| frame.checked_add(FRAME));
    let Some(mut at) = begin.filter(|begin| *begin <= end) else {
        return Place::None;
    };
    let text = short(comment.text).as_bytes();
    while at < end {
        let (code, length) = (order.u16_at(block, at), usize::from(order.u16_at(block, at + 2)));
        if code == 0 {
            break;
        }
        let Some(value) = block
            .get(at + 4..at + 4 + length)
            .filter(|_| at + 4 + length <= end)
        else {
            return Place::None;
        };
        if code == COMMENT && (comment.is_own || value == text) {
            return Place::Has;
        }
        at += 4 + length.next_multiple_of(4);
    }
    if at > end { Place::None } else { Place::At(at) }
}

/// Inserts a comment into a block. Adds the end of the options if there is none.
fn insert(block: &mut Vec<u8>, at: usize, order: Order, text: &str) {
    let text = short(text).as_bytes();
    let length = u16::try_from(text.len()).unwrap_or_default();
    let mut option = Vec::with_capacity(text.len() + 12);
    option.extend_from_slice(&order.bytes16(COMMENT));
    option.extend_from_slice(&order.bytes16(length));
    option.extend_from_slice(text);
    option.resize(option.len().next_multiple_of(4), 0);
    if at + 4 == block.len() {
        option.extend_from_slice(&[0; 4]);
    }
    block.splice(at..at, option);
    let length = order.bytes32(u32::try_from(block.len()).unwrap_or(u32::MAX));
    let end = block.len() - 4;
    for (slot, byte) in block.iter_mut().skip(4).zip(length) {
        *slot = byte;
    }
    for (slot, byte) in block.iter_mut().skip(end).zip(length) {
        *slot = byte;
    }
}
