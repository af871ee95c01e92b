//! The intercept queue below the other panes.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    text::{Line, Span},
};
use teetap_inspect::{DecodedHeld, row};

use super::{detail::title, put};
use crate::{
    Action,
    app::{App, Pane},
};

/// Draws the held messages. Returns the area of the rows.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, app: &mut App) -> Rect {
    let focused = app.panes.focus == Pane::Queue;
    let key = |action| app.dialog.keymap.hint(action);
    let text = format!(
        "{} held: {} release, {} all, {} edit, {} drop",
        app.queue.list.len(),
        key(Action::Release),
        key(Action::ReleaseAll),
        key(Action::Edit),
        key(Action::DropHeld)
    );
    let inner = title(buffer, area, &text, true, app.look.theme);
    let top = app.queue.cursor.fit(inner.height.into(), app.queue.list.len());
    let selected = app.queue.cursor.selected();
    for ((place, held), row) in app.queue.list.iter().enumerate().skip(top).zip(inner.rows()) {
        put(buffer, row, &line(held, app));
        if selected == Some(place) {
            buffer.set_style(row, app.look.theme.selected(focused));
        }
    }
    inner
}

fn line<'a>(held: &'a DecodedHeld, app: &App) -> Line<'a> {
    let (theme, message) = (app.look.theme, &held.message);
    // Time until the message is released automatically.
    let left = match message.until {
        Some(until) => format!("{:>5.1}s", (until - app.run.now).as_secs_f64()),
        None => " soon ".to_owned(),
    };
    let direction = theme.direction(message.dir);
    let edited = if message.edited { "edited " } else { "" };
    Line::from(vec![
        Span::styled(format!("{left:>8} "), theme.warning()),
        Span::styled(format!("#{:<3}", message.session.0), theme.quiet()),
        Span::styled(row::arrow(message.dir, None), direction),
        Span::raw(format!(" {:<8}", format!("held {}", message.held.0))),
        Span::styled(format!("{:<18} ", held.name), theme.name_of(direction)),
        Span::styled(edited, theme.action()),
        Span::raw(held.gist.as_str()),
    ])
}
