//! The sentences of the guided tour, below the view.

use ratatui::{
    buffer::Buffer,
    layout::{Constraint, Layout, Rect},
    text::{Line, Span},
};

use super::{popup, put};
use crate::app::{
    App,
    tour::{STEPS, with_keys},
};

/// Lines of the largest step, with its title and keys.
const LINES: u16 = 6;

/// Minimum lines left for the view.
const LEFT: u16 = 6;

/// Draws the sentences if there is room. Returns the area of the view above them.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, app: &mut App) -> Rect {
    let Some(mut tour) = app.tour else {
        return area;
    };
    tour.is_shown = area.height >= LINES + LEFT;
    app.tour = Some(tour);
    let Some(step) = tour.now().filter(|_| tour.is_shown) else {
        return area;
    };
    let [above, below] = Layout::vertical([Constraint::Min(0), Constraint::Length(LINES)]).areas(area);
    let title = format!("tour {}/{}: {}", tour.step + 1, STEPS.len(), step.title);
    let inner = popup(buffer, below, &title, app.look.theme.title(true));
    let text = step
        .text
        .iter()
        .map(|line| Line::raw(format!(" {}", with_keys(line, &app.dialog.keymap))));
    let next = if tour.step + 1 < STEPS.len() {
        " next  "
    } else {
        " end  "
    };
    let keys = Line::from(vec![
        Span::styled(" Enter", app.look.theme.key()),
        Span::raw(next),
        Span::styled("backspace", app.look.theme.key()),
        Span::raw(" back  "),
        Span::styled("Esc", app.look.theme.key()),
        Span::raw(" skip the tour"),
    ]);
    for (line, row) in text.zip(inner.rows()) {
        put(buffer, row, &line);
    }
    if let Some(row) = inner.rows().next_back() {
        put(buffer, row, &keys);
    }
    above
}
