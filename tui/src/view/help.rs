//! The help, drawn over the view.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    text::{Line, Span},
};

use super::{popup, put};
use crate::app::{
    App,
    help::{Help, HelpKind},
};

/// Draws the rows that contain the words of the search.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, app: &App, help: &mut Help) {
    let theme = app.look.theme;
    let title = format!("help: {}", app.panes.focus.name());
    let inner = popup(buffer, area, &title, theme.title(true));
    let mut rows = inner.rows();
    if let Some(row) = rows.next() {
        let words = help.search.text();
        let line = if words.is_empty() {
            Line::styled(
                " type to search, arrows choose, Enter runs, Esc closes",
                theme.quiet(),
            )
        } else {
            Line::from(vec![
                Span::styled(" search ", theme.quiet()),
                Span::raw(words.to_owned()),
            ])
        };
        put(buffer, row, &line);
    }
    let found = help.rows(app);
    let height = usize::from(inner.height.saturating_sub(1));
    let top = help.cursor.fit(height, found.len());
    if found.is_empty()
        && let Some(row) = rows.next()
    {
        return put(buffer, row, &Line::raw(" no key or command has these words"));
    }
    let keys = found
        .iter()
        .map(|row| row.keys.chars().count())
        .max()
        .unwrap_or(0);
    let names = found
        .iter()
        .map(|row| row.name.chars().count())
        .max()
        .unwrap_or(0);
    let selected = help.cursor.selected();
    for ((place, row), area) in found.iter().enumerate().skip(top).zip(rows) {
        if row.kind == HelpKind::Title {
            let title = super::ruled(&row.help, area.width);
            put(buffer, area, &Line::styled(title, theme.title(true)));
            if selected == Some(place) {
                buffer.set_style(area, theme.selected(true));
            }
            continue;
        }
        let mut spans = vec![Span::styled(format!(" {:<keys$}  ", row.keys), theme.key())];
        // Narrow screens have no room for names.
        if area.width >= 70 {
            spans.push(Span::styled(format!("{:<names$}  ", row.name), theme.quiet()));
        } else if row.keys.is_empty() && !row.name.is_empty() {
            spans = vec![Span::styled(format!(" {} ", row.name), theme.key())];
        }
        spans.push(Span::raw(&*row.help));
        put(buffer, area, &Line::from(spans));
        if selected == Some(place) {
            buffer.set_style(area, theme.selected(true));
        }
    }
}
