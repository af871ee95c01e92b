//! The end of a message row: its summary, the action on it, and the letter of the action.

use ratatui::text::{Line, Span};
use teetap_inspect::{Message, Reading, Transits, reading::MessageOutcome};
use teetap_proxy::session::{Action, Origin};

use super::cut;
use crate::app::{App, history::Row};

/// Minimum columns at which a part is reserved for the action.
const SMALL: usize = 40;

/// Minimum columns for the action.
const LEAST: usize = 6;

/// Returns the summary of a message and the action on it, which together fit `columns` columns. The action uses the
/// columns after the summary, and except on small screens at least a third of all columns if it needs them, since it
/// may contain the text of a rule.
pub(super) fn summary(
    row: &Row,
    (reading, message): (&Reading, &Message),
    columns: usize,
    app: &App,
) -> [Span<'static>; 2] {
    let gist = reading.summary(message, app.look.style.secrets);
    let lost = lost(row, message).map(|transits| transits.words());
    let damage = message
        .after
        .as_ref()
        .map_or(String::new(), |after| after.damage());
    let outcome = message.outcome().unwrap_or_default() + &damage;
    let outcome = Some(outcome.trim_start().to_owned()).filter(|outcome| !outcome.is_empty());
    let outcome = [outcome, lost]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("  ");
    if outcome.is_empty() {
        return [Span::raw(gist), Span::raw("")];
    }
    let gap = if gist.is_empty() { "" } else { "  " };
    let wanted = gap.len() + Line::raw(outcome.as_str()).width();
    let third = if columns < SMALL { 0 } else { columns / 3 };
    let room = columns.saturating_sub(wanted.min(third));
    let gist = cut(&gist, room);
    let room = columns.saturating_sub(Line::raw(gist.as_str()).width() + gap.len());
    if room < LEAST {
        return [Span::raw(gist), Span::raw("")];
    }
    let outcome = cut(&outcome, room);
    [
        Span::raw(gist),
        Span::styled(format!("{gap}{outcome}"), app.look.theme.action()),
    ]
}

/// Returns the effects of link lines on the datagram that carried a message; `None` unless they lost it.
fn lost<'a>(row: &'a Row, message: &Message) -> Option<Transits<'a>> {
    let is_sent = matches!(
        message.handling.done,
        MessageOutcome::Ended
            | MessageOutcome::Placed(Action::Pass | Action::Repeat | Action::Edit | Action::Corrupt)
    );
    let transits = Transits::of_event(&row.event()?.event.what)?;
    (is_sent && transits.are_lost()).then_some(transits)
}

/// Returns the letter of the action on a message; `None` if it was forwarded unchanged.
pub(super) fn letter(row: &Row, message: &Message) -> Option<char> {
    if lost(row, message).is_some() {
        return Some('L');
    }
    if matches!(message.handling.origin, Origin::Rule | Origin::User) {
        return Some('I');
    }
    let letter = match message.handling.done {
        MessageOutcome::Ended => None,
        MessageOutcome::Discarded | MessageOutcome::Refused => Some('X'),
        MessageOutcome::Placed(action) => match action {
            // A column shows the flag of a resend.
            Action::Pass | Action::Repeat => None,
            Action::Edit | Action::Corrupt => Some('E'),
            Action::Drop => Some('D'),
            Action::Lose => Some('L'),
            Action::Hold => Some('H'),
            Action::Refuse => Some('F'),
            Action::Gap => Some('G'),
            Action::Known => Some('K'),
        },
    };
    // A rule that only logs or marks leaves the message unchanged.
    letter.or_else(|| (!message.handling.rules.is_empty()).then_some('*'))
}
