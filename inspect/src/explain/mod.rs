//! One datagram, explained: every byte named, down to bits, for every variant of the protocol it may be of.
//!
//! Law: a pure function of bytes. It never fails: of what cannot be read it shows what there is, and says why it ends
//! there. Every byte of the datagram is in a row. Texts and hex hold no control characters and, unless asked for, no
//! secrets. What is meant by a fit is in [`Verdict`].
//!
//! | module | part |
//! |---|---|
//! | `tree` | the rows, and where notes and secrets belong |
//! | `packet`, `chunk`, `connless`, `message` | what the bytes are |
//! | `verdict` | how well a variant fits |
//! | `guard` | secrets in readings that do not know of them |
//! | [`text`] | the rows as text |
//! | [`input`] | the datagram, from what people paste |
//!
//! What it is not: it knows no session, so it cannot say whether a token, an ack or a sequence number is right, or what a
//! snapshot holds.

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
    Dir, Note, Proto,
    def::{Registry, Secrets},
};

pub use verdict::Verdict;

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// The definitions of messages.
    pub registry: &'static Registry,
    /// Whether secrets are shown.
    pub secrets: Secrets,
    /// The only variant to try.
    pub proto: Option<Proto>,
    /// The only direction to try.
    pub dir: Option<Dir>,
}

/// In what a range counts.
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
    /// Of what.
    pub space: Space,
    /// First byte.
    pub at: usize,
    /// Bytes; 0 where something is missing.
    pub len: usize,
}

/// What a row stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The rows below it.
    Group,
    /// Bytes.
    Bytes,
    /// These bits of the byte in the row above it.
    Bits(u8),
}

/// A line of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// How deep it is.
    pub depth: u8,
    /// Where.
    pub span: Span,
    /// What it stands for.
    pub kind: Kind,
    /// What it is called.
    pub label: String,
    /// What it says.
    pub value: String,
    /// Its bytes, two digits each without spaces, `••` for each byte of a secret. Empty for groups, the
    /// whole byte for bits.
    pub hex: String,
    /// What is odd about it. Ranges count as those of the row.
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
    /// How well it fits.
    pub verdict: Verdict,
    /// Why: what speaks against it, or if nothing does, what was found.
    pub reasons: Vec<String>,
    /// The bytes, in order; those of the inflated payload last.
    pub rows: Vec<Row>,
    /// The inflated payload in hex as in [`Row::hex`], if there is one.
    pub clear: Option<String>,
    /// The datagram in hex as in [`Row::hex`].
    pub datagram: String,
    /// A variant before it in the list with the same rows.
    pub same_as: Option<Proto>,
    weight: u32,
    /// Where its secrets are.
    secrets: Vec<Span>,
    /// Its compressed payload.
    packed: Option<Span>,
}

/// Reads `datagram` as every variant, best first. There is always one reading at least.
#[must_use]
pub fn explain(datagram: &[u8], ask: Ask) -> Vec<Explanation> {
    let mut readings = tried(datagram, ask);
    for at in 0..readings.len() {
        let (before, rest) = readings.split_at_mut(at);
        if let Some(reading) = rest.first_mut() {
            let twin = before.iter().find(|other| other.rows == reading.rows);
            reading.same_as = twin.map(|twin| twin.same_as.unwrap_or(twin.proto));
        }
    }
    if ask.secrets == Secrets::Hide {
        let all = Ask {
            proto: None,
            dir: None,
            ..ask
        };
        let all = tried(datagram, all);
        let best = all.first().map_or(0, |best| best.weight);
        // What is broken may be of another variant than the one that comes first.
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

/// Every reading that is asked for, best first.
fn tried(datagram: &[u8], ask: Ask) -> Vec<Explanation> {
    let protos = Proto::ALL.into_iter();
    let asked = protos.filter(|proto| ask.proto.is_none_or(|only| only == *proto));
    let mut readings: Vec<Explanation> = asked.map(|proto| towards(datagram, proto, ask)).collect();
    readings.sort_by_key(|reading| reading.weight);
    readings
}

/// Those of `readings`, best first, that deserve to be shown whole: all that fit, else the best one.
pub fn shown(readings: &[Explanation]) -> impl Iterator<Item = &Explanation> {
    readings.iter().enumerate().filter_map(|(at, reading)| {
        let shown = at == 0 || reading.verdict == Verdict::Fits && reading.same_as.is_none();
        shown.then_some(reading)
    })
}

/// Reads it in the direction that has fewer oddities.
fn towards(datagram: &[u8], proto: Proto, ask: Ask) -> Explanation {
    let read = |dir| packet::read(datagram, proto, dir, ask);
    if let Some(dir) = ask.dir {
        return read(dir);
    }
    let (mut up, mut down) = (read(Dir::C2s), read(Dir::S2c));
    let either = up.rows == down.rows;
    up.either = either;
    down.either = either;
    if down.weight < up.weight { down } else { up }
}
