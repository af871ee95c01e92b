//! One datagram, explained: every byte named, down to bits, for every variant of the protocol that it may belong to.
//!
//! Law: a pure function of bytes. It never fails: where something cannot be read, it shows the bytes and the reason. Every
//! byte of the datagram is in a row. Texts and hex hold no control characters and, unless requested, no secrets.
//! [`Verdict`] defines how a datagram fits a variant.
//!
//! | module | part |
//! |---|---|
//! | `tree` | the rows, with the places of notes and secrets |
//! | `packet`, `chunk`, `connless`, `message` | the meaning of the bytes |
//! | `verdict` | the fit of a variant |
//! | `guard` | secrets in the other explanations |
//! | [`text`] | the rows as text |
//! | [`input`] | the datagram, from pasted text |
//!
//! It knows no session, so it cannot check tokens, acks or sequence numbers, and it cannot read snapshots.

mod chunk;
mod connless;
mod guard;
pub mod input;
mod message;
mod packet;
pub mod text;
mod tree;
mod verdict;

#[cfg(test)]
mod snapshots;
#[cfg(test)]
mod tests;

use teetap_wire::{
    Dir, MAX_DATAGRAM, Note, Proto, Stranger,
    def::{Registry, Secrets},
};

pub use verdict::Verdict;

/// The options of an explanation.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The definitions of messages.
    pub registry: &'static Registry,
    /// Shows or hides secrets.
    pub secrets: Secrets,
    /// The only variant to try.
    pub proto: Option<Proto>,
    /// The only direction to try.
    pub dir: Option<Dir>,
}

/// The bytes in which a range counts.
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
    /// The bytes in which it counts.
    pub space: Space,
    /// First byte.
    pub at: usize,
    /// Bytes; 0 where something is missing.
    pub len: usize,
}

/// The kind of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A heading for the rows below it.
    Group,
    /// Bytes.
    Bytes,
    /// These bits of the byte in the row above it.
    Bits(u8),
}

/// A line of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
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
    /// The bytes, two digits each without spaces, `••` for each byte of a secret. Empty for groups, the
    /// whole byte for bits.
    pub hex: String,
    /// The notes. Ranges count as those of the row.
    pub notes: Vec<Note>,
}

/// The datagram read as one variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The variant.
    pub proto: Proto,
    /// The direction it was read for.
    pub dir: Dir,
    /// The other direction reads the same.
    pub either: bool,
    /// The fit.
    pub verdict: Verdict,
    /// The doubts about it, or, without any, what was found.
    pub reasons: Vec<String>,
    /// The bytes, in order; those of the inflated payload last.
    pub rows: Vec<Row>,
    /// The inflated payload in hex as in [`Row::hex`], if there is one.
    pub clear: Option<String>,
    /// The datagram in hex as in [`Row::hex`].
    pub datagram: String,
    /// An earlier variant in the list with the same rows.
    pub same_as: Option<Proto>,
    weight: u32,
    /// The places of its secrets.
    secrets: Vec<Span>,
    /// The compressed payload.
    packed: Option<Span>,
}

/// Explains `datagram` as every variant, the best first. There is always at least one explanation.
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
        // A broken datagram may belong to another variant than the best one.
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

/// Returns the mistake that `datagram` shows if it is meant as the first one of a client; `None` if it shows none. Other readings of
/// a first datagram depend on the session, which is not known here.
#[must_use]
pub fn first(datagram: &[u8], options: Options) -> Option<Stranger> {
    let seen = datagram.get(..MAX_DATAGRAM).unwrap_or(datagram);
    let what = Stranger::of(seen);
    (options.dir != Some(Dir::S2c) && what.is_malformed()).then_some(what)
}

/// Returns every requested explanation, the best first.
fn tried(datagram: &[u8], options: Options) -> Vec<Explanation> {
    let protos = Proto::ALL.into_iter();
    let wanted = protos.filter(|proto| options.proto.is_none_or(|only| only == *proto));
    let mut readings: Vec<Explanation> = wanted.map(|proto| towards(datagram, proto, options)).collect();
    readings.sort_by_key(|reading| reading.weight);
    readings
}

/// Returns those of `readings`, the best first, that are shown in full: all that fit, else the best one.
pub fn shown(readings: &[Explanation]) -> impl Iterator<Item = &Explanation> {
    readings.iter().enumerate().filter_map(|(at, reading)| {
        let shown = at == 0 || reading.verdict == Verdict::Fits && reading.same_as.is_none();
        shown.then_some(reading)
    })
}

/// Explains it in the direction with fewer doubts.
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
