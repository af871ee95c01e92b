//! A menu over the lower part of the screen.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    text::{Line, Span},
};

use super::{popup, put};
use crate::app::{App, menu::Menu};

/// Draws the entries with their keys.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, app: &App, menu: &mut Menu) {
    let theme = app.look.theme;
    let len = menu.entries.len();
    let height = u16::try_from(len + 1).unwrap_or(u16::MAX).min(area.height);
    let area = Rect {
        y: area.bottom() - height,
        height,
        ..area
    };
    let inner = popup(buffer, area, &menu.title, theme.title(true));
    let top = menu.cursor.fit(inner.height.into(), len);
    let selected = menu.cursor.selected();
    for ((place, entry), row) in menu.entries.iter().enumerate().skip(top).zip(inner.rows()) {
        let line = Line::from(vec![
            Span::styled(format!(" {} ", entry.key), theme.key()),
            Span::raw(entry.text.as_str()),
        ]);
        put(buffer, row, &line);
        if selected == Some(place) {
            buffer.set_style(row, theme.selected(true));
        }
    }
}
