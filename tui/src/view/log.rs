//! The log. Below it, the whole selected line if it is wider than the screen.

use ratatui::{buffer::Buffer, layout::Rect, text::Line};

use super::{below, empty, put, ruled};
use crate::app::{App, Pane, contents::wrapped};

/// Minimum lines of the log at which the whole selected line is drawn below the list.
const LEAST: u16 = 6;

/// Draws the visible lines.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, app: &mut App) {
    let numbers = app.log.numbers();
    if numbers.is_empty() {
        let sentence = "nothing yet: warnings, sessions and the texts of 'log' rules are shown here";
        return empty(buffer, area, &[sentence]);
    }
    let area = whole(buffer, area, app);
    app.panes.areas.push((Pane::Log, area));
    let visible = app.log.tail.fit(area.height.into(), numbers);
    let selected = app.log.tail.selected();
    for (number, line) in visible.zip(area.rows()) {
        let Some(entry) = app.log.get(number) else {
            continue;
        };
        let style = app.look.theme.for_kind(entry.kind);
        put(buffer, line, &Line::styled(entry.text.as_str(), style));
        if selected == Some(number) {
            buffer.set_style(line, app.look.theme.selected(true));
        }
    }
}

/// Draws the whole selected line at the bottom if it is cut in the list, using at most half of the area. Returns the
/// area above.
fn whole(buffer: &mut Buffer, area: Rect, app: &App) -> Rect {
    let selected = app.log.tail.selected().and_then(|number| app.log.get(number));
    let is_cut = |text: &str| Line::raw(text).width() > area.width.into();
    let Some(entry) = selected.filter(|entry| area.height >= LEAST && is_cut(&entry.text)) else {
        return area;
    };
    let lines = wrapped(&entry.text, usize::from(area.width).saturating_sub(1));
    let height = u16::try_from(lines.len() + 1)
        .unwrap_or(u16::MAX)
        .min(area.height / 2);
    let list = Rect {
        height: area.height - height,
        ..area
    };
    let rest = below(area, list.height);
    let title = Line::styled(ruled("the selected line", area.width), app.look.theme.quiet());
    let style = app.look.theme.for_kind(entry.kind);
    let lines = lines.iter().map(|line| Line::styled(format!(" {line}"), style));
    for (line, row) in [title].into_iter().chain(lines).zip(rest.rows()) {
        put(buffer, row, &line);
    }
    list
}
