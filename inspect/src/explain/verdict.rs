//! How well a datagram fits a variant.

use std::fmt;

use teetap_wire::{Code, Severity};

use super::ExplainRow;

/// How well a datagram fits a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Peers of the variant send such datagrams.
    Fits,
    /// A receiver of the variant reads the datagram, but something in it is unusual.
    Doubtful,
    /// A receiver of the variant drops the datagram or a part of it.
    No,
}

impl Verdict {
    /// Returns the name shown in the output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fits => "fits",
            Self::Doubtful => "doubtful",
            Self::No => "no",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A reason against a variant.
#[derive(Debug)]
pub(super) struct Doubt {
    weight: u32,
    text: String,
}

const INFO: u32 = 1;
const WARNING: u32 = 10;
const ERROR: u32 = 100;
/// Weight of a variant that cannot be read past the header, so that it ranks below all others.
const HOPELESS: u32 = 1000;

impl Doubt {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self {
            weight: WARNING,
            text: text.into(),
        }
    }
}

/// Returns the weight, the verdict and the reasons.
pub(super) fn weigh(
    rows: &[ExplainRow],
    doubts: Vec<Doubt>,
    facts: Vec<String>,
) -> (u32, Verdict, Vec<String>) {
    let doubtful = !doubts.is_empty();
    let mut against = doubts;
    let notes = rows.iter().flat_map(|row| &row.notes);
    let has = |code| notes.clone().any(|note| note.code == code);
    // Notes on the end of a cut payload are consequences of the cut.
    let (stream, chunk) = (has(Code::BadHuffman), has(Code::ChunkTruncated));
    let notes = notes.filter(|note| {
        let follows = stream && note.code == Code::ChunkTruncated || (stream || chunk) && is_end(note.code);
        !follows
    });
    for note in notes.clone() {
        let text = note.code.text();
        let weight = weight(note.code);
        match against.iter_mut().find(|doubt| doubt.text == text) {
            // A repeated note adds weight, but is listed once.
            Some(doubt) => doubt.weight = doubt.weight.saturating_add(weight),
            None => against.push(Doubt {
                weight,
                text: text.to_owned(),
            }),
        }
    }
    let total = against
        .iter()
        .fold(0u32, |sum, doubt| sum.saturating_add(doubt.weight));
    let verdict = match notes.map(|note| weight(note.code)).max() {
        Some(ERROR..) => Verdict::No,
        Some(WARNING..) => Verdict::Doubtful,
        _ if doubtful => Verdict::Doubtful,
        _ => return (total, Verdict::Fits, facts),
    };
    against.retain(|doubt| doubt.weight >= WARNING);
    against.sort_by_key(|doubt| std::cmp::Reverse(doubt.weight));
    let reasons = against.into_iter().map(|doubt| doubt.text).collect();
    (total, verdict, reasons)
}

fn weight(code: Code) -> u32 {
    match (code, code.severity()) {
        (Code::TooShort | Code::NotConnected, _) => HOPELESS,
        // Unknown ids are common if bytes are missing, because any number may be read as an id.
        (Code::UnknownMessage, _) => 3 * WARNING,
        (_, Severity::Error) => ERROR,
        (_, Severity::Warning) => WARNING,
        (_, Severity::Info) => INFO,
    }
}

/// Returns true for notes that a cut causes.
const fn is_end(code: Code) -> bool {
    matches!(
        code,
        Code::ChunkCountTooHigh
            | Code::MissingField
            | Code::UnterminatedText
            | Code::ControlEmpty
            | Code::TrailingBytes
    )
}
