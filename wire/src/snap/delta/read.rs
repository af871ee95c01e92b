//! From bytes to a delta.

use super::entry::{Broken, ByteRange, Deleted, Delta, Update, lesser};
use crate::note::Code;
use crate::snap::snapshot::{ItemKey, Sizes};
use crate::snap::{MAX_SIZE, MAX_TYPE};
use crate::varint;

/// The maximum number of ints: the room that clients have for them.
const MAX_INTS: usize = MAX_SIZE / 4;

/// Reads all of `data` into an empty delta.
pub(super) fn all(delta: &mut Delta, sizes: &Sizes, data: &[u8]) -> Result<(), Broken> {
    let mut reader = Reader {
        data,
        pos: 0,
        ints: 0,
        delta,
    };
    reader.all(sizes)?;
    let rest = ByteRange::new(reader.pos, data.len());
    if rest.len > 0 {
        lesser(&mut delta.notes, Code::SurplusBytes, rest);
    }
    Ok(())
}

struct Reader<'a, 'd> {
    data: &'a [u8],
    pos: usize,
    /// The number of ints read so far.
    ints: usize,
    delta: &'d mut Delta,
}

impl Reader<'_, '_> {
    fn all(&mut self, sizes: &Sizes) -> Result<(), Broken> {
        let deleted = self.int()?;
        if deleted < 0 {
            return self.fail(Code::SnapBadItem, 0);
        }
        let start = self.pos;
        let updated = self.int()?;
        if updated < 0 {
            self.lesser(Code::OutOfRange, start);
        }
        let start = self.pos;
        if self.int()? != 0 {
            self.lesser(Code::UnexpectedBytes, start);
        }
        for _ in 0..deleted {
            let start = self.pos;
            let key = ItemKey::from_int(self.int()?);
            let spot = self.since(start);
            self.delta.deleted.push(Deleted { key, spot });
        }
        for _ in 0..updated {
            self.update(sizes)?;
        }
        Ok(())
    }

    fn update(&mut self, sizes: &Sizes) -> Result<(), Broken> {
        let start = self.pos;
        let (kind, id) = (self.int()?, self.int()?);
        let key = match (u16::try_from(kind), u16::try_from(id)) {
            (Ok(kind @ ..=MAX_TYPE), Ok(id)) => ItemKey { kind, id },
            _ => return self.fail(Code::SnapBadItem, start),
        };
        let len = match sizes.of_kind(key.kind) {
            Some(len) => len,
            None => match u16::try_from(self.int()?) {
                Ok(len) => len,
                Err(_) => return self.fail(Code::SnapBadItem, start),
            },
        };
        let first = self.delta.ints.len();
        for _ in 0..len {
            let int = self.int()?;
            self.delta.ints.push(int);
        }
        let spot = self.since(start);
        // `first` is below MAX_INTS.
        let first = u16::try_from(first).unwrap_or(u16::MAX);
        self.delta.updates.push(Update {
            key,
            first,
            len,
            spot,
        });
        Ok(())
    }

    fn int(&mut self) -> Result<i32, Broken> {
        let start = self.pos;
        let Some(int) = self.data.get(start..).and_then(varint::decode) else {
            self.pos = self.data.len();
            return self.fail(Code::SnapTruncated, start);
        };
        self.pos += int.len;
        if int.overlong {
            self.lesser(Code::OverlongInt, start);
        }
        if int.padding {
            self.lesser(Code::IntPadding, start);
        }
        self.ints += 1;
        if self.ints > MAX_INTS {
            return self.fail(Code::SnapTooLarge, start);
        }
        Ok(int.value)
    }

    fn since(&self, start: usize) -> ByteRange {
        ByteRange::new(start, self.pos)
    }

    fn lesser(&mut self, code: Code, start: usize) {
        let spot = self.since(start);
        lesser(&mut self.delta.notes, code, spot);
    }

    fn fail<T>(&mut self, code: Code, start: usize) -> Result<T, Broken> {
        let spot = self.since(start);
        self.delta.notes.push(spot.note(code));
        Err(Broken)
    }
}
