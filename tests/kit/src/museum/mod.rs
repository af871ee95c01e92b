//! The museum: small recordings of well-known bugs, rebuilt byte for byte.
//!
//! Each piece is a session of a scripted client and a scripted server, as seen on the wire between them. Without its
//! fault the session is correct.
//!
//! Law: deterministic. The files in `museum/` are what [`Piece::recording`] returns; a test compares them.

mod file;
mod join;
pub(crate) mod message;
mod order;
mod pieces;
pub(crate) mod snap;
pub(crate) mod talk;

/// A piece of the museum.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// The name of the piece, also of its file and its page.
    pub name: &'static str,
    /// The code of the finding that names the fault.
    pub code: &'static str,
    build: fn(bool) -> Vec<u8>,
}

impl Piece {
    /// Returns the recording, a pcap file.
    #[must_use]
    pub fn recording(&self) -> Vec<u8> {
        (self.build)(true)
    }

    /// Returns the same session without the fault.
    #[must_use]
    pub fn repaired(&self) -> Vec<u8> {
        (self.build)(false)
    }
}

/// All pieces, in the order of the list.
pub const PIECES: &[Piece] = &[
    piece("long-chunk", "chunk-size-cut", pieces::long_chunk),
    piece("too-many-chunks", "chunk-count-cut", pieces::too_many_chunks),
    piece("not-inflatable", "bad-huffman", pieces::not_inflatable),
    piece("vital-input", "unexpected-vital", pieces::vital_input),
    piece("undeclared-item", "snap-undeclared", pieces::undeclared_item),
    piece("foreign-base", "snap-no-base", pieces::foreign_base),
    piece("pickup-size", "snap-bad-crc", pieces::pickup_size),
    piece("resized-item", "snap-item-resized", pieces::resized_item),
    piece("snapshot-twice", "snap-again", pieces::snapshot_twice),
    piece("full-snapshot", "snap-near-limit", pieces::full_snapshot),
    piece("numbers-ignored", "ack-gap", order::numbers_ignored),
    piece("foreign-resend", "resend-changed", order::foreign_resend),
    piece("resend-flood", "resend-needless", order::resend_flood),
    piece("late-start-info", "late-reply", order::late_start_info),
    piece("map-twice", "map-again", join::map_twice),
    piece("map-stuck", "never-entered", join::map_stuck),
    piece("reversed-token", "token-reversed", join::reversed_token),
    piece("empty-ignored", "snap-empty-unacked", pieces::empty_ignored),
];

const fn piece(name: &'static str, code: &'static str, build: fn(bool) -> Vec<u8>) -> Piece {
    Piece { name, code, build }
}
