//! What the release of the receiver does with a message, in place of what some receivers do.
//!
//! Law: a sentence names a release only if the table of [`teetap_wire::receiver`] has its check.

use std::borrow::Cow;

use teetap_wire::{
    Code, Side,
    receiver::{Identified, MessageVerdict, message},
};

use super::finding_code::Topic;
use crate::joins::REQUEST;

/// Returns the sentence of a finding that says how the release of the receiver treats the message; `None` if the receiver
/// table has no row for it.
pub(super) fn reaction(
    topic: Topic,
    name: Option<&str>,
    (receiver, side): (Identified, Side),
) -> Option<Cow<'static, str>> {
    let release = |side| {
        let side = match side {
            Side::Client => "client",
            Side::Server => "server",
        };
        let assumed = if receiver.assumed { " (assumed)" } else { "" };
        format!("a {side} of {}{assumed}", receiver.release)
    };
    if topic == Topic::Note(Code::MissingField) && name == Some(REQUEST) {
        let server = release(side);
        return Some(format!("the number of the part is missing: {server} reads 0 and sends part 0").into());
    }
    let (odd, vital) = match topic {
        Topic::Note(Code::NotVital) => ("not vital", false),
        Topic::Note(Code::UnexpectedVital) => ("vital, unlike the reference", true),
        _ => return None,
    };
    let name = name?;
    let is_of_game = name.starts_with("cl_") || name.starts_with("sv_");
    let row = message(receiver.release, side, name);
    let row = row.or_else(|| message(receiver.release, side, "game").filter(|_| is_of_game))?;
    let does = match row.judge(row.stages.0, vital) {
        MessageVerdict::NeedsVital | MessageVerdict::NeedsNotVital => "ignores it",
        MessageVerdict::Acts(_) => "reads it all the same",
        MessageVerdict::AnswersOnly => "only answers it",
        MessageVerdict::TooEarly | MessageVerdict::TooLate => return None,
    };
    Some(format!("{odd}: {} {does}", release(side)).into())
}
