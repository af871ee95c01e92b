//! What the proxy did with the messages of a datagram, and the link with the sent datagrams.

use std::{num::NonZeroU32, time::Duration};

use serde::{Deserialize, Serialize};
use teetap_proxy::{
    session::{Action, HeldId, MadeAt, MadeHow, Placed, SentAt, Transit},
    words::{self, Word},
};
use teetap_rules::{RuleId, impair::Lost};
use teetap_wire::Seq;

/// Effect of link lines on a datagram or on a duplicate of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TransitBody {
    /// Index of the datagram, from 0.
    datagram: u16,
    /// Missing when false.
    #[serde(default, skip_serializing_if = "is_false")]
    duplicate: bool,
    /// Why the datagram was lost; missing if it was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lost: Option<Word<Lost>>,
    /// Delay; missing if the datagram was sent at once.
    #[serde(default, skip_serializing_if = "Duration::is_zero", with = "words::seconds")]
    delay_s: Duration,
    /// Missing when false.
    #[serde(default, skip_serializing_if = "is_false")]
    reordered: bool,
    /// Flipped bits, counted from the lowest bit of the first byte; missing if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    corrupted: Vec<u32>,
}

/// Returns the effects of link lines on the sent datagrams.
#[must_use]
pub fn transits(link: &[Transit]) -> Vec<TransitBody> {
    link.iter().map(TransitBody::new).collect()
}

impl TransitBody {
    fn new(transit: &Transit) -> Self {
        let Transit {
            datagram,
            duplicate,
            lost,
            delay,
            reordered,
            corrupted,
        } = transit;
        Self {
            datagram: *datagram,
            duplicate: *duplicate,
            lost: lost.map(Word),
            delay_s: *delay,
            reordered: *reordered,
            corrupted: corrupted.to_vec(),
        }
    }

    /// Returns the effect.
    #[must_use]
    pub fn transit(&self) -> Transit {
        Transit {
            datagram: self.datagram,
            duplicate: self.duplicate,
            lost: self.lost.map(|lost| lost.0),
            delay: self.delay_s,
            reordered: self.reordered,
            corrupted: self.corrupted.as_slice().into(),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// The action on one message of a datagram.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlacedBody {
    action: Word<Action>,
    seq_out: Option<u16>,
    /// Rules that acted on the message: indices into the list of rules, from 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rules: Vec<u16>,
    /// Marks that rules set on the message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    marks: Vec<Box<str>>,
    /// Position of the bytes in the sent datagrams; missing if the message was not sent at once, or the position is
    /// unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sent: Option<SentBody>,
    /// Id under which the message is held; missing if it is not held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    held: Option<NonZeroU32>,
    /// Delay of the message by a rule; missing if it is not delayed.
    #[serde(default, skip_serializing_if = "Duration::is_zero", with = "words::seconds")]
    delay_s: Duration,
    /// True for a repeat of a message whose bits a rule flipped; missing when false.
    #[serde(default, skip_serializing_if = "is_false")]
    corrupted: bool,
}

/// A message that the proxy sent by itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MadeBody {
    how: Word<MadeHow>,
    /// Name of the rule that made or held the message; missing if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rule: Option<Box<str>>,
    sent: SentBody,
    /// Id under which the message was held; missing if it was not held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    held: Option<NonZeroU32>,
    /// Time for which the message was held; missing if it was not held.
    #[serde(default, skip_serializing_if = "Duration::is_zero", with = "words::seconds")]
    waited_s: Duration,
    /// True if a rule flipped bits of the message before it was held; missing when false.
    #[serde(default, skip_serializing_if = "is_false")]
    corrupted: bool,
}

impl MadeBody {
    /// Returns the fields of a record.
    #[must_use]
    pub fn new(made: &MadeAt) -> Self {
        Self {
            how: Word(made.how),
            rule: made.rule.clone(),
            sent: SentBody::new(made.sent),
            held: made.held.map(|held| held.0),
            waited_s: made.waited,
            corrupted: made.corrupted,
        }
    }

    /// Returns the record.
    #[must_use]
    pub fn made(&self) -> MadeAt {
        MadeAt {
            sent: self.sent.sent(),
            how: self.how.0,
            rule: self.rule.clone(),
            held: self.held.map(HeldId),
            waited: self.waited_s,
            corrupted: self.corrupted,
        }
    }
}

impl SentBody {
    const fn new(sent: SentAt) -> Self {
        Self {
            datagram: sent.datagram,
            at: sent.at,
            len: sent.len,
        }
    }

    const fn sent(self) -> SentAt {
        SentAt {
            datagram: self.datagram,
            at: self.at,
            len: self.len,
        }
    }
}

/// The position of a message in the sent datagrams.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct SentBody {
    /// Index of the datagram, from 0.
    datagram: u16,
    /// Offset in the inflated payload of the datagram, after the chunk header.
    at: u16,
    /// Length in bytes.
    len: u16,
}

impl PlacedBody {
    /// Returns the fields of a record.
    #[must_use]
    pub fn new(placed: &Placed) -> Self {
        Self {
            action: Word(placed.action),
            seq_out: placed.seq_out.map(Seq::get),
            rules: placed.rules.iter().map(|rule| rule.0).collect(),
            marks: placed.marks.iter().map(|mark| (&**mark).into()).collect(),
            sent: placed.sent.map(SentBody::new),
            held: placed.held.map(|held| held.0),
            delay_s: placed.delay.unwrap_or_default(),
            corrupted: placed.corrupted,
        }
    }

    /// Returns the record.
    #[must_use]
    pub fn placed(&self) -> Placed {
        Placed {
            rules: self.rules.iter().copied().map(RuleId).collect(),
            marks: self.marks.iter().map(|mark| (&**mark).into()).collect(),
            sent: self.sent.map(SentBody::sent),
            held: self.held.map(HeldId),
            delay: Some(self.delay_s).filter(|delay| !delay.is_zero()),
            corrupted: self.corrupted,
            ..Placed::new(self.seq_out.map(Seq::new), self.action.0)
        }
    }
}
