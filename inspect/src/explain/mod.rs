//! Explains one datagram: names every byte, down to bits, for every protocol variant to which it may belong.
//!
//! Law: an explanation depends only on the bytes and never fails; an unreadable part is shown with its bytes and the
//! reason. Every byte of the datagram is in a row. Texts and hex contain no control characters, and no secrets unless
//! requested. [`Verdict`] defines how well a datagram fits a variant.
//!
//! | module | part |
//! |---|---|
//! | `tree` | the rows, with the positions of notes and secrets |
//! | `packet`, `chunk`, `connless`, `message`, `snap_data` | the meaning of the bytes |
//! | `verdict` | how well a variant fits |
//! | `guard` | hides secrets in the other explanations |
//! | [`text`] | renders the rows as text |
//! | [`input`] | extracts the datagram from pasted text |
//!
//! Since a single datagram has no session, tokens, acks and sequence numbers are not checked, and deltas of snapshots
//! are not applied.

mod chunk;
mod connless;
mod guard;
pub mod input;
mod message;
mod packet;
mod snap_data;
pub mod text;
mod tree;
mod verdict;

#[cfg(test)]
mod snapshots;
#[cfg(test)]
mod tests;

use teetap_wire::{
    Dir, MAX_DATAGRAM, Note, OpensNothing, Proto,
    def::{Registry, Secrets},
};

pub use verdict::Verdict;

/// The options of an explanation.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The definitions of messages.
    pub registry: &'static Registry,
    /// Whether secrets are shown or hidden.
    pub secrets: Secrets,
    /// The only variant to try; `None` for all.
    pub proto: Option<Proto>,
    /// The only direction to try; `None` for both.
    pub dir: Option<Dir>,
}

/// The bytes to which a range refers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// The datagram.
    Datagram,
    /// The inflated payload.
    Clear,
}

/// A range of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The bytes to which the range refers.
    pub space: Space,
    /// Offset of the first byte.
    pub at: usize,
    /// Number of bytes; 0 if something is missing.
    pub len: usize,
}

/// The kind of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A heading for the rows below it.
    Group,
    /// A row of bytes.
    Bytes,
    /// Some bits of the byte in the row above, given as a mask.
    Bits(u8),
}

/// A line of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainRow {
    /// Depth in the tree, from 0.
    pub depth: u8,
    /// The bytes that the row is about.
    pub span: Span,
    /// The kind of the row.
    pub kind: Kind,
    /// The name of the row.
    pub label: String,
    /// The value as text.
    pub value: String,
    /// The bytes in hex, two digits each without spaces, and `••` for each byte of a secret. Empty for a group; the
    /// whole byte for bits.
    pub hex: String,
    /// The notes of the row. Their ranges refer to the same bytes as the row.
    pub notes: Vec<Note>,
}

/// A datagram interpreted as one variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The variant.
    pub proto: Proto,
    /// The direction for which it was read.
    pub dir: Dir,
    /// True if the other direction yields the same rows.
    pub either: bool,
    /// How well the datagram fits.
    pub verdict: Verdict,
    /// Reasons against the variant; if there are none, the recognized parts of the datagram.
    pub reasons: Vec<String>,
    /// The rows in order. The rows of the inflated payload are last.
    pub rows: Vec<ExplainRow>,
    /// The inflated payload in hex as in [`ExplainRow::hex`]; `None` if nothing was inflated.
    pub clear: Option<String>,
    /// The datagram in hex as in [`ExplainRow::hex`].
    pub datagram: String,
    /// A better variant with the same rows, if there is one.
    pub same_as: Option<Proto>,
    weight: u32,
    /// The positions of secrets.
    secrets: Vec<Span>,
    /// The compressed payload, if there is one.
    packed: Option<Span>,
}

/// Explains `datagram` as every variant, best fit first. There is always at least one explanation.
#[must_use]
pub fn explain(datagram: &[u8], options: Options) -> Vec<Explanation> {
    let mut readings = tried(datagram, options);
    for at in 0..readings.len() {
        let (before, rest) = readings.split_at_mut(at);
        if let Some(reading) = rest.first_mut() {
            let twin = before.iter().find(|other| other.rows == reading.rows);
            reading.same_as = twin.map(|twin| twin.same_as.unwrap_or(twin.proto));
        }
    }
    if options.secrets == Secrets::Hide {
        let all = Options {
            proto: None,
            dir: None,
            ..options
        };
        let all = tried(datagram, all);
        let best = all.first().map_or(0, |best| best.weight);
        // A broken datagram may belong to another variant than the one that fits best.
        for rival in all.iter().take_while(|rival| rival.weight <= best * 2) {
            let secrets = guard::places(rival);
            for reading in &mut readings {
                let known = reading.proto == rival.proto && reading.dir == rival.dir;
                guard::guard(reading, &secrets, known || reading.same_as == Some(rival.proto));
            }
        }
    }
    readings
}

/// Returns the mistake in `datagram` as the first datagram of a client; `None` if it shows no mistake. Whether other
/// first datagrams are wrong depends on the session, which is unknown here.
#[must_use]
pub fn first(datagram: &[u8], options: Options) -> Option<OpensNothing> {
    let seen = datagram.get(..MAX_DATAGRAM).unwrap_or(datagram);
    let what = OpensNothing::classify(seen);
    (options.dir != Some(Dir::S2c) && what.is_malformed()).then_some(what)
}

/// Returns every requested explanation, best fit first.
fn tried(datagram: &[u8], options: Options) -> Vec<Explanation> {
    let protos = Proto::ALL.into_iter();
    let wanted = protos.filter(|proto| options.proto.is_none_or(|only| only == *proto));
    let mut readings: Vec<Explanation> = wanted.map(|proto| towards(datagram, proto, options)).collect();
    readings.sort_by_key(|reading| reading.weight);
    readings
}

/// Returns the explanations to show in full: all that fit, or only the best if none fits. `readings` must start with
/// the best.
pub fn shown(readings: &[Explanation]) -> impl Iterator<Item = &Explanation> {
    readings.iter().enumerate().filter_map(|(at, reading)| {
        let shown = at == 0 || reading.verdict == Verdict::Fits && reading.same_as.is_none();
        shown.then_some(reading)
    })
}

/// Explains the datagram in the direction with fewer doubts.
fn towards(datagram: &[u8], proto: Proto, options: Options) -> Explanation {
    let read = |dir| packet::read(datagram, proto, dir, options);
    if let Some(dir) = options.dir {
        return read(dir);
    }
    let (mut up, mut down) = (read(Dir::C2s), read(Dir::S2c));
    let either = up.rows == down.rows;
    up.either = either;
    down.either = either;
    if down.weight < up.weight { down } else { up }
}
