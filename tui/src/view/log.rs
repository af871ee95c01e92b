//! The log.

use ratatui::{buffer::Buffer, layout::Rect, text::Line};

use super::{empty, put};
use crate::app::{App, Pane};

/// Draws the visible lines.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, app: &mut App) {
    let numbers = app.log.numbers();
    if numbers.is_empty() {
        let sentence = "nothing yet: warnings, sessions and the texts of 'log' rules stand here";
        return empty(buffer, area, &[sentence]);
    }
    app.areas.push((Pane::Log, area));
    let visible = app.log.tail.fit(area.height.into(), numbers);
    let selected = app.log.tail.selected();
    for (number, line) in visible.zip(area.rows()) {
        let Some(entry) = app.log.get(number) else {
            continue;
        };
        let style = app.theme.of(entry.kind);
        put(buffer, line, &Line::styled(entry.text.as_str(), style));
        if selected == Some(number) {
            buffer.set_style(line, app.theme.selected(true));
        }
    }
}
