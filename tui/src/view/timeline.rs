//! The time line of a recording, above the last line of the screen.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    text::{Line, Span},
};

use super::put;
use crate::app::{
    App,
    history::Row,
    timeline::{Reading, Timeline},
};

/// Columns of the text at each end.
const WORDS: u16 = 28;

/// Minimum height of a screen with a time line.
pub(super) const LEAST: u16 = 8;

/// Draws the time of the selected row, the line with the listed part and the selected row, and the state of the
/// reading.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, app: &mut App) {
    let Some(mut timeline) = app.timeline.take() else {
        return;
    };
    let time = app.messages.row().and_then(Row::at);
    let time = time.map_or(String::new(), |at| format!("{:.3}s", at.as_secs_f64()));
    let until = timeline
        .until
        .map_or(String::new(), |until| format!("of {:.1}s", until.as_secs_f64()));
    let state = state(&timeline, app);
    let left = format!(" {time} {until}");
    let room = area.width.saturating_sub(2 * WORDS);
    let words = if room >= 20 { WORDS } else { area.width.min(WORDS) };
    put(buffer, Rect { width: words, ..area }, &Line::raw(left));
    timeline.area = Rect {
        x: area.x + words,
        width: area.width.saturating_sub(2 * words),
        ..area
    };
    let rest = Rect {
        x: timeline.area.right(),
        width: area.right().saturating_sub(timeline.area.right()),
        ..area
    };
    put(
        buffer,
        rest,
        &Line::styled(format!(" {state}"), app.look.theme.quiet()),
    );
    let selected = app.messages.number();
    let at = selected.map_or(timeline.listed.start, |row| timeline.offset_of(row));
    let width = u64::from(timeline.area.width);
    let column = |bytes: u64| (bytes * width / timeline.size.max(1)).min(width.saturating_sub(1));
    let (begin, end) = (column(timeline.listed.start), column(timeline.listed.end));
    let spans = (0..width).map(|place| {
        if place == column(at) {
            Span::styled("●", app.look.theme.action())
        } else if (begin..=end).contains(&place) {
            Span::styled("━", app.look.theme.key())
        } else {
            Span::styled("─", app.look.theme.quiet())
        }
    });
    put(buffer, timeline.area, &Line::from(spans.collect::<Vec<_>>()));
    app.timeline = Some(timeline);
}

fn state(timeline: &Timeline, app: &App) -> String {
    let percent = timeline.percent(timeline.listed.end);
    let is_filtered = app.messages.filter().is_some_and(|filter| filter.is_on());
    match timeline.reading {
        Reading::On if timeline.is_long => {
            let word = if is_filtered { "filtering" } else { "reading" };
            format!("{word}: {percent} %, Esc stops")
        }
        Reading::On => format!("reading: {percent} %"),
        Reading::Stopped => format!("stopped at {percent} %"),
        Reading::Waiting | Reading::Ended if timeline.indexed < timeline.size => {
            format!("index: {} %", timeline.percent(timeline.indexed))
        }
        Reading::Waiting => "< > go to another place".to_owned(),
        Reading::Ended => "at the end".to_owned(),
    }
}
